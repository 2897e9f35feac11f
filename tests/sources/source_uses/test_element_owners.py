"""Arrays of which threads write elements of their own: C text, with look-alikes that show nothing."""

from __future__ import annotations

import re

import pytest

from layoutlint.lint.thread_elements import is_setup
from layoutlint.sources.source_uses.element_owners import ArrayName, ElementOwners
from layoutlint.sources.source_uses.functions import SourceFunctions

START = "int main(void) { pthread_t t; pthread_create(&t, 0, run, &some); }\n"
BY_INDEX = [
    # an index that tells threads apart, and the words for where it comes from
    ("void f(void) { n[sched_getcpu()]++; }", "sched_getcpu()"),
    ("void f(void) { unsigned c = rte_lcore_id(); n[c] += 2; }", "rte_lcore_id()"),
    ("void f(void) { int c; c = smp_processor_id(); ++n[c]; }", "smp_processor_id()"),
    ("void f(void) { n[omp_get_thread_num() * 2 + 1] = g(); }", "omp_get_thread_num()"),
    ("void f(void) { unsigned c; getcpu(&c, 0); n[c]--; }", "by getcpu()"),
    ("static __thread int me;\nvoid f(void) { n[me]++; }", "`me`, of which each thread has its own"),
    ("static _Thread_local unsigned me = 0;\nvoid f(void) { n[me - 1] |= 4; }", "`me`"),
    ("static __thread int me;\nvoid f(int i) { me = i; n[me]++; }", "`me`"),
    ("static __thread int used;\nvoid f(void) { used++; n[used] = g(); }", None),
    ("#define LOCAL __thread\nstatic LOCAL int me;\nvoid f(void) { n[me]++; }", "`me`"),
    ("RTE_DEFINE_PER_LCORE(int, me);\nvoid f(void) { n[RTE_PER_LCORE(me)]++; }", "RTE_PER_LCORE()"),
    ("#define ME (sched_getcpu())\nvoid f(void) { n[ME]++; }", "sched_getcpu()"),
    ("static inline int me(void) { return sched_getcpu() & 63; }\nvoid f(void) { n[me()]++; }", "me()"),
    ("#define me() (sched_getcpu() & 63)\nvoid f(void) { n[me()]++; }", "me()"),
    ("void *run(void *p) { long i = (long)p; for (;;) n[i]++; }\n" + START, "the argument of run()"),
    ("void *run(void *p) { struct w *w = p; for (;;) n[w->id]++; }\n" + START, "`id` of the argument of run()"),
    ("static void go(int i) { for (;;) n[i]++; }\nvoid *run(void *p) { go((intptr_t)p); }\n" + START, "the argument of run()"),
    ("static void go(struct w *w) { n[w->idx]++; }\nvoid *run(void *p) { for (;;) go(p); }\n" + START, "`idx` of"),
    ("static void make(void *(*f)(void *), void *p) { pthread_create(&t, 0, f, p); }\n"
     "void *run(void *p) { long i = (long)p; for (;;) n[i]++; }\nint main(void) { make(run, &some); }", "the argument of run()"),
    ("void f(struct job *j) { n[j->worker->thread_id]++; }", "`thread_id`, which names a thread"),
    ("void f(void) { struct w *w = pthread_getspecific(key); n[w->id]++; }", "pthread_getspecific()"),
    ("void f(void) { n[MyBackendId - 1]++; }", "`MyBackendId`, which names a process"),
    ("void f(void) { int c = sched_getcpu(); n[queue_of[c]]++; }", "sched_getcpu()"),
    ("void f(void) { int c = rte_lcore_id(); for (int q = first[c].q; q < 8; q++) { int p = port[q]; n[p]++; } }", "rte_lcore_id()"),
    # how an element is written
    ("void f(void) { n[sched_getcpu()].sum.all[3] -= 1; }", "sched_getcpu()"),
    ("void f(void) { struct s *s = &n[sched_getcpu()]; g(); s->count++; }", "sched_getcpu()"),
    ("void f(void) { long *s = &n[sched_getcpu()]; *s = *s + 1; }", "sched_getcpu()"),
    ("void f(void) { struct s *s = &n[sched_getcpu()]; s->table[s->used++] = 0; }", "sched_getcpu()"),
    ("static void put(struct s *s) { s->count = 1; }\nvoid f(void) { put(&n[sched_getcpu()]); }", "sched_getcpu()"),
    ("#define PUT(s) ((s)->count = 1)\nvoid f(void) { PUT(&n[sched_getcpu()]); }", "sched_getcpu()"),
    ("void f(void) { timer_reset(&n[sched_getcpu()], 5); }", "sched_getcpu()"),
    ("void f(void) { add_to(&n[sched_getcpu()].list, x); }", "sched_getcpu()"),
    ("void conn_init(struct c *c) { n[sched_getcpu()]++; }", "sched_getcpu()"),
    ("int f(void) { int c = rte_lcore_id(); n[c]++; return n[c]; }", "rte_lcore_id()"),
    ("int f(int x) { int c = rte_lcore_id(); if (x) g(); else n[c]++; return x * n[c]; }", "rte_lcore_id()"),
    ("static void go(int i) { n[i]++; }\nvoid f(void) { go(sched_getcpu()); }", "sched_getcpu()"),
    ("static void go(int i) { n[i]++; }\nvoid f(int k) { go(sched_getcpu()); go(k); go(k + 1); }", None),
    # nobody's own
    ("void f(void) { for (int i = 0; i < 8; i++) n[i]++; }", None),
    ("void f(int i) { n[i]++; }", None),
    ("void f(void) { int lcore_id; RTE_LCORE_FOREACH(lcore_id) n[lcore_id] = 1; }", None),
    ("void f(void) { int c = sched_getcpu(); for (c = 0; c < 8; c++) n[c]++; }", None),
    ("void f(int thread_id) { n[thread_id]++; }\nint main(void) { for (int i = 0; i < 4; i++) f(i); }", None),
    ("void f(void) { n[0]++; n[LAST] = 3; }", None),
    ("void f(void) { n[sched_getcpu() == 0]++; }", None),
    ("void f(void) { n[hash(x)]++; }", None),
    ("void f(void) { int i = first(); n[i]++; }\nint first(void) { return 3; }", None),
    ("static int half(int i) { return i / 2; }\nvoid g(void) { half(sched_getcpu()); }\nvoid f(int i) { n[half(i)]++; }", None),
    ("void f(struct w *w) { n[w->id]++; }", None),
    ("void f(void) { n[my_hash(x)]++; }", None),
    # read, or written behind a pointer in it
    ("int f(void) { return n[sched_getcpu()]; }", None),
    ("int f(void) { return n[sched_getcpu()] == 3; }", None),
    ("void f(void) { n[sched_getcpu()]->count++; }", None),
    ("void f(void) { struct s *s = &n[sched_getcpu()]; g(s->count); }", None),
    ("static void get(const struct s *s) { use(s->count); }\nvoid f(void) { get(&n[sched_getcpu()]); }", None),
    ("void f(void) { struct s *s = &n[sched_getcpu()]; s = other; s->count++; }", None),
    ("void f(void) { print_all(&n[sched_getcpu()]); }", None),
    ("void f(void) { pthread_getcpuclockid(self, &n[sched_getcpu()]); }", None),
    ("/* void f(void) { n[sched_getcpu()]++; } */", None),
    ("#if 0\nvoid f(void) { n[sched_getcpu()]++; }\n#endif", None),
    # once for each thread
    ("void n_init(void) { n[sched_getcpu()] = 0; }", None),
    ("void *run(void *p) { struct w *w = p; n[w->id] = 7; for (;;) g(); }\n" + START, None),
    ("static void mine(int i) { n[i] = clock(); }\nvoid *run(void *p) { mine((long)p); for (;;) g(); }\n" + START, None),
    ("void deinit(void) { n[sched_getcpu()] = -1; }", None),
    # another array of that name
    ("static __thread long *n;\nvoid f(void) { n[sched_getcpu()]++; }", None),
    ("void f(void) { static long m[2], *p, n[64]; n[sched_getcpu()]++; }", None),
    ("void f(void) { int n[64]; n[sched_getcpu()]++; }", None),
    ("void f(struct s *s) { s->n[sched_getcpu()]++; }", None),
    ("void f(long *n) { n[sched_getcpu()]++; }", None),
    ("void f(void) { nn[sched_getcpu()]++; n_n[sched_getcpu()]++; }", None),
]  # fmt: skip
BY_LOCK = [
    # writes under the lock of the same index, and the lock
    ("void f(int i) { pthread_mutex_lock(&m[i]); n[i]++; pthread_mutex_unlock(&m[i]); }", "under `m[i]`"),
    ("void f(struct x *x) { spin_lock(&m[x->kind].lock); n[x->kind].sum = 4; }", "under `m[x->kind]`"),
    ("void f(int i) { pthread_mutex_lock(m + i); n[i]++; }", None),
    ("static void in(struct x *y) { n[y->kind]++; }\nvoid f(struct x *x) { pthread_mutex_lock(&m[x->kind]); in(x); }", "under `m[x->kind]`"),
    ("static void in(int k) { n[k]++; }\nvoid f(struct x *x) { pthread_mutex_lock(&m[x->kind]); in(x->kind); }", "under `m[x->kind]`"),
    ("static void take(int k) { pthread_mutex_lock(&m[k]); }\nvoid f(int i) { take_lock(i); n[i]++; }", None),
    ("static void take_lock(int k) { pthread_mutex_lock(&m[k]); }\nvoid f(int i) { take_lock(i); n[i]++; }", "under `m[i]`"),
    ("#define LOCK_KIND(k) pthread_mutex_lock(&m[k])\nvoid f(int i) { LOCK_KIND(i); n[i]++; }", "under `m[i]`"),
    ("void f(int i) { LWLockAcquire(&m[i].lock, 1); n[i] = 3; }", "under `m[i]`"),
    ("void f(int i, int j) { pthread_mutex_lock(&m[i]); n[j]++; }", None),
    ("void f(int i) { n[i]++; pthread_mutex_lock(&m[i]); }", None),
    ("void f(int i) { pthread_mutex_lock(&m); n[i]++; }", None),
    ("void f(int i) { pthread_mutex_lock(&m[0]); n[0]++; }", None),
    ("void f(int i) { pthread_mutex_unlock(&m[i]); n[i]++; }", None),
    ("void f(int i) { pthread_mutex_init(&m[i], 0); n[i]++; }", None),
    ("void f(int i) { pthread_mutex_lock(&m[i]); g(n[i]); }", None),
    ("void f(void) { for (int i = 0; i < 4; i++) { pthread_mutex_lock(&m[i]); n[i] = 0; } }", None),
    ("void f(int i) { pthread_mutex_lock(&n[i].lock); n[i].count++; }", None),
]  # fmt: skip
BY_ATOMICS = [
    ("void f(int i) { __atomic_fetch_add(&n[i], 1, 0); }", "changed atomically"),
    ("void f(struct x *x) { HA_ATOMIC_INC(&n[x->kind]); }", "changed atomically"),
    ("void f(int i) { __sync_fetch_and_add(&n[i].sum, 1); }", "changed atomically"),
    ("void f(int i) { __atomic_load_n(&n[i], 0); }", None),
    ("void f(void) { __atomic_fetch_add(&n[2], 1, 0); }", None),
    ("void f(void) { __atomic_fetch_add(&n[KIND], 1, 0); }", None),
    ("void f(int i) { atomic_init(&n[i], 1); }", None),
    ("void f(void) { for (int i = 0; i < 8; i++) __atomic_store_n(&n[i], 0, 0); }", None),
]


