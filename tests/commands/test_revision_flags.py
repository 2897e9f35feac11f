"""Files of revisions are read with the flags that the working tree's compile_commands.json has for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git, write

RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
INNER = "#pragma once\nstruct inner { char bytes[%s]; };\n"
FILES: dict[str, str | None] = {
    "layoutlint.toml": RULES,
    ".gitignore": "build/\nmade/\n",
    "include/inner.h": INNER % "PAD",
    "src/s.h": "#include <inner.h>\n#include <config.h>\nstruct s { long a; struct inner in; char more[MORE]; long z; };\n",
    "src/a.c": '#include "s.h"\nstruct s s;\n',
}


def database(top: Path, flags: str, source: str = "src/a.c") -> str:
    words = ["cc", *flags.replace("TOP", str(top)).split(), "-c", f"{top}/{source}"]
    return json.dumps([{"file": f"{top}/{source}", "directory": f"{top}/build", "arguments": words}])


def repository(top: Path, flags: str = "-ITOP/include -I../made -DPAD=56", place: str = "build/compile_commands.json") -> Path:
    """Three commits: kept, close (the header shrinks), and kept again."""
    commit(top, "kept", FILES)
    commit(top, "close", {"include/inner.h": INNER % 1})
    commit(top, "again", {"include/inner.h": INNER % "PAD"})
    write(top, {"made/config.h": "#define MORE 1\n", place: database(top, flags)})
    return top


def compare(top: Path, *words: str, cwd: Path | None = None) -> tuple[int, dict[str, list[int]], list[str]]:
    done = run("diff", *words, "--format", "json", cwd=cwd or top)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    return done.returncode, {each["name"]: each["size"] for each in found["structs"]}, [*found["notes"], *map(str, found["not_compared"])]


@pytest.mark.parametrize("flags", [
    "-ITOP/include -I../made -DPAD=56", "-I ../include -isystem TOP/made -D PAD=56", "-Wp,-ITOP/include,-I../made -DPAD=56",
    "-Xclang -I -Xclang TOP/include -Xpreprocessor -I -Xpreprocessor ../made -Wp,-DPAD=56",
    "-include TOP/include/inner.h -I../src/../include -I../made -DPAD=56",
])  # fmt: skip
@pytest.mark.one_in(4)
def test_diff(tmp_path, flags):
    """The folder of the repository is that of the revision, one that git does not track stays."""
    top = repository(tmp_path, flags)
    for path in ("src/s.h", "src/a.c"):
        code, sizes, notes = compare(top, "--git", "HEAD~2..HEAD~1", path)
        assert (code, sizes["s"]) == (1, [80, 24]), notes
        assert "HEAD~2: flags from build/compile_commands.json" in notes
    assert compare(top, "--git", "HEAD~2..HEAD", "src/s.h")[:2] == (0, {})


@pytest.mark.exhaustive
def test_without_them_nothing_is_found(tmp_path):
    top = repository(tmp_path)
    code, _, notes = compare(top, "--git", "HEAD~2..HEAD~1", "src/s.h", "--no-compile-commands")
    assert (code, any("'inner.h' file not found" in note for note in notes)) == (3, True), notes


@pytest.mark.exhaustive
@pytest.mark.parametrize(("place", "words"), [
    ("out/flags.json", ("--compile-commands", "../out/flags.json")), ("out/compile_commands.json", ("--build", "../out")),
])  # fmt: skip
def test_a_named_database(tmp_path, place, words):
    top = repository(tmp_path, place=place)
    code, sizes, notes = compare(top, "--git", "HEAD~2..HEAD~1", "s.h", *words, cwd=top / "src")
    assert (code, sizes["s"]) == (1, [80, 24]), notes
    assert f"HEAD~1: flags from ../{place}" in notes


def test_a_database_of_the_revision_comes_first(tmp_path):
    top = repository(tmp_path)
    for pad in (56, 48):
        words = ["cc", "-Iinclude", "-Imade", f"-DPAD={pad}", "src/a.c"]
        commit(top, str(pad), {"compile_commands.json": json.dumps([{"file": "src/a.c", "directory": ".", "arguments": words}])})
    code, sizes, notes = compare(top, "--git", "HEAD~1..HEAD", "src/s.h")
    assert (code, sizes["s"]) == (0, [80, 72]), notes
    assert {"HEAD~1: flags from compile_commands.json", "HEAD: flags from compile_commands.json"} <= set(notes)


@pytest.mark.exhaustive
def test_the_whole_tree_and_the_database_as_input(tmp_path):
    top = repository(tmp_path)
    for words in ((), ("src",), ("build/compile_commands.json",)):
        code, sizes, notes = compare(top, "--git", "HEAD~2..HEAD~1", *words)
        assert (code, sizes.get("s")) == (1, [80, 24]), (words, notes)


def test_bisect(tmp_path):
    top = repository(tmp_path)
    done = run("bisect", "apart", "HEAD~2..HEAD~1", "src/s.h", "--format", "json", cwd=top)
    found = json.loads(done.stdout)
    assert (found["first_bad"]["subject"], found["compile_commands"]) == ("close", ["build/compile_commands.json"])
    assert "flags from build/compile_commands.json" in run("bisect", "apart", "HEAD~2..HEAD~1", "src/s.h", cwd=top).stdout


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unstaged", [INNER % "PAD", None])
def test_since_and_staged(tmp_path, unstaged):
    """The base, and files that the working tree has otherwise, are read with these flags too."""
    top = repository(tmp_path)
    write(top, {"include/inner.h": INNER % 8})
    git(top, "add", "-A")
    if unstaged is not None:
        write(top, {"include/inner.h": unstaged})
    for option, states in ((("--staged",), ["new"]), (("--since", "HEAD~1"), ["known"])):
        done = run("check", *option, "--format", "json", cwd=top)
        found = json.loads(done.stdout)
        assert [each["state"] for each in found["findings"]] == states, done.stdout
        assert [each["compile_commands"] for each in found["inputs"]] == ["build/compile_commands.json"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("word", "status"), [("-fplugin=TOP/evil.so", 3), ("@TOP/gone", 3), ("-include-pch TOP/x.pch", 3)])
def test_flags_of_a_revision_load_nothing(tmp_path, word, status):
    top = repository(tmp_path, f"-ITOP/include -I../made -DPAD=56 {word}")
    assert compare(top, "--git", "HEAD~2..HEAD~1", "src/s.h")[0] == status


def test_the_folder_of_a_generated_header_is_that_of_the_working_tree(tmp_path):
    """Not that of the links to it, which are in a temporary folder: the flag of the message can be typed."""
    before = {".gitignore": "build\n", "s.h": '#include "cfg.h"\nstruct s { long a; char x[N]; long z; };\n'}
    commit(tmp_path, "before", before)
    commit(tmp_path, "change", {"s.h": before["s.h"].replace("long z", "int z")})
    write(tmp_path, {"build/cfg.h": "#define N 8\n"})
    words = ("diff", "--git", "HEAD~1..HEAD", "s.h", "--format", "json")
    (reason,) = {each["reason"] for each in json.loads(run(*words, cwd=tmp_path).stdout)["not_compared"]}
    flag = f"-I{tmp_path}/build"
    assert flag in reason
    assert run(*words, "--", flag, cwd=tmp_path).returncode == 0
