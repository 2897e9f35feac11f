"""Parses TOML with the line of every key: values by tomllib, lines by a second pass over the text."""

from __future__ import annotations

import re
import tomllib
from codecs import getincrementaldecoder
from typing import NamedTuple

from layoutlint import files
from layoutlint.errors import Mistake, RuleFileError
from layoutlint.model.record import Record

Path = tuple[str | int, ...]
"""Keys and array indices, from the top of the document."""

_LONGEST = 1 << 20
_MOST_BYTES = 4 * _LONGEST + 4
"""More bytes than the longest text can have in UTF-8."""
_DEEPEST = 50
_TOKEN = re.compile(
    r'(?P<string>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<newline>\n)|(?P<mark>[\[\]{}=,.])|(?P<blank>[ \t\r]+|#[^\n]*)"
    r"|(?P<word>(?:\\.|[^\s\[\]{}=,.#\"'\\])+|.)",
    re.DOTALL,
)
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_KEYS = re.compile(r"\(['\"].*\)(?=(?: twice)?$)", re.DOTALL)
"""The name of a table in tomllib's messages: `('build', 'one')`."""
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_AFTER_MERGE = "resolve it, and remove its marks"
_LONG_NUMBER = re.compile(r"\d[\d_]{4000,}")


class Document(Record, frozen=True):
    """The values of a TOML text, and their lines."""

    data: dict[str, object]
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Return the line (from 1) of a key or element, or of the nearest one around it that has a line."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_text(path: str, through_pipe: bool = False, most: int = _MOST_BYTES) -> str:
    """Return the text of a TOML file, of which `most` bytes are read; `through_pipe` allows a pipe.

    Raises RuleFileError if it cannot be read, or is not UTF-8.
    """
    try:
        data = files.read_start(path, most, through_pipe)
        # Bytes up to the limit may end within a character; `parse` refuses so long a text.
        return getincrementaldecoder("utf-8")().decode(data, final=len(data) < most)
    except OSError as error:
        raise RuleFileError((f"{path}: {files.error_reason(error)}",)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleFileError((Mistake(path, line, f"not UTF-8 (byte {data[error.start]:#04x})"),)) from None


def parse(
    text: str, path: str, longest: int = _LONGEST, after_merge: str = _AFTER_MERGE, what: str = "rule files"
) -> Document:
    """Parse a TOML text of at most `longest` characters; `after_merge` is what to do about a merge's marks.

    `what` names such files in messages.

    Raises RuleFileError, with the line, for bad or too large TOML.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if len(text) > longest:
        raise RuleFileError((Mistake(path, 1, f"longer than {longest} characters, the limit"),))
    tokens = _tokens(text)
    _refuse_outsized(tokens, path)
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        raise RuleFileError((_mistake(str(error), text, path, after_merge, what),)) from None
    return Document(data, _KeyWalk(tokens).lines)


_HINTS = (
    (re.compile(r"\s*(?://|/\*|;)"), "comments begin with `#`"),
    (re.compile(r".*[\u201c\u201d\u2018\u2019]"), 'quotes are straight: "..."'),
    (re.compile(r"""[^"'=]*=\s*(?:True|False|yes|no|on|off)\b"""), "write `true` or `false`"),
    (re.compile(r"""[^"'=]*=\s*(?!true\b|false\b|inf\b|nan\b)[A-Za-z_]"""), 'strings need quotes: "..."'),
    (re.compile(r"""[^"'=]*=\s*[0-9]+[A-Za-z]"""), "numbers have no unit"),
    (re.compile(r".*;\s*$"), "no `;` ends a line"),
    (re.compile(r"[^\"'=]*=\s*'[^']*'[^\s#,\]}]"), 'an apostrophe ends a string in \'...\': write "..."'),
    (re.compile(r"\s*[\w.-]+\s*:"), "write `key = value`"),
)
"""What to do about a line that is not TOML, by how it looks; the first that matches counts."""
_MESSAGE_HINTS = {
    "Cannot overwrite a value": "a table has each key once",
    "Illegal character '\\n'": 'a string ends on its line, with "; """...""" goes over several',
    "Unclosed array": "`]` is missing before this line",
}
"""What to do about a message of tomllib."""
_OTHER_SUFFIXES = (".json", ".yaml", ".yml", ".h", ".c")


def _mistake(reason: str, text: str, path: str, after_merge: str, what: str) -> Mistake:
    conflict = _CONFLICT.search(text)
    if conflict is None:
        return _syntax_mistake(reason, text, path, what)
    line = text.count("\n", 0, conflict.start()) + 1
    return Mistake(path, line, f"`{conflict[1]}` is the mark of a merge conflict: {after_merge}")


