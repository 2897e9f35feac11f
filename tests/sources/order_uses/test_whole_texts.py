"""All that the text of some sources shows about the order of a struct's members: on either side of each bound.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import pytest

from layoutlint import api
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.sources.order_uses import find_order_uses, scan
from layoutlint.sources.order_uses.scan import Expansions
from layoutlint.sources.order_uses.subject import Subject
from tests.harness.command import ROOT
from tests.harness.whole import changes, whole_lines

FOLDER = "fixtures/order_uses"
BOUNDS = "fixtures/order_bounds"
"""Texts that no test searches together with others, because a search lists only so many equal uses."""
TEXTS = ("bytes.c", "definitions.h", "offsets.c", "types.c", "values.c")


@pytest.fixture(scope="module")
def subject() -> Subject:
    """The struct whose uses are searched, with a typedef, and as if one of the texts defined it."""
    (layout,) = (each for each in api.read(str(ROOT / "fixtures/bodies/subject.h")) if each.struct.name == "s")
    return Subject(replace(layout.struct, source=Source(f"{FOLDER}/definitions.h", 1)), ("s_t",))


@pytest.mark.parametrize("name", ["ring.c", "ring_macros.c"])
def test_a_struct_that_begins_with_others(name, golden, monkeypatch):
    """The same for a struct with structs at its beginning, others without a name, groups and an array without a length."""
    (layout,) = (each for each in api.read(str(ROOT / FOLDER / "ring.h")) if each.struct.name == "ring")
    ring = Subject(replace(layout.struct, source=None), ("ring_t",))
    monkeypatch.chdir(ROOT)
    found = scan.search_file(f"{FOLDER}/{name}", ring, Expansions({}, frozenset()))
    search = find_order_uses(ring.struct, [f"{FOLDER}/{name}", f"{FOLDER}/ring.h"], jobs=1)
    golden(f"{name}.txt", "".join(f"{line}\n" for line in dict.fromkeys((*whole_lines(found), *whole_lines(search)))))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text(name, subject, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = scan.search_file(f"{FOLDER}/{name}", subject, Expansions({}, frozenset()))
    golden(f"{name}.txt", "".join(f"{line}\n" for line in whole_lines(found)))


@pytest.mark.parametrize("name", ["unions.c", "values.c"])
def test_a_text_alone(name, subject, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = scan.search_file(f"{BOUNDS}/{name}", subject, Expansions({}, frozenset()))
    golden(f"bounds-{name}.txt", "".join(f"{line}\n" for line in whole_lines(found)))


@pytest.mark.parametrize("groups", [((0, 2),), ((1, 4), (2, 4)), ((16, 18),)], ids=str)
def test_members_of_structs_without_a_name(groups, subject, golden_row, monkeypatch):
    """The same values if some members were in structs without a name: what differs."""
    monkeypatch.chdir(ROOT)
    path = f"{FOLDER}/values.c"
    found = [list(whole_lines(scan.search_file(path, each, Expansions({}, frozenset())))) for each in (subject, Subject(subject.struct, subject.aliases, (), groups))]
    golden_row(changes(*found))


def test_all_texts_together(subject, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = find_order_uses(subject.struct, [FOLDER, "fixtures/bodies/subject.h"], jobs=1)
    golden("search.txt", "".join(f"{line}\n" for line in whole_lines(found)))
