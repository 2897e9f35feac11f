"""What C text tells of allocations: a table of calls, and libclang's word for what `sizeof` means."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.model.storage import ANY, Allocator
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.proposals import keys
from layoutlint.sources.allocations.sources import find, read_cache_names
from tests.harness.pace import limit_time
from tests.oracles.c_probe import need


def describe(call: Allocation) -> str:
    """A call in short: `ring: placement = "kmalloc", array = true`, or why it cannot be told."""
    message = ", ".join(keys(call.storage)) if call.storage is not None else f"?? {call.problem}"
    details = f" ({', '.join(call.details)})" if call.details else ""
    return f"{call.struct}: {message}{details}"


def function_text(body: str) -> list[str]:
    return [describe(call) for call in find(f"int f(struct ring *given, int n)\n{{\n{body}\n}}\n", "f.c")]


CALLS = [
    # slab caches
    ("KMEM_CACHE(ring, SLAB_PANIC)", 'ring: placement = "slab"'),
    ("KMEM_CACHE(ring, SLAB_HWCACHE_ALIGN | SLAB_PANIC)", 'ring: placement = "line" (SLAB_HWCACHE_ALIGN)'),
    ("KMEM_CACHE(ring, SLAB_TYPESAFE_BY_RCU)", 'ring: placement = "slab", constructor = true (SLAB_TYPESAFE_BY_RCU)'),
    ("KMEM_CACHE_USERCOPY(ring, SLAB_ACCOUNT, names)", 'ring: placement = "slab"'),
    ("KMEM_CACHE(ring, flags)", "ring: ?? what flags `flags` means is not known"),
    ("KMEM_CACHE(ring, 0 | SLAB_POISON)", "ring: ?? what flags `SLAB_POISON` means is not known"),
    ('kmem_cache_create("a, (b", sizeof(struct ring), 0, 0, NULL)', 'ring: placement = "slab"'),
    ('kmem_cache_create("ring", sizeof(struct ring), 64, 0, NULL)', 'ring: placement = "slab:64"'),
    ('kmem_cache_create("ring", sizeof(struct ring), 0, (SLAB_PANIC|SLAB_MEM_SPREAD), ring_ctor)',
     'ring: placement = "slab", constructor = true (a constructor)'),
    ('kmem_cache_create("ring", sizeof(*given), __alignof__(*given), SLAB_HWCACHE_ALIGN, NULL)',
     'ring: placement = "line" (SLAB_HWCACHE_ALIGN)'),
    ('kmem_cache_create("ring", sizeof(struct ring), L1_CACHE_BYTES, 0, NULL)', 'ring: placement = "line" (aligned to a line)'),
    ('kmem_cache_create("ring", sizeof(struct ring), cache_line_size(), 0, NULL)', 'ring: placement = "line" (aligned to a line)'),
    ('kmem_cache_create("ring", sizeof(struct ring), sizeof(void *), 0, NULL)', 'ring: placement = "slab"'),
    ('kmem_cache_create("ring", sizeof(struct ring), RING_ALIGN, 0, NULL)',
     "ring: ?? `RING_ALIGN` is not a known alignment"),
    ('kmem_cache_create("ring", sizeof(struct ring), 48, 0, NULL)', "ring: ?? `48` is not a known alignment"),
    ('kmem_cache_create("ring", ring_size, 0, 0, NULL)', ": ?? the size is `ring_size`"),
    ('kmem_cache_create("ring", sizeof(struct ring) + n, 0, 0, NULL)', "ring: ?? the size is `sizeof(struct ring) + n`"),
    ('kmem_cache_create("64", 64, 0, 0, NULL)', None),
    ('kmem_cache_create_usercopy("ring", sizeof(struct ring), 0, 0, 8, 16, NULL)', 'ring: placement = "slab"'),
    ('kmem_cache_create_usercopy("ring", sizeof(struct ring), 0, 0, 8, 16, init)',
     'ring: placement = "slab", constructor = true (a constructor)'),
    # Linux 6.11 and 6.12
    ('kmem_cache_create_rcu("ring", sizeof(struct ring), 8, SLAB_PANIC)', 'ring: placement = "slab"'),
    ('kmem_cache_create("ring", sizeof(struct ring), NULL, SLAB_PANIC)', 'ring: placement = "slab"'),
    ('struct kmem_cache_args args = { .align = 32, .ctor = init, }; kmem_cache_create("ring", sizeof(struct ring), &args, 0)',
     'ring: placement = "slab:32", constructor = true (a constructor)'),
    ('struct kmem_cache_args args = { .use_freeptr_offset = true, .freeptr_offset = 8 };'
     'kmem_cache_create("ring", sizeof(struct ring), &args, SLAB_TYPESAFE_BY_RCU)',
     'ring: placement = "slab" (SLAB_TYPESAFE_BY_RCU)'),
    ('kmem_cache_create("ring", sizeof(struct ring), &(struct kmem_cache_args){ .align = 64 }, 0)', 'ring: placement = "slab:64"'),
    ('struct kmem_cache_args args = { .align = 32 }; args.align = 64; kmem_cache_create("r", sizeof(struct ring), &args, 0)',
     "ring: ?? what `&args` says is set elsewhere"),
    ('kmem_cache_create("ring", sizeof(struct ring), args, 0)', "ring: ?? what `args` says is set elsewhere"),
    # kmalloc
    ("kmalloc(sizeof(struct ring), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kzalloc(sizeof(*given), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kzalloc(sizeof *given, GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kzalloc((sizeof(given[0])), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kzalloc_node(sizeof(struct ring), GFP_KERNEL, node)", 'ring: placement = "kmalloc"'),
    ("kvzalloc(sizeof(const struct ring), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kmemdup(given, sizeof(*given), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("krealloc(given, 4 * sizeof(*given), GFP_KERNEL)", 'ring: placement = "kmalloc", array = 4'),
    ("kmalloc(struct_size(given, names, n), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kmalloc(struct_size_t(struct ring, names, n), GFP_KERNEL)", 'ring: placement = "kmalloc"'),
    ("kmalloc(sizeof(struct ring) * (n + 1), GFP_KERNEL)", 'ring: placement = "kmalloc", array = true'),
    ("kmalloc(array_size(n, sizeof(struct ring)), GFP_KERNEL)", 'ring: placement = "kmalloc", array = true'),
    ("kmalloc(size_mul(0x10, sizeof(struct ring)), GFP_KERNEL)", 'ring: placement = "kmalloc", array = 16'),
    ("kcalloc(n, sizeof(*given), GFP_KERNEL)", 'ring: placement = "kmalloc", array = true'),
    ("kcalloc(8, sizeof(struct ring), GFP_KERNEL)", 'ring: placement = "kmalloc", array = 8'),
    ("kmalloc_array(n, sizeof(struct ring), GFP_KERNEL)", 'ring: placement = "kmalloc", array = true'),
    ("krealloc_array(given, n, sizeof(*given), GFP_KERNEL)", 'ring: placement = "kmalloc", array = true'),
    ("kzalloc_obj(*given)", 'ring: placement = "kmalloc"'),
    ("kzalloc_obj(struct ring, GFP_ATOMIC)", 'ring: placement = "kmalloc"'),
    ("kmalloc_objs(*given, 3)", 'ring: placement = "kmalloc", array = 3'),
    ("kvzalloc_objs(struct ring, n)", 'ring: placement = "kmalloc", array = true'),
    ("kmalloc_flex(*given, names, n)", 'ring: placement = "kmalloc"'),
    ("vzalloc(sizeof(struct ring))", 'ring: placement = "aligned:4096"'),
    ("kmalloc(sizeof(struct ring) + n, GFP_KERNEL)", "ring: ?? the size is `sizeof(struct ring) + n`"),
    ("kmalloc(n + 1 * sizeof(struct ring), GFP_KERNEL)", "ring: ?? the size is `n + 1 * sizeof(struct ring)`"),
    ("kmalloc(max(sizeof(struct ring), sizeof(struct other)), GFP_KERNEL)",
     ": ?? the size is `max(sizeof(struct ring), sizeof(struct other))`"),
    ("kmalloc(sizeof(*given->next), GFP_KERNEL)", ": ?? what `*given->next` is, a declaration elsewhere tells"),
    ("kmalloc(sizeof(*unheard), GFP_KERNEL)", ": ?? what `*unheard` is, no declaration before it tells"),
    ("devm_kzalloc(dev, sizeof(*given), GFP_KERNEL)",
     "ring: ?? a block of devm_ begins with a header, whose size the configuration decides"),
    ("kmalloc(n, GFP_KERNEL)", None),
    ("kmalloc(sizeof(struct ring *), GFP_KERNEL)", None),
    ("kmalloc(n * sizeof(u32), GFP_KERNEL)", None),
    ("kmalloc(sizeof(given), GFP_KERNEL)", None),
    # what p is
    ("struct ring *p; kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    ("struct ring here, *p; kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    ("struct ring *a = get(b, c), *p; kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    ("const struct ring *const p = kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    ("struct ring __rcu *p; kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    ("struct ring p; kmalloc(sizeof(p), 0)", 'ring: placement = "kmalloc"'),
    ("struct ring p[4]; kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    ("struct ring **p; kmalloc(sizeof(*p), 0)", None),
    ("struct ring *p[4]; kmalloc(sizeof(*p), 0)", None),
    ("u32 *p; kmalloc(sizeof(*p), 0)", None),
    ("x = f(n * p, (n) * p); kmalloc(sizeof(*p), 0)", ": ?? what `*p` is, no declaration before it tells"),
    ("struct other *p = x; if (p) { struct ring *p; kmalloc(sizeof(*p), 0); }", ": ?? `p` has several declarations before it"),
    ("struct ring *p; if (p) { a->p = 0; b(c, p); d = n * p; } kmalloc(sizeof(*p), 0)", 'ring: placement = "kmalloc"'),
    # the C library
    ("malloc(sizeof(struct ring))", 'ring: placement = "malloc"'),
    ("malloc(sizeof *given)", 'ring: placement = "malloc"'),
    ("malloc(n * sizeof(*given))", 'ring: placement = "malloc", array = true'),
    ("calloc(1, sizeof(*given))", 'ring: placement = "malloc"'),
    ("calloc(n, sizeof(struct ring))", 'ring: placement = "malloc", array = true'),
    ("calloc(1, 8 * sizeof(struct ring))", 'ring: placement = "malloc", array = 8'),
    ("calloc(n, 8 * sizeof(struct ring))", 'ring: placement = "malloc", array = true'),
    ("realloc(given, sizeof(*given) * (n + 1))", 'ring: placement = "malloc", array = true'),
    ("reallocarray(given, n, sizeof(*given))", 'ring: placement = "malloc", array = true'),
    ("struct ring *p = malloc(sizeof *p)", 'ring: placement = "malloc"'),
    ("aligned_alloc(64, sizeof(struct ring))", 'ring: placement = "aligned:64"'),
    ("aligned_alloc(CACHE_LINE_SIZE, 4 * sizeof(struct ring))", 'ring: placement = "line", array = 4 (aligned to a line)'),
    ("aligned_alloc(48, sizeof(struct ring))", "ring: ?? `48` is not a known alignment"),
    ("aligned_alloc(alignof(struct ring), sizeof(struct ring))",
     "ring: ?? `alignof(struct ring)` is not a known alignment"),
    ("posix_memalign((void **)&given, 128, sizeof(*given))", 'ring: placement = "aligned:128"'),
    ("posix_memalign(&p, sizeof(void *), sizeof(*given))", 'ring: placement = "malloc"'),
    ("posix_memalign(&p, sysconf(_SC_LEVEL1_DCACHE_LINESIZE), n * sizeof(*given))",
     'ring: placement = "line", array = true (aligned to a line)'),
    ("memalign(getpagesize(), sizeof(*given))", 'ring: placement = "aligned:4096"'),
    ("memalign(CACHELINE * LINES_OF_CACHE_LINE, sizeof(*given))",
     "ring: ?? `CACHELINE * LINES_OF_CACHE_LINE` is not a known alignment"),
    ("valloc(sizeof(*given))", 'ring: placement = "aligned:4096"'),
    ("malloc(sizeof(*given) + n)", ": ?? the size is `sizeof(*given) + n`"),
    ("malloc(n)", None),
    # jemalloc
    ("mallocx(sizeof(*given), 0)", 'ring: placement = "jemalloc"'),
    ("mallocx(sizeof(*given), MALLOCX_ALIGN(64) | MALLOCX_ZERO)", 'ring: placement = "aligned:64"'),
    ("rallocx(given, n * sizeof(*given), MALLOCX_ALIGN(align))", "ring: ?? `align` is not a known alignment"),
    ("je_calloc(n, sizeof(*given))", 'ring: placement = "jemalloc", array = true'),
    # GLib
    ("g_malloc0(sizeof(struct ring))", 'ring: placement = "malloc"'),
    ("g_new0(struct ring, 1)", 'ring: placement = "malloc"'),
    ("g_new(struct ring, n)", 'ring: placement = "malloc", array = true'),
    ("g_renew(struct ring, given, n)", 'ring: placement = "malloc", array = true'),
    ("g_slice_new(struct ring)", 'ring: placement = "malloc"'),
    ("g_malloc_n(n, sizeof(struct ring))", 'ring: placement = "malloc", array = true'),
    ("g_aligned_alloc(n, sizeof(struct ring), 64)", 'ring: placement = "aligned:64", array = true'),
    # DPDK
    ('rte_zmalloc("ring", sizeof(*given), 0)', 'ring: placement = "line"'),
    ("rte_malloc(NULL, n * sizeof(*given), RTE_CACHE_LINE_SIZE)", 'ring: placement = "line", array = true (aligned to a line)'),
    ("rte_malloc(NULL, sizeof(*given), 8)", 'ring: placement = "line"'),
    ("rte_malloc(NULL, sizeof(*given), 128)", 'ring: placement = "aligned:128"'),
    ("rte_zmalloc_socket(NULL, sizeof(*given), 0, node)", 'ring: placement = "line"'),
    ("rte_calloc(NULL, 8, sizeof(*given), 0)", 'ring: placement = "line", array = 8'),
    ("rte_malloc(sizeof(*given))", None),
    # PostgreSQL
    ("palloc0(sizeof(struct ring))", 'ring: placement = "aligned:8"'),
    ("palloc_array(struct ring, n)", 'ring: placement = "aligned:8", array = true'),
    ("MemoryContextAlloc(context, sizeof(*given))", 'ring: placement = "aligned:8"'),
    ('ShmemInitStruct("ring", sizeof(struct ring), &there)', 'ring: placement = "line"'),
    ("ShmemAlloc(n * sizeof(struct ring))", 'ring: placement = "line", array = true'),
    # per CPU
    ("alloc_percpu(struct ring)", 'ring: placement = "percpu"'),
    ("alloc_percpu_gfp(struct ring, GFP_KERNEL)", 'ring: placement = "percpu"'),
    # what is no call
    ("/* kmalloc(sizeof(struct ring), 0) */", None),
    ("// kmalloc(sizeof(struct ring), 0) \\\n kmalloc(sizeof(struct ring), 0)", None),
    ('pr_err("kmalloc(sizeof(struct ring), 0)\\"")', None),
    ("my_kmalloc(sizeof(struct ring), 0)", None),
    ("kmalloc_it(sizeof(struct ring), 0)", None),
    ("\n#define RING() kmalloc(sizeof(struct ring), \\\n kmalloc(sizeof(struct ring), 0))\n", None),
    ("\n#if 0\nkmalloc(sizeof(struct ring), 0)\n#if 1\n#else\n#endif\n#endif\n", None),
    ("\n#if 0\n#else\nkmalloc(sizeof(struct ring), 0)\n#endif\n", 'ring: placement = "kmalloc"'),
    ("kmalloc(sizeof(struct /* a, ) */ ring),\n\n 0)", 'ring: placement = "kmalloc"'),
    ("kmalloc(sizeof(struct ring)", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_a_call(body, expected):
    assert function_text(body) == ([] if expected is None else [expected])


TOP = [
    ("DEFINE_PER_CPU(struct ring, rings);", ['ring: placement = "percpu"']),
    ("static DEFINE_PER_CPU(struct ring, rings[4]) = { 0 };", ['ring: placement = "percpu", array = 4']),
    ("DEFINE_PER_CPU(struct ring [N], rings);", ['ring: placement = "percpu", array = true']),
    ("DEFINE_PER_CPU(struct ring *, rings);", []),
    ("DEFINE_PER_CPU_SHARED_ALIGNED(struct ring, rings);", ['ring: placement = "line"']),
    ("DEFINE_PER_CPU_PAGE_ALIGNED(struct ring, rings);", ['ring: placement = "percpu:4096"']),
    ("DECLARE_PER_CPU(struct ring, rings);", []),
    ("static struct ring here __cacheline_aligned;", ['ring: placement = "line"']),
    ("struct ring here[4] ____cacheline_aligned_in_smp = { 0 };", ['ring: placement = "line", array = 4']),
    ("static struct ring here[N][2] __read_mostly __cacheline_aligned;", ['ring: placement = "line", array = true']),
    ("struct ring {\n\tstruct other o ____cacheline_aligned;\n} ____cacheline_aligned;", []),
    ("extern struct ring here __cacheline_aligned;", []),
    ("static struct ring *p;\nint f(void)\n{\n\tp = kmalloc(sizeof(*p), 0);\n}", ['ring: placement = "kmalloc"']),
    ("static struct ring *p;\nint g(void)\n{\n}\n\nint f(void)\n{\n\tp = kmalloc(sizeof(*p), 0);\n}", ['ring: placement = "kmalloc"']),
    ("struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align, slab_flags_t flags, "
     "void (*ctor)(void *))\n{\n}", []),
    ("int f(struct other *p)\n{\n}\nint g(struct ring *p)\n{\n\tkmalloc(sizeof(*p), 0);\n}", ['ring: placement = "kmalloc"']),
    ("struct dev {\n\tint n;\n\tstruct ring __rcu *p, q, *r[2];\n\tstruct {\n\t\tstruct ring *in;\n\t} s;\n\tstruct next *next;\n};\n"
     "struct next {\n\tstruct dev *back;\n};\nint f(struct dev *d)\n{\n\tkmalloc(sizeof(*d->p), 0);\n\tkmalloc(sizeof(d->q), 0);\n"
     "\tkmalloc(sizeof(*d->r), 0);\n\tkmalloc(sizeof(*d->next->back), 0);\n\tkmalloc(sizeof(*d->in), 0);\n\tkmalloc(sizeof(*d.p), 0);\n}",
     ['ring: placement = "kmalloc"', 'ring: placement = "kmalloc"', 'dev: placement = "kmalloc"',
      ": ?? what `*d->in` is, a declaration elsewhere tells", ": ?? what `*d.p` is, a declaration elsewhere tells"]),
    ("#ifdef A\nstruct dev {\n\tstruct ring *p;\n};\n#else\nstruct dev {\n\tstruct slot *p;\n};\n#endif\n"
     "int f(struct dev *d)\n{\n\tkmalloc(sizeof(*d->p), 0);\n}", [": ?? what `*d->p` is, a declaration elsewhere tells"]),
    ("int f(int n,\n      struct ring *p)\n{\n\tkmalloc(sizeof(*p), 0);\n}", ['ring: placement = "kmalloc"']),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TOP)
def test_outside_of_functions(text, expected):
    assert [describe(call) for call in find(f"{text}\n", "f.c")] == expected


def test_a_word_can_be_a_typedef():
    text = "int f(int n)\n{\n\tring_t *p = kmalloc(sizeof(*p), 0);\n\tq = kmalloc(sizeof(ring_t), 0);\n}\n"
    assert [(call.struct, call.is_typedef) for call in find(text, "f.c")] == [("ring_t", True)] * 2


DECLARED = [
    # what the rule file declares, a call, what it makes
    (Allocator("zmalloc"), "zmalloc(sizeof(*given))", ['ring: placement = "malloc"']),
    (Allocator("get", 2, 1), "get(pool, n, sizeof(struct ring))", ['ring: placement = "malloc", array = true']),
    (Allocator("get", 1, align_at=0), "get(64, sizeof(struct ring))", ['ring: placement = "aligned:64"']),
    (Allocator("NEW", type_at=0, word="line"), "NEW(struct ring)", ['ring: placement = "line"']),
    (Allocator("NEW", type_at=1, count_at=0, word="aligned", align=32), "NEW(4, *given)", ['ring: placement = "aligned:32", array = 4']),
    (Allocator("malloc", word="line"), "malloc(sizeof(*given))", ['ring: placement = "line"']),
    (Allocator("get", 2), "get(sizeof(struct ring))", []),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "body", "expected"), DECLARED)
def test_functions_of_the_project(declared, body, expected):
    text = f"int f(struct ring *given, int n)\n{{\n{body};\n}}\n"
    assert [describe(call) for call in find(text, "f.c", None, (declared,))] == expected


def test_lines_are_counted_from_the_beginning():
    text = '/*\n\n*/\nint f(void)\n{\n\t"\\\n";\n\tkmalloc(\n\t\tsizeof(struct ring), 0);\n\tkmalloc(sizeof(struct x), 0);\n}\n'
    assert [(call.struct, call.source.line) for call in find(text, "f.c")] == [("ring", 8), ("x", 10)]


def test_only_those_that_are_wanted():
    text = "int f(void)\n{\n\tkmalloc(sizeof(struct a), 0);\n\tkmalloc(sizeof(struct b), 0);\n}\n"
    assert [call.struct for call in find(text, "f.c", "b".__eq__)] == ["b"]


SOURCE = """
typedef __SIZE_TYPE__ size_t;
typedef struct named { long a; } named_t;
struct ring { struct ring *next; struct slot { int x; } slots[4]; };
union both { int a; long b; };
struct kmem_cache;
void *kmalloc(size_t size, unsigned flags);
void *kzalloc(size_t size, unsigned flags);
void *kcalloc(size_t n, size_t size, unsigned flags);
struct kmem_cache *kmem_cache_create(const char *, unsigned, unsigned, unsigned long, void (*)(void *));
static struct ring *top;
void *one(struct ring *a, int n, union both *u) {
	struct slot *s, t, *v[3], w[2];
	const struct ring *c = a, **d;
	void *p = kmalloc(sizeof(*a), 0);
	p = kmalloc(sizeof *a->next, 0);
	p = kzalloc(sizeof(*s), 0); p = kzalloc(sizeof(t), 0);
	p = kzalloc(sizeof(*v), 0);
	p = kzalloc(sizeof(**v), 0);
	p = kcalloc(n, sizeof(w[0]), 0);
	p = kcalloc(n,
		sizeof(*w), 0);
	p = kmalloc(sizeof(*c), 0);
	p = kmalloc(sizeof(*d), 0);
	p = kmalloc(sizeof(*u), 0);
	p = kmalloc(sizeof(*top), 0);
	p = kmalloc(sizeof(struct slot *), 0);
	return p;
}
struct kmem_cache *two(void) {
	union both *a;
	struct ring *top;
	named_t *n = kmalloc(sizeof(*n), 0);
	named_t m;
	n = kmalloc(sizeof(m), 0);
	a = kmalloc(sizeof(*a), 0);
	top = kmalloc(sizeof(*top->slots), 0);
	for (struct slot *i = 0;;)
		i = kmalloc(sizeof(*i), 0);
	return kmem_cache_create("named", sizeof(struct named), 0, 0, 0);
}
"""
_SIZED = re.compile(r"UnaryExprOrTypeTraitExpr 0x\w+ <([^>]*)> '[^']*'(?::'[^']*')? sizeof(?: '([^']*)'(?::'([^']*)')?)?")


def clang_meanings(tmp_path) -> list[str | None]:
    """What every `sizeof` of the source means to clang, in order: a tag, or None for what is no struct."""
    (tmp_path / "s.c").write_text(SOURCE)
    tree = subprocess.run(
        [need("clang"), "-fsyntax-only", "-w", "-Xclang", "-ast-dump", "-fno-color-diagnostics", tmp_path / "s.c"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    found: list[str | None] = []
    lines = tree.splitlines()
    for at, line in enumerate(lines):
        sized = _SIZED.search(line)
        if sized is None:
            continue
        kind = sized[3] or sized[2]
        if kind is None:
            typed = re.search(r"'([^']*)'(?::'([^']*)')? lvalue", lines[at + 1])
            assert typed is not None
            kind = typed[2] or typed[1]
        tag = re.fullmatch(r"(?:const )?(?:struct |union )(\w+)", kind.replace("named_t", "struct named"))
        found.append(tag[1] if tag else None)
    return found


def test_sizes_mean_what_clang_says(tmp_path):
    """Each call as clang has it, unless it cannot be told; and what is left out is no struct."""
    sizes = clang_meanings(tmp_path)
    starts = [found.start() for found in re.finditer(r"\bk[a-z_]+\((?=[^;{]*\bsizeof)", SOURCE)]
    assert len(starts) == len(sizes) > 15
    lines = {SOURCE.count("\n", 0, at) + 1: [] for at in starts}
    for at, meant in zip(starts, sizes, strict=True):
        lines[SOURCE.count("\n", 0, at) + 1].append(meant)
    ours: dict[int, list[str]] = {}
    for call in find(SOURCE, "s.c"):
        assert call.source.line is not None
        ours.setdefault(call.source.line, []).append("??" if call.storage is None else call.struct.replace("named_t", "named"))
    output = untold = 0
    for line, meant in lines.items():
        structs = [tag for tag in meant if tag is not None]
        found = ours.get(line, [])
        assert len(found) == len(structs) or "??" in found, line
        for tag, message in zip(structs, [each for each in found if each != "??"] or structs, strict=True):
            assert message == tag, line
        output, untold = output + len([f for f in found if f != "??"]), untold + found.count("??")
    assert (output, untold) == (13, 3)


PIECES = (
    *"(){}[];,*&|#\"'/\\.>-=0p", "\n", "sizeof", "struct", "struct ring", "p->", "kmalloc(", "kcalloc(", "KMEM_CACHE(", "kmem_cache_create(",
    "kmalloc_obj(", "alloc_percpu(", "DEFINE_PER_CPU(", "__cacheline_aligned", "struct_size(", "array_size(", "#if 0\n", "/*", "*/", "\n}\n",
    "struct kmem_cache_args args = {", ".align", "&args", "SLAB_PANIC",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_no_text_is_too_strange(pieces):
    """What is found has a struct and a placement, or a reason; nothing raises."""
    for call in find("".join(pieces), "f.c"):
        assert bool(call.problem) is (call.storage is None)
        assert call.struct or call.problem


@pytest.mark.exhaustive
@pytest.mark.parametrize("piece", [
    "kmalloc(sizeof(*p), 0);", "kmalloc(", "struct s *p;", "p p p ", '"', "'", "/*", "\\\n", "#if 0\n", "}\n", "((((", "kmalloc(sizeof(*pNN), 0);\n",
    "static struct s x[", "KMEM_CACHE(x, a|", "struct s {", "struct s { struct t *p; };", "{" , " " * 50 + "\n",
])  # fmt: skip
def test_no_text_takes_long(piece):
    text = "".join(piece.replace("NN", str(number)) for number in range(200_000 // len(piece)))
    with limit_time(10):
        find(f"int f(void)\n{{\nstruct s *p;\nkmalloc(sizeof(*p), 0);\n{text}", "f.c")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("before", "piece", "behind"), [
    ("", "struct s p __s\n", ""), ("", "\nstruct s p" + " " * 50, ""), ("", "static\n", ""), ("struct s p ", "__s", "("),
    ("struct s p ____cacheline_aligned ", "__s", "("), ("struct s ", "__s", " __cacheline_aligned"), ("struct s ", "* ", ""),
    ("struct s {\nstruct t ", " ", "(*f)(void);\n};"), ("struct s {", "{}", "};"), ("struct s {" + "{" * 30_000, "}", ""), ("'", r"\'", ""),
    ("struct kmem_cache_args a = {", " .x = 1,", "};\n" + 300 * 'kmem_cache_create("s", sizeof(struct s), &a, 0);'),
    ("", "struct kmem_cache_args a = {.x = NN};\n", 3000 * 'kmem_cache_create("s", sizeof(struct s), &a, 0);'),
])  # fmt: skip
def test_no_declaration_takes_long(before, piece, behind):
    many = "".join(piece.replace("NN", str(number)) for number in range(200_000 // len(piece)))
    with limit_time(10):
        find(f"a = kmalloc(sizeof(*q), 0);\nb = kmalloc(sizeof(q->r), 0);\n{before}{many}{behind}", "f.c")


@pytest.mark.parametrize(("text", "expected"), [
    (f"x = kmalloc(sizeof(struct s) * {'9' * 1500}, 0);", ANY),
    (f"static struct s x[{'9' * 5000}] ____cacheline_aligned;", ANY),
    (f"x = kmalloc(sizeof(struct s) * {'9' * 18}, 0);", 10**18 - 1),
    ("x = kmalloc(sizeof(struct s) * 0xffUL, 0);", 255),
])  # fmt: skip
def test_a_number_that_no_machine_has_is_not_told(text, expected):
    assert [call.storage.array for call in find(text, "f.c")] == [expected]


def test_an_argument_that_is_no_name():
    (call,) = find('x = kmem_cache_create("s", sizeof(struct s), &*, 0);', "f.c")
    assert call.problem == "what `&*` says is set elsewhere"


@pytest.mark.parametrize(("call", "cache"), [
    ('kmem_cache_create("my_rings", sizeof(struct ring), 0, 0, NULL)', "my_rings"),
    ('kmem_cache_create( "a b",\n\tsizeof(struct ring), 0, SLAB_PANIC, NULL)', "a b"),
    ('kmem_cache_create_usercopy("r", sizeof(struct ring), 0, 0, 0, 8, NULL)', "r"),
    ("kmem_cache_create(name, sizeof(struct ring), 0, 0, NULL)", ""),
    ("KMEM_CACHE(ring, SLAB_PANIC)", "ring"), ("KMEM_CACHE_USERCOPY(ring, 0, a)", "ring"),
    ("kmalloc(sizeof(struct ring), GFP_KERNEL)", ""),
])  # fmt: skip
def test_calls_name_caches(call, cache, tmp_path):
    text = f"void *f(const char *name)\n{{\n\treturn {call};\n}}\n"
    assert [(each.struct, each.cache) for each in find(text, "f.c")] == [("ring", cache)]
    (tmp_path / "f.c").write_text(text)
    assert read_cache_names((str(tmp_path),)) == ({"ring": (cache,)} if cache else {})
