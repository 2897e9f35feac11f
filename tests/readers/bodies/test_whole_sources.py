"""All that is known of the functions of some sources: where addresses go, what is used, and what forbids other orders.

Each line of the sources has its own variant of an index, a loop, a conversion, a call or a statement. The texts in `golden/` are
for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.readers.bodies import flows, unit
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.order_uses import find_order_uses
from tests.harness.command import ROOT
from tests.harness.whole import inline, whole_lines

BODIES = "fixtures/bodies"
OPTIONS = ReadOptions(cache=False, jobs=1)
ADDRESSES = ("flows.c", "numbers.c")


@pytest.fixture(scope="module")
def subject() -> Struct:
    """The struct whose addresses are followed."""
    (layout,) = (each for each in api.read(str(ROOT / BODIES / "subject.h")) if each.struct.name == "s")
    return layout.struct


@pytest.mark.parametrize("name", ADDRESSES)
def test_flows_and_uses(name, subject, golden, monkeypatch, same_process):
    monkeypatch.chdir(ROOT)
    found = flows.read((f"{BODIES}/{name}",), ("s",), OPTIONS)
    facts = {kind: getattr(found, kind) for kind in (*flows._FACTS, "notes")}
    golden(f"{name}.flows.txt", "".join(f"{kind} {inline(each)}\n" for kind, rows in facts.items() for each in rows))
    search = find_order_uses(subject, [f"{BODIES}/{name}"], jobs=1, flows=found)
    golden(f"{name}.uses.txt", "".join(f"{line}\n" for line in whole_lines(search)))


@pytest.mark.parametrize("name", [*ADDRESSES, "statements.c"])
def test_functions(name, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    read = unit.read(Unit(f"{BODIES}/{name}", ("-xc", "-w"), str(ROOT), (str(ROOT),), name))
    golden(f"{name}.functions.txt", "".join(f"{line}\n" for line in whole_lines(read)))
