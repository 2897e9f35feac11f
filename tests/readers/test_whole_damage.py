"""All that readers say of damaged inputs: in each row one number of a seed of the fuzzer is another.

The rows of `damage.txt` are those of many random ones of which the readers said what they had not said of others before. The texts
in `golden/` are for review; they have the first lines in which what is read differs, and a checksum of all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.declared_names import what_is
from tests.harness.whole import changes, whole_lines
from tests.readers.test_whole_readings import EVERYTHING, SEEDS
from tools.fuzz import anatomy

SOME = Wanted(frozenset(("ring", "entry_t")), patterns=("w*",))
OTHER_NAMES = ("BUSY", "tag", "missing")
OPTIONS = ReadOptions(cache=False, jobs=1)
SHOWN, WIDTH = 3, 180
"""Lines of a row, and characters of a line, that the golden text shows."""


class Write(NamedTuple):
    """A number in place of another, in a file of a seed."""

    seed: str
    file: str
    offset: int
    size: int
    value: int

    def content(self) -> bytes:
        """The damaged file."""
        data = bytearray(dict(SEEDS[self.seed].files)[self.file])
        data[self.offset : self.offset + self.size] = self.value.to_bytes(self.size, anatomy.anatomy_of(bytes(data)).order)
        return bytes(data)


def writes() -> Iterator[Write]:
    for line in (Path(__file__).parent / "damage.txt").read_text().splitlines():
        seed, file, *numbers = line.split()
        yield Write(seed, file, *(int(number, 0) for number in numbers))


ROWS = {seed: list(rows) for seed, rows in groupby(writes(), key=lambda write: write.seed)}


def facts(seed: str, files: dict[str, bytes], folder: Path) -> list[str]:
    """What is read of all structs and of some, and what other names are."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    path = SEEDS[seed].files[0][0]
    lines = [line for wanted in (EVERYTHING, SOME) for line in whole_lines(inputs.read((path,), wanted, OPTIONS))]
    return [line.replace(str(folder), "FOLDER") for line in (*lines, *(f"{name}: {meaning(path, name)}" for name in OTHER_NAMES))]


def meaning(path: str, name: str) -> str | None:
    try:
        return what_is(path, name, OPTIONS)
    except ReadError as error:
        return str(error)


def checksum(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_number(seed, tmp_path, monkeypatch, golden_row):
    monkeypatch.chdir(tmp_path)
    files = dict(SEEDS[seed].files)
    before = facts(seed, files, tmp_path)
    texts = [f"undamaged: {checksum(before)}", *(f"  {line}" for line in before[-len(OTHER_NAMES) :])]
    for write in ROWS.get(seed, ()):
        differing = changes(before, facts(seed, {**files, write.file: write.content()}, tmp_path)).splitlines()
        texts.append(f"{write.file} {write.offset:#x}: {write.value:#x} {checksum(differing)}")
        shown = dict.fromkeys(line[:WIDTH] for line in differing if not line.startswith("@@"))
        texts += [f"  {line}" for line in list(shown)[:SHOWN]]
    golden_row("\n".join(texts))
