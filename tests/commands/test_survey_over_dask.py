"""A survey over Dask whose workers and scheduler die: its store is that of an undisturbed local run."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.test_survey import RULES, btf, dataset, survey
from tests.harness.dask_cluster import Cluster
from tests.harness.tools import needs_library

pytestmark = [pytest.mark.exhaustive, needs_library("distributed", "pip install layoutlint[distributed]")]

INPUTS = 28
DEATHS = (2, 6, 10, 14, 18)
"""The numbers of inputs in the store at which a worker is killed; at the third, the scheduler as well."""


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster", 2)
    yield cluster
    cluster.end()


def disturb(cluster: Cluster, store: Path, stop: threading.Event, deaths: list[int]) -> None:
    """Kill a worker each time that the store has so many inputs more, and once the scheduler."""
    chance = random.Random(7)
    for number, count in enumerate(DEATHS):
        while len(list(store.glob("layouts/*.parquet"))) < count:
            if stop.wait(0.02):
                return
        cluster.kill_worker(chance.randrange(2))
        deaths.append(count)
        if number == 2:
            cluster.restart()


def test_the_store_is_that_of_a_local_run(tmp_path, cluster):
    names = [f"input{number}" for number in range(INPUTS)]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(btf(8 + 8 * number) if number % 7 else b"\x9f\xeb\x01\0damage")
    (tmp_path / "rules.toml").write_text(RULES)
    stop, deaths = threading.Event(), list[int]()
    disturbing = threading.Thread(target=disturb, args=(cluster, tmp_path / "store", stop, deaths))
    disturbing.start()
    try:
        options = ("--rules", "rules.toml", "--struct", "*")
        over_dask = survey(tmp_path, *names, "--scheduler", cluster.address, rules=options, workers=())
    finally:
        stop.set()
        disturbing.join()
    alone = survey(tmp_path, *names, store="alone", rules=options)
    assert deaths == list(DEATHS)
    assert dataset(tmp_path / "store") == dataset(tmp_path / "alone")
    assert (over_dask[0], over_dask[1]["outcomes"]) == (alone[0], alone[1]["outcomes"])
    assert over_dask[1]["outcomes"]["failed"] == 4  # damaged inputs, and none for a lost worker
