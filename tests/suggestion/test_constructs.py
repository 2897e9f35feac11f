"""No order is called safe that changes what a program does: a table of constructs, judged by compilers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.bodies import flows
from layoutlint.readers.order_uses import find_order_uses, sources_that_name
from tests.harness.tools import need
from tests.suggestion import programs
from tests.suggestion.constructs import CONSTRUCTS, STRUCTS, Construct

REFUSED = {
    "a union around it": "which member of a union is used is not followed",
    "a union without a name": "which member of a union is used is not followed",
    "a cast to a union": "which member of a union is used is not followed",
    "a bit-field's word in a union": "which member of a union is used is not followed",
    "the distance from the start": "a distance is an offset, whatever it is used for",
    "memset behind a member": "offsets in sizes and addresses of calls are refused",
    "an assertion on an offset": "assertions are kept as they are",
    "an assertion on an alignment": "assertions are kept as they are",
    "the end of a member": "offsets in comparisons are refused",
    "sizes that are added": "a pointer is followed without the order of statements",
    "a displacement in an operand": "instructions are not read",
}
"""Programs that do not depend on the order, and are refused."""
MISSED = {
    "an assertion on the size": "the changed sources are parsed when an order is known",
    "an offset that is printed": "what is printed is not followed",
    "an allocation with numbers by their place": "indices of a loop are followed for members only",
    "bytes of two members by a pointer": "how often a loop moves a pointer is not known",
}
"""Programs that depend on the order, and are not found by the search."""

EACH = pytest.mark.parametrize("construct", CONSTRUCTS, ids=[each.name for each in CONSTRUCTS])


@pytest.mark.one_in(8)
@EACH
def test_orders_that_change_a_program_are_forbidden(tmp_path, construct):
    verdicts = []
    members = STRUCTS[construct.struct]
    for number, text in enumerate((construct.dependent, construct.harmless)):
        files = programs.program_files(text or "@@", construct.struct, members)
        found = programs.search(tmp_path / str(number), files)
        verdicts.append([programs.is_allowed(found, members, order) for order in programs.ORDERS])
    if construct.dependent and construct.name not in MISSED:
        assert not all(verdicts[0])
    if construct.name not in REFUSED:
        assert all(verdicts[1])


def differences(construct: Construct, text: str, folder) -> list[bool]:
    """Whether a program does something else in each of the orders."""
    differs = [False] * len(programs.ORDERS)
    for compiler in ("gcc", "clang"):
        need(compiler, "-c")
        first, *others = programs.print_orders(text, construct.struct, STRUCTS[construct.struct], compiler, folder)
        assert not first.startswith("no"), first
        differs = [one or other != first for one, other in zip(differs, others, strict=True)]
    return differs


@pytest.mark.exhaustive
@EACH
def test_compilers_agree_with_the_table(tmp_path, construct):
    members = STRUCTS[construct.struct]
    if construct.dependent:
        differs = differences(construct, construct.dependent, tmp_path)
        assert any(differs)
        files = programs.program_files(construct.dependent, construct.struct, members)
        found = programs.search(tmp_path / "search", files)
        if construct.name not in MISSED:
            for order, changes in zip(programs.ORDERS, differs, strict=True):
                assert not (changes and programs.is_allowed(found, members, order)), order
    if construct.harmless:
        assert not any(differences(construct, construct.harmless, tmp_path))


@pytest.mark.exhaustive
@EACH
def test_the_table_holds_in_a_struct_without_a_name(tmp_path, construct):
    """gcc alone: orders in it that change a program are forbidden."""
    if not construct.dependent or construct.name in MISSED:
        pytest.skip("nothing depends on the order, or it is not found")
    need("gcc", "-c")
    members = STRUCTS[construct.struct]
    first, *others = programs.print_orders(construct.dependent, construct.struct, members, "gcc", tmp_path, True)
    files = programs.program_files(construct.dependent, construct.struct, members, True)
    found = programs.search(tmp_path / "search", files)
    for order, printed in zip(programs.ORDERS, others, strict=True):
        assert printed == first or not programs.is_allowed(found, members, order, True), order


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
