"""Forms in which C defines a struct that no search of the text finds: a database, a folder and a kernel tree
judge what the compiler sees, as the file alone is judged.
"""

from __future__ import annotations

import json

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang

BODY = "{ int a; long b; };"
LONG = f"__attribute__((aligned(8), annotate(\"{'x' * 90}\")))"
FORMS = {
    # form: text of the header that defines rx_ring, with other files
    "plain": (f"struct rx_ring {BODY}", {}),
    "comment before the brace": (f"struct rx_ring /* receive side */ {BODY}", {}),
    "line comment before the brace": (f"struct rx_ring // receive side\n{BODY}", {}),
    "comment before the name": (f"struct /* of a queue */ rx_ring {BODY}", {}),
    "comment like FreeRTOS": ("typedef struct tskRing /* The old name. */\n{ int a; long b; } rx_ring;", {}),
    "attribute in brackets": (f"struct [[gnu::aligned(8)]] rx_ring {BODY}", {}),
    "attribute behind #ifdef": (f"struct\n#ifdef __GNUC__\n__attribute__((aligned(8)))\n#endif\nrx_ring {BODY}", {}),
    "long attribute": (f"struct {LONG} rx_ring {BODY}", {}),
    "made by a macro": ("#define MAKE(name) struct name { int a; long b; }\nMAKE(rx_ring);", {}),
    "made by an object-like macro": (f"#define RING struct rx_ring {BODY}\nRING", {}),
    "queue head": ("#define SLIST_HEAD(name, type) struct name { struct type *first; long b; }\nSLIST_HEAD(rx_ring, x);", {}),
    "pasted name": (f"#define SIDE(side) struct side##_ring {BODY}\nSIDE(rx)", {}),
    "pasted in two steps": (f"#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\nstruct CAT(rx, _ring) {BODY}", {}),
    "renamed": (f"#define ring rx_ring\nstruct ring {BODY}", {}),
    "body from an #include": ("struct rx_ring\n#include \"body.inc\"\n;", {"body.inc": "{ int a; long b; }\n"}),
    "brace from a macro": ("#define BEGIN {\nstruct rx_ring BEGIN int a; long b; };", {}),
    "members from a macro": (f"#define MEMBERS {BODY[:-1]}\nstruct rx_ring MEMBERS;", {}),
    "made by a macro with parameters on two lines": (f"#define MAKE(name, \\\n n) struct name {BODY[:-1]}\nMAKE(rx_ring, 1);", {}),
    "made by a macro behind a digraph": (f"%:define MAKE(name) struct name {BODY[:-1]}\nMAKE(rx_ring);", {}),
    "made by a macro behind a comment": (f"#/* x */define/* y */MAKE(name) struct name {BODY[:-1]}\nMAKE(rx_ring);", {}),
    "members from a macro behind a digraph": (f"%:define MEMBERS {BODY[:-1]}\nstruct rx_ring MEMBERS;", {}),
    "members from a macro behind a comment": (f"# /**/ define /**/ MEMBERS {BODY[:-1]}\nstruct rx_ring MEMBERS;", {}),
    "members from a macro whose name is on two lines": (f"#define MEM\\\nBERS {BODY[:-1]}\nstruct rx_ring MEMBERS;", {}),
    "members from a macro of a line that goes on": (f"#\\\ndefine MEMBERS {BODY[:-1]}\nstruct rx_ring MEMBERS;", {}),
    "members from a macro of a macro": (f"#define MORE {BODY[:-1]}\n#define __MEMBERS MORE\nstruct rx_ring __MEMBERS;", {}),
    "members from a macro that is called": (f"#define MEMBERS(n) {BODY[:-1]}\nstruct rx_ring MEMBERS(8);", {}),
    "a macro that adds members": (f"#define WITH_MEMBERS(x) x {BODY[:-1]}\nWITH_MEMBERS(struct rx_ring);", {}),
    "tag from an #include": (f"#include \"tag.h\"\n{BODY}", {"tag.h": "struct rx_ring\n"}),
    "name from an #include": (f"struct\n#include \"tag.h\"\n{BODY}", {"tag.h": "rx_ring\n"}),
    "behind a quote that is not C": (f"#if 0\ndon't /* x\n#endif\nstruct // c\n rx_ring {BODY}\n/* y */", {}),
    "line continuation": (f"struct rx_\\\nring \\\n{BODY}", {}),
    "line continuation in struct": (f"str\\\nuct rx_ring {BODY}", {}),
    "digraphs": ("struct rx_ring <% int a; long b; %>;", {}),
    "typedef of a struct defined elsewhere": (f"struct x {BODY}\ntypedef const /* y */ struct x /* z */ rx_ring;", {}),
    "typedef behind the struct": (f"typedef int\nw; struct x {BODY} typedef\nstruct x (rx_ring);", {}),
    "typedef before": (f"struct x typedef rx_ring; struct x {BODY}", {}),
    "typedef of typeof": (f"struct x {BODY}\nextern struct x y; typedef __typeof__(y) rx_ring;", {}),
    "other suffix": ("#include \"ring.tab\"", {"ring.tab": f"struct rx_ring /**/ {BODY}\n"}),
    "computed include": ("#define FILE_NAME \"ring.tab\"\n#include FILE_NAME", {"ring.tab": f"struct rx_ring {BODY}\n"}),
    "inside of another struct": ("struct outer { struct /**/ rx_ring /**/ { int a; long b; } inner; };", {}),
    "in a declaration": ("static struct /**/ rx_ring /**/ { int a; long b; } one;", {}),
    "return type": ("struct /**/ rx_ring /**/ { int a; long b; } *get(void);", {}),
    "in the value of an enumerator": ("enum { SIZE = sizeof(struct /**/ rx_ring /**/ { int a; long b; }) };", {}),
    "union": ("union /**/ rx_ring /**/ { int a; long b; };", {}),
    "a file of more than 4 MB": ("\n" * (4 << 20) + f"struct rx_ring {BODY}", {}),
}  # fmt: skip
KERNEL = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\n",
    "include/linux/kconfig.h": "",
    "include/linux/compiler_types.h": "",
    "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n",
    "include/config/auto.conf": "CONFIG_X86_64=y\n",
    "include/linux/mm.h": "struct page { long flags; };\n",
    "include/linux/use.h": "#include <linux/ring.h>\nstruct page *rx_ring_page(struct rx_ring *ring);\n",
}


