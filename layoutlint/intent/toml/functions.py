"""The tables of a rule file about functions: what they do, and at which of them work arrives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.intent.toml import converters
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.table import Table
from layoutlint.model.uses import Effect, FunctionEffect

_NAME = re.compile(r"[A-Za-z_*?][\w*?]*")
_EFFECTS: dict[str, Effect | None] = {
    "read": Effect.READ, "write": Effect.WRITE, "atomic": Effect.ATOMIC, "lock": Effect.LOCK, "setup": None,
    "thread": None,
}  # fmt: skip
_MOST_ARGUMENTS = 127
_GREATEST_WEIGHT = 1_000.0


def read_functions(top: Table) -> Iterator[FunctionEffect]:
    """Yield the functions of `[functions.NAME]`; mistakes are noted."""
    tables = top.table("functions", "[functions]")
    for name in tables.data:
        table = tables.table(name, f"[functions.{name}]")
        table.allow_only(("effect", "arguments"))
        effect = table.require("effect", converters.choice(_EFFECTS))
        arguments = table.get("arguments", converters.list_of(_argument, "numbers"))
        if not _NAME.fullmatch(name):
            table.report(f"the name of a function cannot be `{name}`")
        elif effect is not None:
            positions = (0,) if arguments is None else arguments
            yield FunctionEffect(name, _EFFECTS[effect], positions, effect == "thread")


def read_entries(top: Table) -> Iterator[tuple[str, float]]:
    """Yield the functions of `[entries]` with their weights; mistakes are noted."""
    table = top.table("entries", "[entries]")
    for name in table.data:
        weight = table.get(name, _weight)
        if not _NAME.fullmatch(name):
            table.report(f"the name of a function cannot be `{name}`", name)
        elif weight is not None:
            yield name, weight


def _argument(value: object) -> int:
    """Return the index of an argument, which users count from 1."""
    number = converters.integer(value)
    if not 1 <= number <= _MOST_ARGUMENTS:
        raise Misfit(f"must be from 1 to {_MOST_ARGUMENTS}, not {number}: the number of an argument")
    return number - 1


def _weight(value: object) -> float:
    number = converters.number(value)
    if not 0 <= number <= _GREATEST_WEIGHT:
        raise Misfit(f"must be from 0 to {_GREATEST_WEIGHT:g}, not {number:g}")
    return float(number)
