"""Limits of time against a fixed piece of work, done in the same run: a busy or slow machine is slow for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

_USUAL = 0.0325
"""Seconds of processor time that `_work` takes on an idle processor of the kind that the limits were chosen on."""


def _work() -> None:
    kept: dict[int, int] = {}
    total = 0
    for number in range(250_000):
        kept[number & 1023] = total
        total += len(str(number))


def slowness() -> float:
    """How many times slower than usual this processor is now, at least 1."""
    start = process_time()
    _work()
    return max(1.0, (process_time() - start) / _USUAL)


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Holds the processor time of the block against `seconds`; if it takes longer, against more of them where the processor is slower than
    usual."""
    start = process_time()
    yield
    taken = process_time() - start
    assert taken < seconds or taken < seconds * max(slowness() for _ in range(3))
