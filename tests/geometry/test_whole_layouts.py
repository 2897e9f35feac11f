"""All that geometry says of the structs that kinds are tried on, and where objects of allocators can start.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from layoutlint.geometry.access_masks import access_masks, field_at, parts_mask
from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.groups import find_groups
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import pair_size, placements
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, EMBEDDED, TAKE_ALIGNMENT, WORDS, Storage
from layoutlint.model.structs import Field, Source, Struct, Unstated
from layoutlint.model.target import TARGETS, target_named
from tests.harness.build import flexible, member, struct
from tests.harness.whole import inline
from tests.kinds import structs
from tests.kinds.structs import array, marker

NAMED = {name: value for name, value in vars(structs).items() if isinstance(value, Struct)}
NAMED |= {
    "GRID": struct("grid", 160, array("cell", 0, 4, 32, array("in", 0, 3, 8, member("x", 0, 2), member("y", 4, 4)), member("z", 24, 8)),
                   replace(array("wide", 128, 6, 4), dims=(2, 3)), member("end", 156, 1)),
    "OPEN": struct("open", 72, member("a", 0, 4), member("b", 64, 8, align=8), align=None),
    "LEFT": replace(struct("left", 96, member("a", 0, 8), member("b", 32, 8), align=8), unstated=Unstated.ALIGNED),
    "MARKED": struct("marked", 192, marker("__cacheline_group_begin__r", 0), member("a", 0, 8), marker("__cacheline_group_end__r", 8),
                     marker("__cacheline_group_begin__w", 64), member("b", 64, 8), member("c", 72, 8), marker("__cacheline_group_end__w", 80),
                     marker("__cacheline_group_begin__t", 128), member("d", 128, 8), flexible("rest", 192), align=64),
}  # fmt: skip


def show(places: Iterator[Place] | tuple[Place, ...]) -> str:
    return ", ".join(f"{place.path} {place.extent}" for place in places)


def lines(given: Struct) -> Iterator[str]:
    layout = Layout(given)
    yield f"size {layout.size}, holes {inline(layout.holes)}, padding {layout.bit_padding} bits, sized {layout.is_sized}"
    yield f"align {inline(layout.align)}, alignments {layout.alignments}, suggested {inline(layout.suggested_align)}"
    yield f"open end {layout.open_end and layout.open_end.path}"
    for place in layout.walk_fields():
        again = layout.find(place.path)
        rest = show(layout.remaining_fields([place]))
        near = show(layout.remaining_fields_near([place], [place], 8)) if place.bit_size else ""
        shifted = show(layout.remaining_fields_near([place], [place], 4, 16)) if place.bit_size else ""
        yield f"{show((place,))} is {again and again.path}; others {rest}; within 8 {near}; 16 on {shifted}"
    for start in range(0, layout.size, 32):
        yield f"{start}..{start + 32}: {show(layout.fields_touching(start, start + 32))}"
    at_bytes = [f"{'/'.join(each.path for each in layout.innermost_fields(byte))}={place and place.path}"
                for byte in range(min(layout.size + 8, 48)) for place in (field_at(layout, byte),)]  # fmt: skip
    yield f"bytes: {' '.join(at_bytes)}"
    masks = access_masks(layout)
    wide = parts_mask(layout, lambda field: (field,) if (field.bit_size or 0) >= 32 and not field.members else field.members or None)
    yield f"masks {masks.starts:x} {masks.inside:x} {wide:x}"
    yield f"groups {inline(find_groups(layout))}"


def test_layouts(golden):
    golden("layouts.txt", "".join(f"== {name}\n" + "".join(f"{line}\n" for line in lines(each)) for name, each in NAMED.items()))


SIZES = (24, 96, 192, 200, 1000, 4096, 5000, 9000)
MORE = ({}, {"align": 64}, {"array": 3}, {"array": ANY}, {"stride": 256}, {"has_constructor": True}, {"has_red_zone": True})
ONLY_SLABS = {"stride", "has_constructor", "has_red_zone"}


def places(size: int, word: str, more: dict, target: str, least: int | None = None, *tail: Field) -> str:
    storage = Storage(word, Source("r.toml", 1), **more)
    layout = Layout(struct("s", size, member("a", 0, 8), *tail, target=target_named(target)))
    try:
        found = placements(layout, None, least, storage)
    except ValueError as error:
        return str(error)
    rows = "; ".join(f"{row.item} {row.step} {len(row.bases)}" for row in found.rows)
    room = allocation_room(layout, storage)
    slabs = "".join(f"; {each.fewest_cpus}-{each.most_cpus}: {each.slab.objects} in {1 << each.slab.order}, {each.room}" for each in room.slabs) if room else ""
    first = f"{found.bases[:3]} of {len(found.bases)}; {found.why}; rows {rows or 'unknown'}"
    return f"{first}; room {room and (room.block, room.slack)}{slabs}"


def test_placements(golden):
    golden(
        "placements.txt",
        "".join(
            f"{target} {word} {inline(more)} {size}: {places(size, word, more, target)}\n"
            for word, more, target in product(WORDS, MORE, ("x86_64", "aarch64"))
            if word != EMBEDDED and ("align" not in more or word in TAKE_ALIGNMENT) and (word == "slab" or not ONLY_SLABS & {*more})
            for size in (SIZES if word in ("slab", "kmalloc") and target == "x86_64" else SIZES[:4:3])
        ),
    )


def test_placements_of_unknown_sizes(golden):
    """Objects that end with a flexible array, and arrays of any length, are in any class that is large enough."""
    golden(
        "open-placements.txt",
        "".join(
            f"{word} {size}, at least {least}: {places(size, word, {}, 'x86_64', least, flexible('rest', size))}\n"
            f"{word} {size}, at least {least}, an array: {places(size, word, {'array': ANY}, 'x86_64', least)}\n"
            for word, size, least in product(("kmalloc", "slab", "line", "percpu", "malloc"), (24, 96, 97, 192, 200), (None, 8, 16, 32, 64, 128))
        ),
    )


def test_pairs_of_lines(golden):
    sizes = (None, 32, 64, 128, 256)
    golden("pairs.txt", "".join(f"{target.name}: {[pair_size(size, target) for size in sizes]}\n" for target in TARGETS))
