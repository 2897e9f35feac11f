"""C text through libclang: facts against what compiled code says, types as debug information spells them."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from layoutlint.errors import ReadError
from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Source, Struct
from layoutlint.model.target import target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import parse
from tests.harness.outside_words import system_words, words_of
from tests.oracles.c_probe import compile_c, need

ALL = Wanted(everything=True)


def read(
    folder, text: str, *flags: str, wanted: Wanted = ALL, name: str = "text.h", with_marks: bool = False
) -> dict[str, Struct]:
    path = folder / name
    path.write_text(text)
    reading = clang.read(str(path), wanted, ReadOptions(flags=flags, with_marks=with_marks))
    assert reading.unread == ()
    return {struct.name: struct for struct in reading.structs}


MEMBERS = [
    # members of a struct, what compiled code is asked for
    "char c; int i; short s; long long ll;",
    "_Bool b; long double ld; __int128 i128; double d; float f;",
    "struct { int a; char b; }; int after;",
    "union { int a; char b[7]; struct { short x, y; }; } u; char z;",
    "struct tagged { int a; } one, two[3]; struct tagged *p;",
    "char c; enum { A, B = 1 << 20 } e; enum small { S } s;",
    "char c; int (*call)(int, void *); void (*table[4])(void);",
    "char grid[3][5]; int last[];",
    "int n; struct { char a; long b; } tail[0];",
    "_Atomic int a; _Atomic(long) b; volatile const char *p;",
    "char c; int i __attribute__((packed)); char d; long l __attribute__((aligned(64)));",
    "size_t n; va_list list; ptrdiff_t d; max_align_t most;",
    "char c; vec v;",
    "u64 a; name n; names ns; char c; fun *f;",
]
PREAMBLE = """
#include <stddef.h>
#include <stdarg.h>
typedef float vec __attribute__((vector_size(16)));
typedef unsigned long u64;
typedef char name[16];
typedef name names[3];
typedef int fun(const char *, int);
"""
ATTRIBUTES = ["", "__attribute__((packed))", "__attribute__((aligned(128)))", "__attribute__((packed, aligned(4)))"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_sizes_and_offsets_are_the_compilers(tmp_path, compiler, attributes):
    text = PREAMBLE + "".join(
        f"struct s{number} {{ {members} }} {attributes};\n" for number, members in enumerate(MEMBERS)
    )
    structs = read(tmp_path, text, wanted=Wanted(frozenset(f"s{n}" for n in range(len(MEMBERS)))))
    asked = []
    for struct in structs.values():
        asked.append((f"sizeof(struct {struct.name})", (struct.bit_size or 0) // 8))
        asked.append((f"_Alignof(struct {struct.name})", struct.align))
        for place in Layout(struct).places:
            path = place.path
            asked.append((f"__builtin_offsetof(struct {struct.name}, {path})", place.offset))
            if not place.field.is_flexible:
                asked.append((f"sizeof(((struct {struct.name} *)0)->{path})", place.size))
    prints = "".join(f'\tprintf("%zu\\n", (size_t){expression});\n' for expression, _ in asked)
    program = compile_c(compiler, f"#include <stdio.h>\n{text}int main(void)\n{{\n{prints}\treturn 0;\n}}\n", tmp_path / "ask")
    message = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    differing = [(expression, ours, theirs) for (expression, ours), theirs in zip(asked, message, strict=True) if str(ours) != theirs]
    assert differing == []
    assert len(structs) == len(MEMBERS)


ALIGNED = """#define LINE (1 << 6)
enum { WIDE = 16 };
struct pair { long x, y; };
typedef long often __attribute__((aligned(16)));
struct s { char a; int b __attribute__((aligned(LINE))); long c __attribute__((aligned(4))); const char *d;
struct { int i; } e __attribute__((aligned(32))); long f __attribute__((packed, aligned(4)));
often g; often h __attribute__((aligned(8))); char i[3] __attribute__((aligned(8))); _Alignas(32) char j;
char k __attribute__((aligned(__alignof__(long long)))); _Alignas(double) char l; _Alignas(WIDE) char m;
char n __attribute__((aligned(sizeof(struct pair)))); char o __attribute__((aligned(WIDE > 8 ? 4 * WIDE : 8)));
_Alignas(struct pair) _Alignas(4) char p; char q __attribute__((aligned(sizeof(struct pair *) << 2)));
char r __attribute__((aligned(1UL << __builtin_ctz(WIDE)))); char s __attribute__((aligned)); };
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_alignments_of_members_are_the_compilers(tmp_path, compiler):
    ours = {field.name: field.align for field in read(tmp_path, ALIGNED, with_marks=True)["s"].fields}
    prints = "".join(f'printf("%zu ", __alignof__(((struct s *)0)->{name}));' for name in ours)
    program = compile_c(compiler, f"#include <stdio.h>\n{ALIGNED}int main(void) {{ {prints} }}\n", tmp_path / "ask")
    message = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert list(ours.values()) == [int(number) for number in message]


