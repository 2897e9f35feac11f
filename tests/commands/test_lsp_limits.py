"""The language server under load: many edits, large files, a killed worker, memory."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest
from lsprotocol.types import (
    CancelParams,
    CodeLensParams,
    ExecuteCommandParams,
    HoverParams,
    InlayHintParams,
    Position,
    Range,
    TextDocumentIdentifier,
)
from pygls.exceptions import JsonRpcException

from tests.commands.test_lsp import APART, NOTED, RING, RULES, insert, rows
from tests.harness.editor import Editor

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "layoutlint.toml").write_text(RULES)
    (tmp_path / "ring.h").write_text(RING)
    return tmp_path


def workers(server: int) -> list[int]:
    """The processes that a server started."""
    return [int(word) for word in Path(f"/proc/{server}/task/{server}/children").read_text().split()]


def kilobytes(process: int) -> int:
    """The resident memory of a process."""
    rows = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS"))


def test_a_hundred_edits_in_a_second_are_judged_once(folder: Path):
    editor = Editor(cwd=folder)
    name = editor.open(folder / "ring.h", RING)
    editor.diagnostics(name)
    before = len(editor.published[name])
    for number in range(99):
        editor.change(name, f"/* {number} */\n" * (number % 7) + RING)
        editor.quiet(0.01)
    assert editor.rejudge(name, APART) == []
    editor.quiet(1)
    assert len(editor.published[name]) - before < 5  # one, unless a busy machine stops the client for longer than the pause
    assert editor.end() == (0, "")


def test_a_killed_worker_is_started_again(folder: Path):
    editor = Editor(cwd=folder, options={"delay": 20})
    name = editor.open(folder / "ring.h", RING)
    editor.diagnostics(name)
    for number in range(3):
        (worker,) = workers(editor.pid())
        os.kill(worker, signal.SIGKILL)
        assert rows(editor.rejudge(name, f"{RING}/* {number} */")) == [("apart", 1, 15)]
    large = "".join(RING.replace("ring", f"ring{number}") for number in range(20_000))
    editor.change(name, large)
    end = monotonic() + 10
    while monotonic() < end and not any(workers(worker) for worker in workers(editor.pid())):
        editor.quiet(0.01)
    for worker in workers(editor.pid()):
        os.kill(worker, signal.SIGKILL)
    assert rows(editor.rejudge(name, RING)) == [("apart", 1, 15)]
    assert editor.end() == (0, "")


def test_a_file_of_ten_thousand_lines(folder: Path):
    text = "".join(RING.replace("ring", f"ring{number}") for number in range(2_500)) + RING
    editor = Editor(cwd=folder)
    name = editor.open(folder / "ring.h", text)
    assert rows(editor.diagnostics(name)) == [("apart", 10_001, 15)]
    document = TextDocumentIdentifier(name)
    began = monotonic()
    assert len(editor.wait(editor.client.text_document_code_lens_async(CodeLensParams(document)))) == 2_501
    near = InlayHintParams(document, Range(Position(5_000, 0), Position(5_060, 0)))
    assert len(editor.wait(editor.client.text_document_inlay_hint_async(near))) == 30
    assert monotonic() - began < 60
    assert editor.end() == (0, "")


def test_memory_is_bounded_over_a_thousand_edits(folder: Path):
    editor = Editor(cwd=folder, options={"delay": 0})
    name = editor.open(folder / "ring.h", RING)
    memory: list[list[int]] = []
    for number in range(1_000):
        editor.rejudge(name, f"{RING}/* {number} */" if number % 3 else RING.replace("{", "{ int x y;"))
        if number % 100 == 99:
            memory.append([kilobytes(process) for process in (editor.pid(), *workers(editor.pid()))])
    print("kilobytes of server and worker:", memory)
    for first, last in zip(memory[2], memory[-1], strict=True):
        assert last < first + 1_000  # of pygls' futures of notifications alone there were 1,500
    assert editor.end() == (0, "")


def test_an_order_that_keeps_the_rule_is_applied(folder: Path):
    pytest.importorskip("ortools")
    subprocess.run(["git", "init", "-q", folder], check=True)
    text = "struct ring {\n\tlong head;\n\tlong tail;\n\tchar pad[64];\n} __attribute__((aligned(64)));\n"
    (folder / "ring.h").write_text(text)
    (folder / "ring.c").write_text('#include "ring.h"\nlong f(struct ring *r) { return r->head; }\n')
    editor = Editor(cwd=folder, options={"delay": 20})
    name = editor.open(folder / "ring.h", text)
    assert rows(editor.diagnostics(name)) == [("apart", 1, 6)]
    editor.wait(editor.client.workspace_execute_command_async(ExecuteCommandParams("layoutlint.suggest", [name, "apart", "ring"])))
    editor.quiet(0.2)
    assert editor.messages == []
    (edit,) = editor.asked[0].changes[name]
    assert editor.rejudge(name, insert(text, edit)) == []
    assert editor.end() == (0, "")


def test_hostile_texts_and_questions(folder: Path):
    editor = Editor(cwd=folder, options={"delay": 0, "inlayHints": [], "codeLens": "?"})
    name = editor.open(folder / "ring.h", RING)
    texts = ["", "\0", "\x1b[31m", "{" * 50_000, "struct " * 20_000, "#include __FILE__\n", '#include "/dev/zero"\n', "\ud800", "/*"]
    for text in texts:
        editor.rejudge(name, text)
    assert rows(editor.rejudge(name, RING)) == [("apart", 1, 15)]
    document = TextDocumentIdentifier(name)
    for line, column in ((0, 1 << 30), (1 << 30, 0)):
        with suppress(JsonRpcException):
            editor.wait(editor.client.text_document_hover_async(HoverParams(document, Position(line, column))))
    for number in (0, 7, "no such request"):
        editor.client.cancel_request(CancelParams(number))
    for path in ("git:/x.h", "untitled:", "file:///", "file:///no/such/folder/x.h", "x"):
        editor.open(path, NOTED)
    editor.quiet(1)
    assert rows(editor.rejudge(name, f"\n{RING}")) == [("apart", 2, 15)]
    status, messages = editor.end()
    assert status == 0
    assert "Traceback" not in messages
