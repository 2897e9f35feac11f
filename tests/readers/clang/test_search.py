"""What a text seems to define, told without a parser; and which of several headers of a kernel is right."""

from __future__ import annotations

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.include_graph import computed_includes, included_names, names_in_macros
from tests.harness.pace import limit_time
from tests.readers.clang.test_inputs import lay, plain_headers

TEXTS = [
    # text, names that it must give, names that it must not
    ("struct a { int b; };", {"a"}, {"b"}),
    ("struct __attribute__((packed)) a\n{\n\tint b;\n};", {"a"}, {"b"}),
    ("context_lock_struct(a) {\n\tint b;\n};", {"a"}, {"b"}),
    ("typedef struct { int b; } a_t;", {"a_t"}, {"b"}),
    ("\ttypedef struct a {\n\t\tunion { int b; } c;\n\t} a_t, *a_ptr;", {"a", "a_t", "a_ptr"}, {"b", "c"}),
    ("typedef union {\n\tint *b;\n} a_t __attribute__ ((__transparent_union__));", {"a_t"}, {"b"}),
    ("typedef struct {\n\tint b;\n} __attribute__((aligned(sizeof(long)))) a_t;", {"a_t"}, {"b", "aligned", "long"}),
    ("typedef struct {\n\tint b;\n} __aligned(8) a_t; /* d */", {"a_t"}, {"b", "__aligned", "d"}),
    ("typedef struct a a_t;", {"a_t"}, {"a"}),
    ("typedef const struct a a_t __attribute__((may_alias));", {"a_t"}, {"a"}),
    ("typedef\nstruct a\na_t;", {"a_t"}, {"a"}),
    ("typedef b_t a_t[4];", {"a_t"}, set()),
    ("struct {\n\tint b;\n} __packed a_t;", {"a_t"}, {"b"}),
    ("void f(void)\n{\n}\n\nextern struct a b;", set(), {"a", "b"}),
    ("typedef struct { int b; ", set(), {"b"}),
    ("typedef struct { int b; }", set(), {"b"}),
    ("typedef struct { { { } a_t;", set(), {"a_t"}),
    ("} } } ; typedef ; typedef { } ; typedef typedef", set(), {"a"}),
    ("typedef int (*a_t)(struct b *);\xff\x00", set(), {"b"}),
    ("struct \xc3\xb6dd { int b; };", {"\u00f6dd"}, {"b", "dd"}),
    ("typedef struct { int b; } gr\xc3\xb6\xc3\x9fe_t;", {"gr\u00f6\u00dfe_t"}, {"b"}),
    ("struct caf\xe9 { int b; };", {"caf\udce9"}, {"b"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names", "others"), TEXTS, ids=[text[:40] for text, _, _ in TEXTS])
def test_what_a_text_seems_to_define(text, names, others):
    found = text_search.names_defined(text.encode("latin-1"))
    assert (names - found, others & found) == (set(), set())


@pytest.mark.parametrize(("wanted", "names"), [
    (Wanted(frozenset(("ring", "other"))), {"ring"}),
    (Wanted(frozenset(("other",))), set()),
    (Wanted(patterns=("ri*",)), {"ring"}),
    (Wanted(frozenset(("slot",)), ("r*",)), {"ring", "slot"}),
    (Wanted(frozenset(("other",)), ("r*",)), {"ring"}),
    (Wanted(everything=True), {"ring", "slot"}),
])  # fmt: skip
def test_names_and_patterns_that_a_text_seems_to_define(wanted, names):
    assert text_search.names_in_text(b"struct ring { int a; };\nstruct slot { int b; };\n", wanted) == names


@pytest.mark.one_in(3)
@pytest.mark.parametrize("piece", ["typedef struct {", "} a((", "typedef a(", "struct a ", "}\n", "typedef /*"])
def test_odd_text_is_searched_in_linear_time(piece):
    text = (piece * (200_000 // len(piece))).encode()
    with limit_time(5):
        text_search.names_defined(text)


@pytest.mark.parametrize(("head", "piece"), [
    ("#", "/**/"), ("#define", "/* a */"), ("#define A ", "a"), ("#include A ", "a."), ("#include A ", "a/"), ("#define A ", "\\\n"),
    ("", "#/*"), ("", "# include "), ("", "#define A b.c\n"), ("", "#include A\n"), ("#include", " \\\n"),
])  # fmt: skip
def test_odd_directives_are_searched_in_linear_time(head, piece):
    """Many comments in one took exponential time, and long words the square of their length."""
    text = (head + piece * (200_000 // len(piece)) + "\n").encode()
    with limit_time(2):
        included_names(text), computed_includes(text), list(names_in_macros(text))


def test_builds_of_one_tree_search_each_file_once_for_a_name(tmp_path, monkeypatch):
    read = []
    content = text_search.content
    monkeypatch.setattr(text_search, "content", lambda path: read.append(path) or content(path))
    one, other = (str(tmp_path / name) for name in ("one.h", "other.h"))
    (tmp_path / "one.h").write_text("struct a { int b; };\nstruct c { int d; };\n")
    (tmp_path / "other.h").write_text("struct a { long b; };\n")

    def search(*names):
        read.clear()
        return text_search.definitions([one, other], Wanted(frozenset(names)), stop_when_found=False), [*read]

    assert search("a") == ({"a": [one, other]}, [one, other])
    assert search("a") == ({"a": [one, other]}, [])
    assert search("c") == ({"c": [one]}, [one, other])
    assert search("a", "c", "b") == ({"a": [one, other], "c": [one]}, [one, other])
    assert search("a", "c") == ({"a": [one, other], "c": [one]}, [])
    (tmp_path / "other.h").write_text("struct b { long a; };\n")
    assert search("a", "b") == ({"a": [one], "b": [other]}, [other])
    (tmp_path / "other.h").unlink()
    assert search("a", "b") == ({"a": [one]}, [])


MACHINE = {
    "include/linux/mm.h": "#include <asm/cell.h>\nMAKE(made)\ntypedef unsigned int word_t;\n",
    "include/linux/compiler_types.h": "#define MAKE(name) struct name { int a; };\n",
    "include/linux/a_cell.h": "typedef struct { char small; } cell_t;\n",
    "include/linux/either.h": "struct either { char a; };\n",
    "include/linux/or_else.h": "struct either { long a; };\n",
    "include/linux/other.h": '#error "for another machine"\nstruct twice { gone_t a; };\n',
    "include/linux/this.h": "struct twice { int a; };\n",
    "include/asm-generic/local.h": "typedef struct { char a; } local_t;\n",
    "arch/x86/include/asm/local.h": "typedef struct { long a; } local_t;\n",
    "arch/x86/include/asm/cell.h": "typedef struct { long large; } cell_t;\n",
}
CHOSEN = [
    # name asked for, (name, bits, file) of each definition, notes
    ("cell_t", [("cell_t", 64, "arch/x86/include/asm/cell.h")], ()),
    ("local_t", [("local_t", 64, "arch/x86/include/asm/local.h")], ()),
    ("made", [("made", 32, "include/linux/mm.h")], ()),
    ("either", [("either", 8, "include/linux/either.h"), ("either", 64, "include/linux/or_else.h")], ()),
    ("twice", [("twice", 32, "include/linux/this.h")], ()),
    ("word_t", [], ("word_t, which include/linux/mm.h names, is not a struct or union in this configuration",)),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "structs", "notes"), CHOSEN, ids=[name for name, _, _ in CHOSEN])
def test_which_definition_of_a_kernel_is_taken(tmp_path, name, structs, notes):
    path, _ = plain_headers(tmp_path)
    reading = clang.read(str(lay(path, MACHINE)), Wanted(frozenset([name])), ReadOptions())
    assert [(s.name, s.bit_size, s.source.file) for s in reading.structs] == structs
    assert [s.problem for s in reading.structs] == [None] * len(structs)
    assert reading.notes == notes
