"""Rows of data-type profiles at the fields of structs in memory: those that no compiled fixture has."""

from __future__ import annotations

import pytest

from layoutlint.commands.evidence.lines import ObjectType
from layoutlint.commands.evidence.types import TypeResult, place_types
from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field
from layoutlint.readers.profiles.records import EventProfile, Profile, ReportHeader, TypeRow, TypeSize
from tests.harness.build import bits, member, struct
from tests.harness.whole import inline

UNKNOWN = Field("blob", CType("void"), 64, None)
"""BTF of older pahole has `_Atomic` types without a size."""
KIND = ObjectType(struct("box", 32, member("head", 0, 8), UNKNOWN, member("tail", 16, 8)))
ROWS = [
    # offset, the member that perf names, the field that is reported, the reason of a refusal
    (0, "head", "head", None),
    (16, "tail", "tail", None),
    (8, "blob", None, "in padding"),
    (12, "blob", None, "in padding"),
    (16, "blob", None, "the profile has `blob` there, and the input has `tail`: another build"),
]


BITS = (bits("flags", 0, 3), bits("more", 3, 7), bits("last", 16, 5), member("count", 4, 4))
BIT_ROWS = [
    # offset, member, size in bytes if it is printed, and the field: perf 6.12 with DWARF 5, and with DWARF 4
    (0, "flags", None, "flags"),
    (0, "more", None, "more"),
    (1, None, None, "more"),
    (2, "flags", None, "last"),  # the first one of the storage unit
    (0, "flags", 1, "flags"),
    (0, "more", 1, "more"),
    (2, "last", 1, "last"),
    (0, "last", 4, "last"),
    (4, "flags", 1, None),
    (4, "flags", None, None),
]


@pytest.mark.parametrize(("offset", "path", "size", "field"), BIT_ROWS)
def test_bit_fields(offset, path, size, field):
    row = TypeRow("struct bits", offset, path, 1.0, 10, 3, size)
    result = TypeResult()
    event = EventProfile(None, "load", 1, (row,))
    kind = ObjectType(struct("bits", 8, *BITS))
    place_types(Profile("types.txt", ("perf report",), ReportHeader(), events=(event,)), [kind], result)
    assert [count.path for count in result.counts[0]] == ([field] if field else [])


@pytest.mark.parametrize(("offset", "path", "field", "reason"), ROWS)
def test_row(offset, path, field, reason):
    row = TypeRow("struct box", offset, path, 1.0, 10, 3)
    result = TypeResult()
    event = EventProfile(None, "load", 1, (row,))
    place_types(Profile("types.txt", ("perf report",), ReportHeader(), events=(event,)), [KIND], result)
    assert [count.path for count in result.counts[0]] == ([field] if field else [])
    assert [refused.reason for _, refused in result.refused[0]] == ([reason] if reason else [])


IN = (member("x", 0, 4), member("y", 4, 4))
NESTED = ObjectType(
    struct(
        "nest", 64, member("a", 0, 8), member("in", 8, 8, *IN), member(None, 16, 8, member("u", 0, 8), aggregate="union"),
        Field("words", CType("long int", "[3]"), 24 * 8, 24 * 8, dims=(3,), align=8), member("end", 56, 4),
    )
)  # fmt: skip
NAMES = (None, "", "a", "in", "in.x", "in.y", "u", "words", "end", "gone")


def place(rows: list[TypeRow], kinds: list[ObjectType], sizes: tuple[TypeSize, ...] = ()) -> str:
    """All that comes of the rows of one event."""
    result = TypeResult()
    event = EventProfile("mem-loads", "load", 1, tuple(rows), sizes, 1.5, 2.5)
    place_types(Profile("types.txt", ("perf report",), ReportHeader(), events=(event,)), kinds, result)
    parts = [inline(each) for each in result.events]
    parts += [f"{number} {inline(each)}" for number, counts in sorted(result.counts.items()) for each in counts]
    parts += [f"{number} {at} {inline(each)}" for number, refused in sorted(result.refused.items()) for at, each in refused]
    return "\n".join([*parts, *result.notes])


def test_every_row_of_a_struct(golden):
    """At every field and in every gap, each member that perf can name, with and without its size; cut names too."""
    texts = []
    for offset in (0, 4, 8, 12, 14, 16, 24, 40, 48, 56, 60, 64, 72):
        for path in NAMES:
            for size, is_cut in ((None, False), (8, False), (None, True)) if path else ((None, False),):
                result = TypeResult()
                rows = (TypeRow("struct nest", offset, path, 1.0, 10, 3, size, is_cut),)
                place_types(Profile("", (), ReportHeader(), events=(EventProfile(None, "load", 1, rows),)), [NESTED], result)
                made = [f"{each.path} at {each.offset}" for each in result.counts[0]] + [each.reason for _, each in result.refused[0]]
                texts.append(f"{offset} {path}{f' of {size}' if size else ''}{' cut' if is_cut else ''}: {', '.join(made)}")
    golden("rows-of-types.txt", "".join(f"{text}\n" for text in texts))


def test_rows_of_several_structs(golden):
    """Types of other programs, pointers, several definitions of one name, and sizes that fit one, none or several."""
    small, large = (ObjectType(struct("box", size, member("head", 0, 8))) for size in (16, 32))
    head, tail = TypeRow("struct box", 0, "head", 1.0, 10, 3), TypeRow("struct box", 8, None, 2.0, None, 4)
    again = TypeRow("struct box", 0, "head", None, 5, 5)
    sizes = {size: (TypeSize("struct box", size, 2),) for size in (16, 32, 64)}
    cases = {
        "one": ([head, tail, again], [small], ()),
        "another type": ([TypeRow("struct other", 0, "a", 4.0, 1, 6), TypeRow("struct box *", 0, "head", 3.0, 1, 7)], [small], ()),
        "several, one size": ([head], [small, large], sizes[32]),
        "several, no size": ([head], [small, large], ()),
        "several, another size": ([head], [small, large], sizes[64]),
        "one, another size": ([head], [small], sizes[64]),
        "one, sizes of two": ([head], [small], sizes[16] + sizes[32]),
        "several, one has the field": ([TypeRow("struct box", 16, "tail", 1.0, 1, 8)], [small, KIND], ()),
        "programs": ([head, TypeRow("struct box", 8, None, 2.0, 2, 4, file="b.so")], [small], ()),
        "programs, several structs": ([head, TypeRow("struct box", 8, None, 2.0, 2, 4, file="b.so")], [small, large], ()),
        "several, the second has the size": ([head], [large, small], sizes[16]),
        "several, none has the field": ([TypeRow("struct box", 24, "tail", 1.0, 1, 8)], [small, large], ()),
        "a size of a program": ([head], [small], (TypeSize("struct box", 16, 2, "b.so"),)),
        "others contradict": ([TypeRow("struct box", 8, "", 1.0, 1, 8), TypeRow("struct box", 0, "gone", 1.0, 1, 9)], [small], ()),
        "no share": ([TypeRow("struct box", 0, "head", None, None, 3)], [small], ()),
    }
    golden("several-types.txt", "".join(f"== {name}\n{place(*case)}\n" for name, case in cases.items()))
