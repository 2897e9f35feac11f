"""Containers of structs through every reader, held against what the compiler says of the same source."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import pytest

from layoutlint.geometry import containers
from layoutlint.geometry.containers import MOST_CONTAINERS, Container, Index, TooManyContainers
from layoutlint.model.ctype import CType
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness.build import X86_64, member, struct
from tests.harness.pace import limit_time
from tests.oracles.c_probe import compile_c, need

SOURCE = """
typedef struct { int counter; } atomic_t;
struct lock { atomic_t count; short name[3]; };
typedef struct lock lock_t;
typedef const lock_t frozen_lock_t;
typedef lock_t pair_t[2];
struct node { struct node *next; lock_t *lock; struct empty *nothing; };
struct empty { };
typedef struct empty empty_t;
struct nobody { int alone; };
struct plain { char a; struct lock lock; };
struct named { char a; lock_t lock; volatile struct lock loud; frozen_lock_t frozen; };
struct unnamed {
	char a;
	struct { char b; lock_t lock; union { long c; lock_t other; }; };
	struct { char d; struct lock lock; } inner;
	union { lock_t one; long two; } both[3];
};
struct packed { char a; lock_t lock; } __attribute__((packed));
struct arrays { char a; lock_t few[5]; lock_t grid[3][4]; pair_t pair; pair_t pairs[7]; };
struct tail { int count; lock_t locks[]; };
struct zero { int count; lock_t locks[0]; };
struct marked { char a; lock_t here[0]; char b; };
union either { lock_t lock; struct plain plain; };
struct middle { long a; struct plain plain; struct arrays arrays[2]; };
struct outer { char a; struct middle middles[3]; union either either; struct { struct middle m; } in[2][2]; };
struct aligned { char a; struct plain plain __attribute__((aligned(64))); };
struct holds_nothing { int a; struct empty one; empty_t two[2]; struct node node; };
typedef struct { char a; struct plain plain; } titled_t;
struct of_titled { titled_t many[2]; };
struct counted { atomic_t count; struct lock *lock; lock_t *locks[3]; lock_t (*get)(void); };
"""
USED = [
    "struct plain", "struct named", "struct unnamed", "struct packed", "struct arrays", "struct tail", "struct zero",
    "struct marked", "union either", "struct middle", "struct outer", "struct aligned", "struct holds_nothing",
    "struct of_titled", "struct counted", "struct nobody", "frozen_lock_t", "pair_t",
]  # fmt: skip

PLAIN_IN = [
    ("union either", "plain", ()),
    ("struct middle", "plain", ()),
    ("struct outer", "middles[3].plain", ("middle",)),
    ("struct outer", "either.plain", ("either",)),
    ("struct outer", "in[2][2].m.plain", ("middle",)),
    ("struct aligned", "plain", ()),
    ("titled_t", "plain", ()),
    ("struct of_titled", "many[2].plain", ("titled_t",)),
]
ARRAYS = ("few[5]", "grid[3][4]", "pair[2]", "pairs[7][2]")
LOCK_IN = [
    ("struct plain", "lock", ()),
    *(("struct named", path, ()) for path in ("lock", "loud", "frozen")),
    *(("struct unnamed", path, ()) for path in ("lock", "other", "inner.lock", "both[3].one")),
    ("struct packed", "lock", ()),
    *(("struct arrays", path, ()) for path in ARRAYS),
    ("struct tail", "locks[]", ()),
    ("struct zero", "locks[0]", ()),
    ("struct marked", "here[0]", ()),
    ("union either", "lock", ()),
    ("struct outer", "either.lock", ("either",)),
    *((top, f"{path}.lock", (*through, "plain")) for top, path, through in PLAIN_IN),
    *(("struct middle", f"arrays[2].{path}", ("arrays",)) for path in ARRAYS),
    *(("struct outer", f"middles[3].arrays[2].{path}", ("middle", "arrays")) for path in ARRAYS),
    *(("struct outer", f"in[2][2].m.arrays[2].{path}", ("middle", "arrays")) for path in ARRAYS),
]
TABLE = [
    # asked for, every container: its type, the path as it is declared, and the structs between
    ("plain", PLAIN_IN),
    ("lock", LOCK_IN),
    ("lock_t", LOCK_IN),
    ("frozen_lock_t", LOCK_IN),
    ("atomic_t", [
        ("struct lock", "count", ()), ("struct counted", "count", ()),
        *((top, f"{path}.count", (*through, "lock")) for top, path, through in LOCK_IN),
    ]),
    ("middle", [("struct outer", "middles[3]", ()), ("struct outer", "in[2][2].m", ())]),
    ("either", [("struct outer", "either", ())]),
    ("titled_t", [("struct of_titled", "many[2]", ())]),
    ("node", [("struct holds_nothing", "node", ())]),
    ("empty", [("struct holds_nothing", "one", ()), ("struct holds_nothing", "two[2]", ())]),
    ("nobody", []),
    ("outer", []),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """One container: the path of the first, its byte, of each array the elements and the bytes between them."""

    container: str
    path: str
    offset: int
    arrays: tuple[tuple[str, int | None, int], ...]
    through: tuple[str, ...]

    @classmethod
    def from_container(cls, way: Container) -> Told:
        # BTF spells `x[0]` as `x[]`: both are told as arrays without a length.
        arrays = tuple((a.path, a.count or None, (a.bit_stride or 0) // 8) for a in way.arrays)
        assert way.bit_offset % 8 == 0
        return cls(way.struct.name, way.path, way.offset, arrays, way.through)


def _steps(written: str) -> Iterator[tuple[str, str, bool]]:
    """For each step of a path: the path without lengths, how C reaches its first element, whether it is an array."""
    path, reached = "", ""
    for step in written.split("."):
        name, lengths = step.partition("[")[::2]
        path, reached = f"{path}.{name}".lstrip("."), f"{reached}.{name}".lstrip(".")
        if lengths:
            yield path, reached, True
            reached += "[0]" * (lengths.count("[") + 1)
        else:
            yield path, reached, False


def lengths(written: str, array: str) -> list[int]:
    """The dimensions of an array as the path declares them; 0 for none."""
    return [int(count or 0) for count in re.findall(r"\[(\d*)\]", written.split(".")[array.count(".")])]


@pytest.fixture(scope="module", params=["gcc", "clang"])
def expected(request, tmp_path_factory) -> dict[tuple[str, str], tuple[int, tuple[tuple[str, int | None, int], ...]]]:
    """Offsets, lengths and strides of every path in the table, printed by the compiled program."""
    rows = sorted({(top, written) for _, ways in TABLE for top, written, _ in ways})
    lines = []
    for top, written in rows:
        reached = re.sub(r"\[\d*\]", "[0]", written)
        lines.append(f'printf("%zu", __builtin_offsetof({top}, {reached}));')
        for _, array, is_array in _steps(written):
            if is_array:
                first = "[0]" * len(lengths(written, array))
                lines.append(f'printf(" %zu", sizeof((({top} *)0)->{array}{first}));')
        lines.append("puts(\"\");")
    text = f"#include <stdio.h>\n{SOURCE}\nint main(void)\n{{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    program = compile_c(request.param, text, tmp_path_factory.mktemp("ask") / "ask")
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=20).stdout
    found = {}
    for (top, written), output in zip(rows, printed.splitlines(), strict=True):
        offset, *strides = map(int, output.split())
        arrays = [(path, prod(lengths(written, array)) or None) for path, array, is_array in _steps(written) if is_array]
        found[top, written] = (offset, tuple((*array, stride) for array, stride in zip(arrays, strides, strict=True)))
    return found


def use() -> str:
    return SOURCE + "".join(f"{of} *use{number};\n" for number, of in enumerate(USED))


def dwarf(compiler: str, *flags: str) -> Callable[[Path], Path]:
    return lambda folder: compile_c(compiler, use(), folder / "object.o", "-g", "-c", *flags)


def pahole_btf(compiler: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        built = dwarf(compiler)(folder)
        subprocess.run([need("pahole"), "-J", str(built)], check=True, capture_output=True)
        return built

    return make


def header(folder: Path) -> Path:
    (folder / "structs.h").write_text(SOURCE)
    return folder / "structs.h"


INPUTS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "header": (header, None),
    "gcc, DWARF 5": (dwarf("gcc", "-gdwarf-5"), "dwarf"),
    "gcc, DWARF 4": (dwarf("gcc", "-gdwarf-4"), "dwarf"),
    "gcc, type units": (dwarf("gcc", "-fdebug-types-section"), "dwarf"),
    "clang, DWARF 5": (dwarf("clang", "-gdwarf-5"), "dwarf"),
    "gcc, BTF of pahole": (pahole_btf("gcc"), "btf"),
    "clang, BTF": (dwarf("clang", "--target=bpf"), "btf"),
}


@pytest.fixture(scope="module", params=INPUTS, ids=[name.replace(" ", "-") for name in INPUTS])
def structs(request, tmp_path_factory) -> tuple[Struct, ...]:
    make, reader = INPUTS[request.param]
    path = make(tmp_path_factory.mktemp("input"))
    names = frozenset(name for name, _ in TABLE) | {"empty_t"}
    return read(str(path), Wanted(names, everything=True), ReadOptions(reader=reader)).structs


def describe(index: Index, name: str, is_direct: bool = False) -> list[Told]:
    definitions = index.definitions(name)
    assert len(definitions) == 1, f"{name} is {definitions}"
    return [Told.from_container(way) for way in index.containers(name, definitions[0], is_direct)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "ways"), TABLE, ids=[name for name, _ in TABLE])
class TestEveryReader:
    def test_every_container_with_the_compilers_offset(self, structs, expected, name, ways):
        index = Index(structs)
        wanted = [
            Told(top.split(" ")[-1], re.sub(r"\[\d*\]", "", written), *expected[top, written], through)
            for top, written, through in ways
        ]
        found = describe(index, name)
        assert sorted(found, key=str) == sorted(wanted, key=str)
        assert [(way.container, way.offset, way.path) for way in found] == sorted(
            (way.container, way.offset, way.path) for way in found
        )
        assert index.ambiguous_typedefs(name) == set()

    def test_direct_ones_lead_through_no_other(self, structs, name, ways):
        found = describe(Index(structs), name, is_direct=True)
        assert sorted((way.container, way.path) for way in found) == sorted(
            (top.split(" ")[-1], re.sub(r"\[\d*\]", "", written)) for top, written, through in ways if not through
        )

    def test_shapes_tell_what_identity_does_not(self, structs, name, ways):
        """Structs that come from several files or processes are equal without being the same objects."""
        copies = tuple(_copy_of(struct) for struct in structs)
        assert describe(Index(copies), name) == describe(Index(structs), name)
        assert describe(Index((*structs, *copies)), name) == describe(Index(structs), name)


def _copy_of(of: Struct) -> Struct:
    def fields(members: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(
            Field(f.name, f.type, f.bit_offset, f.bit_size, f.is_bitfield, f.aggregate, f.dims, fields(f.members),
                  f.align, f.source)
            for f in members
        )  # fmt: skip

    return Struct(of.name, of.aggregate, of.bit_size, of.align, fields(of.fields), of.target, of.source, of.origin, of.aliases)


def embed(name: str | None, spelled: str, offset: int, of: Struct, *dims: int | None) -> Field:
    """A field that holds a struct, or an array of them."""
    size = of.bit_size or 0
    for count in dims:
        size *= count or 0
    lengths = "".join(f"[{'' if count is None else count}]" for count in dims)
    return Field(name, CType(spelled, lengths), offset * 8, size, False, "struct", dims, of.fields)


LOCK = struct("lock", 8, member("word", 0, 8))


def list_rows(index: Index, name: str) -> list[list[tuple[str, str, int]]]:
    """For each definition of a name, its containers with written paths and offsets."""
    return [
        [(way.struct.name, way.written, way.offset) for way in index.containers(name, of)]
        for of in index.definitions(name)
    ]


class TestDefinitions:
    def test_different_ones_of_a_name_are_kept_apart(self):
        small, large = struct("s", 8, member("a", 0, 8)), struct("s", 16, member("b", 0, 8), member("c", 8, 8))
        one = struct("one", 8, embed("x", "struct s", 0, small))
        two = struct("two", 24, member("a", 0, 8), embed("x", "struct s", 8, large))
        assert list_rows(Index((small, large, one, two)), "s") == [[("one", "x", 0)], [("two", "x", 8)]]

    def test_containers_of_one_name_are_kept_apart(self):
        one = struct("c", 8, embed("x", "struct lock", 0, LOCK))
        two = struct("c", 16, member("a", 0, 8), embed("x", "struct lock", 8, LOCK))
        assert list_rows(Index((LOCK, one, two)), "lock") == [[("c", "x", 0), ("c", "x", 8)]]

    def test_those_that_differ_in_size_alone_are_kept_apart(self):
        again = struct("lock", 64, member("word", 0, 8), align=64)
        assert [of.bit_size for of in Index((LOCK, again)).definitions("lock")] == [64, 512]

    def test_equal_ones_are_one(self):
        again = struct("lock", 8, member("word", 0, 8))
        holder = struct("c", 8, embed("x", "struct lock", 0, again))
        assert list_rows(Index((LOCK, again, holder)), "lock") == [[("c", "x", 0)]]

    def test_a_tag_is_no_typedef_of_the_same_name(self):
        other = struct("other", 16, member("a", 0, 8), member("b", 8, 8))
        holder = struct("c", 24, embed("x", "struct lock", 0, LOCK), embed("y", "lock", 8, other))
        assert list_rows(Index((LOCK, other, holder)), "lock") == [[("c", "x", 0)], [("c", "y", 8)]]

    def test_a_definition_that_only_a_field_tells_of(self):
        holder = struct("c", 16, member("a", 0, 8), embed("x", "struct lock", 8, LOCK))
        other = struct("d", 16, embed("y", "const struct lock", 0, LOCK), embed("z", "struct lock", 8, LOCK))
        copy = struct("e", 8, embed("w", "struct lock", 0, struct("lock", 8, member("word", 0, 8))))
        assert list_rows(Index((holder, other, copy)), "lock") == [[("c", "x", 8), ("d", "y", 0), ("d", "z", 8), ("e", "w", 0)]]

    def test_a_typedef_that_fits_two_structs_is_not_guessed(self):
        """Structs without members look alike; a reader that is asked for the typedef tells."""
        one, two = struct("one", 0), struct("two", 0)
        holder = struct("c", 8, embed("x", "either_t", 0, one), member("a", 0, 8))
        index = Index((one, two, holder))
        assert index.ambiguous_typedefs("one") == index.ambiguous_typedefs("two") == {"either_t"}
        assert index.ambiguous_typedefs("c") == set()  # which is neither, and in neither
        assert list_rows(index, "one") == list_rows(index, "two") == [[]]
        asked = Struct("two", "struct", 0, 1, (), X86_64, aliases=("either_t",))
        settled = Index((one, asked, holder))
        assert settled.ambiguous_typedefs("one") == settled.ambiguous_typedefs("two") == set()
        assert (list_rows(settled, "one"), list_rows(settled, "two")) == ([[]], [[("c", "x", 0)]])

    def test_an_unnamed_member_with_a_tag(self):
        """-fms-extensions: the members of `struct lock;` are the container's own."""
        holder = struct("c", 16, member("a", 0, 8), embed(None, "struct lock", 8, LOCK))
        top = struct("top", 16, embed("c", "struct c", 0, holder))
        assert list_rows(Index((LOCK, holder, top)), "lock") == [[("c", "", 8), ("top", "c", 8)]]

    def test_an_element_whose_size_nothing_tells(self):
        inner = Field("x", CType("struct {...}", "[]"), 64, 0, False, "struct", (None,), (embed("l", "struct lock", 0, LOCK),))
        (way,) = Index((LOCK, holder := struct("c", 8, inner))).containers("lock", LOCK)
        assert way.struct is holder
        assert [(array.path, array.count, array.bit_stride) for array in way.arrays] == [("x", None, None)]
        assert way.count is None

    @pytest.mark.parametrize(("size", "name"), [(8, "`x` in struct c"), (16, None), (None, "`x` in struct c")])
    def test_a_field_without_a_type_can_hold_what_fits(self, size, name):
        """Pahole writes `void` for a type that BTF cannot express."""
        holder = struct("c", 24, member("a", 0, 8), Field("x", CType("void"), 64, None), member("b", 16, 8))
        held = replace(struct("s", size or 0), bit_size=size and size * 8)
        assert Index((holder, held)).field_without_type("s", held) == name

    @pytest.mark.parametrize(("name", "unstated", "is_tagged", "found"), [
        ("lock", Unstated.ATOMIC_NAME, False, True), ("pair", Unstated.ATOMIC_NAME, False, True), ("outer", Unstated.ATOMIC_NAME, False, True),
        ("alone", Unstated.ATOMIC_NAME, False, False), ("lock", Unstated.NOTHING, False, False), ("lock", Unstated.ATOMIC_NAME, True, False),
    ])  # fmt: skip
    def test_an_unnamed_type_can_be_one_that_holds_it_at_any_depth(self, name, unstated, is_tagged, found):
        """Gcc omits the typedef of a struct in an atomic type."""
        pair = replace(struct("pair", 16, embed("lock", "struct lock", 0, LOCK), member("b", 8, 8)), is_tagged=is_tagged)
        outer = replace(struct("outer", 24, embed("pair", "pair", 0, pair), member("c", 16, 8)), is_tagged=is_tagged)
        hidden = embed("x", "struct {...}", 0, _copy_of(outer))
        given = (LOCK, pair, outer, struct("alone", 8, member("d", 0, 8)), replace(struct("c", 24, hidden), unstated=unstated))
        index = Index(given)
        (asked,) = index.definitions(name)
        assert index.field_without_type(name, asked) == ("`x` in struct c" if found else None)

    def test_a_typedef_that_fits_several_hides_what_they_hold_at_any_depth(self):
        one, two = (struct(name, 8, embed("lock", "struct lock", 0, LOCK)) for name in ("one", "two"))
        holder, other = struct("c", 8, embed("x", "either_t", 0, _copy_of(one))), struct("alone", 8, member("d", 0, 8))
        index = Index((LOCK, one, two, holder, other))
        assert [index.ambiguous_typedefs(name) for name in ("lock", "one", "two", "c", "alone")] == [{"either_t"}] * 3 + [set()] * 2

    def test_the_names_that_can_be_asked_for(self):
        holder = struct("c", 8, embed("x", "lock_t", 0, LOCK))
        assert Index((LOCK, holder)).names == ["c", "lock", "lock_t"]
        assert Index((LOCK, holder)).definitions("nothing") == ()


