"""No order is called safe that changes what a program does: a table of constructs, judged by compilers."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.sources.bodies import flows
from layoutlint.sources.order_uses import find_order_uses, sources_that_name
from tests.harness.effort import draws
from tests.harness.tools import need
from tests.suggestion import programs
from tests.suggestion.constructs import CONSTRUCTS, STRUCTS, Construct
from tests.suggestion.library_constructs import LIBRARY
from tests.suggestion.program_constructs import PROGRAMS

TABLE = [*CONSTRUCTS, *PROGRAMS, *LIBRARY]
UNION = "when which member of a union is used is not followed"
CONSTANT = "a constant that is an offset is kept as it is"
LOOP = "what a loop does with all bytes of an object is not followed"
POINTER = "an offset is not followed through pointers"
VALUE = "constants are searched in the text, which does not show that they are 0 for each member"
REFUSED = {
    "a cast to a union": UNION,
    "a union with an array of structs": UNION,
    "a union with a header": UNION,
    "a union by a pointer": UNION,
    "a tagged union": UNION,
    "the distance from the start": "a distance is an offset, whatever it is used for",
    "an assertion on an offset": CONSTANT,
    "an assertion on an alignment": CONSTANT,
    "generated offsets of an enumeration": CONSTANT,
    "an index by an offset": CONSTANT,
    "a copy of a struct by its offsets": CONSTANT,
    "the end of a member": "offsets in comparisons are refused",
    "an offset as an argument": "a number behind an address is taken for a size",
    "sizes that are added": "a pointer is followed without the order of statements",
    "a displacement in an operand": "instructions are not read",
    "an offset by a function pointer": POINTER,
    "an offset that a parameter points to": POINTER,
    "a swap of a part": LOOP,
    "a copy by words": LOOP,
    "zeroes by bytes": LOOP,
    "a comparison by bytes": LOOP,
    "allocated words that a loop fills": LOOP,
    "a free list in the first bytes": "whether memory is an object at that time is not followed",
    "a table of addresses and lengths": "which length is for which address is not followed",
    "a zero by name": VALUE,
    "a character": VALUE,
    "names in the order of offsets": CONSTANT,
    "the next aligned place": "a rounded address is taken for one with the largest number added",
    "options of two kinds": "which kind is for which address is not followed",
    "a value behind a container's element": "of values without inner braces, their number is not compared",
    "a null pointer": "NULL is no value of other members, and some compilers refuse it",
}
"""Programs that do not depend on the order, and are refused."""
MISSED = {
    "a size in the type of an array": "made of `sizeof`",
    "a size that is printed": "made of `sizeof`",
    "an address in two halves": "taken apart",
    "an address through a pipe": "leave the program",
    "options in an array of members": "indices that come from data",
    "a byte after a text": "indices that come from data",
    "a list by its first member": "reach members through other structs",
}
"""Programs that depend on the order, and are not found by the search; with what the search says it did not look at."""
COMPILERS = ("gcc", "clang")
ORDERS = {each: programs.ORDERS[: draws(usual, len(programs.ORDERS))] for each, usual in (("gcc", 3), ("clang", 1))}
"""In which orders harmless programs run, which says something about the table, not about `suggest`."""

pytestmark = pytest.mark.usefixtures("reads_here")
EACH = pytest.mark.parametrize("construct", TABLE, ids=[each.name for each in TABLE])
SOME = TABLE[:: draws(8, 1)]
COMPILED = pytest.mark.parametrize("construct", SOME, ids=[each.name for each in SOME])
"""Those that compilers try in each run. For all, golden rows have the orders that are allowed: try all if one changes."""


@pytest.mark.one_in(32)
@EACH
def test_orders_that_change_a_program_are_forbidden(tmp_path, construct, golden_row):
    verdicts = []
    members = STRUCTS[construct.struct]
    for number, text in enumerate((construct.dependent, construct.harmless)):
        files = programs.program_files(text or "@@", construct.struct, members)
        found = programs.search(tmp_path / str(number), files)
        verdicts.append([programs.is_allowed(found, members, order) for order in programs.ORDERS])
        if not number and construct.name in MISSED:
            assert any(MISSED[construct.name] in sentence for sentence in found.not_looked_at)
    if construct.dependent:
        assert all(verdicts[0]) == (construct.name in MISSED)
    assert all(verdicts[1]) == (construct.name not in REFUSED)
    golden_row("\n".join("".join("-+"[is_allowed] for is_allowed in each) for each in verdicts))


@pytest.mark.exhaustive
@COMPILED
def test_all_forms_of_a_program_forbid_the_same(tmp_path, construct):
    """The source; an object with its source; the source in a kernel's tree."""
    need("gcc", "-c")
    members = STRUCTS[construct.struct]
    for number, text in enumerate(filter(None, (construct.dependent, construct.harmless))):
        files = programs.program_files(text, construct.struct, members)
        by_form = [programs.search(tmp_path / f"{number}{form}", files, form) for form in programs.FORMS]
        allowed = [[programs.is_allowed(found, members, order) for order in programs.ORDERS] for found in by_form]
        assert allowed == [allowed[0]] * 3


