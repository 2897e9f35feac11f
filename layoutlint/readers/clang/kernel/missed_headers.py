"""Headers of a kernel that may define a requested struct, although no text of theirs plainly does.

A tree has too many headers to parse them all for one name. A header may define a struct if the name is where
C has the tag of a definition or the name of a typedef, also with attributes, directives and macros around it,
if a macro that makes structs is called with it, or if the header uses a macro with such a text. For patterns,
it may also use a macro that makes a name of pieces, if the texts have the pieces. libclang then lists what
such headers define. A name that is found nowhere is reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import translate
from functools import cached_property
from itertools import chain

from layoutlint import files
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang.kernel.definition_places import DefinitionPlaces, Near

_LARGEST = 1 << 27
"""The most bytes of a header that are searched."""
_FEW = 16
"""The words that are searched one by one, instead of among all macros."""
_MOST_MACROS = 200
"""The most macros with a name that are followed."""
_SKIPPED = re.compile(
    rb"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|/\*.*?(?:\*/|\Z)|//(?:[^\n\\]|\\.)*+|\\[ \t]*+\r?\n",
    re.DOTALL,
)
"""Texts in quotes, to the end of the line without a second one; comments; the ends of lines that go on."""
_CONTINUED = re.compile(rb"\\[ \t]*+\r?\n")
_DEFINE = re.compile(rb"^[ \t]*+(?:#|%:)[ \t]*+define[ \t]++([\w$]++)(\([^()\n]*+\))?([^\n]*+)", re.MULTILINE)
"""A macro in joined lines: name, parameters, body."""
_DIRECTIVE = re.compile(rb"^[ \t]*+(?:#|%:)[ \t]*+(?!include|import)[^\n]*+", re.MULTILINE)
"""A directive in joined lines that adds no text where it is."""
_CALLABLE = (
    rb"#[ \t]*+define[ \t]++(%s)(\((?:[^()\n\\]|\\\r?\n|\\.)*+\))((?:[^\n\\]|\\\r?\n|\\.)*+)"
)
"""Macros of some names that can be called, in a text whose lines are not joined: name, parameters, body."""
_ANY = rb"[\w$]++"
_BODY = rb"#[ \t]*+define[ \t]++(?:%s)(?![\w$])((?:[^\n\\]|\\\r?\n|\\.)*+)"
"""Macros of some names; a group has their parameters and body."""
_MACRO = re.compile(rb"#[ \t]*+define[ \t]++([\w$]++)")
_ODD = re.compile(rb"#[ \t]*+(?:/\*|\\|define[ \t]*+(?:/\*|[\w$]*+\\))"), re.compile(rb"%:")
"""The beginning of a definition of a macro that only joined lines without digraphs show as such.

