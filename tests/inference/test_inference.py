"""Programs, heat, ranks and contradictions of functions that are read from small sources."""

from __future__ import annotations

import pytest

from layoutlint.inference import ranking
from layoutlint.inference.analysis import analyse
from layoutlint.inference.infer import infer
from layoutlint.intent.toml import rule_file
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.uses import plain_name
from layoutlint.sources import bodies
from layoutlint.sources.whole_program.heat import EntryPoints, heat_of_functions

HEAD = """
typedef struct { int v; } lock_t; void spin_lock(lock_t *); void spin_unlock(lock_t *); void *malloc(unsigned long);
void unknown(int *); void my_take(int *);
struct s { long a; lock_t lock; long c; long pad[20]; long far; };
struct ops { long (*get)(struct s *); };
"""


def analysis(tmp_path, text: str, rules: str = ""):
    (tmp_path / "t.c").write_text(HEAD + text)
    packs = rule_file.parse_all([("rules.toml", rules)]) if rules else ()
    return analyse(bodies.read((str(tmp_path / "t.c"),), ReadOptions(cache=False)), packs), packs


def effects(tmp_path, text: str, rules: str = "") -> set[tuple[str, str, str]]:
    found = analysis(tmp_path, text, rules)[0]
    uses = next((uses for key, uses in found.uses.items() if plain_name(key) == "s"), {})
    return {(use.function.partition("@")[0], path, use.effect.value) for path, some in uses.items() for use in some}


@pytest.mark.parametrize(("text", "expected"), [
    # what a function does through those that it calls
    ("void f(struct s *x) { spin_lock(&x->lock); }", {("f", "lock", "lock")}),
    ("static void set(long *p) { *p = 1; } void f(struct s *x) { set(&x->a); }", {("f", "a", "write")}),
    ("static void in(long *p) { *p = 1; } static void out(long *p) { in(p); } void f(struct s *x) { out(&x->a); }", {("f", "a", "write")}),
    ("static void own(lock_t *l) { l->v = 1; } void f(struct s *x) { own(&x->lock); }", {("f", "lock.v", "write")}),
    ("void f(struct s *x) { unknown((int *)&x->a); }", {("f", "a", "address")}),
    ("void f(struct s *x, struct s *y) { __builtin_memcpy(x->pad, &y->far, 8); }", {("f", "pad", "write"), ("f", "far", "read")}),
    ("void f(struct s *x) { __builtin___memset_chk(x->pad, 0, 8, 160); }", {("f", "pad", "write")}),
    ("int f(struct s *x, struct s *y) { return __builtin_memcmp(x->pad, &y->far, 8); }", {("f", "pad", "read"), ("f", "far", "read")}),
    ("static void g(long *p, int n) { if (n) g(p, n - 1); *p = n; } void f(struct s *x) { g(&x->c, 3); }", {("f", "c", "write")}),
    ("void f(void) { struct s *x = malloc(9); x->a = 1; }", set()),  # nobody else sees it yet
    ("struct s *make(void) { struct s *x = malloc(9); x->a = 1; return x; } void f(void) { make()->c = 1; }", set()),
])  # fmt: skip
def test_uses_through_calls(tmp_path, text, expected):
    assert effects(tmp_path, text) == expected


def test_what_a_rule_file_says_of_functions(tmp_path):
    rules = '[functions.my_take]\neffect = "lock"\n[functions."my_*"]\neffect = "write"\n'
    assert effects(tmp_path, "void f(struct s *x) { my_take((int *)&x->a); }", rules) == {("f", "a", "lock")}


READERS = """
struct timer { long at; }; long timer_start_of(const struct timer *); void mod_timer(struct timer *); long del_timer(const struct timer *);
static long kref_peek(struct timer *t) { return t->at; } static void kref_more(struct timer *t) { t->at++; }
struct t { long a; struct timer timer; }; struct t one;
"""


