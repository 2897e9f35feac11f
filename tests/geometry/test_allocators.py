"""Placements by allocator: against objects laid out in simulated memory, and against a C library's own."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator
from ctypes.util import find_library
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutlint.geometry import placement
from layoutlint.geometry.allocators import (
    AllocationRequest,
    class_ends,
    contradiction,
    kmalloc_class,
    malloc_chunk,
)
from layoutlint.geometry.containers import Array, Container
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Context
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.no_straddle import NoStraddle
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from tests.geometry.test_placement import WITH_BASES, World
from tests.harness.build import flexible, member, struct
from tests.oracles.c_probe import compile_c, need
from tests.oracles.random_structs import structs

AT = Source("my.toml", 1)
PAGE = 4096
CLASSES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)
"""kmalloc's, as /proc/slabinfo of an x86-64 kernel lists them (96 and 192 besides the powers of two)."""


def storage(
    text_message: str, *, stride: int | None = None, array: int | None = None, constructor: bool = False, red_zone: bool = False
) -> Storage:
    word, _, align = text_message.partition(":")
    return Storage(word, AT, int(align) if align else None, stride, array, constructor, red_zone)


class Memory:
    """Pages in a row, and what the kernel's allocators make of them: addresses of objects, one by one."""

    def pages(self, number: int) -> range:
        """So many pages, on an address that is a multiple of their number: the buddy allocator gives no others."""
        start = 7 * number * PAGE
        return range(start, start + number * PAGE)

    def slab(self, size: int) -> Iterator[int]:
        """Objects one behind the other from the start of a slab, in slabs of 1, 2, 4 pages, until one has 32."""
        pages, objects = 1, 0
        while objects < 32:
            slab, objects = self.pages(pages), 0
            at = slab.start
            while at + size <= slab.stop:
                yield at
                at, objects = at + size, objects + 1
            pages *= 2

    def kmalloc(self, size: int, smallest: int = 8) -> Iterator[int]:
        """Blocks of a size: of the smallest class that holds it, or of the fewest pages, a power of two."""
        held = [c for c in CLASSES if c >= max(size, smallest) and not (c % smallest and c in (96, 192))]
        if held:
            yield from self.slab(held[0])
            return
        number = 1
        while number * PAGE < size:
            number *= 2
        yield self.pages(number).start

    def variables(self, align: int) -> Iterator[int]:
        """A variable behind so many bytes of others, as a linker puts it."""
        for others in range(512):
            if others % align == 0:
                yield PAGE + others


MEMORY = Memory()


def pad(size: int, align: int) -> int:
    while size % align:
        size += 1
    return size


def elements(blocks: Iterable[int], size: int, count: int) -> Iterator[int]:
    return (block + element * size for block in blocks for element in range(count))


def judged_as(size: int, align: int, addresses: set[int], line: int, text_message: Storage | None, **more: object) -> None:
    """Every rule on two words of a struct says of a placement what looking at all its objects says."""
    last = size - 8
    held = struct("s", size, member("a", 0, 8), member("b", last, 8), align=align, **more)
    layout = Layout(held)
    found = placement.placements(layout, line, None, text_message)
    assert set(found.bases) == {address % line for address in addresses}
    looks = [
        (Separate((("a",), ("b",)), neighbours=False), lambda at: _lines(at, 8, line) & _lines(at + last, 8, line)),
        (Together(("a", "b")), lambda at: len(_lines(at, 8, line) | _lines(at + last, 8, line)) > 1),
        (NoStraddle(("b",)), lambda at: len(_lines(at + last, 8, line)) > 1),
    ]
    for kind, fails in looks:
        verdict = kind.check(Context(layout, found))
        failing = {address % line for address in addresses if fails(address)}
        every = all(fails(address) for address in addresses)
        assert set(verdict.bases) == failing
        assert verdict.outcome is (Outcome.BROKEN if every else Outcome.AT_RISK if failing else Outcome.KEPT)


