"""Small programs with the ways in which threads share objects, and twins in which they do not.

In each, `hits` is written and `limit` read in the struct `shared`, or `used` is an array with an element for each
thread. In a twin nothing is shared, nothing is written while others read, or fields have lines of their own.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

HEAD = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>
int ready(void); void spend(long n);
"""
STRUCT = "struct shared { long limit; atomic_long hits; long spare[4]; };\n"
PLAIN = "struct shared { long limit; long hits; long spare[4]; };\n"
WORK = "static void *work(void *p) { struct shared *s = p; while (ready()) if (s->limit) atomic_fetch_add(&s->hits, 1); return 0; }\n"
PUT = "static void *put(void *p) { struct shared *s = p; while (ready()) s->hits++; return 0; }\n"
GET = "static void *get(void *p) { struct shared *s = p; while (ready()) spend(s->limit); return 0; }\n"
JOIN = "for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0;"
LOOP = "for (int i = 0; i < 4; i++) "


def program(body: str, more: str = "") -> str:
    """Return `main` with an array of threads, behind other text."""
    return f"{more}int main(void) {{ pthread_t t[4]; {body} {JOIN} }}\n"


class Shape(NamedTuple):
    """A program that shares, and its twin."""

    name: str
    text: str
    twin: str


FIELDS = [
    Shape("one object for all threads", STRUCT + WORK + program("static struct shared one; " + LOOP + "pthread_create(&t[i], 0, work, &one);"),
          STRUCT + WORK + program(LOOP + "{ struct shared *own = aligned_alloc(64, 64); pthread_create(&t[i], 0, work, own); }")),
    Shape("one object of the heap", STRUCT + WORK + program("struct shared *one = calloc(1, sizeof *one); " + LOOP + "pthread_create(&t[i], 0, work, one);"),
          STRUCT + WORK + program("struct shared *one; " + LOOP + "{ one = aligned_alloc(64, 64); pthread_create(&t[i], 0, work, one); }")),
    Shape("one object on the stack of main", STRUCT + WORK + program("struct shared one = { 9 }; " + LOOP + "pthread_create(&t[i], 0, work, &one);"),
          STRUCT + WORK + program("struct shared one = { 9 }; pthread_create(&t[0], 0, work, &one);")),
    Shape("one object of a variable", STRUCT + WORK + "struct shared *one;\n" + program("one = malloc(sizeof *one); " + LOOP + "pthread_create(&t[i], 0, work, one);"),
          STRUCT + WORK + "struct shared *all[4];\n" + program(LOOP + "{ all[i] = aligned_alloc(64, 64); pthread_create(&t[i], 0, work, all[i]); }")),
    Shape("a reader and a writer of one object", PLAIN + PUT + GET + program("static struct shared one; pthread_create(&t[0], 0, put, &one); pthread_create(&t[1], 0, get, &one);"),
          PLAIN + PUT + GET + program("static struct shared one, two; pthread_create(&t[0], 0, put, &one); pthread_create(&t[1], 0, get, &two);")),
    Shape("a reader and a writer of the heap", PLAIN + PUT + GET + program("struct shared *s = malloc(sizeof *s); pthread_create(&t[0], 0, put, s); pthread_create(&t[1], 0, get, s);"),
          PLAIN + PUT + GET + program("struct shared *s = malloc(sizeof *s), *r = malloc(sizeof *r); pthread_create(&t[0], 0, put, s); pthread_create(&t[1], 0, get, r);")),
    Shape("the object goes through a function",
          STRUCT + WORK + "static void begin(pthread_t *t, struct shared *s) { pthread_create(t, 0, work, s); }\n" + program("static struct shared one; " + LOOP + "begin(&t[i], &one);"),
          STRUCT + WORK + "static void begin(pthread_t *t, struct shared *s) { pthread_create(t, 0, work, s); }\n" + program(LOOP + "begin(&t[i], aligned_alloc(64, 64));")),
    Shape("behind each thread's own object",
          STRUCT + "struct own { struct shared *all; long id; long more[6]; };\nstatic void *work(void *p) { struct own *o = p; while (ready()) if (o->all->limit) atomic_fetch_add(&o->all->hits, 1); return 0; }\n"
          + program("struct shared *one = malloc(sizeof *one); " + LOOP + "{ struct own *o = malloc(sizeof *o); o->all = one; o->id = i; pthread_create(&t[i], 0, work, o); }"),
          STRUCT + "struct own { struct shared all __attribute__((aligned(64))); long id; };\nstatic void *work(void *p) { struct own *o = p; while (ready()) if (o->all.limit) atomic_fetch_add(&o->all.hits, 1); return 0; }\n"
          + program(LOOP + "{ struct own *o = aligned_alloc(64, sizeof *o); o->id = i; pthread_create(&t[i], 0, work, o); }")),
    Shape("an array of functions that threads run",
          PLAIN + PUT + GET + "static void *(*const every[])(void *) = { put, get };\n" + program("static struct shared one; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, every[i], &one);"),
          PLAIN + PUT + GET + "static void *(*const every[])(void *) = { put, get };\n" + program("static struct shared one; for (int i = 0; i < 2; i++) every[i](&one);")),
    Shape("a table of functions without names of fields",
          PLAIN + PUT + GET + "static const struct job { void *(*run)(void *); int rank; } every[] = { { put, 1 }, { get, 2 } };\n"
          + program("static struct shared one; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, every[i].run, &one);"),
          PLAIN + PUT + GET + "static const struct job { void *(*run)(void *); int rank; } every[] = { { put, 1 }, { get, 2 } };\n"
          + program("static struct shared one; for (int i = 0; i < 2; i++) every[i].run(&one);")),
    Shape("callbacks of a table that threads call",
          STRUCT + "static void put(struct shared *s) { atomic_fetch_add(&s->hits, 1); }\nstatic void get(struct shared *s) { spend(s->limit); }\nstatic void (*const calls[])(struct shared *) = { put, get };\nstatic struct shared one;\n"
          "static void *work(void *p) { while (ready()) calls[ready() & 1](&one); return 0; }\n" + program(LOOP + "pthread_create(&t[i], 0, work, 0);"),
          PLAIN + "static void put(struct shared *s) { s->hits++; }\nstatic void get(struct shared *s) { spend(s->limit); }\nstatic void (*const calls[])(struct shared *) = { put, get };\nstatic struct shared one;\n"
          "static void *wait_all(void *p) { while (ready()) spend(1); return 0; }\n" + program("pthread_create(&t[0], 0, wait_all, 0); while (ready()) calls[ready() & 1](&one);")),
    Shape("a trampoline",
          PLAIN + PUT + GET + "struct start { void *(*run)(void *); void *with; };\nstatic void *jump(void *p) { struct start *s = p; return s->run(s->with); }\n"
          "static void spawn_one(pthread_t *t, void *(*run)(void *), void *with) { struct start *s = malloc(sizeof *s); s->run = run; s->with = with; pthread_create(t, 0, jump, s); }\n"
          + program("static struct shared one; spawn_one(&t[0], put, &one); spawn_one(&t[1], get, &one);"),
          PLAIN + PUT + GET + "struct start { void *(*run)(void *); void *with; };\nstatic void *jump(void *p) { struct start *s = p; return s->run(s->with); }\n"
          "static void at_once(void *(*run)(void *), void *with) { struct start *s = malloc(sizeof *s); s->run = run; s->with = with; jump(s); }\n"
          + program("static struct shared one; at_once(put, &one); at_once(get, &one);")),
    Shape("a pool that runs what it is given",
          STRUCT + "struct task { void (*run)(void *); void *with; struct task *next; };\nstatic struct task *first;\nstatic void put(void *p) { struct shared *s = p; atomic_fetch_add(&s->hits, 1); }\nstatic void get(void *p) { struct shared *s = p; spend(s->limit); }\n"
          "static void *work(void *p) { while (ready()) { struct task *t = first; first = t->next; t->run(t->with); } return 0; }\nstatic void give(void (*run)(void *), void *with) { struct task *t = malloc(sizeof *t); t->run = run; t->with = with; t->next = first; first = t; }\n"
          + program(LOOP + "pthread_create(&t[i], 0, work, 0); static struct shared one; while (ready()) { give(put, &one); give(get, &one); }"),
          PLAIN + "struct task { void (*run)(void *); void *with; struct task *next; };\nstatic struct task *first;\nstatic void put(void *p) { struct shared *s = p; s->hits++; }\nstatic void get(void *p) { struct shared *s = p; spend(s->limit); }\n"
          "static void give(void (*run)(void *), void *with) { struct task *t = malloc(sizeof *t); t->run = run; t->with = with; t->next = first; first = t; }\n"
          + program("static struct shared one; while (ready()) { give(put, &one); give(get, &one); struct task *t = first; first = t->next; t->run(t->with); }")),
    Shape("the function is in a field",
          STRUCT + WORK + "static struct server { void *(*run)(void *); struct shared all; } one;\n" + program("one.run = work; " + LOOP + "pthread_create(&t[i], 0, one.run, &one.all);"),
          PLAIN + "static struct server { void *(*run)(void *); struct shared all; } one;\n" + PUT + program("one.run = put; one.run(&one.all); spend(one.all.limit);")),
    Shape("volatile fields that threads hand to one another",
          "struct shared { long limit; volatile int hits; long spare[4]; };\nstatic struct shared one;\nstatic void *work(void *p) { while (ready()) if (one.hits == 1) { spend(one.limit); one.hits = 2; } return 0; }\n"
          + program("pthread_create(&t[0], 0, work, 0); while (ready()) { if (one.hits == 2) one.hits = 1; spend(one.limit); }"),
          "struct shared { long limit; volatile int hits; long spare[4]; };\nstatic struct shared one;\n"
          + program("while (ready()) { if (one.hits == 2) one.hits = 1; spend(one.limit); }")),
    Shape("volatile fields of objects that threads hand over",
          "struct shared { long limit; volatile int hits; struct shared *next; long spare[4]; };\nstatic struct shared *queue;\nstatic void *work(void *p) { while (ready()) { struct shared *s = queue; spend(s->limit); s->hits = 2; } return 0; }\n"
          "static void turn(struct shared *s) { if (s->hits == 2) s->hits = 1; spend(s->limit); }\n"
          + program(LOOP + "pthread_create(&t[i], 0, work, 0); while (ready()) for (struct shared *s = queue; s; s = s->next) turn(s);"),
          "#include <signal.h>\nstruct shared { long limit; volatile sig_atomic_t hits; long spare[4]; };\nstatic struct shared one;\nstatic void on_signal(int n) { one.hits = 1; }\nstatic void *work(void *p) { while (ready()) spend(1); return 0; }\n"
          + program("signal(15, on_signal); pthread_create(&t[0], 0, work, 0); while (!one.hits) spend(one.limit);")),
    Shape("stores while threads run",
          PLAIN + GET + program("static struct shared one; one.limit = 9; " + LOOP + "pthread_create(&t[i], 0, get, &one); while (ready()) one.hits++;"),
          PLAIN + GET + program("static struct shared one; one.limit = 9; one.hits = 1; " + LOOP + "pthread_create(&t[i], 0, get, &one);")),
    Shape("stores in a function while threads run",
          PLAIN + "static struct shared one;\nstatic void *get(void *p) { while (ready()) spend(one.limit); return 0; }\nstatic void turn(void) { one.hits++; }\n" + program(LOOP + "pthread_create(&t[i], 0, get, 0); while (ready()) turn();"),
          PLAIN + "static struct shared one;\nstatic void *get(void *p) { while (ready()) spend(one.limit); return 0; }\nstatic void fill(int n) { one.limit = n; for (int i = 0; i < n; i++) one.hits += i; }\n" + program("fill(9); " + LOOP + "pthread_create(&t[i], 0, get, 0);")),
    Shape("a lock beside what is read",
          "struct shared { long limit; pthread_mutex_t hits; long sum; };\nstatic struct shared one;\nstatic void *work(void *p) { while (ready()) { pthread_mutex_lock(&one.hits); one.sum++; pthread_mutex_unlock(&one.hits); } return 0; }\n"
          "static void *get(void *p) { while (ready()) spend(one.limit); return 0; }\n" + program("pthread_create(&t[0], 0, work, 0); pthread_create(&t[1], 0, work, 0); pthread_create(&t[2], 0, get, 0);"),
          "struct shared { long limit; pthread_mutex_t hits; long sum; };\nstatic struct shared one;\nstatic void *work(void *p) { while (ready()) { pthread_mutex_lock(&one.hits); one.sum += one.limit; pthread_mutex_unlock(&one.hits); } return 0; }\n"
          + program(LOOP + "pthread_create(&t[i], 0, work, 0);")),
    Shape("an alignment gives the field its line",
          STRUCT + WORK + program("static struct shared one; " + LOOP + "pthread_create(&t[i], 0, work, &one);"),
          STRUCT.replace("atomic_long hits", "_Alignas(64) atomic_long hits").replace("long spare[4]", "_Alignas(64) long spare[4]") + WORK + program("static struct shared one; " + LOOP + "pthread_create(&t[i], 0, work, &one);")),
    *(Shape(f"{name}()", STRUCT.replace("atomic_long", "long") + WORK.replace("atomic_fetch_add(&s->hits, 1)", call.format("s->hits")) + program("static struct shared one; " + LOOP + "pthread_create(&t[i], 0, work, &one);"),
            STRUCT.replace("atomic_long", "long") + WORK.replace("atomic_fetch_add(&s->hits, 1)", f"spend({load})") + program("static struct shared one; " + LOOP + "pthread_create(&t[i], 0, work, &one);"))
      for name, call, load in (
          ("__atomic_add_fetch", "__atomic_add_fetch(&{}, 1, 5)", "__atomic_load_n(&s->hits, 5)"),
          ("__sync_add_and_fetch", "__sync_add_and_fetch(&{}, 1)", "*(volatile long *)&s->hits"),
          ("__sync_bool_compare_and_swap", "__sync_bool_compare_and_swap(&{}, 1, 2)", "s->hits"),
          ("__atomic_exchange_n", "__atomic_exchange_n(&{}, 1, 5)", "__atomic_load_n(&s->hits, 0)"),
      )),
    Shape("a parallel part of OpenMP",
          STRUCT + "static struct shared one;\nint main(void) {\n#pragma omp parallel\n  while (ready()) if (one.limit) atomic_fetch_add(&one.hits, 1);\n  return 0;\n}\n",
          STRUCT + "int main(void) {\n#pragma omp parallel\n  { struct shared one = { 1 }; while (ready()) if (one.limit) atomic_fetch_add(&one.hits, 1); }\n  return 0;\n}\n"),
    Shape("a parallel loop of OpenMP",
          PLAIN + "static void all(struct shared *s) {\n#pragma omp parallel for \\\n  schedule(static)\n  for (int i = 0; i < 99; i++) {\n    spend(s->limit);\n#pragma omp atomic\n    s->hits++;\n  }\n}\nstatic struct shared one;\nint main(void) { all(&one); return 0; }\n",
          PLAIN + "static void all(struct shared *s) {\n#pragma omp simd\n  for (int i = 0; i < 99; i++) {\n    spend(s->limit);\n    s->hits++;\n  }\n}\nstatic struct shared one;\nint main(void) { all(&one); return 0; }\n"),
]  # fmt: skip


