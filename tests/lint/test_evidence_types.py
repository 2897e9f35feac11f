"""Rows of data-type profiles at the fields of structs in memory: those that no compiled fixture has."""

from __future__ import annotations

import pytest

from layoutlint.lint.evidence_lines import ObjectType
from layoutlint.lint.evidence_types import TypeResult, place_types
from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field
from layoutlint.readers.profiles.records import EventProfile, Header, Profile, TypeRow
from tests.harness.build import bits, member, struct

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
    place_types(Profile("types.txt", ("perf report",), Header(), events=(event,)), [kind], result)
    assert [count.path for count in result.counts[0]] == ([field] if field else [])


@pytest.mark.parametrize(("offset", "path", "field", "reason"), ROWS)
def test_row(offset, path, field, reason):
    row = TypeRow("struct box", offset, path, 1.0, 10, 3)
    result = TypeResult()
    event = EventProfile(None, "load", 1, (row,))
    place_types(Profile("types.txt", ("perf report",), Header(), events=(event,)), [KIND], result)
    assert [count.path for count in result.counts[0]] == ([field] if field else [])
    assert [refused.reason for _, refused in result.refused[0]] == ([reason] if reason else [])
