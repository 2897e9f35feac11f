"""What the structs of an input are called, where nothing else is asked of it: the same from every reader."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.workers import pool
from tests.harness.command import run
from tests.oracles.c_probe import need
from tests.readers.btf.btf_blob import FWD, INT, STRUCT, TYPEDEF, Strings, blob, record
from tests.readers.dwarf.dwarf_file import Dwarf

OTHER = "union value { int x; long y; };\n"
PROGRAM = """
#include "other.h"
struct lock { int a; };
typedef struct lock lock_t;
typedef struct { int b; } plain_t;
typedef const volatile plain_t chain_t;
typedef plain_t several_t[4];
typedef struct hidden hidden_t;
typedef int count_t;
typedef void nothing_t;
struct hidden;
struct ab { int c; };
struct outer { struct inner { int d; } inner; struct { int e; } unnamed; union value value; } outer;
lock_t lock; chain_t chain; several_t several; hidden_t *hidden; count_t count; nothing_t *nothing; struct ab ab;
"""
CALLED = {"ab", "lock", "lock_t", "plain_t", "chain_t", "hidden_t", "inner", "outer", "value"}
WAYS = [
    ("gcc", ("-gdwarf-2",)), ("gcc", ("-gdwarf-3", "-gstrict-dwarf")), ("gcc", ("-gdwarf-4",)), ("gcc", ("-gdwarf-5",)),
    ("gcc", ("-g", "-fno-merge-debug-strings")), ("gcc", ("-g", "-fdebug-types-section")), ("gcc", ("-g", "-gsplit-dwarf")),
    ("clang", ("-gdwarf-4",)), ("clang", ("-gdwarf-5",)), ("clang", ("-g", "-gsplit-dwarf")),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "other.h").write_text(OTHER)
    (tmp_path / "program.c").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("compiler", "flags"), WAYS, ids=[" ".join((compiler, *flags)) for compiler, flags in WAYS])
def test_dwarf(folder, compiler, flags):
    subprocess.run([need(compiler), *flags, "-c", "program.c", "-o", "program.o"], check=True)
    assert inputs.names(("program.o",), ReadOptions()) == CALLED


def test_link_time_optimisation(folder):
    """Types stand in one unit, and others refer to them across units."""
    (folder / "main.c").write_text("extern int count; int main(void) { return count; }\n")
    subprocess.run([need("gcc"), "-g", "-flto", "program.c", "main.c", "-o", "program"], check=True)
    assert inputs.names(("program",), ReadOptions()) <= CALLED


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_several_processes(folder, monkeypatch, jobs):
    """A name that is a struct's in one unit only is found whoever looks at that."""
    monkeypatch.setattr(pool, "_UNIT_OF_WORK", 1)
    parts = []
    for number in range(9):
        (folder / f"{number}.c").write_text(
            f"struct own_{number} {{ int a; }} a{number}; struct shared {{ int a; }} b{number};"
            f"typedef {'struct own_7' if number == 7 else 'int'} sometimes_t; sometimes_t c{number};\n"
        )
        parts.append(f"{number}.c")
    subprocess.run([need("gcc"), "-g", "-shared", "-fPIC", "-nostdlib", *parts, "-o", "all.so"], check=True)
    found = inputs.names(("all.so",), ReadOptions(jobs=jobs))
    assert found == {*(f"own_{number}" for number in range(9)), "shared", "sometimes_t"}


def test_btf(folder):
    strings = Strings()
    at = strings.add
    types = b"".join((
        record(at("int"), INT, 4, 32), record(at("lock"), STRUCT, 4, at("a"), 1, 0, vlen=1),
        record(at("lock_t"), TYPEDEF, 2), record(0, STRUCT, 4, at("b"), 1, 0, vlen=1), record(at("plain_t"), TYPEDEF, 4),
        record(at("chain_t"), TYPEDEF, 5), record(at("hidden"), FWD, 0), record(at("hidden_t"), TYPEDEF, 7),
        record(at("count_t"), TYPEDEF, 1), record(at("nothing_t"), TYPEDEF, 0),
    ))  # fmt: skip
    (folder / "all.btf").write_bytes(blob(types, strings.bytes))
    assert inputs.names(("all.btf",), ReadOptions()) == {"lock", "lock_t", "plain_t", "chain_t", "hidden_t"}


