"""Search of C sources for what depends on the order of a struct's members, with file and line."""

from layoutlint.sources.order_uses.facts import (
    Kind,
    LookedAt,
    Offsets,
    OrderUse,
    Search,
    forbids,
    member_names,
)
from layoutlint.sources.order_uses.search import facts_of, find_order_uses, sources_that_name

__all__ = [
    "Kind", "LookedAt", "Offsets", "OrderUse", "Search", "facts_of", "find_order_uses", "forbids",
    "member_names", "sources_that_name",
]  # fmt: skip
