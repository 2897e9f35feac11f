"""C text without what is no code, every character in its place: comments, strings, directives, `#if 0`."""

from __future__ import annotations

import re

_NO_CODE = re.compile(
    r"//(?:[^\n\\]++|\\.)*+|/\*.*?(?:\*/|\Z)"
    r'|"(?:[^"\\\n]++|\\.)*+"'
    r"|'(?:[^'\\\n]++|\\.)*+'"
    r"|\\[\"']",  # begins nothing; a line of them would be searched for its end from each
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"\n[ \t]*#[ \t]*(\w*+)((?:[^\n\\]++|\\[ \t]*+\r?\n|\\)*+)")
_VISIBLE = re.compile(r"[^\n]")


def blanked(text: str) -> str:
    """The text with spaces for what is no code; line breaks stay, and of strings the quotes."""
    text = _NO_CODE.sub(_blank, text)
    return _without_directives(text) if "#" in text else text


def _blank(found: re.Match[str]) -> str:
    said = found[0]
    if said[0] == "\\":
        return said
    spaces = _spaces(said)
    return said[0] + spaces[1:-1] + said[0] if said[0] in "\"'" else spaces


def _spaces(text: str) -> str:
    return _VISIBLE.sub(" ", text) if "\n" in text else " " * len(text)


def _without_directives(text: str) -> str:
    """The text without directives, and without what stands between `#if 0` and its end."""
    text = f"\n{text}"
    parts: list[str] = []
    at, depth = 0, 0
    dead: int | None = None
    for found in _DIRECTIVE.finditer(text):
        between, word = text[at : found.start()], found[1]
        parts += (between if dead is None else _spaces(between), _spaces(found[0]))
        at = found.end()
        if word in ("if", "ifdef", "ifndef"):
            depth += 1
            if dead is None and word == "if" and found[2].strip() == "0":
                dead = depth
        elif word in ("else", "elif") and dead == depth:
            dead = None
        elif word == "endif":
            dead = None if dead == depth else dead
            depth = max(0, depth - 1)
    rest = text[at:]
    return "".join((*parts, rest if dead is None else _spaces(rest)))[1:]