def _lines(at: int, size: int, line: int) -> set[int]:
    return {byte // line for byte in range(at, at + size)}


SIZES = (16, 24, 40, 48, 56, 64, 72, 80, 96, 104, 128, 136, 160, 192, 200, 256, 264, 320, 576, 1088, 1096, 3000, 5000, 9000, 40_000)
LINES = (32, 64, 128, 256)


@pytest.mark.one_in(4)
class TestAgainstMemory:
    @pytest.mark.parametrize(("size", "line"), list(product(SIZES, LINES)))
    def test_kmalloc(self, size, line):
        judged_as(size, 8, set(MEMORY.kmalloc(size)), line, storage("kmalloc"))

    @pytest.mark.parametrize(("target", "smallest"), [("arm", 64), ("loongarch64", 16), ("aarch64", 8), ("s390x", 8)])
    @pytest.mark.parametrize("size", SIZES)
    def test_kmalloc_of_a_target(self, size, target, smallest):
        addresses = set(MEMORY.kmalloc(size, smallest))
        judged_as(size, 8, addresses, 64, storage("kmalloc"), target=target_named(target))

    @pytest.mark.parametrize(("size", "line"), list(product(SIZES, LINES)))
    def test_slab(self, size, line):
        judged_as(size, 8, set(MEMORY.slab(pad(size, 8))), line, storage("slab"))

    @pytest.mark.parametrize(("size", "align"), list(product(SIZES, (8, 16, 32, 64, 128))))
    def test_slab_that_asks_for_an_alignment(self, size, align):
        judged_as(size, 8, set(MEMORY.slab(pad(size, align))), 64, storage(f"slab:{align}"))

    @pytest.mark.parametrize(("size", "behind"), list(product(SIZES, (8, 16, 40))))
    def test_slab_whose_objects_have_something_behind_them(self, size, behind):
        judged_as(size, 8, set(MEMORY.slab(size + behind)), 64, storage("slab", stride=size + behind))

    @pytest.mark.parametrize(("size", "align"), list(product(SIZES, (8, 16, 64))))
    @pytest.mark.parametrize("track", [0, 48])
    def test_slab_with_red_zones(self, size, align, track):
        """slab_debug=Z, and ZU with two records of who was there: fixup_red_left() moves what begins a slot."""
        before = pad(8, align)
        slot = pad(size + 8 + track + 8 + before, align)
        addresses = {start + before for start in MEMORY.slab(slot)}
        judged_as(size, 8, addresses, 64, storage(f"slab:{align}", stride=slot, red_zone=True))

    @pytest.mark.parametrize(("size", "align"), list(product((*SIZES, 12, 20, 57, 60), (4, 8, 16, 64))))
    def test_slab_whose_free_pointer_stands_behind_the_object(self, size, align):
        if size % align:
            return
        stride = pad(pad(size, 8) + 8, max(8, align))
        judged_as(size, align, set(MEMORY.slab(stride)), 64, storage("slab", constructor=True))

    @pytest.mark.parametrize("word", ["static", "percpu"])
    @pytest.mark.parametrize(("align", "asked"), [(1, 1), (2, 2), (8, 8), (8, 32), (4, 64), (64, 64), (16, 128)])
    def test_variables(self, word, align, asked):
        text_message = storage(f"{word}:{asked}" if asked > align else word)
        judged_as(128, align, set(MEMORY.variables(asked)), 64, text_message)

    @pytest.mark.parametrize(("size", "count"), list(product((16, 24, 40, 96, 136), (1, 2, 3, 5, 8, 100))))
    @pytest.mark.parametrize("word", ["kmalloc", "slab", "aligned:64", "line", "static:32"])
    def test_elements_of_arrays(self, word, size, count):
        text_message = storage(word, array=count)
        blocks = {
            "kmalloc": lambda: MEMORY.kmalloc(size * count),
            "slab": lambda: MEMORY.slab(pad(size * count, 8)),
            "static:32": lambda: MEMORY.variables(32),
        }.get(word, lambda: MEMORY.variables(64))()
        judged_as(size, 8, set(elements(blocks, size, count)), 64, text_message)

    @pytest.mark.parametrize("size", [16, 24, 48, 72, 96, 136, 200, 1088])
    def test_kmalloc_of_arrays_of_any_length(self, size):
        lengths = range(1, 600)
        addresses = {at for n in lengths for at in elements(MEMORY.kmalloc(size * n), size, min(n, 16))}
        judged_as(size, 8, addresses, 64, storage("kmalloc", array=ANY))

    @pytest.mark.parametrize(("line", "size"), list(product(LINES, (8, 16, 40, 72, 96, 136, 200, 1088))))
    def test_kmalloc_of_what_ends_with_a_flexible_array(self, line, size):
        held = Layout(struct("s", size, member("a", 0, 8), flexible("more", size)))
        addresses = {at for tail in range(0, 9000, 8) for at in MEMORY.kmalloc(size + tail)}
        found = placement.placements(held, line, None, storage("kmalloc"))
        assert set(found.bases) == {address % line for address in addresses}

    @pytest.mark.parametrize(("word", "size"), list(product(("kmalloc", "slab", "slab:64", "line"), (96, 192, 200, 1088))))
    @pytest.mark.parametrize("offset", [0, 8, 20, 72])
    @pytest.mark.parametrize("array", [None, (3, 24), (4, 16)])
    def test_inside_of_containers(self, word, size, offset, array):
        holder = struct("holder", size, member("a", 0, 8))
        arrays = (Array("x", array[0], array[1] * 8),) if array else ()
        found = placement.embedded_placements(Container(holder, "x", "x", offset * 8, arrays, ()), 64, None, storage(word))
        blocks = {
            "kmalloc": lambda: MEMORY.kmalloc(size), "slab": lambda: MEMORY.slab(size),
            "slab:64": lambda: MEMORY.slab(pad(size, 64)), "line": lambda: MEMORY.variables(64),
        }[word]()  # fmt: skip
        inner = elements((block + offset for block in blocks), *((array[1], array[0]) if array else (0, 1)))
        assert found is not None
        assert set(found.bases) == {address % 64 for address in inner}


ALLOCATED = {
    "kmalloc": lambda size, align: MEMORY.kmalloc(size),
    "slab": lambda size, align: MEMORY.slab(pad(size, max(align, 8))),
    "slab:32": lambda size, align: MEMORY.slab(pad(size, max(align, 32))),
    "line": lambda size, align: MEMORY.variables(max(align, 64)),
    "malloc": lambda size, align: MEMORY.variables(16),
    "aligned:16": lambda size, align: MEMORY.variables(16),
    "static": lambda size, align: MEMORY.variables(align),
}
"""What allocates an object of so many bytes, by the words for it."""


@cache
def objects_of(word: str, size: int, align: int, line_size: int) -> dict[int, int]:
    """An address for each place of a line at which one of the objects is."""
    return {at % line_size: at for at in ALLOCATED[word](max(size, 1), align)}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rule", WITH_BASES, ids=lambda rule: rule.__name__)
@given(data=st.data(), judged=structs(), word=st.sampled_from(sorted(ALLOCATED)), line_size=st.sampled_from(LINES))
@settings(max_examples=40)
def test_verdicts_are_what_one_sees_at_the_addresses_of_objects(rule, data, judged, word, line_size):
    """Random structs, every kind that depends on lines; what ends with a flexible array comes in many sizes."""
    world = World(data, judged, line_size)
    world.accesses = ()
    kind, violates = rule(world)
    layout = Layout(judged)
    sizes = range(world.size, world.size + 200, 8) if layout.open_end else (world.size,)
    objects: dict[int, int] = {}
    for size in sizes:
        objects |= objects_of(word, size, judged.align, line_size)
    verdict = kind.check(Context(layout, placement.placements(layout, line_size, None, storage(word)), world.accesses))
    violating = tuple(sorted(base for base, at in objects.items() if violates(at)))
    outcome = Outcome.KEPT if not violating else Outcome.BROKEN if len(violating) == len(objects) else Outcome.AT_RISK
    assert (verdict.outcome, verdict.bases, verdict.total) == (outcome, violating, len(objects))


class TestConstants:
    @pytest.mark.parametrize("smallest", [8, 16, 32, 64, 128])
    def test_a_class_holds_the_size_and_the_one_before_does_not(self, smallest):
        odd = {96: 32, 192: 64}
        classes = [c for c in CLASSES if c >= smallest and smallest <= odd.get(c, smallest)]
        for size in range(1, 8193):
            assert kmalloc_class(size, smallest) == next(c for c in classes if c >= size)

    @pytest.mark.parametrize("smallest", [8, 16, 32, 64, 128])
    @pytest.mark.parametrize("most", [1, 100, 1000, 20_000])
    def test_sizes_up_to_an_end_are_in_one_class(self, smallest, most):
        ends = class_ends(most)
        assert ends[-1] >= most
        for before, end in pairwise((0, *ends)):
            assert len({kmalloc_class(size, smallest) for size in range(before + 1, end + 1)}) == 1

    @pytest.mark.parametrize(("size", "pages"), [(8193, 16_384), (16_384, 16_384), (70_000, 131_072)])
    def test_what_no_class_holds_has_pages(self, size, pages):
        assert kmalloc_class(size, 8) == pages

    def test_what_has_no_size_is_in_the_smallest(self):
        assert kmalloc_class(0, 8) == 8


class TestWhy:
    @pytest.mark.parametrize(("text_message", "size", "why"), [
        (storage("line"), 200, "the rule file says that objects start on a line"),
        (storage("slab"), 200, "in a slab cache, 200 bytes from one to the next"),
        (storage("slab:64"), 200, "in a slab cache, 256 bytes from one to the next"),
        (storage("slab", stride=208), 200, "in a slab cache, 208 bytes from one to the next"),
        (storage("slab", stride=256, red_zone=True), 200,
         "in a slab cache, 256 bytes from one to the next, the first behind a red zone of 8"),
        (storage("slab", array=ANY), 200, "in a slab cache, aligned to 8: how large its objects are is not known, "
                                          "200 bytes from one element of an array to the next"),
        (storage("kmalloc"), 200, "allocated by kmalloc in the class of 256 bytes"),
        (storage("kmalloc"), 72, "allocated by kmalloc in the class of 96 bytes"),
        (storage("kmalloc"), 9000, "allocated by kmalloc, in whole pages"),
        (storage("kmalloc", array=4), 16, "allocated by kmalloc in the class of 64 bytes, "
                                          "16 bytes from one element of an array to the next"),
        (storage("percpu"), 200, "a per-CPU variable, aligned to 8"),
        (storage("static:32"), 200, "a static variable, aligned to 32"),
        (storage("malloc"), 200, "allocated by malloc, which aligns to 16"),
        (storage("jemalloc"), 200, "allocated by jemalloc, which aligns to 16"),
        (storage("musl-static"), 3, "allocated by musl-static, which aligns 3 bytes to 4"),
        (storage("aligned:32"), 200, "allocated at multiples of 32"),
        (Storage(None, AT, array=3), 200, "aligned to 8, 200 bytes from one element of an array to the next"),
    ])  # fmt: skip
    def test_says_which_fact_narrows(self, text_message, size, why):
        held = Layout(struct("s", size, member("a", 0, 8)))
        assert placement.placements(held, 64, None, text_message).why == why

    def test_min_align_is_what_every_allocator_gives(self):
        held = Layout(struct("s", 40, member("a", 0, 8)))
        bases = {word: placement.placements(held, 64, 32, storage(word)).bases for word in ("slab", "kmalloc", "malloc", "static")}
        assert bases == {"slab": (0,), "kmalloc": (0,), "malloc": (0, 32), "static": tuple(range(0, 64, 8))}


@pytest.mark.parametrize(("text_message", "stated", "message"), [
    (storage("aligned:4"), 8, "`placement` `aligned:4` contradicts struct s, which is aligned to 8"),
    (storage("slab:32"), 64, "`placement` `slab:32` contradicts struct s, which is aligned to 64"),
    (storage("static:2"), None, None),  # its members' alignment is no statement: it can be packed
    (storage("aligned:64"), 64, None),
    (storage("slab", stride=192), 8, "`stride` 192 contradicts struct s: objects of 200 bytes do not fit"),
    (storage("slab", stride=300, array=2), 8, "`stride` 300 contradicts struct s: objects of 400 bytes do not fit"),
    (storage("slab", stride=207, red_zone=True), 8, "`stride` 207 contradicts struct s: objects of 208 bytes do not fit"),
    (storage("slab:64", stride=256, red_zone=True), 8, "`stride` 256 contradicts struct s: objects of 264 bytes do not fit"),
    (storage("slab", stride=208, red_zone=True), 8, None),
    (storage("slab", stride=204), 8, "`stride` 204 contradicts struct s, which is aligned to 8"),
    (storage("slab", stride=208), 8, None),
])  # fmt: skip
def test_a_placement_that_a_struct_cannot_have(text_message, stated, message):
    wanted = AllocationRequest(200, stated or 8, target_named("x86_64"))
    assert contradiction(text_message, "struct s", wanted, stated) == message


def test_what_ends_with_a_flexible_array_is_no_element():
    wanted = AllocationRequest(200, 8, target_named("x86_64"), is_open=True)
    message = "`array`: struct s ends with a flexible array, so it cannot be an array element"
    assert contradiction(storage("kmalloc", array=3), "struct s", wanted, 8) == message


VARIABLES = """
#include <stdio.h>
#include <stdint.h>
struct s { int a; char more[MORE]; };
#define TWO(n) static struct s a##n; static char b##n; struct s c##n; char d##n;
#define EIGHT(n) TWO(n##0) TWO(n##1) TWO(n##2) TWO(n##3) TWO(n##4) TWO(n##5) TWO(n##6) TWO(n##7)
#define TELL2(n) a##n.a = b##n; printf("%u %u\\n", (unsigned)((uintptr_t)&a##n % 64), (unsigned)((uintptr_t)&c##n % 64));
#define TELL8(n) TELL2(n##0) TELL2(n##1) TELL2(n##2) TELL2(n##3) TELL2(n##4) TELL2(n##5) TELL2(n##6) TELL2(n##7)
EIGHT(x) EIGHT(y) EIGHT(z)
int main(void) { TELL8(x) TELL8(y) TELL8(z) return 0; }
"""


@pytest.mark.parametrize(("compiler", "flag", "is_tight"), [
    ("clang", "-O0", True), ("gcc", "-malign-data=abi", True), ("gcc", "-malign-data=compat", False),
])  # fmt: skip
def test_variables_are_where_the_model_says(compiler, flag, is_tight, tmp_path):
    """Variables are at every place of the model and no other; GCC can align them to more than they must be."""
    if platform.machine() != "x86_64":
        pytest.skip("the flags are those for x86-64")
    seen = set()
    for more in (1, 4, 7, 12, 20, 60, 200):
        program = compile_c(compiler, VARIABLES.replace("MORE", str(more)), tmp_path / f"variables-{more}", flag)
        printed = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60).stdout
        seen |= {int(word) for word in printed.split()}
    held = Layout(struct("s", 8, member("a", 0, 4), align=4))
    bases = set(placement.placements(held, 64, None, storage("static")).bases)
    assert seen == bases if is_tight else seen < bases


