"""The schemas of JSON outputs: `tests.harness.command.run` holds every output against them, and here they are shown to be exact."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from layoutlint.commands.containers.command import FORMATS as CONTAINERS_FORMATS
from layoutlint.commands.measure.command import FORMATS as MEASURE_FORMATS
from layoutlint.commands.schema import FILES as FILE_NAMES
from layoutlint.commands.schema import NAMES
from layoutlint.commands.survey.command import REPORT_FORMATS as SURVEY_REPORT_FORMATS
from layoutlint.geometry.containers import Container, EmbeddedStruct
from layoutlint.geometry.slab_caches import SlabCaches
from layoutlint.judgement.verdict import ContainerVerdict
from layoutlint.model.record import replace
from layoutlint.model.slabs import Document
from layoutlint.model.storage import CacheSlab
from layoutlint.reports import FORMATS
from layoutlint.reports.show.options import ShowOptions
from tests.commands import test_diff_uses, test_generic_uses
from tests.commands.survey import sample as survey_sample
from tests.harness import build, json_schemas, perf_samples, repository, slab_files
from tests.harness.command import ROOT, run
from tests.harness.perf_samples import Access
from tests.harness.tools import fault, need
from tests.measurement.sample import COMPARED, REFUSED, REPLAYED, SWEPT
from tests.readers.btf.btf_blob import ARRAY, FWD, INT, STRUCT, VAR, Strings, blob, record
from tests.reports import sample
from tests.suggestion import test_contention

RULES = """
[[rule]]
id = "alone"
struct = "lock"
kind = "isolated"
fields = ["*"]
around = true
why = "w"
[[rule]]
id = "apart"
struct = "many"
kind = "separate"
fields = [["a"], ["m"]]
why = "w"
[[rule]]
id = "odd"
struct = "odd"
kind = "separate"
fields = [["head"], ["word"]]
why = "w"
[[rule]]
id = "mixed"
struct = "mixed"
kind = "separate"
fields = [["a0"], ["b9"]]
why = "w"
[[rule]]
id = "small"
struct = "many"
kind = "size"
max = 8
why = "w"
"""
LOCKS = """
struct lock { long word; };
struct queue { long head; struct lock lock; };
struct guarded {
	long word; /* layoutlint: separate(next) */
	long next; /* layoutlint: ignore[gone] unused */
};
struct many { int a, b, c, d, e, f, g, h, i, j, k, l, m; };
"""
LOCKS += f"struct mixed {{ {' '.join(f'char a{n}; long b{n}; short c{n};' for n in range(12))} }};\n"
LAYOUTS = """
struct declared;
struct bits { char a; unsigned b : 3, : 5, c : 4; long d; short e; };
union either { int whole; char parts[4]; };
typedef struct bits bits_t;
struct open { int count; struct bits tail[]; };
struct none { struct bits zero[0]; };
struct grid { struct open *next; struct { bits_t cells[2][3]; } inner[4]; };
struct broken { struct bits held; gone_t x; };
struct unnamed { struct bits; };
struct declared *unknown;
"""
CALLS = """
void setup(struct s *);
int f(size_t n)
{
	struct s *p = kmalloc(sizeof(struct s), 0);
	p = kmalloc_array(4, sizeof(*p), 0);
	p = kcalloc(n, sizeof(struct s), 0);
	p = kmem_cache_create("s", sizeof(struct s), 64, SLAB_HWCACHE_ALIGN, setup);
	q = kmalloc(sizeof(*q) + n * n, 0);
	t = kmalloc(sizeof(word_t), 0);
}
"""
BEFORE = """
struct part { long x; };
struct s { char c; unsigned b : 3; long a; struct part p; long pad[6]; long z; };
struct t { int a; long pad[8]; int z; };
struct gone { long a, z; };
struct first { int a; int b; char c; };
struct packed { char a; long b; };
struct wrap { struct part p; };
struct ignored { long a; /* layoutlint: ignore[apart-ignored] known */ long pad[8]; long z; };
"""
AFTER = """
struct part { long x, y; };
struct s { char c; int more; unsigned b : 3; long a; struct part p; long pad[3]; long z; };
struct t { int a; long pad[8]; int y; };
struct fresh { long a, z; };
struct second { int a; int b; char c; };
struct packed { char a; long b; } __attribute__((packed));
struct wrap { struct part p; };
struct ignored { long a; /* layoutlint: ignore[apart-ignored] known */ long pad[4]; long z; };
"""
APART = "".join(
    f'[[rule]]\nid = "apart-{name}"\nstruct = "{name}"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
    for name in ("s", "t", "gone", "fresh", "ignored")
)
RING = "struct ring { long head; long tail; char odd; long limit; };\n"
RING_RULES = """
[[rule]]
id = "sides"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "w"
[struct.ring.fields]
tail = { access = "read-mostly" }
"""
LINES = """
=================================================
      Shared Cache Line Distribution Pareto
