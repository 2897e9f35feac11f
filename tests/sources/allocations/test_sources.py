"""`layoutlint allocations` as its users run it: formats, exit statuses, folders, and the note of `check`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.allocations import toml
from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions, no_progress
from layoutlint.model.wanted import Wanted
from layoutlint.sources.allocations import sources
from layoutlint.sources.allocations.proposals import list_proposals
from tests.harness.command import run
from tests.oracles.c_probe import need

RING = """\
int f(struct ring *p, int n)
{
	p = kmalloc(sizeof(*p), GFP_KERNEL);
	q = kzalloc(sizeof(*p), GFP_KERNEL);
	cache = kmem_cache_create("lock", sizeof(struct lock), 0, SLAB_HWCACHE_ALIGN, init);
}
"""
OTHER = """\
static int g(struct ring *p)
{
	cache = KMEM_CACHE(ring, SLAB_TYPESAFE_BY_RCU);
	all = kcalloc(8, sizeof(struct slot), GFP_KERNEL);
	p = kmalloc(sizeof(struct lock) + n, GFP_KERNEL);
	p = kmalloc(sizeof(*dev->x), GFP_KERNEL);
	p = kmalloc(sizeof(slot_t), GFP_KERNEL);
}
"""
TEXT = """\
struct lock
  placement = "line"
    src/a/ring.c:5  kmem_cache_create, SLAB_HWCACHE_ALIGN, a constructor
  not determined
    src/b.h:5  kmalloc: the size is `sizeof(struct lock) + n`

struct ring
  2 proposals contradict each other: choose one in the rule file
  placement = "kmalloc"
    src/a/ring.c:3  kmalloc
    src/a/ring.c:4  kzalloc
  placement = "slab", constructor = true
    src/b.h:3  KMEM_CACHE, SLAB_TYPESAFE_BY_RCU

struct slot
  placement = "kmalloc", array = 8
    src/b.h:4  kcalloc

3 structs, 4 proposals
1 call whose struct is unknown (--format json lists them)
1 call for types named by one word (--struct NAME lists those of one type)
"""
TOML = """\
[struct.lock]
placement = "line"  # src/a/ring.c:5 (kmem_cache_create, SLAB_HWCACHE_ALIGN, a constructor)
# not determined: src/b.h:5 (kmalloc): the size is `sizeof(struct lock) + n`

[struct.ring]
# These contradict each other: choose the one that your rules are about.
# placement = "kmalloc"  # src/a/ring.c:3 (kmalloc), src/a/ring.c:4 (kzalloc)
# placement = "slab"  # src/b.h:3 (KMEM_CACHE, SLAB_TYPESAFE_BY_RCU)
# constructor = true

[struct.slot]
placement = "kmalloc"  # src/b.h:4 (kcalloc)
array = 8

"""


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "src/a").mkdir(parents=True)
    (tmp_path / "src/.hidden").mkdir()
    (tmp_path / "src/a/ring.c").write_text(RING)
    (tmp_path / "src/b.h").write_text(OTHER)
    (tmp_path / "src/.hidden/ring.c").write_text(RING)
    (tmp_path / "src/ring.txt").write_text(RING)
    return tmp_path


def list_rows(project: Path, *arguments: str) -> tuple[str, str, int]:
    """What the command prints of the project's sources, with paths from its top."""
    done = run("allocations", *(f"{project}/{argument}" if argument in ("src", "gone.c") else argument for argument in arguments))
    return done.stdout.replace(f"{project}/", ""), done.stderr.replace(f"{project}/", ""), done.returncode


def test_text(project):
    assert list_rows(project, "src") == (TEXT, "", 0)


def test_toml_is_a_rule_file(project):
    assert list_rows(project, "src", "--format", "toml") == (TOML, "", 0)
    message = {intent.struct: intent.placement for intent in rule_file.parse(TOML, "r.toml").structs}
    assert {name: storage and storage.spelling for name, storage in message.items()} == {"lock": "line", "ring": None, "slot": "kmalloc"}


def test_only_one_struct(project):
    rows = json.loads(list_rows(project, "src", "--struct", "slot*", "--format", "json")[0])["allocations"]
    assert [(row["struct"], row["line"], row["array"]) for row in rows] == [("slot", 4, 8), ("slot_t", 7, None)]


def test_a_struct_that_nothing_allocates(project):
    _, error, status = list_rows(project, "src", "--struct", "rong")
    assert (error, status) == ("layoutlint: no allocation of a struct rong was found in these sources\n", 3)


