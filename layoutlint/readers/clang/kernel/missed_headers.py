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
from itertools import islice

from layoutlint import files
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang.kernel import pasted_names

_LARGEST = 1 << 27
"""The most bytes of a header that are searched."""
_FARTHEST = 4096
"""The most bytes of a declaration before the name, and behind it; if more decide, it may be a definition."""
_MOST_PLACES = 2000
"""The most places of names in a text that are looked at; a text with more may define one."""
_MOST_MACROS = 200
"""The most macros with a name that are followed."""
_SKIPPED = re.compile(
    rb"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|/\*.*?(?:\*/|\Z)|//(?:[^\n\\]|\\.)*+|\\[ \t]*+\r?\n",
    re.DOTALL,
)
"""Texts in quotes, comments, and the ends of lines that go on."""
_DEFINE = re.compile(rb"^[ \t]*+(?:#|%:)[ \t]*+define[ \t]++(\w++)(\([^()\n]*+\))?([^\n]*+)", re.MULTILINE)
"""A macro in joined lines: name, parameters, body."""
_CALLABLE = re.compile(rb"#[ \t]*+define[ \t]++(\w++)(\([^()\n]*+\))((?:[^\n\\]|\\.)*+)", re.DOTALL)
_NAMES = re.compile(rb"\b(?:struct|union|typedef)\b|\}")
"""What is before the name of a struct or typedef."""
_WORD = re.compile(rb"\w++")
_NEXT = re.compile(rb"\s*+(?:\w++|([{;,)\[#:(]|<[%:]|%:)|(.)|\Z)", re.DOTALL)
"""What follows a name: a word, a sign that a definition can have there, another one, or nothing."""
_LAST = re.compile(rb"(?:(\w++)|(\S))\s*\Z")
_NO_TYPE = frozenset(b"return goto case else do sizeof typeof __typeof__ if while for".split())
_TAGS = (b"struct", b"union")
_TYPES = frozenset(
    b"int char long short signed unsigned float double void struct union enum const volatile".split()
)
_ATTRIBUTES = re.compile(
    rb"(?:\s++|\w++|\[\[?[^\[\]]*+\]?\]|<:[^;{}]*?:>|\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))*+"
)
"""Words, and what is in brackets and parentheses."""
_TYPEDEF = re.compile(rb"\btypedef\b")
_AGGREGATE = re.compile(rb"\b(?:struct|union)\b")


class TooManyMacros(Exception):
    """So many macros have a requested name, or can make one, that their uses are not searched."""


