"""Which functions are walked: those that an address of the struct reaches, and no others."""

from __future__ import annotations

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.sources.bodies import flows

HEAD = "struct s { long a, b; }; struct o { struct s s; }; struct k { void *priv; long n; void (*call)(void *); };\n"
CASES = [
    # code, the functions that are walked
    ("long f(struct s *p) { return p->b; }\nlong g(long n) { return n; }", "f"),
    ("long f(struct o *o) { return 0; }\nlong g(struct k *k) { return k->n; }", "f"),
    ("int f(void *v) { return (struct s *)v != 0; }\nint g(void *v) { return v != 0; }", "f"),
    ("unsigned long f(void) { return __builtin_offsetof(struct s, b); }\nlong g(struct k *k) { return k->n; }", "f"),
    # what gets an address
    ("long g(void *v) { return v != 0; }\nlong f(struct s *p) { return g(p); }\nlong h(void *v) { return v != 0; }", "f g"),
    ("long i(void *v) { return *(long *)v; }\nlong g(void *v) { return i(v); }\nlong f(struct s *p) { return g(p); }", "f g i"),
    ("void f(struct s *p, struct k *k) { k->priv = p; }\nvoid *g(struct k *k) { return k->priv; }\nlong h(struct k *k) { return k->n; }", "f g"),
    ("static void *v;\nvoid f(struct s *p) { v = p; }\nlong g(void) { return *(long *)v; }\nlong h(void) { return 1; }", "f g"),
    ("void *f(struct s *p) { return p; }\nlong h(void);\nlong g(void *v) { return v == f(0); }\nlong i(void) { return 2; }", "f g"),
    ("void g(void *v) { }\nvoid set(struct k *k) { k->call = g; }\nvoid f(struct k *k, struct s *p) { k->call(p); }\nvoid h(void *v) { }", "f set g"),
    # what gives one
    ("void *g(void) { static long w[9]; return w; }\nlong f(void) { struct s *p = g(); return p->b; }\nvoid *h(void) { return 0; }", "f g"),
    ("long f(void *v) { return ((struct s *)v)->b; }\nlong g(void) { static long w[9]; return f(w); }\nlong h(void) { return 1; }", "f g"),
    ("static long w[9];\nvoid g(void) { w[1] = 2; }\nlong f(void) { return ((struct s *)w)->b; }\nvoid h(void) { long w[9]; w[1] = 2; }", "f g"),
    ("void g(void **p) { *p = 0; }\nlong f(void) { void *v; g(&v); return ((struct s *)v)->b; }\nvoid h(void **p) { }", "f g"),
    ("static int t[] = { 8 };\nint g(int i) { return t[i]; }\nlong f(struct s *p, int i) { return *(long *)((char *)p + t[i]); }\nint h(int i) { return i; }", "f g"),
    # names alone are nothing
    ("long f(struct s *p) { return p->b; }\nlong g(struct k *k) { return k->priv != 0; }", "f"),
    ("void lib(void *); void f(struct s *p) { lib(p); }\nvoid g(void *v) { lib(v); }", "f"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "walked"), CASES)
def test_what_is_walked(tmp_path, code, walked):
    (tmp_path / "a.c").write_text(f"{HEAD}{code}\n")
    found = flows.read((str(tmp_path / "a.c"),), ("s",), ReadOptions(cache=False, jobs=1))
    assert found.notes == []
    assert sorted(each.partition("@")[0] for each in found.walked) == sorted(walked.split())


def test_functions_of_headers_are_walked_in_one_unit(tmp_path):
    """What they show counts in all: `keep` stores the address that `take` of another unit reads."""
    (tmp_path / "h.h").write_text(f"{HEAD}static void *kept; static inline void keep(struct s *p) {{ kept = p; }}\n")
    for number in range(6):
        text = f'#include "h.h"\nlong take{number}(void) {{ return *((long *)kept + 1); }}\nlong n{number}(long n) {{ return n; }}\n'
        (tmp_path / f"{number}.c").write_text(text + f"void f{number}(struct s *p) {{ keep(p); }}\n" * (number % 2))
    paths = sorted(str(path) for path in tmp_path.glob("*.c"))
    found = flows.read(paths, ("s",), ReadOptions(cache=False, jobs=2))
    expected = {*(f"take{n}" for n in range(6)), *(f"f{n}" for n in range(1, 6, 2)), "keep"}
    assert {each.partition("@")[0] for each in found.walked} == expected


