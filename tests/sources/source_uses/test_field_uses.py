"""Which fields code changes only together: by the functions of C text, their callers, and what they hand on."""

from __future__ import annotations

import pytest

from layoutlint.sources.source_uses.field_uses import FieldName, FieldUses
from layoutlint.sources.source_uses.functions import SourceFunctions, functions

A, B = FieldName("a"), FieldName("b")
LOCKS = "struct q { lock_t a, b; };\nvoid both(struct q *q) { lock(&q->a); lock(&q->b); unlock(&q->b); unlock(&q->a); }\n"
"""Code that locks both, to which each row adds code that may lock one."""
ROWS = [
    # what is added, is `b` changed only with `a`, is `a` changed only with `b`
    ("", True, True),
    ("void f(struct q *q) { lock(&q->a); }", True, False),
    ("void f(struct q *q) { lock(&q->b); }", False, True),
    ("void f(struct q *q) { return load(&q->b) + atomic_read(&q->b) + q->b; }", True, True),
    ("void f(struct q *q) { if (q->b == 1) puts(s); }", True, True),
    ("void f(struct q *q) { q->b = 0; g(); h(); }", False, True),
    ("void f(struct q *q) { q->b++; g(); h(); }", False, True),
    ("void f(struct q *q) { --q->b; g(); h(); }", False, True),
    ("void f(struct q *q) { q->b |= 2; g(); h(); }", False, True),
    ("void f(struct q *q) { rwlock_read_lock(&(q->b)); g(); h(); }", False, True),
    ("void f(struct q *q) { atomic_get_incr(q->b); g(); h(); }", False, True),
    ("void f(struct q q[]) { lock(&q[3].b); g(); h(); }", False, True),
    ("void f(struct x *x) { lock(&x->inner.q.b); g(); h(); }", False, True),
    ("/* void f(struct q *q) { lock(&q->b); } */", True, True),
    ('char *s = "{ lock(&q->b); }";', True, True),
    ("#if 0\nvoid f(struct q *q) { lock(&q->b); }\n#endif", True, True),
    ("void f(struct q *q) { lock(&q->better); }", True, True),
    # a function that does nothing else counts for its callers
    ("void take(struct q *q) { lock(&q->b); }\nvoid f(struct q *q) { lock(&q->a); take(q); g(); }", True, True),
    ("#define TAKE(q) \\\n    lock(&(q)->b)\nvoid f(struct q *q) { lock(&q->a); TAKE(q); g(); }", True, True),
    ("#define TAKE(q) lock(&(q)->b)\nvoid f(struct q *q) { TAKE(q); g(); h(); }", False, True),
    # a function whose callers all change the other
    ("void in(struct q *q) { lock(&q->b); g(); h(); }\nvoid f(struct q *q) { lock(&q->a); in(q); g(); }", True, False),
    ("void in(struct q *q) { lock(&q->b); g(); h(); }\nvoid f(struct q *q) { in(q); g(); }", False, True),
    ("void in(struct q *q) { lock(&q->b); g(); h(); }\nvoid f(struct q *q) { lock(&q->a); in(q); on(in); g(); }", False, False),
    # branches of `#if` that open more braces than they close, and linkage around everything
    ("#if X\nvoid f(struct q *q) {\n#else\nvoid f(struct q *q, int n) {\n#endif\nlock(&q->b); g(); h();\n}", False, True),
    ('extern "C" {\nvoid f(struct q *q) { lock(&q->b); g(); h(); }\n}', False, True),
    ("static inline int __attribute__((hot))\nf(struct q *q)\n{\n\tlock(&q->b);\n\tg();\n\th();\n}", False, True),
]  # fmt: skip


@pytest.mark.parametrize(("added", "b_with_a", "a_with_b"), ROWS)
def test_what_is_changed_only_together(tmp_path, added, b_with_a, a_with_b):
    (tmp_path / "a.c").write_text(LOCKS)
    (tmp_path / "b.c").write_text(added)
    uses = FieldUses(SourceFunctions((str(tmp_path / "a.c"), str(tmp_path / "b.c"))))
    assert (uses.is_always_with(B, A), uses.is_always_with(A, B)) == (b_with_a, a_with_b)


COUNT, LOCK = FieldName("count", ("q", "queue_t"), False), FieldName("lock", ("q", "queue_t"), False)
OF_SEVERAL = [
    # of which struct the text shows the fields to be, is `count` changed only with `lock`
    ("void f(struct q *q) { add(&q->count, 1); lock(&q->lock); g(); }", True),
    ("void f(queue_t *q) { add(&q->count, 1); lock(&q->lock); g(); }", True),
    ("void f(void) { struct q *a = x(), b[2]; add(&a->count, 1); lock(&a->lock); g(); }", True),
    ("void f(struct q *q, struct r *r) { add(&q->count, 1); lock(&r->lock); g(); }", False),
    ("void f(struct q *q) { add(&q->count, 1); lock(&unknown->lock); g(); }", False),
    ("void f(struct q *q) { add(&unknown->count, 1); lock(&q->lock); g(); }\nvoid h(void) { add(&unknown->count, 1); x(); y(); }", False),
    ("void f(struct q *q) { add(&q->count, 1); lock(&q->lock); g(); }\nvoid h(struct r *r) { add(&r->count, 1); x(); y(); }", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), OF_SEVERAL)
def test_names_of_fields_of_several_structs(tmp_path, text, expected):
    (tmp_path / "a.c").write_text(text)
    assert FieldUses(SourceFunctions((str(tmp_path / "a.c"),))).is_always_with(COUNT, LOCK) is expected


@pytest.mark.parametrize("text", ["", "void f(struct q *q);", "int x = q->a;"])
def test_without_code_that_changes_it_nothing_is_known(tmp_path, text):
    (tmp_path / "a.c").write_text(text)
    uses = FieldUses(SourceFunctions((str(tmp_path / "a.c"), str(tmp_path / "missing.c"))))
    assert not uses.is_always_with(A, B)


def test_a_static_function_is_called_in_its_own_file(tmp_path):
    """Another file defines a function of that name, so that its calls mean its own."""
    (tmp_path / "a.c").write_text(LOCKS + "static void in(struct q *q) { lock(&q->b); g(); h(); }\nvoid f(q) { in(q); lock(&q->a); x(); }")
    (tmp_path / "b.c").write_text("static void in(int n) { g(); }\nvoid other(void) { in(3); }")
    assert FieldUses(SourceFunctions((str(tmp_path / "a.c"), str(tmp_path / "b.c")))).is_always_with(B, A)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("int f(void) { return 1; }", ["f"]),
        ("struct s { int a; };\nstatic int t[] = { 1, 2 };\nint f(a) int a; { }", []),
        ("enum { A }; int (*table[2])(void) = { f, g };\nstruct s f(int (*cb)(int)) { }", ["f"]),
        ("} } int f(void) {", []),
        ("void f(void) { { } if (a) { b(); } }\nvoid g(void) { }", ["f", "g"]),
    ],
)
def test_the_functions_of_a_text(code, names):
    assert [function.name for function in functions(code, "a.c")] == names
