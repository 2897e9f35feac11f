"""Functions of units behind the headers that they share: the same as when each unit is parsed alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint.model.flows import Flows
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.readers.clang import libclang, shared_beginnings, shared_headers
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources import bodies
from layoutlint.sources.bodies import flows, problems, shared_parses, unit
from layoutlint.sources.bodies.unit import UnitFunctions

pytestmark = pytest.mark.skipif(
    libclang.native is None or not hasattr(os, "memfd_create"), reason="needs compiled modules and memfd_create"
)

A = """\
#ifndef A_H
#define A_H
typedef struct { int counter; } count_t;
struct in { count_t c; long d; };
struct a { struct in i; struct b *b; int flag; };
#define SET(p) ((p)->flag = 1)
static inline void touch(count_t *c) { c->counter++; }
static inline void mark(struct a *p) { SET(p); touch(&p->i.c); }
static __thread struct in own;
#endif
"""
B = """\
#ifndef B_H
#define B_H
#include "a.h"
struct b { struct a a[2]; union { int x; long y; }; };
static inline int both(struct b *p) { mark(p->a); return p->x; }
#ifdef WIDE
extern int wide;
#endif
#endif
"""
USES = "void f{0}(struct b *b, struct a *a) {{ both(b); mark(a); a->i.d = {0}; b->y++; }}\n"
COUNTED = "#define PASTE(a, b) a##b\n#define NAME(n) PASTE(f_, n)\n#define UNIQUE NAME(__COUNTER__)\nvoid UNIQUE(struct a *a) {{ a->flag = {0}; }}\n"
UNITS: dict[str, tuple[str, str, str, int] | tuple[str, str, str, int, dict[str, str]]] = {
    "both orders, and one of them": ('#include "a.h"\n#include "b.h"\n', '#include "b.h"\n#include "a.h"\n', USES, 6),
    "a struct of its own": ('#include "b.h"\n', '#include "b.h"\n', "struct own{0} {{ struct b b; int n; }};\nvoid f{0}(struct own{0} *o) {{ o->n = o->b.a[1].flag; }}\n", 6),
    "lines and comments in front": ("/* x\n\n*/\n\n\n" '#include "a.h"\n#include "b.h"\n', '\n\n\n#include "b.h"\n', USES, 6),
    "a macro with the name of a struct": ('#include "a.h"\n#include "b.h"\n', '#include "b.h"\n', "#define in other\n" + USES.replace("a->i.d", "a->i.c.counter"), 6),
    "a macro that a header asks for": ('#define WIDE\n#include "b.h"\n', '#include "b.h"\n', USES, 3),
    "a macro that a header names": ('#define flag own_flag\n#include "b.h"\n', '#include "b.h"\n', USES, 3),
    "a macro of a header that is not included": ('#include "b.h"\n', '#include "a.h"\nstruct b { int x; long y; };\nstatic int both(struct b *p) { return p->x; }\n', USES, 3),
    "an error": ('#include "b.h"\n', '#include "b.h"\nint x = y;\n', USES, 3),
    "an annotation": ('#include "b.h"\n', '#include "b.h"\nstruct n { int a; /* layoutlint: hot-read */ };\n', USES, 3),
    "a function that a missing header declares": ('#include "a.h"\n#include "b.h"\n', '#include "a.h"\nstruct b { long y; };\n', USES, 3),
    "a struct that a missing header declares": ('#include "b.h"\n', '#include "a.h"\n', "int f{0}(struct a *a) {{ return a->b->x; }}\n", 3),
    "a struct that other headers leave open": ('#include "b.h"\n', '#include "a.h"\n', "void f{0}(struct a *a) {{ a->b = 0; }}\n", 6),
    "functions that a counter names": ('#include "b.h"\n', '#include "b.h"\n' + COUNTED.format(1), USES, 3),
    "packing in front of headers": ('#pragma pack(1)\n#include "b.h"\n', '#include "b.h"\n', USES, 3),
    "packing behind headers": ('#include "b.h"\n#pragma pack(1)\nstruct own { char c; long l; };\n', '#include "b.h"\n', USES, 3),
    "packing that ends": ('#pragma pack(push, 1)\nstruct own { char c; long l; };\n#pragma pack(pop)\n#include "b.h"\n', '#include "b.h"\n', USES, 6),
    "packing that a header leaves": ('#include "c.h"\n#include "b.h"\n', '#include "b.h"\n#include "c.h"\n', USES, 0, {"c.h": "#ifndef C\n#define C\n#pragma pack(1)\n#endif\n"}),
    "a header that includes a unit": ('#include "c.h"\n', '#include "b.h"\n', USES, 0, {"c.h": '#ifndef C\n#define C\n#include "u0.c"\n#endif\n'}),
    "a header that is read again, with more": (
        '#define MORE\n#include "c.h"\n#include "b.h"\n', '#include "b.h"\n#include "d.h"\n', USES, 3,
        {"c.h": "#ifdef MORE\n#define flag own_flag\n#endif\n", "d.h": '#ifndef D\n#define D\n#include "c.h"\n#endif\n'},
    ),
    "headers of one name": (
        '#include "n/c.h"\n#include "c.h"\n#include "b.h"\n', '#include "c.h"\n#include "n/c.h"\n#include "b.h"\n', USES, 6,
        {"c.h": "#ifndef C\n#define C\nint c;\n#endif\n", "n/c.h": "#ifndef NC\n#define NC\nint nc;\n#endif\n"},
    ),
    "a macro that leads elsewhere when another file defines it": (
        '#include "c.h"\n#include "check.h"\n#include "d.h"\n#include "b.h"\n', '#include "b.h"\n#include "check.h"\n#include "c.h"\n#include "d.h"\n', USES, 6,
        {"c.h": "#ifndef C\n#define C\n#define MAKE(n) struct n##_s { int a; }\nMAKE(one);\n#undef MAKE\n#endif\n", "check.h": "#ifndef K\n#define K\n#define CHECK(x) (x)\n#endif\n",
         "d.h": '#ifndef D\n#define D\n#include "check.h"\n#define MAKE(n) static inline int n##_f(int x) { return CHECK(x); }\nMAKE(two)\n#undef MAKE\n#endif\n'},
    ),
    "a header that another one names again, with a file of that name elsewhere": (
        '#include "c.h"\n#include "d.h"\n#include "b.h"\n', '#include "b.h"\n#include "c.h"\n#include "d.h"\n', USES, 6,
        {"c.h": '#ifndef C\n#define C\n#include "n/c.h"\n#endif\n', "d.h": "#ifndef D\n#define D\n#include <c.h>\n#endif\n", "n/c.h": "#ifndef NC\n#define NC\nint nc;\n#endif\n"},
    ),
    "a field named import": ('#include "c.h"\n#include "b.h"\n', '#include "b.h"\n#include "c.h"\n', USES, 6, {"c.h": "#ifndef C\n#define C\nstruct c { int import; };\n#endif\n"}),
    "a header that is imported": ('#include "b.h"\n#import "c.h"\n', '#include "b.h"\n', USES, 3, {"c.h": "struct c { int n; };\n"}),
    "a header that imports": ('#include "c.h"\n#include "b.h"\n', '#include "b.h"\n#include "c.h"\n', USES, 0, {"c.h": '#ifndef C\n#define C\n# /* */ import "d.h"\n#endif\n', "d.h": "int d;\n"}),
    "a header that includes by another sign": ('#include "c.h"\n#include "b.h"\n', '#include "b.h"\n#include "c.h"\n', USES, 0, {"c.h": '#ifndef C\n#define C\n%:include "d.h"\n#endif\n', "d.h": "int d;\n"}),
    "a unit that includes by another sign": ('%:include "b.h"\n#include "b.h"\n', '#include "b.h"\n', USES, 3),
    "the same beginning": ('#include "b.h"\n#include "a.h"\n', '#include "b.h"\n#include "a.h"\nstatic int z;\n', USES, 6),
}  # fmt: skip


def write_units(folder: Path, name: str) -> list[Unit]:
    """Write six units, three of each form; return them."""
    (folder / "a.h").write_text(A)
    (folder / "b.h").write_text(B)
    first, second, rest, _, *headers = UNITS[name]
    for header, text in (headers[0] if headers else {}).items():
        (folder / header).parent.mkdir(exist_ok=True)
        (folder / header).write_text(text)
    units = []
    for number in range(6):
        path = folder / f"u{number}.c"
        path.write_text((first if number % 2 else second) + rest.format(number))
        units.append(Unit(str(path), ("-xc", "-w", f"-I{folder}"), str(folder), (str(folder),), path.name))
    return units


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a new process does."""
    for kept, empty in (("_known", {}), ("known_structs", set()), ("_known_scans", {})):
        monkeypatch.setattr(unit, kept, empty)


