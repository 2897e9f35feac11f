"""All facts that readers give of small inputs of many producers: the seeds of the fuzzer, which no compiler makes anew.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them. One is whole; the others say in which lines a
reading differs from it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.harness.whole import changes, whole_lines
from tools.fuzz import command
from tools.fuzz.seeds import seeds

SEEDS = {seed.name: seed for seed in seeds()}
FIRST = "gcc-dwarf5"
EVERYTHING = Wanted(everything=True, annotated=True, variables=("*",), near=64, arrays=lambda reading: True)


def reading(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    folder.mkdir()
    files = SEEDS[name].files
    command.put(folder, dict(files))
    monkeypatch.chdir(folder)
    lines = whole_lines(inputs.read((files[0][0],), EVERYTHING, ReadOptions()))
    return [line.replace(str(folder), "FOLDER") for line in lines]


def test_every_seed(tmp_path, monkeypatch, golden):
    first = reading(FIRST, tmp_path / "first", monkeypatch)
    golden(f"{FIRST}.txt", "".join(f"{line}\n" for line in first))
    texts = {name: changes(first, reading(name, tmp_path / name, monkeypatch)) for name in SEEDS if name != FIRST}
    golden("other-seeds.txt", "".join(f"== {name}\n{text}" for name, text in texts.items()))