@pytest.mark.parametrize(("call", "expected"), [
    # a declaration and a body say more than a name
    ("mod_timer", {"write"}), ("del_timer", {"read"}), ("kref_peek", {"read"}), ("kref_more", {"atomic"}),
])  # fmt: skip
def test_readers_with_the_names_of_writers(tmp_path, call, expected):
    found, _ = analysis(tmp_path, f"{READERS} void f(void) {{ {call}(&one.timer); }}")
    (uses,) = (uses for key, uses in found.uses.items() if plain_name(key) == "t")
    assert {use.effect.value for use in uses["timer"]} == expected


def test_an_error_in_one_struct_leaves_the_others(tmp_path, monkeypatch):
    found, packs = analysis(tmp_path, f"{NOTES} struct t {{ long a, b; }} two; long both(void) {{ return two.a++ + two.b; }}")
    ranked = ranking.pairs
    monkeypatch.setattr(ranking, "pairs", lambda struct, *rest: ranked(struct, *rest) if struct.name != "t" else max(()))
    result = infer(found, found.bodies.structs, packs)
    assert [note.writer.part.path for note in result.notes] == ["lock"]
    assert [(each.origin, "ValueError" in each.reason) for each in result.lost] == [("struct t", True)]


def test_threads_that_a_table_alone_starts(tmp_path):
    text = """
    int pthread_create(void *, void *, void *(*)(void *), void *);
    void *work(void *p) { __atomic_fetch_add(&((struct s *)p)->a, 1, 5); return 0; }
    static void go(void *(*f)(void *), void *p) { int t; pthread_create(&t, 0, f, p); }
    static const struct { void (*start)(void *(*)(void *), void *); } table[] = { { go } };
    int main(void) { struct s one; table[0].start(work, &one); return 0; }
    """
    found, packs = analysis(tmp_path, text)
    assert infer(found, found.bodies.structs, packs).lost == ()


HEAT = """
long hot(struct s *x) { return x->a; }
long cold(struct s *x) { return x->c; }
static struct ops table = { .get = cold };
long through(struct ops *o, struct s *x) { return o->get(x); }
int main(void) { for (int i = 0; i < 9; i++) hot(0); if (__builtin_expect(0, 0)) through(&table, 0); return 0; }
void nobody(struct s *x) { x->a = 1; }
"""


@pytest.mark.parametrize(("entries", "profile", "order"), [
    # the hotter function comes first
    ({}, {}, ("hot", "main", "cold")),
    ({"cold": 50.0}, {}, ("cold", "hot")),
    ({"main": 0.0, "nobody": 3.0}, {}, ("nobody", "hot")),
    ({}, {"cold": 0.9}, ("cold", "hot")),
])  # fmt: skip
def test_heat(tmp_path, entries, profile, order):
    found, _ = analysis(tmp_path, HEAT)
    heat = heat_of_functions(found.program, EntryPoints(False, entries, profile))
    values = [heat[name] for name in order]
    assert values == sorted(set(values), reverse=True)


def test_calls_through_fields_reach_what_is_stored_there(tmp_path):
    program = analysis(tmp_path, HEAT)[0].program
    (call,) = (call for call in program.functions["through"].calls if call.through)
    assert program.targets(call) == ("cold",)


NOTES = """
void grab(struct s *x) { spin_lock(&x->lock); spin_unlock(&x->lock); }
long read(struct s *x) { return x->a + x->far; }
void set(struct s *x) { x->c = 1; }
struct s one; int main(void) { grab(&one); read(&one); set(&one); return 0; }
"""


def test_notes_rank_locks_before_stores_and_leave_out_other_lines(tmp_path):
    found, packs = analysis(tmp_path, NOTES)
    result = infer(found, found.bodies.structs, packs)
    rows = [(note.writer.part.path, note.rank_in_struct, [pair.reader.part.path for pair in note.pairs]) for note in result.notes]
    assert rows == [("lock", 1, ["a"])]
    assert result.without_signs == 1  # c
    assert [len(pair.bases) for pair in result.notes[0].pairs] == [7]
    assert all(note.score > 0 and note.chance == 1 for note in result.notes)


