"""The results of several units as one reading: each definition once, and which errors can be why a struct is missing."""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.ctype import CType
from layoutlint.model.declared import StructDeclaration
from layoutlint.model.reading import InputText, Omission, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import TARGETS
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import omissions, parallel
from layoutlint.readers.clang.diagnostics import ErrorOrigin
from layoutlint.readers.clang.limits import LIMITS, PATIENCE
from layoutlint.readers.clang.omissions import HiddenStruct
from layoutlint.readers.clang.parallel import UnitResults
from layoutlint.readers.clang.parse import ParsedUnit, Unit
from layoutlint.workers.sandbox import WorkFailure


def struct(name, size=64, problem=None, origin="", aliases=(), line=1):
    return Struct(name, "struct", size, 8, (), TARGETS[0], Source("s.h", line), origin, aliases, problem)


def unit_result(name="a.c", structs=(), errors=(), warnings=(), **more):
    origins = tuple(ErrorOrigin("s.h", n, -1, text) for n, text in enumerate(errors))  # the first is of the command line
    return ParsedUnit(Unit(f"/{name}", (), "/", ("/",), name), TARGETS[0], structs, errors, origins, warnings=frozenset(warnings), **more)


def names(structs):
    return " ".join(f"{each.name}:{each.bit_size}:{each.origin}:{','.join(each.aliases)}" for each in structs)


DEFINITIONS = [
    # structs, those that are left
    ([], ""),
    ([struct("a"), struct("a", origin="x")], "a:64::"),
    ([struct("a", origin="x"), struct("b"), struct("a")], "a:64:x: b:64::"),
    ([struct("a"), struct("a", 32)], "a:64:: a:32::"),
    ([struct("a"), struct("a", line=2)], "a:64:: a:64::"),
    ([struct("a", aliases=("x", "y")), struct("a", origin="z", aliases=("y", "w"))], "a:64::x,y,w"),
    ([struct("a"), struct("a", aliases=("x",)), struct("a", aliases=("w",))], "a:64::x,w"),
    ([struct("a", None), struct("a", None, line=2)], "a:None::"),
    ([struct("a", None), struct("a")], "a:64::"),
    ([struct("a"), struct("a", None)], "a:64::"),
    ([struct("a", None), struct("a", None, problem="p"), struct("b", None)], "a:None:: b:None::"),
    ([struct("a", None, problem="p"), struct("a", None, problem="q")], "a:None:: a:None::"),
    ([struct("a", None), struct("b", aliases=("a",))], "a:None:: b:64::a"),
]


@pytest.mark.parametrize(("structs", "left"), DEFINITIONS, ids=range(len(DEFINITIONS)))
def test_each_definition_counts_once(structs, left):
    assert names(parallel.distinct_definitions(structs)) == left
    assert names(UnitResults((unit_result(structs=tuple(structs)),), ()).structs) == left


WANTED = [
    # structs, what is wanted, the names that are missing, whether something may be
    ([struct("a")], Wanted(frozenset("a")), (), False),
    ([struct("a")], Wanted(frozenset("cba")), ("b", "c"), True),
    ([struct("a", None)], Wanted(frozenset("a")), ("a",), True),
    ([struct("a", None, problem="p")], Wanted(frozenset("a")), (), False),
    ([struct("s", aliases=("a", "b"))], Wanted(frozenset("abs")), (), False),
    ([struct("a")], Wanted(everything=True), (), True),
    ([struct("a")], Wanted(patterns=("b*",)), (), False),
    ([], Wanted(patterns=("b*",)), (), True),
    ([], Wanted(), (), False),
]


@pytest.mark.parametrize(("structs", "wanted", "missing", "lacks"), WANTED, ids=range(len(WANTED)))
def test_what_is_missing(structs, wanted, missing, lacks):
    assert (parallel.missing_names(structs, wanted), parallel.is_lacking(tuple(structs), wanted)) == (missing, lacks)


