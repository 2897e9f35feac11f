"""Where objects of a program really were: at addresses that a debugger, a tracer or an allocator printed."""

from __future__ import annotations

from collections.abc import Mapping

from layoutlint.geometry.layout import cached_layout
from layoutlint.geometry.placement import placements
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import ALIGNED, EMBEDDED, Storage
from layoutlint.model.structs import Source, Struct


class SeenObjects(Record, frozen=True, eq=False):
    """The objects of a file, by their structs."""

    label: str
    """The file."""
    starts: Mapping[str, Mapping[int, int]]
    """By the name of the struct: how many objects start at each byte of a page."""

    def complete(self, struct: Struct, stated: Storage | None) -> Storage | None:
        """Return where the objects of a struct start: where they were, unless a rule file excludes that."""
        seen = self._find(struct)
        if not seen or self.misfit(struct, stated):
            return stated
        usual = stated or Storage(ALIGNED, Source(self.label))
        return replace(usual, seen=tuple(sorted(seen.items())), seen_in=self.label)

    def misfit(self, struct: Struct, stated: Storage | None) -> str:
        """Return why the addresses of a struct are not used; empty if they are, or there are none."""
        seen = self._find(struct)
        if not seen or (stated is not None and stated.word == EMBEDDED):
            return ""
        name, layout = f"{struct.aggregate} {struct.name}", cached_layout(struct)
        total = sum(seen.values())
        odd = sum(count for start, count in seen.items() if start % (struct.align or 1))
        if odd:
            odd_ones = f"{odd:,} of {total:,} objects are not"
            return f"{self.label} is not used for {name}: it is aligned to {struct.align}, and {odd_ones}"
        if stated is None:
            return ""
        by_file = placements(layout, storage=stated)
        other = sum(count for start, count in seen.items() if start % by_file.line_size not in by_file.bases)
        if not other:
            return ""
        statement = f"{stated.source}: `{stated.spelling}` of {name} counts, and contradicts {self.label}"
        return f"{statement}, where {other:,} of {total:,} objects are elsewhere"

    def _find(self, struct: Struct) -> Mapping[int, int]:
        """Return the objects of a struct with a known layout."""
        if struct.bit_size is None or struct.problem is not None:
            return {}
        return next((self.starts[name] for name in (struct.name, *struct.aliases) if name in self.starts), {})
