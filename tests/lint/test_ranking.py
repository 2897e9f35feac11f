"""Packs that guess: which notes, how high, what makes them certain; and that nothing else is said beside them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from tests.harness.command import run
from tests.intent.annotations.test_vehicles import make
from tests.oracles.c_probe import need

pytestmark = pytest.mark.usefixtures("whole_runs")

TYPES = """
typedef struct spinlock { int val; } spinlock_t;
typedef struct { long counter; } atomic64_t;
struct file_operations { int (*open)(void *); };
"""
SOURCE = f"""{TYPES}
struct often {{ spinlock_t lock; const struct file_operations *f_op; }};
struct seldom {{ const struct file_operations *f_op; long rest[5]; spinlock_t lock; }};
struct row {{ spinlock_t locks[8]; }} __attribute__((aligned(64)));
struct cut {{ int kind; atomic64_t state; }} __attribute__((packed, aligned(4)));
struct well {{ spinlock_t lock; char pad[60]; const struct file_operations *f_op; }} __attribute__((aligned(64)));
struct plain {{ long a, b; }};
struct user1 {{ struct often *one; struct often **two; const struct seldom *three; struct row *row; }};
struct user2 {{ struct often *one[4]; struct seldom four; struct seldom *again; struct cut *cut; }};
struct user3 {{ struct {{ struct often in; }} *out; struct seldom *three; struct often *(*get)(struct row *); }};
struct cut_list {{ struct cut_list *next; struct cut *first; }};
struct cut_user {{ struct cut *first; }};
union cut_or {{ struct cut *first; long b; }};
struct often a; struct seldom b; struct row c; struct cut d; struct well e; struct plain f; struct user1 g; struct user2 h;
struct user3 i; struct cut_list j; struct cut_user k; union cut_or l;
"""
NOTES = [
    # struct, rule, structs and variables that hold it or point to it, placements that fail, all of them
    ("seldom", "generic-locks-apart-from-tables", 4, 2, 8),
    ("often", "generic-locks-apart-from-tables", 3, 7, 8),
    ("row", "generic-elements-on-lines-of-their-own", 2, 1, 1),
    ("cut", "generic-atomics-on-one-line", 5, 1, 8),
]  # fmt: skip
HIGHEST = ["row", "often", "seldom", "cut"]
"""By 8 elements x 1/1, 3 x 7/8, 4 x 2/8 and 5 x 1/8."""


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("guesses") / "a.c"
    path.write_text(SOURCE)
    return path


def describe(*arguments: str | Path) -> dict:
    done = run("check", "--format", "json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def notes(report: dict) -> list[tuple]:
    return [
        (f["struct"], f["rule"], f["rank"]["holders"], f["placements"]["violating"], f["placements"]["total"])
        for f in report["findings"]
    ]


READERS = {
    "C text": lambda text, at: (text,),
    "DWARF of gcc": lambda text, at: (make(at, "gcc", "-g", "-c", str(text)),),
    "DWARF of clang": lambda text, at: (make(at, "clang", "-g", "-c", str(text)),),
    "BTF": lambda text, at: (with_btf(text, at), "--reader", "btf"),
}


def with_btf(text: Path, at: Path) -> str:
    need("pahole")
    path = make(at, "gcc", "-g", "-c", str(text))
    subprocess.run(["pahole", "-J", path], check=True)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_the_notes_and_their_order(text, tmp_path, reader):
    need("gcc")
    report = describe(*READERS[reader](text, tmp_path / "a.o"), "--pack", "generic")
    found = notes(report)
    # To BTF, the room behind the array may be that of elements that a typedef aligns to more than their size (clang).
    hidden = {"row"} if reader == "BTF" else set()
    assert [name for name, *_ in found] == [name for name in HIGHEST if name not in hidden]
    assert sorted(found) == sorted(note for note in NOTES if note[0] not in hidden)
    ranks = [finding["rank"] for finding in report["findings"]]
    places = range(1, 5 - len(hidden))
    assert [(rank["place"], rank["of"]) for rank in ranks] == [(place, len(places)) for place in places]
    assert [rank["score"] for rank in ranks] == [*([] if hidden else [8.0]), 2.625, 1.0, 0.625]
    assert {f["severity"] for f in report["findings"]} == {"note"}
    assert (report["kept"], report["unread"], report["coverage"]["unresolved"]) == ([], [], [])


@pytest.mark.parametrize(("most", "shown"), [(0, 0), (1, 1), (3, 3), (100, 4)])
def test_how_many_notes(text, most, shown):
    report = describe(text, "--pack", "generic", "--guesses", str(most))
    assert [note[0] for note in notes(report)] == HIGHEST[:shown]
    rest = "" if shown == 4 else f", the {shown} highest of which are here (`--guesses N` shows more)"
    assert report["coverage"]["guessed"] == [f"generic: 4 notes on 6 structs with fields that it judges{rest}"]


def test_code_without_locks_is_fine(tmp_path):
    (tmp_path / "a.h").write_text("struct plain { long a, b; };\n")
    report = describe(tmp_path / "a.h", "--pack", "generic")
    assert (report["findings"], report["unread"], report["coverage"]["structs"]) == ([], [], 1)


CERTAIN = {
    "often": "to be certain, write `/* layoutlint: hot-write */` at `lock` and `/* layoutlint: hot-read */` at `f_op` if they "
    "are used so, and `[struct.often]` with the `placement` that objects have (`layoutlint allocations` lists it); if it "
    "is, write `__attribute__((aligned(64)))` behind `f_op` (128 bytes, now 16)",
    "row": 'to be certain, write a rule with `struct = "row"`, `kind = "stride"`, `array = "locks"` if they are used by many '
    "processors; if it is, align the elements to 64 bytes (`__attribute__((aligned(64)))`), so that one begins 64 bytes behind the other",
    "cut": 'to be certain, write a rule with `struct = "cut"`, `kind = "no-straddle"`, `fields = ["state"]` if they are used '
    "by many processors, and `[struct.cut]` with the `placement` that objects have (`layoutlint allocations` lists it); "
    "if it is, align the struct to 16 bytes, so that no base cuts the bytes 4..11, or accept it with `tolerate = 0.125`",
}


def test_what_makes_a_note_certain(text):
    advice = {f["struct"]: f["advice"] for f in describe(text, "--pack", "generic")["findings"]}
    assert {name: advice[name] for name in CERTAIN} == CERTAIN


def test_fields_that_are_alike_are_to_be_separate(tmp_path):
    """Not hot-write and hot-read at the same fields, which says less than that they are apart."""
    source = tmp_path / "a.c"
    source.write_text("struct ring { _Atomic int head, tail; };\n")
    (note,) = describe(source, "--pack", "generic")["findings"]
    assert note["advice"].startswith(
        'to be certain, write a rule with `struct = "ring"`, `kind = "separate"`, `fields = [["head"], ["tail"]]` if '
        "different processors use them, and"
    )
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "so"\n'
    )
    assert run("check", source, "--rules", rules).returncode == 1


def test_what_it_asks_for_makes_it_certain(tmp_path):
    """With the comments in place the guess is gone, and a rule in its stead."""
    certain = SOURCE.replace("spinlock_t lock; const", "spinlock_t lock; /* layoutlint: hot-write */\nconst", 1)
    certain = certain.replace("*f_op; };", "*f_op; /* layoutlint: hot-read */ };", 1)
    (tmp_path / "a.c").write_text(certain)
    done = run("check", "--format", "json", tmp_path / "a.c", "--pack", "generic")
    found = [(f["struct"], f["rule"], f["severity"]) for f in json.loads(done.stdout)["findings"]]
    assert done.returncode == 1
    assert found[0] == ("often", "often/access", "error")
    assert [name for name, *_ in found[1:]] == [name for name in HIGHEST if name != "often"]


def test_a_guess_can_be_ignored(tmp_path):
    ignored = SOURCE.replace("struct often {", "/* layoutlint: ignore[generic-*] both are used at once */\nstruct often {", 1)
    (tmp_path / "a.c").write_text(ignored)
    report = describe(tmp_path / "a.c", "--pack", "generic")
    assert [(f["struct"], f["suppressed"] is not None, f["rank"] is None) for f in report["findings"]] == [
        ("often", True, True), *((name, False, False) for name in HIGHEST if name != "often"),
    ]  # fmt: skip


def test_an_alignment_that_btf_does_not_tell(tmp_path):
    """Were the 128 bytes aligned to a line, the lock would be on the first one, and the table on the second."""
    text, middle = tmp_path / "a.c", "spinlock_t lock; const struct file_operations *f_op;"
    text.write_text(f"{TYPES}struct s {{ long a[7]; int x; {middle} long b[7]; }} s;\n")
    assert [note[0] for note in notes(describe(text, "--pack", "generic"))] == ["s"]
    report = describe(with_btf(text, tmp_path / "a.o"), "--reader", "btf", "--pack", "generic")
    assert notes(report) == []
    assert report["coverage"]["guessed"] == ["generic: 0 notes on 1 struct with fields that it judges; could not judge s"]


def test_without_being_asked_nothing_is_guessed(text):
    done = run("check", text)
    assert (done.returncode, "no rules apply" in done.stderr) == (2, True)


def test_what_structs_say_themselves_is_not_asked_for(tmp_path):
    marks = "struct s { char __cacheline_group_begin__a[0]; long x; char __cacheline_group_end__b[0]; spinlock_t lock; };"
    (tmp_path / "a.h").write_text(TYPES + marks)
    assert describe(tmp_path / "a.h", "--pack", "generic")["findings"] == []
    assert run("check", tmp_path / "a.h", "--pack", "generic", "--struct", "s").returncode == 1


MINE = """
[pack]
guesses = true
[[rule]]
id = "long-words"
struct = "*"
kind = "size"
max = 8
why = "a test"
"""


def test_a_pack_of_ones_own(text, tmp_path):
    (tmp_path / "mine.toml").write_text(MINE)
    report = describe(text, "--rules", tmp_path / "mine.toml", "--guesses", "2")
    assert [(f["struct"], f["severity"], f["rank"]["score"]) for f in report["findings"]] == [
        ("cut", "note", 4.0), ("seldom", "note", 3.0),
    ]  # fmt: skip


def test_placements_that_a_rule_file_states_count(text, tmp_path):
    (tmp_path / "mine.toml").write_text('[struct.seldom]\nplacement = "line"\n[struct.often]\nplacement = "embedded"\n')
    report = describe(text, "--pack", "generic", "--rules", tmp_path / "mine.toml")
    assert notes(report)[1] == ("seldom", "generic-locks-apart-from-tables", 4, 1, 1)
    others = [note for note in notes(report) if note[0] != "seldom"]
    assert others == [note for name in ("row", "often", "cut") for note in NOTES if note[0] == name]


def test_of_two_rule_files_the_first_counts(text, tmp_path):
    for name, placement in (("a", "line"), ("b", "aligned:8")):
        (tmp_path / f"{name}.toml").write_text(f'[struct.seldom]\nplacement = "{placement}"\n')
    report = describe(text, "--pack", "generic", "--rules", tmp_path / "a.toml", "--rules", tmp_path / "b.toml")
    assert [note[3:] for note in notes(report) if note[0] == "seldom"] == [(1, 1)]  # a share of one base: those of `line`


@pytest.mark.parametrize(("text", "message"), [
    (MINE + 'severity = "error"\n', "mine.toml:10: `severity` cannot be `error` in a pack that guesses: it has notes only"),
    (MINE.replace("true", '"yes"'), "mine.toml:3: `guesses` must be true or false, not a string"),
])  # fmt: skip
def test_mistakes(text, message):
    with pytest.raises(RuleFileError) as caught:
        rule_file.parse(text, "mine.toml")
    assert caught.value.messages == (message,)


def test_a_matrix_is_for_rules(text, tmp_path):
    (tmp_path / "m.toml").write_text(f'[build.a]\ninput = ["{text}"]\n')
    done = run("check", "--matrix", tmp_path / "m.toml", "--pack", "generic")
    assert done.returncode == 2
    assert "--matrix cannot use the pack generic, which guesses; check one build" in done.stderr


def test_the_list_of_packs_says_so():
    assert "generic  (guesses: only with --pack generic)\n" in run("rules", "list").stdout


PADDED = """
typedef struct { int state; } lock_t;
struct line { lock_t lock; long data; };
static struct line bare[8];
struct table { struct line rows[4]; } *t;
"""
PADDING = {
    "union of whole lines": ("union padded { struct line line; char pad[64]; } *p;", 0),
    "struct of whole lines": ("struct padded { struct line line; char pad[48]; } *p;", 0),
    "two lines": ("union padded { struct line line; char pad[128]; } *p;", 0),
    "less than a line": ("union padded { struct line line; char pad[32]; } *p;", 2),
    "other fields": ("struct padded { struct line line; char pad[40]; long more; } *p;", 2),
    "of another type": ("struct other { lock_t lock; long a; }; union padded { struct other line; char pad[64]; } *p;", 2),
    "a pointer": ("union padded { struct line *line; char pad[64]; } *p;", 2),
    "none": ("", 2),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", PADDING)
def test_arrays_of_what_is_padded_elsewhere_are_so_by_choice(tmp_path, form):
    text, count = PADDING[form]
    (tmp_path / "a.c").write_text(PADDED.replace("lock_t", "slock_t") + text.replace("lock_t", "slock_t"))
    assert len(notes(describe(tmp_path / "a.c", "--pack", "generic"))) == count


QUEUE = """
struct queue { _Atomic long head, tail; };
void both(struct queue *q) { add(&q->head, 1); add(&q->tail, 1); }
"""


@pytest.mark.parametrize(
    ("apart", "is_noted"),
    [("", False), ("void put(struct queue *q) { add(&q->tail, 1); }", False), (
        "void put(struct queue *q) { add(&q->tail, 1); }\nvoid get(struct queue *q) { add(&q->head, 1); }", True)],
)  # fmt: skip
@pytest.mark.parametrize("form", ["C text", "program with --sources", "program"])
def test_what_code_changes_only_together_is_not_noted(tmp_path, form, apart, is_noted):
    (tmp_path / "a.c").write_text(f"void add(_Atomic long *, int);{QUEUE}{apart}")
    arguments: tuple[str | Path, ...] = (tmp_path / "a.c",)
    if form != "C text":
        need("gcc")
        sources = ("--sources", tmp_path) if "sources" in form else ()
        arguments = (make(tmp_path / "a.o", "gcc", "-g", "-c", str(tmp_path / "a.c")), *sources)
    found = notes(describe(*arguments, "--pack", "generic"))
    assert bool(found) is (is_noted or form == "program")


@pytest.mark.parametrize("reader", ["dwarf", "btf"])
def test_transparent_unions_are_no_structs_that_could_not_be_judged(tmp_path, reader):
    """GCC omits the members of <sys/socket.h>'s __SOCKADDR_ARG."""
    union = "typedef union { int *one; long *two; } either_t __attribute__((transparent_union));\n"
    (tmp_path / "x.c").write_text(f"{union}struct q {{ either_t a; long b; }} q;\nvoid f(either_t a) {{ q.a = a; }}\n")
    subprocess.run([need("gcc"), "-g", "-c", "x.c"], cwd=tmp_path, check=True)
    if reader == "btf":
        subprocess.run([need("pahole"), "-J", "x.o"], cwd=tmp_path, check=True)
    ended = run("check", "x.o", "--pack", "generic", "--reader", reader, "--format", "json", cwd=tmp_path)
    coverage = json.loads(ended.stdout)["coverage"]
    assert coverage["guessed"] == ["generic: 0 notes on 0 structs with fields that it judges"]
    assert (ended.returncode, coverage["not_covered"]) == (0, [])