=================================================
#   Num      Rmt      Lcl   L1 Hit  L1 Miss              Offset  Node  PA cnt        Code address  rmt hitm  lcl hitm      load  records       cnt
  -------------------------------------------------------------
      0       10        0       20        0      0x1000
  -------------------------------------------------------------
           0.00%    0.00%  100.00%    0.00%                 0x0     0       1      0x401000  0  0  0  9  1  [.] writer  ring  ring.c:1  0
         100.00%    0.00%    0.00%    0.00%                 0x8     0       1      0x401004  0  0  0  9  1  [.] reader  ring
           0.00%    0.00%    0.00%    0.00%                0x11     0       1      0x401008  0  0  0  9  1  [.] reader  ring
"""
USES = """
#include "ring.h"
struct ring shared;
long get(struct ring *r) { long sum = 0; for (int i = 0; i < 9; i++) sum += r->limit; return sum; }
int main(void) { __atomic_fetch_add(&shared.head, 1, 5); shared.tail++; return get(&shared); }
"""
ROOM = """
typedef unsigned long size_t; void *kmalloc(size_t, int); void *kmem_cache_create(const char *, size_t, size_t, int, void *);
struct classed { long a[LONGS]; };
struct cached { long a[LONGS]; };
struct fixed { long a[2]; };
void *classed(void) { struct classed *p = kmalloc(sizeof(struct classed), 0); return p; }
void *cached(void) { return kmem_cache_create("cached", sizeof(struct cached), 0, 0, 0); }
"""
ORDERED = """union either { int a; long b; };
struct pair {
\tint kind;
\tlong hits;
\tlong limit;
\tchar rest[60];
\tint last;
};
"""
ORDER = """
[[rule]]
id = "apart"
struct = "pair"
kind = "separate"
fields = [["hits"], ["limit"]]
why = "w"
"""
NEAR = """
[[rule]]
id = "near"
struct = "pair"
kind = "distance"
fields = ["hits", "limit"]
max = 8
why = "w"
"""
STRIDE = '[struct.fixed]\nplacement = "slab"\nstride = 64\n'
VARIABLES = """
long a = 1, b = 1, c = 1, d = 1; char big[200] = {1}; long tail = 1; static long hidden = 1; long *keep = &hidden;
long *f(void) { static long n = 1; return &n; } long *f2(void) { static long n = 1; return &n; }
"""
MOVED = VARIABLES.replace("b = 1", "b = 1, b2[8] = {1}").replace(" tail", " tail_end").replace(", d = 1", "").replace("hidden = 1", "hidden[9] = {1}").replace("&hidden", "hidden") + """
long *f3(void) { static long n = 1; return &n; }
"""
RECORDED = "# captured on    : Mon\n# os release : 6.12.0\n# perf version : 6.12\n"


def samples(event: str, names: str, *rows: str) -> str:
    return f"# Samples: 2K of event '{event}'\n# {names}\n" + "".join(f"  {row}\n" for row in rows)


SAMPLES = "Overhead  Samples  Data Type  Data Type Offset"
SHARES = SAMPLES.replace("Samples  ", "")
ANNOTATED = """Annotate type: 'struct ring' in ring (9 samples):
 Samples     offset       size  field
       9          0       0x20  struct ring\t {
       9          0        0x8      long\thead;
       9        0x9        0x8      long\ttail;
                                };
