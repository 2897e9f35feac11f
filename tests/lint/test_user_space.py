"""The pack `generic` on programs of user space: arrays of locks and what running programs say of them."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.oracles.c_probe import need

pytestmark = pytest.mark.usefixtures("whole_runs")

LINE = 64
SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct worker { pthread_mutex_t lock; pthread_cond_t wake; void *queue; int depth; } worker_t;
struct cell { _Atomic long value; } __attribute__((aligned(64)));
struct page { pthread_rwlock_t lock; char data[64]; };
struct wide { char before[64]; _Atomic int state; char behind[60]; };
static pthread_mutex_t locks[16];
pthread_spinlock_t words[8] __attribute__((aligned(64)));
static struct cell cells[8];
struct wide wides[4];
struct page pages[2][2];
static _Atomic unsigned counters[4];
static pthread_mutex_t single[1];
static long plain[100];
static pthread_mutex_t *pointers[8];

int main(void)
{
	SAY(locks);
	SAY(words);
	SAY(cells);
	SAY(wides);
	SAY(counters);
	printf("%p %zu %zu pages\\n", (void *)pages, sizeof(pages) / 4, (size_t)4);
	return single == 0 || plain[3] || pointers[2];
}
"""
SAY = "-DSAY(x)=printf(\"%p %zu %zu \" #x \"\\n\",(void*)x,sizeof*x,sizeof(x)/sizeof*x)"
LOCKS = {"locks": (0, 40), "words": (0, 4), "cells": (0, 8), "wides": (64, 68), "pages": (0, 56), "counters": (0, 4)}
"""The bytes of an element that are written: those of its lock or atomic."""


