"""The key `around` of a rule, and fields that a rule means by their declared access (`@hot-read`)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from layoutlint.geometry.field_types import TYPE
from layoutlint.intent.toml.table import Table, boolean
from layoutlint.judgement.context import SELECTOR
from layoutlint.judgement.rule import Kind
from layoutlint.kinds import every_kind
from layoutlint.phrases import one_of


def around_of(table: Table, kind: Kind | None, accesses: tuple[str, ...]) -> bool:
    """Whether a rule is about what stands around its struct; mistakes with that and with `@` are noted.

    `accesses` are the words that fields can be declared to have.
    """
    around = table.get("around", boolean) or False
    if kind is None:
        return around
    if around and not kind.traits.in_containers:
        kinds = ", ".join(other.name for other in every_kind() if other.traits.in_containers)
        table.wrong(f"`around` is for the kinds {kinds}, and not for {kind.name}", "around")
    for key in kind.keys:
        for selector in _selectors(table.data.get(key.name)) if key.type in ("paths", "groups") else ():
            if selector.startswith(TYPE):
                if around:
                    what = "the types of fields are not looked at with `around`"
                    table.wrong(f"`{key.name}` cannot have `{selector}`: {what}", key.name)
            elif not any(fnmatchcase(access, selector[1:]) for access in accesses):
                hint = one_of(selector[1:], accesses)
                table.wrong(f"`{key.name}` cannot have `{selector}`{hint}", key.name)
            elif around and not (kind.traits.in_containers and kind.traits.arranges == "apart"):
                what = f"with `around`, a field beside the struct; only {_names_of_apart()} speak of those"
                table.wrong(f"`{key.name}` cannot have `{selector}`: it means, {what}", key.name)
    return around


def _names_of_apart() -> str:
    """Return the names of the kinds that keep fields apart, also from fields around an embedded struct."""
    return ", ".join(kind.name for kind in every_kind() if kind.traits.arranges == "apart")


def _selectors(value: object) -> Iterator[str]:
    """Every `@access` in the value of a key that names fields."""
    if isinstance(value, str) and value.startswith(SELECTOR):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _selectors(element)
