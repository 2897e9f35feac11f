"""Lines of text with styles, which print with colour or as plain bytes, the same characters either way."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator

from layoutlint import escapes

Span = tuple[str, str]
"""Text, and its style as rich names styles; the empty style is plain."""
Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line of spans and plain text."""
    return tuple((part, "") if isinstance(part, str) else part for part in parts if part)


def plain(lines: Iterable[Line]) -> str:
    """The lines without styles."""
    return escapes.lines("".join(text for text, _ in spans).rstrip() for spans in lines)


def colored(lines: Iterable[Line]) -> str:
    """The lines with the escape sequences of a terminal with 16 colours."""
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out, force_terminal=True, color_system="standard", no_color=False, highlight=False, _environ={}
    )
    for spans in lines:
        shown = escapes.parts([text for text, _ in spans])
        text = Text.assemble(*((part, style) for part, (_, style) in zip(shown, spans, strict=True)))
        text.rstrip()
        console.print(text, soft_wrap=True)
    return out.getvalue()


def paragraph(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    """A label, and text wrapped to `width` columns with its further lines below the text's first."""
    indent = " " * len(label)
    rows = textwrap.wrap(text, max(width - len(label), 30), break_long_words=False, break_on_hyphens=False)
    for number, row in enumerate(rows or [""]):
        yield line(indent if number else (label, "bold"), (row, style))
