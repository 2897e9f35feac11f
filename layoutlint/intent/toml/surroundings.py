"""Reads the key `around` of a rule, and checks its selectors of fields (`@hot-read`)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from layoutlint.geometry.field_types import TYPE
from layoutlint.intent.toml.converters import boolean
from layoutlint.intent.toml.table import Table
from layoutlint.judgement.context import SELECTOR
from layoutlint.judgement.rule import Kind
from layoutlint.kinds import all_kinds
from layoutlint.phrases import name_hint


def read_around(table: Table, kind: Kind | None, accesses: tuple[str, ...]) -> bool:
    """Return whether a rule is about the surroundings of its struct; note mistakes in `around` and selectors.

    `accesses` are the accesses that can be declared.
    """
    around = table.get("around", boolean) or False
    if kind is None:
        return around
    if around and not kind.traits.in_containers:
        kinds = ", ".join(other.name for other in all_kinds() if other.traits.in_containers)
        table.report(f"`around` is for the kinds {kinds}, not for {kind.name}", "around")
    for key in kind.keys:
        for selector in _selectors(table.data.get(key.name)) if key.type in ("paths", "groups") else ():
            if selector.startswith(TYPE):
                if around:
                    reason = "`around` does not support field types"
                    table.report(f"`{key.name}` cannot have `{selector}`: {reason}", key.name)
            elif not any(fnmatchcase(access, selector[1:]) for access in accesses):
                hint = name_hint(selector[1:], accesses)
                table.report(f"`{key.name}` cannot have `{selector}`{hint}", key.name)
            elif around and not (kind.traits.in_containers and kind.traits.arranges == "apart"):
                reason = f"with `around`, it selects fields beside the struct, only for {_separating_kinds()}"
                table.report(f"`{key.name}` cannot have `{selector}`: {reason}", key.name)
    return around


def _separating_kinds() -> str:
    """Return the names of the kinds that separate fields, including siblings of an embedded struct."""
    return ", ".join(kind.name for kind in all_kinds() if kind.traits.arranges == "apart")


def _selectors(value: object) -> Iterator[str]:
    """Yield every selector in the value of a key that names fields."""
    if isinstance(value, str) and value.startswith(SELECTOR):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _selectors(element)
