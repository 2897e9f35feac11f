"""Renders the Markdown of manuals for terminals: headings, paragraphs, lists, tables, quotes and code.

This is the part of Markdown that the manuals use; it takes a hundredth of the start-up time of a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.reports.styled import Line, line, paragraph

_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
_EMPHASIS = re.compile(r"(?<![\w`*])\*(\w+)\*(?![\w`*])")
_LEAD = re.compile(r"\*\*(.+?)\.\*\* +", re.S)
"""A paragraph that begins with its subject in bold."""
_ITEM = re.compile(r"^(?=- )", re.M)
_FENCE = "```"


def render_lines(text: str, width: int) -> Iterator[Line]:
    """Yield a Markdown text as lines of up to `width` columns; code keeps its own."""
    for number, block in enumerate(_blocks(text)):
        if number:
            yield line()
        yield from _block(block, width)


def _blocks(text: str) -> Iterator[str]:
    """Yield the blocks between empty lines; a block of code is one."""
    block: list[str] = []
    is_code = False
    for row in text.splitlines():
        is_code ^= row.startswith(_FENCE)
        if row or is_code:
            block.append(row)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def _block(block: str, width: int) -> Iterator[Line]:
    if block.startswith("#"):
        yield line((block.lstrip("# "), "bold cyan"))
    elif block.startswith(_FENCE):
        yield from (line("    ", (row, "green")) for row in block.split("\n")[1:-1])
    elif block.startswith("|"):
        yield from _table(block, width)
    elif block.startswith("> "):
        yield from paragraph("  ", _prose(re.sub(r"^> ?", "", block, flags=re.M)), width)
    elif block.startswith("- "):
        for item in _ITEM.split(block)[1:]:
            yield from paragraph("- ", _prose(item[2:]), width)
    elif lead := _LEAD.match(block):
        yield line((f"{lead[1]}:", "bold"))
        yield from paragraph("  ", _prose(block[lead.end() :]), width)
    else:
        yield from paragraph("", _prose(block), width)


def _prose(text: str) -> str:
    return _EMPHASIS.sub(r"\1", _LINK.sub(r"\1", " ".join(text.split())))


def _table(block: str, width: int) -> Iterator[Line]:
    """Yield the rows of a table as a list: the first cell, with the others below it."""
    head, _, *rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in block.split("\n")]
    for row in rows:
        flags = [name if cell == "yes" else cell for name, cell in zip(head[1:-1], row[1:-1], strict=True)]
        yield line("  ", (row[0].strip("`"), "bold"), f": {', '.join(filter(None, flags))}")
        yield from paragraph("      ", _prose(row[-1]), width)