@pytest.mark.parametrize(("text", "notes"), [
    ("struct s one; long f(struct s *x) { x->a = 1; return x->c; } int main(void) { return f(&one); }", 0),
    ("long f(void) { struct s one; spin_lock(&one.lock); return one.a; } int main(void) { return f(); }", 0),
    ("union u { long a; int b; }; int main(void) { return 0; }", 0),
    ("struct two { long a, b; } two; int main(void) { two.a = 1; return two.b; }", 0),  # too small to be kept apart
    # of two words: by the functions that use them
    ("struct two { long a, b; } two; long f(void) { __atomic_fetch_add(&two.a, 1, 5); return two.b; } int main(void) { return f(); }", 0),
    ("struct two { long a, b; } two; void f(void) { __atomic_fetch_add(&two.a, 1, 5); } long g(void) { return two.b; } int main(void) { f(); return g(); }", 1),
    ("struct two { lock_t a; long b; } two; void f(void) { spin_lock(&two.a); unknown(0); spin_unlock(&two.a); } long g(void) { return two.b; } int main(void) { f(); return g(); }", 1),
    # one note for a field, whatever embeds its struct
    ("struct out { long n; struct s in; } out; void f(void) { __atomic_fetch_add(&out.in.a, 1, 5); } long g(void) { return out.in.c; } int main(void) { f(); return g(); }", 1),
    ("struct out { long n; struct s in; } out; void f(void) { __atomic_fetch_add(&out.in.a, 1, 5); } long g(void) { return out.n; } int main(void) { f(); return g(); }", 1),
])  # fmt: skip
def test_what_makes_a_note(tmp_path, text, notes):
    found, packs = analysis(tmp_path, text)
    assert len(infer(found, found.bodies.structs, packs).notes) == notes


SHARING = """
int pthread_mutex_lock(void *); int pthread_mutex_unlock(void *); void lock_of_another_unit_take(void);
long get(struct s *x) { return x->c; } long get_locked(struct s *x) { pthread_mutex_lock(x); return x->c; }
static void put_inner(struct s *x) { x->a = 1; }
%s
struct s one; int main(void) { put(&one); %s return 0; }
"""
GET, GET_LOCKED = "get(&one);", "get_locked(&one);"


@pytest.mark.parametrize(("text", "work", "writers"), [
    # whether a program writes a field while others read: atomics, stores through volatile pointers, locks
    ("void put(struct s *x) { x->a = 1; }", GET, []),
    ("void put(struct s *x) { __atomic_fetch_add(&x->a, 1, 5); }", GET, ["a"]),
    ("void put(struct s *x) { __atomic_store_n(&x->a, 1, 5); }", GET, ["a"]),
    ("void put(struct s *x) { *(volatile long *)&x->a = 1; }", GET, ["a"]),
    ("void set(volatile long *p) { *p = 1; } void put(struct s *x) { set(&x->a); }", GET, ["a"]),
    ("void put(struct s *x) { pthread_mutex_lock(x); x->a = 1; pthread_mutex_unlock(x); }", GET, ["a"]),
    ("void put(struct s *x) { pthread_mutex_unlock(x); x->a = 1; }", GET, []),
    # the lock is taken in a function that keeps it, by a name that says so, or by every caller
    ("void s_lock(void *m) { pthread_mutex_lock(m); } void put(struct s *x) { s_lock(x); x->a = 1; }", GET, ["a"]),
    ("void count(void *m) { pthread_mutex_lock(m); pthread_mutex_unlock(m); } void put(struct s *x) { count(x); x->a = 1; }", GET, []),
    ("void LWLockAcquire(void *); void put(struct s *x) { LWLockAcquire(x); x->a = 1; }", GET, ["a"]),
    ("int unlock(void *); int block(void *); void put(struct s *x) { unlock(x); block(x); x->a = 1; }", GET, []),
    ("void put(struct s *x) { pthread_mutex_lock(x); put_inner(x); }", GET, ["a"]),
    ("void put(struct s *x) { pthread_mutex_lock(x); put_inner(x); } void more(struct s *x) { put_inner(x); }", GET + "more(&one);", []),
    # who reads under a lock waits for the store
    ("void put(struct s *x) { pthread_mutex_lock(x); x->a = 1; }", GET_LOCKED, []),
    ("void put(struct s *x) { __atomic_fetch_add(&x->a, 1, 5); }", GET_LOCKED, ["a"]),
    ("void put(struct s *x) { pthread_mutex_lock(&x->lock); pthread_mutex_unlock(&x->lock); }", GET, ["lock"]),
    ("long put(struct s *x) { pthread_mutex_lock(&x->lock); return x->c; }", "", []),
    # nobody calls the function
    ("void put(struct s *x) { x->a = 1; } void idle(struct s *x) { __atomic_fetch_add(&x->a, 1, 5); }", GET, []),
    ("void put(struct s *x) { } void used(struct s *x) { __atomic_fetch_add(&x->a, 1, 5); } void (*table[])(struct s *) = { used };", GET, ["a"]),
    # it runs before others see the object
    ("void put_init(struct s *x) { __atomic_store_n(&x->a, 1, 5); } void put(struct s *x) { put_init(x); }", GET, []),
])  # fmt: skip
def test_signs_that_threads_share_a_field(tmp_path, text, work, writers):
    found, packs = analysis(tmp_path, SHARING % (text, work))
    result = infer(found, found.bodies.structs, packs)
    assert [note.writer.part.path for note in result.notes] == writers