PROGRAM = """
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#define EACH 4000
static const size_t sizes[] = { 1, 8, 24, 40, 56, 72, 100, 200, 520, 1000, 4000, 40000 };
static const size_t aligns[] = { 16, 32, 64, 128 };
static void *kept[EACH];
static void tell(size_t align, size_t size)
{
	long seen[64] = { 0 };
	for (int i = 0; i < EACH; i++) {
		kept[i] = align ? aligned_alloc(align, (size + align - 1) / align * align) : malloc(size);
		if (!kept[i])
			exit(1);
		seen[(uintptr_t)kept[i] % 64]++;
	}
	for (int i = 0; i < EACH; i += 2)	/* holes, for what is allocated next */
		free(kept[i]);
	printf("%zu %zu", align, size);
	for (int i = 0; i < 64; i++)
		printf(" %ld", seen[i]);
	printf("\\n");
}
int main(void)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		tell(0, sizes[i]);
	for (size_t a = 0; a < sizeof aligns / sizeof *aligns; a++)
		for (size_t i = 2; i < 8; i++)
			tell(aligns[a], sizes[i]);
	return 0;
}
"""


@pytest.mark.parametrize(("target", "flag"), [("x86_64", "-m64"), ("i386", "-m32")])
def test_the_library_allocates_where_the_model_says(target, flag, tmp_path):
    """144,000 objects: no address beside the model's, and every one of the model's is seen."""
    if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        pytest.skip("the constants are those of glibc, and the program is for x86-64")
    tried = subprocess.run([need("gcc"), flag, "-xc", "-", "-o", tmp_path / "empty"], input="#include <stdio.h>\nint main(void) {}",
                           capture_output=True, text=True)  # fmt: skip
    if tried.returncode:
        pytest.skip(f"gcc {flag} has no C library here")
    held = Layout(struct("s", 40, member("a", 0, 4), align=4, target=target_named(target)))
    program = compile_c("gcc", PROGRAM, tmp_path / "allocate", flag)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60).stdout
    seen: dict[int, set[int]] = {}
    total = 0
    for line in printed.splitlines():
        align, _, *counts = map(int, line.split())
        seen.setdefault(align, set()).update(at for at, count in enumerate(counts) if count)
        total += sum(counts)
    assert total == 4000 * (12 + 4 * 6)
    assert seen.pop(0) == set(placement.placements(held, 64, None, storage("malloc")).bases)
    for align, residues in seen.items():
        assert residues == set(placement.placements(held, 64, None, storage(f"aligned:{align}")).bases), align
    assert seen[64] == set(placement.placements(held, 64, None, storage("line")).bases)


