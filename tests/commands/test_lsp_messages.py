"""The language server and messages that no editor should send: wrong JSON, methods, parameters and places."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from layoutlint.commands.language_server.messages import LARGEST
from tests.commands.test_lsp import RING, RULES
from tests.harness import forked
from tests.harness.editor import descendants, uri

PARSE_ERROR, INVALID, NO_METHOD, NO_PARAMETERS, NOT_READY, CANCELLED = -32700, -32600, -32601, -32602, -32002, -32800


class Pipe:
    """A client that sends what it is given, right or wrong."""

    def __init__(self, folder: Path, start_new_session: bool = False) -> None:
        self.errors = folder / "errors"
        with self.errors.open("wb") as errors:
            self.process = forked.start(
                ("lsp",), folder, os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=start_new_session
            )
        self.got: list[dict[str, Any]] = []

    def send(self, body: bytes, head: str = "Content-Length: {size}\r\n\r\n") -> None:
        """Send a body with its head."""
        assert self.process.stdin is not None
        self.process.stdin.write(head.format(size=len(body)).encode() + body)
        self.process.stdin.flush()

    def say(self, **message: Any) -> None:
        """Send a message of JSON-RPC."""
        self.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def message(self) -> dict[str, Any]:
        """Return the next message of the server."""
        stream = self.process.stdout
        assert stream is not None
        size = 0
        while (line := stream.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        self.got.append(json.loads(stream.read(size)))
        return self.got[-1]

    def answer(self, number: int | str | None) -> dict[str, Any]:
        """Return the answer to a request."""
        while "method" in (message := self.message()) or message["id"] != number:
            pass
        return message

    def ask(self, method: str, params: Any = None, number: int | str = 7) -> Any:
        """Send a request; return the code of the error, or the result."""
        self.say(id=number, method=method, params=params)
        answer = self.answer(number)
        return answer["error"]["code"] if "error" in answer else answer["result"]

    def open(self, name: str, text: str) -> list[dict[str, Any]]:
        """Open a file; return its diagnostics."""
        item = {"uri": name, "languageId": "c", "version": 1, "text": text}
        self.say(method="textDocument/didOpen", params={"textDocument": item})
        return self.diagnostics(name)

    def diagnostics(self, name: str) -> list[dict[str, Any]]:
        """Return the next diagnostics of a file."""
        while (message := self.message()).get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != name:
            pass
        rows: list[dict[str, Any]] = message["params"]["diagnostics"]
        return rows

    def end(self) -> int:
        """End the session; return the exit status."""
        self.ask("shutdown", None, "end")
        self.say(method="exit", params=None)
        status = self.process.wait(20)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        return status


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project."""
    folder = tmp_path_factory.mktemp("messages")
    (folder / ".git").mkdir()
    (folder / "layoutlint.toml").write_text(RULES)
    return folder


@pytest.fixture(scope="module")
def pipe(folder: Path) -> Iterator[Pipe]:
    """A session with an open file."""
    pipe = Pipe(folder)
    assert pipe.ask("textDocument/hover", place(folder)) == NOT_READY
    pipe.ask("initialize", {"processId": None, "rootUri": uri(folder), "capabilities": {}})
    pipe.say(method="initialized", params={})
    assert [each["code"] for each in pipe.open(uri(folder / "ring.h"), RING)] == ["apart"]
    yield pipe
    assert pipe.end() == 0
    assert pipe.errors.read_text() == ""


def place(folder: Path, line: Any = 0, character: Any = 8, name: str = "ring.h") -> dict[str, Any]:
    """The parameters of a question about a place."""
    return {"textDocument": {"uri": uri(folder / name)}, "position": {"line": line, "character": character}}


def is_alive(pipe: Pipe, folder: Path) -> bool:
    """Whether the server still answers from the layout that it had."""
    return "struct ring" in pipe.ask("textDocument/hover", place(folder), "alive")["contents"]["value"]


NO_JSON = {
    "empty": b" ", "half": b'{"jsonrpc": "2.0", "id": 1', "word": b"hello", "no UTF-8": b'{"jsonrpc": "\xff"}', "zero": b"\0",
    "quote": b"{'jsonrpc': '2.0'}", "two": b"{} {}",
}  # fmt: skip


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json_has_an_answer(pipe: Pipe, folder: Path, body: bytes):
    pipe.send(body)
    assert pipe.answer(None)["error"]["code"] == PARSE_ERROR
    assert is_alive(pipe, folder)


