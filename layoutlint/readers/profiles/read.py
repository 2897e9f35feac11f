"""Reading a report of perf, whatever its format: a file can have several tables."""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field
from layoutlint.readers.profiles import annotated_types, c2c, samples, type_report
from layoutlint.readers.profiles.records import Format, Profile, ReportHeader
from layoutlint.readers.profiles.report_text import COMMANDS, lines_of, open_report

_FACT = re.compile(r"^#\s*(captured on|os release|perf version)\s*:\s*(.+?)\s*$")
_BUILD_ID = re.compile(r"^(?:#\s*build[- ]?id\s*:?\s*)?([0-9a-fA-F]{16,64})(?:\s+(\S.*?))?\s*$")
_KEYS = {"captured on": "captured", "os release": "release", "perf version": "tool"}
_MOST_BUILD_IDS = 10_000
"""A recording of a whole machine has some hundred programs and libraries."""


class HeaderBuilder(Record):
    """Collects what a report states about its recording (`perf report --header`, `perf buildid-list`), the
    first fact of each kind.
    """

    facts: dict[str, str] = field(default_factory=dict)
    build_ids: list[tuple[str, str, int]] = field(default_factory=list)

    def take(self, number: int, text: str) -> bool:
        """Return whether a line is a part of the header, and keep what it states."""
        fact = _FACT.match(text) if text.startswith("#") else None
        if fact is not None:
            self.facts.setdefault(_KEYS[fact[1]], fact[2])
            return True
        build_id = _BUILD_ID.match(text) if text[:1] in "#0123456789abcdefABCDEF" else None
        if build_id is None or len(build_id[1]) % 2:
            return False
        if len(self.build_ids) < _MOST_BUILD_IDS:
            self.build_ids.append((build_id[1].lower(), build_id[2] or "", number))
        return True

    def header(self) -> ReportHeader:
        """Return all facts."""
        return ReportHeader(build_ids=tuple(self.build_ids), **self.facts)


def read(
    path: str, keep: Callable[[int], bool] | None = None, columns: frozenset[str] | None = None
) -> Profile:
    """Return the facts of a report; raises ReadError with the line.

    `keep` returns whether the cache line at an address is needed; None keeps all. `columns` are those of
    samples; None tells them by their form.
    """
    header = HeaderBuilder()
    lines_table = c2c.Parser(path, keep or (lambda address: True))
    types_table = type_report.Parser(path)
    annotated = annotated_types.Parser(path)
    with open_report(path) as file:
        for number, text in lines_of(file, path):
            if header.take(number, text):
                continue
            if columns is not None or samples.is_start(text):
                found = samples.read(file, path, (number, text), columns, header.take)
                return Profile(path, ("perf script",), header.header(), samples=found)
            if (annotated.types and not annotated.types[-1].is_done) or "Annotate" in text or "total" in text:
                annotated.take(number, text)
            if "Samples: " in text or types_table.events or "Data Type" in text:
                types_table.take(number, text)
            if not types_table.is_used:
                lines_table.take(number, text)
    blocks, events = lines_table.finish(), (*types_table.finish(), *annotated.finish())
    used: tuple[tuple[bool, Format], ...] = (
        (lines_table.is_used, "perf c2c"),
        (types_table.is_used, "perf report"),
        (annotated.is_used, "perf annotate"),
    )
    formats = tuple(name for is_used, name in used if is_used)
    if not formats:
        raise ReadError(path, f"no table of perf was found in it; write a report with {COMMANDS}")
    return Profile(
        path,
        formats,
        header.header(),
        blocks,
        lines_table.omitted,
        len(lines_table.table),
        lines_table.has_tables,
        lines_table.records,
        lines_table.is_peer,
        events,
    )
