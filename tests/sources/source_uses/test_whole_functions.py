"""All that the text of some functions shows: elements and their writes, locks, calls, values by which threads differ.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from layoutlint.lint.thread_elements import is_setup
from layoutlint.sources.source_uses.element_owners import ArrayName, ElementOwners
from layoutlint.sources.source_uses.element_writes import Writes, calls, elements, locks
from layoutlint.sources.source_uses.field_uses import FieldName, FieldUses
from layoutlint.sources.source_uses.functions import Function, SourceFunctions
from layoutlint.sources.source_uses.thread_values import ThreadValues
from tests.harness.command import ROOT

FOLDER = "fixtures/source_uses"
ARRAYS = [
    # an array, and the struct that it is in
    ArrayName("n"), ArrayName("m"), ArrayName("p"), ArrayName("locks"), ArrayName("owns"), ArrayName("n", file="elements.c"),
    ArrayName("n", file="other.c"), ArrayName("n", ("all",)), ArrayName("n", ("all",), is_unique=False), ArrayName("in", ("all",)),
    ArrayName("in", ("other",), is_unique=False), ArrayName("many", ("in",)), ArrayName("none"),
]  # fmt: skip


@pytest.fixture
def functions(monkeypatch) -> SourceFunctions:
    monkeypatch.chdir(ROOT)
    return SourceFunctions((f"{FOLDER}/elements.c",))


def lines(function: Function, every: SourceFunctions) -> Iterator[str]:
    writes, values = Writes(every), ThreadValues(every, ("half",))
    marks = " macro" * function.is_macro + " accessor" * function.is_accessor + " value" * every.is_value(function.name)
    callers = ", ".join(sorted(each.name for each in every.callers(function)))
    yield f"{function.line} {function.name}({', '.join(function.parameters)}){marks} <- {callers}"
    for each in elements(function):
        written = ", ".join(f"{write.manner.value} at {write.at}" for write in writes.of_element(function, each))
        origin = values.origin(function, each.subscript, each.start)
        place = f"{function.line_at(each.start)}:{each.start}-{each.end}"
        yield f"  {place} {each.receiver}.{each.text}: {written or 'not written'}; {origin}"
    for held in locks(function):
        yield f"  lock {held.lock.text} at {held.at}"
    for name, arguments, at in calls(function):
        yield f"  call {name}{arguments} at {at}"


def test_functions(functions, golden):
    (file,) = functions.texts()
    golden("functions.txt", "".join(f"{line}\n" for each in functions.defined_functions(file) for line in lines(each, functions)))


def test_owners(functions, golden):
    """The reason for each array, and all writes that it could come from, with the locks around them."""
    owners = ElementOwners(functions, is_setup, ("half",))
    shown: list[str] = []
    for array in ARRAYS:
        shown.append(f"{array.name} {array.structs} {array.is_unique} {array.file}: {owners.reason(array)}")
        for function, write in owners._all_writes(array):
            shown.append(f"  {owners._describe(function, write)} by {write.manner.value}, under {owners._lock(function, write)}")
    golden("owners.txt", "".join(f"{line}\n" for line in shown))


def test_fields_that_change_together(golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    uses = FieldUses(SourceFunctions((f"{FOLDER}/fields.c",)))
    names = [FieldName(name, ("q",), is_unique) for name in "abcde" for is_unique in (True, False)]
    pairs = ((one, two) for one in names for two in names if one.name != two.name)
    shown = [f"{one.name} {one.is_unique} with {two.name} {two.is_unique}" for one, two in pairs if uses.is_always_with(one, two)]
    users = [
        f"{each.name} {each.is_unique}: {sorted(function.name for function in uses._changing_functions(each, is_certain))}"
        for each in names for is_certain in (True, False)
    ]  # fmt: skip
    golden("fields.txt", "".join(f"{line}\n" for line in (*users, *shown)))