MALLOCS = {
    # The alignment of blocks of 1 to 16 bytes, as programs saw it: jemalloc 5.3.0, gperftools 2.10, mimalloc 2.0.9,
    # musl 1.2.3 without `free`, glibc 2.36.
    "malloc": (16,) * 16,
    "jemalloc": (8,) * 8 + (16,) * 8,
    "tcmalloc": (8,) * 8 + (16,) * 8,
    "mimalloc": (8,) * 8 + (16,) * 8,
    "musl-static": (1, 2, 4, 4, 8, 8, 8, 8) + (16,) * 8,
}


@pytest.mark.parametrize("word", MALLOCS)
def test_small_blocks(word):
    for size, align in enumerate(MALLOCS[word], 1):
        judged_as(size, 1, {at * align for at in range(64)}, 64, storage(word))
        judged_as(1, 1, {start * align + k for start in range(64) for k in range(size)}, 64, storage(word, array=size))
    anywhere = {at * min(MALLOCS[word]) for at in range(64)}
    held = Layout(struct("s", 1, member("a", 0, 1), flexible("b", 1), align=1))
    assert set(placement.placements(held, 64, None, storage(word)).bases) == {at % 64 for at in anywhere}


SMALL = """
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
int main(void)
{
	for (size_t size = 1; size <= 16; size++) {
		uintptr_t all = 0;
		for (int i = 0; i < 4000; i++) {
			all |= (uintptr_t)malloc(size);
			malloc(40);
		}
		printf("%lu ", (unsigned long)(all & -all));
	}
	return 0;
}
"""


