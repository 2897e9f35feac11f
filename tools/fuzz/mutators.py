"""Ways to damage a file. Each is told what the file is made of, and draws all that it decides from one generator."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from tools.fuzz.anatomy import Anatomy, Extent, Place, Section

_INTERESTING: Final = (
    0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 100, 127, 128, 129, 255, 256, 511, 512, 1000, 1024, 4095, 4096, 32767, 32768,
    65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 16, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
)  # fmt: skip
_LARGEST: Final = 1 << 18
"""Bytes that a damaged file may have: speed is in small ones."""


@dataclass(frozen=True, slots=True)
class Donor:
    """A file that parts can be taken from."""

    data: bytes
    anatomy: Anatomy


@dataclass(slots=True)
class File:
    """A file on the way to being damaged. Places are where they were in the seed as long as nothing has moved."""

    anatomy: Anatomy
    data: bytearray
    donors: tuple[Donor, ...]
    has_moved: bool = False
    log: list[str] = field(default_factory=list)

    def number(self, place: Place) -> int:
        return int.from_bytes(self.data[place.at : place.at + place.size], self.anatomy.order)

    def put(self, place: Place, value: int) -> None:
        """Writes a number in the bytes that are there, as ULEB128 where that is how it stands."""
        if place.is_uleb:
            groups = [value >> 7 * n & 0x7F | 0x80 for n in range(place.size)]
            groups[-1] &= 0x7F
            self.data[place.at : place.at + place.size] = bytes(groups)
        else:
            value &= (1 << 8 * place.size) - 1
            self.data[place.at : place.at + place.size] = value.to_bytes(place.size, self.anatomy.order)

    def section_at(self, at: int) -> Section | None:
        """The section of the seed that a byte is in."""
        return next((s for s in self.anatomy.sections if s.offset <= at < s.end), None)

    def replace(self, section: Section, content: bytes) -> None:
        """Gives a section other contents: they go to the end of the file when they are longer."""
        if len(content) <= section.size:
            self.data[section.offset : section.offset + len(content)] = content
        else:
            self.set(section, 4, len(self.data))
            self.data += content
        self.set(section, 5, len(content))

    def set(self, section: Section, number: int, value: int) -> None:
        """Writes a field of a section's header."""
        at, size = section.fields[number]
        self.put(Place(at, size, "header"), value)


Mutator = Callable[[random.Random, File], None]


class Roles:
    """The places of a file by what they are, so that the rare ones are damaged as often as the many."""

    def __init__(self, anatomy: Anatomy) -> None:
        by: dict[str, list[Place]] = {}
        for place in anatomy.places:
            by.setdefault(place.role, []).append(place)
        self.by = by
        self.names = sorted(by)

    @cached_property
    def by_kind(self) -> dict[str, list[str]]:
        """The roles that each kind of damage is about."""
        elf = [n for n in self.names if n.startswith(("elf", "section", "symbol", "relocation", "compression", "note"))]
        btf = [n for n in self.names if n.startswith("btf")]
        rest = [n for n in self.names if n not in elf and n not in btf]
        return {"elf": elf, "btf": btf, "dwarf": rest}


