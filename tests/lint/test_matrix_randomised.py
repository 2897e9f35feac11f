"""Builds that randomise layouts, in a matrix: each comes out as it does alone, with the options of the command line."""

from __future__ import annotations

import json

import pytest

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import matrix_file
from tests.harness.command import ROOT, run

pytestmark = pytest.mark.usefixtures("whole_runs")

SEEDS = ("0123456789abcdef" * 4, "f" * 63 + "0")
RULES = """
[[rule]]
id = "apart"
struct = "mapping"
kind = "separate"
fields = [["i_mmap"], ["i_mmap_rwsem"]]
why = "a test"
"""
BUILDS = {
    # build: its keys, the same on the command line
    "declared": ("", ()),
    "one": (f'randstruct = "gcc-full"\nseed = "{SEEDS[0]}"', ("--randstruct", "gcc-full", "--seed", SEEDS[0])),
    "other": (f'randstruct = "gcc-full"\nseed = "{SEEDS[1]}"', ("--randstruct", "gcc-full", "--seed", SEEDS[1])),
    "file": ('randstruct = "gcc-performance"\nseed = "s/randstruct.seed"\nkernel_version = "6.12"',
             ("--randstruct", "gcc-performance", "--seed", SEEDS[0], "--kernel-version", "6.12")),
    "named": (f'randstruct = "gcc-full"\nseed = "{SEEDS[0]}"\nrandomized = ["!mapping"]',
              ("--randstruct", "gcc-full", "--seed", SEEDS[0], "--randomized", "!mapping")),
    "any": ('randstruct = "gcc-full"', ("--randstruct", "gcc-full")),
    "pairs": ('randstruct = "gcc-full"\nline_size = 128', ("--randstruct", "gcc-full", "--line-size", "128")),
}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/randstruct.seed").write_text(f"{SEEDS[0]}\n")
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "structs.c").write_text((ROOT / "fixtures/randstruct/structs.c").read_text())
    return tmp_path


def judge(folder, *words: str):
    done = run("check", *words, "--rules", "rules.toml", "--format", "json", cwd=folder)
    report = json.loads(done.stdout)
    assert report["unread"] == [], done.stderr
    [finding] = (*report["findings"], *report["kept"])
    return finding


@pytest.mark.exhaustive
def test_each_build_comes_out_as_alone(project):
    (project / "matrix.toml").write_text(
        '[defaults]\ninput = "structs.c"\n' + "".join(f"[build.{name}]\n{keys}\n" for name, (keys, _) in BUILDS.items())
    )
    together = judge(project, "--matrix", "matrix.toml")["builds"]
    alone = {name: judge(project, "structs.c", *words) for name, (_, words) in BUILDS.items()}
    assert {name: (of["outcome"], of["message"], of["placements"]) for name, of in together.items()} == {
        name: (of["outcome"], of["message"], of["placements"]) for name, of in alone.items()
    }
    assert len({of["message"] for of in together.values()}) > 3


MISTAKES = [
    # keys of a build, messages behind `matrix.toml:`
    ("randstruct = 'gcc'", ["3: `randstruct` cannot be `gcc` (known: gcc-full, gcc-performance, clang, clang-libc++)"]),
    ("randstruct = 'gcc-full'\nseed = 'ff'", ["1: `seed`: a seed is 64 hexadecimal digits; here are 2"]),
    ("randstruct = 'gcc-full'\nseed = './none'", ["1: `seed`: ./none: no such file"]),
    ("randstruct = 'gcc-full'\nrandomized = ['a b']", ["1: `randomized`: 'a b' is not the name of a struct (`NAME`, `!NAME` or `NAME.MEMBER`)"]),
    ("kernel_version = 'six'", ["1: `kernel_version` is `six`: expected X.Y, such as 6.12, or a source"]),
]


ALONE = [f'seed = "{SEEDS[0]}"', 'randomized = ["mapping"]']


@pytest.mark.parametrize("keys", ALONE)
def test_a_seed_without_a_mode_is_no_use_outside_of_a_build_that_randomises(project, keys):
    (project / "matrix.toml").write_text(f'[build.one]\ninput = "structs.c"\n{keys}\n')
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", cwd=project)
    assert done.returncode == 3
    assert f"structs.c: `{keys.split()[0]}` of the build needs `randstruct` (in one)" in done.stdout


@pytest.mark.parametrize(("keys", "messages"), MISTAKES)
def test_mistakes(tmp_path, monkeypatch, keys, messages):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix.toml").write_text(f"[build.one]\ninput = 'a.h'\n{keys}\n")
    with pytest.raises(RuleFileError) as raised:
        matrix_file.load("matrix.toml")
    assert raised.value.messages == tuple(f"matrix.toml:{message}" for message in messages)


HELD = """\
struct held { long a; long x[2]; long p; };
struct outer { int k; struct held in; long m[9]; char q[40]; long z[11]; }
__attribute__((randomize_layout, aligned(256)));
"""
HELD_RULES = """\
[pack]
name = "held"
[struct.held]
placement = "embedded"
[[rule]]
id = "apart"
struct = "held"
kind = "separate"
fields = [["a"], ["p"]]
why = "a test"
"""


def test_builds_with_other_lines_are_weighed_by_their_own_where_the_command_line_randomises(tmp_path):
    (tmp_path / "rules.toml").write_text(HELD_RULES)
    (tmp_path / "held.h").write_text(HELD)
    sizes = {"short": 64, "long": 256}
    (tmp_path / "matrix.toml").write_text("".join(f"[build.{name}]\nline_size = {size}\n" for name, size in sizes.items()))
    how = ("--randstruct", "gcc-full", "--kernel-version", "6.12")
    together = judge(tmp_path, "held.h", "--matrix", "matrix.toml", *how)["builds"]
    for name, size in sizes.items():
        alone = judge(tmp_path, "held.h", "--line-size", str(size), *how)
        assert together[name]["placements"] == alone["placements"]
