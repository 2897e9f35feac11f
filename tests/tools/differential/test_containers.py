"""Containers of all forms, and archives with members of all formats: what programs print, and what layoutlint says.

By hand: `python -m tools.differential.containers` and `python -m tools.differential.archives`, with --cases and --seed.
"""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need, needs_library
from tools.differential import archives, containers


@pytest.fixture(autouse=True)
def tools():
    need("gcc", "-c")


def test_a_few_containers():
    assert containers.contradictions(2, 3, 2)[1] == []


@needs_library("libarchive", "pip install layoutlint[archives]")
def test_a_few_archives():
    assert archives.contradictions(4, 2)[1] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_containers(seed):
    assert containers.contradictions(draws(60, 250), seed)[1] == []


@pytest.mark.exhaustive
@needs_library("libarchive", "pip install layoutlint[archives]")
def test_archives():
    assert archives.contradictions(draws(150, 1000), 5)[1] == []
