"""All that the text of C files defines, without a compiler: names, what they are, fields and typedefs of structs.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import re

import pytest

from layoutlint.model.wanted import Wanted
from layoutlint.readers.c_tokens import blank_comments, blank_out
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.declared_things import what_is
from layoutlint.sources.allocations import struct_definitions
from layoutlint.sources.order_uses import expansion
from layoutlint.sources.order_uses.code import Code, macros, statements
from tests.harness.command import ROOT

FILES = ("bodies/flows.c", "bodies/locks.c", "bodies/subject.h", "forms/forms.c", "order_uses/definitions.h", "order_uses/types.c", "source_uses/elements.c")
STRANGE = """\
#if 0
struct dead { int a; };
#else /* struct comment { int a; }; */
struct alive { int a; }; // struct line { int a; }; \\
struct continued { int a; };
#endif
char *text = "struct quoted { int \\" a; };", quote = '"', other = '\\'', *open = "it's";
#if 1
#if 0
#if 1
struct inner_dead { int a; };
#endif
#elif 2
struct elif_alive { int a; };
#endif
#endif
#define LONG(x) struct x { \\
	int a; \\
}
  #  define SPACED struct spaced { int a; }
#define EMPTY
#define CALL() call
#define NAMED(rest...) rest
#define VARIADIC(a, ...) a(__VA_ARGS__)
LONG(made); SPACED
typedef struct named { int a; } named_t, *named_p, named_a[2]; typedef struct { int b; } untagged_t; typedef union { struct alive c; } union_t __attribute__((aligned(8)));
typedef enum e { ONE, TWO = 2 } enum_t; enum plain { THREE }; typedef int (*function_t)(int a, char b); typedef void call_t(void); typedef unsigned long word_t, *word_p; typedef const struct alive *alive_p;
struct __attribute__((packed)) attributed { int a; } attributed_object; struct behind { int a; } __attribute__((packed)) behind_object, *behind_pointer; struct declared; struct declared *pointer; union u { int a; struct deep { int b; } c; };
struct fields { struct alive one, *two, three[2]; const struct alive *four; struct { struct alive hidden; } five; int six; struct alive (*seven)(int); union u *eight, **nine; };
int function(struct alive *parameter, int other) { struct local { int a; } variable; return 0; } static int *pointer_function(void); extern int array[4], value = 3; int bits : 3;
struct alive
{
	int newline;
};
extern "C" { struct in_linkage { int a; }; } struct unclosed { int a;
"""


def text_of(name: str) -> str:
    return STRANGE if name == "strange" else (ROOT / "fixtures" / name).read_text()


@pytest.mark.parametrize("name", ["strange", *FILES])
def test_names(name, golden_row):
    """Names with their lines; fields that are structs; typedefs; macros."""
    text = text_of(name)
    data, blank = text.encode(), blank_out(text)
    lines = [f"{each} at {text.count(chr(10), 0, at) + 1}" for each, at in text_search.definitions_in(data)]
    lines.append(f"defined {sorted(text_search.names_defined(data))}")
    lines.append(f"some {sorted(text_search.names_in_text(data, Wanted(frozenset(('alive', 's', 'none')), patterns=('*_t', 'pack*'))))}")
    lines += [f"fields of {tag}: {sorted((each, sorted(types)) for each, types in own.items())}" for tag, own in struct_definitions.fields_by_tag(blank).items()]
    lines.append(f"typedefs {struct_definitions.struct_typedefs(text)}")
    lines += [f"macro {each}: {[(one.parameters, one.body) for one in texts]}" for each, texts in expansion.read_definitions(text).items()]
    lines.append(f"with structure {sorted(expansion.with_structure(expansion.read_definitions(text), frozenset(('alive', 's'))))}")
    golden_row("\n".join(lines))


@pytest.mark.parametrize("name", ["strange", "order_uses/types.c"])
def test_code(name, golden_row):
    """The structs of a text with their members, and where declarations begin and end."""
    code: Code = statements("f.c", text_of(name))
    lines = [f"{code.line(brace)} {[each.name for each in own]} {code.member_names(brace)} {code.member_places(brace)}" for brace, own in sorted(code.struct_names.items())]
    lines += [f"{brace}: {code.brace_around(brace)} {[code.text[slice(*part)].strip()[:30] for part in code.parts(brace)]}" for brace in sorted(code.struct_names)]
    macro_code, list_of_macros = macros("f.c", text_of(name))
    lines += [f"{each.name} {each.parameters} {macro_code.text[each.start : each.end].strip()!r}" for each in list_of_macros]
    golden_row("\n".join(lines))


@pytest.mark.parametrize("name", ["strange", "order_uses/definitions.h"])
def test_what_words_are(name, golden_row):
    text = text_of(name)
    words = sorted(set(re.findall(r"[A-Za-z_]\w*", text)))
    golden_row("\n".join(f"{word}: {thing}" for word in words if (thing := what_is(word, text)) is not None))


def test_blanks(golden_row):
    """What is left of a text: as many characters, and the same lines."""
    for blank in (blank_out(STRANGE), blank_comments(STRANGE)):
        assert (len(blank), blank.count("\n")) == (len(STRANGE), STRANGE.count("\n"))
    golden_row(re.sub(" +", " ", blank_out(STRANGE) + blank_comments(STRANGE)))