def safe_orders(construct: Construct, folder: Path, nameless: bool = False) -> list[tuple[int, ...]]:
    """The orders of the dependent program that are called safe, if the table does not say that it is missed."""
    members = STRUCTS[construct.struct]
    files = programs.program_files(construct.dependent, construct.struct, members, nameless)
    found = programs.search(folder, files)
    if construct.name in MISSED:
        return []
    return [order for order in programs.ORDERS if programs.is_allowed(found, members, order, nameless)]


@pytest.mark.exhaustive
@pytest.mark.long
@COMPILED
def test_compilers_agree_with_the_table(tmp_path, construct):
    """What depends on the order changes with one that is forbidden, and with none that is called safe."""
    for compiler in COMPILERS:
        need(compiler, "-c")
    made = partial(programs.Runs, kind=construct.struct, members=STRUCTS[construct.struct])
    if construct.dependent:
        own = [made(construct.dependent, compiler=each, folder=tmp_path / "own") for each in COMPILERS]
        safe = safe_orders(construct, tmp_path / "search")
        assert any(runs.changes(order) for order in programs.ORDERS for runs in own)
        assert [order for order in safe for runs in own if runs.changes(order)] == []
    for each in COMPILERS if construct.harmless else ():
        runs = made(construct.harmless, compiler=each, folder=tmp_path / "harmless")
        assert [order for order in ORDERS[each] if runs.changes(order)] == []


@pytest.mark.exhaustive
@pytest.mark.long
@COMPILED
def test_the_table_holds_in_a_struct_without_a_name(tmp_path, construct):
    """gcc alone: orders in it that change a program are forbidden."""
    need("gcc", "-c")
    members = STRUCTS[construct.struct]
    safe = safe_orders(construct, tmp_path / "search", True) if construct.dependent else []
    runs = programs.Runs(construct.dependent, construct.struct, members, "gcc", tmp_path, True)
    assert [order for order in safe if runs.changes(order)] == []


def test_idioms_forbid_no_order():
    """What programs do every day: lists, threads, sockets, epoll, tables of options, sorting."""
    folder = Path(__file__).parent
    need("gcc", "-c")
    made = subprocess.run(["gcc", "-fsyntax-only", "conn.c"], cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"the headers of this system lack something: {made.stderr[:200]}")
    paths = [str(folder / name) for name in ("conn.c", "conn.h")]
    struct = next(layout.struct for layout in api.read(paths[0]) if layout.struct.name == "conn")
    own, names, others = sources_that_name(struct, paths)
    found = find_order_uses(struct, paths, flows=flows.read(own, names, ReadOptions(cache=False, jobs=1), others))
    assert [use for use in found.uses if not use.is_note and use.kind != "zero-initialiser"] == []  # { 0 } fits nearly all
    assert not any("given" in each for each in found.not_looked_at)
