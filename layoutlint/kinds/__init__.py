"""One module per rule kind; KINDS is the table of them all."""

from __future__ import annotations

from layoutlint.kinds.separate import Separate
from layoutlint.rule import Kind

KINDS: tuple[type[Kind], ...] = (Separate,)


def kind_named(name: str) -> type[Kind] | None:
    """The kind called `name`, None when there is none."""
    return next((kind for kind in KINDS if kind.name == name), None)