def comparable(result: UnitFunctions) -> UnitFunctions:
    """Return what a unit has, without the order of what is a set."""
    structs = tuple(sorted(result.structs, key=lambda struct: struct.name))
    return replace(result, structs=structs, scanned={}, per_cpu=tuple(sorted(result.per_cpu)))


@pytest.fixture(scope="module")
def units_alone(request, tmp_path_factory) -> dict[Unit, UnitFunctions]:
    """Six units, and what each of them is when it is parsed alone."""
    alone = {}
    for each in write_units(tmp_path_factory.mktemp("units"), request.param):
        with pytest.MonkeyPatch.context() as patch:
            forget(patch)
            alone[each] = unit.read(each)
    return alone


@pytest.mark.parametrize("finder", [shared_headers, shared_beginnings])
@pytest.mark.parametrize(("units_alone", "name"), [(name, name) for name in UNITS], indirect=["units_alone"], ids=UNITS)
def test_units_behind_shared_headers(
    name: str, units_alone: dict[Unit, UnitFunctions], finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_headers, "_SMALLEST", 0)
    monkeypatch.setattr(shared_headers, "_begin_with", lambda *_: False)
    alone = units_alone
    found: dict[Unit, UnitFunctions] = {}
    for shared in finder.find(list(alone)):
        for each in shared.units:  # a unit is given only the structs that no unit before it was
            forget(monkeypatch)
            those = replace(shared, units=(each, *(other for other in shared.units if other != each)))
            read = bodies.read_together(those, Messages(), is_logged=False)
            if each in read:
                found[each] = read[each][0]
    assert {each.origin: comparable(result) for each, result in found.items()} == {
        each.origin: comparable(alone[each]) for each in found
    }
    if finder is shared_headers:
        assert len(found) == UNITS[name][3]