"""
HISTORY = (
    "struct many { int a; };\n", "struct many { char a, b; };\n", "struct many { int a, b; };\n",
    "struct many { int b; };\n", "struct many { gone_t a; };\n", "struct many { int a, b, c; };\n",
    "struct many { int c; };\n",
)
MATRIX = f"""
defaults.input = ["locks.h", "none.h"]
[build.small]
[build.large]
line_size = 128
min_align = 64
flags = ["-DLARGE"]
config = ["SMP"]
[build.random]
randstruct = "gcc-full"
seed = "{'0' * 64}"
randomized = ["many"]
"""
STRINGS = Strings("lock", "queue", "declared", "odd", "word", "head", "long", "gapped")


def btf() -> bytes:
    """What tells no files: a lock, a queue that embeds it, and a field of a type that is only declared."""
    at = STRINGS.add
    return blob(
        record(at("long"), INT, 8, 64)
        + record(at("lock"), STRUCT, 8, at("word"), 1, 0, vlen=1)
        + record(at("queue"), STRUCT, 16, at("head"), 1, 0, at("lock"), 2, 64, vlen=2)
        + record(at("declared"), FWD, 0)
        + record(at("odd"), STRUCT, 24, at("head"), 1, 0, at("word"), 4, 64, at("lock"), 6, 128, vlen=3)
        + record(0, ARRAY, 0, 4, 1, 2)
        + record(at("gapped"), STRUCT, 128, at("head"), 1, 0, at("word"), 1, 64 * 8, vlen=2)
        + record(at("gapped"), VAR, 7, 1)
        + record(at("byte"), INT, 1, 8)
        + record(at("loose"), STRUCT, 24, at("head"), 9, 0, at("word"), 1, 64, at("lock"), 9, 128, vlen=3),
        STRINGS.bytes,
    )


SMALLER = """
typedef unsigned int __be32;
struct item { char tag; long value; char end; };
struct holder { int fd; struct item items[4]; char state; long when; } holder;
struct packet { __be32 a; unsigned char kind; __be32 b; unsigned char last; } packet;
struct first { char a[40], b[40]; char c[48] __attribute__((aligned(64))); } first;
struct __attribute__((packed)) packed { char a; int b; short c __attribute__((aligned(4))); } packed;
"""
MEASURED = [
    {"processor": one, "date": one, "ratios": [{"core": core, "interval": 100, "ratio": 1.5, "clear": True} for core in (0, None)]}
    for one in (None, "2026-11-30")
]
"""What `tune` prints of a measurement, which not every machine can make."""
RARE = {
    # what the documents here do not have: key, whether its value is null
    "bisect": {("first_bad.reason", False), ("first_bad.outcome", True)},
    "diff": {
        ("old.inputs[].build_id", False), ("rules[].line", True),
        ("likely_sharing.pairs[].file", True), ("likely_sharing.pairs[].line", True),
        ("structs[].retyped[].file", True), ("structs[].retyped[].line", True),
    },
    "containers": {("structs[].containers[].arrays[].stride", True)},
    "evidence": {
        ("inputs[].build_id", False), ("reports[].build_note", True), ("contradictions[].declared_at", True),
        ("structs[].lines[].variable", False),
    },
    "history": {("builds[].version", False)},
    "infer": {("notes[].file", True), ("notes[].line", True)},
    "suggest": {("core_rules[].line", True), ("builds[].size", True), ("moves[].why", True)},
    "smallest": {
        ("candidates[].refusals[].file", True), ("candidates[].refusals[].line", True), ("not_searched[].file", True),
    },
    "tune": {("no_patch", False), ("not_compared", False)},
    "report": {("findings[].definition.origin", True), ("findings[].fields[].size", True), ("findings[].intent.line", True)},
}
FILES = {
    "locks.h": LOCKS, "layouts.h": LAYOUTS, "calls.c": CALLS, "rules.toml": RULES, "matrix.toml": MATRIX,
    "db.json": '[{"file": "calls.c", "arguments": ["cc", "-include", "locks.h", "calls.c"]}]',
    "small.toml": RULES[RULES.rindex("[[rule]]"):].replace("max = 8", "max = 4"),
    "before.h": BEFORE, "after.h": AFTER, "smaller.c": SMALLER,
    "apart.toml": APART + APART.replace('"apart', '"other').replace("why", 'when = { arch = ["aarch64"] }\nwhy'),
    "expired.h": "struct s { long a; /* layoutlint: ignore[apart-s] until 2020-01-01 known */ long z; };",
    "accepted.toml": 'schema = "layoutlint/baseline/1"\naccept = [{ rule = "gone", struct = "gone", outcome = "broken" }]\n',
    "ring.h": RING, "ring.toml": RING_RULES, "lines.txt": RECORDED + LINES,
    "samples.txt": perf_samples.text([Access("store", 0x1000, 1), Access("local", 0x1008, 2), Access("locked", 0x1000, 2)]),
    "addresses.txt": perf_samples.text([Access("load", 0x1000, 1)], ("tid", "time", "event", "addr")),
    "few-lines.txt": LINES[: LINES.index("         100.00%")],
    "old-lines.txt": LINES.replace("records", ""), "annotated.txt": ANNOTATED,
    "stores.txt": samples("mem-stores", SAMPLES, "1.00%  9  struct ring  struct ring +0 (head)",
                          "1.00%  9  struct ring  struct ring +0x11 (odd)"),
    "loads.txt": samples("mem-loads", SAMPLES, "1.00%  9  struct ring  struct ring +0x8 (tail)"),
    "store-shares.txt": samples("mem-stores", SHARES, "1.00%  struct ring  struct ring +0 (head)",
                                "1.00%  struct ring  struct ring +0x11 (odd)"),
    "load-shares.txt": samples("mem-loads", SHARES, "1.00%  struct ring  struct ring +0x8 (tail)"),
    "array.h": test_contention.ARRAY, "array.txt": test_contention.TABLES[4][3], "array.json": json.dumps(test_contention.ARRAY_PROFILE),
    "refused.c": RING + "struct ring one = { 1, 2 };\n",
    "short.h": "struct lock { long word; }; struct queue { struct lock lock; };",
    "uses.c": USES, "database.json": '[{"file": "gone.c", "arguments": ["cc", "gone.c"]}, '
    '{"file": "uses.c", "arguments": ["cc", "uses.c"]}]',
    "room.c": ROOM.replace("LONGS", "20"), "roomier.c": ROOM.replace("LONGS", "21").replace("long a[2]", "long a[3]"),
    "stride.toml": STRIDE,
    "wide.h": test_diff_uses.OLD, "near.h": test_diff_uses.OLD.replace("pad[16]", "pad[4]"),
    "wide.c": test_diff_uses.SOURCE.replace("new/ring.h", "near.h"),
    "guesses.c": test_generic_uses.SOURCE,
    "order.h": ORDERED, "order.toml": ORDER, "order.c": '#include "order.h"\nstruct pair p = { 1, 2 };\n',
    "twins.toml": '[build.one]\ninput = "order.h"\n[build.two]\ninput = "order.h"\n', "btf.toml": '[build.one]\ninput = "btf"\n',
    "core.toml": ORDER + NEAR, "pack.toml": '[struct.pair]\nplacement = "kmalloc"\n' + ORDER + NEAR,
    "two.h": "struct pair {\n\tlong hits;\n\tlong limit;\n};\n", "two.toml": '[struct.pair]\nplacement = "kmalloc"\n' + ORDER,
    "signed.h": "struct pair {\n\tunsigned long hits;\n\tlong limit;\n};\n",
    "loose.h": "struct loose {\n\tstruct { char x; long y; char z; };\n\tlong k;\n};\n",
    "loose.toml": '[[rule]]\nid = "small"\nstruct = "loose"\nkind = "size"\nmax = 24\nwhy = "w"\n',
    "together.toml": ORDER.replace("separate", "together").replace("[[\"hits\"], [\"limit\"]]", "[\"hits\", \"limit\"]"),
    "first.toml": '[[rule]]\nid = "first"\nstruct = "pair"\nkind = "offset"\nfields = ["limit"]\nat = 0\nwhy = "w"\n'
    '[struct.pair.fields]\nhits = { access = "hot-read" }\n[[rule]]\nid = "all"\nstruct = "pair"\nkind = "complete"\nwhy = "w"\n',
    "guess.h": "typedef struct { int x; } spinlock_t; struct s { spinlock_t locks[2], other; };\n",
}  # fmt: skip
RANDOM = ("--randstruct", "gcc-full", "--randomized")
RUNS = {
    "report": [
        ("check", "locks.h", "none.h", "--rules", "rules.toml"),
        ("check", "locks.h", "--rules", "rules.toml", "--struct", "m*", *RANDOM, "many,mixed"),
        ("check", "locks.h", "--rules", "rules.toml", "--struct", "many", *RANDOM, "many", "--seed", "0" * 64, "--kernel-version", "6.12"),
        ("check", "--matrix", "matrix.toml", "--rules", "rules.toml"),
        ("check", "locks.h", "--rules", "rules.toml", "--struct", "many", *RANDOM, "many", "--seed", "0" * 64),
        ("check", "guess.h", "--pack", "generic"),
        ("check", "guesses.c", "--pack", "generic", "--uses", "guesses.c"),
        ("check", "btf", "--rules", "rules.toml"),
        ("check", "locks.h", "--rules", "rules.toml", "--compile-commands", "db.json"),
        ("check", "locks.h", "--rules", "rules.toml", "--baseline", "accepted.toml"),
        ("check", "expired.h", "--rules", "apart.toml", "--ignore-missing"),
        ("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--baseline", "accepted.toml"),
    ],
    "show": [
        ("show", "layouts.h", "--all", "--expand"),
        ("show", "locks.h", "many", *RANDOM, "many", "--seed", "0" * 64, "--kernel-version", "6.12"),
        ("show", "locks.h", "many", *RANDOM, "many", "--seed", "f" * 64),
        ("show", "locks.h", "many", *RANDOM, "many"),
        ("show", "layouts.h", "declared"),
        ("show", "btf", "--all"),
        ("show", "room.c", "classed", "cached", "fixed", "--rules", "stride.toml"),
    ],
    "containers": [
        ("containers", "layouts.h", "bits_t"),
        ("containers", "layouts.h", "broken"),
        ("containers", "layouts.h", "declared"),
        ("containers", "btf", "lock"),
        ("containers", "btf", "declared"),
    ],
    "allocations": [("allocations", ".")],
    "tune": [
        ("tune", "ring.h", "ring", "--profile", "lines.txt", "--base", "0x1000", "--no-measure", "--no-packs"),
        ("tune", "refused.c", "ring", "--profile", "lines.txt", "--base", "0x1000", "--no-measure", "--no-packs"),
        ("tune", "array.h", "s", "--profile", "array.txt", "--base", "0x7fff35cd5c40", "--no-measure", "--no-packs"),
        ("tune", "btf", "gapped", "--profile", "lines.txt", "--base", "0x1000", "--no-measure", "--no-packs"),
    ],
    "evidence": [
        ("evidence", "lines.txt", "--in", "ring.h", "--rules", "ring.toml", "--struct", "ring", "--base", "0x1000"),
        ("evidence", "lines.txt", "--in", "ring.h", "--rules", "ring.toml", "--struct", "ring", "--base", "0xff8"),
        ("evidence", "few-lines.txt", "--in", "ring.h", "--struct", "ring"),
        ("evidence", "old-lines.txt", "--in", "ring.h", "--struct", "ring", "--base", "0x1000"),
        ("evidence", "lines.txt", "--in", "btf", "--struct", "gapped", "--base", "0x1000"),
        ("evidence", "stores.txt", "loads.txt", "annotated.txt", "--in", "ring.h", "--rules", "ring.toml"),
        ("evidence", "samples.txt", "addresses.txt", "--in", "ring.h", "--struct", "ring", "--base", "0x1000"),
        ("evidence", "samples.txt", "--in", "ring.h"),
        ("evidence", "store-shares.txt", "load-shares.txt", "--in", "ring.h", "--rules", "ring.toml"),
    ],
    "accesses": [("accesses", "database.json")],
    "infer": [("infer", "database.json", "--rules", "ring.toml"), ("infer", "database.json", "btf")],
    "rules-test": [("rules", "test", "example")],
    "bisect": [
        ("bisect", "small", "c0..c2", "many.h", "--rules", "small.toml"),
        ("bisect", "small", "c3..c5", "many.h", "--rules", "small.toml"),
        ("bisect", "small", "c5..c6", "many.h", "--rules", "small.toml"),
    ],
    "history": [
        ("history", "before.h", "after.h", "missing.h", "s", "--rules", "apart.toml", "--pair", "a", "z"),
        ("history", "locks.h", "btf", "many", "--rules", "rules.toml"),
    ],
    "diff": [
        ("diff", "before.h", "after.h", "--rules", "apart.toml"),
        ("diff", "after.h", "before.h", "--rules", "apart.toml", "--fail-on", "size"),
        ("diff", "locks.h", "btf", "--rules", "rules.toml"),
        ("diff", "short.h", "btf"),
        ("diff", "btf", "none.h"),
        ("diff", "room.c", "roomier.c", "--rules", "stride.toml"),
        ("diff", "wide.h", "near.h", "--uses", "wide.c"),
        ("diff", "two.h", "signed.h"),
    ],
    "suggest": [
        ("suggest", "order.h", "pair", "--rules", "order.toml"),
        ("suggest", "order.h", "pair", "--rules", "core.toml"),
        ("suggest", "order.h", "pair", "--rules", "pack.toml"),
        ("suggest", "order.h", "pair", "--rules", "order.toml", "--sources", "order.c"),
        ("suggest", "order.h", "either"),
        ("suggest", "order.h", "either", "pair"),
        ("suggest", "btf", "gapped"),
        ("suggest", "smaller.c", "holder", "--smallest"),
        ("suggest", "two.h", "pair", "--rules", "order.toml"),
        ("suggest", "two.h", "pair", "--rules", "two.toml"),
        ("suggest", "two.h", "pair", "--rules", "two.toml", "--alternative", "1"),
        ("suggest", "two.h", "pair", "--rules", "together.toml"),
        ("suggest", "order.h", "pair", "--rules", "first.toml"),
        ("suggest", "loose.h", "loose", "--rules", "loose.toml"),
        ("suggest", "pair", "--rules", "core.toml", "--matrix", "twins.toml"),
        ("suggest", "lock", "--matrix", "btf.toml"),
        ("suggest", "array.h", "s", "--evidence", "array.json"),
    ],
    "smallest": [("suggest", "smaller.c", "--smallest"), ("suggest", "btf", "--smallest")],
    "survey": [("survey", "btf", "layouts.h", "missing", "--store", "store", "--rules", "rules.toml", "--workers", "2")],
}
INODES = slab_files.cache("inode", size=616, stride=624, order=1, ctor="init_once")
UNKNOWN = dict.fromkeys(INODES) | {"names": ["a"], "slab_size": 64, "order": 0, "objs_per_slab": 64}
"""What `/proc/slabinfo` states."""
CACHES = SlabCaches("s", msgspec.convert(slab_files.document(INODES, UNKNOWN | {"names": ["page"]}), Document))
LOCK = build.struct("lock", 16, build.member("word", 0, 8))
HOLDERS = [build.struct(name, size, build.member("lock", 40, 16, *LOCK.fields)) for name, size in (("inode", 616), ("page", 64))]
EMBEDDED = (EmbeddedStruct(LOCK, tuple(Container(each, "lock", "lock", 320, (), (), number) for number, each in enumerate(HOLDERS))),)
IN_CONTAINERS = tuple(
    ContainerVerdict(f"{name}.lock", (CacheSlab(name, 64, 0, 64, in_use),), (0, 8), violating)
    for name, in_use, violating in (("inode", 7, (0,)), ("page", None, ()))
)
FINDING = sample.REPORT.findings[0]
WITH_CACHES = replace(sample.REPORT, findings=(replace(FINDING, verdict=replace(FINDING.verdict, containers=IN_CONTAINERS)),))
COMPILED_RUNS = [("diff", "--variables", "old", "new"), ("diff", "--variables", "old/one.ko", "new/one.ko")]


@cache
def documents(folder: Path) -> dict[str, list[Any]]:
    """Rich documents of each format, by its name."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "btf").write_bytes(btf())
    (folder / "gone.c").symlink_to(folder / "nowhere.c")
    (folder / "example").mkdir()
    for name in ("layoutlint.toml", "layoutlint.cases.toml"):
        text = (ROOT / "docs/example" / name).read_text()
        (folder / "example" / name).write_text(text.replace("ring-producer-on-one-line = ", "# "))
    for number, text in enumerate(HISTORY):
        repository.commit(folder, f"commit {number}", {"many.h": text})
        repository.git(folder, "tag", f"c{number}")
    made = {
        name: [json.loads(run(*words, "--format", "json", cwd=folder).stdout) for words in runs]
        for name, runs in RUNS.items()
    }
    (folder / "saved.json").write_text(json.dumps(made["evidence"][0]))
    words = ("check", "ring.h", "--rules", "ring.toml", "--evidence", "saved.json", "--format", "json")
    made["report"].append(json.loads(run(*words, cwd=folder).stdout))
    if fault("gcc", ("-c",)) is None:
        compile_modules(folder)
        subprocess.run(["gcc", "-g", "-c", "smaller.c"], cwd=folder, check=True)
        made["smallest"].append(json.loads(run("suggest", "smaller.o", "--smallest", "--format", "json", cwd=folder).stdout))
        made["diff"] += [json.loads(run(*words, "--format", "json", cwd=folder).stdout) for words in COMPILED_RUNS]
    made["tune"] += [{**made["tune"][0], "measurement": each, "not_measured": None} for each in MEASURED]
    made["survey-report"] = [json.loads(SURVEY_REPORT_FORMATS["json"](survey_sample.REPORT))]
    made["measure"] = [json.loads(MEASURE_FORMATS["json"](each)) for each in (COMPARED, REPLAYED, SWEPT, REFUSED)]
    made["slabs"] = [slab_files.document(INODES, UNKNOWN), slab_files.document(line_size=None)]
    made["containers"].append(json.loads("".join(CONTAINERS_FORMATS["json"](EMBEDDED, ShowOptions(slabs=CACHES)))))
    made["report"] += [json.loads(FORMATS["json"](each)) for each in (WITH_CACHES, sample.REPORT, sample.CLEAN, sample.MATRIX, sample.DAMAGED)]
    return made


