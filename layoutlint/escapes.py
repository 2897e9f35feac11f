r"""Escapes invisible characters of names, comments, reasons and file names in output.

Inputs can contain any character: a name in DWARF is any bytes. A terminal obeys ESC, CR starts a new line in
a log, and right-to-left text hides its meaning. Text shows them as `\x1b`; JSON escapes them as JSON does, so
that the values stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NOT_PLAIN = re.compile(r"[^ -~]")
_INVISIBLE = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""Printable characters without a shape (Unicode: Default_Ignorable_Code_Point; Braille)."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_COMMAND = re.compile(r"\s*:(?=:)")
_OLD_COMMAND = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))")
"""`##[error]` and `##vso[...]` count anywhere in a line (actions/runner, Azure Pipelines)."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def inline(text: str) -> str:
    r"""Return text for a part of a line, with invisible characters as `\n`, `\x1b`, `\u202e`.

    Commands of CI systems are escaped, except for those that must begin a line.
    """
    if not (text.isascii() and text.isprintable()):
        text = _NOT_PLAIN.sub(_escape, text)
    return _OLD_COMMAND.sub(r"\\x23", text) if "##" in text else text


def line(text: str) -> str:
    """Return text for a whole line, without its end; leading tabs stay.

    Commands of CI systems are escaped (GitHub skips white space before `::`).
    """
    if text.isascii() and text.isprintable():  # nearly all
        return text if "::" not in text and "##" not in text else _harmless(text)
    bare = text.lstrip("\t")
    return text[: len(text) - len(bare)] + _harmless(inline(bare))


def lines(texts: Iterable[str]) -> str:
    """Return escaped lines, each with its end."""
    return "".join([f"{line(text)}\n" for text in texts])


def parts(texts: list[str]) -> list[str]:
    """Return the parts of one line, escaped as `line` does."""
    shown = [inline(text) for text in texts]
    if _COMMAND.match("".join(shown)):
        first = next(number for number, text in enumerate(shown) if ":" in text)
        shown[first] = shown[first].replace(":", "\\x3a", 1)
    return shown


def json_text(text: str) -> str:
    """Return a JSON text with the same values and visible characters only."""
    if not text.isascii() or "\x7f" in text:
        text = _NOT_PLAIN.sub(_escape_json, text)
    return _OLD_COMMAND.sub(r"\\u0023", text) if "##" in text else text


def toml_string(text: str) -> str:
    """Return a basic string of TOML with visible characters only."""
    import json  # it has the escapes of TOML for quotes and control characters

    text = _NOT_PLAIN.sub(_escape_toml, json.dumps(text, ensure_ascii=False))
    return _OLD_COMMAND.sub(r"\\u0023", text)


def toml_key(name: str) -> str:
    """Return a key of TOML, quoted if necessary."""
    return name if _BARE_KEY.fullmatch(name) else toml_string(name)


def _harmless(text: str) -> str:
    if _COMMAND.match(text):
        text = text.replace(":", "\\x3a", 1)
    return _OLD_COMMAND.sub(r"\\x23", text)


def _is_visible(letter: str) -> bool:
    return letter.isprintable() and letter not in _INVISIBLE


def _escape(match: re.Match[str]) -> str:
    letter = match[0]
    return letter if _is_visible(letter) else _SHORT.get(letter) or _numeric_escape(letter)


def _numeric_escape(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_toml(match: re.Match[str]) -> str:
    letter = match[0]
    code = ord(letter)
    if _is_visible(letter):
        return letter
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_json(match: re.Match[str]) -> str:
    letter = match[0]
    if letter == "\n" or _is_visible(letter):  # the only white space that our JSON uses between values
        return letter
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"
