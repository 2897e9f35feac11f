"""Random structs of a small alignment, compiled: where a program has them is held against the places that are judged.

    python -m tools.differential.places --cases 1000 --seed 1

A struct aligned to 1, 2 or 4 is in containers, arrays and variables, at any depth. The program prints the address of each of
its objects. A case is one struct, one rule and one kind of input: the source, the object, or the program. All places of
allocated memory are judged, and each at which the input shows the struct, in all containers and variables: the truth is
counted from addresses, offsets and alignments that the compiler prints, and from no layout that layoutlint reads.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.command import run
from tools.differential import options
from tools.differential.configurations import works

COMPILERS = (("gcc-12", "-Os"), ("gcc-12", "-O0"), ("clang-22", "-O1"), ("clang-14", "-O0"))
PER_UNIT = 20
LINE, SMALLEST = 64, 8
INPUTS = ("source.c", "object.o", "program")
_KINDS = (
    'kind = "together"\nfields = ["a", "b"]', 'kind = "no-straddle"\nfields = ["b"]', 'kind = "separate"\nfields = [["a"], ["b"]]\nneighbours = false',
)  # fmt: skip
_EXITS = {"kept": 0, "broken": 1, "at-risk": 1}
_WIDE = ("long double x;", "int x __attribute__((aligned(32)));")
"""Aligned to more than allocators give, unless the struct is packed or below a pragma, which debug information omits."""


@dataclass(slots=True)
class Way:
    """An expression for one place of a struct in a container or a variable."""

    outer: str
    """A type, or a variable."""
    path: str
    """From that to the struct, with an index `%d` for each array."""
    counts: tuple[int, ...] = ()


@dataclass(slots=True)
class Case:
    """A struct, and what holds it."""

    name: str
    text: str
    kind: int
    containers: list[Way] = field(default_factory=list)
    variables: list[Way] = field(default_factory=list)
    """Their paths begin with the variable."""


class Maker:
    """Makes cases from a seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._number = chance, 0

    def cases(self) -> Iterator[Case]:
        while True:
            self._number += 1
            yield self._case(f"p{self._number}")

    def _case(self, name: str) -> Case:
        chance = self._chance
        scalar, other = chance.choice((("int", "int"), ("short", "int"), ("short", "short"), ("char", "short"), ("int", "char")))
        length = chance.choice(("", "", f"[{chance.randint(2, 5)}]"))
        more = chance.choice(("", f" char c[{chance.randint(1, 9)}];", " int d;"))
        of_typedef = chance.random() < 0.25
        text = f"struct {name} {{ {scalar} a; {other} b{length};{more} }}{chance.choice(('', '', ' __attribute__((packed))'))};\n"
        case = Case(name, text, chance.randrange(len(_KINDS)))
        if of_typedef:
            case.text += f"typedef struct {name} {name}_t;\n"
        holders = [Way(f"{name}_t" if of_typedef else f"struct {name}", "")]
        for number in range(chance.randint(0, 3)):
            self._add_container(case, f"h{number}_{name}", holders)
        for number in range(chance.randint(0, 3)):
            self._add_variable(case, f"v{number}_{name}", holders)
        case.text += f"struct {name} *u_{name};\n"
        return case

    def _add_container(self, case: Case, name: str, holders: list[Way]) -> None:
        chance = self._chance
        of = chance.choice(holders)
        array, index, count = self._array()
        before = chance.choice(("int x;", "char x;", "long x;", "short x[3];", "", "char x[60];", *_WIDE))
        word = "struct" if chance.random() < 0.85 else "union"
        packed = chance.choice(("", "", "", " __attribute__((packed))"))
        member = f"{of.outer} m{array};"
        if chance.random() < 0.2:
            member = f"struct {{ char y; {member} }};"
        case.text += f"{word} {name} {{ {before} {member} }}{packed};\n{word} {name} *u_{name};\n"
        path, counts = f".m{index}{of.path}", (*count, *of.counts)
        holders.append(Way(f"{word} {name}", path, counts))
        case.containers.append(holders[-1])

    def _add_variable(self, case: Case, name: str, holders: list[Way]) -> None:
        chance = self._chance
        of = chance.choice(holders)
        array, index, count = self._array()
        static = chance.choice(("", "static "))
        section = f' __attribute__((section("row{chance.randrange(4)}")))' if chance.random() < 0.6 else ""
        pad = f"char pad_{name}[{chance.randint(1, 9)}]{section} = {{1}};\n" if section else ""
        case.text += f"{pad}{static}{of.outer} {name}{array}{section} = {{}};\nvoid *use_{name} = &{name};\n"
        case.variables.append(Way(name, f"{name}{index}{of.path}", (*count, *of.counts)))

    def _array(self) -> tuple[str, str, tuple[int, ...]]:
        if self._chance.random() < 0.5:
            return "", "", ()
        count = self._chance.randint(1, 9)
        return f"[{count}]", "[%d]", (count,)


