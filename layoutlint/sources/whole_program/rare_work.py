"""Functions of programs that run seldom, or that take so long that a lost cache line does not show.

A name tells a part of it, beside those that `phases` knows. A kernel has other words: there, `open` is hot.
"""

from __future__ import annotations

import re
from functools import lru_cache

from layoutlint.model.uses import Function, plain_name, words_of

_SELDOM = 0.1
_SHOWING = 0.02
ONCE = 0.02
"""What is left for what a thread does before its loop."""
_WORDS = (
    # once for an object or a connection
    (_SELDOM, "create|new|accept|connect|disconnect|open|close|attach|detach|login|logout|spawn|fork"),
    (_SELDOM, "start|stop"),
    # once for many operations: sizes, files, other servers
    (_SELDOM, "reload|resize|rehash|expand|grow|load|save|rewrite|rotate|checkpoint|handshake|reset"),
    # if something went wrong
    (_SELDOM, "deadlock|dead_lock|recover|recovery|repair|failover|retry|fallback|evict|eviction"),
    # at times that a clock gives
    (_SELDOM, "cron|periodic|tick|timer|timeout|maintenance|maint|housekeeping|watchdog"),
    # before the thread waits: a switch of threads takes much longer
    (_SELDOM, "sleep|wait|park|suspend|block|blocked"),
    # for people
    (_SHOWING, "cfg|conf|config|configuration"),
    (_SHOWING, "log|logs|syslog|logger|info|status|usage|help|version|describe|getconf|monitor"),
)  # fmt: skip
_PATTERNS = tuple((share, re.compile(rf"(?:^|_)(?:{words})(?:_|$)")) for share, words in _WORDS)
_SLOW = re.compile(
    r"f(?:data)?sync|sync_file_range|u?sleep|nanosleep|clock_nanosleep|fork|system|popen|waitpid|getaddrinfo|rename"
)
"""Calls that take longer than hundreds of lost cache lines."""


@lru_cache(1 << 16)
def share_of_name(name: str) -> float:
    """Return what the name of a function leaves of its heat."""
    words = words_of(name)
    return next((share for share, pattern in _PATTERNS if pattern.search(words)), 1.0)


def share(function: Function) -> float:
    """Return how much of its heat a function of a program has, by its name and the slow calls in it."""
    name = plain_name(function.key)
    is_slow = any(_SLOW.fullmatch(plain_name(call.callee)) for call in function.calls)
    return share_of_name(name) * (_SELDOM if is_slow else 1.0)