@pytest.mark.parametrize("word", ["malloc", "jemalloc", "tcmalloc", "mimalloc"])
def test_small_blocks_of_the_allocators_here(word, tmp_path):
    library = next((found for name in (word, f"{word}_minimal") if (found := find_library(name))), None)
    if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc" or (library is None and word != "malloc"):
        pytest.skip(f"{word} of glibc on x86-64 is not here")
    program = compile_c("gcc", SMALL, tmp_path / "small", "-fno-builtin")
    environment = {**os.environ, "LD_PRELOAD": library or ""}
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60, env=environment)
    assert tuple(map(int, done.stdout.split())) == MALLOCS[word]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or platform.machine() != "x86_64", reason="malloc of glibc is asked")
def test_chunks_of_glibc_hold_what_it_says_is_usable():
    """The usable bytes of a chunk are all but its head of one word."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.malloc_usable_size.restype = ctypes.c_size_t
    library.malloc_usable_size.argtypes = library.free.argtypes = [ctypes.c_void_p]
    for size in range(1, 2000):
        block = library.malloc(size)
        usable = library.malloc_usable_size(block)
        library.free(block)
        # A block that is left over can be larger by less than the smallest chunk.
        assert malloc_chunk(size, target_named("x86_64")) in (usable + 8, usable + 8 - 16), size