@pytest.mark.parametrize(("call", "is_named"), [
    ("pool_alloc(sizeof(struct pond))", True), ("pool_alloc(p, 2 * sizeof(pond))", True), ("myAlloc( sizeof ( pond ) )", True),
    ("pool_get(sizeof(struct pond))", False), ("pool_alloc(sizeof(struct lake))", False), ("pool_alloc(4); sizeof(pond)", False),
    ("/* pool_alloc(sizeof(pond)) */ 0", False),
])  # fmt: skip
def test_an_allocator_that_is_not_known_is_named(project, call, is_named):
    """What the note says to declare works when it is done."""
    (project / "src/pond.c").write_text(f"typedef struct pond {{ int a; }} pond;\nvoid *f(void *p)\n{{ return {call}; }}\n")
    _, error, status = list_rows(project, "src", "--struct", "pond")
    assert (status, "src/pond.c:3 calls " in error) == (3, is_named)
    if is_named and "(p" not in call:
        name = error.partition("[allocators.")[2].partition("]")[0]
        (project / "src/r.toml").write_text(f'[allocators.{name}]\nplacement = "malloc"\n')
        text, _, status = list_rows(project, "src", "--struct", "pond", "--rules", str(project / "src/r.toml"))
        assert (status, "malloc" in text) == (0, True)


def test_a_path_that_is_not_there(project):
    assert list_rows(project, "src", "gone.c") == ("", "layoutlint: gone.c: no such file or directory\n", 3)


def test_a_file_that_cannot_be_read(project):
    (project / "src/dangling.c").symlink_to("nowhere.c")
    assert list_rows(project, "src") == (TEXT, "layoutlint: src/dangling.c: no such file or directory\n", 3)


def test_a_file_that_never_ends(project):
    os.mkfifo(project / "src/pipe.c")
    (project / "src/zero.c").symlink_to("/dev/zero")
    (project / "src/again").symlink_to(".")
    with (project / "src/z.c").open("wb") as file:
        file.truncate(1 << 40)
    errors = (
        "layoutlint: src/pipe.c: is a pipe or a device\n"
        "layoutlint: src/z.c: has 1,099,511,627,776 bytes, more than the 134,217,728 that are read\n"
        "layoutlint: src/zero.c: is a pipe or a device\n"
    )
    assert list_rows(project, "src") == (TEXT, errors, 3)


def test_what_has_no_sources_is_not_looked_at(project):
    (project / "src/a.c").write_bytes(b"\x7fELF\0\0alloc")
    assert list_rows(project, "src") == (TEXT, "layoutlint: src/a.c: has bytes of value 0: it is not C text\n", 3)
    (project / "empty").mkdir()
    done = run("allocations", project / "empty")
    assert (done.stderr, done.returncode) == (f"layoutlint: {project}/empty: holds no C headers or sources\n", 3)


def test_bytes_that_are_no_text(project):
    (project / "src/a/ring.c").write_bytes(b"\xff\xfe\0" + RING.encode() + b"\0\x80")
    assert list_rows(project, "src")[0] == TEXT


def test_any_number_of_processes_finds_the_same(tmp_path):
    for number in range(250):
        (tmp_path / f"{number}.c").write_text(RING.replace("ring", f"ring_{number % 7}"))
    found = [sources.read((str(tmp_path),), None, jobs, no_progress)[0] for jobs in (1, 3)]
    assert len(found[0]) == 750
    assert found[0] == found[1]


