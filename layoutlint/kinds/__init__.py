"""The rule kinds, one module each. KINDS lists them; a module is imported when a rule names its kind."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from layoutlint.judgement.rule import Kind

KINDS = {
    "separate": "Separate",
    "together": "Together",
    "adjacent": "Adjacent",
    "order": "Order",
    "isolated": "Isolated",
    "line-start": "LineStart",
    "no-straddle": "NoStraddle",
    "distance": "Distance",
    "offset": "Offset",
    "size": "Size",
    "lines": "Lines",
    "holes": "Holes",
    "access": "AccessApart",
    "guards": "Guards",
    "stride": "Stride",
    "allocation": "Allocation",
    "group": "MarkedGroup",
    "complete": "Complete",
    "neighbours": "Neighbours",
    "one-layout": "OneLayout",
}
"""The class of each kind, in the order of the manual. The module has the name of the kind."""


def can_use_pairs(kind: Kind) -> bool:
    """Return whether a rule can be judged by pairs of lines: not if it brings fields together."""
    traits = kind.traits
    return traits.line_pairs and (not traits.line_pairs_if or bool(getattr(kind, traits.line_pairs_if)))


def names_of_pairable_kinds() -> tuple[str, ...]:
    """Return the kinds that keep fields apart, and so can do it by aligned pairs of lines."""
    return tuple(kind.name for kind in all_kinds() if kind.traits.line_pairs)


@cache
def find_kind(name: str) -> type[Kind] | None:
    """Return the kind called `name`; None for none."""
    if name not in KINDS:
        return None
    module = import_module(f"layoutlint.kinds.{name.replace('-', '_')}")
    return cast("type[Kind]", getattr(module, KINDS[name]))


def all_kinds() -> tuple[type[Kind], ...]:
    """Return all kinds, in the order of the manual."""
    return tuple(kind for name in KINDS if (kind := find_kind(name)) is not None)
