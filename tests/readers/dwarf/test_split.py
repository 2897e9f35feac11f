"""Split DWARF: .dwo files and .dwp packages give the structs that the same source gives without them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading
from tests.readers.dwarf.dwarf_file import elf as elf_file
from tests.readers.dwarf.test_dwarf import C, read
from tests.readers.elf.test_elf import tool

TYPES, _, VARIABLES = C.partition("struct in ii;")
ONE = '#include "types.h"\nstruct in ii;' + VARIABLES
TWO = """#include "types.h"
struct own { struct in x; struct all *p; } oo;
struct in f(struct all *a) { in_t local = a->ins[0]; return local; }
int main(void) { return sizeof(struct all); }
"""
NAMES = ("all", "bits", "in_t", "own")
TYPE_UNITS = "-fdebug-types-section"
WAYS = [
    (compiler, version, more) for compiler in ("gcc", "clang") for version in (4, 5) for more in ((), (TYPE_UNITS,))
]


def build(folder: Path, compiler: str, *flags: str) -> str:
    """A program of two units, and the .o and .dwo files beside it."""
    folder.mkdir()
    for name, text in (("types.h", TYPES), ("one.c", ONE), ("two.c", TWO)):
        (folder / name).write_text(text)
    for arguments in (("-c", "one.c"), ("-c", "two.c"), ("one.o", "two.o", "-o", "program")):
        subprocess.run([tool(compiler), "-w", *flags, *arguments], cwd=folder, check=True)
    return str(folder / "program")


def facts_of(reading: Reading) -> list[str]:
    """All that is known of each struct; units may be met in another order."""
    return sorted(f"{s.name} {s.bit_size} {s.align} {s.source} {s.aliases} {s.fields}" for s in reading.structs)


def assert_same(plain: str, split: str) -> None:
    for names, everything in ((NAMES, False), ((), True)):
        found = read(split, *names, everything=everything)
        assert found.unread == ()
        assert facts_of(found) == facts_of(read(plain, *names, everything=everything))
        assert len(found.structs) > 3


@pytest.fixture(scope="module", params=WAYS, ids=[f"{way[0]} {way[1]} {' '.join(way[2])}" for way in WAYS])
def ways(request, tmp_path_factory):
    """The program without and with split DWARF, and a folder for what becomes of it."""
    compiler, version, more = request.param
    folder = tmp_path_factory.mktemp("split")
    flags = (f"-gdwarf-{version}", *more)
    return build(folder / "plain", compiler, *flags), build(folder / "split", compiler, *flags, "-gsplit-dwarf"), version


@pytest.mark.one_in(3)
def test_dwo_files(ways):
    plain, split, _ = ways
    assert_same(plain, split)


def test_object_files(ways):
    plain, split, _ = ways
    for name, count in (("one.o", 3), ("two.o", 2)):
        found, other = (read(str(Path(program).parent / name), *NAMES) for program in (split, plain))
        assert found.unread == ()
        assert facts_of(found) == facts_of(other)
        assert len(found.structs) >= count


@pytest.mark.one_in(2)
@pytest.mark.parametrize("maker", ["dwp", "llvm-dwp"])
def test_packages(ways, tmp_path, maker):
    plain, split, version = ways
    if (maker, version) == ("dwp", 5):
        pytest.skip("dwp of binutils packs DWARF 4 only")
    alone = shutil.copy(split, tmp_path / "program")
    done = subprocess.run([tool(maker), "-e", split, "-o", f"{alone}.dwp"], cwd=Path(split).parent, capture_output=True, timeout=20)
    assert done.returncode == 0, done.stderr
    for part in ("one.dwo", "two.dwo"):
        (Path(split).parent / part).rename(tmp_path / f"hidden-{part}")
    try:
        assert_same(plain, str(alone))
    finally:
        for part in ("one.dwo", "two.dwo"):
            (tmp_path / f"hidden-{part}").rename(Path(split).parent / part)
    whole = read(f"{alone}.dwp", *NAMES)
    assert whole.unread == ()
    assert {(s.name, s.bit_size) for s in whole.structs} == {(s.name, s.bit_size) for s in read(plain, *NAMES).structs}


def test_a_dwo_file_by_itself(ways):
    """Layouts are there; the files that declare them are named by the skeleton's line table."""
    plain, split, _ = ways
    found = read(str(Path(split).parent / "one.dwo"), "all", "bits")
    assert found.unread == ()
    for struct_, other in zip(sorted(found.structs, key=str), sorted(read(plain, "all", "bits").structs, key=str), strict=True):
        assert [(f.name, f.bit_offset, f.bit_size, f.type) for f in struct_.fields] == [
            (f.name, f.bit_offset, f.bit_size, f.type) for f in other.fields
        ]


