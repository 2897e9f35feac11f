"""Reports of `perf annotate --data-type --stdio` (Linux 6.8 and later): types with samples at each member.

Linux, tools/perf/util/annotate-data.c and builtin-annotate.c. perf 6.8 prints decimal offsets, later versions
hexadecimal ones; a column of samples, of percent, or of periods for each event of a group.
"""

from __future__ import annotations

import re

from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Source
from layoutlint.readers.profiles.records import EventProfile, TypeRow, TypeSize
from layoutlint.readers.profiles.type_report import parse_offset, role_of, without_width

_TITLE = re.compile(r"^\s*Annotate type: '(.*)'(?: in (.*?))? \((\d+) samples\):?\s*$")
_SCREEN = re.compile(
    r"^\s*+(?:Annotate type: '[^']*' \(\d+ samples\)\s*$|.*\bOffset\s+Size\s+Field\b|[-+]\s+\d+[.,]\d\d\s+\d)"
)
"""What perf shows on the screen only: titles without a file, names of columns, signs of folded members."""
_EVENT = re.compile(r"^\s*event\[(\d+)\] = (.+?)\s*$")
_HEADER = re.compile(
    r"^\s*(Percent|samples|Samples|Period)(?:\s+\1)*\s+offset\s+size\s+field\s*$", re.IGNORECASE
)
_STATISTICS = re.compile(r"^\s*total (\d{1,18}), ok \d{1,18} \(.*\), bad (\d{1,18})\b")
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,16}|\d{1,18}")
_COUNT = re.compile(r"\d{1,18}(?:[.,]\d+)?")
_CLOSING = re.compile(r"^\s*\};?\s*$")
_MOST_ROWS = 500_000
_DEEPEST = 200


class _OpenType(Record):
    """The type whose members are being read."""

    name: str
    file: str
    events: list[str | None]
    unit: str = ""
    stack: list[str] = field(default_factory=list)
    size: TypeSize | None = None
    leaves: list[tuple[tuple[str, ...], int, int, str, int]] = field(default_factory=list)
    """Numbers of the events, offset, size, path and line of each member without members."""
    line: int = 0
    is_done: bool = False


class Parser(Record):
    """Reads the types of one report, line by line."""

    path: str
    types: list[_OpenType] = field(default_factory=list)
    rows: int = 0
    unknown: float | None = None
    is_used: bool = False

    def take(self, number: int, text: str) -> None:
        """Read one line of the report; raises ReadError with its place."""
        if _SCREEN.match(text) and (self.types or "Annotate type" in text):
            raise ReadError(
                Source(self.path, number),
                "is a copy of perf's screen; write the report with `perf annotate --data-type --stdio`",
            )
        title = _TITLE.match(text)
        if title is not None:
            self.is_used = True
            self.types.append(_OpenType(title[1], title[2] or "", [], line=number))
            return
        statistics = _STATISTICS.match(text)
        if statistics is not None and len(text) < 200 and int(statistics[1]):
            self.unknown = 100.0 * int(statistics[2]) / int(statistics[1])
        if not self.types or self.types[-1].is_done:
            return
        self._take_line(self.types[-1], number, text, Source(self.path, number))

    def _take_line(self, each: _OpenType, number: int, text: str, place: Source) -> None:
        event, header = _EVENT.match(text), _HEADER.match(text)
        if event is not None:
            if each.unit:  # its rows have no column for it
                raise ReadError(place, "an event is named below the head of its table")
            each.events.append(event[2])
        elif header is not None:
            each.unit = header[1].lower()
        elif _CLOSING.match(text):
            if not each.stack:
                raise ReadError(place, "a brace closes nothing")
            each.stack.pop()
            each.is_done = not each.stack
        elif each.unit and text.strip():
            self._take_row(each, text, number, place)

    def _take_row(self, each: _OpenType, text: str, number: int, place: Source) -> None:
        self.rows += 1
        if self.rows > _MOST_ROWS:
            raise ReadError(place, f"the report has more than {_MOST_ROWS:,} rows")
        number_of_events = max(1, len(each.events))
        words = text.split(maxsplit=number_of_events + 2)
        if not words[0][0].isdigit():
            return  # a text around the table
        *numbers, offset_word, size_word, rest = (
            words if len(words) == number_of_events + 3 else ("", "", "", "")
        )
        is_row = all(map(_COUNT.fullmatch, numbers)) and not rest[:1].isdigit()
        if not is_row or not (_NUMBER.fullmatch(offset_word) and _NUMBER.fullmatch(size_word)):
            raise ReadError(
                place, f"the row is cut off, or has not {number_of_events} counts, offset, size and member"
            )
        rest = rest.rstrip()
        offset, size = parse_offset(offset_word), parse_offset(size_word)
        member = _member_name(rest) if each.stack else ""
        path = ".".join([*filter(None, each.stack[1:]), *([member] if member else [])])
        if not each.stack:
            if not " ".join(rest.split()).startswith(" ".join(each.name.split())):
                raise ReadError(place, f"rows are missing: the first one is not that of {each.name!r}")
            each.size = TypeSize(each.name, size, number, each.file)
        if rest.endswith("{"):
            if len(each.stack) >= _DEEPEST:
                raise ReadError(place, f"is nested more than {_DEEPEST} times")
            each.stack.append(member)
        elif each.stack:
            each.leaves.append((tuple(numbers), offset, size, path, number))
        else:
            each.is_done = True

    def finish(self) -> tuple[EventProfile, ...]:
        """Return the events, with the rows of all types.

        Without --group, perf prints all types of one event and then those of the next, without a name.
        """
        seen: dict[tuple[str, str], int] = {}
        events: dict[tuple[str | None, int], list[tuple[_OpenType, int]]] = {}
        for each in self.types:
            number = 0
            if not each.events:
                number = seen[each.name, each.file] = seen.get((each.name, each.file), 0) + 1
            for column, name in enumerate(each.events or [None]):
                events.setdefault((name, number), []).append((each, column))
        return tuple(
            EventProfile(
                name,
                role_of(name) if name else "any",
                types[0][0].line,
                tuple(row for each, column in types for row in _rows(each, column)),
                tuple(each.size for each, _ in types if each.size is not None),
                self.unknown,
                scope="type",
            )
            for (name, _), types in events.items()
        )


def _member_name(text: str) -> str:
    """Return the name after a type: they are separated by a tab, or by spaces in copies."""
    bare = text.rstrip(";{ \t")
    parts = re.split(r"\t\s*|\s{2,}", bare)
    if len(parts) > 1:
        return without_width(parts[-1].strip())
    # `union       {` and `struct list_head {`: one word is a type without a name
    return ""


def _rows(each: _OpenType, column: int) -> list[TypeRow]:
    """Return the members with samples of one event."""
    rows = []
    for numbers, offset, size, path, line in each.leaves:
        value = float(numbers[column].replace(",", "."))
        if not value:
            continue
        samples = int(value) if each.unit == "samples" else None
        share = value if each.unit == "percent" else None
        rows.append(TypeRow(each.name, offset, path, share, samples, line, size, file=each.file))
    return rows
