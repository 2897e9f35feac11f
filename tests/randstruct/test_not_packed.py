"""What is taken as not packed because debug information does not show it is named."""

from __future__ import annotations

import pytest

from tests.harness.command import run
from tests.oracles.c_probe import compile_c

NOTE = "taken as not packed, which this input does not show and on which randomised layouts depend: "
HEAD = "enum e { A, B };\n"
TEXTS = [
    # what is embedded, what embeds it, what is named of any order, and of that of the seed
    ("struct in { enum e a[1][3]; int b : 26; } __attribute__((packed));",
     "struct out { char c; short s; struct in p; long l; };", "in", "in"),
    ("struct in { int a, b; };", "struct out { char c; short s; struct in p; long l; };", "in", "in"),
    ("struct in { int a, b; };", "struct out { struct in p; int i; };", "in, out", None),
    ("struct in { int a, b; };", "struct out { struct in p; long l; };", "in, out", None),
    ("union in { int a, b; } __attribute__((packed));",
     "struct out { char c; short s; union in p; long l; };", "in", "in"),
    # padding says that it is not packed, and its place that it is
    ("struct in { char a; int b; };", "struct out { char c; short s; struct in p; long l; };", None, None),
    ("struct in { char a; int b; } __attribute__((packed));",
     "struct out { char c; short s; struct in p; long l; };", None, None),
    # nothing else is aligned to more
    ("struct in { char a, b; };", "struct out { char c; short s; struct in p; long l; };", None, None),
    # it says its alignment
    ("struct in { int a, b; } __attribute__((aligned(4)));",
     "struct out { char c; short s; struct in p; long l; };", None, None),
]  # fmt: skip


def notes(path, *more):
    words = (*more, "--randomized", "out", "--kernel-version", "6.12")
    output = run("check", path, "--rules", path.with_name("r.toml"), "--randstruct", "gcc-full", *words)
    return " ".join(output.stdout.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [(), ("--seed", "0123456789abcdef02468ace13579bdffedcba9876543210ffeeddccbbaa9988")])
@pytest.mark.parametrize(("inner", "outer", "of_any", "of_one"), TEXTS)
def test_what_is_taken_as_not_packed_is_named(inner, outer, of_any, of_one, seed, tmp_path):
    named = of_one if seed else of_any
    (tmp_path / "r.toml").write_text('[[rule]]\nid = "r"\nstruct = "out"\nkind = "size"\nmax = 999\nwhy = "a test"\n')
    text = f"{HEAD}{inner}\n{outer}\nstruct out out;\n"
    output = notes(compile_c("gcc", text, tmp_path / "probe.o", "-g", "-c"), *seed)
    assert "this input does not show" in output
    if named is None:
        assert NOTE not in output
    else:
        assert f"{NOTE}{named} note:" in output
    (tmp_path / "probe.c").write_text(text)
    assert NOTE not in notes(tmp_path / "probe.c", *seed)
