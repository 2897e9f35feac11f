"""Text for Markdown that a change cannot misuse: it mentions nobody, and has no links or HTML."""

from __future__ import annotations

import re

from layoutlint import escapes

_ESCAPED = re.compile(r"[&<>@#\[\]()*_~|\\!`]|://|\bwww\.")
_CODE = re.compile(r"`([^`]*)`")


def code(text: str) -> str:
    """Return text as code, in which GitHub and GitLab mention nobody."""
    return f"`{escapes.inline(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def text(sentence: str) -> str:
    """Return a sentence, in which names in backquotes are code, and everything else is plain text."""
    pieces = _CODE.split(sentence)
    return "".join(code(piece) if number % 2 else _plain(piece) for number, piece in enumerate(pieces))


def _plain(sentence: str) -> str:
    """Return text without any meaning in Markdown or HTML."""
    shown = escapes.inline(" ".join(sentence.split("\n")))
    return _ESCAPED.sub(lambda match: "".join(f"&#{ord(letter)};" for letter in match[0]), shown)
