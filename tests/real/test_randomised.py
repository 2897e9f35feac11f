"""Rules on a real kernel's structs over every order, against layouts of many seeds, each of them computed by itself."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import gcc_plugin, randomisation
from layoutlint.randstruct.randomisation import Randomisation, Seed
from layoutlint.readers import inputs
from tests.harness.command import run
from tests.harness.effort import draws
from tests.randstruct.test_check import rules

pytestmark = pytest.mark.real

SEEDS = draws(120, 400)
PAIRS = {"address_space": ("i_mmap", "i_mmap_rwsem"), "file": ("f_count", "f_mode"), "inode": ("i_lock", "i_state")}
MODES = ("gcc-full", "gcc-performance", "clang")


def seeds():
    chance = random.Random(7)
    return [Seed(f"{chance.getrandbits(256):064x}") for _ in range(SEEDS)]


@cache
def readings_of(path):
    """The structs of the pairs, and the types that they embed."""
    options = ReadOptions(with_marks=True)
    readings, _ = inputs.read((str(path),), Wanted(frozenset(PAIRS)), options)
    structs = [struct for struct in readings[0].structs if struct.name in PAIRS]
    known, _ = inputs.read((str(path),), Wanted(randomisation.embedded_names(structs)), options)
    return readings[0], known


def shares(path, mode):
    """In which share of their placements two fields are on one line, on average over the layouts of some seeds."""
    reading, known = readings_of(path)
    total = dict.fromkeys(PAIRS, 0.0)
    for seed in seeds():
        how = Randomisation(mode, seed, gcc_plugin.plugin_of_version("6.12.107"))
        for struct in randomisation.relay_structs(reading, known, how).structs:
            if struct.name in PAIRS:
                a, b = (Layout(struct).find(name) for name in PAIRS[struct.name])
                meets = [
                    {(base + byte) // 64 for byte in range(a.offset, a.end)} & {(base + byte) // 64 for byte in range(b.offset, b.end)}
                    for base in range(0, 64, 8)
                ]  # fmt: skip
                total[struct.name] += sum(map(bool, meets)) / 8
    return {name: found / SEEDS for name, found in total.items()}


@pytest.mark.parametrize("mode", MODES)
def test_shares_are_those_of_many_seeds(mode, kernel, tmp_path):
    path = kernel("next")
    rows = [(name, name, "separate", f'fields = [["{a}"], ["{b}"]]') for name, (a, b) in PAIRS.items()]
    file = rules(tmp_path / "rules.toml", rows)
    done = run("check", path, "--rules", file, "--no-packs", "--format", "json", "--randstruct", mode, "--kernel-version", "6.12.107", seconds=300)
    assert done.returncode == 1, done.stderr
    wanted = shares(path, mode)
    for finding in json.loads(done.stdout)["findings"]:
        over = finding["placements"]["orders"]
        assert finding["outcome"] == "at-risk"
        assert abs(over["share"] - wanted[finding["rule"]]) <= over["error"] + 3.5 * 0.5 / SEEDS**0.5