def _syntax_mistake(reason: str, text: str, path: str, what: str = "rule files") -> Mistake:
    place = _AT_LINE.search(reason)
    if place is None:  # int() refuses thousands of digits
        number = _LONG_NUMBER.search(text)
        line = text.count("\n", 0, number.start()) + 1 if number else 1
        return Mistake(path, line, "not TOML: a number is too long")
    line = int(place[1]) if place[1] else text.rstrip("\n").count("\n") + 1
    message = _KEYS.sub(_table_name, reason[: place.start()])
    row = text.split("\n")[line - 1] if line <= text.count("\n") + 1 else ""
    hint = next((hint for pattern, hint in _HINTS if pattern.match(row)), "")
    hint = _MESSAGE_HINTS.get(message, hint)
    if path.endswith(_OTHER_SUFFIXES):
        hint = f"{what} are TOML, and are named *.toml"
    end = f" ({hint})" if hint else ""
    return Mistake(path, line, f"not TOML: {message[:1].lower()}{message[1:]}{end}")


def _table_name(keys: re.Match[str]) -> str:
    from ast import literal_eval  # mistakes are rare

    return f"[{'.'.join(literal_eval(keys[0]))}]"


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "blank":
            continue
        token = match[0]
        tokens.append(_Token(kind, token, line))
        if kind == "newline":
            line += 1
        elif kind == "string":
            line += token.count("\n")
    return tokens


def _refuse_outsized(tokens: list[_Token], path: str) -> None:
    """Refuse deep nesting and long dotted keys: tomllib recurses, and is quadratic in such keys."""
    depth = parts = 0
    for token in tokens:
        depth += (token.text in ("[", "{")) - (token.text in ("]", "}"))
        parts = parts + (token.text == ".") if token.kind in ("word", "string") or token.text == "." else 0
        if depth > _DEEPEST or parts > _DEEPEST:
            raise RuleFileError((Mistake(path, token.line, f"nested more than {_DEEPEST} deep"),))


class _KeyWalk:
    """A pass over the tokens of valid TOML that notes the line of every key and array element."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.lines: dict[Path, int] = {}
        self._tokens = tokens
        self._at = 0
        self._elements: dict[Path, int] = {}
        table: Path = ()
        while self._skip_newlines():
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _advance(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip_newlines(self) -> bool:
        while self._peek() == "\n":
            self._at += 1
        return self._at < len(self._tokens)

    def _header(self) -> Path:
        """Read `[a.b]`, or `[[a.b]]`, which starts the next element of an array; return its path."""
        line = self._advance().line
        is_element = self._peek() == "["
        self._at += is_element
        *outer, last = self._key()
        self._at += 1 + is_element
        path: Path = (*self._enter(outer), last)
        if is_element:
            self._elements[path] = self._elements.get(path, 0) + 1
            path = (*path, self._elements[path] - 1)
        self._note(path, line)
        return path

    def _enter(self, keys: list[str]) -> Path:
        """Return the path of a table; an array of tables stands for its last element."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self._elements:
                path = (*path, self._elements[path] - 1)
        return path

    def _key(self) -> list[str]:
        keys = [self._name()]
        while self._peek() == ".":
            self._at += 1
            keys.append(self._name())
        return keys

    def _name(self) -> str:
        token = self._advance()
        if token.kind == "string":
            return str(tomllib.loads(f"key = {token.text}")["key"])
        return token.text

    def _pair(self, table: Path) -> None:
        line = self._tokens[self._at].line
        path = (*table, *self._key())
        self._at += 1
        self._note(path, line)
        self._value(path)

    def _note(self, path: Path, line: int) -> None:
        for end in range(1, len(path) + 1):
            self.lines.setdefault(path[:end], line)

    def _value(self, path: Path) -> None:
        opening = self._advance().text
        if opening == "[":
            self._list(path)
        elif opening == "{":
            self._inline(path)
        else:
            while self._peek() not in ("", ",", "]", "}", "\n"):
                self._at += 1

    def _list(self, path: Path) -> None:
        index = 0
        while self._skip_newlines() and self._peek() != "]":
            if self._peek() == ",":
                self._at += 1
                continue
            self._note((*path, index), self._tokens[self._at].line)
            self._value((*path, index))
            index += 1
        self._at += 1

    def _inline(self, path: Path) -> None:
        while self._skip_newlines() and self._peek() != "}":
            if self._peek() == ",":
                self._at += 1
            else:
                self._pair(path)
        self._at += 1
