"""The language server and documents in bad circumstances: closed while they are read, huge, elsewhere, with broken rules."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from lsprotocol.types import (
    DidChangeWatchedFilesParams,
    FileChangeType,
    FileEvent,
    HoverParams,
    InlayHintParams,
    Position,
    Range,
    TextDocumentIdentifier,
)

from tests.commands.test_lsp import APART, RING, RULES, insert, lenses, rows, titles
from tests.harness.editor import Editor, descendants, uri

TYPED = 'typedef int word; /* {letter} */ struct ring {{ /* {letter} */ word head; /* {letter}: */ word tail; }};'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / ".git").mkdir()
    (folder / "layoutlint.toml").write_text(RULES)
    (folder / "ring.h").write_text(RING)
    return folder


@pytest.fixture(scope="module")
def editor(folder: Path) -> Iterator[Editor]:
    editor = Editor(cwd=folder, options={"delay": 20})
    yield editor
    assert editor.end() == (0, "")


def many(count: int) -> str:
    """A text with many structs."""
    return "".join(RING.replace("ring", f"ring{number}") for number in range(count)) + RING


def test_a_document_that_is_closed_while_it_is_read(editor: Editor, folder: Path):
    """Nothing is published after the empty list of its end, and other documents do not wait for it."""
    name = editor.open(folder / "closed.h", many(700))
    editor.quiet(0.05)
    editor.close(name)
    other = editor.open(folder / "ring.h", RING)
    assert rows(editor.diagnostics(other)) == [("apart", 1, 15)]
    editor.quiet(0.3)
    assert [list(each.diagnostics) for each in editor.published[name]] == [[]]
    editor.close(other)


def test_a_document_that_is_closed_and_opened_while_it_is_read(editor: Editor, folder: Path):
    """The layouts of the first text are not those of the second."""
    name = editor.open(folder / "again.h", many(700))
    editor.quiet(0.05)
    editor.close(name)
    editor.open(folder / "again.h", f"\n{RING}")
    assert rows(editor.diagnostics(name)) == [("apart", 2, 15)]
    assert [line for line, _ in lenses(editor, name)] == [1]
    editor.close(name)


def test_a_document_that_is_edited_while_it_is_read(editor: Editor, folder: Path):
    """The newest text counts, and is judged once more, whatever came in between."""
    name = editor.open(folder / "edited.h", many(500))
    for number in range(20):
        editor.change(name, "\n" * number + RING)
        editor.quiet(0.02)
    assert rows(editor.diagnostics(name)) == [("apart", 20, 15)]
    editor.quiet(0.2)
    assert [each.version for each in editor.published[name]][-1:] == [21]
    editor.close(name)


def test_a_file_that_is_open_by_two_names(editor: Editor, folder: Path):
    """Each is judged by its own text."""
    (folder / "ring.h").write_text(RING)
    (folder / "link.h").symlink_to("ring.h")
    first, second = editor.open(folder / "ring.h", RING), editor.open(folder / "link.h", APART)
    assert editor.diagnostics(second) == []
    assert rows(editor.rejudge(first, f"\n{RING}")) == [("apart", 2, 15)]
    assert editor.rejudge(second, f"\n{APART}") == []
    editor.close(first)
    editor.close(second)


def test_a_document_that_is_too_large(editor: Editor, folder: Path):
    """It says so at its first line, and its last good layouts remain."""
    name = editor.open(folder / "huge.h", RING)
    editor.diagnostics(name)
    found = editor.rejudge(name, RING + "/* */\n" * 800_000)
    assert rows(found)[0] == ("not-read", 0, 0)
    assert "huge.h: has more than the 4 MB that are judged while it is edited" in found[0].message
    assert [each.code for each in found[1:]] == ["apart"]
    assert lenses(editor, name)[0][1].endswith("stale")
    assert rows(editor.rejudge(name, RING)) == [("apart", 1, 15)]
    editor.close(name)


def test_a_line_that_is_long(editor: Editor, folder: Path):
    body = " ".join(f"int f{number};" for number in range(3_000))
    text = f"struct ring {{ long head; {body} long tail; }};"
    name = editor.open(folder / "long.h", text)
    assert editor.diagnostics(name) == []
    where = HoverParams(TextDocumentIdentifier(name), Position(0, text.index("f0")))
    assert "f0" in editor.wait(editor.client.text_document_hover_async(where)).contents.value
    editor.close(name)


def test_files_outside_of_the_folder(editor: Editor, tmp_path: Path):
    """Their own rule file counts, not that of the folder in which the server began."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/layoutlint.toml").write_text(RULES.replace('"apart"', '"other"'))
    for path, codes in (("own/ring.h", ["other"]), ("ring.h", []), ("no/such/folder/ring.h", [])):
        name = editor.open(tmp_path / path, RING)
        assert [each.code for each in editor.diagnostics(name)] == codes
        editor.close(name)


