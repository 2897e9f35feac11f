"""`rules asserts STRUCT --form`: gcc rejects the assertions exactly where a member, the size or the alignment differs."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.harness import tools
from tests.harness.command import run

PRELUDE = "struct in { char c; long l; short s[3]; };\nunion un { int i; struct in k; };\ntypedef struct { short p; char q; } only;\ntypedef struct in pair[2];\n"
IN = (".c", ".l", ".s")
DECLARATIONS = (
    # a declaration of `@`, and the paths that C has for it
    *((f"{of} @", ("@",)) for of in ("char", "short", "int", "long", "void *", "double", "long double", "float", "_Bool")),
    ("char @[5]", ("@",)), ("int @[2][3]", ("@",)), ("void (*@[2])(int)", ("@",)), ("int @ : 3", ()), ("long @ : 17", ()),
    ("unsigned char @ : 8", ()), ("char @ __attribute__((aligned(16)))", ("@",)), ("struct in @ __attribute__((packed))", ("@", *(f"@{each}" for each in IN))),
    ("only @", ("@", "@.p", "@.q")), ("only @[3]", ("@", "@[0].p", "@[0].q")), ("pair @[3]", ("@", *(f"@[0][0]{each}" for each in IN))),
    ("union un @", ("@", "@.i", "@.k", *(f"@.k{each}" for each in IN))),
    ("struct { char @a; union { int @b; struct { short @c; long @d; }; }; }", ("@a", "@b", "@c", "@d")),
    ("union { long @a; only @b[2]; }", ("@a", "@b", "@b[0].p", "@b[0].q")),
    ("struct { int x; int y : 4; struct { char z[3]; } deep[2]; } @", ("@", "@.x", "@.deep", "@.deep[0].z")),
    ("struct { } @", ("@",)), ("_Atomic only @", ("@",)),
)  # fmt: skip
CHANGED = DECLARATIONS[:-1]
"""Without `_Atomic`: gcc has offsets of its members, and clang has none."""
TAILS = (("", ()), ("", ()), ("char @[]", ("@",)), ("only @[]", ("@", "@[0].p", "@[0].q")), ("struct in @[0]", ("@", *(f"@[0]{each}" for each in IN))))
ATTRIBUTES = ("", "", "", "", " __attribute__((packed))", " __attribute__((aligned(64)))")
HEADS = ("struct {} {{\n{}}}{};\n", "struct {} {{\n{}}}{};\n", "union {} {{\n{}}}{};\n", "typedef struct {{\n{1}}}{2} {0};\n")


class Member(NamedTuple):
    name: str
    declaration: str
    paths: tuple[str, ...]


class Shape(NamedTuple):
    head: str
    members: tuple[Member, ...]
    tail: Member
    attribute: str

    def declare(self, name: str) -> str:
        every = [each.declaration.replace("@", each.name) for each in (*self.members, self.tail) if each.declaration]
        return self.head.format(name, "".join(f"\t{each};\n" for each in every), self.attribute)

    @property
    def paths(self) -> list[str]:
        return [path.replace("@", each.name) for each in (*self.members, self.tail) for path in each.paths]


def draw(chance: random.Random) -> Shape:
    head = chance.choice(HEADS)
    members = tuple(Member(f"f{n}", *chance.choice(DECLARATIONS)) for n in range(chance.randint(1, 9)))
    tail = Member("tail", *chance.choice(TAILS)) if head.startswith("struct") else Member("tail", "", ())
    return Shape(head, (Member("first", "int @", ("@",)), *members), tail, chance.choice(ATTRIBUTES))


def edit(shape: Shape, chance: random.Random) -> Shape:
    """One change of a shape: of its members, or of its attributes."""
    members = list(shape.members)
    at = chance.randrange(1, len(members))
    match chance.choice(("move", "resize", "insert", "remove", "align")):
        case "move":
            members.insert(chance.randrange(1, len(members) + 1), members.pop(at))
        case "resize":
            members[at] = Member(members[at].name, *chance.choice(CHANGED))
        case "insert":
            members.insert(at, Member("new", *chance.choice(CHANGED)))
        case "remove":
            del members[at]
        case "align":
            return shape._replace(attribute=chance.choice(ATTRIBUTES))
    return shape._replace(members=tuple(members))


def spelling(name: str, shape: Shape) -> str:
    return name if shape.head.startswith("typedef") else f"{shape.head.split()[0]} {name}"


def facts(folder: Path, shapes: dict[str, Shape]) -> dict[str, dict[str, int]]:
    """What gcc says of each shape: its size, its alignment, and the offset of each path."""
    rows = [(name, what, text) for name, shape in shapes.items() for what, text in _expressions(name, shape)]
    text = f"{header(shapes)}long v[] = {{{','.join(text for *_, text in rows)}}};\n#include <stdio.h>\n"
    text += 'int main(void) { for (unsigned n = 0; n < sizeof(v) / sizeof(*v); n++) printf("%ld\\n", v[n]); }\n'
    (folder / "facts.c").write_text(text)
    subprocess.run([tools.need("gcc"), "-o", "facts", "facts.c"], cwd=folder, check=True)
    values = subprocess.run(["./facts"], cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    found: dict[str, dict[str, int]] = {name: {} for name in shapes}
    for (name, what, _), value in zip(rows, values, strict=True):
        found[name][what] = int(value)
    return found


def _expressions(name: str, shape: Shape) -> Iterator[tuple[str, str]]:
    type_name = spelling(name, shape)
    yield from (("size", f"sizeof({type_name})"), ("align", f"_Alignof({type_name})"))
    yield from ((path, f"__builtin_offsetof({type_name}, {path})") for path in shape.paths)


def header(shapes: dict[str, Shape]) -> str:
    return PRELUDE + "".join(shape.declare(name) for name, shape in shapes.items())


def linux_headers(folder: Path) -> None:
    """The headers of Linux that the other forms include, as far as they need them."""
    (folder / "linux").mkdir()
    (folder / "linux/stddef.h").write_text("#define offsetof(TYPE, MEMBER) __builtin_offsetof(TYPE, MEMBER)\n")
    (folder / "linux/build_bug.h").write_text("""\
