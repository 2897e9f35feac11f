"""Reading what holds a struct, and no more: the same containers as when everything is read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.geometry.containers import Container, Index
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.geometry.test_containers import SOURCE
from tests.oracles.c_probe import compile_c, need
from tests.readers.dwarf.dwarf_file import Dwarf

BUILDS = [
    # compiler, flags
    ("gcc", ("-g",)),
    ("gcc", ("-g", "-gdwarf-4")),
    ("gcc", ("-g", "-gdwarf-2", "-gstrict-dwarf")),
    ("gcc", ("-g", "-fdebug-types-section")),
    ("gcc", ("-g", "-gdwarf64")),
    ("gcc", ("-gbtf",)),
    ("clang", ("-g", "-fstandalone-debug")),
]
IDS = [" ".join((compiler, *flags)) for compiler, flags in BUILDS]
TEMPLATE = """
struct JOINED(NAME, _head) { int first, last; };
typedef struct JOINED(NAME, _head) JOINED(NAME, _t);
typedef struct { int first, last; } JOINED(NAME, _pair);
struct JOINED(NAME, _user) { JOINED(NAME, _t) one; JOINED(NAME, _pair) two; };
"""
ALIKE = """
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define NAME red
#include "template.h"
#undef NAME
#define NAME blue
#include "template.h"
typedef struct { } gone_t;
typedef struct { } lost_t;
struct nothing { };
struct both { red_t red; blue_t blue; struct red_user user; };
struct empties { gone_t gone; lost_t lost[2]; struct nothing nothing; };
struct deep { const blue_pair pairs[2][3]; volatile struct both both; };
"""
ALIKE_USED = ("both", "empties", "deep", "red_user", "blue_user")
UNNAMED = """
typedef union { int *one; long *two; } either_t __attribute__((transparent_union));
void take(either_t either);
struct seen { int a; };
struct user { struct seen seen; };
"""


def use(text: str, names: tuple[str, ...]) -> str:
    return text + "".join(f"struct {name} use_{name};\n" for name in names)


SOURCES = {
    "all kinds of holders": use(
        SOURCE, ("outer", "named", "unnamed", "packed", "tail", "zero", "marked", "aligned", "holds_nothing", "of_titled", "nobody")
    ),
    "the same members": use(ALIKE, ALIKE_USED),
}


def way(container: Container) -> tuple[object, ...]:
    arrays = tuple((array.path, array.count, array.bit_stride) for array in container.arrays)
    return container.struct, container.written, container.bit_offset, arrays, container.through


def describe(index: Index, name: str) -> list[tuple[Struct, list[tuple[object, ...]]]]:
    return [(each, [way(found) for found in index.containers(name, each)]) for each in index.definitions(name)]


def index(path: Path, wanted: Wanted, jobs: int = 1) -> Index:
    return Index(read(str(path), wanted, ReadOptions(jobs=jobs)).structs)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=IDS)
@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES.keys())
def test_every_struct_has_the_containers_that_it_has_among_everything(tmp_path, compiler, flags, text):
    (tmp_path / "template.h").write_text(TEMPLATE)
    path = compile_c(compiler, text, tmp_path / "all.o", "-c", f"-I{tmp_path}", *flags)
    names = index(path, Wanted(everything=True)).names
    assert len(names) > 8
    held = 0
    for name in names:
        everything = index(path, Wanted(frozenset((name,)), everything=True))
        unsettled = everything.ambiguous_typedefs(name)
        if unsettled:
            everything = index(path, Wanted(unsettled | {name}, everything=True))
        expected = describe(everything, name)
        narrow = index(path, Wanted(with_containers=frozenset((name,))))
        assert narrow.ambiguous_typedefs(name) == unsettled
        assert describe(index(path, Wanted(frozenset(unsettled), with_containers=frozenset((name,)))), name) == expected
        held += sum(len(ways) for _, ways in expected)
    assert held > 8


UNITS = {
    "one.c": "struct lock { int a; }; struct holder { struct lock lock; } holder;",
    "two.c": "struct lock { int a; }; typedef struct lock lock_t; struct other { lock_t lock; } other;",
    "three.c": "struct lock { int a; }; struct lock; struct third { struct lock locks[2]; } third;",
}


def test_a_typedef_that_only_one_unit_has_stands_for_the_struct_in_all(tmp_path):
    (tmp_path / "lock.h").write_text("struct lock { int a; };\n")
    for name, text in UNITS.items():
        (tmp_path / name).write_text(text.replace("struct lock { int a; };", '#include "lock.h"\n'))
    words = [need("gcc"), "-w", "-g", "-r", "-o", "all.o", *UNITS]
    subprocess.run(words, cwd=tmp_path, check=True)
    found = read(str(tmp_path / "all.o"), Wanted(with_containers=frozenset(("lock_t",))), ReadOptions()).structs
    assert [(struct.name, struct.aliases) for struct in found] == [
        ("lock", ("lock_t",)), ("holder", ()), ("other", ()), ("third", ()),
    ]  # fmt: skip


@pytest.mark.parametrize("flag", ["-g", "-gbtf"])
def test_nothing_else_is_read(tmp_path, flag):
    text = use(SOURCE, ("outer", "node"))
    path = compile_c("gcc", text, tmp_path / "all.o", "-c", flag)
    found = read(str(path), Wanted(with_containers=frozenset(("middle",))), ReadOptions()).structs
    assert {struct.name for struct in found} == {
        "middle", "outer", "either",  # and what these hold
        "plain", "lock", "atomic_t", "arrays",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("member", "field"),
    [
        ("_Atomic(pair_t) one;", "`one` in struct user"),  # gcc's BTF has no name for this type
        ("struct { int x; _Atomic(pair_t) two; } inner;", "`two` in struct user"),
        ("pair_t one;", None),
        ("struct { long a; long b; } other;", None),
    ],
)
def test_an_atomic_struct_without_a_name_may_be_any_that_is_alike(tmp_path, member, field):
    text = f"typedef struct {{ long a; int b; }} pair_t; struct user {{ int x; {member} }} user; pair_t *pair;\n"
    path = compile_c("gcc", text, tmp_path / "all.o", "-c", "-gbtf")
    index = Index(read(str(path), Wanted(with_containers=frozenset(("pair_t",))), ReadOptions()).structs)
    (pair,) = index.definitions("pair_t")
    assert index.field_without_type("pair_t", pair) == field


def test_a_union_without_its_members_may_hold_it(tmp_path):
    """GCC leaves out those of a transparent union that a typedef names."""
    path = compile_c("gcc", UNNAMED + "struct user user; void take(either_t either) { }\n", tmp_path / "all.o", "-c", "-g")
    everything = read(str(path), Wanted(everything=True), ReadOptions())
    assert read(str(path), Wanted(with_containers=frozenset(("seen",))), ReadOptions()).notes == everything.notes
    assert [note for note in everything.notes if "either_t" in note]


@pytest.mark.parametrize("target", [4, 10, 0])
def test_a_member_whose_type_is_said_to_stand_in_the_header_of_its_unit(tmp_path, target):
    """The version of the unit, at 4, is the code of a pointer, which holds nothing: damage is told, not passed by."""
    abbreviations = {
        1: ("compile_unit", True, ("language:data1",)),
        2: ("structure_type", True, ("name:string", "byte_size:data1")),
        3: ("member", False, ("name:string", "type:ref4", "data_member_location:data1")),
        4: ("pointer_type", False, ("byte_size:data1",)),
        5: ("base_type", False, ("name:string", "byte_size:data1")),
    }
    integer = 13  # behind eleven bytes of the header and two of the unit's entry
    entries = (
        (1, 12), (5, "int", 4), (4, 8),
        (2, "held", 4), (3, "a", integer, 0), (0,),
        (2, "other", 8), (3, "p", target, 0), (0,), (0,),
    )  # fmt: skip
    path = tmp_path / "damaged.o"
    path.write_bytes(Dwarf(abbreviations, entries).file())
    reading = read(str(path), Wanted(with_containers=frozenset(("held",))), ReadOptions(jobs=1))
    assert [unread.reason for unread in reading.unread] == [".debug_info+0x25: a reference leaves its unit"]
