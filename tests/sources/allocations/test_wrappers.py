"""Functions of a project that return the result of one that is known: what their text shows, and what they do.

Programs of the rows run with an allocator that notes its calls. A row that states a placement is right if the
call returns the block itself, and asked for the size of the objects alone.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from layoutlint.model.reading import no_progress
from layoutlint.sources.allocations import sources
from layoutlint.sources.allocations.proposals import describe_call, keys
from tests.harness.command import run
from tests.harness.tools import need

RING = "struct ring { long a[9]; };\ntypedef struct ring ring_t;\n"
MALLOC = 'placement = "malloc"'
ROWS = [
    # the definitions, a call, what it makes, of which call in the end
    ("static void *xm(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }", "xm(sizeof(struct ring))", MALLOC, "malloc"),
    ("void *xm(size_t n) { void *p; if ((p = malloc(n)) == NULL) abort(); return p; }", "xm(sizeof *r)", MALLOC, "malloc"),
    ("void *xm(size_t n) { return memset((char *)malloc(n), 0, n); }", "xm(sizeof *r)", None, ""),
    ("char *xm(int line, size_t n)\n{\n\treturn (char *)(malloc((size_t)n));\n}", "(struct ring *)xm(1, sizeof *r)", MALLOC, "malloc"),
    ("void *xm(size_t n, size_t size) { return malloc(n * size); }", "xm(3, sizeof *r)", f"{MALLOC}, array = 3", "malloc"),
    ("void *xm(size_t n) { return n ? calloc(1, n) : NULL; }", "xm(2 * sizeof *r)", f"{MALLOC}, array = 2", "calloc"),
    ("void *xm(void *p, size_t n) { p = realloc(p, n); if (!p) abort(); return p; }", "xm(r, sizeof *r)", MALLOC, "realloc"),
    ("void *xm(size_t n) { void *p; if (posix_memalign(&p, 64, n)) return NULL; return p; }", "xm(sizeof *r)",
     'placement = "aligned:64"', "posix_memalign"),
    ("void *xm(size_t n) { if (n & 1) return calloc(n, 1); return malloc(n); }", "xm(sizeof *r)",
     "xm calls `calloc(n, 1)`; `[allocators.xm]` in layoutlint.toml can declare it", ""),
    ("void *xm(size_t n) { return n > 9 ? aligned_alloc(64, n) : malloc(n); }", "xm(sizeof *r)", "xm allocates in several ways", ""),
    ("void *xm(size_t n) { void *p = NULL; while (!p) p = malloc(n); return p; }", "xm(sizeof *r)", MALLOC, "malloc"),
    # through others
    ("void *in(size_t n, int z) { return z ? NULL : malloc(n); }\nvoid *mid(size_t n) { return in(n, 0); }\n"
     "void *xm(size_t n) { void *p = mid(n); return p; }", "xm(sizeof *r)", MALLOC, "malloc"),
    ("void *same(void *p, size_t n) { (void)n; return p; }\nvoid *xm(size_t n) { void *p = malloc(n); p = same(p, n); return p; }",
     "xm(sizeof *r)", MALLOC, "malloc"),
    ("#define xm(n) ((void *)malloc(n))", "xm(sizeof *r)", MALLOC, "malloc"),
    ("#define NEW(T) ((T *)malloc(sizeof(T)))", "NEW(struct ring)", MALLOC, "malloc"),
    ("#define NEWS(T, n) ((T *)calloc((n), sizeof(T)))", "NEWS(struct ring, 4)", f"{MALLOC}, array = 4", "calloc"),
    ("void *other(size_t n) { return malloc(n); }\n#define xm other", "xm(sizeof *r)", MALLOC, "malloc"),
    ("#define xm renamed\nvoid *xm(size_t n) { return malloc(n); }", "xm(sizeof *r)", MALLOC, "malloc"),
    ("void *at(size_t n, int line) { (void)line; return malloc(n); }\n#define xm(n) at(n, __LINE__)", "xm(sizeof *r)", MALLOC, "malloc"),
    ("#define LEAST(x) ((x) > 0 ? (x) : sizeof(long))\n#define PREFIX (0)\n"
     "void *in(size_t n, size_t *u) { void *p = malloc(LEAST(n) + PREFIX); n = 1; if (u) *u = n; return (char *)p + PREFIX; }\n"
     "void *xm(size_t n) { return in(n, NULL); }", "xm(sizeof *r)", MALLOC, "malloc"),
    # another address, or another size
    ("void *xm(size_t n) { char *p = malloc(n + 16); return p + 16; }", "xm(sizeof *r)", "xm can also return `p + 16`", ""),
    ("void *xm(size_t n) { char *p = malloc(n); p += 8; return p; }", "xm(sizeof *r)", None, ""),
    ("void *xm(size_t n) { char *p = malloc(n); p++; return p; }", "xm(sizeof *r)", None, ""),
    ("void move(char **p) { *p += 8; }\nvoid *xm(size_t n) { char *p = malloc(n); move(&p); return p; }", "xm(sizeof *r)", None, ""),
    ("void *xm(size_t n) { return malloc(n + 8); }", "xm(sizeof *r)", "xm calls `malloc(n + 8)`", ""),
    ("void *xm(size_t n) { n = (n + 63) & ~63; return malloc(n); }", "xm(sizeof *r)",
     "xm can also return `malloc(n)` after a change of `n`", ""),
    ("void *xm(size_t n) { for (int i = 0; i < 2; i++) { if (i) return malloc(n); n += 8; } return NULL; }", "xm(sizeof *r)",
     "xm can also return `malloc(n)` after a change of `n`", ""),
    ("static char pool[99];\nvoid *xm(size_t n) { if (n > 9) return pool; return malloc(n); }", "xm(sizeof *r)", "xm can also return `pool`", ""),
    ("static char pool[99];\nvoid *xm(size_t n) { void *p = pool; if (n < 9) p = malloc(n); return p; }", "xm(sizeof *r)",
     "xm can also return `pool`", ""),
    ("static char pool[99];\nvoid *xm(size_t n) { void *p = pool; if (n > 9) goto out; p = malloc(n); out: return p; }", "xm(sizeof *r)",
     "xm can also return `pool`", ""),
    ("#define NEW(T) ((T *)((char *)malloc(sizeof(T) + 16) + 16))", "NEW(struct ring)", "NEW can also return", ""),
    ("#define SIZE(n) ((n) > 99 ? (n) : 99)\nvoid *xm(size_t n) { return malloc(SIZE(n)); }", "xm(sizeof *r)", "xm calls `malloc(", ""),
    # conditions of the preprocessor decide
    ("#ifdef A\n#define P 8\n#else\n#define P 0\n#endif\nvoid *xm(size_t n) { return malloc(n + P); }", "xm(sizeof *r)", "xm calls `malloc(n + P)`", ""),
    ("static char pool[99];\nvoid *xm(size_t n)\n{\n\tvoid *p = pool;\n#ifdef A\n\tp = malloc(n);\n#endif\n\treturn p;\n}", "xm(sizeof *r)",
     "xm can also return `pool`", ""),
    ("#ifdef A\n#define malloc(n) je_malloc(n)\n#endif\nvoid *xm(size_t n) { return malloc(n); }", "xm(sizeof *r)", "xm allocates in several ways", ""),
    ("#ifdef A\nvoid *xm(size_t n) { return malloc(n); }\n#else\nstatic char pool[99];\nvoid *xm(size_t n) { (void)n; return pool; }\n#endif",
     "xm(sizeof *r)", "not every definition of xm allocates", ""),
    # what allocates nothing by a size of its own
    ("void *xm(size_t n) { (void)n; return NULL; }", "xm(sizeof *r)", None, ""),
    ("void *xm(size_t n) { (void)n; return malloc(64); }", "xm(sizeof *r)", None, ""),
    ("void *xm(size_t n) { return n ? xm(n - 1) : NULL; }", "xm(sizeof *r)", None, ""),
    ("int xm(size_t n) { free(malloc(n)); return 0; }", "(void *)(long)xm(sizeof *r)", None, ""),
]  # fmt: skip
RUN = """
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static void *block; static size_t asked;
static void *noted(void *p, size_t n) { block = p; asked = n; return p; }
static int noted_at(void **p, size_t a, size_t n) { (void)a; noted(*p = malloc(n), n); return 0; }
static void *again(void *p, size_t n) { return noted(realloc(p, n), n); }
static void *clear(size_t c, size_t n) { return noted(calloc(c, n), c * n); }
static void *plain(size_t n) { return noted(malloc(n), n); }
#define malloc plain
#define calloc clear
#define realloc again
#define posix_memalign noted_at
"""


def read_row(tmp_path, definitions: str, call: str) -> list[str]:
    (tmp_path / "x.h").write_text(RING)
    (tmp_path / "own.c").write_text(f"{definitions}\nvoid *f(void)\n{{\n\tstruct ring *r = NULL;\n\treturn {call};\n}}\n")
    found, unread = sources.read((str(tmp_path),), None, 1, no_progress)
    assert not unread
    own = [each for each in found if each.struct]
    assert {each.struct for each in own} <= {"ring"}
    return [f"{', '.join(keys(each.storage))} <- {each.allocator}" if each.storage else each.problem for each in own]


@pytest.mark.parametrize(("definitions", "call", "expected", "allocator"), ROWS)
def test_what_the_text_shows(tmp_path, definitions, call, expected, allocator):
    found = read_row(tmp_path, definitions, call)
    if expected is None:
        assert found == []
    elif allocator:
        assert found == [f"{expected} <- {allocator}"]
    else:
        assert len(found) == 1
        assert found[0].startswith(expected)


@pytest.mark.parametrize(("definitions", "call", "expected"), [row[:3] for row in ROWS if row[3] or row[2] is not None])
def test_what_the_program_does(tmp_path, definitions, call, expected):
    """A stated placement is that of the block; if the block is not what the call returns, none is stated."""
    main = (
        f"int main(void)\n{{\n\tstruct ring *r = NULL;\n\t(void)r;\n\tvoid *p = {call};\n"
        "\treturn p != block || asked % sizeof(struct ring) || !asked;\n}\n"
    )
    program = tmp_path / "p.c"
    program.write_text(f"{RUN}{RING}{definitions}\n{main}")
    subprocess.run([need("gcc"), "-w", "-o", tmp_path / "p", program], check=True, timeout=60)
    is_the_block = subprocess.run([tmp_path / "p"], check=False, timeout=60).returncode == 0
    assert is_the_block or not expected.startswith("placement")


SCOPES = [
    # the files, what `a.c` allocates
    ({"lib.c": "void *xm(size_t n) { return malloc(n); }"}, [MALLOC]),
    ({"lib.c": "static void *xm(size_t n) { return malloc(n); }"}, []),
    ({"lib.h": "static inline void *xm(size_t n) { return malloc(n); }"}, [MALLOC]),
    ({"lib.h": "#define xm(n) malloc(n)"}, [MALLOC]),
    ({"lib.c": "#define xm(n) malloc(n)"}, []),
    ({"lib.c": "void *xm(size_t n) { return malloc(n); }", "old.c": "void *xm(size_t n) { return heap_take(n); }"},
     ["?? not every definition of xm allocates; `[allocators.xm]` in layoutlint.toml can declare it"]),
    ({"lib.c": "void *xm(size_t n) { return malloc(n); }", "old.c": "static void *xm(size_t n) { return heap_take(n); }"}, [MALLOC]),
    ({"lib.h": "#ifdef T\n#define xm take\n#endif\nvoid *take(size_t n);", "lib.c": "void *xm(size_t n) { return malloc(n); }"},
     ["?? not every definition of xm allocates; `[allocators.xm]` in layoutlint.toml can declare it"]),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "expected"), SCOPES)
def test_which_definition_a_call_means(tmp_path, texts, expected):
    for name, text in {**texts, "a.c": "void *f(void) { return xm(sizeof(struct ring)); }"}.items():
        (tmp_path / name).write_text(f"{text}\n")
    found, _ = sources.read((str(tmp_path),), None, 1, no_progress)
    assert [", ".join(keys(each.storage)) if each.storage else f"?? {each.problem}" for each in found if each.struct] == expected


PREFIXED = """\
typedef __SIZE_TYPE__ size_t;
void *malloc(size_t); void *je_malloc(size_t);
#include "conf.h"
#ifdef JE
#define malloc(n) je_malloc(n)
#endif
struct ring { long a[9]; };
void *zm(size_t n)
{
	char *p = malloc(n + PREFIX);
#ifdef HAVE_SIZE
	return p;
#else
	return p + PREFIX;
#endif
}
struct ring *f(void) { return zm(sizeof(struct ring)); }
"""
CONF = "#ifndef CONF\n#define CONF\n#ifdef HAVE_SIZE\n#define PREFIX 0\n#else\n#define PREFIX 8\n#endif\n#endif\n"


@pytest.mark.parametrize(("flags", "expected"), [
    (("-DHAVE_SIZE",), [("malloc", "malloc")]),
    (("-DHAVE_SIZE", "-DJE"), [("jemalloc", "je_malloc")]),
    ((), [(None, "")]),
    (None, [(None, "")]),
])  # fmt: skip
def test_a_database_decides_about_conditions(tmp_path, flags, expected):
    """Without one, both sides count."""
    (tmp_path / "a.c").write_text(PREFIXED)
    (tmp_path / "conf.h").write_text(CONF)
    command = {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", *(flags or ()), "-c", "a.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([command]))
    path = tmp_path if flags is None else tmp_path / "compile_commands.json"
    found, _ = sources.read((str(path),), None, 1, no_progress)
    assert [(each.storage and each.storage.word, each.allocator) for each in found if each.struct] == expected


def test_check_offers_the_placement(tmp_path):
    (tmp_path / "a.c").write_text(f"{RING}void *xm(__SIZE_TYPE__ n) {{ return __builtin_malloc(n); }}\n".replace("__builtin_", "")
                                  + "void *f(void) { return xm(sizeof(ring_t)); }\n")  # fmt: skip
    (tmp_path / "layoutlint.toml").write_text(
        '[[rule]]\nid = "r"\nstruct = "ring"\nkind = "separate"\nfields = [["a[0]"], ["a[1]"]]\nwhy = "w"\n'
    )
    done = run("check", "a.c", "--width", "200", cwd=tmp_path)
    assert "allocates struct ring (xm, which calls malloc): `placement = \"malloc\"` would narrow 8 bases to 4" in done.stdout


def test_a_call_is_described_with_what_it_calls(tmp_path):
    (tmp_path / "a.c").write_text("void *xm(size_t n) { return malloc(n); }\nvoid *f(void) { return xm(sizeof(struct ring)); }\n")
    found, _ = sources.read((str(tmp_path),), None, 1, no_progress)
    assert [describe_call(each) for each in found] == ["xm, which calls malloc"]