RING = """struct ring { _Atomic int head, tail; _Atomic int stopped; };
struct pair { _Atomic int one, two; };
"""
DECIDED = [
    ("separate", 'struct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]', ["ring: head, stopped, tail", "pair: one, two"]),
    ("all", 'struct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"], ["stopped"]]', ["pair: one, two"]),
    ("together", 'struct = "pair"\nkind = "together"\nfields = ["one", "two"]', ["ring: head, stopped, tail"]),
    ("pattern", 'struct = "p*"\nkind = "separate"\nfields = [["one"], ["two"]]', ["ring: head, stopped, tail"]),
    ("isolated", 'struct = "pair"\nkind = "isolated"\nfields = ["one"]', ["ring: head, stopped, tail"]),
    ("other kind", 'struct = "pair"\nkind = "size"\nexact = 8', ["pair: one, two", "ring: head, stopped, tail"]),
    ("other struct", 'struct = "pairs"\nkind = "together"\nfields = ["one", "two"]', ["pair: one, two", "ring: head, stopped, tail"]),
    ("other fields", 'struct = "pair"\nkind = "together"\nfields = ["one", "thre*"]', ["pair: one, two", "ring: head, stopped, tail"]),
    ("for another target", 'struct = "pair"\nkind = "together"\nfields = ["one", "two"]\nwhen = { arch = ["aarch64"] }', ["pair: one, two", "ring: head, stopped, tail"]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "noted"), [row[1:] for row in DECIDED], ids=[row[0] for row in DECIDED])
