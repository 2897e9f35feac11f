"""Where the numbers of an undamaged ELF file stand, and what would be interesting in each one's place.

Written from the ELF specification; sections go to `dwarf_anatomy` and `btf_anatomy`. It reads seeds only, and so
checks nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

Order = Literal["little", "big"]


@dataclass(frozen=True, slots=True)
class Place:
    """A number in a file."""

    at: int
    size: int
    role: str
    choices: tuple[int, ...] = ()
    """Values that mean something here."""
    is_uleb: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A section, and where the fields of its header stand."""

    name: str
    header: int
    fields: tuple[tuple[int, int], ...]
    """Position and size of each field of its header."""
    values: tuple[int, ...]
    """name, type, flags, addr, offset, size, link, info, addralign, entsize"""

    @property
    def offset(self) -> int:
        return self.values[4]

    @property
    def size(self) -> int:
        return 0 if self.values[1] == 8 else self.values[5]

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes that belong together, and the number that says how many they are, where there is one."""

    start: int
    end: int
    length: Place | None = None


@dataclass(frozen=True, slots=True)
class Anatomy:
    """All that is known of a file."""

    order: Order
    sections: tuple[Section, ...]
    places: tuple[Place, ...]
    units: tuple[Extent, ...]
    """What says its own length: units, tables, sections of BTF."""
    pieces: tuple[Extent, ...]
    """What can be repeated or removed: entries with their children, abbreviations, types of BTF."""


FORM_64: Final = ((0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8))
FORM_32: Final = tuple((4 * n, 4) for n in range(10))
_EHDR_64: Final = {"type": (16, 2), "machine": (18, 2), "shoff": (40, 8), "shentsize": (58, 2), "shnum": (60, 2), "shstrndx": (62, 2)}  # fmt: skip
_EHDR_32: Final = {"type": (16, 2), "machine": (18, 2), "shoff": (32, 4), "shentsize": (46, 2), "shnum": (48, 2), "shstrndx": (50, 2)}  # fmt: skip
_MACHINES: Final = (0, 2, 3, 8, 18, 20, 21, 22, 40, 43, 62, 183, 243, 247, 258)
_TYPES: Final = (0, 1, 2, 3, 4, 7, 8, 9, 11, 17, 0x6FFFFFFF)


def elf_anatomy(data: bytes) -> tuple[Order, tuple[Section, ...], list[Place]]:
    """Byte order, sections, and the places of the headers, relocations and symbols."""
    order: Order = "little" if data[5] == 1 else "big"
    header = _EHDR_64 if data[4] == 2 else _EHDR_32
    sections = _sections(data, order, header)
    places = [Place(at, size, f"elf-{name}", _MACHINES if name == "machine" else (0, 1, 2, len(sections), len(data)))
              for name, (at, size) in header.items()]  # fmt: skip
    places += [Place(at, 1, "elf-ident", (0, 1, 2, 3)) for at in range(4, 8)]
    for section in sections:
        places += _header_places(section, sections, len(data))
        places += _table_places(section, data[4] == 2)
    return order, sections, places


def _number(data: bytes, at: int, size: int, order: Order) -> int:
    return int.from_bytes(data[at : at + size], order)


def _sections(data: bytes, order: Order, header: dict[str, tuple[int, int]]) -> tuple[Section, ...]:
    shoff, entsize, count, names = (_number(data, *header[key], order) for key in ("shoff", "shentsize", "shnum", "shstrndx"))
    rows = []
    for start in range(shoff, shoff + count * entsize, entsize):
        fields = tuple((start + at, size) for at, size in (FORM_64 if data[4] == 2 else FORM_32))
        rows.append((start, fields, tuple(_number(data, at, size, order) for at, size in fields)))
    text = rows[names][2][4]
    return tuple(
        Section(data[text + values[0] : data.index(0, text + values[0])].decode(), start, fields, values)
        for start, fields, values in rows
    )


def _header_places(section: Section, sections: tuple[Section, ...], length: int) -> list[Place]:
    """The fields of a section's header, and of the header of its compressed contents."""
    others = [other for other in sections if other is not section]
    choices = (
        [other.values[0] for other in others], _TYPES, (0, 0x800, 0x30, 0x200, 0x830), (0,),
        [at + shift for other in others for at in (other.offset, other.end) for shift in (0, 1, -1)] + [length - 1, length, 1 << 63],
        [other.size for other in others] + [section.size + n for n in (-8, -1, 1, 8)] + [length, 1 << 40, (1 << 64) - section.offset],
        range(len(sections) + 2), range(len(sections) + 2), (0, 1, 3, 8), (0, 1, 7, 24),
    )  # fmt: skip
    names = ("name", "type", "flags", "addr", "offset", "size", "link", "info", "addralign", "entsize")
    found = [Place(at, size, f"section-{name}", tuple(values))
             for name, (at, size), values in zip(names, section.fields, choices, strict=True)]  # fmt: skip
    if section.values[2] & 0x800:
        width = section.fields[4][1]
        found.append(Place(section.offset, 4, "compression", (0, 1, 2, 3, 0x60000000)))
        found.append(Place(section.offset + width, width, "compression", (0, 1, section.size, 1 << 20, 1 << 31, 1 << 33, 1 << 62)))
    if section.name.startswith(".zdebug"):
        found.append(Place(section.offset + 4, 8, "compression", (0, 1, section.size, 1 << 20, 1 << 31, 1 << 33, 1 << 62)))
    return found


def _table_places(section: Section, wide: bool) -> list[Place]:
    """The fields of relocations and symbols, by their section's type."""
    shapes = {
        2: ((0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)) if wide else ((0, 4), (4, 4), (8, 4), (12, 1), (13, 1), (14, 2)),
        4: ((0, 8), (8, 4), (12, 4), (16, 8)) if wide else ((0, 4), (4, 1), (5, 3), (8, 4)),
        9: ((0, 8), (8, 4), (12, 4)) if wide else ((0, 4), (4, 1), (5, 3)),
    }  # fmt: skip
    shape = shapes.get(section.values[1])
    if shape is None or (section.values[1] != 2 and ".debug" not in section.name):
        return []
    step = shape[-1][0] + shape[-1][1]
    role = "symbol" if section.values[1] == 2 else "relocation"
    return [Place(start + at, size, role, (0, 1, 2, 10, 11, 24, 0xFF))
            for start in range(section.offset, section.end - step + 1, step) for at, size in shape]  # fmt: skip


def anatomy_of(data: bytes) -> Anatomy:
    """The anatomy of a seed's file."""
    from tools.fuzz import btf_anatomy, dwarf_anatomy

    if data[:4] != b"\x7fELF":
        order: Order = "little" if struct.unpack_from("<H", data)[0] == btf_anatomy.MAGIC else "big"
        if struct.unpack_from("<H" if order == "little" else ">H", data)[0] != btf_anatomy.MAGIC:
            return Anatomy("little", (), (), (), ())  # compressed as a whole: bytes and no more
        return Anatomy(order, (), *map(tuple, btf_anatomy.anatomy_of(data, 0, len(data), order)))
    order, sections, places = elf_anatomy(data)
    units: list[Extent] = []
    pieces: list[Extent] = []
    for found in (*dwarf_anatomy.anatomy_of(data, sections, order),
                  *(btf_anatomy.anatomy_of(data, s.offset, s.end, order) for s in sections if s.name in (".BTF", ".BTF.base"))):  # fmt: skip
        places += found[0]
        units += found[1]
        pieces += found[2]
    return Anatomy(order, sections, tuple(places), tuple(units), tuple(pieces))
