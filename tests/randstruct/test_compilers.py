"""Randomised layouts against clang's own, under seeds that were not seen before."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.oracles.c_probe import compile_c
from tests.randstruct import golden

SEEDS = [sha256(bytes([number])).hexdigest() for number in range(4)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("source", golden.MARKED)
def test_clang(source, seed):
    """Clang's debug information has the order in which it lays out."""
    built = golden.compile_object(source, golden.newest_clang(), "-g", f"-frandomize-layout-seed={seed}")
    names = list(golden.BUILDS[0 if source == "structs.c" else 7]["layouts"])
    theirs, _, _ = golden.show(built, names)
    ours, message, status = golden.show(golden.FOLDER / source, names, "--randstruct", "clang", "--seed", seed)
    notes = [line for line in message.splitlines() if "taken as of clang 16 to 19" not in line]
    assert (status, notes) == (0, [])
    assert {name: (one["size"], golden.bits(one)) for name, one in ours.items()} == {
        name: (one["size"], golden.bits(one)) for name, one in theirs.items()
    }


RAND, KEPT = "__attribute__((randomize_layout))", "__attribute__((no_randomize_layout))"
INNER = f"struct {{ long p; char q; short r; }} {RAND}"
ATTRIBUTES = [
    # id, members, attribute
    ("a mark of a struct inside one that is kept", f"char a; long b; {INNER}; short c; int d;", KEPT),
    ("a mark of a struct inside one with another attribute", f"char a; long b; {INNER} in; short c; int d;", "__attribute__((may_alias))"),
    ("a member that is called like the mark", "char a; long b; short c; int randomize_layout;", KEPT),
    ("a member that is called like an attribute", "char a; int aligned __attribute__((aligned(16))); long b; short c;", RAND),
    ("braces in an attribute", f'char a; long b; {INNER} in __attribute__((annotate("{{"))); short c;', KEPT),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize(("members", "attribute"), [case[1:] for case in ATTRIBUTES], ids=[case[0] for case in ATTRIBUTES])
def test_attributes_are_those_of_the_struct_itself(members, attribute, seed, tmp_path):
    text = f"struct outer {{ {members} }} {attribute};\nstruct outer outer;\n"
    (tmp_path / "aligned.c").write_text(text)
    built = compile_c(golden.newest_clang(), text, tmp_path / "built.o", "-g", "-c", f"-frandomize-layout-seed={seed}")
    theirs, _, _ = golden.show(built, ["outer"])
    ours, _, status = golden.show(tmp_path / "aligned.c", ["outer"], "--randstruct", "clang", "--seed", seed)
    assert status == 0
    assert golden.bits(ours["outer"]) == golden.bits(theirs["outer"])
