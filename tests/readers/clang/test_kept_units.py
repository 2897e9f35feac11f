"""A unit that is kept between edits gives what a new parse gives, or nothing."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutlint.commands.language_server import worker
from layoutlint.commands.language_server.requests import Judge, Judged, Settings
from layoutlint.files import accesses
from layoutlint.model.reading import InputText
from layoutlint.model.record import replace
from layoutlint.model.target import TARGETS
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import kept_units, libclang
from layoutlint.readers.clang.diagnostics import ErrorOrigin
from layoutlint.readers.clang.flags import Doubt
from layoutlint.readers.clang.kept_units import KeptUnits, UnitRequest, _First
from layoutlint.readers.clang.parse import ParsedUnit, Unit
from layoutlint.readers.clang.preamble import Preamble
from layoutlint.workers.sandbox import WorkFailure
from layoutlint.workers.service import Ended
from tests.harness.effort import draws

RULES = """\
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "measured"

[[rule]]
id = "small"
struct = "ring_t"
kind = "size"
max = 64
why = "one line"
"""
PART = "#ifndef PART_H\n#define PART_H\nstruct part { char bytes[%d]; };\nstruct late;\n#endif\n"
RING = """\
%s#include "part.h"
#include <stddef.h>
%s
struct first { int a; };
%s
struct ring {
	long head;
	%s
	long tail;
} __attribute__((aligned(64)));
%s
"""
CHOICES = (
    ("", "", "", "/* before */\n", '#include "other.h"\n'),
    ("", "", "/* é𝒳 */\n", "// a comment \\\n goes on\n", "#define N 3\n", "#define TEXT \"/*\"\n"),
    ("", '#include "tail.h"\n', "struct late { int b; };\n", "typedef struct part part_t;\n", "#pragma pack(1)\n"),
    ("", "struct part part;", "part_t part;", "int x y;", "char pad[64];", "int n; /* layoutlint: separate(head) */", "struct { int in; };"),
    ("", "typedef struct ring ring_t;\n", "struct ring two[2];\n", "#if 0\n", "struct {\n", '#error "no"\n'),
)  # fmt: skip


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptUnits]:
    """The units of this process."""
    if not libclang.keeps_preambles(libclang.library()):
        pytest.skip("this libclang cannot keep preambles in memory")
    units = KeptUnits()
    monkeypatch.setattr(kept_units, "_kept", units)
    monkeypatch.setattr(libclang, "_LOADED", time.time_ns() + 3_600 * 10**9)  # files count as old: they are read from disk
    yield units
    units.end()


def project(folder: Path) -> Path:
    """A folder with rules and headers."""
    (folder / ".git").mkdir()
    (folder / "layoutlint.toml").write_text(RULES)
    (folder / "part.h").write_text(PART % 8)
    (folder / "tail.h").write_text("struct tail { long c; };\n")
    return folder


def answer(path: Path, text: str, texts: dict[Path, str]) -> Judged:
    """The judgement of a text."""
    given = tuple(InputText(os.path.realpath(at), other) for at, other in {**texts, path: text}.items())
    result = worker.answer(Judge(str(path), text, True, frozenset(), given, Settings()))
    assert isinstance(result, Judged), result
    return result


def both(kept: KeptUnits, path: Path, text: str, texts: dict[Path, str]) -> tuple[Judged, Judged]:
    """The judgement of a text with kept units, and without."""
    with_units = answer(path, text, texts)
    kept_units._kept, before = None, kept_units._kept
    without = answer(path, text, texts)
    kept_units._kept = before
    return with_units, without


def settle(kept: KeptUnits) -> None:
    """Prepare the unit that was noted last, and wait for it."""
    kept.prepare()
    end = time.monotonic() + 30
    while not all(unit.answers or unit.service.has_answer() for unit in kept._units) and time.monotonic() < end:
        time.sleep(0.01)


def change_disk(folder: Path, dice: random.Random) -> None:
    """Write, delete or create a header."""
    (folder / "part.h").write_text(PART % dice.choice((8, 80)))
    where = folder / dice.choice(("tail.h", "other.h", "stddef.h"))
    if where.exists() and dice.random() < 0.5:
        where.unlink()
    elif where.name != "stddef.h" or dice.random() < 0.2:
        where.write_text(f"struct {where.stem} {{ char c[{dice.choice((1, 70))}]; }};\n")


@pytest.mark.parametrize("name", ["ring.h", "ring.c"])
def test_edits_after_the_first_declaration_are_served(kept: KeptUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    folder = project(tmp_path)
    monkeypatch.chdir(folder)
    path, clean = folder / name, RING % ("", "", "", "", "")
    path.write_text(clean)
    answer(path, clean, {})
    settle(kept)
    parsed: list[str] = []
    monkeypatch.setattr(KeptUnits, "note", lambda *_: parsed.append("anew"))
    for member in CHOICES[3]:
        with_units, without = both(kept, path, clean.replace("long tail;", f"{member}\n\tlong tail;"), {})
        assert with_units == without, member
    assert parsed == []
    (folder / "part.h").write_text(PART % 80)
    with_units, without = both(kept, path, clean, {})
    assert (with_units, parsed) == (without, ["anew"])


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.one_in(draws(4, 12))) for seed in range(draws(4, 12))])
def test_random_edits(kept: KeptUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    folder, dice = project(tmp_path), random.Random(seed)
    monkeypatch.chdir(folder)
    path = folder / ("ring.h" if seed % 2 else "ring.c")
    parts = ["", "", "", "", ""]
    texts: dict[Path, str] = {}
    path.write_text(RING % tuple(parts))
    for step in range(24):
        if dice.random() < 0.3:
            parts = ["", parts[1], "", "", ""]
        at = dice.choice((0, 1, 2, 2, 3, 3, 3, 4, 4))
        parts[at] = dice.choice(CHOICES[at])
        if dice.random() < 0.1:
            change_disk(folder, dice)
        if dice.random() < 0.1:
            texts = {folder / "part.h": PART % dice.choice((8, 80))} if not texts else {}
        text = RING % tuple(parts)
        with_units, without = both(kept, path, text, texts)
        assert with_units == without, (step, text)
        settle(kept)


# -- what decides whether a kept unit is used, without processes

MAIN = Unit("/p/s.c", ("-xc",), "/p", ("/p",), "s.c", "int a;\n")
ALL = Wanted(everything=True)
HEADER = replace(MAIN, main="/p/layoutlint-includes.c", text='#include "s.h"\n', header="/p/s.h", replaced=(InputText("/p/s.h", "int h;\n"),))
OTHER = InputText("/p/other.h", "int o;\n")
EDITABLE = [
    # a unit, what is wanted, the main file and the text that an editor changes, the other texts
    (MAIN, ALL, ("/p/s.c", "int a;\n", ())),
    (replace(MAIN, replaced=(OTHER,)), ALL, ("/p/s.c", "int a;\n", (OTHER,))),
    (replace(MAIN, text=None), ALL, None),
    (replace(MAIN, text=None, replaced=(InputText("/p/s.c", "int b;\n"), OTHER)), ALL, ("/p/s.c", "int b;\n", (OTHER,))),
    (replace(MAIN, replaced=(InputText("/p/s.c", "int b;\n"),)), ALL, None),
    (HEADER, ALL, ("/p/s.h", "int h;\n", ())),
    (replace(HEADER, replaced=(OTHER, *HEADER.replaced)), ALL, ("/p/s.h", "int h;\n", (OTHER,))),
    (replace(HEADER, replaced=()), ALL, None),
    *((replace(HEADER, replaced=(InputText("/p/s.h", f"{text}\nint h;\n"),)), ALL, None)
      for text in ("#include_next <x.h>", "#ifdef __BASE_FILE__", "#if __INCLUDE_LEVEL__", "#pragma GCC system_header", "#pragma once", "#pragma  \tonce")),
    (replace(MAIN, text="#pragma once\n#include_next <x.h>\n"), ALL, ("/p/s.c", "#pragma once\n#include_next <x.h>\n", ())),
    (replace(HEADER, replaced=(InputText("/p/s.h", "int once;\n"),)), ALL, ("/p/s.h", "int once;\n", ())),
    (replace(MAIN, subject="/p/x.h"), ALL, None), (replace(MAIN, with_marks=True), ALL, None), (replace(MAIN, shuffling_option="-fx"), ALL, None),
    (replace(MAIN, doubts=(Doubt("-m32", "X"),)), ALL, None),
    (MAIN, Wanted(names_only=True), None), (MAIN, Wanted(arrays=lambda _: True), None),
    (MAIN, Wanted(unless=(("a", lambda _: True),)), ("/p/s.c", "int a;\n", ())),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "wanted", "expected"), EDITABLE, ids=range(len(EDITABLE)))
def test_the_file_that_an_editor_changes(unit, wanted, expected):
    own = kept_units._editable(UnitRequest(unit, wanted, False))
    assert (own and (own.unit.main, own.unit.text, own.unit.replaced)) == expected
    assert own is None or (own.unit.header, own.wanted, own.unit.flags) == (None, replace(wanted, unless=()), unit.flags)
    assert kept_units._editable(UnitRequest(unit, wanted, True)) is None


BEGINNINGS = [
    # what comes before the first declaration, and the rest
    ("", "int a;\n"), ("\ufeff\n \t/* a\n b */ // c\n", "int a;\n"), ("#include <x.h>\n#define A \\\n int b;\n%:if 1\n??=endif\n", "struct s { int a; };\n"),
    ("// a \\\n int b;\n", "int a;\n"), ("#if 1 /* a\n b */ + 1 // c \\\n d\n", "typedef int x;\n#if 1\n#endif\n"), ("/* int a; ", ""), ("\\\r\n\r\n", "int b;"),
    ("", "%int a;"), ("", "x #include <y.h>\n"), ("", ""), ("#\n", "int a;"), (" ", "??int"), ("/**/", "/ a"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "rest"), BEGINNINGS, ids=range(len(BEGINNINGS)))
def test_the_text_before_the_first_declaration(before, rest):
    request = UnitRequest(replace(MAIN, text=before + rest), ALL, False)
    assert (request.preamble.decode(), request.content.decode()) == (before, before + rest)


MAY_BE_ANNOTATED = [
    ("int a;\n", False), ("/* layoutlint: hot */ int a;\n", True), ("int a; /* layoutlint: hot */\n", True), ("#include <x.h>\nint a;\n", False),
    ("int a;\n#include <x.h>\n", True), ("int a;\n# \t/* x */ include <x.h>\n", True), ("int a;\n%:import <x.h>\n", True), ("int a;\n??=include <x>\n", True),
    ("int a;\n#inc\\\nlude <x.h>\n", True), ("int a;\n#inc\\\r\nlude <x.h>\n", True), ("int a;\n#define include 1\n", False), ("int include;\n", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "may_be"), MAY_BE_ANNOTATED, ids=range(len(MAY_BE_ANNOTATED)))
def test_whether_a_text_may_be_annotated(text, may_be):
    assert UnitRequest(replace(MAIN, text=text), ALL, False).may_be_annotated is may_be


ALIKE = [
    # another unit, whether only its text after the first declaration differs
    ({"text": "int b;\n"}, True), ({"text": ""}, True), ({"text": "\nint a;\n"}, False), ({"text": "#if 1\n#endif\n"}, False), ({"flags": ("-xc", "-w")}, False),
    ({"main": "/p/t.c"}, False), ({"replaced": (OTHER,)}, False), ({"directory": "/q"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "is_alike"), ALIKE, ids=range(len(ALIKE)))
def test_units_that_differ_in_their_declarations_only(changes, is_alike):
    first, second = (UnitRequest(unit, ALL, False) for unit in (MAIN, replace(MAIN, **changes)))
    assert kept_units._is_alike(first, second) is is_alike
    assert kept_units._KeptUnit(first, None, None).is_for(second) is is_alike


ORIGIN = ErrorOrigin("s.c", 3, 7, "e")
PARSED = ParsedUnit(MAIN, TARGETS[0], (), ("e",), (ORIGIN,))
SAME = [
    ({}, True), ({"unit": HEADER}, True), ({"error_origins": (replace(ORIGIN, directive=9, line=1),)}, True), ({"error_origins": ()}, False),
    ({"error_origins": (replace(ORIGIN, text="f"),)}, False), ({"error_origins": (replace(ORIGIN, file="t.c"),)}, False), ({"errors": ()}, False),
    ({"names": frozenset("s")}, False), ({"cause": "e"}, False),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "is_same"), SAME, ids=range(len(SAME)))
def test_results_that_are_the_same(changes, is_same):
    assert kept_units._is_same(replace(PARSED, **changes), PARSED) is kept_units._is_same(PARSED, replace(PARSED, **changes)) is is_same


def test_a_result_as_that_of_its_unit():
    own = replace(MAIN, text="int b;\n")
    assert kept_units._replace_unit(PARSED, UnitRequest(own, ALL, False)) == replace(PARSED, unit=own)
    several = replace(PARSED, error_origins=tuple(replace(ORIGIN, directive=at) for at in (-1, 0, 1, 7)))
    shown = kept_units._replace_unit(several, UnitRequest(HEADER, ALL, False))
    assert (shown.unit, [each.directive for each in shown.error_origins]) == (HEADER, [-1, 0, 0, 0])


class Process:
    """A process with a unit, as far as it is asked."""

    def __init__(self, work=None, limits=None, first=True, result=PARSED):
        self.first, self.result, self.asked, self.is_ended = first, result, [], False

    def has_answer(self):
        return self.first is not None

    def answer(self):
        return self.first

    def ask(self, request):
        self.asked.append(request.unit.text)
        return self.result

    def end(self):
        self.is_ended = True


def prepare_each(units, monkeypatch, *requests):
    """Note the results of some requests, and prepare each; return the main files of the units that are kept."""
    monkeypatch.setattr(kept_units, "Service", Process)
    for request in requests:
        units.note(request, replace(PARSED, errors=()))
        units.prepare()
    return [unit.request.unit.main for unit in units._units]


def request_of(name, text="int a;\n"):
    return UnitRequest(replace(MAIN, main=f"/p/{name}.c", text=text), ALL, False)


def test_two_units_are_kept(monkeypatch):
    units = KeptUnits()
    assert prepare_each(units, monkeypatch, request_of("a"), request_of("b")) == ["/p/a.c", "/p/b.c"]
    first = units._units[0].service
    assert prepare_each(units, monkeypatch, request_of("a"), request_of("a", "int b;\n")) == ["/p/a.c", "/p/b.c"]
    assert not first.is_ended
    assert prepare_each(units, monkeypatch, request_of("c")) == ["/p/b.c", "/p/c.c"]
    assert first.is_ended
    second = units._units[0].service
    assert prepare_each(units, monkeypatch, request_of("b", "\nint a;\n")) == ["/p/c.c", "/p/b.c"]
    assert second.is_ended
    processes = [unit.service for unit in units._units]
    units.end()
    assert [process.is_ended for process in processes] == [True, True]
    assert units._units == []


def test_what_is_not_noted(monkeypatch):
    units = KeptUnits()
    for request, parsed in (
        (request_of("a"), (PARSED,)), (request_of("b"), ()), (replace(request_of("c"), looks_for_hidden=True), (replace(PARSED, errors=()),)),
    ):  # fmt: skip
        units.note(request, *parsed)
        assert units._noted is None
    units._hopeless = request_of("h", "#define A\nint a;\n")
    assert prepare_each(units, monkeypatch, request_of("h", "#define A\nint b;\n")) == []
    assert prepare_each(units, monkeypatch, request_of("h", "#define B\nint b;\n")) == ["/p/h.c"]
    units.note(request_of("a"), replace(PARSED, errors=()))  # the text that was noted before, with errors
    assert units._noted is None
    units.note(request_of("a", "int b;\n"), replace(PARSED, errors=()))
    assert units._noted is not None
    units.note(request_of("a", "int c;\n"), PARSED)
    assert units._noted is None


FIRST = _First(replace(PARSED, errors=()), "answers")
FATES = [
    # the first answer, whether the file system answers the same, the result; what is read, and whether the unit is kept
    (FIRST, True, PARSED, True, True), (None, True, PARSED, False, True), (FIRST, False, PARSED, False, False), (FIRST, True, None, False, False),
    (FIRST, True, Ended("gone"), False, False), (FIRST, True, WorkFailure("x"), False, True), (FIRST, True, replace(PARSED, cause="e"), False, True),
    (replace(FIRST, answers=None), True, PARSED, False, False), (replace(FIRST, result=replace(PARSED, names=frozenset("s"))), True, PARSED, False, False),
    (Ended("gone"), True, PARSED, False, False),
]  # fmt: skip


@pytest.mark.parametrize(("first", "holds", "result", "is_read", "is_kept"), FATES, ids=range(len(FATES)))
def test_when_a_unit_is_used(first, holds, result, is_read, is_kept, monkeypatch):
    units = KeptUnits()
    prepare_each(units, monkeypatch, request_of("a"), request_of("b"))
    process = units._units[0].service
    process.first, process.result = first, result
    monkeypatch.setattr(kept_units.answers, "Check", lambda answers: type("Check", (), {"holds": lambda self: holds and answers == "answers"})())
    request = request_of("a", "int changed;\n")
    assert units.read(request) == (replace(PARSED, unit=request.unit) if is_read else None)
    assert process.asked == (["int changed;\n"] if isinstance(first, _First) and first == FIRST and holds else [])
    assert [unit.request.unit.main for unit in units._units] == (["/p/b.c", "/p/a.c"] if is_read else ["/p/a.c", "/p/b.c"] if is_kept else ["/p/b.c"])
    assert process.is_ended is not is_kept
    is_hopeless = first is not None and first != FIRST
    assert units._hopeless == (request_of("a") if is_hopeless else None)
    if is_read:
        units.note(request, replace(PARSED, errors=()))
        assert units._noted is None
    assert units.read(request_of("gone")) is None
    assert units.read(replace(request, looks_for_hidden=True)) is None


def test_without_a_process_nothing_is_kept(monkeypatch):
    def fail(*_):
        raise OSError

    units = KeptUnits()
    units.note(request_of("a"), replace(PARSED, errors=()))
    monkeypatch.setattr(kept_units, "Service", fail)
    units.prepare()
    assert (units._units, units._noted) == ([], None)


def test_units_of_a_process(monkeypatch):
    monkeypatch.setattr(kept_units, "_kept", None)
    assert kept_units.active() is None
    monkeypatch.setattr(libclang, "keeps_preambles", lambda _: False)
    kept_units.keep()
    assert kept_units.active() is None
    monkeypatch.setattr(libclang, "keeps_preambles", lambda _: True)
    units = kept_units.keep()
    assert kept_units.active() is units
    with accesses.log_answers():
        assert kept_units.active() is None
    monkeypatch.setattr(kept_units, "HAS_PROCESSES", False)
    monkeypatch.setattr(kept_units, "_kept", None)
    kept_units.keep()
    assert kept_units.active() is None


def test_requests_that_a_kept_unit_serves(monkeypatch):
    """Other names are served if its headers have none of them; other requests are not."""
    unit = kept_units._ServedUnit.__new__(kept_units._ServedUnit)
    unit._lib, unit._handle, unit._wanted = None, 0, Wanted(frozenset("a"), ("p*",))
    unit.preamble = Preamble(None, frozenset("ax"), frozenset("a"), (None, None), False)
    monkeypatch.setattr(kept_units.parse, "reparse", lambda *_: None)
    monkeypatch.setattr(kept_units.parse, "read_handle", lambda lib, handle, own, wanted, hidden, printed, before: before.is_annotated)
    requests = (unit._wanted, Wanted(frozenset("ab"), ("p*",)), Wanted(frozenset("ax"), ("p*",)), Wanted(frozenset("a")), Wanted(frozenset("a"), ("p*",), annotated=True))
    assert [unit.read(UnitRequest(MAIN, wanted, False)) for wanted in requests] == [False, False, None, None, None]
    assert unit.read(UnitRequest(replace(MAIN, text="int a; /* layoutlint: hot */\n"), unit._wanted, False)) is True
    unit.preamble = None
    assert unit.read(UnitRequest(MAIN, unit._wanted, False)) is None
