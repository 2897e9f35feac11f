"""`layoutlint history` of a survey's store: what the inputs themselves give."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile

import pyarrow
import pytest
from pyarrow import parquet

from tests.commands.test_survey import RULES, btf
from tests.harness.command import ROOT, run
from tests.harness.tools import need

GAPS = {"near": 8, "far": 64, "wide": 4096}
SNAPSHOTS = [ROOT / "fixtures" / "kernel_layouts" / f"linux-{version}.json" for version in ("6.1", "6.12", "7.2")]
NOT_SHOWN = ("path", "name", "builds", "input", "inputs", "label")
"""Keys of the report that name the inputs, or say how these were read."""


@pytest.fixture
def folder(tmp_path):
    for name, gap in GAPS.items():
        (tmp_path / name).write_bytes(btf(gap))
    (tmp_path / "copy").write_bytes(btf(8))
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "junk").write_bytes(b"\x9f\xeb\x01\0" + b"\xff" * 60)
    return tmp_path


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory):
    """A folder with a store of `near`."""
    folder = tmp_path_factory.mktemp("surveyed")
    (folder / "near").write_bytes(btf(GAPS["near"]))
    (folder / "rules.toml").write_text(RULES)
    survey(folder, "near", "--rules", "rules.toml")
    return folder


@pytest.fixture
def stored(surveyed, tmp_path):
    return shutil.copytree(surveyed, tmp_path / "stored")


def survey(folder, *words: object) -> None:
    done = run("survey", *words, "--store", "store", "--workers", "1", "--format", "json", cwd=folder)
    assert done.stdout, done.stderr


def trace(folder, *words: object) -> tuple[int, dict]:
    done = run("history", *words, "--format", "json", cwd=folder)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.exhaustive
def test_kernels_are_as_from_their_files(tmp_path):
    """Sizes, offsets, verdicts of the shipped rules, and steps."""
    survey(tmp_path, *SNAPSHOTS)
    pair = ("--pair", "i_mmap", "i_mmap_rwsem")
    status, stored = trace(tmp_path, "store", "address_space", *pair)
    expected_status, expected = trace(tmp_path, *SNAPSHOTS, "address_space", *pair)
    assert (status, stored["order"]) == (expected_status, "version") == (0, "version")
    assert [build["size"] for build in stored["builds"]] == [192, 192, 152]
    for key in expected.keys() - set(NOT_SHOWN):
        assert stored[key] == expected[key], key


@pytest.mark.one_in(4)
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("inputs", "words", "status", "sizes"), [
    ("near far", (), 0, [72, 16]),
    ("near copy far", (), 0, [16, 72]),  # one layout, under the first name: `copy`
    ("near far junk", (), 3, [72, 16]),
    ("near far junk", ("--input", "n*"), 0, [16]),
    ("near far junk", ("--input", "n*", "--input", "j*"), 3, [16]),
])  # fmt: skip
def test_inputs_of_a_store(folder, inputs, words, status, sizes):
    survey(folder, *inputs.split(), "--rules", "rules.toml")
    code, found = trace(folder, "store", "ring", *words, "--rules", "rules.toml")
    assert (code, [build["size"] for build in found["builds"]]) == (status, sizes)
    outcomes = {16: "at-risk", 72: "kept"}
    assert found["rules"][0]["outcome"] == [outcomes[size] for size in sizes]


def test_a_store_and_a_new_build(folder):
    """Also if the new build has the name of an old one, or two stores have inputs of one name."""
    survey(folder, "near", "--rules", "rules.toml")
    (folder / "store").rename(folder / "old")
    (folder / "near").write_bytes(btf(64))
    survey(folder, "near", "--rules", "rules.toml")
    (folder / "near").write_bytes(btf(4096))
    _, found = trace(folder, "old", "store", "near", "ring", "--rules", "rules.toml")
    assert [build["size"] for build in found["builds"]] == [16, 72, 4104]


def test_an_archive_for_two_machines(folder):
    """Both builds have the name of the archive."""
    (folder / "ring.c").write_text("struct ring { long head, tail; } ring;")
    subprocess.run([need("gcc"), "-g", "-c", "ring.c"], cwd=folder, check=True)
    with tarfile.open(folder / "both.tar", "w") as archive:
        for name in ("far", "ring.o"):
            archive.add(folder / name, name)
    survey(folder, "both.tar", "--rules", "rules.toml")
    _, found = trace(folder, "store", "ring", "--rules", "rules.toml")
    assert sorted(build["size"] for build in found["builds"]) == [16, 72]


def test_two_definitions_in_one_input(folder):
    (folder / "both").mkdir()
    for name, text in {"a.c": "struct ring { long head; };", "b.c": "struct ring { int head; };"}.items():
        (folder / "both" / name).write_text(text)
    survey(folder, "both", "near", "--rules", "rules.toml")
    status, found = trace(folder, "store", "ring", "--rules", "rules.toml")
    assert status == 3
    assert {build["reason"] for build in found["builds"]} == {None, "2 different definitions"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "status", "message"), [
    (("store", "rings"), 3, "has no layout of rings; it has those of the survey's rules and of `--struct` (did you mean `ring`?)"),
    (("store", "ring", "--input", "x*"), 3, "has no layout of ring in these inputs"),
    (("near", "ring", "--input", "x*"), 2, "`--input` chooses inputs of a store, and no store is given"),
])  # fmt: skip
def test_mistakes(stored, words, status, message):
    done = run("history", *words, "--rules", "rules.toml", cwd=stored)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in " ".join(done.stderr.split())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("table", ["layouts", "readings", "runs"])
def test_a_damaged_store(stored, table):
    for path in (stored / "store" / table).glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-20])
    done = run("history", "store", "ring", "--rules", "rules.toml", cwd=stored)
    assert (done.returncode, done.stdout) == (3, "")
    assert "is damaged" in " ".join(done.stderr.split())


@pytest.mark.parametrize("text", ["", "x", "null", "struct ring { int head; };", '{"schema": "layoutlint/snapshot/1"', '{"schema": "layoutlint/snapshot/1"}'])
def test_a_record_that_is_no_snapshot(stored, text):
    (path,) = (stored / "store" / "layouts").glob("*.parquet")
    rows = parquet.read_table(path)
    number = rows.column_names.index("record")
    parquet.write_table(rows.set_column(number, rows.schema.field("record"), pyarrow.array([text])), path)
    done = run("history", "store", "ring", "--rules", "rules.toml", cwd=stored)
    assert done.returncode == 3
    assert "internal error" not in done.stderr
    assert "near" in done.stdout + done.stderr


def test_a_store_of_another_version(stored):
    (stored / "store" / "layoutlint-store.json").write_text('{"schema": "layoutlint/survey-store/99"}')
    done = run("history", "store", "ring", cwd=stored)
    assert (done.returncode, done.stdout) == (2, "")
    assert "version 99" in done.stderr