def flip_bits(rng: random.Random, file: File) -> None:
    """A few bits anywhere."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(file.data))
        file.data[at] ^= 1 << rng.randrange(8)


def change_bytes(rng: random.Random, file: File) -> None:
    """A run of bytes becomes others, or one other many times."""
    at = rng.randrange(len(file.data))
    count = rng.choice((1, 1, 2, 4, 8, 16, 64, 256))
    count = min(count, len(file.data) - at)
    file.data[at : at + count] = rng.randbytes(count) if rng.random() < 0.5 else bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF))]) * count


def write_number(rng: random.Random, file: File) -> None:
    """A number of note anywhere."""
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(1, len(file.data) - size))
    file.put(Place(at, size, ""), rng.choice(_INTERESTING))


def write_place(rng: random.Random, file: File, roles: Roles, what: str) -> None:
    """A number of the structure becomes one that means something there, one of note, or its neighbour."""
    names = roles.by_kind[what] or roles.names
    if not names:
        return write_number(rng, file)
    role = rng.choice(names)
    place = rng.choice(roles.by[role])
    if place.at + place.size > len(file.data):
        return None
    draw = rng.random()
    if place.choices and draw < 0.7:
        value = rng.choice(place.choices)
    elif draw < 0.85:
        value = rng.choice(_INTERESTING)
    elif draw < 0.95:
        value = file.number(place) + rng.choice((-1, 1, 2, -2, 8))
    else:
        value = rng.getrandbits(8 * place.size)
    file.put(place, value)
    file.log.append(f"{role}@{place.at:#x}={value:#x}")
    return None


def exchange_places(rng: random.Random, file: File, roles: Roles, what: str) -> None:
    """Two numbers of the same role and size change places."""
    if not roles.names:
        return change_bytes(rng, file)
    role = rng.choice(roles.by_kind[what] or roles.names)
    first, second = rng.choice(roles.by[role]), rng.choice(roles.by[role])
    if first.size == second.size and max(first.at, second.at) + first.size <= len(file.data):
        one, other = (bytes(file.data[p.at : p.at + p.size]) for p in (first, second))
        file.data[first.at : first.at + first.size] = other
        file.data[second.at : second.at + second.size] = one
    return None


def truncate(rng: random.Random, file: File) -> None:
    """The file ends early: anywhere, or where a part of it ends or starts."""
    pieces = (*file.anatomy.pieces, *file.anatomy.units, *(Extent(s.offset, s.end) for s in file.anatomy.sections))
    ends = [at for piece in pieces for at in (piece.start, piece.end)] if rng.random() < 0.5 else []
    at = rng.choice(ends) + rng.choice((0, 0, 1, -1)) if ends else rng.randrange(len(file.data))
    del file.data[max(0, at) :]
    file.has_moved = True


def exchange_sections(rng: random.Random, file: File) -> None:
    """Two section headers tell each other's contents, or one tells the other's as well, or where it ends."""
    if len(file.anatomy.sections) < 3:
        return flip_bits(rng, file)
    one, other = rng.sample(file.anatomy.sections, 2)
    how = rng.randrange(5)
    numbers = (0,) if how == 0 else (4, 5)
    for number in numbers:
        file.set(one, number, other.values[number])
        if how < 2:
            file.set(other, number, one.values[number])
    if how == 3:
        file.set(one, 4, other.offset + rng.randrange(max(other.size, 1)))
    elif how == 4:
        file.set(one, 4, other.offset)
        file.set(one, 5, one.size + other.size)
    return None


def _resize(rng: random.Random, file: File, piece: Extent) -> bytes:
    """What comes in place of a piece: nothing, it many times, it inside itself, other bytes and it."""
    content = bytes(file.data[piece.start : piece.end])
    how = rng.randrange(6)
    if how == 0:
        return b""
    if how == 1:
        return content * 2
    if how == 2:
        return content * min(rng.choice((3, 30, 300, 3000)), _LARGEST // (len(content) + 1) + 1)
    if how == 3:
        head = content[: rng.randrange(1, len(content) + 1)]
        return head * min(rng.choice((10, 200, 2000)), _LARGEST // (len(head) + 1)) + content
    if how == 4:
        return b"\xff" * rng.choice((1, 4, 10, 400)) + b"\x7f" + content
    return b"\0" * rng.choice((1, 2, 30)) + content


def resize(rng: random.Random, file: File) -> None:
    """An entry, a type, a table goes, or comes again and again; what says its length follows, or does not."""
    if file.has_moved or not file.anatomy.pieces:
        return flip_bits(rng, file)
    piece = rng.choice(file.anatomy.pieces)
    new = _resize(rng, file, piece)
    grown = len(new) - (piece.end - piece.start)
    if rng.random() < 0.7:
        for unit in file.anatomy.units:
            if unit.length and unit.start <= piece.start < unit.end:
                file.put(unit.length, max(0, file.number(unit.length) + grown))
    section = file.section_at(piece.start)
    file.has_moved = True
    if section is not None:
        file.replace(section, bytes(file.data[section.offset : piece.start]) + new + bytes(file.data[piece.end : section.end]))
        return None
    later = [place for place in file.anatomy.places if place.role == "btf-offset"]
    if later and rng.random() < 0.7:  # strings stand behind the types of a raw blob
        file.put(later[-1], max(0, file.number(later[-1]) + grown))
    file.data[piece.start : piece.end] = new
    return None


def resize_section(rng: random.Random, file: File) -> None:
    """A section ends early, or has more behind it, or less in it."""
    if file.has_moved or not file.anatomy.sections:
        return truncate(rng, file)
    section = rng.choice([s for s in file.anatomy.sections if s.size] or file.anatomy.sections[:1])
    content = bytes(file.data[section.offset : section.end])
    cut = rng.randrange(len(content) + 1)
    new = rng.choice((content[:cut], content[cut:], content * 2, content + rng.randbytes(64), content[:cut] + rng.randbytes(rng.choice((1, 3, 8))) + content[cut:],
                      content[: cut // 2] + content[cut:], b""))  # fmt: skip
    file.replace(section, new)
    file.has_moved = True
    return None


def recompress(rng: random.Random, file: File) -> None:
    """What a compressed section holds is damaged, and compressed again; or a plain one claims to be compressed."""
    packed = [s for s in file.anatomy.sections if s.values[2] & 0x800 or s.name.startswith(".zdebug")]
    if file.has_moved or not packed:
        return resize_section(rng, file)
    section = rng.choice(packed)
    head = 12 if section.name.startswith(".zdebug") or section.fields[4][1] == 4 else 24
    try:
        plain = bytearray(zlib.decompress(bytes(file.data[section.offset + head : section.end])))
    except zlib.error:
        return write_number(rng, file)
    for _ in range(rng.choice((1, 2, 4))):
        at = rng.randrange(len(plain))
        plain[at : at + 1] = rng.choice((b"\xff", b"\0", b"\x7f", bytes([rng.randrange(256)]), b"\xff\xff\xff\xff", rng.randbytes(4), b""))
    if rng.random() < 0.05:
        plain += bytes(rng.choice((1 << 16, 1 << 20, 1 << 24)))
    size = len(plain) if rng.random() < 0.8 else rng.choice(_INTERESTING)
    order = "big" if section.name.startswith(".zdebug") else file.anatomy.order
    width = 8 if head == 24 or section.name.startswith(".zdebug") else 4
    start = 8 if head == 24 else 4
    header = bytearray(file.data[section.offset : section.offset + head])
    header[start : start + width] = (size & (1 << 8 * width) - 1).to_bytes(width, order)  # type: ignore[arg-type]
    file.replace(section, bytes(header) + zlib.compress(bytes(plain)))
    file.has_moved = True
    return None


def splice(rng: random.Random, file: File) -> None:
    """A part of another seed: a section of the same name, or the bytes behind a place."""
    if file.has_moved or not file.donors:
        return change_bytes(rng, file)
    donor = rng.choice(file.donors)
    theirs = {s.name: s for s in donor.anatomy.sections if s.size}
    both = [s for s in file.anatomy.sections if s.name in theirs]
    file.has_moved = True
    if both and rng.random() < 0.8:
        for section in rng.sample(both, min(len(both), rng.choice((1, 1, 2)))):
            other = theirs[section.name]
            file.replace(section, donor.data[other.offset : other.end])
        return None
    at = rng.randrange(len(file.data))
    file.data[at:] = donor.data[at if rng.random() < 0.5 else rng.randrange(len(donor.data)) :]
    return None


def mutators_for(what: str, roles: Roles) -> tuple[tuple[Mutator, int], ...]:
    """The mutators for one kind of damage (dwarf, btf, elf), with how often each is taken."""
    def place(rng: random.Random, file: File) -> None:
        write_place(rng, file, roles, what)

    def exchange(rng: random.Random, file: File) -> None:
        exchange_places(rng, file, roles, what)

    generic = ((flip_bits, 8), (change_bytes, 6), (write_number, 8), (place, 45), (exchange, 6), (truncate, 3), (splice, 5))
    of_sections = ((exchange_sections, 10), (resize_section, 10), (recompress, 15))
    return (*generic, *(of_sections if what == "elf" else ((resize, 16), (exchange_sections, 2), (resize_section, 3))))


def damage(rng: random.Random, file: File, mutators: tuple[tuple[Mutator, int], ...]) -> None:
    """Damages a file once or a few times."""
    functions, weights = zip(*mutators, strict=True)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        if not file.data:
            return
        mutator = rng.choices(functions, weights)[0]
        file.log.append(mutator.__name__)
        mutator(rng, file)
