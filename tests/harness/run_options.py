"""The options of a run from the names of their fields, whichever record has them."""

from __future__ import annotations

from typing import Any

from layoutlint.lint.options import Guessing, Intents, Options, Strictness
from layoutlint.model.record import replace

_GROUPS = {"intents": Intents, "strictness": Strictness, "guessing": Guessing}


def run_options(options: Options | None = None, /, **values: Any) -> Options:
    """Return options, or others with these values; fields of groups are named like those of Options."""
    groups: dict[str, Any] = {}
    for group, record in _GROUPS.items():
        own = {name: values.pop(name) for name in record.__struct_fields__ if name in values}
        groups |= {group: replace(getattr(options or Options(), group), **own)} if own else {}
    return replace(options or Options(), **values, **groups)
