"""The real kernels as fixtures; each skips, with the reason, where it cannot be had."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.real import kernels


@cache
def _attempt(name: str) -> Path | str:
    """The path, or why there is none: one attempt for all tests of a run."""
    try:
        return kernels.fetch(name)
    except kernels.Unavailable as reason:
        return str(reason)


def _kernel(name: str) -> Path:
    at = _attempt(name)
    if isinstance(at, str):
        pytest.skip(at)
    return at


@pytest.fixture(scope="session")
def kernel():
    """The path of a kernel by its name, for tests that go over several."""
    return _kernel


def _measure(name: str) -> Path:
    at = _kernel(name)
    wanted, release = kernels.MEASURED[kernels.KERNELS[name].release], kernels.release(at)
    if release != wanted:
        pytest.skip(f"{name} is now Linux {release}; the figures are of {wanted}")
    return at


@pytest.fixture(scope="session")
def measured():
    """The path of a kernel by its name, for tests that compare it with figures: skips when Debian has moved on."""
    return _measure


@pytest.fixture(scope="session")
def cloud() -> Path:
    return _kernel("cloud")


@pytest.fixture(scope="session")
def source() -> Path:
    return _kernel("source")


@pytest.fixture(scope="session", name="next")
def next_kernel() -> Path:
    return _kernel("next")


@pytest.fixture(scope="session")
def newest() -> Path:
    return _kernel("newest")


@pytest.fixture(scope="session")
def headers() -> Path:
    return _kernel("headers")


@pytest.fixture(scope="session")
def next_headers() -> Path:
    return _kernel("next-headers")


@pytest.fixture(scope="session")
def newest_headers() -> Path:
    return _kernel("newest-headers")
