"""A series of patches on a tree: the files are those that git's own commits have."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.revisions import patched_tree
from tests.harness.repository import commit, git, write

START = {
    "a.h": "struct a { int x; };\n",
    "b.h": "struct b {\n\tint x;\n\tlong y;\n};\n",
    "d/a b.h": 'int "q";\n',
}
Commits = list[dict[str, str | None]]
"""For each commit its files with new content; None for a deleted one."""
A, B, SPACED = START["a.h"], START["b.h"], START["d/a b.h"]
SERIES: dict[str, Commits] = {
    "changed, then renamed": [{"a.h": A + "int n;\n"}, {"a.h": None, "z.h": A + "int n;\n"}],
    "changed, then deleted": [{"a.h": A + "int n;\n"}, {"a.h": None}],
    "created, then deleted": [{"n.h": "int n;\n"}, {"n.h": None}],
    "deleted, then created anew": [{"a.h": None}, {"a.h": "int other;\n"}],
    "renamed, then renamed back": [{"a.h": None, "z.h": A}, {"a.h": A, "z.h": None}],
    "renamed, and another takes its name": [{"a.h": None, "z.h": A}, {"b.h": None, "a.h": B}],
    "changed three times, then renamed": [*({"b.h": B + "int n;\n" * n} for n in (1, 2, 3)), {"b.h": None, "y.h": B + "int n;\n" * 3}],
    "names with blanks": [{"d/a b.h": SPACED + "int n;\n"}, {"d/a b.h": None, "d/c b/x.h": SPACED + "int n;\n"}, {"d/c b/x.h": None}],
    "names that are quoted": [{"\u00e4\t.h": "int n;\n"}, {"\u00e4\t.h": None, "\u00f6.h": "int n;\n"}, {"\u00f6.h": None}],
    "a file becomes a folder": [{"a.h": A + "int n;\n"}, {"a.h": None}, {"a.h/x.h": A}],
    "binary": [{"p.bin": "\0\1" * 50}, {"p.bin": "\0\2" * 50}, {"p.bin": None}],
    "lines that end in CR": [{"a.h": A.replace("\n", "\r\n")}, {"a.h": None, "c.h": A.replace("\n", "\r\n")}],
    "a message that quotes a diff": [{"a.h": A + "int n;\n"}, {"a.h": A}],
}  # fmt: skip
MESSAGE = "see\n\n> diff --git a/a.h b/a.h\n> index 1..2\n\nfrom a mail"


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def series(repository: Path, how: str, count: int) -> bytes:
    if how == "mails":
        git(repository, "format-patch", "-q", "--binary", "-o", "../mails", "first..HEAD")
        return b"".join(path.read_bytes() for path in sorted((repository.parent / "mails").iterdir()))
    text = b""
    for number in range(count, 0, -1):
        git(repository, "diff", "--binary", "--output", "../patch", f"HEAD~{number}", f"HEAD~{number - 1}")
        text += (repository.parent / "patch").read_bytes()
    return text


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", ["mails", "diffs"])
@pytest.mark.parametrize("commits", SERIES.values(), ids=SERIES)
def test_the_files_are_those_of_the_last_commit(commits, how, tmp_path):
    repository, original, folder = (tmp_path / name for name in ("r", "original", "folder"))
    for each in (repository, original, folder):
        each.mkdir()
    write(original, START)
    commit(repository, "first", START)
    git(repository, "tag", "first")
    for files in commits:
        commit(repository, MESSAGE, files)
    patch = tmp_path / "patch"
    patch.write_bytes(series(repository, how, len(commits)))
    patched_tree.apply(str(patch), "patch", str(original), str(folder), lambda path: True)
    assert contents(folder) == contents(repository)
    assert contents(original) == {path: content.encode() for path, content in START.items()}


def test_a_series_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(patched_tree, "_MOST_PARTS", 2)
    original, folder = tmp_path / "original", tmp_path / "folder"
    write(original, {"a.h": "0\n"})
    folder.mkdir()
    header = "diff --git a/a.h b/a.h\n--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n"
    for count, reason in ((2, ""), (3, "changes files again more than the 2 times that are allowed")):
        (tmp_path / "patch").write_text("".join(f"{header}-{each}\n+{each + 1}\n" for each in range(count)))
        message = ""
        try:
            patched_tree.apply(str(tmp_path / "patch"), "patch", str(original), str(folder), lambda path: True)
        except ReadError as error:
            message = error.reason
        assert message == reason
        assert reason or (folder / "a.h").read_text() == f"{count}\n"
        (folder / "a.h").unlink()
