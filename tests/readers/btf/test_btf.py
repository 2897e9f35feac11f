"""BTF: damaged blobs first, then what each kind reads as, then blobs that clang and pahole made."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import btf
from layoutlint.readers.btf import select
from layoutlint.readers.btf.blob import Blob
from tests.harness.build import X86_64
from tests.readers.btf import btf_blob as kinds
from tests.readers.btf.btf_blob import BASE, INT, LONG, SPLIT, STRUCT, Strings, blob, record, ring_of, swap

ALL = Wanted(everything=True)
RING = Wanted(names=frozenset({"ring"}))


def read(tmp_path, data: bytes, wanted: Wanted = ALL, **options: str) -> Reading:
    path = tmp_path / "input"
    path.write_bytes(data)
    return btf.read(str(path), wanted, ReadOptions(**options))  # type: ignore[arg-type]


def typedefs(count: int) -> bytes:
    """A chain of typedefs from type 2 on, with an integer at its end."""
    return b"".join(record(1, kinds.TYPEDEF, 3 + n) for n in range(count)) + LONG


def doubling_types(levels: int) -> bytes:
    """Function types from type 2 on, each with the next one twice as a parameter."""
    protos = (record(0, kinds.FUNC_PROTO, 0, 0, 3 + n, 0, 3 + n, vlen=2) for n in range(levels))
    return b"".join(protos) + LONG


def matryoshka(levels: int) -> bytes:
    """Empty structs from type 2 on, each with the next one twice inside."""
    shells = (record(1, STRUCT, 0, 6, 3 + n, 0, 6, 3 + n, 0, vlen=2) for n in range(levels))
    return b"".join(shells) + record(1, STRUCT, 0)


BAD = [
    # id, blob, reason
    ("empty", b"", "the file is empty"),
    ("bad magic", blob(LONG, magic=0xEB9E),
     "damaged BTF: it starts with the bytes 9e eb, where BTF has 9f eb or eb 9f"),
    ("header cut off", blob(LONG)[:10], "damaged BTF: its header needs 24 bytes, and it has 10"),
    ("version to come", blob(LONG, version=2), "damaged BTF: it is of version 2, and version 1 is known"),
    ("unknown flags", blob(LONG, flags=4), "damaged BTF: its flags 0x4 are not known"),
    ("header too short", blob(LONG, hdr_len=20), "damaged BTF: its header claims 20 bytes of 51"),
    ("header too long", blob(LONG, hdr_len=4096), "damaged BTF: its header claims 4096 bytes of 51"),
    ("types beyond the end", blob(LONG, type_len=4096),
     "damaged BTF: its types end at 4120, behind the end of the data at 51"),
    ("types at an odd place", blob(LONG, type_off=2), "damaged BTF: its types are not aligned to 4 bytes"),
    ("strings beyond the end", blob(LONG, str_off=4096),
     "damaged BTF: its strings end at 4131, behind the end of the data at 51"),
    ("last string without end", blob(LONG, str_len=10), "damaged BTF: its last string does not end"),
    ("no strings", blob(LONG, str_len=0),
     "is split BTF, as of a kernel module: give the BTF of its vmlinux with `--btf-base FILE`"),
    ("split without its base", blob(LONG, b"ring\0"),
     "is split BTF, as of a kernel module: give the BTF of its vmlinux with `--btf-base FILE`"),
    ("a name beyond the strings", blob(ring_of(2) + record(999, INT, 8, 64)),
     "damaged BTF: type 2 has a name at 999; the strings end at 11"),
    ("a member's name beyond the strings", blob(record(1, STRUCT, 8, 77, 2, 0, vlen=1) + LONG),
     "damaged BTF: type 1 has a name at 77; the strings end at 11"),
    ("a type that is not there", blob(ring_of(99)), "damaged BTF: there is no type 99: the last is 1"),
    ("an unknown kind", blob(ring_of(2) + record(1, 31, 8)),
     "damaged BTF: type 2 has the unknown kind 31, so no known length"),
    ("kind void", blob(record(1, 0, 8)), "damaged BTF: type 1 has the unknown kind 0, so no known length"),
    ("a record cut off", blob(ring_of(1)[:8]), "damaged BTF: the types end inside type 1"),
    ("members cut off", blob(ring_of(1)[:-4]), "damaged BTF: the types end inside type 1"),
    ("more members than there are", blob(record(1, STRUCT, 8, 6, 2, 0, vlen=0xFFFFFF) + LONG),
     "damaged BTF: the types end inside type 1"),
    ("a typedef of itself", blob(ring_of(2) + record(6, kinds.TYPEDEF, 2)),
     "damaged BTF: type 2 contains itself"),
    ("typedefs of one another", blob(ring_of(2) + record(6, kinds.TYPEDEF, 3) + record(1, kinds.TYPEDEF, 2)),
     "damaged BTF: type 3 goes through more than 100 others, or in a circle"),
    ("const of itself", blob(ring_of(2) + record(0, kinds.CONST, 2)),
     "damaged BTF: type 2 and others refer to one another in a circle"),
    ("a struct inside itself", blob(ring_of(1)), "damaged BTF: type 1 contains itself"),
    ("structs inside one another", blob(ring_of(2) + ring_of(1)), "damaged BTF: type 1 contains itself"),
    ("an array of itself", blob(ring_of(2) + record(0, kinds.ARRAY, 0, 2, 2, 1)),
     "damaged BTF: type 2 is an array of more than 100 dimensions, or of itself"),
    ("a thousand arrays", blob(ring_of(2) + b"".join(record(0, kinds.ARRAY, 0, n + 3, 2, 1) for n in range(1000)) + LONG),
     "damaged BTF: type 2 is an array of more than 100 dimensions, or of itself"),
    ("a name without end", blob(ring_of(2) + LONG, b"ring\0".join((b"\0", b"t" * 4097 + b"\0"))),
     "damaged BTF: type 1 has a name of 4097 bytes"),
    ("pointers in a circle", blob(ring_of(2) + record(0, kinds.PTR, 3) + record(0, kinds.PTR, 2)),
     "damaged BTF: type 3 and others refer to one another in a circle"),
    ("a thousand typedefs", blob(ring_of(2) + typedefs(1000)), "damaged BTF: type 2 goes through more than 100 others, or in a circle"),
    ("types that double", blob(ring_of(2) + doubling_types(64)),
     "damaged BTF: the spelling of type 55 is longer than 16384 characters"),
    ("structs that double", blob(ring_of(2) + matryoshka(64)), "damaged BTF: type 50 claims 131070 fields at all depths"),
    ("a huge array", blob(ring_of(2) + record(0, kinds.ARRAY, 0, 3, 3, 0xFFFFFFFF) + LONG),
     "damaged BTF: type 1: member tail ends behind its 8 bytes"),
    ("a member behind the end", blob(record(1, STRUCT, 8, 6, 2, 32, vlen=1) + LONG),
     "damaged BTF: type 1: member tail ends behind its 8 bytes"),
    ("an array within a byte", blob(record(1, STRUCT, 16, 6, 2, 4, vlen=1) + record(0, kinds.ARRAY, 0, 3, 3, 1) + LONG),
     "damaged BTF: type 1: member tail starts within a byte, at bit 4"),
    ("a function as a member", blob(ring_of(2) + record(6, kinds.FUNC, 3) + record(0, kinds.FUNC_PROTO, 0)),
     "damaged BTF: type 2 is a FUNC, where a member or a pointer needs a type"),
    ("more bits than bytes", blob(ring_of(2) + record(0, INT, 8, 65)),
     "damaged BTF: type 2 has 65 bits from bit 0 in 8 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "reason"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input(tmp_path, data, reason):
    with pytest.raises(ReadError) as caught:
        read(tmp_path, data, RING)
    assert (caught.value.path, caught.value.reason) == (str(tmp_path / "input"), reason)
    with pytest.raises(ReadError):
        read(tmp_path, data, ALL)


@pytest.mark.parametrize(("data", "reason"), [case[1:] for case in BAD if len(case[1]) > 24 and "9e eb" not in case[2]])
def test_bad_input_in_the_other_byte_order(tmp_path, data, reason):
    with pytest.raises(ReadError, match=r"damaged BTF|split"):
        read(tmp_path, swap(data))


def test_an_unknown_kind_can_be_passed_over_where_its_length_is_stated(tmp_path):
    layout = b"".join(struct.pack("<BBH", *((8, 4, 0) if kind == 31 else (0, 0, 0))) for kind in range(32))
    data = blob(record(0, 31, 8, 7, 7, 7, vlen=1) + ring_of(3) + LONG, layout=layout)
    assert [built.bit_size for built in read(tmp_path, data).structs] == [64]


EVERYTHING = kinds.one_of_each()


@settings(max_examples=400)
@given(st.data())
def test_any_damage_gives_a_reading_or_a_read_error(tmp_path_factory, data):
    broken = bytearray(EVERYTHING)
    if data.draw(st.booleans(), label="cut off"):
        del broken[data.draw(st.integers(0, len(broken) - 1)) :]
    else:
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    try:
        reading = read(tmp_path_factory.getbasetemp(), bytes(broken))
    except ReadError:
        return
    assert isinstance(reading, Reading)


# What kinds read as.

names = Strings()
N = names.add
OLD_BITS = record(N("int"), INT, 4, 3), record(N("int"), INT, 4, 29 | 3 << 16)
MEMBERS = [
    # id, types from 2 on (2 is the member's), bits of the member's offset word, kind_flag; declaration, place
    ("int", [record(N("int"), INT, 4, 32)], 0, False, "int m", (0, 32, False)),
    ("clang's long", [record(N("unsigned long"), INT, 8, 64)], 0, False, "long unsigned int m", (0, 64, False)),
    ("int without name", [record(0, INT, 4, 32)], 0, False, "?? m", (0, 32, False)),
    ("float", [record(N("double"), kinds.FLOAT, 8)], 0, False, "double m", (0, 64, False)),
    ("enum", [record(N("colour"), kinds.ENUM, 4, N("RED"), 0, vlen=1)], 0, False, "enum colour m", (0, 32, False)),
    ("enum without name", [record(0, kinds.ENUM, 1)], 0, False, "enum {...} m", (0, 8, False)),
    ("enum64", [record(N("huge"), kinds.ENUM64, 8, N("HUGE"), 0, 256, vlen=1)], 0, False, "enum huge m", (0, 64, False)),
    ("pointer to void", [record(0, kinds.PTR, 0)], 0, False, "void *m", (0, 64, False)),
    ("const pointer to volatile", [record(0, kinds.CONST, 3), record(0, kinds.PTR, 4), record(0, kinds.VOLATILE, 5),
      record(N("int"), INT, 4, 32)], 0, False, "volatile int * const m", (0, 64, False)),
    ("restrict", [record(0, kinds.RESTRICT, 3), record(0, kinds.PTR, 0)], 0, False, "void * restrict m", (0, 64, False)),
    ("type tag", [record(0, kinds.PTR, 3), record(N("rcu"), kinds.TYPE_TAG, 4), record(N("int"), INT, 4, 32)], 0, False,
     "int *m", (0, 64, False)),
    ("pointer to a forward struct", [record(0, kinds.PTR, 3), record(N("ahead"), kinds.FWD, 0)], 0, False,
     "struct ahead *m", (0, 64, False)),
    ("pointer to a forward union", [record(0, kinds.PTR, 3), record(N("ahead"), kinds.FWD, 0, flag=True)], 0, False,
     "union ahead *m", (0, 64, False)),
    ("array", [record(0, kinds.ARRAY, 0, 3, 3, 4), record(N("char"), INT, 1, 8)], 0, False, "char m[4]", (0, 32, False)),
    ("array of arrays", [record(0, kinds.ARRAY, 0, 3, 4, 3), record(0, kinds.ARRAY, 0, 4, 4, 4), record(N("char"), INT, 1, 8)],
     0, False, "char m[3][4]", (0, 96, False)),
    ("array of arrays, or of vectors", [record(0, kinds.ARRAY, 0, 3, 4, 2), record(0, kinds.ARRAY, 0, 4, 4, 3), record(N("char"), INT, 1, 8)],
     0, False, "char m[2][3]", (0, None, False)),
    ("flexible array", [record(0, kinds.ARRAY, 0, 3, 3, 0), record(N("char"), INT, 1, 8)], 64, False, "char m[]", (64, 0, False)),
    ("pointer to an array", [record(0, kinds.PTR, 3), record(0, kinds.ARRAY, 0, 4, 4, 3), record(N("char"), INT, 1, 8)],
     0, False, "char (*m)[3]", (0, 64, False)),
    ("function of nothing", [record(0, kinds.PTR, 3), record(0, kinds.FUNC_PROTO, 0)], 0, False, "void (*m)(void)", (0, 64, False)),
    ("function without prototype", [record(0, kinds.PTR, 3), record(0, kinds.FUNC_PROTO, 4, 0, 0, vlen=1),
      record(N("int"), INT, 4, 32)], 0, False, "int (*m)()", (0, 64, False)),
    ("function with more arguments", [record(0, kinds.PTR, 3), record(0, kinds.FUNC_PROTO, 4, N("a"), 4, 0, 0, vlen=2),
      record(N("int"), INT, 4, 32)], 0, False, "int (*m)(int, ...)", (0, 64, False)),
    ("typedef", [record(N("u32"), kinds.TYPEDEF, 3), record(N("unsigned int"), INT, 4, 32)], 32, False, "u32 m", (32, 32, False)),
    ("bit-field", [record(N("int"), INT, 4, 32)], 3 << 24 | 5, True, "int m", (5, 3, True)),
    ("no bit-field among bit-fields", [record(N("int"), INT, 4, 32)], 32, True, "int m", (32, 32, False)),
    ("old bit-field", [OLD_BITS[0]], 5, False, "int m", (5, 3, True)),
    ("old bit-field inside its int", [OLD_BITS[1]], 32, False, "int m", (35, 29, True)),
    ("old bit-field under a typedef", [record(N("s32"), kinds.TYPEDEF, 3), OLD_BITS[0]], 5, False, "s32 m", (5, 3, True)),
    ("old bit-field as wide as its type", [record(N("char"), INT, 1, 8)], 4, False, "char m", (4, 8, True)),
    ("void, as pahole writes _Atomic", [], 0, False, "void m", (0, None, False)),
]  # fmt: skip


def only_member(reading: Reading) -> Field:
    (built,) = (built for built in reading.structs if built.name == "s")
    (field,) = built.fields
    return field


@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
@pytest.mark.parametrize(("types", "place", "flag", "declared", "spot"), [case[1:] for case in MEMBERS], ids=[c[0] for c in MEMBERS])
def test_a_member(tmp_path, types, place, flag, declared, spot, big_endian):
    holder = record(N("s"), STRUCT, 16, N("m"), 2 if types else 0, place, vlen=1, flag=flag)
    data = blob(b"".join((holder, *types)), names.bytes)
    field = only_member(read(tmp_path, swap(data) if big_endian else data))
    assert (field.type.declare("m"), (field.bit_offset, field.bit_size, field.is_bitfield)) == (declared, spot)


def test_a_bit_field_of_a_union_stands_at_its_start(tmp_path):
    """gcc states another offset for some."""
    types = record(N("s"), kinds.UNION, 4, N("m"), 2, 3 << 24 | 29, vlen=1, flag=True) + record(N("int"), INT, 4, 32)
    field = only_member(read(tmp_path, blob(types, names.bytes)))
    assert (field.bit_offset, field.bit_size, field.is_bitfield) == (0, 3, True)


@pytest.mark.parametrize(("pointee", "calls"), [
    ([record(0, kinds.FUNC_PROTO, 0)], True),
    ([record(0, kinds.VOLATILE, 4), record(0, kinds.FUNC_PROTO, 0)], True),  # of a function that does not return
    ([record(N("f"), kinds.TYPEDEF, 4), record(0, kinds.FUNC_PROTO, 0)], True),
    ([record(0, kinds.PTR, 4), record(0, kinds.FUNC_PROTO, 0)], False),
    ([LONG], False),
])  # fmt: skip
def test_pointers_to_functions(tmp_path, pointee, calls):
    types = (record(N("s"), STRUCT, 8, N("m"), 2, 0, vlen=1), record(0, kinds.PTR, 3), *pointee)
    assert only_member(read(tmp_path, blob(b"".join(types), names.bytes))).is_function_pointer is calls


def test_a_member_without_a_type_can_embed_anything(tmp_path):
    types = (record(N("s"), STRUCT, 16, N("m"), 0, 0, vlen=1), record(N("f"), STRUCT, 8, N("m"), 3, 0, vlen=1), LONG)
    reading = read(tmp_path, blob(b"".join(types), names.bytes), Wanted(with_containers=frozenset({"f"})))
    assert {struct.name for struct in reading.structs} == {"s", "f"}


@pytest.mark.parametrize(("first", "problem"), [(0, True), (32, False)])
def test_gcc_puts_the_first_member_to_the_start_whatever_stands_before_it(tmp_path, first, problem):
    """Where there is room for that, in the struct itself or in one inside it."""
    inner = record(N("f"), STRUCT, 12, N("m"), 3, first, N("s"), 3, 64, vlen=2)
    types = record(N("s"), STRUCT, 12, N("m"), 2, 0, vlen=1) + inner + record(N("int"), INT, 4, 32)
    (held,) = select.structs(Blob(blob(types, names.bytes)), Wanted(frozenset({"s"})), X86_64, "x.o", by_gcc=True)
    assert (held.problem is not None) is problem


CHAR, BOTH = record(0, INT, 1, 8), record(0, STRUCT, 16, 6, 1, 0, 6, 2, 64, vlen=2)
ROOM = [
    # kind of struct ring and its bytes; type (1 char, 2 long, 3 a struct of both) and first bit of each member; whether gcc's can be moved
    (STRUCT, 8, ((2, 0),), False),
    (STRUCT, 16, ((2, 0),), True),
    (STRUCT, 1, ((1, 0),), False),
    (STRUCT, 2, ((1, 0),), True),
    (STRUCT, 16, ((2, 0), (1, 64)), False),
    (STRUCT, 16, ((1, 0), (2, 64)), True),
    (STRUCT, 16, ((1, 0), (1, 8), (2, 64)), False),
    (STRUCT, 24, ((2, 64), (2, 128)), False),
    (STRUCT, 24, ((2, 0), (2, 128)), True),
    (STRUCT, 24, ((2, 0), (3, 64)), True),
    (STRUCT, 0, (), False),
    (kinds.UNION, 8, ((1, 0), (2, 0)), False),
    (kinds.UNION, 16, ((2, 0), (3, 0)), True),
]


@pytest.mark.parametrize(("kind", "size", "members", "is_moved"), ROOM)
def test_room_before_the_first_member(kind, size, members, is_moved):
    words = [word for type_id, at in members for word in (6, type_id, at)]
    types = CHAR + LONG + BOTH + record(1, kind, size, *words, vlen=len(members))
    for by_gcc in (False, True):
        (ring,) = select.structs(Blob(blob(types)), RING, X86_64, "x.o", by_gcc=by_gcc)
        assert (ring.problem is not None) == (by_gcc and is_moved)


def test_every_kind_is_read(tmp_path):
    (holder,) = read(tmp_path, EVERYTHING, Wanted(names=frozenset({"holder"}))).structs
    assert [field.type.declare(field.name or "") for field in holder.fields] == [
        "int a", "void *b", "char c[3]", "struct inner d", "union {...}", "enum colour e", "enum huge f", "double g",
        "inner_t h", "struct ahead *i", "int (*j)(int)", "const volatile int k", "int * restrict l",
    ]  # fmt: skip
    assert (holder.align, holder.source, holder.origin) == (None, None, str(tmp_path / "input"))


OVERLAPS = [
    # places of `head` and `tail`, in bits; bits of `tail`; what is said
    (0, 64, 0, None), (0, 32, 0, "`head` and `tail` overlap in the debug information"),
    (64, 60, 5, "`tail` and `head` overlap in the debug information"), (64, 60, 4, None),
]  # fmt: skip


@pytest.mark.parametrize(("head", "tail", "bits", "problem"), OVERLAPS)
def test_members_that_overlap_are_not_believed(tmp_path, head, tail, bits, problem):
    members = (kinds.STRUCT, 16, 6, 2, head, 1, 2, bits << 24 | tail)
    types = record(1, *members, vlen=2, flag=True) + LONG + record(1, kinds.VAR, 2, 1)
    (struct,) = read(tmp_path, blob(types, b"\0tail\0head\0"), ALL).structs
    assert struct.problem == problem


def structs_of(reading: Reading) -> list[tuple[str, tuple[str, ...], int | None]]:
    return [(built.name, built.aliases, built.bit_size) for built in reading.structs]


NAMED = blob(
    b"".join((
        record(N("tagged"), STRUCT, 8, N("m"), 9, 0, vlen=1),
        record(N("tagged_t"), kinds.TYPEDEF, 1),
        record(0, STRUCT, 8, N("m"), 9, 0, vlen=1),
        record(N("plain_t"), kinds.TYPEDEF, 3),
        record(N("again_t"), kinds.TYPEDEF, 4),
        record(N("ahead"), kinds.FWD, 0, flag=True),
        record(N("twice"), STRUCT, 8, N("m"), 9, 0, vlen=1),
        record(N("twice"), STRUCT, 16, N("m"), 9, 64, vlen=1),
        record(N("long int"), INT, 8, 64 | 1 << 24),
        record(N("twice"), STRUCT, 8, N("m"), 9, 0, vlen=1),
        record(N("tagged"), kinds.FWD, 0),
        record(N("number_t"), kinds.TYPEDEF, 9),
    )),
    names.bytes,
)  # fmt: skip
WANTED = [
    # id, what is asked for, (name, aliases, bits)
    ("a tag", Wanted(frozenset({"tagged"})), [("tagged", (), 64)]),
    ("its typedef", Wanted(frozenset({"tagged_t"})), [("tagged", ("tagged_t",), 64)]),
    ("both", Wanted(frozenset({"tagged", "tagged_t"})), [("tagged", ("tagged_t",), 64)]),
    ("the typedef that names it", Wanted(frozenset({"plain_t"})), [("plain_t", (), 64)]),
    ("a typedef of that typedef", Wanted(frozenset({"again_t"})), [("plain_t", ("again_t",), 64)]),
    ("a pattern", Wanted(patterns=("t*d",)), [("tagged", (), 64)]),
    ("different ones of a name, equal ones once", Wanted(frozenset({"twice"})), [("twice", (), 64), ("twice", (), 128)]),
    ("one that is only declared", Wanted(frozenset({"ahead"})), [("ahead", (), None)]),
    ("a typedef of a number", Wanted(frozenset({"number_t"})), []),
    ("none", Wanted(frozenset({"nothing"})), []),
    ("everything", ALL, [("tagged", (), 64), ("plain_t", (), 64), ("twice", (), 64), ("twice", (), 128)]),
]


@pytest.mark.parametrize(("wanted", "expected"), [case[1:] for case in WANTED], ids=[case[0] for case in WANTED])
def test_what_is_asked_for(tmp_path, wanted, expected):
    assert structs_of(read(tmp_path, NAMED, wanted)) == expected


LONGS = [
    # name of the INT, its bytes, big-endian; target
    ("long int", 8, False, "unknown64-le"),
    ("unsigned long", 8, True, "unknown64-be"),
    ("long unsigned int", 4, False, "unknown32-le"),
    ("long", 4, True, "unknown32-be"),
    ("int", 4, False, "unknown64-le"),
]


@pytest.mark.parametrize(("name", "size", "big_endian", "target"), LONGS)
def test_the_target_of_a_raw_blob(tmp_path, name, size, big_endian, target):
    strings = Strings()
    data = blob(record(strings.add(name), INT, size, size * 8), strings.bytes)
    reading = read(tmp_path, swap(data) if big_endian else data)
    assert reading.target.name == target
    assert "raw BTF names no machine: assuming cache lines of 64 bytes (`--line-size`)" in reading.notes


KERNEL_STRUCTS = ("task_struct", "module", "super_block", "page")


@pytest.mark.parametrize("missing", [None, *KERNEL_STRUCTS])
def test_a_kernel_is_told_by_structs_that_only_it_has(tmp_path, missing):
    strings = Strings()
    parts = [
        record(strings.add(name), *((kinds.FWD, 0) if name == missing else (STRUCT, 8, 0, 5, 0)), vlen=name != missing)
        for name in KERNEL_STRUCTS
    ]
    data = blob(b"".join(parts) + LONG, strings.bytes)
    assert read(tmp_path, data).is_kernel == (missing is None)


# Split BTF, as a module's.

def expect_module(reading: Reading, base: object) -> None:
    (built,) = reading.structs
    assert [(field.name, str(field.type), field.bit_offset) for field in built.fields] == [
        ("next", "struct list_head", 0),
        ("size", "long int", 64),
    ]
    assert [field.name for field in built.fields[0].members] == ["next"]
    assert f"a module's BTF has what vmlinux has not; the types that they share come from {base}" in reading.notes


def test_a_module_beside_vmlinux(tmp_path):
    (tmp_path / "vmlinux").write_bytes(BASE)
    expect_module(read(tmp_path, SPLIT), tmp_path / "vmlinux")


def test_what_embeds_a_struct_of_vmlinux_in_a_module(tmp_path):
    (tmp_path / "vmlinux").write_bytes(BASE)
    expect_module(read(tmp_path, SPLIT, Wanted(with_containers=frozenset({"list_head"}))), tmp_path / "vmlinux")


def test_a_module_with_its_base_named(tmp_path):
    base = tmp_path / "elsewhere.btf"
    base.write_bytes(BASE)
    expect_module(read(tmp_path, SPLIT, btf_base=str(base)), base)


WRONG_BASES = [
    # id, base, what is at fault, reason
    ("missing", None, "base", "no such file or directory"),
    ("split itself", SPLIT, "base", "is split BTF itself, and so cannot be the base of a module's"),
    ("damaged", BASE[:30], "base", "damaged BTF: its strings end at 89, behind the end of the data at 30"),
    ("other byte order", swap(BASE), "input", "damaged BTF: its byte order differs from that of its base"),
    ("of a smaller kernel", blob(LONG, b"\0x\0"), "input",
     "its names do not match {base}, which is not its base"),
    ("of a larger kernel", blob(LONG * 2, b"\0" + 9 * b"something_else\0"), "input",
     "its names do not match {base}, which is not its base"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "at_fault", "reason"), [case[1:] for case in WRONG_BASES], ids=[c[0] for c in WRONG_BASES])
def test_a_wrong_base(tmp_path, base, at_fault, reason):
    path = tmp_path / "base"
    if base is not None:
        path.write_bytes(base)
    with pytest.raises(ReadError) as caught:
        read(tmp_path, SPLIT, btf_base=str(path))
    assert (caught.value.path, caught.value.reason) == (str(tmp_path / at_fault), reason.format(base=path))


def test_a_struct_is_what_the_model_calls_one(tmp_path):
    (built,) = read(tmp_path, blob(ring_of(2) + LONG)).structs
    assert isinstance(built, Struct)
    hash(built)
