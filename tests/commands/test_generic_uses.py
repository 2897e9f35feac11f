"""`check --pack generic --uses`: guesses ranked by what functions do to the fields."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run
from tests.harness.json_schemas import mistakes

pytestmark = pytest.mark.usefixtures("whole_runs")

SOURCE = """
#include <pthread.h>
struct a_operations { int (*f)(void); };
struct cold { pthread_mutex_t lock; const struct a_operations *ops; };
struct hot { const struct a_operations *ops; pthread_mutex_t lock; };
struct table { pthread_mutex_t rows[8]; };
struct one { struct cold *c; }; struct two { struct cold *c; }; struct three { struct cold *c; };
struct hot *shared; struct cold *cold; struct one o1; struct two o2; struct three o3; struct table *all;
int get(struct hot *h) { int n = 0; for (int i = 0; i < 9; i++) n += h->ops->f(); return n; }
void take(struct hot *h) { pthread_mutex_lock(&h->lock); pthread_mutex_unlock(&h->lock); }
void row(struct table *t, int i) { pthread_mutex_lock(&t->rows[i]); }
int main(int n, char **v) { for (;;) { take(shared); get(shared); row(all, n); } }
"""


@pytest.fixture
def notes(tmp_path):
    """Return the notes of a run as struct, rule, and rank."""
    (tmp_path / "g.c").write_text(SOURCE)

    def judge(*words: str):
        done = run("check", "g.c", "--pack", "generic", "--format", "json", *words, cwd=tmp_path)
        assert mistakes(done.stdout) == []
        return [(each["struct"], each["rank"]) for each in json.loads(done.stdout)["findings"]]

    return judge


def test_what_functions_use_comes_first(notes):
    before, after = notes(), notes("--uses", "g.c")
    assert [name for name, _ in before] == ["table", "cold", "hot"]  # by elements, and structs that point to them
    assert [name for name, _ in after] == ["hot", "table", "cold"]
    assert [rank["place"] for _, rank in after] == [1, 2, 3]
    scores = [rank["uses"]["score"] for _, rank in after]
    assert (scores == sorted(scores, reverse=True), scores[-1], scores[-2] > 0) == (True, 0, True)
    assert all(rank["uses"] is None for _, rank in before)


@pytest.mark.parametrize(("struct", "reasons"), [
    ("hot", ["`lock` is locked in 1 function (take)", "`ops` is read in 1 function (get), never written"]),
    ("table", ["`rows` is locked in 1 function (row)"]),
    ("cold", []),
])  # fmt: skip
def test_reasons(notes, struct, reasons):
    assert [rank["uses"]["reasons"] for name, rank in notes("--uses", "g.c") if name == struct] == [reasons]


def test_text(tmp_path):
    (tmp_path / "g.c").write_text(SOURCE)
    done = run("check", "g.c", "--pack", "generic", "--uses", "g.c", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert "`ops` is read in 1 function (get), never written" in text
    assert "3 of 3 guesses, no function of the sources is known to use its fields; score" in text


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "exit_status", "message"), [
    (("--uses", "gone.c", "--pack", "generic"), 2, "no such file or directory"),
    (("--uses", "g.c"), 2, "add `--pack generic`"),
    (("--uses", "bad.c", "--pack", "generic"), 3, "nowhere.h"),
    (("--uses", "bad.c", "--pack", "generic", "--allow-unknown"), 0, "nowhere.h"),
    (("--uses", "g.c", "--pack", "generic", "--output", "json=g.c"), 2, "g.c"),
    (("--uses", "none.c", "--pack", "generic"), 3, "define no function"),
])  # fmt: skip
def test_what_cannot_be_told(tmp_path, words, exit_status, message):
    (tmp_path / "g.c").write_text(SOURCE)
    (tmp_path / "bad.c").write_text('#include "nowhere.h"\nint main(void) { return 0; }\n')
    (tmp_path / "none.c").write_text("int x;\n")
    done = run("check", "g.c", *words, cwd=tmp_path)
    output = " ".join((done.stdout + done.stderr).split())
    assert (done.returncode, message in output) == (exit_status, True), output
    assert (tmp_path / "g.c").read_text() == SOURCE


def test_a_changed_source_is_read_again(tmp_path, monkeypatch):
    """The output of an earlier run is not printed again: it does not depend on the input alone."""
    monkeypatch.delenv("LAYOUTLINT_NO_CACHE", raising=False)
    (tmp_path / "g.c").write_text(SOURCE)
    (tmp_path / "u.c").write_text(SOURCE)
    words = ("check", "g.c", "--pack", "generic", "--uses", "u.c", "--format", "json")
    first = run(*words, cwd=tmp_path).stdout
    (tmp_path / "u.c").write_text(SOURCE.replace("pthread_mutex_lock(&h->lock);", ""))
    assert run(*words, cwd=tmp_path).stdout != first
