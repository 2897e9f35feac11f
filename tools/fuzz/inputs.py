"""Which input a number stands for: a damaged seed, and the command that reads it. The same number, the same input."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Final

from tools.fuzz import anatomy, graphs, mutators
from tools.fuzz.mutators import Donor, File, Roles
from tools.fuzz.seeds import NAMED, PATTERNS, SOURCE, Recipe, Seed, seeds

FORMATS: Final = ("dwarf", "btf", "elf")
_WEIGHTS: Final = (60, 20, 20)
GRAPHS: Final = {name: Seed(Recipe(f"graph-{name}", name, ()), ()) for name in ("dwarf", "btf")}
"""Stand for inputs that are made from nothing."""
_SHARE: Final = {"dwarf": 0.15, "btf": 0.15, "elf": 0.0}
"""So many of the inputs of a format are whole files with unusual types."""
RULES: Final = {path.name: path for path in (NAMED, PATTERNS, SOURCE / "split.toml")}


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and what its exit status 0 vouches for."""

    words: tuple[str, ...]
    """Of the seed `input`; others are opened by another name, or need options as well."""
    names: tuple[str, ...] = ()
    """The structs that it is asked to show."""
    rules: tuple[str, ...] = ()
    """The ids of the rules that it is asked to judge."""


@dataclass(frozen=True, slots=True)
class Input:
    """One damaged input."""

    number: int
    seed: Seed
    damaged: str
    """Which of the seed's files is damaged."""
    data: bytes
    command: Command
    log: tuple[str, ...]
    """What was done to it."""

    @property
    def files(self) -> dict[str, bytes]:
        """All files that must be there."""
        return {**dict(self.seed.files), self.damaged: self.data}

    @property
    def words(self) -> tuple[str, ...]:
        first, _, *rest = self.command.words
        return (first, self.seed.recipe.opened, *rest, *self.seed.recipe.options)


@cache
def _parts(format_: str) -> tuple[tuple[Seed, str, bytes, anatomy.Anatomy, Roles], ...]:
    """Every file of every seed that is damaged as this format."""
    found = []
    for seed in seeds():
        if format_ in seed.recipe.formats.split():
            for name, data in seed.files:
                known = anatomy.anatomy_of(data)
                found.append((seed, name, data, known, Roles(known)))
    return tuple(found)


@cache
def _donors(format_: str) -> tuple[Donor, ...]:
    return tuple(Donor(data, known) for _, _, data, known, _ in _parts(format_))


@cache
def _mutators(format_: str, part: int) -> tuple[tuple[mutators.Mutator, int], ...]:
    return mutators.mutators_for(format_, _parts(format_)[part][4])


def input_of(number: int, seed: int, format_: str = "all") -> Input:
    """The input of a number, in a run with this seed and format."""
    rng = random.Random(f"{seed}/{number}")
    what = rng.choices(FORMATS, _WEIGHTS)[0] if format_ == "all" else format_
    if rng.random() < _SHARE[what]:
        shape, data = graphs.make_graph(rng, what)
        return Input(number, GRAPHS[what], "input", data, _command(rng, GRAPHS[what]), (shape,))
    parts = _parts(what)
    index = rng.randrange(len(parts))
    origin, name, data, known, _ = parts[index]
    file = File(known, bytearray(data), _donors(what))
    mutators.damage(rng, file, _mutators(what, index))
    return Input(number, origin, name, bytes(file.data), _command(rng, origin), tuple(file.log))


def _command(rng: random.Random, seed: Seed) -> Command:
    is_split = seed.recipe.rules == "split.toml"
    draw = rng.random()
    if draw < 0.35:
        return check(seed.recipe.rules)
    if draw < 0.5:
        return check(PATTERNS.name)
    if draw < 0.75:
        return Command(("show", "input", "--all", "--format", "json", *(("--expand",) if rng.random() < 0.3 else ())))
    if draw < 0.95:
        wanted = rng.choice((("pair",), ("pa?r",)) if is_split else (("ring",), ("wide", "ring"), ("entry_t",), ("r?ng",)))
        return Command(("show", "input", *wanted, "--format", "json", *(("--expand",) if rng.random() < 0.3 else ())), names=wanted)
    if draw < 0.975:
        return Command(("show", "input", "--all", "--format", rng.choice(("c", "text"))))
    asked = rng.choice(("pair", "list") if is_split else ("slot", "entry_t", "wide"))
    return Command(("containers", "input", asked, "--format", rng.choice(("json", "json", "text"))), names=(asked,))


def check(rules: str, more: tuple[str, ...] = ()) -> Command:
    """`check` with one of the rule files; it vouches for each of their rules."""
    words = ("check", "input", "--rules", str(RULES[rules]), "--format", "json", *more)
    return Command(words, rules=_ids(rules))


@cache
def _ids(rules: str) -> tuple[str, ...]:
    lines = RULES[rules].read_text().splitlines()
    return tuple(line.split('"')[1] for line in lines if line.startswith("id = "))
