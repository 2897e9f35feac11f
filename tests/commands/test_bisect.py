"""`layoutlint bisect`: the commits in which a rule got worse or better, from the text of headers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git

RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
INNER = "struct inner { char bytes[%s]; };\n"
S = '#include "inner.h"\nstruct s { long a; struct inner in; long z; };\n'
CHANGES = {
    # what a commit writes into inner.h; what the rule then is
    "kept": INNER % 56, "risk": INNER % 48, "close": INNER % 1, "error": "struct inner { gone_t x; };\n",
    "gone": "struct inned { char x; };\n", "note": INNER % 56 + "/* note */\n",
}  # fmt: skip


def history(folder: Path, states: str) -> dict[str, str]:
    """Commits in a line, one for each state; their ids by number."""
    commit(folder, "start", {"layoutlint.toml": RULES, "s.h": S, "inner.h": CHANGES["kept"]})
    return {
        str(number): commit(folder, f"{number}: {state}", {"inner.h": CHANGES[state], "count": str(number)})
        for number, state in enumerate(states.split())
    }


def search(folder: Path, *words: str):
    done = run("bisect", "apart", *words, "--format", "json", cwd=folder)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("states", "first", "suspects", "after"), [
    ("kept note risk", "2", ["2"], "at-risk"),
    ("kept risk close close", "1", ["1"], "at-risk"),
    ("risk risk close", "2", ["2"], "at-risk"),
    ("kept note note kept kept kept risk risk risk risk", "6", ["6"], "at-risk"),
    ("kept error risk", None, ["1", "2"], "at-risk"),
    ("kept error kept gone gone risk", None, ["3", "4", "5"], "at-risk"),
])  # fmt: skip
def test_a_line(tmp_path, states, first, suspects, after):
    ids = history(tmp_path, states)
    numbers = {commit_id: number for number, commit_id in ids.items()}
    status, found = search(tmp_path, f"{ids['0']}..HEAD", "s.h")
    assert (found["first_bad"] and numbers[found["first_bad"]["id"]]) == first
    assert [numbers[each["id"]] for each in found["suspects"]] == suspects
    assert (status, found["exit"], found["after"].partition(":")[0]) == (0 if first else 3, 0 if first else 3, after)
    assert found["first_good"] is None
    assert all((each["reason"] is None) == (each["trial"] != "skipped") for each in found["tried"])


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("states", "status", "changes"), [
    # a change: the outcome after it, and the commits of which one made it
    ("kept risk", 0, ["at-risk 1"]),
    ("risk kept", 0, ["kept 1"]),
    ("close risk note", 0, ["at-risk 1", "kept 2"]),
    ("kept risk close note", 0, ["at-risk 1", "at-risk 2", "kept 3"]),
    ("kept risk note kept", 0, ["at-risk 1", "kept 2"]),
    ("risk kept close", 0, ["kept 1", "at-risk 2"]),
    ("kept risk error risk", 0, ["at-risk 1"]),
    ("kept risk error kept", 3, ["at-risk 1", "kept 2 3"]),
    ("kept error risk kept gone note", 3, ["at-risk 1 2", "kept 3"]),
    ("risk error gone kept", 3, ["kept 1 2 3"]),
    ("kept note kept risk note risk kept risk", 0, ["at-risk 3", "kept 4", "at-risk 5", "kept 6", "at-risk 7"]),
])  # fmt: skip
def test_all_changes(tmp_path, states, status, changes):
    ids = history(tmp_path, states)
    numbers = {commit_id: number for number, commit_id in ids.items()}
    found = search(tmp_path, f"{ids['0']}..HEAD", "s.h")
    kinds = [(each["after"].partition(":")[0], *(numbers[one["id"]] for one in each["suspects"])) for each in found[1]["changes"]]
    assert (found[0], [" ".join(each) for each in kinds], found[1]["not_judged"]) == (status, changes, 0)
    assert all((each["commit"] is None) == (len(each["suspects"]) > 1) for each in found[1]["changes"])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("flips", "words", "status", "expected"), [
    # the commits of 40 at which `risk` begins and ends; the status, and the changes or a message
    ((10, 30), (), 0, ["10", "30"]), ((11, 12), (), 3, "20 commits between can have changed it there and back"),
    ((11, 12), ("--all",), 0, ["11", "12"]), ((10, 50), (), 0, ["10"]),
])  # fmt: skip
def test_many_commits(tmp_path, flips, words, status, expected):
    """A few of the commits are judged, unless all are wanted."""
    start = commit(tmp_path, "0", {"layoutlint.toml": RULES, "s.h": S, "inner.h": CHANGES["kept"]})
    for number in range(1, 41):
        text = CHANGES["risk" if flips[0] <= number < flips[1] else "kept"]
        commit(tmp_path, str(number), {"inner.h": f"{text}/* {number} */\n"})
    done = run("bisect", "apart", f"{start}..HEAD", "s.h", "--format", "json", *words, cwd=tmp_path)
    if isinstance(expected, str):
        assert (done.returncode, expected in done.stderr) == (status, True), done.stderr
        return
    found = json.loads(done.stdout)
    changes = [each["commit"]["subject"] for each in found["changes"]]
    assert (done.returncode, changes, found["not_judged"] == 0) == (status, expected, bool(words)), found
    shown = run("bisect", "apart", f"{start}..HEAD", "s.h", *words, cwd=tmp_path).stdout
    assert ("(`--all` judges them;" in " ".join(shown.split())) != bool(words)


def test_commits_that_change_other_files_are_not_read(tmp_path):
    """A file that is not included changes nothing; a new one that is found first does."""
    start = commit(tmp_path, "0", {"layoutlint.toml": RULES, "a/s.h": S.replace('"inner.h"', "<inner.h>"), "b/inner.h": CHANGES["kept"],
                                   "a/none.h": "", "compile_commands.json": json.dumps([
        {"directory": ".", "file": "a/s.c", "arguments": ["cc", "-Ia", "-Ib", "-c", "a/s.c"]}]), "a/s.c": '#include "s.h"\n'})  # fmt: skip
    for number in range(30):
        commit(tmp_path, f"other {number}", {"other/o.h": f"struct o{number} {{ int n; }};\n"})
    commit(tmp_path, "found first", {"a/inner.h": CHANGES["risk"]})
    for number in range(30):
        commit(tmp_path, f"other {30 + number}", {"other/o.h": f"struct p{number} {{ int n; }};\n"})
    commit(tmp_path, "gone", {"a/inner.h": None})
    found = search(tmp_path, f"{start}..HEAD", "a/s.h")[1]
    assert [each["commit"]["subject"] for each in found["changes"]] == ["found first", "gone"]
    assert (len(found["tried"]) < 5, found["not_judged"]) == (True, 0), found


def test_a_merge_that_is_worse_than_both_sides(tmp_path):
    """Each side removes one of two paddings."""
    inner = "struct inner { char first[%s]; };\n"
    start = commit(tmp_path, "start", {"layoutlint.toml": RULES, "s.h": S.replace("in;", "in; struct more more;").replace(
        "#include", '#include "more.h"\n#include'), "inner.h": inner % 64, "more.h": "struct more { char bytes[64]; };\n"})  # fmt: skip
    git(tmp_path, "checkout", "-q", "-b", "side")
    commit(tmp_path, "theirs", {"inner.h": inner % 8})
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, "ours", {"more.h": "struct more { char bytes[8]; };\n"})
    git(tmp_path, "merge", "-q", "--no-edit", "side")
    found = search(tmp_path, f"{start}..HEAD", "s.h")[1]
    assert [each["commit"]["subject"].partition(" ")[0] for each in found["changes"]] == ["Merge"]


def test_a_merge(tmp_path):
    """The commit is on a side branch, which the merge brings in."""
    start = commit(tmp_path, "start", {"layoutlint.toml": RULES, "s.h": S, "inner.h": CHANGES["kept"]})
    git(tmp_path, "checkout", "-q", "-b", "side")
    commit(tmp_path, "harmless", {"side.h": "struct t { int n; };\n"})
    culprit = commit(tmp_path, "culprit", {"inner.h": CHANGES["risk"]})
    git(tmp_path, "checkout", "-q", "main")
    for number in range(4):
        commit(tmp_path, f"main {number}", {"other.h": f"struct o{number} {{ int n; }};\n"})
    git(tmp_path, "merge", "-q", "--no-edit", "side")
    assert search(tmp_path, f"{start}..HEAD", "s.h")[1]["first_bad"]["id"] == culprit


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("name", "status", "text_message"), [
    ("flips twice", 0, ["1: risk", "3: risk"]), ("good is bad already", 2, "apart is at-risk at HEAD and at-risk at "),
    ("bad is good", 0, ["1: kept"]), ("unknown in the middle", 3, ["1: error", "2: error", "3: risk"]),
    ("the file is renamed", 0, ["risk in a renamed file"]), ("the rule is new", 0, ["1: risk"]),
    ("not ancestors", 0, ["theirs"]), ("since both parted", 0, ["theirs"]),
])  # fmt: skip
def test_histories(tmp_path, name, status, text_message):
    states = {"flips twice": "kept risk kept risk", "good is bad already": "risk risk", "bad is good": "risk kept",
              "unknown in the middle": "kept error error risk", "the rule is new": "kept risk"}.get(name, "kept note")  # fmt: skip
    ids = history(tmp_path, states)
    start, end = ids["0"], "HEAD"
    if name == "the file is renamed":
        git(tmp_path, "mv", "s.h", "t.h")
        commit(tmp_path, "renamed", {})
        commit(tmp_path, "risk in a renamed file", {"inner.h": CHANGES["risk"]})
    elif name == "the rule is new":
        (tmp_path / "layoutlint.toml").rename(tmp_path / "mine.toml")
    elif name in ("not ancestors", "since both parted"):
        git(tmp_path, "checkout", "-q", "-b", "theirs", start)
        commit(tmp_path, "theirs", {"inner.h": CHANGES["risk"]})
        start = "main"
    dots = "..." if name == "since both parted" else ".."
    words = ("--rules", "mine.toml") if name == "the rule is new" else ()
    done = run("bisect", "apart", f"{start}{dots}{end}", "--format", "json", *words, cwd=tmp_path)
    if isinstance(text_message, str):
        assert (done.returncode, text_message in done.stderr) == (status, True), done.stderr
        return
    found = json.loads(done.stdout)
    suspects = [each["subject"] for each in found["suspects"]]
    assert done.returncode == status
    assert suspects == text_message if status == 3 else suspects[-1] in text_message, suspects


def test_the_report(tmp_path):
    ids = history(tmp_path, "kept note risk")
    done = run("bisect", "apart", f"{ids['0']}..HEAD", "s.h", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0] == "apart got worse in this commit:"
    assert re.fullmatch(f"  {ids['2'][:12]} 20[0-9-]+ 2: risk", lines[1])
    assert "  before: kept: `a` at 0..7 and `z` at 64..71 share no line in any" in lines
    assert lines[-1].endswith(" tried, 0 of them could not be judged")
    assert (done.returncode, done.stderr) == (0, "")
    narrow = [run("bisect", "apart", f"{ids['0']}..HEAD", "s.h", *words, cwd=tmp_path, **more).stdout
              for words, more in ((("--width", "60"), {}), ((), {"COLUMNS": "60"}))]  # fmt: skip
    assert narrow[0] == narrow[1] != done.stdout


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "status", "message"), [
    (("apart", "HEAD~1..HEAD"), 2, "nothing changed"), (("apart", "HEAD..HEAD~1"), 2, "(`HEAD~1..HEAD`)"),
    (("appart", "HEAD~1..HEAD"), 2, "no rule is called 'appart' (did you mean `apart`?)"),
    (("apart", "HEAD"), 2, "is not a range of revisions"), (("apart", "HEAD~2..HEAD"), 3, "apart cannot be judged"),
    (("apart", "HEAD~1..HEAD", "/etc"), 2, "is outside of the repository"),
])  # fmt: skip
def test_what_is_refused(tmp_path, words, status, message):
    history(tmp_path, "error kept note")
    done = run("bisect", *words, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr


@pytest.mark.exhaustive
def test_the_repository_stays_as_it_is(tmp_path):
    ids = history(tmp_path, "kept note risk")
    (tmp_path / "inner.h").write_text("struct unsaved;\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert search(tmp_path, f"{ids['0']}..HEAD", "s.h")[0] == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_pairs_of_fields_that_come_to_share_a_line(tmp_path):
    """The outcome stays broken, and the rule is worse with more pairs, as in `diff`."""
    rules = RULES.replace('fields = [["a"], ["z"]]', 'fields = [["a"], ["b", "z"]]') + '[struct.s]\nplacement = "aligned:64"\n'
    text = "struct s { long a; long b; char pad[%s]; long z; };\n"
    start = commit(tmp_path, "start", {"layoutlint.toml": rules, "s.h": text % 56})
    commit(tmp_path, "more pairs", {"s.h": text % 8})
    commit(tmp_path, "comment", {"s.h": text % 8 + "/* more */\n"})
    commit(tmp_path, "fewer pairs", {"s.h": text % 64})
    found = search(tmp_path, f"{start}..HEAD", "s.h")[1]
    assert [(each["status"], each["commit"]["subject"]) for each in found["changes"]] == [("worse", "more pairs"), ("better", "fewer pairs")]
    assert {each["outcome"] for each in found["tried"]} == {"broken"}


def test_a_repository_that_lacks_trees(tmp_path):
    """A commit that cannot be read is skipped."""
    ids = history(tmp_path, "kept note note note risk")
    tree = git(tmp_path, "rev-parse", f"{ids['2']}^{{tree}}")
    (tmp_path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    status, found = search(tmp_path, f"{ids['0']}..HEAD", "s.h")
    assert (status, [each["commit"]["subject"] for each in found["changes"]]) == (0, ["4: risk"])
    assert [each["id"] for each in found["tried"] if each["trial"] == "skipped"] == [ids["2"]]