REGIONS = """
int pthread_mutex_lock(void *); int pthread_mutex_unlock(void *); int pthread_mutex_trylock(void *); int check(struct s *);
int sem_wait(void *); int sem_post(void *);
typedef struct { int word; } mutex_t; void take(mutex_t *m); mutex_t all; mutex_t other;
struct own { long flag; mutex_t lock; long pad[3]; long data; }; struct own *self; struct own every[9];
long get(struct s *x) { return x->c; } static void put_inner(struct s *x) { x->a = 1; }
%s
struct s one; int main(void) { put(&one); %s return 0; }
"""
LOCK, UNLOCK = "pthread_mutex_lock(&all);", "pthread_mutex_unlock(&all);"
ADD = "__atomic_fetch_add(&x->a, 1, 5);"


@pytest.mark.parametrize(("text", "work", "writers"), [
    # the lock is for another field
    (f"void put(struct s *x) {{ {LOCK} x->far = 1; {UNLOCK} x->a = 1; }}", GET, []),
    (f"void put(struct s *x) {{ {LOCK} x->a = 1; {UNLOCK} }}", GET, ["a"]),
    (f"void put(struct s *x) {{ if (check(x)) {{ {LOCK} x->far = 1; {UNLOCK} }} x->a = 1; }}", GET, []),
    (f"void put(struct s *x) {{ if (pthread_mutex_trylock(&all)) return; x->a = 1; {UNLOCK} }}", GET, ["a"]),
    (f"void put(struct s *x) {{ if (!pthread_mutex_trylock(&all)) return; x->a = 1; {UNLOCK} }}", GET, []),
    # the function that it calls stores, within the lock or after it; a static one of a header
    (f"void put(struct s *x) {{ {LOCK} put_inner(x); {UNLOCK} }}", GET, ["a"]),
    (f"void put(struct s *x) {{ {LOCK} {UNLOCK} put_inner(x); }}", GET, []),
    (f"void put(struct s *x) {{ {LOCK} put_inner(x); {UNLOCK} put_inner(x); }}", GET, []),
    # a function that takes a lock, which its name says or not; one whose name lies
    ("void my_lock(mutex_t *m) { pthread_mutex_lock(m); } void put(struct s *x) { my_lock(&all); x->a = 1; }", GET, ["a"]),
    ("void begin(mutex_t *m) { pthread_mutex_lock(m); } void put(struct s *x) { begin(&all); x->a = 1; }", GET, ["a"]),
    ("void grant_lock(struct s *x) { x->far = 1; } void put(struct s *x) { grant_lock(x); x->a = 1; }", GET, []),
    ("void spin_lock_mine(mutex_t *m) { while (__atomic_exchange_n(&m->word, 1, 5)) {} } void my_lock(mutex_t *m) { spin_lock_mine(m); } "
     "void put(struct s *x) { my_lock(&all); x->a = 1; }", GET, ["a"]),
    # atomics, and readers with the same lock or another one
    (f"void put(struct s *x) {{ {LOCK} {ADD} {UNLOCK} }}", GET, ["a"]),
    (f"void put(struct s *x) {{ {LOCK} {ADD} {UNLOCK} }} long get_all(struct s *x) {{ {LOCK} long r = x->c; {UNLOCK} return r; }}", "get_all(&one);", []),
    (f"void put(struct s *x) {{ pthread_mutex_lock(&other); {ADD} pthread_mutex_unlock(&other); }} "
     f"long get_all(struct s *x) {{ {LOCK} long r = x->c; {UNLOCK} return r; }}", "get_all(&one);", ["a"]),
    # a lock: who reads takes it as well, or calls a function that does, each time or seldom
    ("void put(struct s *x) { pthread_mutex_lock(&x->lock); check(x); pthread_mutex_unlock(&x->lock); } "
     "long both(struct s *x) { pthread_mutex_lock(&x->lock); pthread_mutex_unlock(&x->lock); return x->c; }", "both(&one);", []),
    ("void put(struct s *x) { pthread_mutex_lock(&x->lock); check(x); pthread_mutex_unlock(&x->lock); } "
     "long both(struct s *x) { if (__builtin_expect(x->c, 0)) put(x); return x->c; }", "both(&one);", ["lock"]),
    # one that is taken under a condition only is for another mode
    ("int mode; void put(struct s *x) { if (mode) pthread_mutex_lock(&x->lock); check(x); if (mode) pthread_mutex_unlock(&x->lock); }", GET, []),
    # one that is only tried, also where the result is not followed; nobody waits for it, so its users are victims
    ("void put(struct s *x) { if (pthread_mutex_trylock(&x->lock) == 0) { check(x); pthread_mutex_unlock(&x->lock); } }", GET, ["lock"]),
    ("int begin(struct s *x) { return !pthread_mutex_trylock(&x->lock); } void put(struct s *x) { if (begin(x)) check(x); }", GET, ["lock"]),
    ("void put(struct s *x) { if (!pthread_mutex_trylock(&x->lock)) pthread_mutex_unlock(&x->lock); } "
     "long both(struct s *x) { put(x); return x->c; }", "both(&one);", ["lock"]),
    ("void put(struct s *x) { pthread_mutex_lock(&x->lock); check(x); pthread_mutex_unlock(&x->lock); } "
     "long both(struct s *x) { if (!pthread_mutex_trylock(&x->lock)) pthread_mutex_unlock(&x->lock); return x->c; }", "both(&one);", []),
    # a semaphore
    ("void put(struct s *x) { sem_wait(&x->lock); check(x); sem_post(&x->lock); }", GET, ["lock"]),
    # who frees the object has it alone, also if that has a condition; one that only may free it does not
    ("void put(struct s *x) { pthread_mutex_lock(&x->lock); check(x); pthread_mutex_unlock(&x->lock); } void free(void *); "
     "long end(struct s *x) { if (!x) return 0; long r = x->c + x->c; free(x); return r; }", "end(&one);", []),
    ("void put(struct s *x) { pthread_mutex_lock(&x->lock); check(x); pthread_mutex_unlock(&x->lock); } void my_free(struct s *); "
     "long end(struct s *x) { long r = x->c; if (check(x)) my_free(x); return r; }", "end(&one);", ["lock"]),
    # who stores without the lock has the object alone, if others call it with the lock
    ("long pop(struct s *x) { x->a = 1; return x->c; } void put(struct s *x) { pthread_mutex_lock(&x->lock); pop(x); pthread_mutex_unlock(&x->lock); }",
     "pop(&one);", []),
])  # fmt: skip
def test_what_locks_are_for(tmp_path, text, work, writers):
    found, packs = analysis(tmp_path, REGIONS % (text, work))
    result = infer(found, found.bodies.structs, packs)
    assert [note.writer.part.path for note in result.notes] == writers


