"""All that is known of the functions of some sources: where addresses go, what is used, and what forbids other orders.

Each line of the sources has its own variant of an index, a loop, a conversion, a call or a statement. The texts in `golden/` are
for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import re

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.bodies import flow_calls, flows, library_calls, text_calls, unit
from layoutlint.sources.order_uses import find_order_uses, flow_texts, flow_uses
from tests.harness.command import ROOT
from tests.harness.whole import inline, whole_lines

BODIES = "fixtures/bodies"
OPTIONS = ReadOptions(cache=False, jobs=1)
ADDRESSES = ("bounds.c", "calls.c", "expressions.c", "flows.c", "initial.c", "numbers.c")


@pytest.fixture(scope="module")
def subject() -> Struct:
    """The struct whose addresses are followed."""
    (layout,) = (each for each in api.read(str(ROOT / BODIES / "subject.h")) if each.struct.name == "s")
    return layout.struct


def unit_of(name: str) -> Unit:
    return Unit(f"{BODIES}/{name}", ("-xc", "-w"), str(ROOT), (str(ROOT),), name)


@pytest.mark.parametrize("name", ADDRESSES)
def test_flows_and_uses(name, subject, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    raw, _ = flows.read_alone(unit_of(name), ("s",))  # with repetitions, in the order of the text
    facts = {kind: getattr(raw, kind) for kind in flows._FACTS}
    found = flows.read((f"{BODIES}/{name}",), ("s",), OPTIONS)
    golden(f"{name}.flows.txt", "".join(f"{kind} {inline(each)}\n" for kind, rows in facts.items() for each in rows))
    search = find_order_uses(subject, [f"{BODIES}/{name}"], jobs=1, flows=found)
    golden(f"{name}.uses.txt", "".join(f"{line}\n" for line in whole_lines(search)))


@pytest.mark.parametrize("name", [*ADDRESSES, "locks.c", "statements.c"])
def test_functions(name, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(unit, "_known_scans", {})  # those of tests before this one are not told again
    read = unit.read(unit_of(name))
    golden(f"{name}.functions.txt", "".join(f"{line}\n" for line in whole_lines(read)))


KNOWN = sorted({
    *flow_calls._SIZES, *flow_calls._FILLS, *library_calls.MAKES, *flow_calls._MAPS, *flow_calls._FIRST, *text_calls._READS, *text_calls._PRINTS,
    *text_calls._SCANS, *library_calls._KEY_MAKERS, *library_calls._KEY_WRITES, *library_calls._KEY_READS, *library_calls._TREES,
    *library_calls._TREE_WALKS, *library_calls._QUEUES, *flow_uses._HARMLESS, *flow_uses._TRANSFERS, *flow_texts._NO_SINKS, *flow_texts._WRITERS,
} - {"__builtin_alloca"})  # fmt: skip
CALLS = """\
long *NAME(); void NAME_1(struct s *p) { NAME(p->t, p->u, 8, 0, -1); }
void NAME_2(struct s *p) { NAME(&p->b, 24, &p->d, 3, 0); }
void NAME_3(struct s *p) { NAME(p, "%s %7s", p->t, 16, &p->d); }
void NAME_4(struct s *p) { NAME(1, p, 152, p->u, p->t); }
void NAME_5(struct s *p) { NAME(1, 2, "%.9s%s", p->u, p->t); }
long NAME_6(struct s *p, struct h *h) { long *w = (long *)NAME(h, p, offsetof(struct s, d), 1); return w[1]; }
"""


PLACED = ("stores", "copies", "accesses", "passes", "comparisons", "fills", "texts", "placed")


def test_known_functions(subject, tmp_path, golden, monkeypatch):
    """What calls of functions of the C library do with addresses; functions that do the same are named together."""
    text = (ROOT / BODIES / "subject.h").read_text()
    (tmp_path / "subject.h").write_text("#define offsetof(t, m) __builtin_offsetof(t, m)\n" + text[text.index("struct in {") :])
    (tmp_path / "known.c").write_text('#include "subject.h"\n' + "".join(CALLS.replace("NAME", name) for name in KNOWN))
    monkeypatch.chdir(tmp_path)
    found = flows.read(("known.c",), ("s",), ReadOptions(flags=("-w", "-std=gnu89"), cache=False, jobs=1))
    assert found.notes == []
    lines: dict[str, list[str]] = {name: [] for name in KNOWN}
    for kind in PLACED:
        for each in getattr(found, kind):
            call, name = 1 + (each.line - 2) % 6, KNOWN[(each.line - 2) // 6]
            shown = re.sub(r" known\.c', \d+|known\.c(:\d+:\d+)?", "", inline(each._replace(line=call)).replace(name, "NAME"))
            lines[name].append(f"  {kind} {shown}\n")
    for use in find_order_uses(subject, ["known.c"], jobs=1, flows=found).uses:
        call, name = 1 + ((use.line or 2) - 2) % 6, KNOWN[((use.line or 2) - 2) // 6]
        lines[name].append(f"  {use.kind} {call} {use.text.replace(name, 'NAME')} {' '.join(use.members)}\n")
    same: dict[str, list[str]] = {}
    for name, own in lines.items():
        same.setdefault("".join(own), []).append(name)
    golden("known-functions.txt", "".join(f"{' '.join(names)}\n{text}" for text, names in same.items()))
