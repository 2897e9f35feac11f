"""What reports state about their recording (`perf report --header`, `perf buildid-list`)."""

from __future__ import annotations

import re

from layoutlint.model.record import Record, field
from layoutlint.readers.profiles.records import Header

_FACT = re.compile(r"^#\s*(captured on|os release|perf version)\s*:\s*(.+?)\s*$")
_BUILD_ID = re.compile(r"^(?:#\s*build[- ]?id\s*:?\s*)?([0-9a-fA-F]{16,64})(?:\s+(\S.*?))?\s*$")
_KEYS = {"captured on": "captured", "os release": "release", "perf version": "tool"}
_MOST_BUILD_IDS = 10_000
"""A recording of a whole machine has some hundred programs and libraries."""


class HeaderBuilder(Record):
    """Collects the facts of a header, the first of each kind."""

    facts: dict[str, str] = field(default_factory=dict)
    build_ids: list[tuple[str, str, int]] = field(default_factory=list)

    def take(self, number: int, text: str) -> bool:
        """Return whether a line is a part of the header, and keep what it states."""
        fact = _FACT.match(text) if text.startswith("#") else None
        if fact is not None:
            self.facts.setdefault(_KEYS[fact[1]], fact[2])
            return True
        build_id = _BUILD_ID.match(text) if text[:1] in "#0123456789abcdefABCDEF" else None
        if build_id is None or len(build_id[1]) % 2:
            return False
        if len(self.build_ids) < _MOST_BUILD_IDS:
            self.build_ids.append((build_id[1].lower(), build_id[2] or "", number))
        return True

    def header(self) -> Header:
        """Return all facts."""
        return Header(build_ids=tuple(self.build_ids), **self.facts)
