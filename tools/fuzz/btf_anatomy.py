"""Where the numbers of undamaged BTF stand (Documentation/bpf/btf.rst of Linux)."""

from __future__ import annotations

from typing import Final

from tools.fuzz.anatomy import Extent, Order, Place

MAGIC: Final = 0xEB9F
_HEADER: Final = ((0, 2, "magic"), (2, 1, "version"), (3, 1, "flags"), (4, 4, "header"), (8, 4, "offset"), (12, 4, "length"), (16, 4, "offset"), (20, 4, "length"))  # fmt: skip
# Kind -> roles of the words behind struct btf_type: once, and per element.
_ONCE: Final = {1: ("int",), 3: ("id", "id", "count"), 14: ("linkage",), 17: ("index",)}
_EACH: Final = {4: ("name", "id", "place"), 5: ("name", "id", "place"), 6: ("name", "value"), 13: ("name", "id"), 15: ("id", "place", "count"), 19: ("name", "value", "value")}  # fmt: skip
_REFER: Final = frozenset((2, 8, 9, 10, 11, 12, 13, 14, 17, 18))


def anatomy_of(data: bytes, start: int, end: int, order: Order) -> tuple[list[Place], list[Extent], list[Extent]]:
    """Places, what says its length, and types of the blob at `start`."""
    def word(at: int) -> int:
        return int.from_bytes(data[at : at + 4], order)

    header = word(start + 4)
    types = start + header + word(start + 8)
    behind = types + word(start + 12)
    strings = word(start + 20)
    size = end - start
    places = [Place(start + at, width, f"btf-{role}", (0, 1, 4, 24, size, size - 24, strings, 1 << 31))
              for at, width, role in _HEADER]  # fmt: skip
    pieces, heads = [], []
    at = types
    while at < behind:
        piece = at + 12 + 4 * sum(_words(word(at + 4)))
        heads.append((at, word(at + 4)))
        pieces.append(Extent(at, piece))
        at = piece
    for number, (at, info) in enumerate(heads, 1):
        places += _type_places(at, info, number, len(heads), strings)
    units = [Extent(types, behind, Place(start + 12, 4, "btf-length")),
             Extent(behind, behind + strings, Place(start + 20, 4, "btf-length"))]  # fmt: skip
    return places, units, pieces


def _words(info: int) -> tuple[int, int]:
    kind, count = info >> 24 & 0x7F, info & 0xFFFF
    return len(_ONCE.get(kind, ())), count * len(_EACH.get(kind, ()))


def _type_places(at: int, info: int, number: int, last: int, strings: int) -> list[Place]:
    kind, count = info >> 24 & 0x7F, info & 0xFFFF
    low, high = info & 0xFFFF, info & ~0xFFFF
    choices = {
        "name": (0, 1, 2, strings - 1, strings, strings + 1),
        "id": (0, 1, number - 1, number, number + 1, last - 1, last, last + 1, *range(1, last + 1)),
        "place": (0, 1, 7, 8, 64, 1 << 31, 32 << 24, 255 << 24 | 8),
        "count": (0, 1, 1 << 16, 1 << 31, (1 << 32) - 1),
        "int": (1 << 24 | 64, 1 << 16 | 7, 255 << 16 | 255, 64, 128, 0),
        "info": (*(other << 24 | low for other in range(21)), high, high | 0xFFFF, high | low + 1, high | max(low - 1, 0),
                 info ^ 1 << 31, high | 0xFFFFFF),
        "size": (0, 1, 3, 8, 1 << 20, 1 << 31, (1 << 32) - 1),
    }  # fmt: skip
    roles = ["name", "info", "id" if kind in _REFER else "size", *_ONCE.get(kind, ()), *_EACH.get(kind, ()) * count]
    return [Place(at + 4 * n, 4, f"btf-{role}", choices.get(role, (0, 1, 1 << 31))) for n, role in enumerate(roles)]
