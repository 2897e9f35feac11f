"""docs/servers.md on a small project with the shape of its first: its steps, its rule, a finding, and its end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.harness.command import ROOT, run
from tests.harness.repository import git

TEXT = (ROOT / "docs/servers.md").read_text()
STEPS = [line.split("#")[0].split() for line in re.findall(r"^```sh\n(.*?)^```", TEXT, re.M | re.S)[0].splitlines()]
RULES = [block for block in re.findall(r"^```toml\n(.*?)^```", TEXT, re.M | re.S) if "[[rule]]" in block]
LOCKS = RULES[0]

HEADER = """\
#include <pthread.h>
#define LISTS 64
typedef struct { long items; } list_t;
extern pthread_mutex_t lru_locks[LISTS];
struct config { const char *name; _Atomic int requests_issued, requests_finished; };
struct app_stats { unsigned long worker_pkts[16] __attribute__((aligned(64))); };
"""
SOURCE = """\
#include "cache.h"
pthread_mutex_t lru_locks[LISTS];
struct config config;
struct app_stats app_stats;
void insert(int list, list_t *of) { pthread_mutex_lock(&lru_locks[list]); of->items++; pthread_mutex_unlock(&lru_locks[list]); }
void sent(void) { config.requests_issued++; }
void received(void) { config.requests_finished++; }
"""
ALIGNED = {
    "pthread_mutex_t lru_locks[LISTS]": "lru_lock_t lru_locks[LISTS]",
    "{ long items; } list_t;": "{ long items; } list_t;\ntypedef struct { pthread_mutex_t lock; } __attribute__((aligned(64))) lru_lock_t;",
    "lru_locks[list])": "lru_locks[list].lock)",
    "requests_issued, requests_finished": "requests_issued; _Alignas(64) _Atomic int requests_finished",
    "unsigned long worker_pkts[16] __attribute__((aligned(64)));": "struct { unsigned long n; } __attribute__((aligned(64))) worker_pkts[16];",
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for name, text in {"Makefile": "all:\n", "src/cache.h": HEADER, "src/cache.c": SOURCE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    entry = {"directory": str(tmp_path / "src"), "file": "cache.c", "arguments": ["cc", "-c", "cache.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    return tmp_path


def step(project: Path, number: int) -> tuple[int, str]:
    """The exit status and output of a step of the document."""
    program, *words = STEPS[number]
    assert program == "layoutlint"
    done = run(*words, cwd=project)
    return done.returncode, done.stdout


def test_the_steps(project):
    assert STEPS[0] == ["bear", "--", "make"]
    status, message = step(project, 1)
    assert (status, "wrote layoutlint.toml" in message) == (0, True)
    status, message = step(project, 2)
    assert (status, ": note: variable lru_locks: element k" in message) == (0, True)
    assert LOCKS.split("variables = ")[1].split("\n")[0] in (project / "layoutlint.toml").read_text()
    for name, count in ((LOCKS, 1), ("\n".join(RULES), 3)):
        (project / "layoutlint.toml").write_text(name)
        assert step(project, 3)[0] == 0
        status, message = step(project, 4)
        assert (status, message.count("error: ")) == (1, count), message
    for path in project.glob("src/*"):
        text = path.read_text()
        for old, new in ALIGNED.items():
            text = text.replace(old, new)
        path.write_text(text)
    status, message = step(project, 4)
    assert (status, "3 kept" in message) == (0, True), message


def test_the_job_checks_the_same_input(project):
    step(project, 1)
    job = yaml.safe_load((project / ".github/workflows/layoutlint.yml").read_text())["jobs"]["layoutlint"]
    commands = [each["run"] for each in job["steps"] if "run" in each]
    assert "bear -- make" in "\n".join(commands)
    inputs = [each["with"]["inputs"] for each in job["steps"] if "inputs" in each.get("with", {})]
    assert [given.split()[0] for given in inputs] == ["compile_commands.json"]


@pytest.mark.parametrize("rule", RULES, ids=[re.search(r'id = "(.*)"', rule)[1] for rule in RULES])
def test_each_rule_has_no_mistake(tmp_path, rule):
    (tmp_path / "r.toml").write_text(rule)
    assert run("rules", "check", tmp_path / "r.toml").returncode == 0
