"""`layoutlint survey`: many inputs into a store of Parquet files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from layoutlint.surveys.store import arrow_schema
from layoutlint.surveys.tables import DIGESTS, RUNS, TABLES
from tests.harness import json_schemas
from tests.harness.command import ROOT, WITHOUT_CACHE, run
from tests.readers.archives import made
from tests.readers.archives.test_archives import compile_object
from tests.readers.btf.btf_blob import INT, STRUCT, VAR, Strings, blob, record
from tools.documents import survey_store as survey_doc

RULES = """
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "w"
[struct.ring]
placement = "aligned:8"
"""
VOLATILE = ("ended", "seconds", "processor_seconds", "memory", "attempts", "reused", "cache_hits", "cache_misses")
"""Columns of `runs` in which equal runs differ."""


def btf(gap: int) -> bytes:
    """A ring whose tail is so many bytes behind its head."""
    strings = Strings("ring", "head", "tail", "long")
    at = strings.add
    ring = record(at("ring"), STRUCT, gap + 8, at("head"), 1, 0, at("tail"), 1, gap * 8, vlen=2)
    return blob(record(at("long"), INT, 8, 64) + ring + record(at("ring"), VAR, 2, 1), strings.bytes)


@pytest.fixture
def folder(tmp_path):
    for name, gap in {"near": 8, "far": 64, "wide": 4096}.items():
        (tmp_path / name).write_bytes(btf(gap))
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "junk").write_bytes(b"\x9f\xeb\x01\0" + b"\xff" * 60)
    return tmp_path


ONE = ("--workers", "1")


def survey(
    folder, *words: str, store: str = "store", rules: tuple[str, ...] = ("--rules", "rules.toml"), workers: tuple[str, ...] = ONE,
    **environment: str,
):
    workers = () if "--workers" in rules else workers
    done = run("survey", *words, "--store", store, *rules, *workers, "--format", "json", cwd=folder, **environment)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def rows(store: Path, table: str, leave_out: tuple[str, ...] = ()) -> list[dict]:
    found = [row for path in sorted((store / table).glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]
    return sorted(({k: v for k, v in row.items() if k not in leave_out} for row in found), key=repr)


def dataset(store: Path) -> dict[str, list[dict]]:
    return {table: rows(store, table, VOLATILE if table == RUNS else ()) for table in TABLES}


def test_a_second_run_does_what_is_new(folder):
    (folder / "copy").write_bytes(btf(8))
    names = ("near", "far", "copy", "junk", "gone")
    status, first = survey(folder, *names)
    assert (status, first["inputs"], first["new"], first["present"]) == (1, 5, 4, 1)
    assert first["outcomes"] == {"complete": 3, "incomplete": 0, "without-debug-information": 0, "failed": 2}
    assert first["verdicts"] == {"kept": 1, "broken": 0, "at-risk": 2, "unknown": 0}
    assert [(each["input"], each["failure"]) for each in first["failures"]] == [("gone", "unread"), ("junk", "unread")]
    status, second = survey(folder, *names, "wide")
    assert (status, second["new"], second["present"]) == (1, 2, 4)  # a file that is missing may come
    assert (second["verdicts"]["kept"], second["outcomes"]["complete"]) == (2, 4)
    by_input = {row["input"]: row for row in rows(folder / "store", RUNS)}
    assert by_input["copy"]["key"] == by_input["near"]["key"]
    assert len(rows(folder / "store", "verdicts")) == 3


JOB = 'inputs = ["n*r", "far", "junk"]\nrules = ["rules.toml"]\nstructs = ["ring"]\n[limits]\ntask_seconds = 100\ntask_memory = "1 GiB"\n'


def test_a_job_fills_the_store_as_the_schema_says(folder):
    (folder / "job.toml").write_text(JOB)
    done = run("survey", folder / "job.toml", "--store", folder / "store", "--workers", "1", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["inputs"]) == (1, 3)
    assert [row["struct"] for row in rows(folder / "store", "layouts")] == ["ring", "ring"]
    document = json.loads(json.dumps({table: rows(folder / "store", table) for table in TABLES}, default=str))
    assert [error.message for error in json_schemas.validator("survey-store").iter_errors(document)] == []
    assert all(document.values())
    assert not list((folder / "store").rglob(".new-*"))
    for table in TABLES:
        for path in (folder / "store" / table).iterdir():
            assert parquet.read_schema(path).remove_metadata() == arrow_schema(table)


def test_queries_of_the_document_and_the_report(folder):
    import duckdb

    (folder / "job.toml").write_text(JOB)
    run("survey", "job.toml", "--store", "store", "--workers", "1", cwd=folder)
    queries = re.findall(r"```sql\n(.*?)```", survey_doc.PATH.with_name("survey.md").read_text(), re.S)
    found = [duckdb.sql(query.replace("'store/", f"'{folder}/store/")).fetchall() for query in queries]
    assert found[0] == [("near", "apart", "ring", "at-risk", 7, 8)]
    assert found[1] == [(None, "unknown64-le", "tail", 8), (None, "unknown64-le", "tail", 64)]
    assert [(kind, count) for kind, _, count in found[2]] == [("unread", 1)]
    report = json.loads(run("survey", "report", "store", "--format", "json", cwd=folder).stdout)
    assert [(rule["rule"], rule["at_risk"], rule["kept"], rule["inputs"]) for rule in report["rules"]] == [("apart", 1, 1, ["near"])]
    assert [(each["struct"], each["layouts"], each["differs"]) for each in report["structs"]] == [("ring", 2, "between-builds")]
    assert [(each["input"], each["failure"]) for each in report["failures"]] == [("junk", "unread")]
    assert run("survey", "report", "store", "--format", "csv", cwd=folder).stdout.splitlines()[1].startswith("apart,ring,at-risk,near,,")


LONG = "a/folder/" + "with-a-long-name/" * 8 + "near"


WIDTHS = {(): (100, False), ("--width", "60"): (60, False), ("--width", "250"): (250, True), ("-v",): (250, True)}
"""Options, with the columns of a report, and whether it has whole names."""


def test_the_report_fits_its_columns(folder):
    (folder / LONG).parent.mkdir(parents=True)
    (folder / LONG).write_bytes(btf(8))
    run("survey", LONG, "far", "--store", "store", "--rules", "rules.toml", "--workers", "1", cwd=folder)
    for options, (columns, has_whole_name) in WIDTHS.items():
        text = run("survey", "report", "store", *options, cwd=folder).stdout
        assert max(map(len, text.splitlines())) <= columns
        assert (LONG in text) == has_whole_name
        assert has_whole_name or text.count("a/folder/with") == text.count("name/near") == 3


@pytest.mark.parametrize(("glob", "structs"), [("*", 2), ("shared", 1)])
def test_an_input_is_read_once(folder, glob, structs):
    """DWARF 4 does not state alignments: uses and addresses narrow them, in the same reading."""
    (folder / "a.deb").write_bytes(made.deb((("usr/lib/one.o", compile_object(folder, 1, "-gdwarf-4")),)))
    _, found = survey(folder, "a.deb", rules=("--struct", glob), XDG_CACHE_HOME=str(folder / "cache"))
    assert (found["structs"], found["cost"]["cache_hits"], found["cost"]["cache_misses"]) == (structs, 0, 1)


def test_the_document_is_that_of_the_code():
    assert survey_doc.PATH.read_text() == survey_doc.text(), "run `python -m tools.documents.survey_store`"


@pytest.mark.exhaustive
def test_rows_are_the_same_in_any_order_and_number(folder):
    for number in range(8):
        (folder / f"many{number}").write_bytes(btf(8 + 8 * number))
    names = sorted(path.name for path in folder.glob("many*"))
    survey(folder, *names, store="one", rules=("--rules", "rules.toml", "--workers", "1"))
    survey(folder, *reversed(names), store="four", rules=("--rules", "rules.toml", "--workers", "4"))
    assert dataset(folder / "one") == dataset(folder / "four")


MISTAKES = {
    'input = ["near"]\n': "job.toml:1: unknown key `input` in a job (did you mean `inputs`?)",
    'inputs = "near"\n': "job.toml:1: `inputs` must be a list of strings, not a string",
    'inputs = ["*.none"]\n': "job.toml:1: `inputs` has `*.none`, which matches no file",
    'inputs_from = ["gone.txt"]\n': "job.toml:1: `inputs_from` has `gone.txt`: no such file or directory",
    'inputs = ["near"]\n[limits]\ntask_seconds = 0\n': "job.toml:3: `task_seconds` must be more than 0 and at most 604,800, not 0",
    'inputs = ["near"]\n[limits]\ntask_memory = "1M"\n': "job.toml:3: `task_memory` cannot be `1M`: a task needs at least 64 MiB",
    'inputs = ["near"]\npacks = ["none"]\n': "no shipped pack is called 'none'",
    'inputs = ["near"]\nrules = ["gone.toml"]\n': "gone.toml: no such file or directory",
    'inputs = ["near"]\nrules = ["junk"]\n': "junk:",
    "inputs = [": "job.toml:1: not TOML",
    "": "job.toml:1: a job has no `inputs`",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_end_a_run_before_its_first_task(folder, text):
    (folder / "job.toml").write_text(text)
    done = run("survey", "job.toml", "--store", "store", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert MISTAKES[text] in done.stderr
    assert not (folder / "store").exists()


STORES = {
    "notes.txt": ("hello", "is not a store, and not empty"),
    "layoutlint-store.json": ("{", "is not a store: layoutlint-store.json is damaged"),
    "./layoutlint-store.json": ('{"schema": "layoutlint/survey-store/9"}', "is a store of version 9"),
    "././layoutlint-store.json": ('{"schema": "layoutlint/show/1"}', "is not a store"),
}


@pytest.mark.parametrize("name", STORES)
def test_another_folder_is_refused(folder, name):
    text, message = STORES[name]
    (folder / "store").mkdir()
    (folder / "store" / name).write_text(text)
    done = run("survey", "near", "--store", "store", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_store_that_is_a_file_is_refused(folder):
    done = run("survey", "near", "--store", "far", cwd=folder)
    assert (done.returncode, done.stdout, "far: not a directory" in done.stderr) == (2, "", True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("blocks", [1, 4, 8])
def test_a_full_disk_ends_a_run_with_whole_files_only(folder, blocks):
    """As files that may not be larger do; the next run does what is missing."""
    words = [sys.executable, "-m", "layoutlint", "survey", "near", "far", "--store", "store", "--rules", "rules.toml", "--workers", "1"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **WITHOUT_CACHE}
    limit = ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh"]
    done = subprocess.run([*limit, *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write store/" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((folder / "store").rglob(".new-*"))
    for path in (folder / "store").rglob("*.parquet"):
        parquet.read_table(path)
    assert survey(folder, "near", "far")[1]["outcomes"]["complete"] == 2
    survey(folder, "near", "far", store="whole")
    assert dataset(folder / "store") == dataset(folder / "whole")


def test_what_killed_tasks_left_is_removed(folder):
    survey(folder, "near")
    old, new = (folder / "store/layouts" / name for name in (".new-old", ".new-new"))
    for path in (old, new):
        path.write_text("unfinished")
    os.utime(old, (1, 1))
    assert survey(folder, "near")[1]["present"] == 1
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("table", [RUNS, DIGESTS])
def test_a_damaged_file_of_a_store_is_named_and_can_be_removed(folder, table):
    os.utime(folder / "near", (1, 1))
    survey(folder, "near")
    time.sleep(2.1)  # a file that changed just now has no digest in the store
    survey(folder, "near", "far")
    path = next((folder / "store" / table).iterdir())
    path.write_bytes(path.read_bytes()[:20])
    done = run("survey", "near", "--store", "store", "--rules", "rules.toml", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{path.relative_to(folder)}: is damaged: " in done.stderr
    assert "remove it, and the next run does its part again" in done.stderr
    path.unlink()
    assert survey(folder, "near")[1]["outcomes"]["complete"] == 1


def test_a_missing_library_is_named(folder):
    (folder / "without").mkdir()
    (folder / "without/pyarrow.py").write_text("raise ModuleNotFoundError(name='pyarrow')")
    done = run("survey", "near", "--store", "store", cwd=folder, PYTHONPATH=str(folder / "without"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "pip install 'layoutlint[survey]'" in done.stderr


@pytest.mark.exhaustive
class TestLimits:
    def test_a_task_that_takes_long_is_stopped_and_run_again_on_demand(self, folder):
        limits = ("--task-seconds", "0.001")
        status, found = survey(folder, "near", rules=("--rules", "rules.toml", *limits))
        assert (status, found["failures"][0]["failure"], found["failures"][0]["attempts"]) == (3, "timed-out", 2)
        status, found = survey(folder, "near")
        assert (status, found["new"], found["outcomes"]["failed"]) == (3, 0, 1)
        status, found = survey(folder, "near", "--retry-failed")
        assert (status, found["new"], found["outcomes"]["complete"]) == (1, 1, 1)
        assert survey(folder, "near")[1]["present"] == 1

    def test_a_killed_run_leaves_complete_files(self, folder):
        for number in range(60):
            (folder / f"many{number}").write_bytes(btf(8 + 8 * number))
        names = sorted(path.name for path in folder.glob("many*"))
        words = [sys.executable, "-m", "layoutlint", "survey", *names, "--store", "store", "--rules", "rules.toml"]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **WITHOUT_CACHE}
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        while len(list((folder / "store").glob("verdicts/*.parquet"))) < 8:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path in (folder / "store").rglob("*.parquet"):
            parquet.read_table(path)
        status, found = survey(folder, *names)
        assert (status, found["inputs"], found["outcomes"]["complete"]) == (1, 60, 60)
        survey(folder, *names, store="whole")
        assert dataset(folder / "store") == dataset(folder / "whole")

    def test_two_surveys_write_to_one_store(self, folder):
        for number in range(16):
            (folder / f"many{number}").write_bytes(btf(8 + 8 * number))
        names = sorted(path.name for path in folder.glob("many*"))
        words = [sys.executable, "-m", "layoutlint", "survey", "--store", "store", "--rules", "rules.toml"]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **WITHOUT_CACHE}
        both = [
            subprocess.Popen([*words, *part], cwd=folder, env=environment, stdout=subprocess.DEVNULL)
            for part in (names[:12], names[4:][::-1])
        ]
        assert [process.wait() for process in both] == [1, 1]
        assert survey(folder, *names)[1]["new"] == 0
        survey(folder, *names, store="whole")
        for table in set(TABLES) - {RUNS}:
            assert rows(folder / "store", table) == rows(folder / "whole", table)


@pytest.mark.exhaustive
def test_names_come_from_standard_input(folder):
    (folder / "a\nb").write_bytes(btf(8))
    words = ("survey", "-", "--store", "store", "--rules", "rules.toml")
    done = run(*words, cwd=folder, given=b"a\nb\0far\0gone\x1b[1m\0")
    assert done.returncode == 1
    assert "gone\\x1b[1m: failed (unread)" in done.stdout
    assert "3 inputs: 3 new, 0 already there" in done.stdout
    assert {row["input"] for row in rows(folder / "store", RUNS)} == {"a\nb", "far", "gone\x1b[1m"}


def test_pipes_and_devices_are_not_waited_for(folder):
    os.mkfifo(folder / "pipe")
    status, report = survey(folder, "pipe", "/dev/zero", "near")
    assert (status, report["outcomes"]) == (1, {"complete": 1, "incomplete": 0, "without-debug-information": 0, "failed": 2})
    assert all("is a pipe or a device" in each["message"] for each in report["failures"])


def without_debug_information(folder: Path) -> dict[str, bytes]:
    """Inputs without debug information, by the reasons why."""
    bare = compile_object(folder, 1, "-g0")
    return {
        "bare.o": bare,
        "program.deb": made.deb((("usr/bin/one", bare), ("usr/bin/two", bare))),
        "texts.deb": made.deb((("usr/share/doc/README", b"text\n"),)),
        "static.a": made.ar((("one.o", bare), ("two.o", bare))),
    }


@pytest.mark.exhaustive
def test_inputs_without_debug_information_are_neither_complete_nor_failed(folder):
    whole = compile_object(folder, 2)
    bare = without_debug_information(folder)
    others = {
        "whole.deb": made.deb((("usr/lib/whole.o", whole),)),
        "mixed.deb": made.deb((("usr/lib/whole.o", whole), ("usr/lib/bare.o", bare["bare.o"]))),
        "cut.deb": bare["program.deb"][:-100],
    }
    for name, content in {**bare, **others}.items():
        (folder / name).write_bytes(content)
    status, found = survey(folder, *bare, *others, rules=("--struct", "shared"))
    assert (status, found["outcomes"]) == (3, {"complete": 1, "incomplete": 1, "without-debug-information": 4, "failed": 1})
    assert [each["input"] for each in found["failures"]] == ["cut.deb", "mixed.deb"]
    outcomes = {row["input"]: (row["outcome"], row["failure"]) for row in rows(folder / "store", RUNS)}
    assert {name for name, outcome in outcomes.items() if outcome == ("without-debug-information", None)} == {*bare}
    kinds = [row["kind"] for row in rows(folder / "store", "problems")]
    assert sorted(kinds) == ["unread", *["without-debug-information"] * (len(bare) + 1)]
    report = json.loads(run("survey", "report", "store", "--format", "json", cwd=folder).stdout)
    assert report["without_debug_information"] == sorted(bare)
    assert [each["input"] for each in report["failures"]] == ["cut.deb", "mixed.deb"]
    assert (survey(folder, *bare, rules=("--struct", "shared"))[1]["new"], survey(folder, *bare, rules=("--struct", "shared", "--allow-unknown"))[0]) == (0, 0)


@pytest.mark.exhaustive
def test_a_member_is_not_read_again_while_its_archive_stays_the_same(folder):
    members = [(f"usr/lib/{number}.o", compile_object(folder, number)) for number in (1, 2)]
    (folder / "a.deb").write_bytes(made.deb(members))
    names = [f"a.deb:{name}" for name, _ in members]
    rules = ("--struct", "own_*")
    assert survey(folder, *names, rules=rules)[1]["new"] == 2
    assert survey(folder, *names, rules=rules)[1]["new"] == 0
    assert {row["struct"] for row in rows(folder / "store", "layouts")} == {"own_1", "own_2"}
    (folder / "a.deb").write_bytes(made.deb([*members, ("usr/lib/3.o", compile_object(folder, 3))]))
    assert survey(folder, *names, rules=rules)[1]["new"] == 2
    status, found = survey(folder, "a.deb:usr/lib/gone.o", rules=rules)
    assert (status, found["failures"][0]["failure"]) == (3, "unread")


DAMAGED = [
    # a table, a column, its values: whole Parquet files that no survey writes
    ("runs", "input", pyarrow.nulls(1, pyarrow.string())), ("readings", "target", pyarrow.nulls(1, pyarrow.string())),
    ("runs", "outcome", pyarrow.array([[1, 2]])), ("runs", "seconds", pyarrow.array(["x"])), ("layouts", "struct", pyarrow.array([True])),
    ("runs", "input", pyarrow.StringArray.from_buffers(1, *pyarrow.array([b"\xff\xfe"]).buffers()[1:])),
    ("readings", "target", pyarrow.StringArray.from_buffers(1, *pyarrow.array([b"\xff\xfe"]).buffers()[1:])),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("table", "column", "value"), DAMAGED)
def test_damaged_values_end_a_report(folder, table, column, value):
    survey(folder, "near")
    (path,) = (folder / "store" / table).glob("*.parquet")
    whole = parquet.read_table(path)
    values = pyarrow.concat_arrays([value] * len(whole))
    parquet.write_table(whole.set_column(whole.schema.get_field_index(column), column, values), path)
    for form in ("text", "json", "csv"):
        done = run("survey", "report", "store", "--format", form, cwd=folder)
        assert done.returncode in (0, 1, 3), done.stderr
        assert form != "text" or (done.returncode, "is damaged" in done.stderr) == (3, True)
