"""Object files with a section for each variable (`-fdata-sections`): the work grows with their number, not its square."""

from __future__ import annotations

from layoutlint.comparison.variables import VariableQuery, compare_variables
from layoutlint.model.variables import DataSection, Variable, VariableTable
from tests.harness.build import X86_64
from tests.harness.pace import limit_time

COUNT = 20_000


def table(last_name: str, size: int) -> VariableTable:
    names = [f"v{number}" for number in range(COUNT)]
    variables = [Variable(name, 0, size if name == "v7" else 8, f".data.{name}", False, "m.c") for name in names]
    sections = [DataSection(f".data.{name}", 0, 64, 8) for name in names]
    variables.append(Variable(last_name, 8, 8, ".data.v0", False, "m.c"))
    return VariableTable("m.o", "m.o", X86_64, False, tuple(sections), tuple(variables), {})


def test_sections_by_the_thousand_take_little_time_each():
    old, new = table("queue_head", 8), table("queue_first", 16)
    with limit_time(3):  # about 0.5; 12 with a pass over all variables for each section
        compared = compare_variables((old,), (new,), VariableQuery(lambda name: False, lambda name: True))
    (file,) = compared.tables
    assert {(each.old.name, each.new.name, each.new.size) for each in file.changes} == {
        ("v7", "v7", 16),
        ("queue_head", "queue_first", 8),
    }
