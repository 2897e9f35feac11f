"""Reports of `perf c2c report --stdio`: cache lines, and the offsets in each that were touched."""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Source
from layoutlint.readers.profiles.records import COLUMNS, Code, Counts, LineBlock, Touch

TITLES = ("Shared Data Cache Line Table", "Shared Cache Line Distribution Pareto", "Trace Event Information")
TABLE, PARETO, _STATISTICS = TITLES
_TERMINAL_TITLE = re.compile(r"^\s*Cacheline 0x[0-9a-f]+")
_TABLE_ROW = re.compile(r"^\s*\d+\s.*\b0x[0-9a-fA-F]+")
_TOTAL = re.compile(r"^\s*Total records\s*:\s*(\d{1,18})\s*$")
_RULER = re.compile(r"^\s*#\s*\.{2,}(?:\s+\.{2,})+\s*$")
_DASHES = re.compile(r"^\s*+#?\s*+-{20,}\s*$")

_MOST_BLOCKS = 20_000
"""Cache lines that are kept. perf lists the hottest first, and by default none below 0.05 % of the HITMs."""
_MOST_ROWS = 100_000
"""Rows of one cache line: each is one offset and one place in the code."""
_MOST_CODES = 6
_MOST_PLACES = 1_000
"""Line numbers of the report that are kept for one offset."""
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


class _OpenTouch(Record):
    """The rows of one offset that were read so far."""

    counts: Counts = Counts()
    records: int | None = 0
    has_stores: bool = False
    has_snoops: bool = False
    cpus: int = 0
    codes: dict[Code, None] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)


class _Columns(Record, frozen=True):
    """The columns before the offset, and what the last numbers before the symbol are."""

    names: tuple[str, ...]
    has_records: bool
    row: re.Pattern[str] = _ROW
    has_code: bool = True
    """Whether rows have a symbol, which `--coalesce` leaves out unless it names `iaddr`."""


class _Row(Record, frozen=True):
    """A row on one offset and one place in the code."""

    shares: tuple[float, ...]
    """Percent of the block's counts, by column; each column of a whole block adds up to 100."""
    offset: int
    records: int | None
    cpus: int
    code: Code | None
    """None if the report does not name the code."""


def _parse_header(text: str, place: Source) -> _Columns | None:
    """Return the columns that the second line of a header names; None for another line.

    Raises ReadError for a column that is not known, and if there is none for offsets.
    """
    match = _HEADER.match(text)
    if match is None:
        if _OTHER_HEADER.match(text):
            raise ReadError(place, f"the table has no column `Offset`; {_ENGLISH}")
        return None
    names = tuple(_LABELS[label] for label in _LABEL.findall(match[1]))
    labels = re.split(r"\s{2,}", match[1].strip())
    unknown = [label for label in labels if _LABEL.sub("", label).strip()]
    if unknown or len(set(names)) < len(names):
        raise ReadError(place, f"the column {(unknown or [match[1]])[0]!r} is not known; {_ENGLISH}")
    return _columns(names, match[2])


def _columns(names: tuple[str, ...], after_offset: str) -> _Columns:
    """Return the columns of a header: those before the offset, and the text after it."""
    has_records = " records" in after_offset
    if "Code address" in after_offset:
        return _Columns(names, has_records)
    between = (("PA cnt", _DATA), ("Pid", _PID), ("Tid", _TID))
    middle = "".join(pattern for name, pattern in between if name in after_offset)
    numbers = rf"(?P<numbers>(?:-?\d+\s+){{{5 if has_records else 4}}})"
    words = r"\S+\s+\S" if "Object" in after_offset else r"\S"
    return _Columns(names, has_records, re.compile(f"{_SHARES}{middle}{numbers}(?P<rest>{words}.*)$"), False)


_ENGLISH = "reports of perf 4.10 to 7.2 are read, as `perf c2c report --stdio` prints them"


def _parse_block(text: str, columns: _Columns | None, place: Source) -> tuple[_Columns, Counts, int] | None:
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
            raise ReadError(place, f"{len(numbers)} counts do not fit the columns of the table; {_ENGLISH}")
        columns = _Columns(_USUAL[len(numbers)], True)
    address = int(match[2], 16)
    if address >= 1 << 64 or any(number >= _MOST for number in numbers):
        raise ReadError(place, "a number is too large")
    return columns, Counts(**dict(zip(columns.names, numbers, strict=True))), address


def _is_row_start(text: str) -> bool:
    """Return whether a line begins as a row does; lines of call graphs do not."""
    return _STARTS_ROW.match(text) is not None


def _has_inner_row(text: str) -> bool:
    """Return whether a row stands behind other text, as in a listing with line numbers."""
    return _INNER_ROW.search(text) is not None


