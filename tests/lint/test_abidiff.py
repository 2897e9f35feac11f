"""Random edits of structs of a shared library: what `check --snapshot` accepts is what abidiff and gcc say is no other layout."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need
from tools.differential import changes

LAYOUT = re.compile(r"size changed from|offset changed from|data member (?:insertion|deletion)")


def build(cases: list[changes.Case], folder: Path) -> None:
    """Two versions of a library with a function for each struct."""
    for side in ("old", "new"):
        text = changes.Text()
        roots = [case.old if side == "old" else case.new for case in cases]
        functions = "".join(f"void f_{root.name}({text.add(root)} *p) {{ (void)p; }}\n" for root in roots)
        (folder / f"{side}.c").write_text(changes.PRELUDE + "\n".join(text.lines) + "\n" + functions)
        words = ["gcc", "-w", "-Wno-packed-bitfield-compat", "-g", "-shared", "-fPIC", f"{side}.c", "-o", f"{side}.so"]
        subprocess.run(words, cwd=folder, check=True)


def moved_structs(folder: Path) -> set[str]:
    """The structs of which abidiff says that a size, an offset or the number of members changed."""
    words = ["abidiff", "--harmless", "--redundant", "old.so", "new.so"]
    blocks = subprocess.run(words, cwd=folder, capture_output=True, text=True).stdout.split("\n  [C] 'function void f_")[1:]
    return {block.partition("(")[0] for block in blocks if LAYOUT.search(block)}


def judge(folder: Path, types: bool, *words: str) -> set[str]:
    """The structs that are kept."""
    name = "types.json" if types else "old.json"
    run("snapshot", "old.so", "--struct", "r*", "--output", name, *(("--types",) * types), cwd=folder)
    done = run("check", "new.so", "--snapshot", name, "--no-packs", "--format", "json", *words, cwd=folder)
    return {each["struct"] for each in json.loads(done.stdout)["kept"]}


@pytest.mark.parametrize(("seed", "count"), [(5, 20), pytest.param(2, 500, marks=pytest.mark.exhaustive)])
def test_what_abidiff_says_of_an_edit(tmp_path, seed, count):
    """What abidiff calls another layout fails, and the rest passes with `--renames`, unless gcc says otherwise.

    abidiff counts sizes behind pointers, and those of elements of an array that keeps its bytes: they fail with
    `--types`. It does not see narrower bit-fields, and of some unnamed members compares only the text: gcc says that bits moved.
    """
    need("abidiff", "--version")
    need("gcc", "-c")
    cases = changes.cases(seed, count)
    changes.find_truth(cases, tmp_path)
    build(cases, tmp_path)
    moved, kept, accepted = moved_structs(tmp_path), judge(tmp_path, False), judge(tmp_path, False, "--renames")
    moved_by_gcc = {case.old.name for case in cases if case.is_moved}
    assert len(moved & moved_by_gcc) >= count / 4
    assert moved & accepted <= moved - moved_by_gcc
    assert (moved - moved_by_gcc) & judge(tmp_path, True) == set()
    assert {case.old.name for case in cases} - moved - accepted <= moved_by_gcc
    assert kept == {case.old.name for case in cases} - moved_by_gcc
    assert len(accepted - kept) > count / 40
    for case in cases:
        if case.old.name in accepted:
            assert case.truths[0].size == case.truths[1].size
            assert sorted(case.truths[0].bits.values()) == sorted(case.truths[1].bits.values())
