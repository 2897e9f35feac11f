"""What searches of C text share: definitions of macros, and the arguments of calls."""

from __future__ import annotations

import re

MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w++)(?:\(([^()\n]{0,400})\))?((?:[^\n\\]++|\\[ \t]*+\r?\n|\\)*+)",
    re.MULTILINE,
)
"""The definition of a macro in text without comments: its name, its parameters if it has any, its body."""
_BRACKETS = re.compile(r"[(){}\[\],]")
PARENTHESES = re.compile(r"[(),]")
"""The only brackets that matter to the preprocessor."""
_MOST = 2000
"""The most characters of a call that are read, but for those of macros."""


def arguments(
    text: str, at: int, most: int = _MOST, signs: re.Pattern[str] = _BRACKETS
) -> tuple[list[str], int] | None:
    """Return the arguments after an opening parenthesis, and where they end.

    None if they do not end within so many characters. `signs` finds the comma, and the brackets that count.
    """
    texts: list[str] = []
    depth, start = 0, at + 1
    for sign in signs.finditer(text, at, at + most):
        if sign[0] in "([{":
            depth += 1
        elif sign[0] in ")]}":
            depth -= 1
            if depth == 0:
                return [*texts, text[start : sign.start()]], sign.end()
        elif depth == 1:
            texts.append(text[start : sign.start()])
            start = sign.end()
    return None
