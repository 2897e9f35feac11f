"""C text for other machines: the standard's headers without their C library, and sizes as their compilers have them."""

from __future__ import annotations

import shutil

import pytest
from elftools.elf.elffile import ELFFile

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.target import target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.clang import cross_target, flags
from tests.harness.tools import need_c_library
from tests.oracles.c_probe import compile_c

TEXT = """
#include <stdint.h>
#include <stddef.h>
#include <limits.h>
#include <stdbool.h>
struct facts {
	char c; uint64_t wide; char d; size_t n; int8_t e; long l; bool f; double real; char g; long double longest;
	char h; void *p; intmax_t most; char i; uint_fast16_t quick; char j; char many[sizeof(long) * CHAR_BIT];
	struct { uint8_t a; uint32_t b : 7, c : 26; } bits; _Alignas(16) char k; wchar_t character; char end;
};
"""
COMPILERS = {
    # machine: gcc for it, where there is one that differs from clang in nothing
    "i386": ("gcc", "-m32"), "aarch64": ("aarch64-linux-gnu-gcc",), "arm": ("arm-linux-gnueabihf-gcc",),
    "s390x": ("s390x-linux-gnu-gcc",), "riscv64": ("riscv64-linux-gnu-gcc",), "mips": ("mips-linux-gnu-gcc",),
    "powerpc64": ("powerpc64-linux-gnu-gcc",), "powerpc64le": ("powerpc64le-linux-gnu-gcc",),
    "powerpc": ("powerpc-linux-gnu-gcc",), "mips64": ("mips64-linux-gnuabi64-gcc",),
}  # fmt: skip
WANTED = Wanted(frozenset({"facts"}))


def ask(folder, text, compiler, *words, paths) -> list[int]:
    """Size, alignment and the offsets of fields, as an object of this compiler has them."""
    numbers = ["sizeof(struct facts)", "_Alignof(struct facts)", *(f"offsetof(struct facts, {p})" for p in paths)]
    text = f"{text}uint64_t facts[] = {{ {', '.join(numbers)} }};\n"
    with open(compile_c(compiler, text, folder / "facts.o", "-c", "-ffreestanding", *words), "rb") as file:
        elf = ELFFile(file)
        [symbol] = elf.get_section_by_name(".symtab").get_symbol_by_name("facts")
        data = elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :]
        order = "little" if elf.little_endian else "big"
    return [int.from_bytes(data[at * 8 : at * 8 + 8], order) for at in range(len(numbers))]


def read(folder, name: str, **more):
    (folder / "facts.h").write_text(more.pop("text", TEXT))
    return inputs.read((str(folder / "facts.h"),), WANTED, ReadOptions(target=name, **more))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", cross_target.NAMES)
def test_layouts_are_those_of_clang_for_the_machine(tmp_path, name):
    # the fast types are the C library's, and clang knows none
    text = TEXT.replace("uint_fast16_t", "long")
    [reading], unread = read(tmp_path, name, text=text)
    [struct] = reading.structs
    assert (unread, struct.problem, struct.target) == ([], None, target_named(name))
    layout = Layout(struct)
    paths = [place.path for place in layout.places if not place.field.is_bitfield]
    ours = [layout.size, struct.align, *(place.offset for place in layout.places if not place.field.is_bitfield)]
    compiler = "clang-16" if shutil.which("clang-16") else "clang"
    assert ours == ask(tmp_path, text, compiler, *cross_target.target_flags(name), paths=paths)


@pytest.mark.parametrize("name", COMPILERS)
def test_layouts_are_those_of_gcc_for_the_machine(tmp_path, name):
    compiler, *words = COMPILERS[name]
    need_c_library(compiler, *words)
    [reading], _ = read(tmp_path, name)
    layout = Layout(reading.structs[0])
    places = [place for place in layout.places if not place.field.is_bitfield]
    theirs = ask(tmp_path, TEXT, compiler, *words, paths=[place.path for place in places])
    assert [layout.size, layout.struct.align, *(place.offset for place in places)] == theirs


