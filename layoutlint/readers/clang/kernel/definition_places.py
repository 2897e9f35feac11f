"""Where a text can define a struct: the tag of a definition, or the name of a typedef.

The text has no comments, and no directives but `#include`; or it is the body of a macro. Attributes and
macros can be around the name: it counts too often rather than too seldom.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

_FARTHEST = 4096
"""The most bytes of a declaration before the name, and behind it; if more decide, it may be a definition."""
_WIDEST = 64
"""The most spaces behind `##`; behind more, a name counts as a whole one."""
_MOST_PLACES = 2000
"""The most places of names in a text that are looked at; a text with more may define one."""
_ALONE = rb"(?<![\w$])%s(?![\w$])"
_NAME = re.compile(rb"[\w$]++")
_PASTE = re.compile(rb"\s*+##")
_MOST_SEARCHED = 8
"""The most names that one expression searches for."""
_NEXT = re.compile(rb"\s*+(?:[\w$]++|([{;,)\[#:(]|<[%:]|%:)|(.)|\Z)", re.DOTALL)
"""What follows a name: a word, a sign that a definition can have there, another one, or nothing."""
_LAST = re.compile(rb"\s*+(?:([\w$]++)|([^\w$]))")
"""The last word or sign of a text, in its reverse: a search for an end takes longer."""
_PARENTHESIS = re.compile(rb"[()]")
_NO_TYPE = frozenset(b"return goto case else do sizeof typeof __typeof__ if while for".split())
_TAGS = (b"struct", b"union")
_TYPES = frozenset(
    b"int char long short signed unsigned float double void struct union enum const volatile".split()
)
_ATTRIBUTES = re.compile(
    rb"(?:\s++|[\w$]++|\[\[?[^\[\]]*+\]?\]|<:[^;{}]*?:>|\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))*+"
)
"""Words, and what is in brackets and parentheses."""
_INSIDE = re.compile(rb"\[\[?[^\[\]]*+\]?\]|<:[^;{}]*?:>|\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)")
_TYPEDEF = re.compile(rb"\btypedef\b")
_AGGREGATE = re.compile(rb"\b(?:struct|union)\b")


class Near(NamedTuple):
    """The words near names that may be macros."""

    callees: set[bytes]
    """What is called with a name."""
    users: set[bytes]
    """What is called with a tag, such as `struct NAME`."""
    followers: set[bytes]
    """What follows a tag, and may have its members."""

    @classmethod
    def none(cls) -> Near:
        """Return no words, to which some are added."""
        return cls(set(), set(), set())


def _literal_word(name: bytes) -> bytes:
    """Return the pattern of a name that is no part of another; that of a plain text is found faster."""
    escaped = re.escape(name)
    return rb"%s(?![\w$])(?<![\w$]%s)" % (escaped, escaped)


class DefinitionPlaces:
    """Tells where C can define a struct or typedef of some names and patterns."""

    def __init__(
        self, names: Collection[bytes], patterns: Iterable[bytes] = (), are_whole: bool = False
    ) -> None:
        self._names, self._are_whole = frozenset(names), are_whole
        few = map(_literal_word, sorted(self._names)) if len(self._names) <= _MOST_SEARCHED else ()
        by_pattern = [_ALONE % pattern for pattern in patterns]
        self._only = next(iter(self._names)) if len(self._names) == 1 and not by_pattern else None
        searched = b"|".join((*few, *by_pattern))
        self._searched = re.compile(searched) if searched else None

    def places(self, text: bytes) -> Iterator[re.Match[bytes]]:
        """Yield where the names are in a text, not beside `##` if they must be whole."""
        found = self._searched.finditer(text) if self._searched is not None else iter(())
        if len(self._names) > _MOST_SEARCHED:
            # An expression of many names takes as long as all of them one by one.
            found = chain(found, (word for word in _NAME.finditer(text) if word[0] in self._names))
        return (place for place in found if not _is_joined(text, place)) if self._are_whole else found

    def are_there(self, text: bytes) -> bool:
        """Return whether a text has one of the names."""
        if self._only is not None and self._only not in text:  # faster than an expression
            return False
        return next(self.places(text), None) is not None

    def are_used_alone(self, text: bytes) -> bool:
        """Return whether a name is where a declaration begins: a macro that can stand for all of it."""
        return any(
            text[text.rfind(b"\n", 0, found.start()) + 1 : found.start()].rstrip()[-1:]
            in (b"", b";", b"}", b"{", b")")
            for found in self.places(text)
        )

    def can_be_defined(self, text: bytes, near: Near, is_body: bool = False) -> bool:
        """Return whether a text can define one of the names, and add the words near them that may be macros.

        `is_body` is for the body of a macro, around which there can be any text.
        """
        names = islice(self.places(text), _MOST_PLACES + 1)
        places = [_is_defined_at(text, found, near, is_body) for found in names]
        return any(places) or len(places) > _MOST_PLACES

    def are_beside(self, text: bytes, macros: frozenset[bytes]) -> bool:
        """Return whether one of some macros is called with one of the names, or follows one."""
        near = Near.none()
        self.can_be_defined(text, near)
        return not macros.isdisjoint(near.callees | near.users | near.followers)

    def are_at_end(self, text: bytes) -> bool:
        """Return whether a text ends with one of the names: what includes it can go on."""
        last = _LAST.match(text[::-1])
        word = b"" if last is None or last[1] is None else last[1][::-1]
        return bool(word) and self.are_there(word)


def _is_joined(text: bytes, place: re.Match[bytes]) -> bool:
    before = text[max(0, place.start() - _WIDEST) : place.start()].rstrip()
    return before.endswith(b"##") or _PASTE.match(text, place.end()) is not None


def _is_defined_at(text: bytes, name: re.Match[bytes], near: Near, is_body: bool) -> bool:
    """Return whether a name can be a tag or typedef that is defined; add the words near it."""
    follows = _NEXT.match(text, name.end())
    assert follows is not None
    sign = follows[1]
    is_end = not follows[0].strip()
    if follows[2] is not None:
        return False
    before = text[max(0, name.start() - _FARTHEST) : name.start()].rstrip()
    last = _LAST.match(before[::-1])
    is_whole = is_end or sign in (b";", b"{", b"<%", b"#", b"%:")
    if last is None:
        return is_body and (is_whole or _has_body(text, name.end(), is_body))
    if is_body and before.endswith(b"#") and not before.endswith(b"##"):
        return False  # in quotes
    before_word, before_sign = (last[1] or b"")[::-1], last[2]
    if sign in (b")", b",") and (before_sign in (b"(", b",") or before_word in _TAGS):
        (near.users if before_word else near.callees).update(_callee(before))
    if (
        before_word in _NO_TYPE
        or before_word == b"enum"
        or (before_sign is not None and before_sign not in b')]}>("#')
    ):
        return False
    declaration = _declaration(before) if before_sign != b"}" else _before_braces(before)
    if declaration.strip() == b"typedef":
        return False  # the type, not the name
    is_tag = before_word in _TAGS or (before_sign != b"(" and _AGGREGATE.search(declaration) is not None)
    if is_tag and sign is None:
        near.followers.update(_followers(text, name.end()))
    is_typedef = before_word not in _TAGS and _TYPEDEF.search(declaration) is not None
    if sign in (b"{", b"<%", b"#", b"%:") or is_end:
        return before_sign != b"(" or is_typedef
    return is_typedef or (is_tag and _has_body(text, name.end(), is_body))


def _followers(text: bytes, start: int) -> list[bytes]:
    """Return the words behind a tag, without those in parentheses and brackets."""
    attributes = _ATTRIBUTES.match(text, start, start + _FARTHEST)
    return [] if attributes is None else _NAME.findall(_INSIDE.sub(b" ", attributes[0]))


def _has_body(text: bytes, start: int, is_body: bool) -> bool:
    """Return whether the members can begin behind attributes and macros that follow a tag."""
    attributes = _ATTRIBUTES.match(text, start, start + _FARTHEST)
    assert attributes is not None
    if attributes.end() == start + _FARTHEST:
        return True
    end = text[attributes.end() : attributes.end() + 1]
    words = _NAME.findall(attributes[0])
    plain = [word for word in words[1:] if not word.startswith(b"__") and not word.isdigit()]
    is_open = len(plain) > 1 or any(word in _TYPES for word in plain)  # a macro has the brace
    return end in (b"", b"{", b"<", b"%", b"?") or (end == b"#" and not is_body) or is_open


def _before_braces(text: bytes) -> bytes:
    """Return what is before the braces with which a text ends, back to the declaration before."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ord("}")) - (text[at] == ord("{"))
        if depth == 0:
            return _declaration(text[:at])
    return b"typedef"  # too far to see


def _declaration(text: bytes) -> bytes:
    """Return the end of a text behind its last semicolon or brace."""
    return text[max(map(text.rfind, (b";", b"{", b"}"))) + 1 :]


def _callee(before: bytes) -> Iterator[bytes]:
    """Yield the name of the function or macro whose arguments a text is in."""
    depth, reverse = 0, before[::-1]
    for found in _PARENTHESIS.finditer(reverse):
        depth += 1 if found[0] == b")" else -1
        if depth < 0:
            last = _LAST.match(reverse, found.end())
            yield from () if last is None or last[1] is None else (last[1][::-1],)
            return
