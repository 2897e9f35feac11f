"""ELF access: damaged files first, then targets, build ids, compression and relocation against other tools."""

from __future__ import annotations

import os
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dwarf
from layoutlint.readers.elf import elf_file as elf
from tests.harness.tools import need as tool
from tests.readers.dwarf.dwarf_file import elf as elf_file

INFO = {".debug_info": b"0123456789"}
WHOLE = elf_file(INFO)


def write(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "file.o"
    path.write_bytes(content)
    return str(path)


def compressed_header(kind: int, size: int, body: bytes, sections: int = 1) -> bytes:
    """A file whose .debug_info (or several of them) says that it is compressed (struct Elf64_Chdr)."""
    chdr = kind.to_bytes(4, "little") + bytes(4) + size.to_bytes(8, "little") + (1).to_bytes(8, "little")
    copies = {f".debug_{'info' if number == 0 else number}": chdr + body for number in range(sections)}
    content = bytearray(elf_file(copies))
    table = int.from_bytes(content[40:48], "little")
    for number in range(sections):
        header = table + 64 * (number + 1)
        content[header : header + 4] = content[table + 64 : table + 68]  # all have the first one's name
        content[header + 9] |= 8  # bit 11 of the flags is SHF_COMPRESSED
    return bytes(content)


BAD = [
    # id, content, message
    ("empty", b"", "the file is empty"),
    ("no ELF", b"#!/bin/sh\n" * 9, "damaged or truncated ELF file"),
    ("magic alone", b"\x7fELF", "damaged or truncated ELF file"),
    ("half a header", WHOLE[:40], "damaged or truncated ELF file"),
    ("class 7", WHOLE[:4] + b"\7" + WHOLE[5:], "damaged or truncated ELF file"),
    ("no section headers", WHOLE[:-100], "damaged or truncated ELF file"),
    ("section behind the file", WHOLE[:64] + WHOLE[64 : len(WHOLE) - 3 * 64] + bytes(
        WHOLE[len(WHOLE) - 3 * 64 :].replace((10).to_bytes(8, "little"), (9999).to_bytes(8, "little"))),
     "truncated: section .debug_info ends at 0x274f"),
    ("unknown compression", compressed_header(9, 10, b"x"), "section .debug_info is compressed with method 9"),
    ("half a compression header", elf_file({".zdebug_info": b"ZLIB\0\0"}), "section .zdebug_info does not start with"),
    ("no zlib data", compressed_header(1, 10, b"xyz"), "section .debug_info cannot be decompressed: "),
    ("larger than it can be", compressed_header(1, 1 << 60, b"x"), f"section .debug_info claims {1 << 60} bytes, too"),
    ("other length than it says", compressed_header(1, 10, zlib.compress(b"12345")),
     "section .debug_info holds 5 bytes of the 10 that it claims"),
    ("old compression without its mark", elf_file({".zdebug_info": zlib.compress(bytes(50))}),
     "section .zdebug_info does not start with ZLIB"),
    ("old compression that claims too much", elf_file({".zdebug_info": b"ZLIB\0\0\0\0\0\0\1\0" + zlib.compress(b"12")}),
     "section .zdebug_info holds 2 bytes of the 256 that it claims"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_files(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(ReadError) as raised, elf.open_elf(path) as image:
        image.section(".debug_info")
    assert str(raised.value).startswith(f"{path}: {message}")


def test_no_such_file(tmp_path):
    with pytest.raises(ReadError, match="no such file or directory"), elf.open_elf(str(tmp_path / "none.o")):
        raise AssertionError("opened")


def test_any_cut_ends_in_an_answer(tmp_path):
    """A file cut anywhere: a ReadError, or what was there."""
    for length in range(1, len(WHOLE)):
        try:
            with elf.open_elf(write(tmp_path, WHOLE[:length])) as image:
                image.section(".debug_info")
        except ReadError as error:
            assert error.reason  # noqa: PT017 - any one will do


MACHINES = [
    # e_machine (elf.h), bits, little-endian, target
    (62, 64, True, "x86_64"), (62, 32, True, "x32"), (3, 32, True, "i386"), (183, 64, True, "aarch64"),
    (183, 64, False, "aarch64_be"), (40, 32, True, "arm"), (40, 32, False, "armeb"), (21, 64, True, "powerpc64le"),
    (21, 64, False, "powerpc64"), (20, 32, False, "powerpc"), (22, 64, False, "s390x"), (243, 64, True, "riscv64"),
    (243, 32, True, "riscv32"), (8, 64, False, "mips64"), (8, 64, True, "mips64el"), (8, 32, False, "mips"),
    (8, 32, True, "mipsel"), (258, 64, True, "loongarch64"), (43, 64, False, "sparc64"),
    (0xFFF0, 64, False, "unknown64-be"),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "bits", "little", "target"), MACHINES, ids=[row[3] for row in MACHINES])
def test_targets(tmp_path, machine, bits, little, target):
    with elf.open_elf(write(tmp_path, elf_file(INFO, machine, bits, little, kind=2))) as image:
        assert (image.target.name, image.target.pointer_size, image.target.little_endian) == (target, bits // 8, little)
        assert bool(image.notes) == target.startswith("unknown")
        assert bytes(image.section(".debug_info")) == b"0123456789"


def test_an_unknown_machine_is_named(tmp_path):
    with elf.open_elf(write(tmp_path, elf_file(INFO, machine=0xFFF0))) as image:
        assert image.notes == ("machine number 65520 is not known: assuming cache lines of 64 bytes",)


@pytest.mark.parametrize(("sections", "dwarf", "btf", "kernel"), [
    ({}, False, False, False),
    ({".debug_info": b""}, False, False, False),
    ({".debug_info": b"x"}, True, False, False),
    ({".zdebug_info": b"x"}, True, False, False),
    ({".debug_info.dwo": b"x"}, True, False, False),
    ({".BTF": b"x"}, False, True, False),
    ({".BTF": b"x", ".modinfo": b"license=GPL\0"}, False, True, True),
    ({"___ksymtab_gpl+kfree": b"x"}, False, False, True),
    ({".debug_info": b"x", ".init.text": b"x"}, True, False, False),
])  # fmt: skip
def test_what_a_file_has(tmp_path, sections, dwarf, btf, kernel):
    with elf.open_elf(write(tmp_path, elf_file(sections))) as image:
        assert (image.has_dwarf, image.has_btf, image.is_kernel) == (dwarf, btf, kernel)
        assert image.section(".nothing") is None


SOURCE = "struct ring { long head, tail; } r; int main(void) { return r.head; }\n"


def build(tmp_path: Path, *flags: str, compiler: str = "gcc", name: str = "built", text: str = SOURCE) -> str:
    path, out = tmp_path / "ring.c", tmp_path / name
    path.write_text(text)
    subprocess.run([tool(compiler), "-g", *flags, "-o", str(out), str(path)], check=True, cwd=tmp_path)
    return str(out)


def test_build_id_is_what_the_linker_was_told(tmp_path):
    with elf.open_elf(build(tmp_path, "-Wl,--build-id=0x0123456789abcdef")) as image:
        assert image.build_id == "0123456789abcdef"
        assert isinstance(image.section(".debug_info"), memoryview), "mapped, not copied"
    with elf.open_elf(build(tmp_path, "-Wl,--build-id=none")) as image:
        assert image.build_id is None


def note(order: str, name: bytes, kind: int, content: bytes) -> bytes:
    padded = (part + bytes(-len(part) % 4) for part in (name, content))
    return struct.pack(order + "III", len(name), len(content), kind) + b"".join(padded)


@pytest.mark.parametrize("order", "<>")
def test_the_first_build_id_among_notes(order):
    own, other = note(order, b"GNU\0", 3, b"\xab\xcd\xef"), note(order, b"GNU\0", 3, b"\1")
    before = note(order, b"Linux\0", 3, b"abcd") + note(order, b"GNU\0", 1, b"x")
    assert elf.gnu_build_id(before + own + other, order) == "abcdef"
    for cut in range(12 + 4 + 3):
        assert elf.gnu_build_id(before + own[:cut], order) is None


@pytest.mark.parametrize("how", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_sections_are_the_plain_ones(tmp_path, how):
    plain = build(tmp_path, "-c", name="plain.o")
    small = str(tmp_path / "small.o")
    subprocess.run([tool("objcopy"), f"--compress-debug-sections={how}", plain, small], check=True)
    assert os.path.getsize(small) != os.path.getsize(plain)
    with elf.open_elf(plain) as first, elf.open_elf(small) as second:
        for name in (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line"):
            assert bytes(first.section(name)) == bytes(second.section(name)), name
        assert second.has_dwarf


TARGETS = ["x86_64", "i386", "aarch64", "armv7", "powerpc64", "powerpc64le", "s390x", "mips", "loongarch64"]


def write_for_target(tmp_path: Path, target: str, text: str = SOURCE) -> str:
    flags = (f"--target={target}-linux-gnu", "-c", "-gdwarf-4")
    try:
        return build(tmp_path, *flags, compiler="clang", text=text)
    except subprocess.CalledProcessError:
        pytest.skip(f"this clang does not compile for {target}")


@pytest.mark.parametrize("target", TARGETS)
def test_relocation_is_what_pyelftools_does_one_by_one(tmp_path, target):
    path = write_for_target(tmp_path, target)
    with open(path, "rb") as file, elf.open_elf(path) as image:
        theirs = ELFFile(file).get_dwarf_info()
        for name, section in ((".debug_info", theirs.debug_info_sec), (".debug_line", theirs.debug_line_sec)):
            assert bytes(image.section(name)) == section.stream.getvalue(), name


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", [*TARGETS, "riscv64", "riscv32", "sparc64", "mips64", "powerpc"])
def test_strings_are_found_through_relocation(tmp_path, target):
    """Thread-local addresses, which no layout depends on, are passed over."""
    path = write_for_target(tmp_path, target, "__thread int local; " + SOURCE)
    with elf.open_elf(path) as image:
        reading = dwarf.read_elf(image, Wanted(frozenset({"ring"})), ReadOptions())
    assert [(s.name, [str(f.source) for f in s.fields]) for s in reading.structs] == [("ring", ["ring.c:1"] * 2)]
    assert reading.unread == ()


def test_notes_that_overlap_are_refused(tmp_path):
    """Two thousand headers that mean the same megabyte of notes, each of which would be searched for a build id."""
    content = bytearray(elf_file({".note.x": bytes(1 << 20)}))
    table = int.from_bytes(content[40:48], "little")
    content[60:62] = (3 + 2000).to_bytes(2, "little")
    path = write(tmp_path, bytes(content) + bytes(content[table + 64 : table + 128]) * 2000)
    with elf.open_elf(path) as image, pytest.raises(ReadError, match="its 2001 notes are larger than the file"):
        assert image.build_id