def owners(tmp_path, text: str, *declared: str) -> ElementOwners:
    (tmp_path / "a.c").write_text(text)
    functions = SourceFunctions((str(tmp_path / "a.c"),))
    return ElementOwners(functions, is_setup, declared)


@pytest.mark.parametrize(("text", "expected"), [*BY_INDEX, *BY_LOCK, *BY_ATOMICS])
def test_code_that_writes_elements(tmp_path, text, expected):
    reason = owners(tmp_path, text).reason(ArrayName("n"))
    assert reason is None if expected is None else expected in (reason or "")


@pytest.mark.parametrize(("text", "expected"), BY_INDEX[:-6])
def test_the_same_with_a_member(tmp_path, text, expected):
    text = re.sub(r"(?<![\w>.])n\[", "all.stats->n[", text)
    reason = owners(tmp_path, text).reason(ArrayName("n", ("stats",)))
    assert reason is None if expected is None else expected in (reason or "")


OF_SEVERAL = [
    # of which struct the array is, if several have one of its name
    ("void f(struct q *q) { q->n[sched_getcpu()]++; }", True),
    ("void f(queue_t *q) { q->n[sched_getcpu()]++; }", True),
    ("static struct q all;\nvoid f(void) { all.n[sched_getcpu()]++; }", True),
    ("void f(struct r *q) { q->n[sched_getcpu()]++; }", False),
    ("void f(void) { q->n[sched_getcpu()]++; }", False),
]


