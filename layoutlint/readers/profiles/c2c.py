"""Reports of `perf c2c report --stdio`: cache lines, and the offsets in each that were touched."""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutlint.errors import ReadError
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Source
from layoutlint.readers.profiles.c2c_rows import (
    ENGLISH,
    Columns,
    Row,
    add,
    has_inner_row,
    is_row_start,
    parse_block,
    parse_header,
    parse_row,
    weigh,
)
from layoutlint.readers.profiles.records import Code, Counts, LineBlock, Touch

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


class _OpenTouch(Record):
    """The rows of one offset that were read so far."""

    counts: Counts = Counts()
    records: int | None = 0
    has_stores: bool = False
    has_snoops: bool = False
    cpus: int = 0
    codes: dict[Code, None] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)


class _OpenBlock(Record):
    """The cache line whose rows are being read."""

    address: int
    counts: Counts
    columns: Columns
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
    columns: Columns | None = None
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
        columns = parse_header(text, place)
        if columns is not None:
            self.columns = columns
            self.is_peer |= any("Peer Snoop" in each for each in self.comments[-3:])
        self.is_peer |= self.section == TABLE and "Load Peer" in text
        if _RULER.match(text):
            self.ruler = tuple(match.span() for match in re.finditer(r"\.+", text))
        elif not self.ruler:
            self.comments = [*self.comments[-3:], text]
        return columns is not None or parse_block(text, self.columns, place) is None

    def _take_line(self, number: int, text: str, place: Source) -> None:
        """Read the head of a block, or one of its rows; other lines are texts around the table."""
        if is_row_start(text):
            if self.block is None:
                raise ReadError(place, "a row comes before the line with the address of its cache line")
            self._add(parse_row(text, self.block.columns, place), number, place)
            return
        if has_inner_row(text):
            raise ReadError(place, "the row begins with other text; print the report without line numbers")
        block = parse_block(text, self.columns, place)
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

    def _add(self, row: Row, number: int, place: Source) -> None:
        block = self.block
        assert block is not None
        block.rows += 1
        if block.rows > _MOST_ROWS:
            raise ReadError(place, f"the cache line has more than {_MOST_ROWS:,} rows")
        counts = weigh(block.counts, block.columns, row.shares, place)
        block.sums = [total + share for total, share in zip(block.sums, row.shares, strict=True)]
        if max(block.sums) > 100.5 + 0.005 * block.rows:
            raise ReadError(place, f"the shares add up to {max(block.sums):.2f} %")
        touch = block.touches.setdefault(row.offset, _OpenTouch())
        touch.counts = add(touch.counts, counts)
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
            raise ReadError(place, f"the row has other columns than a table of perf; {ENGLISH}")
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
