"""Random structs read through a database that names gcc, each held against what that gcc makes of it.

    python -m tools.differential --sources --cases 2000 --seed 1 --only arm

`--cases` is the number of structs for each machine. A layout is gcc's own, or unknown with a reason.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from layoutlint.errors import ReadError
from layoutlint.lint.struct_listing import list_structs
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.readers.clang.query_driver import trusted_compilers
from tools.differential import truth
from tools.differential.configurations import works
from tools.differential.reduced import reduce
from tools.differential.structs import Record, Unit, Words
from tools.differential.truth import Compiler, Facts
from tools.differential.wide_structs import WideMaker

_X86 = (
    ("-fpack-struct",), ("-fpack-struct=2",), ("-fpack-struct=4",), ("-fshort-enums",), ("-mms-bitfields",),
    ("-mno-ms-bitfields",),
)  # fmt: skip
_OTHERS = (
    ("-fpack-struct",),
    ("-fpack-struct=2",),
    ("-fpack-struct=4",),
    ("-fshort-enums",),
    ("-fno-short-enums",),
)
_INT128 = ("__int128", "unsigned __int128")
_FLOAT128 = ("__float128",)


@dataclass(frozen=True, slots=True)
class Machine:
    """A gcc as a database names it."""

    command: tuple[str, ...]
    long_bits: int
    more: tuple[str, ...] = ()
    rare: tuple[tuple[str, ...], ...] = _OTHERS
    most_unknown: float = 0.05
    is_asked: bool = False
    """Whether the compiler is asked (`--query-driver`)."""
    measured: float = 0.004
    """The share of members whose numbers are measured of other types."""

    @property
    def name(self) -> str:
        return " ".join(self.command)

    @property
    def words(self) -> Words:
        return Words(self.long_bits, self.more, True, False, 0)


MACHINES = (
    Machine(
        ("gcc",), 64, (*_INT128, *_FLOAT128), (*_X86, ("-mlong-double-64",), ("-mlong-double-128",)), 0.01
    ),
    Machine(("gcc", "-m32"), 32, _FLOAT128, (*_X86, ("-malign-double",))),
    Machine(("i686-linux-gnu-gcc",), 32, _FLOAT128, (*_X86, ("-malign-double",))),
    Machine(("arm-linux-gnueabi-gcc",), 32),
    Machine(("arm-linux-gnueabihf-gcc",), 32),
    Machine(("aarch64-linux-gnu-gcc",), 64, _INT128),
    Machine(("mips-linux-gnu-gcc",), 32),
    Machine(("s390x-linux-gnu-gcc",), 64, _INT128, (*_OTHERS, ("-mlong-double-64",))),
    Machine(("x86_64-w64-mingw32-gcc",), 32, (*_INT128, *_FLOAT128), _X86),
    Machine(("i686-w64-mingw32-gcc",), 32, _FLOAT128, (*_X86, ("-malign-double",))),
    Machine(("arm-none-eabi-gcc",), 32, (), (*_OTHERS, ("-mcpu=cortex-m4", "-mthumb"))),
)
_RARE = 0.12
"""The share of units that are compiled with a rare flag."""


@cache
def available() -> tuple[list[Machine], list[str]]:
    """The machines whose gcc works here, and why others are missing."""
    found = [one for one in MACHINES if works(one.command)]
    return found, [f"{one.name}: it makes no object" for one in MACHINES if one not in found]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A struct of which layoutlint states something else than gcc."""

    name: str
    why: str
    text: str
    """All that it takes to see it again."""
    record: Record
    """With all definitions that it needs."""