STORE, LOAD = "__atomic_store_n(&{}->flag, 1, 5)", "{}->data"


@pytest.mark.parametrize(("variable", "write", "read", "notes"), [
    # by the pointer of a process or a thread to its own object, or in an array of all
    ("", "self", "self", 0), ("", "self", "(every + n)", 1), ("", "(every + n)", "self", 1), ("", "(every + n)", "(every + n)", 1),
    ("_Thread_local struct own *mine;", "mine", "mine", 0), ("_Thread_local struct own *mine;", "(every + n)", "mine", 1),
    ("struct own *get_mine(void) { return self; }", "get_mine()", "self", 0),
])  # fmt: skip
def test_objects_of_the_thread(tmp_path, variable, write, read, notes):
    text = f"{variable} void put(struct s *x) {{ }} void w(int n) {{ {STORE.format(write)}; }} long r(int n) {{ return {LOAD.format(read)}; }} long o(int n) {{ return every[n].pad[0]; }}"
    found, packs = analysis(tmp_path, REGIONS % (text, "w(1); r(1); o(1);"))
    pairs = [pair for note in infer(found, found.bodies.structs, packs).notes for pair in note.pairs]
    assert [pair.writer.part.path for pair in pairs if pair.reader.part.path == "data"] == ["flag"] * notes