GONE = Wanted(frozenset(("a", "z")))
FOUND = Wanted(frozenset("a"))
ERRORS = [
    # units, structs, what is wanted, why units may lack something
    ([unit_result(errors=("e",))], [struct("a")], FOUND, []),
    ([unit_result(errors=("e",))], [struct("a")], GONE, [("a.c", "struct z not found, with errors: e", None)]),
    ([unit_result(errors=("e", "f"))], [], GONE, [("a.c", "struct a and 1 more not found, with errors: e (and 1 more)", None)]),
    ([unit_result(errors=("e", "f", "g"), warnings=("e",))], [], FOUND, [("a.c", "struct a not found, with errors: f (and 1 more)", 1)]),
    ([unit_result(errors=("e",), warnings=("e",))], [], FOUND, []),
    ([unit_result()], [], FOUND, []),
    ([unit_result(errors=("e",), possible_losses=("l",))], [struct("a")], FOUND, [("a.c", "not all of it could be read, with errors: l", None)]),
    ([unit_result(errors=("e",), possible_losses=("l",))], [struct("a", problem="l")], FOUND, []),
    ([unit_result(errors=("e", "f"), possible_losses=("l", "f"))], [struct("a", problem="l")], FOUND,
     [("a.c", "not all of it could be read, with errors: l (and 1 more)", None)]),
    ([unit_result(errors=("e", "f"), possible_losses=("e", "f"), cause="e")], [struct("a", problem="e")], FOUND, []),
    ([unit_result(errors=("e", "f", "g"), possible_losses=("e", "f", "g"), cause="f")], [struct("a", problem="e")], FOUND,
     [("a.c", "not all of it could be read, with errors: e (and 2 more)", None)]),
    ([unit_result(errors=("e",))], [struct("a", problem="e")], Wanted(everything=True), []),
    ([unit_result(errors=("e",))], [struct("a")], Wanted(everything=True), [("a.c", "not all of it could be read, with errors: e", None)]),
    ([unit_result(errors=("e",))], [struct("b", problem="e")], FOUND, [("a.c", "struct a not found, with errors: e", None)]),
    ([unit_result("a.c"), unit_result("b.c", errors=("e",)), unit_result("c.c", errors=("f",))], [], FOUND,
     [("b.c", "struct a not found, with errors: e", None), ("c.c", "struct a not found, with errors: f", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("units", "structs", "wanted", "expected"), ERRORS, ids=range(len(ERRORS)))
def test_errors_that_may_be_why(units, structs, wanted, expected):
    failed = Unread("gone.c", "why")
    found = parallel.units_with_errors(UnitResults(tuple(units), (failed,)), tuple(structs), wanted)
    assert found == (failed, *(Unread(name, why, place=Source("s.h", line) if line else None) for name, why, line in expected))


def variable(name, type_="int"):
    return Field(name, CType(type_), 0, 32)


def test_the_reading_of_units():
    """Arrays and variables once each, declarations, names, notes of flags, and what `#if` hides."""
    one, two = (StructDeclaration(name, 8, (), ()) for name in "ab")
    array, other = struct("list", line=3), struct("pool", line=4)
    units = (
        unit_result("a.c", (struct("s"),), declared=frozenset((one,)), names=frozenset("s"), arrays=(array, struct("later", line=7)),
               externs=frozenset(("later",)), variables=(variable("v"), variable("w")),
               hidden=(HiddenStruct("h", "s.h:9", True), HiddenStruct("i", "s.h:8", False))),
        unit_result("b.c", (struct("s"), struct("t")), declared=frozenset((one, two)), names=frozenset("t"), arrays=(array, other, struct("later", 128, line=8)),
               variables=(variable("v"), variable("v", "long"))),
        unit_result("c.c", arrays=(struct("open", line=5),), externs=frozenset(("open",))),
    )  # fmt: skip
    outcome = UnitResults(units, ())
    read = parallel.reading("in", outcome, Wanted(frozenset("st")), ("n", "m", "n"))
    assert (read.path, read.reader, read.target, names(read.structs), read.unread) == ("in", "clang", TARGETS[0], "s:64:: t:64::", ())
    assert read.notes == ("n", "m")
    assert (read.declared, read.names) == ({one, two}, {"s", "t"})
    assert [(each.name, each.source.line) for each in read.arrays] == [("list", 3), ("pool", 4), ("later", 8), ("open", 5)]
    assert [(each.name, str(each.type)) for each in read.variables] == [("v", "int"), ("w", "int"), ("v", "long")]
    assert [each.structs for each in read.omissions] == [{"h"}, {"i"}]
    assert [each.structs for each in parallel.reading("in", outcome, Wanted(), is_configured=True).omissions] == [{"h"}]
    assert parallel.reading("in", UnitResults((unit_result(),), ()), Wanted()).declared is None
    with pytest.raises(ReadError, match=r"b\.c: second"):
        parallel.reading("in", UnitResults((), (Unread("b.c", "second"), Unread("a.c", "first"))), Wanted())


def test_outcomes_of_alternatives():
    failed, some = Unread("b.c", "why"), unit_result()
    assert UnitResults((some,), (failed,)).without_failures() == UnitResults((some,), ())
    assert UnitResults((), (failed,)).without_failures() == UnitResults((), (failed,))
    both = UnitResults((some,), (failed,)).plus(UnitResults((unit_result("c.c"),), (Unread("d.c", "too"),)))
    assert ([each.unit.origin for each in both.parsed], [each.origin for each in both.failed]) == (["a.c", "c.c"], ["b.c", "d.c"])


LOCAL, LEFT, LOST = HiddenStruct("b", "s.h:1", True), HiddenStruct("a", "s.h:2", False), HiddenStruct("c", "s.h:3", False, "out")
SHOWN = "local to functions, which layoutlint does not judge"
REMEDY = "pass the flags of the build, such as `-- -DNAME`"
HIDDEN = [
    # what is hidden, what is reported of a text without a configuration, and with one
    ([], [], []),
    ([LOCAL], [f"1 struct {SHOWN}: b at s.h:1"], None),
    ([LOCAL, LOCAL, replace(LOCAL, place="s.h:0")], [f"2 structs {SHOWN}: b at s.h:0, b at s.h:1"], None),
    ([LEFT], [f"1 struct that `#if` leaves out: a at s.h:2; {REMEDY}"], []),
    ([LEFT, replace(LEFT, name="A")], [f"2 structs that `#if` leaves out: A at s.h:2, a at s.h:2; {REMEDY}"], []),
    ([LOST], ["a struct with errors may embed c: out at s.h:3"], None),
    ([LOST, replace(LOST, name="d")], ["a struct with errors may embed c, d: out at s.h:3"], None),
    ([LOST, replace(LOST, container="two", place="s.h:4")], ["2 structs with errors may embed c: out at s.h:3, two at s.h:4"], None),
    ([LOST, LEFT, LOCAL], [f"1 struct {SHOWN}: b at s.h:1", "a struct with errors may embed c: out at s.h:3",
                           f"1 struct that `#if` leaves out: a at s.h:2; {REMEDY}"],
     [f"1 struct {SHOWN}: b at s.h:1", "a struct with errors may embed c: out at s.h:3"]),
]  # fmt: skip


@pytest.mark.parametrize(("hidden", "plain", "configured"), HIDDEN, ids=range(len(HIDDEN)))
def test_what_is_said_about_hidden_structs(hidden, plain, configured):
    found = [list(omissions.report_hidden(hidden, is_configured)) for is_configured in (False, True)]
    assert [[each.reason for each in some] for some in found] == [plain, plain if configured is None else configured]
    assert all(each.is_shared is (SHOWN not in each.reason) for each in found[0])
    assert {name for each in found[0] for name in each.structs or ()} == {each.name for each in hidden}


@pytest.mark.parametrize("count", [omissions._MOST - 1, omissions._MOST, omissions._MOST + 1, omissions._MOST + 1200])
def test_many_hidden_structs(count):
    hidden = [HiddenStruct(f"s{n:04}", f"s.h:{n}", True) for n in range(count)]
    (omission,) = omissions.report_hidden(hidden, False)
    assert isinstance(omission, Omission)
    rest = f" and {count - omissions._MOST:,} more" if count > omissions._MOST else ""
    shown = ", ".join(f"s{n:04} at s.h:{n}" for n in range(min(count, omissions._MOST)))
    assert omission.reason == f"{count:,} structs {SHOWN}: {shown}{rest}"


def test_units_are_parsed_in_any_order(monkeypatch):
    """Results come as they are ready; the outcome has them in the order of the units, and says what stopped a process."""
    units = tuple(unit_result(name).unit for name in ("a.c", "b.c", "c.c"))
    results = [(2, unit_result("c.c")), (1, WorkFailure("needs too much memory")), (0, unit_result("a.c"))]
    seen = []
    monkeypatch.setattr(parallel.sandbox, "run_each", lambda work, some, jobs, *limits: seen.append((some, jobs, limits)) or iter(results))
    options = ReadOptions(jobs=7, progress=lambda what, count, most: seen.append((what, count, most)))
    outcome = parallel.run(units, Wanted(), options)
    assert [each.unit.origin for each in outcome.parsed] == ["a.c", "c.c"]
    assert outcome.failed == (Unread("b.c", "libclang needs too much memory"),)
    assert seen == [(units, 7, (LIMITS, PATIENCE)), *(("parsing", n, 3) for n in (1, 2, 3))]


def test_texts_in_place_of_files_are_those_of_all_units(monkeypatch):
    given = (InputText("/s.h", "int a;"),)
    some = []
    monkeypatch.setattr(parallel.sandbox, "run_each", lambda work, units, *_: some.extend(units) or iter([(0, unit_result("a.c")), (1, unit_result("b.c"))]))
    parallel.run([unit_result("a.c").unit, unit_result("b.c").unit], Wanted(), ReadOptions(replaced=given))
    assert [each.replaced for each in some] == [given, given]