def write(folder, texts):
    for name, text in texts.items():
        at = folder / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)


def shapes(path, wanted):
    reading = clang.read(str(path), wanted, ReadOptions(finds_omissions=True, jobs=1))
    return {(struct.name, struct.aliases, struct.bit_size) for struct in reading.structs if struct.bit_size is not None}


def as_file(folder, text, more, wanted):
    write(folder, {"ring.h": text + "\n", **more, "use.c": '#include "ring.h"\n'})
    return folder / "use.c"


def as_database(folder, text, more, wanted):
    write(folder, {"ring.h": text + "\n", **more, "use.c": '#include "ring.h"\n', "other.c": "int other;\n"})
    entries = [{"directory": str(folder), "file": name, "arguments": ["clang", "-c", name]} for name in ("other.c", "use.c")]
    write(folder, {"compile_commands.json": json.dumps(entries)})
    return folder / "compile_commands.json"


def as_folder(folder, text, more, wanted):
    write(folder, {"ring.h": text + "\n", **more, "use.c": '#include "ring.h"\n', "other.c": "int other;\n"})
    return folder


def as_kernel(folder, text, more, wanted):
    header = {"include/linux/ring.h": text + "\n"}
    write(folder, KERNEL | header | {f"include/linux/{name}": content for name, content in more.items()})
    return folder


WANTED = {"name": Wanted(frozenset(["rx_ring"])), "pattern": Wanted(patterns=("*_ring",))}


PASTED = ("pasted name", "pasted in two steps")
"""Forms of exact names that a tree does not find: the name is then reported as missing."""


@pytest.mark.one_in(20)
@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize(("text", "more"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("form", [as_database, as_folder, as_kernel])
def test_what_the_file_alone_shows_is_judged(form, text, more, wanted, tmp_path):
    alone = shapes(as_file(tmp_path / "alone", text, more, wanted), wanted)
    assert len(alone) == 1
    if form is as_kernel and wanted.names and text in {FORMS[name][0] for name in PASTED}:
        alone = set()
    assert shapes(form(tmp_path / "whole", text, more, wanted), wanted) == alone


@pytest.mark.parametrize(
    ("text", "has_error"),
    [
        ("struct x { int a; };\n", False),
        ("void *get(void) __attribute__((malloc(free, 1)));\n", False),  # as glibc has it, and only gcc understands it
        ("unknown_type y;\n", True),
        ("#include \"missing.h\"\n", True),
        ("#error \"not configured\"\n", True),
    ],
)  # fmt: skip
def test_a_unit_whose_errors_can_hide_structs_is_named(text, has_error, tmp_path):
    write(tmp_path, {"use.c": "struct rx_ring { int a; };\n", "other.c": f"void free(void *);\n{text}"})
    entries = [{"directory": str(tmp_path), "file": name, "arguments": ["gcc", "-c", name]} for name in ("other.c", "use.c")]
    write(tmp_path, {"compile_commands.json": json.dumps(entries)})
    wanted = Wanted(patterns=("*_ring",))
    reading = clang.read(str(tmp_path / "compile_commands.json"), wanted, ReadOptions(finds_omissions=True, jobs=1))
    assert any("other.c" in each.reason for each in reading.omissions) == has_error
    assert [struct.name for struct in reading.structs] == ["rx_ring"]


NAMESAKES = {
    # case: the headers of a kernel tree, and the sizes of struct rx_ring in them (None: unknown)
    "in seven headers": ({f"{name}.h": f"struct rx_ring {{ char a[{at + 1}]; }};\n" for at, name in enumerate("abcdefg")}, set(range(8, 64, 8))),
    "by a macro for a header that is included": (
        {"a.h": "struct rx_ring { int a; };\n", "b.h": "#define NAME rx_ring\n#include <linux/body.h>\n", "body.h": "struct NAME { long a; };\n"},
        {32, 64},
    ),
    "by macros for a header that is included twice": (
        {"a.h": "#define NAME tx_ring\n#include <linux/body.h>\n#undef NAME\n#define NAME rx_ring\n#include <linux/body.h>\n",
         "body.h": "struct NAME { long a; };\n"},
        {64},
    ),
    "as the compiler is": ({"a.h": "struct rx_ring { int a; };\n", "b.h": f"#ifdef __llvm__\nstruct rx_ring {BODY}\n#else\nstruct rx_ring {{ int a, b, c; }};\n#endif\n"}, {32, None}),
    "with an error": ({"a.h": "struct rx_ring { int a; };\n", "b.h": "#error not for this configuration\nstruct rx_ring { long a; };\n"}, {32}),
}  # fmt: skip


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize(("headers", "sizes"), NAMESAKES.values(), ids=NAMESAKES)
def test_each_definition_of_a_kernel_tree_is_judged(headers, sizes, wanted, tmp_path):
    write(tmp_path, KERNEL | {f"include/linux/{name}": text for name, text in headers.items()})
    reading = clang.read(str(tmp_path), wanted, ReadOptions(finds_omissions=True, jobs=1))
    assert {None if struct.problem else struct.bit_size for struct in reading.structs if struct.name == "rx_ring"} == sizes
