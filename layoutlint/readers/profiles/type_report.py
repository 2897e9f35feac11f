"""Reports of `perf report` with the sort keys `type` and `typeoff` (Linux 6.8 and later).

Linux, tools/perf/util/sort.c and ui/stdio/hist.c. Events are kept apart: they count different things.
"""

from __future__ import annotations

import re

from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Source
from layoutlint.readers.profiles.records import EventProfile, Role, TypeRow

_EVENT = re.compile(r"^\s*+#?\s*+Samples: \S+ +of events? '(.*)'")
_TYPE, _OFFSET = "Data Type", "Data Type Offset"
_TREE = f"{_TYPE} / {_OFFSET}"
_HEADER = re.compile(r"^\s*+#?\s*+Overhead\b.*\bData Type\b")
_RULER = re.compile(r"^\s*+#?\s*+\.{3,}(?:\s+\.{3,})*\s*$")
_OFFSETS = re.compile(r"^(.+?) \+(0x[0-9a-fA-F]{1,16}|\d{1,18})(?: \((.*))?$")
_PERCENT = re.compile(r"^-?\d+[.,]\d+%$|^-?\d+%$")
_NO_FIELD = "no field"
_PSEUDO = ("(unknown)", "(stack operation)", "(stack canary)", "(const)")
_MEMBERS = re.compile(r"^(?:const |volatile )*(?:struct|union|class) ")
_WIDTH = re.compile(r":\d{1,3}$")
_MOST_ROWS = 500_000
"""Rows of a report that are kept: kernels have about 300,000 fields."""
_NUMERIC = ("Overhead", "Samples", "Period", "Children", "Self", "Weight", "Local Weight")


class _TableHeader(Record, frozen=True):
    """The header of a table."""

    names: tuple[str, ...]
    separator: str
    """Empty for columns that are aligned by spaces."""


class _OpenEvent(Record):
    """One event whose rows are being read."""

    name: str | None
    role: Role
    line: int
    rows: list[TypeRow] = field(default_factory=list)
    unknown: float = 0.0
    scalars: float = 0.0
    total: float = 0.0


class Parser(Record):
    """Reads the tables of one report, line by line."""

    path: str
    table: _TableHeader | None = None
    events: list[_OpenEvent] = field(default_factory=list)
    current: list[_OpenEvent] = field(default_factory=list)
    """The events of the table that is being read: several of a group."""
    rows: int = 0
    is_used: bool = False
    is_tree: bool = False

    def take(self, number: int, text: str) -> None:
        """Read one line of the report; raises ReadError with its place."""
        place = Source(self.path, number)
        event = _EVENT.match(text)
        if event is not None:
            names = event[1].split(", ")
            self.current = [_OpenEvent(name, role_of(name), number) for name in names]
            self.events += self.current
            self.table = None
        elif _HEADER.match(text):
            self._take_header(text, number, place)
        elif self.table is not None and text.strip() and not _is_aside(text):
            self._take_row(number, text, place)

    def _take_header(self, text: str, number: int, place: Source) -> None:
        self.is_used = True
        bare = text.strip().lstrip("#").strip()
        separator = _separator(bare)
        names = tuple(
            part.strip() for part in (bare.split(separator) if separator else re.split(r"\s{2,}", bare))
        )
        self.is_tree = _TREE in names
        if names[0] != "Overhead" or (not self.is_tree and (_OFFSET not in names or _TYPE not in names)):
            raise ReadError(
                place,
                "the table has no offsets in types; write it with `perf report -s type,typeoff -n --stdio`",
            )
        if not self.current:
            self.current = [_OpenEvent(None, "any", number)]
            self.events += self.current
        self.table = _TableHeader(names, separator)

    def _take_row(self, number: int, line: str, place: Source) -> None:
        self.rows += 1
        if self.rows > _MOST_ROWS:
            raise ReadError(place, f"the report has more than {_MOST_ROWS:,} rows")
        shares, samples, values = self._split(line, place)
        type_text, offset_text = self._type_and_offset(values, place)
        if offset_text is None:  # the row of a type, above those of its offsets
            return
        for event, share, count in zip(self.current, shares, samples, strict=True):
            event.total += share
            if event.total > 100.5 + 0.005 * self.rows:
                raise ReadError(place, f"the shares of `{event.name}` add up to {event.total:.2f} %")
            if share or count or len(shares) == 1:
                text = type_text if type_text in (*_PSEUDO, "") else offset_text
                _add_row(event, text, (share, count), number, place)

    def _split(self, text: str, place: Source) -> tuple[list[float], list[int | None], dict[str, str]]:
        """Return shares and samples of the events, and the other columns by name. Raises ReadError."""
        assert self.table is not None
        names, number = self.table.names, len(self.current)
        numeric = next((n for n, name in enumerate(names) if name not in _NUMERIC), len(names))
        wrong = ReadError(place, f"the row does not have the columns {', '.join(names)} of {number} events")
        cells, rest = _cells(text, self.table.separator, numeric, number)
        if len(cells) != numeric or len(rest) != len(names) - numeric or any(len(c) != number for c in cells):
            raise wrong
        if not all(map(_PERCENT.match, cells[0])):
            raise wrong
        shares = [float(word[:-1].replace(",", ".")) for word in cells[0]]
        if min(shares) < 0 or max(shares) > 100.5:
            raise ReadError(place, f"the share {' '.join(cells[0])} is not possible")
        samples: list[int | None] = [None] * number
        if "Samples" in names[:numeric]:
            words = cells[names.index("Samples")]
            if not all(word.isdecimal() and len(word) < 19 for word in words):
                raise wrong
            samples = [int(word) for word in words]
        return shares, samples, dict(zip(names[numeric:], rest, strict=True))

    def _type_and_offset(self, values: dict[str, str], place: Source) -> tuple[str, str | None]:
        """Return a type, and the same with the offset; None for the row of a type in a tree."""
        if not self.is_tree:
            return values[_TYPE], values[_OFFSET]
        text = values[_TREE]
        return ("", None) if _OFFSETS.match(text) is None else (text, text)

    def finish(self) -> tuple[EventProfile, ...]:
        """Return all events of tables with types."""
        return tuple(
            EventProfile(e.name, e.role, e.line, tuple(e.rows), unknown=e.unknown, scalars=e.scalars)
            for e in self.events
            if e.total or e.rows
        )


