"""Kind `isolated` with `neighbours` and `tolerate`, against the addresses of objects that a program lays out and prints.

    python -m tools.differential.objects --cases 1000 --seed 1

A case is a random struct with a placement and a rule. A program lays objects of it out in a row as docs/concepts.md
says it of the allocator, and prints their addresses, and those of their members: the bases at which the rule fails.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutlint.intent.toml import rule_file
from layoutlint.judgement.verdict import Verdict
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from tools.differential import options

LINE = 64
BLOCKS = 130
"""In a row: with the first and the last of them, nothing is known of what is beside."""
CLASSES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)
"""kmalloc's, as /proc/slabinfo lists them."""
TYPES = ("char", "short", "int", "long", "char[{}]", "long[{}]", "struct pair")
PLACEMENTS = (
    "line", "slab", "slab", "slab", "slab:32", "slab:64", "slab:128", "kmalloc", "kmalloc", "static", "static", "static:32", "aligned:64",
)  # fmt: skip
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
static _Alignas(4096) char arena[1 << 20];
static long classes[] = { %s };
static long up(long n, long to) { return (n + to - 1) / to * to; }
static long most(long a, long b) { return a > b ? a : b; }
static long class_of(long n) { int i = 0; while (classes[i] < n) i++; return classes[i]; }
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A struct, where its objects are, and a rule on it."""

    number: int
    declaration: str
    members: tuple[str, ...]
    word: str
    array: int | None
    chosen: tuple[str, ...]
    excepted: tuple[str, ...]
    neighbours: bool | None
    tolerate: float

    @property
    def is_in_row(self) -> bool:
        """Whether the allocator lays objects out one behind the other."""
        return self.word.partition(":")[0] in ("line", "slab", "kmalloc")

    def step(self) -> str:
        """The distance from one block to the next, in C."""
        word, _, align = self.word.partition(":")
        size, own = f"{self.array or 1} * sizeof(struct s{self.number})", f"_Alignof(struct s{self.number})"
        at_least = {"line": "64", "slab": align or "8", "static": align or "1", "aligned": align}
        if word == "kmalloc":
            return f"class_of({size})"
        if word == "slab" or word == "line":
            return f"up({size}, most(most({own}, 8), {at_least[word]}))"
        return at_least[word] if word == "aligned" else f"most({own}, {at_least[word]})"

    def code(self) -> str:
        """What prints the address of each object, and of its members."""
        name = f"struct s{self.number}"
        says = "".join(
            f'printf(" %ld %ld", (long)((char *)&o->{m} - arena), (long)sizeof o->{m});' for m in self.members
        )
        return (
            f"{{ long step = {self.step()};\n"
            f'printf("{self.number} %ld %ld\\n", step, (long)sizeof({name}));\n'
            f"for (long b = 0; b < {BLOCKS}; b++) for (long e = 0; e < {self.array or 1}; e++) {{\n"
            f"{name} *o = ({name} *)(arena + b * step) + e;\n"
            f'printf("%ld", (long)((char *)o - arena)); {says} printf("\\n"); }} }}\n'
        )

    def rule(self) -> str:
        """The rule file's part."""
        rows = [f"[struct.s{self.number}]", f'placement = "{self.word}"']
        rows += [f"array = {self.array}"] if self.array is not None else []
        rows += ["[[rule]]", f'id = "r{self.number}"', f'struct = "s{self.number}"', 'kind = "isolated"', 'why = "a test"']
        rows += [f"fields = {list(self.chosen)}", f"tolerate = {self.tolerate}"]
        rows += [f"except = {list(self.excepted)}"] if self.excepted else []
        rows += [f"neighbours = {str(self.neighbours).lower()}"] if self.neighbours is not None else []
        return "\n".join(rows) + "\n"


