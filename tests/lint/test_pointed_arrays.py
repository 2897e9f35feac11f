"""Arrays behind pointers: what each type of pointer points to, and where the array is said to start."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from layoutlint.lint.pointed_arrays import is_pointer, pointed_arrays
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import Target, target_named
from layoutlint.sources.source_uses.element_owners import ArrayName
from tests.harness.build import X86_64, member, struct

ILP32 = target_named("i386")
CELL = replace(struct("cell", 24, member("x", 0, 8)), aliases=("cell_t",), source=Source("cell.h", 9))
LINE, HALF = replace(CELL, name="line", align=64, aliases=()), replace(CELL, name="half", align=32, aliases=())
UNKNOWN_ALIGN = replace(CELL, name="loose", align=None, aliases=())
DECLARED, BROKEN, EMPTY = (replace(CELL, name=name, aliases=(), **more) for name, more in (("declared", {"bit_size": None}), ("broken", {"problem": "no header"}), ("empty", {"bit_size": 0})))
KNOWN = (CELL, LINE, HALF, UNKNOWN_ALIGN, DECLARED, BROKEN, EMPTY)


def pointer(spelling: str, name: str | None = "p", **more: object) -> Field:
    return replace(member(name, 0, 8), type=CType(spelling, str(more.pop("right", ""))), **more)


TYPES: dict[str, tuple[int, int] | None] = {
    # what a pointer points to: bytes of a number, on 64 bits and on 32; None for an array that is not judged
    "char *": (1, 1), "const unsigned char *": (1, 1), "short *": (2, 2), "unsigned short int *": (2, 2), "int *": (4, 4), "volatile int *": (4, 4),
    "unsigned int *": (4, 4), "long *": (8, 4), "unsigned long int *": (8, 4), "long long *": (8, 8), "unsigned long long int *": (8, 8), "float *": (4, 4),
    "double *": (8, 8), "_Atomic long *": (8, 4), "uint8_t *": (1, 1), "int16_t *": (2, 2), "uint32_t *": (4, 4), "int64_t *": (8, 8), "u8 *": (1, 1), "s16 *": (2, 2),
    "u32 *": (4, 4), "u64 *": (8, 8), "16 *": (2, 2), "struct nobody **": (8, 4), "char **": (8, 4), "void *": None, "uint24_t *": None, "xu8 *": None, "bool *": None, "struct nobody *": None,
    "struct declared *": None, "struct broken *": None, "struct empty *": None, "struct line *": None, "long double *": None,
}  # fmt: skip


def arrays(fields: Iterable[Field], variables: tuple[Field, ...] = (), target: Target = X86_64, **more: object) -> tuple[list[tuple[Struct, Storage, str]], list[ArrayName]]:
    """The arrays behind fields of a struct and variables, and the names that the reason was asked for."""
    names: list[ArrayName] = []

    def reason(name: ArrayName) -> str:
        names.append(name)
        return f"reason {len(names)}"

    around = replace(struct("around", 64, *fields, target=target), aliases=("around_t",), **more)
    reading = Reading("a.c", "clang", target, (around, *(replace(each, target=target) for each in KNOWN)), variables=variables)
    found = pointed_arrays(reading, reason, lambda name: name == "p")
    return [(array.struct, array.storage, why) for array, why in found], names


@pytest.mark.parametrize(("spelling", "sizes"), TYPES.items(), ids=TYPES)
def test_numbers(spelling, sizes):
    for target, size in zip((X86_64, ILP32), sizes or (None, None), strict=True):
        found, names = arrays([pointer(spelling)], target=target)
        assert [each.bit_size for each, _, _ in found] == ([] if size is None else [8 * size])
        assert len(names) == len(found)
        for each, storage, why in found:
            (whole,) = each.fields
            assert (each.name, each.aliases, each.align, each.target, each.source) == ("p", (), size, target, Source("example.h", 2))
            assert (whole.name, whole.bit_offset, whole.bit_size, whole.type.left) == ("", 0, 8 * (size or 0), spelling[:-1].strip().split("const ")[-1].replace("volatile ", "").replace("unsigned ", "").replace("_Atomic ", ""))
            assert (each.label, storage, why) == ("the array that `p` of struct around points to", Storage("malloc", Source("example.h", 2), array=ANY), "reason 1")


@pytest.mark.parametrize(("spelling", "expected"), [("struct cell *", CELL), ("cell_t *", CELL), ("const struct cell *", CELL), ("struct half *", HALF), ("struct loose *", UNKNOWN_ALIGN)])
def test_structs(spelling, expected):
    found, names = arrays([pointer(spelling)])
    assert [each for each, _, _ in found] == [replace(expected, source=Source("example.h", 2), label="the array that `p` of struct around points to")]
    assert names == [ArrayName("p", ("around", "around_t"), True)]


def test_places_and_names():
    inner = replace(member("in", 8, 16, pointer("int *", "q"), pointer("int *", "r", bit_offset=64), pointer("int *", None)), type=CType("struct {...}"))
    variables = (pointer("int *", "v", source=Source("v.c", 7)), pointer("int *", "w", source=None), pointer("int *", None), pointer("int", "n"))
    found, names = arrays([pointer("int *", "p", source=None), inner], variables)
    assert names == [
        ArrayName("p", ("around", "around_t"), True), ArrayName("q", ("around", "around_t"), False), ArrayName("r", ("around", "around_t"), False),
        ArrayName("v", None, True, "v.c"), ArrayName("w", None, True, ""),
    ]  # fmt: skip
    assert [(each.name, each.label, str(each.source)) for each, _, _ in found] == [
        ("p", "the array that `p` of struct around points to", "example.h:1"),
        ("q", "the array that `q` of struct around points to", "example.h:2"),
        ("r", "the array that `r` of struct around points to", "example.h:2"),
        ("v", "the array that `v` points to", "v.c:7"),
        ("w", "the array that `w` points to", "example.h:1"),
    ]
    found, _ = arrays([pointer("int *", "p", source=None)], source=None)
    assert [each.source for each, _, _ in found] == [Source("", 0)]


def test_no_struct_and_no_reason():
    variable = pointer("int *", "v")
    assert list(pointed_arrays(Reading("a.c", "clang", X86_64, (), variables=(variable,)), lambda name: "r", lambda name: True)) == []
    reading = Reading("a.c", "clang", X86_64, (struct("s", 8, pointer("int *")),), variables=(variable,))
    assert [array.struct.name for array, _ in pointed_arrays(reading, lambda name: None if name.name == "p" else "", lambda name: True)] == ["v"]


@pytest.mark.parametrize(("field", "expected"), [
    (pointer("int *"), True), (pointer("int"), False), (pointer("void (*", right=")(void)"), False), (pointer("int *", dims=(3,)), False), (pointer("int *", right="[3]"), False),
])  # fmt: skip
def test_pointers_to_arrays(field, expected):
    assert is_pointer(field) is expected