OF_THREADS = "static void *work(void *p) {{ long id = (long)p; while (ready()) {} return 0; }}\n"
START = LOOP + "pthread_create(&t[i], 0, work, (void *)i);"
BY_MAIN = "static void *work(void *p) { while (ready()) spend(1); return 0; }\n"
ROW = "struct row { long n, sum; };\n"
WIDE = "struct row { long n, sum; } __attribute__((aligned(128)));\n"
JOB = "static void *work(void *p) { struct row *r = p; for (long i = 0; i < 9999; i++) { r->sum += i; r->n++; } return 0; }\n"
ONLY_READ = "static void *work(void *p) { struct row *r = p; while (ready()) spend(r->n); return 0; }\n"

ELEMENTS = [
    Shape("elements by the number of the thread", ROW + "static struct row used[4];\n" + OF_THREADS.format("used[id].n++;") + program(START),
          WIDE + "static struct row used[4];\n" + OF_THREADS.format("used[id].n++;") + program(START)),
    Shape("elements by their address", ROW + "static struct row used[4];\n" + JOB + program(LOOP + "pthread_create(&t[i], 0, work, &used[i]);"),
          ROW + "static struct row used[4];\n" + ONLY_READ + program(LOOP + "{ used[i].n = i; pthread_create(&t[i], 0, work, &used[i]); }")),
    Shape("elements by their address, from a pointer", ROW + "static struct row *used;\n" + JOB + program("used = malloc(4 * sizeof *used); " + LOOP + "pthread_create(&t[i], 0, work, (void *)&used[i]);"),
          WIDE + "static struct row *used;\n" + JOB + program("used = aligned_alloc(128, 4 * sizeof *used); " + LOOP + "pthread_create(&t[i], 0, work, (void *)&used[i]);")),
    Shape("elements by their address, in sums", ROW + "static struct row used[4];\n" + JOB + program(LOOP + "pthread_create(&t[i], 0, work, used + i);"),
          WIDE + "static struct row used[4];\n" + JOB + program(LOOP + "pthread_create(&t[i], 0, work, used + i);")),
    Shape("numbers behind a pointer", "static size_t *used;\n" + OF_THREADS.format("used[id]++;") + program("used = calloc(4, sizeof *used); " + START),
          "static size_t *used;\n" + BY_MAIN + program("used = calloc(4, sizeof *used); " + START + " for (int i = 0; i < 4; i++) used[i]++;")),
    Shape("own typedefs behind a pointer", "typedef unsigned long count_of; static count_of *used;\n" + OF_THREADS.format("used[id] += 2;") + program("used = calloc(4, sizeof(count_of)); " + START),
          "typedef struct { unsigned long n; } __attribute__((aligned(64))) count_of; static count_of *used;\n" + OF_THREADS.format("used[id].n += 2;") + program("used = aligned_alloc(64, 256); " + START)),
    Shape("atomics behind a pointer", "static atomic_ulong *used;\n" + OF_THREADS.format("atomic_fetch_add(&used[id], 1);") + program("used = calloc(4, sizeof *used); " + START),
          "static atomic_ulong *used;\n" + OF_THREADS.format("spend(atomic_load(&used[id]));") + program("used = calloc(4, sizeof *used); " + START)),
    Shape("a pointer into a padded array", "static long padded[36], *used = padded + 16;\n" + OF_THREADS.format("used[id]++;") + program(START),
          "static long padded[36], *used = padded + 16;\n" + OF_THREADS.format("spend(used[id]);") + program(START)),
    Shape("a local alias", "static long used[4];\n" + OF_THREADS.replace("long id", "long *mine = used, id").format("mine[id]++;") + program(START),
          "static long used[4];\n" + OF_THREADS.replace("long id", "long own[4] = {{ 0 }}, *mine = own, id").format("mine[id & 3]++;") + program(START)),
    Shape("an alias of an element", "static long used[4];\n" + OF_THREADS.replace("while", "long *mine = &used[id]; while").format("++*mine;") + program(START),
          "static long used[4];\n" + OF_THREADS.replace("while", "long *mine = &used[id]; while").format("spend(*mine);") + program(START)),
    Shape("a macro with arguments", "static long used[4];\n#define COUNT(a, i) ((a)[i]++)\n" + OF_THREADS.format("COUNT(used, id);") + program(START),
          "static long used[4];\n#define COUNT(a, i) spend((a)[i])\n" + OF_THREADS.format("COUNT(used, id);") + program(START)),
    *(Shape(f"elements by {call.partition('(')[0]}", "static long used[4];\n" + f"void atomic_thread_add(long *p, long n); void put_one(int id) {{ {call}; }}\n" + BY_MAIN + program(START),
            "static long used[4];\n" + f"long atomic_thread_get(long *p); long get_one(int id) {{ return {load}; }}\n" + BY_MAIN + program(START))
      for call, load in (
          ("__atomic_add_fetch(&used[id], 1, 0)", "__atomic_load_n(&used[id], 0)"), ("__sync_sub_and_fetch(&used[id], 1)", "__sync_synchronize(), used[id]"),
          ("atomic_thread_add(&used[id], 1)", "atomic_thread_get(&used[id])"), ("__atomic_or_fetch(used + id, 1, 0)", "__atomic_load_n(used + id, 0)"),
      )),
]  # fmt: skip

