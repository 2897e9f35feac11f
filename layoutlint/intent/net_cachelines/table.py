"""Tables of Linux's Documentation/networking/net_cachelines: which fields the fast paths use, and how.

Two formats are in use: columns that runs of spaces part, with `-` for no access (Linux 6.8 to 6.12), and
simple tables of reStructuredText, whose columns stand below runs of `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from layoutlint.errors import RuleFileError, did_you_mean

SIDES = ("tx", "rx")
ACCESSES = {"read_mostly": "read-mostly", "read_write": "hot-write", "write_mostly": "hot-write"}
"""The words of the tables, and those of rule files."""

_COLUMNS = ("Type", "Name", "fastpath_tx_access", "fastpath_rx_access", "Comments")
_TITLE = re.compile(r"((?!\d)\w+) (struct|enum) fast path usage", re.ASCII)
_BORDER = re.compile(r"=+(?: +=+)+ *")
_CHUNK = re.compile(r"\S+(?: \S+)*")
_NAME = re.compile(r"((?!\d)\w+(?:\.\w+)*)(?:\[[^\]]*\])*(?::\d+)?;?", re.ASCII)
_INNER = re.compile(r"struct[ _](\w+?)_(?:unsigned_)?(?:[us](?:8|16|32|64)|char|short|int|long)(?::\d+)?")
"""`struct icsk_ack_u8`: a u8 of the member `icsk_ack`."""

_Cells = dict[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One field of the table."""

    path: str
    accesses: tuple[str, ...]
    """The access of each side in the words of rule files, empty where it has none."""
    comment: str
    """The functions that the table names."""
    line: int


@dataclass(frozen=True, slots=True)
class CachelineTable:
    """One table, about one struct."""

    struct: str
    rows: tuple[Row, ...]
    left_out: tuple[str, ...]
    """Rows that name no field, or one that has a row already, each as `file:line: reason`."""


@dataclass(frozen=True, slots=True)
class _Text:
    path: str
    lines: list[str]
    mistakes: list[str] = field(default_factory=list)

    def wrong(self, index: int, reason: str) -> None:
        self.mistakes.append(f"{self.path}:{index + 1}: {reason}")


def parse(text: str, path: str, struct: str | None = None) -> CachelineTable:
    """The table in a document; `struct` is the one that it is about where its title does not say.

    Raises RuleFileError with all mistakes, each with file and line.
    """
    source = _Text(path, text.replace("\r\n", "\n").split("\n"))
    header, starts = _header(source)
    name = struct or _title(source)
    rows, left_out = [], []
    for index, cells in _rows(source, header, starts):
        found = _NAME.fullmatch(cells["Name"])
        accesses = tuple(_access(source, index, cells[f"fastpath_{side}_access"]) for side in SIDES)
        if found is None:
            left_out.append(f"{path}:{index + 1}: `{cells['Name']}` is no name of a field")
        else:
            inner = _INNER.fullmatch(cells["Type"])
            prefix = f"{inner[1]}." if inner else ""
            rows.append(Row(prefix + found[1], accesses, cells["Comments"], index + 1))
    if not rows and not source.mistakes:
        source.wrong(header, "the table has no rows")
    once = tuple(_once(source, rows, left_out))
    if source.mistakes:
        raise RuleFileError(tuple(source.mistakes))
    return CachelineTable(name, once, tuple(left_out))


def _header(source: _Text) -> tuple[int, dict[str, int]]:
    """The line that names the columns, and where each of them starts."""
    for index, line in enumerate(source.lines):
        words = line.split()
        if words[:1] == ["Type"] or set(words) & {*_COLUMNS[2:4]}:
            starts = {_spelled(found[0]): found.start() for found in re.finditer(r"\S+", line)}
            missing = [f"`{column}`" for column in _COLUMNS if column not in starts]
            if missing:
                source.wrong(index, f"the table has no column {', '.join(missing)}")
                raise RuleFileError(tuple(source.mistakes))
            if sorted(_COLUMNS, key=lambda column: starts[column]) != [*_COLUMNS]:
                source.wrong(index, f"the columns stand in another order than {', '.join(_COLUMNS)}")
                raise RuleFileError(tuple(source.mistakes))
            return index, starts
    raise RuleFileError((f"{source.path}: there is no table with the columns {', '.join(_COLUMNS)}",))


