"""`allocation`: as a table, and against slabs that are filled object by object.

tests/real/test_slab_caches.py compares the orders with those of the running kernel.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.geometry import placement
from layoutlint.geometry import slab_pages as slabs
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.allocation import Allocation
from layoutlint.model.storage import ANY, PAGE, Storage
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from tests.geometry.test_allocators import CLASSES
from tests.harness.build import flexible, member, struct
from tests.kinds.cases import Refusal, assert_refused, table


def judge(size: int, text_message: str | None, array: int | None = None, *, target: str = "x86_64", min_align: int | None = None,
          constructor: bool = False, stride: int | None = None, **keys: int) -> Verdict:  # fmt: skip
    layout = Layout(struct("s", size, member("a", 0, 8), target=target_named(target)))
    storage = None
    if text_message is not None or array is not None:
        word, _, align = (text_message or "").partition(":")
        storage = Storage(word or None, Source("r.toml", 1), int(align) if align else None, stride, array, constructor)
    context = Context(layout, placement.placements(layout, None, min_align, storage), (), storage, min_align)
    return Allocation(**keys).check(context)


CASES = [
    # size, placement, keys, holds, message, advice
    (168, None, {"max_class": 192}, "kept", "struct s has 168 bytes: kmalloc-192, 24 left", ""),
    (200, None, {"max_class": 192}, "broken", "struct s has 200 bytes: kmalloc-256, 8 more than kmalloc-192 holds",
     "take away at least 8 bytes"),
    (96, "kmalloc", {"max_class": 96}, "kept", "struct s has 96 bytes: kmalloc-96, 0 left", ""),
    (1000, "kmalloc", {"max_class": 1024}, "kept", "struct s has 1000 bytes: kmalloc-1k, 24 left", ""),
    (9000, "kmalloc", {"max_class": 8192}, "broken",
     "struct s has 9000 bytes: 16384 bytes of pages, 808 more than kmalloc-8k holds", "take away at least 808 bytes"),
    (9000, "kmalloc", {"max_class": 16_384}, "kept", "struct s has 9000 bytes: 16384 bytes of pages, 7384 left", ""),
    # inode_cache of a kernel with 2 CPUs: 616 bytes and the pointer behind them, 13 in 2 pages
    (616, "slab", {"min_per_slab": 13, "cpus": 2, "constructor": True}, "kept",
     "struct s has 616 bytes: 624 bytes apart, 13 in a slab of 2 pages (order 1); that changes once it grows by 8", ""),
    (624, "slab", {"min_per_slab": 13, "max_order": 1, "cpus": 2, "constructor": True}, "broken",
     "struct s has 624 bytes: 632 bytes apart, 25 in a slab of 4 pages (order 2), "
     "at least 13 in a slab and at most order 1 asked for",
     "take away at least 8 bytes"),
    (192, "slab", {"max_order": 0, "cpus": 2}, "kept",
     "struct s has 192 bytes: 192 bytes apart, 21 in a slab of 1 page (order 0); that changes once it grows by 8", ""),
    (192, "slab", {"max_order": 0}, "broken",
     "struct s has 192 bytes: 192 bytes apart, 42 in a slab of 2 pages (order 1) with 16 CPUs, at most order 0 asked for",
     "take away at least 128 bytes"),
    (192, "slab", {"max_order": 3}, "kept",
     "struct s has 192 bytes: 192 bytes apart, 21 in a slab of 1 page (order 0) with 1 CPU; that changes once it grows by 8", ""),
    (192, "slab", {"min_per_slab": 50, "order": 1}, "broken",
     "struct s has 192 bytes: 192 bytes apart, 42 in a slab of 2 pages (order 1), at least 50 in a slab asked for",
     "take away at least 32 bytes"),
    (72, "line", {"min_per_slab": 32, "order": 0}, "kept",
     "struct s has 72 bytes: 128 bytes apart, 32 in a slab of 1 page (order 0); that changes once it grows by 64", ""),
    (24, "line", {"min_per_slab": 128, "order": 0}, "kept",  # half a line is enough for SLAB_HWCACHE_ALIGN
     "struct s has 24 bytes: 32 bytes apart, 128 in a slab of 1 page (order 0); that changes once it grows by 16", ""),
    (72, "slab:64", {"min_per_slab": 32, "order": 0}, "kept",
     "struct s has 72 bytes: 128 bytes apart, 32 in a slab of 1 page (order 0); that changes once it grows by 64", ""),
    (40, "kmalloc", {"min_per_slab": 64, "order": 0, "max_class": 64}, "kept",
     "struct s has 40 bytes: kmalloc-64, 24 left; "
     "64 bytes apart, 64 in a slab of 1 page (order 0); that changes once it grows by 32", ""),
    (40_000, "slab", {"min_per_slab": 1, "cpus": 2}, "kept",
     "struct s has 40000 bytes: 40000 bytes apart, 1 in a slab of 16 pages (order 4); that changes once it grows by 25544", ""),
    (72, "slab", {"min_per_slab": 900, "order": 4, "page": 4096}, "kept",
     "struct s has 72 bytes: 72 bytes apart, 910 in a slab of 16 pages (order 4); that changes once it grows by 8", ""),
]  # fmt: skip


@pytest.mark.parametrize(("size", "text_message", "keys", "outcome", "message", "advice"), CASES)
def test_allocation(size, text_message, keys, outcome, message, advice):
    verdict = judge(size, text_message, **keys)
    assert (verdict.outcome.value, verdict.message, verdict.advice, verdict.total) == (outcome, message, advice, 0)


class TestClasses:
    @pytest.mark.parametrize("most", [32, 96, 192, 1024])
    def test_against_the_list_of_the_kernel(self, most):
        for size in range(8, 2048, 8):
            verdict = judge(size, "kmalloc", max_class=most)
            assert (verdict.outcome is Outcome.KEPT) is (next(c for c in CLASSES if c >= size) <= most)

    def test_of_an_array(self):
        verdict = judge(24, "kmalloc", 5, max_class=96)
        assert verdict.message == "struct s has 24 bytes: 5 of them 120, kmalloc-128, 24 more than kmalloc-96 holds"
        assert verdict.advice == "take away at least 5 bytes"

    def test_of_a_target_that_aligns_more(self):
        """arm has no classes below its line, and none of 96."""
        assert judge(24, "kmalloc", target="arm", max_class=32).outcome is Outcome.BROKEN
        assert judge(72, "kmalloc", min_align=64, max_class=96).outcome is Outcome.BROKEN


def fill(stride: int, pages: int) -> int:
    at = objects = 0
    while at + stride <= pages * PAGE:
        at, objects = at + stride, objects + 1
    return objects


@given(st.integers(1, 3000), st.sampled_from([1, 2, 4, 16, 64, 4096]))
def test_a_slab_holds_as_many_as_fit_and_wastes_no_more_than_is_allowed(words, cpus):
    slab = slabs.compute_slab(words * 8, cpus)
    assert slab.objects == fill(slab.stride, 1 << slab.order) >= 1
    if slab.order <= 3:
        assert (PAGE << slab.order) - slab.objects * slab.stride <= (PAGE << slab.order) // 2
    else:  # one object, in the fewest pages
        assert fill(slab.stride, 1 << (slab.order - 1)) == 0


@given(st.integers(8, 400), st.integers(0, 3), st.integers(1, 400))
def test_what_is_taken_away_or_left_is_the_boundary(words, order, least):
    """Growing and shrinking word by word, until another number of objects fits."""
    size = words * 8
    verdict = judge(size, "slab", min_per_slab=least, order=order)
    now = fill(size, 1 << order)
    assert (verdict.outcome is Outcome.KEPT) is (now >= least)
    if now >= least:
        grown = next(more for more in range(8, 1 << 16, 8) if fill(size + more, 1 << order) < now)
        assert verdict.message.endswith(f"; that changes once it grows by {grown}")
    else:
        less = next((by for by in range(8, size, 8) if fill(size - by, 1 << order) >= least), None)
        assert verdict.advice == (f"take away at least {less:,} bytes" if less else "raise the limit: no size keeps to it")


REFUSALS = [
    Refusal("nothing", {}, "needs `max_class`, `max_order` or `min_per_slab`"),
    Refusal("no class", {"max_class": 100}, "`max_class` 100 is not a class of kmalloc; the next is 128"),
    Refusal("below the least class", {"max_class": 5}, "`max_class` 5 is not a class of kmalloc; the next is 8"),
    Refusal("no bytes", {"max_class": 0}, "`max_class` 0 is not a class of kmalloc; the next is 8"),
    Refusal("a small page", {"min_per_slab": 1, "page": 512}, "`page` 512 is not a page size"),
    Refusal("a large page", {"min_per_slab": 1, "page": 1 << 21}, "`page` 2097152 is not a page size"),
    Refusal("a negative order", {"min_per_slab": 1, "order": -1}, "`order` is -1, and must be at least 0"),
    Refusal("negative", {"max_order": -1}, "`max_order` is -1, and must be at least 0"),
    Refusal("none in a slab", {"min_per_slab": 0}, "`min_per_slab` is 0, and must be at least 1"),
    Refusal("no CPU", {"min_per_slab": 1, "cpus": 0}, "`cpus` is 0, and must be at least 1"),
    Refusal("no page", {"min_per_slab": 1, "page": 5000}, "`page` 5000 is not a page size"),
    Refusal("both", {"min_per_slab": 1, "cpus": 2, "order": 1}, "`cpus` has no effect with `order`"),
    Refusal("the order itself", {"max_order": 1, "order": 1}, "`max_order` has no effect with `order`"),
    Refusal("an order that no page has", {"min_per_slab": 1, "order": 11}, "`order` is 11, and must be at most 10"),
    Refusal("too many CPUs", {"min_per_slab": 1, "cpus": 8193}, "`cpus` is 8193, and must be at most 8192"),
]  # fmt: skip


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Allocation, case)


@pytest.mark.parametrize(("text_message", "array", "keys", "reason"), [
    ("slab", None, {"max_class": 96}, "`max_class` applies to kmalloc; the rule file states `slab`"),
    ("embedded", None, {"max_order": 1}, "slabs exist for slab caches and kmalloc; the rule file states `embedded`"),
    ("malloc", None, {"max_order": 1}, "slabs exist for slab caches and kmalloc; the rule file states `malloc`"),
    ("slab", ANY, {"max_order": 1}, "the distance between objects is unknown: they are in arrays of any length"),
    ("kmalloc", ANY, {"max_class": 64}, "the size of a block is unknown: it is an array of any length"),
    ("kmalloc", 500, {"max_order": 1}, "kmalloc gives what is larger than 8192 bytes whole pages, not a place in a slab"),
])  # fmt: skip
def test_cannot_tell(text_message, array, keys, reason):
    layout = Layout(struct("s", 40, member("a", 0, 8)))
    storage = Storage(text_message, Source("r.toml", 1), None, None, array)
    with pytest.raises(CannotTell) as caught:
        Allocation(**keys).check(Context(layout, placement.placements(layout), (), storage))
    assert str(caught.value) == reason


def test_sizes_that_are_not_known():
    for held, reason in (
        (struct("s", 16, member("a", 0, 8), flexible("more", 16)), "the size of an object is unknown: it ends with `more` at 16 and beyond"),
        (struct("s", 0), "an object without size is not allocated"),
    ):  # fmt: skip
        layout = Layout(held)
        with pytest.raises(CannotTell) as caught:
            Allocation(max_class=64).check(Context(layout, placement.placements(layout)))
        assert str(caught.value) == reason


@pytest.mark.parametrize(
    "keys",
    [{"max_class": 8}, {"max_class": 96}, {"max_order": 0}, {"min_per_slab": 1}, {"max_order": 1, "cpus": 1}, {"max_order": 1, "cpus": 8192}]
    + [{"min_per_slab": 1, "order": order} for order in (0, 10)]
    + [{"max_order": 1, "page": page} for page in (1 << 10, 1 << 20)],
    ids=str,
)
def test_the_least_and_the_most_of_each_key(keys):
    """These are next to numbers that are refused."""
    assert Allocation(**keys).page == keys.get("page", PAGE)