def _parse_row(text: str, columns: _Columns, place: Source) -> _Row:
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
    return _Row(shares, offset, _records(numbers, columns), _cpus(numbers), code)


def _records(numbers: str, columns: _Columns) -> int | None:
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


def _weigh(counts: Counts, columns: _Columns, shares: tuple[float, ...], place: Source) -> Counts:
    """Return the counts of a row: shares of the block's counts. Raises ReadError for shares of nothing."""
    values = {}
    for name, share in zip(columns.names, shares, strict=True):
        total = getattr(counts, name)
        if share > 0 and total == 0:
            raise ReadError(place, f"has {share:.2f} % of 0 samples: the totals contradict the row")
        values[name] = round(share * total / 100)
    return Counts(**values)


def _add(first: Counts, second: Counts) -> Counts:
    """Return the sum of counts."""
    return Counts(**{name: getattr(first, name) + getattr(second, name) for name in COLUMNS})


class _OpenBlock(Record):
    """The cache line whose rows are being read."""

    address: int
    counts: Counts
    columns: _Columns
    line: int
    touches: dict[int, _OpenTouch] = field(default_factory=dict)
    sums: list[float] = field(default_factory=list)
    rows: int = 0


class Parser(Record):
    """Reads the tables of one report, line by line."""

    path: str
    keep: Callable[[int], bool]
    """Returns whether the line at an address is needed."""
    section: str = ""
    columns: _Columns | None = None
    is_peer: bool = False
    """Whether the last report counts peer snoops; a file can have several."""
    kinds: set[bool] = field(default_factory=set)
    """The values of `is_peer` for all cache lines."""
    ruler: tuple[tuple[int, int], ...] = ()
    comments: list[str] = field(default_factory=list)
    table: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Local and remote counts of the first table by address, and the line."""
    odd_row: int = 0
    """The line of the first row of the first table whose columns are not known."""
    blocks: list[LineBlock] = field(default_factory=list)
    omitted: int = 0
    is_used: bool = False
    has_tables: bool = False
    """Whether a table of cache lines is there, if only an empty one; `--stats` prints none."""
    records: int | None = None
    """All samples, as the statistics state them."""
    block: _OpenBlock | None = None

    def take(self, number: int, text: str) -> None:
        """Read one line of the report; raises ReadError with its place."""
        title = next((each for each in TITLES if each in text), None)
        if title is not None:
            self._end_block()
            if title == TABLE or (title == PARETO and self.section != TABLE):
                self.is_peer = False
            self.section, self.columns, self.ruler, self.is_used = title, None, (), True
            self.comments = []
            self.has_tables |= title != _STATISTICS
            return
        place = Source(self.path, number)
        if _TERMINAL_TITLE.match(text):
            raise ReadError(
                place, "is a copy of perf's screen; write the report with `perf c2c report --stdio`"
            )
        if text.lstrip().startswith("#") and not _DASHES.match(text) and self._take_header(text, place):
            return
        total = _TOTAL.match(text) if self.section == _STATISTICS else None
        if total is not None:
            self.records = (self.records or 0) + int(total[1])
        if self.section == TABLE:
            self._take_table_row(number, text)
        if self.block is not None and self.block.rows and _DASHES.match(text):
            self._end_block()
        if self.section != _STATISTICS:
            self._take_line(number, text, place)

    def _take_header(self, text: str, place: Source) -> bool:
        """Read a line of a header; return False for the head of a block behind `#`."""
        columns = _parse_header(text, place)
        if columns is not None:
            self.columns = columns
            self.is_peer |= any("Peer Snoop" in each for each in self.comments[-3:])
        self.is_peer |= self.section == TABLE and "Load Peer" in text
        if _RULER.match(text):
            self.ruler = tuple(match.span() for match in re.finditer(r"\.+", text))
        elif not self.ruler:
            self.comments = [*self.comments[-3:], text]
        return columns is not None or _parse_block(text, self.columns, place) is None

    def _take_line(self, number: int, text: str, place: Source) -> None:
        """Read the head of a block, or one of its rows; other lines are texts around the table."""
        if _is_row_start(text):
            if self.block is None:
                raise ReadError(place, "a row comes before the line with the address of its cache line")
            self._add(_parse_row(text, self.block.columns, place), number, place)
            return
        if _has_inner_row(text):
            raise ReadError(place, "the row begins with other text; print the report without line numbers")
        block = _parse_block(text, self.columns, place)
        if block is not None:
            self._end_block()
            columns, counts, address = block
            self.is_used = self.has_tables = True
            self.kinds.add(self.is_peer)
            if len(self.kinds) > 1:
                raise ReadError(
                    place, "some tables count HITMs, others peer snoops; give each report as its own file"
                )
            self.block = _OpenBlock(address, counts, columns, number, sums=[0.0] * len(columns.names))
            self._compare_totals(place)

    def _compare_totals(self, place: Source) -> None:
        """Raise ReadError if the two tables contradict each other."""
        block = self.block
        listed = self.table.get(block.address) if block is not None else None
        if block is None or listed is None:
            return
        local, remote, line = listed
        if (local, remote) != (block.counts.local, block.counts.remote):
            raise ReadError(
                place,
                f"has {block.counts.local:,} local and {block.counts.remote:,} remote hits, "
                f"and line {line} has {local:,} and {remote:,} for {block.address:#x}: a contradiction",
            )

    def _add(self, row: _Row, number: int, place: Source) -> None:
        block = self.block
        assert block is not None
        block.rows += 1
        if block.rows > _MOST_ROWS:
            raise ReadError(place, f"the cache line has more than {_MOST_ROWS:,} rows")
        counts = _weigh(block.counts, block.columns, row.shares, place)
        block.sums = [total + share for total, share in zip(block.sums, row.shares, strict=True)]
        if max(block.sums) > 100.5 + 0.005 * block.rows:
            raise ReadError(place, f"the shares add up to {max(block.sums):.2f} %")
        touch = block.touches.setdefault(row.offset, _OpenTouch())
        touch.counts = _add(touch.counts, counts)
        touch.records = None if row.records is None or touch.records is None else touch.records + row.records
        touch.cpus = max(touch.cpus, row.cpus)
        shares = dict(zip(block.columns.names, row.shares, strict=True))
        touch.has_stores |= any(shares.get(name) for name in ("hits", "misses", "unplaced"))
        touch.has_snoops |= any(shares.get(name) for name in ("remote", "local", "peer"))
        if row.code is not None and len(touch.codes) < _MOST_CODES:
            touch.codes[row.code] = None
        if len(touch.lines) < _MOST_PLACES:
            touch.lines.append(number)

    def _take_table_row(self, number: int, text: str) -> None:
        """Read a row of the first table, whose columns are as wide as the ruler."""
        words = text.split()
        is_row = _TABLE_ROW.match(text) is not None
        if is_row and (len(words) != len(self.ruler) or not self.comments):
            self.odd_row = self.odd_row or number
        if not is_row or len(words) != len(self.ruler) or not self.comments:
            return
        names = [self.comments[-1][start:end].strip() for start, end in self.ruler]
        local = _first_index(names, ("LclHitm", "Lcl", "Local"))
        remote = _first_index(names, ("RmtHitm", "Rmt", "Remote"))
        if "Address" not in names or local is None or remote is None:
            self.odd_row = self.odd_row or number
            return
        address, numbers = words[names.index("Address")], (words[local], words[remote])
        is_number = all(word.isdecimal() and len(word) < 19 for word in numbers)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", address) and is_number and len(self.table) < _MOST_BLOCKS:
            self.table[int(address, 16)] = int(numbers[0]), int(numbers[1]), number

    def _end_block(self) -> None:
        block, self.block = self.block, None
        if block is None:
            return
        if len(self.blocks) < _MOST_BLOCKS and self.keep(block.address):
            touches = tuple(_close(offset, touch) for offset, touch in sorted(block.touches.items()))
            self.blocks.append(LineBlock(block.address, block.counts, touches, block.line, _coverage(block)))
        else:
            self.omitted += 1

    def finish(self) -> tuple[LineBlock, ...]:
        """Return all cache lines; raises ReadError if there is nothing but rows that are not known."""
        self._end_block()
        if self.odd_row and not (self.blocks or self.omitted or self.table):
            place = Source(self.path, self.odd_row)
            raise ReadError(place, f"the row has other columns than a table of perf; {_ENGLISH}")
        return tuple(self.blocks)


def _first_index(names: list[str], wanted: tuple[str, ...]) -> int | None:
    return next((number for number, name in enumerate(names) if name in wanted), None)


def _coverage(block: _OpenBlock) -> float:
    """Return how much of the counts the rows have, in the column that lacks most."""
    totals = [getattr(block.counts, name) for name in block.columns.names]
    return min((share for share, total in zip(block.sums, totals, strict=True) if total), default=100.0)


def _close(offset: int, touch: _OpenTouch) -> Touch:
    return Touch(
        offset,
        touch.counts,
        touch.records,
        touch.has_stores,
        touch.has_snoops,
        touch.cpus,
        tuple(touch.codes),
        tuple(touch.lines),
    )
