"""The command line as its users meet it: arguments in; status, stdout and stderr out."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import click
import pytest

from layoutlint import cli
from layoutlint.commands import output_files as outputs
from layoutlint.commands.group import subcommands
from layoutlint.commands.option_records import OptionCommand, options_of, takes_one_value
from layoutlint.lint import run as run_lint
from tests.harness.command import ROOT, run

pytestmark = pytest.mark.usefixtures("own_processes")

EXAMPLE = ROOT / "docs" / "example"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a rule file at its top, a header that breaks it and one that keeps it."""
    top = tmp_path / "project"
    shutil.copytree(EXAMPLE, top)
    (top / ".git").mkdir()
    (top / "src" / "deep").mkdir(parents=True)
    return top


USAGE = [
    # id, arguments, the last line on stderr
    ("no input", ["check"], "Error: Missing argument 'INPUT...'."),
    ("no such command", ["chek"], "Error: No such command 'chek' (did you mean `check`?)."),
    ("no such option", ["check", "--strict", "ring.h"], "Error: No such option"),
    ("no such format", ["check", "ring.h", "--format", "xml"],
     "Error: Invalid value for '--format': 'xml' is not one of 'checkstyle', 'concise', 'github', 'gitlab', 'html', 'json', 'junit', 'markdown', 'rdjson', 'sarif', 'text'."),
    ("line size that is none", ["check", "ring.h", "--line-size", "100"],
     "Error: Invalid value for '--line-size': '100' is not a power of two"),
    ("line size of 0", ["check", "ring.h", "--line-size", "0"],
     "Error: Invalid value for '--line-size': '0' is not a power of two"),
    ("huge line size", ["check", "ring.h", "--line-size", "99999999999999999999"],
     "Error: Invalid value for '--line-size': '99999999999999999999' is not a power of two"),
    ("alignment that is none", ["check", "ring.h", "--min-align", "-8"],
     "Error: Invalid value for '--min-align': '-8' is not a power of two"),
    ("output without a file", ["check", "ring.h", "--output", "sarif"],
     "Error: --output 'sarif': expected F=FILE, where F is one of checkstyle, concise, github, gitlab, html, json, junit, markdown, rdjson, sarif, text (for example sarif=report.sarif)"),
    ("output of no format", ["check", "ring.h", "--output", "xml=a.xml"],
     "Error: --output 'xml=a.xml': expected F=FILE, where F is one of checkstyle, concise, github, gitlab, html, json, junit, markdown, rdjson, sarif, text (for example sarif=report.sarif)"),
    ("no such pack", ["check", "ring.h", "--pack", "kernel/lockng"],
     "Error: no shipped pack is called 'kernel/lockng' (did you mean `kernel/locking`?)"),
    ("fail on what", ["check", "ring.h", "--fail-on", "never"],
     "Error: Invalid value for '--fail-on': 'never' is not one of 'broken', 'at-risk'."),
    ("quote not closed", ["check", "ring.h", "--flags", "-DX='"], "Error: --flags \"-DX='\": no closing quotation"),
    ("no build folder", ["diff", "ring.h", "ring-fixed.h", "--build", "nowhere"], "Error: Invalid value for '--build': 'nowhere': no such folder"),
    ("no jobs", ["check", "ring.h", "--jobs", "0"], "Error: Invalid value for '--jobs' / '-j': 0 is not in the range 1<=x<=1024."),
    ("show nothing", ["show", "ring.h"], "Error: name some structs (`layoutlint show ring.h NAME`), or give --all"),
    ("show some and all", ["show", "ring.h", "ring", "--all"], "Error: --all prints every struct: leave the names out, or leave --all out"),
    ("explain what", ["explain", "seperate"], "Error: no kind and no rule is called 'seperate' (did you mean `separate`?)"),
    ("explain a misspelt rule", ["explain", "ring-side-apart"],
     "Error: no kind and no rule is called 'ring-side-apart' (did you mean `ring-sides-apart`?)"),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("arguments", "message"), [case[1:] for case in USAGE], ids=[case[0] for case in USAGE])
