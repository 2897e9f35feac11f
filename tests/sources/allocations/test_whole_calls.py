"""All allocations that C text shows: each function in many calls, and sizes of many forms.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from collections import defaultdict

from layoutlint.model.storage import Allocator
from layoutlint.sources.allocations import allocators, user_space
from layoutlint.sources.allocations.sources import find
from tests.sources.allocations.test_find import describe

SIZE = "sizeof(struct ring)"
OTHERS = ("0", "8", "128", "48", "CACHE_LINE_SIZE", "PAGE_SIZE")
SHAPES = [(other, count, place) for other in ("n", "64") for count in range(1, 6) for place in range(count)]
SHAPES += [(other, count, place) for other in OTHERS for count, place in ((2, 0), (2, 1), (3, 1))]
ARGUMENTS = [", ".join([*[other] * place, SIZE, *[other] * (count - place - 1)]) for other, count, place in SHAPES]
PREFIXES = ("je_", "tc_", "mi_")
FLAGS = ("MALLOCX_ALIGN(64)", "MALLOCX_ALIGN(8) | MALLOCX_ZERO", "0", "MALLOCX_ALIGN(n)")
TYPES = ("struct ring", "struct ring[4]", "union ring [n]", "struct ring[2][3]", "*p", "ring", "struct ring, 1", "struct ring, 5", "5, struct ring",
         "struct ring, p, 1", "struct ring, p, n", "struct ring, 0", "struct ring, rings[8]", "struct ring, rings", "struct ring[2], rings[3]",
         "struct ring, rings[2][3]", "struct ring, (n)")  # fmt: skip
SIZES = [
    # what stands in the place of the size
    "sizeof(*p)", "sizeof *p", "sizeof(p[0])", "sizeof(p[1])", "sizeof(p)", "sizeof(struct ring *)", "sizeof(struct ring)", "(sizeof(struct ring))",
    "sizeof(union both)", "sizeof(const struct ring)", "sizeof(ring_t)", "sizeof(int)", "sizeof(u32)", "sizeof(unsigned long)", "sizeof(q->one)",
    "sizeof(*q->two)", "sizeof(**q->two)", "sizeof(q->three[0])", "sizeof(*q->three)", "sizeof(q.one)", "sizeof(*v)", "sizeof(v)", "sizeof(**v)",
    "sizeof(w)", "sizeof(*w)", "sizeof(w[0])", "sizeof(unknown)", "sizeof(*unknown)", "sizeof(*top)", "sizeof(*tops)", "sizeof(both)", "sizeof(*late)",
    "n * sizeof(*p)", "sizeof(*p) * n", "4 * sizeof(*p)", "sizeof(*p) * 1", "1 * sizeof(*p)", "2 * 3 * sizeof(*p)", "sizeof(*p) * sizeof(*q)", "sizeof(*p) + 8",
    "8 + sizeof(*p)", "sizeof(*p) - 1", "sizeof(*p) << 1", "sizeof(*p) / 2", "sizeof(struct ring) + sizeof(struct slot)", "n ? sizeof(*p) : 0",
    "struct_size(p, e, n)", "struct_size(q->two, e, n)", "struct_size(p, e)", "struct_size_t(struct ring, e, n)", "struct_size(p, e, n) + 8",
    "array_size(n, sizeof(*p))", "array_size(sizeof(*p), 4)", "array_size(4, 8)", "size_mul(3, sizeof(*p))", "array_size(2 * 4, sizeof(*p))",
    "array_size(n, 2 * sizeof(*p))", "array_size(n, sizeof(*p), 1)", "size_add(8, sizeof(*p))", "max(sizeof(*p), 64)", "ALIGN(sizeof(*p), 8)",
    "-sizeof(*p)", "!sizeof(*p)", "n & sizeof(*p)", "sizeof(struct ring[4])", "sizeof(struct ring) * 0x10", "sizeof(struct ring) * 010",
    "sizeof(struct ring) * 4UL", "sizeof(struct ring) * (4)", "sizeof(struct ring) * (n + 1)", "((sizeof(*p)) * (2))", "size", "64", "",
    "array_size(n *, sizeof(*p))", "array_size(, sizeof(*p))", "struct_size(p, , n)", "struct_size(p->, e, n)", "* sizeof(*p)", "n * * sizeof(*p)",
]  # fmt: skip
CACHES = [
    # the arguments behind the name and the size
    "0, 0, NULL", "0, 0, 0", "0, 0, (NULL)", "0, 0, init", "64, 0, NULL", "(64), SLAB_PANIC, NULL", "48, 0, NULL", "1, 0, NULL", "n, 0, NULL",
    "sizeof(void *), 0, NULL", "sizeof(u64), 0, NULL", "__alignof__(struct ring), 0, NULL", "SMP_CACHE_BYTES, 0, init", "cache_line_size(), 0, init",
    "L1_CACHE_BYTES, SLAB_HWCACHE_ALIGN, init", "0, SLAB_HWCACHE_ALIGN | SLAB_PANIC, NULL", "0, (SLAB_HWCACHE_ALIGN), init", "0, SLAB_TYPESAFE_BY_RCU, NULL",
    "0, SLAB_DESTROY_BY_RCU | SLAB_ACCOUNT, init", "0, SLAB_POISON, NULL", "0, SLAB_PANIC | n, NULL", "0, SLAB_PANIC | 1, NULL", "0, 0 | 0, NULL",
    "0, 0", "NULL, SLAB_PANIC", "&args, 0", "&args, SLAB_TYPESAFE_BY_RCU", "&other, 0", "&changed, 0", "&twice, 0", "&later, 0", "&(struct kmem_cache_args){ .align = 16 }, 0",
    "&(struct kmem_cache_args){ .align = 16, .ctor = init, .use_freeptr_offset = true }, 0", "&(struct kmem_cache_args){ .use_freeptr_offset = 1, .ctor = NULL }, 0",
    "&(struct kmem_cache_args){ 16 }, 0", "&(struct kmem_cache_args){ .align = 16,, .ctor = init }, 0", "0, SLAB_PANIC | | SLAB_ACCOUNT, NULL", "0, | SLAB_PANIC, NULL", "&(struct kmem_cache_args){ }, 0", "args, 0", "&a.b, 0", "0", "0, 0, 0, 0, init", "0, 0, 8, 16, NULL", "0, 0, 0, 0", "16, 8, SLAB_PANIC",
]  # fmt: skip
HEAD = """\
static struct top *top;
static struct top tops[4];
struct holder { struct ring one; struct slot *two, **more; struct slot three[3]; };
struct kmem_cache_args args = { .align = 32, .ctor = init, };
struct kmem_cache_args changed = { .align = 32 };
struct kmem_cache_args twice = { .align = 32 };
int g(void) { changed.align = 64; }
int h(void) { struct kmem_cache_args twice = { .align = 64 }; }
int f(struct ring *p, struct holder *q, union both both, int n)
{
	struct slot **v; struct slot w[2];
"""
TAIL = "\tstruct late *late;\n}\nstruct kmem_cache_args later = { .align = 32 };\n"


def show(calls: list[str], declared: tuple[Allocator, ...] = ()) -> list[str]:
    """Return for each call what is known of it; empty for one that makes nothing."""
    text = HEAD + "".join(f"\tx = {call};\n" for call in calls) + TAIL
    shown = defaultdict(list)
    for each in find(text, "f.c", None, declared):
        word = " by one word" if each.is_typedef else ""
        shown[each.source.line].append(f"{describe(each)}{word}")
    first = HEAD.count("\n") + 1
    return ["; ".join(shown[first + number]) for number in range(len(calls))]


def test_every_function(golden):
    """Functions with the same results are named together; calls that make nothing are left out."""
    texts = defaultdict(list)
    own = [*ARGUMENTS, *(f"{SIZE}, {flag}" for flag in FLAGS), *(f"p, {SIZE}, {flag}" for flag in FLAGS), *TYPES]
    for name in sorted({**allocators.MAKERS, **user_space.MAKERS}):
        if not name.startswith(PREFIXES):
            lines = zip(own, show([f"{name}({each})" for each in own]), strict=True)
            texts["".join(f"  {each}: {line}\n" for each, line in lines if line)].append(name)
    golden("functions.txt", "".join(f"{' '.join(names)}\n{text}" for text, names in texts.items()))


def test_prefixes():
    """Libraries that are built with prefixes have the functions of the C library."""
    plain = sorted(name for name in user_space._C_LIBRARY if not name.startswith(PREFIXES))
    assert sorted(user_space._C_LIBRARY) == sorted(f"{prefix}{name}" for prefix in ("", *PREFIXES) for name in plain)


def test_sizes_and_caches(golden):
    calls = [*(f"kmalloc({size}, 0)" for size in SIZES), *(f"kcalloc({count}, {size}, 0)" for size in SIZES[:60:3] for count in ("1", "4", "n"))]
    calls += [f'kmem_cache_create("x", {size}, {rest})' for size in (SIZE, "size", "sizeof(*p) + 8") for rest in CACHES]
    calls += [f"KMEM_CACHE({rest})" for rest in ("ring, 0", "ring, SLAB_HWCACHE_ALIGN", "struct ring, 0", "ring", "ring, 0, x")]
    calls += [f'kmem_cache_create_rcu("x", {SIZE}, {rest})' for rest in ("8, 0", "8, SLAB_TYPESAFE_BY_RCU", "8", "8, 0, 0")]
    golden("sizes.txt", "".join(f"{call}: {line}\n" for call, line in zip(calls, show(calls), strict=True)))
