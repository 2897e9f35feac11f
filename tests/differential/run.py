"""A run over many units: compile, ask every reader, count, and keep what contradicts."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.differential import truth, verdicts
from tests.differential.configurations import Configuration
from tests.differential.structs import Maker, Unit
from tests.differential.truth import Compiler
from tests.differential.verdicts import Exam, Failed, Refused, Tally

_MOST_KEPT = 200


@dataclass(slots=True)
class Run:
    """Units made from a seed, each compiled in one configuration after the other."""

    configurations: list[Configuration]
    seed: int
    per_unit: int
    keep: Path
    cases: int = 0
    contradictions: int = 0
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """By configuration and reader."""
    structs: dict[str, int] = field(default_factory=dict)

    def steps(self, cases: int) -> Iterator[None]:
        """Goes on until so many cases were compared, a unit at a time."""
        number = 0
        while self.cases < cases:
            self._unit(self.configurations[number % len(self.configurations)], self.seed * 1_000_003 + number)
            number += 1
            yield

    def _unit(self, one: Configuration, seed: int) -> None:
        unit = Maker(seed, one.words).make(self.per_unit)
        compiler = one.compiler(seed)
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            facts, without = truth.facts(compiler, unit, folder, self._like_libclang(compiler))
            self.cases += len(facts)
            self.structs[one.name] = self.structs.get(one.name, 0) + len(facts)
            exam = Exam.set(unit, facts, seed)
            (folder / "rules.toml").write_text(exam.rules())
            text, _ = unit.text(without)
            source = folder / "unit.c"
            source.write_text(text + _uses(unit, facts))
            for reader, path, words in self._inputs(compiler, source, folder):
                tally = self._asked(
                    exam, path, folder / "rules.toml", words, f"{one.name} {reader} seed {seed}"
                )
                self.tallies.setdefault((one.name, reader), Tally()).add(tally)
                self.contradictions += len(tally.wrong)
                for name, why in tally.wrong:
                    self._kept(unit, compiler, reader, seed, (name, why))

    def _like_libclang(self, compiler: Compiler) -> Compiler | None:
        """The first clang that refuses what libclang does (arrays of elements that are aligned to more than a size)."""
        names = [one.command for one in self.configurations if one.name.startswith("clang-19")]
        return replace(compiler, command=names[0]) if names and "clang" in compiler.name else None

    def _asked(self, exam: Exam, path: Path, rules: Path, words: tuple[str, ...], where: str) -> Tally:
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
        said = compiler.compile(source, made, *compiler.debug)
        if said:
            raise RuntimeError(f"{compiler.name}: {said[:2000]}")
        yield "dwarf", made, ()
        if "clang" in compiler.name:
            yield "source", source, ("--", *compiler.flags)
        if shutil.which("pahole") and _converts(made, folder / "pahole.o"):
            yield "pahole", folder / "pahole.o", ("--reader", "btf")
        if "gcc" in compiler.name and not compiler.compile(
            source, folder / "btf.o", "-gbtf", compiler.debug[-1]
        ):
            yield "gcc -gbtf", folder / "btf.o", ()

    def _kept(self, unit: Unit, compiler: Compiler, reader: str, seed: int, wrong: tuple[str, str]) -> None:
        """Writes what it takes to see a contradiction again."""
        self.keep.mkdir(parents=True, exist_ok=True)
        number = len(list(self.keep.iterdir()))
        if number >= _MOST_KEPT:
            return
        name, why = wrong
        texts = "\n".join(unit.closure(name))
        words = " ".join((*compiler.command, *compiler.flags, *compiler.debug))
        (self.keep / f"{number:03}.c").write_text(
            f"/* {compiler.name} {reader}, seed {seed}\n * {words}\n * {name}: {why}\n */\n{texts}\n"
        )

    def line(self) -> str:
        """How far it is."""
        return f"{self.cases:,} cases, {self.contradictions:,} contradictions"

    def table(self) -> str:
        """A line for each configuration and reader."""
        lines = [
            f"{'':24} {'reader':10} {'structs':>8} {'verdicts':>9} {'unknown':>8} {'several':>8} {'refused':>8} {'wrong':>6}"
        ]
        whole = Tally()
        for (name, reader), tally in sorted(self.tallies.items()):
            lines.append(_row(name, reader, self.structs[name], tally))
            whole.add(tally)
        return "\n".join((*lines, _row("all", "", self.cases, whole)))


def _row(name: str, reader: str, structs: int, tally: Tally) -> str:
    return (
        f"{name:24} {reader:10} {structs:8,} {tally.verdicts:9,} {tally.unknown:8,} {tally.several:8,} {tally.refused:8,} "
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