def test_c_text(folder):
    assert inputs.names(("program.c",), ReadOptions()) == CALLED


TEXT_ONLY = [
    # a folder or database: what its text seems to define, for parsing all of it takes too long
    (".", {*CALLED}),
    ("compile_commands.json", CALLED - {"value"}),
]


@pytest.mark.parametrize(("path", "called"), TEXT_ONLY, ids=[path for path, _ in TEXT_ONLY])
def test_text_of_many_files(folder, path, called):
    if path != ".":
        (folder / path).write_text('[{"directory": ".", "file": "program.c", "arguments": ["cc", "program.c"]}]')
    assert inputs.names((path,), ReadOptions()) >= called - {"hidden_t"}


def test_modules_of_a_folder(folder):
    (folder / "modules").mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.c").write_text(f"struct of_{name} {{ int a; }} {name};\n")
        subprocess.run([need("gcc"), "-g", "-c", f"{name}.c", "-o", f"modules/{name}.ko"], check=True)
    assert inputs.names(("modules",), ReadOptions(jobs=2)) == {"of_one", "of_two"}


DAMAGED = [
    # id, values of the second struct: a name outside of .debug_str, and one that does not end
    ("outside", 1 << 20),
    ("without an end", 6),
]


@pytest.mark.parametrize("place", [row[1] for row in DAMAGED], ids=[row[0] for row in DAMAGED])
def test_damage_costs_no_more_than_its_unit(folder, place):
    unit = Dwarf(
        {1: ("compile_unit", True, ()), 2: ("structure_type", False, ("name:string",)), 3: ("structure_type", False, ("name:strp",))},
        ((1,), (2, "ring"), (3, place), (0,)),
    )
    sound = Dwarf(unit.abbreviations, ((1,), (2, "slot"), (3, 0), (0,)))
    (folder / "damaged.o").write_bytes(unit.file(sound.unit, debug_str=b"lock\0\0broken"))
    found = inputs.names(("damaged.o",), ReadOptions())
    assert {"slot", "lock"} <= found <= {"ring", "slot", "lock"}


SHOWN = [
    # arguments, what stderr says
    (["other.h", "valeu"], "other.h: no struct valeu (did you mean `value`?)"),
    (["program.o", "lokc"], "program.o: no struct lokc (did you mean `lock`?)"),
    (["program.o", "plain"], "program.o: no struct plain (did you mean `plain_t`?)"),
    (["program.o", "cout_t"], "program.o: no struct cout_t"),
    (["program.o", "lock", "outr"], "program.o: no struct outr (did you mean `outer`?)"),
    (["program.o", "z\udcff"], "program.o: no struct z\\udcff"),
    ([".", "lokc"], ".: no struct lokc (did you mean `lock`?)"),
]


@pytest.mark.parametrize(("arguments", "message"), SHOWN, ids=[" ".join(arguments) for arguments, _ in SHOWN])
def test_show_names_the_nearest(folder, arguments, message):
    subprocess.run([need("gcc"), "-g", "-c", "program.c", "-o", "program.o"], check=True)
    done = run("show", *arguments, cwd=folder)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, f"layoutlint: {message}")


def test_a_found_struct_costs_no_second_look(folder, monkeypatch):
    from layoutlint.lint.struct_listing import list_structs

    asked, read = [], inputs.read
    monkeypatch.setattr(inputs, "read", lambda paths, wanted, options: asked.append(wanted) or read(paths, wanted, options))
    for name in ("lock", "lokc"):
        list_structs("program.c", (name,), ReadOptions())
    assert [wanted.names_only for wanted in asked] == [False, False, True]
    assert asked[-1] == Wanted(names_only=True)