def make(number: int, chance: random.Random) -> Case:
    """A random case."""
    members, rows = tuple(f"m{n}" for n in range(chance.randint(1, 6))), []
    for name in members:
        type_, _, bracket = chance.choice(TYPES).partition("[")
        length = bracket and f"[{chance.randint(1, 30)}]"
        align = chance.choice(("", "", "", "", "", " __attribute__((aligned(16)))", " __attribute__((aligned(64)))"))
        rows.append(f"\t{type_} {name}{length}{align};")
    whole = chance.choice(("", "", "", "", " __attribute__((aligned(32)))", " __attribute__((aligned(64)))"))
    chosen = tuple(chance.sample(members, min(len(members), chance.choice((1, 1, 1, 2, 3, 6)))))
    left = [name for name in members if name not in chosen]
    # Objects must fit into what the placement requests.
    declaration = f"struct s{number} {{\n" + "\n".join(rows) + f"\n}}{whole};\n"
    fitting = [word for word in PLACEMENTS if ":32" not in word or "(64)" not in declaration]
    return Case(
        number,
        declaration,
        members,
        chance.choice(fitting),
        chance.choice((None, None, 1, 2, 3, 5)),
        chosen,
        tuple(left) if chance.random() < 0.5 else tuple(chance.sample(left, chance.randint(0, len(left)))),
        chance.choice((True, True, True, None, False)),
        chance.choice((0.0, 0.0, 0.0, 0.25, 0.5, 0.875, 1.0)),
    )


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program prints of one case."""

    step: int
    size: int
    objects: tuple[tuple[int, ...], ...]
    """For each object its address, and address and size of each member."""


def truth(case: Case, printed: Printed) -> tuple[set[int], set[int]]:
    """All bases, and those at which the rule fails."""
    every, failing = set(), set()
    count = case.array or 1
    for number in range(count, len(printed.objects) - count):
        at = printed.objects[number][0]
        every.add(at % LINE)
        own = _lines(_spans(case, printed.objects[number], case.chosen))
        others = set(_company(case, printed, number))
        if not own.isdisjoint(others) or _intrudes(case, printed, number):
            failing.add(at % LINE)
    return every, failing


def _spans(case: Case, row: tuple[int, ...], names: Sequence[str]) -> list[tuple[int, int]]:
    places = dict(zip(case.members, zip(row[1::2], row[2::2], strict=True), strict=True))
    return [(places[name][0], sum(places[name])) for name in names]


def _lines(spans: list[tuple[int, int]]) -> set[int]:
    return {line for start, end in spans for line in range(start // LINE, (end - 1) // LINE + 1)}


def _elements_near(case: Case, number: int) -> list[int]:
    """The elements of the same array beside one, if they count."""
    count = case.array or 1
    if case.neighbours is False or case.array is None:
        return []
    return [other for other in (number - 1, number + 1) if other // count == number // count]


def _intrudes(case: Case, printed: Printed, number: int) -> bool:
    """Whether an element is on the lines of those beside it: the pair counts for both."""
    allowed = [name for name in case.members if name not in case.excepted]
    own = _lines(_spans(case, printed.objects[number], allowed))
    return any(
        not own.isdisjoint(_lines(_spans(case, printed.objects[other], case.chosen))) for other in _elements_near(case, number)
    )


def _company(case: Case, printed: Printed, number: int) -> Iterator[int]:
    """The lines of what the rule keeps away from an object."""
    row, count, size = printed.objects[number], case.array or 1, printed.size
    unlisted = [name for name in case.members if name not in (*case.chosen, *case.excepted)]
    yield from _lines(_spans(case, row, unlisted))
    block = number // count
    allowed = [name for name in case.members if name not in case.excepted]
    for other in _elements_near(case, number):
        yield from _lines(_spans(case, printed.objects[other], allowed))
    if not case.neighbours:
        return
    if not case.is_in_row:  # a variable, or a block, beside anything
        yield from _lines([(row[0] - LINE, row[0]), (row[0] + size, row[0] + size + LINE)])
        return
    for other in range(max(0, number - 70), min(len(printed.objects), number + 71)):
        start = printed.objects[other][0]
        if other == number or start // LINE > row[0] // LINE + size // LINE + 1 or (start + size) < row[0] - LINE:
            continue
        if case.word == "kmalloc" and other // count != block:  # others of its class are of any type
            start, end = other // count * printed.step, (other // count + 1) * printed.step
            yield from _lines([(start, end)])
        else:
            yield from _lines([(start, start + size)])


def outcome_of(case: Case, every: set[int], failing: set[int]) -> str:
    """The outcome."""
    if len(failing) <= case.tolerate * len(every):
        return "kept"
    return "broken" if failing == every else "at-risk"


@dataclass(slots=True)
class Tally:
    """What came of some cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    tolerated: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def run(cases: int, seed: int, per_unit: int = 100) -> Tally:
    """What came of random cases, with a unit of some of them at a time."""
    tally = Tally()
    for first in range(0, cases, per_unit):
        chance = random.Random(seed * 1_000_003 + first)
        unit = [make(number, chance) for number in range(first, min(cases, first + per_unit))]
        with tempfile.TemporaryDirectory() as folder:
            _examine(unit, Path(folder), tally, "unit.o" if first // per_unit % 2 else "unit.c")
    return tally


def _examine(unit: list[Case], folder: Path, tally: Tally, name: str) -> None:
    declared = "struct pair { long a, b; };\n" + "".join(case.declaration for case in unit)
    code = PROGRAM % ", ".join(map(str, CLASSES)) + declared
    code += "".join(f"struct s{case.number} v{case.number};\n" for case in unit)
    code += "int main(void) {\n" + "".join(case.code() for case in unit) + "return 0; }\n"
    (folder / "unit.c").write_text(code)
    for flags in (("-c", "-o", "unit.o"), ("-o", "unit")):
        subprocess.run(["gcc", "-w", "-g", "-O0", "unit.c", *flags], cwd=folder, check=True)
    output = subprocess.run([folder / "unit"], capture_output=True, text=True, check=True).stdout
    printed = _parse(unit, output.splitlines())
    pack = rule_file.parse("".join(case.rule() for case in unit), "r.toml")
    report = check([str(folder / name)], (pack,), (), Options())
    found = {f.rule.id: f.verdict for f in (*report.findings, *report.kept_findings)}
    for case in unit:
        _count(case, printed[case.number], found[f"r{case.number}"], tally)


def _parse(unit: list[Case], rows: list[str]) -> dict[int, Printed]:
    printed, at = {}, 0
    for case in unit:
        number, step, size = map(int, rows[at].split())
        end = at + 1 + BLOCKS * (case.array or 1)
        printed[number] = Printed(step, size, tuple(tuple(map(int, row.split())) for row in rows[at + 1 : end]))
        at = end
    return printed


def _count(case: Case, printed: Printed, verdict: Verdict, tally: Tally) -> None:
    every, failing = truth(case, printed)
    outcome = verdict.outcome.value
    tally.outcomes[outcome] += 1
    if outcome == "unknown":
        tally.unknown[verdict.message] += 1
        return
    right = outcome_of(case, every, failing), sorted(failing), len(every)
    tally.tolerated += right[0] == "kept" and bool(failing)
    if right != (outcome, sorted(verdict.bases), verdict.total):
        tally.wrong.append(
            f"{case.declaration}{case.rule()}is {(outcome, verdict.bases, verdict.total)}, not {right}: {verdict.message}"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Prints the figures; 1 if a verdict is wrong."""
    given = options.parse("objects", __doc__, words)
    tally = run(given.cases, given.seed)
    print("\n".join(tally.wrong[:5]))
    print(f"{given.cases} cases, {dict(tally.outcomes)}, {tally.tolerated} tolerated, {len(tally.wrong)} wrong")
    print("\n".join(f"unknown: {reason}" for reason in tally.unknown))
    return bool(tally.wrong)


if __name__ == "__main__":
    sys.exit(main())
