"""A run over many units: compile, ask every reader, count, and keep what contradicts."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools.differential import truth, verdicts
from tools.differential.configurations import Configuration
from tools.differential.structs import Maker, Unit
from tools.differential.truth import Compiler
from tools.differential.verdicts import Exam, Failed, Refused, Tally

_MOST_KEPT = 200


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one unit."""

    name: str
    """Of the configuration."""
    cases: int
    tallies: tuple[tuple[str, Tally], ...]
    """By reader."""
    kept: tuple[str, ...]
    """What it takes to see the contradictions again, as texts."""


@dataclass(slots=True)
class Run:
    """Units made from a seed, each compiled in one configuration after the other."""

    configurations: list[Configuration]
    seed: int
    per_unit: int
    keep: Path
    jobs: int = 1
    cases: int = 0
    contradictions: int = 0
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """By configuration and reader."""
    structs: dict[str, int] = field(default_factory=dict)

    def steps(self, cases: int) -> Iterator[None]:
        """Goes on until so many cases were compared, a unit at a time; the same ones for any number of jobs."""
        examiner = Examiner(self.configurations, self.seed, self.per_unit)
        with ProcessPoolExecutor(self.jobs) as pool:
            waiting: deque[Future[Result]] = deque()
            numbers = itertools.count()
            while self.cases < cases:
                while len(waiting) < 2 * self.jobs:
                    waiting.append(pool.submit(examiner.unit, next(numbers)))
                self._take(waiting.popleft().result())
                yield
            pool.shutdown(wait=True, cancel_futures=True)

    def _take(self, result: Result) -> None:
        self.cases += result.cases
        self.structs[result.name] = self.structs.get(result.name, 0) + result.cases
        for reader, tally in result.tallies:
            self.tallies.setdefault((result.name, reader), Tally()).add(tally)
            self.contradictions += len(tally.wrong)
        for text in result.kept:
            self.keep.mkdir(parents=True, exist_ok=True)
            number = len(list(self.keep.iterdir()))
            if number < _MOST_KEPT:
                (self.keep / f"{number:03}.c").write_text(text)

    def line(self) -> str:
        """How far it is."""
        return f"{self.cases:,} cases, {self.contradictions:,} contradictions"

    def table(self) -> str:
        """A line for each configuration and reader, and for each kind of reader in all."""
        lines = [
            f"{'':24} {'reader':18} {'structs':>8} {'verdicts':>9} {'unknown':>8} {'several':>8} {'refused':>8} {'wrong':>6}"
        ]
        readers: dict[str, tuple[int, Tally]] = {}
        for (name, reader), tally in sorted(self.tallies.items()):
            lines.append(_row(name, reader, self.structs[name], tally))
            kind = f"{reader} of {'clang' if 'clang' in name else 'gcc'}"
            structs, whole = readers.get(kind, (0, Tally()))
            whole.add(tally)
            readers[kind] = structs + self.structs[name], whole
        lines += [_row("all", kind, structs, whole) for kind, (structs, whole) in sorted(readers.items())]
        every = Tally()
        for tally in self.tallies.values():
            every.add(tally)
        return "\n".join((*lines, _row("all", "", self.cases, every)))


@dataclass(frozen=True, slots=True)
class Examiner:
    """Makes units, compiles them, and asks every reader."""

    configurations: list[Configuration]
    seed: int
    per_unit: int

    def unit(self, number: int) -> Result:
        """What comes of one unit."""
        one = self.configurations[number % len(self.configurations)]
        seed = self.seed * 1_000_003 + number
        unit = Maker(seed, one.words).make(self.per_unit)
        compiler = one.compiler(seed)
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            facts, without = truth.facts(compiler, unit, folder, self._like_libclang(compiler))
            exam = Exam.set(unit, facts, seed)
            (folder / "rules.toml").write_text(exam.rules())
            text, _ = unit.text(without)
            source = folder / "unit.c"
            source.write_text(text + _uses(unit, facts))
            tallies, kept = [], list[str]()
            for reader, path, words in self._inputs(compiler, source, folder):
                where = f"{one.name} {reader} seed {seed}"
                tally = self._ask(exam, path, folder / "rules.toml", words, where)
                tallies.append((reader, tally))
                kept += [_again(unit, compiler, reader, seed, wrong) for wrong in tally.wrong]
        return Result(one.name, len(facts), tuple(tallies), tuple(kept))

    def _like_libclang(self, compiler: Compiler) -> Compiler | None:
        """The first clang that refuses what libclang does (arrays of elements that are aligned to more than a size)."""
        names = [one.command for one in self.configurations if one.name.startswith("clang-19")]
        return replace(compiler, command=names[0]) if names and "clang" in compiler.name else None

    def _ask(self, exam: Exam, path: Path, rules: Path, words: tuple[str, ...], where: str) -> Tally:
        try:
            return verdicts.ask(exam, path, rules, words)
        except Refused:
            return Tally(refused=1)
        except Failed as error:
            return Tally(wrong=[("?", f"{where}: {error}")])

    def _inputs(
        self, compiler: Compiler, source: Path, folder: Path
    ) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
        """What each reader is given, and the options for it."""
        made = folder / "unit.o"
        message = compiler.compile(source, made, *compiler.debug)
        if message:
            raise RuntimeError(f"{compiler.name}: {message[:2000]}")
        yield "dwarf", made, ()
        if "clang" in compiler.name:
            yield "source", source, ("--", *compiler.flags)
        if shutil.which("pahole") and _converts(made, folder / "pahole.o"):
            yield "pahole", folder / "pahole.o", ("--reader", "btf")
        if "gcc" in compiler.name and not compiler.compile(
            source, folder / "btf.o", "-gbtf", compiler.debug[-1]
        ):
            yield "gcc -gbtf", folder / "btf.o", ()


def _again(unit: Unit, compiler: Compiler, reader: str, seed: int, wrong: tuple[str, str]) -> str:
    """What it takes to see a contradiction again."""
    name, why = wrong
    texts = "\n".join(unit.closure(name))
    words = " ".join((*compiler.command, *compiler.flags, *compiler.debug))
    return f"/* {compiler.name} {reader}, seed {seed}\n * {words}\n * {name}: {why}\n */\n{texts}\n"


def _row(name: str, reader: str, structs: int, tally: Tally) -> str:
    return (
        f"{name:24} {reader:18} {structs:8,} {tally.verdicts:9,} {tally.unknown:8,} {tally.several:8,} {tally.refused:8,} "
        f"{len(tally.wrong):6,}"
    )


def _uses(unit: Unit, facts: dict[str, truth.Facts]) -> str:
    """Something that needs each type, so that debug information has it: a variable of it, or its size."""
    lines = []
    for n, one in enumerate(unit.records):
        if one.name in facts:
            lines.append(f"{one.c_name} v{n};" if n % 3 else f"{one.c_name} *p{n};")
    return "\n".join(lines) + "\n"


def _converts(made: Path, into: Path) -> bool:
    """Whether pahole makes BTF of the debug information of an object."""
    shutil.copy(made, into)
    done = subprocess.run(["pahole", "-J", "--btf_gen_floats", str(into)], capture_output=True, timeout=300)
    return done.returncode == 0
