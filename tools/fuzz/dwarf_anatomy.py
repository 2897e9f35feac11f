"""Where the numbers of undamaged DWARF stand (DWARF 5, section 7.5; forms of GNU as GCC and dwz write them)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tools.fuzz.anatomy import Extent, Order, Place, Section

Found = tuple[list[Place], list[Extent], list[Extent]]

_FIXED: Final = {0x0B: 1, 0x0C: 1, 0x11: 1, 0x25: 1, 0x29: 1, 0x05: 2, 0x12: 2, 0x26: 2, 0x2A: 2, 0x27: 3, 0x2B: 3, 0x06: 4, 0x13: 4, 0x28: 4, 0x2C: 4, 0x1C: 4,
                 0x07: 8, 0x14: 8, 0x20: 8, 0x24: 8, 0x1E: 16, 0x19: 0, 0x21: 0}  # fmt: skip
_OFFSETS: Final = frozenset((0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21))
_ULEBS: Final = frozenset((0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02))
_REFERENCES: Final = frozenset((0x11, 0x12, 0x13, 0x14, 0x15))
_STRINGS: Final = frozenset((0x0E, 0x1F, 0x1D, 0x1F21, 0x25, 0x26, 0x27, 0x28, 0x1A))
_FORMS: Final = tuple(sorted({*_FIXED, *_OFFSETS, *_ULEBS, 0x01, 0x08, 0x0A, 0x03, 0x04, 0x09, 0x16, 0x18, 0x10, 0x7F, 0x1F03}))
_TAGS: Final = (0x01, 0x02, 0x04, 0x0D, 0x0F, 0x10, 0x11, 0x13, 0x15, 0x16, 0x17, 0x1C, 0x21, 0x24, 0x26, 0x2E, 0x34, 0x35, 0x39, 0x3C, 0x41, 0x47, 0x4A, 0x7F)  # fmt: skip
_ATTRIBUTES: Final = (0x01, 0x02, 0x03, 0x0B, 0x0C, 0x0D, 0x10, 0x13, 0x1B, 0x1D, 0x22, 0x2F, 0x31, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3E, 0x47, 0x49, 0x4C, 0x69, 0x6B, 0x6E, 0x72, 0x76, 0x88)  # fmt: skip


@dataclass(slots=True)
class Reader:
    """A position in a section."""

    data: bytes
    at: int
    order: Order

    def number(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], self.order)

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 128:
                return value


@dataclass(frozen=True, slots=True)
class Abbreviation:
    tag: int
    has_children: bool
    pairs: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Entry:
    """An entry on the way through a unit."""

    at: int
    parent: Entry | None
    references: list[tuple[int, int, int]] = field(default_factory=list)
    """Position, size and attribute of each."""
    end: int = 0


def anatomy_of(data: bytes, sections: tuple[Section, ...], order: Order) -> Iterator[Found]:
    """Places, what says its length, and pieces of each section of DWARF that is not compressed."""
    plain = [s for s in sections if not s.values[2] & 0x800 and s.size]
    tables: dict[tuple[bool, int], dict[int, Abbreviation]] = {}
    for section in (s for s in plain if s.name in (".debug_abbrev", ".debug_abbrev.dwo")):
        yield _abbreviations(data, section, order, tables)
    lengths = {s.name: s.size for s in plain}
    for section in plain:
        if section.name.removesuffix(".dwo") in (".debug_info", ".debug_types"):
            yield _units(data, section, order, tables, lengths)
        elif section.name.startswith((".debug_line", ".debug_str_offsets", ".debug_cu_index", ".debug_tu_index", ".gnu_debug", ".note")):
            yield _words(section)


def _words(section: Section) -> Found:
    """Sections of which only the first words matter here: every one of them can be anything."""
    count = min(section.size, 96)
    places = [Place(section.offset + at, size, section.name.split(".")[1], (0, 1, 4, 8, section.size, 1 << 31))
              for size in (1, 2, 4, 8) for at in range(0, count - size + 1, max(size, 2))]  # fmt: skip
    length = Place(section.offset, 4, "length") if section.name.startswith((".debug_line", ".debug_str_offsets")) else None
    return places, [Extent(section.offset, section.end, length)], [Extent(section.offset, section.end)]


def _abbreviations(data: bytes, section: Section, order: Order, tables: dict[tuple[bool, int], dict[int, Abbreviation]]) -> Found:
    places: list[Place] = []
    pieces = []
    reader = Reader(data, section.offset, order)
    while reader.at < section.end:
        table: dict[int, Abbreviation] = {}
        # Object files may have several such sections, each referred to as if it stood alone; the first is the likeliest.
        tables.setdefault((section.name.endswith(".dwo"), reader.at - section.offset), table)
        while reader.at < section.end:
            start = reader.at
            code = reader.uleb()
            places.append(Place(start, reader.at - start, "abbrev-code", (0, 1, 2, code + 1, 127), True))
            if code == 0:
                break
            table[code] = _abbreviation(reader, places)
            pieces.append(Extent(start, reader.at))
    return places, [Extent(section.offset, section.end)], pieces


def _abbreviation(reader: Reader, places: list[Place]) -> Abbreviation:
    at = reader.at
    tag = reader.uleb()
    places.append(Place(at, reader.at - at, "abbrev-tag", _TAGS, True))
    places.append(Place(reader.at, 1, "abbrev-children", (0, 1)))
    has_children = bool(reader.number(1))
    pairs = []
    while True:
        at = reader.at
        attribute = reader.uleb()
        places.append(Place(at, reader.at - at, "abbrev-attribute", _ATTRIBUTES, True))
        at = reader.at
        form = reader.uleb()
        places.append(Place(at, reader.at - at, "abbrev-form", _FORMS, True))
        if form == 0x21:
            at = reader.at
            reader.uleb()
            places.append(Place(at, reader.at - at, "abbrev-constant", (0, 1, 63, 64, 127), True))
        if attribute == form == 0:
            return Abbreviation(tag, has_children, tuple(pairs))
        pairs.append((attribute, form))


def _units(data: bytes, section: Section, order: Order, tables: dict[tuple[bool, int], dict[int, Abbreviation]], lengths: dict[str, int]) -> Found:
    places: list[Place] = []
    units: list[Extent] = []
    pieces: list[Extent] = []
    reader = Reader(data, section.offset, order)
    while reader.at < section.end:
        start, width = reader.at, 4
        length = reader.number(4)
        if length == 0xFFFFFFFF:
            length, width = reader.number(8), 8
        end = reader.at + length
        units.append(Extent(start, end, Place(reader.at - width, width, "unit-length")))
        choices = (0, 1, length - 1, length + 1, length + width, section.size, 0xFFFFFFF0, 0xFFFFFFFF)
        places.append(Place(start, 4, "unit-length", choices))
        version = reader.number(2)
        places.append(Place(reader.at - 2, 2, "unit-version", (0, 1, 2, 3, 4, 5, 6)))
        abbreviations = _unit_header(reader, version, width, section, places)
        shape = version, width, section.name.endswith(".dwo")
        table = tables.get((shape[2], abbreviations[0]), {})
        _Entries(reader, table, (*shape[:2], abbreviations[1]), (start, end), lengths, section.offset).add_to(places, pieces)
        reader.at = end
    return places, units, pieces


def _unit_header(reader: Reader, version: int, width: int, section: Section, places: list[Place]) -> tuple[int, int]:
    """Where the abbreviations stand, and the size of addresses."""
    kind = 0
    if version >= 5:
        kind = reader.number(1)
        places.append(Place(reader.at - 1, 1, "unit-type", (0, 1, 2, 3, 4, 5, 6, 0x80)))
        address = reader.number(1)
        places.append(Place(reader.at - 1, 1, "unit-address", (0, 1, 2, 3, 4, 8, 16)))
    table = reader.number(width)
    places.append(Place(reader.at - width, width, "unit-abbrev", (0, 1, section.size, 1 << 31)))
    if version < 5:
        address = reader.number(1)
        places.append(Place(reader.at - 1, 1, "unit-address", (0, 1, 2, 3, 4, 8, 16)))
    if kind in (4, 5):
        reader.number(8)
    if kind in (2, 6) or section.name.startswith(".debug_types"):
        places.append(Place(reader.at, 8, "unit-signature", (0, 1)))
        places.append(Place(reader.at + 8, width, "unit-type-offset", (0, 1, 11, 24, section.size, 1 << 31)))
        reader.number(8 + width)
    return table, address


class _Entries:
    """Walks the entries of one unit."""

    def __init__(self, reader: Reader, table: dict[int, Abbreviation], shape: tuple[int, int, int], extent: tuple[int, int],
                 lengths: dict[str, int], origin: int) -> None:  # fmt: skip
        self.reader = reader
        self.table = table
        self.version, self.width, self.address = shape
        self.start, self.end = extent
        self.strings = lengths.get(".debug_str", 0)
        self.origin = origin
        self.places: list[Place] = []

    def add_to(self, places: list[Place], pieces: list[Extent]) -> None:
        """Adds what is found; stops where the table of the unit is not the one that was guessed."""
        entries: list[Entry] = []
        open_: list[Entry] = []
        reader = self.reader
        while reader.at < self.end:
            at = reader.at
            code = reader.uleb()
            self.places.append(Place(at, reader.at - at, "entry-code", (0, *self.table, len(self.table) + 1), True))
            if code == 0:
                if open_:
                    open_.pop().end = reader.at
                if not open_:
                    break
                continue
            if code not in self.table:
                break
            entry = Entry(at, open_[-1] if open_ else None)
            entries.append(entry)
            for attribute, form in self.table[code].pairs:
                self._value(entry, attribute, form)
            entry.end = reader.at
            if self.table[code].has_children:
                open_.append(entry)
        places += self.places
        places += [place for entry in entries for place in self._references(entry, entries)]
        pieces += [Extent(entry.at, entry.end) for entry in entries]

    def _references(self, entry: Entry, entries: list[Entry]) -> Iterator[Place]:
        """References: to any entry, to itself, its parent, inside an entry, the ends of the unit, backwards."""
        parent = entry.parent.at if entry.parent else self.start
        near = (entry.at, parent, entry.at + 1, parent + 1, self.start, self.end, self.end - 1, self.end + 1)
        targets = tuple(at - self.start for at in (*near, *(other.at for other in entries)))
        for at, size, attribute in entry.references:
            choices = targets if size != 0 else ()
            if attribute == -1:
                choices = tuple(target + self.start - self.origin for target in targets)
            yield Place(at, abs(size), "sibling" if attribute == 1 else "reference", choices, size < 0)

    def _value(self, entry: Entry, attribute: int, form: int) -> None:
        reader, at = self.reader, self.reader.at
        if form == 0x08:
            reader.at = reader.data.index(0, at) + 1
            return
        is_uleb = form in _ULEBS
        size = self._skip(form)
        if size == 0 or reader.at == at:
            return
        if form in _REFERENCES:
            entry.references.append((at, -(reader.at - at) if is_uleb else size, attribute))
        elif form == 0x10:
            entry.references.append((at, size, -1))
        elif form in _STRINGS:
            self.places.append(Place(at, reader.at - at, "string", (0, 1, self.strings - 1, self.strings, 1 << 31), is_uleb))
        elif form in (0x03, 0x04, 0x09, 0x0A, 0x18):
            self.places.append(Place(at, min(reader.at - at, 8), "block", (0, 1, 2, 127, 0x23, 255)))
        else:
            self.places.append(Place(at, min(reader.at - at, 8), f"attribute-{attribute:#x}", _CHOICES, is_uleb))

    def _skip(self, form: int) -> int:
        """Steps over a value; its size."""
        reader, at = self.reader, self.reader.at
        if form in _FIXED:
            reader.at += _FIXED[form]
        elif form in _OFFSETS:
            reader.at += self.width
        elif form == 0x10:
            reader.at += self.width if self.version > 2 else self.address
        elif form == 0x01:
            reader.at += self.address
        elif form in _ULEBS:
            reader.uleb()
        else:
            size = reader.uleb() if form in (0x09, 0x18) else reader.number({0x0A: 1, 0x03: 2, 0x04: 4}[form])
            reader.at += size
        return reader.at - at


_CHOICES: Final = (0, 1, 2, 3, 7, 8, 12, 29, 31, 33, 63, 64, 65, 127, 128, 1 << 15, 1 << 20, 1 << 31, 1 << 63)
