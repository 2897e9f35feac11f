"""A process that answers several requests, each within the limits."""

from __future__ import annotations

import os
import time
from collections.abc import Generator

import pytest

from layoutlint.workers.sandbox import WorkLimits
from layoutlint.workers.service import Ended, Service

LIMITS = WorkLimits(seconds=1, memory=64 << 20, is_confined=True)


def work() -> Generator[object, object, None]:
    """Count requests, and do as they say."""
    request, count = (yield "ready"), 0
    while True:
        count += 1
        if request == "sleep":
            time.sleep(60)
        elif request == "die":
            os.abort()
        elif request == "fill":
            bytearray(1 << 30)
        elif isinstance(request, str) and os.path.exists(request):
            with open(request, "rb") as file:
                file.read()
        request = yield count


def test_answers_keep_their_order():
    service = Service(work, LIMITS)
    assert service.answer() == "ready"
    assert [service.ask(number) for number in ("a", "b", "c")] == [1, 2, 3]
    time.sleep(1.2)  # the limit is for each answer
    assert service.ask("d") == 4
    service.end()


@pytest.mark.parametrize(("request_", "how"), [("sleep", "Alarm"), ("die", "Abort"), ("fill", "Abort")])
def test_an_end_is_reported(request_: str, how: str):
    service = Service(work, LIMITS)
    assert service.answer() == "ready"
    result = service.ask(request_)
    assert isinstance(result, Ended)
    assert how in result.how
    service.end()


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    service = Service(work, LIMITS)
    assert service.answer() == "ready"
    result = service.ask(str(tmp_path / "pipe"))
    assert isinstance(result, Ended)
    assert result.how == f"reads {tmp_path}/pipe, which is a pipe or a device"
    service.end()
