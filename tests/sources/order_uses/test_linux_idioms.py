"""Idioms of Linux that look like uses of the order, each beside code that is one."""

from __future__ import annotations

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.sources.bodies import flows
from layoutlint.sources.order_uses import find_order_uses, sources_that_name

HEAD = """\
typedef unsigned long uintptr_t;
struct s { long flags; long b; char c; long d; };
struct h { long a, b; };
struct w { struct s *s; };
struct dev { int n; };
void each(void (*call)(struct dev *, void *), void *data);
static inline long PTR_ERR(const void *p) { return (long)p; }
static inline void *ERR_CAST(const void *p) { return (void *)p; }
void set(long n, long *p); void const_set(long n, long *p);
#define IS(p) (__builtin_constant_p(1) && (uintptr_t)(p) != 0 && *(p))
"""
CASES = [
    # what it is, code that forbids no order, code that does, and the kind of use
    ("a mark in the low bits", "void put(struct w *w, struct h *h) { w->s = (void *)((uintptr_t)h | 1); }\n"
     "long get(struct w *w) { return ((struct h *)((uintptr_t)w->s & ~3UL))->b; }",
     "void put(struct w *w, struct h *h) { w->s = (void *)h; }\nlong get(struct w *w) { return ((struct h *)((uintptr_t)w->s & ~3UL))->b; }",
     "struct-cast"),
    ("a mark, and a cast without one", "void put(struct w *w, struct h *h) { w->s = (void *)((uintptr_t)h | 1); }\n"
     "long get(struct w *w) { uintptr_t u = (uintptr_t)w->s; void *v = (void *)(u & ~3UL); struct h *h = v; return h->b; }",
     "void put(struct w *w, struct h *h) { w->s = (void *)((uintptr_t)h | 1); }\nlong get(struct s *p) { return ((struct h *)p)->b; }", "struct-cast"),
    ("a mark in a variable", "void put(struct w *w, struct h *h) { h = (void *)h + 1; w->s = (struct s *)h; }\n"
     "void other(struct w *w, struct h *h) { void *v = h; v += 1; w->s = (struct s *)v; }",
     "void put(struct w *w, struct h *h) { h = (void *)h + 1; w->s = (struct s *)h; }\nvoid other(struct w *w, struct h *h) { w->s = (struct s *)h; }",
     "struct-cast"),
    ("a mark in a pointer to another struct", "struct v { struct h *h; };\nvoid put(struct v *v, struct s *p) { v->h = (void *)((uintptr_t)p | 1); }\n"
     "long get(struct v *v) { return ((struct s *)((uintptr_t)v->h & ~3UL))->b; }",
     "struct v { struct h *h; };\nvoid put(struct v *v, struct s *p) { v->h = (void *)p; }\nlong get(struct v *v) { return ((struct s *)v->h)->b; }",
     "struct-cast"),
    ("a mark that is taken away", "struct v { struct h *h; };\nvoid put(struct v *v, struct s *p) { v->h = (void *)p + 1; }\n"
     "struct s *get(struct v *v) { uintptr_t u = (uintptr_t)v->h; if ((u & 3) != 1) return 0; return (void *)(u - 1); }",
     "struct v { struct h *h; };\nvoid put(struct v *v, struct s *p) { v->h = (void *)p + 8; }\n"
     "struct s *get(struct v *v) { uintptr_t u = (uintptr_t)v->h; if ((u & 3) != 1) return 0; return (void *)(u - 8); }", "struct-cast"),
    ("a callback's own type", "static void one(struct dev *d, void *v) { ((struct s *)v)->b = d->n; }\nvoid f(struct s *p) { each(one, p); }",
     "static void one(struct dev *d, void *v) { ((struct h *)v)->b = d->n; }\nvoid f(struct s *p) { each(one, p); }", "struct-cast"),
    ("an error in a pointer", "long f(struct s *p) { return PTR_ERR(p); }\nlong g(struct h *h, long n) { return h == (struct h *)(n + 8); }\n"
     "long k(struct s *p, struct h *h) { return g(h, f(p)); }",
     "long f(struct s *p) { return (long)p; }\nlong g(long n) { return *(long *)(n + 8); }\nlong k(struct s *p) { return g(f(p)); }",
     "offset-constant"),
    ("an error that is passed on", "struct h *f(struct s *p) { return ERR_CAST(p); }", "struct h *f(struct s *p) { return (void *)p; }", "struct-cast"),
    ("a choice for the compiler", "void f(struct s *p) { IS(&p->flags) ? const_set(1, &p->flags) : set(1, &p->flags); }",
     "long f(struct s *p) { return &p->flags != 0; }", "first-member-cast"),
    ("a choice of other code", "void f(struct s *p) { IS(&p->flags) ? const_set(1, &p->flags) : set(1, &p->flags); }",
     "long f(struct s *p) { return __builtin_constant_p(1) && &p->flags != 0 ? 1 : 2; }", "first-member-cast"),
    ("a section", 'struct s v __attribute__((section(".data..percpu"))); struct h w __attribute__((section(".data..percpu")));',
     'struct s v __attribute__((section("list"))); struct h w __attribute__((section("list")));', "struct-cast"),
    ("a pointer in assembly", 'void f(struct w *w, struct s *p) { asm volatile("xchgq %0, %1" : "+r"(p), "+m"(w->s)); }',
     'void f(struct s *p) { long n; asm volatile("movq (%1), %0" : "=r"(n) : "r"(p)); }', "asm-offset"),
    ("bytes that an instruction takes", 'void f(struct w *w, struct s *p) { asm volatile("lock; cmpxchgq %1, %0\\n1:\\n.pushsection x\\n.popsection" : "+m"(w->s) : "r"(p)); }',
     'void f(struct s *p) { long n = 9; asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(0)); }', "asm-offset"),
    ("a call in assembly", 'void f(struct s *p) { asm volatile("call %P0" : : "i"(set), "D"(p)); }',
     'void f(struct s *p) { long n; asm volatile("movq 8(%1), %0" : "=r"(n) : "r"(p)); }', "asm-offset"),
    ("an index", "static const int n = 4;\nlong f(struct s *p, int i) { i = 12; return (p + i + n)->b; }",
     "long f(struct s *p) { int i; i = 12; return *((char *)p + i); }", "offset-constant"),
    ("bytes that begin with a pointer", "struct h *f(struct s **p) { return (struct h *)p; }", "struct h **f(struct s *p) { return (struct h **)p; }", "struct-cast"),
]  # fmt: skip


@pytest.mark.parametrize(("harmless", "dependent", "kind"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_idiom_and_its_look_alike(tmp_path, harmless, dependent, kind):
    kinds = []
    for number, text in enumerate((harmless, dependent)):
        path = tmp_path / f"{number}.c"
        path.write_text(f"{HEAD}{text}\n")
        struct = next(layout.struct for layout in api.read(str(path)) if layout.struct.name == "s")
        own, names, _ = sources_that_name(struct, [str(path)])
        found = flows.read(own, names, ReadOptions(cache=False, jobs=1))
        assert found.notes == []
        uses = find_order_uses(struct, own, flows=found).uses
        kinds.append({use.kind for use in uses if not use.is_note})
    assert kinds[0] == set()
    assert kind in kinds[1]
