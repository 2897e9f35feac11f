"""The members that mark groups of fields in Linux structs, and what their names say of the fields.

`__cacheline_group_begin(GROUP)` and `__cacheline_group_end(GROUP)` (include/linux/cache.h) are members
without bytes, and so stand in every input. Groups are called after what is done with their fields and by
which path: `tcp_sock_read_tx`, `sock_write_rxtx`, `Qdisc_read_mostly`, `read_write`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKER = re.compile(r"__cacheline_group_(begin|end|pad)__(\w+)")
_SIDES = {"tx": {"tx"}, "rx": {"rx"}, "txrx": {"tx", "rx"}, "rxtx": {"tx", "rx"}}
_READ, _WRITTEN = {"read", "readmostly"}, {"write", "written"}


@dataclass(frozen=True, slots=True)
class Marker:
    """What the name of a marking member says."""

    edge: str
    """`begin`, `end`, or `pad` for the member that fills up the unit behind an aligned end."""
    group: str


@dataclass(frozen=True, slots=True)
class Use:
    """What the name of a group says of its fields."""

    writes: bool
    """Whether they are written on the paths concerned; if not, they are only read there."""
    sides: frozenset[str] = frozenset()
    """`tx` and `rx`, which run on different processors; empty where the name tells no side."""

    @property
    def called(self) -> str:
        """How Linux names a group of such fields, behind the name of its struct: `read_txrx`."""
        sides = "".join(side for side in ("tx", "rx") if side in self.sides)
        return "_".join(filter(None, ("write" if self.writes else "read", sides)))

    def disturbs(self, other: Use) -> bool:
        """Whether writing these fields takes a line away from a processor that reads the other ones.

        What one side alone writes, it may read beside.
        """
        if not self.writes or other.writes:
            return False
        return len(self.sides) != 1 or self.sides != other.sides


def marker(name: str | None) -> Marker | None:
    """What a member of this name marks; None for any other member."""
    found = _MARKER.fullmatch(name or "")
    return found and Marker(found[1], found[2])


def use(group: str, struct: str = "") -> Use | None:
    """What the name of a group says, behind that of its struct; None when it says nothing, or `cold`."""
    words = group.removeprefix(f"{struct}_").split("_")
    if not _READ.isdisjoint(words) or not _WRITTEN.isdisjoint(words):
        sides = frozenset(side for word in words for side in _SIDES.get(word, ()))
        return Use(not _WRITTEN.isdisjoint(words), sides)
    return None