class Search:
    """Searches the headers of one tree for some names and patterns."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._names = sorted(name.encode(errors="surrogateescape") for name in wanted.names)
        patterns = (translate(each)[4:-3].encode(errors="surrogateescape") for each in wanted.patterns)
        inside = (pattern.replace(b".", rb"\w") for pattern in patterns)
        self._uses = _Uses(b"|".join((*map(re.escape, self._names), *inside)))

    def find(self, paths: Iterable[str], others: Iterable[str], known: Collection[str] = ()) -> list[str]:
        """Return the headers that may define a requested struct, in order, without those that are `known` to.

        `others` are files that headers can include, and that have other suffixes. A header that cannot be
        read may define anything. Raises TooManyMacros.
        """
        contents = {path: _read(path) for path in paths}
        raw = {path: text for path, text in contents.items() if text is not None}
        has_patterns = bool(self._wanted.patterns)
        texts = {
            path: _join_lines(text) for path, text in raw.items() if has_patterns or self._is_mentioned(text)
        }
        found = dict.fromkeys(path for path, text in contents.items() if text is None)
        found.update(dict.fromkeys(self._definers(self._uses, texts, raw, known)))
        if has_patterns:
            found.update(dict.fromkeys(self._users_of_pasting(texts)))
        other_texts = ((path, _read(path)) for path in others)
        named = (
            path for path, text in other_texts if text is None or self._uses.are_there(_join_lines(text))
        )
        parts = [os.fsencode(os.path.basename(path)) for path in named]
        found.update(dict.fromkeys(path for path, text in raw.items() if any(part in text for part in parts)))
        return [path for path in found if path not in known]

    def _is_mentioned(self, text: bytes) -> bool:
        """Return whether a text can have one of the names, perhaps on two lines."""
        joined = text.replace(b"\\\r\n", b"").replace(b"\\\n", b"")
        return any(name in joined for name in self._names)

    def _definers(
        self, uses: _Uses, texts: dict[str, bytes], raw: dict[str, bytes], known: Collection[str]
    ) -> Iterator[str]:
        """Yield the headers in which one of the names can be defined, also by macros that have it."""
        seen = set[bytes]()
        while True:
            callees, aliases = set[bytes](), set[bytes]()
            for path, text in texts.items():
                if uses.are_there(text):
                    if path not in known and uses.can_be_defined(_DEFINE.sub(b"", text), callees):
                        yield path
                    for macro, parameters, body in _DEFINE.findall(text):
                        if uses.are_there(body) and not uses.are_there(parameters):
                            is_edge = uses.can_be_defined(body, callees, is_body=True)
                            aliases |= {macro} if is_edge else set()
            makers = _makers_of_structs(callees, raw) if callees else frozenset()
            if makers:
                yield from (path for path in texts if uses.are_arguments(texts[path], makers))
            aliases -= seen
            if not aliases:
                return
            seen |= aliases
            if len(seen) > _MOST_MACROS:
                raise TooManyMacros
            uses = _Uses(b"|".join(map(re.escape, sorted(aliases))))
            for path, text in raw.items():
                if path not in texts and any(alias in text for alias in aliases):
                    texts[path] = _join_lines(text)
            yield from (path for path, text in texts.items() if uses.are_used_alone(_DEFINE.sub(b"", text)))

    def _users_of_pasting(self, texts: dict[str, bytes]) -> Iterator[str]:
        """Yield the headers that use a macro which can make one of the names of pieces."""
        makers: dict[bytes, frozenset[bytes]] = {}
        for text in texts.values():
            for macro, parameters, body in _DEFINE.findall(text) if b"##" in text else ():
                if b"##" in body and _NAMES.search(body):
                    marked = pasted_names.mark(parameters, body, self._wanted)
                    if _Uses(pasted_names.MARK).can_be_defined(marked, set(), is_body=True):
                        makers[macro] = frozenset(_WORD.findall(text))
        if len(makers) > _MOST_MACROS:
            raise TooManyMacros
        for path, text in texts.items():
            named = [name for name in makers if name in text]
            words = frozenset(_WORD.findall(_DEFINE.sub(b"", text))) if named else frozenset[bytes]()
            used = [makers[name] for name in named if name in words]
            if used and pasted_names.can_paste(frozenset(_WORD.findall(text)).union(*used), self._wanted):
                yield path


def _makers_of_structs(callees: set[bytes], texts: dict[str, bytes]) -> frozenset[bytes]:
    """Return the macros among some called names that can make a struct or typedef of an argument; none that
    are the argument and no more, which trace events use.
    """
    macros: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for text in texts.values():
        for macro, parameters, body in _CALLABLE.findall(text):
            macros.setdefault(macro, []).append((parameters, body))
    callers: dict[bytes, set[bytes]] = {macro: set() for macro in callees & macros.keys()}
    makers, pending = list[bytes](), sorted(callers)
    for macro in pending:
        inner = set[bytes]()
        for parameters, body in macros[macro]:
            names = _WORD.findall(parameters)
            own = _Uses(b"|".join(names) or b"(?!)")
            if body.strip() not in names and own.can_be_defined(_join_lines(body), inner, is_body=True):
                makers.append(macro)
        pending += sorted((inner & macros.keys()) - callers.keys())
        for name in inner & macros.keys():
            callers.setdefault(name, set()).add(macro)
    found = set[bytes]()
    for maker in makers:
        if maker not in found:
            found.add(maker)
            makers += callers[maker]
    return frozenset(callees & found)


class _Uses:
    """Tells where C can define a struct or typedef of some names, given as a pattern."""

    def __init__(self, names: bytes) -> None:
        self._name = re.compile(rb"(?<![\w$])(?:%s)(?![\w$])" % names)

    def are_there(self, text: bytes) -> bool:
        """Return whether a text has one of the names."""
        return self._name.search(text) is not None

    def are_used_alone(self, text: bytes) -> bool:
        """Return whether a name is where a declaration begins: a macro that can stand for all of it."""
        return any(
            text[text.rfind(b"\n", 0, found.start()) + 1 : found.start()].rstrip()[-1:]
            in (b"", b";", b"}", b"{", b")")
            for found in self._name.finditer(text)
        )

    def can_be_defined(self, text: bytes, callees: set[bytes], is_body: bool = False) -> bool:
        """Return whether a text can define one of the names, and add the macros that it calls with one.

        `is_body` is for the body of a macro, around which there can be any text.
        """
        names = islice(self._name.finditer(text), _MOST_PLACES + 1)
        places = [_is_defined_at(text, found, callees, is_body) for found in names]
        return any(places) or len(places) > _MOST_PLACES

    def are_arguments(self, text: bytes, callees: frozenset[bytes]) -> bool:
        """Return whether one of some macros is called with one of the names."""
        called = set[bytes]()
        self.can_be_defined(_DEFINE.sub(b"", text), called)
        return not called.isdisjoint(callees)


def _is_defined_at(text: bytes, name: re.Match[bytes], callees: set[bytes], is_body: bool) -> bool:
    """Return whether a name can be a tag or typedef that is defined; add the macro whose argument it is."""
    follows = _NEXT.match(text, name.end())
    assert follows is not None
    sign = follows[1]
    is_end = not follows[0].strip()
    if follows[2] is not None:
        return False
    before = text[max(0, name.start() - _FARTHEST) : name.start()].rstrip()
    last = _LAST.search(before)
    is_whole = is_end or sign in (b";", b"{", b"<%", b"#", b"%:")
    if last is None:
        return is_body and (is_whole or _has_body(text, name.end()))
    if is_body and before.endswith(b"#") and not before.endswith(b"##"):
        return False  # in quotes
    before_word, before_sign = last[1], last[2]
    if sign in (b")", b",") and before_sign in (b"(", b","):
        callees.update(_callee(before))
    if (
        before_word in _NO_TYPE
        or before_word == b"enum"
        or (before_sign is not None and before_sign not in b')]}>("#')
    ):
        return False
    declaration = re.split(rb"[;{}]", before)[-1] if before_sign != b"}" else _before_braces(before)
    is_tag = before_word in _TAGS or (before_sign != b"(" and _AGGREGATE.search(declaration) is not None)
    is_typedef = before_word not in _TAGS and _TYPEDEF.search(declaration) is not None
    if sign in (b"{", b"<%", b"#", b"%:") or is_end:
        return before_sign != b"(" or is_typedef
    return is_typedef or (is_tag and _has_body(text, name.end()))


def _has_body(text: bytes, start: int) -> bool:
    """Return whether a body can begin behind attributes and macros that follow a tag."""
    attributes = _ATTRIBUTES.match(text, start, start + _FARTHEST)
    assert attributes is not None
    if attributes.end() == start + _FARTHEST:
        return True
    end = text[attributes.end() : attributes.end() + 1]
    words = _WORD.findall(attributes[0])
    plain = [word for word in words[1:] if not word.startswith(b"__") and not word.isdigit()]
    is_open = len(plain) > 1 or any(word in _TYPES for word in plain)  # a macro has the brace
    return end in (b"", b"{", b"<", b"#", b"%", b"?") or is_open


def _before_braces(text: bytes) -> bytes:
    """Return what is before the braces with which a text ends, back to the declaration before."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ord("}")) - (text[at] == ord("{"))
        if depth == 0:
            return re.split(rb"[;{}]", text[:at])[-1]
    return b"typedef"  # too far to see


def _callee(before: bytes) -> Iterator[bytes]:
    """Yield the name of the function or macro whose arguments a text is in."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] == ord(")")) - (before[at] == ord("("))
        if depth < 0:
            word = re.search(rb"(\w++)\s*\Z", before[:at])
            yield from () if word is None else (word[1],)
            return


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


def other_files(folders: Iterable[str]) -> list[str]:
    """Return the files below some folders that are no headers by their suffix."""
    found: list[str] = []
    for folder in folders:
        for place, below, names in files.walk(folder):
            below[:] = sorted(below)
            others = (name for name in sorted(names) if not name.endswith((".h", ".cmd")))
            found += (os.path.join(place, name) for name in others)
    return list(dict.fromkeys(found))
