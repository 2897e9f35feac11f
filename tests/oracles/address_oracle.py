"""C programs made at random that say where the fields of real objects are, beside a struct that others embed.

What a program prints are addresses that the compiler and the machine chose. Which fields stand beside which is written
down here while the text of the structs is made, and not looked up in any layout.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

LINE = 64
_MOST = 120
"""Elements of ways in one struct; holding one another twice doubles them."""
HELD = "struct sem { long count; long owner; int wait[3]; };\n"


@dataclass(slots=True)
class Member:
    """A member: a `long`, bytes, the struct `sem`, another struct, or braces without a name of their own."""

    name: str
    type: str
    count: int | None = None
    inner: Record | None = None
    """What it holds, where that is a struct or union with members that are of interest."""
    is_read: bool = False

    def elements(self) -> list[str]:
        """Its name, or those of its elements."""
        return [self.name] if self.count is None else [f"{self.name}[{k}]" for k in range(self.count)]


@dataclass(slots=True)
class Record:
    """A struct or union; without a tag, the braces of a member."""

    tag: str | None
    is_union: bool
    members: list[Member] = field(default_factory=list)

    def text(self) -> str:
        word = "union" if self.is_union else "struct"
        parts = " ".join(_declare(member) for member in self.members)
        return f"{word} {self.tag or ''} {{ {parts} }}"


@dataclass(frozen=True, slots=True)
class Way:
    """One element of the way to a `sem`: its expression, and the fields that the container has beside it."""

    container: str
    path: str
    """Without indices."""
    expression: str
    read: tuple[str, ...]
    """Beside it, and declared `hot-read`."""
    beside: tuple[str, ...]
    """Everything beside it, as wholes."""


def _declare(member: Member) -> str:
    of = member.inner.text() if member.inner is not None and member.inner.tag is None else member.type
    name = member.name if not member.name.startswith("?") else ""
    return f"{of} {name}{'' if member.count is None else f'[{member.count}]'};"


SEM = Record("sem", False, [Member("count", "long"), Member("owner", "long"), Member("wait", "int", 3)])


def records(seed: int, number: int = 5) -> list[Record]:
    """Some structs, each of members that may be earlier ones."""
    chance, made = random.Random(seed), [SEM]
    while len(made) <= number:
        record = _record(chance, f"s{len(made)}", made, False, 0)
        if len(list(islice(ways(record), _MOST + 1))) <= _MOST:
            made.append(record)
    return made[1:]


def _record(chance: random.Random, tag: str | None, made: list[Record], is_union: bool, depth: int) -> Record:
    record = Record(tag, is_union)
    for number in range(chance.randint(2, 5)):
        name = f"{'uvw'[depth]}{number}_{chance.randrange(1 << 30)}" if tag is None else f"m{number}"
        sort = chance.randrange(8)
        if sort < 3:
            record.members.append(Member(name, "long", is_read=chance.random() < 0.5))
        elif sort < 4:
            record.members.append(Member(name, "char", chance.randint(1, 60)))
        elif sort < 7 or depth == 2:
            held = chance.choice([SEM, SEM, *made[-4:]])
            count = chance.choice([None, None, 2, 20] if held is SEM else [None, None, 3])
            record.members.append(Member(name, f"struct {held.tag}", count, held))
        else:
            braces = _record(chance, None, made, chance.random() < 0.5, depth + 1)
            unnamed = chance.random() < 0.5
            count = None if unnamed else chance.choice([None, 3])
            record.members.append(Member(f"?{name}" if unnamed else name, "", count, braces))
    return record


def ways(record: Record) -> Iterator[Way]:
    """Every way from a struct to a `sem`, element by element."""
    yield from _ways(record, record.tag or "", "", "", (), (), False)


def _ways(
    record: Record, container: str, path: str, at: str, read: tuple[str, ...], beside: tuple[str, ...], is_done: bool
) -> Iterator[Way]:
    """`is_done` where what comes belongs to another container than the first."""
    for member in record.members:
        if member.inner is None:
            continue
        unnamed = member.name.startswith("?")
        for here in [""] if unnamed else member.elements():
            others_read, others = list(read), list(beside)
            if not is_done:
                for other in record.members:
                    for there in other.elements():
                        if other is not member and not record.is_union:
                            others_read += _read(other, at, there)
                            others += _wholes(other, at, there)
                        elif other is member and there != here and not unnamed:
                            others_read += _read(other, at, there)
                            others += [f"{at}{there}"]
            on = at if unnamed else f"{at}{here}."
            name = path if unnamed else f"{path}{member.name}."
            if member.inner is SEM:
                yield Way(container, name[:-1], on[:-1], tuple(others_read), tuple(others))
            else:
                done = is_done or member.inner.tag is not None
                yield from _ways(member.inner, container, name, on, tuple(others_read), tuple(others), done)


def _read(member: Member, at: str, element: str) -> list[str]:
    """The fields that are declared `hot-read` in a member, or in one of its elements."""
    if member.inner is None:
        return [f"{at}{element}"] if member.is_read else []
    on = at if member.name.startswith("?") else f"{at}{element}."
    return [p for inner in member.inner.members for e in inner.elements() for p in _read(inner, on, e)]


def _wholes(member: Member, at: str, element: str) -> list[str]:
    if not member.name.startswith("?"):
        return [f"{at}{element}"]
    assert member.inner is not None
    return [p for inner in member.inner.members for e in inner.elements() for p in _wholes(inner, at, e)]


def source(made: list[Record]) -> str:
    """The structs as C, each with a variable so that debug information has it."""
    return HELD + "".join(f"{record.text()};\nstruct {record.tag} v_{record.tag};\n" for record in made)


def rules(made: list[Record]) -> str:
    """The declared accesses, each struct's in its own table."""
    lines = []
    for record in made:
        lines.append(f"[struct.{record.tag}.fields]")
        lines += [f'"{path}" = {{ access = "hot-read" }}' for path in _own_read(record, "")]
    return "\n".join(lines) + "\n"