@dataclass(slots=True)
class Tally:
    """What came of the structs of one machine."""

    structs: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """By the kind of reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """The shortest text of a struct for each kind of reason."""
    wrong: list[Wrong] = field(default_factory=list)
    missing: int = 0
    """Structs that layoutlint does not list."""

    def add(self, other: Tally) -> None:
        self.structs += other.structs
        self.unknown += other.unknown
        for kind, text in other.examples.items():
            self.example(kind, text)
        self.wrong += other.wrong
        self.missing += other.missing

    def example(self, kind: str, text: str) -> None:
        """Keeps the shortest text for a kind of reason."""
        self.examples[kind] = min(self.examples.get(kind, text), text, key=len)

    @property
    def share_unknown(self) -> float:
        return self.unknown.total() / max(1, self.structs)


def examine(machine: Machine, seed: int, count: int) -> Tally:
    """What comes of one unit of a machine."""
    chance = random.Random(seed)
    extra = chance.choice(machine.rare) if chance.random() < _RARE else ()
    compiler = Compiler(machine.name, machine.command, ("-std=gnu17", *extra))
    is_x86 = ("-mms-bitfields",) in machine.rare
    unit = WideMaker(seed, machine.words, is_x86, machine.measured).make(count)
    return compare(compiler, unit, seed, machine.is_asked)


def compare(compiler: Compiler, unit: Unit, seed: int, is_asked: bool = False) -> Tally:
    """What layoutlint reads of a unit, held against its compiler."""
    with tempfile.TemporaryDirectory(prefix="sources-") as at:
        folder = Path(at)
        facts, without = truth.facts(compiler, unit, folder)
        (folder / "unit.c").write_text(unit.text(without)[0])
        words = [*compiler.command, *compiler.flags, "-c", "unit.c"]
        database = folder / "compile_commands.json"
        database.write_text(json.dumps([{"directory": at, "file": "unit.c", "arguments": words}]))
        drivers = trusted_compilers(["**"], os.environ["PATH"]) if is_asked else None
        options = ReadOptions(query_drivers=drivers)
        return _compare(unit, facts, _read(database, tuple(facts), options), " ".join(words), seed)


def reduction(wrong: Wrong) -> Wrong:
    """The same contradiction, or another one, by as little text as can be."""
    words = wrong.text.removeprefix("/* ").partition("  seed ")[0].split()[:-2]
    compiler = Compiler("", tuple(words))
    found = [wrong]

    def is_wrong(text: str) -> bool:
        names = set(re.findall(r"\w+", text))
        spots = [one for one in wrong.record.spots if names.issuperset(one.path.split("."))]
        record = replace(wrong.record, text=text, spots=spots, held=[])
        tally = compare(compiler, Unit([record], []), 0)
        found[1:] = tally.wrong or found[1:]
        return bool(tally.wrong)

    text = reduce(wrong.record.text, is_wrong)
    is_wrong(text)
    return found[-1]


def _read(database: Path, names: tuple[str, ...], options: ReadOptions) -> tuple[Struct, ...] | str:
    """The structs as layoutlint reads them, or why it does not."""
    try:
        return list_structs(str(database), names, options).structs
    except ReadError as error:
        return error.reason


def _compare(
    unit: Unit, facts: dict[str, Facts], structs: tuple[Struct, ...] | str, command: str, seed: int
) -> Tally:
    tally = Tally(len(facts))
    if isinstance(structs, str):
        tally.unknown[f"unit: {_kind(structs)}"] = len(facts)
        tally.examples[f"unit: {_kind(structs)}"] = f"/* {command}: {structs} */"
        return tally
    by_name: dict[str, list[Struct]] = {}
    for one in structs:
        for name in (one.name, *one.aliases):
            by_name.setdefault(name, []).append(one)
    for name, true in facts.items():
        text = partial(_text, unit, name, command, seed)
        for found in by_name.get(name, ())[:1]:
            reason = _unknown(found)
            if reason is not None:
                kind = _kind(reason)
                tally.unknown[kind] += 1
                tally.example(kind, text(reason))
            elif why := "; ".join(_differences(found, true, "scalar_storage_order" in text(""))):
                tally.wrong.append(Wrong(name, why, text(why), _alone(unit, name)))
        tally.missing += name not in by_name
    return tally


def _alone(unit: Unit, name: str) -> Record:
    record = next(one for one in unit.records if one.name == name)
    return replace(record, text="\n".join(unit.closure(name)) + "\n", with_="")


def _unknown(found: Struct) -> str | None:
    if found.problem is not None:
        return found.problem
    if found.bit_size is None or found.align is None:
        return "no size" if found.bit_size is None else "several alignments"
    return None


def _differences(found: Struct, true: Facts, has_orders: bool) -> Iterator[str]:
    """What is read otherwise; with `has_orders`, bits are counted in the order of their struct, as in gcc's DWARF."""
    if found.bit_size != true.size * 8:
        yield f"size {(found.bit_size or 0) / 8:g}, {true.size} is true"
    if found.align != true.align:
        note = " (it is __alignof__)" if found.align == true.whole_align else ""
        yield f"align {found.align}{note}, {true.align} is true"
    spots = dict(_spots(found.fields, "", 0))
    others = true.others if has_orders else {}
    for path, spot in (others | true.spots).items():
        if path not in spots:
            yield f"{path} is not read"
        elif spots[path] not in (spot, others.get(path)):
            yield f"{path} at {_bits(*spots[path])}, {_bits(*spot)} is true"