@pytest.mark.parametrize(("read", "notes"), [("single->data", 1), ("given(single)", 1)])
def test_an_object_that_a_variable_of_all_processes_points_to(tmp_path, read, notes):
    text = f"struct own *single; long given(struct own *x) {{ return x->data; }} void put(struct s *x) {{ {STORE.format('single')}; }} long r(void) {{ return {read}; }}"
    found, packs = analysis(tmp_path, REGIONS % (text, "r();"))
    assert len(infer(found, found.bodies.structs, packs).notes) == notes



THREADS = """
int pthread_create(void *, void *, void *(*)(void *), void *);
struct two { long a, b; } two; struct s one;
static void both(void) { one.far++; }
void *put(void *p) { one.a = 1; two.a = 1; both(); return 0; }
void *get(void *p) { both(); return (void *)(one.c + two.b); }
static void start(void *(*f)(void *)) { int t; pthread_create(&t, 0, f, 0); }
int main(void) { int t; %s return 0; }
"""


@pytest.mark.parametrize(("work", "notes"), [
    # fields that functions of different threads use, also in structs of two words
    ("pthread_create(&t, 0, put, 0); pthread_create(&t, 0, get, 0);", [("s", "a", "c"), ("two", "a", "b")]),
    ("start(put); start(get);", [("s", "a", "c"), ("two", "a", "b")]),
    ("pthread_create(&t, 0, put, 0); get(0);", [("s", "a", "c"), ("two", "a", "b")]),
    ("pthread_create(&t, 0, put, 0); get(0); put(0);", []),  # main runs both
    ("put(0); get(0);", []),
])  # fmt: skip
def test_fields_of_different_threads(tmp_path, work, notes):
    found, packs = analysis(tmp_path, THREADS % work)
    result = infer(found, found.bodies.structs, packs)
    rows = [(note.struct.name, note.writer.part.path, *(pair.reader.part.path for pair in note.pairs)) for note in result.notes]
    assert sorted(rows) == notes


WORKERS = """
int pthread_create(void *, void *, void *(*)(void *), void *); int wait(void); int fork(void); void *mmap(int); int execv(void *, void *);
int rte_eal_mp_remote_launch(void *(*)(void *), void *, int);
struct server { long hits; long pad; long seen; long conf; long state; } server;
static void handle(void) { server.state++; %s }
static void receive(void) { __atomic_fetch_add(&server.hits, 1, 5); handle(); }
void *work(void *p) { while (wait()) receive(); return 0; }
static void turn(void) { %s }
int main(void) { int t; %s while (wait()) turn(); return 0; }
"""
START = "pthread_create(&t, 0, work, 0);"
FORK = "for (int n = 0; n < 4; n++) if (!fork()) turn();"
MANY = "for (int n = 0; n < 4; n++) pthread_create(&t, 0, work, 0);"