def _probe(case: Case) -> Iterator[str]:
    """Yield statements that print what is true: of members, of each place in containers, and of each object."""
    of = f"struct {case.name}"
    yield f'printf("m %zu %zu %zu\\n", sizeof(({of} *)0)->a, offsetof({of}, b), sizeof(({of} *)0)->b);'
    yield f'printf("s %zu %zu\\n", sizeof({of}), _Alignof({of}));'
    for way in case.containers:
        for path in _elements(way):
            yield f'printf("c %zu %zu\\n", _Alignof({way.outer}), (size_t)&(({way.outer} *)0)->{path[1:]});'
    for way in case.variables:
        for path in _elements(way):
            yield f'printf("v %zu %zu %zu\\n", __alignof__({way.outer}), (size_t)((char *)&{path} - (char *)&{way.outer}), (size_t)&{path});'
    yield 'puts(".");'


def _elements(way: Way) -> Iterator[str]:
    indices: list[tuple[int, ...]] = [()]
    for count in way.counts:
        indices = [(*before, number) for before in indices for number in range(count)]
    yield from (way.path % each for each in indices[:3000])


def bases(facts: list[str], source: str, symbols: dict[str, tuple[int, int]], case: Case) -> set[int]:
    """Return the places at which an input shows a struct, and those of allocated memory."""
    align = next(int(line.split()[2]) for line in facts if line[0] == "s")
    found = set(range(0, LINE, max(align, SMALLEST)))
    for line in facts:
        word, *numbers = line.split()
        if word == "c":
            outer, offset = map(int, numbers)
            found |= {(base + offset) % LINE for base in range(0, LINE, max(outer, SMALLEST))}
    of_variables = iter([line for line in facts if line[0] == "v"])
    for way in case.variables:
        for _ in _elements(way):
            own, offset, address = map(int, next(of_variables).split()[1:])
            starts: range | tuple[int, ...] = (address - offset,)
            if source == "source.c":
                starts = range(0, LINE, own)
            elif source == "object.o":
                at, section = symbols[way.outer]
                starts = range(at, at + LINE, section)
            found |= {(start + offset) % LINE for start in starts}
    return found


