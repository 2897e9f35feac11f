"""Fields by their types: against what a compiler says of types, the same from every reader, and as a table."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.geometry.field_types import TYPE, Finder
from layoutlint.geometry.layout import Layout
from layoutlint.model.ctype import CType
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.intent.annotations.test_vehicles import make
from tests.oracles.c_probe import need

SOURCE = """
typedef struct lock { int word; } lock_t;
typedef lock_t my_lock_t;
typedef const my_lock_t quiet_lock_t;
typedef lock_t lock_row[3];
typedef void (*handler)(int);
typedef handler my_handler;
typedef volatile int counter;
struct ops { handler open; };
typedef const struct ops *ops_p;
typedef struct { lock_t guard; long count; } guarded;
struct slot { char kind; guarded held; };

struct s {
    lock_t a;
    my_lock_t b;
    const my_lock_t c;
    quiet_lock_t d;
    lock_t e[2];
    lock_row f;
    lock_row g[2];
    struct lock h;
    handler i;
    my_handler j[2];
    void (*k)(int);
    void (*const l)(int);
    counter m;
    int n;
    volatile int o;
    const struct ops *p;
    ops_p q;
    struct ops *r;
    const struct ops *volatile t;
    int (*u)(int);
    long v;
    ops_p const w[1];
    struct { my_lock_t inner; union { counter x; long y; }; } z;
    struct slot slots[4];
    guarded one[1];
    struct { struct slot deep[2]; } pool;
    const lock_t *ptr;
    double rest[];
} s;
"""
FIELDS = "a b c d e[0] f[0] g[0][0] h i j[0] k l m n o p q r t u v w[0] z.inner z.x z.y"
"""Those of scalar types and of struct lock, of arrays the first element."""
TYPES = ("struct lock", "int", "long", "void (*)(int)", "int (*)(int)", "const struct ops *", "struct ops *")
"""Without typedefs, as C spells them."""

FOUND = [
    # pattern, fields
    (["lock_t"], "a b c d e f g one.guard pool.deep.held.guard slots.held.guard z.inner"),
    (["my_lock_t"], "b c d z.inner"),
    (["quiet_lock_t"], "d"),
    (["const my_lock_t"], "c d"),
    (["struct lock", "guarded"], "a b c d e f g h one pool.deep.held slots.held z.inner"),
    (["*lock*"], "a b c d e f g h one.guard pool.deep.held.guard ptr slots.held.guard z.inner"),
    (["*[_]t"], "a b c d e f g one.guard pool.deep.held.guard slots.held.guard z.inner"),
    (["handler"], "i j"),
    (["my_handler"], "j"),
    (["void ([*])(*)"], "i j k l"),
    (["const struct ops [*]"], "p q t w"),
    (["counter"], "m z.x"),
    (["volatile int"], "m o z.x"),
    (["struct slot"], "pool.deep slots"),
    (["no_such_t"], ""),
]  # fmt: skip
ARRAYS = [
    # pattern, whether only those of the struct itself, arrays
    (["lock_t"], False, "e f g pool.deep slots"),
    (["lock_t"], True, "e f g pool.deep slots"),
    (["handler"], False, "j"),
    (["long int"], False, "pool.deep slots"),
]
MADE = {
    "DWARF of gcc": (("gcc", "-g", "-c"), "dwarf"),
    "DWARF 4 of gcc": (("gcc", "-gdwarf-4", "-c"), "dwarf"),
    "DWARF of clang": (("clang", "-g", "-c"), "dwarf"),
    "BTF of clang": (("clang", "-g", "-target", "bpf", "-c"), "btf"),
    "BTF of pahole": (("gcc", "-g", "-c"), "btf"),
    "C text": ((), None),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("typed") / "a.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture(params=MADE, scope="module")
def struct(request, text, tmp_path_factory) -> Struct:
    """`struct s`, as one of the readers gives it."""
    command, reader = MADE[request.param]
    path = str(text)
    if command:
        need(command[0])
        path = make(tmp_path_factory.mktemp("made") / "a.o", *command, str(text))
    if request.param == "BTF of pahole":
        need("pahole")
        subprocess.run(["pahole", "-J", path], check=True)
    (found,) = read(path, Wanted(frozenset(("s",))), ReadOptions(reader=reader)).structs
    return found


def type_names(patterns: list[str]) -> tuple[str, ...]:
    return tuple(f"{TYPE}{pattern}" for pattern in patterns)


ASKED = [(field, of) for field in FIELDS.split() for of in TYPES]


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> list[str]:
    """Whether the compiler finds the types of fields compatible with others."""
    need("gcc")
    folder = tmp_path_factory.mktemp("ask")
    lines = (
        f'printf("%d\\n", __builtin_types_compatible_p(__typeof__(s.{field}), {of}));' for field, of in ASKED
    )
    program = folder / "ask.c"
    program.write_text(f"#include <stdio.h>\n{SOURCE}int main(void) {{ {' '.join(lines)} }}\n")
    subprocess.run(["gcc", "-w", "-o", folder / "ask", program], check=True)
    return subprocess.run([folder / "ask"], check=True, capture_output=True, text=True).stdout.split()


def test_types_without_typedefs_are_those_that_a_compiler_finds_compatible(struct, answers):
    """The compiler looks through typedefs, and past the qualifiers of the field itself (GCC, Other Builtins)."""
    output = answers
    assert set(output) == {"0", "1"}
    for of in TYPES:
        expected = {f.partition("[")[0] for (f, t), yes in zip(ASKED, output, strict=True) if t == of and yes == "1"}
        pattern = {"long": "long int"}.get(of, of).replace("*", "[*]")
        outermost = {place.path for place in Finder().find_fields(Layout(struct), type_names([pattern]))}
        assert {path for path in outermost if path in {f.partition("[")[0] for f in FIELDS.split()}} == expected, of


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("patterns", "fields"), FOUND, ids=[" ".join(case[0]) for case in FOUND])
def test_fields(struct, patterns, fields):
    found = [place.path for place in Finder().find_fields(Layout(struct), type_names(patterns))]
    assert sorted(found) == fields.split()
    assert found == [p.path for p in Layout(struct).walk_fields() if p.path in found], "in declared order"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("patterns", "own", "arrays"), ARRAYS)
def test_arrays(struct, patterns, own, arrays):
    assert sorted(place.path for place in Finder().find_arrays(Layout(struct), type_names(patterns), own)) == arrays.split()


def test_places_are_those_of_paths(struct):
    layout, finder = Layout(struct), Finder()
    for patterns, _ in FOUND:
        for place in finder.find_fields(layout, type_names(patterns)):
            known = next(p for p in layout.walk_fields() if p.path == place.path)
            assert (place.bit_offset, place.bit_size, place.field) == (known.bit_offset, known.bit_size, known.field)


@pytest.mark.parametrize(("pattern", "is_match"), [
    ("lock_t", True), ("lock", False), ("l?ck_t", True), ("l?_t", False), ("lock_[st]", True), ("lock_[!t]", False), ("*_t", True),
    ("*_s", False),
])  # fmt: skip
def test_patterns_are_those_of_fnmatch(pattern, is_match):
    lock = Field("a", CType("lock_t"), 0, 32)
    for patterns in ([pattern], ["other", pattern, "x*"]):
        assert Finder().matches(lock, type_names(patterns)) is is_match
