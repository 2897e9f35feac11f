"""pahole's listing as comparable facts: for each struct its size, and where each field and bit-field stands."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.harness.tools import need

_HEAD = re.compile(r"(struct|union) (\w+) \{$")
_TYPEDEF_HEAD = re.compile(r"typedef (struct|union) \{$")
_OPEN = re.compile(r"(?:const |volatile )*(struct|union|enum)(?: \w+)? \{$")
_SIZE = re.compile(r"/\* size: (\d+), cachelines:")
_BYTES = re.compile(r"/\*\s+(\d+)\s+(\d+) \*/$")
_BITS = re.compile(r"/\*\s+(\d+):\s*(\d+)\s+(\d+) \*/$")
_ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
_TAGGED = re.compile(r"(?:struct|union) (\w+)$")
_WIDTH = re.compile(r":(\d+)$")
_POINTED = re.compile(r"\(\*+\s*(?:const |volatile )*(\w+)\s*[)\[(]")
_LAST = re.compile(r"(\w+)\s*(?:\[\d*\])*$")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one field stands: bits from the start of the struct, and its length in bits."""

    bit_offset: int
    bit_size: int
    is_bitfield: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What pahole says of one struct; `size` in bytes is None for a union, of which it prints none."""

    name: str
    aggregate: str
    size: int | None
    spots: tuple[tuple[str, Spot], ...]
    """Fields by dotted path, those of types defined in place included."""
    unnamed: tuple[tuple[str, str, int], ...] = ()
    """Unnamed members with a tag (`-fms-extensions`): the path before their fields, the tag, the first bit."""


def list_output(path: Path | str, *options: str) -> list[Shape]:
    """What `pahole OPTIONS PATH` prints; skips the test where pahole is missing."""
    need("pahole")
    with subprocess.Popen(
        ["pahole", *options, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        return shapes(process.stdout)


def shapes(lines: Iterable[str]) -> list[Shape]:
    """The structs of a listing."""
    found = list(_parse(lines))
    tagged = {shape.name: shape for shape in found}
    return [replace(shape, spots=tuple(_openings(shape, tagged))) if shape.unnamed else shape for shape in found]


def _openings(shape: Shape, tagged: dict[str, Shape]) -> Iterator[tuple[str, Spot]]:
    """The fields of a struct with those of its unnamed members, of which the listing shows the tag alone."""
    yield from shape.spots
    for prefix, tag, first in shape.unnamed:
        for path, spot in _openings(tagged[tag], tagged):
            yield prefix + path, replace(spot, bit_offset=spot.bit_offset + first)


def _parse(lines: Iterable[str]) -> Iterator[Shape]:
    stream = (line.strip() for line in lines)
    for line in stream:
        head = _HEAD.match(line)
        if head:
            block = _block(stream)
            yield Shape(head[2], head[1], block.size, tuple(block.spots), tuple(block.unnamed))
        elif _TYPEDEF_HEAD.match(line):
            block = _block(stream)
            aggregate = "union" if "union" in line else "struct"
            yield Shape(_name(block.tail), aggregate, block.size, tuple(block.spots), tuple(block.unnamed))


@dataclass(slots=True)
class _Block:
    """What stands between braces, and the text behind them."""

    spots: list[tuple[str, Spot]]
    size: int | None = None
    tail: str = ""
    unnamed: list[tuple[str, str, int]] = field(default_factory=list)


def _block(stream: Iterator[str]) -> _Block:
    block = _Block([])
    for line in stream:
        if line.startswith("}"):
            block.tail = line[1:].strip()
            return block
        size = _SIZE.match(line)
        if size:
            block.size = int(size[1])
        elif _OPEN.match(line):
            _nest(block, _block(stream))
        elif not line.startswith("/*"):
            _member(block, line)
    raise ValueError("the listing ends inside a struct")


def _nest(block: _Block, inner: _Block) -> None:
    """A member whose type is defined in place; behind a pointer, its rows are not the outer struct's."""
    spot, text = _spot(inner.tail)
    if spot is None:
        return
    name = _name(text)
    if "*" not in text:
        prefix = f"{name}." if name else ""
        block.spots.extend((prefix + path, row) for path, row in inner.spots)
        block.unnamed.extend((prefix + path, tag, first) for path, tag, first in inner.unnamed)
    if name:
        block.spots.append((name, spot))


def _member(block: _Block, line: str) -> None:
    spot, text = _spot(line)
    tag = _TAGGED.match(text)
    if spot is not None and tag:
        block.unnamed.append(("", tag[1], spot.bit_offset))
    elif spot is not None and _name(text):
        block.spots.append((_name(text), spot))


def _spot(line: str) -> tuple[Spot | None, str]:
    """The place at the end of a line, and the declaration before it."""
    bits = _BITS.search(line)
    if bits:
        text = _declaration(line[: bits.start()])
        width = _WIDTH.search(text)
        if width is None:
            raise ValueError(f"a bit-field without a width: {line}")
        at = Spot(int(bits[1]) * 8 + int(bits[2]), int(width[1]), True)
        return at, text[: width.start()]
    place = _BYTES.search(line)
    if place is None:
        return None, line
    return Spot(int(place[1]) * 8, int(place[2]) * 8, False), _declaration(line[: place.start()])


def _declaration(text: str) -> str:
    return _ATTRIBUTE.sub("", text).strip().removesuffix(";").rstrip()


def _name(text: str) -> str:
    """The name that a declaration declares; empty for an anonymous member."""
    text = _declaration(text)
    match = _POINTED.search(text) or _LAST.search(text)
    return match[1] if match else ""
