"""Damaged inputs, a bounded number of them, those that once broke a promise, and that the harness sees what it is for."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

import pytest

from layoutlint import cli
from tests.harness.command import ROOT
from tests.harness.effort import draws
from tools.fuzz import cases, command, inputs, minimise, trial
from tools.fuzz.inputs import Command, Input
from tools.fuzz.judge import problems
from tools.fuzz.run import Plan, many
from tools.fuzz.seeds import FOLDER, RECIPES, SOURCE, Seed, seeds

COUNT = draws(2000, 6000)
SECONDS = draws(15, 45)
"""Inputs of every run of the tests, and when a slow machine stops before: it must have done a tenth."""

SEEDS = {seed.name: seed for seed in seeds()}


def undamaged_input(seed: Seed) -> Input:
    return Input(0, seed, seed.files[0][0], seed.files[0][1], inputs.check(seed.recipe.rules), ())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_is_read(name, tmp_path, monkeypatch):
    tried = undamaged_input(SEEDS[name])
    assert trial.run_alone(tried) == []
    command.put(tmp_path, tried.files)
    monkeypatch.chdir(tmp_path)
    done = command.run(tried.words)
    assert (done.status, done.stderr) == (SEEDS[name].recipe.status, b""), done.stdout


def test_every_seed_has_its_recipe():
    assert sorted(path.name for path in FOLDER.iterdir() if path != SOURCE) == sorted(recipe.name for recipe in RECIPES)


@pytest.mark.exhaustive
def test_damaged_inputs_break_no_promise():
    summary = many(Plan(COUNT, seed=0, end=time.monotonic() + SECONDS), keep=lambda violation: True)
    assert [(v.number, v.problems) for v in summary.violations] == []
    assert summary.done >= COUNT / 10
    assert min(summary.statuses[0], summary.statuses[3]) > summary.done / 20, "inputs are not damaged enough, or too much"


FOUND = sorted(path.parent for path in cases.FOUND.glob("*/case.toml"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("folder", FOUND, ids=lambda folder: folder.name)
def test_what_was_found_stays_fixed(folder):
    assert trial.run_alone(cases.load(folder)) == [], cases.what(folder)


@pytest.mark.exhaustive
def test_a_number_means_the_same_input_everywhere():
    program = ("import hashlib; from tools.fuzz import inputs; "
               "print(hashlib.sha256(repr([inputs.input_of(n, 7) for n in range(150)]).encode()).hexdigest())")  # fmt: skip
    given = {subprocess.run([sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
                            capture_output=True, text=True, check=True).stdout.strip() for seed in "01"}  # fmt: skip
    assert given == {hashlib.sha256(repr([inputs.input_of(n, 7) for n in range(150)]).encode()).hexdigest()}


def hang() -> None:
    while True:
        pass


def eat() -> None:
    bytearray(1 << 31)


def raise_() -> None:
    raise KeyError("size")


def end() -> None:
    os._exit(0)


def crash() -> None:
    os.abort()


def say_nothing() -> None:
    sys.exit(0)


def be_wrong() -> None:
    sys.exit(2)


FAULTS = [
    # what `main` does, what the harness says of it
    (hang, "hang: more than "),
    (eat, "MemoryError escapes from main: "),
    (raise_, "KeyError escapes from main: "),
    (end, "the process exits with "),
    (crash, "killed by SIGABRT"),
    (say_nothing, "the report is no JSON: "),
    (be_wrong, "exit status 2: "),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("fault", "message"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_the_harness_sees_faults_of_the_program(fault, message, monkeypatch):
    monkeypatch.setattr(cli, "main", fault)
    monkeypatch.setattr(trial, "SECONDS", 0.5)
    assert [problem[: len(message)] for problem in trial.run_alone(undamaged_input(SEEDS["btf-raw"]))[:1]] == [message]


CHECK = Command(("check", "input"), rules=("mine",))
SHOW = Command(("show", "input", "ring", "--format", "json"), names=("ring",))
ALL = Command(("show", "input", "--all", "--format", "json"))
KEPT = '{"rule": "mine", "struct": "ring", "outcome": "kept", "fields": [], "placements": {"total": 8}}'
REPORT = '{"exit": %d, "inputs": [{"structs": %d}], "unread": [%s], "findings": [%s], "kept": [%s], "coverage": {"applied": %d, "structs": 1, "not_covered": []}}'
STRUCT = '{"structs": [{"name": "ring", "aliases": [], "size": %s, "align": 8, "problem": null, "fields": [%s], "holes": [%s]}]}'
FIELD = '{"path": "head", "offset": %d, "size": %d, "bit_offset": null, "bit_size": null}'
HOLE = '{"offset": %d, "size": %d, "bit_offset": null, "bit_size": null}'
INNER = FIELD.replace("head", "head.inner")
SAID = [
    # command, status, stdout, stderr, whether something is wrong with it
    (CHECK, 0, REPORT % (0, 1, "", "", KEPT, 1), "", False),
    (CHECK, 0, REPORT % (0, 1, "", "", "", 1), "", True),
    (CHECK, 0, REPORT % (0, 0, "", "", KEPT, 1), "", True),
    (CHECK, 0, REPORT % (0, 1, '{"reason": "x"}', "", KEPT, 1), "", True),
    (CHECK, 0, REPORT % (3, 1, "", "", KEPT, 1), "", True),
    (CHECK, 0, REPORT % (0, 1, "", KEPT.replace('"kept"', '"unknown"'), KEPT, 1), "", True),
    (CHECK, 1, REPORT % (1, 1, "", "", KEPT, 1), "", True),
    (CHECK, 3, REPORT % (3, 1, "", "", KEPT, 1), "", True),
    (CHECK, 3, REPORT % (3, 1, '{"reason": "x"}', "", KEPT, 1), "", False),
    (CHECK, 3, "", "Traceback (most recent call last):", True),
    (CHECK, 4, "", "layoutlint: internal error", True),
    (SHOW, 0, STRUCT % (16, FIELD % (0, 8), HOLE % (8, 8)), "", False),
    (SHOW, 0, STRUCT % (16, FIELD % (12, 8), ""), "", True),
    (SHOW, 0, STRUCT % (16, FIELD % (0, 8), HOLE % (4, 4)), "", True),
    (SHOW, 0, STRUCT % (16, "", HOLE % (8, 9)), "", True),
    (SHOW, 0, STRUCT % (16, f"{FIELD % (0, 16)}, {INNER % (0, 4)}", HOLE % (4, 12)), "", False),
    (SHOW, 0, STRUCT % (16, f"{FIELD % (0, 16)}, {INNER % (0, 4)}", HOLE % (3, 4)), "", True),
    (SHOW, 0, STRUCT % (16, f"{FIELD % (4, 0)}, {INNER % (4, 4)}", HOLE % (4, 12)), "", False),
    (SHOW, 0, STRUCT % ("null", "", ""), "", True),
    (SHOW, 0, '{"structs": []}', "layoutlint: note: nothing", True),
    (SHOW, 3, '{"structs": []}', "layoutlint: input: no struct ring", False),
    (SHOW, 3, '{"structs": []}', "", True),
    (ALL, 0, '{"structs": []}', "", True),
    (ALL, 0, '{"structs": []}', "layoutlint: note: skipped 1 unit in C++", False),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "status", "stdout", "stderr", "is_wrong"), SAID)
def test_the_judge(asked, status, stdout, stderr, is_wrong):
    done = trial.Done(status, stdout.encode(), stderr.encode())
    assert bool(problems(asked, done)) == is_wrong


@pytest.mark.parametrize(
    ("needed", "differing"),
    [({7}, range(100)), ({0, 99}, range(100)), ({3, 4, 50}, range(64)), (set(range(10)), range(10)), ({5}, [5])],
)
def test_minimising_leaves_what_is_needed(needed, differing):
    assert minimise.smaller(list(differing), lambda places: needed <= set(places)) == sorted(needed)


def test_minimising_an_input_undoes_other_damage(monkeypatch):
    seed = SEEDS["btf-raw"]
    whole = seed.files[0][1]
    data = bytearray(whole)
    for at in (2, 40, 44, 100, 200, 300):
        data[at] ^= 0x55
    monkeypatch.setattr(trial, "run_alone", lambda tried: ["both"] if tried.data[44] != whole[44] and tried.data[200] != whole[200] else [])
    less = minimise.minimise(Input(0, seed, "input", bytes(data), CHECK, ()), whole).data
    assert [at for at in range(len(whole)) if less[at] != whole[at]] == [44, 200]
