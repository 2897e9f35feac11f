"""The language server, driven by a client through its pipes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol.types import DiagnosticSeverity

from tests.harness.command import run
from tests.harness.editor import Editor, uri

RULES = """\
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "see https://example.org/ring for the measurement"
"""
RING = """\
struct ring {
	unsigned long head; /* the producer's */
	unsigned long tail;
};
"""
APART = RING.replace("tail;", "tail __attribute__((aligned(64)));").replace("};", "} __attribute__((aligned(64)));")
NOTED = """\
struct noted {
	int first; /* layoutlint: separate(second) */
	int second;
};
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose name is not harmless in URIs."""
    folder = tmp_path_factory.mktemp("a b%20ü") / "x"
    (folder / ".git").mkdir(parents=True)
    (folder / "layoutlint.toml").write_text(RULES)
    return folder


@pytest.fixture(scope="module")
def editor(folder: Path) -> Iterator[Editor]:
    editor = Editor(cwd=folder)
    yield editor
    assert editor.end() == (0, "")


def rows(found: list) -> list[tuple[str, int, int]]:
    """The rules of diagnostics, with the line and the column of each."""
    return [(str(each.code), each.range.start.line, each.range.start.character) for each in found]


def test_a_rule_and_an_edit_that_keeps_it(editor: Editor, folder: Path):
    (folder / "ring.h").write_text(RING)
    name = editor.open(folder / "ring.h", RING)
    (found,) = editor.diagnostics(name)
    assert rows([found]) == [("apart", 1, 15)]
    assert found.severity == DiagnosticSeverity.Error
    assert found.code_description.href == "https://example.org/ring"
    first, second = found.related_information
    assert (first.location.uri, first.location.range.start.line) == (name, 2)
    assert second.location.uri == uri(folder / "layoutlint.toml")
    (reported,) = [row for row in run("check", folder / "ring.h", "--format", "concise", cwd=folder).stdout.splitlines() if "apart" in row]
    assert found.message.split("\n")[0].partition(": ")[2] in reported
    assert editor.changed(name, APART) == []
    assert rows(editor.changed(name, f"/* é𝒳 */ {RING}\n")) == [("apart", 1, 15)]
    editor.close(name)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_of_all_ends_and_columns_behind_other_characters(editor: Editor, folder: Path, ends: str):
    text = RING.replace("\tunsigned long head", "/* é𝒳 */ unsigned long head").replace("\n", ends)
    name = editor.open(folder / "ends.h", text)
    assert rows(editor.diagnostics(name)) == [("apart", 1, 24)]
    editor.close(name)


def test_a_text_with_errors_keeps_the_last_good_findings(editor: Editor, folder: Path):
    name = editor.open(folder / "broken.h", RING)
    editor.diagnostics(name)
    (found,) = editor.changed(name, RING.replace("{", "{\n\n\tint x y;"))
    assert rows([found]) == [("apart", 3, 15)]
    assert "Stale: " in found.message
    assert found.data["stale"]
    (found,) = editor.changed(name, RING)
    assert "Stale" not in found.message
    editor.close(name)


def test_annotations_in_a_text_that_is_nowhere_on_disk(editor: Editor):
    name = editor.open("untitled:Untitled-1", NOTED)
    assert [line for _, line, _ in rows(editor.diagnostics(name))] == [1]
    assert editor.changed(name, NOTED.replace("layoutlint:", "")) == []
    editor.close(name)


def test_an_unsaved_header_counts_for_a_source(editor: Editor, folder: Path):
    (folder / "part.h").write_text("struct part { char bytes[8]; };\n")
    source = '#include "part.h"\nstruct ring { long head; struct part part; long tail; } __attribute__((aligned(64)));\n'
    (folder / "user.c").write_text(source)
    name = editor.open(folder / "user.c", source)
    assert rows(editor.diagnostics(name)) == [("apart", 1, 19)]
    before = len(editor.published[name])
    header = editor.open(folder / "part.h", "struct part { char bytes[8]; };\n")
    editor.diagnostics(header)
    editor.changed(header, "struct part { char bytes[80]; };\n")
    assert editor.diagnostics(name, after=before) == []
    editor.close(header)
    editor.close(name)
