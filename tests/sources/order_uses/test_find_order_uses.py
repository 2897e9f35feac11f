"""What forbids moves of members: for each construct a text that does, and one that looks like it and is harmless."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from layoutlint import api
from layoutlint.model.record import replace
from layoutlint.model.structs import Source, Struct
from layoutlint.sources.order_uses import OrderUse, Search, find_order_uses, forbids, member_names
from tests.harness.pace import limit_time
from tests.harness.whole import whole_lines

HEADER = """
typedef unsigned char __u8; typedef unsigned short __le16; typedef unsigned int __le32; typedef unsigned int __u32;
#define NULL ((void *)0)
struct link { struct link *next, *prev; };
union word { int i; double d; };
struct ring {
	struct link link;
	int head;
	int tail;
	char name[8];
	void *data;
	union word word;
	long count;
};
struct plain { int a; int b; long c; char *d; int e[4]; };
struct marked { int a; struct { } begin; int b; int c; long end[0]; int d; };
struct group { int a; __u8 __cacheline_group_begin__read[0]; int b; int c; __u8 __cacheline_group_end__read[0]; int d; };
struct empty_type { };
struct configured { int a; struct empty_type lock; int b; };
struct packet { __le16 type; __le32 size; __u8 flags; };
struct mixed { __le16 type; int a; void *p; };
struct tight { char a; int b; } __attribute__((packed));
union both { int a; long b; };
typedef struct { int a; long b; } untagged;
struct address { unsigned short at_family; int at_port; };
"""


@cache
def structs() -> dict[str, Struct]:
    """The structs of HEADER as libclang reads them."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ring.h"
        file.write_text(HEADER)
        read = api.read(str(file), flags=("-std=gnu11",))
    found = [layout.struct for layout in read]
    return {
        struct.name: replace(struct, source=Source("ring.h", struct.source.line if struct.source else None)) for struct in found
    }


def search(tmp_path: Path, name: str, text: str, file: str = "use.c") -> Search:
    """The search in a folder with the header and one more file."""
    (tmp_path / "ring.h").write_text(HEADER)
    (tmp_path / file).write_text(text)
    return find_order_uses(structs()[name], [str(tmp_path)])


def show(use: OrderUse) -> str:
    """A use in short: `member-range 3 range start~: head tail`."""
    place = "" if use.place == "anywhere" else f" {use.place}"
    inner = "~" if use.any_order else ""
    return f"{use.kind} {use.line} {use.scope}{place}{inner}: {' '.join(use.members)}".strip()


def whole(found: Search) -> str:
    """The uses that a search found, with all of their fields, for the golden file."""
    return re.sub(r"file='[^']*/", "file='", "\n".join(whole_lines(found.uses)))


def function_text(body: str) -> str:
    return f'#include "ring.h"\nint f(struct ring *r, struct ring *q, void *buffer, int n)\n{{\n{body}\n}}\n'