def test_bad_usage_is_2(project, arguments, message):
    done = run(*arguments, cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(message)  # newer versions of click add what was meant


TWICE = [
    ["check", "ring.h", "--struct", "other", "--struct=ring"],
    ["baseline", "write", "b.toml", "ring.h", "--struct", "ring", "--struct", "ring"],
    ["diff", "ring.h", "ring-fixed.h", "--line-size", "32", "--line-size", "64"],
    ["rules", "asserts", "ring", "--in", "ring.h", "--in", "ring-fixed.h"],
]


BEHIND_FLAGS = [
    # the arguments, the options that are named
    ("check q.h --no-packs -- --format json", ["--format"]),
    ("check q.h -- -Iinc --line-size=32 --rules r.toml", ["--line-size", "--rules"]),
    ("baseline write q.h --output b.toml -- --rules r.toml", ["--rules"]),
    ("show q.h --all -- --target=arm-linux-gnueabi --sysroot=.", []),
    ("show q.h --all -- -I. -DA=--format", []),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "named"), BEHIND_FLAGS)
def test_options_behind_the_flags_are_named(tmp_path, arguments, named):
    (tmp_path / "q.h").write_text("struct q { int a; };\n")
    text = run(*arguments.split(), cwd=tmp_path).stderr
    assert re.findall(r"note: (\S+) behind `--` is a compiler flag", text) == named