@pytest.mark.parametrize(("with_marks", "parses", "align"), [(False, 1, None), (True, 3, 16)])
def test_alignments_by_types_are_evaluated_for_other_orders_only(tmp_path, monkeypatch, with_marks, parses, align):
    """They take the time of parsing the unit, each once."""
    units = []
    parse_unit = parse.parse_unit
    monkeypatch.setattr(parse, "parse_unit", lambda lib, unit, *rest: units.append(unit) or parse_unit(lib, unit, *rest))
    attribute = "__attribute__((aligned(__alignof__(long double))))"
    fields = f"char a; char b {attribute}; char c {attribute}; _Alignas(long) char d;"
    struct = read(tmp_path, f"struct s {{ {fields} }};\n", with_marks=with_marks)["s"]
    assert (len(units), struct.fields[1].align) == (parses, align)


BITS = "struct bits { unsigned a : 3; int : 5; signed b : 9; unsigned : 0; long c : 40; _Bool d : 1; char e; }"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("attributes", ["", "__attribute__((packed))"])
def test_bits_are_the_compilers(tmp_path, compiler, attributes):
    text = f"{BITS} {attributes};\n"
    struct = read(tmp_path, text)["bits"]
    ours = [(f.name, f.bit_offset, f.bit_size) for f in struct.fields if f.is_bitfield]
    probes = "".join(
        f"\t{{ struct bits b; memset(&b, 0, sizeof b); b.{name} = -1; show((void *)&b); }}\n" for name, _, _ in ours
    )
    program = compile_c(compiler, (
        f"#include <stdio.h>\n#include <string.h>\n{text}"
        "static void show(unsigned char *p) { int first = -1, n = 0; for (int i = 0; i < 8 * (int)sizeof(struct bits); i++)"
        " if (p[i / 8] >> i % 8 & 1) { if (first < 0) first = i; n++; } printf(\"%d %d\\n\", first, n); }\n"
        f"int main(void)\n{{\n{probes}\treturn 0;\n}}\n"
    ), tmp_path / "ask")  # fmt: skip
    message = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [f"{offset} {size}" for _, offset, size in ours] == message
    assert [name for name, _, _ in ours] == ["a", "b", "c", "d"]


