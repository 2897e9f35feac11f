"""Which declaration a comment stands at."""

from __future__ import annotations

import re

import pytest

from layoutlint.intent.c_comments import Text

CODE = '''\
/* far above */

/* above */
struct s { /* at the brace */
	/* alone above a */
	long a; /* behind a */
	int b, /* between b and c */
		c; // behind c
	/* above the inner one */
	struct { /* at the inner brace */
		int y; /* y */
#ifdef SOME /* on a directive { */
		int z;
#endif
	} x; /* behind the inner one */
	union { int p; char *q; /* q */ };
	char *text __attribute__((annotate("; { /* none */"))); /* text */
	long long_one
		/* within long_one */
		__attribute__((aligned(8)));
	char e; char f; /* f */
	/* behind everything */
};
struct other { int u; /* u */ } v;
'''
FIELDS = {6: "a", 7: "b", 8: "c", 11: "y", 13: "z", 15: "x", 16: "pq", 17: "text", 18: "long_one", 21: "ef", 24: "u"}
"""What is declared on each line."""

AT = {
    "far above": "struct",  # nothing but comments between: so does kernel-doc stand
    "above": "struct",
    "at the brace": "struct",
    "alone above a": "a",
    "behind a": "a",
    "between b and c": "bc",
    "behind c": "bc",
    "above the inner one": "x",
    "at the inner brace": "x",
    "y": "y",
    "on a directive {": "z",
    "behind the inner one": "x",
    "q": "q",
    "text": "text",
    "within long_one": "long_one",
    "f": "f",
}


def names_text(names: str, words: frozenset[str]) -> str:
    return names if names in words else "".join(name for name in names if name in words)


def attachments(code: str, line: int) -> dict[str, str]:
    found = Text(code).comments_of_struct(line)
    assert found is not None
    output = {}
    for each in found[1]:
        names = "".join(FIELDS.get(line, "") for line in each.lines or ())
        at = "struct" if each.lines is None else names_text(names, each.words)
        output[each.comment.text] = at
    return output


def test_comments_and_their_declarations():
    assert attachments(CODE, 4) == AT


def test_the_next_struct_has_its_own():
    assert attachments(CODE, 24) == {"u": "u"}


@pytest.mark.parametrize(("code", "line", "comments"), [
    ("struct s { int a; }; /* x */ // y", 1, ["x", "y"]),
    ("typedef struct { int a; } s; /* x */\nint b; /* y */", 1, ["x"]),
    ("struct s { int a;\n}; /* x */", 1, []),
    ("struct s { int a; }; /* x */ struct t { int b; };", 1, []),
    ("struct s { int a; } v; /* x */", 1, []),  # about the variable
    ("struct o {\nstruct s { int a; } in; /* x */\n};", 2, []),  # about the field
])  # fmt: skip
def test_behind_a_struct_on_one_line(code, line, comments):
    found = Text(code).comments_of_struct(line)
    assert found is not None
    assert [each.comment.text.strip() for each in found[1] if each.lines is None] == comments


def test_lines_end_with_the_brace():
    found = Text(CODE).comments_of_struct(4)
    assert found is not None
    assert found[0] == range(4, 24)


@pytest.mark.parametrize("line", [0, 500, 23, 10**9, -1])
def test_no_struct_starts_there(line):
    assert Text(CODE).comments_of_struct(line) is None or line == 23


@pytest.mark.parametrize("code", [
    "struct s { int a;", "struct s {", "struct s", "", "/* open", "struct s { /* open", '"open', "}", "struct s; { }", "}}}{{{",
])  # fmt: skip
def test_broken_text_holds_nothing(code):
    assert Text(code).comments_of_struct(1) is None or re.fullmatch(r"\}+\{+", code)


def test_stars_and_ends_are_taken_off():
    text = Text("/*\n * one\n * two\n */\nstruct s { int a; // three\n};")
    assert [comment.text for comment in text.comments] == ["one\ntwo", "three"]


def test_words_of_a_line_are_those_of_its_code():
    assert Text('int a; /* b */ char *c = "d"; // e\nf').words(1) == {"int", "a", "char", "c"}
    assert Text("x").words(7) == frozenset()
