"""Where gcc lays out differently than clang: a database that names a gcc gives that gcc's layout.

Random structs are in tools/differential; here is a row for each rule that was found.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.compilers.variants import compilers
from tests.harness.tools import need

COMPILERS = (
    "gcc", "gcc -m32", "i686-linux-gnu-gcc", "arm-linux-gnueabi-gcc", "arm-linux-gnueabihf-gcc", "aarch64-linux-gnu-gcc",
    "mips-linux-gnu-gcc", "s390x-linux-gnu-gcc", "x86_64-w64-mingw32-gcc", "i686-w64-mingw32-gcc", "arm-none-eabi-gcc",
)  # fmt: skip
TYPES = """
typedef int i16 __attribute__((aligned(16)));
typedef int i1 __attribute__((aligned(1)));
typedef long long l16 __attribute__((aligned(16)));
typedef short s32 __attribute__((aligned(32)));
typedef struct { char x[8]; } eight;
typedef _Atomic(eight) atomic;
typedef _Atomic(eight) atomic16 __attribute__((aligned(16)));
typedef volatile int many[8] __attribute__((aligned(32)));
typedef volatile eight loose __attribute__((aligned(2)));
enum small { ONE, TWO };
enum large { LARGE = 1LL << 40 };
"""
ROWS = {
    # the rule: the definition of `struct facts`
    "the last aligned of a struct": "struct __attribute__((aligned(16))) facts { char a; int b; } __attribute__((aligned(8)));",
    "several in one list": "struct facts { char a; int b; } __attribute__((aligned(32), aligned(4)));",
    "the last aligned of a typedef": "typedef int twice __attribute__((aligned(32))) __attribute__((aligned(8))); struct facts { char a; twice b; };",
    "the largest aligned of a member": "struct facts { char a; char b __attribute__((aligned(16))) __attribute__((aligned(4))); };",
    "aligned without a number": "struct facts { char a; char b __attribute__((aligned)); } __attribute__((aligned));",
    "aligned before the definition": "struct __attribute__((aligned(64))) facts; struct facts { char a; int b; };",
    "packed before the definition": "struct __attribute__((packed)) facts; struct facts { char a; int b; };",
    "a bit-field of an aligned type": "struct facts { char a; i16 b : 3; char c; };",
    "an unnamed one": "struct facts { char a; i16 : 21; char c; };",
    "a large alignment behind a large offset": "struct facts { long long a; int b; s32 c : 3; char d; };",
    "a whole one of a type aligned to less": "struct facts { i1 a : 32; char b; };",
    "a whole one at its place": "struct facts { long long a[3]; l16 b : 64; char c; };",
    "packed with pack": "#pragma pack(push, 4)\nstruct facts { char a; long long b : 33; char c; } __attribute__((packed));\n#pragma pack(pop)",
    "a bit-field under pack": "#pragma pack(push, 2)\nstruct facts { char a; int b : 30; int : 0; char c; };\n#pragma pack(pop)",
    "pack that begins inside the braces": "struct facts { char a;\n#pragma pack(push, 1)\nint b; };\n#pragma pack(pop)\n",
    "pack that ends inside the braces": "#pragma pack(push, 1)\nstruct facts { char a; int b;\n#pragma pack(pop)\n#pragma pack()\n};",
    "pack with labels": "#pragma pack(push, a, 2)\n#pragma pack(push, 1)\n#pragma pack(pop, a)\nstruct facts { char a; int b; char c; };",
    "an array of atomic structs": "struct facts { char a; atomic b[2]; char c; atomic d; };",
    "an atomic struct with a qualifier": "struct facts { char a; const atomic16 b; volatile atomic c; };",
    "an array of arrays of qualified elements": "struct facts { char a; many b[2]; };",
    "another qualifier": "struct facts { char a; const many b; many c; };",
    "an array of a qualified type": "struct facts { char a; loose b[2]; loose c; };",
    "atomic integers": "struct facts { char a; _Atomic long long b; char c; _Atomic double d; char e; _Atomic _Bool f; };",
    "wide types in a struct": "struct facts { char a; long long b; char c; double d; char e; long double f; char g; enum large h; };",
    "enums": "struct facts { char a; enum small b; char c; enum small d : 2; };",
    "vectors of floats": "typedef float v2 __attribute__((vector_size(8))); struct facts { char a; v2 b; };",
    "ms_struct": "struct __attribute__((ms_struct)) facts { char a : 3; int b : 5; char c : 2; short d __attribute__((aligned(16))); };",
    "ms_struct with packed": "struct __attribute__((ms_struct, packed)) facts { char a : 3; int b : 5; int c : 30; char d; };",
    "gcc_struct": "struct __attribute__((gcc_struct)) facts { char a : 3; int b : 5; char c : 2; short d; };",
    "bit-fields": "struct facts { char a : 3; int b : 5; char c : 2; long long d : 33; int : 0; short e; unsigned : 3; char f; };",
    "a union of bit-fields": "struct facts { char a; union { int b : 5; char c; long long : 3; } u; union { char d; short : 9; } v; };",
    "storage order": 'struct facts { char a; int b; short c; } __attribute__((scalar_storage_order("big-endian")));',
    "an array of a volatile type aligned above its size": "typedef volatile int v16 __attribute__((aligned(16))); struct facts { char a; v16 b[3]; v16 c; };",
    "the same of atomic elements": "typedef _Atomic(float) f32 __attribute__((aligned(32))); typedef f32 g; struct facts { char a; g b[2][2]; f32 c; };",
    "an array of a type that is aligned twice": "typedef short s1 __attribute__((aligned(8))) __attribute__((aligned(1))); struct facts { char a; s1 b[3]; };",
    "a typedef of such an array": "typedef volatile int v16 __attribute__((aligned(16))); typedef v16 four[4]; struct facts { char a; four b; };",
    "an alignment of long double": "struct facts { char a; _Alignas(long double) char b; char c __attribute__((aligned(__alignof__(long double)))); };",
    "a size of a type on which both agree": "struct facts { char a[sizeof(struct { int x; char y; })]; int b : sizeof(enum large) + _Alignof(int); int c; };",
    "the size of a pointer to itself": "struct in { struct in *n; char a[60 - sizeof(struct in *)]; }; typedef struct facts self; struct facts { char c; struct in d; char e; struct in f[2]; int g __attribute__((aligned(sizeof(self *)))); };",
    "aligned of an enum": "enum __attribute__((aligned(16))) e { A, B }; enum f { C = 1LL << 40 } __attribute__((aligned(1))); struct facts { char a; enum e b; char c; enum f d; struct { enum e e; } f; };",
    "pack with a macro": "#define N 2\n#pragma pack(N)\nstruct facts { char a; int b; };",
    "pack by an operator": "#define N 2\n_Pragma(\"pack(N)\")\n#pragma /* x */ pack \\\n (N)\nstruct facts { char a; int b; };",
    "a label that is a macro": "#define N 2\n#pragma pack(push, 4)\n#pragma pack(push, N)\nstruct facts { char a; double b; };",
    "the end of a label that is a macro": "#define N 2\n#pragma pack(push, N, 1)\n#pragma pack(push, 2)\n#pragma pack(pop, N)\nstruct facts { char a; int b; };",
    "the end of an unknown label": "#pragma pack(push, a, 1)\n#pragma pack(push, b, 2)\n#pragma pack(pop, c)\nstruct facts { char a; int b; };",
    "the end with a number": "#pragma pack(push, 1)\n#pragma pack(pop, 2)\nstruct facts { char a; int b; };",
    "pack with a bad number": "#pragma pack(push, 2)\n#pragma pack(3)\n#pragma pack(push, 32)\n#pragma pack(1 + 1)\nstruct facts { char a; int b; };",
    "pack with comments": "#pragma pack(/* x */ push, /* y, */ 2) // z\nstruct facts { char a; int b; };",
    "pack that is not compiled": "#define N 2\n#pragma pack(push, 1)\n#if 0\n#pragma pack(N)\n#endif\nstruct facts { char a; int b; };",
    "options of another compiler": "#pragma options align=packed\nstruct facts { char a; int b; };",
    "the largest alignment": "#include <stddef.h>\nstruct facts { char a; max_align_t b; };",
    "a size behind a macro": "#define HELD(x) x\n#define AS(x) __attribute__((aligned(sizeof(HELD(x)))))\ntypedef int wide AS(long); typedef int less AS(short);\nstruct facts { char a; wide b; less c[2]; char d AS(struct facts *); };",
    "nested": "struct facts { char a; struct { char b; i16 c : 3; } __attribute__((packed)) d[2]; struct { atomic e; } f; };",
}  # fmt: skip
FLAGS = {
    # flags of gcc: the definition
    "-fpack-struct": "struct facts { char a; int b; short c __attribute__((aligned(8))); int : 0; char d; };",
    "-fpack-struct=2": "struct facts { char a; int b; int : 0; char c; long long d : 40; };",
    "-fshort-enums": ROWS["enums"], "-fno-short-enums": ROWS["enums"],
    "-mms-bitfields": ROWS["bit-fields"], "-malign-double": ROWS["wide types in a struct"],
}  # fmt: skip
_OF_X86 = re.compile(r"-m(?:ms-bitfields|align-double)")
_NUMBER = re.compile(r"\.(?:long|word|4byte)\s+(\d+)$", re.MULTILINE)


def read_facts(folder, command: str, *flags: str, text: str):
    """The struct `facts` of a text, read through a database with a command."""
    (folder / "facts.c").write_text(text)
    entry = {"directory": str(folder), "file": "facts.c", "arguments": [*command.split(), *flags, "-c", "facts.c"]}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    [reading], unread = inputs.read((str(folder / "compile_commands.json"),), Wanted(frozenset({"facts"})), ReadOptions())
    assert unread == []
    return reading, reading.structs[0]


def ask(folder, compiler: str, *flags: str, text: str, paths: list[str]) -> list[int]:
    """Size, alignment and the offsets of fields of `struct facts`, as gcc writes them into its assembler."""
    numbers = ["sizeof(struct facts)", "_Alignof(struct facts)", *(f"__builtin_offsetof(struct facts, {p})" for p in paths)]
    source = folder / "asked.c"
    source.write_text(f"{text}\nunsigned int facts[] = {{ {', '.join(f'1 + {number}' for number in numbers)} }};\n")
    made = subprocess.run([compiler, *flags, "-S", "-o-", str(source)], capture_output=True, text=True, check=True)
    return [int(number) - 1 for number in _NUMBER.findall(made.stdout)]


def assert_as_gcc(folder, command: str, *flags: str, text: str) -> None:
    """The sizes, alignments and offsets are gcc's."""
    compiler, *words = command.split()
    need(compiler, *words, "-c")
    _, struct = read_facts(folder, command, *flags, text=TYPES + text)
    layout = Layout(struct)
    places = [place for place in layout.places if not place.field.is_bitfield]
    theirs = ask(folder, compiler, *words, *flags, text=TYPES + text, paths=[place.path for place in places])
    ours = [layout.size, struct.align, *(place.offset for place in places)]
    assert (struct.problem, ours) == (None, theirs)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("command", COMPILERS)
