"""The open files of an editor, judged while they are edited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from layoutlint.commands.language_server.documents import HEADERS, OpenDocument, path_of
from layoutlint.commands.language_server.requests import (
    CheckRules,
    Failure,
    Judge,
    Judged,
    Mistakes,
    Settings,
)
from layoutlint.commands.language_server.worker_process import WorkerProcess
from layoutlint.model.reading import InputText

_LARGEST = 4 << 20
"""The most characters of a text that is judged while it is edited."""
Publish = Callable[[OpenDocument], None]


class Session:
    """Keeps the open files, and judges each after a pause in its edits.

    `publish` is called with a document, in the event loop, after each result.
    """

    def __init__(self, settings: Settings, folder: str, publish: Publish) -> None:
        self.settings, self.folder, self._publish = settings, folder, publish
        self.delay = 0.3
        """Seconds without an edit before a text is judged."""
        self.documents: dict[str, OpenDocument] = {}
        self.rows: dict[str, tuple[tuple[int, str], ...]] = {}
        """The mistakes of open rule files, by URI."""
        self.worker, self.slow_worker = WorkerProcess(), WorkerProcess()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._pending: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None

    def open(self, uri: str, language: str, text: str, version: int | None) -> None:
        """Take a file that the editor opens; it is judged at once."""
        path = path_of(uri, self.folder)
        if path is None:
            return
        self.documents[uri] = OpenDocument(uri, path, language, text, version)
        self._schedule(uri, 0)

    def change(self, uri: str, text: str, version: int | None) -> None:
        """Take a new text; it is judged after a pause."""
        document = self.documents.get(uri)
        if document is not None:
            document.update(text, version)
            self._schedule(uri, self.delay)

    def close(self, uri: str) -> None:
        """Forget a file."""
        document = self.documents.pop(uri, None)
        self.rows.pop(uri, None)
        timer = self._timers.pop(uri, None)
        self._pending.pop(uri, None)
        if timer is not None:
            timer.cancel()
        if document is not None:
            self._judge_dependents(document)

    def judge_all(self) -> None:
        """Judge all open files again: a file on disk or a setting changed."""
        for uri in self.documents:
            self._schedule(uri, self.delay)

    def _schedule(self, uri: str, delay: float) -> None:
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self._timers[uri] = asyncio.get_running_loop().call_later(delay, self._begin, uri)

    def _begin(self, uri: str) -> None:
        self._timers.pop(uri, None)
        self._pending.pop(uri, None)
        self._pending[uri] = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        """Judge what is pending, one file after the other."""
        while self._pending:
            uri = next(iter(self._pending))
            del self._pending[uri]
            document = self.documents.get(uri)
            if document is not None and document.is_rules:
                await self._check_rules(document)
            elif document is not None and document.is_c:
                await self._judge(document)

    async def _judge(self, document: OpenDocument) -> None:
        version, lines = document.version, document.lines
        if len(document.text) > _LARGEST:
            most = f"{_LARGEST >> 20} MB"
            document.fail(f"{document.name}: has more than the {most} that are judged while it is edited")
            self._publish(document)
            return
        response = await self.worker.answer(self.request_for(document))
        if self.documents.get(document.uri) is not document:
            return
        if isinstance(response, Judged):
            document.apply(lines, response.document)
            document.mistakes = response.mistakes
        elif isinstance(response, Failure):
            document.fail(response.reason)
        if document.version == version:
            self._publish(document)
            self._judge_dependents(document)

    def request_for(self, document: OpenDocument) -> Judge:
        """Return the request that judges a document as it is now."""
        texts = tuple(
            InputText(each.real_path, each.text)
            for each in self.documents.values()
            if (each.is_c and each.is_on_disk) or each.is_rules or each.path.endswith(HEADERS)
        )
        return Judge(
            document.path,
            document.text,
            document.is_on_disk,
            frozenset(document.kept),
            texts,
            self.settings,
        )

    async def _check_rules(self, document: OpenDocument) -> None:
        response = await self.worker.answer(CheckRules(document.path, document.text))
        if self.documents.get(document.uri) is not document:
            return
        self.rows[document.uri] = response.rows if isinstance(response, Mistakes) else ()
        self._publish(document)
        self._judge_dependents(document)

    def _judge_dependents(self, document: OpenDocument) -> None:
        """Judge the open files that may depend on one: all on a rule file, sources and headers on a header.

        A text that did not change since they were judged is no reason.
        """
        if not document.is_rules and not document.path.endswith(HEADERS):
            return
        if document.judged_text == document.text and document.uri in self.documents:
            return
        is_first = document.judged_text is None and document.is_saved
        document.judged_text = document.text
        if is_first:
            return
        for uri, other in self.documents.items():
            if other is not document and other.is_c and uri not in self._timers:
                self._begin(uri)

    async def end(self) -> None:
        """End the timers and processes."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._pending.clear()
        if self._task is not None:
            self._task.cancel()
        await self.worker.end()
        await self.slow_worker.end()
