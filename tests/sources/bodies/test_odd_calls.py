"""Calls of functions that are known by name, with any arguments: a text can declare them as it likes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.sources.bodies import flow_calls, flows, library_calls, text_calls

HEAD = """struct thing { int a; int b; char t[8]; int d; };
struct thing g; int k; __builtin_va_list l;
void *sub(void *p) { return ((struct thing *)p)->t; }
"""
ARGUMENTS = [
    "", "0", "&g", "&g.a", "g", "sub", "&g, 0", "sub, &g", "&k, sub", "&g, sub, 0", "k, k, k", '"%d%s%zz", &g', "&g, &g, &g",
    "&g, 8, 9, sub, &g.d", 'g.t, "abcdefghijk"', 'k, "%hhd %Lf %*d %5$d", &g.b', "&g.t, (char[]){1, 2}, 3", "l, &g.a", "sub, sub, sub, sub, sub",
]  # fmt: skip


def known_names() -> Iterator[str]:
    """Yield the words in the tables of functions."""
    for module in (flow_calls, library_calls, text_calls):
        for name, table in vars(module).items():
            if name.isupper() and isinstance(table, dict | frozenset | tuple):
                words = (each for each in table if isinstance(each, str))
                yield from (each for each in words if each.isidentifier() and not each.startswith("_"))


NAMES = sorted({*known_names(), *"memmem pthread_join memcpy memcmp strcat read recv".split()})  # noqa: SIM905


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_any_arguments(tmp_path, arguments):
    declared = "".join(f"void *{name}();\n" for name in NAMES)
    calls = "".join(f"void f_{name}(void) {{ {name}({arguments}); }}\n" for name in NAMES)
    (tmp_path / "a.c").write_text(HEAD + declared + calls)
    found = flows.read([str(tmp_path / "a.c")], ("thing",), ReadOptions(flags=("-fno-builtin",), cache=False, jobs=1))
    assert found.conversions != []
    assert all("function call" in note for note in found.notes)  # of what clang knows itself