@pytest.mark.parametrize(("handle", "turn", "start", "victims"), [
    # main reads, and others write
    ("", "server.pad = server.seen;", START, ["seen"]),
    # main runs `handle`, whose stores two threads could not do at once: so others do not run it, though they call it
    ("server.pad = server.seen;", "handle();", START, ["seen"]),
    # only main reads and writes
    ("", "receive(); server.pad = server.seen;", "", ["seen"]),
    ("__atomic_fetch_add(&server.conf, 1, 5); server.pad = server.seen;", "handle();", START, ["seen"]),
])  # fmt: skip
def test_which_thread_runs_a_function(tmp_path, handle, turn, start, victims):
    found, packs = analysis(tmp_path, WORKERS % (handle, turn, start))
    notes = [note for note in infer(found, found.bodies.structs, packs).notes if note.writer.part.path == "hits"]
    assert [pair.reader.part.path for note in notes for pair in note.pairs if pair.reader.part.path == "seen"] == victims


@pytest.mark.parametrize(("start", "function", "other", "expected"), [
    (START, "turn", "turn", 0.0), (START, "receive", "turn", 1.0), (START, "receive", "receive", 0.0), (MANY, "receive", "receive", 1.0),
    (START, "handle", "turn", 0.0),  # only main runs it, as it stores to `server.state`
    ("", "receive", "receive", 1.0),  # no threads are known: processes, perhaps
    ("rte_eal_mp_remote_launch(work, 0, 0);", "receive", "receive", 1.0),  # one call starts several
    # processes that share memory, beside threads; none that share nothing, are one, or run other programs
    (f"{START} mmap(9); {FORK}", "turn", "turn", 1.0), (f"{START} {FORK}", "turn", "turn", 0.0),
    (f"{START} mmap(9); if (!fork()) turn();", "turn", "turn", 0.0), (f"{START} mmap(9); {FORK} execv(0, 0);", "turn", "turn", 0.0),
])  # fmt: skip
def test_how_often_functions_run_in_different_threads(tmp_path, start, function, other, expected):
    found, _ = analysis(tmp_path, WORKERS % ("", "handle();", start))
    keys = {plain_name(key): key for key in found.program.functions}
    assert found.meetings.threads.separation(keys[function], keys[other]) == pytest.approx(expected)


PER_CPU = """
#define OWN(type, name) __attribute__((section(".data..percpu"))) __typeof__(type) name
#define DEFINE_PER_CPU(type, name) OWN(type, name)
"""
MINE = "int main(void) {{ {} }} void f(struct s *x) {{ spin_lock(&x->lock); x->c = x->a; }}"


OWNED = """
struct refcount { int v; }; void refcount_inc(struct refcount *);
struct packet { long data; struct refcount users; long pad[4]; long %s };
void f(struct packet *x) { x->data = 1; refcount_inc(&x->users); %s }
long g(struct packet *x) { return x->pad[0]; }
struct packet one; int main(void) { f(&one); return g(&one); }
"""


