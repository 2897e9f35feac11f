"""The comparison of readers sees every difference but those that a reader cannot help."""

from __future__ import annotations

import pytest

from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source
from layoutlint.readers.losses import LOSSES
from tests.harness.build import struct
from tests.oracles.agreement import agreements, differences

INNER = Field("lock", CType("int"), 0, 32)
FIELD = Field("inner", CType("struct in"), 64, 64, False, "struct", (), (INNER,), 8, Source("a.h", 1))
ONE = struct("s", 32, FIELD)
DIFFER = [
    # what is changed in a struct or its field, difference
    ({"name": "other"}, "s: name s in dwarf, other in clang"),
    ({"aggregate": "union"}, "s: aggregate struct in dwarf, union in clang"),
    ({"bit_size": 128}, "s: bit_size 256 in dwarf, 128 in clang"),
    ({"fields": ()}, "s: only one has inner at bit 64 (dwarf, clang)"),
    ({"fields": (replace(FIELD, name="outer"),)}, "s.inner: name 'inner' and 'outer' (dwarf, clang)"),
    ({"fields": (replace(FIELD, type=CType("in_t")),)}, "s.inner: type 'struct in' and 'in_t' (dwarf, clang)"),
    ({"fields": (replace(FIELD, bit_offset=0),)}, "s.inner: bit_offset 64 and 0 (dwarf, clang)"),
    ({"fields": (replace(FIELD, bit_size=32),)}, "s.inner: bit_size 64 and 32 (dwarf, clang)"),
    ({"fields": (replace(FIELD, is_bitfield=True),)}, "s.inner: is_bitfield False and True (dwarf, clang)"),
    ({"fields": (replace(FIELD, aggregate="union"),)}, "s.inner: aggregate 'struct' and 'union' (dwarf, clang)"),
    ({"fields": (replace(FIELD, dims=(2,)),)}, "s.inner: dims () and (2,) (dwarf, clang)"),
    ({"fields": (replace(FIELD, members=()),)}, "s.inner: only one has lock at bit 0 (dwarf, clang)"),
    ({"fields": (replace(FIELD, members=(replace(INNER, bit_size=8),)),)}, "s.inner.lock: bit_size 32 and 8 (dwarf, clang)"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line"), DIFFER, ids=[line.split(" (")[0] for _, line in DIFFER])
def test_a_difference_is_seen(change, line):
    assert differences(ONE, replace(ONE, **change), "dwarf", "clang") == [line]


def member(spelled: str, bit_size: int | None, dims: tuple[int | None, ...] = (), offset: int = 64, bits: bool = False) -> Field:
    left, bracket, right = spelled.partition("[")
    return Field("inner", CType(left, bracket + right), offset, bit_size, bits, dims=dims)


LOST = [
    # loss of BTF, member from DWARF, the same from BTF
    ("atomic", member("_Atomic int", 32), member("int", 32)),
    ("atomic", member("_Atomic int", 32), member("void", None)),
    ("zero-length", member("int[0]", 0, (0,)), member("int[]", 0, (None,))),
    ("dimensions", member("int[2][3]", 192, (2, 3)), member("int[6]", 192, (6,))),
    ("vector", member("__attribute__((__vector_size__(4 * sizeof(int)))) int", 128), member("int[4]", 128, (4,))),
    ("whole-bit-field", member("int", 32, bits=True), member("int", 32)),
]  # fmt: skip


@pytest.mark.parametrize(("key", "full", "less"), LOST, ids=[f"{loss[0]} {loss[1].type}" for loss in LOST])
def test_what_a_reader_loses_is_no_difference(key, full, less):
    assert any((loss.reader, loss.key) == ("btf", key) for loss in LOSSES)
    a, b = replace(ONE, fields=(full,)), replace(ONE, fields=(less,))
    assert differences(a, b, "dwarf", "btf") == differences(b, a, "btf", "dwarf") == []
    assert differences(a, b, "dwarf", "clang") != []


def test_a_bit_field_that_is_not_as_wide_as_a_type_stays_one():
    a, b = (replace(ONE, fields=(member("int", 3, bits=bits),)) for bits in (True, False))
    assert differences(a, b, "dwarf", "btf") == ["s.inner: is_bitfield True and False (dwarf, btf)"]


def test_one_of_several_definitions_agrees():
    others = [replace(ONE, bit_size=64), ONE]
    assert agreements(ONE, others, "dwarf", "btf") == []
    assert agreements(ONE, others[:1], "dwarf", "btf") == ["s: bit_size 256 in dwarf, 64 in btf"]
