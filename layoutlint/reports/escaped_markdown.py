"""Text for Markdown that a change cannot misuse: it mentions nobody, and has no links, references or HTML.

GitHub and GitLab search the rendered text for mentions and references, where a character and its entity are
the same (github/markup issue 1168, dependabot-core pull request 3157). So a zero-width space keeps a sign
from what follows.
"""

from __future__ import annotations

import re

from layoutlint import escapes
from layoutlint.phrases import shorten_middle

_APART = "&#8203;"
"""A zero-width space."""
_ESCAPED = re.compile(
    r"(?P<sign>[@#!~%$&^](?=[^\s.,;:)]|$))"  # GitLab has !1, ~label, %milestone, $1, &1 and ^alert as well
    r"|(?P<link>:(?=//)|\b[Ww]{3}(?=\.))"
    r"|^(?P<start>\s*\d*)[-+=.]"  # a list, a line, the heading above it
    r"|[@#!~$&<>*_|\\\[\]`^]"
)
_CODE = re.compile(r"`([^`]*)`")
_SIMPLE = re.compile(r"[^`|\\<>&@]*[^`|\\<>&@\s]")
_MOST_IN_NAME, _MOST_IN_TEXT = 300, 2_000
"""The characters of a name, and of a sentence with its names."""


def code(text: str) -> str:
    """Return text as code; what could end the code, or means something in HTML, is escaped."""
    shown = escapes.inline(shorten_middle(text, _MOST_IN_NAME))
    return f"`{shown}`" if _SIMPLE.fullmatch(shown) else f"<code>{_harmless(shown)}</code>"


def text(sentence: str) -> str:
    """Return a sentence, in which names in backquotes are code, and everything else is plain text."""
    pieces = _CODE.split(shorten_middle(sentence, _MOST_IN_TEXT))
    return "".join(code(piece) if number % 2 else plain(piece) for number, piece in enumerate(pieces))


def plain(sentence: str) -> str:
    """Return text without any meaning in Markdown or HTML, for both; backquotes stay."""
    return _harmless(escapes.inline(shorten_middle(" ".join(sentence.split("\n")), _MOST_IN_TEXT)))


def _harmless(shown: str) -> str:
    return _ESCAPED.sub(_escape, shown)


def _escape(match: re.Match[str]) -> str:
    if match["link"]:
        return f"{match[0]}{_APART}"
    return f"{match['start'] or ''}&#{ord(match[0][-1])};{_APART if match['sign'] else ''}"