Two searches are faster than one with both."""
_NAMES = re.compile(rb"\b(?:struct|union|typedef)\b|\}")
"""What is before the name of a struct or typedef."""
_WORD = re.compile(rb"[\w$]++")
_MOST_ROUNDS, _FEWEST = 2, 6
"""How often so few macros are searched by their names; else all are."""
_JOINED = re.compile(rb"\w++(?:\s*+##\s*+\w++)++")
_JOINED_WORD = re.compile(rb"\w++")
_MARK = b"layoutlint__joined"
_PREDEFINED = frozenset(b"int char long short unsigned signed float double void _ __ l L u U f".split())
"""Words of macros that the compiler defines (`__SIZE_TYPE__`), which no text needs to have."""


class TooManyMacros(Exception):
    """So many macros have a requested name, or can make one, that their uses are not searched."""


def _mark_joined(parameters: bytes, body: bytes, wanted: Wanted) -> bytes:
    """Return the body of a macro with MARK in place of the names that it joins and whose ends can be those of
    a requested name.
    """
    own = set(_JOINED_WORD.findall(parameters))
    requested = [
        (
            _literal(name).encode(errors="surrogateescape"),
            _literal(name[::-1])[::-1].encode(errors="surrogateescape"),
        )
        for name in (*wanted.names, *wanted.patterns)
    ]

    def replace(joined: re.Match[bytes]) -> bytes:
        words = _JOINED_WORD.findall(joined[0])
        head, tail = (b"" if words[end] in own else words[end] for end in (0, -1))
        fits = any(
            (first.startswith(head) or head.startswith(first))
            and (last.endswith(tail) or tail.endswith(last))
            for first, last in requested
        )
        return _MARK if fits else joined[0]

    return _JOINED.sub(replace, body)


def _can_paste(words: Collection[bytes], wanted: Wanted) -> bool:
    """Return whether pieces among some words can be joined to a requested name.

    Numbers can always be pieces, because `__LINE__` and `__COUNTER__` have any value.
    """
    return any(_is_joinable(name.encode(errors="surrogateescape"), words) for name in wanted.names) or any(
        _may_match(pattern, words) for pattern in wanted.patterns
    )


def _is_joinable(name: bytes, words: Collection[bytes]) -> bool:
    """Return whether a name is several words in a row."""
    ends = {0}
    for end in range(1, len(name) + 1):
        pieces = (name[start:end] for start in ends if end - start < len(name))
        if any(piece in words or piece in _PREDEFINED or piece.isdigit() for piece in pieces):
            ends.add(end)
    return len(name) in ends


def _may_match(pattern: str, words: Collection[bytes]) -> bool:
    """Return whether several words in a row can match a pattern: its ends must be ends of words."""
    head = _literal(pattern).encode(errors="surrogateescape")
    tail = _literal(pattern[::-1])[::-1].encode(errors="surrogateescape")
    return _has_end(head, words, is_head=True) and _has_end(tail, words, is_head=False)


def _literal(pattern: str) -> str:
    return next((pattern[:at] for at, sign in enumerate(pattern) if sign in "*?["), pattern)


def _has_end(end: bytes, words: Collection[bytes], is_head: bool) -> bool:
    """Return whether words can be joined to something that begins, or ends, with a text."""
    if not end:
        return True
    for word in words:
        if word.startswith(end) if is_head else word.endswith(end):
            return True
    parts = (end[:at] if is_head else end[at:] for at in range(1, len(end)))
    return any(part in words or part in _PREDEFINED or part.isdigit() for part in parts)


class HeaderSearch:
    """The headers of one tree in which some names and patterns are searched."""

    def __init__(self, paths: Iterable[str], wanted: Wanted) -> None:
        self._wanted = wanted
        self._names = sorted(name.encode(errors="surrogateescape") for name in wanted.names)
        patterns = (translate(each)[4:-3].encode(errors="surrogateescape") for each in wanted.patterns)
        self._uses = DefinitionPlaces(self._names, (pattern.replace(b".", rb"\w") for pattern in patterns))
        contents = {path: _read(path) for path in paths}
        self._unreadable = [path for path, text in contents.items() if text is None]
        self._raw = {path: text for path, text in contents.items() if text is not None}
        raw = self._raw.items()
        mentioning = (each for each in raw if wanted.patterns or self._is_mentioned(each[1]))
        self._texts = {path: _join_lines(text) for path, text in mentioning}

    @property
    def mentioning(self) -> list[str]:
        """The headers that have one of the names somewhere, in the order given; with patterns, any header."""
        return [*self._texts, *self._unreadable]

    def find(self, others: Iterable[str], known: Collection[str] = ()) -> list[str]:
        """Return the headers that may define a requested struct, without those that are `known` to.

        `others` are files that headers can include, and that have other suffixes. A header that cannot be
        read may define anything. Raises TooManyMacros.
        """
        found = dict.fromkeys((*self._unreadable, *self._definers(known)))
        if self._wanted.patterns:
            found.update(dict.fromkeys(self._users_of_pasting(self._texts)))
        other_texts = ((path, _read(path)) for path in others)
        named = (path for path, text in other_texts if text is None or self._is_mentioned(text))
        mentioning = ((path, text) for path, text in self._texts.items() if self._uses.are_there(text))
        ending = (path for path, text in mentioning if self._uses.are_at_end(_DIRECTIVE.sub(b"", text)))
        parts = [os.fsencode(os.path.basename(path)) for path in (*named, *ending)]
        raw = self._raw.items()
        found.update(dict.fromkeys(path for path, text in raw if any(part in text for part in parts)))
        return [path for path in found if path not in known]

    def _is_mentioned(self, text: bytes) -> bool:
        """Return whether a text has one of the names, perhaps on two lines or in a comment."""
        return self._uses.are_there(_CONTINUED.sub(b"", text) if b"\\" in text else text)

    def _definers(self, known: Collection[str]) -> Iterator[str]:
        """Yield the headers in which one of the names can be defined, also by macros that have it."""
        texts, uses, defining = dict(self._texts), self._uses, dict[bytes, list[str]]()
        while True:
            near = Near.none()
            code = {path: _DIRECTIVE.sub(b"", text) for path, text in texts.items() if uses.are_there(text)}
            found = [
                path for path, text in code.items()
                if path not in known and (
                    uses.can_be_defined(text, near) or (defining and uses.are_used_alone(text))
                )
            ]  # fmt: skip
            aliases: dict[bytes, list[str]] = {}
            for path in code:
                for alias in _aliases(texts[path], uses, near):
                    aliases.setdefault(alias, []).append(path)
            self._callables.among(near.callees | near.users)  # both in one search
            makers = self._makers(near.callees) if near.callees else frozenset[bytes]()
            makers |= self._with_braces(near.followers) | self._adders(near.users)
            if makers:
                found += (path for path, text in code.items() if uses.are_beside(text, makers))
            yield from found
            if found:  # what defines a macro may include a header that uses it
                yield from chain(*defining.values())
            aliases = {alias: aliases[alias] for alias in aliases.keys() - defining.keys()}
            if not aliases:
                return
            defining |= aliases
            if len(defining) > _MOST_MACROS:
                raise TooManyMacros
            uses = DefinitionPlaces(aliases, are_whole=True)
            for path, text in self._raw.items():
                if path not in texts and any(alias in text for alias in aliases):
                    texts[path] = _join_lines(text)

    def _with_braces(self, words: set[bytes]) -> frozenset[bytes]:
        """Return the words that are macros with a brace, also through others."""
        named = frozenset(words if len(words) <= _FEW else words & self._macros)
        pending, seen = set(named), set[bytes]()
        while pending:
            seen |= pending
            if len(seen) > _MOST_MACROS:
                return named
            names = b"|".join(map(re.escape, sorted(pending)))
            define = re.compile(_BODY % names, re.DOTALL)
            bodies = define.findall(self._plain)
            if any(b"{" in body or b"<%" in body for body in bodies):
                return named & self._macros
            inner = {word for body in bodies for word in _WORD.findall(body)} - seen
            pending = inner if len(inner) <= _FEW else inner & self._macros
        return frozenset()

    def _makers(self, callees: set[bytes]) -> frozenset[bytes]:
        return _makers_of_structs(callees, self._callables, are_whole=not self._wanted.patterns)

    def _adders(self, users: set[bytes]) -> frozenset[bytes]:
        """Return the macros among some called names that add members to an argument."""
        called = self._callables.among(users).items() if users else ()
        found = ((macro, parameters, body) for macro, every in called for parameters, body in every)
        return frozenset(macro for macro, parameters, body in found if _adds_members(parameters, body))

    @cached_property
    def _macros(self) -> frozenset[bytes]:
        return frozenset(_MACRO.findall(self._plain))

    @cached_property
    def _callables(self) -> _Callables:
        return _Callables(self._plain)

    @cached_property
    def _plain(self) -> bytes:
        """All texts in one, which is searched faster, with each macro defined by `#define NAME`."""
        texts = tuple(self._raw.values())
        together = b"\n\n".join(texts)
        if not _is_odd(together):
            return together
        joined = (_join_lines(text).replace(b"%:", b"#") if _is_odd(text) else text for text in texts)
        return b"\n\n".join(joined)

    def _users_of_pasting(self, texts: dict[str, bytes]) -> Iterator[str]:
        """Yield the headers that use a macro which can make one of the names of pieces."""
        makers: dict[bytes, frozenset[bytes]] = {}
        for text in texts.values():
            for macro, parameters, body in _DEFINE.findall(text) if b"##" in text else ():
                if b"##" in body and _NAMES.search(body):
                    marked = _mark_joined(parameters, body, self._wanted)
                    if DefinitionPlaces((_MARK,)).can_be_defined(
                        marked, Near.none(), is_body=True
                    ):
                        makers[macro] = frozenset(_WORD.findall(text))
        if len(makers) > _MOST_MACROS:
            raise TooManyMacros
        for path, text in texts.items():
            named = [name for name in makers if name in text]
            words = frozenset(_WORD.findall(_DIRECTIVE.sub(b"", text))) if named else frozenset[bytes]()
            used = [makers[name] for name in named if name in words]
            if used and _can_paste(frozenset(_WORD.findall(text)).union(*used), self._wanted):
                yield path


class _Callables:
    """The macros of a text that can be called, each with the parameters and bodies of its definitions."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._found: dict[bytes, list[tuple[bytes, bytes]]] = {}
        self._searched = set[bytes]()
        self._rounds = 0

    def among(self, names: Collection[bytes]) -> dict[bytes, list[tuple[bytes, bytes]]]:
        """Return the macros of some names."""
        new = {name for name in names if name not in self._searched}
        if new and self._rounds <= _MOST_ROUNDS:
            self._rounds = self._rounds + 1 if len(new) <= _FEWEST else _MOST_ROUNDS + 1
            is_few = self._rounds <= _MOST_ROUNDS
            searched = b"|".join(map(re.escape, sorted(new))) if is_few else _ANY
            found: dict[bytes, list[tuple[bytes, bytes]]] = {}
            for name, parameters, body in re.findall(_CALLABLE % searched, self._text, re.DOTALL):
                found.setdefault(name, []).append((parameters, body))
            self._found |= found
        self._searched |= new
        return {name: self._found[name] for name in names if name in self._found}