def test_one_proposal_names_a_few_places(tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.c").write_text(RING)
    found, _ = sources.read((str(tmp_path),), None, 1, no_progress)
    ring = "".join(toml.render(list_proposals(found))).split("[struct.ring]")[1]
    assert ring.count("ring") == 0
    assert "and 7 more" in ring


DEFINED = """\
typedef unsigned long size_t;
struct kmem_cache;
struct ring { long head, names[9], tail; };
typedef struct { long a, b, c; } word_t;
struct small { long a, b; };
struct said { long a, b; };
struct plain { long a, b; } __attribute__((aligned(64)));
void *kmalloc(size_t, unsigned);
struct kmem_cache *kmem_cache_create(const char *, unsigned, unsigned, unsigned long, void (*)(void *));
#define SLAB_HWCACHE_ALIGN 8192
void *f(struct ring *r, word_t *w, struct plain *p)
{
	kmem_cache_create("s", sizeof(struct small), 0, SLAB_HWCACHE_ALIGN, 0);
	kmem_cache_create("s", sizeof(struct said), 0, SLAB_HWCACHE_ALIGN, 0);
	p = kmalloc(sizeof(*p), 0);
	w = kmalloc(sizeof(*w), 0);
	return kmalloc(sizeof(*r), 0) ?: kmalloc(sizeof(struct ring), 0);
}
"""
NOTES = [
    "{0}:13 allocates struct small (kmem_cache_create, SLAB_HWCACHE_ALIGN): `placement = \"slab:16\"` would narrow 8 placements to 4",
    "{0}:17 allocates struct ring (kmalloc) and 1 more: `placement = \"kmalloc\"` would narrow 8 placements to 2",
    "{0}:16 allocates struct word_t (kmalloc): `placement = \"kmalloc\"` would narrow 8 placements to 2",
]  # fmt: skip


def test_check_says_what_a_call_would_change(tmp_path):
    """For structs with rules and without a placement, where it is not as it would be without the call."""
    path = tmp_path / "s.c"
    path.write_text(DEFINED)
    rule = '[[rule]]\nid = "{0}"\nstruct = "{0}"\nkind = "size"\nmax = 999\nwhy = "w"\n'
    names = ("ring", "small", "said", "plain", "word_t")
    text = '[struct.said]\nplacement = "static"\n' + "".join(rule.format(name) for name in names)
    options = Options(read=ReadOptions(flags=("--target=x86_64-linux-gnu",)))
    report = check([os.fspath(path)], (rule_file.parse(text, "r.toml"),), (), options)
    assert sorted(report.readings[0].notes) == sorted(note.format(path) for note in NOTES)


PART = """\
typedef unsigned long size_t;
#include "ring.h"
void *kmalloc(size_t, unsigned);
struct ring *f(void) { return kmalloc(sizeof(struct ring), 0); }
"""
RULE = '[[rule]]\nid = "r"\nstruct = "ring"\nkind = "size"\nmax = 999\nwhy = "w"\n'


@pytest.fixture
def built(tmp_path) -> Path:
    (tmp_path / "ring.h").write_text("struct ring { long head, names[9], tail; };\n")
    (tmp_path / "part.c").write_text(PART)
    entry = {"directory": str(tmp_path), "file": "part.c", "arguments": ["cc", "--target=x86_64-linux-gnu", "-c", "part.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    return tmp_path


def notes_of(built: Path, name: str, **read: object) -> list[str]:
    options = Options(read=ReadOptions(**read))
    report = check([f"{built}/{name}"], (rule_file.parse(RULE, "r.toml"),), (), options)
    return [note for reading in report.readings for note in reading.notes if "allocates" in note]


SAID = '{0}/part.c:4 allocates struct ring (kmalloc): `placement = "kmalloc"` would narrow 8 placements to 2'


def test_check_looks_into_the_sources_of_a_database(built):
    assert notes_of(built, "compile_commands.json") == [SAID.format(built)]


def test_check_looks_into_a_folder(built):
    assert notes_of(built, ".", flags=("--target=x86_64-linux-gnu",)) == [SAID.format(built)]
    (built / "compile_commands.json").unlink()
    assert notes_of(built, "", flags=("--target=x86_64-linux-gnu",)) == [SAID.format(built)]


def test_check_looks_into_the_sources_of_what_is_compiled(built):
    need("gcc")
    subprocess.run(["gcc", "-g", "-c", "part.c", "-o", "part.o"], cwd=built, check=True, timeout=60)
    assert notes_of(built, "part.o") == []
    assert notes_of(built, "part.o", sources=(str(built),)) == [SAID.format(built)]


TYPEDEF = {
    "pool.h": "typedef struct _page { long lock, data; } page_t;\nstruct other { long a; };\n",
    "pool.c": '#include "pool.h"\npage_t *f(int n) { struct other *o = calloc(1, sizeof(struct other)); return calloc(n, sizeof(page_t)); }\n',
}


@pytest.mark.parametrize("wanted", ["_page", "_pa*", "page_t", None])
@pytest.mark.parametrize("form", ["folder", "compile_commands.json"])
def test_structs_by_tag_and_typedef(tmp_path, form, wanted):
    """Calls name the typedef, people and findings the tag; a compilation database stands for its sources."""
    for name, text in TYPEDEF.items():
        (tmp_path / name).write_text(text)
    entry = {"directory": str(tmp_path), "file": "pool.c", "arguments": ["cc", "-c", "pool.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    path = tmp_path if form == "folder" else tmp_path / form
    found, unread = sources.read((str(path),), wanted and Wanted(patterns=(wanted,)), 1, no_progress)
    assert (sorted(call.struct for call in found), unread) == (["_page"] if wanted else ["_page", "other"], [])
