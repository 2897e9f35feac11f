"""Markdown and plain text for editors, in which names and sentences of files mean nothing.

Many editors show entities and tags as they are. So a backslash escapes signs, and only where they would begin
something.
"""

from __future__ import annotations

import re

from layoutlint import escapes
from layoutlint.model.record import Record
from layoutlint.phrases import shorten_middle

_ESCAPED = re.compile(r"[\\`*<\[|~]|(?<!\w)_|_(?!\w)|&(?=#?\w)")
_CODE = re.compile(r"`([^`]*)`")
_TICKS = re.compile("`+")
_MOST_IN_NAME, _MOST_IN_TEXT, _MOST_ROWS = 300, 2_000, 250
"""The characters of a name, and of a sentence with its names; the rows of a block."""


class Markup(Record, frozen=True):
    """How a page is written: as Markdown, or as plain text for clients without it."""

    is_plain: bool = False

    def code(self, name: str) -> str:
        """Return text as code."""
        shown = escapes.inline(shorten_middle(name, _MOST_IN_NAME))
        if self.is_plain:
            return f"`{shown}`"
        fence = _fence(shown, 1)
        pad = " " if len(fence) > 1 else ""
        return f"{fence}{pad}{shown}{pad}{fence}"

    def cell(self, name: str) -> str:
        """Return text as code in a table."""
        return self.code(name) if self.is_plain else self.code(name).replace("|", "\\|")

    def text(self, sentence: str) -> str:
        """Return a sentence, in which names in backquotes are code, and everything else is plain text."""
        pieces = _CODE.split(shorten_middle(sentence, _MOST_IN_TEXT))
        return "".join(self.code(piece) if at % 2 else self.plain(piece) for at, piece in enumerate(pieces))

    def plain(self, sentence: str) -> str:
        """Return text without any meaning."""
        shown = escapes.inline(shorten_middle(" ".join(sentence.split("\n")), _MOST_IN_TEXT))
        return shown if self.is_plain else _ESCAPED.sub(r"\\\g<0>", shown)

    def strong(self, words: str) -> str:
        """Return words of the program that stand out."""
        return words if self.is_plain else f"**{words}**"

    def emphasis(self, words: str) -> str:
        """Return words of the program that stand out a little."""
        return words if self.is_plain else f"*{words}*"

    def block(self, content: str) -> str:
        """Return rows of text as a block of code that nothing in it ends."""
        rows = content.rstrip("\n").split("\n")
        if len(rows) > _MOST_ROWS:
            rows = [*rows[:_MOST_ROWS], f"... {len(rows) - _MOST_ROWS} more rows"]
        content = "\n".join(rows)
        fence = _fence(content, 3)
        return content if self.is_plain else f"{fence}text\n{content}\n{fence}"


def _fence(content: str, least: int) -> str:
    """Return more backquotes than any row of them in a text has."""
    longest = max(map(len, _TICKS.findall(content)), default=0)
    return "`" * max(least, longest + 1)