@pytest.mark.parametrize("rule", ROWS)
def test_gcc_lays_out(tmp_path, command, rule):
    assert_as_gcc(tmp_path, command, text=ROWS[rule])


BARE = (
    "typedef int t __attribute__((aligned)); struct in { char c; } __attribute__((aligned));"
    " struct facts { char a; int b __attribute__((aligned)); char c; t d; char e; struct in f; char g; char h __attribute__((__aligned__)); };"
)


@pytest.mark.parametrize("words", ["gcc -mavx", "gcc -mavx512f", "gcc -march=skylake-avx512", "gcc -m32 -mavx2", "x86_64-linux-gnu-gcc -mavx"])
def test_aligned_without_a_number_is_16_on_x86_whatever_registers_there_are(tmp_path, words):
    assert_as_gcc(tmp_path, words, text=BARE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", range(9, 17))
@pytest.mark.parametrize("flag", ["-mavx", "-mavx512f", "-march=haswell", "-mx32 -mavx"])
def test_aligned_without_a_number_in_each_gcc(tmp_path, version, flag):
    try:
        command = compilers.command(f"gcc-{version}")
    except compilers.kernels.Unavailable as error:
        pytest.skip(str(error))
    theirs = ask(tmp_path, *command, *flag.split(), text=BARE, paths=["d", "h"])
    _, struct = read_facts(tmp_path, f"gcc-{version} {flag}", text=BARE)
    offsets = {each.name: each.bit_offset // 8 for each in struct.fields}
    assert (struct.problem, [struct.bit_size // 8, struct.align, offsets["d"], offsets["h"]]) == (None, theirs)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("command", COMPILERS)
@pytest.mark.parametrize("flag", FLAGS)
def test_gcc_lays_out_under(tmp_path, command, flag):
    if _OF_X86.match(flag) and not re.match(r"gcc|i686|x86_64", command):
        pytest.skip(f"{command} has no {flag}")
    assert_as_gcc(tmp_path, command, flag, text=FLAGS[flag])


FAST = "struct facts { __INT_FAST8_TYPE__ a; __INT_FAST16_TYPE__ b; char c; __UINT_FAST32_TYPE__ d; __INT_FAST64_TYPE__ e; char f[_Generic((__INT_FAST16_TYPE__) 0, int: 1, long: 2, short: 3)]; };"


@pytest.mark.parametrize("command", ["gcc", "i686-linux-gnu-gcc", "aarch64-linux-gnu-gcc", "arm-none-eabi-gcc"])
def test_fast_integers_are_those_of_gcc(tmp_path, command):
    assert_as_gcc(tmp_path, command, text=FAST)


MACROS = (
    "defined __LITTLE_ENDIAN__", "defined __BIG_ENDIAN__", "defined __SSE2__", "defined __MMX__", "defined __i686__", "defined __ILP32__",
    "__FLOAT_WORD_ORDER__ == __BYTE_ORDER__ && __BYTE_ORDER__", "defined __FLOAT_WORD_ORDER__", "defined __FLOAT128__", "__LONG_LONG_WIDTH__ == 64", "defined __POINTER_WIDTH__",
    "defined __SIZEOF_FLOAT80__", "__INT_FAST16_MAX__ > 0xffff", "__UINT_FAST16_MAX__ > 0xffffffff", "__UINT_FAST32_MAX__ == __UINT32_MAX__",
)  # fmt: skip
"""Conditions to which gcc and clang say something else, on one target at least."""
OF_MACROS = "struct facts { char a;\n" + "".join(f"#if {test}\nint b{number}; char c{number};\n#endif\n" for number, test in enumerate(MACROS)) + "};"


@pytest.mark.parametrize("command", [each for each in COMPILERS if "m32" not in each] + ["powerpc-linux-gnu-gcc", "powerpc64le-linux-gnu-gcc", "riscv64-linux-gnu-gcc"])
def test_macros_are_those_of_gcc(tmp_path, command):
    assert_as_gcc(tmp_path, command, text=OF_MACROS)


_TWICE = "struct __attribute__((aligned(16))) __attribute__((aligned(4))) twice { char x; };"
"""Its size is 4 to gcc, and 16 to clang."""
UNKNOWN = {
    # what is not known: (the command, the definition, words of the reason)
    "vectors of 32 bits": ("gcc -m32", "typedef int v2 __attribute__((vector_size(8))); struct facts { char a; v2 b; };", "-mmmx"),
    "vectors of s390x": ("s390x-linux-gnu-gcc", "typedef int v4 __attribute__((vector_size(16))); struct facts { char a; v4 b; };", "processor"),
    "a size": ("gcc", f"{_TWICE} struct facts {{ char a[sizeof(struct twice)]; }};", "sizeof"),
    "a size behind a pointer": ("gcc", f"{_TWICE} struct facts {{ char a[2][sizeof(*(struct twice *)0)]; }};", "sizeof"),
    "a size in an enum": ("gcc", f"{_TWICE} enum {{ X = sizeof(struct twice), Y }}; struct facts {{ char a[Y]; }};", "sizeof"),
    "a size in a typedef": ("gcc", f"{_TWICE} typedef char all[sizeof(struct twice)]; struct facts {{ all a; }};", "sizeof"),
    "a size of what embeds it": ("gcc", f"{_TWICE} struct of {{ struct twice x; }}; struct facts {{ char a[sizeof(struct of)]; }};", "sizeof"),
    "an offset behind it": ("gcc", f"{_TWICE} struct of {{ struct twice x; int y; }}; struct facts {{ char a[__builtin_offsetof(struct of, y)]; }};", "offsetof"),
    "the width of a bit-field": ("gcc", f"{_TWICE} struct facts {{ int a : sizeof(struct twice); }};", "sizeof"),
    "an alignment": ("gcc", f"{_TWICE} struct facts {{ char a; _Alignas(struct twice) int b; }};", "alignment"),
    "an alignment in an attribute": ("gcc", f"{_TWICE} struct facts {{ char a; int b __attribute__((aligned(sizeof(struct twice)))); }};", "sizeof"),
    "elements that gcc rejects": ("gcc", "typedef int i16_ __attribute__((aligned(16))); typedef volatile int v16 __attribute__((aligned(16))); struct facts { i16_ a[2]; v16 b[2]; };", "gcc rejects"),
    "a pragma under a condition": ("gcc", "struct facts { char a;\n#pragma pack(1)\n#if 1\n#pragma pack(2)\n#endif\nint b; };", "#pragma pack"),
    "typeof of an aligned type": ("gcc", "typedef int i16_ __attribute__((aligned(16))); extern i16_ x; struct facts { char a; typeof(x) b; __typeof__((i16_)0) c; };", "typeof"),
    "a pragma with a flag of layouts": ("gcc", '#pragma GCC optimize("short-enums")\nenum e { A }; struct facts { char a; enum e b; };', "#pragma GCC optimize"),
    "what a pragma makes of macros": ("gcc", '#pragma GCC push_options\n#pragma GCC target("avx2")\n#ifdef __AVX2__\nstruct facts { char a; int b; };\n#else\nstruct facts { char a; };\n#endif\n', "__AVX2__"),
}  # fmt: skip


BITS = {
    # a struct that stores its bits in the other order: the definition, with bits as in gcc's DWARF
    "by an attribute": 'struct facts { int a : 3; int b : 7; } __attribute__((scalar_storage_order("big-endian")));',
    "by a pragma": "#pragma scalar_storage_order big-endian\nstruct facts { char x; int a : 3; int b : 7; };",
    "both kinds of bit-fields": "struct __attribute__((gcc_struct)) facts { char a : 3; int b : 5; } __attribute__((ms_struct));",
    "both, the other way": "struct __attribute__((ms_struct)) facts { char a : 3; int b : 5; } __attribute__((gcc_struct));",
}


@pytest.mark.parametrize("row", BITS)
def test_bits_are_where_the_debug_information_of_gcc_has_them(tmp_path, row):
    need("gcc", "-c")
    _, struct = read_facts(tmp_path, "gcc", text=BITS[row])
    with open(tmp_path / "facts.c", "a") as text:
        text.write("struct facts object;\n")
    subprocess.run(["gcc", "-g", "-c", "facts.c"], cwd=tmp_path, check=True, capture_output=True)
    [reading], _ = inputs.read((str(tmp_path / "facts.o"),), Wanted(frozenset({"facts"})), ReadOptions())
    [built] = reading.structs
    assert struct.problem is None
    assert [(f.name, f.bit_offset) for f in struct.fields] == [(f.name, f.bit_offset) for f in built.fields]


@pytest.mark.parametrize("row", UNKNOWN)
def test_what_gcc_does_is_not_known(tmp_path, row):
    command, text, words = UNKNOWN[row]
    _, struct = read_facts(tmp_path, command, text=text)
    assert words in (struct.problem or "")