@pytest.fixture
def no_library(monkeypatch):
    """A machine without the C libraries of others."""
    here, isdir = flags.architecture("x86_64", 64), cross_target.os.path.isdir
    monkeypatch.setattr(cross_target.os.path, "isdir", lambda path: here in str(path) and isdir(path))


NOTES = [
    # flags, what is said of headers
    ((), (cross_target.NOTE,)),
    (("-ffreestanding",), ()),
    (("-nostdinc",), ()),
    (("--sysroot=/opt/s390x",), ()),
    (("-isystem", "/opt/include"), ()),
]


@pytest.mark.usefixtures("no_library")
@pytest.mark.parametrize(("words", "notes"), NOTES, ids=[" ".join(words) or "none" for words, _ in NOTES])
def test_what_is_missing_is_said(tmp_path, words, notes):
    [reading], _ = read(tmp_path, "s390x", text="struct facts { int a; };", flags=words)
    assert reading.notes == notes


@pytest.mark.usefixtures("no_library")
def test_headers_of_this_machine_are_not_read_for_another(tmp_path):
    [reading], unread = read(tmp_path, "s390x", text="#include <stdio.h>\nstruct facts { int a; };")
    message = [struct.problem for struct in reading.structs] + [one.reason for one in unread]
    assert message[0].endswith(
        "facts.h:1:10: error: 'stdio.h' file not found; no C library for the target is known; ask its compiler with "
        "`--query-driver NAME`, or name the folder with `-- -isystem DIR` or `--sysroot DIR`"
    )


REFUSED = [
    # what is asked of the input, and why it is none for that
    ({"name": "aarch64", "flags": ("--target=arm-linux-gnueabi",)}, "is for arm, but aarch64 was requested"),
    ({"name": "x86_64", "flags": ("-m32",)}, "is for i386, but x86_64 was requested"),
]


@pytest.mark.parametrize(("asked_for", "why"), REFUSED)
def test_an_input_for_another_machine_is_refused(tmp_path, asked_for, why):
    readings, [unread] = read(tmp_path, **asked_for, text="struct facts { int a; };")
    assert (readings, unread.reason) == ([], why)


NOT_TAKEN = [
    # flags, what is said of the one that libclang has no idea of
    (("--target=bogus-linux-gnu",), "is compiled for the target bogus-linux-gnu, which is not known here"),
    (("-I.", "-target", "bogus", "-DX"), "is compiled for the target bogus, which is not known here"),
    (("-march=nonsense", "-DX", "--target=x86_64-linux-gnu"), "libclang does not take `-march=nonsense`"),
    (("-mabi=ilp32", "-march=rv64gc", "--target=riscv64-linux-gnu"), "libclang does not take `-mabi=ilp32`"),
    (("-std=future",), "libclang does not take `-std=future`; the newest C that it reads is `-std=gnu23`"),
    (("-std=gnu2y",), "libclang does not take `-std=gnu2y`; the newest C that it reads is `-std=gnu23`"),
]


@pytest.mark.parametrize(("words", "named"), NOT_TAKEN, ids=[named for _, named in NOT_TAKEN])
def test_a_flag_that_libclang_does_not_take_is_named(tmp_path, words, named):
    readings, [unread] = read(tmp_path, None, text="struct facts { int a; };", flags=words)
    assert (readings, unread.reason) == ([], named)


CONFIGURED = [
    # options, value of the field's size in bytes, options of the reading
    (None, 1, None),
    (("SMP", "!LOCKDEP"), 8, frozenset({"SMP"})),
    (("!SMP",), 1, frozenset()),
]


@pytest.mark.parametrize(("config", "size", "on"), CONFIGURED)
def test_the_text_sees_its_configuration(tmp_path, config, size, on):
    text = "struct facts { char a[1\n#ifdef CONFIG_SMP\n+ 7\n#endif\n]; };"
    [reading], _ = read(tmp_path, "x86_64", text=text, config=config)
    assert (reading.structs[0].bit_size, reading.config) == (8 * size, on)
