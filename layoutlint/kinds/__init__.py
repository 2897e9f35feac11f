"""One module per rule kind; KINDS is the table of them all, which are imported when a rule names them."""

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
}
"""Each kind's class, in the order of the manual; its module is called as the kind is."""

OF_VARIABLES = ("neighbours",)
"""The kinds whose rules are about variables, and name no struct."""
OF_EITHER = ("stride",)
"""Those of which a rule with the key `variables` is so as well."""


IN_PAIRS = ("separate", "isolated", "access", "guards", "stride", "neighbours")
"""The kinds that keep fields apart, and so can do it by aligned pairs of lines."""


def in_pairs(kind: Kind) -> bool:
    """Return whether a rule can be judged by pairs of lines: one that brings fields together cannot."""
    return kind.name in IN_PAIRS and getattr(kind, "contended", True)


@cache
def kind_named(name: str) -> type[Kind] | None:
    """The kind called `name`, None when there is none."""
    if name not in KINDS:
        return None
    module = import_module(f"layoutlint.kinds.{name.replace('-', '_')}")
    return cast("type[Kind]", getattr(module, KINDS[name]))


def every_kind() -> tuple[type[Kind], ...]:
    """All of them, in the order of the manual."""
    return tuple(kind for name in KINDS if (kind := kind_named(name)) is not None)
