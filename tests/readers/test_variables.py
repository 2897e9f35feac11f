"""Variables of ELF files: of other machines, damaged, in sections of their own; what DWARF says of them."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import MissingVariable, Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.oracles.c_probe import need

CODE = """\
struct pair { long a; int b; };
static struct pair pairs[3] = { { 1, 2 } };
long count = 1;
long zero;
static int *where __attribute__((section("mine"))) = 0;
const long fixed = 5;
_Thread_local long own = 1;
long *use(void) { static long inner = 7; zero++; pairs[1].a++; where++; return &inner + own; }
"""


def variables(path: Path, *names: str) -> Reading:
    return read(str(path), Wanted(variables=names, near=64), ReadOptions())


def build(folder: Path, *command: str, code: str = CODE) -> Path:
    need(command[0])
    (folder / "a.c").write_text(code)
    subprocess.run([*command, "-g", "-O0", "-fno-common", "-c", "-o", folder / "a.o", folder / "a.c"], check=True)
    return folder / "a.o"


def describe(reading: Reading) -> dict[str, tuple[str, int | None, str, int | None]]:
    """Of each variable its section, its size in bytes, its type, and the line at which it is declared."""
    assert reading.data is not None
    return {
        variable.name or "": (part.type.left, (variable.bit_size or 0) // 8, str(variable.type), variable.source and variable.source.line)
        for data in reading.data for part in data.fields for variable in part.members
    }  # fmt: skip


BUILDS = [
    # the compiler, the size of a long
    (("gcc",), 8),
    (("gcc", "-gdwarf-4"), 8),
    (("gcc", "-gdwarf-3"), 8),
    (("clang", "-gdwarf-5"), 8),
    (("clang", "--target=i386-linux-gnu", "-gdwarf-5"), 4),
    (("clang", "--target=i386-linux-gnu", "-gdwarf-4"), 4),
    (("clang", "--target=powerpc-linux-gnu", "-gdwarf-4"), 4),
    (("clang", "--target=s390x-linux-gnu", "-gdwarf-4"), 8),
    (("clang", "--target=aarch64-linux-gnu", "-gdwarf-4"), 8),
]


@pytest.mark.parametrize(("command", "word"), BUILDS, ids=[" ".join(command) for command, _ in BUILDS])
def test_variables_of_any_machine(tmp_path, command, word):
    found = describe(variables(build(tmp_path, *command), "count", "zero", "pairs", "where", "fixed", "own", "inner*"))
    pair = 2 * word if word == 8 else word + 4
    numbered = {name: of for name, of in found.items() if name.startswith(("use.inner", "inner."))}
    assert {name: of for name, of in found.items() if name not in numbered} == {
        "pairs": (".data", 3 * pair, "struct pair[3]", 2), "count": (".data", word, "long int", 3), "zero": (".bss", word, "long int", 4),
        "where": ("mine", word, "int *", 5), "fixed": (".rodata", word, "const long int", 6),
    }  # fmt: skip
    assert [of[0] for of in numbered.values()] == [".data"]


MERGED = """
struct pair { long a; int b; };
static int hits;
static struct pair split;
static long many[4];
int seen;
struct pair whole;
int use(int x) { hits += x; split.a += hits; split.b++; many[x & 3] += split.a; seen++; whole.a++; return hits; }
struct pair *of(void) { return &whole; }
"""
MERGING = [
    # flags of clang: it merges variables by itself, and external ones on demand
    ("--target=aarch64-linux-gnu", "-gdwarf-5"),
    ("--target=aarch64-linux-gnu", "-gdwarf-4"),
    ("--target=aarch64-linux-gnu", "-gdwarf-5", "-mllvm", "-global-merge-on-external"),
    ("--target=arm-linux-gnueabi", "-gdwarf-4", "-Qn"),
    ("--target=arm-linux-gnueabi", "-gdwarf-5"),
]


@pytest.mark.parametrize("flags", MERGING, ids=" ".join)
def test_merged_variables_keep_their_types(tmp_path, flags):
    """LLVM describes them by the address of the first, and a distance; what it takes apart has no type."""
    (tmp_path / "a.c").write_text(MERGED)
    subprocess.run([need("clang"), *flags, "-O3", "-c", "a.c"], cwd=tmp_path, check=True)
    found = describe(variables(tmp_path / "a.o", "hits", "many", "seen", "whole"))
    types = {name: of[2] for name, of in found.items() if not name.startswith("split")}
    assert types == {"hits": "int", "many": "long int[4]", "seen": "int", "whole": "struct pair"}
    assert {of[2] for name, of in found.items() if name.startswith("split")} == {"??"}


def test_a_name_that_is_not_there_has_the_nearest(tmp_path):
    reading = variables(build(tmp_path, "gcc"), "cuont", "zero", "pairs[1].a", "no_such*")
    assert reading.missing_variables == (MissingVariable("cuont", " (did you mean `count`?)", is_of_object=True),)


def test_patterns_match_no_boundaries(tmp_path):
    """`__TMC_END__` of crtend.o is an object without a size in each program: the end of a table, and no variable."""
    need("gcc")
    (tmp_path / "a.c").write_text("long count; int main(void) { return count; }")
    subprocess.run(["gcc", "-g", "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    symbols = subprocess.run(["nm", tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    assert "__TMC_END__" in symbols
    assert {"count", "__dso_handle", "__TMC_END__"} & {*describe(variables(tmp_path / "a", "*"))} == {"count", "__dso_handle"}
    assert "__TMC_END__" in describe(variables(tmp_path / "a", "__TMC_END__"))


def test_without_debug_information_types_are_not_known(tmp_path):
    made = build(tmp_path, "gcc")
    subprocess.run(["strip", "--strip-debug", made], check=True)
    found = describe(variables(made, "count"))
    assert found["count"] == (".data", 8, "??", None)


def test_a_stripped_file_tells_of_none(tmp_path):
    made = build(tmp_path, "gcc", "-fPIC")
    linked = tmp_path / "linked"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", linked, made], check=True)
    subprocess.run(["strip", linked], check=True)
    assert variables(linked, "count").data is None


def _symbol_table(data: bytearray) -> tuple[int, int]:
    """Where the header of .symtab stands in a 64-bit file, and its contents."""
    table, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    for number in range(count):
        at = table + number * size
        if struct.unpack_from("<I", data, at + 4)[0] == 2:
            return at, struct.unpack_from("<Q", data, at + 24)[0]
    raise AssertionError


DAMAGES = [
    # what is changed, where in the header or the table, the format, the value; what is said
    ("a size that is no multiple of an entry", "header", 32, "<Q", 100, "section .symtab ends inside a symbol"),
    ("a table that ends behind the file", "header", 32, "<Q", 24 << 40, "truncated: section .symtab ends at"),
    ("strings in a section that is not there", "header", 40, "<I", 60000, None),
]


@pytest.mark.parametrize(("where", "at", "form", "value", "message"), [d[1:] for d in DAMAGES], ids=[d[0] for d in DAMAGES])
def test_a_damaged_symbol_table(tmp_path, where, at, form, value, message):
    made = build(tmp_path, "gcc", code=CODE)
    subprocess.run(["strip", "--strip-debug", made], check=True)
    data = bytearray(made.read_bytes())
    struct.pack_into(form, data, _symbol_table(data)[0] + at, value)
    made.write_bytes(data)
    if message is None:
        assert variables(made, "count").data is None
        return
    with pytest.raises(ReadError, match=message):
        variables(made, "count")


LIES = [
    # where in an entry, the format, the value; what is said of the variable
    (8, "<Q", 1 << 62, ""),
    (16, "<Q", 1 << 62, ""),
    (0, "<I", 1 << 30, ""),
    (6, "<H", 0xFFF2, " (it is a common symbol, which the linker places: give the linked program)"),
]


@pytest.mark.parametrize(("field", "form", "value", "hint"), LIES)
def test_symbols_that_lie_anywhere_are_left_out(tmp_path, field, form, value, hint):
    made = build(tmp_path, "gcc")
    subprocess.run(["strip", "--strip-debug", made], check=True)
    data = bytearray(made.read_bytes())
    _, entries = _symbol_table(data)
    for number in range(40):  # more than there are: what is behind the table is not read in these builds
        if entries + number * 24 + 24 <= len(data):
            info = struct.unpack_from("<IBBHQQ", data, entries + number * 24)[1]
            if info & 15 == 1:
                struct.pack_into(form, data, entries + number * 24 + field, value)
    made.write_bytes(data)
    reading = variables(made, "count")
    assert (reading.data, reading.missing_variables) == ((), (MissingVariable("count", hint, is_of_object=True),))
