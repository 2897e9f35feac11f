"""The first rules of a project: the highest guesses on structs that a seed makes, as text for a rule file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from textwrap import fill

import pytest

from layoutlint.commands.init.first_rules import FirstRule, Request, find, table
from layoutlint.errors import ReadError
from layoutlint.geometry.containers import Index
from layoutlint.intent.toml import rule_file, shipped_rules
from layoutlint.judgement.finding import Report
from layoutlint.lint import run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.reading import Inputs
from layoutlint.model.ctype import CType
from layoutlint.model.reading import AllocatedArray, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.phrases import quantity
from layoutlint.readers.clang import build_system
from layoutlint.readers.clang.build_system import BuildSystem, Choice
from tests.harness.build import X86_64
from tests.harness.run_options import run_options

GENERIC = shipped_rules.shipped_pack("generic")
SIZES = {"spinlock_t": 4, "struct mutex": 32, "atomic_t": 4, "long": 8, "int": 4, "const struct file_operations *": 8, "struct ring_percpu": 16, "void *": 8}
PLACES = ("own.h", "own.h", "src/own.c", "gone.h", "../outside.h")
OWN = BuildSystem("C files", ".")
SHARED = Choice(("b.c", "a.h"), 7, True)


def field(chance: Random, number: int, at: int) -> Field:
    spelling = chance.choice(tuple(SIZES))
    size = SIZES[spelling]
    count = chance.choice((1, 1, 1, 4, 16))
    start = -(-at // min(size, 8)) * min(size, 8)
    dims = {"dims": (count,), "type": CType(spelling, f"[{count}]")} if count > 1 else {"type": CType(spelling)}
    return Field(f"m{number}", bit_offset=start * 8, bit_size=size * count * 8, align=min(size, 8), source=Source("own.h", number), **dims)  # type: ignore[arg-type]


def shared_struct(chance: Random, name: str) -> Struct:
    fields: list[Field] = []
    for number in range(chance.randint(2, 5)):
        end = (fields[-1].bit_offset + (fields[-1].bit_size or 0)) // 8 if fields else 0
        fields.append(field(chance, number, end))
    end = (fields[-1].bit_offset + (fields[-1].bit_size or 0)) // 8
    align = chance.choice((8, 8, 64, None))
    size = -(-end // (align or 8)) * (align or 8)
    problem = "no header `x.h`" if chance.random() < 0.1 else None
    source = Source(chance.choice(PLACES), chance.randint(1, 9)) if chance.random() < 0.9 else None
    return Struct(name, "struct", size * 8, align, tuple(fields), X86_64, source, "src/own.c", problem=problem)


def reading(chance: Random, number: int) -> Reading:
    structs = tuple(shared_struct(chance, name) for name in ("file", "sock", "odd name", "ring_percpu")[: chance.randint(1, 4)])
    held = replace(field(chance, 3, 0), name=chance.choice(("locks", "table")), bit_offset=0)
    row = Struct(held.name or "", "struct", held.bit_size, 8, (held,), X86_64, Source(chance.choice(PLACES), 3), "src/own.c", label=f"variable {held.name}")
    arrays = (row,) if held.dims else ()
    allocated = [
        AllocatedArray(replace(each, label=f"the array of {each.name} {at}", source=Source(chance.choice(PLACES), at)), Storage(chance.choice(("malloc", "kmalloc", "slab")), Source("own.h", at), array=ANY))
        for each in structs if each.bit_size and not each.problem for at in range(chance.choice((0, 0, 1, 2)))
    ]  # fmt: skip
    return Reading(f"input{number}.c", "clang", X86_64, structs, arrays=arrays, variables=tuple(each.fields[0] for each in arrays), allocated=tuple(allocated), is_kernel=chance.random() < 0.3)


def report(chance: Random) -> Report:
    readings = [reading(chance, number) for number in range(chance.choice((1, 1, 2)))]
    surroundings = Surroundings({X86_64: Index(tuple(struct for each in readings for struct in each.structs))})
    return run.report(Inputs(readings, [], surroundings), (GENERIC,), (), run_options(finds_allocations=False, most=100, ignore_missing=True))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the files of the structs, except for one; and one beside it."""
    (tmp_path / "inside" / "src").mkdir(parents=True)
    for name in ("inside/own.h", "inside/src/own.c", "outside.h"):
        (tmp_path / name).write_text("\n")
    monkeypatch.chdir(tmp_path / "inside")
    monkeypatch.setattr(build_system, "files_with_shared_structs", lambda folder: SHARED)
    return tmp_path / "inside"


