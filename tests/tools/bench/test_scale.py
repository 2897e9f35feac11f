"""The simulation of surveys, on cases that are small enough to work out by hand."""

from __future__ import annotations

import pytest

from tools.bench.scale import Package, Site, Work, choose, main, packages, repeat, schedule

FAST = 1e30


def site(workers: int, *, server: float = FAST, link: float = FAST, engine: float = 0, digest: float = FAST, threads: int = 1) -> Site:
    return Site(workers, threads, server, link, engine, digest)


def seconds(*each: float) -> list[Work]:
    return [Work(0, one) for one in each]


@pytest.mark.parametrize(
    ("works", "where", "makespan", "bottleneck"),
    [
        pytest.param([], site(4), 0, "processors", id="nothing to do"),
        pytest.param(seconds(2, 2, 2), site(1), 6, "processors", id="one worker: the sum"),
        pytest.param(seconds(2, 2, 2, 2), site(2), 4, "processors", id="equal tasks: half of it each"),
        pytest.param(seconds(2, 2, 2), site(2), 4, "processors", id="three tasks on two: one has two"),
        pytest.param(seconds(1, 1, 8), site(2), 9, "longest task", id="the longest last: 1, then 8"),
        pytest.param(seconds(8, 1, 1), site(2), 8, "longest task", id="the longest first"),
        # the client reads 0..1, both 1..3 (second input, first task), the worker last: 4 reads of 1 s, then 1 s of work
        pytest.param([Work(10, 1)] * 2, site(2, server=10), 5, "network", id="server: two reads of each, in turn"),
        # the client's link takes 1 s for each input; that of the worker too: 1, 2, 3 sent; the last is read at 4
        pytest.param([Work(10, 0)] * 3, site(3, link=10), 4, "client", id="link of the client: three reads, and one of a worker"),
        # sent at 1 and 2; on one machine read 1..2 and 2..3, on two as well: a machine is no slower than the client
        pytest.param([Work(10, 0)] * 2, site(2, link=10, threads=2), 3, "client", id="link shared by workers"),
        # sent at 0.5, 1, 1.5, 2; the last takes 0.1 s
        pytest.param(seconds(*[0.1] * 4), site(4, engine=0.5), 2.1, "client", id="engine: half a second for each task"),
        # digests of 1 s end at 1, 2, 3; the last takes 0.5 s
        pytest.param([Work(10, 0.5)] * 3, site(3, digest=10), 3.5, "client", id="digests are made one after the other"),
        # two are sent ahead for one worker, so digests of 1 s hide behind tasks of 3 s, but for the first
        pytest.param([Work(10, 3)] * 3, site(1, digest=10), 10, "processors", id="digests are made while tasks run"),
    ],
)  # fmt: skip
def test_schedules(works, where, makespan, bottleneck):
    found = schedule(works, where)
    assert found.makespan == pytest.approx(makespan)
    assert found.bottleneck == bottleneck
    assert found.transferred == 2 * sum(work.size for work in works)
    assert max(found.bounds.values()) <= found.makespan + 1e-9


INDEX = """\
Package: ring
Architecture: amd64
Description: Size: 7 is text
 Size: 8
Size: 1000

Package: ring-doc
Architecture: all
Size: 9

Package: ring-dbgsym
Architecture: amd64
Size: 3000

Package: linux-image-9-dbg
Architecture: amd64
Size: 5000

Package: libring-dev
Architecture: amd64
Size: 10

Package: libring-dev
Architecture: amd64
Size: 20
"""
FOUND = {
    "ring": Package(1000, "other"),
    "ring-dbgsym": Package(3000, "debug"),
    "linux-image-9-dbg": Package(5000, "kernel"),
    "libring-dev": Package(20, "other"),
}


def test_packages_of_an_index():
    assert packages(INDEX) == FOUND
    assert packages("") == {}


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (1, ["linux-image-9-dbg"]),
        (2, ["linux-image-9-dbg", "ring-dbgsym"]),
        (3, ["libring-dev", "linux-image-9-dbg", "ring-dbgsym"]),
        (9, ["libring-dev", "linux-image-9-dbg", "ring", "ring-dbgsym"]),
    ],
)
def test_debug_packages_are_chosen_first(number, names):
    assert choose(FOUND, number) == [FOUND[name] for name in names]


def test_too_few_values_are_repeated():
    assert repeat("ab", 5) == list("ababa")


def test_the_tables(tmp_path, capsys):
    (tmp_path / "Packages").write_text(INDEX)
    assert main([str(tmp_path / "Packages"), "--packages", "3"]) == 0
    text = capsys.readouterr().out
    assert "3 packages, 0.0 GB" in text
    assert text.count("| 256 | 32 |") == 4


@pytest.mark.parametrize(
    ("text", "words", "reason"), [("", [], "no packages"), (INDEX, ["--threads", "0"], "at least 1")]
)
def test_what_cannot_be_simulated(tmp_path, capsys, text, words, reason):
    (tmp_path / "Packages").write_text(text)
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "Packages"), *words])
    assert reason in capsys.readouterr().err
