"""The rows of perf c2c's tables, by header and by pattern: positions changed from version to version.

Linux, tools/perf/builtin-c2c.c. Each block of the second table has its own width for symbols, so that columns
after the number of CPUs have no fixed place.
"""

from __future__ import annotations

import re

from layoutlint.errors import ReadError
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source
from layoutlint.readers.profiles.records import COLUMNS, Code, Counts

_LABELS = {
    "RmtHitm": "remote", "Rmt": "remote", "LclHitm": "local", "Lcl": "local", "Peer": "peer",
    "L1 Hit": "hits", "L1 Miss": "misses", "N/A": "unplaced", "Any Lvl": "unplaced",
}  # fmt: skip
_LABEL = re.compile("|".join(sorted(_LABELS, key=len, reverse=True)))
_HEADER = re.compile(r"^\s*#\s*Num\s+(.*?)\s+Off(?:set)?\s+(.*)$")
_OTHER_HEADER = re.compile(r"^\s*#\s*Num\s+(?:Rmt|Lcl|Local|Remote)")
_USUAL = {
    4: ("remote", "local", "hits", "misses"),
    5: ("remote", "local", "hits", "misses", "unplaced"),
}
"""Columns by their number, for excerpts without a header: perf 4.10 to 5.18, and since 5.19."""

_BLOCK = re.compile(r"^\s*+#?\s*+(\d+(?:\s+\d+){3,8})\s+(0x[0-9a-fA-F]+)\s*$")
_SHARES = r"^\s*+(?P<shares>(?:\d++[.,]\d++%\s++)++)(?P<offset>0x[0-9a-fA-F]++)\s++"
_ROW = re.compile(
    _SHARES + r"(?:[^%]*?\s)?0x[0-9a-fA-F]+\s+(?P<numbers>(?:-?\d+\s+)+)"
    r"(?P<verbose>0x[0-9a-fA-F]+\s+\S\s+)?(?P<mode>\[.\])(?:\s+(?P<rest>.*))?$"
)
"""A row with the address of its code.

`perf c2c report -v` also has an address and a letter before the symbol,
in a column of 30 characters that cuts the symbol off.
"""
_DATA = r"(?:N/A|\d[\d,-]*)\s+\d+\s+"
_PID, _TID = r"\d+\s+", r"\d+:.*?\s+"
_STARTS_ROW = re.compile(r"^\s*\d+[.,]\d+%\s+\d+[.,]\d+%")
_INNER_ROW = re.compile(r"\S\s+(?:\d+[.,]\d+%\s+){2,}0x[0-9a-fA-F]{1,4}\s")
_SOURCE = re.compile(r"\S+:\d+|\S+\+(?:0x)?[0-9a-fA-F]+|\?\?:0|\S+\[[0-9a-fA-F]+\]")
_LARGEST_OFFSET = 255
"""The last byte of the longest line, 256 bytes on s390x; 127 of a pair of lines on x86 (--double-cl)."""
_MOST = 1 << 63
_LONGEST = 20
"""Characters of a number; int() refuses thousands of digits."""


class Columns(Record, frozen=True):
    """The columns before the offset, and what the last numbers before the symbol are."""

    names: tuple[str, ...]
    has_records: bool
    row: re.Pattern[str] = _ROW
    has_code: bool = True
    """Whether rows have a symbol, which `--coalesce` leaves out unless it names `iaddr`."""


class Row(Record, frozen=True):
    """A row on one offset and one place in the code."""

    shares: tuple[float, ...]
    """Percent of the block's counts, by column; each column of a whole block adds up to 100."""
    offset: int
    records: int | None
    cpus: int
    code: Code | None
    """None if the report does not name the code."""


def parse_header(text: str, place: Source) -> Columns | None:
    """Return the columns that the second line of a header names; None for another line.

    Raises ReadError for a column that is not known, and if there is none for offsets.
    """
    match = _HEADER.match(text)
    if match is None:
        if _OTHER_HEADER.match(text):
            raise ReadError(place, f"the table has no column `Offset`; {ENGLISH}")
        return None
    names = tuple(_LABELS[label] for label in _LABEL.findall(match[1]))
    labels = re.split(r"\s{2,}", match[1].strip())
    unknown = [label for label in labels if _LABEL.sub("", label).strip()]
    if unknown or len(set(names)) < len(names):
        raise ReadError(place, f"the column {(unknown or [match[1]])[0]!r} is not known; {ENGLISH}")
    return _columns(names, match[2])


def _columns(names: tuple[str, ...], after_offset: str) -> Columns:
    """Return the columns of a header: those before the offset, and the text after it."""
    has_records = " records" in after_offset
    if "Code address" in after_offset:
        return Columns(names, has_records)
    between = (("PA cnt", _DATA), ("Pid", _PID), ("Tid", _TID))
    middle = "".join(pattern for name, pattern in between if name in after_offset)
    numbers = rf"(?P<numbers>(?:-?\d+\s+){{{5 if has_records else 4}}})"
    words = r"\S+\s+\S" if "Object" in after_offset else r"\S"
    return Columns(names, has_records, re.compile(f"{_SHARES}{middle}{numbers}(?P<rest>{words}.*)$"), False)