NO_MESSAGE = {
    "number": b"42", "null": b"null", "list": b"[]", "string": b'"x"', "no version": b'{"id": 1, "method": "shutdown"}',
    "other version": b'{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}', "no method": b'{"jsonrpc": "2.0"}',
    "deep": b"[" * 100_000 + b"]" * 100_000, "answer": b'{"jsonrpc": "2.0", "id": 99, "result": 1}',
    "error": b'{"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "x"}}',
    "notification": b'{"jsonrpc": "2.0", "method": "no/such", "params": {}}',
    "optional": b'{"jsonrpc": "2.0", "method": "$/no/such", "params": {}}',
    "wrong open": b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 5}}',
    "no open": b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": null}',
    "wrong change": b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///x.h", "version": 1},'
                    b' "contentChanges": [{"text": 5}]}}',
    "strange change": b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///never/opened.h",'
                      b' "version": 1}, "contentChanges": [{"text": "struct ring { int x; };"}]}}',
    "strange close": b'{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///never/opened.h"}}}',
}  # fmt: skip


@pytest.mark.parametrize("body", NO_MESSAGE.values(), ids=NO_MESSAGE)
def test_other_messages_change_nothing(pipe: Pipe, folder: Path, body: bytes):
    pipe.send(body)
    assert is_alive(pipe, folder)


