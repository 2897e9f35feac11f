r"""Names, comments, reasons and file names in output: characters that are not visible are escaped.

Inputs choose them: a name in DWARF is any bytes. A terminal obeys ESC, a reader of logs sees another line
behind CR, and text that runs from right to left hides what it says. In text they are shown as `\x1b`; in JSON
they are escaped as JSON does, so that its values stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NOT_PLAIN = re.compile(r"[^ -~]")
_INVISIBLE = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""Letters, symbols and marks without a shape (Unicode: Default_Ignorable_Code_Point; Braille)."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_COMMAND = re.compile(r"\s*:(?=:)")
_OLD_COMMAND = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))")
"""`##[error]` and `##vso[...]` count anywhere in a line (actions/runner, Azure Pipelines)."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def inline(text: str) -> str:
    r"""Return text for a part of a line: what is not visible as `\n`, `\x1b`, `\u202e`.

    No command of a CI system stands in it, unless it begins the line.
    """
    if not (text.isascii() and text.isprintable()):
        text = _NOT_PLAIN.sub(_escaped, text)
    return _OLD_COMMAND.sub(r"\\x23", text) if "##" in text else text


def line(text: str) -> str:
    """Return text for a whole line, without its end; tabs at its start are ours and stay.

    No CI system takes it for a command (GitHub skips white space in front of `::`).
    """
    if text.isascii() and text.isprintable():  # nearly all
        return text if "::" not in text and "##" not in text else _harmless(text)
    bare = text.lstrip("\t")
    return text[: len(text) - len(bare)] + _harmless(inline(bare))


def lines(texts: Iterable[str]) -> str:
    """Return lines, each with its end."""
    return "".join([f"{line(text)}\n" for text in texts])


def parts(texts: list[str]) -> list[str]:
    """Return the parts of one line, escaped as `line` does."""
    shown = [inline(text) for text in texts]
    if _COMMAND.match("".join(shown)):
        first = next(number for number, text in enumerate(shown) if ":" in text)
        shown[first] = shown[first].replace(":", "\\x3a", 1)
    return shown


def json_text(text: str) -> str:
    """Return a JSON text with the same values, in which each character is visible."""
    if not text.isascii() or "\x7f" in text:
        text = _NOT_PLAIN.sub(_json_escaped, text)
    return _OLD_COMMAND.sub(r"\\u0023", text) if "##" in text else text


def toml_string(text: str) -> str:
    """Return a basic string of TOML, in which each character is visible."""
    import json  # it has the escapes of TOML for quotes and control characters

    text = _NOT_PLAIN.sub(_toml_escaped, json.dumps(text, ensure_ascii=False))
    return _OLD_COMMAND.sub(r"\\u0023", text)


def toml_key(name: str) -> str:
    """Return a key of TOML, in quotes where it must."""
    return name if _BARE_KEY.fullmatch(name) else toml_string(name)


def _harmless(text: str) -> str:
    if _COMMAND.match(text):
        text = text.replace(":", "\\x3a", 1)
    return _OLD_COMMAND.sub(r"\\x23", text)


def _is_visible(letter: str) -> bool:
    return letter.isprintable() and letter not in _INVISIBLE


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    return letter if _is_visible(letter) else _SHORT.get(letter) or _coded(letter)


def _coded(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _toml_escaped(found: re.Match[str]) -> str:
    letter = found[0]
    code = ord(letter)
    if _is_visible(letter):
        return letter
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(found: re.Match[str]) -> str:
    letter = found[0]
    if letter == "\n" or _is_visible(letter):  # JSON has no other white space of ours
        return letter
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"
