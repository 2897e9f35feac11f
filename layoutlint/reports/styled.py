"""Lines of text with styles, rendered plain or with the colours of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from layoutlint import escapes

Span = tuple[str, str]
"""Text, and its style: names of `_SGR`, such as `bold red`; the empty style is plain."""
Line = tuple[Span, ...]

_SGR = {
    "bold": "1", "dim": "2",
    "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
}  # fmt: skip
"""Parameters of SGR (select graphic rendition), by the name of a style."""


def line(*parts: str | Span) -> Line:
    """Return a line of spans and plain text, without empty text."""
    return tuple((part, "") if isinstance(part, str) else part for part in parts if part)


def render_plain(lines: Iterable[Line]) -> str:
    """Return the lines without styles."""
    return escapes.lines("".join(text for text, _ in spans).rstrip() for spans in lines)


def render_colored(lines: Iterable[Line]) -> str:
    """Return the lines with the escape sequences of a terminal with 16 colours (ECMA-48, SGR)."""
    return "".join([f"{_color(spans)}\n" for spans in lines])


def _color(spans: Line) -> str:
    texts = escapes.parts([text for text, _ in spans])
    while texts and not texts[-1].rstrip():
        texts.pop()
    texts[-1:] = [text.rstrip() for text in texts[-1:]]
    styled = zip(texts, (style for _, style in spans), strict=False)
    return "".join(f"\x1b[{_sgr(style)}m{text}\x1b[0m" if style else text for text, style in styled)


def _sgr(style: str) -> str:
    return ";".join(_SGR[name] for name in style.split())


def wrap(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines wrapped to `width` columns; the rest of a line is indented more than its start."""
    for text in lines:
        indent = " " * (len(text) - len(text.lstrip(" ")))
        rows = textwrap.wrap(
            text.lstrip(" "), width, initial_indent=indent, subsequent_indent=f"{indent}    ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        yield from rows or ("",)


def paragraph(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    """Yield a label, and text wrapped to `width` columns and indented by the length of the label."""
    indent = " " * len(label)
    rows = textwrap.wrap(text, max(width - len(label), 30), break_long_words=False, break_on_hyphens=False)
    for number, row in enumerate(rows or [""]):
        yield line(indent if number else (label, "bold" if label else ""), (row, style))
