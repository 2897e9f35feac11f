"""All that the text of structs shows about its members: parts, restrictions, and the texts of several orders and additions.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layoutlint.model.structs import Struct
from layoutlint.readers.clang.members import (
    CannotMove,
    add_attribute,
    add_member,
    conditional_lines,
    reorder_members,
    restrictions,
    split_members,
    unified_diff,
)
from layoutlint.readers.clang.members.reorder import parse_body
from layoutlint.readers.clang.members.shared_lines import separate_lines
from tests.harness.whole import whole_lines
from tests.readers.clang.test_members import LINE, MOVES, NOTES, ON_BRACES, REFUSED, WHOLE, read

MORE = [
    # bodies beyond those of the tables
    "\tint a;\n#if 1\n\tint b;\n#elif 2\n\tint c;\n#else\n\tint d;\n#endif\n\tint e;\n\tint f;\n",
    "\tint a;\n#if 1\n#if 1\n\tint b;\n#endif\n\tint c;\n#endif\n\tint d;\n",
    "\tstruct {\n\t\tint a;\n\t\tint b;\t/* b */\n\n\t\tunion {\n\t\t\tint c;\n\t\t\tlong d;\n\t\t};\n\t};\n\tint e;\n",
    "\tstruct { int a; int b; };\n\tstruct { int c; };\n\tint d;\n",
    "\t__cacheline_group_begin(x);\n\t__cacheline_group_begin(y);\n\tint a;\n\t__cacheline_group_end(y);\n\tint b;\n\t__cacheline_group_end(x);\n\tint c;\n",
    "\tenum small { ONE, TWO = 2, THREE } a;\n\tint b[TWO];\n\tenum small c;\n\tint d[THREE], e;\n",
    "\tunion u { int x; } a;\n\tstruct __attribute__((packed)) t { int y; } *b;\n\tunion u c;\n\tstruct t d;\n",
    "\t/* first */\n\n\t/* second */\n\tint a;\n\n\n\t/* third */\n\n\tint b;\t// b\n\t// more\n\n\tint c; /* c */ /* again */\n\t/* last */\n",
    "\tint a;\n\t\t/* deeper */\n\t\t/* still deeper */\n\tint b;\n\t\t/**< backward */\n\tint c;\n\t//!< backward too\n\tint d;\n",
    "\tint a,\n\t    b,\n\t    *c;\n\tint (*d)(int), e[2];\n\tlong f : 3, g : 4;\n",
    "\tint a __attribute__((aligned(8))) ____cacheline_aligned;\n\tchar b;\n\tCACHELINE_PADDING(c);\n\tint d;\n",
    "\tint a; int b; char c; /* three */\n\tint d; /* one */ int e;\n",
    "\tint a;\n\tint b:3;\n\tint :2;\n\tint c:4;\n\tint :0;\n\tint d;\n\tint e[];\n",
    "\t_Static_assert(1, \"x\");\n\tint a;\n\tstatic_assert(sizeof(int) == 4, \"y\");\n\tint b;\n",
    "int a;\n  int b;\n\n\n\n    int c;\nint d;\n\n",
    "\tint a; NOTHING(x);\n\tNOTHING(y)\n\tint b;\n\tNOTHING(z);\n\tint c;\n\tNOTHING(last)\n",
    "\tint a;\n#define HERE 1\n\tint b;\n#undef HERE\n\tint c;\n#pragma pack(push, 1)\n\tint d;\n#pragma pack(pop)\n\t_Pragma(\"pack()\") int e;\n\tint f;\n",
    "\tint a;\n\t/* above */\n#if 1 /* on */\n\t/* inside */\n\tint b;\n#else\n\tint c;\n\t/* end */\n#endif /* off */\n\t/* below */\n\tint d;\n#ifdef NONE\n\tint e;\n#endif\n",
    "\tint a;\n#if 1\n\tint b;\n#endif\n#if 0\n\tint c;\n#elif 0\n#else\n#endif\n\tint d;\n#if 1\n\t/* nothing */\n#endif\n\tint e;\n",
    "\tint a; /* one\n\t        * two */\n\tint b; /* one */ // two\n\t\t// three\n\t/* alone */ int c;\n\tint /* inner */ d /* before */ ; /* behind */\n\tint e;\n",
    "\tchar a;\n\tint : 3;\n\tunsigned b : 2, : 0, c : 4;\n\tint d : 1 + 1;\n\tstruct { int x : 3; } e;\n\tlong f;\n",
    "\tstruct {\n\t\tint a;\n\t};\n\tstruct { int b; } named;\n\tunion {\n\t\tstruct { int c; long d; };\n\t\tchar e[16];\n\t};\n\tstruct inner { int f; } g[2], *h;\n\tint i;\n",
    "\tstruct {\n#if 1\n\t\tint a;\n#endif\n\t\tint b;\n\t} __attribute__((packed));\n\tstruct { int c; } ____cacheline_aligned;\n\tint d;\n\tint e;\n",
    "\tBITMAP(a, 64); BITMAP(b, 128);\n\tPAIR(c);\n\tPAIR_LINE\n\tint d;\n\tGROUP(e, int f; int g;);\n\tint h;\n",
    "\t__cacheline_group_begin(x);\n\tint a;\n\tint b;\n\t__cacheline_group_end(x);\n\t__cacheline_group_begin(y) ____cacheline_aligned;\n\tint c;\n\t__cacheline_group_end(y);\n\tint d;\n\t__cacheline_group_begin(z);\n\tint e;\n",
    "\tint a\n#if 1\n\t\t[2]\n#endif\n\t;\n\tint b;\n\tint c\n\t\t; int d;\n\tint\n\te;\n",
    "\tint a;\n\tint b __attribute__((aligned(16)));\n\tint c[sizeof(struct rcu_head)];\n\tstruct rcu_head d;\n\tint (*e[2])(int a, int b);\n\tconst volatile char *const f, g;\n\tenum { IN, OUT } h;\n\tchar i[OUT + 1];\n",
    "\tint a;\n\t_Static_assert(sizeof(int) == 4, \"a\");\n\t_Static_assert(__builtin_offsetof(struct rcu_head, next) == 0, \"b\"); int b;\n\tint c;\n\tint d[0];\n",
    "\tint a; \\\n\tint b;\n\tint c; int \\\n\td;\n\tint e;\n\t;\n\tint f;;\n",
    "\tlong first_member_with_a_name_that_is_so_long_that_it_does_not_fit_into_a_line_of_a_message_any_more, second;\n\tchar text[__builtin_offsetof(struct { int x; long y; }, y)];\n\tint c;\n",
    "\tint a;\n\t/* === section === */\n\tint b;\n\n\t/* --- other --- */\n\n\tint c;\n\t/*\n\t * Heading:\n\t */\n\tint d;\n\t/* tail of d */\n\n\tint e;\n",
    "\tu8 a; rcu_head_t *b;\n\tstruct s *next, **prev;\n\ttypeof(int) c;\n\t__typeof__(u8) d;\n\t_Alignas(16) int e;\n\t_Atomic int f;\n\t__extension__ struct { int g; };\n",
    "\tlong a_long_name_of_a_member;\n\t    /* below its middle */\n\tint b;\n\t/* at its start */\n\tint c;\n",
    "\tint a; \t int b;\n\tlong c;  long d; char e;\n\tint f;\n\n\tchar g;\tchar h; }; struct other { int z;\n",
    "\tint a\t\t;   int b; struct { int c; };  union { int d; long e; };\n  int f; int g, h;\n\tint i; /* stays */ int j;\n\tint k; int (*l)(int k);\n",
    "\tint a;\n\tint b\t\t/* wide */\n\t\t: 3;\n\tunsigned c: 5;\n\tint d; }; struct other { int z;\n",
]


def outcome(work: Callable[[], str], old: str) -> Iterator[str]:
    """Yield the lines that a change of the text changes, or why it is refused."""
    try:
        yield from (line for line in unified_diff(old, work(), "s.h").split("\n")[2:] if line[:1] in ("-", "+", "@"))
    except CannotMove as refusal:
        yield f"! {None if refusal.line is None else refusal.line - LINE}: {refusal.reason}"


def describe(text: str, struct: Struct) -> Iterator[str]:
    try:
        parsed = parse_body(text, struct)
    except CannotMove as refusal:
        yield f"! {None if refusal.line is None else refusal.line - LINE}: {refusal.reason}"
        return
    yield from (line for line in whole_lines(parsed.items) if not line.lstrip().startswith(("Token ", "tokens:")))
    yield from (f"{each.names} {each.first_line - LINE}-{each.last_line - LINE} {each.notes}" for each in split_members(text, struct))
    yield from (f"{each.kind} {each.fields} {each.after} {each.line - LINE} {each.reason}" for each in restrictions(text, struct))
    apart = separate_lines(parsed.lines, parsed.body, struct)
    if apart.text != text:
        yield from (line for line in unified_diff(text, apart.text, "s.h").split("\n")[2:] if line[:1] in ("-", "+"))
        yield f"lines {[each.source and (each.source.line or 0) - LINE for each in apart.struct.fields]} from {[apart.old_line(each.source.line) - LINE for each in apart.struct.fields if each.source and each.source.line]}"
        kept = separate_lines(parsed.lines, parsed.body, struct, (0,))
        yield f"with the first line {kept.text != text} {kept.text != apart.text}"
    yield f"conditions {[line - LINE for line in conditional_lines(text, struct)]}"
    numbers = list(range(len(struct.fields)))
    for order in dict.fromkeys(((*numbers[1:], *numbers[:1]), tuple(numbers[::-1]), (*numbers[-1:], *numbers[:-1]))):
        yield f"order {order}"
        yield from outcome(lambda order=order: reorder_members(text, struct, order), text)
    for number in numbers[:3]:
        yield f"additions at {number}"
        yield from outcome(lambda number=number: add_attribute(text, struct, [number], "ADDED"), text)
        yield from outcome(lambda number=number: add_member(text, struct, number, "char added;"), text)
    yield from outcome(lambda: add_attribute(text, struct, [], "ADDED"), text)


def test_members(tmp_path: Path, golden):
    bodies = [*((row[1], "struct s {\n", "};\n") for row in MOVES), *((row[0], "struct s {\n", "};\n") for row in (*REFUSED, *NOTES))]
    bodies += [(row[0], "", "") for row in ON_BRACES] + [(row[1], row[0], row[2]) for row in WHOLE if len(row[1]) < 200]
    bodies += [(body, "struct s {\n", "};\n") for body in MORE]
    shown = []
    for body, head, tail in bodies:
        _, text, struct = read(tmp_path, body, head, tail)
        shown += [f"== {(head + body + tail)!r}", *(line.replace("\r", "\\r").replace(str(tmp_path), "FOLDER") for line in describe(text, struct))]
    golden("members.txt", "".join(f"{line}\n" for line in shown))


BODY = "\n\tint a;\n\tint b;\n"
HEADS = [
    # what comes before and behind the brackets of struct s
    ("struct s {", "};"), ("struct s\n\n{", "};"), ("typedef struct {", "} s;"), ("typedef struct s_tag {", "} s;"), ("struct o { int y; } o; struct s {", "};"),
    ("struct o { int q; struct s {", "} in; };"), ("union u { int a; }; struct s {", "};"), ("#define TAG s\nstruct TAG {", "};"), ("struct /* s { */ s {", "};"),
    ("struct __attribute__((aligned(8))) s {", "};"), ("struct t {", "}; typedef struct t s __attribute__((aligned(64)));"), ("extern struct s *p; struct s {", "} v;"),
    ("typedef\nstruct\n{", "}\ns;"), ("enum e { E }; typedef struct {", "} s;"), ("int s_; struct s_ { int z; } s_v; struct s {", "};"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "tail"), HEADS, ids=[row[0] for row in HEADS])
def test_where_a_body_begins(head, tail, tmp_path):
    _, text, struct = read(tmp_path, BODY, head, f"{tail}\n")
    body = parse_body(text, struct).body
    assert text[body.start : body.end] == BODY
    assert text[: body.start].endswith(head)
