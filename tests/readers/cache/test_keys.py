"""Keys differ if anything differs on which a result depends, and do not depend on the order of sets."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from itertools import combinations

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import keys
from tests.harness.command import ROOT

VALUES = [
    None, 0, 1, True, False, "", "0", b"0", (), ("a", "b"), ("ab",), (("a",), "b"), frozenset("ab"), frozenset("a"), 1.0,
    partial(len, "a"), partial(len, "b"), Wanted(), Wanted(frozenset("a")), Wanted(patterns=("a",)), Wanted(with_containers=frozenset("a")),
    ReadOptions(), ReadOptions(flags=("-DA",)), ReadOptions(target="i386"), ReadOptions(config=("A",)), ReadOptions(reader="btf"),
    ReadOptions(debug_dirs=("x",)), ReadOptions(sources=("x",)), ReadOptions(with_marks=True), ReadOptions(finds_omissions=True),
    {"a": 1}, {"a": 2}, "a\nstr 'b'",
]  # fmt: skip


def test_different_values_have_different_texts():
    alike = [(a, b) for a, b in combinations([v for v in VALUES if not isinstance(v, partial)], 2) if keys.canonical(a) == keys.canonical(b)]
    assert alike == []


@pytest.mark.parametrize("value", [object(), lambda: 0, sys])
def test_a_value_of_another_kind_has_none(value):
    with pytest.raises(keys.Unknown):
        keys.canonical(value)


def test_a_key_is_the_same_in_every_process():
    """Sets of text have another order in each."""
    code = (
        "from layoutlint.readers.cache import keys; from layoutlint.lint import query; from layoutlint.lint.options import Options\n"
        "from layoutlint.intent.toml import rule_file, shipped_rules\n"
        "keys._YOUNG = 0\n"
        "print(keys.key_of('x', query.structs_to_read((), shipped_rules.shipped_packs(), {}, Options())))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = {
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment | {"PYTHONHASHSEED": seed}, capture_output=True, text=True).stdout
        for seed in "123"
    }
    assert len(printed) == 1
    assert len(printed.pop()) == 65


def test_another_program_folder_or_home_has_another_key(monkeypatch, tmp_path):
    monkeypatch.setattr(keys, "_YOUNG", 0)

    def key() -> str:
        keys._program.cache_clear()
        return keys.key_of("x")

    seen, anywhere = [key()], keys.key_anywhere("x")
    monkeypatch.chdir(tmp_path)
    seen.append(key())
    monkeypatch.setenv("HOME", str(tmp_path))
    seen.append(key())
    assert keys.key_anywhere("x") == anywhere
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(keys, "_PACKAGE", str(tmp_path / "package"))
    for change in ("x = 1\n", "x = 2\n"):
        seen.append(key())
        (tmp_path / "package/module.py").write_text(change)
    seen.append(key())
    keys._program.cache_clear()
    assert len(set(seen)) == len(seen)


def test_a_program_that_was_changed_just_now_has_none(monkeypatch, tmp_path):
    monkeypatch.setattr(keys, "_PACKAGE", str(tmp_path))
    keys._program.cache_clear()
    (tmp_path / "module.py").write_text("")
    with pytest.raises(keys.Unknown):
        keys.key_of("x")
    keys._program.cache_clear()
