"""Text that nobody would write takes no more time than its length says."""

from __future__ import annotations

import pytest

from layoutlint.sources.source_uses.element_owners import ArrayName, ElementOwners
from layoutlint.sources.source_uses.field_uses import FieldName, FieldUses
from layoutlint.sources.source_uses.functions import SourceFunctions
from tests.harness.pace import limit_time

HEAD = "struct p { int n; }; int m[64], sizes[64];\n"
MANY = 20_000
NUMBERS = range(MANY)
TEXTS = {
    "locks of one function": "void f(int i)\n{\n" + "lock(&m[i]);\n" * MANY + "sizes[i]++;\n}\n",
    "locks and changes": "void f(int i)\n{\n" + "lock(&m[i]); sizes[i]++;\n" * MANY + "}\n",
    "changes": "void f(int i)\n{\n" + "sizes[i]++;\n" * MANY + "}\n",
    "assignments": "void f(int i)\n{ int j;\n" + "j = i;\n" * MANY + "sizes[j]++;\n}\n",
    "functions that call the next": "".join(f"void f{n}(int i) {{ f{n + 1}(i); }}\n" for n in NUMBERS) + f"void f{MANY}(int i) {{ sizes[i]++; }}\n",
    "callers of one function": "void w(int i) { sizes[i]++; }\n" + "".join(f"void f{n}(int i) {{ w(i); }}\n" for n in NUMBERS),
    "calls of one function": "void w(int i) { sizes[i]++; }\nvoid f(int i)\n{\n" + "w(i);\n" * MANY + "}\n",
    "functions of one name": "void f(int i)\n{ sizes[i]++; }\n" * MANY,
    "braces": "void f(int i)\n{\n" + "{" * MANY + "sizes[i]++;" + "}" * MANY + "\n}\n",
    "braces without an end": "void f(int i)\n{ sizes[i]++; {\n" * MANY,
    "parentheses": "void f(int i)\n{\n sizes[" + "(" * MANY + "i" + ")" * MANY + "]++; }\n",
    "calls without an end": "void f(int i)\n{\n sizes[i]++;" + "g(" * MANY + "\n}\n",
    "subscripts in subscripts": "void f(int i)\n{\n" + "sizes[" * MANY + "i" + "]" * MANY + "++; }\n",
    "loops in loops": "void f(int i)\n{\n" + "for(;;){" * MANY + "sizes[i]++;" + "}" * MANY + "\n}\n",
    "loops": "void f(int i)\n{\n" + "for(;;){sizes[i]++;}\n" * MANY + "\n}\n",
    "arrows": "void f(struct x *i)\n{\n" + "a->" * MANY + "sizes[i]++;\n}\n",
    "pointers": "void f(int i)\n{\n" + "p = &sizes[i]; *p = 1;\n" * MANY + "}\n",
    "macros": "".join(f"#define M{n} M{n + 1}\n" for n in NUMBERS) + "void f(void) { sizes[M0]++; }\n",
    "threads": "pthread_create(&t, 0, f, 0);\n" * MANY + "void f(int i) { sizes[i]++; }\n",
    "threads without an end": "pthread_create(" * MANY + "void f(int i) { sizes[i]++; }\n",
    "results": "int g(void)\n{\n" + "return i;\n" * MANY + "}\nvoid f(void) { sizes[g()]++; }\n",
    "results without an end": "int g(void)\n{\n" + "return " * MANY + "}\nvoid f(void) { sizes[g()]++; }\n",
    "casts": "void f(int i)\n{ sizes[i]++; k = " + "(int" * MANY + ";}\n",
    "spaces in a cast": "void f(int i)\n{ struct w *p = (int" + " " * 10 * MANY + "x; sizes[p->id]++; }\n",
    "quotes and comments": "void f(int i)\n{ sizes[i]++; " + "'/*" * MANY + '"\n}\n',
    "no text": "void f(int i)\n{ sizes[i]++; " + "\xff\xfe\0\x80" * MANY + " }\n",
    "a line of 5 MB": "void f(int i) {" + "sizes[i] = g(b, i);" * 270_000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name == "locks of one function" else pytest.mark.exhaustive) for name in TEXTS
])  # fmt: skip
def test_time_is_bounded(name: str):
    sources = SourceFunctions(("a.c",), {"a.c": HEAD + TEXTS[name]})
    with limit_time(5):
        ElementOwners(sources, lambda name: "init" in name).reason(ArrayName("sizes", None, True, "a.c"))
        FieldUses(sources).is_always_with(FieldName("sizes", ("p",)), FieldName("n", ("p",)))
