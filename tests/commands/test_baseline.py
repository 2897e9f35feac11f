"""`layoutlint baseline` and `check --baseline`: what was accepted passes, what is new or worse fails, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import ROOT, run

BASE = "base.toml"
RULES = """
[[rule]]
id = "apart"
struct = "s"
kind = "separate"
fields = [["a"], ["z", "y"]]
why = "w"

[[rule]]
id = "whole"
struct = "t"
kind = "no-straddle"
fields = ["*_lock"]
why = "w"

[[rule]]
id = "small"
struct = "?"
kind = "size"
max = 64
why = "w"
"""
CODE = """\
struct s { long a; long pad[6]; long z; long b[7]; long y; };
struct t { char a_lock[16]; char b_lock[8]; char c_lock[8]; };
struct u { int ok; };
"""
"""apart fails in 1 of 8 placements; whole in 1 of 8, at a_lock; small for s."""


def project(folder: Path, code: str = CODE, rules: str = RULES) -> None:
    (folder / "s.h").write_text(code)
    (folder / "rules.toml").write_text(rules)


def baseline(folder: Path, what: str, *words: str, inputs: tuple[str, ...] = ("s.h",)) -> Any:
    return run("baseline", what, BASE, *inputs, "--rules", "rules.toml", *words, cwd=folder)


def check(folder: Path, *words: str, inputs: tuple[str, ...] = ("s.h",)) -> dict[str, Any]:
    done = run("check", *inputs, "--rules", "rules.toml", "--baseline", BASE, "--format", "json", *words, cwd=folder)
    assert done.returncode in (0, 1, 3), done.stderr
    found = json.loads(done.stdout)
    assert found["exit"] == done.returncode
    return found


def states(found: dict[str, Any]) -> dict[str, str]:
    """Return the states of findings by rule and struct, each with its number."""
    counted: dict[str, list[str]] = {}
    for one in found["findings"]:
        counted.setdefault(f"{one['rule']} {one['struct']}", []).append(str(one["state"]))
    return {name: " ".join(sorted(each)) for name, each in counted.items()}


SAME = {"apart s": "known", "small s": "known", "whole t": "known"}
CHANGES = {
    # what is replaced, by what; the exit status; the states that differ from SAME (None: no finding); what is not needed
    "nothing": ("", "", 0, {}, []),
    "lines shift": ("struct s {", "/* one\n two */\n\nstruct s {\n", 0, {}, []),
    "another struct": ("struct u ", "struct w { char c; };\nstruct u ", 0, {}, []),
    "a finding that worsens from 1/8 to 4/8": ("pad[6]", "pad[3]", 1, {"apart s": "worse"}, []),
    "and to broken": ("long a; long pad[6]", "long a __attribute__((aligned(64))); long pad[3]", 1, {"apart s": "worse"}, []),
    "one that gets better": ("long pad[6]", "long pad[7]", 0, {"apart s": None}, ["apart on s"]),
    "one fixed and one added of the same rule": (
        "long z; long b[7]; long y", "long y; long b[7]; long z", 1, {"apart s": "worse"}, []),
    "the same at another field": ("char a_lock[16]; char b_lock[8]", "char a_lock[8]; char b_lock[16]", 1, {"whole t": "worse"}, []),
    "a new finding": ("struct u { int ok; }", "struct u { int ok[17]; }", 1, {"small u": "new"}, []),
    "a struct deleted that a rule names": (
        "struct t { char a_lock[16]; char b_lock[8]; char c_lock[8]; };", "", 3, {"whole t": "not-compared"}, []),
    "a field renamed that a rule names": ("long z;", "long x;", 3, {"apart s": "not-compared"}, []),
    "an error": ("long a;", "gone_t a;", 3, {"apart s": "not-compared", "small s": "not-compared"}, []),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CHANGES)
def test_changes(tmp_path, name):
    before, after, exit_status, differing, unneeded = CHANGES[name]
    project(tmp_path)
    assert baseline(tmp_path, "write").returncode == 0
    assert before in CODE
    (tmp_path / "s.h").write_text(CODE.replace(before, after, 1))
    found = check(tmp_path)
    expected = {key: state for key, state in {**SAME, **differing}.items() if state}
    assert (found["exit"], states(found), found["baseline"]["unneeded"]) == (exit_status, expected, unneeded)


STEPS = {
    # the paddings of s, each with a command that changes the baseline (or none), and the state of `apart` in the check after it
    "fixed, then broken again before anybody prunes": [(6, None, "known"), (7, None, None), (6, None, "known")],
    "fixed, pruned, then broken again": [(7, "prune", None), (6, None, "new")],
    "worse, accepted, then better, then worse again": [(3, "update", "known"), (6, None, "known"), (3, None, "known")],
    "worse, accepted, better, pruned, worse again": [(3, "update", "known"), (6, "prune", "known"), (3, None, "worse")],
    "prune accepts nothing new": [(3, "prune", "worse"), (6, None, "known")],
    "write accepts what is there": [(3, "write", "known"), (2, None, "worse")],
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", STEPS)
def test_steps(tmp_path, name):
    project(tmp_path)
    baseline(tmp_path, "write")
    for pad, command, state in STEPS[name]:
        (tmp_path / "s.h").write_text(CODE.replace("pad[6]", f"pad[{pad}]"))
        if command is not None:
            assert baseline(tmp_path, command).returncode == 0
        assert states(check(tmp_path)).get("apart s") == state


class TestFile:
    def test_it_is_a_sorted_line_for_each_finding_without_lines_counts_and_paths(self, tmp_path):
        project(tmp_path)
        assert baseline(tmp_path, "write").stdout == "base.toml: 3 findings accepted\n"
        text = (tmp_path / BASE).read_text()
        assert text.splitlines()[1:] == [
            'schema = "layoutlint/baseline/1"',
            "accept = [",
            '  { rule = "apart", struct = "s", outcome = "at-risk", share = "1/8", pairs = [["a", "z", "1/8"]] },',
            '  { rule = "small", struct = "s", outcome = "broken" },',
            '  { rule = "whole", struct = "t", fields = ["a_lock"], outcome = "at-risk", share = "1/8" },',
            "]",
        ]

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("what", ["write", "update", "prune"])
    def test_writing_it_again_gives_the_same_bytes(self, tmp_path, what):
        project(tmp_path)
        baseline(tmp_path, "write")
        text = (tmp_path / BASE).read_bytes()
        (tmp_path / "s.h").rename(tmp_path / "moved.h")
        assert baseline(tmp_path, what, inputs=("moved.h",)).returncode == 0
        assert (tmp_path / BASE).read_bytes() == text

    def test_neither_the_order_of_entries_nor_comments_count_and_reasons_stay(self, tmp_path):
        project(tmp_path)
        baseline(tmp_path, "write")
        head, *rows, end = (tmp_path / BASE).read_text().splitlines()[2:]
        rows[1] = rows[1].replace(" },", ', reason = "read once" },')
        text = "\n".join(['schema = "layoutlint/baseline/1"', head, *reversed(rows), "# ours", end, ""])
        (tmp_path / BASE).write_text(text)
        assert states(check(tmp_path)) == SAME
        assert baseline(tmp_path, "update").returncode == 0
        assert 'reason = "read once"' in (tmp_path / BASE).read_text()

    def test_only_a_baseline_is_replaced(self, tmp_path):
        project(tmp_path)
        for name in ("rules.toml", "notes.txt", "s.h"):
            (tmp_path / name).touch()
            before = (tmp_path / name).read_text() or "mine"
            (tmp_path / name).write_text(before)
            done = run("baseline", "write", name, "s.h", "--rules", "rules.toml", cwd=tmp_path)
            assert (done.returncode, (tmp_path / name).read_text()) == (2, before), done.stdout
        done = run("baseline", "prune", "none.toml", "s.h", "--rules", "rules.toml", cwd=tmp_path)
        assert done.returncode == 2
        assert not (tmp_path / "none.toml").exists()


ROW = '{ rule = "apart", struct = "s", outcome = "broken" }'
MISTAKES = {
    "": "1: a baseline has no `schema`",
    'schema = "layoutlint/baseline/2"': "1: this version reads `layoutlint/baseline/1`",
    'schema = "layoutlint/baseline/1"\naccept = [\n  {': "3: not TOML",
    'schema = "layoutlint/baseline/1"\naccept = [\n<<<<<<< ours\n]': "3: `<<<<<<<` is the mark of a merge conflict: remove the lines with marks",
    f'schema = "layoutlint/baseline/1"\naccept = [\n{ROW},\n=======\n]': "4: `=======` is the mark of a merge conflict",
    'schema = "layoutlint/baseline/1"\naccept = 1': "2: `accept` must be a list of tables",
    'schema = "layoutlint/baseline/1"\naccept = [\n  1]': "3: `accept`[0] must be a table",
    f'schema = "layoutlint/baseline/1"\naccept = [\n{ROW},\n{ROW.replace("rule", "ruel")}]': "4: unknown key `ruel`",
    f'schema = "layoutlint/baseline/1"\naccept = [\n{ROW.replace("broken", "kept")}]': "3: `outcome` cannot be `kept`",
    f'schema = "layoutlint/baseline/1"\naccept = [\n{ROW.replace("broken", "at-risk")}]': "3: an entry has no `share`",
    f'schema = "layoutlint/baseline/1"\naccept = [\n{ROW.replace("broken", "unknown")}]': "3: an entry has no `cause`",
    f'schema = "layoutlint/baseline/1"\naccept = [\n{ROW[:-2]}, share = "1/8" }}]': "3: `share` is for the outcome `at-risk`",
    **{
        f'schema = "layoutlint/baseline/1"\naccept = [{ROW.replace("broken", "at-risk")[:-2]}, share = {share} }}]': "2: `share` must be"
        for share in ('"9/8"', '"0/8"', '"1/0"', '"-1/8"', '"0.5"', "0.5", '"1/99999999999999"', '"١/٨"')
    },
    f'schema = "layoutlint/baseline/1"\naccept = [{ROW[:-2]}, pairs = [["a", "1/8"]] }}]': "2: `pairs` must be a list of pairs of fields, not of lists",
    f'schema = "layoutlint/baseline/1"\naccept = [{ROW[:-2]}, fields = [1] }}]': "2: `fields`[0] must be a string",
    'schema = "layoutlint/baseline/1"\naccept = ' + "[" * 100_000: "2: nested more than",
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_have_their_place_and_status_2(tmp_path, text):
    project(tmp_path)
    (tmp_path / BASE).write_text(text)
    done = run("check", "s.h", "--rules", "rules.toml", "--baseline", BASE, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{BASE}:{MISTAKES[text]}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.one_in(2)
@pytest.mark.parametrize("content", [b"\xff\xfe", b"\0" * 100], ids=["not UTF-8", "zeros"])
def test_a_file_that_is_no_text_is_refused(tmp_path, content):
    project(tmp_path)
    (tmp_path / BASE).write_bytes(content)
    done = run("check", "s.h", "--rules", "rules.toml", "--baseline", BASE, cwd=tmp_path)
    assert (done.returncode, done.stderr.startswith(f"{BASE}:1:")) == (2, True), done.stderr


@pytest.mark.exhaustive
def test_the_first_of_many_mistakes_are_reported(tmp_path):
    project(tmp_path)
    rows = ",\n".join(["{ rule = 1 }"] * 100_000)
    (tmp_path / BASE).write_text(f'schema = "layoutlint/baseline/1"\naccept = [\n{rows}]')
    done = run("check", "s.h", "--rules", "rules.toml", "--baseline", BASE, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 21)


def test_a_file_is_not_larger_than_what_is_read(tmp_path):
    name = "n" * 40_000
    code = "".join(f"struct {name}{number} {{ char c[65]; }};\n" for number in range(60))
    project(tmp_path, code, RULES.replace('struct = "?"', 'struct = "*"').split('why = "w"\n', 2)[2])
    done = baseline(tmp_path, "write")
    assert (done.returncode, "too many findings for a baseline" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / BASE).exists()
    (tmp_path / BASE).write_text('schema = "layoutlint/baseline/1"\n' + "#" * (1 << 21))
    done = run("check", "s.h", "--rules", "rules.toml", "--baseline", BASE, cwd=tmp_path)
    assert (done.returncode, f"{BASE}:1: longer than {1 << 21} characters" in done.stderr) == (2, True)


LACKING = CODE.replace("long z;", "long x;")
"""apart names a field that s lacks."""
REASONS = {
    # what replaces `long x;`: exit status and state of a rule that is accepted as unknown
    "as before": ("long x;", 0, "known"),
    "unknown for another reason": ("gone_t x;", 3, "not-compared"),
    "failing now": ("long z;", 1, "new"),
    "kept now": ("long w[8]; long z;", 0, None),
}


class TestUnknown:
    def test_it_is_accepted_only_on_demand(self, tmp_path):
        project(tmp_path, LACKING)
        done = baseline(tmp_path, "write")
        assert (done.returncode, "not accepted: apart: " in done.stderr) == (3, True)
        assert "apart" not in (tmp_path / BASE).read_text()
        found = check(tmp_path)
        assert (found["exit"], states(found)["apart s"]) == (3, "new")

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("name", REASONS)
    def test_what_was_accepted_stays_that(self, tmp_path, name):
        text, exit_status, state = REASONS[name]
        project(tmp_path, LACKING, RULES.split('[[rule]]\nid = "small')[0])
        assert baseline(tmp_path, "write", "--allow-unknown").returncode == 0
        assert 'cause = "missing-field"' in (tmp_path / BASE).read_text()
        (tmp_path / "s.h").write_text(LACKING.replace("long x;", text))
        found = check(tmp_path)
        assert (found["exit"], states(found).get("apart s")) == (exit_status, state)

    def test_an_input_that_cannot_be_read_is_never_accepted(self, tmp_path):
        project(tmp_path)
        (tmp_path / "bad.o").write_bytes(b"\x7fELF damaged")
        done = baseline(tmp_path, "write", inputs=("s.h", "bad.o"))
        assert (done.returncode, "bad.o" in done.stderr) == (3, True)
        assert check(tmp_path, inputs=("s.h", "bad.o"))["exit"] == 3

    @pytest.mark.parametrize("what", ["write", "update"])
    def test_a_run_that_read_nothing_writes_no_file(self, tmp_path, what):
        project(tmp_path)
        before = None
        if what == "update":
            baseline(tmp_path, "write")
            before = (tmp_path / BASE).stat().st_mtime_ns
        done = baseline(tmp_path, what, inputs=("gone.h",))
        assert (done.returncode, done.stdout) == (3, "")
        assert "base.toml was not written: no input could be read" in done.stderr
        assert ((tmp_path / BASE).stat().st_mtime_ns if before else (tmp_path / BASE).exists()) == (before or False)


class TestSeveralInputs:
    def test_findings_are_a_multiset(self, tmp_path):
        project(tmp_path)
        (tmp_path / "a.c").write_text(CODE)
        (tmp_path / "b.c").write_text("struct u { int ok; };")
        baseline(tmp_path, "write", inputs=("a.c", "b.c"))
        (tmp_path / "b.c").write_text("struct u { int ok; };\nstruct s { long a; long pad[6]; long z; long b[7]; long y; };")
        found = check(tmp_path, inputs=("a.c", "b.c"))
        assert (found["exit"], states(found)) == (1, {**SAME, "apart s": "known new", "small s": "known new"})

    def test_a_shared_header_counts_once_wherever_its_lines_are(self, tmp_path):
        project(tmp_path)
        for name in ("a.c", "b.c"):
            (tmp_path / name).write_text('#include "s.h"\n')
        subprocess.run(["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c", "a.c", "b.c"], cwd=tmp_path, check=True)
        assert baseline(tmp_path, "write", inputs=("a.o", "b.o")).stdout == "base.toml: 3 findings accepted\n"
        (tmp_path / "s.h").write_text("\n\n" + CODE)
        subprocess.run(["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c", "b.c"], cwd=tmp_path, check=True)
        found = check(tmp_path, inputs=("a.o", "b.o"))
        assert found["exit"] == 0
        assert set(states(found)["apart s"].split()) == {"known"}

    def test_what_a_run_does_not_judge_is_not_unneeded(self, tmp_path):
        project(tmp_path)
        baseline(tmp_path, "write")
        found = check(tmp_path, "--struct", "t")
        assert (found["exit"], found["baseline"]["unneeded"], found["baseline"]["not_judged"]) == (0, [], 2)
        assert baseline(tmp_path, "update", "--struct", "t").returncode == 0
        assert states(check(tmp_path)) == SAME


MATRIX = """
[axis.pad]
short = { flags = ["-DPAD=3"] }
long = { flags = ["-DPAD=6"] }
"""


class TestMatrix:
    def test_each_build_has_its_entries(self, tmp_path):
        project(tmp_path, CODE.replace("pad[6]", "pad[PAD]"))
        (tmp_path / "matrix.toml").write_text(MATRIX)
        words = ("--matrix", "matrix.toml")
        done = baseline(tmp_path, "write", *words)
        assert done.returncode == 0, done.stderr
        rows = [row for row in (tmp_path / BASE).read_text().splitlines() if "apart" in row]
        assert [("short" in row, "1/2" in row) for row in rows] == [(False, False), (True, True)]
        found = check(tmp_path, *words)
        assert (found["exit"], states(found)) == (0, SAME)
        (tmp_path / "matrix.toml").write_text(MATRIX.replace("PAD=6", "PAD=5"))
        found = check(tmp_path, *words)
        builds = next(one["builds"] for one in found["findings"] if one["rule"] == "apart")
        assert (found["exit"], {name: one["state"] for name, one in builds.items()}) == (1, {"long": "worse", "short": "known"})
        text = run("check", "s.h", *words, "--rules", "rules.toml", "--baseline", BASE, cwd=tmp_path).stdout
        assert "at-risk (2 of 8) in long; known to be at-risk (4 of 8) in short" in text

    def test_a_build_that_is_not_judged_keeps_its_entries(self, tmp_path):
        project(tmp_path, CODE.replace("pad[6]", "pad[PAD]"))
        (tmp_path / "matrix.toml").write_text(MATRIX)
        assert baseline(tmp_path, "write", "--matrix", "matrix.toml").returncode == 0
        before = (tmp_path / BASE).read_text()
        (tmp_path / "matrix.toml").write_text(MATRIX.replace('long = { flags = ["-DPAD=6"] }\n', ""))
        assert baseline(tmp_path, "prune", "--matrix", "matrix.toml").returncode == 0
        assert (tmp_path / BASE).read_text() == before


class TestReports:
    def test_text_counts_what_is_known_and_shows_it_on_demand(self, tmp_path):
        project(tmp_path, CODE)
        baseline(tmp_path, "write")
        project(tmp_path, CODE.replace("int ok", "int ok[17]").replace("a_lock[16]", "a_lock[8]"))
        words = ("check", "s.h", "--rules", "rules.toml", "--baseline", BASE)
        text = run(*words, cwd=tmp_path).stdout
        assert "baseline base.toml: 1 new, 0 worse, 2 known, 1 no longer needed" in text
        assert "-v shows offsets, evidence and 2 known findings" in text
        assert ("small (size)" in text, "apart (separate)" in text) == (True, False)
        assert "apart (separate)" in run(*words, "-v", cwd=tmp_path).stdout
        for format_ in ("concise", "github", "gitlab", "markdown", "checkstyle", "rdjson"):
            printed = run(*words, "--format", format_, cwd=tmp_path).stdout
            assert ("struct u" in printed, "struct s " in printed) == (True, False), format_
        junit = run(*words, "--format", "junit", cwd=tmp_path).stdout
        assert ('failures="1"' in junit, junit.count("accepted by the baseline")) == (True, 2)

    @pytest.mark.parametrize(("only", "others"), [
        ("u", "0 known, 3 not judged (of other structs, builds or parts)"),
        ("[su]", "2 known, 1 not judged (of another struct, build or part)"),
        ("[stu]", "3 known\n"),
    ])  # fmt: skip
    def test_text_counts_what_is_not_judged(self, tmp_path, only, others):
        project(tmp_path, CODE)
        baseline(tmp_path, "write")
        text = run("check", "s.h", "--rules", "rules.toml", "--baseline", BASE, "--struct", only, cwd=tmp_path).stdout
        assert others in text

    def test_sarif_states_and_fingerprints(self, tmp_path):
        project(tmp_path)
        baseline(tmp_path, "write")

        def results(pad: int) -> dict[str, tuple[str, str, str, str]]:
            (tmp_path / "s.h").write_text("\n" * pad + CODE.replace("pad[6]", f"pad[{pad}]"))
            words = ("check", "s.h", "--rules", "rules.toml", "--baseline", BASE, "--format", "sarif")
            (log,) = json.loads(run(*words, cwd=tmp_path).stdout)["runs"]
            return {
                one["ruleId"]: (one["baselineState"], *(one["partialFingerprints"][name] for name in ("layoutlint/v1", "primaryLocationLineHash")),
                                "".join(f"{each['kind']}: {each['justification']}" for each in one["suppressions"]))
                for one in log["results"]
            }  # fmt: skip

        first, second = results(6), results(3)
        assert {state for state, *_ in first.values()} == {"unchanged"}
        assert {accepted for *_, accepted in first.values()} == {f"external: accepted in {BASE}"}
        assert (second["apart"][3], second["whole"][3]) == ("", f"external: accepted in {BASE}")
        assert (second["apart"][0], second["whole"]) == ("updated", first["whole"])
        assert second["apart"][1] == first["apart"][1]
        assert second["apart"][2] != first["apart"][2]

    def test_the_cache_sees_another_baseline(self, tmp_path):
        project(tmp_path)
        baseline(tmp_path, "write")
        words = ("check", "s.h", "--rules", "rules.toml", "--baseline", BASE)
        cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        assert [run(*words, cwd=tmp_path, **cache).returncode for _ in range(2)] == [0, 0]
        (tmp_path / BASE).write_text('schema = "layoutlint/baseline/1"\n')
        assert run(*words, cwd=tmp_path, **cache).returncode == 1


def test_a_change_cannot_accept_its_own_findings(tmp_path):
    project(tmp_path)
    baseline(tmp_path, "write")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "m")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "s.h").write_text(CODE.replace("pad[6]", "pad[3]"))
    baseline(tmp_path, "update")
    assert [check(tmp_path, *words)["exit"] for words in ((), ("--policy-from", "HEAD"))] == [0, 1]


def test_two_processes_leave_one_whole_file(tmp_path):
    project(tmp_path)
    words = [sys.executable, "-m", "layoutlint", "baseline", "write", BASE, "s.h", "--rules", "rules.toml"]
    environment = {"PYTHONPATH": str(ROOT), "LAYOUTLINT_NO_CACHE": "1", "PATH": "/usr/bin:/bin"}
    started = [subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    for process in started:
        process.communicate(timeout=60)
    assert [process.returncode for process in started] == [0, 0]
    assert states(check(tmp_path)) == SAME
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
