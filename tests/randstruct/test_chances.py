"""`show` without a seed: where the members of a randomised struct land."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run

RANDOM = "__attribute__((randomize_layout))"
SOURCE = f"""
struct even {{ long a, b, c, d; }} {RANDOM};
struct ring {{
	long head[3]; int lock; char name[20]; void *slots; struct even inner; short state; union {{ long x; int y; }};
	long tail[2]; int count; char flags; long spare[6];
}} {RANDOM};
struct keeps {{ char before; struct ring inside; }};
struct plain {{ long a, b; }};
struct ends {{ long a, b; char rest[]; }} {RANDOM};
"""
MODES = ["gcc-full", "gcc-performance", "clang", "clang-libc++"]
ERROR = 0.029
"""2.58 standard deviations of a share of 1/2 in 2,000 draws, which 99 % of shares keep."""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "structs.h"
    path.write_text(SOURCE)
    return path


def show(source, *names: str, mode: str = "gcc-full", options: tuple[str, ...] = ()) -> dict[str, dict]:
    done = run("show", source, *names, "--randstruct", mode, "--kernel-version", "6.12", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    return {struct["name"]: struct for struct in json.loads(done.stdout)["structs"]}


def test_equal_members_land_everywhere_alike(source):
    chances = show(source, "even")["even"]["randomised"]["chances"]
    assert (chances["orders"], chances["step"], chances["size"]) == (2_000, 8, [32, 32])
    assert [each["name"] for each in chances["members"]] == ["a", "b", "c", "d"]
    for each in chances["members"]:
        assert [round(number / 2_000, 4) for number in each["starts"]] == [pytest.approx(0.25, abs=ERROR)] * 4


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", MODES)
def test_each_seed_lays_members_where_they_can_land(source, mode):
    random = show(source, "ring", mode=mode)["ring"]
    chances = random["randomised"]["chances"]
    assert (random["size"], random["randomised"]["seed_sha256"]) == (None, None)
    assert {field["offset"] for field in random["fields"]} == {None}
    assert {sum(each["starts"]) for each in chances["members"]} == {2_000}
    starts = {each["name"]: each["starts"] for each in chances["members"]}
    assert [name for name in starts if "{" in name] == ["union {x, y}"]
    for seed in range(3):
        seeded = show(source, "ring", mode=mode, options=("--seed", f"{seed:x}" * 64))["ring"]
        assert chances["size"][0] <= seeded["size"] <= chances["size"][1]
        offsets = {field["path"]: field["offset"] for field in seeded["fields"]}
        offsets["union {x, y}"] = offsets.pop("x")
        assert [name for name, own in starts.items() if not own[offsets[name] // chances["step"]]] == []


def test_what_is_not_random_is_shown_as_it_is(source):
    structs = show(source, "plain", "keeps", "ends")
    assert (structs["plain"]["randomised"], structs["plain"]["size"]) == (None, 16)
    keeps = structs["keeps"]["randomised"]
    assert (keeps["own"], [sum(own["starts"][:1]) for own in keeps["chances"]["members"]]) == (False, [2_000, 0])
    ends = structs["ends"]["randomised"]["chances"]["members"]
    assert (ends[2]["name"], ends[2]["starts"]) == ("rest", [0, 2_000])


def test_the_table(source):
    done = run("show", source, "even", "--randstruct", "gcc-full", "--kernel-version", "6.12", "--line-size", "16")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:3] == ["  its fields are in a random order: gcc-full of Linux 6.12, seed not known", "  32 bytes"]
    rows = [line.split() for line in done.stdout.splitlines()[-4:]]
    assert [(size, name) for size, *_, name in rows] == [("8", name) for name in "abcd"]
    shares = [[int(share.removesuffix("%")) / 100 for share in row[1:-1]] for row in rows]
    assert shares == [[pytest.approx(0.5, abs=ERROR + 0.005)] * 2] * 4


@pytest.mark.parametrize("options", [("--format", "c"), ("--format", "svg"), ("--at", "8")], ids=" ".join)
def test_one_order_needs_the_seed(source, options):
    done = run("show", source, "even", "--randstruct", "gcc-full", *options)
    assert (done.returncode, "--randstruct gcc-full needs the seed of the build" in done.stderr) == (2, True)
