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
from layoutlint.model.record import replace

_LARGEST = 4 << 20
"""The most characters of a text that is judged while it is edited."""
_MARGIN = 1.25
"""A judgement is expected to take this many times as long as those before."""
_FADING = 0.8
"""The part of the time of an earlier judgement that counts still: other programs use the machine too."""
_LEAST_PAUSE, _LEAST_TYPING_PAUSE = 0.2, 0.6
"""The part of the delay without an edit before a text is read; and that after a judgement which an edit made
worthless: who types does not pay for each letter.
"""
Publish = Callable[[OpenDocument], Callable[[], None]]


class Session:
    """Keeps the open files, and judges each after a pause in its edits.

    A judgement begins so early that it ends with the pause. `publish` is called with a document, in the event
    loop, after each result; what it returns is called when the pause ends.
    """

    def __init__(self, settings: Settings, folder: str, publish: Publish) -> None:
        self.settings, self._publish = replace(settings, folder=folder), publish
        self.delay = 0.3
        """Seconds without an edit before the findings of a text are published."""
        self.documents: dict[str, OpenDocument] = {}
        self.rows: dict[str, tuple[tuple[int, str], ...]] = {}
        """The mistakes of open rule files, by URI."""
        self.worker, self.slow_worker = WorkerProcess(), WorkerProcess()
        self._readings: dict[str, asyncio.TimerHandle] = {}
        """What will begin to judge a file."""
        self._publications: dict[str, asyncio.TimerHandle] = {}
        """What will publish the result for a file."""
        self._pending: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._document: OpenDocument | None = None
        """The file that is judged now."""

    def open(self, uri: str, language: str, text: str, version: int | None) -> None:
        """Take a file that the editor opens; it is judged at once."""
        path = path_of(uri, self.settings.folder)
        if path is None:
            return
        self.documents[uri] = OpenDocument(uri, path, language, text, version)
        self._schedule(self.documents[uri], 0)

    def change(self, uri: str, text: str, version: int | None) -> None:
        """Take a new text; it is judged after a pause."""
        document = self.documents.get(uri)
        if document is not None:
            document.update(text, version)
            self._schedule(document, self.delay)

    def close(self, uri: str) -> None:
        """Forget a file."""
        document = self.documents.pop(uri, None)
        self.rows.pop(uri, None)
        self._cancel(uri)
        if document is not None:
            self._judge_dependents(document)

    def judge_all(self) -> None:
        """Judge all open files again: a file on disk or a setting changed."""
        for document in self.documents.values():
            self._schedule(document, self.delay)

    def _schedule(self, document: OpenDocument, delay: float) -> None:
        """Judge a document so that its result is there after a delay."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        document.due = now + delay
        document.is_typed |= document is self._document or document.uri in self._publications
        earliest = now + delay * (_LEAST_TYPING_PAUSE if document.is_typed else _LEAST_PAUSE)
        begin = max(earliest, document.due - _MARGIN * document.seconds)
        self._cancel(document.uri)
        self._readings[document.uri] = loop.call_at(begin, self._begin, document.uri)

    def _cancel(self, uri: str) -> None:
        """Cancel what was planned for a document."""
        self._pending.pop(uri, None)
        for timers in (self._readings, self._publications):
            timer = timers.pop(uri, None)
            if timer is not None:
                timer.cancel()

    def _begin(self, uri: str) -> None:
        self._cancel(uri)
        self._pending[uri] = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        """Judge what is pending, one file after the other."""
        while self._pending:
            uri = next(iter(self._pending))
            del self._pending[uri]
            self._document = document = self.documents.get(uri)
            if document is not None and document.is_rules:
                await self._check_rules(document)
            elif document is not None and document.is_c:
                await self._judge(document)
            self._document = None

    async def _judge(self, document: OpenDocument) -> None:
        loop, lines = asyncio.get_running_loop(), document.lines
        if len(document.text) > _LARGEST:
            most = f"{_LARGEST >> 20} MB"
            document.fail(f"{document.name}: has more than the {most} that are judged while it is edited")
            self._finish(document, lines)
            return
        began = loop.time()
        response = await self.worker.answer(self.request_for(document))
        document.seconds = max(loop.time() - began, _FADING * document.seconds)
        if self.documents.get(document.uri) is not document:
            return
        if isinstance(response, Judged):
            document.apply(lines, response.document)
            document.mistakes = response.mistakes
        elif isinstance(response, Failure):
            document.fail(response.reason)
        self._finish(document, lines)

    def _finish(self, document: OpenDocument, lines: list[str]) -> None:
        """Publish the result for a text when it is due, unless the document is to be judged again."""
        uri, loop = document.uri, asyncio.get_running_loop()
        if document.lines is lines and uri not in self._readings and uri not in self._pending:
            self._cancel(uri)
            send = self._publish(document)
            self._publications[uri] = loop.call_at(document.due, self._show, document, send)

    def _show(self, document: OpenDocument, send: Callable[[], None]) -> None:
        self._cancel(document.uri)
        document.is_typed = False
        send()
        self._judge_dependents(document)

    def request_for(self, document: OpenDocument) -> Judge:
        """Return the request that judges a document as it is now."""
        others = (each for each in self.documents.values() if each.real_path != document.real_path)
        texts = tuple(
            InputText(each.real_path, each.text)
            for each in (*others, document)
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
        lines = document.lines
        response = await self.worker.answer(CheckRules(document.path, document.text))
        if self.documents.get(document.uri) is not document:
            return
        self.rows[document.uri] = response.rows if isinstance(response, Mistakes) else ()
        self._finish(document, lines)

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
            if other is not document and other.is_c and uri not in self._readings:
                self._begin(uri)

    async def end(self) -> None:
        """End the timers and processes."""
        for uri in self.documents:
            self._cancel(uri)
        self._pending.clear()
        if self._task is not None:
            self._task.cancel()
        await self.worker.end()
        await self.slow_worker.end()
