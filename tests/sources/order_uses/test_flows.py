"""Uses that the flow of addresses shows: for each construct code that depends on the order, and a look-alike.

The look-alikes do the same with the struct's own type, or within one member.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.sources.bodies import flows
from layoutlint.sources.order_uses import OrderUse, find_order_uses, sources_that_name
from tests.harness.pace import limit_time
from tests.harness.whole import whole_lines

HEAD = """\
typedef unsigned long size_t;
typedef unsigned long uintptr_t;
#define offsetof(t, m) __builtin_offsetof(t, m)
void *memcpy(void *, const void *, size_t);
struct s { char a; long b; char c; long d; int e[2]; char f; };
struct h { char a; long b; };
struct w { struct s s; int x; };
struct k { void *priv; long *words; };
void clear(void *, size_t); unsigned hash(const void *, size_t);
void lock(long *, int); void run(long (*)(void *), void *);
enum { ONE = 1, TWO = 2 };
"""
CASES = [
    # what it is, code that depends on the order and the kind of use, code that does not
    ("a cast behind a cast", "long f(struct s *p) { return ((struct h *)(void *)p)->b; }", "struct-cast",
     "long f(struct s *p) { return ((struct s *)(void *)p)->b; }"),
    ("a cast from another struct", "long f(struct h *p) { return ((struct s *)(void *)p)->b; }", "struct-cast",
     "long f(struct w *p) { return ((struct s *)(void *)p)->b; }"),
    ("a cast behind one to a number", "long f(struct s *p) { return ((struct h *)(uintptr_t)p)->b; }", "struct-cast",
     "long f(uintptr_t u) { return ((struct s *)(u & ~3UL))->b; }"),
    ("a variable without a type", "long f(struct s *p) { void *v; struct h *q; v = p; q = v; return q->b; }", "struct-cast",
     "long f(struct s *p) { void *v; struct s *q; v = p; q = v; return q->b; }"),
    ("a parameter without a type", "long g(void *v) { struct h *q = v; return q->b; }\nlong f(struct s *p) { return g(p); }", "struct-cast",
     "long g(void *v) { struct s *q = v; return q->b; }\nlong f(struct s *p) { return g(p); }"),
    ("a result without a type", "void *g(struct s *p) { return p; }\nlong f(struct s *p) { struct h *q = g(p); return q->b; }", "struct-cast",
     "void *g(struct s *p) { return p; }\nlong f(struct s *p) { struct s *q = g(p); return q->b; }"),
    ("a field without a type", "void f(struct k *k, struct s *p) { k->priv = p; }\nlong g(struct k *k) { struct h *q = k->priv; return q->b; }", "struct-cast",
     "void f(struct k *k, struct s *p, struct h *h, int i) { if (i) k->priv = p; else k->priv = h; }\nlong g(struct k *k) { struct h *q = k->priv; return q->b; }"),
    ("a function that gets the address", "long g(void *v) { return ((struct h *)v)->b; }\nvoid f(struct s *p) { run(g, p); }", "struct-cast",
     "long g(void *v) { return ((struct s *)v)->b; }\nvoid f(struct s *p) { run(g, p); }"),
    ("a copy to another struct", "long f(struct s *p) { struct h h; memcpy(&h, p, sizeof h); return h.b; }", "struct-cast",
     "long f(struct s *p) { struct s h; memcpy(&h, p, sizeof h); return h.b; }"),
    ("a pointer to an array of words", "long f(struct s *p) { long (*w)[6] = (void *)p; return (*w)[1]; }", "offset-constant",
     "long f(struct s *p) { struct s (*w)[6] = (void *)p; return (*w)[1].b; }"),
    ("bytes through a parameter", "int g(void *v) { char *q = v; return q[8]; }\nint f(struct s *p) { return g(p); }", "offset-constant",
     "int g(void *v) { char *q = v; return q[8]; }\nint f(struct h *p) { return g(p); }\nlong b(struct s *p) { return p->b; }"),
    ("the first bytes", "char f(struct s *p) { return *(char *)p; }", "first-member-cast",
     "char f(struct s *p) { return *&p->a; }"),
    ("from the first member", "struct s *g(char *a) { return (struct s *)a; }\nvoid f(struct s *p) { g(&p->a)->b = 1; }", "first-member-cast",
     "struct s *g(char *a) { return (struct s *)(a - offsetof(struct s, a)); }\nvoid f(struct s *p) { g(&p->a)->b = 1; }"),
    ("a sum in a number", "long f(struct s *p) { uintptr_t u = (uintptr_t)p; u += 8; return *(long *)u; }", "offset-constant",
     "uintptr_t f(struct s *p) { uintptr_t u = (uintptr_t)p; u += 63; u &= ~63UL; return u; }"),
    ("a sum of a number", "long f(struct s *p) { uintptr_t u = (uintptr_t)p; return *(long *)(u + 8); }", "offset-constant",
     "long f(struct s *p) { uintptr_t u = (uintptr_t)p; return *(long *)(u + offsetof(struct s, b)); }"),
    ("back by a number", "struct s *f(long *b) { char *q = (char *)b; q -= 8; return (struct s *)q; }", "offset-constant",
     "struct s *f(long *b) { char *q = (char *)b; q -= offsetof(struct s, b); return (struct s *)q; }"),
    ("an index in hexadecimal", "int f(struct s *p) { return p->e[0x2]; }", "member-index", "int f(struct s *p) { return p->e[0x1]; }"),
    ("an index that is a sum", "int f(struct s *p) { return p->e[1+1]; }", "member-index", "int f(struct s *p) { return p->e[1-1]; }"),
    ("an index before the array", "int f(struct s *p) { return 2[p->e]; }", "member-index", "int f(struct s *p) { return 1[p->e]; }"),
    ("an index by name", "int f(struct s *p) { return p->e[TWO]; }", "member-index", "int f(struct s *p) { return p->e[ONE]; }"),
    ("an index by sizes", "int f(struct s *p) { return p->e[sizeof(p->e) / sizeof(int)]; }", "member-index",
     "int f(struct s *p) { return p->e[sizeof(p->e) / sizeof(int) - 1]; }"),
    ("a sum instead of an index", "int f(struct s *p) { return *(p->e + 2); }", "member-index", "int f(struct s *p) { return *(p->e + 1); }"),
    ("the end of an array", "int f(struct s *p) { int *q = &p->e[2]; return q[0]; }", "member-index",
     "int f(struct s *p) { int *q = &p->e[2]; return q[-1]; }"),
    ("through a pointer to a member", "long g(long *q) { return q[2]; }\nlong f(struct s *p) { return g(&p->b); }", "member-index",
     "long g(long *q) { return q[0]; }\nlong f(struct s *p) { return g(&p->b); }"),
    ("a member and a larger size", "void f(struct s *p) { clear(&p->b, 24); }", "member-range", "void f(struct s *p) { clear(&p->b, 8); }"),
    ("a member and a sum of sizes", "void f(struct s *p) { clear(&p->b, sizeof(p->b) + sizeof(long) + sizeof(p->d)); }", "member-range",
     "void f(struct s *p) { lock(&p->b, 24); }"),
    ("the first operand of a short conditional", "long f(struct s *p, void *o) { void *v = p; struct h *q = v ?: o; return q->b; }", "struct-cast",
     "long f(struct s *p, void *o) { void *v = p; struct s *q = v ?: o; return q->b; }"),
    ("an array without a type", "void *g[4];\nvoid f(struct s *p) { g[1] = p; } long h(void) { struct h *q = g[1]; return q->b; }", "struct-cast",
     "void *g[4];\nvoid f(struct s *p) { g[1] = p; } long h(void) { struct s *q = g[1]; return q->b; }"),
    ("an initial value", "struct s o; struct k k = { .priv = &o };\nlong f(void) { struct h *q = k.priv; return q->b; }", "struct-cast",
     "struct s o; struct k k = { .priv = &o };\nlong f(void) { struct s *q = k.priv; return q->b; }"),
    ("an initial value behind an object without braces", "struct i { int n; }; struct m { struct i i; int b; }; struct o { struct m m; void *p; };\n"
     "long f(struct s *p, struct i x) { struct o o = { x, 2, p }; struct h *q = o.p; return q->b; }", "struct-cast",
     "struct i { int n; }; struct m { struct i i; int b; }; struct o { struct m m; void *p; };\n"
     "long f(struct s *p, struct i x) { struct o o = { x, 2, p }; struct s *q = o.p; return q->b; }"),
    ("a variable of several files", "extern void *x; void f(struct s *p) { x = p; }\nvoid *x; long h(void) { struct h *q = x; return q->b; }", "struct-cast",
     "extern void *x; void f(struct s *p) { x = p; }\nvoid *x; long h(void) { struct s *q = x; return q->b; }"),
    ("a pointer to a function", "long g(void *v) { return ((struct h *)v)->b; }\nlong f(struct s *p) { long (*q)(void *) = g; return q(p); }", "struct-cast",
     "long g(void *v) { return ((struct s *)v)->b; }\nlong f(struct s *p) { long (*q)(void *) = g; return q(p); }"),
    ("a table of functions", "long g(void *v) { return ((struct h *)v)->b; }\nstruct { long (*get)(void *); } o = { .get = g }; long f(struct s *p) { return o.get(p); }",
     "struct-cast",
     "long g(void *v) { return ((struct s *)v)->b; }\nstruct { long (*get)(void *); } o = { .get = g }; long f(struct s *p) { return o.get(p); }"),
    ("a product of sizes", "size_t fread(void *, size_t, size_t, void *);\nvoid f(struct s *p, void *o) { fread(&p->b, 8, 3, o); }", "member-range",
     "size_t fread(void *, size_t, size_t, void *);\nvoid f(struct s *p, void *o) { fread(&p->e, 4, 2, o); }"),
    ("a size of a part", "unsigned f(struct s *p) { return hash(p, 16); }", "member-range",
     "unsigned f(struct s *p) { return hash(p, sizeof(*p)); }"),
]  # fmt: skip


@pytest.fixture(scope="module")
def struct(tmp_path_factory) -> Struct:
    file = tmp_path_factory.mktemp("s") / "s.c"
    file.write_text(HEAD)
    found = next(layout.struct for layout in api.read(str(file)) if layout.struct.name == "s")
    return replace(found, source=None)


def hard_uses(folder: Path, struct: Struct, code: str, whole: list[str]) -> tuple[OrderUse, ...]:
    """What forbids an order in a file with some code. `whole` gets all that was found."""
    path = folder / "use.c"
    path.write_text(HEAD + code + "\n")
    own, names, _ = sources_that_name(struct, [str(path)])
    found = flows.read(own, names, ReadOptions(cache=False, jobs=1))
    assert found.notes == []
    search = find_order_uses(struct, own, flows=found)
    assert not any("void" in each for each in search.not_looked_at)
    whole += [re.sub(rf"/?{str(folder)[1:]}/", "", line) for line in (*whole_lines(found), *whole_lines(search.uses))]
    return tuple(use for use in search.uses if not use.is_note)


@pytest.mark.parametrize(("code", "kind", "harmless"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_use_and_its_look_alike(tmp_path, struct, code, kind, harmless, golden_row):
    whole: list[str] = []
    line = HEAD.count("\n") + 1
    uses = hard_uses(tmp_path, struct, code, whole)
    assert kind in {use.kind for use in uses}, uses
    assert all(line <= (use.line or 0) <= line + 1 for use in uses)
    assert hard_uses(tmp_path, struct, harmless, whole) == ()
    golden_row("\n".join(whole))


WORDS = "{{ void *v = p; long *w = v; {} }}\n"


def find_uses(struct, folder: Path, texts: dict[str, str]):
    """The hard uses in some files, and what was not looked at."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    own, names, _ = sources_that_name(struct, [str(folder)])
    search = find_order_uses(struct, [str(folder)], flows=flows.read(own, names, ReadOptions(cache=False)))
    return [(Path(use.file).name, use.kind) for use in search.uses if use.kind == "offset-constant"], search.not_looked_at