@pytest.mark.parametrize(("name", "found", "beginnings"), [("the same beginning", 0, [6]), ("both orders, and one of them", 1, [3, 3])])
def test_units_with_the_same_beginning_need_no_proof(name, found, beginnings, tmp_path: Path) -> None:
    units = write_units(tmp_path, name)
    assert len(list(shared_headers.find(units))) == found
    assert [len(each.units) for each in shared_beginnings.find(units)] == beginnings


def test_what_results_depend_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that units read, with those that flags include, of which libclang lists none behind a preamble."""
    monkeypatch.setattr(shared_headers, "_SMALLEST", 0)
    (tmp_path / "front.h").write_text("struct front { int f; };\n")
    flags = ("-include", str(tmp_path / "front.h"))
    units = [replace(each, flags=(*each.flags, *flags)) for each in write_units(tmp_path, "both orders, and one of them")]
    (shared,) = shared_headers.find(units)
    forget(monkeypatch)
    read = bodies.read_together(shared, Messages(), is_logged=True)
    assert len(read) == len(units)
    for each, (_, log) in read.items():
        assert log is not None
        assert log.obstacle is None
        names = {os.path.basename(path) for path in log.contents}
        assert {os.path.basename(each.main), "a.h", "b.h", "front.h"} <= names


USING = """\
#include "b.h"
void *give{0}(struct k *k) {{ return k->priv; }}
void keep{0}(struct k *k, struct a *a) {{ k->priv = a; hold(a); }}
int take{0}(void) {{ int *p = held; return mine() && give{0}(0) ? p[1] : 0; }}
int n{0}(int n) {{ return n; }}
"""
KEPT = """\
#ifndef C_H
#define C_H
#include "a.h"
struct k { void *priv; };
static void *held;
static inline void hold(void *p) { held = p; }
static inline long mine(void) { return *((long *)held + 1); }
static inline int other(int n) { return n; }
#endif
"""
CALLING = """\
#ifndef D_H
#define D_H
#include "a.h"
int far(struct a *p, int *member, int n);
static inline int near(struct a *p) { return far(p, &p->flag, 3); }
#endif
"""


def rows(found: Flows) -> dict[str, set[object]]:
    """Return what flows have, without how often they have it."""
    return {name: set(getattr(found, name)) for name in flows._FACTS}


def test_flows_behind_shared_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of shared headers are read once, and show what they show in each unit alone."""
    monkeypatch.setattr(shared_headers, "_SMALLEST", 0)
    (tmp_path / "a.h").write_text(A)
    (tmp_path / "b.h").write_text(B.replace('#include "a.h"', '#include "a.h"\n#include "c.h"'))
    (tmp_path / "c.h").write_text(KEPT)
    (tmp_path / "d.h").write_text(CALLING)
    (tmp_path / "0.c").write_text(USING.format(0))
    for number in range(1, 8):
        (tmp_path / f"{number}.c").write_text('#include "d.h"\n' + USING.format(number))
    (tmp_path / "8.c").write_text('#define flag own_flag\n#include "d.h"\n' + USING.format(8))  # not the same behind headers
    (tmp_path / "7.c").write_text('#include "d.h"\n' + USING.format(7) + "int far(struct a *p, int *member, int n) { return member[n]; }\n")
    paths = [str(path) for path in sorted(tmp_path.glob("*.c"))]
    behind: list[int] = []
    read_batch = flows._read_batch

    def read(shared, names, known):
        results = read_batch(shared, names, known)
        behind.append(len(results))
        return results

    monkeypatch.setattr(shared_parses, "begin_process", Messages)
    monkeypatch.setattr(flows, "_read_batch", read)
    together = flows.read(paths, ("a",), ReadOptions(cache=False, jobs=1))
    monkeypatch.setattr(flows, "_read_batch", lambda shared, names, known: [])
    alone = flows.read(paths, ("a",), ReadOptions(cache=False, jobs=1))
    assert behind[0] == 7  # the headers and six units: not the first, nor those with the macro and with what a header calls
    assert rows(together) == rows(alone)
    assert {"hold", "mine"} <= {each.partition("@")[0] for each in together.walked}


@pytest.mark.parametrize(("text", "expected"), [
    ("_Static_assert(__builtin_offsetof(struct a, b) == 16, \"\");", {"u3.c"}),
    ("_Static_assert(__builtin_offsetof(struct a, flag) >= 0, \"\");", set()),
])  # fmt: skip
def test_errors_behind_changed_headers(text: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_headers, "_SMALLEST", 0)
    parsed_alone: list[str] = []
    read_unit = problems._read_unit

    def read(each, changed):
        parsed_alone.append(os.path.basename(each.main))
        return read_unit(each, changed)

    monkeypatch.setattr(shared_parses, "begin_process", Messages)
    monkeypatch.setattr(problems, "_read_unit", read)
    units = write_units(tmp_path, "the same beginning")
    path = tmp_path / "u3.c"
    path.write_text(f"{path.read_text()}{text}\n")
    changed = A.replace("struct in i; struct b *b; int flag;", "struct b *b; struct in i; int flag;")
    found = problems.new_problems([each.main for each in units], str(tmp_path / "a.h"), changed, ReadOptions(cache=False, jobs=1))
    assert {os.path.basename(each.file) for each in found} == set(parsed_alone) == expected
