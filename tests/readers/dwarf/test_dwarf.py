"""The DWARF reader on what compilers write: every version and format says the same, in the model's words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dwarf
from layoutlint.readers.elf import elf_file
from tests.readers.elf.test_elf import tool

C = """
#include <stddef.h>
struct in { int q; };
typedef struct in in_t;
typedef in_t again_t;
typedef struct { int a; } bare_t;
typedef bare_t other_t;
typedef volatile struct { int port; } regs_t;
typedef struct in *pointer_t;
typedef union { int i; char c[4]; } word_t;
typedef int pair_t[2];
struct opaque;
typedef struct opaque opaque_t;
enum colour { RED };
struct all {
	unsigned long ul; long long ll; unsigned short us; signed char sc; unsigned char uc; _Bool b;
	long double ld; __int128 i128; unsigned __int128 u128; float f; _Complex double cd;
	enum colour e; enum { A, B } ae;
	const char *const name; struct opaque *o; volatile int v; void *p; const void *cp; char **pp;
	int (*handler)(const struct in *, unsigned long, ...); void (*none)(void); int (*old)();
	void (*(*table[3])(int))(char); int (*rows)[4];
	int m[2][3]; pair_t pairs[3]; in_t ins[2]; struct in *ptrs[2]; opaque_t *t;
	struct { int x; union { int y; char z; }; } in_place;
	struct { bare_t deep; };
	int vector __attribute__((vector_size(16)));
	int none0[0]; char rest[];
};
struct bits { unsigned a:3; unsigned :2; unsigned b:7; unsigned :0; long c:40; _Bool d:1; };
struct in ii; again_t jj; other_t o; regs_t r; pointer_t pp; word_t w; opaque_t *q; struct all al; struct bits bi;
int function(void) { struct local { int a; } l = { 1 }; return l.a; }
"""

TYPES = [
    # path, spelling (GCC's names for base types), dims, aggregate
    ("ul", "long unsigned int", (), None), ("ll", "long long int", (), None), ("us", "short unsigned int", (), None),
    ("sc", "signed char", (), None), ("uc", "unsigned char", (), None), ("b", "_Bool", (), None),
    ("ld", "long double", (), None), ("i128", "__int128", (), None), ("u128", "__int128 unsigned", (), None),
    ("f", "float", (), None), ("cd", "complex double", (), None), ("e", "enum colour", (), None),
    ("ae", "enum {...}", (), None), ("name", "const char * const", (), None), ("o", "struct opaque *", (), None),
    ("v", "volatile int", (), None), ("p", "void *", (), None), ("cp", "const void *", (), None), ("pp", "char **", (), None),
    ("handler", "int (*)(const struct in *, long unsigned int, ...)", (), None), ("none", "void (*)(void)", (), None),
    ("old", "int (*)()", (), None), ("table", "void (* (*[3])(int))(char)", (3,), None), ("rows", "int (*)[4]", (), None),
    ("m", "int[2][3]", (2, 3), None), ("ins", "in_t[2]", (2,), "struct"),
    ("ptrs", "struct in *[2]", (2,), None), ("t", "opaque_t *", (), None), ("in_place", "struct {...}", (), "struct"),
    ("vector", "__attribute__((__vector_size__(4 * sizeof(int)))) int", (), None), ("none0", "int[0]", (0,), None),
    ("rest", "char[]", (None,), None),
]  # fmt: skip

WAYS = [
    # compiler, flags
    *(("gcc", (f"-gdwarf-{version}", *more)) for version in (2, 3, 4, 5) for more in ((), ("-gstrict-dwarf",))),
    *(("clang", (f"-gdwarf-{version}",)) for version in (2, 3, 4, 5)),
    ("gcc", ("-g", "-gdwarf64")),
    ("clang", ("-gdwarf-5", "-gdwarf64")),
    ("gcc", ("-g", "-gz=zlib")),
    ("gcc", ("-gdwarf-4", "-fdebug-types-section")),
    ("gcc", ("-gdwarf-5", "-fdebug-types-section")),
    ("clang", ("-gdwarf-4", "-fdebug-types-section")),
    ("clang", ("-gdwarf-5", "-fdebug-types-section")),
    ("gcc", ("-g", "-O2", "-flto", "-ffat-lto-objects")),
]


def compile_object(tmp_path: Path, compiler: str, *flags: str, text: str = C, name: str = "types") -> str:
    (tmp_path / f"{name}.c").write_text(text)
    command = [tool(compiler), "-c", "-w", *flags, f"{name}.c", "-o", f"{name}.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if done.returncode and ("unknown argument" in done.stderr or "unrecognized" in done.stderr):
        pytest.skip(done.stderr.splitlines()[0])
    assert done.returncode == 0, done.stderr
    return str(tmp_path / f"{name}.o")


def read(path: str, *names: str, **more: object) -> Reading:
    with elf_file.open_elf(path) as image:
        return dwarf.read_elf(image, Wanted(frozenset(names), **more), ReadOptions())  # type: ignore[arg-type]


def one(reading: Reading) -> Struct:
    assert reading.unread == ()
    assert len(reading.structs) == 1, reading.structs
    return reading.structs[0]


@pytest.fixture(scope="module", params=WAYS, ids=[" ".join((way[0], *way[1])) for way in WAYS])
def way(request, tmp_path_factory):
    compiler, flags = request.param
    return compile_object(tmp_path_factory.mktemp("way"), compiler, *flags)


def test_types_are_spelled_alike(way):
    fields = {field.name: field for field in one(read(way, "all")).fields}
    found = [(name, str(fields[name].type), fields[name].dims, fields[name].aggregate) for name, *_ in TYPES]
    assert found == TYPES


def test_an_array_of_arrays_by_typedef(way):
    """gcc writes one array of two dimensions, clang an array of typedefs."""
    pairs = next(field for field in one(read(way, "all")).fields if field.name == "pairs")
    assert (pairs.dims, pairs.bit_size) == ((3, 2), 192)
    assert str(pairs.type) in ("int[3][2]", "pair_t[3]")


def test_nested_members_and_places(way):
    struct = one(read(way, "all"))
    in_place = next(field for field in struct.fields if field.name == "in_place")
    assert shape(in_place.members) == [("x", 0, 32), (None, 32, 32, [("y", 0, 32), ("z", 0, 8)])]
    anonymous = [field for field in struct.fields if field.name is None]
    assert [(str(f.type), shape(f.members)) for f in anonymous] == [("struct {...}", [("deep", 0, 32, [("a", 0, 32)])])]
    assert (str(struct.source), str(struct.fields[0].source)) == ("types.c:15", "types.c:16")
    assert struct.origin == "types.c"


def shape(fields: tuple[Field, ...]) -> list[tuple[object, ...]]:
    return [
        (f.name, f.bit_offset, f.bit_size, shape(f.members)) if f.members else (f.name, f.bit_offset, f.bit_size)
        for f in fields
    ]


def test_bit_fields(way):
    fields = one(read(way, "bits")).fields
    places = [(f.name, f.bit_offset, f.bit_size, f.is_bitfield, f.align) for f in fields]
    assert places == [("a", 0, 3, True, 4), ("b", 5, 7, True, 4), ("c", 64, 40, True, 8), ("d", 104, 1, True, 1)]


NAMES = [
    # asked for, name, aliases, bits
    (("in",), "in", (), 32),
    (("in_t",), "in", ("in_t",), 32),
    (("in", "again_t", "in_t"), "in", ("again_t", "in_t"), 32),
    (("bare_t",), "bare_t", (), 32),
    (("other_t",), "bare_t", ("other_t",), 32),
    (("bare_t", "other_t"), "bare_t", ("other_t",), 32),
    (("regs_t",), "regs_t", (), 32),
    (("word_t",), "word_t", (), 32),
    (("opaque",), "opaque", (), None),
    (("opaque_t",), "opaque", ("opaque_t",), None),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("asked", "name", "aliases", "bits"), NAMES, ids=[" ".join(row[0]) for row in NAMES])
def test_names_and_typedefs(way, asked, name, aliases, bits):
    struct = one(read(way, *asked))
    assert (struct.name, struct.aliases, struct.bit_size) == (name, aliases, bits)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["pointer_t", "pair_t", "local", "colour", "al", "function", "missing", ""])
def test_what_is_no_struct_of_the_file(way, name):
    assert read(way, name).structs == ()


def test_everything(way):
    names = {struct.name for struct in read(way, everything=True).structs}
    assert names == {"in", "bare_t", "regs_t", "word_t", "all", "bits"}


def test_patterns(way):
    assert sorted(s.name for s in read(way, patterns=("b*",)).structs) == ["bare_t", "bits"]


def test_alignment(tmp_path):
    text = """
    typedef int wide_t __attribute__((aligned(16)));
    struct inner { char c; long l; };
    struct packed_inner { char c; long l; } __attribute__((packed));
    struct s { char a; wide_t w; char b __attribute__((aligned(32))); long double d; struct inner i;
               struct packed_inner p; short h[3]; __int128 x; int n __attribute__((aligned(2))); } __attribute__((aligned(64)));
    struct s v;"""
    struct = one(read(compile_object(tmp_path, "gcc", "-g", text=text), "s"))
    assert struct.align == 64
    assert [(f.name, f.align) for f in struct.fields] == [
        ("a", 1), ("w", 16), ("b", 32), ("d", 16), ("i", 8), ("p", 1), ("h", 2), ("x", 16), ("n", 4),
    ]  # fmt: skip
    struct = one(read(compile_object(tmp_path, "clang", "-g", "-m32", text=text.replace("__int128", "long long")), "s"))
    assert {f.name: f.align for f in struct.fields} == {
        "a": 1, "w": 16, "b": 32, "d": 4, "i": 4, "p": 1, "h": 2, "x": 4, "n": 4,
    }  # fmt: skip


@pytest.mark.parametrize(("flags", "size"), [((), 8), (("-m32",), 4)], ids=["64 bits", "32 bits"])
def test_the_type_of_nullptr_has_the_size_of_a_pointer(flags, size, tmp_path):
    """clang states no size of it."""
    text = (
        "typedef __typeof__(nullptr) null_t; struct s { char a; null_t p; null_t two[2]; const null_t q; char b; }; struct s v;"
        f"_Static_assert(sizeof(struct s) == 6 * {size} && _Alignof(null_t) == {size});"
    )
    struct = one(read(compile_object(tmp_path, "clang-16", "-g", "-std=c2x", *flags, text=text), "s"))
    assert [(f.name, f.bit_offset, f.bit_size, f.align) for f in struct.fields[1:4]] == [
        ("p", 8 * size, 8 * size, size), ("two", 16 * size, 16 * size, size), ("q", 32 * size, 8 * size, size),
    ]  # fmt: skip


def link(tmp_path: Path, *objects: str, flags: tuple[str, ...] = ()) -> str:
    command = [tool("ld"), "-r", *flags, *objects, "-o", "all.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return str(tmp_path / "all.o")


def test_one_name_two_definitions(tmp_path):
    """Each stands for itself, with its own place; what several units repeat is one."""
    (tmp_path / "ring.h").write_text("struct shared { int a; };\n")
    texts = {
        "one": '#include "ring.h"\nstruct ring { int a; };\nstruct ring r1; struct shared s1;',
        "two": '#include "ring.h"\n\nstruct ring { long a; };\nstruct ring r2; struct shared s2; struct later *l2;',
        "three": '#include "ring.h"\nstruct later { int a; };\nstruct ring;\nstruct ring *r3; struct later l3; struct shared s3;',
    }
    for everything in (False, True):
        path = link(tmp_path, *(compile_object(tmp_path, "gcc", "-g", text=text, name=name) for name, text in texts.items()))
        names = () if everything else ("ring", "shared", "later")
        found = [(s.name, s.bit_size, str(s.source), s.origin) for s in read(path, *names, everything=everything).structs]
        assert sorted(found) == [
            ("later", 32, "three.c:2", "three.c"),
            ("ring", 32, "one.c:2", "one.c"),
            ("ring", 64, "two.c:3", "two.c"),
            ("shared", 32, "ring.h:1", "one.c"),
        ]


def test_same_place_different_content(tmp_path):
    """A header that the preprocessor gives two meanings: a struct asked for by name is compared in full."""
    (tmp_path / "ring.h").write_text("struct ring { TYPE a; };\n")
    objects = [
        compile_object(tmp_path, "gcc", "-g", text=f'#define TYPE {kind}\n#include "ring.h"\nstruct ring r{n};', name=f"u{n}")
        for n, kind in enumerate(("int", "float"))
    ]
    found = read(link(tmp_path, *objects), "ring").structs
    assert [str(s.fields[0].type) for s in found] == ["int", "float"]


def test_link_time_optimisation_refers_across_units(tmp_path):
    one_c = "struct ring { struct part { int a; } p; } r; int f(void); int main(void) { return f() + r.p.a; }"
    two_c = "struct part2 { int a; }; struct ring2 { struct part2 p; } r2; int f(void) { return r2.p.a; }"
    for name, text in (("one", one_c), ("two", two_c)):
        compile_object(tmp_path, "gcc", "-g", "-O2", "-flto", text=text, name=name)
    subprocess.run([tool("gcc"), "-g", "-O2", "-flto", "one.o", "two.o", "-o", "program"], cwd=tmp_path, check=True)
    found = read(str(tmp_path / "program"), "ring", "ring2", "part")
    assert sorted((s.name, shape(s.fields)) for s in found.structs) == [
        ("part", [("a", 0, 32)]), ("ring", [("p", 0, 32, [("a", 0, 32)])]), ("ring2", [("p", 0, 32, [("a", 0, 32)])]),
    ]  # fmt: skip
    assert found.unread == ()


def test_other_languages_are_counted_not_read(tmp_path):
    (tmp_path / "part.cc").write_text("struct ring { virtual ~ring(); int a; }; ring::~ring() {} ring cc;")
    subprocess.run([tool("g++"), "-g", "-c", "part.cc"], cwd=tmp_path, check=True)
    (tmp_path / "code.s").write_text("nop\n")
    subprocess.run([tool("gcc"), "-g", "-c", "code.s"], cwd=tmp_path, check=True)
    c = compile_object(tmp_path, "gcc", "-g", text="struct ring { int c; } r;", name="plain")
    reading = read(link(tmp_path, c, "part.o", "code.o"), "ring")
    assert [shape(s.fields) for s in reading.structs] == [[("c", 0, 32)]]
    assert reading.notes == ("skipped 1 unit in C++ 14",)
    assert reading.unread == ()


def test_dwz_in_one_file_is_read(tmp_path):
    """Types moved to partial units, which others refer to."""
    (tmp_path / "types.h").write_text(C.split("struct in ii;")[0])
    text = '#include "types.h"\nstruct in f{0}(struct all *a) {{ in_t local = a->ins[{0}]; return local; }}\n'
    objects = [compile_object(tmp_path, "gcc", "-g", text=text.format(n), name=f"u{n}") for n in range(4)]
    before = read(link(tmp_path, *objects), "all", "in_t")
    subprocess.run([tool("gcc"), "-nostdlib", "-Wl,-e,f0", *objects, "-o", "program"], cwd=tmp_path, check=True)
    subprocess.run([tool("dwz"), "program"], cwd=tmp_path, check=True)
    after = read(str(tmp_path / "program"), "all", "in_t")
    assert after.unread == before.unread == ()
    assert {s.name: (s.aliases, s.fields) for s in after.structs} == {s.name: (s.aliases, s.fields) for s in before.structs}
    assert len(after.structs) == len(before.structs) == 2


def test_paths_are_relative_to_the_compilation_directory(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "src" / "ring.h").write_text("struct ring { int a; };\n")
    (tmp_path / "src" / "main.c").write_text('#include "ring.h"\nstruct ring r;\n')
    cases = [
        # directory of the compiler, its file, flags, the struct's file, the unit
        (".", "src/main.c", (), "src/ring.h", "src/main.c"),
        (".", "./src/main.c", ("-I./src/../src",), "src/ring.h", "src/main.c"),
        ("src", "main.c", (), "ring.h", "main.c"),
        ("out", "../src/main.c", (), str(tmp_path / "src/ring.h"), str(tmp_path / "src/main.c")),
        ("out", str(tmp_path / "src/main.c"), (), str(tmp_path / "src/ring.h"), str(tmp_path / "src/main.c")),
    ]
    for folder, file, flags, header, origin in cases:
        for compiler, version in (("gcc", 3), ("gcc", 5), ("clang", 4), ("clang", 5)):
            out = str(tmp_path / "main.o")
            subprocess.run([tool(compiler), f"-gdwarf-{version}", "-c", *flags, file, "-o", out],
                           cwd=tmp_path / folder, check=True)  # fmt: skip
            struct = one(read(out, "ring"))
            assert (struct.source.file, struct.origin) == (header, origin), (compiler, version, folder, file)


def test_a_struct_of_the_compiler_stands_in_no_line(tmp_path):
    """DW_AT_decl_line 0 (DWARF 5, section 2.14), as gcc gives it to what `va_list` is made of."""
    path = tmp_path / "list.c"
    path.write_text("__builtin_va_list list;\n")
    subprocess.run([tool("gcc"), "-g", "-c", path, "-o", tmp_path / "list.o"], check=True)
    struct = one(read(str(tmp_path / "list.o"), "__va_list_tag"))
    assert {struct.source.line, *(field.source.line for field in struct.fields)} == {None}


def test_progress_counts_units(tmp_path):
    seen: list[tuple[str, int, int]] = []
    with elf_file.open_elf(compile_object(tmp_path, "gcc", "-g")) as image:
        dwarf.read_elf(image, Wanted(), ReadOptions(progress=lambda *step: seen.append(step)))
    assert seen == [("reading DWARF", 0, 1), ("reading DWARF", 1, 1)]