def without_width(member: str) -> str:
    """Return a member without the bits of a bit-field, `flags:3`."""
    return _WIDTH.sub("", member)


def parse_offset(word: str) -> int:
    """Return a number of bytes: hexadecimal after `0x`, else decimal, also after a 0."""
    return int(word, 16 if word.startswith("0x") else 10)


def role_of(name: str) -> Role:
    """Return what an event counts, by its name (`perf mem record -e list`)."""
    text = name.lower()
    has_loads, has_stores = "load" in text or "ldlat" in text, "store" in text
    if has_loads == has_stores:
        return "any"
    return "store" if has_stores else "load"


def _separator(header: str) -> str:
    """Return what separates the columns of `-t`; empty for aligned columns."""
    match = re.match(r"Overhead\s*([^\w\s/])", header)
    if match is not None:
        return match[1]
    return "\t" if "\t" in header else ""


def _is_aside(text: str) -> bool:
    bare = text.strip()
    return bare.startswith("#") or _RULER.match(text) is not None or bare in ("...", "<snip>", "[...]")


def _cells(text: str, separator: str, numeric: int, number: int) -> tuple[list[list[str]], list[str]]:
    """Return the numeric columns, each with a word for every event, and the other columns."""
    if separator:
        parts = [part.strip() for part in text.split(separator)]
        return [part.split() for part in parts[:numeric]], parts[numeric:]
    words = text.split(maxsplit=numeric * number)
    rest = words.pop() if len(words) > numeric * number else ""
    cells = [words[at : at + number] for at in range(0, len(words), number)]
    return cells, [part for part in re.split(r"\s{2,}", rest.strip()) if part]


def _add_row(
    event: _OpenEvent, text: str, counts: tuple[float, int | None], number: int, place: Source
) -> None:
    """Add a row to an event: to its offsets, or to the samples without a type or a member."""
    share, samples = counts
    match = _OFFSETS.match(text)
    name = match[1] if match else text
    if name in _PSEUDO:
        if name == "(unknown)":
            event.unknown += share
        else:
            event.scalars += share
        return
    if match is None or match[3] is None:
        raise ReadError(
            place,
            f"{text!r} is not an offset in a type, such as `struct page +0x8 (lru.next)`: the column is cut "
            "off. Write the report with `perf report -s type,typeoff -n --stdio`, without -t and -w",
        )
    is_cut, path = not text.endswith(")"), without_width(match[3].removesuffix(")"))
    has_no_field = path == _NO_FIELD or (is_cut and _NO_FIELD.startswith(path) and " " in path)
    if has_no_field and not _MEMBERS.match(name):
        event.scalars += share
        return
    place_in_type = parse_offset(match[2])
    event.rows.append(
        TypeRow(name, place_in_type, None if has_no_field else path, share, samples, number, is_cut=is_cut)
    )