#define __used __attribute__((__used__))
#define static_assert(expr, ...) __static_assert(expr, ##__VA_ARGS__, #expr)
#define __static_assert(expr, msg, ...) _Static_assert(expr, msg)
#define BUILD_BUG_ON_MSG(cond, msg) _CHECK(cond, msg, __COUNTER__)
#define BUILD_BUG_ON(cond) BUILD_BUG_ON_MSG(cond, "BUILD_BUG_ON failed: " #cond)
#define _CHECK(cond, msg, number) _CALL(cond, msg, number)
#define _CALL(cond, msg, number) \\
    do { extern void _failed_##number(void) __attribute__((error(msg))); if (cond) _failed_##number(); } while (0)
""")


def failing(folder: Path, text: str, compiler: str = "gcc") -> set[str]:
    """The structs of the assertions that a compiler rejects. gcc names their lines in notes if a macro is between."""
    (folder / "asserted.c").write_text(text)
    limit = {"gcc": "-fmax-errors=0", "clang": "-ferror-limit=0"}[compiler]
    words = [tools.need(compiler), "-std=gnu11", "-fsyntax-only", "-I.", limit, "asserted.c"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    lines = text.splitlines()
    rows = {int(row) for row in re.findall(r"^asserted.c:(\d+):\d+: (?:error|note: in expansion)", done.stderr, re.MULTILINE)}
    assert bool(rows) is bool(done.returncode)
    return {re.search(r"\bs\d+\b", lines[row - 1])[0] for row in rows}  # type: ignore[index]


@pytest.mark.parametrize(("seed", "count", "form"), [
    (0, 40, "c11"), (1, 40, "kernel"), *(pytest.param(seed, 250, "c11", marks=pytest.mark.exhaustive) for seed in range(2, 6)),
])  # fmt: skip
def test_a_compiler_rejects_what_differs(tmp_path, seed, count, form):
    chance = random.Random(seed)
    old = {f"s{n}": draw(chance) for n in range(count)}
    (tmp_path / "old.h").write_text(header(old))
    done = run("rules", "asserts", *old, "--in", "old.h", "--form", form, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    linux_headers(tmp_path)
    text = done.stdout
    before = facts(tmp_path, old)
    for name, known in before.items():
        asserted = re.findall(rf"offsetof\((?:struct |union )?{name}, (.+?)\) ==", done.stdout)
        assert set(asserted) == known.keys() - {"size", "align"}
    assert failing(tmp_path, f"{header(old)}{text}") == set()
    for _ in range(3):
        new = {name: edit(shape, chance) for name, shape in old.items()}
        after = facts(tmp_path, new)
        expected = {name for name, known in before.items() if not known.items() <= after[name].items()}
        assert 0 < len(expected) < count
        for compiler in ("gcc", "clang"):
            assert failing(tmp_path, f"{header(new)}{text}", compiler) == expected, compiler


STRUCT = "struct q { char a; struct { long b; } in; int c : 3; };\n"
RULE = '[[rule]]\nid = "near"\nstruct = "q"\nkind = "offset"\nfields = ["a"]\nat = 0\nwhy = "a \\"test\\""\n'
CHANGES = [
    # what is replaced, by what, and the messages of the compiler
    ("", "", []),
    ("c : 3", "c : 4", []),
    ("int c : 3;", "int c : 3; long d;", ["BUILD_BUG_ON failed: sizeof(struct q) != 24"]),
    ("long b; }", "int e; long b; }", ["BUILD_BUG_ON failed: offsetof(struct q, in.b) != 8", "BUILD_BUG_ON failed: sizeof(struct q) != 24"]),
    ("{ char a;", "{ char e[2], a;", ["BUILD_BUG_ON failed: offsetof(struct q, a) != 0", 'layoutlint near: a "test"']),
]  # fmt: skip


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_function_with_build_bug_on(tmp_path, compiler):
    """Compilers check it where they emit it, so also if nothing calls it."""
    linux_headers(tmp_path)
    (tmp_path / "q.h").write_text(STRUCT)
    (tmp_path / "r.toml").write_text(RULE)
    done = run("rules", "asserts", "q", "r.toml", "--in", "q.h", "--form", "build-bug-on", cwd=tmp_path)
    for old, new, messages in CHANGES:
        (tmp_path / "asserted.c").write_text(STRUCT.replace(old, new, 1) + done.stdout)
        words = [tools.need(compiler), "-O2", "-Wall", "-Wextra", "-c", "-I.", "-o", "asserted.o", "asserted.c"]
        compiled = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert ("warning" in compiled.stderr, compiled.returncode) == (False, int(bool(messages)))
        text = compiled.stderr.replace('\\"', '"')
        assert sorted({each for each in re.findall(r"attribute error: (.*)|attribute: (.*)", text) for each in each if each}) == messages


LEFT_OUT = [
    # the source, the status, and what a comment says
    ("struct q { long a; int b : 3; };", 0, "b at 8:0 is not asserted: a bit-field has no offsetof()"),
    ("struct q { long a; _Atomic struct { int x; } b; };", 0, "the members of b are not asserted: C gives no access to members of an _Atomic struct"),
    ("struct q { long a; missing_t b; };", 3, "struct q is not asserted: the layout is unreliable: "),
    ("struct q; struct q *p;", 3, "struct q is not asserted: the struct is declared but not defined"),
    ("struct q { long a; int b; } __attribute__((randomize_layout));", 3, "struct q is not asserted: the order of its fields is random"),
    ("void f(void) { struct q { long a; } x; }", 3, ""),
]  # fmt: skip


@pytest.mark.parametrize(("source", "status", "comment"), LEFT_OUT)
def test_what_is_left_out_says_why(tmp_path, source, status, comment):
    (tmp_path / "q.c").write_text(f"{source}\n")
    done = run("rules", "asserts", "q", "--in", "q.c", "--c11", cwd=tmp_path)
    assert (done.returncode, bool(done.stderr)) == (status, bool(status))
    assert f"/* {comment}" in done.stdout or not comment
    assert ("sizeof" in done.stdout) is not status
    if status:
        assert run("rules", "asserts", "q", "--in", "q.c", "--c11", "--allow-unknown", cwd=tmp_path).returncode == 0


def test_definitions_that_differ_contradict(tmp_path):
    """Of one that several units have alike, there is one block."""
    for name, members in (("one.c", "long a; char b;"), ("other.c", "char b; long a;")):
        (tmp_path / name).write_text(f"struct q {{ {members} }}; struct q q_{name[:3]};\nstruct same {{ int a; }}; struct same s_{name[:3]};\n")
        subprocess.run([tools.need("gcc"), "-g", "-c", name], cwd=tmp_path, check=True)
    subprocess.run([tools.need("gcc"), "-nostdlib", "-r", "-o", "both.o", "one.o", "other.o"], cwd=tmp_path, check=True)
    done = run("rules", "asserts", "q", "same", "--in", "both.o", "--c11", cwd=tmp_path)
    assert done.returncode == 3
    reason = "struct q is not asserted: its 2 definitions differ (one.c:1, other.c:1)"
    assert f"/* {reason} */" in done.stdout
    assert reason in done.stderr
    assert done.stdout.count("_Static_assert(sizeof(struct same) == 4,") == 1


def test_debug_information_states_fewer_alignments(tmp_path):
    (tmp_path / "q.c").write_text("struct q { long a[2]; struct { char c; } list[2]; } q;\n")
    subprocess.run([tools.need("gcc"), "-g", "-c", "q.c"], cwd=tmp_path, check=True)
    text = run("rules", "asserts", "q", "--in", "q.o", "--c11", cwd=tmp_path).stdout
    assert "/* the alignment of struct q is not asserted: the input leaves it open (1 or 2 or 4 or 8) */" in text
    assert "_Static_assert(offsetof(struct q, list[0].c) == 16," in text
