"""What is compiled for libclang gives what ctypes gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from layoutlint.model.wanted import Wanted
from layoutlint.readers.bodies import ctypes_nodes, trees, unit, walker
from layoutlint.readers.clang import libclang, parse
from layoutlint.readers.clang.parse import Unit
from tests.readers.bodies.test_walker import HEAD

pytestmark = pytest.mark.skipif(libclang.native is None, reason="nothing is compiled here")
FACTS = (
    "kind", "identity", "type_kind", "binary_operator", "unary_operator", "referenced_kind", "referenced_identity", "spot",
)  # fmt: skip
BODIES = HEAD + """
enum color { RED, GREEN = 3 };
typedef struct { int x; } nameless;
static const struct s table[] = { { .call = f, .arr[1].q = 2 }, [3] = { .a = 1 } };
static __thread int mine;
struct outer { struct nested { union { int a; long b; }; } in; int bits : 3, : 2; };
void t(struct s *x, struct s y, int n) {
  int i, v[n], w[2] = { 1, 2 };
  for (i = 0; i < n; i++) { if (unlikely(x->a)) goto out; else if (n) continue; v[i] = x->arr[i].q; }
  do { x->b2 ^= ~n; } while (0);
  switch (n) { case RED: x->a++; break; case 4 ... 6: --x->b; default: ; }
  while (n--) x->call(((struct in *)x->p)->r[n], sizeof(struct in), (struct in){ 1 }.q);
  bump(&x->count), WRITE_ONCE(x->next, READ_ONCE(y.next) ?: x);
  __asm__ volatile("# %0" : "+m"(x->a) : "r"(n) : "memory");
  ({ int z = x->box.deep; z; });
  _Generic(n, int: x->a, default: x->b) + __builtin_offsetof(struct s, a);
out: __atomic_store_n(&x->next, &y, 5); return;
}
struct gone *late(struct gone *g) { return g + undeclared; }
"""
DEEP = "int deep(int a) { return " + "(" * 200 + "a" + ")" * 200 + "; }\n"


@contextmanager
def parse_root(path: Path) -> Iterator[tuple[Any, Any]]:
    lib = trees.library()
    each = Unit(str(path), ("-xc", "-w"), str(path.parent), (str(path.parent),), path.name)
    with parse.parse_unit(lib, each, None, unit._OPTIONS) as handle:
        yield lib, lib.clang_getTranslationUnitCursor(handle)


def facts(node: Any) -> list[Any]:
    return [*(getattr(node, name) for name in FACTS), bytes(node.cursor), bytes(node.reference), list(map(facts, node.children))]


@pytest.mark.parametrize("text", [BODIES, DEEP, "", "int x", "\xff\0int y;"], ids=["bodies", "deep", "empty", "broken", "bytes"])
def test_trees_and_declarations_are_those_of_ctypes(text: str, tmp_path: Path):
    path = tmp_path / "t.c"
    path.write_text(text, encoding="latin-1")
    with parse_root(path) as (_, root):
        compiled, interpreted = trees.definitions(root), ctypes_nodes.definitions(root)
        assert [(bytes(cursor), *rest) for cursor, *rest in compiled] == [(bytes(cursor), *rest) for cursor, *rest in interpreted]
        for each in compiled:
            assert facts(trees.tree(each.cursor)) == facts(ctypes_nodes.tree(each.cursor))


@pytest.mark.parametrize("words", ["", "struct s;", BODIES])
def test_listings_are_those_of_ctypes(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.c"
    path.write_text(words)
    lib = trees.library()
    each = Unit(str(path), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "t.c")
    with parse.parse_unit(lib, each, None, libclang.PREFERRED_OPTIONS) as handle:
        compiled = parse.structs_in(lib, handle, each, Wanted(everything=True))
        monkeypatch.setattr(libclang, "native", None)
        assert parse.structs_in(lib, handle, each, Wanted(everything=True)) == compiled
        assert (len(compiled) > 0) == (words == BODIES)


def test_an_error_while_a_tree_is_made_comes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.c"
    path.write_text("int x;\n")
    with parse_root(path) as (_, root):
        libclang.native.bind(libclang.library(), None, None)
        try:
            with pytest.raises(TypeError):
                trees.definitions(root)
        finally:
            libclang.native.bind(libclang.library(), libclang.Cursor, libclang.Definition)
        assert len(trees.definitions(root)) == 1


def test_functions_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.c"
    path.write_text(BODIES)
    each = Unit(str(path), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "t.c")
    compiled = unit.read(each)
    monkeypatch.setattr(libclang, "native", None)
    monkeypatch.setattr(trees, "definitions", ctypes_nodes.definitions)
    monkeypatch.setattr(walker, "tree", ctypes_nodes.tree)
    assert unit.read(each) == compiled