FIVE = "link head tail name data"
USES = [
    # values by position
    ("struct ring r = { { 0, 0 }, 1, 2 };", "positional-initialiser 1 order start: link head tail"),
    ("static const struct ring r = { .head = 1, .tail = 2 };", None),
    ("struct ring r = { .link = { 0, 0 }, .head = 1 };", None),
    ("struct ring r = { head: 1, tail: 2 };", None),
    ("struct ring r = { .head = 1, 2 };", "positional-initialiser 1 range: head tail"),
    ("struct ring r = {\n\t.tail = 3,\n\t\"abc\", &x };", "positional-initialiser 1 range: tail name data"),
    ("struct ring r[] = { { { 0, 0 }, 1 }, { .head = 2 } };", "positional-initialiser 1 order start: link head"),
    ("struct ring r[2] = { [1] = { .head = 1 }, [0] = { { 0 }, 1 } };", "positional-initialiser 1 order start: link head"),
    ("struct ring r[2][2] = { { { .head = 1 }, { { 0, 0 }, 7 } } };", "positional-initialiser 1 order start: link head"),
    ("struct ring r[2] = { [1] = { .head = 1 } };", None),
    ("struct ring *r[2] = { &a, &b };", None),
    ("struct ring r[] = { &a, 1 };", "positional-initialiser 1 order:"),
    ("struct ring a = { .head = 1 }, b = { { 0, 0 }, 3 };", "positional-initialiser 1 order start: link head"),
    ("DEFINE_PER_CPU(struct ring, rings) = { { 0, 0 }, 3 };", "positional-initialiser 1 order start: link head"),
    ("DEFINE_PER_CPU(struct ring, rings) = { .head = 3 };", None),
    (function_text("*r = (struct ring){ { 0, 0 }, 3 };"), "positional-initialiser 4 order start: link head"),
    (function_text("*r = (struct ring){ .head = 3 };"), None),
    (function_text("g(&(const struct ring){ { 0, 0 }, 3 });"), "positional-initialiser 4 order start: link head"),
    (function_text("if (n == sizeof(struct ring)) { n = 1, n++; }"), None),
    ("typedef struct ring ring_t;\nring_t r = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("typedef struct ring ring_t;\nring_t r = { .head = 1 };", None),
    ("#define RING_INIT(n) { { 0, 0 }, (n) }\nstruct ring r = RING_INIT(3);", "positional-initialiser 2 order start: link head"),
    ("#define RING_INIT(n) \\\n\t{ .head = (n) }\nstruct ring r = RING_INIT(3);", None),
    ("#define HEAD(n) .head = (n)\nstruct ring r = { HEAD(3), .tail = 1 };", None),
    ("#define HEAD .head = 3\nstruct ring r = { .tail = 1, HEAD };", None),
    ("enum { HEAD };\nstruct ring r = { HEAD, 1 };", "positional-initialiser 2 order start: link head"),
    ("struct list *ring = FIRST_OF(x); int x = ring_size;", None),
    ("#define BOTH(n) (n)\nstruct ring r = { BOTH(3) };", "positional-initialiser 2 order:"),
    ("#define INNER { { 0, 0 }, 1 }\n#define OUTER() INNER_OF()\n#define INNER_OF() INNER\nstruct ring r = OUTER();", "positional-initialiser 4 order start: link head"),
    ("struct outer { int n; struct ring ring; };\nstruct outer o = { .ring = { { 0, 0 }, 1 } };",
     "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct ring ring; };\nstruct outer o = { 1, { { 0, 0 }, 1 } };",
     "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct ring ring; };\nstruct outer o = { 1, { .head = 1 } };", None),
    ("struct outer { struct ring ring; };\nstruct top { struct outer outer; };\nstruct top o = { .outer = { { { 0, 0 }, 1 } } };",
     "positional-initialiser 3 order start: link head"),
    ("struct other { int a, b; };\nstruct other o = { 1, 2 };", None),
    ("/* struct ring r = { { 0, 0 }, 1 }; */ char *s = \"struct ring r = { 1 };\";", None),
    ("#if 0\nstruct ring r = { { 0, 0 }, 1 };\n#endif", None),
    ("struct ring { int x, y; };\nstruct ring r = { 1, 2 };", None),
    # values for a struct in another one
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, &o, 0, 2 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, 2 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1 };", None),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, 0 };", "zero-initialiser 2 first: link"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, 0, 0, 0 };", "zero-initialiser 2 first: link"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, 0, 0, 3 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { .n = 1, { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { .n = 1, { .head = 1 } };", None),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { .z = 1, 2 };", None),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { .ring = 1, 2 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { .ring.head = 1, 2 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { .ring.head = 1, .ring.tail = 2 };", None),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o[] = { { 1, { .head = 1 } }, { 1, 2, 3 } };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o[2] = { 1, { { 0, 0 }, 1 }, 2 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, { .head = 1 }, 2 };", None),
    ("#define ONE 1\nstruct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, ONE, 2 };", "positional-initialiser 3 order:"),
    ("#define RING { .head = 1 }\nstruct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, RING, 2 };", None),
    ("#define RING(n) ((struct ring){ .head = (n) })\nstruct outer { int n; struct ring ring; int z; };\nstruct outer o = { 1, RING(1), 2 };", None),
    ("int one;\nstruct outer { int n; struct ring ring; int z; };\nvoid f(void) { struct outer o = { 1, one + 1, 2 }; }", "positional-initialiser 3 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nvoid f(int one) { struct outer o = { 1, one, 2 }; }", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nvoid f(struct ring one) { struct outer o = { 1, one, 2 }; }", None),
    ("struct outer { int n; struct ring ring; int z; };\nvoid f(struct ring *one) { struct outer o = { 1, *one, 2 }; }", None),
    ("struct outer { int n; struct ring ring; int z; };\nvoid f(void) { struct outer o = { 1, (struct ring){ .head = 1 }, 2 }; }", None),
    ("struct outer { int n; struct ring ring; int z; };\nvoid f(void) { g((struct outer){ 1, { { 0, 0 }, 1 } }); }", "positional-initialiser 2 order start: link head"),
    ("typedef struct { int n; struct ring ring; } outer;\nouter o = { 1, 2, 3 };", "positional-initialiser 2 order:"),
    ("typedef struct { int n; struct ring ring; } outer;\nouter o = { .n = 1, .ring = { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct ring ring; };\ntypedef struct outer zoo;\nzoo o = { 1, { { 0, 0 }, 1 } };", "positional-initialiser 3 order start: link head"),
    ("struct outer { int n; struct ring ring; };\nvoid f(struct list *outer) { struct list *o = LIST(outer), l = { 1, 2 }; }", None),
    ("typedef struct outer { int n; struct ring ring; } zoo;\nstruct outer o = { 1, { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct top { struct outer outer; };\nstruct top t = { 1, 2, 3 };", "positional-initialiser 3 order:"),
    ("struct outer { int n; struct ring ring; int z; };\nstruct top { struct outer outer; };\nstruct top t = { 1 };", None),
    ("struct outer { int n; struct ring ring; int z; };\nstruct top { struct outer outer; };\nstruct top t = { { 1, 2 } };", "positional-initialiser 3 order:"),
    ("union any { struct ring ring; char n[4]; };\nunion any a = { { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct list { int n; struct link link; };\nstruct list l = { 1, 2, 3 };\nstruct ring *r;", None),
    # designators that lead into a container
    ("struct outer { struct ring rings[2]; };\nstruct outer o = { .rings[0] = { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { struct ring rings[2]; };\nstruct outer o = { .rings[0] = { .head = 1 } };", None),
    ("struct outer { struct ring rings[2]; };\nstruct outer o = { .rings[1].head = 1, 2 };", "positional-initialiser 2 order:"),
    ("struct outer { struct ring rings[2]; };\nstruct outer o = { .rings[1].head = 1, .rings[1].tail = 2 };", None),
    ("struct outer { struct ring ring; int n; };\nstruct outer o[2] = { [1].ring = { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { struct ring ring; int n; };\nstruct outer o[2] = { [1].n = 1, [0].ring.head = 1 };", None),
    ("struct outer { int n; struct { struct ring ring; } in; };\nstruct outer o = { .in.ring = { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct { struct ring ring; } in; };\nstruct outer o = { 1, { { { 0, 0 }, 1 } } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct { struct ring ring; } in; };\nstruct outer o = { 1, { { .head = 1 } } };", None),
    ("struct outer { int n; struct { struct ring ring; }; };\nstruct outer o = { .ring = { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; struct { struct ring ring; }; };\nstruct outer o = { .n = 1, .ring = { .head = 1 } };", None),
    ("struct outer { int n; union { struct ring ring; char l[8]; }; };\nstruct outer o = { 1, { { { 0, 0 }, 1 } } };", "positional-initialiser 2 order start: link head"),
    ("struct outer { int n; union { char l[8]; struct ring ring; }; };\nstruct outer o = { 1, { 2 } };", None),
    ("struct outer { struct inner { struct ring ring; } inner; };\nstruct outer o = { .inner.ring = { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    # variables behind the body of their type
    ("static const struct { int n; struct ring ring; } t[] = { { 1, { { 0, 0 }, 1 } } };", "positional-initialiser 1 order start: link head"),
    ("static const struct { int n; struct ring ring; } t[] = { { 1, { .head = 1 } } };", None),
    ("static const struct { int n; struct ring *ring; } t[] = { { 1, &r } };", None),
    ("struct outer { int n; struct ring ring; } o = { 1, { { 0, 0 }, 1 } };", "positional-initialiser 1 order start: link head"),
    ("struct outer { int n; struct ring ring; } o = { 1, { .head = 1 } };", None),
    # several variables, other names of the type
    ("struct ring a, *b = &a, c = { { 0, 0 }, 1 };", "positional-initialiser 1 order start: link head"),
    ("struct ring a = make(1, 2), b = { { 0, 0 }, 1 };", "positional-initialiser 1 order start: link head"),
    ("struct ring a = make(1, 2), *b = &a, c = { .head = 1 };", None),
    ("typedef struct ring ring_t, *ring_p;\nring_t r = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("typedef struct ring ring_t, *ring_p;\nring_p r[] = { &a, &b };", None),
    ("#define RING_TYPE struct ring\nRING_TYPE r = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("#define RING_TYPE struct ring\nRING_TYPE r = { .head = 1 };", None),
    # unions
    ("union any { struct ring ring; struct other other; };\nstruct other { struct link link; int head; long other; };", "union-overlay 1 order start: link head"),
    ("union any { struct ring ring; struct other other; };\nstruct other { struct link o_link; int o_head, o_tail; };", "union-overlay 1 order start: link head tail"),
    ("union any { struct ring ring; struct other other; };\nstruct other { int head; struct link link; };", None),
    ("union any { struct ring ring; struct other other; };\nstruct other { struct link *link; int head; };", None),
    ("union any { struct ring *ring; struct other other; };\nstruct other { struct link link; };", None),
    ("union any { struct ring ring; struct other *other; };\nstruct other { struct link link; };", "union-overlay 1 range start: link"),
    ("struct any { struct ring ring; struct other other; };\nstruct other { struct link link; };", None),
    ("struct any { union { struct other other; struct ring ring; }; };\nstruct other { struct link link; };", "union-overlay 1 order start: link"),
    ("union any { struct ring ring; struct { struct link link; int x; } s; };", "union-overlay 1 order start: link head"),
    ("typedef struct { struct link link; int head; } other;\nunion any { struct ring ring; other o; };", "union-overlay 2 order start: link head"),
    ("union any { struct ring ring; unsigned long raw[7]; };", "union-overlay 1 all:"),
    ("union any { struct ring ring; u32 raw[sizeof(struct ring) / 4]; };", "union-overlay 1 all:"),
    ("union any { struct ring ring; unsigned long raw[8]; };", "union-overlay 1 all:"),
    ("union any { struct ring ring; char pad[56]; };", None),
    # types that `typeof` names
    ("struct ring a;\n__typeof__(a) b = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("struct ring *a;\ntypeof(*a) b = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("struct ring a;\ntypeof_unqual(a) b = { .head = 1 };", None),
    ("struct ring *a;\ntypeof(a) b = { 0 };", None),
    ("struct link a;\ntypeof(a) b = { 0, 0 };\nstruct ring *r;", None),
    ("typeof(struct ring) b = { { 0, 0 }, 1 };", "positional-initialiser 1 order start: link head"),
    ("struct ring a;\nvoid f(void) { g((typeof(a)){ { 0, 0 }, 1 }); }", "positional-initialiser 2 order start: link head"),
    # zero
    ("struct ring r = { };", None),
    ("struct ring r = { 0 };", "zero-initialiser 1 first: link"),
    ("struct ring r = {{0}};", "zero-initialiser 1 first: link"),
    ("struct ring r[4] = { 0 };", "zero-initialiser 1 first: link"),
    # offsets
    ("_Static_assert(offsetof(struct ring, head) == 16, \"\");", "offset-assertion 1 offset: head"),
    ("BUILD_BUG_ON(offsetof(struct ring, head) > offsetof(struct ring, tail));", "offset-assertion 1 order: head tail"),
    ("static_assert(offsetof(struct ring, head) + sizeof(int) == offsetof(struct ring, tail));", "offset-assertion 1 range: head tail"),
    ("ASSERT_STRUCT_OFFSET(struct ring, tail, 20);", "offset-assertion 1 offset: tail"),
    ("_Static_assert(sizeof(struct ring) == 64, \"\");", "size-assertion 1 size:"),
    ("BUILD_BUG_ON(sizeof(struct ring) > 4096);", None),
    ("_Static_assert(&((struct ring *)0)->head == 16, \"\");", "offset-assertion 1 offset: head"),
    ("#define SAME(m, o) static_assert(offsetof(struct ring, m) == offsetof(struct list, o))\nSAME(tail, n);", "offset-assertion 1 offset: tail"),
    ("#define LINK(m) offsetof(struct ring, m)\nint x[] = { LINK(tail) };", None),
    ("void g(void) { OFFSET(RING_HEAD, ring, head); }", "asm-offset 1 offset: head"),
    ("void g(void) { DEFINE(RING_HEAD, offsetof(struct ring, head)); }", "asm-offset 1 offset: head"),
    ("void g(void) { DEFINE(RING_SIZE, sizeof(struct ring)); OFFSET(A, list, head); }", None),
    ("char pad[64 - offsetof(struct ring, tail)];", "offset-constant 1 offset: tail"),
    ("enum { HEAD = offsetof(struct ring, head) };", "offset-constant 1 offset: head"),
    (function_text("switch (n) { case offsetof(struct ring, head): return 1; }"), "offset-constant 4 offset: head"),
    ("struct stat t[] = { { \"head\", offsetof(struct ring, head) }, };", None),
    (function_text("return *(int *)((char *)r + offsetof(struct ring, head));"), None),
    (function_text("kmem_cache_create_usercopy(\"r\", sizeof(struct ring), 0, 0, offsetof(struct ring, name), 8, NULL);"), None),
    (function_text("container_of(buffer, struct ring, link)->head = 1;"), None),
    ("CACHELINE_ASSERT_GROUP_MEMBER(struct ring, hot, head);", "group-assertion 1 offset: head"),
    # ranges
    (function_text("memset(&r->head, 0, offsetof(struct ring, data) - offsetof(struct ring, head));"), "member-range 4 range~: head tail name data"),
    (function_text("memset(&r->name, 0, sizeof(struct ring) - offsetof(struct ring, name));"), "member-range 4 range end~: name data word count"),
    (function_text("memset(&r->name, 0, sizeof(*r) - offsetof(struct ring, name));"), "member-range 4 range end~: name data word count"),
    (function_text("memcpy(r, q, offsetof(struct ring, data));"), f"member-range 4 range start~: {FIVE}"),
    (function_text("if (n < offsetofend(struct ring, tail)) return 1;"), "member-range 4 range start~: link head tail"),
    (function_text("memset(&r->head, 0, sizeof(r->head) + sizeof(r->tail));"), "member-range 4 range: head tail"),
    (function_text("memset(&r->head, 0, 8);"), "member-range 4 range: head tail"),
    (function_text("memset(&r->head, 0, 4);"), None),
    (function_text("memset(&r->head, 0, sizeof(r->head));"), None),
    (function_text("memcpy(r->name, buffer, sizeof(r->name));"), None),
    (function_text("memcpy(r->name, buffer, n * sizeof(r->name[0]));"), None),
    (function_text("memcpy(r->name, buffer, 2 * sizeof(r->name));"), "member-range 4 range: name data"),
    (function_text("memcpy(r->data, buffer, 4096);"), None),
    (function_text("memcmp(&r->head, &q->head, (char *)&r->data - (char *)&r->head);"), "member-range 4 range: head tail name data"),
    (function_text("memset(r, 0, sizeof(*r));"), None),
    ("void f(struct other *r) { memset(&r->head, 0, 8); }\nstruct ring *r;", None),
    ("memset_after(&r, 0, x); int z = bpf_ctx_range_till(struct ring, head, name);", "member-range 1 range~: head tail name"),
    (function_text("memset_after(r, 0, tail);"), "member-range 4 range end~: name data word count"),
    (function_text("memset_startat(r, 0, name);"), "member-range 4 range end~: name data word count"),
    ("void g(struct link *r) { memset_after(r, 0, next); }\nstruct ring *r;", None),
    (function_text("__builtin_memset(&r->head, 0, 8);"), "member-range 4 range: head tail"),
    (function_text("memcpy(&r->name, &q->name, sizeof(*r) - sizeof(r->link) - sizeof(r->head) - sizeof(r->tail));"),
     "member-range 4 range: name data word count"),
    (function_text("memcpy(&r->name, &q->name, sizeof(*q) - 56);"), None),
    (function_text("return (&r->head)[n];"), "member-index 4 order: head tail name data word count"),
    (function_text("return (&n)[1] + (&r->head == &n);"), None),
    # casts
    (function_text("struct link *l = (struct link *)r;"), "first-member-cast 4 first: link"),
    (function_text("struct link *l = &r->link;"), None),
    ("struct ring *g(struct link *l)\n{\n\treturn (struct ring *)l;\n}", "first-member-cast 3 first: link"),
    ("struct ring *g(struct link *l)\n{\n\treturn container_of(l, struct ring, link);\n}", None),
    ("struct ring *g(struct link *l)\n{\n\treturn list_entry(l, struct ring, link);\n}", None),
    ("struct ring *g(void *l)\n{\n\treturn (struct ring *)l;\n}", None),
    ("struct ring *g(char *l)\n{\n\treturn (struct ring *)l;\n}", None),
    (function_text("return (void *)r + 1 == buffer;"), None),
    (function_text("return *(unsigned int *)r;"), "scalar-cast 4 all:"),
    ("struct twin { int n; };\nvoid g(struct ring *r)\n{\n\tstruct twin *t = (struct twin *)r;\n}", "struct-cast 4 all:"),
    ("typedef struct { int n; } twin;\nvoid g(struct ring *r)\n{\n\ttwin *t = (twin *)r;\n}", "struct-cast 4 all:"),
    ("typedef struct { struct ring r; } outer;\nvoid g(struct ring *r)\n{\n\touter *t = (outer *)r;\n}", None),
    ("struct ring *g(struct where *w)\n{\n\treturn (struct ring *)w;\n}", "struct-cast 3 all:"),
    (function_text("memset(&r->data[8], 0, 64);"), None),
    ("struct outer { struct ring ring; };\nvoid g(struct ring *r)\n{\n\tstruct outer *t = (struct outer *)r;\n}", None),
    (function_text("kfree(&r->link);"), "first-member-free 4 first: link"),
    (function_text("list_free(&r->link); kfree(r->data);"), None),
    # arithmetic with addresses
    (function_text("return &r->name[4] - &r->name[0];"), None),
    (function_text("return f(&r->head) + 1;"), None),
    (function_text("return n & r->head - 1;"), None),
    (function_text("return n && r->head + 1 > n;"), None),
    (function_text("int *p = &r->head; *p += 1; return *p - 1;"), None),
    (function_text("char *p = r->name; return p[1];"), None),
    (function_text("return (&r->head)[0];"), None),
    (function_text("return r->name[7] + r->data[-1];"), None),
    (function_text("return *(int *)((char *)r + offsetof(struct ring, head));"), None),
    (function_text("return *((char *)r + sizeof(*r));"), None),
    (function_text("return *(int *)((char *)r + (n * sizeof(*r)));"), None),
    (function_text("return *(int *)((char *)buffer + n);"), None),
    (function_text("return &r->head < &q->head;"), None),
    (function_text("return r->head << r->tail;"), None),
    (function_text("return ((struct ring *)((char *)buffer - n))->head;"), None),
    (function_text("if (offsetof(struct ring, head) != 16) abort();"), "offset-constant 4 offset: head"),
    (function_text("if (offsetof(struct ring, head) > n) abort();"), None),
    (function_text('asm volatile("mov 16(%0), %%eax" :: "r"(r));'), "asm-offset 4 all:"),
    (function_text('asm volatile("mov %0, %%eax" :: "m"(r->head));'), None),
    (function_text('asm volatile("mov 16(%0), %%eax" :: "r"(buffer));'), None),
    # formats that others read
    ("#define RING_GET _IOR('r', 1, struct ring)", "ioctl 1 all:"),
    ("#define RING_GET _IOR('r', 1, struct list)\nstruct ring *r;", None),
    (function_text("copy_to_user(buffer, r, sizeof(*r));"), "raw-transfer 4 all:"),
    (function_text("copy_to_user(buffer, &r->head, sizeof(r->head));"), None),
    (function_text("struct ring x; write(n, &x, sizeof(x));"), "raw-transfer 4 all:"),
    (function_text("write(n, r->data, sizeof(buffer));"), None),
    (function_text("struct iovec v = { .iov_base = r, .iov_len = sizeof(*r) };"), "raw-transfer 4 all:"),
    (function_text("struct iovec v = { r, sizeof(struct ring) };"), "raw-transfer 4 all:"),
    (function_text("struct iovec v = { r->name, sizeof(r->name) };"), None),
    (function_text("nla_put(buffer, 1, sizeof(*r), r);"), "raw-transfer 4 all:"),
    (function_text("nla_put(buffer, 1, sizeof(r->head), &r->head);"), None),
    (function_text("r = (struct ring *)mmap(0, 4096, 3, MAP_SHARED, n, 0);"), "raw-transfer 4 all:"),
    (function_text("r = (struct ring *)mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"), None),
    ("int g(unsigned int *words) { return ((struct ring *)words)->head; }", "scalar-cast 1 all:"),
    ("int g(void *words) { return ((struct ring *)words)->head; }", None),
    # names that macros and typedefs make
    ("#define S(n) struct n\nS(ring) r = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("#define S(n) struct n\nS(ring) r = { .head = 1 };", None),
    ("#define S(n) struct ri##n\nS(ng) r = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("#define KEYWORD struct\nKEYWORD ring r = { { 0, 0 }, 1 };", "positional-initialiser 2 order start: link head"),
    ("#define DEF(v, ...) struct ring v = { __VA_ARGS__ }\nDEF(r, { 0, 0 }, 1);", "positional-initialiser 2 order start: link head"),
    ("#define DEF(v, ...) struct ring v = { __VA_ARGS__ }\nDEF(r, .head = 1, .tail = 2);", None),
    ("#define INIT(...) { __VA_ARGS__ }\nstruct ring r = INIT({ 0, 0 }, 1);", "positional-initialiser 2 order start: link head"),
    ("#define INIT(...) { __VA_ARGS__ }\nstruct ring r = INIT(.head = 1);", None),
    ("#define INIT(h, t) { h, t }\nstruct ring r = INIT(.head = 1, .tail = 2);", None),
    ("#define DEF(v) struct ring v\nDEF(r) = { .tail = 3 };", None),
    ("typedef struct ring two[2];\ntwo r = { { { 0, 0 }, 1 } };", "positional-initialiser 2 order start: link head"),
    ("typedef struct ring two[2];\ntwo r = { { .head = 1 } };", None),
    ("struct ring q;\ntypedef typeof(q) T;\nT r = { { 0, 0 }, 1 };", "positional-initialiser 3 order start: link head"),
    ("struct ring q;\ntypedef typeof(q) T;\nT r = { .head = 1 };", None),
    ("typedef struct ring const constant;\ntypedef constant again;\nagain r = { { 0, 0 }, 1 };", "positional-initialiser 3 order start: link head"),
    ("struct ring r =\n#if X\n{ .head = 1 }\n#else\n{ { 0, 0 }, 1 }\n#endif\n;", "positional-initialiser 5 order start: link head"),
    # bytes of objects
    (function_text("*(int *)&r->head = 1;"), None),
    (function_text("data(&r->name[8]);"), None),
    (function_text("char *c = (char *)r; free(c);"), None),
    (function_text("memset(r, 0, sizeof(*r)); memcpy(q, r, sizeof(*q));"), None),
    ("union any { struct ring *r; int *words; };", "union-overlay 1 all:"),
    ("union any { struct ring *r; void *bytes; };", None),
    ("union any { struct ring r; char size[128]; };", None),
    ("union any { struct ring r; int word; };", "union-overlay 1 range start: link"),
    # what the text does not show
    ('struct ring r = {\n#include "values.h"\n};', "unclear 1 all:"),
    ("struct outer { struct ring in; } o;\ntypeof(g()->in) r = { { 0, 0 }, 1 };", "unclear 2 all:"),
    ("struct outer { struct ring in; } o;\ntypeof(g()->in) r = { .head = 1 };", None),
    ("struct ring r = NOWHERE(1);", "unclear 1 all:"),
    ("struct a { int n; struct ring ring; };\nstruct a x = A(1);", "unclear 2 all:"),
    ("struct a { int n; struct ring ring; };\nvoid f(void) { struct a x = { 1, *r }; }", "unclear 2 all:"),
    ("struct a { int n;\n#if X\nint m;\n#endif\nstruct ring ring; };\nstruct a x = { 1, { { 0 } } };", "unclear 6 all:"),
    ("struct ring *g(void)\n{\n\treturn (struct ring *)w;\n}", "unclear 3 first: link"),
    ("struct disk { struct ring ring; } __attribute__((packed));", "fixed-container 1 all:"),
    ("struct memory { struct ring ring; };", None),
    ("struct outer { int n; struct ring ring; };\ntypedef struct outer two[2];\ntwo o = { { 1, { { 0, 0 }, 1 } } };",
     "positional-initialiser 3 order start: link head"),
    ("struct outer { int n; struct ring ring; };\ntypedef struct outer two[2];\ntwo o = { { 1, { .head = 1 } } };", None),
    ("struct outer { int n; struct ring ring; };\nstruct outer o[2] = { 1, 0, 0, 1 };", "positional-initialiser 2 order:"),
    ("struct outer { int n; struct ring ring; };\nstruct outer o[2] = { 1 };", None),
    # what Linux does: marks in pointers, tagged unions, objects behind objects, stacks, members that are called as functions
    (function_text("g((struct other *) r);"), "struct-cast 4 all:"),
    (function_text("memset(&r->tail, 0, (char *)(r + 1) - (char *)&r->tail);"), "unclear 4 range: tail name data word count"),
    ("struct tagged { int type; union { char *path; struct ring *ring; } u; };", "union-overlay 1 all: note"),
    ("struct tagged { int type; union { long *words; struct ring *ring; } u; };", "union-overlay 1 all:"),
    ("struct task { int n; struct ring ring; };\nunion stack { struct task task; unsigned long stack[SIZE / sizeof(long)]; };", None),
    ("struct task { int n; struct ring ring; };\nunion stack { struct task task; unsigned long stack[SIZE / sizeof(long)]; };\nlong f(union stack *s) { return s->stack[3]; }", "union-overlay 2 all:"),
    (function_text("g((u32 *) ((r)->count & ~3));"), None),
    (function_text("g((u32 *) (r));"), "scalar-cast 4 all:"),
    (function_text("nla_put_address(r, 3, n);"), None),
    (function_text("c->recv(c, r);"), None),
    ("struct outer { union { struct ring ring; } u; int n; };\nint f(struct ring *r) { return ((struct outer *) r)->n; }", None),
    ("BUILD_BUG_ON(sizeof(struct ring) != RING_SIZE);", "size-assertion 1 size:"),
    ("BUILD_BUG_ON(0x40 != sizeof(struct ring));", "size-assertion 1 size:"),
    ("ASSERT_STRUCT_SIZE(struct ring, 64);", "size-assertion 1 size:"),
    ("#define SIZED(t, n) static_assert(sizeof(t) == (n))\nSIZED(struct ring, 64);", "size-assertion 2 size:"),
    ("int f(int n) { switch (n) { case sizeof(struct ring): return 1; } return 0; }", "size-assertion 1 size:"),
    ("int f(int n) { return ((sizeof(struct ring))) == 64; }", "size-assertion 1 size:"),
    ("int f(int n) { return n == sizeof(struct ring); }", None),
    ("int f(void) { return SIZES(sizeof(struct ring)) == 64; }", None),
    ("int f(void) { return sizeof(struct ring *) == 8; }", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), USES)
def test_construct(tmp_path: Path, text: str, expected: str | None, golden_row: Callable[[str], None]) -> None:
    found = search(tmp_path, "ring", text)
    if found.uses:
        golden_row(whole(found))
    shown = [f"{show(use)} note" if use.is_note else show(use) for use in found.uses]
    assert shown == ([expected] if expected else [])


OF_STRUCTS = [
    ("marked", ["zero-length-marker 16 range start~: a begin", "zero-length-marker 16 range start~: a begin b c end"]),
    ("group", ["group-marker 17 range~: __cacheline_group_begin__read b c __cacheline_group_end__read"]),
    ("configured", []),
    ("packet", ["fixed-endian 20 all:"]),
    ("mixed", []),
    ("tight", ["packed 22 all:"]),
    ("both", ["union 23 all:"]),
    ("plain", []),
]


@pytest.mark.parametrize(("name", "expected"), OF_STRUCTS)
def test_definition(tmp_path: Path, name: str, expected: list[str], golden_row: Callable[[str], None]) -> None:
    found = search(tmp_path, name, "")
    assert list(dict.fromkeys(show(use) for use in found.uses)) == expected
    if found.uses:
        golden_row(whole(found))


BODIES = [
    ("struct ring {{ {0} }} __attribute__((packed));", ["packed"]),
    ("struct __packed ring {{ {0} }};", ["packed"]),
    ("#pragma pack(push, 1)\nstruct ring {{ {0} }};\n#pragma pack(pop)", ["packed"]),
    ("#pragma pack(push, 1)\nstruct x {{ int a; }};\n#pragma pack(pop)\nstruct ring {{ {0} }};", []),
    ("#pragma once\nstruct ring {{ {0} }};", []),
    ("#pragma pack(1)\nstruct ring {{ {0} }};\n#pragma pack()", ["packed"]),
    ("#pragma pack(1)\nstruct x {{ int a; }};\n#pragma pack()\nstruct ring {{ {0} }};", []),
    ("struct ring {{ {0} }} __randomize_layout;", ["randomised"]),
    ("struct ring {{ {0} }} __no_randomize_layout;", ["no-randomise"]),
    ("struct ring {{ {0} ANDROID_KABI_RESERVE(1); }};", ["kabi"]),
    ("struct ring {{ {0} RH_KABI_RESERVE(1) }};", ["kabi"]),
    ("struct ring {{ struct_group(ends, int head; int tail;); long count; }};", ["struct-group"]),
    ("struct ring {{ {0} }} __attribute__((preserve_access_index));", ["bpf-co-re"]),
    ("struct ring {{ struct link link; /* must be first */\n int head; }};", ["comment"]),
    ("struct ring {{ struct link link; /* the lock is taken first */\n int head; }};", []),
    ("struct ring {{ int head;\n/* Keep this last */\nlong count; }};", ["comment"]),
    ("/* Do not reorder: assembly uses it. */\nstruct ring {{ {0} }};", ["comment"]),
    ("struct ring {{ int head; /* offset is hard coded in entry.S */ int tail; }};", []),
    ("struct ring {{ int head; /* hard-coded in entry.S */ int tail; }};", ["comment"]),
    ("struct ring {{ {0} }};", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kinds"), BODIES)
def test_body(tmp_path: Path, text: str, kinds: list[str]) -> None:
    (tmp_path / "ring.h").write_text(text.format("struct link link; int head; int tail;") + "\n")
    found = find_order_uses(structs()["ring"], [str(tmp_path)])
    assert [use.kind for use in found.uses] == kinds
    assert found.is_order_free == (kinds == ["randomised"])


def test_names_and_typedefs(tmp_path: Path) -> None:
    found = search(tmp_path, "untagged", "untagged u = { 1, 2 };\n")
    assert [show(use) for use in found.uses] == ["positional-initialiser 1 order start: a b"]


OVERLAYS = [
    # another struct in a union with struct address, the members that both begin with
    ("unsigned short at_family; int at_port;", "at_family at_port"),
    ("unsigned short in_family, in_port;", "at_family"),
    ("short unsigned int in_family; int in_port;", "at_family at_port"),
    ("unsigned short family; int port;", "at_family at_port"),
    ("short at_family;", "at_family"),
    ("unsigned short at_family[2];", None),
]


@pytest.mark.parametrize(("body", "members"), OVERLAYS)
def test_overlay(tmp_path: Path, body: str, members: str | None) -> None:
    found = search(tmp_path, "address", f"union any {{ struct address a; struct in in; }};\nstruct in {{ {body} }};\n")
    assert [show(use) for use in found.uses] == ([f"union-overlay 1 order start: {members}"] if members else [])


FIRST = [
    # the initialiser, the new first member, forbidden
    ("{ 0 }", "plain", "b", False),
    ("{ 0 }", "plain", "d", False),
    ("{ 0 }", "ring", "head", False),
    ("{ 0 }", "ring", "word", True),
    ("{ NULL }", "plain", "b", True),
    ("{ NULL }", "ring", "data", False),
    ("{ NULL }", "ring", "head", True),
    ("{ { 0 } }", "ring", "head", True),
    ("{ { 0 } }", "ring", "name", False),
    ("{ }", "ring", "word", False),
]


@pytest.mark.parametrize(("value", "name", "first", "forbidden"), FIRST)
def test_zero(tmp_path: Path, value: str, name: str, first: str, forbidden: bool) -> None:
    found = search(tmp_path, name, f"struct {name} x = {value};\n")
    old = list(member_names(structs()[name]))
    new = [first, *(member for member in old if member != first)]
    assert any(forbids(use, old, new, {}, {}, (0, 0)) for use in found.uses) == forbidden


OLD = "abcde"
CHANGES = [
    (OrderUse("comment", "", 1, "", scope="all"), "bacde", True),
    (OrderUse("comment", "", 1, "", scope="all"), "abcde", False),
    (OrderUse("comment", "", 1, "", scope="all", is_note=True), "bacde", False),
    (OrderUse("comment", "", 1, "", ("a",), "first"), "acbde", False),
    (OrderUse("comment", "", 1, "", ("a",), "first"), "bacde", True),
    (OrderUse("comment", "", 1, "", ("a",), "first", may_be_first=("b",)), "bacde", False),
    (OrderUse("comment", "", 1, "", ("b", "d"), "order"), "cbade", False),
    (OrderUse("comment", "", 1, "", ("b", "d"), "order"), "adcbe", True),
    (OrderUse("comment", "", 1, "", (), "order"), "abced", True),
    (OrderUse("comment", "", 1, "", ("a", "b"), "order", "start"), "abdce", False),
    (OrderUse("comment", "", 1, "", ("a", "b"), "order", "start"), "acbde", True),
    (OrderUse("comment", "", 1, "", ("b", "c"), "range"), "abcde", False),
    (OrderUse("comment", "", 1, "", ("b", "c"), "range"), "dbcea", False),
    (OrderUse("comment", "", 1, "", ("b", "c"), "range"), "acbde", True),
    (OrderUse("comment", "", 1, "", ("b", "c"), "range"), "abdce", True),
    (OrderUse("comment", "", 1, "", ("a", "b", "c", "d"), "range", any_order=True), "acbde", False),
    (OrderUse("comment", "", 1, "", ("a", "b", "c", "d"), "range", any_order=True), "bacde", True),
    (OrderUse("comment", "", 1, "", ("a", "b", "c"), "range", "start", any_order=True), "bacde", False),
    (OrderUse("comment", "", 1, "", ("a", "b", "c"), "range", "start", any_order=True), "acbde", True),
    (OrderUse("comment", "", 1, "", ("c", "d", "e"), "range", "end", any_order=True), "abced", False),
    (OrderUse("comment", "", 1, "", ("c", "d", "e"), "range", "end", any_order=True), "abdce", True),
    (OrderUse("comment", "", 1, "", ("c", "d", "e"), "range", "end"), "cdeab", True),
    (OrderUse("comment", "", 1, "", ("e",), "offset"), "bacde", False),
    (OrderUse("comment", "", 1, "", ("a",), "offset"), "bacde", True),
    (OrderUse("comment", "", 1, "", ("z",), "offset"), "bacde", True),
    (OrderUse("comment", "", 1, "", (), "size"), "bacde", False),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "forbidden"), [((40, 40), False), ((40, 48), True), ((40, None), True)])
def test_sizes_that_are_numbers(sizes: tuple[int | None, int | None], forbidden: bool) -> None:
    use = OrderUse("size-assertion", "", 1, "", (), "size")
    assert forbids(use, OLD, OLD, {}, {}, sizes) == forbidden


@pytest.mark.parametrize(("use", "new", "forbidden"), CHANGES)
def test_forbids(use: OrderUse, new: str, forbidden: bool) -> None:
    old_offsets = {name: 32 * index for index, name in enumerate(OLD)}
    new_offsets = {name: 32 * index for index, name in enumerate(new)}
    assert forbids(use, OLD, new, old_offsets, new_offsets, (0, 0)) == forbidden


NOT_LOOKED_AT = [
    ("x.h", "", "headers alone were given"),
    ("x.cpp", "struct ring r{};", "1 file in other languages that may name the struct: x.cpp"),
    ("x.S", "mov ring, %rax", "1 file in other languages that may name the struct: x.S"),
    ("x.c", "struct ring *r;\0", "1 file could not be searched: x.c (has bytes of value 0"),
    ("x.c", "struct ring { int a; };", "1 file with another struct of this name: x.c"),
    ("x.c", "struct ring *g(where *w)\n{\n\treturn (struct ring *)w;\n}", "casts between the struct and types"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text", "sentence"), NOT_LOOKED_AT)
def test_not_looked_at(tmp_path: Path, file: str, text: str, sentence: str) -> None:
    found = search(tmp_path, "ring", text, file)
    assert any(sentence in each for each in found.not_looked_at), found.not_looked_at


FOREIGN = [
    # C++, whether it has values in the order of the members
    ("ring r = { .head = 1, .tail = 2 };", True),
    ("struct ring r[2] = { { 1 } };", True),
    ("ring r{1, 2};", True),
    ("f(ring{1});", True),
    ("f((struct ring){1});", True),
    ("ring r{};", False),
    ("ring r = {};", False),
    ("struct ring { int a; };", False),
    ("class ring : base { int a; };", False),
    ("// ring r{1};\nconst char *t = \"ring r{1}\"; ring *p;", False),
    ("ring f() { return x; }", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "has_values"), FOREIGN)
def test_values_in_cplusplus(tmp_path: Path, text: str, has_values: bool) -> None:
    found = search(tmp_path, "ring", text, "x.cpp")
    assert [use.kind for use in found.uses] == ["positional-initialiser"] * has_values


def test_no_sources(tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_bytes(b"\x7fELF")
    found = find_order_uses(structs()["ring"], [str(tmp_path / "vmlinux"), str(tmp_path / "missing.c")])
    assert "is not a C source" in found.not_looked_at[0]
    assert any("could not be searched: missing.c (no such file" in each for each in found.not_looked_at)


HOSTILE = [
    "struct ring r = {" * 20_000,
    "struct ring r = { " + "{" * 200_000,
    "(struct ring){" * 20_000 + "}" * 20_000,
    "offsetof(struct ring, head)" * 20_000,
    "assert(" * 5_000 + "offsetof(struct ring, head)," * 5_000,
    "struct ring " * 50_000,
    "memset(&r->head, 0, " * 20_000 + "struct ring",
    "#define A(" * 20_000 + "struct ring",
    "#define A { \\\n" * 20_000 + "struct ring",
    "struct ring x; = { " + ", , , , { } " * 50_000,
    "(struct ring *)" * 50_000,
    "struct ring\n/* must be " + "must be the " * 50_000,
    "struct a { struct ring r; " * 20_000,
    "typedef struct ring " * 20_000,
    "(&r->head)[" * 20_000 + "struct ring",
    "union { " + "{ } " * 20_000 + "struct ring r; " * 20_000 + "}",
    "union { struct ring r; " * 20_000 + "}" * 20_000,
    "union { " + "struct ring r; struct other s; " * 20_000 + "} u = { 1 };",
    "struct ring r; " + "typeof(r) " * 50_000,
    "struct ring r; typeof(" + "(" * 50_000 + "r" + ")" * 50_000,
    "struct a { int n; struct ring r; }; struct a x = { " + "1, " * 100_000 + "};",
    "struct a { struct ring r; };" + "struct a x = { 1 };" * 20_000,
    "struct ring *r; " + "int *p = &r->head; p " * 20_000,
    "struct ring *r; " + "memset_after(r, " * 50_000,
    "struct ring *r; " + "asm(" * 20_000 + "16(%" * 20_000,
    "struct ring *r; " + "(char *)r + sizeof(" * 20_000,
    "struct ring *r; int *p; " + "(struct ring *)p, " * 20_000,
    "struct " + "{ struct ring r; } a = { 1 }, " * 20_000,
    "struct a { struct ring r; }; struct a x = { " + ".r" + "[0].r" * 50_000 + " = 1 };",
    "struct ring a = 1" + ", b = (1)" * 50_000 + ";",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text(tmp_path: Path, number: int) -> None:
    with limit_time(20):
        search(tmp_path, "ring", HOSTILE[number])