@pytest.mark.parametrize(("field", "work", "is_kernel", "plain"), [
    ("end;", "", True, 0.1),  # the owner stores: a counter of references makes no others wait
    ("end; lock_t lock;", "spin_lock(&x->lock);", True, 1.0),
    ("end; lock_t lock;", "", True, 0.1),  # nobody takes the lock
    ("end; lock_t lock;", "spin_lock(&x->lock);", False, 0.1),
])  # fmt: skip
def test_what_a_plain_store_counts(tmp_path, field, work, is_kernel, plain):
    found, _ = analysis(tmp_path, OWNED % (field, work))
    found = replace(found, bodies=replace(found.bodies, is_kernel=is_kernel))
    (struct,) = (each for each in found.bodies.structs if each.name == "packet")
    traffic = found.traffic(*found.struct_keys(struct), struct)
    weights = {each.part.path: traffic.weight(each) for each in traffic.fields if each.writes}
    assert weights["data"] == pytest.approx(plain)
    assert weights["users"] == 1.0


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("text", "is_shared"), [
    ("_Thread_local struct s mine;", False),
    ("#define __percpu\nstruct t { struct s __percpu *each; };", False),
    ("#define __alloc_percpu(size, align) 0\nvoid *g(void) { return __alloc_percpu(sizeof(struct s), 8); }", False),
    ("struct t { int b; struct s in[2]; }; _Thread_local struct t mine; int h(struct t *x) { return x->b; }", False),
    ("_Thread_local struct s *mine;", True),  # a pointer: the objects can be anybody's
    ("_Thread_local struct s mine; struct t { int b; struct s in; }; int h(struct t *x) { return x->b; }", True),
    ("struct t { int b; struct s in; }; int h(struct t *x) { return x->b; }", True),
    ("#define __percpu\nvoid *pcpu_alloc_all(int); struct t { struct s __percpu *each; };\n"
     "void g(struct t *x) { struct s *own = pcpu_alloc_all(9); x->each = own; }", False),
    # each variable counts by itself, in any order and whatever the macro is called
    ("_Thread_local struct s mine; struct s everybody;", True),
    ("static struct s everybody[2]; static __thread struct s mine;", True),
    (f"{PER_CPU}DEFINE_PER_CPU(struct s, mine);", False),
    (f"{PER_CPU}static DEFINE_PER_CPU(struct s, mine) = {{ .a = 1 }}; static struct s everybody = {{ .a = 2 }};", True),
    (f"{PER_CPU}static OWN(struct s, mine);", False),
    (f"{PER_CPU}OWN(struct s, mine); struct s everybody;", True),
    (f"{PER_CPU}struct s everybody; DEFINE_PER_CPU(struct s, mine); DEFINE_PER_CPU(struct s *, pointer);", True),
    ('__attribute__((section(".data..read_mostly"))) struct s everybody;', True),
])  # fmt: skip
def test_objects_of_one_processor_count_little(tmp_path, text, is_shared):
    """Also those that are only embedded in such objects; not if others have them as well."""
    found, _ = analysis(tmp_path, text + "\n" + MINE.format("struct s *x = 0; f(x); return 0;"))
    (struct,) = (each for each in found.bodies.structs if each.name == "s")
    (key,) = found.struct_keys(struct)
    assert found.traffic(key, struct).share == (1.0 if is_shared else 0.02)


@pytest.mark.parametrize(("access", "field", "found"), [
    ("read-mostly", "c", ["written"]), ("hot-read", "c", ["written"]), ("hot-write", "c", []), ("read-mostly", "a", []),
    ("hot-write", "a", []), ("cold", "a", []),
])  # fmt: skip
def test_contradictions(tmp_path, access, field, found):
    rules = f'[struct.s.fields]\n{field} = {{ access = "{access}" }}\n'
    analysed, packs = analysis(tmp_path, NOTES, rules)
    result = infer(analysed, analysed.bodies.structs, packs)
    assert [each.observation for each in result.contradictions] == found


@pytest.mark.parametrize(("more", "found"), [
    ("", []),  # what writes it is in other sources
    ("void s_init(struct s *x) { x->a = 1; }", ["only read"]),
    ("void s_init(struct s *x) { x->a = 1; } extern void other(int *); void g(struct s *x) { other(&x->a); }", []),
])  # fmt: skip
def test_fields_that_are_declared_as_written(tmp_path, more, found):
    analysed, packs = analysis(tmp_path, f"{NOTES}{more}\n", '[struct.s.fields]\na = { access = "hot-write" }\n')
    assert [each.observation for each in infer(analysed, analysed.bodies.structs, packs).contradictions] == found


def test_an_annotation_is_reported_once(tmp_path):
    """Annotations are merged into every pack."""
    analysed, packs = analysis(tmp_path, NOTES, '[struct.s.fields]\nc = { access = "read-mostly" }\n')
    assert len(infer(analysed, analysed.bodies.structs, packs * 2).contradictions) == 1