def lines(seed: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    chance = Random(f"first {seed}")
    made = report(chance)
    monkeypatch.setattr(run, "check", lambda *_: made)
    request = Request(("-Ix",), chance.choice((1, 3, 100)), ReadOptions())
    every = find(OWN, replace(request, most=100))
    some = [each for each in every.rules if chance.random() < 0.3]
    existing = chance.choice(("", "# ")).join(["", *(f"{line}\n" for _, text in table(some) for line in text)])
    found = find(OWN, replace(request, existing=existing))
    yield f"== {seed}: {found.read} {found.problem!r}, {len(found.rules)} of {len(every.rules)} without {len(some)}"
    assert found.rules == tuple(each for each in every.rules if each not in some)[: request.most]
    for rule, text in table(found.rules):
        yield f"{rule.place} {rule.subject}: {rule.message}"
        yield from (f"  {line}" for line in text)


def test_rules_of_seeds(project, golden, monkeypatch):
    every = (line for seed in range(30) for line in lines(seed, monkeypatch))
    golden("first-rules.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every))


def test_each_text_is_a_rule_file_with_the_guess(project, monkeypatch):
    for seed in range(5):
        made = report(Random(f"first {seed}"))
        monkeypatch.setattr(run, "check", lambda *_, made=made: made)
        rules = find(OWN, Request((), 100, ReadOptions())).rules
        pack = rule_file.parse("\n".join(line for _, text in table(rules) for line in text), "r.toml")
        assert [(rule.kind.name, rule.why) for rule in pack.rules] == [(each.kind, each.why) for each in rules]
        assert len({rule.id for rule in pack.rules}) == len(rules)


def failing(*_: object) -> list[str]:
    raise ReadError("compile_commands.json", "is damaged")


LINUX, READY = BuildSystem("Linux tree", "."), BuildSystem("make", "out/compile_commands.json")
SYSTEMS = {
    # the build system, what is read with which flags, and the sentence
    "none": (OWN, ["b.c", "a.h"], ("-Ix",), "2 of 7 C files (b.c, a.h): the others name no lock or atomic"),
    "not configured": (replace(LINUX, problem="is not configured"), None, (), "nothing: is not configured"),
    "Linux": (LINUX, ["./fs.h"], (), "1 header"),
    "a database": (READY, ["compile_commands.json"], (), "out/compile_commands.json, 3 of 9 C files (x.c, y.c, z.c): they name most locks and atomics"),
    "no database yet": (replace(READY, is_ready=False), ["b.c", "a.h"], ("-Ix",), "2 of 7 C files (b.c, a.h): the others name no lock or atomic"),
    "another input": (replace(READY, input="."), ["b.c", "a.h"], ("-Ix",), "2 of 7 C files (b.c, a.h): the others name no lock or atomic"),
}


@pytest.mark.parametrize(("system", "paths", "flags", "sentence"), SYSTEMS.values(), ids=SYSTEMS)
def test_what_is_read_of_each_build_system(system, paths, flags, sentence, project, monkeypatch):
    monkeypatch.setattr(build_system, "kernel_headers", lambda folder: ["./fs.h"])
    monkeypatch.setattr(build_system, "part_of_database", lambda path: ("[]", Choice(("x.c", "y.c", "z.c"), 9, False)))
    made, seen = report(Random(1)), []

    def check(given, packs, kernel_packs, options):
        texts = [Path(path).read_text() for path in given if os.path.isabs(path)]
        assert texts == ["[]"] * len(texts)
        seen.append(([os.path.basename(path) if os.path.isabs(path) else path for path in given], options.read.flags))
        assert ([pack.name for pack in packs], options.guessing.most, options.strictness.ignore_missing) == (["generic", "own"], 100, True)
        return made

    monkeypatch.setattr(run, "check", check)
    own = replace(GENERIC, name="own", shipped=False)
    found = find(system, Request(("-Ix",), 0, ReadOptions(), packs=(own,)))
    assert (found.rules, found.problem) == ((), "")
    assert seen == ([] if paths is None else [(paths, flags)])
    assert found.read == sentence + (f", with {quantity(sum(len(each.structs) for each in made.readings), 'struct')}" if paths else "")


@pytest.mark.parametrize(("system", "name"), [(LINUX, "kernel_headers"), (READY, "part_of_database")])
def test_what_cannot_be_read_is_said(system, name, project, monkeypatch):
    monkeypatch.setattr(build_system, name, failing)
    found = find(system, Request((), 3, ReadOptions()))
    assert (found.rules, found.read, found.problem) == ((), "nothing: compile_commands.json: is damaged", "")


def test_nothing_to_read(project, monkeypatch):
    monkeypatch.setattr(build_system, "files_with_shared_structs", lambda folder: Choice((), 1, True))
    monkeypatch.setattr(run, "check", failing)
    assert find(OWN, Request((), 3, ReadOptions())).read == "none of 1 C file: no struct is beside a lock or atomic"


BROKEN = Struct("s", "struct", 64, 8, (), X86_64, Source("own.h", 1), problem="no header")
PROBLEMS = [
    # structs, and the problem that is named
    ((), ""),
    ((replace(BROKEN, problem=None),), ""),
    ((BROKEN, replace(BROKEN, problem="later")), "no header"),
    ((replace(BROKEN, problem=None), replace(BROKEN, problem="later")), "later"),
    ((replace(BROKEN, source=None),), ""),
    ((replace(BROKEN, source=Source("/usr/include/a.h", 1)),), ""),
    ((replace(BROKEN, source=Source("../a.h", 1)),), ""),
]


@pytest.mark.parametrize(("structs", "expected"), PROBLEMS)
def test_why_there_is_no_guess(structs, expected, project, monkeypatch):
    made = run.report(Inputs([Reading("own.c", "clang", X86_64, structs)], [], Surroundings({})), (GENERIC,), (), run_options(finds_allocations=False, ignore_missing=True))
    monkeypatch.setattr(run, "check", lambda *_: made)
    assert find(OWN, Request((), 3, ReadOptions())).problem == expected


def rule(struct: str, **more: object) -> FirstRule:
    return FirstRule(**{"struct": struct, "kind": "size", "place": "a.h:1", "parameter": "", "value": (), "message": "m", "why": 'a "b"', "subject": "s"} | more)  # type: ignore[arg-type]


def test_ids_differ_and_values_are_toml():
    given = [
        rule("a"), rule("a"), rule("b", parameter="fields", value=(("x",), ("y", "z"))), rule("a", kind="order"), rule("a", parameter="array", value="x[0]"),
        rule("v", parameter="variables", value=("v",)), rule("b", placement=('placement = "slab"', "array = 4")),
    ]  # fmt: skip
    assert ["; ".join(text) for _, text in table(given)] == [
        r'[[rule]]; id = "a-size"; struct = "a"; kind = "size"; why = "a \"b\""',
        r'[[rule]]; id = "a-size-2"; struct = "a"; kind = "size"; why = "a \"b\""',
        r'[[rule]]; id = "b-size"; struct = "b"; kind = "size"; fields = [["x"], ["y", "z"]]; why = "a \"b\""',
        r'[[rule]]; id = "a-order"; struct = "a"; kind = "order"; why = "a \"b\""',
        r'[[rule]]; id = "a-size-3"; struct = "a"; kind = "size"; array = "x[0]"; why = "a \"b\""',
        r'[[rule]]; id = "v-size"; kind = "size"; variables = ["v"]; why = "a \"b\""',
        r'[[rule]]; id = "b-size-2"; struct = "b"; kind = "size"; why = "a \"b\""; [struct.b]; placement = "slab"; array = 4',
    ]  # fmt: skip