_WORDS = ["apple", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "iris", "jade", "kelp", "lark", "maple", "north", "opal", "pearl", "quartz", "reed", "sage", "tulip", "umber", "vale", "wren", "yarrow"]
_OWN_NAMES = re.compile(
    r"\b(?:limit|hits|spare|shared|used|work|put|get|jump|begin|every|calls|one|all|two|own|row|sum|run|with|turn|fill|start|task|give|spawn_one|mine|server|queue)\b"
)


def rename_all(text: str, seed: int) -> tuple[str, dict[str, str]]:
    """Return a program with other names, and threads of C11; the names by those before."""
    chance = random.Random(seed)
    some = sorted(set(_OWN_NAMES.findall(text)))
    words = chance.sample(_WORDS, len(_WORDS))
    names = {name: f"{words[at % len(words)]}{at}" for at, name in enumerate(some)}
    text = _OWN_NAMES.sub(lambda match: names[match[0]], text)
    text = re.sub(r"pthread_create\((.*?), 0, ([\w.\[\]]+), ", r"thrd_create((thrd_t *)\1, (thrd_start_t)\2, ", text)
    return text, names


def surround(text: str, seed: int) -> str:
    """Return a program with other functions and structs, which starts its threads by a function of its own."""
    chance = random.Random(seed)
    others = "".join(
        f"struct extra{n} {{ long a, b[{chance.randint(1, 9)}]; }};\nlong extra_work{n}(struct extra{n} *x) {{ return x->a + x->b[0]; }}\n"
        for n in range(chance.randint(1, 3))
    )
    start = "static int set_off(pthread_t *t, void *(*f)(void *), void *with) { return pthread_create(t, NULL, f, with); }\n"
    return others + start + re.sub(r"pthread_create\((.*?), 0, ", r"set_off(\1, ", text)