HEADS = {
    "type": "Content-Length: {size}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
    "type first": "Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: {size}\r\n\r\n",
    "unknown field": "X-Field: 1\r\nContent-Length: {size}\r\n\r\n",
    "noise before": "noise\r\nContent-Length: {size}\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_heads(pipe: Pipe, head: str):
    pipe.send(b'{"jsonrpc": "2.0", "id": 5, "method": "no/such"}', head)
    assert pipe.answer(5)["error"]["code"] == NO_METHOD


NO_LENGTH = {
    "missing": "Content-Type: x\r\n\r\n", "negative": "Content-Length: -5\r\n\r\n", "zero": "Content-Length: 0\r\n\r\n",
    "word": "Content-Length: five\r\n\r\n", "fraction": "Content-Length: 5.5\r\n\r\n", "sign": "Content-Length: +5\r\n\r\n",
    "too large": f"Content-Length: {LARGEST + 1}\r\n\r\n", "larger than memory": "Content-Length: 999999999999999999\r\n\r\n",
    "digits": f"Content-Length: {'9' * 5000}\r\n\r\n", "two": "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "long line": f"X: {'x' * 100_000}\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("body", [b"", b'{"jsonrpc": "2.0", "method": "no/such"}', b"x" * (1 << 16), b"\r\n\r\n{}\r\n"], ids=["none", "one", "long", "lines"])
@pytest.mark.parametrize("head", NO_LENGTH.values(), ids=NO_LENGTH)
def test_a_head_without_a_length_has_an_answer_and_the_next_message_counts(pipe: Pipe, folder: Path, head: str, body: bytes):
    pipe.send(body, head)
    assert pipe.answer(None)["error"]["code"] == PARSE_ERROR
    assert is_alive(pipe, folder)


WRONG = [
    ("no/such", {}, NO_METHOD),
    ("textDocument/hover", None, NO_PARAMETERS),
    ("textDocument/hover", {"textDocument": {}}, NO_PARAMETERS),
    ("textDocument/hover", {"textDocument": {"uri": 1}, "position": [1]}, NO_PARAMETERS),
    ("textDocument/inlayHint", {"textDocument": {"uri": "file:///x.h"}}, NO_PARAMETERS),
    ("textDocument/codeAction", {"textDocument": {"uri": "file:///x.h"}, "range": {}, "context": {"diagnostics": []}}, NO_PARAMETERS),
    ("initialize", {"processId": "x"}, NO_PARAMETERS),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params", "code"), WRONG)
def test_wrong_requests_have_an_answer(pipe: Pipe, folder: Path, method: str, params: Any, code: int):
    assert pipe.ask(method, params) == code
    assert is_alive(pipe, folder)


PLACES = [(0, 1 << 30), (1 << 30, 0), ((1 << 31) - 1, (1 << 31) - 1), (3, 0), (3, 1), (2, 0)]
METHODS = ["textDocument/hover", "textDocument/completion"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("line", "character"), PLACES)
def test_places_outside_of_the_text(pipe: Pipe, folder: Path, method: str, line: int, character: int):
    assert pipe.ask(method, place(folder, line, character)) in (None, [])


@pytest.mark.parametrize(("line", "character"), [(-1, 0), (0, -1), (1 << 32, 0), (0.5, 0), ("0", 0), (None, 0)])
def test_places_that_are_no_numbers(pipe: Pipe, folder: Path, line: Any, character: Any):
    answer = pipe.ask("textDocument/hover", place(folder, line, character))
    assert answer is None or answer == NO_PARAMETERS or "struct ring" in answer["contents"]["value"]
    assert is_alive(pipe, folder)


@pytest.mark.parametrize("method", ["textDocument/hover", "textDocument/completion", "textDocument/codeLens"])
@pytest.mark.parametrize("name", ["file:///never/opened.h", "git:/x.h", "untitled:x", "", "x", "file:///%00", "file://%ff", "http://[x"])
def test_documents_that_are_not_open(pipe: Pipe, folder: Path, method: str, name: str):
    assert pipe.ask(method, {"textDocument": {"uri": name}, "position": {"line": 0, "character": 0}}) in (None, [])
    assert is_alive(pipe, folder)


@pytest.mark.parametrize("command", ["layoutlint.accept", "layoutlint.suggest", "no.such"])
@pytest.mark.parametrize("arguments", [None, [], ["x"], [1, 2, 3], [{}, [], None], ["file:///x.h", "r", "s", "t"]])
def test_commands_with_other_arguments(pipe: Pipe, folder: Path, command: str, arguments: Any):
    answer = pipe.ask("workspace/executeCommand", {"command": command, "arguments": arguments})
    assert answer is None or answer < 0
    assert is_alive(pipe, folder)


@pytest.mark.parametrize("given", [None, [], 5, {"layoutlint": 5}, {"delay": "x"}, {"delay": -1}, {"delay": 1e999}, {"inlayHints": {}}])
def test_settings_that_are_none(pipe: Pipe, folder: Path, given: Any):
    pipe.send(json.dumps({"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": {"settings": given}}).encode())
    assert is_alive(pipe, folder)


URIS = ["git:/x.h", "untitled:", "file:///", "file:///no/such/folder/x.h", "x", "file://[", "file:///a\n.h", "file:///%2e%2e/%2e%2e/x.h"]


@pytest.mark.parametrize("name", URIS)
def test_files_with_strange_names(pipe: Pipe, folder: Path, name: str):
    item = {"uri": name, "languageId": "c", "version": 1, "text": RING}
    pipe.say(method="textDocument/didOpen", params={"textDocument": item})
    change = {"textDocument": {"uri": name, "version": 2}, "contentChanges": [{"text": f"{RING}\n"}]}
    pipe.say(method="textDocument/didChange", params=change)
    pipe.say(method="textDocument/didClose", params={"textDocument": {"uri": name}})
    assert is_alive(pipe, folder)


START = ("initialize", {"processId": None, "capabilities": {}})
SHUTDOWN, EXIT, HOVER = ("shutdown", None), ("exit", None), ("textDocument/hover", {"textDocument": {"uri": "file:///x.h"}, "position": {"line": 0, "character": 0}})
ORDERS = [
    ([START, SHUTDOWN, EXIT], [{}, None], 0),
    ([START, EXIT], [{}], 1),
    ([EXIT], [], 1),
    ([SHUTDOWN, EXIT], [NOT_READY], 1),
    ([START, START, SHUTDOWN, EXIT], [{}, INVALID, None], 0),
    ([START, SHUTDOWN, HOVER, SHUTDOWN, START, EXIT], [{}, None, INVALID, INVALID, INVALID], 0),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("messages", "answers", "status"), ORDERS)
def test_the_begin_and_the_end_of_a_session(folder: Path, messages: list[tuple[str, Any]], answers: list[Any], status: int):
    pipe = Pipe(folder)
    got = []
    for method, params in messages:
        if method == "exit":
            pipe.say(method=method, params=params)
        else:
            answer = pipe.ask(method, params)
            got.append({} if isinstance(answer, dict) else answer)
    assert (got, pipe.process.wait(20)) == (answers, status)
    assert pipe.errors.read_text() == ""


def test_an_interrupt_from_the_terminal_ends_all_processes_without_a_word(folder: Path):
    pipe = Pipe(folder, start_new_session=True)
    pipe.ask(*START)
    pipe.say(method="initialized", params={})
    pipe.open(uri(folder / "ring.h"), RING)
    processes = descendants(pipe.process.pid)
    assert processes
    os.killpg(pipe.process.pid, signal.SIGINT)
    assert pipe.process.wait(20) == -signal.SIGINT
    end = monotonic() + 20
    while any(Path(f"/proc/{each}").exists() for each in processes):
        assert monotonic() < end
        sleep(0.05)
    assert pipe.errors.read_text() == ""


def test_a_search_that_is_cancelled_says_nothing_more(folder: Path):
    pytest.importorskip("ortools")
    (folder / "ring.h").write_text(RING)
    pipe = Pipe(folder)
    pipe.ask(*START)
    pipe.open(uri(folder / "ring.h"), RING)
    command = {"command": "layoutlint.suggest", "arguments": [uri(folder / "ring.h"), "apart", "ring"]}
    pipe.say(id=1, method="workspace/executeCommand", params=command)
    pipe.say(method="$/cancelRequest", params={"id": 1})
    assert pipe.answer(1)["error"]["code"] == CANCELLED
    before = len(pipe.got)
    assert pipe.ask("workspace/executeCommand", command) is None
    assert [message.get("method") for message in pipe.got[before:]] == ["window/showMessage", None]
    assert pipe.end() == 0


def test_the_end_of_the_stream_ends_the_server(folder: Path):
    """Also in the middle of a message, and without `shutdown`."""
    for body in (b"", b"Content-Length: 10\r\n\r\n{}"):
        pipe = Pipe(folder)
        assert pipe.process.stdin is not None
        pipe.process.stdin.write(body)
        pipe.process.stdin.close()
        assert pipe.process.wait(20) in (0, 1)
