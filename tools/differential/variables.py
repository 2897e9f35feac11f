"""Kinds `neighbours` with `alone` and `stride` of variables, against the addresses that `nm` prints of linked programs.

    python -m tools.differential.variables --cases 1000 --seed 1

A program has two units of C, and of assembler with labels, symbols without sizes and gaps. A case is one rule, judged
in the program, where it must be what the addresses say, and in the first object file, where it must hold for them.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from layoutlint.intent.toml import rule_file
from layoutlint.judgement.verdict import Verdict
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from tools.differential import options

LINE = 64
TYPES = ("char {}[{n}]", "long {}", "int {}", "short {}", "struct {{ long head; char rest[{n}]; }} {}", "lock_t {}[{few}]")
SECTIONS = ("", "", "", "", ' __attribute__((section(".data.quiet")))')
ALIGNED = ("", *[" __attribute__((aligned(64)))"] * 3, " __attribute__((aligned(32)))")
SIZES = {"__dso_handle": 8}
"""What `nm` states no size of: crtbegin.o has a pointer."""
PER_PROGRAM = 10


@dataclass(frozen=True, slots=True)
class Program:
    """Two units of C with assembler, and what nm does not say."""

    units: tuple[str, str]
    names: tuple[str, ...]
    sizes: dict[str, int]
    """Of symbols of the assembler that state none."""
    locks: dict[str, int]
    """The size of the elements of variables that are arrays of structs."""
    pools: dict[str, int]
    """The size of the rows of arrays of arrays."""


def make(chance: random.Random) -> Program:
    """A random program."""
    units, names, sizes, locks, pools = [], list[str](), dict[str, int](), dict[str, int](), dict[str, int]()
    for unit in "ab":
        rows = [f"typedef union {{ int word; char room[{chance.choice((4, 24, 40, 64))}]; }} lock_t;"]
        for number in range(chance.randint(4, 9)):
            name, type_ = f"{unit}{number}_{chance.choice(('buf', 'count'))}", chance.choice(TYPES)
            declared = type_.format(name, n=chance.choice((1, 8, 40, 56, 64, 64, 128)), few=chance.randint(1, 4))
            value = " = { 1 }" if chance.random() < 0.7 else ""
            section = chance.choice(SECTIONS) if value else ""
            rows.append(f"{declared}{chance.choice(ALIGNED)}{section}{value};")
            names.append(name)
            if type_.startswith("lock_t"):
                locks[name] = int(rows[0].partition("[")[2].partition("]")[0])
        if chance.random() < 0.6:
            rows.append(_assembler(unit, chance, names, sizes))
        if chance.random() < 0.7:
            pools[f"{unit}_pool"] = row = chance.choice((8, 32, 64, 64, 128))
            rows.append(f"char {unit}_pool[{chance.randint(2, 5)}][{row}] __attribute__((aligned({chance.choice((8, 64, 64))}))) = {{ {{ 1 }} }};")
        units.append("\n".join(rows) + "\n")
    return Program((units[0], units[1] + "int main(void) { return 0; }\n"), tuple(names), sizes, locks, pools)


def _assembler(unit: str, chance: random.Random, names: list[str], sizes: dict[str, int]) -> str:
    """Data with and without sizes, in `.data`."""
    rows = [".data", f".balign {chance.choice((8, 64))}"]
    for number in range(chance.randint(1, 3)):
        name, size = f"{unit}_asm{number}", chance.choice((8, 24, 64, 72))
        rows += [f".globl {name}"]
        form = chance.choice(("sized", "typed", "label"))
        rows += [f".type {name}, @object"] if form != "label" else []
        rows += [f".size {name}, {size}"] if form == "sized" else []
        rows += [f"{name}: .zero {size}"]
        names.append(name)
        if form != "sized":
            sizes[name] = size
    return "__asm__(" + "".join(f'"{row}\\n"' for row in (*rows, ".previous")) + ");"


@dataclass(frozen=True, slots=True)
class Case:
    """A rule on variables, and the ones that it names."""

    number: int
    kind: str
    patterns: tuple[str, ...]
    excepted: tuple[str, ...]

    def rule(self) -> str:
        """The rule file's part."""
        rows = ["[[rule]]", f'id = "r{self.number}"', f'kind = "{self.kind}"', 'why = "a test"', f"variables = {list(self.patterns)}"]
        rows += ["alone = true"] if self.kind == "neighbours" else []
        rows += [f"except = {list(self.excepted)}"] if self.excepted else []
        return "\n".join(rows) + "\n"


