"""The language server with linux/fs.h: what it shows at once, and its memory. tools.bench.edits measures the time to its findings."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest
from lsprotocol.types import (
    CodeLensParams,
    HoverParams,
    InlayHintParams,
    Position,
    Range,
    TextDocumentIdentifier,
)

from layoutlint.readers.clang.kernel import tree
from tests.commands.test_lsp_limits import kilobytes, workers
from tests.harness.editor import Editor

pytestmark = pytest.mark.real
QUESTIONS = {
    "hover": lambda client, document, line: client.text_document_hover_async(HoverParams(document, Position(line, 8))),
    "hints": lambda client, document, _: client.text_document_inlay_hint_async(
        InlayHintParams(document, Range(Position(0, 0), Position(9999, 0)))
    ),
    "lenses": lambda client, document, _: client.text_document_code_lens_async(CodeLensParams(document)),
}


def test_views_come_at_once(kernel):
    build = tree.find(str(kernel("newest-headers")))
    header = f"{build.source}/include/linux/fs.h"
    text = Path(header).read_text()
    editor = Editor("--", f"O={build.build}", cwd=Path(build.build))
    name = editor.open(f"file://{header}", text)
    editor.diagnostics(name)
    line = text[: text.index("struct inode {")].count("\n")
    for question, ask in QUESTIONS.items():
        times = []
        for _ in range(5):
            began = monotonic()
            assert editor.wait(ask(editor.client, TextDocumentIdentifier(name), line))
            times.append(monotonic() - began)
        assert min(times) < 0.5, (question, times)
    assert editor.end() == (0, "")


def test_memory_is_bounded_over_edits_of_a_large_header(kernel):
    """What was kept of the structs of one judgement took 0.4 MB for each edit."""
    build = tree.find(str(kernel("newest-headers")))
    header = Path(f"{build.source}/include/linux/fs.h")
    text = header.read_text()
    editor = Editor("--", f"O={build.build}", cwd=Path(build.build), options={"delay": 0})
    name = editor.open(header, text)
    memory = []
    for number in range(30):
        editor.rejudge(name, text.replace("struct address_space {", f"struct address_space {{\n\tlong x{number};"))
        if number % 15 == 14:
            memory.append([kilobytes(process) for process in (editor.pid(), *workers(editor.pid()))])
    assert all(last < first + 5_000 for first, last in zip(*memory, strict=True)), memory
    assert editor.end() == (0, "")
