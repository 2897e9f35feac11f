"""The language server, driven by a client through its pipes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol.types import (
    CodeAction,
    CodeActionContext,
    CodeActionParams,
    CodeLensParams,
    CompletionParams,
    DiagnosticSeverity,
    ExecuteCommandParams,
    HoverParams,
    InlayHintParams,
    Position,
    Range,
    TextDocumentIdentifier,
    TextEdit,
)

from tests.harness.command import ROOT, run
from tests.harness.editor import Editor, uri
from tests.readers.clang.test_inputs import CONFIGURED, KERNEL, lay

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
    editor = Editor("--baseline", "accepted.toml", cwd=folder, options={"delay": 20})
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
    assert editor.rejudge(name, APART) == []
    assert rows(editor.rejudge(name, f"/* é𝒳 */ {RING}\n")) == [("apart", 1, 15)]
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
    (found,) = editor.rejudge(name, RING.replace("{", "{\n\n\tint x y;"))
    assert rows([found]) == [("apart", 3, 15)]
    assert "Stale: " in found.message
    assert found.data["stale"]
    (found,) = editor.rejudge(name, RING)
    assert "Stale" not in found.message
    editor.close(name)


def test_an_error_that_hides_a_struct_is_shown_at_its_line(editor: Editor, folder: Path):
    """The error is in the text, or in a header, where the first line stands for it."""
    (folder / "bad.h").write_text("\n\nstruct __lost bad { int a; };\n")
    name = editor.open(folder / "lost.h", "\n" + RING.replace("struct ring", "struct __lost ring"))
    assert rows(editor.diagnostics(name))[0] == ("not-read", 1, 0)
    (found, *_) = editor.rejudge(name, '#include "bad.h"\n')
    assert rows([found]) == [("not-read", 0, 0)]
    assert "bad.h:3:" in found.message
    editor.close(name)


def test_annotations_in_a_text_that_is_nowhere_on_disk(editor: Editor):
    name = editor.open("untitled:Untitled-1", NOTED)
    assert [line for _, line, _ in rows(editor.diagnostics(name))] == [1]
    assert editor.rejudge(name, NOTED.replace("layoutlint:", "")) == []
    editor.close(name)


def test_an_unsaved_header_counts_for_a_source(editor: Editor, folder: Path):
    (folder / "part.h").write_text("struct part { char bytes[8]; };\n")
    source = '#include "part.h"\nstruct ring { long head; struct part part; long tail; } __attribute__((aligned(64)));\n'
    (folder / "user.c").write_text(source)
    name = editor.open(folder / "user.c", source)
    assert rows(editor.diagnostics(name)) == [("apart", 1, 19)]
    header = editor.open(folder / "part.h", "struct part { char bytes[8]; };\n")
    editor.diagnostics(header)
    editor.rejudge(header, "struct part { char bytes[80]; };\n")
    editor.diagnostics(name, [])
    editor.close(header)
    editor.close(name)


LARGE = """\
struct part { int a, b; };
struct outer {
	struct part part;
	char bytes[60]; /* é𝒳 */
	struct { long first; } in;
	unsigned bits : 3;
};
"""


def hover(editor: Editor, name: str, line: int, column: int) -> str:
    """The page at a place; empty without one."""
    params = HoverParams(TextDocumentIdentifier(name), Position(line, column))
    found = editor.wait(editor.client.text_document_hover_async(params))
    return "" if found is None else found.contents.value


def labels(editor: Editor, name: str, last: int = 1000) -> list[tuple[int, str]]:
    """The inlay hints up to a line."""
    params = InlayHintParams(TextDocumentIdentifier(name), Range(Position(0, 0), Position(last, 0)))
    return [(hint.position.line, hint.label) for hint in editor.wait(editor.client.text_document_inlay_hint_async(params))]


def lenses(editor: Editor, name: str) -> list[tuple[int, str]]:
    """The labels above structs."""
    found = editor.wait(editor.client.text_document_code_lens_async(CodeLensParams(TextDocumentIdentifier(name))))
    return [(lens.range.start.line, lens.command.title) for lens in found]


def test_a_makefile_that_changed_counts(editor: Editor, folder: Path):
    text = NOTED.replace("\tint second", "#ifdef APART\n\tchar gap[64];\n#endif\n\tint second")
    tree = lay(folder / "linux", {**KERNEL, **CONFIGURED, "layoutlint.toml": "", "mm/Makefile": "", "mm/a.c": text})
    name = editor.open(tree / "mm/a.c", text)
    assert [each.code for each in editor.diagnostics(name)] == ["noted/separate/first/second"]
    (tree / "mm/Makefile").write_text("ccflags-y += -DAPART\n")
    assert editor.rejudge(name, f"{text}\n") == []
    editor.close(name)


def test_pages_hints_and_lenses(editor: Editor, folder: Path):
    (folder / "large.h").write_text(LARGE)
    name = editor.open(folder / "large.h", LARGE)
    editor.diagnostics(name)
    shown = run("show", "large.h", "outer", "--width", "92", cwd=folder).stdout
    table = [row for row in shown.splitlines() if row.strip()]
    for column in (2, 9):  # the keyword, and the name
        page = hover(editor, name, 1, column)
        assert [row for row in table if row not in page] == []
        assert "**Placements:** starts at 0, 8, 16" in page
    assert "`outer` at 0 (`part`)" in hover(editor, name, 0, 9)
    page = hover(editor, name, 3, 8)
    assert "offset 8, 60 bytes" in page
    assert "| 0, 8, 16, 24, 32, 40 | `part`, `in`, `bits` |" in page
    assert hover(editor, name, 4, 16).startswith("`long int first` in struct `outer`")
    assert [hover(editor, name, line, column) for line, column in ((3, 23), (6, 0), (99, 0), (3, 999))] == [""] * 4
    assert labels(editor, name, 3) == [(0, "0, 4"), (2, "0"), (3, "8")]
    assert labels(editor, name)[3:] == [(4, "72 · line 1"), (5, "80:0")]
    assert lenses(editor, name) == [(0, "1 line, 56 bytes free, 0 rules"), (1, "2 lines, 40 bytes free, 0 rules")]
    editor.change(name, f"\n\n{LARGE}")  # not yet judged: the lines move with the text
    assert lenses(editor, name)[1][0] == 3
    editor.rejudge(name, LARGE.replace("char bytes", "char $ bytes"))
    assert lenses(editor, name)[1] == (1, "2 lines, 40 bytes free, 0 rules, stale")
    assert hover(editor, name, 1, 9).startswith("*Stale:*")
    editor.close(name)


@pytest.mark.parametrize(("formats", "kind"), [((), "plaintext"), (("plaintext", "markdown"), "plaintext"), (("markdown", "plaintext"), "markdown")])
def test_pages_in_the_format_that_the_client_names_first(folder: Path, formats: tuple[str, ...], kind: str):
    """Names and sentences of files mean nothing in Markdown; plain text has no signs of Markdown."""
    why = "its *bold* [link](https://example.org) <b>_x_ &amp; a_b | c`"
    (folder / "own" / ".git").mkdir(parents=True, exist_ok=True)
    (folder / "own" / "layoutlint.toml").write_text(RULES.replace("see https://example.org/ring for the measurement", why))
    editor = Editor(cwd=folder, options={"delay": 20}, formats=formats)
    name = editor.open(folder / "own" / "ring.h", RING)
    editor.diagnostics(name)
    params = HoverParams(TextDocumentIdentifier(name), Position(1, 16))
    page = editor.wait(editor.client.text_document_hover_async(params)).contents
    assert page.kind.value == kind
    escaped = r"its \*bold\* \[link](https://example.org) \<b>\_x\_ \&amp; a_b \| c\`"
    rest, _, found = page.value.partition("Why: ")
    assert found == (why if kind == "plaintext" else escaped)
    assert ("**" in rest) == (kind == "markdown")
    assert "`unsigned long head` in struct `ring`" in rest.replace("long unsigned int", "unsigned long")
    assert "offset 0, 8 bytes (0..7)" in rest
    editor.end()


def titles(editor: Editor, name: str, line: int) -> dict[str, CodeAction]:
    """The actions at a line, by their titles."""
    where = Range(Position(line, 0), Position(line, 0))
    params = CodeActionParams(TextDocumentIdentifier(name), where, CodeActionContext([]))
    return {action.title: action for action in editor.wait(editor.client.text_document_code_action_async(params)) or []}


def insert(text: str, edit: TextEdit) -> str:
    """A text of ASCII after an edit within it."""
    rows = text.split("\n")
    first, last = edit.range.start, edit.range.end
    tail = "\n".join([rows[last.line][last.character :], *rows[last.line + 1 :]])
    return "\n".join([*rows[: first.line], rows[first.line][: first.character]]) + edit.new_text + tail


def test_a_finding_is_suppressed_and_accepted(editor: Editor, folder: Path):
    (folder / "acts.h").write_text(RING)
    name = editor.open(folder / "acts.h", RING)
    editor.diagnostics(name)
    assert titles(editor, name, 0) == {}
    found = titles(editor, name, 1)
    assert list(found) == ["Suppress apart", "Accept apart in the baseline", "Search an order of members of ring that keeps apart"]
    (edit,) = found["Suppress apart"].edit.changes[name]
    suppressed = insert(RING, edit)
    assert f"to accept it: {edit.new_text.strip()}" in run("check", folder / "acts.h", cwd=folder).stdout
    assert editor.rejudge(name, suppressed.replace("REASON", "measured")) == []
    editor.rejudge(name, RING)
    command = ExecuteCommandParams("layoutlint.accept", [name, "apart", "ring"])  # lsprotocol takes the action for a command
    editor.wait(editor.client.workspace_execute_command_async(command))
    editor.diagnostics(name, [])
    assert run("check", folder / "acts.h", "--baseline", folder / "accepted.toml", cwd=folder).returncode == 0
    (folder / "accepted.toml").unlink()
    editor.close(name)


def complete(editor: Editor, name: str, text: str) -> list[str]:
    """What can stand at `|` in a text."""
    before, _, after = text.partition("|")
    editor.rejudge(name, before + after)
    at = Position(before.count("\n"), len(before.rpartition("\n")[2]))
    params = CompletionParams(TextDocumentIdentifier(name), at)
    return [item.label for item in editor.wait(editor.client.text_document_completion_async(params))]


def test_rule_files(editor: Editor, folder: Path):
    ring = editor.open(folder / "large.h", LARGE)
    editor.diagnostics(ring)
    wrong = '[[rule]]\nid = "x"\nstruct = "outer"\nkind = "separat"\nfields = [["part"], ["bits"]]\nwhy = "y"\nzzz = 1\n'
    name = editor.open(folder / "other.toml", wrong, "toml")
    found = editor.diagnostics(name)
    lines = run("rules", "check", "/dev/stdin", given=wrong.encode()).stderr.splitlines()
    assert [f"/dev/stdin:{each.range.start.line + 1}: {each.message}" for each in found] == lines
    head = '[[rule]]\nid = "x"\nstruct = "outer"\n'
    assert "separate" in complete(editor, name, f'{head}kind = "|')
    assert complete(editor, name, '[[rule]]\nstruct = "|"\n') [-2:] == ["part", "outer"]
    assert complete(editor, name, f'{head}kind = "separate"\nfields = [["|').index("in.first") > 0
    assert complete(editor, name, f'{head}kind = "separate"\nfields = [\n  ["part.|"').count("part.b") == 1
    assert complete(editor, name, f'{head}kind = "offset"\nat = {{ "in.first" = 0, "part.|"').count("part.b") == 1
    table = f'{head}kind = "offset"\n[rule.at]\n'
    assert complete(editor, name, f"{table}|").count("part.b") == 1
    assert complete(editor, name, f'{table}"part.b" = 8\n"in.|"').count("in.first") == 1
    assert complete(editor, name, f'{table}"part.b" = |') == ["4"]
    assert complete(editor, name, f'{table}bits = |') == ["80:0"]
    assert complete(editor, name, f'{head}kind = "separate"\n[rule.at]\n|') == []
    keys = complete(editor, name, f'{head}kind = "separate"\n|')
    assert {"fields", "why"} <= set(keys)
    assert not {"id", "kind"} & set(keys)
    assert complete(editor, name, f'{head}severity = "|') == ["error", "warning", "note"]
    assert complete(editor, name, f'{head}kind = "holes"\ncount = ["|') == ["holes", "tail", "nested", "bits"]
    assert "line-size" in complete(editor, name, f"[settings]\n|\n{head}")
    editor.rejudge(name, f'{head}kind = "separate"\n')
    assert "## separate" in hover(editor, name, 3, 9)
    editor.close(name)
    editor.close(ring)


def test_an_unsaved_rule_file_counts(editor: Editor, folder: Path):
    name = editor.open(folder / "large.h", LARGE)
    assert editor.diagnostics(name) == []
    rule = '[[rule]]\nid = "small"\nstruct = "outer"\nkind = "size"\nmax = 64\nwhy = "one line"\n'
    rules = editor.open(folder / "layoutlint.toml", rule, "toml")
    editor.diagnostics(rules)
    assert rows(editor.diagnostics(name, ["small"])) == [("small", 1, 7)]
    editor.rejudge(rules, f"{rule}[[rule\n")
    editor.diagnostics(name, ["rule-file", "small"])  # the rules from before the mistake
    editor.close(rules)
    editor.close(name)


def test_without_its_library_it_says_what_to_install():
    code = "import sys; sys.modules['pygls'] = None; sys.argv = ['layoutlint', 'lsp']; from layoutlint import cli; cli.main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "layoutlint: pygls: is not installed: pip install 'layoutlint[lsp]'\n"


def test_mistakes_on_its_command_line(tmp_path: Path):
    table = {("--rules", "no.toml"): 2, ("--compile-commands", "no.json"): 2, ("--line-size", "7"): 2, ("x",): 2}
    assert {words: run("lsp", *words, cwd=tmp_path).returncode for words in table} == table
