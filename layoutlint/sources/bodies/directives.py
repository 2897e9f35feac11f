"""The directives of OpenMP in C text, by which threads run statements, one at a time, or atomically.

libclang shows no body behind a directive that it obeys. So directives are comments to it, and found in the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

IGNORED = ("-fno-openmp", "-D_OPENMP=201811")
"""The flags with which clang ignores directives, and sources have what they have for OpenMP."""
_ASKS = re.compile(r"-f(?:i|q)?openmp(?:=\w+)?|-[qx]openmp\w*")
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+omp[ \t]+((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE)
_BEGINS = re.compile(rb"(?:target |teams |distribute )*(?:parallel|task|taskloop|teams)\b")
_ATOMIC = re.compile(rb"atomic\b(?! read)")
_CRITICAL = re.compile(rb"critical\b\s*(?:\(\s*(\w+))?")


class Manner(Enum):
    """How a statement is run."""

    BY_THREADS = "by threads"
    ALONE = "alone"
    AT_ONCE = "at once"


class Directive(NamedTuple):
    """A directive that says how the statement behind it is run."""

    line: int
    """The last line of it."""
    manner: Manner
    name: str = ""
    """That of a critical section."""


def is_asked_for(flags: tuple[str, ...]) -> bool:
    """Return whether flags make a compiler obey directives."""
    own = [flag for flag in flags if _ASKS.fullmatch(flag) or flag == IGNORED[0]]
    return bool(own) and own[-1] != IGNORED[0]


def directives(text: bytes) -> Iterator[Directive]:
    """Yield the directives in a source."""
    for match in _DIRECTIVE.finditer(text) if b"omp" in text else ():
        words = b" ".join(match[1].replace(b"\\", b" ").split())
        line = text.count(b"\n", 0, match.end()) + 1
        critical = _CRITICAL.match(words)
        if critical is not None:
            yield Directive(line, Manner.ALONE, (critical[1] or b"").decode())
        elif _BEGINS.match(words):
            yield Directive(line, Manner.BY_THREADS)
        elif _ATOMIC.match(words):
            yield Directive(line, Manner.AT_ONCE)
