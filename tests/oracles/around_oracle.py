"""Containers made at random, with declared accesses of arrays and of whole members, against the bytes of real objects.

Offsets are what a compiler prints for every element; which of them are beside an embedded struct, and on whose lines, is
enumerated here byte by byte, for one object or for several in a row. Nothing of layoutlint is used.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

LINE = 64
HELD = "struct sem { long count; int owner; int wait[3]; };\nstruct stat { long a; long b[3]; };\n"
PARTS = {"sem": ["count", "owner"], "stat": ["a"], "box": ["first", "s.count", "s.owner", "last"]}
"""The fields of inner structs that can be declared; `box` is one without a tag."""


@dataclass(frozen=True)
class Made:
    """One container: its members, what its table and those of inner structs declare, and how many stand in a row."""

    members: tuple[tuple[str, str, tuple[int, ...]], ...]
    """Name, sort and lengths."""
    own: dict[str, str]
    """The accesses that its own table declares, by path."""
    inner: dict[str, dict[str, str]]
    """Those of `sem` and `stat`."""
    count: int | None
    """How many stand in a row, the first on a line; None for one at any multiple of 8."""
    offsets: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of every element, where it begins and how many bytes it has."""


def make(seeds: Iterable[int], folder: Path) -> list[Made]:
    """Return containers by chance, of which one program prints the offsets."""
    containers = [_draw(seed) for seed in seeds]
    for one, offsets in zip(containers, _offsets(containers, folder), strict=True):
        one.offsets.update(offsets)
    return containers


def _draw(seed: int) -> Made:
    chance = random.Random(seed)
    members = []
    for number in range(chance.randint(2, 6)):
        sort = chance.choice(["long", "long", "char", "sem", "sem", "stat", "box"])
        lengths = chance.choice([(), (), (2,), (5,), (2, 3)]) if sort != "char" else (chance.randint(1, 150),)
        members.append((f"m{number}", sort, lengths))
    if not any(sort in ("sem", "box") for _, sort, _ in members):
        members.append(("held", "sem", (chance.randint(1, 3),)))
    words = ["hot-read", "hot-write", "cold"]
    own = {}
    for name, sort, lengths in members:
        if sort != "char" and chance.random() < 0.5:
            index = "".join(f"[{chance.randrange(length)}]" for length in lengths[: chance.randint(0, len(lengths))])
            inside = [""] if sort in ("long", "sem", "stat") else ["", ".first", ".last"]
            own[f"{name}{index}{chance.choice(inside)}"] = chance.choice(words)
    inner = {"sem": {"owner": "hot-write", "count": chance.choice(words)}, "stat": {"a": chance.choice(words)}}
    return Made(tuple(members), own, inner, chance.choice([None, 1, 2, 4]))


def source(one: Made) -> str:
    """The container as C, with a variable so that debug information has it."""
    return f"{HELD}{_struct(one)}struct many many;\n"


def _struct(one: Made) -> str:
    types = {"long": "long", "char": "char", "sem": "struct sem", "stat": "struct stat",
             "box": "struct { long first; struct sem s; long last; }"}  # fmt: skip
    text = " ".join(f"{types[sort]} {name}{''.join(f'[{n}]' for n in lengths)};" for name, sort, lengths in one.members)
    return f"struct many {{ {text} }};\n"


def rules(one: Made) -> str:
    """The declared accesses as tables."""
    placed = "" if one.count is None else f'placement = "line"\narray = {one.count}\n'
    tables = {"many": one.own, **one.inner}
    return f"[struct.many]\n{placed}" + "".join(
        f"[struct.{name}.fields]\n" + "".join(f'"{path}" = {{ access = "{word}" }}\n' for path, word in message.items())
        for name, message in tables.items() if message
    )  # fmt: skip


