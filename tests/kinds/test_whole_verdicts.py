"""What the tables of the kinds leave open: the fields of every verdict, its advice, both for other placements, and the
conditions in C (tests/commands/test_asserts_random.py compiles them).

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import product
from textwrap import fill

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement.c_assertion import CannotAssert
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.rule import Kind
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds import KINDS, find_kind
from layoutlint.kinds.c_conditions import conditions
from layoutlint.model.aligner import PLAIN
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from tests.harness.build import flexible
from tests.harness.facts import facts
from tests.kinds.cases import Case
from tests.kinds.structs import NESTED

PLACES = {"": None, "in pairs of lines, outside Linux": 128, "lines of 16 bytes": 16}
"""The size of the line for each way to place a struct."""
IN_C = ("distance", "line-start", "no-straddle", "offset", "order", "separate", "size", "together")
"""The kinds that C can state."""


def context(case: Case, way: str) -> Context:
    layout = Layout(case.struct)
    where = placements(layout, PLACES[way])
    if "pairs" in way:
        where = replace(where, in_pairs=True, source_aligner=PLAIN)
    return Context(layout, where, case.accesses)


def kind_of(case: Case, name: str) -> Kind:
    found = find_kind(name)
    assert found is not None
    return found(**case.keys)


def verdict(kind: str, case: Case, way: str) -> Verdict | str:
    try:
        return kind_of(case, kind).check(context(case, way))
    except CannotTell as error:
        return str(error)


def rows(kind: str) -> list[Case]:
    """Return the table of a kind; that of `separate` has groups for keys."""
    rows = import_module(f"tests.kinds.test_{kind.replace('-', '_')}").CASES
    return [row if isinstance(row, Case) else Case(row[0], row[1], {"fields": tuple(map(tuple, row[2]))}, *row[3:]) for row in rows]


def texts(kind: str, case: Case) -> Iterator[str]:
    """Yield the verdict on a row; for each other way only if it differs. The table has the message of the first."""
    seen: set[tuple[str, ...]] = set()
    for way in PLACES:
        made = verdict(kind, case, way)
        if isinstance(made, str):
            message, text = made, "cannot tell"
        else:
            message = " ".join(facts(made.message))
            text = f"{made.outcome.value}, [{', '.join(each.path for each in made.evidence)}]"
            text += f" at {len(made.bases)} of {made.total}" if made.total else ""
            text += f"; {' '.join(facts(made.advice))}" if made.outcome is not Outcome.KEPT else ""
            text += "".join(f"; {each.first} + {each.second} + {each.distance}" for each in made.shared)
        if (message, text) not in seen:
            seen.add((message, text))
            whole = f"{case.id}{way and f', {way}: {message}'}: {text}"
            yield fill(whole, 130, subsequent_indent="  ", break_on_hyphens=False)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("allocation", "neighbours")])
def test_every_row(kind, golden):
    golden(f"{kind}.txt", "".join(f"{text}\n" for case in rows(kind) for text in texts(kind, case)))


@pytest.mark.parametrize("kind", IN_C)
def test_every_condition_in_c(kind, golden):
    made = []
    for case in rows(kind):
        try:
            found = "\n  ".join(conditions(kind_of(case, kind), context(case, "")))
        except (CannotAssert, CannotTell) as error:
            found = str(error)
        made.append(f"{case.id}:\n  {found}\n")
    golden(f"{kind}-in-c.txt", "".join(made))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*IN_C, "allocation", "neighbours")])
def test_other_kinds_cannot_be_stated_in_c(kind):
    case = rows(kind)[0]
    with pytest.raises(CannotAssert, match=f"^no expression in C is equivalent to the kind {kind}$"):
        conditions(kind_of(case, kind), context(case, ""))


REFUSED_IN_C = [
    # kind, keys, reason
    ("separate", {"fields": (("a",), ("b",)), "neighbours": True}, "it depends on the objects before and behind, too"),
    ("separate", {"fields": (("a",), ("lock", "lock.count"))}, None),
    ("separate", {"fields": (("lock.*",), ("a",))}, "a field that is added later can match `lock.*`"),
    ("size", {"max": 56, "max_lines": 1}, "the lines of a whole object depend on where it starts"),
    ("size", {"max": 56}, None),
]


@pytest.mark.parametrize(("kind", "keys", "reason"), REFUSED_IN_C, ids=range(len(REFUSED_IN_C)))
def test_conditions_that_c_cannot_state(kind, keys, reason):
    case = Case("", NESTED, keys, Outcome.KEPT, (), "")
    if reason is None:
        assert conditions(kind_of(case, kind), context(case, ""))
        return
    with pytest.raises(CannotAssert) as caught:
        conditions(kind_of(case, kind), context(case, ""))
    assert str(caught.value) == reason


OPEN_NESTED = replace(NESTED, fields=(*NESTED.fields, flexible("tail", 56)))
STORED = ("", "aligned", "malloc", "kmalloc", "slab", "percpu", "static", "line")
"""The `placement` of a rule file; with conditions on lines, C then needs others as well."""
ON_LINES = {
    "line-start": {"fields": ("a",)}, "no-straddle": {"fields": ("lock",)}, "offset": {"fields": ("z",), "line": 0},
    "separate": {"fields": (("a",), ("z",))}, "together": {"fields": ("a", "z")},
}  # fmt: skip


@pytest.mark.parametrize("kind", ON_LINES)
def test_conditions_on_lines_hold_for_a_placement(kind, golden):
    made = []
    for struct, word, least in (*product((NESTED,), STORED, (None, 1, 16)), *product((OPEN_NESTED,), STORED, (None,))):
        layout = Layout(struct)
        storage = Storage(word, Source("r.toml", 1), 64 if word == "aligned" else None) if word else None
        placed = Context(layout, placements(layout, None, least, storage), storage=storage, min_align=least)
        try:
            found = "\n  ".join(conditions(kind_of(Case("", struct, ON_LINES[kind], Outcome.KEPT, (), ""), kind), placed))
        except CannotAssert as error:
            found = str(error)
        open_end = " with a flexible array" if struct is OPEN_NESTED else ""
        made.append(f"{word or 'any'}, at least {least}{open_end}:\n  {found}\n")
    golden(f"{kind}-placed-in-c.txt", "".join(made))
