"""All that is read of a unit: its structs, each error with its place, and which of them spoil which struct.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import c_units, parse
from layoutlint.readers.clang.cplusplus import _CONSTRUCTS
from tests.harness.repository import write
from tests.harness.whole import inline, whole_lines
from tests.readers.clang.test_problems import FINE, SPOILT

ALL = Wanted(everything=True)
ANNOTATED = Wanted(annotated=True)
NAMED = Wanted(frozenset(("s", "t", "s_t")), with_containers=frozenset(("in",)))
FILES = {
    "part.h": "foo_t b;\n", "good.h": "struct g { int a; };\n", "bad.h": "struct b { gone_t a; };\nstruct fine { int a; };\n",
    "outer.h": '\n#include "bad.h"\n#include "good.h"\nstruct o { struct b b; };\n', "stop.h": '#include "good.h"\n#error "stop here"\n',
    "twice.h": "struct twice { long a; };\n", "deep.h": '#include "outer.h"\n', "config.h.in": "", "known/lib.h": "",
    "layoutlint.h": "", "marked.h": "struct m { int a; /* layoutlint: owner=x */ };\n", "vec.h": "class vec { int a; };\n",
}  # fmt: skip
UNITS = [
    # a text, what is requested, flags
    ("", ALL, ()),
    ("struct s; union u; struct s *p; struct t { struct s *q; };\n", ALL, ()),
    ("struct s; typedef struct t s_t; struct t; struct other;\n", NAMED, ()),
    ("typedef struct { int a; } s_t, t; typedef struct s { int b; } other, *pointer, array[2]; typedef s_t again;\n", NAMED, ()),
    ("typedef struct { int a; } s_t; typedef s_t t; typedef _Atomic(struct s { int c; }) atomic_t; typedef _Atomic s_t s_a;\n", ALL, ()),
    ("struct s { int a; }; struct s { int b; };\nstruct t { struct s in[2]; struct s *p; };\n", ALL, ()),
    ("struct in { long a; }; struct s { struct in i; struct in *p; };\n", NAMED, ()),
    ("struct in { long a; }; struct s { foo struct in i; struct in *p; }; struct t { struct other x; };\n", NAMED, ()),
    ('#include "gone.h"\n#include "more.h"\nstruct s { foo_t a; };\n', ALL, ()),
    ('struct s { int a; };\n#include "gone.h"\nstruct t { int a; };\n', ALL, ()),
    ('#include <sys/gone.h>\n#include "lib.h"\nstruct s { int a; };\n', ALL, ()),
    ('#include "good.h"\n#include "bad.h"\nstruct s { struct b b; struct g g; };\nstruct t { struct fine f; };\n', ALL, ()),
    ('struct s { int a; };\n#include "deep.h"\nstruct t { struct o o; };\n', ALL, ()),
    ('#include "stop.h"\nstruct s { int a; };\n#error again\n', ALL, ()),
    ('struct s { int a; };\n#include "stop.h"\n', ALL, ()),
    ("struct s { int a;\n#include \"part.h\"\n};\nstruct t {\n#include \"twice.h\"\nint z; };\n#include \"twice.h\"\n", ALL, ()),
    ("#warning careful\nstruct s { int a; };\n#pragma pack(3)\nstruct t { int a; };\n#pragma pack(push, 1\nstruct u { int a; };\n#pragma options align=x\n", ALL, ()),
    ("struct s { int a; } __attribute__((aligned(3)));\nstruct t { int a __attribute__((packed, whatever)); } __attribute__((align(4)));\n", ALL, ()),
    ("struct s { int; struct g; enum { A }; struct { int x; }; };\n", ALL, ()),
    ("struct s { int a; } __aligned, *__packed; struct t { int a; } value __aligned(8);\nstatic struct u { int a; } ____cacheline_aligned_in_smp;\n", ALL, ()),
    ("struct s { int a __counted; int b __guarded(x); int c hot, d; int e LAYOUTLINT; };\nLAYOUTLINT(x)\nstruct t { int a LAYOUTLINT(hot); };\n", ALL, ()),
    ("struct s { uint8_t a; size_t b; bool c; FILE *d; ssize_t e; pthread_mutex_t f; none_t g; };\n", ALL, ()),
    ("#ifdef HAVE_CONFIG_H\n#include <config.h>\n#endif\nstruct s { config_t a; };\n", ALL, ()),
    ("#ifdef HAVE_CONFIG_H\n#include <config.h>\n#endif\nstruct s { config_t a; };\n", ALL, ("-DHAVE_CONFIG_H",)),
    ('#include "config.h"\nstruct s { int a; };\n', ALL, ()),
    ("#include <vector>\nstruct s { int a; };\n", ALL, ()),
    ('#include "vec.h"\nstruct s { int a; };\n', ALL, ()),
    ("struct s { int a; };\n", ALL, ("-fnone", "-Wnone", "-mnone")),
    ("struct s { int a; };\n", ALL, ("-fpack-struct=3",)),
    ("struct s { long a; };\n", ALL, ("-fshort-enums", "-m32")),
    ("#ifdef __SSE2__\n#endif\nstruct s { int a; };\n/* __SSE__ */ struct t { char c[__SSE__ + 1]; };\n#if __SSE2__\n#endif\n", ALL, ("-m32",)),
    ("struct s { int a; };\n#if defined __SSE2__ && __SSE3__\n#endif\nstruct t { int a __attribute__((aligned)); };\n", ALL, ("-m32", "-mno-sse3", "-D_X=__SSE__")),
    ("struct s { char c[__SSE2__ + 1]; };\n", ALL, ("-m32", "-D_X=__SSE2__")),
    ("struct s { char c[_X]; };\n", ALL, ("-m32", "-D_X=__SSE2__+1")),
    ('struct s { int a; };\n#include "stop.h"\n', ALL, ("-include", "bad.h")),
    ("struct m { int a; };\nstruct s { foo_t a; /* layoutlint: owner=x */ };\nstruct t { int b; /* layoutlint: owner=x */ };\n", ANNOTATED, ()),
    ('foo_t x;\n#include "marked.h"\nstruct s { int a; /* layoutlint: hot */\n', ANNOTATED, ()),
    ('#include "gone.h"\nfoo_t x;\nstruct s { bar_t a; /* layoutlint: hot */ };\n', ANNOTATED, ()),
    ("foo_t x;\n#error stop\nbar_t y;\nstruct s { int a; /* layoutlint: hot */ };\n", ANNOTATED, ()),
    ("int f(void) { struct s { int a; } x; return x.a; }\n#if 0\nstruct t { int b; };\n#endif\nstruct u { int c; };\n", NAMED, ()),
    ("#define MAKE(n) struct n { int a; }\nMAKE(s); int f(void)\n{ if (1) { struct t { int b; }; } } struct s_t { int c; };\n", NAMED, ()),
    ("int f(void); struct s { int a; }; int g(struct t { int b; } *p); int h(void) { int x; } struct s_t { int c; };\n", NAMED, ()),
    ("struct s a[2], b[2][3], *c[4]; extern struct s d[5], e[]; int f[1], g; struct s { int x; } h[3]; extern int d2[2]; int d2[2]; char t[] = \"abc\";\n",
     Wanted(frozenset(("s",)), arrays=lambda _: True), ()),
    ("struct s { gone_t x; } a[2]; _Atomic int b[4]; struct { long z; } c[2], one; extern int z[9]; static long s[3];\n",
     Wanted(arrays=lambda _: True), ()),
    ("struct s { int a; }; typedef struct { int b; } t; typedef int number; struct o; typedef struct o o_t; union u { struct { int n; } v; struct k { int m; } w; };\n",
     Wanted(names_only=True), ()),
    ("struct s { _Atomic struct { char a[3]; } x; }; struct t { struct { struct s in; } deep; _Atomic int y; };\n", ALL, ()),
    ("struct s { long double a[2]; }; struct t { struct { double b; _Complex long double c; } in; long double *p; };\n", ALL, ("-m32", "-malign-double")),
    ("struct s { int a; } __randomize_layout; struct t { int a; } __attribute__((randomize_layout)); struct u { int a; randomized_struct_fields_start }; union v { int a; } __randomize_layout;\n",
     ALL, ("-D__randomize_layout=", "-Drandomized_struct_fields_start=")),
    ("enum e { A = GONE, B }; struct s { char a[B]; }; struct t { enum e e; }; struct u { char c[sizeof(struct s)]; struct s *p; }; struct v { typeof(struct s) in; };\n", ALL, ()),
    ("typedef gone_t other_t; struct s { other_t a; }; typedef struct s s_t; struct t { s_t *p; int (*f)(s_t); }; struct u { s_t a[2]; };\n", ALL, ()),
    ("struct s { int a;\nstruct t { int b; };\n", ALL, ()),
    ("struct s { int a; }; struct t { int b;\n", ALL, ()),
    ("struct s\n{ int a; int b }; struct t { int c; } x\nstruct u { int d; };\n", ALL, ()),
    ("struct s { struct { foo_t x; } in; union { int a; struct { bar_t y; }; }; };\n", ALL, ()),
    ("struct s { int a : 40; int b[-1]; int c[]; int d; void e; int f(void); };\n", ALL, ()),
    ("struct s { int a; struct s g; };\nunion u { int b; union u c[2]; };\nstruct t { struct v { struct t x; } y; int d; };\nstruct w { struct v z; };\nstruct x { long e; };\n",
     ALL, ()),
]  # fmt: skip


def describe(text: str, wanted: Wanted, words: tuple[str, ...], folder, **changes) -> str:
    (folder / "t.h").write_text(text)
    unit = c_units.unit("t.h", ("-nostdinc", "--target=x86_64-pc-linux-gnu", *words), str(folder), (str(folder),))
    # Advice depends on the machine, and has tests of its own.
    unit = replace(unit, has_given_flags="config.h" in text or "lib.h" in text, **changes)
    try:
        parsed = parse.read(unit, wanted, True)
    except ReadError as error:
        return f"! {error}".replace(str(folder), "FOLDER")
    lines = list(whole_lines(replace(parsed, unit=replace(unit, directory="", roots=()), error_origins=())))[1:]
    lines += [f"{each.file}:{each.line} after {each.directive}: {each.text}" for each in parsed.error_origins]
    facts = ("cause", "warnings", "possible_losses", "names", "hidden", "externs", "doubtful_macros", "variables")
    lines += [f"{name}: {inline(own)}" for name in facts if (own := getattr(parsed, name))]
    return "\n".join(lines).replace(str(folder), "FOLDER")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A repository with headers; each text is its `t.h`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / ".git").mkdir()
    write(folder, FILES)
    return folder


@pytest.mark.parametrize(("text", "wanted", "words"), UNITS, ids=range(len(UNITS)))
def test_units(text, wanted, words, project, golden_row):
    golden_row(describe(text, wanted, words, project))


@pytest.mark.parametrize("number", range(0, len(SPOILT) + len(FINE), 8))
def test_errors(number, project, golden_row):
    texts = [*(text for text, _ in SPOILT), *FINE][number : number + 8]
    golden_row("\n".join(f"== {text!r}\n{describe(text, ALL, (), project)}" for text in texts))


SHUFFLED = (
    "struct s { int a; } __randomize_layout; struct t { int (*f)(void); void (*g)(int); }; struct u { int (*f)(void); }; struct v { int (*f)(void); void *g; };\n"
    "struct w { int (*f)(void); int (*g)(void); } __no_randomize_layout; struct x { struct s in; }; union y { int a; } __randomize_layout;\n"
    "struct z { randomized_struct_fields_start int a; }; typedef struct { int (*f)(void), (*g)(void); } calls;\n"
)
EMPTY_MARKS = ("-D__randomize_layout=", "-D__no_randomize_layout=", "-Drandomized_struct_fields_start=")


@pytest.mark.parametrize("changes", [
    {"shuffling_option": "-fplugin=x"}, {"with_marks": True}, {"problem": "compiled otherwise"}, {"reported_main": "shown.h"}, {},
], ids=repr)  # fmt: skip
def test_builds_that_shuffle(changes, project, golden_row):
    golden_row(describe(SHUFFLED, ALL, EMPTY_MARKS, project, **changes))


@pytest.mark.parametrize("only", [("good.h",), ("bad.h", "outer.h"), ("t.h",)], ids=repr)
def test_the_headers_of_a_source(only, project, golden_row):
    """Only structs and errors of these count; the first is what the source is read for."""
    text = 'struct s { bad_t a; };\n#include "outer.h"\n#include "stop.h"\n'
    subject, *_ = paths = tuple(str(project / name) for name in only)
    golden_row(describe(text, ALL, (), project, subject=subject, only=frozenset(paths)))


def test_a_header_that_a_source_does_not_include(project):
    subject = str(project / "good.h")
    assert describe("struct s { int a; };\n", ALL, (), project, subject=subject, only=frozenset((subject,))) == "! t.h: does not include FOLDER/good.h"


CPLUSPLUS = [
    # a text, the construct of C++ in it
    ("class a { int b; };", "class"), ("class a b : public c { };", "class"), ("class a;", "class"), ("class a b = 1;", None),
    ("namespace a { }", "namespace"), ("namespace a::b { }", "namespace"), ("namespace a;", None),
    ("template <int A> struct s { };", "template"), ("template a;", None), ("using a = int;", "using"), ("using namespace a;", "using"), ("using a b;", None),
    ("struct s { virtual int a(); };", "virtual"), ("struct s { virtual ~s(); };", "virtual"), ("struct s { public: int a; };", "public:"),
    ("struct s { int a; private : int b; };", "public:"), ("struct s { protected: };", "public:"), ("a::b c;", "::"), ("struct s { a :: b c; };", "::"),
    ('extern "C" { int a; }', 'extern "C"'), ('extern "C++" { int a; }', 'extern "C++"'), ('extern "D" int a;', None), ("struct s : t { };", "a base class"),
    ("struct s : public t::u, v { };", "a base class"), ("struct s : 3 + 4;", None), ("int a;", None), ("class_t a;", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "construct"), CPLUSPLUS, ids=[text for text, _ in CPLUSPLUS])
def test_constructs_of_cplusplus(text, construct, project):
    first = describe(f"{text}\n", ALL, (), project).partition("\n")[0]
    refusal = f"! t.h: is a C++ header (it has `{construct}`); layoutlint reads only C, also in the DWARF of a program"
    assert (first == refusal) is (construct is not None)


def test_each_construct_has_a_row():
    assert {name for name, _, _ in _CONSTRUCTS} == {construct for _, construct in CPLUSPLUS if construct}
