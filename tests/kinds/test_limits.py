"""The smallest and the largest number of each key: it is taken, and the next is refused."""

from __future__ import annotations

import pytest

from layoutlint.kinds import find_kind

PAIR = {"fields": ("a", "b")}
LIMITS = [
    # kind, other keys, key, smallest, largest
    ("adjacent", PAIR, "max_gap", 0, None),
    ("allocation", {}, "max_class", 8, 4 << 20),
    ("allocation", {}, "max_order", 0, None),
    ("allocation", {}, "min_per_slab", 1, None),
    ("allocation", {"min_per_slab": 1}, "cpus", 1, 8192),
    ("allocation", {"min_per_slab": 1}, "order", 0, 10),
    ("allocation", {"min_per_slab": 1}, "page", 1 << 10, 1 << 20),
    ("distance", PAIR, "min", 0, None),
    ("distance", PAIR, "max", 0, None),
    ("group", {"group": "g"}, "max", 0, None),
    ("group", {"group": "g"}, "max_lines", 1, None),
    ("holes", {}, "max", 0, None),
    ("lines", PAIR, "max", 1, None),
    ("offset", {"fields": ("a",)}, "at", 0, None),
    ("offset", {"fields": ("a",)}, "line", 0, None),
    ("size", {}, "max", 0, None),
    ("size", {}, "exact", 0, None),
    ("size", {}, "multiple_of", 1, None),
    ("size", {}, "max_lines", 1, None),
]


@pytest.mark.parametrize(("kind", "others", "key", "smallest", "largest"), LIMITS)
def test_limits(kind, others, key, smallest, largest):
    make = find_kind(kind)
    for value in (smallest, largest):
        if value is not None:
            assert getattr(make(**others, **{key: value}), key) == value
    beyond = [smallest - 1] + ([] if largest is None else [largest + 1])
    for value in beyond:
        with pytest.raises(ValueError, match=f"^`{key}` (is )?{value}[ ,]"):
            make(**others, **{key: value})
