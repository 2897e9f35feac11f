"""What dwz makes of programs: partial units, and a supplementary file that several share."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from tests.readers.dwarf.dwarf_file import Dwarf
from tests.readers.dwarf.test_dwarf import read
from tests.readers.dwarf.test_split import NAMES, assert_same, build, facts_of
from tests.readers.elf.test_elf import tool

HOWS = [(version, more) for version in (4, 5) for more in ((), ("--dwarf-5",), ("--dwarf-5", "-r"))]


def share(folder: Path, version: int, *more: str) -> tuple[str, str]:
    """A program as it was, and one that shares what it has with another in `common.debug`."""
    plain = build(folder / "dwz", "gcc", f"-gdwarf-{version}")
    for name in ("first", "second"):
        shutil.copy(plain, folder / "dwz" / name)
    done = subprocess.run([tool("dwz"), *more, "-m", "common.debug", "first", "second"], cwd=folder / "dwz", capture_output=True, text=True)
    if not (folder / "dwz/common.debug").exists():
        pytest.skip(f"dwz shares nothing here: {done.stderr}")
    return plain, str(folder / "dwz/first")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("version", "more"), HOWS, ids=[f"{way[0]} {' '.join(way[1])}" for way in HOWS])
def test_supplementary_files(tmp_path, version, more):
    plain, first = share(tmp_path, version, *more)
    assert_same(plain, first)


def test_a_supplementary_file_that_is_not_found(tmp_path):
    _, first = share(tmp_path, 4)
    (tmp_path / "dwz/common.debug").unlink()
    for names, everything in ((NAMES, False), ((), True)):
        (unread,) = read(first, *names, everything=everything).unread
        assert unread.reason.startswith("part of its types is in the supplementary file common.debug (dwz), which was not found: no ")
        assert str(tmp_path / "dwz/common.debug") in unread.reason


def test_a_supplementary_file_by_itself(tmp_path):
    share(tmp_path, 4)
    with pytest.raises(ReadError, match="has partial units only"):
        read(str(tmp_path / "dwz/common.debug"), *NAMES)


UNIT, PARTIAL, STRUCT, IMPORT, END = 1, 2, 3, 4, (0,)
PLANS = {
    UNIT: ("compile_unit", True, ("language:data1",)),
    PARTIAL: ("partial_unit", True, ()),
    STRUCT: ("structure_type", False, ("name:string", "byte_size:data1")),
    IMPORT: ("imported_unit", False, ("import:ref_addr",)),
}
C99, RUST = 12, 28
HEADER = 11


def units(*entries: tuple[tuple[object, ...], ...]) -> bytes:
    first, *rest = (Dwarf(PLANS, (*each, END)) for each in entries)
    return first.file(*(unit.unit for unit in rest))


# Units of 11 bytes and the entries: C or Rust 2, an import 5, a partial root 1, a struct 4, the end 1.
FROM_19 = HEADER + 2 + 5 + 1
IMPORTS = [
    # id, units, the structs found, notes
    ("by C", units(((UNIT, C99), (IMPORT, FROM_19 + HEADER)), ((PARTIAL,), (STRUCT, "s", 4))), ["s"], ()),
    ("by Rust", units(((UNIT, RUST), (IMPORT, FROM_19 + HEADER)), ((PARTIAL,), (STRUCT, "s", 4))), [],
     ("skipped 1 unit in Rust", "skipped 1 partial unit that no unit in C imports")),
    ("by both", units(((UNIT, RUST), (IMPORT, 2 * FROM_19 + HEADER)), ((UNIT, C99), (IMPORT, 2 * FROM_19 + HEADER)),
                      ((PARTIAL,), (STRUCT, "s", 4))), ["s"], ("skipped 1 unit in Rust",)),
    ("by nobody", units(((UNIT, C99), (STRUCT, "t", 4)), ((PARTIAL,), (STRUCT, "s", 4))), ["t"],
     ("skipped 1 partial unit that no unit in C imports",)),
    ("through another", units(((UNIT, C99), (IMPORT, FROM_19 + HEADER)), ((PARTIAL,), (IMPORT, 2 * FROM_19 - 1 + HEADER)),
                              ((PARTIAL,), (STRUCT, "s", 4))), ["s"], ()),
    ("of one another", units(((UNIT, C99), (IMPORT, FROM_19 + HEADER)), ((PARTIAL,), (IMPORT, 2 * FROM_19 - 1 + HEADER)),
                             ((PARTIAL,), (IMPORT, FROM_19 + HEADER), (STRUCT, "s", 4))), ["s"], ()),
]  # fmt: skip


@pytest.mark.parametrize(("content", "names", "notes"), [row[1:] for row in IMPORTS], ids=[row[0] for row in IMPORTS])
def test_partial_units_have_the_language_of_their_importers(tmp_path, content, names, notes):
    (tmp_path / "file").write_bytes(content)
    for found in (read(str(tmp_path / "file"), "s", "t"), read(str(tmp_path / "file"), everything=True)):
        assert [s.name for s in found.structs] == names
        assert (found.unread, found.notes) == ((), notes)


def test_an_import_of_nothing(tmp_path):
    (tmp_path / "file").write_bytes(units(((UNIT, C99), (IMPORT, 5000), (STRUCT, "s", 4))))
    found = read(str(tmp_path / "file"), "s")
    assert [s.name for s in found.structs] == ["s"]
    assert [unread.reason for unread in found.unread] == [f".debug_info+{HEADER + 2:#x}: a reference leaves .debug_info"]


def test_link_time_optimisation_and_dwz(tmp_path):
    plain = build(tmp_path / "lto", "gcc", "-g", "-O2", "-flto")
    shrunk = shutil.copy(plain, tmp_path / "shrunk")
    subprocess.run([tool("dwz"), shrunk], check=True)
    assert read(str(shrunk), *NAMES).unread == ()
    assert facts_of(read(str(shrunk), *NAMES)) == facts_of(read(plain, *NAMES))
