"""Object files whose relocations are gone or damaged: said so, never read as if nothing were missing."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from layoutlint.readers.elf import headers
from tests.harness.built import built_once
from tests.oracles.c_probe import need

FIRST = """
struct list { struct list *next_in_list, *previous_in_list; };
struct thing { long long_name_one; int long_name_two[3]; struct list chain; };
struct thing thing;
"""
SECOND = "struct other_one { char name_of_it[7]; struct other_one *another; }; struct other_one *other;\n"
MEMBERS = {
    "list": ["next_in_list", "previous_in_list"],
    "thing": ["long_name_one", "long_name_two", "chain"],
    "other_one": ["name_of_it", "another"],
}
BUILDS = [
    (compiler, *flags.split())
    for compiler in ("gcc", "clang")
    for flags in ("-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -fdebug-types-section", "-gdwarf-5 -fdebug-types-section")
]
RELOCATED = (".debug_info", ".debug_types", ".debug_str_offsets", ".debug_line", ".debug_abbrev", ".debug_aranges",
             ".text", ".eh_frame")  # fmt: skip


def run(*words: str | Path) -> None:
    done = subprocess.run([need(str(words[0])), *map(str, words[1:])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@built_once
def build_object(folder: Path, compiler: str, *flags: str, is_linked: bool = True) -> Path:
    """An object of one unit, or of two that `ld -r` made one file of."""
    for name, text in (("first", FIRST), ("second", SECOND)):
        (folder / f"{name}.c").write_text(text)
        run(compiler, "-g", *flags, "-c", folder / f"{name}.c", "-o", folder / f"{name}.o")
    if not is_linked:
        return folder / "first.o"
    run("ld", "-r", folder / "first.o", folder / "second.o", "-o", folder / "both.o")
    return folder / "both.o"


def members(reading: Reading) -> dict[str, list[str | None]]:
    return {each.name: [field.name for field in each.fields] for each in reading.structs}


def read_everything(path: Path) -> Reading:
    return read(str(path), Wanted(everything=True), ReadOptions())


def is_right_or_refused(path: Path) -> bool | str:
    """Whether all names are right; else the reason that is given. Fails for wrong names without a reason."""
    try:
        reading = read_everything(path)
    except ReadError as error:
        return error.reason
    if reading.unread:
        return reading.unread[0].reason
    wrong = {name: found for name, found in members(reading).items() if MEMBERS.get(name) != found}
    files = {str(each.source.file) for each in reading.structs if each.source is not None}
    assert not wrong, wrong
    assert len(reading.structs) >= 2
    assert {name.rpartition("/")[2] for name in files} <= {"first.c", "second.c"}, files
    return True


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("build", BUILDS, ids=" ".join)
def test_a_table_that_was_removed(tmp_path, build, is_linked):
    """`objcopy --remove-section`, of each table in turn: where names would be wrong, the file is refused."""
    path = build_object(tmp_path, *build, is_linked=is_linked)
    assert is_right_or_refused(path) is True
    output = {}
    for name in RELOCATED:
        run("objcopy", "--remove-section", f".rela{name}", path, tmp_path / "without.o")
        output[name] = is_right_or_refused(tmp_path / "without.o")
    assert output[".debug_info"] is not True
    assert {output[name] for name in (".debug_abbrev", ".debug_aranges", ".text", ".eh_frame")} == {True}
    if "-gdwarf-4" not in build:
        assert ".debug_line" in str(output[".debug_line"])


@pytest.mark.parametrize("build", BUILDS[:2], ids=" ".join)
def test_the_reason_says_what_to_keep(tmp_path, build):
    path = build_object(tmp_path, *build)
    run("objcopy", "--remove-section", ".rela.debug_info", path, tmp_path / "without.o")
    assert is_right_or_refused(tmp_path / "without.o") == (
        "its .debug_info has no relocation table, and offsets in it are 0 that cannot all be; "
        "compile it anew, or keep `.rela.debug_info`"
    )


@pytest.mark.parametrize("is_linked", [False, True])
def test_addends_that_stand_in_the_section(tmp_path, is_linked):
    """Where an assembler keeps them there (REL), nothing is lost with the table."""
    path = build_object(tmp_path, "gcc", "-m32", "-gdwarf-5", is_linked=False)
    if is_linked:
        (tmp_path / "second.c").write_text(SECOND)
        run("gcc", "-m32", "-g", "-c", tmp_path / "second.c", "-o", tmp_path / "second.o")
        run("ld", "-r", "-m", "elf_i386", path, tmp_path / "second.o", "-o", tmp_path / "both.o")
        path = tmp_path / "both.o"
    run("objcopy", "--remove-section", ".rel.debug_info", "--remove-section", ".rel.debug_line", path, tmp_path / "without.o")
    assert is_right_or_refused(tmp_path / "without.o") is True


@pytest.mark.parametrize("build", BUILDS, ids=" ".join)
def test_tables_that_a_tool_has_carried_out(tmp_path, build):
    """eu-strip writes the offsets into the sections, and drops the tables that are empty then."""
    need("eu-strip")
    path = build_object(tmp_path, *build)
    run("eu-strip", "--reloc-debug-sections", "-f", tmp_path / "x.debug", "-o", tmp_path / "stripped.o", path)
    assert is_right_or_refused(tmp_path / "x.debug") is True


def patch(path: Path, name: str, change: Callable[[dict[str, int], list[str]], None]) -> Path:
    """The file with the header of a section changed; `change` also has the names of all sections."""
    content = bytearray(path.read_bytes())
    start = struct.unpack_from("<Q", content, 40)[0]
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        names = [section.name for section in headers.parse(mapped).sections]
    keys = ("name", "type", "flags", "address", "offset", "size", "link", "info", "align", "entry_size")
    at = start + 64 * names.index(name)
    header = dict(zip(keys, struct.unpack_from("<IIQQQQIIQQ", content, at), strict=True))
    change(header, names)
    struct.pack_into("<IIQQQQIIQQ", content, at, *header.values())
    out = path.with_name("patched.o")
    out.write_bytes(content)
    return out


TABLE = ".rela.debug_info"
DAMAGE = [
    # the section, what of its header, its value (or the name of a section, for its number), reason
    (TABLE, "info", ".text", f"{TABLE} claims to relocate .text"),
    (TABLE, "info", ".debug_line", f"{TABLE} claims to relocate .debug_line"),
    (TABLE, "info", 0, f"{TABLE} claims to relocate section 0"),
    (TABLE, "info", 1000, f"{TABLE} claims to relocate section 1000 of "),
    (TABLE, "type", 9, f"{TABLE} has entries of 24 bytes, not of 16"),
    (TABLE, "type", 1, f"{TABLE} has the type 0x1, which is not that of a relocation table"),
    (TABLE, "type", 0, f"{TABLE} has the type 0x0, which is not that of a relocation table"),
    (TABLE, "type", 8, f"{TABLE} has the type 0x8, which is not that of a relocation table"),
    (TABLE, "type", 0x40000014, f"{TABLE} is in the CREL format, which is not read; build without `--crel`"),
    (TABLE, "entry_size", 0, f"{TABLE} has entries of 0 bytes, not of 24"),
    (TABLE, "entry_size", 12, f"{TABLE} has entries of 12 bytes, not of 24"),
    (TABLE, "link", ".strtab", f"{TABLE} has its symbols in .strtab, which is not a symbol table"),
    (TABLE, "link", ".debug_str", f"{TABLE} has its symbols in .debug_str, which is not a symbol table"),
    (TABLE, "link", 1000, f"{TABLE} has its symbols in section 1000 of "),
    (TABLE, "link", 0, "a relocation at 0x8 points outside"),
    (TABLE, "size", 0, "its .debug_info has no relocation table"),
    (TABLE, "size", 25, "a relocation table of 25 bytes ends inside an entry"),
    (".rela.debug_line", "info", ".debug_info", ".rela.debug_line claims to relocate .debug_info"),
    (".rela.text", "info", ".debug_info", ".rela.text claims to relocate .debug_info"),
    (".symtab", "type", 1, f"{TABLE} has its symbols in .symtab, which is not a symbol table"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("section", "key", "value", "reason"), DAMAGE)
def test_a_header_that_is_damaged(tmp_path, section, key, value, reason):
    path = build_object(tmp_path, "gcc", "-gdwarf-5", "-fno-toplevel-reorder", is_linked=False)
    (tmp_path / "first.c").write_text(FIRST + "int f(void) { return thing.long_name_one; }\n")
    run("gcc", "-g", "-c", tmp_path / "first.c", "-o", path)

    def change(header: dict[str, int], names: list[str]) -> None:
        header[key] = names.index(value) if isinstance(value, str) else value

    assert reason in str(is_right_or_refused(patch(path, section, change)))


def test_relocations_in_the_compact_format_of_llvm(tmp_path):
    (tmp_path / "first.c").write_text(FIRST)
    words = ["-g", "-Wa,--crel,--allow-experimental-crel", "-c", str(tmp_path / "first.c"), "-o", str(tmp_path / "first.o")]
    done = subprocess.run([need("clang-22"), *words], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"clang-22 writes no CREL: {done.stderr.strip()}")
    assert "is in the CREL format, which is not read" in str(is_right_or_refused(tmp_path / "first.o"))


@pytest.mark.exhaustive
def test_more_sections_than_16_bits_count(tmp_path):
    """The symbol table and the tables of relocations lie behind the section 65,280 (SHN_XINDEX)."""
    (tmp_path / "first.c").write_text(FIRST)
    run("gcc", "-g", "-S", tmp_path / "first.c", "-o", tmp_path / "first.s")
    sections = """.altmacro
.macro one number
.section .text.f\\number,"ax",@progbits
nop
.endm
.set i, 0
.rept 66000
one %i
.set i, i + 1
.endr
.text
"""
    (tmp_path / "many.s").write_text(sections + (tmp_path / "first.s").read_text())
    run("gcc", "-c", tmp_path / "many.s", "-o", tmp_path / "many.o")
    assert members(read_everything(tmp_path / "many.o")) == {name: MEMBERS[name] for name in ("list", "thing")}