def _adds_members(parameters: bytes, body: bytes) -> bool:
    return any(
        re.search(rb"(?<![\w$])%s\s*(?:\{|<%%)" % re.escape(name), _join_lines(body))
        for name in _WORD.findall(parameters)
    )


def _aliases(text: bytes, uses: DefinitionPlaces, near: Near) -> Iterator[bytes]:
    """Yield the macros of a text whose bodies can define one of some names, and add those that they call."""
    for macro, parameters, body in _DEFINE.findall(text):
        is_used = uses.are_there(body) and not uses.are_there(parameters)
        if is_used and uses.can_be_defined(body, near, is_body=True):
            yield macro


def _makers_of_structs(callees: set[bytes], macros: _Callables, are_whole: bool) -> frozenset[bytes]:
    """Return the macros among some called names that can make a struct or typedef of an argument; none that
    are the argument and no more, which trace events use.

    If names `are_whole`, an argument that is joined with something is none.
    """
    callers: dict[bytes, set[bytes]] = {macro: set() for macro in macros.among(callees)}
    makers, pending = list[bytes](), sorted(callers)
    for macro in pending:
        near = Near.none()
        for parameters, body in macros.among((macro,))[macro]:
            names = _WORD.findall(parameters)
            own = DefinitionPlaces(names, are_whole=are_whole)
            if body.strip() not in names and own.can_be_defined(_join_lines(body), near, is_body=True):
                makers.append(macro)
        inner = macros.among(near.callees)
        pending += sorted(inner.keys() - callers.keys())
        for name in inner:
            callers.setdefault(name, set()).add(macro)
    found = set[bytes]()
    for maker in makers:
        if maker not in found:
            found.add(maker)
            makers += callers[maker]
    return frozenset(callees & found)


def _read(path: str) -> bytes | None:
    """Return the text of a file, empty if it does not exist; None if it cannot be read whole."""
    try:
        return files.read_all(path, _LARGEST)
    except FileNotFoundError:
        return b""
    except OSError:
        return None


def _join_lines(text: bytes) -> bytes:
    """Return a text with its continued lines joined, and spaces for its comments."""

    def replace(match: re.Match[bytes]) -> bytes:
        start = match[0][:1]
        return match[0] if start in b"\"'" else b" " if start == b"/" else b""

    return _SKIPPED.sub(replace, text)


def _is_odd(text: bytes) -> bool:
    return any(each.search(text) for each in _ODD)


def other_files(folders: Iterable[str]) -> list[str]:
    """Return the files below some folders that are no headers by their suffix."""
    found: list[str] = []
    for folder in folders:
        for place, below, names in files.walk(folder):
            below[:] = sorted(below)
            others = (name for name in sorted(names) if not name.endswith((".h", ".cmd")))
            found += (os.path.join(place, name) for name in others)
    return list(dict.fromkeys(found))
