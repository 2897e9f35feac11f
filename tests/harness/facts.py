"""The facts of a message: what it names and counts. How it says that is asserted by the examples of the manual
(tests/kinds/test_manual.py) and by the sentences of every branch (tests/kinds/test_branches.py)."""

from __future__ import annotations

import re

_FACT = re.compile(r"`[^`]*`|(?<![\w`])\d+(?:\.\.\d+|\.\d+)?(?![\w`])")


def facts(message: str) -> tuple[str, ...]:
    """Return the names in backquotes and the numbers of a message, in their order."""
    return tuple(_FACT.findall(message))


def has_facts(message: str, part: str) -> bool:
    """Return whether a message has the facts of a part of it, in one piece."""
    whole, own = facts(message), facts(part)
    return any(whole[at : at + len(own)] == own for at in range(len(whole) - len(own) + 1))
