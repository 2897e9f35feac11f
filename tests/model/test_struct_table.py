"""Values by struct."""

from __future__ import annotations

import pytest

from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.struct_table import StructTable
from layoutlint.model.structs import Field, Source, Struct
from tests.harness.build import X86_64

FIELD = Field("a", CType("int"), 0, 32)
LOCK = Struct("lock", "struct", 32, 4, (FIELD,), X86_64, Source("lock.h", 3), "main.c")

OTHERS = (
    ("another name", {"name": "mutex"}),
    ("another unit", {"origin": "init.c"}),
    ("another line", {"source": Source("lock.h", 9)}),
    ("another size", {"bit_size": 64}),
    ("another field, on the same line in the same unit", {"fields": (replace(FIELD, name="b"),)}),
)


@pytest.mark.parametrize(("why", "change"), OTHERS, ids=[why for why, _ in OTHERS])
def test_structs_that_differ_have_values_of_their_own(why, change):
    table: StructTable[str] = StructTable()
    table.add(LOCK, "lock")
    other = replace(LOCK, **change)
    assert table.find(other) is None, why
    assert table.add(other, "other") == "other"
    assert (table.find(LOCK), table.find(other), len(table)) == ("lock", "other", 2)


def test_equal_structs_have_one_value():
    table: StructTable[str] = StructTable()
    table.add(LOCK, "lock")
    copy = replace(LOCK, fields=(replace(FIELD),))
    assert copy is not LOCK
    assert table.find(copy) == "lock"