@pytest.mark.one_in(4)
@pytest.mark.parametrize("arguments", TWICE, ids=[words[0] for words in TWICE])
def test_an_option_with_one_value_drops_none_of_two(project, arguments):
    done = run(*arguments, cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    name = next(word for word in ("--in", "--line-size", "--struct") if word in arguments)
    assert done.stderr.splitlines()[-1] == f"Error: {name} is given more than once, and takes one value"


def commands(group: click.Group) -> list[click.Command]:
    found = [commands(each) if isinstance(each, click.Group) else [each] for each in subcommands(group).values()]
    return [command for part in found for command in part]


def names_below_headings(*words: str) -> list[str]:
    """The options and the commands that a help lists below its headings."""
    _, *sections = re.split(r"^\w[\w ]*:\n", run(*words).stdout, flags=re.MULTILINE)
    return [name for text in sections for name in re.findall(r"^  (?:-\w, )?([\w-]+)", text, re.MULTILINE)]


class TestHelp:
    def test_every_command_is_below_a_heading(self):
        assert sorted(names_below_headings("--help")) == sorted(["--version", "--help", *subcommands(cli.app)])

    def test_a_check_begins_with_what_is_used_most(self):
        short = names_below_headings("check", "--help")
        assert (short[:3], short[-1]) == (["--rules", "--pack", "--struct"], "--help-all")
        assert len(short) <= 15

    @pytest.mark.parametrize("name", ["check", "diff", "show", "survey run"])
    def test_all_options_are_listed_on_demand(self, name):
        command = cli.app
        for word in name.split():
            command = subcommands(command)[word]
        declared = {max(option.opts, key=len) for option in options_of(command) if not option.hidden}
        assert set(names_below_headings(*name.split(), "--help-all")) == declared | {"--help", "--help-all"}
        assert set(names_below_headings(*name.split(), "--help")) < declared | {"--help", "--help-all"}


def test_every_command_with_options_of_one_value_refuses_a_second():
    deciding = [command for command in commands(cli.app) if any(map(takes_one_value, command.params))]
    assert {"check", "show", "snapshot", "write", "import", "asserts"} <= {command.name for command in deciding}
    assert [command.name for command in deciding if not isinstance(command, OptionCommand)] == []


STATUS = [
    # id, arguments, status
    ("broken", ["check", "ring.h"], 1),
    ("kept", ["check", "ring-fixed.h"], 0),
    ("at risk fails", ["check", "ring.h", "--rules", "at-risk.toml"], 1),
    ("at risk fails not, when only broken does", ["check", "ring.h", "--rules", "at-risk.toml", "--fail-on", "broken"], 0),
    ("broken always fails", ["check", "ring.h", "--fail-on", "broken"], 1),
    ("small lines", ["check", "ring.h", "--line-size", "8"], 1),
    ("aligned objects", ["check", "ring.h", "--rules", "at-risk.toml", "--min-align", "64"], 0),
    ("one struct", ["check", "ring.h", "--struct", "ring"], 1),
    ("the last width and jobs", ["check", "ring.h", "--width", "60", "--width", "90", "--jobs", "1", "--jobs", "2"], 1),
    ("another struct", ["check", "ring.h", "--struct", "rung"], 3),
    ("a note", ["check", "ring.h", "--rules", "note.toml"], 0),
    ("struct nowhere", ["check", "empty.h"], 3),
    ("struct nowhere, allowed", ["check", "empty.h", "--allow-unknown"], 0),
    ("struct nowhere, ignored", ["check", "empty.h", "--ignore-missing"], 0),
    ("struct only declared, ignored", ["check", "declared.h", "--ignore-missing"], 0),
    ("struct only declared", ["check", "declared.h"], 3),
    ("struct declared here, defined there", ["check", "declared.h", "ring-fixed.h"], 0),
    ("misspelt field", ["check", "ring.h", "--rules", "misspelt.toml"], 3),
    ("misspelt field is not ignored", ["check", "ring.h", "--rules", "misspelt.toml", "--ignore-missing"], 3),
    ("broken outweighs unknown", ["check", "ring.h", "empty.h", "missing.h"], 1),
    ("unread outweighs kept", ["check", "ring-fixed.h", "missing.h"], 3),
    ("rule folder", ["check", "ring.h", "--rules", "."], 2),
    ("show", ["show", "ring.h", "ring"], 0),
    ("show a pattern", ["show", "ring.h", "r*"], 0),
    ("show all", ["show", "ring.h", "--all"], 0),
    ("show what is not there", ["show", "ring.h", "rung"], 3),
    ("show a name in no encoding", ["show", "ring.h", b"r\xff"], 3),
    ("show a name in no encoding, of a folder", ["show", ".", b"r\xff"], 3),
    ("check a name in no encoding", ["check", "ring.h", "--struct", b"r\xff"], 3),
    ("show what is not there, allowed", ["show", "ring.h", "rung", "--allow-unknown"], 0),
    ("explain a kind", ["explain", "separate"], 0),
    ("explain a rule of the project", ["explain", "ring-sides-apart"], 0),
    ("list rules", ["rules", "list"], 0),
    ("check rules", ["rules", "check", "layoutlint.toml"], 0),
    ("version", ["--version"], 0),
    ("help", ["--help"], 0),
]  # fmt: skip

EXTRA = {
    "at-risk.toml": '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "together"\nfields = ["slots", "cached_head"]\nwhy = "test"\n',
    "note.toml": '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nseverity = "note"\nwhy = "test"\n',
    "misspelt.toml": '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["heads"], ["tail"]]\nwhy = "test"\n',
    "empty.h": "struct other { int a; };\n",
    "declared.h": "struct ring;\nvoid enqueue(struct ring *, void *);\n",
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("arguments", "status"), [case[1:] for case in STATUS], ids=[case[0] for case in STATUS])
def test_status(project, arguments, status):
    for name, text in EXTRA.items():
        (project / name).write_text(text)
    done = run(*arguments, cwd=project)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.one_in(2)
@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_the_status_is_the_same_in_every_format(project, format_):
    assert run("check", "ring.h", "--format", format_, cwd=project).returncode == 1
    assert run("check", "ring-fixed.h", "--format", format_, cwd=project).returncode == 0


class TestRuleFileOfTheProject:
    def test_is_found_from_below(self, project):
        done = run("check", "../../ring.h", cwd=project / "src" / "deep")
        assert done.returncode == 1
        assert "ring-sides-apart" in done.stdout

    def test_is_not_looked_for_above_the_repository(self, project):
        (project / "src" / ".git").mkdir()
        (project / "src" / "ring.h").write_bytes((project / "ring.h").read_bytes())
        done = run("check", "ring.h", cwd=project / "src")
        assert done.returncode == 2
        assert "no rules apply to these inputs" in done.stderr

    def test_gives_way_to_rules_on_the_command_line(self, project):
        (project / "note.toml").write_text(EXTRA["note.toml"])
        assert "ring-sides-apart" not in run("check", "ring.h", "--rules", "note.toml", cwd=project).stdout


class TestOutput:
    def test_every_file_is_written_whatever_the_status(self, project):
        done = run("check", "ring.h", "--output", "json=a.json", "--output", "sarif=b.sarif", cwd=project)
        assert done.returncode == 1
        assert json.loads((project / "a.json").read_text())["exit"] == 1
        assert json.loads((project / "b.sarif").read_text())["version"] == "2.1.0"
        assert done.stdout

    def test_a_file_is_the_same_as_stdout(self, project):
        done = run("check", "ring.h", "--format", "json", "--output", "json=a.json", cwd=project)
        assert (project / "a.json").read_text() == done.stdout

    def test_a_file_that_cannot_be_written_is_reported(self, project):
        done = run("check", "ring.h", "--output", "json=no/such/folder.json", cwd=project)
        assert done.returncode == 2
        assert done.stderr == "layoutlint: cannot write no/such/folder.json: no such file or directory\n"

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, tmp_path, monkeypatch):
        target = tmp_path / "report.json"
        target.write_text("old")

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(Exception, match=r"report.json"):
            outputs.write_whole(str(target), "new")
        assert target.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_progress_and_troubles_stay_off_stdout(project):
    done = run("show", "ring.h", "ring", "rung", "--format", "json", "--progress", cwd=project)
    assert [struct["name"] for struct in json.loads(done.stdout)["structs"]] == ["ring"]
    assert "layoutlint: ring.h: no struct rung (did you mean `ring`?)\n" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_the_bytes_are_the_same_for_any_jobs(project, format_):
    inputs = ["ring.h", "ring-fixed.h", "missing.h", "declared.h"]
    (project / "declared.h").write_text(EXTRA["declared.h"])
    outputs = {
        run("check", *inputs, "--format", format_, *jobs, cwd=project, PYTHONHASHSEED=seed).stdout
        for seed, jobs in (("0", ()), ("1", ("--jobs", "2")), ("2", ("-j", "4")), ("3", ()))
    }
    assert len(outputs) == 1


