"""All that geometry says of structs that a seed makes: nothing of a result is left open.

Compilers and a slow model judge parts of it in the other tables. The texts in `golden/` are for review:
`pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from textwrap import fill

import pytest

from layoutlint.geometry import line_search
from layoutlint.geometry.access_masks import access_masks, field_at, parts_mask
from layoutlint.geometry.containers import Index
from layoutlint.geometry.field_types import Finder
from layoutlint.geometry.groups import find_groups
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.line_search import Expectation, Search
from layoutlint.geometry.placement import (
    Placements,
    bases_shared_with_next,
    combine_placements,
    count_lines,
    embedded_placements,
    first_clear_offset,
    fitting_alignment,
    placements,
    shared_bases,
)
from layoutlint.geometry.siblings import (
    next_elements,
    places_in_differing_elements,
    places_in_elements,
    spots,
    spots_in,
)
from layoutlint.model.record import replace
from layoutlint.model.structs import Source, Struct
from tests.harness.build import member, struct
from tests.harness.varied_structs import struct_of_seed
from tests.harness.whole import inline

SEEDS = range(28)
WIDTH = 150
TYPES = (("@type:spinlock_t",), ("@type:struct mutex",), ("@type:int", "@type:*long*"), ("@type:*",))


def show(places: Iterable[Place | None]) -> str:
    return ", ".join("none" if place is None else f"{place.path} {place.extent}" for place in places) or "nothing"


def attempt(call: Callable[[], str]) -> str:
    try:
        return call()
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


def whole_layout(struct: Struct) -> Iterator[str]:
    layout = Layout(struct)
    yield f"{struct.aggregate} of {layout.size} bytes, {layout.bit_padding} bits of padding, sized {layout.is_sized}, for {struct.target.name}"
    yield f"holes {show_holes(layout)}"
    yield f"align {inline(layout.align)} of {layout.alignments}, suggested {inline(layout.suggested_align)}, open end {show([layout.open_end])}"
    yield f"with the largest: {inline(layout.with_alignment(layout.alignments[-1]).align)}"
    yield f"outer {show(layout.walk_fields(0))}; one deep {len(tuple(layout.walk_fields(1)))}"
    yield f"groups {inline(find_groups(layout))}"
    yield f"touching {'; '.join(show(layout.fields_touching(at, at + 5)) for at in range(0, min(layout.size, 96), 19))}"
    yield f"bytes {' '.join(f'{show(layout.innermost_fields(byte))}={show([field_at(layout, byte)])}' for byte in range(0, min(layout.size + 4, 80), 7))}"
    yield f"patterns {'; '.join(show(layout.match(pattern)) for pattern in ('*', '?1', '*.*', 'm*0.m*', 'm1[1]', '*.m*[1]'))}"
    for types in TYPES:
        finder = Finder()
        found = show(finder.find_fields(layout, types))
        yield f"{' '.join(types)}: {found}; {show(finder.find_arrays(layout, types, True))}; {show(finder.find_arrays(layout, types, False))}"


def show_holes(layout: Layout) -> str:
    parts = [f"{each.bit_offset}+{each.bit_size} {attempt(lambda each=each: f'{each.offset}+{each.size}')}" for each in layout.holes]  # type: ignore[misc]
    return "; ".join(parts)


def elements(layout: Layout) -> Iterator[Place]:
    """Yield the fields, and elements of arrays by one index and by all."""
    for place in layout.walk_fields():
        yield place
        for indices in ("[0]", "[1]", "[2]", "[39]", "[1][0]", "[1][2]", "[0][0][0]"):
            found = layout.find(place.path + indices) if place.field.dims else None
            if found is not None:
                yield found


def whole_fields(struct: Struct) -> Iterator[str]:
    layout = Layout(struct)
    own = set(layout.places)
    for place in elements(layout):
        parts = f"{place.path} {place.extent}: size {place.size}, {place.element_bits} bits each, end {attempt(lambda place=place: str(place.end))}"  # type: ignore[misc]
        parts += ", empty" * place.is_empty + ", flexible" * place.is_flexible + ", marker" * place.is_marker
        rest = layout.remaining_fields([place])
        parts += f"; of {len(rest)} others {show(p for p in rest if p not in own)}"
        if place.bit_size:
            parts += f"; within 4 {show(layout.remaining_fields_near([place], [place], 4))}"
            parts += f"; 16 on {show(layout.remaining_fields_near([], [place], 2, 16))}"
        differing = places_in_differing_elements(struct, place, 64)
        if [*differing] != [place]:
            parts += f"; {len(differing)} differ: {show(differing[:3])}; in 8..72 {show(places_in_elements(struct, place, 64, 576))}"
        if "[" in place.path:
            parts += f"; next {show(next_elements(layout, place.path, place.path.partition('[')[0], 16))}"
        yield parts


def whole_masks(struct: Struct) -> Iterator[str]:
    layout = Layout(struct)
    masks = access_masks(layout)
    wide = parts_mask(layout, lambda field: (field,) if (field.bit_size or 0) >= 32 and not field.members else field.members[:1] or None)
    deep = parts_mask(layout, lambda field: (field,) if field.type.left in ("int", "char") else None)
    yield f"starts {masks.starts:x}, inside {masks.inside:x}, wide {wide:x}, ints {deep:x}"
    for offsets in ((0,), (4, 20), (8, 9, 12), (1,), ()):
        for expectations in ((), (Expectation(0, wide),)):
            search = Search(64, layout.size, layout.align.value, offsets, expectations)
            found = search.candidates(masks)
            best = line_search.best(found)
            shown = ", ".join(f"{each.shift}{'!' * each.is_exact}{'?' * each.is_met} at {each.base(64)}" for each in found[:8])
            yield f"{offsets}, {len(expectations)} expected: {shown} of {len(found)}; best {[each.shift for each in best][:8]} of {len(best)}"


def whole_placements(struct: Struct) -> Iterator[str]:
    layout = Layout(struct)
    for line, least in ((None, None), (32, None), (128, 16), (64, 1), (16, 64), (48, None), (64, 3), (0, None)):
        try:
            where = placements(layout, line, least)
        except ValueError as error:
            yield str(error)
            continue
        yield f"{where.line_size}: {show_bases(where.bases)} {where.why}; rows {[(row.item, row.step, show_bases(row.bases)) for row in where.rows]}"
        yield from lines_of_pairs(layout, where)


def show_bases(bases: tuple[int, ...]) -> str:
    return f"{len(bases)} bases {'/'.join(map(str, bases[:3]))}..{bases[-1]}" if bases else "no base"


def lines_of_pairs(layout: Layout, where: Placements) -> Iterator[str]:
    sized = [place for place in elements(layout) if place.bit_size is not None][:7]
    for number, a in enumerate(sized):
        shared = [show_bases(shared_bases(a, b, where)) for b in sized[:number]]
        following = [show_bases(bases_shared_with_next(a, b, row, where.line_size)) for row in where.rows for b in sized[:3]]
        clear = first_clear_offset(max(a.end, 1), where), fitting_alignment(a.offset, max(a.end, a.offset + 1), where)
        yield f"  {a.path}: {'; '.join(shared)} | {'; '.join(following)} | {clear}"
    yield f"  lines {[count_lines(sized, base, where.line_size) for base in where.bases[:4]]}"


def whole_containers(struct: Struct) -> Iterator[str]:
    index = Index((struct, struct_of_seed(struct.bit_size or 0)))
    for name in index.names:
        for inner in index.definitions(name):
            for each in index.containers(name, inner):
                yield f"{name} of {inner.bit_size}: {each.written} = {each.path} at {each.offset} in {each.struct.name}, {each.count}, {inline(each.arrays)}, {each.through}"
                outer = embedded_placements(each, None, None)
                if outer is not None:
                    both = combine_placements((outer, placements(Layout(inner), outer.line_size)))
                    rows = [(row.item, row.step, show_bases(row.bases)) for row in both.rows]
                    yield f"  {show_bases(outer.bases)}, {outer.why}; both {show_bases(both.bases)}, {both.basis(both.bases[:1])}; {rows}"
                yield from spot_lines(each.struct, [*spots(each, inner, 64)], [*spots_in(each, inner, 100, 700)])


def spot_lines(container: Struct, every: list, reaching: list) -> Iterator[str]:
    fields = [place.path for place in elements(Layout(container))]
    yield f"  {len(every)} spots, {len(reaching)} reach: {', '.join(f'{spot.path} {spot.bit_offset}' for spot in reaching[:6])}"
    for spot in every[:1] + every[-1:]:
        own, outside, inside = ([path for path in fields if test(path)] for test in (spot.is_own_sibling, spot.is_outside, spot.is_inside))
        shown = f"own {' '.join(own[:9])} of {len(own)}, outside {len(outside)}, inside {' '.join(inside[:9])} of {len(inside)}"
        yield f"  {spot.path} at {spot.bit_offset}, {spot.source}: {show(spot.own_siblings(spot.bit_offset - 96, spot.bit_offset + 160))}; {shown}"


WHOLE = {"layout": whole_layout, "fields": whole_fields, "masks": whole_masks, "placements": whole_placements, "containers": whole_containers}


@pytest.mark.parametrize("part", WHOLE)
def test_structs_of_seeds(part, golden):
    text = ""
    for seed in SEEDS:
        lines = "".join(f"{fill(line, WIDTH, subsequent_indent='    ', break_on_hyphens=False)}\n" for line in WHOLE[part](struct_of_seed(seed)))
        text += f"== {seed}\n{lines}"
    golden(f"varied-{part}.txt", text)


def test_a_layout_of_another_alignment():
    """The layout with an alignment is one object for all who ask, and states what it is."""
    layout = Layout(replace(struct_of_seed(0), align=None))
    least = layout.with_alignment(1)
    assert least is layout.with_alignment(1)
    assert (least.align.value, least.alignments, least.align.basis) == (1, (1,), "stated by the input")


SOURCES = [(None, "1.c"), (Source("a.h"), "1.c"), (Source("a.h", 2), "1.c"), (Source("a.h", 10), "1.c"), (Source("b.h", 1), "1.c"), (Source("b.h", 1), "2.c")]


def test_definitions_of_one_name_are_in_the_order_of_their_sources():
    given = [replace(struct("x", 8 * size, member("m", 0, 8)), source=source, origin=origin) for size, (source, origin) in enumerate(SOURCES, 1)]
    for order in (given, given[::-1], given[2:] + given[:2]):
        index = Index(order)
        assert index.definitions("x") == tuple(given)
        assert [index.merged_definition(each) for each in given] == given
    with pytest.raises(KeyError):
        index.merged_definition(struct("x", 72, member("m", 0, 8)))
