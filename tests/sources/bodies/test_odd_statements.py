"""Statements around operands that are incomplete, wrong or empty: libclang leaves out what it does not understand, and shows\nsome parts of designators twice."""

from __future__ import annotations

import pytest

from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.bodies import flows, unit

HEAD = "struct s { long a, b; char t[8]; }; int f(struct s *p, int i, int *q, void *v); static struct s g;\n"
HEAD += "static struct s ranges[(4)] = { [0 ... (4) - 1] = (struct s){ .a = (1), .t = { 1 } } };\n"
TAIL = "long last(struct s *p) { return p->b; }\n"
STATEMENTS = [
    "X;", "if (X) n;", "if (X) ; else n;", "while (X) n;", "for (X; X; X) n;", "for (int k = X; k < X; k += X) n;", "do n; while (X);",
    "switch (X) { case 1: n; default: ; }", "return X;", "n = X;", "X = n;", "X += n;", "int k[2] = { X };", "int k[9] = { [0 ... (X) - 1] = 1 };", "int k[9] = { [X ... 3] = n };", "q = &(X);", "*(X) = n;", "(X)++;", "-(X);",
    "!(X);", "(X) + n;", "n - (X);", "(X)[i] = 1;", "q[X]++;", "f(X);", "f(p, X);", "(X)(p);", 'asm("" : "+m"(X));', 'asm volatile("%0" :: "r"(X) : "memory");',
    "(X) ? n : i;", "n ? (X) : i;", "(X) ?: n;", "n ?: (X);", "struct s y = { X };", "struct s *y = &(struct s){ X };", "struct s y = { .b = X, [X] = 1 };",
    "typeof(X) y; y;", "sizeof(X);", "({ X; });", "__builtin_expect(X, 1) ? n : i;", "if (!(X) && n || (X)) n;", "if (!!(X)) n;", "while (n-- && X) q++;",
    "for (;;) { if (X) break; }", "__sync_fetch_and_add(X, 1);", "__atomic_load_n(X, 0);", "memcpy(X, p, sizeof *p);", "memcmp(p, X, 8);", "(void)(X);",
    "*(long *)((char *)(X) + 8) = 1;", "n = (X) == &p->b;", "n = (X) - &p->b;", "struct { int b[X]; } z; z.b[0];",
]  # fmt: skip
OPERANDS = [
    "({ })", "({ ; })", "({ n; })", "({ int z; })", "(({ }))", "!({ })", "(undeclared)", "undeclared()", "p->nothing", "()", "", "!", "*", "q[]", "? :", "i ?: n",
    "(struct none)p", "(struct none *)p", "sizeof", "_Generic(n, int: n)", "_Generic(n)", "__builtin_expect(n)", "__builtin_expect()", "n = undeclared",
    "undeclared = n", "++", "n ==", "== n", "n && ", "(n, )", "(void)0", '"t"[i]', "(struct s){ }", "(struct s){ undeclared }", "(struct none){ 1 }",
    "__sync_fetch_and_add()", "__builtin_va_arg(v, int)", "__builtin_offsetof(struct s, none)", "__builtin_offsetof(struct none, b)", "&((struct s *)0)->none",
    "&((struct s *)0)->b", "&((struct none *)0)->b", "(char *)p - ", "(char *)p - undeclared", "*((char *)p + undeclared)", "__real__ n", "__func__", "^{ }",
    "(n)->b", ".b", "v->b", "*v", "f", "&f", "*f", "g", "&g", "g.t", "(&g)->t[i]", "&&label", "({ switch (n) case 1: n; })", "__builtin_choose_expr(1, n, undeclared)",
]  # fmt: skip


@pytest.mark.parametrize("operand", OPERANDS)
def test_what_follows_is_read(tmp_path, operand):
    text = "".join(f"int f{at}(struct s *p, int i, int *q, void *v) {{ int n; {each.replace('X', operand)} }}\n" for at, each in enumerate(STATEMENTS))
    (tmp_path / "a.c").write_text(HEAD + text + TAIL)
    source = Unit(str(tmp_path / "a.c"), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "a.c")
    assert "last" in {function.name for function in unit.read(source).functions}
    assert flows.read_alone(source, ("s",)) is not None