def test_functions_of_headers_are_followed_once(tmp_path, struct):
    function = "static inline long second(struct s *p) " + WORDS.format("return w[1];")
    source = '#include "s.h"\nlong get(struct s *p) { return second(p); }\n'
    uses, _ = find_uses(struct, tmp_path, {"s.h": HEAD + function, "a.c": source, "b.c": source.replace("get", "other")})
    assert uses == [("s.h", "offset-constant")]


@pytest.mark.parametrize("source", [None, '#include "s.h"\nint main(void) { return 0; }\n'])
def test_functions_of_a_header_that_no_source_uses_are_followed(tmp_path, source):
    (tmp_path / "s.h").write_text(HEAD + "static inline long second(struct s *p) " + WORDS.format("return w[1];"))
    texts = {} if source is None else {"a.c": source}
    uses, _ = find_uses(next(layout.struct for layout in api.read(str(tmp_path / "s.h")) if layout.struct.name == "s"), tmp_path, texts)
    assert uses == [("s.h", "offset-constant")]


@pytest.mark.parametrize(("text", "is_found"), [
    ("if (k == 0) return 0;" + "".join(f" else if (k == {n}) return {n};" for n in range(1, 400)) + " else return w[1];", True),
    ("return " + "(" * 230 + "w[1]" + ")" * 230 + ";", False),
], ids=["else if", "parentheses"])  # fmt: skip
def test_what_is_nested_too_deeply_is_named(tmp_path, struct, text, is_found):
    uses, skipped = find_uses(struct, tmp_path, {"d.c": HEAD + "long deep(struct s *p, int k) " + WORDS.format(text)})
    assert bool(uses) == is_found
    assert any("nested too deeply" in each for each in skipped) != is_found


