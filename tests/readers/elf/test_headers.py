"""ELF headers: what pyelftools reads from the same files, and damage that costs neither time nor memory."""

from __future__ import annotations

import mmap
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_E_MACHINE, ENUM_SH_TYPE_BASE

from layoutlint.readers.elf import headers
from layoutlint.readers.elf.elf_file import _NAMES, _WIDE_BYTES
from layoutlint.readers.elf.headers import ElfHeaders
from tests.harness.pace import limit_time
from tests.readers.dwarf.dwarf_file import elf as elf_file
from tests.readers.elf.test_elf import TARGETS, build, tool, write_for_target


def parse(path: str | Path) -> ElfHeaders:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return headers.parse(content)


def pyelftools_headers(path: str | Path) -> tuple[object, ...]:
    """Bits, byte order, machine, whether it is an object, and the sections with their types as numbers."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        keys = ("type", "flags", "offset", "size", "link", "info")
        sections = [(s.name, *(s[f"sh_{key}"] for key in keys)) for s in elf.iter_sections()]
        machine = elf["e_machine"]
        return (elf.elfclass, elf.little_endian, ENUM_E_MACHINE.get(machine, machine), elf["e_type"] == "ET_REL",
                [(name, ENUM_SH_TYPE_BASE.get(kind, kind), *more) for name, kind, *more in sections])  # fmt: skip


def agrees(path: str | Path) -> ElfHeaders:
    mine, (*file, theirs) = parse(path), pyelftools_headers(path)
    assert [mine.bits, mine.little_endian, mine.machine, mine.is_relocatable] == file
    assert [(s.name, s.flags, s.offset, s.size, s.link, s.info) for s in mine.sections] == [(s[0], *s[2:]) for s in theirs]
    # Types that belong to a machine have names in other tables of pyelftools.
    assert all(s.type == t[1] for s, t in zip(mine.sections, theirs, strict=True) if isinstance(t[1], int))
    return mine


@pytest.mark.parametrize("target", TARGETS)
def test_objects_of_all_machines(tmp_path, target):
    assert agrees(write_for_target(tmp_path, target)).is_relocatable


@pytest.mark.parametrize("flags", [(), ("-shared", "-fPIC"), ("-static",)])
def test_what_the_linker_makes(tmp_path, flags):
    assert not agrees(build(tmp_path, *flags)).is_relocatable


def test_the_interpreter_itself():
    agrees(Path(sys.executable).resolve())


def test_more_sections_than_the_header_can_count(tmp_path):
    source, path = tmp_path / "many.s", tmp_path / "many.o"
    source.write_text("".join(f'.section s{n},"a"\n.byte 1\n' for n in range(70_000)))
    subprocess.run([tool("as"), str(source), "-o", str(path)], check=True)
    found = parse(path)
    assert len(found.sections) > 70_000
    assert {s.name for s in found.sections} >= {f"s{n}" for n in range(70_000)}


WHOLE = elf_file({".debug_info": b"0123456789"})


def change(at: int, layout: str, value: int) -> bytes:
    content = bytearray(WHOLE)
    struct.pack_into(layout, content, at, value)
    return bytes(content)


BAD = [
    # id, content, message
    ("no magic number", b"\x7fELG" + WHOLE[4:], "the magic number is missing"),
    ("short", WHOLE[:51], "no longer than this"),
    ("cut in the header", WHOLE[:60], "the file ends inside its header"),
    ("class", change(4, "B", 3), "neither of 32 nor of 64 bits"),
    ("byte order", change(5, "B", 0), "neither of 32 nor of 64 bits"),
    ("entry size", change(58, "<H", 40), "section headers of 40 bytes"),
    ("table behind the file", change(40, "<Q", len(WHOLE)), "the section headers at .* lie outside the file"),
    ("table at the end of numbers", change(40, "<Q", (1 << 64) - 1), "the section headers at .* lie outside"),
    ("too many sections", change(60, "<H", 4), "the 4 section headers at .* lie outside the file"),
    ("names in a section that is not there", change(62, "<H", 3), "section names in section 3 of 3"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_damage(tmp_path, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        parse(tmp_path / "file")


@pytest.mark.parametrize(("content", "names"), [
    (change(40, "<Q", 0), []),
    (change(62, "<H", 0), ["", "", ""]),
    (change(62, "<H", 1), ["0123456789", "123456789", ""]),
])  # fmt: skip
def test_names_can_be_missing(tmp_path, content, names):
    (tmp_path / "file").write_bytes(content)
    assert [s.name for s in parse(tmp_path / "file").sections] == names


def test_names_without_end_do_not_take_long(tmp_path):
    """30,000 sections whose names are all in one megabyte without a NUL."""
    content = bytearray(WHOLE[:64])
    names, count = 1 << 20, 30_000
    struct.pack_into("<Q", content, 40, 64 + names)
    struct.pack_into("<HHH", content, 58, 64, count, 1)
    section = struct.pack("<IIQQQQIIQQ", 0, 1, SH_FLAGS.SHF_ALLOC, 0, 64, names, 0, 0, 1, 0)
    (tmp_path / "file").write_bytes(bytes(content) + b"n" * names + section * count)
    with limit_time(2):
        assert {len(s.name) for s in parse(tmp_path / "file").sections} == {256}


LATER = {"EM_LANAI": 244, "EM_VE": 251, "EM_NDS32": 167, "EM_LOONGARCH": 258}
"""Machines that pyelftools may not have, from the registry of the gABI."""


def test_numbers_of_machines():
    """As pyelftools has them; for Alpha, linkers write another number than that of the registry."""
    numbers = {**LATER, **ENUM_E_MACHINE, "EM_ALPHA": 41}
    names = {number: name for number, name in _NAMES.items() if number != 0x9026}
    assert names == {numbers[name]: name for name in names.values()}
    assert {numbers[name]: name for name in _WIDE_BYTES.values()} == _WIDE_BYTES
