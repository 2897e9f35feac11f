"""Which units functions are read from, with their flags, for each kind of input; and that the cache gives the same as reading."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.sources import bodies
from layoutlint.sources.bodies import flows, sources
from tests.harness.whole import inline, whole_lines
from tests.readers.clang.test_inputs import CONFIGURED, KERNEL, lay

TREE = {
    **KERNEL, **CONFIGURED, "fs/Makefile": "obj-$(CONFIG_SMP) += a.o deep/\nobj-n += off.o\n", "fs/a.c": "", "fs/off.c": "",
    "fs/deep/Makefile": "obj-y += b.o\nccflags-y += -DDEEP\n", "fs/deep/b.c": "", "drivers/Makefile": "obj-y += d.o\n", "drivers/d.c": "",
    "mm/Makefile": "obj-y := m.o\n", "mm/m.c": "", "kernel/Makefile": "obj-y := user.o\n",
}  # fmt: skip
PROJECT = {"a.c": "", "b.c": "", "deep/c.c": "", "entry.S": "", "uses.cc": "", "text.h": ""}
COMMANDS = [
    {"directory": ".", "file": "a.c", "arguments": ["cc", "-DA", "-c", "a.c"]}, {"directory": "deep", "file": "c.c", "command": "gcc -I.. -c c.c"},
    {"directory": ".", "file": "entry.S", "arguments": ["cc", "-c", "entry.S"]}, {"directory": ".", "file": "uses.cc", "arguments": ["c++", "-c", "uses.cc"]},
    {"directory": ".", "file": "b.c", "arguments": ["cc", "-I-", "-c", "b.c"]}, {"directory": ".", "file": "a.c", "arguments": ["cc", "-DA", "-c", "a.c"]},
]  # fmt: skip
DATABASE = {**PROJECT, "compile_commands.json": json.dumps(COMMANDS)}


@pytest.mark.parametrize(("files", "paths", "options"), [
    (TREE, ("fs/a.c",), {}),
    (TREE, ("fs",), {}),
    (TREE, ("fs/deep", "drivers/d.c"), {}),
    (TREE, (".",), {}),
    (TREE, ("arch",), {}),
    (TREE, ("fs/a.c",), {"flags": ("-DX",)}),
    (TREE, ("fs",), {"flags": ("-DX",)}),
    (PROJECT, (".",), {}),
    (PROJECT, ("a.c", "./deep/c.c", "a.c"), {"flags": ("-DX",)}),
    (PROJECT, ("a.c", "missing.c"), {}),
    (PROJECT, ("entry.S",), {}),
    (DATABASE, (".",), {}),
    (DATABASE, (".",), {"finds_flags": False}),
    (DATABASE, ("compile_commands.json", "b.c"), {"finds_flags": False}),
    (DATABASE, ("deep/c.c", "a.c"), {}),
])  # fmt: skip
def test_units(tmp_path: Path, monkeypatch, golden_row, files, paths, options):
    lay(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    try:
        found = sources.find(paths, ReadOptions(cache=False, **options))
    except ReadError as error:
        found = sources.Units(notes=[f"refused: {error}"])
    units = [re.sub(r"-resource-dir \S+ |-DLAYOUTLINT_GCC_\S+ |-idirafter \S+/of_gcc |-fgnuc-version=.*-D_Float128=\S+ ", "", f"{unit.main} {' '.join(unit.flags)}") for unit in found.units]
    lines = [*units, *whole_lines(found.unread), *found.notes, f"kernel: {found.is_kernel}"]
    golden_row("\n".join(lines).replace(str(tmp_path), "TOP"))


TWO = {
    "both.h": "struct s { int a; long b; int c; };\nstatic inline void set(struct s *p) { p->b = 1; }\n",
    "one.c": '#include "both.h"\nvoid one(struct s *p) { p->a = 1; set(p); }\nstruct own { int n; } mine;\nint get(void) { return mine.n; }\n',
    "two.c": '#include "both.h"\nint two(struct s *p) { return p->c + p->a; }\nint (*pointer)(struct s *) = two;\n',
}


def test_what_the_cache_has_is_not_read_again(tmp_path: Path, monkeypatch, golden_row):
    lay(tmp_path, TWO)
    monkeypatch.chdir(tmp_path)
    plain = bodies.read(("one.c", "two.c"), ReadOptions(cache=False, jobs=1))
    counts = []
    for change in ({}, {"two.c": f"{TWO['two.c']}/* longer */\n"}, {"two.c": "int broken(void) { return missing; }\n"}):
        lay(tmp_path, change)
        for _ in range(2):
            found = bodies.read(("one.c", "two.c"), ReadOptions(cache=True, jobs=1))
            counts.append(found.recalled)
            if "broken" not in str(change):
                assert replace(found, recalled=0) == plain
    assert counts == [0, 2, 1, 2, 1, 2]
    golden_row("\n".join([*whole_lines(plain), *whole_lines(found.unread)]))


FLAGS = {
    "flags.h": "struct s { unsigned long flags; int x; };\n#define FLAG(n) static inline int test_##n(const struct s *p) { return p->flags & 8; } \\\n"
    "\tstatic inline void clear_##n(struct s *p) { __atomic_and_fetch(&p->flags, ~8UL, 0); }\nFLAG(a)\n",
    "read.c": '#include "flags.h"\nint get(struct s *p) { return test_a(p); }\n', "write.c": '#include "flags.h"\nvoid set(struct s *p) { clear_a(p); }\n',
    "both.c": '#include "flags.h"\nint both(struct s *p) { clear_a(p); return test_a(p); }\n',
}  # fmt: skip


@pytest.mark.parametrize("paths", [("read.c", "write.c"), ("write.c", "read.c"), ("both.c",)])
def test_a_macro_defines_several_functions_on_one_line(tmp_path: Path, monkeypatch, paths):
    """As PAGEFLAG of Linux does; each is read, whichever unit comes first."""
    lay(tmp_path, FLAGS)
    monkeypatch.chdir(tmp_path)
    found = bodies.read(paths, ReadOptions(cache=False, jobs=1))
    used = {(function.key.partition("@")[0], use.effect.value) for function in found.functions for use in function.uses}
    assert used >= {("test_a", "read"), ("clear_a", "atomic")}


RING = {
    "ring.h": "struct ring { int head; long tail; };\nstruct box { int n; struct ring ring; };\nvoid far(void *), near(struct ring *);\n",
    "other.h": "static inline long second(void *v) { return ((long *)v)[1]; }\nstatic inline int unused(void *v) { return *(int *)v; }\n",
    "a.c": '#include "ring.h"\n#include "other.h"\nlong a(struct ring *p) { far(p); near(p); return second(p); }\nextern struct ring object;\n',
    "far.c": "struct words { long w[2]; };\nvoid far(void *v) { ((struct words *)v)->w[1] = 1; }\n", "near.c": '#include "ring.h"\nvoid near(struct ring *p) { p->head = 1; }\n',
    "object.c": "struct words { long w[2]; };\nextern struct words object;\nlong *get(void) { return object.w; }\n",
    "box.c": '#include "ring.h"\nstruct box b = { 1, { 2, 3 } };\n', "none.c": "int none(void) { return 0; }\n", "text.h": "void far(void *v) { }\n",
    "broken.c": "struct ring { int head; };\nint b(struct ring *p) { return p->head + missing; }\n",
}  # fmt: skip


@pytest.mark.parametrize(("paths", "others"), [
    (("a.c",), ()),
    (("a.c",), ("far.c", "near.c", "object.c", "box.c", "none.c", "text.h", "gone.c")),
    (("near.c", "near.c", "broken.c", "gone.c", "text.h"), ("none.c",)),
    (("box.c",), ("far.c", "box.c")),
])  # fmt: skip
def test_where_addresses_are_followed(tmp_path: Path, monkeypatch, golden_row, paths, others):
    lay(tmp_path, RING)
    monkeypatch.chdir(tmp_path)
    found = flows.read(paths, ("ring",), ReadOptions(cache=False, jobs=1), others)
    golden_row("\n".join(inline(each) for each in (*found.defined, *found.accesses, *found.values, *found.symbols, *found.notes)))