def _offsets(containers: list[Made], folder: Path) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield where the elements of each container are; each container is local to a function of one program."""
    known = [[path for member in one.members for path in _paths(*member)] for one in containers]
    functions = []
    for number, (one, paths) in enumerate(zip(containers, known, strict=True)):
        says = "".join(f'printf("%lu %lu\\n", (unsigned long)&many.{path} - (unsigned long)&many, sizeof many.{path});' for path in paths)
        functions.append(f'void f{number}(void) {{ {_struct(one)}static struct many many; {says} printf("0 %lu\\n", sizeof many); }}\n')
    calls = "".join(f"f{number}();" for number in range(len(containers)))
    (folder / "probe.c").write_text(f"#include <stdio.h>\n{HELD}{''.join(functions)}int main(void) {{ {calls} }}\n")
    subprocess.run(["gcc", "-w", "-o", folder / "probe", folder / "probe.c"], check=True)
    output = iter(subprocess.run([folder / "probe"], capture_output=True, text=True, check=True).stdout.splitlines())
    for paths in known:
        yield {path: tuple(map(int, next(output).split())) for path in (*paths, "")}  # type: ignore[misc]
    assert next(output, None) is None


def _paths(name: str, sort: str, lengths: tuple[int, ...]) -> Iterator[str]:
    """Every element of a member at every depth, and the parts of each that can be declared."""
    if sort == "char":
        yield name
        return
    for depth in range(len(lengths) + 1):
        for indices in product(*map(range, lengths[:depth])):
            here = name + "".join(f"[{index}]" for index in indices)
            yield here
            if depth == len(lengths):
                yield from (f"{here}.{part}" for part in (*PARTS.get(sort, ()), *(["s"] if sort == "box" else [])))


def _limit_time(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _meaning_of(one: Made, path: str) -> list[str]:
    """The elements that a path means, each where its way leads through arrays without an index."""
    pattern = r"(\[\d+\])*\.".join(map(re.escape, path.split(".")))
    return [known for known in one.offsets if re.fullmatch(pattern, known)]


def spots(one: Made) -> Iterator[tuple[str, str]]:
    """Every `sem` with its path in the container without indices."""
    for name, sort, lengths in one.members:
        for indices in product(*map(range, lengths)) if sort in ("sem", "box") else ():
            end = ".s" if sort == "box" else ""
            yield name + "".join(f"[{index}]" for index in indices) + end, name + end


Bytes = set[int]


def _bytes(one: Made, path: str) -> Bytes:
    start, size = one.offsets[path]
    return set(range(start, start + size))


def _declare(one: Made) -> dict[str, tuple[str, str]]:
    """Every declared element with its access, and the struct whose table says so; the container's word goes first."""
    found = {}
    for name, sort, lengths in one.members:
        for struct, message in one.inner.items():
            if sort == struct or (sort == "box" and struct == "sem"):
                for indices in product(*map(range, lengths)):
                    here = name + "".join(f"[{index}]" for index in indices) + (".s" if sort == "box" else "")
                    found.update({f"{here}.{path}": (word, struct) for path, word in message.items()})
    for path, word in sorted(one.own.items(), key=lambda message: "[" in message[0]):
        found.update(dict.fromkeys(_meaning_of(one, path), (word, "many")))
    return found


def _neighbours(one: Made, spot: str) -> list[tuple[Bytes, str]]:
    """What is declared beside a spot; of what holds the spot all but the spot."""
    found = []
    for path, (word, _) in _declare(one).items():
        if not _limit_time(path, spot):
            left = _bytes(one, path) - (_bytes(one, spot) if _limit_time(spot, path) else set())
            if left:
                found.append((left, word))
    return found


def failures(one: Made, kind: str) -> dict[str, frozenset[int] | None]:
    """By the path of the embedded struct, the bases at which it fails; None where nothing is declared beside it."""
    result: dict[str, frozenset[int] | None] = {}
    for spot, path in spots(one):
        pairs, across = _pairs(one, spot, kind)
        if pairs is None:
            result.setdefault(path, None)
            continue
        bases = {base % LINE for run in _runs(one) for base in _failures(run, pairs, across)}
        result[path] = frozenset(bases | (result.get(path) or frozenset()))
    return result


def _pairs(one: Made, spot: str, kind: str) -> tuple[list[tuple[Bytes, Bytes]] | None, list[tuple[Bytes, Bytes]]]:
    """What must keep apart in one object, and of an object and the next; None where the rule has nothing to say."""
    beside = _neighbours(one, spot)
    if kind == "separate":
        owner = _bytes(one, f"{spot}.owner")
        pairs = [(owner, other) for other, word in beside if word == "hot-read"]
        return pairs or None, pairs
    declared = _declare(one)
    inside = [(_bytes(one, path), word) for path, (word, _) in declared.items() if _limit_time(path, spot) and path != spot]
    pairs = [(a, b) for (a, x), (b, y) in product(inside, beside) if {x, y} == {"hot-read", "hot-write"}]
    own = [(a, b) for (a, x), (b, y) in product(inside, inside) if {x, y} == {"hot-read", "hot-write"}]
    return pairs or None, pairs + own


def _runs(one: Made) -> list[list[int]]:
    """Addresses of objects, those in one list one behind the other."""
    if one.count is None:
        return [[base] for base in range(0, LINE, 8)]
    return [[number * one.offsets[""][1] for number in range(one.count)]]


def _failures(run: list[int], pairs: list[tuple[Bytes, Bytes]], across: list[tuple[Bytes, Bytes]]) -> Iterator[int]:
    for number, at in enumerate(run):
        if any(_meet(a, at, b, at) for a, b in pairs):
            yield at
        for behind in run[number + 1 : number + 2]:
            if any(_meet(a, at, b, behind) or _meet(b, at, a, behind) for a, b in across):
                yield from (at, behind)


def _meet(a: Bytes, at: int, b: Bytes, other: int) -> bool:
    return not {(byte + at) // LINE for byte in a}.isdisjoint((byte + other) // LINE for byte in b)
