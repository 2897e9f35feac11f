"""`--policy-from REV` and `--no-suppressions`: a change does not edit its own judge, and git runs nothing of a repository."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from layoutlint.errors import UsageError
from layoutlint.intent import policy
from layoutlint.workers import program
from tests.harness.command import run
from tests.harness.repository import git, write

pytestmark = pytest.mark.usefixtures("whole_runs")

RULE = """[[rule]]
id = "{id}"
struct = "{struct}"
kind = "separate"
fields = [["a"], ["b"]]
severity = "{severity}"
why = "both are written by other processors"
"""
PACK = '[pack]\nname = "p"\n'
RULES = PACK + RULE.format(id="q-apart", struct="q", severity="error")
TOLERANT = RULES + "tolerate = 1.0\n"
NOTE = PACK + RULE.format(id="q-apart", struct="q", severity="note")
NONE = PACK + RULE.format(id="other-apart", struct="other", severity="error")
OTHER = "struct other { char a[64] __attribute__((aligned(64))); char b[64]; };\n"
BROKEN = f"struct q {{\n\tlong a;\n\tlong b;\n}};\n{OTHER}"
IGNORED = f"struct q {{\n\tlong a; /* layoutlint: ignore[q-apart] known */\n\tlong b;\n}};\n{OTHER}"
IGNORED_AT_B = f"struct q {{\n\tlong a;\n\tlong b; /* layoutlint: ignore[q-apart] known */\n}};\n{OTHER}"
IGNORED_ALL = f"struct q {{\n\tlong a; /* layoutlint: ignore[*] known */\n\tlong b;\n}};\n{OTHER}"
IGNORED_STRUCT = f"/* layoutlint: ignore[q-apart] known */\nstruct q {{\n\tlong a;\n\tlong b;\n}};\n{OTHER}"
KERNEL_DOC = f"/**\n * @a: layoutlint: ignore[q-apart] known\n */\nstruct q {{\n\tlong a;\n\tlong b;\n}};\n{OTHER}"
ATTRIBUTE = IGNORED.replace("; /* layoutlint: ignore[q-apart] known */", ' __attribute__((annotate("layoutlint:ignore[q-apart] known")));')
TYPEDEF = f"typedef struct {{\n\tlong a; /* layoutlint: ignore[q-apart] known */\n\tlong b;\n}} q;\n{OTHER}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def commit_files(folder: Path, files: dict[str, str]) -> Path:
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    return folder


def check(folder: Path, *words: str, **environment: str) -> tuple[int, dict, str]:
    done = run("check", "q.h", "--format", "json", *words, cwd=folder, **environment)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stderr


BASE = {"layoutlint.toml": RULES, "q.h": BROKEN}
CHANGES = {
    # base, what the change does, more words; exit without and with --policy-from
    "nothing": (BASE, {}, (), 1, 1),
    "takes the rule out": (BASE, {"layoutlint.toml": NONE}, (), 0, 1),
    "tolerates it": (BASE, {"layoutlint.toml": TOLERANT}, (), 0, 1),
    "makes it a note": (BASE, {"layoutlint.toml": NOTE}, (), 0, 1),
    "breaks the file": (BASE, {"layoutlint.toml": "[[rule]]\n"}, (), 2, 1),
    "deletes the file": (BASE, {"layoutlint.toml": None}, ("--rules", "layoutlint.toml"), 2, 1),
    "deletes the file that is found": (BASE, {"layoutlint.toml": None}, (), 2, 1),
    "deletes a file of a folder": (
        {"rules/q.toml": RULES, "rules/other.toml": NONE.replace('"p"', '"o"'), "q.h": BROKEN}, {"rules/q.toml": None}, ("--rules", "rules"), 0, 1,
    ),
    "adds a file to a folder": (
        {"rules/other.toml": NONE, "q.h": BROKEN}, {"rules/q.toml": RULES.replace('"p"', '"o"')}, ("--rules", "rules"), 1, 0,
    ),
    "suppresses at a field": (BASE, {"q.h": IGNORED}, (), 0, 1),
    "suppresses at the struct": (BASE, {"q.h": IGNORED_STRUCT}, (), 0, 1),
    "suppresses by an attribute": (BASE, {"q.h": ATTRIBUTE}, (), 0, 1),
    "suppresses in a typedef": (BASE | {"q.h": TYPEDEF.replace("ignore", "hot-read -- not ")}, {"q.h": TYPEDEF}, (), 0, 1),
    "suppresses elsewhere": (BASE | {"q.h": IGNORED}, {"q.h": IGNORED_AT_B}, (), 0, 1),
    "suppresses more": (BASE | {"q.h": IGNORED}, {"q.h": IGNORED_ALL}, (), 0, 1),
    "keeps a suppression": (BASE | {"q.h": IGNORED}, {"q.h": "\n\n" + IGNORED + "struct more { int x; };\n"}, (), 0, 0),
    "keeps one of the struct": (BASE | {"q.h": IGNORED_STRUCT}, {"q.h": "\n" + IGNORED_STRUCT}, (), 0, 0),
    "keeps an attribute": (BASE | {"q.h": ATTRIBUTE}, {"q.h": "\n" + ATTRIBUTE}, (), 0, 0),
    "keeps one in a typedef": (BASE | {"q.h": TYPEDEF}, {"q.h": "\n" + TYPEDEF}, (), 0, 0),
    "moves a struct with its suppression": (BASE | {"q.h": OTHER, "r.h": IGNORED}, {"q.h": IGNORED, "r.h": OTHER}, (), 0, 1),
    "suppresses in kernel-doc of a field": (BASE | {"q.h": KERNEL_DOC.replace("@a", "@b")}, {"q.h": KERNEL_DOC}, (), 0, 1),
    "keeps one in kernel-doc": (BASE | {"q.h": KERNEL_DOC}, {"q.h": "\n" + KERNEL_DOC}, (), 0, 0),
}  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("base", "change", "words", "without", "status"), CHANGES.values(), ids=CHANGES)
def test_changes(project, base, change, words, without, status):
    write(commit_files(project, base), change)
    assert check(project, *words)[0] == without
    code, report, _ = check(project, *words, "--policy-from", "HEAD")
    assert code == status
    assert report["coverage"]["policy"]


def test_placement_is_the_base_s(project):
    rules = RULES.replace('"separate"', '"no-straddle"').replace('[["a"], ["b"]]', '["a"]')
    wide = "struct q { char pad[52]; char a[8]; };\n"
    write(commit_files(project, {"layoutlint.toml": rules, "q.h": wide}), {"layoutlint.toml": rules + '[struct.q]\nplacement = "line"\n'})
    assert check(project)[0] == 0
    assert check(project, "--policy-from", "HEAD")[0] == 1


def test_the_report_says_whose_policy_it_is(project):
    write(commit_files(project, BASE), {"layoutlint.toml": None, "new.toml": NONE, "q.h": IGNORED})
    commit = git(project, "rev-parse", "HEAD").strip()
    for form in ("text", "json", "github", "sarif"):
        words = ("--rules", "layoutlint.toml", "--rules", "new.toml", "--policy-from", "main", "--format", form)
        message = " ".join(run("check", "q.h", *words, cwd=project).stdout.split())
        assert f"of main ({commit[:12]}): layoutlint.toml" in message
        assert "not used, because main does not have it: new.toml" in message
        assert "`ignore[q-apart]` at q.h:2 does not count, because main does not have it" in message


def test_from_a_folder_below(project):
    write(commit_files(project, BASE | {"sub/q.h": BROKEN}), {"layoutlint.toml": NONE})
    assert check(project / "sub", "--policy-from", "HEAD")[0] == 1
    assert check(project / "sub", "--rules", "../layoutlint.toml", "--policy-from", "HEAD")[0] == 1


def test_rule_files_outside_of_the_repository_are_no_part_of_a_change(project, tmp_path):
    commit_files(project, {"q.h": BROKEN})
    (tmp_path / "rules.toml").write_text(RULES)
    assert check(project, "--rules", "../rules.toml", "--policy-from", "HEAD")[0] == 1


def test_a_link_in_the_place_of_a_rule_file(project, tmp_path):
    commit_files(project, BASE)
    (tmp_path / "rules.toml").write_text(NONE)
    (project / "layoutlint.toml").unlink()
    (project / "layoutlint.toml").symlink_to(tmp_path / "rules.toml")
    assert check(project, "--rules", "layoutlint.toml", "--policy-from", "HEAD")[0] == 1


def test_a_link_in_the_base_is_refused(project, tmp_path):
    (tmp_path / "rules.toml").write_text(NONE)
    (project / "layoutlint.toml").symlink_to(tmp_path / "rules.toml")
    commit_files(project, {"q.h": BROKEN})
    code, _, message = check(project, "--policy-from", "HEAD")
    assert code == 2
    assert "is a link" in message


def test_a_matrix(project):
    matrix = "[build.one]\ninput = ['q.h']\n"
    write(commit_files(project, BASE | {"m.toml": matrix}), {"m.toml": matrix.replace("q.h", "r.h"), "r.h": OTHER.replace("other", "q")})
    assert run("check", "--matrix", "m.toml", cwd=project).returncode != 1
    assert run("check", "--matrix", "m.toml", "--policy-from", "HEAD", cwd=project).returncode == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("revision", ["", "-x", "--upload-pack=x", "--output=x", "nowhere", "HEAD:q.h", "a\nb", "HEAD^{tree}"])
def test_no_revision(project, revision):
    commit_files(project, BASE)
    code, _, message = check(project, f"--policy-from={revision}")
    assert code == 2
    assert "policy-from" in message
    assert not (project / "x").exists()


def test_no_repository(tmp_path):
    write(tmp_path, BASE)
    code, _, message = check(tmp_path, "--policy-from", "HEAD", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert code == 2
    assert message == f"--policy-from: {tmp_path} is not in a git repository\n"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("text", "status"), [(IGNORED, 1), (IGNORED_STRUCT, 1), (ATTRIBUTE, 1), (BROKEN, 1)])
def test_no_suppressions(project, text, status):
    write(project, BASE | {"q.h": text})
    assert check(project, "--no-suppressions")[0] == status
    assert check(project)[0] == (0 if text != BROKEN else 1)


# What a hostile repository's configuration can name. PROGRAM leaves a file called `ran` behind.
CONFIGURATION = {
    "a file-system monitor": "[core]\n\tfsmonitor = PROGRAM\n",
    "hooks": "[core]\n\thooksPath = HOOKS\n",
    "ssh": "[core]\n\tsshCommand = PROGRAM\n[remote \"origin\"]\n\turl = ssh://localhost/x\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n",
    "a pack program": "[remote \"origin\"]\n\turl = .\n\tuploadpack = PROGRAM\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n",
    "a remote helper": "[remote \"origin\"]\n\turl = ext::PROGRAM\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[protocol \"ext\"]\n\tallow = always\n",
    "a diff program": "[diff]\n\texternal = PROGRAM\n[diff \"x\"]\n\ttextconv = PROGRAM\n\tcommand = PROGRAM\n",
    "filters": "[filter \"x\"]\n\tsmudge = PROGRAM\n\tclean = PROGRAM\n\tprocess = PROGRAM\n",
    "an alias": "[alias]\n\tcat-file = !PROGRAM\n\tls-tree = !PROGRAM\n\trev-parse = !PROGRAM\n",
    "a pager": "[core]\n\tpager = PROGRAM\n[pager]\n\tcat-file = PROGRAM\n\tls-tree = PROGRAM\n",
    "an included file": "[include]\n\tpath = INCLUDED\n",
    "a credential helper": "[credential]\n\thelper = !PROGRAM\n[core]\n\taskPass = PROGRAM\n",
    "alternate refs": "[core]\n\talternateRefsCommand = PROGRAM\n",
    "tracing": "[trace2]\n\teventTarget = |PROGRAM\n\tnormalTarget = |PROGRAM\n",
}  # fmt: skip


def configure_to_run(project: Path, configuration: str) -> None:
    """Lets a repository name a program, which leaves the file `ran` beside the repository, wherever git has a key for one."""
    folder = project.parent
    program, hooks, included = folder / "program", folder / "hooks", folder / "included"
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran\nexit 1\n")
    program.chmod(0o755)
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        (hooks / name).symlink_to(program)
    included.write_text(f"[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n")
    text = configuration.replace("PROGRAM", str(program)).replace("HOOKS", str(hooks)).replace("INCLUDED", str(included))
    with (project / ".git" / "config").open("a") as file:
        file.write(text)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("lacks_object", [False, True], ids=["whole", "partial"])
@pytest.mark.parametrize("configuration", CONFIGURATION.values(), ids=CONFIGURATION)
def test_a_hostile_repository_runs_nothing(project, tmp_path, configuration, lacks_object):
    commit_files(project, BASE | {".gitattributes": "* filter=x diff=x\n"})
    id_ = git(project, "rev-parse", "HEAD:layoutlint.toml").strip()
    if lacks_object:
        (project / ".git" / "objects" / id_[:2] / id_[2:]).unlink()
    configure_to_run(project, configuration)
    assert check(project, "--policy-from", "HEAD")[0] == (2 if lacks_object else 1)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("tree", ["/", "../..", "../../empty", "../b"])
def test_a_repository_that_puts_its_working_tree_elsewhere(project, tree):
    """Its rule files would be outside of it, and so no part of the change."""
    commit_files(project, BASE)
    write(project, {"b/x": "", "layoutlint.toml": NONE})
    (project.parent / "empty").mkdir(exist_ok=True)
    git(project, "config", "core.worktree", tree)
    code, _, message = check(project, "--policy-from", "HEAD")
    assert (code, "core.worktree" in message) == (2, True)


def test_a_replaced_object_is_the_first_one(project):
    commit_files(project, BASE)
    good = git(project, "rev-parse", "HEAD:layoutlint.toml").strip()
    write(project, {"layoutlint.toml": NONE})
    bad = git(project, "hash-object", "-w", "layoutlint.toml").strip()
    git(project, "replace", good, bad)
    assert check(project, "--policy-from", "HEAD")[0] == 1


def test_no_git_of_the_checkout(project):
    commit_files(project, BASE)
    (project / "git").write_text("#!/bin/sh\ntouch ran\n")
    (project / "git").chmod(0o755)
    for path in ("", ".", "./"):
        assert check(project, "--policy-from", "HEAD", PATH=f"{path}:{os.environ['PATH']}")[0] == 1
    assert not (project / "ran").exists()


def test_no_environment_of_another_repository(project, tmp_path):
    commit_files(project, BASE)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit_files(other, {"layoutlint.toml": NONE, "q.h": BROKEN})
    code, report, _ = check(project, "--policy-from", "HEAD", GIT_DIR=str(other / ".git"), GIT_EXTERNAL_DIFF="false")
    assert (code, len(report["findings"])) == (1, 1)


SLOW_OR_LARGE = {
    # what it does, the seconds that it has, what is said
    "too much": ("exec yes", 60, "gives more than"),
    "no end": ("exec sleep 100", 1, "takes more than"),
    "talks and talks": ("exec yes >&2", 1, "takes more than"),
}


@pytest.mark.parametrize(("script", "seconds", "message"), SLOW_OR_LARGE.values(), ids=SLOW_OR_LARGE)
def test_a_git_that_does_not_end(tmp_path, monkeypatch, script, seconds, message):
    script_file = tmp_path / "git"
    script_file.write_text(f"#!/bin/sh\n{script}\n")
    script_file.chmod(0o755)
    monkeypatch.setattr("layoutlint.revisions.git._git", lambda: str(script_file))
    monkeypatch.setattr("layoutlint.revisions.git._LIMITS", program.Limits(seconds=seconds, output=1 << 24, messages=4096))
    with pytest.raises(UsageError, match=message):
        policy.from_revision("HEAD")
