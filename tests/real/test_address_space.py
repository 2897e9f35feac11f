"""Every cell of docs/contributing/address-space.md: what the command says, and what objects laid out one by one say."""

from __future__ import annotations

import json
import random
from itertools import islice

import pytest

from tests.harness.command import ROOT, run
from tests.real import address_space as page

RULES = ROOT / "fixtures" / "address_space"


def rules(state: str, place: str) -> list[str]:
    """The options by which a cell is asked."""
    if place == "alone":
        return ["--no-packs", "--rules", str(RULES / "alone.toml")]
    if (state, place) == ("7.2", "ext4"):
        return ["--no-packs", "--rules", str(RULES / "ext4-7.2.toml")]
    return ["--no-packs", "--rules", str(RULES / "containers.toml")]


@pytest.fixture(scope="module")
def findings_of(tmp_path_factory):
    """The findings of one run for each input and rule file, by rule; the cache reads each kernel once."""
    cache = str(tmp_path_factory.mktemp("cache"))
    runs: dict[tuple[str, ...], dict[str, dict]] = {}

    def findings_by_rule(path: str, options: list[str]) -> dict[str, dict]:
        key = (path, *options)
        if key not in runs:
            report = json.loads(run("check", path, *options, "--format", "json", seconds=600, XDG_CACHE_HOME=cache).stdout)
            runs[key] = {f["rule"]: f for f in report["findings"] + report["kept"]}
        return runs[key]

    return findings_by_rule


def input_of(state: str, place: str, measured) -> str:
    name = page.STATES[state].alone if place == "alone" else page.STATES[state].inside
    if name.endswith(".c"):
        return str(ROOT / "fixtures" / name)
    return str(measured(name))


def sharing_bases(base: int, first: dict, second: dict) -> bool:
    """Whether any byte of one field is on the line of any byte of the other."""
    a, b = ({(base + at) // 64 for at in range(f["offset"], f["offset"] + f["size"])} for f in (first, second))
    return bool(a & b)


def starts(cell: page.Cell):
    """The addresses of objects: one behind the other in a slab, or at every multiple of 8, or on lines."""
    step = cell.stride or {1: 64, 8: 8}[cell.bases]
    return islice(range(0x1000, 1 << 30, step), 64)


@pytest.mark.real
@pytest.mark.parametrize(("state", "place"), page.CELLS, ids=[" ".join(key) for key in page.CELLS])
def test_a_cell(state, place, measured, findings_of):
    cell, rule = page.CELLS[state, place], page.PLACES[place][0]
    rule = "ext4-7.2" if (state, place) == ("7.2", "ext4") else rule
    finding = findings_of(input_of(state, place, measured), rules(state, place))[rule]
    placements = finding["placements"]
    assert (finding["outcome"], tuple(placements["bases"]), placements["total"]) == (cell.outcome, cell.failing, cell.bases)
    first, second = sorted(finding["fields"][:2], key=lambda f: f["offset"])
    assert {base % 64 for base in starts(cell) if sharing_bases(base, first, second)} == set(cell.failing)
    assert {base % 64 for base in starts(cell)} == {base % 64 for base in range(0, 4096, 64 // cell.bases)}


SEEDED = [(*key, is_seeded) for key in page.SHUFFLED for is_seeded in (False, True)]


@pytest.mark.real
@pytest.mark.parametrize(
    ("state", "place", "mode", "is_seeded"), SEEDED, ids=[" ".join(map(str, key)) for key in SEEDED]
)
def test_a_randomised_cell(state, place, mode, is_seeded, measured, findings_of):
    chance, cell = page.SHUFFLED[state, place, mode]
    options = ["--randstruct", mode, "--kernel-version", page.PLUGINS[state], "--randomized", "address_space,inode"]
    options += ["--seed", page.SEED] if is_seeded else []
    only = {"alone": "address_space", "inode": "inode", "bdev": "bdev_inode"}[place]
    asked = [*rules(state, place), "--struct", only, *options]
    finding = findings_of(input_of(state, place, measured), asked)[page.PLACES[place][0]]
    placements = finding["placements"]
    if not is_seeded:
        orders = placements["orders"]
        assert finding["outcome"] == "at-risk"
        assert (round(orders["share"], 5), round(orders["error"], 5)) == (chance.share, chance.error)
        return
    assert (finding["outcome"], tuple(placements["bases"]), placements["total"]) == (cell.outcome, cell.failing, cell.bases)
    first, second = sorted(finding["fields"][:2], key=lambda f: f["offset"])
    assert {base % 64 for base in starts(cell) if sharing_bases(base, first, second)} == set(cell.failing)


SIZES = {"after": [8, 16, 40, 4, 4, 16, 8, 8, 8, 8, 4, 4, 16, 40, 8], "7.2": [8, 16, 32, 4, 4, 16, 8, 8, 8, 4, 4, 32, 8]}
"""Of the fields, of which those of 4 bytes are aligned to 4 and the others to 8."""
TREE, LOCK = 5, {"after": 13, "7.2": 11}
"""Which of them are i_mmap and i_mmap_rwsem."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("state", SIZES)
def test_the_share_is_that_of_orders_drawn_otherwise(state):
    """Every order is as likely as another in the full mode; the order of the two does not matter."""
    dice, sizes, fails, total = random.Random(5), SIZES[state], 0, 30_000
    for _ in range(total):
        order, end, at = dice.sample(range(len(sizes)), len(sizes)), 0, {}
        for field in order:
            step = min(sizes[field], 8)
            at[field] = -(-end // step) * step
            end = at[field] + sizes[field]
        a, b = ({"offset": at[f], "size": sizes[f]} for f in (TREE, LOCK[state]))
        fails += sum(sharing_bases(base, a, b) for base in range(0, 64, 8)) / 8
    assert abs(fails / total - page.SHUFFLED[state, "alone", "gcc-full"][0].share) < 0.01


def test_the_page_is_that_of_the_table():
    assert (ROOT / "docs" / "contributing" / "address-space.md").read_text() == page.page() + "\n"


def test_every_state_has_every_place():
    assert set(page.CELLS) == {(state, place) for state in page.STATES for place in page.PLACES}