def compile_modules(folder: Path) -> None:
    for side, text in (("old", VARIABLES), ("new", MOVED)):
        (folder / side).mkdir()
        (folder / "variables.c").write_text(text)
        subprocess.run(["gcc", "-c", "-fno-toplevel-reorder", "-o", f"{side}/one.ko", "variables.c"], cwd=folder, check=True)
        shutil.copy(folder / side / "one.ko", folder / side / "two.ko")


def need_documents(name: str) -> None:
    """Skip the test where no compiler makes the inputs that have all of a format."""
    if name in ("diff", "smallest"):
        need("gcc", "-c")


@pytest.fixture(scope="module")
def documents_by_schema(tmp_path_factory):
    return documents(tmp_path_factory.mktemp("documents"))


def mistakes(document: Any) -> list[str]:
    return json_schemas.mistakes(json.dumps(document))


def values(document: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every key of every object, as rows of tables name it, with the object and its own name."""
    if isinstance(document, list):
        for entry in document:
            yield from values(entry, f"{path}[]")
    elif isinstance(document, dict):
        for name, value in document.items():
            key = "NAME" if path.endswith("[].builds") else name
            yield f"{path}.{key}".lstrip("."), document, name
            yield from values(value, f"{path}.{key}".lstrip("."))


CHANGES = {
    # what is done to the key of an object
    "taken": lambda held, own: held.pop(own),
    "added": lambda held, own: held.update(new=None),
    "other": lambda held, own: held.update({own: {"no": "such"}}),
}


@pytest.mark.parametrize("name", NAMES)
class TestEach:
    def test_it_is_a_schema_of_its_draft(self, name):
        schema = json_schemas.read(name)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(schema)

    def test_it_is_about_its_format(self, name):
        schema = json_schemas.read(name)
        assert schema["properties"]["schema"]["enum"] == [f"layoutlint/{name}/1"]
        assert schema["$id"] == f"urn:layoutlint:{name}:1"

    def test_it_leaves_nothing_open(self, name):
        """Every object lists all its keys, and every key says what it is."""
        for schema in objects(json_schemas.read(name)):
            if "properties" in schema:
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])
            described = [each for each in schema.get("properties", {}).values() if "$ref" not in each]
            assert [each for each in (schema, *described) if not each["description"].endswith(".")] == []

    def test_the_documents_are_valid(self, name, documents_by_schema):
        assert [mistakes(document) for document in documents_by_schema[name]] == [[]] * len(documents_by_schema[name])

    def test_the_documents_have_all_that_it_allows(self, name, documents_by_schema):
        """Each key occurs with a value, and with null where that is allowed, except for what is rare."""
        need_documents(name)
        found = {(key, held[own] is None) for document in documents_by_schema[name] for key, held, own in values(document)}
        rows = json_schemas.rows(name)
        wanted = {(key, False) for key in rows} | {(key, True) for key, kind in rows.items() if kind.endswith("null")}
        assert wanted - found == RARE.get(name, set())

    def test_no_key_may_be_missing_added_or_of_another_type(self, name, documents_by_schema):
        need_documents(name)
        accepted, tried = [], set()
        is_valid = json_schemas.validator(name).is_valid
        for document in sorted(documents_by_schema[name], key=lambda each: len(str(each))):
            for key, held, own in list(values(document)):
                for what, change in CHANGES.items() if key not in tried else ():
                    kept = dict(held)
                    change(held, own)
                    if is_valid(document) and (what, key.rpartition(".")[2]) != ("taken", "NAME"):
                        accepted.append((key, what))
                    held.clear()
                    held.update(kept)
                tried.add(key)
        assert accepted == []
        assert tried >= set(json_schemas.rows(name))

    def test_the_command_prints_it(self, name, tmp_path):
        done = run("schema", name, cwd=tmp_path)
        assert (done.returncode, json.loads(done.stdout)) == (0, json_schemas.read(name))


def objects(schema: Any) -> Iterator[Any]:
    """Every part of a schema that describes an object; conditions on keys (`if`, `oneOf`) do not."""
    if schema.get("type") == "object":
        yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
        yield from objects(inner)
    if schema.get("items"):
        yield from objects(schema["items"])


CONTRADICTIONS = [
    # format, key of the object, values that contradict each other or the format
    ("report", "exit", {"exit": 2}),
    ("report", "schema", {"schema": "layoutlint/report/2"}),
    ("report", "findings[].outcome", {"outcome": "kept"}),
    ("report", "kept[].outcome", {"outcome": "broken"}),
    ("report", "findings[].severity", {"severity": "info"}),
    ("report", "findings[].kind", {"kind": "apart"}),
    ("report", "findings[].fingerprint", {"fingerprint": ""}),
    ("report", "findings[].placements.total", {"total": -1}),
    ("report", "findings[].placements.total", {"total": 1.5}),
    ("report", "findings[].placements.orders.counted", {"counted": "exact", "drawn": 4000}),
    ("report", "findings[].placements.orders.counted", {"counted": "sampled", "drawn": None}),
    ("report", "findings[].placements.orders.share", {"share": 1.5}),
    ("report", "findings[].builds.NAME.outcome", {"outcome": "better"}),
    ("report", "inputs[].target", {"target": "pdp11"}),
    ("report", "inputs[].reader", {"reader": "pahole"}),
    ("show", "structs[].holes[].offset", {"offset": None, "bit_offset": None}),
    ("show", "structs[].holes[].offset", {"offset": 0, "size": 4, "bit_offset": 0, "bit_size": 32}),
    ("show", "structs[].fields[].bit_size", {"bit_offset": None, "bit_size": 3}),
    ("show", "structs[].aggregate", {"aggregate": "class"}),
    ("show", "structs[].line", {"line": 0}),
    ("show", "structs[].problem", {"problem": "an error", "size": 8}),
    ("containers", "structs[].containers[].problem", {"problem": "an error", "offset": 8}),
    ("show", "structs[].align_possible", {"align_possible": [None]}),
    ("containers", "structs[].containers[].bases", {"line_size": None, "bases": [0]}),
    ("containers", "structs[].containers[].arrays[].count", {"count": True}),
    ("allocations", "allocations[].array", {"array": False}),
    ("allocations", "allocations[].array", {"array": 0}),
    ("allocations", "allocations[].placement", {"placement": None, "constructor": False}),
    ("allocations", "allocations[].placement", {"placement": "heap"}),
    ("rules-test", "packs[].results[].expected", {"expected": "good"}),
    ("rules-test", "packs[].uncovered[].lacks", {"lacks": []}),
]


@pytest.mark.parametrize(("name", "key", "change"), CONTRADICTIONS)
def test_what_contradicts_is_refused(name, key, change, documents_by_schema):
    document = next(each for each in documents_by_schema[name] if key in {found for found, _, _ in values(each)})
    changed = copy.deepcopy(document)
    next(held for found, held, _ in values(changed) if found == key).update(change)
    assert (mistakes(document), mistakes(changed) != []) == ([], True)


def test_without_a_name_the_names_are_listed():
    assert run("schema").stdout.split() == [*NAMES, *FILE_NAMES]


def test_the_nearest_name_is_suggested():
    done = run("schema", "raport")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no schema is called 'raport' (did you mean `report`?)" in done.stderr


def test_a_report_in_a_file_is_valid(tmp_path):
    run("check", "docs/example/ring.h", "--rules", "docs/example", "--output", f"json={tmp_path / 'report'}")
    assert json_schemas.mistakes((tmp_path / "report").read_text()) == []


def test_the_runs_of_tests_are_held_against_the_schemas(monkeypatch):
    monkeypatch.setattr(json_schemas, "mistakes", lambda text: ["$: no"])
    with pytest.raises(AssertionError, match=r"\$: no"):
        run("show", "docs/example/ring.h", "ring", "--format", "json")


@pytest.mark.parametrize("name", ["bisect", "snapshot"])
def test_schemas_are_the_same_without_docstrings(name):
    """As under `python -OO`."""
    assert run("schema", name, PYTHONOPTIMIZE="2").stdout == run("schema", name).stdout