SPELLED = [
    # declaration of m, its type
    ("unsigned long m", "long unsigned int"),
    ("long long m", "long long int"),
    ("unsigned char m", "unsigned char"),
    ("signed char m", "signed char"),
    ("unsigned short m", "short unsigned int"),
    ("unsigned __int128 m", "__int128 unsigned"),
    ("_Bool m", "_Bool"),
    ("double _Complex m", "complex double"),
    ("u32 m", "u32"),
    ("struct other *m", "struct other *"),
    ("const struct other *m", "const struct other *"),
    ("struct other *const m", "struct other * const"),
    ("char *const *m", "char * const *"),
    ("u32 m[4][2]", "u32[4][2]"),
    ("char m[]", "char[]"),
    ("int (*m)[4]", "int (*)[4]"),
    ("int (*m[4])(void)", "int (*[4])(void)"),
    ("int (*m)(struct other *, unsigned, ...)", "int (*)(struct other *, unsigned int, ...)"),
    ("int (*m)()", "int (*)()"),
    ("int (*m)(u32 [4], name, char *[], char **[2])", "int (*)(u32 *, char *, char **, char ***)"),
    ("int (*m)(const name, const int, char *const)", "int (*)(const char *, const int, char * const)"),
    ("int (*m)(int (u32), va)", "int (*)(int (*)(u32), struct __va_list_tag *)"),
    ("void (*m)(int (*)(u32))", "void (*)(int (*)(u32))"),
    ("struct { int a; } m", "struct {...}"),
    ("union { int a; } m[2]", "union {...}[2]"),
    ("const struct { int a; }", "const struct {...}"),
    ("volatile union { int a; }", "volatile union {...}"),
    ("enum { X } m", "enum {...}"),
    ("enum colour m", "enum colour"),
    ("_Atomic int m", "_Atomic int"),
    ("volatile u32 m", "volatile u32"),
    ("untagged m", "untagged"),
    ("typeof(int *) m", "int *"),
    ("char m __attribute__((vector_size(4)))", "__attribute__((__vector_size__(4 * sizeof(char)))) char"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("declaration", "spelled"), SPELLED, ids=[spelled for _, spelled in SPELLED])
def test_types_are_spelled_as_in_debug_information(tmp_path, declaration, spelled):
    text = f"typedef unsigned u32; typedef char name[4]; typedef __builtin_va_list va; typedef struct {{ int i; }} untagged; enum colour {{ RED }};\nstruct s {{ int first; {declaration}; }};"
    assert str(read(tmp_path, text)["s"].fields[1].type) == spelled


def test_names_of_structs(tmp_path):
    text = """
    typedef struct { int a; } untagged, *pointer;
    typedef struct tagged { struct inner { int b; } in; } tagged_t;
    typedef tagged_t again;
    struct declared;
    struct outer { struct declared *d; };
    """
    names = frozenset(("untagged", "again", "inner", "declared", "nowhere"))
    structs = read(tmp_path, text, wanted=Wanted(names))
    assert {n: (s.aliases, s.bit_size) for n, s in structs.items()} == {
        "untagged": ((), 32), "tagged": (("again",), 32), "inner": ((), 32), "declared": ((), None)
    }  # fmt: skip
    assert set(read(tmp_path, text)) == {"untagged", "tagged", "inner", "outer"}
    assert set(read(tmp_path, text, wanted=Wanted(patterns=("in*", "*_t")))) == {"inner", "tagged"}


def test_places_are_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    struct = read(tmp_path, "\nstruct s {\n\tint a;\n};")["s"]
    assert (struct.source, struct.fields[0].source) == (Source("text.h", 2), Source("text.h", 3))
    assert struct.origin == "text.h"


FLAGS = [
    # flags, size of struct { char c; long l; wchar_t w; enum e { E } e; }
    ((), 24),
    (("-m32",), 16),
    (("-fpack-struct",), 17),
    (("-fshort-enums", "-fshort-wchar"), 24),
    (("-fpack-struct=2", "-fshort-wchar"), 16),
    (("--target=arm-linux-gnueabi",), 16),
    (("-fconserve-stack", "-mindirect-branch=thunk-extern", "-fno-allow-store-data-races"), 24),
    (("-mpreferred-stack-boundary=3", "-Wno-everything", "-Werror", "-O2", "-g3", "-pipe", "-MD", "-MF", "x.d"), 24),
    (("-fplugin=annobin", "--param", "ssp-buffer-size=4"), 24),
    (("-fplugin=/usr/lib/gcc/x86_64-linux-gnu/12/plugin/annobin.so",), 24),
    (("-D", "long=int", "-fms-extensions"), 16),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "size"), FLAGS, ids=[" ".join(flags) or "none" for flags, _ in FLAGS])
def test_flags(tmp_path, flags, size):
    text = "struct s { char c; long l; __WCHAR_TYPE__ w; enum e { E } e; };"
    struct = read(tmp_path, text, *flags)["s"]
    assert (struct.problem, struct.bit_size) == (None, size * 8)


REFUSED = [
    ("-fplugin=randomize_layout_plugin.so", "compiled with -fplugin=randomize_layout_plugin.so, which shuffles fields"),
    *((f"-fplugin={file}", f"compiled with -fplugin={file}, which libclang does not have and which may change layouts") for file in (
        "./scripts/gcc-plugins/stackleak_plugin.so", "annobin.so", "./annobin", "/tmp/usr/lib/gcc/x/12/plugin/annobin.so",
        "/usr/lib/gcc/x/12/plugin/../../../../../../tmp/annobin.so")),
    ("-fplugin=own.so", "compiled with -fplugin=own.so, which libclang does not have and which may change layouts"),
    ("-m31", "compiled with -m31, which libclang does not have and which may change layouts"),
    ("-m96bit-long-double", "compiled with -m96bit-long-double, which libclang does not have and which may change layouts"),
]


@pytest.mark.parametrize(("flag", "problem"), REFUSED)
def test_a_dropped_flag_that_may_change_layouts(tmp_path, flag, problem):
    assert read(tmp_path, "struct s { int a; };", flag)["s"].problem == problem


