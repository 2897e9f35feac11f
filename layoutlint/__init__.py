"""A static struct-layout linter for C: layouts, placements and written rules about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutlint.api import (
        Field,
        Finding,
        Layout,
        LayoutlintError,
        Outcome,
        Place,
        Placements,
        ReadError,
        Report,
        Rule,
        RuleFileError,
        Source,
        Struct,
        Target,
        UsageError,
        Verdict,
        check,
        field_lines,
        finding_advice,
        finding_message,
        format_report,
        placements,
        read,
    )

__version__ = "0.1.0"

__all__ = [
    "Field",
    "Finding",
    "Layout",
    "LayoutlintError",
    "Outcome",
    "Place",
    "Placements",
    "ReadError",
    "Report",
    "Rule",
    "RuleFileError",
    "Source",
    "Struct",
    "Target",
    "UsageError",
    "Verdict",
    "check",
    "field_lines",
    "finding_advice",
    "finding_message",
    "format_report",
    "placements",
    "read",
]
"""The Python interface (docs/scripting.md)."""


def __getattr__(name: str) -> object:
    """Return a name of the Python interface. It is imported on first use: commands need little of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from layoutlint import api

    value = globals()[name] = getattr(api, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
