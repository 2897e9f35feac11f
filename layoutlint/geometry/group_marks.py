"""Members that mark groups of fields in Linux structs, and the uses that group names state.

`__cacheline_group_begin(GROUP)` and `__cacheline_group_end(GROUP)` (include/linux/cache.h) are members
without bytes, so every input contains them. A group is named after the accesses to its fields and their code
path: `tcp_sock_read_tx`, `sock_write_rxtx`, `Qdisc_read_mostly`, `read_write`.
"""

from __future__ import annotations

import re

from layoutlint.model.record import Record

_MARKER = re.compile(r"__cacheline_group_(begin|end|pad)__(\w+)")
_SIDES = {"tx": {"tx"}, "rx": {"rx"}, "txrx": {"tx", "rx"}, "rxtx": {"tx", "rx"}}
_READ, _WRITTEN = {"read", "readmostly"}, {"write", "written"}


class Marker(Record, frozen=True):
    """The parts of the name of a marking member."""

    edge: str
    """`begin`, `end`, or `pad` for the member that fills the line after an aligned end."""
    group: str


class Use(Record, frozen=True):
    """The use of a group's fields, as its name states it."""

    writes: bool
    """Whether the fields are written on the named paths; if not, they are only read there."""
    sides: frozenset[str] = frozenset()
    """`tx` and `rx`, which run on different processors; empty if the name states no side."""

    @property
    def name_suffix(self) -> str:
        """The name that Linux gives to such a group, after the struct's name: `read_txrx`."""
        sides = "".join(side for side in ("tx", "rx") if side in self.sides)
        return "_".join(filter(None, ("write" if self.writes else "read", sides)))

    def disturbs(self, other: Use) -> bool:
        """Return whether writes to these fields take a line from a processor that reads the others.

        A side that alone writes one group may read the other: it is one processor at a time.
        """
        if not self.writes or other.writes:
            return False
        return len(self.sides) != 1 or self.sides != other.sides


def parse_marker(name: str | None) -> Marker | None:
    """Parse the name of a marking member; None for any other member."""
    match = _MARKER.fullmatch(name or "")
    return match and Marker(match[1], match[2])


def parse_use(group: str, struct: str = "") -> Use | None:
    """Return the use that a group name states after the struct's name; None for no use, or for `cold`."""
    words = group.removeprefix(f"{struct}_").split("_")
    if not _READ.isdisjoint(words) or not _WRITTEN.isdisjoint(words):
        sides = frozenset(side for word in words for side in _SIDES.get(word, ()))
        return Use(not _WRITTEN.isdisjoint(words), sides)
    return None
