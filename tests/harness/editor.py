"""An editor for tests: pygls' own client, which speaks with `layoutlint lsp` through pipes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote

from lsprotocol import types
from pygls.lsp.client import LanguageClient

import layoutlint.commands.language_server.server  # noqa: F401  (so that no server has to)
from tests.harness import forked

T = TypeVar("T")
SECONDS = 60.0
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")


def uri(path: Path | str) -> str:
    """The URI of a file, as VS Code writes it."""
    return f"file://{quote(os.fspath(path))}"


def descendants(process: int) -> list[int]:
    """The processes below one, the innermost last."""
    own = [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return own + [each for child in own for each in descendants(child)]


class Editor:
    """A session; its methods may be called from tests that know nothing of asyncio."""

    def __init__(
        self, *arguments: str, cwd: Path, encodings: list[str] | None = None, options: object = None, formats: tuple[str, ...] = ("markdown",)
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self.client = LanguageClient("tests", "1")
        self.published: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.asked: list[Any] = []
        self.messages: list[str] = []
        self._news = asyncio.Event()
        self._versions: dict[str, int] = {}
        self._register()
        general = types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
        hover = types.HoverClientCapabilities(content_format=[types.MarkupKind(each) for each in formats]) if formats else None
        texts = types.TextDocumentClientCapabilities(hover=hover)
        self.started = self.wait(self._start(arguments, cwd, types.ClientCapabilities(general=general, text_document=texts), options))

    def _register(self) -> None:
        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.setdefault(params.uri, []).append(params)
            self._news.set()

        @self.client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.asked.append(params.edit)
            return types.ApplyWorkspaceEditResult(applied=True)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        for refresh in (types.WORKSPACE_INLAY_HINT_REFRESH, types.WORKSPACE_CODE_LENS_REFRESH):
            self.client.feature(refresh)(lambda *_: None)

    async def _start(self, arguments: tuple[str, ...], cwd: Path, can: types.ClientCapabilities, options: Any) -> types.InitializeResult:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        await self.client.start_io("layoutlint", preexec_fn=forked.become(("lsp", *arguments), cwd, environment))
        given = types.InitializeParams(can, process_id=os.getpid(), root_uri=uri(cwd), initialization_options=options)
        result = await self.client.initialize_async(given)
        self.client.initialized(types.InitializedParams())
        return result

    def wait(self, work: Coroutine[Any, Any, T], seconds: float = SECONDS) -> T:
        """Return the result of an asynchronous call."""
        return self._loop.run_until_complete(asyncio.wait_for(work, seconds))

    def open(self, path: Path | str, text: str, language: str = "c") -> str:
        """Open a file, or a document by its URI, with a text; return its URI."""
        name = path if isinstance(path, str) and ":" in path else uri(path)
        self._versions[name] = 1
        self.published.pop(name, None)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(name, language, 1, text)))
        return name

    def change(self, name: str, text: str) -> None:
        """Replace the text of a document."""
        self._versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], name)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, name: str) -> None:
        """Close a document."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(name)))

    def diagnostics(self, name: str, codes: list[str] | None = None) -> list[types.Diagnostic]:
        """Return the diagnostics of the last version of a document; with `codes`, the first list that has exactly these.

        What another document or file changed comes with `codes`: judgements that began before may publish any number of lists first.
        """
        return self.wait(self._diagnostics(name, codes))

    async def _diagnostics(self, name: str, codes: list[str] | None) -> list[types.Diagnostic]:
        while True:
            lists = self.published.get(name, [])
            if lists and lists[-1].version == self._versions[name]:
                found = list(lists[-1].diagnostics)
                if codes is None or [each.code for each in found] == codes:
                    return found
            self._news.clear()
            await self._news.wait()

    def rejudge(self, name: str, text: str) -> list[types.Diagnostic]:
        """Replace the text of a document, and return its diagnostics."""
        self.change(name, text)
        return self.diagnostics(name)

    def quiet(self, seconds: float) -> None:
        """Let events come in for some time."""
        self.wait(asyncio.sleep(seconds))

    def pid(self) -> int:
        """The process of the server."""
        process = self.client._server
        assert process is not None
        return int(process.pid)

    def end(self) -> tuple[int | None, str]:
        """End the session; return the exit status and what the server wrote to stderr."""
        return self.wait(self._end())

    async def _end(self) -> tuple[int | None, str]:
        process = self.client._server
        assert process is not None
        assert process.stderr is not None
        await self.client.shutdown_async(None)
        self.client.exit(None)
        end = monotonic() + 10
        while process.returncode is None and monotonic() < end:
            await asyncio.sleep(0.01)
        return process.returncode, (await process.stderr.read()).decode(errors="replace")
