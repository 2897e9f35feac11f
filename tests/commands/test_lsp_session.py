"""When the language server judges a text, and when it publishes: after the pause, and without work for each letter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.commands.language_server.documents import OpenDocument
from layoutlint.commands.language_server.requests import Judge, Judged, Request, Response, Settings
from layoutlint.commands.language_server.session import Session
from layoutlint.judgement.document import JudgedDocument

DELAY = 0.4


class Worker:
    """A worker whose judgements take some time."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.texts, self.at_once, self.most = seconds, list[str](), 0, 0

    async def answer(self, request: Request) -> Response:
        """Return an empty result."""
        assert isinstance(request, Judge)
        self.texts.append(request.text)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(self.seconds)
        self.at_once -= 1
        return Judged(JudgedDocument())

    async def end(self) -> None:
        """End nothing."""


def edit(folder: Path, seconds: float, interval: float, count: int) -> tuple[Worker, list[tuple[str, float]], int, float]:
    """Edit a text; return the worker, what was published how long after the last edit, how many texts were read while
    it was edited, and how long that took.
    """
    worker, published, times = Worker(seconds), list[tuple[str, float]](), list[float]()

    def publish(document: OpenDocument) -> Callable[[], None]:
        return lambda: published.append((document.text, asyncio.get_running_loop().time() - times[-1] if times else 0.0))

    async def work() -> int:
        loop = asyncio.get_running_loop()
        session = Session(Settings(), str(folder), publish)
        session.worker = session.slow_worker = worker  # type: ignore[assignment]
        session.delay = DELAY
        name = (folder / "a.h").as_uri()
        session.open(name, "c", "0", 0)
        await asyncio.sleep(seconds + 0.05)
        before = len(worker.texts)
        for number in range(1, count + 1):
            times.append(loop.time())
            session.change(name, str(number), number)
            await asyncio.sleep(interval if number < count else 0)
        early = len(worker.texts) - before
        await asyncio.sleep(DELAY + seconds + 0.1)
        await session.end()
        return early

    early = asyncio.run(work())
    return worker, published, early, times[-1] - times[0]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seconds", [0.02, 0.15, 0.3])
def test_a_result_is_published_after_the_pause_and_at_most_once(tmp_path: Path, seconds: float):
    worker, published, _, _ = edit(tmp_path, seconds, 0, 1)
    assert [text for text, _ in published] == worker.texts == ["0", "1"]
    wait = published[-1][1]
    assert DELAY - 0.01 < wait < DELAY + 0.15


@pytest.mark.one_in(2)
@pytest.mark.parametrize("interval", [DELAY / 8, DELAY / 3])
def test_who_types_pays_for_one_letter_at_most(tmp_path: Path, interval: float):
    """After a judgement that was for nothing, the next one waits for a longer pause."""
    worker, published, early, _ = edit(tmp_path, 0.25, interval, 10)
    assert [text for text, _ in published] == ["0", "10"]
    assert early <= 1
    assert worker.texts[-1] == "10"


@pytest.mark.exhaustive
def test_slow_typing_costs_at_most_one_judgement_at_once(tmp_path: Path):
    """A judgement that takes longer than the time between letters is not begun for each of them."""
    worker, published, early, took = edit(tmp_path, 0.3, DELAY * 0.75, 6)
    assert worker.most == 1
    assert early <= took / 0.3 + 1
    assert published[-1][0] == "6"
    assert worker.texts[-1] == "6"
