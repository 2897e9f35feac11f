"""The entries of the page of messages: which one explains a message. `layoutlint explain ENTRY` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PHRASES = {
    "no-rules": r"no rules apply to these inputs",
    "missing-struct": r"is in none of the inputs",
    "missing-field": r"has no field `",
    "taken-from-its-rule": r"before this change, and nothing that is judged defines it now",
    "header-not-found": r"file not found",
    "missing-macro": r"no macro `\w+` is defined here",
    "unreliable-layout": r"the layout of \S+ is unreliable",
    "unknown-alignment": r"The alignment of \w+ .* is not in the debug information",
    "no-debug-information": r"has no debug information",
    "not-covered": r"units? without debug information",
    "not-a-tree": r"is not a configured kernel tree",
    "unknown-compiler": r"is compiled by .*, which is not known here",
    "damaged-database": r"is not a compilation database",
    "another-language": r"layoutlint reads only C\b",
    "no-such-commit": r"this repository has no such commit",
    "shipped-rules": r"only shipped rules are broken or at risk",
}
"""What a message has, by the entry that explains it; the first one that fits counts."""
_MOST = 3
_LONGEST = 2_000
"""The characters of a message that are searched."""


def entries(messages: Iterable[str]) -> list[str]:
    """Return the entries that explain messages, each once, in the order of the messages."""
    texts = list(messages)
    if not texts:
        return []
    patterns = {name: re.compile(phrase) for name, phrase in _PHRASES.items()}
    found = (
        next((name for name, each in patterns.items() if each.search(text[:_LONGEST])), "") for text in texts
    )
    return [name for name in dict.fromkeys(found) if name]


def help_line(messages: Iterable[str]) -> str:
    """Return the line that names what explains messages; empty for none."""
    commands = [f"`layoutlint explain {name}`" for name in entries(messages)[:_MOST]]
    return f"help: {', '.join(commands)}" if commands else ""
