"""The programs of the table of constructs: their files, what they print, and what layoutlint says about their struct."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Literal, get_args

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.sources.bodies import flows
from layoutlint.sources.order_uses import Search, find_order_uses, forbids, member_names, sources_that_name

PRELUDE = """\
typedef unsigned long size_t; typedef unsigned long uintptr_t;
#define NULL ((void *)0)
#define offsetof(t, m) __builtin_offsetof(t, m)
typedef __builtin_va_list va_list;
#define va_start(l, n) __builtin_va_start(l, n)
#define va_arg(l, t) __builtin_va_arg(l, t)
#define va_end(l) __builtin_va_end(l)
typedef struct FILE FILE;
int printf(const char *, ...); int snprintf(char *, size_t, const char *, ...); FILE *tmpfile(void); void rewind(FILE *);
size_t fread(void *, size_t, size_t, FILE *); size_t fwrite(const void *, size_t, size_t, FILE *);
int pipe(int *); long read(int, void *, size_t); long write(int, const void *, size_t);
void *memcpy(void *, const void *, size_t); void *memset(void *, int, size_t); int memcmp(const void *, const void *, size_t);
void *memchr(const void *, int, size_t); void *memmove(void *, const void *, size_t);
char *strcpy(char *, const char *); char *strncpy(char *, const char *, size_t); size_t strlen(const char *);
void *malloc(size_t); void free(void *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
struct in { int i, j; };
#define SHOW(v) printf("%d %ld %d %ld %d %d %d\\n", (int)(v).a, (long)(v).b, (int)(v).c, (long)(v).d, (int)(v).e[0], (int)(v).e[1], (int)(v).f)
static inline void out(long v) { printf("%ld\\n", v); }
"""
VALUES = {  # what gives the members their values
    "plain": "p->a = 1; p->b = 2; p->c = 3;", "words": "p->a = 1; p->b = 2; p->c = 3;", "text": "p->b = 2;",
    "inner": "p->a.i = 1; p->a.j = 11; p->b = 2; p->c.i = 3;", "bits": "p->a = 1; p->z = 2; p->b = 2; p->c = 3;",
    "pointers": "p->c = 3;", "random": "", "bytes": "p->a = 1; p->b = 2; p->c = 3;", "ints": "p->a = 1; p->b = 2; p->c = 3;",
}  # fmt: skip
ORDERS = [
    (5, 4, 3, 2, 1, 0), (1, 0, 2, 3, 4, 5), (0, 3, 2, 1, 4, 5), (2, 1, 0, 3, 4, 5), (0, 1, 2, 3, 5, 4), (4, 0, 1, 2, 3, 5),
    (0, 2, 1, 3, 4, 5), (0, 2, 5, 4, 1, 3),
]  # fmt: skip
FLAGS = ("-w", "-O0", "-std=gnu11", "-fno-strict-aliasing", "-fno-stack-protector")


def definition(members: Sequence[str], nameless: bool = False) -> str:
    """The struct; if `nameless`, its members are in a struct without a name in it."""
    body = "".join(f"\t{member}\n" for member in members)
    return f"struct thing {{ struct {{\n{body}}}; }}" if nameless else f"struct thing {{\n{body}}}"


def flat(struct: Struct) -> tuple[Struct, tuple[tuple[int, int], ...]]:
    """The struct with the members of a struct without a name in its place, and where they are."""
    first = struct.fields[0]
    if first.name is not None or first.aggregate != "struct":
        return struct, ()
    return replace(struct, fields=first.members), ((0, len(first.members)),)


def program_files(text: str, kind: str, members: Sequence[str], nameless: bool = False) -> dict[str, str]:
    """The files of a program whose struct has its members in some order."""
    first, *others = text.split("@F ")
    top, body = first.split("@@")
    own = definition(members, nameless)
    header = f"#pragma once\n{PRELUDE}" + ("" if "@S@" in top else f"{own};\n")
    rest = "" if kind == "random" else "p->d = 4; p->e[0] = 5; p->e[1] = 6; p->f = 7;"
    values = f"memset(p, 0, sizeof *p); {VALUES[kind]} {rest}"
    fill = f"static inline void set(struct thing *p) {{ {values} }}\n"
    main = f"int main(void)\n{{\nstruct thing x, y; set(&x); set(&y);\n{body.strip()}\nreturn 0;\n}}\n"
    files = {"s.h": header, "a.c": f'#include "s.h"\n{top.replace("@S@", own)}{fill}{main}'}
    for other in others:
        name, content = other.split("@\n", 1)
        files[name.strip()] = content
    return files


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def run(folder: Path, compiler: str) -> str:
    """The exit status of a program and what it prints; why the compiler makes none."""
    sources = sorted(path.name for path in folder.glob("*.[cS]"))
    command = [compiler, *FLAGS, *sources, "-o", "program"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        return f"no program: {made.stderr[:300]}"
    try:
        ran = subprocess.run(["./program"], cwd=folder, capture_output=True, check=False, timeout=20)
    except subprocess.TimeoutExpired:
        return "no end"
    return f"{ran.returncode} {ran.stdout.decode('latin-1')}"


TREE = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nKBUILD_CFLAGS += -fno-strict-aliasing\n", "Kconfig": "",
    "include/linux/kconfig.h": "#include <generated/autoconf.h>\n", "include/linux/compiler_types.h": "", "arch/x86/include/asm/types.h": "",
    "include/generated/autoconf.h": "#define CONFIG_SMP 1\n#define CONFIG_X86_64 1\n", "include/config/auto.conf": "CONFIG_SMP=y\nCONFIG_X86_64=y\n",
    "drivers/Makefile": "obj-$(CONFIG_SMP) += thing/\n",
}  # fmt: skip
"""A kernel's source without code, and its configuration."""
Form = Literal["source", "object", "kernel"]
FORMS = get_args(Form)


def _lay(folder: Path, files: dict[str, str], form: Form) -> tuple[str, str]:
    """Write a program in one of its forms; what is read of it, and where its sources are."""
    if form != "kernel":
        write(folder, files)
    if form == "object":
        subprocess.run(["gcc", "-g", "-w", "-c", "a.c"], cwd=folder, check=True)
    if form != "kernel":
        return str(folder / ("a.o" if form == "object" else "a.c")), str(folder)
    objects = " ".join(f"{name[:-2]}.o" for name in files if name.endswith((".c", ".S")))
    own = {**files, "Makefile": f"obj-y += main.o\nmain-y := {objects}\nCFLAGS_a.o := -DTHING=1\n"}
    for name, text in {**TREE, **{f"drivers/thing/{name}": text for name, text in own.items()}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder / "drivers/thing/a.c"), str(folder)


def search(folder: Path, files: dict[str, str], form: Form = "source") -> Search:
    """What layoutlint finds that depends on the order: in sources, in those of an object, in a kernel's tree."""
    return find(*_lay(folder, files, form))


def find(path: str, top: str, flags: tuple[str, ...] = ()) -> Search:
    """What it finds in the sources below a folder, for the struct of one input."""
    struct = next(layout.struct for layout in api.read(path, flags=flags) if layout.struct.name == "thing")
    own, names, others = sources_that_name(struct, [top])
    struct, groups = flat(struct)
    found = flows.read(own, names, ReadOptions(cache=False, jobs=1, flags=flags), others)
    return find_order_uses(struct, [top], flows=found, groups=groups)


@cache
def _struct(text: str) -> Struct:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.h"
        path.write_text(f"struct in {{ int i, j; }};\n{text};\n")
        return next(layout.struct for layout in api.read(str(path)) if layout.struct.name == "thing")


def is_allowed(found: Search, members: Sequence[str], order: Sequence[int], nameless: bool = False) -> bool:
    """Whether nothing that was found forbids an order of the declarations."""
    texts = (definition(own, nameless) for own in (members, [members[at] for at in order]))
    structs = [flat(_struct(text))[0] for text in texts]
    old, new = map(member_names, structs)
    offsets = [
        {name: field.bit_offset for name, field in zip(names, struct.fields, strict=True)}
        for names, struct in zip((old, new), structs, strict=True)
    ]
    sizes = structs[0].bit_size, structs[1].bit_size
    return not any(forbids(use, old, new, *offsets, sizes) for use in found.uses)


class Runs:
    """A program, made and run by one compiler with its members in some order: once in each."""

    def __init__(self, text: str, kind: str, members: Sequence[str], compiler: str, folder: Path, nameless: bool = False):
        self._made = partial(program_files, text, kind, nameless=nameless)
        self._members, self._compiler, self._folder = members, compiler, folder
        self._printed: dict[tuple[int, ...], str] = {}

    def output(self, order: Sequence[int]) -> str:
        """What it prints with its members in an order."""
        key = tuple(order)
        if key not in self._printed:
            place = self._folder / f"{self._compiler}{len(self._printed)}"
            write(place, self._made([self._members[at] for at in order]))
            self._printed[key] = run(place, self._compiler)
        return self._printed[key]

    def changes(self, order: Sequence[int]) -> bool:
        """Whether it prints something else than with the declared order."""
        first = self.output(range(len(self._members)))
        assert not first.startswith("no"), first
        return self.output(order) != first