def _spelled(word: str) -> str:
    return "Comments" if word.lower() in ("comment", "comments") else word


def _title(source: _Text) -> str:
    for index, line in enumerate(source.lines):
        found = _TITLE.match(line)
        if found and found[2] == "enum":
            reason = f"the table is about counters of an enum, not about the fields of a struct: `{line}`"
            raise RuleFileError((f"{source.path}:{index + 1}: {reason}",))
        if found:
            return found[1]
    raise RuleFileError(
        (f"{source.path}: the title does not say which struct this is about; say --struct NAME",)
    )


def _rows(source: _Text, header: int, starts: dict[str, int]) -> Iterator[tuple[int, _Cells]]:
    """The rows below the header, as far as the table goes."""
    above = source.lines[header - 1] if header else ""
    is_simple = _BORDER.fullmatch(above) is not None
    first = header + 2 if is_simple else header + 1
    spans = [found.span() for found in re.finditer("=+", above)] if is_simple else []
    if is_simple and len(spans) != len(_COLUMNS):
        source.wrong(header - 1, f"{len(spans)} columns are drawn, and {len(_COLUMNS)} named")
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
        cells = _simple(source, index, line, spans) if is_simple else _loose(source, index, line, starts)
        if cells is not None and any(cells.values()):
            yield index, cells
    if is_simple:
        source.wrong(len(source.lines) - 1, "the table does not end: there is no line of `=` below it")


def _refuse_rows_behind(source: _Text, end: int) -> None:
    """Notes the first row, or head of another table, behind the line that ends the table."""
    for index, line in enumerate(source.lines[end + 1 :], end + 1):
        if not {*ACCESSES, *_COLUMNS[2:4]}.isdisjoint(line.split()):
            source.wrong(index, f"stands behind the end of the table, which is in line {end + 1}")
            return


def _simple(source: _Text, index: int, line: str, spans: list[tuple[int, int]]) -> _Cells | None:
    """The cells of a simple table; the last one goes on to the end of the line."""
    if any(not line[start - 1 : start + 1].count(" ") and start < len(line) for start, _ in spans[1:]):
        source.wrong(index, f"a word stands across two columns: `{line.strip()[:80]}`")
        return None
    ends = [start for start, _ in spans[1:]] + [len(line)]
    texts = [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
    return dict(zip(_COLUMNS, texts, strict=True))


def _loose(source: _Text, index: int, line: str, starts: dict[str, int]) -> _Cells | None:
    """The cells of a row that spaces part; an access without its neighbour is that of the nearer column."""
    chunks = [(found.start(), found[0]) for found in _CHUNK.finditer(line)]
    at, first = chunks[0]
    if at + len(first) > starts["Name"]:  # a long type, and one space between it and the name
        kind, _, name = first.rpartition(" ")
        chunks[:1] = [(at, kind), (at + len(kind) + 1, name)]
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
        source.wrong(index, f"`{word}` is no access{hint}")
    return ACCESSES.get(word, "")


def _once(source: _Text, rows: list[Row], left_out: list[str]) -> Iterator[Row]:
    """One row of each field, the one with an access; two that say different ones are a mistake."""
    first: dict[str, Row] = {}
    for row in rows:
        other = first.setdefault(row.path, row)
        if not any(other.accesses):
            first[row.path] = row
        if other is row:
            continue
        if any(row.accesses) and any(other.accesses) and row.accesses != other.accesses:
            source.wrong(row.line - 1, f"the row of `{row.path}` contradicts the one in line {other.line}")
        kept = first[row.path]
        lost = other if kept is row else row
        left_out.append(f"{source.path}:{lost.line}: `{row.path}` has a row in line {kept.line} as well")
    yield from sorted(first.values(), key=lambda row: row.line)