def _own_read(record: Record, at: str) -> Iterator[str]:
    for member in record.members:
        if member.inner is None and member.is_read:
            yield f"{at}{member.name}"
        elif member.inner is not None and member.inner.tag is None:
            on = at if member.name.startswith("?") else f"{at}{member.name}."
            yield from _own_read(member.inner, on)


def sharing_bases(made: list[Record], folder: Path) -> dict[tuple[str, str], tuple[frozenset[int], frozenset[int]]]:
    """Of each way, the bases at which `owner` is on a line with what is read beside it, and with anything."""
    result: dict[tuple[str, str], tuple[set[int], set[int]]] = {}
    for record in made:
        found = list(ways(record))
        fields = sorted({f for way in found for f in (_owner(way), *way.read, *way.beside)})
        lines = _addresses(made, record, fields, folder)
        for way in found:
            into = result.setdefault((way.container, way.path), (set(), set()))
            for base in range(0, LINE, 8):
                own = lines[_owner(way), base]
                for bases, group in zip(into, (way.read, way.beside), strict=True):
                    if any(own & lines[path, base] for path in group):
                        bases.add(base)
    return {key: (frozenset(read), frozenset(anything)) for key, (read, anything) in result.items()}


def _owner(way: Way) -> str:
    return f"{way.expression}.owner"


def _addresses(made: list[Record], record: Record, fields: list[str], folder: Path) -> dict[tuple[str, int], set[int]]:
    """The lines of some fields of an object on the heap, at every multiple of 8 in a line."""
    says = "".join(f"SAY({path});" for path in fields)
    (folder / "probe.c").write_text(f"""#include <stdio.h>
#include <stdlib.h>
{source(made)}
#define SAY(field) printf("%lu %lu\\n", (unsigned long)&o->field, sizeof(o->field))
int main(void)
{{
	char *memory = aligned_alloc(4096, 1 << 24);
	for (int base = 0; base < {LINE}; base += 8) {{
		struct {record.tag} *o = (void *)(memory + base);
		{says}
	}}
	return 0;
}}
""")
    subprocess.run(["gcc", "-w", "-O0", "-o", folder / "probe", folder / "probe.c"], check=True)
    output = subprocess.run([folder / "probe"], capture_output=True, text=True, check=True).stdout.split()
    numbers = iter(zip(map(int, output[::2]), map(int, output[1::2]), strict=True))
    return {
        (path, base): set(range(address // LINE, (address + size - 1) // LINE + 1))
        for base in range(0, LINE, 8)
        for path, (address, size) in zip(fields, (next(numbers) for _ in fields), strict=True)
    }
