"""What is compiled for libclang gives what ctypes gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import libclang, parse
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.bodies import assembler, ctypes_nodes, pointers, syntax, trees, unit, walker
from layoutlint.sources.bodies import facts as facts_of_bodies
from tests.sources.bodies.test_walker import HEAD

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
ATTRIBUTES = """
struct __attribute__((packed, aligned(4), annotate("struct"))) s { int a __attribute__((aligned(8), unused)); void (*call)(int) __attribute__((cold)); };
typedef struct s s_t __attribute__((may_alias)); enum __attribute__((packed)) e { A __attribute__((deprecated)) = 1, B };
static int kept __attribute__((section("x"), used)), weak __attribute__((weak, visibility("hidden"))); extern int named __asm__("other");
static void end(int *p) { } __attribute__((noinline, nonnull(1), cold, pure)) int f(struct s *p __attribute__((unused)), s_t *q) {
  int v __attribute__((cleanup(end))) = 1, w[] = { 'c', L'd', (int)1.5f, (int)(2.0i), sizeof "text", sizeof(L"wide"), _Alignof(struct s), -1 };
  if (v) __attribute__((unused)) label: v = __builtin_types_compatible_p(s_t, struct s) + __builtin_offsetof(struct s, call) + sizeof(s_t[v]);
  switch (v) { case 1: v = 2; __attribute__((fallthrough)); default: goto label; }
  void *at = &&label; goto *at;
  return _Generic(*q, s_t: (enum e)A, default: ((s_t){ 1 }).a) + ({ typedef int inner; (inner)q->a; });
}
"""
BOTH = ((trees.find, trees), (ctypes_nodes.find, ctypes_nodes))
DEEP = "int deep(int a) { return " + "(" * 200 + "a" + ")" * 200 + "; }\n"


@contextmanager
def parse_root(path: Path) -> Iterator[tuple[Any, Any]]:
    lib = trees.library()
    each = Unit(str(path), ("-xc", "-w"), str(path.parent), (str(path.parent),), path.name)
    with parse.parse_unit(lib, each, None, unit.OPTIONS) as handle:
        yield lib, lib.clang_getTranslationUnitCursor(handle)


def is_own(file: int | None) -> bool:
    return True


def facts(node: Any) -> list[Any]:
    return [*(getattr(node, name) for name in FACTS), bytes(node.cursor), bytes(node.reference), list(map(facts, node.children))]


@pytest.mark.parametrize("text", [BODIES, ATTRIBUTES, DEEP, "", "int x", "\xff\0int y;"], ids=["bodies", "attributes", "deep", "empty", "broken", "bytes"])
def test_trees_and_declarations_are_those_of_ctypes(text: str, tmp_path: Path):
    path = tmp_path / "t.c"
    path.write_text(text, encoding="latin-1")
    with parse_root(path) as (_, root):
        compiled, interpreted = trees.definitions(root, is_own), ctypes_nodes.definitions(root, is_own)
        assert [(bytes(cursor), *rest) for cursor, *rest in compiled] == [(bytes(cursor), *rest) for cursor, *rest in interpreted]
        assert [] == trees.definitions(root, lambda _: False) == ctypes_nodes.definitions(root, lambda _: False)
        for each in compiled:
            assert facts(trees.tree(each.cursor)) == facts(ctypes_nodes.tree(each.cursor))
            assert libclang.native.LAYERS == syntax.LAYERS
            in_order = [[facts(node) for node in find(trees_of.tree(each.cursor), syntax.MEMBER)] for find, trees_of in BOTH]
            assert in_order[0] == in_order[1]


NAMED = """
typedef struct { int x; } nameless; typedef struct tagged { int y; } other; struct outer { struct inner { long z; } in; };
typedef _Atomic(struct held { int a; }) atomic_held; struct s { int b; }; typedef struct s renamed; struct gone;
"""


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", "s"), ("struct s;", "s"), (BODIES, "s in nested outer nameless color absent"),
        (NAMED, "nameless"), (NAMED, "other"), (NAMED, "tagged inner"), (NAMED, "atomic_held"), (NAMED, "renamed s gone"),
    ],
)  # fmt: skip
def test_listings_are_those_of_ctypes(words: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, wanted = tmp_path / "t.c", frozenset(names.split())
    path.write_text(words)
    lib = trees.library()
    each = Unit(str(path), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "t.c")
    with parse.parse_unit(lib, each, None, libclang.PREFERRED_OPTIONS) as handle:
        compiled = parse.structs_in(lib, handle, each, wanted, is_annotated=False)
        every = parse.definitions_in(lib, handle, each, Wanted(wanted)).structs()
        assert compiled == tuple(struct for struct in every if struct.bit_size is not None and not struct.problem)
        all_compiled = parse.definitions_in(lib, handle, each, Wanted(everything=True)).structs()
        monkeypatch.setattr(libclang, "native", None)
        assert parse.structs_in(lib, handle, each, wanted, is_annotated=False) == compiled
        assert parse.definitions_in(lib, handle, each, Wanted(everything=True)).structs() == all_compiled
        assert (len(compiled) > 0) == (words in (BODIES, NAMED))


def test_an_error_while_a_tree_is_made_comes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.c"
    path.write_text("int x;\n")
    with parse_root(path) as (_, root):
        libclang.native.bind(libclang.library(), None, None)
        try:
            with pytest.raises(TypeError):
                trees.definitions(root, is_own)
        finally:
            libclang.native.bind(libclang.library(), libclang.Cursor, libclang.Definition)
        assert len(trees.definitions(root, is_own)) == 1


def test_functions_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.c"
    path.write_text(BODIES)
    each = Unit(str(path), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "t.c")
    compiled = unit.read(each)
    monkeypatch.setattr(libclang, "native", None)
    monkeypatch.setattr(trees, "definitions", ctypes_nodes.definitions)
    monkeypatch.setattr(walker, "tree", ctypes_nodes.tree)
    monkeypatch.setattr(assembler, "find", ctypes_nodes.find)
    for module in (walker, pointers):
        monkeypatch.setattr(module, "skip_layers", ctypes_nodes.skip_layers)
    plain_facts = interpret(facts_of_bodies)  # the compiled one takes compiled nodes alone
    for module in (walker, unit):
        monkeypatch.setattr(module, "Facts", plain_facts.Facts)
    assert unit.read(each) == compiled


def interpret(module: ModuleType) -> ModuleType:
    """The module as Python runs it, with nodes by ctypes."""
    path = Path(walker.__file__).with_name(f"{module.__name__.rpartition('.')[2]}.py")
    plain = ModuleType("plain")
    exec(compile(path.read_text(), path, "exec"), plain.__dict__)
    plain.skip_layers = ctypes_nodes.skip_layers
    return plain
