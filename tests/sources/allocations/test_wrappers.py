"""Functions of a project that return the memory of an allocator: followed in the plainest form only."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from layoutlint.model.storage import Allocator
from layoutlint.sources.allocations import sources, wrappers
from tests.harness.command import run
from tests.harness.pace import limit_time

HEAD = "typedef unsigned long size_t;\nvoid *malloc(size_t); void *calloc(size_t, size_t); void *realloc(void *, size_t); void free(void *);\n"
HEAD += "void *pool(size_t); void die(void); size_t used(void *); extern size_t total; void change(void **);\n"
FOLLOWED = [
    # the definition of `zm`, the positions of the size and of the count
    ("void *zm(size_t n) { return malloc(n); }", 0, None),
    ("void *zm(int kind, size_t n) { void *p = malloc(n); if (!p) die(); total += n; return p; }", 1, None),
    ("void *zm(size_t n) { void *p; p = (char *)malloc((n)); if (p == 0) return (void *)0; return (void *)p; }", 0, None),
    ("void *zm(size_t n) { void *p; if ((p = malloc(n)) == 0) die(); *(size_t *)p = 3; return ((p)); }", 0, None),
    ("void *zm(size_t n) { return calloc(1, n); }", 0, None),
    ("void *zm(size_t n, size_t m) { return calloc(n, m); }", 1, 0),
    ("void *zm(void *q, size_t n) { return realloc(q, n); }", 1, None),
    ("#define MIN(x) ((x) > 0 ? (x) : 8)\n#define PREFIX (0)\nvoid *zm(size_t n) { return malloc(MIN(n) + PREFIX); }", 0, None),
    ("void *zm(size_t n) { void *p = malloc(n); n = used(p); total += n; return p; }", 0, None),
    ("static void *in(size_t n, size_t *o) { void *p = malloc(n); if (!p) return 0; if (o) *o = n; return p; }\nvoid *zm(size_t n) { void *p = in(n, 0); return p; }", 0, None),
    ("__attribute__((malloc, alloc_size(1), noinline)) void *zm(size_t n);\nvoid *zm(size_t n) { return malloc(n); }", 0, None),
    ("#if 0\nvoid *zm(size_t n) { return (char *)malloc(n + 8) + 8; }\n#else\nvoid *zm(size_t n) { return malloc(n); }\n#endif", 0, None),
    ("#define zm real_zm\nvoid *zm(size_t n) { return malloc(n); }", 0, None),
    ("struct s { int v; }; struct s *zm(size_t n) { struct s *p = malloc(n); p->v = 0; return p; }", 0, None),
]  # fmt: skip
V = "void *zm(size_t n) { void *p = malloc(n); "
OTHERS = [
    # moved addresses
    "void *zm(size_t n) { return (char *)malloc(n + 8) + 8; }",
    "void *zm(size_t n) { return (size_t *)malloc(n) + 1; }",
    f"{V}return (char *)p + 8; }}", f"{V}return &((char *)p)[8]; }}", f"{V}p = (char *)p + 8; return p; }}",
    f"{V}p++; return p; }}".replace("void *p", "char *p"), f"{V}p += 8; return p; }}".replace("void *p", "char *p"),
    f"{V}change(&p); return p; }}", f"{V}change(&(p)); return p; }}", f"{V}void **q = &p; *q = 0; return p; }}",
    f"{V}(*&p) = pool(n); return p; }}", f"{V}change(&__extension__ p); return p; }}",
    f"{V}__extension__ (p)++; return p; }}".replace("void *p", "char *p"),
    f"{V}__builtin_choose_expr(1, p, p) = pool(n); return p; }}", f"{V}_Generic(0, default: p) = pool(n); return p; }}",
    f"{V}__asm__(\"add $8, %0\" : \"+r\"(p)); return p; }}", f"{V}return ({{ p = pool(n); p; }}); }}",
    f"{V}return (void *)((size_t)p + 8); }}", f"{V}return (void *)(size_t)p; }}", f"{V}return (void *)(unsigned)(size_t)p; }}",
    f"{V}return *(void **)p; }}", f"{V}void *q = p; return q; }}", f"{V}return p ? p : pool(n); }}", f"{V}return p ?: pool(n); }}",
    f"{V}return die(), p; }}", f"{V}if (!p) return pool(n); return p; }}", f"{V}if (!p) p = pool(n); return p; }}",
    f"{V}{{ void *p = pool(n); return p; }} }}", f"{V}for (;;) {{ if (p) return p; p = 0; }} }}", f"{V}return (void *)1; }}",
    f"{V}again: if (!p) goto again; return p; }}", f"{V}while (!p) die(); return p; }}", f"{V}switch (n) {{ default: return p; }} }}",
    "void *zm(size_t n) { __attribute__((cleanup(change))) void *p = malloc(n); return p; }",
    "void *zm(size_t n) { static void *p; p = malloc(n); return p; }", "void *g; void *zm(size_t n) { g = malloc(n); return g; }",
    "void *zm(void *p, size_t n) { p = malloc(n); return p; }", "void *zm(size_t n) { long p = (long)malloc(n); return (void *)p; }",
    "#define FIX(p) (p) = (char *)(p) + 8\nvoid *zm(size_t n) { void *p = malloc(n); FIX(p); return p; }",
    "#define return return 8 + (char *)\nvoid *zm(size_t n) { return malloc(n); }",
    "#define malloc(n) (8 + (char *)malloc(n))\nvoid *zm(size_t n) { return malloc(n); }",
    f"{V}(void)sizeof(char[(p = (char *)p + 8, 1)]); return p; }}", f"{V}int x[(p = (char *)p + 8, 1)]; return p; }}",
    f"{V}n && (p = pool(n)); return p; }}", f"{V}p = pool(n), die(); return p; }}", f"{V}void *q = (p = pool(n)); return p; }}",
    f"{V}void *a[1] = {{ [0] = (p = pool(n)) }}; return p; }}", f"{V}return p = pool(n); }}",
    # other sizes
    "void *zm(size_t n) { return malloc(n * 2); }", "void *zm(size_t n) { return malloc(n + 8); }", "void *zm(size_t n) { return malloc(64); }",
    "void *zm(size_t n) { n += 8; return malloc(n); }", "void *zm(size_t n) { n = n + 8; void *p = malloc(n); return p; }",
    "void *zm(size_t n) { return malloc(n++); }", "void *zm(size_t n) { used(&n); return malloc(n); }", "void *zm(size_t n) { return malloc((unsigned char)n); }",
    "void *zm(size_t n) { return malloc(n > 0 ? n + 8 : 8); }", "void *zm(size_t n) { return malloc(n > 0 ? 8 : n); }", "void *zm(size_t n) { return malloc(n > 8 ? n : 8); }",
    "void *zm(size_t n) { void *p = malloc(n), *q = (n = 3, p); die(); return q; }", "void *zm(size_t n) { return calloc(2, n); }",
    "void *zm(size_t n) { return calloc(n, 1); }", "size_t n; void *zm(size_t m) { return malloc(n); }", "void *zm(size_t n) { size_t m = n; return malloc(m); }",
    # other functions
    "void *zm(size_t n) { return pool(n); }", "void *zm(void *(*malloc)(size_t), size_t n) { return malloc(n); }",
    "#define malloc static_malloc\nstatic void *malloc(size_t n) { return pool(n); }\nvoid *zm(size_t n) { return malloc(n); }",
    "void *malloc(size_t n) { return pool(n); }\nvoid *zm(size_t n) { return malloc(n); }",
    "#define malloc pool\nvoid *zm(size_t n) { return malloc(n); }", "void *zm(size_t n) { return zm(n); }",
    "void *jm(size_t) __asm__(\"pool\");\n#define malloc jm\nvoid *zm(size_t n) { return malloc(n); }",
    "#pragma redefine_extname malloc pool\nvoid *zm(size_t n) { return malloc(n); }",
    "void *zm(size_t n) { extern void *malloc(size_t) __asm__(\"pool\"); return malloc(n); }",
    "void *malloc(size_t) __attribute__((alias(\"pool\")));\nvoid *zm(size_t n) { return malloc(n); }",
    "void *calloc(size_t, size_t) __asm__(\"other\");\nvoid *zm(size_t n) { return calloc(1, n); }",
    "__attribute__((weak)) void *zm(size_t n) { return malloc(n); }", "#define W __attribute__((weak))\nW void *zm(size_t n) { return malloc(n); }",
    "#pragma weak zm\nvoid *zm(size_t n) { return malloc(n); }", "static void *zm(size_t n) { return malloc(n); }",
    "void *zm(size_t n) { return malloc(n); }\nint wrong = nothing;", "extern inline __attribute__((gnu_inline)) void *zm(size_t n) { return malloc(n); }",
]  # fmt: skip


def allocators_in(folder: Path, text: str, other: str = "", flags: tuple[str, ...] = (), head: str = HEAD) -> dict[str, Allocator]:
    (folder / "zm.c").write_text(head + text)
    (folder / "use.c").write_text(other or "void *use(void);")
    rows = [{"directory": str(folder), "file": name, "arguments": ["cc", *flags, "-c", name]} for name in ("zm.c", "use.c")]
    (folder / "compile_commands.json").write_text(json.dumps(rows))
    database = str(folder / "compile_commands.json")
    return {each.name: each for each in wrappers.find([database], sources.source_files((database,)))}


@pytest.mark.parametrize(("text", "size_at", "count_at"), FOLLOWED)
def test_plain_functions_are_followed(tmp_path, text, size_at, count_at):
    assert allocators_in(tmp_path, text) == {"zm": Allocator("zm", size_at, count_at)}


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_not(tmp_path, text):
    assert "zm" not in allocators_in(tmp_path, text)


PLAIN = FOLLOWED[0][0]
NAMES = [
    # another source, and whether `zm` is what zm.c defines
    ("void f(void) { zm(8); if (zm(8)) f(); g(zm); h = zm; } void *k(void) { return zm; }", True),
    ("// #define nothing zm\nvoid *zm(size_t n);", True),
    ("#define zm(n) (8 + (char *)real(n))", False), ("#define zm other", False), ("#define \\\n zm(n) other(n)", False), ("#undef zm", False),
    ("# /* */ define/**/zm other", False), ("%:define zm other", False),
    ("static void *zm(size_t n) { return pool(n); }", False), ("static void *zm(size_t n)\n__attribute\n{ return 0; }", False),
    ("static void *\nzm(void *(*f)(int),\n size_t n)\n{\n}", False), ("void f(void *(*zm)(size_t)) { zm(8); }", False),
    ("void f(void) { alloc_fn zm = g; zm(8); }", False), ("void f(void) { alloc_fn a, zm; zm(8); }", False), ("void g(int (*zm)(size_t)) { zm(8); }", False), ("void f(alloc_fn zm) { zm(8); }", False), ("void f(alloc_fn *zm, int b) { zm(8); }", False),
]  # fmt: skip


@pytest.mark.parametrize(("other", "is_same"), NAMES)
def test_a_name_with_another_meaning(tmp_path, other, is_same):
    assert ("zm" in allocators_in(tmp_path, PLAIN, other)) == is_same


def test_a_name_that_flags_define(tmp_path):
    assert "zm" in allocators_in(tmp_path, PLAIN, flags=("-Dzmx=1",))
    assert "zm" not in allocators_in(tmp_path, PLAIN, flags=("-Dzm=other",))


def test_a_header_with_a_macro(tmp_path):
    (tmp_path / "include").mkdir()
    for text, is_same in (("void *zm(unsigned long);", True), ("void *zm(unsigned long);\n#define zm(n) (8 + (char *)zm(n))", False)):
        (tmp_path / "include/zm.h").write_text(text)
        own = '#include "include/zm.h"\n#undef zm\n' if not is_same else '#include "include/zm.h"\n'
        assert ("zm" in allocators_in(tmp_path, PLAIN, head=own + HEAD)) == is_same


def test_the_depth(tmp_path):
    """Four functions are before the allocator at most, in whatever order they are defined."""
    bodies = [f"void *f{n}(size_t n) {{ return {f'f{n - 1}' if n else 'malloc'}(n); }}\n" for n in range(6)]
    declared = "".join(f"void *f{n}(size_t n);\n" for n in range(6))
    for text in ("".join(bodies), declared + "".join(bodies[::-1])):
        assert sorted(allocators_in(tmp_path, text)) == ["f0", "f1", "f2", "f3"]


def test_the_configuration_decides(tmp_path):
    text = "#ifdef HAVE_SIZE\n#define PREFIX 0\n#else\n#define PREFIX 8\n#endif\nvoid *zm(size_t n) { void *p = malloc(n + PREFIX); return (char *)p + PREFIX; }"
    assert "zm" not in allocators_in(tmp_path, text)
    plain = text.replace("return (char *)p + PREFIX;", "\n#if PREFIX\nreturn (char *)p + PREFIX;\n#else\nreturn p;\n#endif\n")
    assert ["zm" in allocators_in(tmp_path, plain, flags=flags) for flags in ((), ("-DHAVE_SIZE",))] == [False, True]


def test_calls_have_a_placement(tmp_path):
    allocators_in(tmp_path, PLAIN, "struct s { long a[9]; }; void *zm(unsigned long);\nvoid f(void) { struct s *p = zm(sizeof(struct s)); }")
    done = run("allocations", "compile_commands.json", cwd=tmp_path)
    assert done.stdout.startswith("struct s\n  placement = \"malloc\"\n    use.c:2  zm\n")
    assert run("allocations", "use.c", cwd=tmp_path).stdout.startswith("0 structs")


GROWING = {
    "changes": lambda n: V + "n = 3; total += n;\n" * n + "return p; }",
    "returns": lambda n: V + "if (p) return p;\n" * n + "return p; }",
    "parameters": lambda n: f"void *zm({', '.join(f'size_t p{k}' for k in range(n))}) {{ return malloc(p{n - 1}); }}",
    "functions": lambda n: "".join(f"void *z{k}(size_t n) {{ return malloc(n); }}\n" for k in range(n)),
    "chains": lambda n: "".join(f"void *z{k}(size_t n);\n" for k in range(n)) + "".join(f"void *z{k}(size_t n) {{ return z{k + 1}(n); }}\n" for k in range(n - 1)),
    "sums": lambda n: f"void *zm(size_t n) {{ return malloc(n{' + 0' * min(n, 2000)}); }}",
}  # fmt: skip


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_bodies_take_linear_time(tmp_path, text):
    """Eight times as much takes at most 15 times as long, with the parser; quadratic time would be 64 times."""
    small, large = (min(_seconds(tmp_path, text(n)) for _ in range(3)) for n in (1_000, 8_000))
    assert large < 15 * max(small, 0.1)


def _seconds(folder: Path, text: str) -> float:
    begun = sum(os.times()[:4])
    allocators_in(folder, text)
    return sum(os.times()[:4]) - begun


@pytest.mark.parametrize("unit", ["zm(", "zm(a) ", "zm(a)\n", "#define zm", "zm((a ", "x zm ", "zm( "])
def test_names_take_linear_time(tmp_path, unit):
    (tmp_path / "long.c").write_text(unit * 200_000)
    with limit_time(2.0):
        assert {*wrappers._other_definitions({"zm": wrappers.Wrapper("zm", "zm", "", 0, None, "malloc")}, [str(tmp_path / "long.c")])} <= {"zm"}
