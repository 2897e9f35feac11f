"""The tokens of C text that are not code: comments, strings, directives; and text without them.

Every character keeps its offset.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Patterns for re.DOTALL. Each matches in one way only, so that no text takes quadratic time.
LINE_COMMENT = r"//(?:[^\n\\]++|\\.)*+"
BLOCK_COMMENT = r"/\*.*?(?:\*/|\Z)"
STRING = r'"(?:[^"\\\n]++|\\.)*+"' + r"|'(?:[^'\\\n]++|\\.)*+'"
LONE_QUOTE = r"""\\["']"""
"""Begins no string; a line of them would otherwise be searched for its end from each."""

_NO_CODE = re.compile("|".join((LINE_COMMENT, BLOCK_COMMENT, STRING, LONE_QUOTE)), re.DOTALL)
_DIRECTIVE = re.compile(r"\n[ \t]*#[ \t]*(\w*+)((?:[^\n\\]++|\\[ \t]*+\r?\n|\\)*+)")


MOST = 1 << 64
"""Larger than any integer of C."""
_MOST_DIGITS = 64


def number(literal: str) -> int:
    """Return the value of a decimal, octal, binary or hexadecimal literal, 0 without digits; `MOST` for more.

    int() takes octal ones for mistakes, and refuses thousands of digits.
    """
    digits = literal.lower().rstrip("ul")
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    digits = digits[2:] if base != 10 else digits
    if base == 10 and digits[:1] == "0" and not set(digits) - set("01234567"):
        base = 8
    digits = digits.lstrip("0") or "0"
    return min(int(digits, base), MOST) if len(digits) <= _MOST_DIGITS else MOST


def blank_out(text: str) -> str:
    """Return a text with spaces for comments, strings, directives and `#if 0`; it keeps lines and quotes."""
    text = blank_comments(text)
    return _blank_directives(text) if "#" in text else text


@lru_cache(maxsize=1)  # searches ask for one text several times
def blank_comments(text: str) -> str:
    """Return a text with spaces for comments and in strings; it keeps lines and quotes."""
    return _NO_CODE.sub(_blank, text)


def spaces_for(text: str) -> str:
    """Return spaces in place of a text; its line breaks remain."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


def _blank(match: re.Match[str]) -> str:
    token = match[0]
    if token[0] == "\\":
        return token
    spaces = spaces_for(token)
    return token[0] + spaces[1:-1] + token[0] if token[0] in "\"'" else spaces


def _blank_directives(text: str) -> str:
    """Return a text without directives, and without the text between `#if 0` and its end."""
    text = f"\n{text}"
    parts: list[str] = []
    at, depth = 0, 0
    dead: int | None = None
    for directive in _DIRECTIVE.finditer(text):
        between, word = text[at : directive.start()], directive[1]
        parts += (between if dead is None else spaces_for(between), spaces_for(directive[0]))
        at = directive.end()
        if word in ("if", "ifdef", "ifndef"):
            depth += 1
            if dead is None and word == "if" and directive[2].strip() == "0":
                dead = depth
        elif word in ("else", "elif") and dead == depth:
            dead = None
        elif word == "endif":
            dead = None if dead == depth else dead
            depth = max(0, depth - 1)
    rest = text[at:]
    return "".join((*parts, rest if dead is None else spaces_for(rest)))[1:]