def test_a_note_gives_way_to_a_rule_on_the_same_fields(tmp_path, rule, noted):
    (tmp_path / "a.c").write_text(RING)
    (tmp_path / "r.toml").write_text(f'[[rule]]\nid = "mine"\n{rule}\nwhy = "so"\n')
    done = run("check", "--format", "json", tmp_path / "a.c", "--pack", "generic", "--rules", tmp_path / "r.toml", "--ignore-missing")
    findings = json.loads(done.stdout)["findings"]
    found = {f"{f['struct']}: {', '.join(sorted(field['path'] for field in f['fields']))}" for f in findings if f["rule"] != "mine"}
    assert found == set(noted)


ARRAYS = """#include <stdlib.h>
struct slot { _Atomic int used; long rest[8]; };
struct table { _Atomic int locks[8]; char far[64]; _Atomic int counts[8]; };
_Atomic int global[4], other[4];
struct slot *more(int n) { return calloc(n, sizeof(struct slot)); }
struct table table;
struct cut { char kind; _Atomic long count; } __attribute__((packed)) cut;
"""
NOTED = {"global", "locks", "counts", "other", "slot", "cut"}
DECIDED_ARRAYS = [
    ("nothing", 'struct = "table"\nkind = "size"\nexact = 128', set()),
    ("one array", 'struct = "table"\nkind = "stride"\narray = "locks"', set()),
    ("both arrays", 'struct = "table"\nkind = "stride"\narrays = ["locks", "counts"]', {"locks", "counts"}),
    ("a variable", 'kind = "stride"\nvariables = ["global"]', {"global"}),
    ("objects in a row", 'struct = "slot"\nkind = "stride"', {"slot"}),
    ("an atomic", 'struct = "cut"\nkind = "no-straddle"\nfields = ["count"]', {"cut"}),
]


