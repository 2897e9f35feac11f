"""Functions that take or release a lock, by the words of their names.

Bodies of the functions that a body calls are not known while it is read: inference decides by them later.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from layoutlint.model.uses import words_of


class Operation(Enum):
    """What a function does to a lock."""

    TAKE = "take"
    TRY = "try"
    """Takes it if it can; the result is not zero then."""
    TRY_ZERO = "try, zero if taken"
    RELEASE = "release"


_HOW = (
    "irq|irqsave|bh|nested|nest|io|shared|exclusive|excl|read|write|rd|wr|safe|timeout|interruptible|killable|"
    "slow|fast|impl|inner|internal"
)
_OWNERS = "mutex|lck|mtx|lock|critical|critical_section|monitor|rwlock|spinlock"
_TAKE = re.compile(
    rf"(?:^|_)(?:try|timed|rd|wr|read|write|spin|rw|mutex|seq)?lock(?:_(?:{_HOW}))*$|"
    rf"(?:^|_)(?:{_OWNERS})_(?:acquire|take|get|grab|enter|wait|try|tryenter)(?:_|$)|"
    r"(?:^|_)(?:acquire|take|get|grab|enter)_(?:\w+_)?(?:lock|mutex|critical)(?:_|$)|"
    r"(?:^|_)down(?:_(?:read|write))?(?:_(?:trylock|interruptible|killable|nested))*$|"
    r"(?:^|_)tas(?:_|$)|(?:^|_)test_and_set(?:_\d+)?$|"
    r"(?:^|_)(?:mutex|lock|spin)\w*_(?:constructor|locker_new|auto_lock)(?:_|$)"
)
_RELEASE = re.compile(
    rf"unlock|(?:^|_)clear_lock(?:_|$)|(?:^|_)(?:{_OWNERS})_(?:release|leave|exit|put|drop|give)(?:_|$)|"
    r"(?:^|_)(?:release|leave|exit|put|drop)_(?:\w+_)?(?:lock|mutex|critical)(?:_|$)|(?:^|_)up(?:_(?:read|write))?$"
)
_TRY = re.compile(
    r"(?:^|_)(?:try|timed)(?:_|lock|enter|rd|wr)|(?:^|_)(?:interruptible|killable)$|(?:^|_)tas(?:_|$)|test_and_set"
)
_ZERO = re.compile(
    r"^(?:pthread|mtx|uv)_|(?:^|_)(?:tas|interruptible|killable)(?:_|$)|test_and_set|^down_trylock"
)
"""Those that return zero, or an error."""


_LONGEST = 1_000
"""The most characters of a name; no longer one is that of a lock."""
_WORDS = (
    "lock", "mutex", "mtx", "lck", "critical", "monitor", "spin", "down", "up", "tas", "test_and_set",
)  # fmt: skip
"""One of them is in each name of a function that takes or releases a lock: searching for them is faster."""
_PRIMITIVE = re.compile(r"(?:^|_)tas(?:_|$)|test_and_set")
_VERBS = re.compile(r"(?:un|try|timed|rd|wr)?lock|acquire|release|enter|leave|exit|take|drop|put|get|give|_")


@lru_cache(1 << 14)
def operation(name: str) -> Operation | None:
    """Return what a function does to a lock, as its name says; None for one without such words."""
    if len(name) > _LONGEST:
        return None
    words = words_of(name)
    if not any(word in words for word in _WORDS):
        return None
    if _RELEASE.search(words):
        return Operation.RELEASE
    if not _TAKE.search(words):
        return None
    if not _TRY.search(words):
        return Operation.TAKE
    return Operation.TRY_ZERO if _ZERO.search(words) else Operation.TRY


def is_primitive(name: str) -> bool:
    """Return whether a function is an atomic operation of which locks are made."""
    return len(name) <= _LONGEST and _PRIMITIVE.search(words_of(name)) is not None


@lru_cache(1 << 14)
def stem(name: str) -> str:
    """Return what the names of functions that take and release one lock have in common."""
    return _VERBS.sub("", words_of(name))
