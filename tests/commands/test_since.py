"""`check --since REV`: what changed since a revision is judged, and only what got worse fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git, write

pytestmark = pytest.mark.usefixtures("whole_runs")

RULE = '[[rule]]\nid = "{id}"\nstruct = "{struct}"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
RULES = RULE.format(id="q-apart", struct="q")
PAD = "struct pad { char bytes[%d]; };\n"
Q = '#include "pad.h"\nstruct q {\n\tlong a;\n\tstruct pad pad;\n\tlong b;\n};\n'
FAR, NEAR, NEARER, RISK = PAD % 64, PAD % 40, PAD % 8, PAD % 48
BASE: dict[str, str | None] = {"layoutlint.toml": RULES, "pad.h": FAR, "q.h": Q}

CASES: dict[str, tuple[dict[str, str | None], dict[str, str | None], int, list[str | None]]] = {
    # before, the change, exit status, the states of the findings
    "shrinks an embedded type": (BASE, {"pad.h": NEAR}, 1, ["new"]),
    "shrinks one that is too small already": ({**BASE, "pad.h": NEAR}, {"pad.h": NEARER}, 1, ["worse"]),
    "touches a struct that is at risk already": ({**BASE, "pad.h": NEAR}, {"q.h": Q.replace("long a;", "long a; /* a */")}, 0, ["known"]),
    "moves a failing struct to other lines": ({**BASE, "pad.h": NEAR}, {"q.h": f"/* more */\n\n{Q}"}, 0, ["known"]),
    "makes it better, not good": ({**BASE, "pad.h": NEAR}, {"pad.h": RISK}, 0, ["known"]),
    "makes it good": ({**BASE, "pad.h": NEAR}, {"pad.h": FAR}, 0, []),
    "adds a rule on what was there": ({**BASE, "pad.h": NEAR, "layoutlint.toml": ""}, {"layoutlint.toml": RULES}, 1, ["new"]),
    "adds another rule": (
        {**BASE, "pad.h": NEAR}, {"layoutlint.toml": RULES + RULE.format(id="again", struct="q"), "q.h": f"\n{Q}"}, 1, ["new", "known"]),
    "adds a failing header": (
        {**BASE, "layoutlint.toml": RULES + RULE.format(id="r", struct="r") + RULE.format(id="s", struct="s").replace("note", "note"), "s.h": "struct s { long a; char x[64]; long b; };\n", "r.h": "struct r { long a; char x[64]; long b; };\n"},
        {"r.h": "struct r { long a; long b; };\n"}, 1, ["new"]),
    "renames the header of a failing struct": ({**BASE, "pad.h": NEAR}, {"q.h": None, "sub/r.h": Q.replace("pad.h", "../pad.h")}, 0, ["known"]),
    "moves a failing struct to another header": ({**BASE, "pad.h": NEAR, "r.h": ""}, {"q.h": "", "r.h": Q}, 0, ["known"]),
    "renames the header and makes it worse": ({**BASE, "pad.h": NEAR}, {"q.h": None, "r.h": Q, "pad.h": NEARER}, 1, ["worse"]),
    "changes nothing that is judged": ({**BASE, "pad.h": NEAR}, {"README": "text\n"}, 0, []),
    "deletes a ruled struct": (BASE, {"q.h": None}, 3, [None]),
}  # fmt: skip


def check_since(folder: Path, *words: str, cwd: Path | None = None):
    done = run("check", "--since", *words, "--format", "json", cwd=cwd or folder)
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {"findings": []}
    return done.returncode, report, done.stderr


PAIRS = RULE.format(id="q-apart", struct="q").replace('["b"]', '["b", "c", "d", "e", "f", "g"]')
NEW_PAIRS = {
    # the members, before and after; what the message says
    "one more": (
        "long a, b, c, d, e; char pad[64]; long f, g;", "long a, b, c, d, e, f; char pad[56]; long g;",
        "new: `a` at 0..7 shares a line with `f` at 40..47 in 3 of 8 placements; 4 pairs as before"),
    "all are listed": (
        "long a, b; char pad[64]; long c, d, e, f, g;", "long a, b, c, d, e, f, g;",
        "new: `a` at 0..7 shares a line with `c` at 16..23 in 6 of 8 placements; `a` at 0..7 shares a line with `d` at 24..31 in 5 of 8 placements; "
        "`a` at 0..7 shares a line with `e` at 32..39 in 4 of 8 placements; `a` at 0..7 shares a line with `f` at 40..47 in 3 of 8 placements; "
        "`a` at 0..7 shares a line with `g` at 48..55 in 2 of 8 placements; 1 pair as before"),
    "more often": (
        "long a, b, c; char pad[64]; long d, e, f, g;", "long a, c, b; char pad[64]; long d, e, f, g;",
        "worse: `a` at 0..7 shares a line with `c` at 8..15 in 7 of 8 placements (before: 75.00% of them); 1 pair as before"),
    "one is new and one worse": (
        "long a, b, c; char pad[64]; long d, e, f, g;", "long a, c, b, d; char pad[64]; long e, f, g;",
        "new: `a` at 0..7 shares a line with `d` at 24..31 in 5 of 8 placements; worse: `a` at 0..7 shares a line with `c` at 8..15 "
        "in 7 of 8 placements (before: 75.00% of them); 1 pair as before"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEW_PAIRS)
def test_new_pairs_come_first(tmp_path, name):
    before, after, message = NEW_PAIRS[name]
    commit(tmp_path, "before", {"layoutlint.toml": PAIRS, "q.h": f"struct q {{ {before} }};\n"})
    commit(tmp_path, "change", {"q.h": f"struct q {{ {after} }};\n"})
    code, report, _ = check_since(tmp_path, "HEAD~1")
    (finding,) = report["findings"]
    assert (code, finding["state"], finding["message"]) == (1, "worse", message)
    first = message.split("`")[3]
    assert [each["path"] for each in finding["fields"]][:2] == ["a", first]
    assert finding["advice_kind"] == "fix"  # of all pairs


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CASES)
def test_changes(tmp_path, name):
    before, change, status, states = CASES[name]
    commit(tmp_path, "before", before)
    commit(tmp_path, "change", change)
    code, report, text = check_since(tmp_path, "HEAD~1")
    found = [each["state"] for each in report["findings"] if each["severity"] != "note"]
    assert (code, sorted(map(str, found))) == (status, sorted(map(str, states))), text


@pytest.mark.parametrize(("stages", "status"), [(False, 0), (True, 1)])
def test_unstaged_changes_are_named(tmp_path, stages, status):
    commit(tmp_path, "before", BASE)
    write(tmp_path, {"pad.h": NEAR})
    if stages:
        git(tmp_path, "add", "-A")
    code, _, text = check_since(tmp_path, "HEAD")
    note = "layoutlint: note: unstaged changes are not judged: pad.h; stage them with `git add`"
    assert (code, note in text) == (status, not stages)


def check_staged(folder: Path, *words: str, **environment: str):
    done = run("check", "--staged", *words, "--format", "json", cwd=folder, **environment)
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {"findings": []}
    return done.returncode, [each["state"] for each in report["findings"] if each["severity"] != "note"], done.stderr


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", CASES)
def test_staged_changes_are_compared_with_the_last_commit(tmp_path, name):
    before, change, status, states = CASES[name]
    commit(tmp_path, "before", before)
    write(tmp_path, change)
    git(tmp_path, "add", "-A")
    code, found, text = check_staged(tmp_path)
    assert (code, sorted(map(str, found))) == (status, sorted(map(str, states))), text
    code, found, text = check_staged(tmp_path, "--all-findings")
    assert (code, found) == (status or int("known" in states), [None] * len(states)), text


def test_known_findings_are_one_line(tmp_path):
    commit(tmp_path, "before", {**BASE, "pad.h": NEAR})
    write(tmp_path, {"pad.h": NEAR + "/* more */\n"})
    git(tmp_path, "add", "-A")
    text = run("check", "--staged", cwd=tmp_path).stdout
    assert "compared with HEAD: 0 new, 0 worse, 1 known\n1 finding was there before: `layoutlint check --staged -v` lists them\n" in text
    assert ("q-apart (separate)" in text, "q-apart (separate)" in run("check", "--staged", "-v", cwd=tmp_path).stdout) == (False, True)


MERGES = {
    # before, ours, theirs; status, states
    "both have it": ({"layoutlint.toml": RULES, "q.h": Q, "pad.h": NEAR}, {"pad.h": NEAR + "/* ours */\n"}, {"q.h": f"/* theirs */\n{Q}"}, 0, ["known"]),
    "one has it": (BASE, {"pad.h": NEAR}, {"q.h": f"/* theirs */\n{Q}"}, 0, ["known"]),
    "their rule, our struct": ({**BASE, "layoutlint.toml": ""}, {"pad.h": NEAR}, {"layoutlint.toml": RULES}, 1, ["new"]),
    "each makes it worse": ({**BASE, "pad.h": PAD % 56, "q.h": Q.replace("long b", "char c[16];\n\tlong b")}, {"pad.h": PAD % 40}, {"q.h": Q}, 1, ["new"]),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", MERGES)
def test_a_merge_makes_nothing_new_that_one_side_has(tmp_path, name):
    before, ours, theirs, status, states = MERGES[name]
    commit(tmp_path, "before", before)
    git(tmp_path, "checkout", "-q", "-b", "theirs")
    commit(tmp_path, "theirs", theirs)
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, "ours", ours)
    git(tmp_path, "merge", "-q", "--no-commit", "theirs")
    assert check_staged(tmp_path)[:2] == (status, states)


def test_staged_changes_count_as_well(tmp_path):
    commit(tmp_path, "before", BASE)
    write(tmp_path, {"pad.h": NEAR})
    git(tmp_path, "add", "-A")
    assert check_since(tmp_path, "HEAD")[0] == 1


def test_what_the_base_branch_got_meanwhile_is_no_change(tmp_path):
    commit(tmp_path, "before", BASE)
    git(tmp_path, "checkout", "-q", "-b", "mine")
    commit(tmp_path, "mine", {"q.h": Q.replace("long a;", "long a; /* a */")})
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, "theirs", {"pad.h": NEARER})
    git(tmp_path, "checkout", "-q", "mine")
    assert check_since(tmp_path, "main")[0] == 0


def test_from_a_folder_of_the_repository(tmp_path):
    commit(tmp_path, "before", {"layoutlint.toml": RULES, "sub/pad.h": NEAR, "sub/q.h": Q})
    commit(tmp_path, "change", {"sub/q.h": f"/* more */\n{Q}"})
    code, report, _ = check_since(tmp_path, "HEAD~1", cwd=tmp_path / "sub")
    assert (code, [each["state"] for each in report["findings"]]) == (0, ["known"])


def test_a_base_that_cannot_be_judged_is_named(tmp_path):
    """Its findings may have been there: the report says that this is not known."""
    commit(tmp_path, "before", {**BASE, "q.h": Q.replace("long a;", "gone_t a;")})
    commit(tmp_path, "change", {"q.h": Q, "pad.h": NEAR})
    code, report, _ = check_since(tmp_path, "HEAD~1")
    assert (code, [each["state"] for each in report["findings"]]) == (1, ["new"])
    assert [(each["origin"], each["reason"]) for each in report["unread"]] == [("HEAD~1:q.h", "q-apart on q could not be judged there")]


def test_an_unreliable_layout_is_not_compared(tmp_path):
    commit(tmp_path, "before", {**BASE, "q.h": '#include "gone.h"\n' + Q})
    commit(tmp_path, "change", {"pad.h": NEAR})
    code, report, _ = check_since(tmp_path, "HEAD~1")
    assert (code, [each["state"] for each in report["findings"]]) == (3, ["not-compared"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "message"), [
    (("gone",), "this repository has no such commit"), (("HEAD", "--staged"), "--staged cannot be given with it"),
    (("HEAD", "--baseline", "b.toml"), "--baseline cannot be given with it"), (("HEAD", "--matrix", "m.toml"), "--matrix cannot be given"),
])  # fmt: skip
def test_what_is_refused(tmp_path, words, message):
    commit(tmp_path, "before", BASE)
    code, _, text = check_since(tmp_path, *words)
    assert (code, message in text) == (2, True), text
