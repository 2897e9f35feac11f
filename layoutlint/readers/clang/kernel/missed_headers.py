"""Headers of a kernel that may define a requested struct, although no text of theirs plainly does.

A tree has too many headers to parse them all for one name. A header may define a struct if it has the name
anywhere but in a plain use (`struct page *`, `spinlock_t lock;`), or uses a macro that has. For patterns, it
may also use a macro that makes a name of pieces, if the texts have the pieces. libclang then lists what such
headers define. A name that is found nowhere is reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate

from layoutlint import files
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang.kernel import pasted_names

_LARGEST = 1 << 27
_SKIPPED = re.compile(
    rb"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|/\*.*?(?:\*/|\Z)|//(?:[^\n\\]|\\.)*+|\\[ \t]*+\r?\n",
    re.DOTALL,
)
"""Texts in quotes, comments, and the ends of lines that go on."""
_DEFINE = re.compile(rb"^[ \t]*+(?:#|%:)[ \t]*+define[ \t]++(\w++)([^\n]*+)", re.MULTILINE)
_NAMES = re.compile(rb"\b(?:struct|union|typedef)\b|\}")
"""What is before the name of a struct or typedef."""
_WORD = re.compile(rb"\w++")
_SPECIFIERS = frozenset(b"const static extern volatile inline register return sizeof".split())
_AFTER_USE = rb"(?![\w$])\s*+(?:\*|const\b|volatile\b|[A-Za-z_]\w*+\s*+[;,)=\[(:])"
"""What follows the type of a declaration."""


class Search:
    """Searches the headers of one tree for some names and patterns."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._names = sorted(name.encode(errors="surrogateescape") for name in wanted.names)
        patterns = (translate(each)[4:-3].encode(errors="surrogateescape") for each in wanted.patterns)
        inside = (pattern.replace(b".", rb"\w") for pattern in patterns)
        self._uses = _Uses(b"|".join((*map(re.escape, self._names), *inside)))

    def find(self, paths: Iterable[str], others: Iterable[str]) -> list[str]:
        """Return the headers that may define a requested struct, in order.

        `others` are files that headers can include, and that have other suffixes.
        """
        found: dict[str, None] = {}
        makers: dict[bytes, frozenset[bytes] | None] = {}
        texts: dict[str, bytes] = {}
        has_patterns = bool(self._wanted.patterns)
        for path in paths:
            text = _read(path)
            is_mentioned = has_patterns or self._is_mentioned(text)
            if is_mentioned:
                text = _join_lines(text)
                makers.update(self._makers(text))
            texts[path] = text
            if is_mentioned and self._uses.are_more(_DEFINE.sub(b"", text)):
                found[path] = None
        found.update(dict.fromkeys(self._users(texts, makers)))
        named = (path for path in others if self._uses.are_there(_join_lines(_read(path))))
        parts = [os.fsencode(os.path.basename(path)) for path in named]
        found.update(dict.fromkeys(path for path in texts if any(part in texts[path] for part in parts)))
        return list(found)

    def _is_mentioned(self, text: bytes) -> bool:
        """Return whether a text can have one of the names, perhaps on two lines."""
        joined = text.replace(b"\\\r\n", b"").replace(b"\\\n", b"")
        return any(name in joined for name in self._names)

    def _makers(self, text: bytes) -> Iterator[tuple[bytes, frozenset[bytes] | None]]:
        """Yield the macros of a text whose bodies have a requested name, or can make one of pieces; for the
        latter with the words of the text.
        """
        for macro, body in _DEFINE.findall(text):
            if self._uses.are_there(body):
                yield macro, None
            elif self._wanted.patterns and b"##" in body and _NAMES.search(body):
                yield macro, frozenset(_WORD.findall(text))

    def _users(self, texts: dict[str, bytes], makers: dict[bytes, frozenset[bytes] | None]) -> Iterator[str]:
        """Yield the headers that use one of the macros, other than as the type of a declaration."""
        uses = {name: _Uses(re.escape(name)) for name in makers}
        for path, text in texts.items():
            named = [name for name in makers if name in text]
            code = _DEFINE.sub(b"", text) if named else b""
            used = [makers[name] for name in named if uses[name].are_more(code)]
            if used and None not in used:
                words = frozenset(_WORD.findall(text)).union(*(each for each in used if each is not None))
                used = [None] if pasted_names.can_paste(words, self._wanted) else []
            if used:
                yield path


class _Uses:
    """Tells plain uses of some names, given as a pattern, from what can define or declare them."""

    def __init__(self, names: bytes) -> None:
        self._name = re.compile(rb"(?<![\w$])(?:%s)(?![\w$])" % names)
        self._after = re.compile(rb"(?:%s)%s" % (names, _AFTER_USE))
        self._after_tag = re.compile(rb"(?:%s)(?![\w$])\s*+[;),]" % names)

    def are_there(self, text: bytes) -> bool:
        """Return whether a text has one of the names."""
        return self._name.search(text) is not None

    def are_more(self, text: bytes) -> bool:
        """Return whether a text has one of the names anywhere but in plain uses."""
        return any(not self._is_plain(text, match.start()) for match in self._name.finditer(text))

    def _is_plain(self, text: bytes, start: int) -> bool:
        """Return whether a name is only used where it begins at `start`: as a type, a member or a pointer."""
        before = text[max(0, start - 64) : start].rstrip()
        if before.endswith((b"*", b".", b"->")):
            return True  # a typedef with a `*` is a pointer
        word = re.search(rb"\w++\Z", before)
        if word is None:
            return before[-1:] in (b";", b"{", b"(", b",") and self._after.match(text, start) is not None
        if word[0] in (b"struct", b"union"):
            return any(after.match(text, start) is not None for after in (self._after, self._after_tag))
        return word[0] in _SPECIFIERS and self._after.match(text, start) is not None


def _read(path: str) -> bytes:
    try:
        return files.read_all(path, _LARGEST)
    except OSError:
        return b""


def _join_lines(text: bytes) -> bytes:
    """Return a text with its continued lines joined, and spaces for its comments."""

    def replace(match: re.Match[bytes]) -> bytes:
        start = match[0][:1]
        return match[0] if start in b"\"'" else b" " if start == b"/" else b""

    return _SKIPPED.sub(replace, text)


def other_files(folders: Iterable[str]) -> list[str]:
    """Return the files below some folders that are no headers by their suffix."""
    found: list[str] = []
    for folder in folders:
        for place, below, names in files.walk(folder):
            below[:] = sorted(below)
            others = (name for name in sorted(names) if not name.endswith((".h", ".cmd")))
            found += (os.path.join(place, name) for name in others)
    return list(dict.fromkeys(found))
