"""`layoutlint snapshot`, snapshots as inputs, and `check --snapshot`, through the real command."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, ClassVar

import pytest

from layoutlint.reports import FORMATS
from tests.harness import json_schemas, repository, tools
from tests.harness.command import run
from tests.reports.page import sample

RING = """
struct link { long next; };
typedef struct { int word; } lock_t;
struct ring {
	unsigned long head; /* layoutlint: hot-write, separate(tail) */
	unsigned state : 3, : 2, kind : 4;
	struct link links[2];
	union { int id; lock_t lock; };
	unsigned long tail;
};
struct queue_a { char a; };
struct queue_b { short b; };
struct gone { int x; };
"""
TEXT = """{
"schema": "layoutlint/snapshot/1",
"target": "x86_64",
"reader": "clang",
"chosen": [
  "ring"
],
"structs": [
{"name": "struct link", "aggregate": "struct", "embedded": true, "file": "src/ring.h", "fields": [
  {"name": "next", "at": 0, "size": 8, "type": "long int", "align": 8}
]},
{"name": "lock_t", "aggregate": "struct", "embedded": true, "file": "src/ring.h", "fields": [
  {"name": "word", "at": 0, "size": 4, "type": "int", "align": 4}
]},
{"name": "struct ring", "aggregate": "struct", "size": 48, "align": 8, "file": "src/ring.h", \
"annotations": [["head", "hot-write, separate(tail)"]], "fields": [
  {"name": "head", "at": 0, "size": 8, "type": "long unsigned int", "align": 8},
  {"name": "state", "at": 8, "bits": 3, "unnamed": [[3, 2]], "type": "unsigned int", "align": 4},
  {"name": "kind", "at": 8, "bit": 5, "bits": 4, "type": "unsigned int", "align": 4},
  {"name": "links", "at": 16, "size": 16, "type": "struct link", "after": "[2]", "dims": [2], "align": 8, "of": "struct link"},
  {"at": 32, "size": 4, "type": "union {...}", "align": 4, "aggregate": "union", "fields": [
    {"name": "id", "at": 0, "size": 4, "type": "int", "align": 4},
    {"name": "lock", "at": 0, "size": 4, "type": "lock_t", "align": 4, "underlying": ["struct {...}"], "of": "lock_t"}
  ]},
  {"name": "tail", "at": 40, "size": 8, "type": "long unsigned int", "align": 8}
]}
]}
"""
GONE = '{"name": "struct gone", "aggregate": "struct", "size": 4, "align": 4, "file": "src/ring.h", "fields": [\n  {"name": "x", "at": 0, "size": 4, "type": "int", "align": 4}\n]}'
QUEUE = '{"name": "struct queue_a", "aggregate": "struct", "size": 1, "align": 1, "fields": [{"name": "a", "at": 0, "size": 1, "type": "char"}]}'
HELD = TEXT.replace('"ring"\n', '"gone", "queue_a", "ring"\n').replace("]}\n]}", f"]}},\n{GONE},\n{QUEUE}\n]}}")
UNSETTLED = re.compile(r', "(?:alignments|unstated)": \[[^\]]*\]')
"""What DWARF leaves open of alignments, which depends on the compiler."""
RULES = '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["links[1]"]]\nwhy = "w"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a header, away from its top."""
    repository.commit(tmp_path, "one", {"src/ring.h": RING, "rules.toml": RULES})
    return tmp_path


