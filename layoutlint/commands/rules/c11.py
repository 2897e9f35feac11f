"""Assertions in portable C11: a source that every compiler can check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from layoutlint import escapes
from layoutlint.judgement.rule import Rule

_LONGEST = 300
"""Characters of a message; compilers print it whole."""


class Row(Protocol):
    """The conditions of a rule on one struct, or why there are none."""

    @property
    def rule(self) -> Rule:
        """The rule."""

    @property
    def struct(self) -> str:
        """The name of the struct."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that hold if the rule is kept."""

    @property
    def reason(self) -> str:
        """Why there are no conditions."""


def render(rows: tuple[Row, ...]) -> str:
    """Return `_Static_assert`s for all rows with conditions, and a comment for each of the others."""
    return escapes.lines(_lines(rows))


def _lines(rows: tuple[Row, ...]) -> Iterator[str]:
    yield "/* Made by `layoutlint rules asserts --c11`, for a source that includes the structs. */"
    yield "#include <stddef.h>"
    for row in rows:
        yield ""
        for condition in row.conditions:
            yield f"_Static_assert({condition},"
            yield f'\t"{_message(row)}");'
        if row.reason:
            yield f"/* not asserted: {_comment(f'{row.rule.id} on {row.struct}: {row.reason}')} */"


def _message(row: Row) -> str:
    """Return the message of a failed assertion, as the inside of a string of C."""
    text = " ".join(f"layoutlint {row.rule.id}: {row.rule.why}".split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    plain = text.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return plain.replace("??", "?\\?")  # no trigraphs


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")
