"""Whether macros can join words of a text to a requested name, with `##`."""

from __future__ import annotations

import re
from collections.abc import Collection

from layoutlint.model.wanted import Wanted

_JOINED = re.compile(rb"\w++(?:\s*+##\s*+\w++)++")
_WORD = re.compile(rb"\w++")
MARK = b"layoutlint__joined"

_PREDEFINED = frozenset(b"int char long short unsigned signed float double void _ __ l L u U f".split())
"""Words of macros that the compiler defines (`__SIZE_TYPE__`), which no text needs to have."""


def mark(parameters: bytes, body: bytes, wanted: Wanted) -> bytes:
    """Return the body of a macro with MARK in place of the names that it joins and whose ends can be those of
    a requested name.
    """
    own = set(_WORD.findall(parameters))
    requested = [
        (
            _literal(name).encode(errors="surrogateescape"),
            _literal(name[::-1])[::-1].encode(errors="surrogateescape"),
        )
        for name in (*wanted.names, *wanted.patterns)
    ]

    def replace(joined: re.Match[bytes]) -> bytes:
        words = _WORD.findall(joined[0])
        head, tail = (b"" if words[end] in own else words[end] for end in (0, -1))
        fits = any(
            (first.startswith(head) or head.startswith(first))
            and (last.endswith(tail) or tail.endswith(last))
            for first, last in requested
        )
        return MARK if fits else joined[0]

    return _JOINED.sub(replace, body)


def can_paste(words: Collection[bytes], wanted: Wanted) -> bool:
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