def snapshot(folder: Path, *words: str | Path, file: str = "l.json") -> dict[str, Any]:
    done = run("snapshot", *words, "--output", file, cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    text = (folder / file).read_text()
    assert json_schemas.snapshot_mistakes(text) == []
    return json.loads(text)


def names(found: dict[str, Any]) -> list[str]:
    return [each["name"] for each in found["structs"] if not each.get("embedded")]


class TestWriting:
    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(("cwd", "path"), [("/", None), ("src", "ring.h"), (".", "src/ring.h")])
    def test_the_text_is_the_same_from_everywhere(self, cwd, path, folder):
        done = run("snapshot", path or folder / "src/ring.h", "--struct", "ring", "--jobs", "2", cwd=folder / cwd)
        assert (done.returncode, done.stdout) == (0, TEXT)

    CHOICES: ClassVar[dict[str, Any]] = {
        # options, and the structs
        "several": (("--struct", "struct gone", "--struct", "lock_t"), ["struct gone", "lock_t"]),
        "rules": (("--rules", "rules.toml"), ["struct ring"]),
        "both": (("--rules", "rules.toml", "--struct", "gone"), ["struct gone", "struct ring"]),
        "a pattern": (("--struct", "queue_*"), ["struct queue_a", "struct queue_b"]),
        "without annotations": (("--struct", "gone", "--no-annotations"), ["struct gone"]),
        "all": (("--all",), ["struct gone", "struct link", "lock_t", "struct queue_a", "struct queue_b", "struct ring"]),
    }

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("choice", CHOICES)
    def test_what_is_chosen(self, choice, folder):
        words, expected = self.CHOICES[choice]
        found = snapshot(folder, "src/ring.h", *words)
        assert names(found) == expected
        assert ("chosen" in found) == (choice != "all")

    MISTAKES: ClassVar[dict[str, Any]] = {
        # options; exit status; a part of the message
        "no such struct": (("--struct", "rng"), 3, "src/ring.h: no struct rng (did you mean `ring`?)"),
        "no match": (("--struct", "x*"), 3, "no struct matches x*"),
        "no reserved member": (("--struct", "ring", "--may-use", "tial*"), 2, "--may-use: no member matches `tial*` (did you mean `tail`?)"),
        "one of another struct": (("--struct", "ring", "--may-use", "rng.tail"), 2, "no member matches `rng.tail` (did you mean `ring.tail`?)"),
        "a new one that matches nothing": (("--update", "l.json", "--may-use", "haed"), 2, "no member matches `haed` (did you mean `head`?)"),
        "all of some": (("--all", "--struct", "ring"), 2, "--all and --struct contradict each other"),
        "the input": (("--struct", "ring", "--output", "src/ring.h"), 2, "is the same file as src/ring.h, which is read"),
        "another file": (("--struct", "ring", "--output", "note.txt"), 2, "it exists, and is not a snapshot"),
        "nothing": (("--no-annotations", "--output", "new.json"), 2, "no rule names a struct; name some with --struct, give --rules, or record --all"),
        "no folder": (("--struct", "ring", "--output", "no/l.json"), 2, "no/l.json"),
        "a new one": (("--update", "new.json"), 3, "new.json: "),
        "another choice": (("--update", "l.json", "--struct", "ring"), 2, "--struct cannot be given with it"),
        "two files": (("--update", "l.json", "--output", "m.json"), 2, "--output cannot be given with it"),
    }

    @pytest.mark.one_in(5)
    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_mistakes(self, mistake, folder):
        words, status, message = self.MISTAKES[mistake]
        (folder / "note.txt").write_text("mine")
        (folder / "l.json").write_text(TEXT)
        before = {path.name: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
        done = run("snapshot", "src/ring.h", *words, cwd=folder)
        assert (done.returncode, message in done.stderr) == (status, True), done.stderr
        assert {path.name: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()} == before

    def test_a_snapshot_of_a_snapshot_claims_no_more(self, folder):
        (folder / "l.json").write_text(TEXT)
        for words in (("--all",), ("--struct", "ring")):
            assert run("snapshot", "l.json", *words, cwd=folder).stdout == TEXT

    @pytest.mark.exhaustive
    def test_what_is_unreliable_is_left_out_on_demand(self, folder):
        (folder / "bad.h").write_text("struct good { int a; };\nstruct bad { gone_t x; };\n")
        done = run("snapshot", "bad.h", "--struct", "*", "--output", "b.json", cwd=folder)
        assert (done.returncode, (folder / "b.json").exists()) == (3, False)
        assert "the layout of struct bad is unreliable" in done.stderr
        assert names(snapshot(folder, "bad.h", "--struct", "*", "--allow-unknown", file="b.json")) == ["struct good"]

    def test_an_update_has_what_was_asked_for(self, folder):
        snapshot(folder, "src/ring.h", "--struct", "queue_*", "--struct", "gone")
        text = RING.replace("struct gone { int x; };", "struct queue_c { int c; };")
        (folder / "src/ring.h").write_text(text)
        done = run("snapshot", "src/ring.h", "--update", "l.json", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "layoutlint: note: struct gone no longer exists\n")
        assert names(json.loads((folder / "l.json").read_text())) == ["struct queue_a", "struct queue_b", "struct queue_c"]

    def test_a_reserved_member_that_is_used_stays_used(self, folder):
        def check(members: str) -> int:
            (folder / "r.h").write_text(f"struct r {{ long head; {members} }};\n")
            return run("check", "r.h", "--snapshot", "r.json", cwd=folder).returncode

        (folder / "r.h").write_text("struct r { long head; long spare, rest; };\n")
        assert snapshot(folder, "r.h", "--struct", "r", "--may-use", "spare", file="r.json")["may_use"] == ["spare"]
        assert (check("long spare, used;"), check("char used; long rest;"), check("int first, more; long rest;")) == (1, 0, 0)
        for globs in (("spare",), ("spare", "rest")):
            new = ("--may-use", "rest") if "rest" in globs else ()
            assert run("snapshot", "r.h", "--update", "r.json", *new, cwd=folder).returncode == 0
            assert json.loads((folder / "r.json").read_text())["may_use"] == list(globs)
            expected = (1, 1, 0 if new else 1, 0)
            assert (check("long used; long rest;"), check("long spare, rest;"), check("int first, more, last;"), check("int first, more; long rest;")) == expected

    @pytest.mark.exhaustive
    def test_two_machines_are_two_snapshots(self, folder):
        tools.need("gcc")
        (folder / "a.c").write_text("struct ring { long a; } r;")
        subprocess.run(["gcc", "-g", "-c", "a.c"], cwd=folder, check=True)
        data = bytearray((folder / "a.o").read_bytes())
        data[18:20] = b"\xf3\x00"  # EM_RISCV
        (folder / "b.o").write_bytes(data)
        done = run("snapshot", "a.o", "b.o", "--struct", "ring", cwd=folder)
        assert done.returncode in (2, 3)
        assert "Traceback" not in done.stderr
        held = snapshot(folder, "a.o", "--struct", "ring")
        assert held["target"] == "x86_64"
        assert names(snapshot(folder, "a.o", "l.json", "--struct", "ring", file="m.json")) == ["struct ring"]

    @pytest.mark.exhaustive
    def test_two_folders_and_two_compilers(self, folder):
        for compiler in ("gcc", "clang"):
            tools.need(compiler)
        made = {}
        for place in ("one", "two"):
            (folder / place).mkdir()
            (folder / place / "a.c").write_text(RING + "struct ring r; struct gone g;")
            for compiler in ("gcc", "clang"):
                output = folder / place / f"{compiler}.o"
                subprocess.run([compiler, "-g", "-c", folder / place / "a.c", "-o", output], check=True, cwd=folder / place)
                snapshot(folder / place, f"{compiler}.o", "--all")
                made[place, compiler] = (folder / place / "l.json").read_text()
        assert str(folder) not in "".join(made.values())
        for compiler in ("gcc", "clang"):
            assert made["one", compiler].replace('"one/', '"two/') == made["two", compiler]
        lines = {key: text.splitlines() for key, text in made.items()}
        (gcc, clang) = ([UNSETTLED.sub("", line) for line in lines["one", name] if '"name"' in line] for name in ("gcc", "clang"))
        assert gcc == clang


def differences(folder: Path, file: str = "src/ring.h", snap: str = "l.json", *words: str) -> Any:
    return run("diff", file, snap, *words, cwd=folder)


class TestAsInput:
    CHOICES = (("--struct", "ring", "--rules", "rules.toml"), ("--all",), ("--struct", "queue_?", "--struct", "gone"), ("--struct", "ring"))

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("choice", CHOICES, ids=map(" ".join, CHOICES))
    def test_it_does_not_differ_from_its_input(self, choice, folder):
        snapshot(folder, "src/ring.h", *choice)
        for sides in (("src/ring.h", "l.json"), ("l.json", "src/ring.h"), ("l.json", "l.json")):
            done = differences(folder, *sides, "--rules", "rules.toml")
            assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)

    def test_what_it_was_not_asked_for_is_not_compared(self, folder):
        (folder / "l.json").write_text(TEXT.replace('"ring"\n', '"gone", "ring"\n').replace("]}\n]}", f"]}},\n{GONE}\n]}}"))
        (folder / "src/ring.h").write_text(RING.replace("char a;", "char a[9];").replace("struct gone { int x; };", ""))
        done = differences(folder, "l.json", "src/ring.h", "--format", "json")
        assert [(each["name"], each["status"]) for each in json.loads(done.stdout)["structs"]] == [("gone", "removed")]

    def test_verdicts_are_those_of_its_input(self, folder):
        (folder / "l.json").write_text(TEXT)
        found = []
        for path in ("src/ring.h", "l.json"):
            done = run("check", path, "--rules", "rules.toml", "--format", "json", cwd=folder)
            report = json.loads(done.stdout)
            rows = [*report["findings"], *report["kept"]]
            found.append((done.returncode, [(each["rule"], each["message"], each["placements"], each["fingerprint"]) for each in rows]))
        assert found[0] == found[1]
        assert {rule for rule, *_ in found[0][1]} == {"apart", "ring/separate/head/tail"}

    UNKNOWN: ClassVar[dict[str, Any]] = {
        # the command; exit status; a part of the output
        "a struct": (("show", "l.json", "gone"), 3, "l.json: no struct gone"),
        "a note": (("show", "l.json", "ring"), 0, "a snapshot of chosen structs (1); it does not say which others its input has"),
        "a rule": (("check", "l.json", "--rules", "gone.toml", "--no-annotations"), 3, "struct gone is in none of the inputs"),
        "variables": (("check", "l.json", "--rules", "variables.toml", "--no-annotations"), 3, "is unknown"),
        "another reader": (("show", "l.json", "ring", "--reader", "btf"), 3, "is a snapshot of what was read by clang, not by btf"),
        "containers": (("containers", "l.json", "link"), 0, "ring.links[2]"),
        "embedded": (("containers", "l.json", "lock_t"), 0, "ring.lock"),
        "standard input": (("show", "-", "ring"), 2, "standard input is a snapshot; give it by its name"),
        "a field": (("show", "l.json", "ring", "--at", "24"), 0, "links[1]"),
        "a random order": (("check", "l.json", "--rules", "rules.toml", "--randstruct", "gcc-full", "--randomized", "ring"), 3, ""),
    }

    @pytest.mark.one_in(5)
    @pytest.mark.parametrize("case", UNKNOWN)
    def test_what_it_lacks_is_unknown(self, case, folder):
        words, status, message = self.UNKNOWN[case]
        (folder / "l.json").write_text(TEXT)
        (folder / "gone.toml").write_text(RULES.replace('"ring"', '"gone"'))
        (folder / "variables.toml").write_text('[[rule]]\nid = "v"\nkind = "stride"\nvariables = ["locks"]\nwhy = "w"\n')
        done = run(*words, cwd=folder, given=TEXT.encode() if "-" in words else None)
        assert (done.returncode, message in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr


EDITS = {
    # what is replaced, by what; exit status; outcomes by rule; a part of the message on ring
    "nothing": ("", "", 0, {"ring": "kept", "gone": "kept", "queue_a": "kept"}, ""),
    "a comment": ("struct ring {", "/* a ring */\n\nstruct ring {", 0, {"ring": "kept", "gone": "kept", "queue_a": "kept"}, ""),
    "a type": ("unsigned long tail", "long tail", 0, {"ring": "kept", "gone": "kept", "queue_a": "kept"}, ""),
    "a field": (
        "unsigned long head;", "unsigned long head; int pad;", 0 + 1, {"ring": "broken", "gone": "kept", "queue_a": "kept"},
        "differs from l.json: 48 bytes as before, 89 -> 57 bits of holes; added `pad`, 4 bytes at 8 (src/ring.h:5); `state` 8 -> 12, `kind` 8 -> 12",
    ),
    "two fields": (
        "unsigned long head;", "unsigned long head; int pad; long more;", 1, {"ring": "broken", "gone": "kept", "queue_a": "kept"},
        "added `more`, 8 bytes at 16 (src/ring.h:5); added `pad`, 4 bytes at 8 (src/ring.h:5); `state` 8 -> 24",
    ),
    "an embedded struct": (
        "long next;", "long next; char c;", 1, {"ring": "broken", "gone": "kept", "queue_a": "kept"},
        "resized `links`: 16 -> 32 bytes, because struct link changed (src/ring.h:7); added `links.c`, 1 byte at 24 (src/ring.h:2); `id` 32 -> 48, `lock` 32 -> 48, `tail` 40 -> 56",
    ),
    "an alignment": (
        "};\nstruct queue_a", "} __attribute__((aligned(16)));\nstruct queue_a", 1, {"ring": "broken", "gone": "kept", "queue_a": "kept"},
        "alignment 8 -> 16",
    ),
    "a struct that is gone": ("struct gone { int x; };", "", 3, {"ring": "kept", "gone": "unknown", "queue_a": "kept"}, ""),
    "a new struct": ("struct gone", "struct queue_z { int z; }; struct gone", 0, {"ring": "kept", "gone": "kept", "queue_a": "kept"}, ""),
}  # fmt: skip


class TestMerging:
    SIDES: ClassVar[dict[str, Any]] = {
        # what each side replaces in the header
        "fields of two structs": (("char a;", "char a, c;"), ("unsigned long tail;", "unsigned long tail, end;")),
        "a new struct, and a field": (("struct queue_a {", "struct alone { int x; };\nstruct queue_a {"), ("short b;", "short b, c;")),
        "a struct that is gone, and a new one": (("struct gone { int x; };\n", ""), ("struct link {", "struct zone { int x; };\nstruct link {")),
    }

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("sides", SIDES)
    def test_the_merge_is_the_snapshot_of_the_merge(self, sides, folder):
        words = ("src/ring.h", "--struct", "*")
        snapshot(folder, *words)
        (folder / "src/ring.h").write_text(RING.replace("\nstruct", "\n\n\n\nstruct"))
        repository.commit(folder, "base", {})
        text = (folder / "src/ring.h").read_text()
        for branch, (old, new) in zip(("one", "two"), self.SIDES[sides], strict=True):
            repository.git(folder, "checkout", "-q", "-b", branch, "main")
            (folder / "src/ring.h").write_text(text.replace(old, new, 1))
            assert run("snapshot", "src/ring.h", "--update", "l.json", cwd=folder).returncode == 0
            repository.commit(folder, branch, {})
        repository.git(folder, "merge", "-q", "--no-edit", "one")
        assert run("snapshot", *words, cwd=folder).stdout == (folder / "l.json").read_text()

    def test_what_machines_differ_in_is_not_in_it(self, folder):
        tools.need("gcc")
        (folder / "a.c").write_text(f"{RING}struct ring r;")
        texts = set()
        for version in ("14.2.0", "14.2.1 20250101", "15.1.0"):
            subprocess.run(["gcc", "-g", "-c", "a.c"], cwd=folder, check=True)
            (folder / "comment").write_bytes(f"GCC: (Debian {version}-1) {version}\0".encode())
            subprocess.run(["objcopy", "--update-section", ".comment=comment", "a.o", f"{version[:6]}.o"], cwd=folder, check=True)
            texts.add(run("snapshot", f"{version[:6]}.o", "--struct", "ring", "--output", f"{version[:6]}.json", cwd=folder).stderr)
        first, second, third = ((folder / f"{version}.json").read_text() for version in ("14.2.0", "14.2.1", "15.1.0"))
        assert (first == second, first == third, texts) == (True, False, {""})
        notes = {version: differences(folder, f"{version}.o", "14.2.0.json").stderr for version in ("14.2.1", "15.1.0")}
        assert "compiled by" not in notes["14.2.1"]
        assert "note: compiled by gcc 15 before and by gcc 14 now\n" in notes["15.1.0"]


class TestHolding:
    WORDS = ("check", "src/ring.h", "--no-annotations", "--snapshot", "l.json")

    @pytest.fixture
    def held(self, folder):
        (folder / "l.json").write_text(HELD)
        return folder

    def edit(self, folder: Path, old: str, new: str) -> None:
        (folder / "src/ring.h").write_text(RING.replace(old, new, 1))

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("edit", EDITS)
    def test_edits(self, edit, held):
        old, new, status, expected, message = EDITS[edit]
        self.edit(held, old, new)
        done = run(*self.WORDS, "--format", "json", cwd=held)
        report = json.loads(done.stdout)
        rows = [*report["findings"], *report["kept"]]
        found = {each["rule"]: each["outcome"] for each in rows if each["kind"] == "snapshot"}
        assert (done.returncode, found) == (status, {f"snapshot/{name}": outcome for name, outcome in expected.items()})
        assert message in next(each["message"] for each in rows if each["struct"] == "ring")
        for finding in report["findings"]:
            assert finding["advice"] == "undo the change, or accept it: `layoutlint snapshot src/ring.h --update l.json`"

    LOST: ClassVar[dict[str, Any]] = {
        # what is replaced in the snapshot, by what; exit status; a part of the output
        "the record of a name": (f"{GONE},\n", "", 3, "l.json chooses it, and has no layout of it"),
        "the record of a pattern's": (f"{GONE},\n", GONE.replace('"size": 4, "align": 4, "file"', '"embedded": true, "file"', 1) + ",\n", 3, "struct gone is unknown"),
        "the name of a record": ('"gone", ', "", 3, "`struct gone`: `chosen` does not name it"),
        "the file of a record": ('"struct queue_a", "aggregate": "struct"', '"struct queue_a", "aggregate": "struct", "file": "other.h"', 1, "error: struct queue_a: differs from l.json"),
    }  # fmt: skip

    @pytest.mark.parametrize("loss", LOST)
    def test_a_lost_part_holds_no_less(self, loss, held):
        old, new, status, message = self.LOST[loss]
        text = HELD.replace('"gone", ', '"g*", ', 1) if "pattern" in loss else HELD
        assert old in text
        (held / "l.json").write_text(text.replace(old, new, 1))
        if status == 1:
            self.edit(held, "char a;", "char a, b;")
        done = run(*self.WORDS, cwd=held)
        assert (done.returncode, message in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(("copy", "edit", "status"), [
        ("old/ring.h", "long x;", 1), ("old/other.h", "long x;", 0), ("old/ring.h", "", 0),
    ])  # fmt: skip
    def test_a_second_definition(self, copy, edit, status, held):
        """Two parts of a program disagree on a struct of one file; a namesake in another file is a new struct."""
        (held / "old").mkdir()
        (held / copy).write_text(RING.replace("unsigned long head;", f"unsigned long head; {edit}"))
        done = run(*self.WORDS, "--struct", "ring", copy, cwd=held)
        assert done.returncode == status, done.stdout
        assert ("has another definition of 56 bytes, which is not in l.json" in " ".join(done.stdout.split())) == (status == 1)

    def test_the_place_and_the_fingerprint(self, held):
        prints = set()
        for text in ("unsigned long head; int pad;", "/* a */\n\tunsigned long head;\n\n\tint pad;"):
            self.edit(held, "unsigned long head;", text)
            (finding,) = json.loads(run(*self.WORDS, "--format", "json", cwd=held).stdout)["findings"]
            prints.add(finding["fingerprint"])
            assert finding["fields"][0] | {"line": 0} == {"path": "pad", "offset": 8, "size": 4, "file": "src/ring.h", "line": 0}
        assert len(prints) == 1

    def test_every_format_has_it(self, held):
        self.edit(held, "long next;", "long next; char c;")
        done = run(*self.WORDS, *(word for name in FORMATS for word in ("--output", f"{name}=report.{name}")), cwd=held)
        assert done.returncode == 1
        for name in FORMATS:
            text = (held / f"report.{name}").read_text()
            text = json.dumps(sample.data(text)) if name == "html" else text
            assert "snapshot/ring" in text, name
            assert "--update l.json" in text or name in ("concise", "gitlab", "checkstyle"), name
        update = run("snapshot", "src/ring.h", "--update", "l.json", cwd=held)
        assert (update.returncode, run(*self.WORDS, cwd=held).returncode) == (0, 0)

    def test_suppressions(self, held):
        ignored = "/* layoutlint: ignore[snapshot/ring] grows */\nstruct ring {"
        (held / "src/ring.h").write_text(RING.replace("struct ring {", ignored).replace("long next;", "long next; char c;"))
        words = ("check", "src/ring.h", "--snapshot", "l.json")
        (finding,) = (
            each for each in json.loads(run(*words, "--format", "json", cwd=held).stdout)["findings"] if each["kind"] == "snapshot"
        )
        assert finding["suppressed"].startswith("grows")

    @pytest.mark.exhaustive
    def test_a_suppression_without_a_snapshot_is_not_unused(self, held):
        (held / "src/ring.h").write_text(RING.replace("struct ring {", "/* layoutlint: ignore[snapshot/ring] grows */\nstruct ring {"))
        rules = run("check", "src/ring.h", "--unused", "--rules", "rules.toml", cwd=held)
        assert "suppresses no finding" not in rules.stdout

    OPTIONS: ClassVar[dict[str, Any]] = {
        # what is added to the command, with `ring` changed and `gone` gone; exit status
        "fail on broken": (("--fail-on", "broken"), 1),
        "another struct": (("--struct", "queue_a"), 0),
        "other names, and another size": (("--renames",), 1),
        "one that is gone": (("--struct", "gone"), 3),
        "missing ones": (("--struct", "gone", "--ignore-missing", "--allow-unknown"), 0),
        "a baseline": (("--baseline", "all.toml"), 1),
        "rules too": (("--rules", "rules.toml"), 1),
        "any order of fields": (("--randstruct", "clang", "--randomized", "ring"), 2),
        "a matrix": (("--matrix", "m.toml"), 2),
        "staged": (("--staged",), 2),
        "since": (("--since", "HEAD"), 2),
        "an output over it": (("--output", "json=l.json"), 2),
    }

    @pytest.mark.one_in(5)
    @pytest.mark.parametrize("option", OPTIONS)
    def test_options(self, option, held):
        words, status = self.OPTIONS[option]
        (held / "all.toml").write_text(
            'schema = "layoutlint/baseline/1"\naccept = [{ rule = "snapshot/ring", struct = "ring", outcome = "broken" }]\n'
        )
        (held / "src/ring.h").write_text(RING.replace("long next;", "long next; char c;").replace("struct gone { int x; };", ""))
        done = run(*self.WORDS, *words, cwd=held)
        assert done.returncode == status, done.stdout + done.stderr

    @pytest.mark.exhaustive
    def test_the_snapshot_of_a_commit(self, held):
        repository.commit(held, "two", {"l.json": (held / "l.json").read_text()})
        self.edit(held, "long next;", "long next; char c;")
        run("snapshot", "src/ring.h", "--update", "l.json", cwd=held)
        assert run(*self.WORDS, cwd=held).returncode == 0
        assert run(*self.WORDS, "--policy-from", "HEAD", cwd=held).returncode == 1

    @pytest.mark.exhaustive
    def test_another_machine(self, held):
        done = run(*self.WORDS, "--", "-m32", cwd=held)
        assert done.returncode == 3
        assert "is for i386, and the snapshot l.json for x86_64" in done.stdout

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(("text", "status", "message"), [
        ('{"schema": "layoutlint/report/1"}', 3, "l.json: is an output of layoutlint (report), not a snapshot"), ("", 3, "l.json"), ("{", 3, "l.json:1: the snapshot is damaged"), (RING, 3, "l.json:2: is not a snapshot"), (None, 3, "l.json: no such file"),
    ])  # fmt: skip
    def test_a_damaged_one(self, text, status, message, held):
        if text is None:
            (held / "l.json").unlink()
        else:
            (held / "l.json").write_text(text)
        done = run(*self.WORDS, cwd=held)
        assert (done.returncode, done.stdout) == (status, "")
        assert message in done.stderr.lower()


DEEP = """struct kobj { int a; short s, r; int ref; };
struct dev_ops { int (*open)(int); struct kobj kobj; struct { unsigned kind : 3, err : 4; } bits; unsigned long users; };
"""
OLD_FILE = """{
"schema": "layoutlint/snapshot/1",
"target": "x86_64",
"reader": "clang",
"chosen": [
  "dev_ops"
],
"structs": [
{"name": "struct dev_ops", "aggregate": "struct", "size": 32, "align": 8, "file": "d.h", "fields": [
  {"name": "open", "at": 0, "size": 8, "type": "int (*", "after": ")(int)", "align": 8, "function": true},
  {"name": "kobj", "at": 8, "size": 12, "type": "struct kobj", "align": 4, "of": "struct kobj"},
  {"name": "bits", "at": 20, "size": 4, "type": "struct {...}", "align": 4, "aggregate": "struct", "fields": [
    {"name": "kind", "at": 0, "bits": 3, "type": "unsigned int", "align": 4},
    {"name": "err", "at": 0, "bit": 3, "bits": 4, "type": "unsigned int", "align": 4}
  ]},
  {"name": "users", "at": 24, "size": 8, "type": "long unsigned int", "align": 8}
]},
{"name": "struct kobj", "aggregate": "struct", "embedded": true, "file": "d.h", "fields": [
  {"name": "a", "at": 0, "size": 4, "type": "int", "align": 4},
  {"name": "s", "at": 4, "size": 2, "type": "short int", "align": 2},
  {"name": "r", "at": 6, "size": 2, "type": "short int", "align": 2},
  {"name": "ref", "at": 8, "size": 4, "type": "int", "align": 4}
]}
]}
"""
"""A snapshot as versions without `--types` write it."""


class TestDepth:
    EDITS: ClassVar[dict[str, Any]] = {
        # what is replaced, by what; the outcomes without and with the types; a part of the message
        "nothing": ("", "", "kept", "kept", "has the layout of l.json"),
        "a member of a member": (
            "short s, r; int ref;", "int ref; short s, r;", "broken", "broken",
            "reordered `kobj.ref`: 16 -> 12 (d.h:1); `kobj.ref` 16 -> 12, `kobj.s` 12 -> 16"),
        "bits": ("kind : 3,", "kind : 3, : 2,", "broken", "broken", "`bits.err` bits 163..166 -> bits 165..168"),
        "an unnamed struct around members": ("int a; short s, r;", "struct { int a; short s, r; };", "kept", "kept", ""),
        "a signed type": ("unsigned long users", "long users", "kept", "broken", "differs from l.json: retyped `users`: long unsigned int -> long int"),
        "a signature": ("(int);", "(long);", "kept", "broken", "retyped `open`: int (*)(int) -> int (*)(long int)"),
        "a type inside": ("int ref", "float ref", "kept", "broken", "retyped `kobj.ref`: int -> float"),
        "a layout and a type": ("kind : 3,", "kind : 3, : 2,", "broken", "broken", ""),
    }  # fmt: skip

    def check(self, folder: Path) -> tuple[int, str, str]:
        done = run("check", "d.h", "--snapshot", "l.json", "--no-annotations", "--format", "json", cwd=folder)
        report = json.loads(done.stdout)
        (finding,) = (*report["findings"], *report["kept"])
        return done.returncode, finding["outcome"], finding["message"]

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("has_types", [False, True])
    @pytest.mark.parametrize("edit", EDITS)
    def test_edits(self, edit, has_types, tmp_path):
        old, new, *outcomes, message = self.EDITS[edit]
        (tmp_path / "d.h").write_text(DEEP)
        snapshot(tmp_path, "d.h", "--struct", "dev_ops", *(("--types",) * has_types))
        (tmp_path / "d.h").write_text(DEEP.replace(old, new, 1))
        status, outcome, text = self.check(tmp_path)
        assert (status, outcome) == (int(outcome == "broken"), outcomes[has_types])
        assert outcome != outcomes[1] or message in text

    def test_a_file_of_an_older_version(self, tmp_path):
        """It has what is inside, and holds no types until it is updated with them."""
        (tmp_path / "l.json").write_text(OLD_FILE)
        (tmp_path / "d.h").write_text(DEEP)
        assert self.check(tmp_path)[:2] == (0, "kept")
        (tmp_path / "d.h").write_text(DEEP.replace("short s, r; int ref;", "int ref; short s, r;"))
        assert self.check(tmp_path)[:2] == (1, "broken")
        (tmp_path / "d.h").write_text(DEEP.replace("unsigned long", "long"))
        assert self.check(tmp_path)[:2] == (0, "kept")
        assert "retyped `users`" in run("diff", "l.json", "d.h", cwd=tmp_path).stdout
        (tmp_path / "d.h").write_text(DEEP)
        for words in (("--types",), ()):
            assert run("snapshot", "d.h", "--update", "l.json", *words, cwd=tmp_path).returncode == 0
            assert json.loads((tmp_path / "l.json").read_text())["types"] is True
        (tmp_path / "d.h").write_text(DEEP.replace("unsigned long", "long"))
        assert self.check(tmp_path)[:2] == (1, "broken")

    def test_types_of_another_reader_are_unknown(self, tmp_path):
        """BTF does not state `_Atomic`: what seems to be another type may be the same."""
        tools.need("gcc", "-gbtf", "-c")
        (tmp_path / "d.c").write_text("struct s { _Atomic int a; } s;\n")
        for flag, name in (("-g", "dwarf.o"), ("-gbtf", "btf.o")):
            subprocess.run(["gcc", flag, "-c", "d.c", "-o", name], cwd=tmp_path, check=True)
        snapshot(tmp_path, "dwarf.o", "--struct", "s", "--types")
        words = ("--no-packs", "--snapshot", "l.json")
        assert run("check", "dwarf.o", *words, cwd=tmp_path).returncode == 0
        done = run("check", "btf.o", *words, cwd=tmp_path)
        assert (done.returncode, "do not state all types alike" in " ".join(done.stdout.split())) == (3, True)
        compared = run("diff", "dwarf.o", "btf.o", cwd=tmp_path)
        assert (compared.returncode, "compared 1 struct (sizes and offsets at" in compared.stdout) == (0, True)
        assert "note: types are not compared: BTF does not state all of them" in compared.stderr
