"""Reading a report of perf, whatever its format: a file can have several tables."""

from __future__ import annotations

from collections.abc import Callable

from layoutlint.errors import ReadError
from layoutlint.readers.profiles import annotated_types, c2c, type_report
from layoutlint.readers.profiles.header import HeaderBuilder
from layoutlint.readers.profiles.records import Format, Profile
from layoutlint.readers.profiles.report_text import COMMANDS, lines


def read(path: str, keep: Callable[[int], bool] | None = None) -> Profile:
    """Return the facts of a report; raises ReadError with the line.

    `keep` returns whether the cache line at an address is needed; None keeps all.
    """
    header = HeaderBuilder()
    lines_table = c2c.Parser(path, keep or (lambda address: True))
    types_table = type_report.Parser(path)
    annotated = annotated_types.Parser(path)
    for number, text in lines(path):
        if header.take(number, text):
            continue
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
        lines_table.is_peer,
        events,
    )