def _bits(offset: int, size: int | None) -> str:
    return f"{offset // 8}{f':{offset % 8}' if offset % 8 else ''} of {size} bits"


def _spots(fields: Sequence[Field], prefix: str, start: int) -> Iterator[tuple[str, tuple[int, int | None]]]:
    """Offset and size in bits of every field, by the path that C has for it."""
    for one in fields:
        path, offset = prefix + (one.name or ""), start + one.bit_offset
        if one.name is not None:
            yield path, (offset, one.bit_size)
        if not one.dims:
            yield from _spots(one.members, f"{path}." if one.name else prefix, offset)


_NAMES = re.compile(
    r"(?:const |volatile )?'[^']*[0-9 *][^']*'|`[^`]*`|\S+\.[ch](?::\d+)*|\b[smtu]\d+(?:_t)?\b|\d+|\(aka [^)]*\)"
)


def _kind(reason: str) -> str:
    return _NAMES.sub("_", reason)[:160]


def _text(unit: Unit, name: str, command: str, seed: int, why: str) -> str:
    texts = "\n".join(unit.closure(name))
    return f"/* {command}  seed {seed}\n * {name}: {why.replace('*/', '* /')}\n */\n{texts}\n"


@dataclass(slots=True)
class Run:
    """Units of every machine in turn."""

    machines: Sequence[Machine]
    seed: int
    per_unit: int
    jobs: int = 1
    tallies: dict[str, Tally] = field(default_factory=dict)

    def steps(self, cases: int) -> Iterator[None]:
        """Goes on until each machine has had so many structs; the same ones for any number of jobs."""
        units, names = -(-cases // self.per_unit), [one.name for one in MACHINES]
        work = [
            (one, self.seed * 1_000_003 + n * len(MACHINES) + names.index(one.name))
            for n in range(units)
            for one in self.machines
        ]
        machines, seeds = zip(*work, strict=True)
        with ProcessPoolExecutor(self.jobs) as pool:
            results = pool.map(examine, machines, seeds, itertools.repeat(self.per_unit))
            for machine, tally in zip(machines, results, strict=True):
                self.tallies.setdefault(machine.name, Tally()).add(tally)
                yield

    def line(self) -> str:
        """How far it is."""
        every = self.tallies.values()
        return (
            f"{sum(one.structs for one in every):,} structs, {sum(len(one.wrong) for one in every):,} wrong"
        )

    def table(self) -> str:
        """A line for each machine, and the reasons of what is unknown."""
        lines = [f"{'':28} {'structs':>8} {'wrong':>6} {'unknown':>8} {'share':>7} {'missing':>8}"]
        for name, one in self.tallies.items():
            numbers = (
                f"{one.structs:8,} {len(one.wrong):6,} {one.unknown.total():8,} {one.share_unknown:7.2%}"
            )
            lines.append(f"{name:28} {numbers} {one.missing:8,}")
        for name, one in self.tallies.items():
            lines += [f"{name}: {number:6,} {kind}" for kind, number in one.unknown.most_common(12)]
        return "\n".join(lines)

    def keep(self, folder: Path, most_reduced: int) -> None:
        """Writes what is wrong, and an example for each reason, shortest first; reduces some."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, one in self.tallies.items():
            stem = name.replace(" ", "")
            wrong = [reduction(each) for each in one.wrong[:most_reduced]] + one.wrong[most_reduced:]
            wrong = sorted(wrong, key=lambda each: len(each.text))
            (folder / f"{stem}.wrong.c").write_text("\n".join(each.text for each in wrong))
            (folder / f"{stem}.unknown.c").write_text("\n".join(one.examples.values()))