def make_case(number: int, program: Program, chance: random.Random) -> Case:
    """A random rule."""
    if program.pools and chance.random() < 0.2:
        return Case(number, "stride", (chance.choice(sorted(program.pools)),), ())
    patterns = tuple(chance.sample(program.names, chance.choice((1, 1, 1, 2, 2, 4))))
    if chance.random() < 0.2:
        patterns = (chance.choice(("*_buf", "a*_count", "?_asm*", "b*")), *patterns[1:])
    excepted = tuple(chance.sample(program.names, chance.choice((0, 0, 0, 1, 2, 5))))
    return Case(number, "neighbours", patterns, excepted)


@dataclass(frozen=True, slots=True)
class Symbols:
    """The variables of a file with their addresses and sizes, as nm prints them."""

    places: dict[str, tuple[int, int]]

    def matching(self, patterns: Sequence[str]) -> set[str]:
        """Those with names that match."""
        return {name for name in self.places for pattern in patterns if fnmatchcase(name, pattern)}

    def lines(self, name: str) -> set[int]:
        """Of one of them."""
        start, size = self.places[name]
        return set(range(start // LINE, (start + size - 1) // LINE + 1)) if size else set()


def read_symbols(path: Path, sizes: dict[str, int]) -> Symbols:
    """The variables of a file."""
    output = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout
    places = {}
    for row in output.splitlines():
        words = row.split()
        if len(words) >= 3 and words[-2] in "bBdDrRsSgGvV":
            size = int(words[1], 16) if len(words) == 4 else {**SIZES, **sizes}.get(words[-1], 0)
            places[words[-1]] = int(words[0], 16), size
    return Symbols(places)


def is_broken(case: Case, program: Program, symbols: Symbols, own: set[str]) -> bool:
    """Whether some variables share lines with what they must not, at the addresses of a program."""
    if case.kind == "stride":
        return any(_elements_share(symbols.places[name], program.pools[name]) for name in own)
    allowed = symbols.matching(case.excepted)
    for name in own:
        others = symbols.places.keys() - allowed - {name}
        if any(not symbols.lines(name).isdisjoint(symbols.lines(other)) for other in others):
            return True
        if name in program.locks and name not in allowed and _elements_share(symbols.places[name], program.locks[name]):
            return True
    return False


def _elements_share(place: tuple[int, int], step: int) -> bool:
    start, size = place
    return any((at - 1) // LINE == at // LINE for at in range(start + step, start + size, step))


def is_uncertain(case: Case, program: Program, symbols: Symbols, own: set[str]) -> bool:
    """Whether a size that nm does not print can decide, also one up to the next symbol, or a type that DWARF lacks."""
    if any("_asm" in name and symbols.places[name][1] > LINE for name in own):
        return True
    starts = sorted(start for start, _ in symbols.places.values())
    for name in program.sizes.keys() & symbols.places.keys():
        start, _ = symbols.places[name]
        end = min((at for at in starts if at > start), default=start + LINE)
        reach = set(range(start // LINE, (end - 1) // LINE + 1))
        if name in own or any(not symbols.lines(each).isdisjoint(reach) for each in own):
            return True
    return False


@dataclass(slots=True)
class Tally:
    """What came of some cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def run(cases: int, seed: int) -> Tally:
    """What came of random cases."""
    tally = Tally()
    for first in range(0, cases, PER_PROGRAM):
        chance = random.Random(seed * 1_000_003 + first)
        program = make(chance)
        rules = [make_case(number, program, chance) for number in range(first, min(cases, first + PER_PROGRAM))]
        with tempfile.TemporaryDirectory() as folder:
            _examine(program, rules, Path(folder), tally)
    return tally


def _examine(program: Program, rules: list[Case], folder: Path, tally: Tally) -> None:
    for name, code in zip("ab", program.units, strict=True):
        (folder / f"{name}.c").write_text(code)
    subprocess.run(["gcc", "-w", "-g", "-O0", "-c", "a.c", "b.c"], cwd=folder, check=True)
    subprocess.run(["gcc", "-o", "linked", "a.o", "b.o"], cwd=folder, check=True)
    linked, of_object = (read_symbols(folder / name, program.sizes) for name in ("linked", "a.o"))
    in_program, in_object = (_judge(rules, folder / name) for name in ("linked", "a.o"))
    for case in rules:
        own = linked.matching(case.patterns)
        broken = is_broken(case, program, linked, own)
        verdicts = in_program.get(case.number, [])
        outcome = _worst(verdicts)
        tally.outcomes[f"{case.kind} {outcome}"] += 1
        right = {"broken"} if broken else {"kept"}
        if not own:
            right = {"unknown"}
        elif is_uncertain(case, program, linked, own):
            right.add("unknown")
        if outcome == "unknown":
            tally.unknown.update(v.message.partition(": ")[0].partition(" of ")[0] for v in verdicts)
        if outcome not in right:
            tally.wrong.append(_describe(program, case, "linked", outcome, right, verdicts))
        _examine_object(program, case, linked, of_object, in_object.get(case.number, []), tally)


def _examine_object(
    program: Program, case: Case, linked: Symbols, of_object: Symbols, verdicts: list[Verdict], tally: Tally
) -> None:
    """An object file's kept and broken verdicts hold for its variables at their addresses in the program."""
    own = {name for name in of_object.matching(case.patterns) if name[0] == "a"}
    outcome = _worst(verdicts)
    tally.outcomes[f"object {outcome}"] += 1
    broken = is_broken(case, program, linked, own)
    if own and outcome in ("kept", "broken") and broken is not (outcome == "broken"):
        right = {"broken" if broken else "kept"}
        tally.wrong.append(_describe(program, case, "a.o", outcome, right, verdicts))


def _describe(
    program: Program, case: Case, where: str, outcome: str, right: set[str], verdicts: list[Verdict]
) -> str:
    messages = "; ".join(verdict.message for verdict in verdicts)
    return f"{program.units[0]}---\n{program.units[1]}{case.rule()}{where} is {outcome}, not {right}: {messages}"


def _judge(rules: list[Case], path: Path) -> dict[int, list[Verdict]]:
    pack = rule_file.parse("".join(case.rule() for case in rules), "r.toml")
    report = check([str(path)], (pack,), (), Options())
    verdicts: dict[int, list[Verdict]] = {}
    for finding in (*report.findings, *report.kept_findings):
        if not finding.verdict.is_missing_field or "no variable" not in finding.verdict.message:
            verdicts.setdefault(int(finding.rule.id[1:]), []).append(finding.verdict)
    return verdicts


def _worst(verdicts: list[Verdict]) -> str:
    outcomes = {verdict.outcome.value for verdict in verdicts}
    return next((each for each in ("broken", "at-risk", "unknown", "kept") if each in outcomes), "unknown")


def main(words: Sequence[str] | None = None) -> int:
    """Prints the figures; 1 if a verdict is wrong."""
    given = options.parse("variables", __doc__, words)
    tally = run(given.cases, given.seed)
    print("\n".join(tally.wrong[:3]))
    print(f"{given.cases} cases, {dict(sorted(tally.outcomes.items()))}, {len(tally.wrong)} wrong")
    print("\n".join(f"unknown: {reason} ({count})" for reason, count in tally.unknown.items()))
    return bool(tally.wrong)


if __name__ == "__main__":
    sys.exit(main())