def outcome(facts: list[str], kind: int, at: set[int]) -> tuple[str, int]:
    """Return the outcome of a rule at some places, and in how many it fails."""
    a, start, b = next(tuple(map(int, line.split()[1:])) for line in facts if line[0] == "m")

    def fails(base: int) -> bool:
        first, second = ({(base + offset + byte) // LINE for byte in range(size)} for offset, size in ((0, a), (start, b)))
        return (len(first | second) > 1, len(second) > 1, bool(first & second))[kind]

    failing = sum(map(fails, at))
    return ("kept" if not failing else "broken" if failing == len(at) else "at-risk"), failing


@dataclass(slots=True)
class Result:
    """Outcomes, whether other places than the allocator's made them, and what contradicts."""

    counts: Counter[tuple[str, bool]]
    wrong: list[str]


def examine(number: int, seed: int) -> Result:
    """Judge some cases, and compare each with the truth."""
    chance, result = random.Random(seed), Result(Counter(), [])
    cases = Maker(chance).cases()
    available = [words for words in COMPILERS if works(words[:1])]
    while available and (done := sum(result.counts.values())) < number:
        unit = [next(cases) for _ in range(min(PER_UNIT, number - done))]
        _examine_unit(unit, chance.choice(available), chance, result)
    return result


def _examine_unit(unit: list[Case], words: tuple[str, ...], chance: random.Random, result: Result) -> None:
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        text = "#include <stdio.h>\n#include <stddef.h>\n" + "".join(case.text for case in unit)
        probes = "".join(f"static void probe_{case.name}(void) {{\n{chr(10).join(_probe(case))}\n}}\n" for case in unit)
        calls = " ".join(f"probe_{case.name}();" for case in unit)
        (folder / "source.c").write_text(f"{text}{probes}int main(void) {{ {calls} return 0; }}\n")
        flags = ("-g", "-w", "-fno-pie", "-fno-common")
        subprocess.run([*words, *flags, "-c", "-o", "object.o", "source.c"], check=True, cwd=folder)
        subprocess.run([*words, *flags, "-no-pie", "-o", "program", "object.o"], check=True, cwd=folder)
        printed = subprocess.run(["./program"], capture_output=True, text=True, check=True, cwd=folder).stdout
        facts = [part.strip().splitlines() for part in re.split(r"^\.$", printed, flags=re.MULTILINE)]
        symbols = _symbols(folder)
        rules = "".join(f'[[rule]]\nid = "{c.name}"\nstruct = "{c.name}"\n{_KINDS[c.kind]}\nwhy = "w"\n' for c in unit)
        (folder / "rules.toml").write_text(f'[pack]\nname = "p"\n{rules}')
        for case, of_case in zip(unit, facts, strict=False):
            source = chance.choice(INPUTS)
            at_all = bases(of_case, source, symbols, case)
            expected, failing = outcome(of_case, case.kind, at_all)
            plain, _ = outcome(of_case, case.kind, set(range(0, LINE, SMALLEST)))
            fault = _compare(folder, words, case, source, expected, failing, len(at_all))
            result.counts[expected, expected != plain] += 1
            if fault:
                result.wrong.append(f"{' '.join(words)} {source}: {expected} at {failing} of {len(at_all)}, found {fault}\n{case.text}")


def _symbols(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the offset of each variable of the object in its section, and the alignment of that."""
    listed = subprocess.run(["readelf", "-W", "-S", "-s", "object.o"], capture_output=True, text=True, check=True, cwd=folder).stdout
    sections = {int(m[1]): int(m[2]) for m in re.finditer(r"^ *\[ *(\d+)\] .* (\d+)$", listed, re.MULTILINE)}
    pattern = re.compile(r"^ *\d+: ([0-9a-f]+) +\S+ OBJECT +\S+ +\S+ +(\d+) (\S+)$", re.MULTILINE)
    return {m[3]: (int(m[1], 16), sections[int(m[2])]) for m in pattern.finditer(listed)}


def _compare(
    folder: Path, words: tuple[str, ...], case: Case, source: str, expected: str, failing: int, total: int
) -> str:
    """Return what differs from the truth; empty for nothing. Clang 14 states no alignment of structs."""
    done = run("check", source, "--rules", "rules.toml", "--no-packs", "--struct", case.name, "--format", "json", cwd=folder)
    findings = json.loads(done.stdout)["findings"]
    found = findings[0]["outcome"] if findings else "kept"
    is_open = source != "source.c" and (words[0] == "clang-14" or any(each in case.text for each in _WIDE))
    if is_open and (found, done.returncode) == ("unknown", 3):
        return ""
    if (found, done.returncode) != (expected, _EXITS[expected]):
        return f"{found}, exit {done.returncode}"
    if found != "at-risk" or is_open:
        return ""
    placements = findings[0]["placements"]
    numbers = placements["violating"], placements["total"]
    if numbers != (failing, total):
        return f"{found} at {numbers}: {placements.get('basis')}"
    return ""


def main() -> int:
    given = options.parse("places", __doc__)
    result = examine(given.cases, given.seed)
    for text in result.wrong:
        print(text)
    for (expected, is_other), count in sorted(result.counts.items()):
        print(f"{expected}{', and not at the places of the allocator' if is_other else ''}: {count}")
    print(f"{sum(result.counts.values())} cases, {len(result.wrong)} wrong, seed {given.seed}")
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