@pytest.mark.parametrize(("parameters", "walked"), [("int n, ...", ["f", "g"]), ("const char *text, ...", ["f"])])
def test_what_other_files_print_is_not_read(tmp_path, parameters, walked):
    (tmp_path / "a.c").write_text(f"{HEAD}void g({parameters});\nvoid f(struct s *p) {{ g(0, p); }}\n")
    (tmp_path / "b.c").write_text(f"long *w;\nvoid g({parameters})\n{{ __builtin_va_list l; __builtin_va_start(l, 0); w = __builtin_va_arg(l, long *); }}\n")
    found = flows.read([str(tmp_path / "a.c")], ("s",), ReadOptions(cache=False, jobs=1), [str(tmp_path / "b.c")])
    assert sorted(set(found.walked)) == walked


@pytest.mark.parametrize(("first", "other"), [
    ("#define V p->b", "#define V ((long *)p)[1]"), ("#define V ((long *)p)[0]", "#define V ((long *)p)[1]"),
    ("#define V ((struct s *)(void *)p)->b", "#define V ((struct h *)(void *)p)->b"), ("#define V p->b + p->a", "#define V p->b + *(&p->a + 1)"),
    ("#define V p->b + sizeof(int)", "#define V *(long *)((char *)p + sizeof(long))"), ("#define V *(&p->a + 0)", "#define V *(&p->a + 1)"),
])  # fmt: skip
def test_a_function_of_a_header_that_a_macro_changes_is_walked_again(tmp_path, first, other):
    header = f"{HEAD}struct h {{ char a; long b; }};\nstatic inline long get(struct s *p) {{ return V; }}\n"
    (tmp_path / "h.h").write_text(header)
    for number in range(6):
        (tmp_path / f"{number}.c").write_text(f'{first}\n#include "h.h"\nlong f{number}(struct s *p) {{ return get(p); }}\n')
    (tmp_path / "last.c").write_text(f'{other}\n#include "h.h"\n/* the largest file */ long f(struct s *p) {{ return get(p); }}\n')
    paths = sorted(str(path) for path in tmp_path.glob("*.c"))
    found = flows.read(paths, ("s",), ReadOptions(cache=False, jobs=2))
    alone = flows.read(paths[-1:], ("s",), ReadOptions(cache=False, jobs=1))
    assert set(alone.accesses) | set(alone.conversions) <= set(found.accesses) | set(found.conversions)


def test_a_function_that_another_unit_leads_to_is_read_then(tmp_path):
    (tmp_path / "s.h").write_text(HEAD)
    (tmp_path / "a.c").write_text('#include "s.h"\nlong g(void *);\nlong f(struct s *p) { return g(p); }\n')
    (tmp_path / "b.c").write_text('#include "s.h"\nstruct s v;\nlong i(void *v) { return *((long *)v + 1); }\nlong g(void *v) { return i(v); }\n')
    (tmp_path / "c.c").write_text("long k(void *v) { return *((long *)v + 1); }\n")
    paths = [str(tmp_path / name) for name in ("a.c", "b.c")]
    found = flows.read(paths, ("s",), ReadOptions(cache=False, jobs=1), [str(tmp_path / "c.c")])
    assert sorted(set(found.walked)) == ["f", "g", "i"]


@pytest.mark.parametrize(("where", "text"), [
    ("k->priv", ""), ("v", "extern void *v;"), ("*w", "extern void **w;"), ("u", "typedef unsigned long uintptr_t; extern uintptr_t u;"),
])  # fmt: skip
def test_what_another_unit_keeps_is_read_then(tmp_path, where, text):
    """Also if the unit that takes it names the struct elsewhere alone."""
    (tmp_path / "s.h").write_text(HEAD + text + "\n")
    (tmp_path / "a.c").write_text(f'#include "s.h"\nvoid f(struct k *k, struct s *p) {{ {where} = (__typeof__({where}))p; }}\n')
    (tmp_path / "b.c").write_text(f'#include "s.h"\nstruct s o;\nlong g(struct k *k) {{ return *((long *){where} + 1); }}\nlong h(struct k *k) {{ return k->n; }}\n')
    found = flows.read([str(tmp_path / name) for name in ("a.c", "b.c")], ("s",), ReadOptions(cache=False, jobs=1))
    assert sorted(set(found.walked)) == ["f", "g"]