def test_sections_of_the_object_itself(tmp_path):
    """`-gsplit-dwarf=single` leaves the .dwo sections in the object."""
    plain = build(tmp_path / "plain", "clang", "-gdwarf-5")
    split = build(tmp_path / "split", "clang", "-gdwarf-5", "-gsplit-dwarf=single")
    assert_same(plain, split)
    assert facts_of(read(str(tmp_path / "split/one.o"), "all")) == facts_of(read(str(tmp_path / "plain/one.o"), "all"))


def test_other_languages_are_skipped(tmp_path):
    program = build(tmp_path / "c", "gcc", "-g", "-gsplit-dwarf")
    folder = Path(program).parent
    (folder / "three.cc").write_text("struct own { virtual ~own(); int a; }; own::~own() {} own cc;")
    subprocess.run([tool("g++"), "-g", "-gsplit-dwarf", "-c", "three.cc"], cwd=folder, check=True)
    subprocess.run([tool("g++"), "one.o", "two.o", "three.o", "-o", "program"], cwd=folder, check=True)
    found = read(program, "own")
    assert [s.fields[0].name for s in found.structs] == ["x"]
    assert found.notes == ("skipped 1 unit in C++ 14",)


def test_what_is_not_found_is_told_and_the_rest_is_read(tmp_path):
    program = build(tmp_path / "split", "gcc", "-g", "-gsplit-dwarf")
    (tmp_path / "split/two.dwo").unlink()
    found = read(program, *NAMES)
    assert [s.name for s in found.structs] == ["in", "all", "bits"]
    (unread,) = found.unread
    assert "two.dwo (split DWARF) was not found: no " in unread.reason
    assert str(tmp_path / "split/two.dwo") in unread.reason


@pytest.mark.parametrize("version", [4, 5])
def test_a_file_of_another_build(tmp_path, version):
    program = build(tmp_path / "split", "gcc", f"-gdwarf-{version}", "-gsplit-dwarf")
    shutil.copy(tmp_path / "split/one.dwo", tmp_path / "split/two.dwo")
    found = read(program, *NAMES)
    assert [s.name for s in found.structs] == ["in", "all", "bits"]
    (unread,) = found.unread
    assert "two.dwo has the unit id 0x" in unread.reason
    assert unread.reason.endswith(" is the one that belongs to it")


def test_a_skeleton_that_leads_to_a_skeleton(tmp_path):
    """A file in the place of a .dwo that has skeletons itself is none, and leads nowhere."""
    program = build(tmp_path / "split", "gcc", "-g", "-gsplit-dwarf")
    for name in ("one.dwo", "two.dwo"):
        shutil.copy(program, tmp_path / "split" / name)
    found = read(program, *NAMES)
    assert found.structs == ()
    assert all("holds no split DWARF (.debug_info.dwo)" in unread.reason for unread in found.unread)
    assert len(found.unread) == 2
    dwo = read(str(tmp_path / "split/one.dwo"), *NAMES)
    assert dwo.structs == ()
    assert len(dwo.unread) == 2


def pack(tmp_path: Path, index: bytes) -> tuple[str, str]:
    """A program whose package has this index, and no .dwo files beside it."""
    program = build(tmp_path / "split", "gcc", "-gdwarf-4", "-gsplit-dwarf")
    Path(f"{program}.dwp").write_bytes(elf_file({".debug_info.dwo": bytes(40), ".debug_cu_index": index}))
    return program, f"{program}.dwp"


INDEXES = [
    # id, content, what is said
    ("header", b"\2\0\0\0\1", "ends inside its header"),
    ("version", struct.pack("<4I", 3, 1, 1, 2), "has version 3, which is not read"),
    ("cut", struct.pack("<4I", 2, 1, 1, 2), "ends inside its table of 1 units and 1 sections"),
    ("many units", struct.pack("<4I", 2, 8, 0xFFFFFFFF, 0), "ends inside its table of 4294967295 units and 8 sections"),
    ("no columns", struct.pack("<4I", 5, 0, 0xFFFFFFFF, 0), "ends inside its table of 4294967295 units and 0 sections"),
    ("many columns", struct.pack("<4I", 5, 0xFFFFFFFF, 0, 0), "ends inside its table of 0 units and 4294967295 sections"),
    ("many slots", struct.pack("<4I", 5, 1, 1, 0xFFFFFFFF), "ends inside its table of 1 units and 1 sections"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("index", "why"), [row[1:] for row in INDEXES], ids=[row[0] for row in INDEXES])
def test_damaged_indexes(tmp_path, index, why):
    """The package is told of, and the .dwo files are read."""
    program, package = pack(tmp_path, index)
    found = read(program, *NAMES)
    assert [s.name for s in found.structs] == ["in", "all", "bits", "own"]
    assert [unread.reason for unread in found.unread] == [f"{package}: .debug_cu_index {why}"]
    with pytest.raises(ReadError) as raised:
        read(package, *NAMES)
    assert raised.value.reason == f".debug_cu_index {why}"