def build(folder: Path, *flags: str) -> Path:
    need("gcc")
    (folder / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", SAY, *flags, "-o", folder / "a", folder / "a.c", "-pthread"], check=True)
    return folder / "a"


def guesses(*arguments: str | Path) -> dict[str, dict]:
    """The notes on arrays, by their first word."""
    done = run("check", "--pack", "generic", "--format", "json", "--guesses", "100", *arguments)
    assert done.returncode == 0, done.stderr
    rule = "generic-variables-on-lines-of-their-own"
    return {f["struct"]: f for f in json.loads(done.stdout)["findings"] if f["rule"] == rule}


def shares(address: int, size: int, count: int, start: int, end: int) -> bool:
    """Whether the written bytes of an element are on a line with any byte of the next or the previous one."""
    def lines(low: int, high: int) -> set[int]:
        return set(range((address + low) // LINE, (address + high - 1) // LINE + 1))

    return any(
        lines(a * size + start, a * size + end) & lines(b * size, b * size + size)
        for one, other in pairwise(range(count)) for a, b in ((one, other), (other, one))
    )  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("flags", [(), ("-no-pie",), ("-gdwarf-4",)], ids=lambda flags: " ".join(flags) or "pie")
def test_arrays_are_noted_where_a_running_program_shows_that_they_share_lines(tmp_path, flags):
    program = build(tmp_path, *flags)
    output = [line.split() for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()]
    expected = {
        name for address, size, count, name in output
        if shares(int(address, 16), int(size), int(count), *LOCKS[name])
    }  # fmt: skip
    assert {"locks", "words", "counters"} <= expected
    assert "cells" not in expected
    if "-gdwarf-4" in flags:  # it has no `_Atomic`
        expected -= {"counters", "wides"}
    found = guesses(program)
    assert set(found) == expected
    assert {f["outcome"] for f in found.values()} == {"broken"}
    assert found["locks"]["rank"] | {"place": 0} == {"place": 0, "of": len(expected), "score": 16.0, "holders": 0, "elements": 16, "uses": None}


ANYWHERE = {"locks": "broken", "words": "broken", "counters": "broken", "pages": "broken"}
"""Before linking: whatever multiple of its alignment a variable starts at."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["object file", "C text", "compile_commands.json"])
def test_before_linking(tmp_path, form):
    build(tmp_path)
    path = tmp_path / {"object file": "a.o", "C text": "a.c"}.get(form, form)
    if form == "object file":
        subprocess.run(["gcc", "-g", "-c", SAY, "-o", path, tmp_path / "a.c"], check=True)
    elif form == "compile_commands.json":
        entry = {"directory": str(tmp_path), "file": "a.c", "arguments": ["gcc", SAY, "-c", "a.c"]}
        path.write_text(json.dumps([entry]))
    found = guesses(path, *(("--", SAY) if form == "C text" else ()))
    assert ANYWHERE.items() <= {name: f["outcome"] for name, f in found.items()}.items()
    assert set(found) - set(ANYWHERE) <= {"wides"}


def test_declarations_in_several_units_are_one_array(tmp_path):
    need("gcc")
    (tmp_path / "a.h").write_text("#include <pthread.h>\nextern pthread_mutex_t locks[4];\nextern pthread_mutex_t far[4];\n")
    (tmp_path / "a.c").write_text('#include "a.h"\npthread_mutex_t locks[4];\nstatic pthread_mutex_t own[2];\n')
    (tmp_path / "b.c").write_text('#include "a.h"\nstatic pthread_mutex_t own[3];\n')
    entries = [{"directory": str(tmp_path), "file": f"{name}.c", "arguments": ["gcc", "-c", f"{name}.c"]} for name in "ab"]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    done = run("check", "--pack", "generic", "--format", "json", tmp_path / "compile_commands.json")
    found = [(f["struct"], Path(f["fields"][0]["file"]).name, f["fields"][0]["line"]) for f in json.loads(done.stdout)["findings"]]
    assert sorted(found) == [("far", "a.h", 3), ("locks", "a.c", 2), ("own", "a.c", 3), ("own", "b.c", 2)]


MALLOC = "allocated by malloc, which aligns to 16"
ALLOCATING = """
#include <pthread.h>
#include <stdlib.h>
typedef struct worker { pthread_mutex_t lock; void *queue[9]; } worker_t;
struct job { _Atomic int state; } __attribute__((aligned(64)));
void *ring_alloc(size_t n, size_t size);
worker_t *start(int n)
{
	worker_t *workers = calloc(n, sizeof(worker_t));
	worker_t *one = calloc(1, sizeof(*one));
	struct job *jobs = aligned_alloc(64, n * sizeof(*jobs));
	pthread_mutex_t *locks = malloc(n * sizeof(pthread_mutex_t));
	long *plain = calloc(n, sizeof(long));
	pthread_spinlock_t *own = ring_alloc(n, sizeof(*own));
	struct job *hidden = ring_alloc(n, sizeof(struct job));
	return one || jobs || locks || plain || own || hidden ? workers : 0;
}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ["C text", "program with --sources"])
def test_allocated_arrays(tmp_path, form):
    need("gcc")
    (tmp_path / "a.c").write_text(ALLOCATING)
    arguments = [tmp_path / "a.c"]
    if form != "C text":
        subprocess.run(["gcc", "-g", "-c", "-o", tmp_path / "a.o", tmp_path / "a.c"], check=True)
        arguments = [tmp_path / "a.o", "--sources", tmp_path]
    found = guesses(*arguments)
    assert {name: (f["outcome"], f["placements"]["basis"], f["definition"]["line"]) for name, f in found.items()} == {
        "worker": ("at-risk", f"{MALLOC}, 112 bytes from one element of an array to the next", 9),
        "pthread_mutex_t": ("at-risk", f"{MALLOC}, 40 bytes from one element of an array to the next", 12),
    }
    assert found["worker"]["message"].startswith("element 0 at 0..111 shares a line with element 1 at 0..111 (112 bytes on)")
    assert found["pthread_mutex_t"]["message"].startswith("element 0 at 0..39 shares a line with element 1 at 0..39 (40 bytes on)")
    assert [f["rank"]["elements"] for f in found.values()] == [0, 0]


LOCK_ARRAY = """#include <pthread.h>
#include <stdlib.h>
pthread_mutex_t *locks;
void make(int n) { locks = calloc(n, sizeof(pthread_mutex_t)); }
"""


def test_an_array_is_noted_once_and_by_a_relative_name(tmp_path):
    """The database has absolute folders, `--sources` names the same file from the working folder."""
    (tmp_path / "a.c").write_text(LOCK_ARRAY)
    entry = {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-c", "a.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    words = "check", "compile_commands.json", "--pack", "generic", "--sources", ".", "--format", "json"
    findings = json.loads(run(*words, cwd=tmp_path).stdout)["findings"]
    assert [(finding["definition"]["file"], finding["definition"]["line"]) for finding in findings] == [("a.c", 4)]


def test_functions_of_the_project_allocate_arrays_as_well(tmp_path):
    need("gcc")
    (tmp_path / "a.c").write_text(ALLOCATING)
    (tmp_path / "l.toml").write_text("[allocators.ring_alloc]\ncount = 1\nsize = 2\n")
    text = ALLOCATING.replace("calloc(n, sizeof(worker_t))", "ring_alloc(n, sizeof(worker_t))")
    (tmp_path / "a.c").write_text(text)
    assert set(guesses(tmp_path / "a.c")) == {"pthread_mutex_t"}
    assert set(guesses(tmp_path / "a.c", "--rules", tmp_path / "l.toml")) == {"worker", "pthread_mutex_t"}
    listed = run("allocations", tmp_path / "a.c", "--rules", tmp_path / "l.toml", "--struct", "job").stdout
    assert re.search(r'placement = "malloc", array = true\n +\S+a\.c:15  ring_alloc\n', listed)


def test_advice_names_no_macro_of_the_project(tmp_path):
    """One of such a name can be in a comment, another header or another configuration."""
    (tmp_path / "cache.h").write_text("#define __my_cache_aligned __attribute__((aligned(64)))\n")
    (tmp_path / "a.c").write_text('#include "cache.h"\nstruct slot { _Atomic long used; };\nstruct slot slots[8];\n')
    words = "align the elements to 64 bytes (`__attribute__((aligned(64)))`), so that"
    assert words in guesses(tmp_path / "a.c")["slots"]["advice"]


def test_an_aligned_type_does_not_help_what_malloc_makes(tmp_path):
    (tmp_path / "a.c").write_text(ALLOCATING)
    advice = {name: finding["advice"] for name, finding in guesses(tmp_path / "a.c").items()}
    assert "malloc heeds no alignment of types, so allocate with `aligned_alloc(64, ...)`" in advice["worker"]
    assert "put each element into a struct aligned to 64 bytes (`__attribute__((aligned(64)))`)" in advice["pthread_mutex_t"]
    (tmp_path / "a.c").write_text(ALLOCATING.replace("calloc(n, sizeof(worker_t))", "aligned_alloc(16, n * sizeof(worker_t))"))
    assert "malloc heeds" not in guesses(tmp_path / "a.c")["worker"]["advice"]


RUNNING = """
#include <stdio.h>
#include <stdlib.h>
#include <malloc.h>
int main(void)
{
	for (int n = 0; n < 200; n++) {
		void *p = CALL;
		printf("%zu\\n", (size_t)p % 64);
	}
}
"""
CALLS = [
    # a call, the placement that `allocations` lists, the bases on a line that it means
    ("malloc(sizeof(struct s))", "malloc", {0, 16, 32, 48}),
    ("calloc(3, sizeof(struct s))", "malloc", {0, 16, 32, 48}),
    ("realloc(malloc(8), sizeof(struct s))", "malloc", {0, 16, 32, 48}),
    ("aligned_alloc(32, sizeof(struct s))", "aligned:32", {0, 32}),
    ("memalign(64, sizeof(struct s))", "aligned:64", {0}),
    ("valloc(sizeof(struct s))", "aligned:4096", {0}),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("call", "placement", "bases"), CALLS, ids=[call for call, *_ in CALLS])
def test_placements_are_where_the_c_library_puts_blocks(tmp_path, call, placement, bases):
    need("gcc")
    text = RUNNING.replace("CALL", call).replace("int main", "struct s { long a[5]; };\nint main")
    (tmp_path / "a.c").write_text(text)
    subprocess.run(["gcc", "-w", "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    seen = set(map(int, subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True).stdout.split()))
    assert seen <= bases
    assert f'placement = "{placement}"' in run("allocations", tmp_path / "a.c").stdout


NAMED = [
    # `variables` of a rule, what is judged and how, exit status
    (["locks"], [("locks", "broken")], 1),
    (["cells"], [], 0),
    (["locks", "words", "cells"], [("locks", "broken"), ("words", "broken")], 1),
    (["wor*"], [("words", "broken")], 1),
    (["locks", "lokcs"], [("(variables)", "unknown"), ("locks", "broken")], 1),
    (["single"], [("(variables)", "unknown")], 3),
    (["nothing"], [("(variables)", "unknown")], 3),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("names", "expected", "status"), NAMED, ids=[" ".join(row[0]) for row in NAMED])
@pytest.mark.parametrize("form", ["C text", "compile_commands.json"])
def test_arrays_by_name_in_c_sources(tmp_path, form, names, expected, status):
    """A rule on a named array needs no symbols, as the guess that advises to write it needs none."""
    need("gcc")
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "r.toml").write_text(f'[[rule]]\nid = "a"\nkind = "stride"\nvariables = {json.dumps(names)}\nwhy = "w"\n')
    database = [{"file": "a.c", "directory": str(tmp_path), "arguments": ["cc", SAY, "-c", "a.c"]}]
    (tmp_path / "compile_commands.json").write_text(json.dumps(database))
    path = tmp_path / ("a.c" if form == "C text" else "compile_commands.json")
    done = run("check", path, "--rules", tmp_path / "r.toml", "--format", "json")
    found = [((f["struct"] or "").removeprefix("variable "), f["outcome"]) for f in json.loads(done.stdout)["findings"]]
    assert (sorted(found), done.returncode) == (sorted(expected), status), done.stdout


THREADS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

struct counters { long in, out; };
struct wide { long in; char rest[56]; } __attribute__((aligned(64)));
struct pool { int size; struct counters of_cpu[64]; long sizes[4]; };
static __thread int me;
static struct counters counters[64];
static struct wide wides[64];
static long sums[64], table[64];
static pthread_mutex_t locks[8];
static int length[8], limit[8];
struct pool pool;

static void *run(void *argument)
{
	me = (long)argument;
	for (int round = 0; round < table[round]; round++) {
		int kind = table[round] & 7;

		counters[me].in++;
		wides[me].in++;
		sums[sched_getcpu()] += table[me];
		pool.of_cpu[me].out++;
		pool.sizes[round & 3]++;
		pthread_mutex_lock(&locks[kind]);
		length[kind] += limit[kind];
		pthread_mutex_unlock(&locks[kind]);
	}
	return 0;
}

int main(void)
{
	pthread_t thread;

	for (int at = 0; at < 64; at++)
		table[at] = limit[at & 7] = at;
	return pthread_create(&thread, 0, run, 0);
}
"""


@pytest.mark.parametrize("form", ["C text", "linked, with its source"])
def test_arrays_of_threads_are_noted_with_the_code_that_shows_them(tmp_path, form):
    need("gcc")
    (tmp_path / "a.c").write_text(THREADS)
    subprocess.run(["gcc", "-g", "-o", tmp_path / "a", tmp_path / "a.c", "-pthread"], check=True)
    inputs = (tmp_path / "a.c",) if form == "C text" else (tmp_path / "a", "--sources", tmp_path)
    done = run("check", "--pack", "generic", "--format", "json", "--guesses", "100", *inputs)
    findings = json.loads(done.stdout)["findings"]
    notes = {f["struct"]: f for f in findings if "of-threads" in f["rule"]}
    assert set(notes) == {"counters", "sums", "length", "pool"}
    assert "`counters[me]` is written in run (a.c:24), with an index from `me`" in notes["counters"]["message"]
    assert "`sums[sched_getcpu()]` is written in run (a.c:26)" in notes["sums"]["message"]
    assert "`length[kind]` is written in run (a.c:30) under `locks[kind]`" in notes["length"]["message"]
    assert "of_cpu" in notes["pool"]["message"]
    assert "sizes" not in notes["pool"]["message"]
    assert all("__attribute__((aligned(64)))" in f["advice"] for f in notes.values())
    assert [f["struct"] for f in findings if f["rule"] == "generic-variables-on-lines-of-their-own"] == ["locks"]


def test_without_sources_a_linked_program_shows_no_arrays_of_threads(tmp_path):
    need("gcc")
    (tmp_path / "a.c").write_text(THREADS)
    subprocess.run(["gcc", "-g", "-o", tmp_path / "a", tmp_path / "a.c", "-pthread"], check=True)
    done = run("check", "--pack", "generic", "--format", "json", "--guesses", "100", tmp_path / "a")
    assert {f["struct"] for f in json.loads(done.stdout)["findings"]} == {"locks"}


BEHIND = """
#include <stdint.h>
struct counters { long in, out; };
struct wide { char line[128]; } __attribute__((aligned(64)));
struct server {
	int size;
	unsigned int *idle;
	struct counters *of_thread;
	struct wide *wides;
	struct counters **pointers;
	uint64_t *sums, *all;
	struct unknown *unknown;
	void (*call)(int);
};
static __thread int me;
static struct counters *behind, *first;

void work(struct server *s, int kind, int n)
{
	for (int i = 0; i < n; i++) {
		s->idle[me]++;
		s->of_thread[me].in++;
		s->wides[me].line[0]++;
		s->pointers[me]->in++;
		s->sums[me] += s->all[me];
		s->all[kind]++;
		behind[me].out++;
		first[i].in++;
	}
}
"""


def test_arrays_behind_pointers(tmp_path):
    (tmp_path / "a.c").write_text(BEHIND)
    done = run("check", "--pack", "generic", "--format", "json", "--guesses", "100", tmp_path / "a.c")
    notes = json.loads(done.stdout)["findings"]
    assert {f["rule"] for f in notes} == {"generic-elements-of-threads"}
    seen = {(f["struct"], re.search(r"; `(\w+)\[me\]` is written in work", f["message"])[1], f["outcome"]) for f in notes}
    assert seen == {
        ("idle", "idle", "at-risk"), ("sums", "sums", "at-risk"),
        ("counters", "of_thread", "at-risk"), ("counters", "behind", "at-risk"),
    }  # fmt: skip
    assert all("aligned_alloc(64, ...)" in f["advice"] for f in notes)