MORE = "where addresses go if a variable, parameter or member gets over 40"


@pytest.mark.parametrize(("text", "sentences"), [
    ("int f(char *c) { " + "".join(f"c += {1 << n}; " for n in range(24)) + "return *c; }\nint g(struct s *p) { return f(&p->c); }", {MORE}),
    ("int f(char *c) { " + "c++; " * 30 + "return *c; }\nint g(struct s *p) { return f(&p->c); }", set()),
    ("void *v0, *v1;\nvoid f(struct s *p) { v1 = v0; v0 = p; }", set()),
    ("".join(f"void *v{n};\n" for n in range(70)) + "void f(struct s *p) { "
     + "".join(f"v{n} = v{n - 1}; " for n in range(69, 0, -1)) + "v0 = p; }", set()),
], ids=["sums that double", "sums in a row", "two variables", "many variables"])  # fmt: skip
def test_addresses_that_are_not_followed_are_named(tmp_path, struct, text, sentences):
    """The sums of steps of all sizes would take exponential time."""
    with limit_time(3):
        _, skipped = find_uses(struct, tmp_path, {"d.c": HEAD + text + "\n"})
    assert {MORE} & set(skipped) == sentences


def test_what_cannot_be_parsed_is_named(tmp_path, struct):
    path = tmp_path / "broken.c"
    path.write_text(HEAD + "long f(struct s *p) { return p->missing; }\n")
    own, names, _ = sources_that_name(struct, [str(tmp_path)])
    search = find_order_uses(struct, own, flows=flows.read(own, names, ReadOptions(cache=False)))
    (message,) = [each for each in search.not_looked_at if "void *" in each]
    assert "broken.c" in message
    assert "no member named 'missing'" in message