@pytest.mark.parametrize(("triple", "name"), [
    ("x86_64-linux-gnu", "x86_64"), ("i686-linux-gnu", "i386"), ("aarch64-linux-gnu", "aarch64"), ("arm-linux-gnueabi", "arm"),
    ("armeb-linux-gnueabi", "armeb"), ("powerpc64le-linux-gnu", "powerpc64le"), ("s390x-linux-gnu", "s390x"),
    ("riscv64-linux-gnu", "riscv64"), ("mips64el-linux-gnuabi64", "mips64el"), ("x86_64-linux-gnux32", "x32"),
    ("loongarch64-linux-gnu", "loongarch64"), ("sparc64-linux-gnu", "sparc64"),
])  # fmt: skip
def test_targets(tmp_path, triple, name):
    found = read(tmp_path, "struct s { void *p; };", f"--target={triple}")["s"]
    assert (found.target, found.problem) == (target_named(name), None)


DEEP = "struct s0 { int a; };\n" + "".join(f"struct s{n} {{ struct s{n - 1} in; }};\n" for n in range(1, 2000))
DOUBLED = "struct d0 { char a; int b; };\n" + "".join(f"struct d{n} {{ struct d{n - 1} x, y; }};\n" for n in range(1, 64))
QUOTE = "'"
BAD = [
    # name of the file, content, message
    ("gone.h", None, system_words()),
    ("text.h", DEEP + "struct s { struct s1999 in; };", "line 1936: structs are nested more than 64 deep"),
    ("text.h", DOUBLED + "struct s { struct d30 in; };", "line 16: a struct has more than 65,536 fields at all depths"),
    ("text.cpp", "struct s { int a; };", "is C++; layoutlint reads only C, also in the DWARF of a program"),
    ("compile_commands.json", "{", f"is not a compilation database: {words_of(json.loads, '{')}"),
    ("compile_commands.json", "{}", "is not a compilation database: it holds no list"),
    ("compile_commands.json", "[]", "names no files"),
    ("compile_commands.json", '[{"directory": "/"}]', "entry 1 names no `file`"),
    ("compile_commands.json", '[{"file": "a.c"}]', "entry 1 (a.c) has neither `arguments` nor a `command`"),
    ("compile_commands.json", '[{"file": "a.c", "command": "cc \'"}]', f"entry 1: the command cannot be split: {words_of(shlex.split, QUOTE)}"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "reason"), BAD, ids=[reason for _, _, reason in BAD])
def test_bad_input(tmp_path, name, content, reason):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(ReadError) as caught:
        clang.read(str(path), Wanted(frozenset("s")), ReadOptions())
    assert caught.value.reason == reason


def test_the_servers_structs_of_postgresql(tmp_path):
    folder = "/usr/include/postgresql/15/server"
    header = f"{folder}/storage/proc.h"
    compiler = need("gcc")
    try:
        reading = clang.read(header, Wanted(frozenset(["PGPROC"])), ReadOptions(flags=("-include", "postgres.h", f"-I{folder}")))
    except ReadError as error:
        pytest.skip(f"PostgreSQL's server headers are not installed: {error}")
    [struct] = reading.structs
    prints = "".join(f'\tprintf("%zu\\n", offsetof(PGPROC, {p.path}));\n' for p in Layout(struct).places)
    text = f'#include "postgres.h"\n#include "storage/proc.h"\nint main(void)\n{{\n{prints}\treturn 0;\n}}\n#undef printf\n'
    program = compile_c(compiler, text.replace("int main", "#undef printf\nint printf(const char *, ...);\nint main"), tmp_path / "ask", f"-I{folder}")
    message = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert (struct.problem, [str(p.offset) for p in Layout(struct).places]) == (None, message)


def test_the_ring_of_dpdk():
    folder = "/usr/include/dpdk"
    flags = (f"-I{folder}", "-I/usr/include/x86_64-linux-gnu/dpdk", "-include", "rte_config.h", "-march=corei7")
    try:
        reading = clang.read(f"{folder}/rte_ring.h", Wanted(frozenset(["rte_ring"])), ReadOptions(flags=flags))
    except ReadError as error:
        pytest.skip(f"DPDK's headers are not installed: {error}")
    [struct] = reading.structs
    assert (struct.problem, struct.align) == (None, 64)
    # "each guarded by a line of its own": producer and consumer stand two lines apart.
    assert [p.offset for p in Layout(struct).places if p.path in ("prod", "cons")] == [128, 256]
