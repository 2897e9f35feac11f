"""Members of structs as text: what moves with a declaration, what is refused, and diffs that git applies.

What libclang reads from the changed text is the judge of each order.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang.members import (
    CannotMove,
    patch,
    reorder_members,
    restrictions,
    source_path,
    split_members,
    unified_diff,
    verify,
)

PREAMBLE = """\
#define BITMAP(x, n) unsigned long x[(n) / 64]
#define PAIR(x) int x##_first; int x##_second
#define PAIR_LINE int p; int q;
#define GROUP(name, ...) union { struct { __VA_ARGS__ }; struct { __VA_ARGS__ } name; }
#define __cacheline_group_begin(x) char __cacheline_group_begin__##x[0]
#define __cacheline_group_end(x) char __cacheline_group_end__##x[0]
#define ____cacheline_aligned __attribute__((aligned(64)))
#define CACHELINE_PADDING(x) struct { char x[0]; } ____cacheline_aligned x
#define NOTHING(x)
#define start
#define rcu_head callback_head
typedef unsigned char u8;
struct rcu_head { void *next; };
"""
LINE = PREAMBLE.count("\n") + 1


def read(folder: Path, body: str, head: str = "struct s {\n", tail: str = "};\n") -> tuple[Path, str, Struct]:
    """Write a struct to a file, and read it: its path, its text, and the struct."""
    path = folder / "s.h"
    text = PREAMBLE + head + body + tail
    path.write_bytes(text.encode())
    (struct,) = clang.read(str(path), Wanted(frozenset(["s"])), ReadOptions()).structs
    return path, text, struct


def order_of(struct: Struct, names: str) -> list[int]:
    """The order of fields by their names, `-` for nameless ones."""
    numbers = {}
    for number, member in enumerate(struct.fields):
        numbers.setdefault(member.name or "-", []).append(number)
    return [numbers[name].pop(0) for name in names.split()]


MOVES = [
    # what, the members, their new order, the members in it
    ("a comment above and behind", "\t/* above */\n\tint a;\t/* behind */\n\tint b;\n", "b a", "\tint b;\n\t/* above */\n\tint a;\t/* behind */\n"),
    ("a comment on several lines", "\tint a;\t/* one\n\t\t * two */\n\tint b;\n", "b a", "\tint b;\n\tint a;\t/* one\n\t\t * two */\n"),
    ("comments that go on behind", "\tint a;\t/* one */\n\t\t/* two */\n\tint b;\n", "b a", "\tint b;\n\tint a;\t/* one */\n\t\t/* two */\n"),
    ("a comment of C++ that goes on", "\tint a;\t// one \\\n two\n\tint b;\n", "b a", "\tint b;\n\tint a;\t// one \\\n two\n"),
    ("doxygen's comment behind", "\tint a;\n\t/**< of a */\n\tint b;\n", "b a", "\tint b;\n\tint a;\n\t/**< of a */\n"),
    ("a comment for what follows", "    int a;\n\t/* of b */\n\tint b;\n", "b a", "\t/* of b */\n\tint b;\n    int a;\n"),
    ("a comment with a brace", "\t/* } */\n\tint a; /* ; */\n\tint b;\n", "b a", "\tint b;\n\t/* } */\n\tint a; /* ; */\n"),
    ("a struct inside", "\tstruct {\n\t\tint x;\n\n\t\tint y;\n\t} a;\n\tint b;\n", "b a", "\tint b;\n\tstruct {\n\t\tint x;\n\n\t\tint y;\n\t} a;\n"),
    ("nameless ones", "\tunion {\n\t\tint x;\n\t};\n\tstruct {\n\t\tchar y;\n\t};\n\tint b;\n", "b - -", "\tint b;\n\tunion {\n\t\tint x;\n\t};\n\tstruct {\n\t\tchar y;\n\t};\n"),
    ("pointers to functions", "\tint (*a)(int x,\n\t\t int y);\n\tint b;\n", "b a", "\tint b;\n\tint (*a)(int x,\n\t\t int y);\n"),
    ("attributes on their own line", "\tint a\n\t\t__attribute__((aligned(8)));\n\tint b;\n", "b a", "\tint b;\n\tint a\n\t\t__attribute__((aligned(8)));\n"),
    ("an attribute before", "\t__attribute__((aligned(8)))\n\tint a;\n\tint b;\n", "b a", "\tint b;\n\t__attribute__((aligned(8)))\n\tint a;\n"),
    ("a macro that makes one", "\tBITMAP(a,\n\t       64);\n\tint b;\n", "b a", "\tint b;\n\tBITMAP(a,\n\t       64);\n"),
    ("a macro that is the name", "\tstruct rcu_head rcu_head;\n\tint b;\n", "b callback_head", "\tint b;\n\tstruct rcu_head rcu_head;\n"),
    ("several in one declaration", "\tint a, *b;\n\tint c;\n", "c a b", "\tint c;\n\tint a, *b;\n"),
    ("a macro that makes two", "\tPAIR(a);\n\tint c;\n", "c a_first a_second", "\tint c;\n\tPAIR(a);\n"),
    ("a macro without a semicolon", "\tPAIR_LINE\n\tint c;\n", "c p q", "\tint c;\n\tPAIR_LINE\n"),
    ("the same at the end", "\tint c;\n\tPAIR_LINE\n", "p q c", "\tPAIR_LINE\n\tint c;\n"),
    ("a group of a macro", "\tGROUP(g,\n\t\tint x;\n\t\tint y;\n\t);\n\tint c;\n", "c -", "\tint c;\n\tGROUP(g,\n\t\tint x;\n\t\tint y;\n\t);\n"),
    ("an #if as a whole", "\tint a;\n#ifndef NO\n\tint b;\n\tint c;\n#endif\n", "b c a", "#ifndef NO\n\tint b;\n\tint c;\n#endif\n\tint a;\n"),
    ("within an #else", "#ifdef NO\n\tint n;\n#else\n\tint b;\n\tint c;\n#endif\n", "c b", "#ifdef NO\n\tint n;\n#else\n\tint c;\n\tint b;\n#endif\n"),
    ("past an #if without members", "\tint a;\n#ifdef NO\n\tint n;\n#endif\n\tint b;\n\tint c;\n", "a c b", "\tint a;\n#ifdef NO\n\tint n;\n#endif\n\tint c;\n\tint b;\n"),
    ("an #if in a declaration", "\tint a\n#ifdef NO\n\t\t[2]\n#endif\n\t\t;\n\tint b;\n", "b a", "\tint b;\n\tint a\n#ifdef NO\n\t\t[2]\n#endif\n\t\t;\n"),
    ("an #if that begins one", "#ifdef NO\n\tlong\n#else\n\tint\n#endif\n\ta;\n\tint b;\n", "b a", "\tint b;\n#ifdef NO\n\tlong\n#else\n\tint\n#endif\n\ta;\n"),
    ("an #if that ends one", "\tint a\n#ifdef NO\n\t[2];\n#else\n\t[3];\n#endif\n\tint b;\n", "b a", "\tint b;\n\tint a\n#ifdef NO\n\t[2];\n#else\n\t[3];\n#endif\n"),
    ("a group between markers", "\tint a;\n\t__cacheline_group_begin(x);\n\tint b;\n\t__cacheline_group_end(x);\n", "__cacheline_group_begin__x b __cacheline_group_end__x a", "\t__cacheline_group_begin(x);\n\tint b;\n\t__cacheline_group_end(x);\n\tint a;\n"),
    ("an unnamed bit-field", "\tint a:3;\n\tint :0;\n\tint b:4;\n\tchar c;\n", "c a b", "\tchar c;\n\tint a:3;\n\tint :0;\n\tint b:4;\n"),
    ("blank lines between paragraphs", "\tint a;\n\tint b;\n\n\tint c;\n\tint d;\n", "c a b d", "\tint c;\n\tint a;\n\tint b;\n\n\tint d;\n"),
    ("a paragraph of its own", "\tint a;\n\n\tint b;\n\n\tint c;\n\tint d;\n", "a c d b", "\tint a;\n\n\tint c;\n\tint d;\n\n\tint b;\n"),
    ("two blank lines", "\tint a;\n\n\n\tint b;\n\tint c;\n\tint d;\n", "c a b d", "\tint c;\n\tint a;\n\n\n\tint b;\n\tint d;\n"),
    ("two blank lines that are parted", "\tint a;\n\n\n\tint b;\n\n\n\tint c;\n\tint d;\n", "a c d b", "\tint a;\n\n\tint c;\n\tint d;\n\n\tint b;\n"),
    ("to the end", "\tint a;\n\n\tint b;\n", "b a", "\tint b;\n\n\tint a;\n"),
    ("lines of DOS", "\tint a; /* x */\r\n\r\n\tint b;\r\n", "b a", "\tint b;\r\n\r\n\tint a; /* x */\r\n"),
    ("spaces and no indentation", "int a;\n   int  b ;\n", "b a", "   int  b ;\nint a;\n"),
    ("two on a line", "\tint a; int b;\n\tint c; int d;\n", "b c d a", "\tint b;\n\tint c; int d;\n\tint a;\n"),
    ("two on a line, together", "\tint a; int b;\n\tint c;\n", "c a b", "\tint c;\n\tint a; int b;\n"),
    ("a nameless one on a line", "\tint a; union { int x; long y; }; int b;\n", "b a -", "\tint b;\n\tint a;\n\tunion { int x; long y; };\n"),
    ("bit-fields on a line, in DOS", "\tint a:3; int b:4;\r\n\tint c;\r\n", "b a c", "\tint b:4;\r\n\tint a:3;\r\n\tint c;\r\n"),
    ("comments after the last member", "\tint a;\n\tint b;\n\n\t/* end */\n", "b a", "\tint b;\n\tint a;\n\n\t/* end */\n"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("body", "names", "expected"), [row[1:] for row in MOVES], ids=[row[0] for row in MOVES])
def test_what_moves(tmp_path, body, names, expected):
    path, text, struct = read(tmp_path, body)
    order = order_of(struct, names)
    changed = reorder_members(text, struct, order)
    assert changed == PREAMBLE + "struct s {\n" + expected + "};\n"
    reread = verify(str(path), struct, str(path), changed, ReadOptions())
    assert [(each.name, each.type) for each in reread.fields] == [(struct.fields[at].name, struct.fields[at].type) for at in order]
    assert reorder_members(text, struct, sorted(order)) == text
    assert path.read_bytes().decode() == text


ON_BRACES = [
    # the struct, its new order, the struct in it
    ("struct s { int a; int b; };\n", "b a", "struct s {\n\tint b;\n\tint a;\n};\n"),
    ("struct s { int a; int b; };\r\n", "b a", "struct s {\r\n\tint b;\r\n\tint a;\r\n};\r\n"),
    ("  struct s { int a;\n    int b; int c; };\n", "c a b", "  struct s {\n    int c;\n    int a;\n    int b;\n  };\n"),
    ("struct s { int a;\n\tint b; int c;\n};\n", "b c a", "struct s {\n\tint b; int c;\n\tint a;\n};\n"),
]


@pytest.mark.parametrize(("body", "names", "expected"), ON_BRACES)
def test_lines_of_braces_are_split(tmp_path, body, names, expected):
    path, text, struct = read(tmp_path, body, "", "")
    order = order_of(struct, names)
    changed = reorder_members(text, struct, order)
    assert changed == PREAMBLE + expected
    assert [each.name for each in verify(str(path), struct, str(path), changed, ReadOptions()).fields] == names.split()


REFUSED = [
    # the members, an order, the line of the struct's body that forbids it, why
    ("int a, b;\nint c;\n", "b a c", 1, "one declaration declares `a`, `b`: they cannot be turned round"),
    ("int a, b;\nint c;\n", "a c b", 1, "one declaration declares `a`, `b`: `c` cannot be between its members"),
    ("PAIR(a);\nint c;\n", "a_first c a_second", 1, "`PAIR(a);` makes `a_first`, `a_second`: `c` cannot be between its members"),
    ("int a; int b; /* both */\nint c;\n", "b a c", 1, "`a`, `b` share lines: they cannot be turned round"),
    ("int a; /*\n*/ int b;\nint c;\n", "a c b", 1, "`a`, `b` share lines: `c` cannot be between its members"),
    ("int a;\n#ifndef NO\nint b;\nint c;\n#endif\n", "b a c", 2, "`#ifndef NO` moves only with all that belongs to it: `a` cannot be between its members"),
    ("int a;\n#define X 1\nint b;\n", "b a", 2, "nothing moves past `#define X 1`: `b` cannot move before `a`"),
    ("int a;\n#pragma pack(1)\nint b;\n", "b a", 2, "nothing moves past `#pragma pack(1)`: `b` cannot move before `a`"),
    ("int a;\n/* private: do not use */\nint b;\n", "b a", 2, "nothing moves past `/* private: do not use */`: `b` cannot move before `a`"),
    ("int a;\n/** @} */\nint b;\n", "b a", 2, "nothing moves past `/** @} */`: `b` cannot move before `a`"),
    ("int a;\nNOTHING(x);\nint b;\n", "b a", 2, "`NOTHING(x);` declares no member in this configuration: `b` cannot move before `a`"),
    ("int a;\nstart\nint b;\n", "b a", 2, "`start` declares no member in this configuration: `b` cannot move before `a`"),
    ("int a;\n__cacheline_group_begin(x);\nint b;\n__cacheline_group_end(x);\n", "__cacheline_group_begin__x a b __cacheline_group_end__x", 2, "`__cacheline_group_begin(x);` moves only with all that belongs to it: `a` cannot be between its members"),
    ("__cacheline_group_begin(x);\nint b;\n__cacheline_group_end(y);\n", "b __cacheline_group_begin__x __cacheline_group_end__y", 1, "nothing moves past `__cacheline_group_begin(x);`: `b` cannot move before `__cacheline_group_begin__x`"),
    ("struct t { int x; } a;\nint c;\nstruct t b;\n", "b a c", 1, "`struct t` is defined in `struct t { int x; } a;`: `b` cannot move before `a`"),
    ("enum { N = 3 } a;\nint b[N];\n", "b a", 1, "`N` is defined in `enum { N = 3 } a;`: `b` cannot move before `a`"),
    ("struct {\n#define X 1\nint x; } a;\nint b;\n", "b a", 1, "`#define` is in `struct { #define X 1 int x; } a;`: `b` cannot move before `a`"),
    ("int a:3;\nint :0;\nint b:4;\n", "b a", 1, "an unnamed bit-field belongs to `int a:3;`: they cannot be turned round"),
    ("int a;\nint b[];\n", "b a", 2, "`b` is a flexible array, which is last: `b` cannot move before `a`"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("body", "names", "line", "reason"), REFUSED)
def test_what_cannot_move(tmp_path, body, names, line, reason):
    _, text, struct = read(tmp_path, body)
    with pytest.raises(CannotMove) as refusal:
        reorder_members(text, struct, order_of(struct, names))
    assert (refusal.value.reason, refusal.value.line) == (reason, LINE + line)
    assert split_members(text, struct)


WHOLE = [
    # before the members, the members, after them, the line, why no member of it can move
    ("union s {\n", "int a;\nint b;\n", "};\n", 0, "the members of a union are all at its start"),
    ("#define MAKE(t) struct t { int a; int b; }\n", "", "MAKE(s);\n", 1, "no `struct s {` is there: a macro can make it"),
    ("struct s {\n", "int a;\n#if 1\nint b; };\n#else\nint c; };\n#endif\n", "", 2, "the closing brace of the struct is in a condition that begins in it"),
    ("struct s {\n", "#if 1\nstruct {\nint a;\n#else\nint a;\n#endif\n} x;\nint b;\n", "};\n", 1, "the branches of this condition have different braces"),
    ("#if 1\nstruct s {\n#else\nunion s {\n#endif\n", "int a;\nint b;\n", "};\n", 2, "`#else` ends a branch that begins before the struct's brace"),
    ("struct s {\n", "int a; \\\nint b;\n", "};\n", 1, "a line of the struct is continued by a backslash"),
    ("struct s {\n", "#if 1\n" * 65 + "int a;\n" + "#endif\n" * 65 + "int b;\n", "};\n", 65, "conditions are nested more than 64 deep"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "body", "tail", "line", "reason"), WHOLE)
def test_structs_that_cannot_change(tmp_path, head, body, tail, line, reason):
    _, text, struct = read(tmp_path, body, head, tail)
    with pytest.raises(CannotMove) as refusal:
        split_members(text, struct)
    assert (refusal.value.reason, refusal.value.line) == (reason, LINE + line)


def test_a_text_that_changed_since_it_was_read(tmp_path):
    path, text, struct = read(tmp_path, "int a;\nint b;\n")
    for other in (text.replace("struct s {", "struct s {\n"), text.replace("struct s {\n", ""), "", text.replace("int b;\n", "")):
        with pytest.raises(CannotMove):
            reorder_members(other, struct, [1, 0])
    with pytest.raises(CannotMove, match=r"cannot be read: .*unknown type name 'no'"):
        verify(str(path), struct, str(path), text.replace("int a", "no a"), ReadOptions())
    with pytest.raises(ValueError, match="not an order"):
        reorder_members(text, struct, [0, 0])


NOTES = [
    # the members, the notes on the first one
    ("/* one */\nint a;\n/* two */\nint b;\n", ()),
    ("/* one */\nint a; /* its own */\nint b; /* its own */\n", ()),
    ("/* all */\nint a;\nint b;\n", (f"the comment at line {LINE + 1} may be about members after `int a;` too; it moves with this one only",)),
    ("/* all */\n\nint a;\n\nint b;\n", (f"the comment at line {LINE + 1} may be about members after `int a;` too; it moves with this one only",)),
    ("int a ____cacheline_aligned;\nint b;\n", ("`____cacheline_aligned` starts a cache line there",)),
    ("CACHELINE_PADDING(a);\nint b;\n", ("`CACHELINE_PADDING` fills the line before it: it parts the members around it",)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "notes"), NOTES)
def test_notes(tmp_path, body, notes):
    _, text, struct = read(tmp_path, body)
    parts = split_members(text, struct)
    assert (parts[0].names, parts[0].notes) == (("a",), notes)


def test_a_declaration_has_the_lines_of_its_comments(tmp_path):
    _, text, struct = read(tmp_path, "\t/* above */\n\n\tint a, b;\t/* behind\n\t*/\n\tunion {\n\t\tint x;\n\t};\n")
    lines = text.split("\n")
    parts = split_members(text, struct)
    assert [(part.names, part.first_line - LINE, part.last_line - LINE) for part in parts] == [(("a", "b"), 1, 4), ((None,), 5, 7)]
    assert all(part.text == "\n".join([*lines[part.first_line - 1 : part.last_line], ""]) for part in parts)


def test_structs_without_a_tag_and_on_a_line_with_others(tmp_path):
    for head, tail in (("typedef struct {\n", "} s;\n"), ("struct x; struct s\n{\n", "};\n"), ("struct y { int a; }; struct s {\n", "} v;\n")):
        path, text, struct = read(tmp_path, "\tint a;\n\tint b;\n", head, tail)
        changed = reorder_members(text, struct, [1, 0])
        assert changed == PREAMBLE + head + "\tint b;\n\tint a;\n" + tail
        assert [member.name for member in verify(str(path), struct, str(path), changed, ReadOptions()).fields] == ["b", "a"]


def test_a_header_is_changed_where_another_file_includes_it(tmp_path):
    (tmp_path / "include").mkdir()
    header, source = tmp_path / "include/s.h", tmp_path / "s.c"
    header.write_text("struct s {\n\tword a;\n\tchar b;\n};\n")
    source.write_text('typedef long word;\n#include "include/../include/s.h"\n')
    (struct,) = clang.read(str(source), Wanted(frozenset(["s"])), ReadOptions()).structs
    assert source_path(str(source), struct, ReadOptions()) == struct.source.file == str(header)
    changed = reorder_members(header.read_text(), struct, [1, 0])
    assert [member.name for member in verify(str(source), struct, str(header), changed, ReadOptions()).fields] == ["b", "a"]


DIFFS = [
    # path, old, new
    ("a.h", "int a;\nint b;\n", "int b;\nint a;\n"),
    ("a.h", "int a;\nint b;", "int b;\nint a;"),
    ("a.h", "int a;\nint b;", "int b;\nint a;\n"),
    ("a.h", "int a;\r\nint b;\r\n\tint c;\r\n", "int b;\r\nint a;\r\n\tint c;\r\n"),
    ("a.h", "x\x0cy\x85z\u2028w\n" + "\n" * 9 + "a\nb\n" + "\n" * 9 + "c\n", "\n" * 9 + "b\na\nx\x0cy\x85z\u2028w\n" + "\n" * 9 + "d\n"),
    ("a.h", "same\n" * 300 + "a\n" + "same\n" * 300, "same\n" * 290 + "a\n" + "same\n" * 310),
    ("with space/a b.h", "a\nb\n", "b\na\n"),
    ('q"\t\\ü.h', "a\nb\n", "b\na\n"),
    ("bytes.h", "\udcff\n\udc80\n", "\udc80\n\udcff\n"),
    ("-p0.h", "a\n", "b\n"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new"), DIFFS)
def test_git_applies_a_diff(tmp_path, path, old, new):
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old.encode(errors="surrogateescape"))
    diff = unified_diff(old, new, path).encode(errors="surrogateescape")
    subprocess.run(["git", "apply", "-"], input=diff, cwd=tmp_path, check=True, capture_output=True)
    assert file.read_bytes() == new.encode(errors="surrogateescape")
    assert unified_diff(old, old, path) == ""


HOSTILE = [
    # the first line of the members: nothing in it takes quadratic time
    "'" * 20_000,
    "#" * 20_000,
    "M\n" * 5_000,
    "struct " * 10_000,
    "enum {" * 5_000 + "int x;" + "} y;" * 5_000,
    "/* x */\n\n" * 5_000,
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("start", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_takes_little_time(tmp_path, start):
    _, text, struct = read(tmp_path, "int a;\nint b;\n")
    fields = tuple(
        replace(each, source=replace(each.source, line=each.source.line + start.count("\n") + 1)) for each in struct.fields
    )
    text = text.replace("struct s {\n", f"struct s {{\n{start}\n")
    begun = time.process_time()
    with suppress(CannotMove):
        reorder_members(text, replace(struct, fields=fields), [1, 0])
    assert time.process_time() - begun < 20


def test_restrictions_say_what_orders_are_refused(tmp_path):
    _, text, struct = read(tmp_path, "int a, b;\n#if 1\nint c;\nint d;\n#endif\n#define X\nint e;\n")
    assert [(each.kind, each.fields, each.after, each.line - LINE) for each in restrictions(text, struct)] == [
        ("unit", (0, 1), (), 1),
        ("group", (2, 3), (), 2),
        ("before", (0, 1, 2, 3), (4,), 6),
    ]


def test_paths_in_a_patch_are_quoted_as_git_does(tmp_path):
    names = [bytes((byte, 97)) for byte in range(1, 256) if byte != ord("/")]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in names:
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).touch()
    listed = subprocess.run(["git", "ls-files", "--others"], cwd=tmp_path, check=True, capture_output=True).stdout
    quoted = {os.fsdecode(line) for line in listed.split(b"\n") if line}
    assert {patch._quote_path(os.fsdecode(name)) for name in names} == quoted
