"""What is beside embedded structs and elements of arrays, on both sides of each limit: structs in memory, each with one oddity.

The text in `golden/` is for review: `pytest --rewrite-goldens` writes it. Offsets in tests/geometry/test_spots.py are compilers'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill

from layoutlint.geometry.containers import Container, Index
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.siblings import (
    Spot,
    next_elements,
    places_in_differing_elements,
    places_in_elements,
    spots,
    spots_in,
)
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct
from tests.geometry.test_containers import embed
from tests.harness.build import flexible, member, struct

LOCK = struct("lock", 8, member("count", 0, 4), member("owner", 4, 4))
CELL = struct("cell", 24, member("id", 0, 8), embed("lock", "struct lock", 8, LOCK, 2))
TWELVE = struct("twelve", 12, member("a", 0, 4), member("b", 4, 8))
GRID = struct("grid", 168, member("head", 0, 8), embed("cells", "struct cell", 8, CELL, 2, 3), member("tail", 152, 8), member("last", 160, 8))
UNTAGGED = Field(None, CType("struct {...}"), 64, 192, aggregate="struct", members=(member("id", 0, 8), embed(None, "struct lock", 8, LOCK), member("z", 16, 8)))
EITHER = Field(None, CType("union {...}"), 64, 128, aggregate="union", members=(embed("lock", "struct lock", 0, LOCK), member("word", 0, 8), member("text", 0, 16)))
TAILED = struct("tailed", 8, member("count", 0, 8), embed("locks", "struct lock", 8, LOCK, None))
NO_STRIDE = Field("x", CType("struct {...}", "[]"), 64, 0, dims=(None,), aggregate="struct", members=(embed("lock", "struct lock", 0, LOCK),))


def rows_of_twelve(count: int) -> Struct:
    """An array of 12 bytes: 16 elements begin at different places of a line of 64, and 6 reach as far as a line."""
    return struct(f"rows{count}", 16 + 12 * count, member("head", 0, 8), embed("rows", "struct twelve", 8, TWELVE, count), member("tail", 8 + 12 * count, 8))


HOLDERS = (
    GRID, struct("outer", 184, member("before", 0, 8), embed("grid", "struct grid", 8, GRID), member("after", 176, 8)),
    struct("plain", 24, member("a", 0, 8), embed("lock", "struct lock", 8, LOCK), member("z", 16, 8)),
    struct("unnamed", 40, member("a", 0, 8), UNTAGGED, member("last", 32, 8)), struct("in_union", 32, member("a", 0, 8), EITHER, member("z", 24, 8)),
    replace(struct("choice", 16, embed("lock", "struct lock", 0, LOCK), member("other", 0, 16)), aggregate="union"),
    struct("open", 8, member("head", 0, 8), embed("locks", "struct lock", 8, LOCK, None)), struct("hidden", 8, member("head", 0, 8), NO_STRIDE),
    struct("none", 24, member("a", 0, 8), embed("no", "struct lock", 8, LOCK, 0), member("z", 8, 8), flexible("open", 16)),
    struct("odd", 24, member("a", 0, 3), embed("lock", "struct lock", 3, LOCK), member("b", 11, 5), embed("one", "struct lock", 16, LOCK, 1)),
    struct("flat", 72, member("a", 0, 8), replace(embed("locks", "struct lock", 8, LOCK, 8), is_flattened=True)),
    replace(struct("twins", 8, embed("named", "struct lock", 0, LOCK), embed(None, "struct lock", 0, LOCK)), aggregate="union"),
    struct("tails", 40, member("head", 0, 8), embed("each", "struct tailed", 8, TAILED, 3), member("last", 32, 8)),
    struct("aliased", 16, embed(None, "struct lock", 0, LOCK), member("z", 8, 8)), *(rows_of_twelve(count) for count in (1, 2, 21, 22, 23, 28, 29)),
)  # fmt: skip


def describe(places: Iterable[Place]) -> str:
    found = list(places)
    ends = found if len(found) < 8 else [*found[:5], *found[-2:]]
    return ", ".join(f"{place.path} {place.bit_offset}+{place.bit_size}" for place in ends) + (f" of {len(found)}" if len(found) > 7 else "")


def spot_lines(container: Container, inner: Struct, spot: Spot, paths: list[str]) -> Iterator[str]:
    start, end = spot.bit_offset, spot.bit_offset + (inner.bit_size or 0)
    near = ((start - 64, start), (start - 65, start + 1), (end, end + 64), (end - 1, end + 65), (start, end), (start - 600, end + 600))
    yield f"{spot.path} at {start}, {spot.source}: " + " | ".join(describe(spot.own_siblings(low, high)) for low, high in near)
    for word, test in (("own", spot.is_own_sibling), ("outside", spot.is_outside), ("inside", spot.is_inside)):
        found = [path for path in paths if test(path)]
        yield f"{word} {' '.join(found[:12])} of {len(found)}"


def container_lines(container: Container, inner: Struct) -> Iterator[str]:
    yield f"= {inner.name} in {container.struct.name}: {container.written} at {container.bit_offset}, through {container.through}"
    try:
        found = {line: list(spots(container, inner, line)) for line in (16, 64)}
        size, at = (container.struct.bit_size or 0), container.bit_offset
        for low, high in ((0, at), (0, at + 1), (at, at + 1), (at + 63, at + 65), (at + 64, at + 128), (size - 65, size - 64), (0, size), (size, size + 600)):
            reached = list(spots_in(container, inner, low, high))
            yield f"in {low}..{high}: {', '.join(f'{spot.path} {spot.bit_offset}' for spot in reached[:4])} of {len(reached)}"
    except ValueError as error:
        yield str(error)
        return
    for line, every in found.items():
        yield f"on lines of {line}: {', '.join(f'{spot.path} {spot.bit_offset}' for spot in every[:3] + every[-3:])} of {len(every)}"
    fields = [place.path for place in Layout(container.struct).walk_fields()]
    indexed = [path + index for path in fields if "." not in path or not container.arrays for index in ("", "[0]", "[1]", "[1][2]", "[0][1].id", "[0][0].lock[1]", "[20]")]
    for spot in (*found[64][:2], *found[64][-1:]):
        yield from spot_lines(container, inner, spot, [path for path in indexed if Layout(container.struct).find(path) is not None])


def element_lines(whole: Struct) -> Iterator[str]:
    """Yield what is known of the fields in elements of arrays."""
    layout = Layout(whole)
    for path in ("cells.id", "cells.lock", "cells.lock.owner", "cells[1].id", "cells[1].lock.count", "cells[1][2].lock.count", "grid.cells.lock.count", "rows.b", "locks.owner", "locks.count", "one.count", "no.count"):
        for place in layout.match(path)[:1]:
            yield f"= {path} in {whole.name}: {' | '.join(describe(places_in_differing_elements(whole, place, line)) for line in (8, 64))}"
            at, size = place.bit_offset, place.bit_size or 0
            yield " | ".join(describe(places_in_elements(whole, place, *span)) for span in ((at, at + 1), (at + size, at + 192), (at + 64, at + 97), (0, 2000)))
    for path, outer in (("cells[0][1].lock[1]", "cells"), ("cells[0][1].lock[1]", "cells[0]"), ("cells[0][1].lock[1]", "cells[0][1]"), ("cells[1][2].id", "cells"), ("locks[3]", "locks"), ("rows[7].b", "rows"), ("rows[0]", "rows")):
        if layout.find(path) is not None:
            yield f"= next to {path} in {outer} of {whole.name}: {' | '.join(describe(next_elements(layout, path, outer, line)) for line in (8, 12, 13, 24, 25))}"


def test_everything_beside_them(golden):
    index = Index((LOCK, CELL, TWELVE, *HOLDERS))
    lines: list[str] = []
    for inner in (LOCK, CELL, TWELVE, GRID):
        for container in index.containers(inner.name, inner):
            lines += container_lines(container, inner)
    lines += [line for whole in HOLDERS for line in element_lines(whole)]
    golden("siblings.txt", "".join(f"{fill(line, 150, subsequent_indent='    ', break_on_hyphens=False)}\n" for line in lines))
