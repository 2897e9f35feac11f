"""What a name is that is no struct: by the text, for messages."""

from __future__ import annotations

import time

import pytest

from layoutlint.readers.clang.declared_things import what_is
from tests.harness.command import run

TEXT = """
enum color { RED = 1, GREEN /* , NAMED */ };
typedef enum color color_t;
typedef enum { ON, OFF } state_t;
typedef unsigned long word_t;
typedef int (*handler_t)(void);
typedef int compare_t(const void *, const void *);
typedef struct ring ring_t;
typedef struct ring *(alloc_fn)(unsigned int, size_t);
typedef void (*one_t)(word_t, argument_t);
typedef struct { int a; } plain_t;
#define LIMIT 3
#  define CALL(x) compute(x)
struct ring { long head; struct { int deep; } inner; int tail : 3, last[4]; };
union both { int one; char other; };
int compute(int), rest;
extern int counter;
static const char *names[] = { "strings" };
struct ring rings[2] = { { .head = 1 } };
static inline int twice(int x) { int local = x; return local + x; }
int first = VALUE, second = 1 + VALUE, *third = &VALUE; long fourth = compute_value(VALUE), fifth[LENGTH];
struct widths { int tail : WIDTH, second_tail; }; struct widths some = { VALUE, .tail = VALUE, 3 }; enum color shade = { VALUE }, other = VALUE;
int after = 1;
// int commented;
"""
THINGS = {
    "color": "an enum", "RED": "an enumerator", "GREEN": "an enumerator", "NAMED": None, "ON": "an enumerator",
    "color_t": "a typedef of an enum", "state_t": "a typedef of an enum", "word_t": "a typedef of `unsigned long`",
    "handler_t": "a typedef of a pointer to a function", "compare_t": "a typedef of a function",
    "alloc_fn": "a typedef of a pointer to a function", "size_t": None, "argument_t": None, "one_t": "a typedef of a pointer to a function",
    "ring_t": "a typedef of `struct ring`", "plain_t": None, "LIMIT": "a macro", "CALL": "a macro", "ring": None, "both": None,
    "head": "a field of ring", "tail": "a field of ring", "last": "a field of ring", "one": "a field of both", "a": "a field",
    "compute": "a function", "counter": "a variable", "names": "a variable", "strings": None, "rings": "a variable",
    "VALUE": None, "WIDTH": None, "LENGTH": None, "second": "a variable", "compute_value": None, "second_tail": "a field of widths",
    "twice": "a function", "local": None, "after": "a variable", "commented": None, "missing": None, "inner": "a field of ring",
}  # fmt: skip


@pytest.mark.parametrize(("name", "thing"), THINGS.items(), ids=THINGS)
def test_what_a_name_is(name: str, thing: str | None):
    assert what_is(name, TEXT) == thing


@pytest.mark.parametrize("text", ["", "}", "}}}{", "enum", "typedef", "x(", "struct {", "enum {,", "#define", "{" * 9, "x = {" * 50])
def test_damaged_text_is_no_error(text: str):
    assert what_is("nothing", text) is None


@pytest.mark.parametrize("text", ["struct ring { long head", "struct ring { long head,", "enum e { head", "int head", "typedef int head"])
def test_what_does_not_end_declares_nothing(text: str):
    assert what_is("head", text) is None


def test_a_long_text_takes_linear_time():
    start = time.perf_counter()
    what_is("missing", "enum e { A, B };\n" * 20_000 + "int f(int x) { return x; }\n" * 20_000 + "{" * 50_000)
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("way", ["a file", "standard input"])
def test_show_says_it(way, tmp_path):
    (tmp_path / "a.h").write_text(TEXT)
    path, given = ("a.h", None) if way == "a file" else ("-", TEXT.encode())
    done = run("show", path, "color", "head", "rung", cwd=tmp_path, given=given)
    assert done.returncode == 3
    assert ": no struct color: `color` is an enum\n" in done.stderr
    assert ": no struct head: `head` is a field of ring\n" in done.stderr
    assert ": no struct rung (did you mean `ring`?)\n" in done.stderr
