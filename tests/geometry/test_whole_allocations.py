"""What allocators do with requests of all sizes, alignments and targets that a seed chooses: every result whole.

Models of the allocators and running programs judge parts of it in tests/geometry/test_allocators.py. The text in `golden/` is for
review: `pytest --rewrite-goldens` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill

from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.allocators import (
    AllocationRequest,
    blocks,
    class_name,
    contradiction,
    kmalloc_class,
)
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.geometry.slab_pages import LARGEST_ORDER, MOST_CPUS, compute_slab, object_stride
from layoutlint.model.storage import ANY, MALLOCS, TAKE_ALIGNMENT, WORDS, Storage
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from tests.harness.build import flexible, member, struct
from tests.harness.whole import inline

SIZES = (0, 1, 7, 8, 9, 24, 40, 64, 72, 88, 96, 97, 104, 120, 128, 136, 160, 192, 193, 200, 256, 1000, 2048, 4096, 4104, 8192, 8193, 16_384, 40_000, 65_544)
TARGETS = ("x86_64", "x86_64", "x86_64", "aarch64", "arm", "s390x", "loongarch64", "i386")


def storage_of_seed(chance: Random) -> Storage:
    word = chance.choice((None, *(word for word in WORDS if word not in ("embedded", *MALLOCS[1:]))))
    align = chance.choice((1, 8, 32, 64, 128)) if word in TAKE_ALIGNMENT and chance.random() < 0.7 else None
    is_slab = word == "slab"
    stride = chance.choice((None, None, 64, 96, 104, 256)) if is_slab else None
    array = chance.choice((None, None, None, 1, 2, 3, 5, ANY))
    return Storage(word, Source("r.toml", 1), align, stride, array, is_slab and chance.random() < 0.3, is_slab and chance.random() < 0.3)


def request_lines(seed: int) -> Iterator[str]:
    """Yield what becomes of one request."""
    chance = Random(seed)
    where, size, align, target = storage_of_seed(chance), chance.choice(SIZES), chance.choice((1, 2, 4, 8, 8, 16, 64)), chance.choice(TARGETS)
    size, is_open, least = -(-size // align) * align, chance.random() < 0.2, chance.choice((None, None, None, 1, 16, 64))
    request = AllocationRequest(size, align, target_named(target), is_open, least)
    more = f"array {where.array}, stride {where.stride}{', constructor' * where.has_constructor}{', red zone' * where.has_red_zone}"
    yield f"== {seed}: {where.spelling}, {more}; {size} bytes{', open' * is_open}, aligned to {align}, at least {least}, {target}"
    if where.word is not None:
        made = blocks(where, request)
        yield f"{sorted(made.steps)}, {made.why}; {made.item or 'no row'} {made.distance}, first {made.first}"
    yield f"{contradiction(where, 'struct s', request, None)}; {contradiction(where, 'struct s', request, chance.choice((8, 64)))}; stride {object_stride(where, request)}"
    fields = (member("a", 0, 1), flexible("end", size)) if is_open else (member("a", 0, 1),)
    layout = Layout(struct("s", size, *fields, align=align, target=target_named(target)))
    yield f"room {inline(allocation_room(layout, where, least))}"
    found = placements(layout, chance.choice((None, 32, 128)), least, where)
    rows = "; ".join(f"{row.item} {row.step} at {row.bases[:4]} of {len(row.bases)}" for row in found.rows)
    yield f"line {found.line_size}: {found.bases[:6]} of {len(found.bases)}, {found.why}; {rows or 'no row'}"


def slab_lines() -> Iterator[str]:
    for size in (1, 8, 9, 64, 65, 96, 97, 128, 129, 192, 193, 256, 4096, 4097, 8192, 8193, 65_536):
        yield f"{size} bytes: " + ", ".join(f"{smallest} {class_name(kmalloc_class(size, smallest))}" for smallest in (8, 32, 64, 128))
    for stride in (8, 24, 192, 680, 1000, 1024, 2040, 2048, 2056, 4096, 4104, 9000, 32_768, 32_776, 70_000):
        found = [compute_slab(stride, cpus) for cpus in (1, 2, 3, 4, 7, 8, 64, MOST_CPUS)]
        yield f"{stride} apart: {', '.join(f'{slab.objects} of order {slab.order}' for slab in found)}; on larger pages {inline(compute_slab(stride, 4, 65_536))}"
    yield f"at most order {LARGEST_ORDER}"


def test_what_becomes_of_requests(golden):
    lines = [line for seed in range(150) for line in request_lines(seed)] + list(slab_lines())
    golden("allocations.txt", "".join(f"{fill(line, 150, subsequent_indent='    ', break_on_hyphens=False)}\n" for line in lines))