@pytest.mark.parametrize(("rule", "gone"), [row[1:] for row in DECIDED_ARRAYS], ids=[row[0] for row in DECIDED_ARRAYS])
def test_a_note_on_an_array_or_atomic_gives_way_to_a_rule_on_it(tmp_path, rule, gone):
    (tmp_path / "a.c").write_text(ARRAYS)
    (tmp_path / "r.toml").write_text(f'[[rule]]\nid = "mine"\n{rule}\nwhy = "so"\n[struct.slot]\nplacement = "malloc"\narray = true\n')
    done = run("check", "--format", "json", tmp_path / "a.c", "--pack", "generic", "--rules", tmp_path / "r.toml")
    findings = [f for f in json.loads(done.stdout)["findings"] if f["rule"] != "mine"]
    words = " ".join(f"{f['struct']} {' '.join(field['path'] for field in f['fields'])}" for f in findings)
    assert {name for name in NOTED if name not in words.split()} == gone


def test_pairs_in_different_elements_of_an_array_are_those_of_the_array(tmp_path):
    source = tmp_path / "a.c"
    source.write_text(
        "struct queue { void *ring; _Atomic long sent, received; };\n"
        "struct all { struct queue in[4]; _Atomic long total; } *all;\n"
    )
    messages = {(f["rule"], f["struct"]): f["message"] for f in describe(source, "--pack", "generic", "--guesses", "9")["findings"]}
    assert set(messages) == {
        ("generic-elements-on-lines-of-their-own", "all"), ("generic-locks-apart", "all"), ("generic-locks-apart", "queue"),
    }  # fmt: skip
    pairs = messages["generic-locks-apart", "all"]
    assert pairs.count("shares a line") == pairs.count("shares a line with `total`") > 0
