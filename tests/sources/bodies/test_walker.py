"""What bodies do with fields: tables of C statements, read through libclang."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.model.uses import Effect, Spot
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.bodies import unit
from tests.harness.whole import whole_lines

HEAD = """
typedef struct { int counter; } atomic_t;
struct in { int q; int r[4]; };
struct s {
  int a; union { int u1; long u2; }; struct in arr[3]; struct in in; struct in *p; int b : 3; int b2; _Atomic int at; struct { int deep; } box;
  atomic_t count; struct s *next; int (*call)(int); volatile int flag;
};
extern void ext(int *); extern void *get(void); extern struct s *find(int); int f(int x) { return x; }
static inline void bump(atomic_t *v) { __atomic_fetch_add(&v->counter, 1, 5); }
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define unlikely(x) __builtin_expect(!!(x), 0)
extern struct s shared;
static int *place(struct s *x) { return &x->in.q; }
static int *same(int *p) { return p ? p : 0; }
extern void all(int, ...), place_of(int *);
struct own { int n; int (*many[2])(int); };
struct ops { int id; int : 3; int (*one)(int); union { int (*two)(int); long n; }; struct { int q; int (*deep)(int); } in; struct own own; };
"""


def read_function(folder: Path, text: str):
    (folder / "t.c").write_text(text)
    read = unit.read(Unit(str(folder / "t.c"), ("-xc", "-w"), str(folder), (str(folder),), "t.c"))
    (found,) = (each for each in read.functions if each.key == "t")
    return found


@pytest.fixture
def function(tmp_path, golden_row):
    """Reads a body, and holds all that is known of it against the golden file."""

    def read(body: str):
        found = read_function(tmp_path, f"{HEAD}void t(struct s *x, struct s y, int n) {{ {body} }}\n")
        golden_row("\n".join(whole_lines(found)))
        return found

    return read


@pytest.mark.parametrize(("body", "uses"), [
    # what is done with fields of struct s, as path and effect
    ("x->a = 1;", {("a", "write")}),
    ("n = x->a;", {("a", "read")}),
    ("x->a += 2;", {("a", "read"), ("a", "write")}),
    ("x->a++;", {("a", "read"), ("a", "write")}),
    ("x->u1 = 1;", {("u1", "write")}),
    ("x->arr[x->a].q = 1;", {("arr.q", "write"), ("a", "read")}),
    ("x->in.r[2]++;", {("in.r", "read"), ("in.r", "write")}),
    ("x->p->q = 1;", {("p", "read")}),
    ("x->box.deep = 1;", {("box.deep", "write")}),
    ("x->b = 1;", {("b", "write")}),
    ("(*x).a = 1;", {("a", "write")}),
    ("x[3].a = 1;", {("a", "write")}),
    ("x->next->a = 1;", {("next", "read"), ("a", "write")}),
    ("n = READ_ONCE(x->a);", {("a", "read")}),
    ("WRITE_ONCE(x->a, 3);", {("a", "shared store")}),
    ("(*(volatile int *)&x->a)++;", {("a", "read"), ("a", "shared store")}),
    ("x->flag = 1;", {("flag", "volatile store")}),  # mostly of a signal handler
    ("x->at = 1;", {("at", "shared store")}),
    ("x->at++; x->at -= 2;", {("at", "atomic")}),
    ("n = x->at;", {("at", "read")}),
    ("__atomic_fetch_add(&x->a, 1, 5);", {("a", "atomic")}),
    ("n = __atomic_load_n(&x->a, 5);", {("a", "read")}),
    ("__atomic_store_n(&x->a, n, 5);", {("a", "shared store")}),
    ("__atomic_store_n(&x->next, x, 5);", {("next", "shared store")}),
    ("__atomic_store(&x->a, &x->b2, 5);", {("a", "shared store"), ("b2", "read")}),
    ("__atomic_store(&x->next, &x->next->next, 5);", {("next", "shared store"), ("next", "read")}),
    ("__c11_atomic_store(&x->at, n, 5);", {("at", "shared store")}),
    ("__c11_atomic_init(&x->at, n);", {("at", "write")}),
    ("n = __c11_atomic_load(&x->at, 5);", {("at", "read")}),
    ("__atomic_load(&x->a, &n, 5);", {("a", "read")}),
    ("__atomic_load(&x->a, &x->b2, 5);", {("a", "read"), ("b2", "write")}),
    # libclang shows loads like stores: their names are in the text, where strings count for nothing
    ('ext((int *)"__atomic_store("); if (n) __atomic_load(&x->a, &n, 5); else __atomic_store(&x->b2, &n, 5);', {("a", "read"), ("b2", "shared store")}),
    ("__atomic_exchange(&x->a, &n, &n, 5);", {("a", "atomic")}),
    ("__atomic_exchange(&x->a, &x->b2, &x->u1, 5);", {("a", "atomic"), ("b2", "read"), ("u1", "write")}),
    ("__atomic_compare_exchange_n(&x->a, &x->b2, 3, 0, 5, 5);", {("a", "atomic"), ("b2", "read"), ("b2", "write")}),
    ("n = _Generic(x->a, int: x->b2, default: x->u1);", {("b2", "read")}),  # the first one is not evaluated
    ("_Generic(n, int: x, default: &y)->a = 1;", {("a", "write")}),
    ("*_Generic(n, int: &x->a, default: &x->u2) = 1;", {("a", "write")}),
    ("n = x->a ?: x->b2;", {("a", "read"), ("b2", "read")}),
    ("n = __atomic_exchange_n(&x->a, n, 5);", {("a", "atomic")}),
    ('asm volatile("incl %0" : "+m"(x->a) : "r"(x->u1));', {("a", "read"), ("a", "write"), ("u1", "read")}),
    ('asm volatile("lock; incl %0" : "+m"(x->a) : "m"(x->u1) : "memory");', {("a", "atomic"), ("u1", "read")}),
    ('asm volatile("movl %1, %0" : "=m"(x->a) : "m"(x->u1) : "memory");', {("a", "write"), ("u1", "read")}),
    ('asm volatile("xchgl %[new], %[at]" : [new] "+r"(x->u1), [at] "+m"(x->a));', {("a", "atomic"), ("u1", "read"), ("u1", "write")}),
    ('asm volatile("lock bts %1, %0" : : "m"(x->a), "Ir"(x->u1) : "memory");', {("a", "atomic"), ("u1", "read")}),
    ('asm volatile("" : "+m"(x->a));', {("a", "read")}),
    # the one in an operand comes later, a typeof is not evaluated, and `":"` is no colon
    ('asm("lock; decl %0 # :" : "+m"(x->a) : "r"(({ int k; asm("mov %1, %0" : "=r"(k) : "m"(x->b2)); k; })));', {("a", "atomic"), ("b2", "read")}),
    ('__typeof__(({ asm("incl %0" : "+m"(x->b2)); 1; })) k; asm("decl %0" : "+m"(x->a));', {("a", "read"), ("a", "write")}),
    ('asm goto("lock decl %0; jz %l[out]" : "+m"(x->a) : "m"(x->b2) : "cc" : out); out: ;', {("a", "atomic"), ("b2", "read")}),
    ("struct in *q = &x->in; q->q = 1;", {("in.q", "write")}),
    ("int *q = &x->a; *q = 1;", {("a", "write")}),
    ("struct s *z; z = x; z->a = 1;", {("a", "write")}),
    ("n = sizeof(x->a) + __builtin_offsetof(struct s, in.q);", set()),
    ("__typeof__(x->a) k = 3;", set()),
    ("y.a = 1; struct s z; z.a = 2;", set()),  # objects of its own
    ("shared.a = 1;", {("a", "write")}),
    ("n = x->a ? x->u1 : x->b;", {("a", "read"), ("u1", "read"), ("b", "read")}),
    ("if (x->a) x->b = 1; else x->u1 = 2;", {("a", "read"), ("b", "write"), ("u1", "write")}),
    ("for (int i = 0; i < x->a; i++) x->b = i;", {("a", "read"), ("b", "write")}),
    ("switch (x->a) { case 1: x->b = 1; break; default: x->u1 = 1; }", {("a", "read"), ("b", "write"), ("u1", "write")}),
    ("({ x->a = 1; });", {("a", "write")}),
    ("n = ({ int k = x->a; k; });", {("a", "read")}),
    ("x->call(3);", {("call", "read")}),
    ("x->a = x->b = 1;", {("a", "write"), ("b", "write")}),
    ("x->next = &shared;", {("next", "write")}),
    ("int a[2] = { x->a, x->b };", {("a", "read"), ("b", "read")}),
    ("struct s *q = x++; q->a = 1;", {("a", "write")}),
    ("goto out; out: x->a = 1;", {("a", "write")}),
    # what is never evaluated
    ("if (__builtin_constant_p(x->a)) x->b = 1; n = __builtin_object_size(x, 0);", {("b", "write")}),
    ("if (0) x->a = 1; else x->b = 1; n = 0 ? x->u1 : x->b2;", {("b", "write"), ("b2", "read")}),
    ("if (!(1)) x->a = 1; if (x && 0 && x->b) x->b = 2; if (1 || x->a) x->b2 = 1;", {("b2", "write")}),
    ("goto in; if (0) { in: x->a = 1; }", {("a", "write")}),
    ("switch (n) { case 0: if (0) { case 1: x->a = 1; } }", {("a", "write")}),
    ("int many[x->a]; __typeof__(x->b2) k;", {("a", "read")}),
    # addresses
    ("int *q = &x->a; *q++ = 1; *--q += 1;", {("a", "read"), ("a", "write")}),
    ("int *many[] = { &x->a };", {("a", "address")}),
    ("*place(x) = 1;", {("in.q", "write")}),
    ("*same(&x->a) = *same(&x->b2);", {("a", "write"), ("b2", "read")}),
    ("all(n, &x->a);", {("a", "address")}),
    ("do { x->a = 1; } while (0);", {("a", "write")}),
    ('asm volatile("incl (%0)" : : "r"(&x->a) : "memory");', {("a", "address")}),
    ('int *q = x->in.r; asm volatile("incl (%0)" : : "r"(q) : "memory");', {("in.r", "address")}),
    ('asm volatile("nop" : : "r"(x->next));', {("next", "read")}),
])  # fmt: skip
def test_uses(function, body, uses):
    found = function(body)
    assert {(use.spot.path, use.effect.value) for use in found.uses if use.spot.root == "s@t.c"} == uses


@pytest.mark.parametrize(("body", "weight", "in_loop"), [
    ("x->a = 1;", 1.0, False),
    ("if (n) x->a = 1;", 0.5, False),
    ("if (unlikely(n)) x->a = 1;", 0.02, False),
    ("if (!unlikely(n)) x->a = 1;", 0.98, False),
    ("if (n) return; x->a = 1;", 1.0, False),
    ("while (n--) x->a = 1;", 4.0, True),
    ("do { x->a = 1; } while (0);", 1.0, False),
    ("for (;;) for (;;) for (;;) x->a = 1;", 16.0, True),
])  # fmt: skip
def test_weights(function, body, weight, in_loop):
    (use,) = (use for use in function(body).uses if use.spot == Spot("s@t.c", "a"))
    assert (round(use.weight, 4), use.in_loop) == (weight, in_loop)


@pytest.mark.parametrize(("body", "calls"), [
    ("ext(&x->a);", [("ext", None, [(0, "s@t.c", "a"), (0, 0, "a")])]),
    ("bump(&x->count);", [("bump@t.c", None, [(0, "s@t.c", "count"), (0, 0, "count")])]),
    ("x->call(3);", [("", ("s@t.c", "call"), [])]),
    ("find(3)->a = 1;", [("find", None, [])]),
    ("_Generic(x, struct s *: find, default: f)(3);", [("find", None, [])]),
    ("__builtin_memset(&x->in, 0, 9);", [("__builtin_memset", None, [(0, "s@t.c", "in"), (0, 0, "in")])]),
    ("__builtin_expect(n, 0);", []),
    ("f(x->a);", [("f", None, [])]),
    ("place_of(place(x));", [("place@t.c", None, [(0, 0, "")]), ("place_of", None, [(0, "in@t.c", "q"), (0, "s@t.c", "in.q"), (0, 0, "in.q")])]),
])  # fmt: skip
def test_calls(function, body, calls):
    found = [(call.callee, call.through and tuple(call.through), [(at, *spot) for at, spot, _ in call.arguments]) for call in function(body).calls]
    assert found == calls


@pytest.mark.parametrize(("body", "target"), [
    ("x->call = f;", ("f", ("s@t.c", "call"))),
    ("x->call = &f;", ("f", ("s@t.c", "call"))),
    ("struct s z = { .call = f };", ("f", ("s@t.c", "call"))),
    ("ext((int *)f);", ("f", None)),
    # initial values in order, in braces or not
    ("struct ops o = { 1, f };", ("f", ("ops@t.c", "one"))),
    ("struct ops o[] = { { 1 }, { 2, f } };", ("f", ("ops@t.c", "one"))),
    ("struct ops o = { .id = 0, f };", ("f", ("ops@t.c", "one"))),
    ("struct ops o = { 1, 0, { f } };", ("f", ("ops@t.c", "two"))),
    ("struct ops o = { 1, 0, { 0 }, { 2, f } };", ("f", ("ops@t.c", "in.deep"))),
    ("struct ops o = { .in.deep = f };", ("f", ("ops@t.c", "in.deep"))),
    ("ext((int *)&(struct ops){ 1, f });", ("f", ("ops@t.c", "one"))),
    ("struct ops o = { .own = { 1, { f } } };", ("f", ("own@t.c", "many"))),
    ("struct ops o[1] = { 1, f };", ("f", None)),
    ("struct ops o = { 1, 0, { 0 }, 2, f };", ("f", None)),
])  # fmt: skip
def test_addresses_of_functions(function, body, target):
    assert target in [(key, spot and tuple(spot)) for key, spot in function(body).targets]


@pytest.mark.parametrize("body", [
    # the object around a field is not a part of the field: nothing of struct s is used
    "((struct in *)((char *)&x->a - 8))->q = 1;",
    "({ void *p = &x->a; (struct in *)(p - __builtin_offsetof(struct in, r)); })->q = 1;",
    "((struct in *)&x->count)->q = 1;",
])  # fmt: skip
def test_objects_around_a_field(function, body):
    found = function(body)
    assert {tuple(use.spot) for use in found.uses} == {("in@t.c", "q")}


def test_objects_that_a_function_gets_and_has(function):
    found = function("struct s *z = get(); z->a = 1; struct in local; local.q = 1; find(1)->b = 2;")
    makers = {(use.spot.path, use.maker) for use in found.uses if use.spot.root == "s@t.c"}
    assert (makers, found.locals, found.made) == ({("a", "get"), ("b", "find")}, ("in@t.c",), (("get", "s@t.c"),))


def test_functions_of_an_included_source(tmp_path):
    """As kernel/sched/build_policy.c of Linux includes rt.c, which is not built on its own."""
    (tmp_path / "part.c").write_text("struct p { int a; } one;\nint set(struct p *x) { return x->a = 1; }\n")
    (tmp_path / "t.c").write_text('#include "part.c"\n')
    read = unit.read(Unit(str(tmp_path / "t.c"), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "t.c"))
    assert ([each.key for each in read.functions], read.variables) == (["set"], ("p@part.c",))


def test_functions_of_headers_and_variables_of_the_unit(tmp_path):
    (tmp_path / "h.h").write_text("struct h { int a; };\nstatic inline void set(struct h *x) { x->a = 1; }\nstatic inline void no(void) {}\n")
    (tmp_path / "t.c").write_text('#include "h.h"\nstruct o { int (*fn)(void); };\nint run(void) { static struct h one; static _Thread_local struct o each; set(&one); return 0; }\n'
                                  "struct o table = { .fn = run };\n_Thread_local struct h mine;\n")
    read = unit.read(Unit(str(tmp_path / "t.c"), ("-xc", "-w"), str(tmp_path), (str(tmp_path),), "t.c"))
    assert sorted(each.key for each in read.functions) == ["run", "set@h.h"]
    assert read.stored == (("run", Spot("o@t.c", "fn")),)
    assert (sorted(read.shared_variables()), sorted(read.per_cpu)) == (["h@h.h", "o@t.c"], ["h", "o"])
    assert [struct.name for struct in read.structs] == ["h"]


@pytest.mark.parametrize("body", [
    "x->a = " + "(" * 300 + "1" + ")" * 300 + ";",
    "n = " + "+".join(["x->a"] * 2000) + ";",
    "".join("if (n) {" for _ in range(200)) + "x->a = 1;" + "}" * 200,
    "x->nothing = 1; y.gone->b = 2; undeclared(x->a);",
    "(void)(x->a, x->b); __auto_type z = x; &&label; label: ;",
])  # fmt: skip
def test_strange_bodies_end(function, body):
    assert function(body).key == "t"


LOCKS = """
typedef struct { int v; } mutex; int pthread_mutex_lock(mutex *); int pthread_mutex_unlock(mutex *); int pthread_mutex_trylock(mutex *);
int spin_trylock(mutex *); int item_lock(int); void item_unlock(int); int tas(volatile int *); void s_lock(volatile int *); void ext(mutex *);
struct z { int a, b, c; mutex m; volatile int word; struct z *next; int many[4]; }; extern struct z *self; extern _Thread_local struct z *mine; extern struct z one;
extern mutex all; static mutex many[4]; mutex guard_lock(mutex *); void guard_unlock(mutex *);
#define LOCK pthread_mutex_lock(&x->m);
#define UNLOCK pthread_mutex_unlock(&x->m);
#define GUARD(l) __attribute__((cleanup(guard_unlock))) mutex guard = guard_lock(l)
#define SPIN(l) (tas(l) ? s_lock(l) : (void)0)
"""


@pytest.fixture
def in_locks(tmp_path, golden_row):
    """Reads a body, as `function` does."""

    def read(body: str):
        found = read_function(tmp_path, f"{LOCKS}void t(struct z *x, int n) {{ {body} }}\n")
        golden_row("\n".join(whole_lines(found)))
        return found

    return read


@pytest.mark.parametrize(("body", "locks"), [
    # the locks at stores to a, b and c
    ("LOCK x->a = 1; UNLOCK x->b = 1;", {"a": "m", "b": ""}),
    ("LOCK if (n) { UNLOCK x->a = 1; return; } x->b = 1; UNLOCK x->c = 1;", {"a": "", "b": "m", "c": ""}),
    ("if (n) { LOCK } x->a = 1;", {"a": ""}),
    ("if (n) { LOCK } else { LOCK } x->a = 1;", {"a": "m"}),
    ("if (n) return; LOCK x->a = 1; goto out; x->b = 1; out: UNLOCK x->c = 1;", {"a": "m", "b": "", "c": ""}),
    ("LOCK if (n) goto out; UNLOCK x->a = 1; return; out: x->b = 1; UNLOCK", {"a": "", "b": "m"}),
    ("if (n) goto out; LOCK out: x->a = 1;", {"a": ""}),
    ("again: LOCK x->a = 1; UNLOCK if (n) goto again; x->b = 1;", {"a": "m", "b": ""}),
    # trylock: zero, or not, if the lock is taken
    ("if (pthread_mutex_trylock(&x->m)) return; x->a = 1;", {"a": "m"}),
    ("if (pthread_mutex_trylock(&x->m) == 0) { x->a = 1; UNLOCK } x->b = 1;", {"a": "m", "b": ""}),
    ("if (!spin_trylock(&x->m)) { x->a = 1; return; } x->b = 1;", {"a": "", "b": "m"}),
    ("if (n && spin_trylock(&x->m)) x->a = 1; x->b = 1;", {"a": "m", "b": ""}),
    ("if (n || !spin_trylock(&x->m)) return; x->a = 1;", {"a": "m"}),
    ("int r; if ((r = spin_trylock(&x->m)) != 0) x->a = 1; else x->b = 1;", {"a": "m", "b": ""}),
    ("if (__builtin_expect(!!spin_trylock(&x->m), 1)) x->a = 1;", {"a": "m"}),
    ("while (tas(&x->word)) x->b = 1; x->a = 1;", {"a": "word", "b": ""}),
    # the spin lock of PostgreSQL: a store releases it
    ("SPIN(&x->word); x->a = 1; do { x->word = 0; } while (0); x->b = 1;", {"a": "word", "b": ""}),
    # loops and switches
    ("while (1) { LOCK if (n) break; x->a = 1; UNLOCK } x->b = 1;", {"a": "m", "b": "m"}),
    ("LOCK while (n) { UNLOCK x->a = 1; } x->b = 1;", {"a": "", "b": ""}),
    ("for (;;) { LOCK x->a = 1; if (n) continue; UNLOCK x->c = 1; break; } x->b = 1;", {"a": "m", "b": "", "c": ""}),
    ("do { LOCK x->a = 1; if (n) break; } while (0); x->b = 1;", {"a": "m", "b": "m"}),
    ("switch (n) { case 1: LOCK break; default: LOCK x->a = 1; } x->b = 1;", {"a": "m", "b": "m"}),
    ("switch (n) { case 1: LOCK break; case 2: x->a = 1; } x->b = 1;", {"a": "", "b": ""}),
    # guards, which the end of the block releases
    ("{ GUARD(&x->m); x->a = 1; } x->b = 1;", {"a": "m", "b": ""}),
    # locks that are variables or elements, several at once, and one that nobody can name
    ("pthread_mutex_lock(&all); x->a = 1;", {"a": "all"}),
    ("pthread_mutex_lock(&many[2]); x->a = 1; pthread_mutex_unlock(&many[1]); x->b = 1;", {"a": "many@t.c[2]", "b": "many@t.c[2]"}),
    ("LOCK pthread_mutex_lock(&all); x->a = 1; UNLOCK x->b = 1;", {"a": "m all", "b": "all"}),
    ("item_lock(n); x->a = 1; item_unlock(n); x->b = 1;", {"a": "?", "b": ""}),
    ("ext(&x->m); x->a = 1;", {"a": ""}),
])  # fmt: skip
def test_locks(in_locks, body, locks):
    uses = [use for use in in_locks(body).uses if use.effect is Effect.WRITE and use.spot.path in "abc"]
    assert {use.spot.path: " ".join(lock.spot.path or "?" for lock in use.locks) for use in uses} == locks


@pytest.mark.parametrize(("body", "kept"), [
    ("LOCK", ["m"]), ("LOCK if (n) return; UNLOCK", []), ("LOCK if (n) return; x->a = 1;", ["m"]), ("GUARD(&x->m); return;", []),
])  # fmt: skip
def test_locks_that_a_function_keeps(in_locks, body, kept):
    assert [lock.spot.path for lock in in_locks(body).kept] == kept


@pytest.mark.parametrize(("body", "maker"), [
    # what points to the object whose `a` is stored to
    ("self->a = 1;", "*self"), ("mine->a = 1;", "%mine"), ("one.a = 1;", "&one"), ("x->a = 1;", "#0"),
    ("struct z *p = self; p->a = 1;", "*self"), ("struct z *p = 0; p = self; p->a = 1;", "*self"),
    ("self->many[2] = self->a = 1;", "*self"),
    # another element, or one of several
    ("self[1].a = 1;", ""), ("(self + 1)->a = 1;", ""), ("self->next->a = 1;", ""), ("struct z *p = n ? self : x->next; p->a = 1;", ""),
    ("for (struct z *p = self; p; p = p->next) p->a = 1;", ""), ("for (struct z *p = self; n; p++) p->a = 1;", ""),
])  # fmt: skip
def test_what_points_to_an_object(in_locks, body, maker):
    assert {use.maker for use in in_locks(body).uses if use.spot == Spot("z@t.c", "a")} == {maker}