ENGLISH = "reports of perf 4.10 to 7.2 are read, as `perf c2c report --stdio` prints them"


def parse_block(text: str, columns: Columns | None, place: Source) -> tuple[Columns, Counts, int] | None:
    """Return columns, counts and address of the line that a block is about; None for another line.

    Raises ReadError if the columns are not known.
    """
    match = _BLOCK.match(text)
    if match is None:
        return None
    words = match[1].split()[1:]
    if max(map(len, (*words, match[2]))) > _LONGEST:
        raise ReadError(place, "a number is too large")
    numbers = [int(word) for word in words]
    if columns is None or len(columns.names) != len(numbers):
        if columns is not None or len(numbers) not in _USUAL:
            raise ReadError(place, f"{len(numbers)} counts do not fit the columns of the table; {ENGLISH}")
        columns = Columns(_USUAL[len(numbers)], True)
    address = int(match[2], 16)
    if address >= 1 << 64 or any(number >= _MOST for number in numbers):
        raise ReadError(place, "a number is too large")
    return columns, Counts(**dict(zip(columns.names, numbers, strict=True))), address


def is_row_start(text: str) -> bool:
    """Return whether a line begins as a row does; lines of call graphs do not."""
    return _STARTS_ROW.match(text) is not None


def has_inner_row(text: str) -> bool:
    """Return whether a row stands behind other text, as in a listing with line numbers."""
    return _INNER_ROW.search(text) is not None


def parse_row(text: str, columns: Columns, place: Source) -> Row:
    """Return a row; raises ReadError for one that is cut off or has other columns."""
    match = columns.row.match(text)
    if match is None or (columns.has_code and len((match["rest"] or "").split()) < 2):  # symbol and object
        raise ReadError(
            place,
            "the row is cut off, or has other columns: a pager or a mail may have wrapped it. "
            "Write the report to a file (`perf c2c report --stdio > report.txt`)",
        )
    words = match["shares"].split()
    if len(words) != len(columns.names):
        raise ReadError(place, f"has {len(words)} shares, and the block has {len(columns.names)} counts")
    shares = tuple(float(word[:-1].replace(",", ".")) for word in words)
    if max(shares) > 100.5:
        raise ReadError(place, f"a share is {max(shares):.2f} %")
    offset = int(match["offset"], 16)
    if offset > _LARGEST_OFFSET:
        raise ReadError(place, f"the offset {match['offset']} is outside of every cache line")
    numbers = match["numbers"]
    code = None
    if columns.has_code:
        code = _code(match["rest"] or "", match["mode"] == "[k]")
        if match["verbose"]:
            code = replace(code, symbol=f"{code.symbol}...")
    return Row(shares, offset, _records(numbers, columns), _cpus(numbers), code)


def _records(numbers: str, columns: Columns) -> int | None:
    """Return the loads and stores of a row: the number before the CPUs."""
    words = numbers.split()
    return int(words[-2]) if columns.has_records and len(words) >= 5 and len(words[-2]) < 19 else None


def _cpus(numbers: str) -> int:
    """Return the number of CPUs: the last number before the symbol."""
    word = numbers.split()[-1]
    return int(word) if word.isdecimal() and len(word) < 10 else 0


def _code(text: str, is_kernel: bool) -> Code:
    """Return symbol and source; the object between them and the nodes after them are not kept."""
    parts = re.split(r"\s{2,}|\t", text.strip())
    if len(parts) >= 3:
        return Code(parts[0], parts[2] if _SOURCE.fullmatch(parts[2]) else "", is_kernel)
    words = text.split()  # an excerpt whose spaces were merged
    at = next((n for n in range(len(words) - 1, 1, -1) if _SOURCE.fullmatch(words[n])), None)
    if at is None:
        return Code(parts[0] if parts[1:] else " ".join(words[:1]), "", is_kernel)
    return Code(" ".join(words[: at - 1]), words[at], is_kernel)


def weigh(counts: Counts, columns: Columns, shares: tuple[float, ...], place: Source) -> Counts:
    """Return the counts of a row: shares of the block's counts. Raises ReadError for shares of nothing."""
    values = {}
    for name, share in zip(columns.names, shares, strict=True):
        total = getattr(counts, name)
        if share > 0 and total == 0:
            raise ReadError(place, f"has {share:.2f} % of 0 samples: the totals contradict the row")
        values[name] = round(share * total / 100)
    return Counts(**values)


def add(first: Counts, second: Counts) -> Counts:
    """Return the sum of counts."""
    return Counts(**{name: getattr(first, name) + getattr(second, name) for name in COLUMNS})