def test_a_rule_file_on_disk_that_is_broken_and_mended(editor: Editor, folder: Path):
    """Each change that the client reports is read; while it is no TOML, the rules of before count."""
    name = editor.open(folder / "ring.h", RING)
    editor.diagnostics(name)
    event = FileEvent(uri(folder / "layoutlint.toml"), FileChangeType.Changed)
    for text, expected in (
        (f"{RULES}[[rule", ["rule-file", "apart"]),
        (RULES.replace('"separate"', '"separat"'), ["rule-file", "apart"]),
        (RULES.replace('"apart"', '"mended"'), ["mended"]),
        ("", []),
        (RULES, ["apart"]),
    ):
        (folder / "layoutlint.toml").write_text(text)
        editor.client.workspace_did_change_watched_files(DidChangeWatchedFilesParams([event]))
        editor.diagnostics(name, expected)
    editor.close(name)


def test_a_rule_file_that_is_gone(editor: Editor, tmp_path: Path):
    (tmp_path / "layoutlint.toml").write_text(RULES)
    name = editor.open(tmp_path / "ring.h", RING)
    assert [each.code for each in editor.diagnostics(name)] == ["apart"]
    (tmp_path / "layoutlint.toml").unlink()
    assert editor.rejudge(name, f"{RING}\n") == []
    editor.close(name)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_behind_characters_of_all_sizes(folder: Path, encoding: str):
    """Of a diagnostic, a hint and the place of a suppression, in the units of the client; and a hover back from there."""
    text = TYPED.format(letter="aé\u4e2d\U0001d4b3")
    editor = Editor(cwd=folder, options={"delay": 20}, encodings=[encoding])
    assert editor.started.capabilities.position_encoding == encoding
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    name = editor.open(folder / "astral.h", text)

    def units_before(part: str) -> int:
        return len(text.partition(part)[0].encode(encoding.replace("-16", "-16-le").replace("-32", "-32-le"))) // size

    (found,) = editor.diagnostics(name)
    assert (found.range.start.character, found.range.end.character) == (units_before("head"), units_before("; /* aé\u4e2d\U0001d4b3:"))
    document = TextDocumentIdentifier(name)
    hints = editor.wait(editor.client.text_document_inlay_hint_async(InlayHintParams(document, Range(Position(0, 0), Position(9, 0)))))
    assert [hint.position.character for hint in hints] == [units_before(" /* aé\u4e2d\U0001d4b3:")]
    (edit,) = titles(editor, name, 0)["Suppress apart"].edit.changes[name]
    assert edit.range.start.character == units_before(" /* aé\u4e2d\U0001d4b3:")
    page = editor.wait(editor.client.text_document_hover_async(HoverParams(document, Position(0, units_before("tail") + 1))))
    assert "tail" in page.contents.value
    assert (page.range.start.character, page.range.end.character) == (units_before("tail"), units_before("tail") + 4)
    assert editor.end() == (0, "")


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\n"])
def test_edits_of_a_text_with_other_ends_of_lines(editor: Editor, folder: Path, ends: str):
    text = RING.replace("\n", ends)
    name = editor.open(folder / "ends.h", text)
    editor.diagnostics(name)
    (edit,) = titles(editor, name, 1)["Suppress apart"].edit.changes[name]
    lines = text.split(ends)
    row, column = edit.range.start.line, edit.range.start.character
    lines[row] = lines[row][:column] + edit.new_text.replace("REASON", "measured") + lines[row][column:]
    assert editor.rejudge(name, ends.join(lines)) == []
    if ends == "\n":
        assert insert(RING, edit) != RING
    editor.close(name)


@pytest.mark.parametrize("depth", ["worker", "reader"])
def test_processes_that_are_killed_between_edits(editor: Editor, folder: Path, depth: str):
    """The worker, and the process that keeps a parsed text, in which libclang runs."""
    name = editor.open(folder / "ring.h", RING)
    for number in range(3):
        editor.rejudge(name, RING + "\n" * number)
    end = monotonic() + 10
    while len(processes := descendants(editor.pid())) < 2 and monotonic() < end:
        editor.quiet(0.02)
    os.kill(processes[0 if depth == "worker" else -1], signal.SIGKILL)
    for number in range(3):
        assert rows(editor.rejudge(name, "\n" * number + RING)) == [("apart", number + 1, 15)]
    editor.close(name)