def test_compiler_flags_behind_dashes_and_as_an_option(project):
    (project / "flagged.h").write_text("#ifdef WIDE\n#include <ring.h>\n#endif\n")
    assert run("check", "src/../flagged.h", "--", "-DWIDE", "-I.", cwd=project).returncode == 1
    assert run("check", "--flags", "-DWIDE -I.", "flagged.h", cwd=project).returncode == 1
    assert run("check", "flagged.h", cwd=project).returncode == 3


@pytest.mark.one_in(4)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "en_US.ISO-8859-1"])
@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_any_file_name_in_any_locale(project, locale, format_):
    """One that is no UTF-8, and one with letters that few locales have."""
    names = [os.fsdecode(b"\xff.h"), "\N{SNOWMAN}.h"]
    for name in names:
        shutil.copy(project / "ring.h", project / name)
    plain = {"LC_ALL": locale, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    outputs = [f"{format_}=written", "--format", format_]
    done = run("check", *map(os.fsencode, names), "--output", *outputs, cwd=project, **plain)
    assert (done.returncode, done.stderr if format_ != "github" else "") == (1, "")
    if format_ in ("json", "sarif"):
        assert json.loads(done.stdout) == json.loads((project / "written").read_text("utf-8"))


def test_explain_says_when(project):
    done = run("explain", "vma-refcount-apart-from-range", cwd=project)
    assert "\nwhen: SMP, PER_VMA_LOCK, Linux from 6.15 on\n" in done.stdout


def test_explain_says_why(project):
    done = run("explain", "ring-sides-apart", cwd=project)
    output = " ".join(done.stdout.split())
    assert "on a shared line every write takes the line from the other CPU" in output
    assert "struct ptr_ring" in output


def test_rules_list_names_every_shipped_rule():
    listed = run("rules", "list").stdout
    for path in (ROOT / "rules").rglob("*.toml"):
        if path.name.endswith(".cases.toml"):
            continue
        ids = [line.split('"')[1] for line in path.read_text().splitlines() if line.startswith("id = ")]
        assert ids or "annotated = true" in path.read_text()
        assert [id_ for id_ in ids if f"  {id_} " not in listed] == []


def test_rules_check_counts(project):
    text_message = "2 rules in 1 file, 2 cases: no mistakes\n"
    assert run("rules", "check", "layoutlint.toml", cwd=project).stdout == text_message


def test_an_internal_error_is_4_and_no_finding(project, monkeypatch, capsys):
    def crash(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.chdir(project)
    monkeypatch.setattr(run_lint, "check", crash)
    monkeypatch.setattr(sys, "argv", ["layoutlint", "check", "ring.h"])
    monkeypatch.delenv("LAYOUTLINT_DEBUG", raising=False)
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    output = "layoutlint: internal error: ZeroDivisionError: division by zero (LAYOUTLINT_DEBUG=1 shows where)\n"
    assert (exit_.value.code, *capsys.readouterr()) == (4, "", output)


def test_an_interrupted_run_is_no_finding(project, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(project)
    monkeypatch.setattr(run_lint, "check", interrupt)
    monkeypatch.setattr(sys, "argv", ["layoutlint", "check", "ring.h"])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 130


def test_colour_only_where_it_is_asked_for(project):
    assert "\x1b[" not in run("check", "ring.h", cwd=project).stdout
    assert "\x1b[" in run("check", "ring.h", "--color", "always", cwd=project).stdout
    assert "\x1b[" not in run("check", "ring.h", "--color", "never", cwd=project, FORCE_COLOR="1").stdout


def test_an_input_without_structs_is_said_to_have_none(tmp_path):
    (tmp_path / "plain.h").write_text("typedef int number;\n")
    done = run("show", "plain.h", "--all", "--format", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["structs"]) == (0, [])
    assert done.stderr == "layoutlint: note: plain.h defines no structs or unions\n"


WIDTHS = [
    # options, environment, the columns at which text is wrapped
    ((), {}, 100),
    ((), {"COLUMNS": "72"}, 72),
    ((), {"COLUMNS": "300"}, 100),
    ((), {"COLUMNS": "12"}, 60),
    ((), {"COLUMNS": "wide"}, 100),
    (("--width", "64"), {"COLUMNS": "90"}, 64),
    (("--width", "140"), {}, 140),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("options", "environment", "columns"), WIDTHS)
def test_text_is_wrapped_at_a_width(options, environment, columns, tmp_path):
    (tmp_path / "r.toml").write_text(
        f'[[rule]]\nid = "r"\nstruct = "ring"\nkind = "size"\nmax = 1\nwhy = "{"word " * 100}end"\n'
    )
    done = run("check", "docs/example/ring.h", "--rules", tmp_path / "r.toml", *options, **environment)
    longest = max(len(row) for row in done.stdout.splitlines() if row.startswith(("  why: word", "       word")))
    assert columns - len(" word") < longest <= columns


PASTED = ("    { rule", "  to accept it:")
HEADLINE = re.compile(r"\S+:\d+: (error|warning|note): ")
"""For editors and grep, which want it in one line."""
REPORTS = [
    # a text report, and its columns without COLUMNS
    ("check docs/example/ring.h --rules docs/example -v", 100),
    ("show docs/example/ring.h ring", 100),
    ("explain separate", 100),
    ("diff docs/example/ring.h docs/example/ring-fixed.h --rules docs/example", 75),
    ("history docs/example/ring.h docs/example/ring-fixed.h ring --rules docs/example", 75),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("command", "columns"), REPORTS)
def test_every_report_heeds_columns_and_the_option(command, columns):
    plain, option, variable = (
        [
            row for row in run(*command.split(), *more, **environment).stdout.splitlines()
            if not row.startswith(PASTED) and not HEADLINE.match(row)
        ]
        for more, environment in (((), {}), (("--width", "61"), {}), ((), {"COLUMNS": "61"}))
    )
    assert option == variable != plain
    assert max(map(len, variable)) <= 61 < max(map(len, plain)) <= columns


COLOURS = [
    ((), {}, False),
    ((), {"FORCE_COLOR": "1"}, True),
    ((), {"CLICOLOR_FORCE": "1"}, True),
    ((), {"CLICOLOR_FORCE": "0"}, False),
    ((), {"FORCE_COLOR": ""}, False),
    ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ((), {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    (("--color", "always"), {"NO_COLOR": "1"}, True),
    (("--color", "never"), {"FORCE_COLOR": "1"}, False),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("options", "environment", "is_colored"), COLOURS)
def test_colours_of_a_pipe(options, environment, is_colored):
    for command in (("check", "docs/example/ring.h", "--rules", "docs/example"), ("show", "docs/example/ring.h", "ring")):
        assert ("\x1b[" in run(*command, *options, **environment).stdout) is is_colored


TEXT_OPTIONS = [
    (("-q", "-v"), "--quiet and --verbose contradict each other"),
    (("-v", "--format", "json"), "--verbose is for --format text"),
    (("--statistics", "--format", "concise"), "--statistics is for --format text"),
    (("--width", "20"), "20 is not in the range 60<=x<=1000"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("options", "message"), TEXT_OPTIONS)
def test_options_of_text_without_effect_are_refused(options, message):
    done = run("check", "docs/example/ring.h", "--rules", "docs/example", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_quiet_and_concise_are_for_scripts():
    command = ("check", "docs/example/ring.h", "--rules", "docs/example", "--format", "concise", "-q")
    rows = run(*command).stdout.splitlines()
    assert rows == [row for row in run(*command[:-1]).stdout.splitlines() if not row.startswith("layoutlint:")]
    assert [row.partition(": ")[0] for row in rows] == ["docs/example/ring.h:5", "docs/example/ring.h:6"]
    kept = ("check", "docs/example/ring-fixed.h", "--rules", "docs/example", "-q")
    assert (run(*kept).stdout, run(*kept).returncode) == ("", 0)


def test_a_text_file_has_the_width_of_its_option_only(tmp_path):
    out = tmp_path / "report.txt"
    command = ("check", "docs/example/ring.h", "--rules", "docs/example", "--output", f"text={out}", "-v")
    done = run(*command, COLUMNS="60")
    assert out.read_text() == run(*command[:-3], "-v").stdout != done.stdout
