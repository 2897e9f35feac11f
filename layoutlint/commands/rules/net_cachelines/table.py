"""Parses the tables of Linux's Documentation/networking/net_cachelines: fields of the fast paths.

Two formats are in use: columns separated by runs of spaces, with `-` for no access (Linux 6.8 to 6.12), and
simple tables of reStructuredText, with columns marked by runs of `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.model.record import Record, field

SIDES = ("tx", "rx")
ACCESSES = {"read_mostly": "read-mostly", "read_write": "hot-write", "write_mostly": "hot-write"}
"""The accesses in the tables, and the same in rule files."""

_COLUMNS = ("Type", "Name", "fastpath_tx_access", "fastpath_rx_access", "Comments")
_TITLE = re.compile(r"((?!\d)\w+) (struct|enum) fast path usage", re.ASCII)
_BORDER = re.compile(r"=+(?: +=+)+ *")
_CHUNK = re.compile(r"\S+(?: \S+)*")
_NAME = re.compile(r"((?!\d)\w+(?:\.\w+)*)(?:\[[^\]]*\])*(?::\d+)?;?", re.ASCII)
_INNER = re.compile(r"struct[ _](\w+?)_(?:unsigned_)?(?:[us](?:8|16|32|64)|char|short|int|long)(?::\d+)?")
"""`struct icsk_ack_u8`: a u8 of the member `icsk_ack`."""

_Cells = dict[str, str]


class Row(Record, frozen=True):
    """One field of the table."""

    path: str
    accesses: tuple[str, ...]
    """The access of each side as rule files call it; empty for none."""
    comment: str
    """The functions in the column `Comments`."""
    line: int


class CachelineTable(Record, frozen=True):
    """One table, about one struct."""

    struct: str
    rows: tuple[Row, ...]
    left_out: tuple[str, ...]
    """Rows that name no field or a repeated one, each as `file:line: reason`."""


class _Text(Record, frozen=True):
    path: str
    lines: list[str]
    mistakes: list[str] = field(default_factory=list)

    def wrong(self, index: int, reason: str) -> None:
        self.mistakes.append(f"{self.path}:{index + 1}: {reason}")


def parse(text: str, path: str, struct: str | None = None) -> CachelineTable:
    """Parse the table in a document; `struct` names its struct if the title does not.

    Raises RuleFileError with all mistakes, each with file and line.
    """
    source = _Text(path, text.replace("\r\n", "\n").split("\n"))
    header, starts = _header(source)
    struct_name = struct or _title(source)
    rows, left_out = [], []
    for index, cells in _rows(source, header, starts):
        name_match = _NAME.fullmatch(cells["Name"])
        accesses = tuple(_access(source, index, cells[f"fastpath_{side}_access"]) for side in SIDES)
        if name_match is None:
            left_out.append(f"{path}:{index + 1}: `{cells['Name']}` is not a field name")
        else:
            inner = _INNER.fullmatch(cells["Type"])
            prefix = f"{inner[1]}." if inner else ""
            rows.append(Row(prefix + name_match[1], accesses, cells["Comments"], index + 1))
    if not rows and not source.mistakes:
        source.wrong(header, "the table has no rows")
    merged = tuple(_merge_rows(source, rows, left_out))
    if source.mistakes:
        raise RuleFileError(tuple(source.mistakes))
    return CachelineTable(struct_name, merged, tuple(left_out))


def _header(source: _Text) -> tuple[int, dict[str, int]]:
    """Return the index of the header line, and the start of each column."""
    for index, line in enumerate(source.lines):
        words = line.split()
        if words[:1] == ["Type"] or set(words) & {*_COLUMNS[2:4]}:
            starts = {_column_name(match[0]): match.start() for match in re.finditer(r"\S+", line)}
            missing = [f"`{column}`" for column in _COLUMNS if column not in starts]
            if missing:
                source.wrong(index, f"the table has no column {', '.join(missing)}")
                raise RuleFileError(tuple(source.mistakes))
            if sorted(_COLUMNS, key=lambda column: starts[column]) != [*_COLUMNS]:
                source.wrong(index, f"the columns are not in the order {', '.join(_COLUMNS)}")
                raise RuleFileError(tuple(source.mistakes))
            return index, starts
    raise RuleFileError((f"{source.path}: no table with the columns {', '.join(_COLUMNS)}",))


def _column_name(word: str) -> str:
    return "Comments" if word.lower() in ("comment", "comments") else word


def _title(source: _Text) -> str:
    for index, line in enumerate(source.lines):
        match = _TITLE.match(line)
        if match and match[2] == "enum":
            reason = f"the table is about counters of an enum, not about the fields of a struct: `{line}`"
            raise RuleFileError((f"{source.path}:{index + 1}: {reason}",))
        if match:
            return match[1]
    raise RuleFileError((f"{source.path}: the title does not name the struct: pass --struct NAME",))


def _rows(source: _Text, header: int, starts: dict[str, int]) -> Iterator[tuple[int, _Cells]]:
    """Yield the rows below the header up to the end of the table, each with its line index."""
    above = source.lines[header - 1] if header else ""
    is_simple = _BORDER.fullmatch(above) is not None
    first = header + 2 if is_simple else header + 1
    spans = [match.span() for match in re.finditer("=+", above)] if is_simple else []
    if is_simple and len(spans) != len(_COLUMNS):
        source.wrong(header - 1, f"{len(spans)} columns in the border, {len(_COLUMNS)} in the header")
        return
    for index, line in enumerate(source.lines[first:], first):
        if is_simple and _BORDER.fullmatch(line):
            _refuse_rows_behind(source, index)
            return
        if line.startswith(".."):
            continue
        if not is_simple and not line.strip():
            _refuse_rows_behind(source, index)
            return
        cells = (
            _cells_between(source, index, line, spans)
            if is_simple
            else _cells_near(source, index, line, starts)
        )
        if cells is not None and any(cells.values()):
            yield index, cells
    if is_simple:
        source.wrong(len(source.lines) - 1, "the table has no end: the line of `=` below it is missing")


def _refuse_rows_behind(source: _Text, end: int) -> None:
    """Note the first row or header that follows the end of the table."""
    for index, line in enumerate(source.lines[end + 1 :], end + 1):
        if not {*ACCESSES, *_COLUMNS[2:4]}.isdisjoint(line.split()):
            source.wrong(index, f"the row comes after the end of the table in line {end + 1}")
            return


def _cells_between(source: _Text, index: int, line: str, spans: list[tuple[int, int]]) -> _Cells | None:
    """Return the cells of a simple table; the last one extends to the end of the line."""
    if any(not line[start - 1 : start + 1].count(" ") and start < len(line) for start, _ in spans[1:]):
        source.wrong(index, f"a word extends over two columns: `{line.strip()[:80]}`")
        return None
    ends = [start for start, _ in spans[1:]] + [len(line)]
    texts = [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
    return dict(zip(_COLUMNS, texts, strict=True))


def _cells_near(source: _Text, index: int, line: str, starts: dict[str, int]) -> _Cells | None:
    """Return the cells of a row separated by spaces; a lone access goes to the nearest column."""
    chunks = [(match.start(), match[0]) for match in _CHUNK.finditer(line)]
    type_start, first = chunks[0]
    if type_start + len(first) > starts["Name"]:  # a long type, and one space between it and the name
        kind, _, name = first.rpartition(" ")
        chunks[:1] = [(type_start, kind), (type_start + len(kind) + 1, name)]
    if len(chunks) < 2:
        source.wrong(index, f"a row has no `Name`: `{line.strip()[:80]}`")
        return None
    cells: dict[str, list[str]] = {column: [] for column in _COLUMNS}
    cells["Type"], cells["Name"] = [chunks[0][1]], [chunks[1][1]]
    columns = {name: start for name, start in starts.items() if name in _COLUMNS[2:]}
    for start, text in chunks[2:]:
        column = min(columns, key=lambda name: abs(columns[name] - start))
        cells[column].append(text)
    return {column: " ".join(texts) for column, texts in cells.items()}


def _access(source: _Text, index: int, word: str) -> str:
    if word in ("", "-"):
        return ""
    if word not in ACCESSES:
        hint = did_you_mean(word, ACCESSES) or f" (known: {', '.join(ACCESSES)})"
        source.wrong(index, f"`{word}` is not an access{hint}")
    return ACCESSES.get(word, "")


def _merge_rows(source: _Text, rows: list[Row], left_out: list[str]) -> Iterator[Row]:
    """Yield one row for each field, by line; note rows with contradicting accesses."""
    first: dict[str, Row] = {}
    for row in rows:
        other = first.setdefault(row.path, row)
        if not any(other.accesses):
            first[row.path] = row
        if other is row:
            continue
        if any(row.accesses) and any(other.accesses) and row.accesses != other.accesses:
            source.wrong(row.line - 1, f"the row of `{row.path}` contradicts the one in line {other.line}")
        winner = first[row.path]
        lost = other if winner is row else row
        left_out.append(f"{source.path}:{lost.line}: `{row.path}` has a row in line {winner.line} as well")
    yield from sorted(first.values(), key=lambda row: row.line)
