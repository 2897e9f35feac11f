"""`diff` of a chosen struct, as deep as others are embedded in it, and of types; offsets are those of gcc."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run
from tests.reports.page import sample

KOBJ = "struct kobj { int a; short s, r; int ref; };"
SWAPPED = "struct kobj { int a, ref; short s, r; };"
HEADER = "struct h { unsigned char kind, flags; unsigned short len; } __attribute__((packed));"
CASES: dict[str, Any] = {
    # both versions; the edits, the moves and the types of struct s that are listed; a part of the text
    "members of a member": (
        f"{KOBJ} struct s {{ long x; struct kobj k; }};", f"{SWAPPED} struct s {{ long x; struct kobj k; }};",
        ["reordered k.ref"], {"k.s": (12, 16), "k.r": (14, 18), "k.ref": (16, 12)}, [], "reordered `k.ref`: 16 -> 12"),
    "of an element of an array": (
        f"{KOBJ} struct s {{ long x; struct kobj k[3]; }};", f"{SWAPPED} struct s {{ long x; struct kobj k[3]; }};",
        ["reordered k.ref"], {"k.s": (12, 16), "k.r": (14, 18), "k.ref": (16, 12)}, [], ""),
    "three levels deep": (
        f"{KOBJ} struct d {{ struct kobj k; }}; struct s {{ struct {{ struct d d; }} in; }};",
        f"{SWAPPED} struct d {{ struct kobj k; }}; struct s {{ struct {{ struct d d; }} in; }};",
        ["reordered in.d.k.ref"], {"in.d.k.s": (4, 8), "in.d.k.r": (6, 10), "in.d.k.ref": (8, 4)}, [], ""),
    "of a packed header": (
        f"{HEADER} struct s {{ struct h h; int v; }} __attribute__((packed));",
        f"{HEADER.replace('kind, flags', 'flags, kind')} struct s {{ struct h h; int v; }} __attribute__((packed));",
        ["reordered h.flags"], {"h.kind": (0, 1), "h.flags": (1, 0)}, [], ""),
    "of a typedef, and of an unnamed member": (
        f"typedef {KOBJ[:-1].replace('kobj ', '')} k_t; struct s {{ union {{ k_t k; long x; }}; }};",
        f"typedef {SWAPPED[:-1].replace('kobj ', '')} k_t; struct s {{ union {{ k_t k; long x; }}; }};",
        ["reordered k.ref"], {"k.s": (4, 8), "k.r": (6, 10), "k.ref": (8, 4)}, [], ""),
    "bits of a member": (
        "struct b { int a : 3; int err : 4; }; struct s { struct b b; };",
        "struct b { int a : 3; int : 2; int err : 4; }; struct s { struct b b; };",
        [], {"b.err": (0, 0)}, [], "moved `b.err` bits 3..6 -> bits 5..8"),
    "bits in their byte": (
        "struct s { int x; int a : 3; int err : 4; };", "struct s { int x; int a : 3; int : 1; int err : 4; };",
        [], {"err": (4, 4)}, [], "moved `err` bits 35..38 -> bits 36..39"),
    "elements of another size": (
        "struct e { int a; }; struct s { int n; struct e e[]; };",
        "struct e { int a, b; }; struct s { int n; struct e e[]; };",
        ["resized e[0]", "added e.b"], {}, [], "resized `e[0]`: 4 -> 8 bytes, because struct e changed"),
    "padding of an unnamed type": (
        "struct s { long x; struct { long a : 3; } p; };", "struct s { long x; struct { long a : 3; } __attribute__((packed)) p; long : 56; };",
        ["resized p"], {}, [], "resized `p`: 8 -> 1 bytes"),
    "another struct of the same size": (
        "struct p { int a, b; }; struct s { struct p x; };", "struct q { short a; int b; }; struct s { struct q x; };",
        ["changed x"], {}, ["x: struct p -> struct q"], "changed `x`: struct p -> struct q"),
    "a member that moved across one that did not": (
        "struct s { int a; long l; int x; };", "struct s { int a; int x; long l; };",
        ["reordered x"], {"x": (16, 4)}, [], "reordered `x`: 16 -> 4"),
    "several members that did": (
        "struct s { int a, b; long l; };", "struct s { long p, l; int a, b; };",
        ["added p", "reordered l"], {"a": (0, 16), "b": (4, 20)}, [], "reordered `l`, at 8 as before"),
    "members in an unnamed struct": (
        "struct s { int a, b; long c; };", "struct s { struct { int a, b; }; long c; };",
        None, {}, [], "nothing differs: compared 1 struct"),
    "the order in a union": (
        "struct s { union { int a; long b; }; };", "struct s { union { long b; int a; }; };",
        None, {}, [], "nothing differs: compared 1 struct"),
    "signed, floating, and a signature": (
        "struct s { unsigned u; unsigned f; int (*fn)(int); };", "struct s { int u; float f; int (*fn)(long); };",
        [], {}, ["u: unsigned int -> int", "f: unsigned int -> float", "fn: int (*)(int) -> int (*)(long int)"],
        "struct s: retyped `u`: unsigned int -> int; `f`: unsigned int -> float"),
    "behind a typedef": (
        "typedef unsigned u; struct s { u x; const u y; };", "typedef float u; struct s { u x; const u y; };",
        [], {}, ["x: unsigned int -> float", "y: const unsigned int -> const float"], ""),
    "a typedef of the same type": (
        "typedef unsigned u; struct s { u x; };", "struct s { unsigned x; };", None, {}, [], "nothing differs"),
    "a qualifier": ("struct s { int *x; };", "struct s { int *const x; };", [], {}, ["x: int * -> int * const"], ""),
    "other lengths": ("struct s { int x[2][3]; };", "struct s { int x[3][2]; };", [], {}, ["x: int[2][3] -> int[3][2]"], ""),
    "no bit-field": ("struct s { int x : 32; };", "struct s { int x; };", [], {}, ["x: int : 32 -> int"], ""),
    "deep types": (
        "struct k { int a; }; struct s { struct k k[2]; };", "struct k { float a; }; struct s { struct k k[2]; };",
        [], {}, ["k.a: int -> float"], ""),
    "another name": (
        "struct s { int a; unsigned flags; };", "struct s { int a; unsigned features; };",
        ["renamed features"], {}, [], "renamed `flags` -> `features`, 4 bytes at 4"),
    "another name of bits": (
        "struct s { unsigned a : 3, b : 5; };", "struct s { unsigned a : 3, c : 5; };",
        ["renamed c"], {}, [], "renamed `b` -> `c`, 5 bits at 0"),
    "another name of a member of a member": (
        "struct in { int a, b; }; struct s { long x; struct in in[2]; };", "struct in { int a, c; }; struct s { long x; struct in in[2]; };",
        ["renamed in.c"], {}, [], "renamed `in.b` -> `in.c`, 4 bytes at 12"),
    "another name of an unnamed type": (
        "struct s { struct { int x, y; } a; int b; };", "struct s { struct { int x, y; } c; int b; };", ["renamed c"], {}, [], ""),
    "other names in a union": (
        "struct s { union { int a; float f; }; };", "struct s { union { float g; int b; }; };", ["renamed g", "renamed b"], {}, [], ""),
    "two names for one": (
        "struct s { int a; };", "struct s { union { int b; int c; }; };", ["renamed b", "added c"], {}, [], ""),
    "another name and type": (
        "struct s { int a; };", "struct s { unsigned b; };", ["added b", "removed a"], {}, [], ""),
    "another name, and another type inside": (
        "struct s { struct { int x; } a; };", "struct s { struct { float x; } b; };",
        ["added b", "added b.x", "removed a", "removed a.x"], {}, [], ""),
    "another name and place": (
        "struct s { int a, b; };", "struct s { int b, c; };", ["removed a", "added c"], {"b": (4, 0)}, [], ""),
    "another name moves nothing": (
        "struct s { int a, b; long c; };", "struct s { int d, b; long e, c; };",
        ["renamed d", "added e"], {"c": (8, 16)}, [], ""),
    "a struct that has a tag now": (
        "typedef struct { int a; } k_t; struct s { k_t k; };", "typedef struct k { int a; } k_t; struct s { k_t k; };",
        None, {}, [], "nothing differs"),
}  # fmt: skip


def diff(folder: Path, old: str, new: str, *words: str) -> Any:
    for side, text in (("old", old), ("new", new)):
        (folder / side).mkdir(exist_ok=True)
        (folder / side / "s.h").write_text(f"{text}\n")
    return run("diff", "old/s.h", "new/s.h", *words, cwd=folder)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CASES)
def test_a_chosen_struct(tmp_path, name):
    old, new, edits, moves, types, text = CASES[name]
    done = diff(tmp_path, old, new, "--struct", "s", "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"], found["compared"]) == (0, "same", 1)
    assert len(found["structs"]) == (edits is not None)
    for struct in found["structs"]:
        assert [f"{each['kind']} {each['path']}" for each in struct["edits"]] == edits
        assert {each["path"]: (each["old"], each["new"]) for each in struct["moved"]} == moves
        assert [f"{each['path']}: {each['old']} -> {each['new']}" for each in struct["retyped"]] == types
        assert struct["status"] == ("same" if edits or moves else "retyped")
    shown = diff(tmp_path, old, new, "--struct", "s").stdout
    assert text in " ".join(shown.split())


@pytest.mark.parametrize(("edit", "structs"), [
    # struct kobj; the structs that are listed, with their status, the struct behind it, edits and types
    (SWAPPED, [("d", "same", "kobj", ["changed k"], []), ("kobj", "same", None, ["reordered ref"], []), ("s", "same", "kobj", ["changed d"], [])]),
    (KOBJ.replace("int ref", "float ref"), [("kobj", "retyped", None, [], ["ref"])]),
    (KOBJ.replace("int ref;", "int ref, more;"), [
        ("d", "same", "kobj", ["resized k"], []), ("kobj", "same", None, ["added more"], []), ("s", "same", "kobj", ["resized d"], []),
    ]),
])  # fmt: skip
def test_all_structs_name_the_one_that_was_edited(tmp_path, edit, structs):
    rest = "struct d { struct kobj k; }; struct s { struct d d; };"
    found = json.loads(diff(tmp_path, f"{KOBJ} {rest}", f"{edit} {rest}", "--format", "json").stdout)
    rows = [
        (each["name"], each["status"], each["root"], [f"{one['kind']} {one['path']}" for one in each["edits"]], [one["path"] for one in each["retyped"]])
        for each in found["structs"]
    ]
    assert rows == structs


def test_an_own_edit_is_not_hidden_by_one_inside(tmp_path):
    """Bits of a struct moved, without an edit, and a struct in it was edited: both are said."""
    rest = "struct s {{ struct kobj k; int a : 3; {} int b : 4; }};"
    text = diff(tmp_path, f"{KOBJ} {rest.format('')}", f"{SWAPPED} {rest.format('int : 1;')}").stdout
    assert "changed `k`, because struct kobj changed" in text
    assert "moved `b` bits 99..102 -> bits 100..103" in text
    assert "reordered `ref`: 8 -> 4" in text


@pytest.mark.parametrize("words", [(), ("--format", "markdown"), ("--html", "page.html")], ids=["text", "markdown", "html"])
def test_every_format_lists_types(tmp_path, words):
    done = diff(tmp_path, "struct s { unsigned u; };", "struct s { float u; };", *words)
    text = json.dumps(sample.data((tmp_path / "page.html").read_text())) if "--html" in words else done.stdout
    assert done.returncode == 0
    assert all(word in text for word in ("retyped", "unsigned int", "float"))


def test_a_renamed_struct_is_no_other_type(tmp_path):
    done = diff(tmp_path, "struct a { int x, y; }; struct s { struct a a, *p; };", "struct b { int x, y; }; struct s { struct b a, *p; };")
    assert "renamed, was a" in done.stdout
    assert "retyped" not in done.stdout


@pytest.mark.exhaustive
def test_many_embedded_structs_have_an_end(tmp_path):
    """Each struct has two of the one before: of the 8,192 innermost ones, a part is listed, and what has the others."""
    chain = "".join(f"struct s{n} {{ struct s{n - 1} a, b; }};" for n in range(1, 14))
    texts = [f"struct s0 {{ {body} }}; {chain}" for body in ("char x, y;", "char y, x;", "char x; _Bool y;")]
    moved, retyped = (
        json.loads(diff(tmp_path, texts[0], text, "--struct", "s13", "--format", "json").stdout)["structs"][0] for text in texts[1:]
    )
    assert {each["kind"] for each in moved["edits"]} == {"reordered", "changed"}
    assert 500 < len(moved["edits"]) < 4_000
    assert 500 < len(retyped["retyped"]) < 4_000
    assert {"b", "b.b"} & {each["path"] for each in retyped["retyped"]}
