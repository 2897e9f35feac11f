"""All that symbol tables show of variables: in objects and linked files of several machines, with and without neighbours.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch, frames, variable_tables, variables
from layoutlint.readers.elf import elf_file, source_files
from layoutlint.readers.elf.symbols import holds_data, read_symbols
from layoutlint.readers.snapshot.decode import decode
from layoutlint.readers.snapshot.encode import encode
from tests.harness.whole import whole_lines
from tests.readers.forms import BTF, COMMANDS, FOLDER
from tests.readers.test_whole_readings import EVERYTHING
from tools.fuzz.seeds import seeds

SEEDS = {seed.name: seed for seed in seeds()}
LINKED = ("gcc-dwarf5", "clang-dwarf4", "clang-s390x", "clang-armeb")


def show_variable(data: Struct) -> str:
    """A variable that is data of its own: where it is, and where its section starts."""
    [section] = data.fields
    [variable] = section.members
    return f"{variable.name} {variable.bit_offset} {variable.bit_size} of {data.address} {data.bit_size} {data.align}"


WANTED = [
    # variables, and how far their neighbours are
    (("hidden", "bits.a", "plain[1].c", "no_such", "packed_*"), 0), (("hidden",), 1), (("hidden", "of_thread", "kept*"), 64),
    (("plain", "zero", "bits"), 16), (("*",), 4096), (("first.mode", "wide", "entries[1]"), 8), (("?ide", "fist"), 1),
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch) -> list[str]:
    """Files of seeds and with all forms, by short names in the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in LINKED:
        Path(name).write_bytes(SEEDS[name].files[0][1])
    for name in COMMANDS:
        Path(name).write_bytes((FOLDER / name).read_bytes())
    return [*LINKED, *COMMANDS]


def test_symbols(files, golden):
    lines: list[str] = []
    for name in files:
        with elf_file.open_elf(name) as image:
            lines += [f"== {name}", *(f"{each.name} {each.address:#x}+{each.size} in {each.section} {each.has_type} {each.is_local} {each.unit}"
                                      for each in read_symbols(image) or ())]  # fmt: skip
            lines += [f"{each.name} {holds_data(each)}" for each in image.headers]
            lines.append(f"adjacent {variables._adjacent_sections(image)}")
            lines += [f"{each.name}() {each.address:#x}+{each.size}" for each in source_files.functions(image)]
            lines.append(f"frames {frames.starts(image)} {frames.sizes(image)}")
    golden("symbols.txt", "".join(f"{line}\n" for line in lines))


def test_tables(files, golden):
    tables, unread = variable_tables.read([*files, "missing", "."], ReadOptions())
    golden("variable-tables.txt", "".join(f"{line}\n" for line in (*whole_lines(tuple(tables)), *whole_lines(tuple(unread)))))


def test_data_and_neighbours(files, golden):
    lines: list[str] = []
    for name in ("gcc-dwarf5", "gcc-dwarf5.o", "clang-i386.o"):
        for names, near in WANTED:
            reading = dispatch.read(name, Wanted(variables=names, near=near), ReadOptions())
            own = [line for line in whole_lines(reading.data or ()) if not line.startswith(" " * 10)]  # without members of variables
            lines += [f"== {name} {names} {near}", *own, *whole_lines(reading.missing_variables), *reading.notes]
        with elf_file.open_elf(name) as image:
            moved = variables.add_misplaced(reading, image, frozenset(((4, 8), (32, 64), (64, 128), (8, 16))), ReadOptions())
            lines += [f"== {name} misplaced", *map(show_variable, moved.misplaced)]
    golden("data.txt", "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("name", ["gcc-dwarf5.o", "clang-i386.o", "gcc.btf"])
def test_snapshots(name, monkeypatch, golden_row):
    """A snapshot of all forms; what is read again has the same text."""
    monkeypatch.chdir(FOLDER)
    assert name in (*COMMANDS, *BTF)
    text = encode(dispatch.read(name, EVERYTHING, ReadOptions()), None, lambda file: f"of/{file}")
    golden_row(text)
    assert encode(decode(text.encode(), "x"), None, lambda file: file).replace("snapshot of ", "") == text
