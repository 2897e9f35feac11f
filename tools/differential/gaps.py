"""Random gaps before members, compiled: what a gap says of an alignment is held against `_Alignof` of the same compiler.

    python -m tools.differential.gaps --cases 1000 --seed 1

Padding, unnamed bit-fields, unnamed empty structs, units of `ms_struct` and pragmas make gaps, on lines that `#line` and
macros number. A case is one struct and one rule on static variables of it: its outcome is that of the alignment which a
program prints, or unknown, and the exit status follows. A third of the cases give an object with twins that are packed
otherwise as well; its structs say nothing of those that are judged.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.harness.command import run
from tools.differential import options
from tools.differential.configurations import works

COMPILERS = (
    ("gcc-12", "-gdwarf-5"), ("gcc-12", "-gdwarf-4"), ("clang-22", "-gdwarf-5"), ("clang-14", "-gdwarf-5"),
    ("clang-14", "-gdwarf-4"),
)  # fmt: skip
PER_UNIT = 25
LINE = 64
_SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "double": 8, "char *": 8}
_TYPES = (*_SIZES, "char")
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64}
_KINDS = (
    'kind = "no-straddle"\nfields = ["b"]', 'kind = "separate"\nfields = [["a"], ["b"]]', 'kind = "together"\nfields = ["a", "b"]',
)  # fmt: skip
_RULE = '[struct.{name}]\nplacement = "static"\n[[rule]]\nid = "{name}"\nstruct = "{name}"\n{kind}\nwhy = "w"\n'
_EXITS = {"kept": 0, "broken": 1, "at-risk": 1, "unknown": 3}


@dataclass(frozen=True, slots=True)
class Case:
    """A struct with members `a` and `b`, and the rule on it."""

    name: str
    text: str
    twin: str
    """The same definition, packed where the other is not."""
    kind: int


@dataclass(frozen=True, slots=True)
class Truth:
    """What a program prints: the alignment of a struct, offsets and sizes of its members, in bytes."""

    align: int
    a: tuple[int, int]
    b: tuple[int, int]

    def outcome(self, kind: int) -> str:
        """The outcome of a rule over all multiples of the alignment."""
        bases = range(0, LINE, min(self.align, LINE))
        failing = sum(self._fails(kind, base) for base in bases)
        return "kept" if not failing else "broken" if failing == len(bases) else "at-risk"

    def _fails(self, kind: int, base: int) -> bool:
        a, b = ({(base + at + byte) // LINE for byte in range(size)} for at, size in (self.a, self.b))
        return (len(b) > 1, bool(a & b), len(a | b) > 1)[kind]


def cases(chance: random.Random) -> Iterator[Case]:
    """Structs without an end."""
    number = 0
    while True:
        number += 1
        name, packed = f"g{number}", chance.random() < 0.5
        make = chance.choice((_with_gap, _with_gap, _behind_gap, _by_macro))
        state = chance.getstate()
        text = make(chance, name, packed)
        chance.setstate(state)
        yield Case(name, text, make(chance, name, not packed), chance.choice((0, 0, 1, 2)))


def _with_gap(chance: random.Random, name: str, packed: bool) -> str:
    """A struct with a gap of its own."""
    return _put_below_pragma(chance, f"struct {_attributes(chance, packed)} {name} {_braces(chance, 'a', 'b')}; struct {name} v_{name};\n")


def _behind_gap(chance: random.Random, name: str, packed: bool) -> str:
    """A struct without a gap, behind a gap of another one."""
    inner = f"struct {_attributes(chance, packed)} {name} {{\n long a;\n {chance.choice(_TYPES)} b;\n}};\n"
    array = chance.choice(("", "[2]"))
    body = _braces(chance, "x", f"s{array}", f"struct {name}")
    return inner + _put_below_pragma(chance, f"struct {_attributes(chance, packed)} c_{name} {body}; struct c_{name} v_{name};\n")


def _by_macro(chance: random.Random, name: str, packed: bool) -> str:
    """Two structs from one macro, all on one line, of which one is packed."""
    body = _braces(chance, "a", "b").replace("\n", " ") if chance.random() < 0.8 else "{ long a; int b; }"
    body = " ".join(word for word in body.split(" ") if word)
    if "#line" in body:
        body = "{ char a; long b; }"
    both = f"struct {_attribute(packed)} {name} {body}; struct {_attribute(not packed)} t_{name} {body};"
    row = f'__attribute__((section("row_{name}")))'
    variables = f"struct {name} v_{name}; char x_{name} {row} = 1; struct t_{name} w_{name} {row} = {{0}};"
    return f"#define BOTH_{name} {both}\nBOTH_{name}\n{variables}\n"


def _attribute(packed: bool) -> str:
    return "__attribute__((packed))" if packed else ""


def _attributes(chance: random.Random, packed: bool) -> str:
    words = ["packed"] * packed + ["ms_struct"] * (chance.random() < 0.15)
    return f"__attribute__(({', '.join(words)}))" if words else ""


def _put_below_pragma(chance: random.Random, text: str) -> str:
    """The text, sometimes below a pragma."""
    if chance.random() < 0.85:
        return text
    return f"#pragma pack(push, {chance.choice((1, 2, 4))})\n{text}#pragma pack(pop)\n"


def _braces(chance: random.Random, first: str, last: str, of: str = "") -> str:
    """Two named members, with what makes a gap between them."""
    types = chance.choice(_TYPES), of or chance.choice(_TYPES)
    parts = [f"{types[0]} {first};"]
    if chance.random() < 0.5:  # what is like the gap of a struct that is not packed
        like = f" long : {8 * (-_SIZES[types[0]] % _SIZES.get(types[1], 8))};" if chance.random() < 0.7 else ""
        return f"{{\n{parts[0]}{like}\n{types[1]} {last};\n}}"
    if chance.random() < 0.2:
        parts[0] = f"int {first}_0 : {chance.randint(1, 32)}; {parts[0]}"
    parts += [_filler(chance) for _ in range(chance.choice((0, 0, 0, 0, 1, 2)))]
    parts.append(f"{types[1]} {last};")
    if chance.random() < 0.15:
        parts.append(_filler(chance))
    text = parts[0]
    for part in parts[1:]:
        text += chance.choice(("\n", "\n", "\n", "\n", "\n", " ", "\n\n", f"\n#line {chance.randint(2, 9)}\n")) + part
    return f"{{\n{text}\n}}"


def _filler(chance: random.Random) -> str:
    """A member without a name."""
    form = chance.random()
    if form < 0.15:
        return f"{chance.choice(tuple(_BITS))} : 0;"
    if form < 0.3:
        return f"struct {{ }}{chance.choice(('', ' __attribute__((aligned(8)))', ' __attribute__((aligned(2)))'))};"
    word = chance.choice(tuple(_BITS))
    width = _BITS[word] if chance.random() < 0.5 else chance.randint(1, _BITS[word])
    return f"{word} : {width};"


def _compile(folder: Path, words: tuple[str, ...], name: str, text: str, *flags: str) -> Path:
    source, made = folder / f"{name}.c", folder / (f"{name}.o" if "-c" in flags else name)
    source.write_text(text)
    subprocess.run([*words, "-w", *flags, "-o", made, source], check=True, cwd=folder)
    return made


def _truths(folder: Path, words: tuple[str, ...], text: str, unit: list[Case]) -> list[Truth]:
    facts = (
        f'printf("%zu %zu %zu %zu %zu\\n", _Alignof(struct {n}), offsetof(struct {n}, a), sizeof((struct {n} *)0)->a, '
        f"offsetof(struct {n}, b), sizeof((struct {n} *)0)->b);"
        for n in (each.name for each in unit)
    )
    body = "\n".join(facts)
    made = _compile(folder, words, "probe", f"#include <stddef.h>\n#include <stdio.h>\n{text}#line 1\nint main(void) {{\n{body}\n}}\n")
    printed = subprocess.run([made], capture_output=True, text=True, check=True).stdout.splitlines()
    numbers = [tuple(map(int, line.split())) for line in printed]
    return [Truth(n[0], (n[1], n[2]), (n[3], n[4])) for n in numbers]


@dataclass(slots=True)
class Result:
    """Outcomes by what is true, and what contradicts."""

    counts: Counter[tuple[str, str]]
    wrong: list[str]


def examine(number: int, seed: int) -> Result:
    """Judge some cases, and compare each with the truth."""
    chance, result = random.Random(seed), Result(Counter(), [])
    source = cases(chance)
    available = [words for words in COMPILERS if works(words[:1])]
    while available and sum(result.counts.values()) < number:
        unit = [next(source) for _ in range(min(PER_UNIT, number - sum(result.counts.values())))]
        _examine_unit(unit, chance.choice(available), chance, result)
    return result


def _examine_unit(unit: list[Case], words: tuple[str, ...], chance: random.Random, result: Result) -> None:
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        text = "".join(case.text for case in unit)
        _compile(folder, words, "own", text, "-c")
        _compile(folder, words, "twin", "".join(case.twin for case in unit), "-c")
        truths = _truths(folder, words, text, unit)
        rules = "".join(_RULE.format(name=case.name, kind=_KINDS[case.kind]) for case in unit)
        (folder / "rules.toml").write_text(f'[pack]\nname = "p"\n{rules}')
        for case, truth in zip(unit, truths, strict=True):
            objects = ("own.o",) if chance.random() < 0.67 else chance.choice((("twin.o", "own.o"), ("own.o", "twin.o")))
            expected, found, fault = truth.outcome(case.kind), *_judge(folder, case, objects)
            result.counts[expected, found] += 1
            if found not in (expected, "unknown") or fault:
                result.wrong.append(f"{' '.join(words)}: {objects}: {expected}, found {found} {fault}, {truth}\n{case.text}")


def _judge(folder: Path, case: Case, objects: tuple[str, ...]) -> tuple[str, str]:
    """The outcome for the own object, and what is wrong with the exit status; empty for nothing."""
    done = run("check", *objects, "--rules", "rules.toml", "--no-packs", "--struct", case.name, "--format", "json", cwd=folder)
    findings = json.loads(done.stdout)["findings"]
    outcomes = dict.fromkeys(objects, "kept")
    for finding in findings:
        for each in (finding["input"], *finding.get("also", ())):
            outcomes[each] = finding["outcome"]
    exits = {_EXITS[each] for each in outcomes.values()}
    expected = next((status for status in (1, 3) if status in exits), 0)
    return outcomes["own.o"], "" if done.returncode == expected else f"exit {done.returncode}, not {expected}"


def main() -> int:
    given = options.parse("gaps", __doc__)
    result = examine(given.cases, given.seed)
    for text in result.wrong:
        print(text)
    for (expected, found), count in sorted(result.counts.items()):
        print(f"{expected}: {found} {count}")
    print(f"{sum(result.counts.values())} cases, {len(result.wrong)} wrong, seed {given.seed}")
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