def double(levels: int) -> list[Struct]:
    """Structs each of which holds the one before it twice: 2^levels ways to the first from the last."""
    made = [LOCK]
    for level in range(levels):
        inner = made[-1]
        size = (inner.bit_size or 0) // 8
        fields = (embed("a", f"struct {inner.name}", 0, inner), embed("b", f"struct {inner.name}", size, inner))
        made.append(struct(f"l{level:03}", size * 2, *fields))
    return made


class TestGrowth:
    @pytest.mark.parametrize("levels", [18, 300])
    def test_more_ways_than_anything_can_hold_are_counted_and_refused(self, levels):
        index = Index(double(levels))
        with pytest.raises(TooManyContainers) as caught:
            index.containers("lock", LOCK)
        assert caught.value.ways == 2 ** (levels + 1) - 2
        assert caught.value.worst == f"l{levels - 1:03}"
        assert [way.path for way in index.containers("lock", LOCK, is_direct=True)] == ["a", "b"]

    @pytest.mark.parametrize(("most", "fails"), [(14, False), (13, True)])
    def test_the_most_ways(self, most, fails, monkeypatch):
        monkeypatch.setattr(containers, "MOST_CONTAINERS", most)
        index = Index(double(3))
        if fails:
            with pytest.raises(TooManyContainers, match="lock is in 14 places of its containers, most of them in l002: more than the 13 that"):
                index.containers("lock", LOCK)
        else:
            assert len(index.containers("lock", LOCK)) == 14

    @pytest.mark.exhaustive
    def test_as_many_as_are_listed_are_listed(self):
        levels = MOST_CONTAINERS.bit_length() - 2
        ways = Index(double(levels)).containers("lock", LOCK)
        assert len(ways) == 2 ** (levels + 1) - 2 <= MOST_CONTAINERS
        assert [way.offset for way in ways[-(2**levels) :]] == [8 * number for number in range(2**levels)]

    @pytest.mark.exhaustive
    def test_unnamed_types_that_hold_one_another_twice(self):
        """`typeof` of an unnamed member uses its type again."""
        inner = LOCK
        for _ in range(200):
            fields = (embed("a", "struct {...}", 0, inner), embed("b", "struct {...}", 8, inner))
            inner = struct("unnamed", 16, *fields)
        top = struct("top", 16, embed("x", "struct lock", 0, LOCK), embed("y", "struct {...}", 8, inner))
        assert list_rows(Index((LOCK, top)), "lock") == [[("top", "x", 0)]]

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("count", [20_000])
    def test_many_of_one_name_or_without_members_take_time_in_proportion(self, count):
        """What would take minutes, if each were compared with each."""
        made = []
        for number in range(count):
            inner = struct("same", 16, member(f"a{number}", 0, 8), member("b", 8, 8))
            fields = (embed("x", "struct same", 0, inner), embed("y", f"none{number}_t", 16, struct("none", 0)))
            made += [inner, struct(f"none{number}", 0), struct(f"holder{number}", 16, *fields)]
        with limit_time(10):
            index = Index(made)
            assert len(index.definitions("same")) == count
            assert list_rows(index, "none7") == [[]]
            assert len(index.ambiguous_typedefs("none7")) == count
