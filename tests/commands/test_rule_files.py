"""Which layoutlint.toml belongs to which input: folders, what is judged there, and what their settings are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.editor import Editor
from tests.harness.repository import commit, git, write

RULE = '[[rule]]\nid = "{}"\nstruct = "s"\nkind = "size"\nmax = 8\nwhy = "w"\n'
TEXT = "struct s { long a, b; };\n"
FOLDERS = ("", "ws/", "ws/deep/", "lib/")
FILES: dict[str, str | None] = {
    **{f"{folder}s.h": TEXT for folder in FOLDERS},
    "layoutlint.toml": RULE.format("top"), "ws/layoutlint.toml": RULE.format("ws"), "ws/deep/layoutlint.toml": RULE.format("deep"),
    "lib/compile_commands.json": '[{"directory": ".", "file": "u.c", "arguments": ["cc", "-c", "u.c"]}]', "lib/u.c": TEXT,
}  # fmt: skip


def lay(folder: Path, files: dict[str, str | None]) -> Path:
    write(folder, {name: text for name, text in (FILES | files).items() if text is not None})
    (folder / "link").symlink_to("ws")
    (folder / "lib/l.h").symlink_to("../ws/s.h")
    return folder


def rules_by_input(shell: Path, *words: str, **extra: bytes) -> dict[str, list[str]]:
    """Return the rules that `check` reports, by the input as it is given."""
    done = run("check", *words, "--format", "json", cwd=shell, **extra)
    if not done.stdout:
        return {done.stderr.strip(): []}
    found: dict[str, list[str]] = {}
    for finding in json.loads(done.stdout)["findings"]:
        found.setdefault(finding["input"], []).append(finding["rule"])
    return {name: sorted(rules) for name, rules in found.items()}


NO_RULES = "layoutlint: no rules apply to these inputs; give some with --rules FILE or --pack NAME; there is no layoutlint.toml in . (`layoutlint init` writes one)\nhelp: `layoutlint explain no-rules`"
REPOSITORY, SUBMODULE, WORKTREE = {".git/HEAD": ""}, "gitdir: ../.git/modules/ws\n", "gitdir: /far/.git/worktrees/ws\n"
APPLY = {
    # more files, the shell's folder, its words; the rules by input
    "the folder of the input": (REPOSITORY, ".", "ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "the shell is there": (REPOSITORY, "ws", "s.h", {"s.h": ["top", "ws"]}),
    "the shell is elsewhere": (REPOSITORY, "lib", "../ws/deep/s.h", {"../ws/deep/s.h": ["deep", "top", "ws"]}),
    "the shell is outside": ({"lib/../../far/x": "", **REPOSITORY}, "../far", "../TOP/ws/s.h", {"../TOP/ws/s.h": ["top", "ws"]}),
    "an absolute path": (REPOSITORY, "lib", "HERE/ws/s.h", {"HERE/ws/s.h": ["top", "ws"]}),
    "the shell's own file is no concern of the input": (REPOSITORY, "ws", "../lib/s.h", {"../lib/s.h": ["top"]}),
    "several folders": (REPOSITORY, ".", "ws/s.h lib/s.h ws/deep/s.h",
                        {"ws/s.h": ["top", "ws"], "lib/s.h": ["top"], "ws/deep/s.h": ["deep", "top", "ws"]}),
    "the same folder twice": (REPOSITORY, ".", "ws/s.h ./ws/../ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "a path with ..": (REPOSITORY, ".", "lib/../ws/s.h", {"lib/../ws/s.h": ["top", "ws"]}),
    "a linked folder": (REPOSITORY, ".", "link/s.h", {"link/s.h": ["top", "ws"]}),
    "a linked folder and its target": (REPOSITORY, ".", "link/s.h ws/s.h", {"link/s.h": ["top", "ws"], "ws/s.h": ["top", "ws"]}),
    "a link is where it is named": (REPOSITORY, ".", "lib/l.h", {"lib/l.h": ["top"]}),
    "a link without rules is its file": ({"far/.git/HEAD": "", **REPOSITORY}, ".", "far/f.h", {"far/f.h": ["top", "ws"]}),
    "a folder": (REPOSITORY, ".", "ws/deep", {"ws/deep": ["deep", "top", "ws"]}),
    "a compilation database": (REPOSITORY, ".", "lib/compile_commands.json", {"lib/compile_commands.json": ["top"]}),
    "standard input": (REPOSITORY, "ws", "-", {"<stdin>": ["top", "ws"]}),
    "a repository inside": ({"ws/.git/HEAD": "", **REPOSITORY}, ".", "ws/deep/s.h", {"ws/deep/s.h": ["deep", "ws"]}),
    "a repository inside, and the one around it": ({"far/.git/HEAD": "", "far/s.h": TEXT, **REPOSITORY}, ".", "far/s.h s.h ws/s.h",
                                                   {"s.h": ["top"], "ws/s.h": ["top", "ws"]}),
    "a work tree inside": ({"ws/.git": WORKTREE, **REPOSITORY}, ".", "ws/s.h", {"ws/s.h": ["ws"]}),
    "a submodule belongs to the repository around it": ({"ws/.git": SUBMODULE, **REPOSITORY}, ".", "ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "above the repository": ({"lib/.git/HEAD": ""}, "lib", "s.h", {NO_RULES: []}),
    "no repository, below the shell": ({}, ".", "ws/deep/s.h", {"ws/deep/s.h": ["deep", "top", "ws"]}),
    "no repository, nothing above the shell": ({}, "ws/deep", "s.h", {"s.h": ["deep"]}),
    "no repository, elsewhere": ({}, "lib", "../ws/deep/s.h", {"../ws/deep/s.h": ["deep"]}),
    "no repository, the shell's file": ({}, "ws", "../lib/s.h", {"../lib/s.h": ["ws"]}),
    "no repository, both": ({}, "ws", "../s.h", {"../s.h": ["top", "ws"]}),
    "the shell's file is not for another repository": ({"lib/.git/HEAD": ""}, "ws", "s.h ../lib/s.h", {"s.h": ["ws"]}),
    "named rules": (REPOSITORY, ".", "ws/s.h --rules ws/deep/layoutlint.toml", {"ws/s.h": ["deep"]}),
    "a folder of that name": ({"ws/layoutlint.toml": None, "ws/layoutlint.toml/x": "", **REPOSITORY}, ".", "ws/s.h", {"ws/s.h": ["top"]}),
    "a link to nowhere": ({"ws/layoutlint.toml": None, **REPOSITORY}, ".", "ws/s.h", {"ws/s.h": ["top"]}),
    "a damaged file": ({"ws/layoutlint.toml": "[[rule", **REPOSITORY}, ".", "ws/s.h",
                       {"ws/layoutlint.toml:1: not TOML: expected ']]' at the end of an array declaration": []}),
    "a damaged file of others": ({"ws/layoutlint.toml": "[[rule", **REPOSITORY}, ".", "lib/s.h", {"lib/s.h": ["top"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", APPLY)
def test_what_applies(tmp_path, name):
    files, shell, words, expected = APPLY[name]
    top = tmp_path / "TOP"
    top.mkdir()
    lay(top, {})
    write(top, files)
    if name == "a link to nowhere":
        (top / "ws/layoutlint.toml").symlink_to("nowhere")
    if name == "a link without rules is its file":
        (top / "far/f.h").symlink_to(top / "ws/s.h")
    given = {"given": TEXT.encode()} if words == "-" else {}
    found = rules_by_input(top / shell, *words.replace("HERE", str(top)).split(), **given)
    assert found == {each.replace("HERE", str(top)): rules for each, rules in expected.items()}


def test_the_inputs_of_builds(tmp_path):
    lay(tmp_path, REPOSITORY)
    write(tmp_path, {"lib/m.toml": '[build.one]\ninput = "../ws/s.h"\n[build.two]\ninput = "s.h"\n'})
    assert rules_by_input(tmp_path, "--matrix", "lib/m.toml") == {"ws/s.h": ["top", "ws"]}
    lines = run("check", "--matrix", "lib/m.toml", "--format", "concise", cwd=tmp_path).stdout
    assert ["broken in all 2 builds" in line for line in lines.splitlines()[:2]] == [True, False]
    assert "broken in one; not judged in 1" in lines


def test_a_file_that_cannot_be_read(tmp_path):
    lay(tmp_path, REPOSITORY)
    (tmp_path / "ws/layoutlint.toml").chmod(0)
    if os.access(tmp_path / "ws/layoutlint.toml", os.R_OK):
        pytest.skip("this user reads everything")
    assert list(rules_by_input(tmp_path, "ws/s.h")) == ["ws/layoutlint.toml: permission denied"]


IN_EDITORS = {name: row for name, row in APPLY.items() if row[0] in ({}, REPOSITORY) and row[2].endswith(".h") and " " not in row[2]}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("files", "shell", "words", "expected"), IN_EDITORS.values(), ids=IN_EDITORS)
def test_an_editor_shows_what_check_reports(tmp_path, files, shell, words, expected):
    """Where the file is in the folder of the workspace, in which people start `check`, or in a repository."""
    top = tmp_path / "TOP"
    top.mkdir()
    lay(top, files)
    path = Path(os.path.normpath(top / shell / words.replace("HERE", str(top))))
    editor = Editor(cwd=top / shell, options={"delay": 20})
    found = editor.diagnostics(editor.open(path, TEXT))
    assert editor.end() == (0, "")
    if not files and not path.is_relative_to(top / shell):
        expected = {words: [path.parent.name or "top"] if path.parent != top else ["top"]}
        expected = {words: [] if path.parent.name == "lib" else expected[words]}
    assert sorted(str(each.code) for each in found) == next(iter(expected.values()))


SAME = RULE.format("top")
IDS = {
    # files, words, and the message
    "above": ({"ws/layoutlint.toml": SAME}, "ws/s.h", "ws/layoutlint.toml:1: `id` `top` is already used by the rule at layoutlint.toml:1"),
    "beside, in one run": ({"lib/layoutlint.toml": RULE.format("ws")}, "ws/s.h lib/s.h",
                           "lib/layoutlint.toml:1: `id` `ws` is already used by the rule at ws/layoutlint.toml:1"),
    "beside, in two runs": ({"lib/layoutlint.toml": RULE.format("ws")}, "lib/s.h", ""),
}  # fmt: skip


@pytest.mark.parametrize(("files", "words", "message"), IDS.values(), ids=IDS)
def test_the_same_id_in_two_files(tmp_path, files, words, message):
    done = run("check", *words.split(), cwd=lay(tmp_path, REPOSITORY | files))
    assert (done.returncode, done.stderr.strip()) == (2 if message else 1, message)


OVERRIDE = '[override.top]\n{}\nwhy = "known"\n'
OFF, NOTE = OVERRIDE.format("enabled = false"), OVERRIDE.format('severity = "note"')
OVERRIDES = {
    # files, words; the severities by input
    "a rule is off below": ({"ws/layoutlint.toml": OFF}, "ws/s.h s.h", {"s.h": ["top error"]}),
    "a rule is a note below": ({"ws/layoutlint.toml": NOTE}, "ws/s.h ws/deep/s.h s.h",
                               {"ws/s.h": ["top note"], "ws/deep/s.h": ["deep error", "top note"], "s.h": ["top error"]}),
    "each folder has its own": ({"ws/layoutlint.toml": NOTE, "lib/layoutlint.toml": OFF}, "ws/s.h lib/s.h s.h",
                                {"ws/s.h": ["top note"], "s.h": ["top error"]}),
    "of a rule beside": ({"lib/layoutlint.toml": OFF.replace("top", "ws")}, "ws/s.h lib/s.h",
                         {"lib/layoutlint.toml:1: no rule is called `ws`": []}),
    "twice for one input": ({"ws/layoutlint.toml": NOTE, "ws/deep/layoutlint.toml": OFF}, "ws/deep/s.h",
                            {"ws/deep/layoutlint.toml:1: `top` is overridden at ws/layoutlint.toml:1 already": []}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "words", "expected"), OVERRIDES.values(), ids=OVERRIDES)
def test_overrides(tmp_path, files, words, expected):
    done = run("check", *words.split(), "--format", "json", cwd=lay(tmp_path, REPOSITORY | files))
    if not done.stdout:
        assert {done.stderr.strip(): []} == expected
        return
    found: dict[str, list[str]] = {}
    for each in json.loads(done.stdout)["findings"]:
        found.setdefault(each["input"], []).append(f"{each['rule']} {each['severity']}")
    assert {name: sorted(rules) for name, rules in found.items()} == expected


LINES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
WIDE = "#ifndef PAD\n#define PAD 56\n#endif\nstruct s { char a[8]; char pad[PAD]; char b[8]; } __attribute__((aligned(64)));\n"
TOP, WS = "[settings]\nline-size = 64\nflags = ['-DPAD=56']\n", "[settings]\nline-size = 128\n"
SETTINGS = {
    # settings of the top, of ws; words; the findings, as the input and the line size
    "the nearest one": (TOP, WS, "ws/s.h", ["ws/s.h 128"]),
    "of the top": (TOP, WS, "s.h", []),
    "key by key": (TOP, "[settings]\nflags = ['-DPAD=8']\n", "ws/s.h", ["ws/s.h 64"]),
    "an option wins": (TOP, WS, "ws/s.h --line-size 64", []),
    "each input its own": (TOP, WS, "s.h ws/s.h lib/s.h", ["ws/s.h 128"]),
    "each input its own flags": (TOP, "[settings]\nflags = ['-DPAD=8']\n", "ws/s.h s.h lib/s.h", ["ws/s.h 64"]),
    "an option wins for each": (TOP, WS, "s.h ws/s.h --line-size 64 --flags=-DPAD=8", ["s.h 64", "ws/s.h 64"]),
    "an option is added": (TOP, "[settings]\nflags = ['-DPAD=8']\n", "s.h ws/s.h -- -UPAD", []),
    "one of them": ("", WS, "s.h ws/s.h", ["ws/s.h 128"]),
    "another database": ("", "compile_commands = '../lib/db.json'\n", "lib/s.h ws/s.h", ["ws/s.h 64"]),
    "with named rules": (TOP, "compile_commands = '../lib/db.json'\n" + WS, "ws/s.h s.h --rules lib/rules.toml", ["ws/s.h 64"]),
    "of a staged change": (TOP, WS, "--staged", ["ws/s.h 128"]),
    "since a revision": (TOP, "[settings]\nflags = ['-DPAD=8']\n", "--since HEAD", ["ws/s.h 64"]),
}  # fmt: skip


@pytest.mark.parametrize(("top", "nearer", "words", "found"), SETTINGS.values(), ids=SETTINGS)
def test_settings_about_reading(tmp_path, top, nearer, words, found):
    texts = {f"{folder}s.h": WIDE for folder in FOLDERS}
    database = '[{"directory": ".", "file": "../ws/s.h", "arguments": ["cc", "-DPAD=8", "-c", "../ws/s.h"]}]'
    more = {"lib/compile_commands.json": None, "lib/u.c": None, "lib/db.json": database, "lib/rules.toml": LINES, "layoutlint.toml": top + LINES}
    folder = lay(tmp_path, {**texts, **more, "ws/layoutlint.toml": nearer, "ws/deep/s.h": None, "ws/deep/layoutlint.toml": None})
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "empty")
    git(folder, "add", "-A")
    done = run("check", "--format", "json", *words.split(), cwd=folder)
    rows = [f"{each['input']} {each['placements']['line_size']}" for each in json.loads(done.stdout)["findings"]]
    assert sorted(rows) == found, done.stdout


def test_an_editor_has_the_settings_of_each_file(tmp_path):
    files = {"layoutlint.toml": TOP + LINES, "ws/layoutlint.toml": WS, "ws/deep/layoutlint.toml": "[settings]\nflags = ['-DPAD=8']\nline-size = 64\n"}
    folder = lay(tmp_path, {**REPOSITORY, **files})
    editor = Editor(cwd=folder, options={"delay": 20})
    found = {name: [each.code for each in editor.diagnostics(editor.open(folder / name, WIDE))] for name in ("s.h", "ws/s.h", "ws/deep/s.h", "lib/s.h")}
    assert editor.end() == (0, "")
    assert found == {"s.h": [], "ws/s.h": ["apart"], "ws/deep/s.h": ["apart"], "lib/s.h": []}


OF_TOP = {
    # settings of the top, of ws; the shell's folder, words; status, and a part of the report
    "of the top": ('fail-on = "broken"', "", ".", "ws/s.h", 1, "settings: fail-on = broken in layoutlint.toml"),
    "not of a nearer file": ("", 'fail-on = "broken"', ".", "ws/s.h", 1,
                             "settings: not used, because only the file at the top sets it: fail-on = broken in ws/layoutlint.toml"),
    "nor from its folder": ("", 'pack = ["generic"]', "ws", "s.h", 1, "only the file at the top sets it: pack = generic in layoutlint.toml"),
    "packs of the top": ('pack = ["generic"]', "", "ws", "s.h", 1, "settings: pack = generic in ../layoutlint.toml"),
    "inputs of the top": ('inputs = ["ws/s.h"]', 'inputs = ["deep/s.h"]', "ws", "", 1, "s.h: 1 struct by clang"),
    "no inputs of a nearer file": ("", 'inputs = ["deep/s.h"]', "ws", "", 2, "Missing argument 'INPUT...'"),
}  # fmt: skip


@pytest.mark.parametrize(("top", "nearer", "shell", "words", "status", "part"), OF_TOP.values(), ids=OF_TOP)
def test_settings_of_the_top(tmp_path, top, nearer, shell, words, status, part):
    files = {"layoutlint.toml": f"[settings]\n{top}\n{SAME}", "ws/layoutlint.toml": f"[settings]\n{nearer}\n"}
    done = run("check", *words.split(), cwd=lay(tmp_path, REPOSITORY | files) / shell)
    assert (done.returncode, part in " ".join((done.stdout + done.stderr).split())) == (status, True), done.stdout + done.stderr


REFUSED = {
    "a command with one line size": ("containers s.h ws/s.h s", "set --line-size differently (in .: line-size = 64 of layoutlint.toml; "
                                     "in ws: line-size = 128 of ws/layoutlint.toml): run the command once for each, or state --line-size"),
    "repositories that differ in what fails": ("check s.h far/s.h", "set --fail-on differently (in .: fail-on = broken of layoutlint.toml; "
                                               "in far: none): run the command once for each, or state --fail-on"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_settings_that_one_run_cannot_have(tmp_path, words, message):
    files = {"layoutlint.toml": f'{TOP}fail-on = "broken"\n{SAME}', "ws/layoutlint.toml": WS, "far/s.h": TEXT, "far/.git/HEAD": ""}
    done = run(*words.split(), cwd=lay(tmp_path, REPOSITORY | files))
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    top.mkdir()
    commit(top, "base", {name: text for name, text in FILES.items() if name.endswith((".h", ".toml"))})
    return top


NEW = '{}[pack]\nname = "linux"\n' + RULE.format("new") + '[override.top]\nenabled = false\nwhy = "w"\n'
POLICIES = {
    # what the change does, words; the rules by input
    "a file is gone": ({"ws/layoutlint.toml": None}, "ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "all are gone": ({"ws/layoutlint.toml": None, "layoutlint.toml": None}, "ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "a rule is taken out": ({"ws/layoutlint.toml": "", "layoutlint.toml": ""}, "ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "an override is added": ({"ws/layoutlint.toml": NEW.format("")}, "ws/s.h", {"ws/s.h": ["top", "ws"]}),
    "a new file has its own rules alone": ({"lib/layoutlint.toml": NEW.format("[settings]\nflags = ['-Ds=t']\n")}, "lib/s.h", {"lib/s.h": ["new", "top"]}),
    "a new file with an id of the base": ({"lib/layoutlint.toml": RULE.format("top")}, "lib/s.h", {"lib/s.h": ["top"]}),
    "a file is moved": ({"ws/layoutlint.toml": None, "lib/layoutlint.toml": RULE.format("ws")}, "lib/s.h ws/s.h",
                        {"lib/s.h": ["top"], "ws/s.h": ["top", "ws"]}),
    "settings of a file change": ({"layoutlint.toml": "[settings]\nflags = ['-Ds=t']\n" + RULE.format("top")}, "s.h", {"s.h": ["top"]}),
    "a rule file becomes a folder": ({"ws/layoutlint.toml": None, "ws/layoutlint.toml/x": ""}, "ws/s.h", {"ws/s.h": ["top", "ws"]}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "words", "expected"), POLICIES.values(), ids=POLICIES)
def test_a_policy_has_the_files_of_its_commit(repository, files, words, expected):
    write(repository, files)
    assert rules_by_input(repository, *words.split(), "--policy-from", "HEAD") == expected


USED_BELOW = {"ws/deep/u.c": '#include "../../lib/x.h"\n', "lib/x.h": "struct x { long a; };\n", "ws/layoutlint.toml": RULE.format("x").replace('"s"', '"x"')}
CHANGES = {
    # files before the change, the change; status, and the rules by input
    "a struct of a folder": ({}, {"ws/s.h": TEXT.replace("b;", "b, c;") + "\n"}, {"ws/s.h": ["top", "ws"]}),
    "a struct of another folder": ({}, {"lib/s.h": TEXT.replace("b;", "b, c;") + "\n"}, {"lib/s.h": ["top"]}),
    "a new rule file": ({}, {"lib/layoutlint.toml": RULE.format("new")}, {"lib/s.h": ["new"]}),
    "a new rule of a folder": ({}, {"ws/layoutlint.toml": RULE.format("ws") + RULE.format("more")}, {"ws/s.h": ["more"], "ws/deep/s.h": ["more"]}),
    "a struct that a folder includes": (USED_BELOW, {"lib/x.h": "struct x { long a, b; };\n"}, {"ws/deep/u.c": ["x"]}),
    "a struct that a folder includes by its own flags": (
        USED_BELOW | {"ws/deep/u.c": "#include <x.h>\n", "ws/deep/layoutlint.toml": "[settings]\nflags = ['-I../../lib']\n"},
        {"lib/x.h": "struct x { long a, b; };\n"}, {"ws/deep/u.c": ["x"]}),
    "a rule on a struct of no file below": ({}, {"lib/layoutlint.toml": RULE.format("new").replace('"s"', '"t"')}, {"": ["new"]}),
    "a rule on a struct of another folder": ({"t.h": TEXT.replace("s {", "t {")}, {"lib/layoutlint.toml": RULE.format("new").replace('"s"', '"t"')},
                                             {"": ["new"]}),
    "a struct leaves its folder": ({"ws/t.h": "struct t { int a; };\n", "ws/layoutlint.toml": RULE.format("t").replace('"s"', '"t"')},
                                   {"ws/t.h": None, "lib/t.h": "struct t { int a; };\n"}, {"": ["t"]}),
}  # fmt: skip


@pytest.mark.parametrize("words", [("--staged",), ("--since", "HEAD")], ids=["staged", "since"])
@pytest.mark.parametrize(("before", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change(repository, before, change, expected, words):
    if before:
        commit(repository, "before", before)
    write(repository, change)
    git(repository, "add", "-A")
    assert rules_by_input(repository, *words, "--all-findings") == expected


RULE_OF_TOP = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
REPOSITORIES = {
    # the commands of git, the folder in which the header is judged
    "a work tree of a repository below modules": (("modules/p", "worktree add -q ../../tree"), "tree/net"),
    "its files beside it, below modules": ((".", "clone -q --separate-git-dir modules/own modules/p tree"), "tree/net"),
    "a submodule": (("top", "submodule add -q ../modules/p sub"), "top/sub/net"),
    "a submodule of a work tree": (("top", "submodule add -q ../modules/p sub", "commit -qam sub", "worktree add -q ../tree", "-C ../tree submodule update -q --init"), "tree/sub/net"),
    "a submodule of a repository beside its files": ((".", "clone -q --separate-git-dir own top tree", "-C tree submodule add -q ../modules/p sub"), "tree/sub/net"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPOSITORIES)
def test_where_a_repository_ends(tmp_path, name):
    """The rules at the top count in each folder below it; a submodule belongs to the repository around it."""
    (where, *commands), inside = REPOSITORIES[name]
    rules = {"layoutlint.toml": RULE_OF_TOP}
    for folder, of_top in (("modules/p", {} if "submodule" in name else rules), ("top", rules)):
        (tmp_path / folder).mkdir(parents=True)
        commit(tmp_path / folder, "start", {**of_top, "net/s.h": "struct s { long a, b; };\n"})
    for command in commands:
        git(tmp_path / where, *command.split())
    done = run("check", "s.h", cwd=tmp_path / inside)
    assert done.returncode == 1, done.stdout + done.stderr


NOT_USED = [
    # the inputs, the files that a note names
    ("ws", "ws/deep/layoutlint.toml does not count for an input that is a folder or database above it: name files beside it"),
    (".", "lib/own/layoutlint.toml, ws/deep/layoutlint.toml, ws/layoutlint.toml do not count for inputs that are folders or databases "
     "above them: name files beside them"),
    ("ws ws/deep/s.h", None),
    ("ws/deep", None),
    ("ws/s.h", None),
    ("lib/compile_commands.json", "lib/own/layoutlint.toml does not count for an input that is a folder or database above it: name files beside it"),
    ("ws --rules layoutlint.toml", None),
]  # fmt: skip


@pytest.mark.parametrize(("words", "named"), NOT_USED)
def test_files_below_an_input_are_named(tmp_path, words, named):
    command = '[{"directory": ".", "file": "own/u.c", "arguments": ["cc", "-c", "own/u.c"]}]'
    more = {"lib/own/layoutlint.toml": RULE.format("own"), "lib/own/u.c": TEXT, "lib/compile_commands.json": command}
    folder = lay(tmp_path, {**REPOSITORY, **more})
    lines = run("check", *words.split(), cwd=folder).stderr.splitlines()
    notes = [line.removeprefix("layoutlint: note: ") for line in lines if "does not count" in line or "do not count" in line]
    assert notes == ([] if named is None else [named])


SIBLINGS = [
    # the inputs, the exit status: whatever else is judged
    ("lib/s.h", 2), ("lib/s.h ws/s.h", 2), ("ws/s.h lib/s.h s.h", 2), ("ws/s.h", 1), ("s.h", 1),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status"), SIBLINGS)
def test_an_override_of_a_rule_in_a_folder_beside_it(tmp_path, words, status):
    override = '[override.ws]\nenabled = false\nwhy = "not here"\n'
    folder = lay(tmp_path, {**REPOSITORY, "lib/layoutlint.toml": override})
    done = run("check", *words.split(), cwd=folder)
    assert (done.returncode, "no rule is called `ws`" in done.stderr) == (status, status == 2)


TABLE = '[struct.s]\nplacement = "line"\n'
APART = [
    # the files, the note on a table
    ({"ws/layoutlint.toml": TABLE}, "the table of struct s counts for rules of its own file, and `top` is at layoutlint.toml:1"),
    ({"ws/layoutlint.toml": TABLE + RULE.format("ws")}, None),
    ({"layoutlint.toml": TABLE + RULE.format("top"), "ws/layoutlint.toml": "# none\n"}, None),
    ({"ws/layoutlint.toml": TABLE.replace('placement = "line"', "annotated = true")}, None),
]  # fmt: skip


@pytest.mark.parametrize(("files", "message"), APART)
def test_a_table_counts_for_the_rules_of_its_file(tmp_path, files, message):
    done = run("check", "ws/s.h", "--format", "json", cwd=lay(tmp_path, REPOSITORY | files))
    found = [each["message"] for each in json.loads(done.stdout)["findings"] if each["rule"].startswith("unused/")]
    assert found == ([] if message is None else [message])
