"""The table of the containers of an embedded struct, with their slab caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.judgement.verdict import ContainerVerdict
from layoutlint.model.storage import CacheSlab
from layoutlint.phrases import first_few
from layoutlint.reports.styled import Line, line

_HEAD = ("container", "cache", "stride", "bases", "verdict", "objects in use")
_UNKNOWN = "??"


def render(containers: Sequence[ContainerVerdict]) -> Iterator[Line]:
    """Yield the lines of the table; none without containers."""
    rows = [_HEAD, *map(_row, containers)] if containers else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield line(f"    {cells.rstrip()}")


def _row(each: ContainerVerdict) -> tuple[str, ...]:
    name, stride, in_use = cache_cells(each.caches)
    share = "" if len(each.bases) == 1 else f" {len(each.violating)} of {len(each.bases)}"
    return (
        each.container,
        name,
        stride,
        first_few([str(base) for base in each.bases], 4),
        f"{each.outcome.value}{share if each.violating else ''}",
        in_use,
    )


def cache_cells(caches: Sequence[CacheSlab]) -> tuple[str, str, str]:
    """Return the names of caches, the bytes between their objects, and how many of these are in use."""
    strides = dict.fromkeys(str(cache.stride) for cache in caches)
    known = [cache.in_use for cache in caches if cache.in_use is not None]
    in_use = f"{sum(known):,}" if known and len(known) == len(caches) else _UNKNOWN
    names = first_few([cache.name for cache in caches])
    return names or _UNKNOWN, ", ".join(strides) or _UNKNOWN, in_use