@pytest.mark.parametrize(("text", "expected"), OF_SEVERAL)
def test_members_of_several_structs(tmp_path, text, expected):
    array = ArrayName("n", ("q", "queue_t"), is_unique=False)
    assert (owners(tmp_path, text).reason(array) is not None) is expected


def test_functions_of_the_project(tmp_path):
    text = "void f(void) { n[where_am_i()]++; }"
    assert owners(tmp_path, text).reason(ArrayName("n")) is None
    assert "where_am_i()" in (owners(tmp_path, text, "where_*").reason(ArrayName("n")) or "")


def test_the_sentence_has_the_line(tmp_path):
    text = "int n[8];\n\n\nvoid g(void)\n{\n}\n\nvoid f(void)\n{\n\tint c = sched_getcpu();\n\n\tn[c]++;\n}\n"
    expected = "`n[c]` is written in f (a.c:12), with an index from sched_getcpu()"
    assert owners(tmp_path, text).reason(ArrayName("n")) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [("extern int n[8];\n", True), ("static int n[4];\n", False), ("int n[4] = { 0 };\n", False), ("", True)],
)
def test_a_variable_of_another_file(tmp_path, other, expected):
    (tmp_path / "a.c").write_text("int n[8];\n")
    (tmp_path / "b.c").write_text(other + "void f(void) { n[sched_getcpu()]++; }\n")
    paths = (str(tmp_path / "a.c"), str(tmp_path / "b.c"))
    reason = ElementOwners(SourceFunctions(paths), is_setup).reason(ArrayName("n", None, True, "a.c"))
    assert (reason is not None) is expected
