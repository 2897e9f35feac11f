"""Samples of `perf script`: at the fields of a program that prints their addresses, and at none where they contradict it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.harness import interpreted, perf_samples
from tests.harness.command import run
from tests.harness.perf_samples import COLUMNS, Access
from tests.harness.tools import need

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
struct ring { long head; long tail; long size; } __attribute__((aligned(64)));
struct hits { int own; int other; long total[6]; } __attribute__((aligned(64)));
struct gate { int lock; int waiting; char *value; } __attribute__((aligned(64)));
struct ring rings[3];
static struct { char name[64]; struct hits hits; } state __attribute__((aligned(64)));
struct gate gate;
int first, second;
struct tail { long count; char text[]; } ended = { 1, "12345678901234567890" };
struct page { char bytes[4096]; } __attribute__((aligned(4096)));
struct page pages[2], alone;
#define SHOW(type, object, path) printf("%p %s %s %s\n", (void *)&(object).path, #type, #object, #path)
int main(void) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "r-xp") && strstr(line, "/program"))
            fputs(line, stdout);
    SHOW(ring, rings[1], head); SHOW(ring, rings[1], tail); SHOW(ring, rings[2], size);
    SHOW(hits, state.hits, own); SHOW(hits, state.hits, other); SHOW(hits, state.hits, total[2]);
    SHOW(tail, ended, count);
    SHOW(gate, gate, lock); SHOW(gate, gate, waiting); SHOW(gate, gate, value);
    alone.bytes[77] = pages[1].bytes[4000] = 1; pages[0].bytes[1] = 2;
    SHOW(page, alone, bytes[77]); SHOW(page, pages[1], bytes[4000]); SHOW(page, pages[0], bytes[1]);
    printf("%p %p\n", (void *)&first, (void *)&second);
    return 0;
}
"""


class Built:
    """A program, the addresses that it printed, and the line of perf about the mapping of its code."""

    def __init__(self, folder: Path, *flags: str, launcher: tuple[str, ...] = ()) -> None:
        self.folder = folder
        source, self.path = folder / "program.c", folder / "program"
        source.write_text(PROGRAM)
        subprocess.run([need("gcc"), "-g", "-O1", *flags, "-o", self.path, source], check=True)
        done = subprocess.run([*launcher, self.path], check=True, capture_output=True, text=True)
        mapped, *shown, variables = done.stdout.splitlines()
        start, end, offset = (int(word, 16) for word in re.match(r"(\w+)-(\w+) r-xp (\w+)", mapped).groups())
        self.mapping = (
            f"         program  4242 [000]  4999.000000: PERF_RECORD_MMAP2 4242/4242: "
            f"[{start:#x}({end - start:#x}) @ {offset:#x} fe:00 42 0]: r-xp {self.path}\n"
        )
        self.at = {tuple(words.split()[1:]): int(words.split()[0], 16) for words in shown}
        self.variables = [int(word, 16) for word in variables.split()]

    def accesses(self) -> list[Access]:
        """Two pairs of fields with false sharing, and a lock with its data, which the same CPUs use."""
        head, tail = self.at["ring", "rings[1]", "head"], self.at["ring", "rings[1]", "tail"]
        own, other = self.at["hits", "state.hits", "own"], self.at["hits", "state.hits", "other"]
        lock, value = self.at["gate", "gate", "lock"], self.at["gate", "gate", "value"]
        return [
            *(Access("store", head, 0, 100) for _ in range(7)),
            *(Access("local", tail, cpu, 101 + cpu) for cpu in (1, 3) for _ in range(5)),
            *(Access(kind, own, 4, 110) for kind in ("store", "remote", "miss")),
            *(Access(kind, other, 5, 111) for kind in ("store", "remote", "load")),
            *(Access(kind, lock, cpu, 120 + cpu, "Web Content 7") for cpu in (6, 7) for kind in ("locked", "store")),
            *(Access(kind, value, cpu, 120 + cpu, "Web Content 7") for cpu in (6, 7) for kind in ("local", "store")),
            Access("other", head, 0, 100),
            Access("load", 0, 2, 9),
        ]

    def write(self, text: str, name: str = "samples.txt") -> str:
        (self.folder / name).write_text(text)
        return name


@pytest.fixture(scope="module")
def pie(tmp_path_factory):
    return Built(tmp_path_factory.mktemp("pie"), "-fPIE", "-pie")


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    return Built(tmp_path_factory.mktemp("fixed"), "-fno-pie", "-no-pie")


def evidence(built: Built, *words: str) -> dict:
    done = run("evidence", *words, "--in", "program", "--format", "json", cwd=built.folder)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


def lines_of(document: dict) -> dict[str, dict]:
    return {line["variable"]: line for struct in document["structs"] for line in struct["lines"]}


def offsets_of(document: dict) -> set[tuple[str, str, str, int]]:
    """The struct, variable, path and address of each access."""
    return {
        (struct["name"], line["variable"], field["path"], int(line["object"], 16) + field["at"])
        for struct in document["structs"]
        for line in struct["lines"]
        for field in line["fields"]
    }


@pytest.mark.parametrize("way", ["mapping", "base-of", "fixed"])
def test_all_fields_are_those_whose_addresses_the_program_prints(way, pie, fixed):
    built = fixed if way == "fixed" else pie
    accesses = [Access("load", address, 1) for address in built.at.values()]
    words = ("--base-of", f"gate={built.at['gate', 'gate', 'lock']:#x}") if way == "base-of" else ()
    samples = built.write((built.mapping if way == "mapping" else "") + perf_samples.text(accesses))
    document = evidence(built, samples, *words)
    inner = {(name, variable, path, at) for (name, variable, path), at in built.at.items() if name != "hits"}
    inner |= {("hits", "state.hits", path, at) for (name, _, path), at in built.at.items() if name == "hits"}
    found = offsets_of(document) | offsets_of(evidence(built, samples, *words, "--struct", "hits"))
    assert inner <= found
    assert document["failures"] == []


def users(line: dict) -> dict[str, tuple]:
    return {
        field["path"]: (field["written_on"], field["read_on"], [each["tid"] for each in field["threads"]])
        for field in line["fields"]
    }


@pytest.mark.parametrize("form", ["both", "number", "text"])
def test_who_used_which_field_and_what_is_shared(form, pie):
    samples = pie.write(pie.mapping + perf_samples.text(pie.accesses(), form=form))
    words = ("--fields", ",".join(COLUMNS)) if form == "number" else ()
    document = evidence(pie, samples, *words)
    lines = lines_of(document) | lines_of(evidence(pie, samples, *words, "--struct", "hits"))
    assert {name: (line["sharing"], users(line)) for name, line in lines.items() if name in ("rings[1]", "state.hits", "gate")} == {
        "rings[1]": ("false", {"head": ([0], [], [100]), "tail": ([], [1, 3], [102, 104])}),
        "state.hits": ("false", {"own": ([4], [4], [110]), "other": ([5], [5], [111])}),
        "gate": ("true", {"lock": ([6, 7], [6, 7], [126, 127]), "value": ([6, 7], [6, 7], [126, 127])}),
    }
    counts = {field["path"]: field for name in ("rings[1]", "state.hits", "gate") for field in lines[name]["fields"]}
    assert {path: (each["counts"]["remote"], each["counts"]["local"], each["counts"]["l1_hit"], each["counts"]["l1_miss"],
                   each["loads"], each["locked"], each["records"]) for path, each in counts.items()} == {
        "head": (0, 0, 7, 0, 0, 0, 8), "tail": (0, 10, 0, 0, 10, 0, 10), "own": (1, 0, 1, 1, 1, 0, 3),
        "other": (1, 0, 1, 0, 2, 0, 3), "lock": (0, 2, 2, 0, 2, 2, 4), "value": (0, 2, 2, 0, 2, 0, 4),
    }  # fmt: skip
    names = {each["name"] for each in lines["gate"]["fields"][0]["threads"]}
    assert names == {"Web Content 7"}
    summary = document["reports"][0]["samples"]
    assert (summary["total"], summary["without_address"], summary["undecoded"]) == (33, 1, 1)


def test_drafts_separate_no_fields_of_the_same_cpus(pie):
    samples = pie.write(pie.mapping + perf_samples.text(pie.accesses()))
    run("evidence", samples, "--in", "program", "--output", "toml=draft.toml", cwd=pie.folder)
    drafted = re.findall(r'struct = "(\w+)"\nkind = "separate"\nfields = (.*)', (pie.folder / "draft.toml").read_text())
    run("evidence", samples, "--in", "program", "--struct", "hits", "--output", "toml=hits.toml", cwd=pie.folder)
    hits = re.findall(r'struct = "(\w+)"\nkind = "separate"\nfields = (.*)', (pie.folder / "hits.toml").read_text())
    assert 'evidence = ["perf script, ' in (pie.folder / "draft.toml").read_text()
    assert (drafted, hits) == ([("ring", '[["head"], ["tail"]]')], [("hits", '[["own"], ["other"]]')])


COSTS = [
    # the column that lacks, a part of the note, and what is known of `tail`: loads, CPUs, threads, weight
    ("cpu", "which CPUs touched a field is not known", (10, None, [102, 104], 100)),
    ("data_src", "which are loads and stores", (None, [1, 3], [102, 104], None)),
    ("weight", "the cost of loads is not known", (10, [1, 3], [102, 104], None)),
    ("time", None, (10, [1, 3], [102, 104], 100)),
    ("comm", None, (10, [1, 3], [102, 104], 100)),
]


@pytest.mark.parametrize(("column", "note", "known"), COSTS)
def test_a_column_can_lack(column, note, known, pie):
    columns = [name for name in COLUMNS if name not in (column, "weight" if column == "data_src" else "")]
    samples = pie.write(pie.mapping + perf_samples.text(pie.accesses(), columns))
    document = evidence(pie, samples)
    (tail,) = (field for field in lines_of(document)["rings[1]"]["fields"] if field["path"] == "tail")
    assert (tail["loads"], tail["accessed_on"], [each["tid"] for each in tail["threads"]], tail["mean_weight"]) == known
    assert document["reports"][0]["samples"]["columns"] == columns
    assert any(note in each for each in document["notes"]) if note else not any(f"column {column}" in each for each in document["notes"])
    named = evidence(pie, samples, "--fields", ",".join(columns))
    assert named["structs"] == document["structs"]


def test_variables_side_by_side_are_shown_together(fixed):
    first, second = fixed.variables
    accesses = [Access("store", first, 0), Access("local", second, 1)]
    document = evidence(fixed, fixed.write(perf_samples.text(accesses)))
    (data,) = document["structs"]
    (line,) = data["lines"]
    assert (data["is_data"], line["sharing"]) == (True, "false")
    assert [(field["path"], int(line["object"], 16) + field["at"]) for field in line["fields"]] == sorted(
        [("first", first), ("second", second)], key=lambda each: each[1]
    )


def test_a_program_at_an_unknown_address_has_lines_only(pie):
    document = evidence(pie, pie.write(perf_samples.text(pie.accesses())))
    assert (document["structs"], document["exit"]) == ([], 3)
    assert any("it is not known where program was loaded" in note for note in document["notes"])
    assert {each["sharing"] for each in document["unplaced"]} == {"true", "false"}


def _with_change(lines: list[str], number: int, old: str, new: str) -> str:
    assert old in lines[number - 1]
    return "".join((*lines[: number - 1], lines[number - 1].replace(old, new), *lines[number:]))


def _bad(built: Built) -> Iterable[tuple[str, str, str]]:
    lines = (built.mapping + perf_samples.text(built.accesses())).splitlines(True)
    head = f"{built.at['ring', 'rings[1]', 'head']:x}"
    yield "a cut line", "".join(lines[:6]) + lines[6][:70], "samples.txt:7: the line is cut off"
    yield "a line without its end", _with_change(lines, 4, lines[3][60:], "\n"), "samples.txt:4: the line is cut off"
    yield "a negative address", _with_change(lines, 5, f" {head}", f"-{head}"), f"samples.txt:5: the address -{head} is negative"
    yield "the last address", _with_change(lines, 5, head, "f" * 16), "samples.txt:5: the address ffffffffffffffff is 2^64-1"
    yield "a longer address", _with_change(lines, 5, head, "1" * 17), "samples.txt:5: the address 11111111111111111 has more than 64 bits"
    yield "another notation", _with_change(lines, 5, head, f"0x{head}"), f"samples.txt:5: the address 0x{head} begins with 0x"
    yield "a weight with a unit", _with_change(lines, 5, " 100 ", " 100ns "), "samples.txt:5: the line is cut off, or has other columns"
    yield "a call chain", "".join([*lines[:5], "\t          401136 work+0x6\n", *lines[5:]]), "samples.txt:6: is a call chain"
    yield "a table of perf c2c", "".join([*lines, "      0  99  0  0  0  0x1000\n"]), f"samples.txt:{len(lines) + 1}: the line is cut off"
    yield "another build", _with_change(lines, 1, "@ 0x1000", "@ 0x71000"), "samples.txt:1: maps byte 0x71000"
    yield "a build id", "12" * 20 + f" {built.path}\n" + "".join(lines), "samples.txt:1: " + f"{built.path} is build 1212"


def test_bad_samples_are_refused_with_their_line(pie):
    for name, text, reason in _bad(pie):
        pie.write(text)
        done = run("evidence", "samples.txt", "--in", "program", "--output", "json=out.json", cwd=pie.folder)
        assert (done.returncode, reason in " ".join(done.stdout.split())) == (3, True), (name, done.stdout, done.stderr)
        assert not (pie.folder / "out.json").exists(), name


def test_samples_of_another_struct_are_not_placed(pie):
    samples = pie.write(pie.mapping + perf_samples.text(pie.accesses()[:17]))
    document = evidence(pie, samples, "--struct", "gate")
    assert (document["exit"], document["structs"]) == (3, [])
    assert {each["reason"] for each in document["unplaced"]} == {"the variable `rings[1]` is there"}


USAGE = [
    (("--fields", "addr,phys_addr"), "column 'phys_addr' is not read"),
    (("--fields", "tid,cpu"), "samples need the column addr"),
    (("--base-of", "gate"), "'gate' is not SYMBOL=ADDRESS"),
    (("--base-of", "gone=0x1000"), "program has no symbol gone"),
    (("--base-of", "gate=0x1000", "--base-of", "rings=0x1000"), "are not those of one build"),
]


@pytest.mark.parametrize(("words", "reason"), USAGE)
def test_wrong_options(words, reason, pie):
    samples = pie.write(perf_samples.text(pie.accesses()))
    done = run("evidence", samples, "--in", "program", *words, cwd=pie.folder)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr


def test_a_fixed_program_is_nowhere_else(fixed):
    samples = fixed.write(perf_samples.text([Access("load", address, 1) for address in fixed.at.values()]))
    address = fixed.at["gate", "gate", "lock"]
    ends = [run("evidence", samples, "--in", "program", "--base-of", f"gate={at:#x}", cwd=fixed.folder) for at in (address, address + 4096)]
    assert [each.returncode for each in ends] == [0, 2]
    assert "program is only loaded where its symbols say" in ends[1].stderr


def test_real_page_faults(tmp_path):
    """Each page is touched for the first time at a byte of which the program prints the address."""
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("perf is not installed (package linux-perf)")
    record = (perf, "record", "-q", "-e", "page-faults", "-c", "1", "-d", "--sample-cpu", "-o", str(tmp_path / "data"), "--")
    if subprocess.run([*record, "true"], capture_output=True).returncode:
        pytest.skip("perf_event_open is not allowed here")
    built = Built(tmp_path, "-fPIE", "-pie", launcher=record)
    script = [perf, "script", "-i", tmp_path / "data", "--show-mmap-events", "-F", "comm,tid,cpu,time,event,ip,sym,addr"]
    samples = built.write(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
    found = {each for each in offsets_of(evidence(built, samples)) if each[0] == "page"}
    assert found == {(*key, at) for key, at in built.at.items() if key[0] == "page"}


def test_an_interpreted_scanner_finds_the_same(pie):
    samples = pie.write(pie.mapping + perf_samples.text(pie.accesses() * 20))
    words = ("evidence", samples, "--in", "program", "--format", "json")
    done = [ways(*words, cwd=pie.folder) for ways in (run, interpreted.run)]
    assert [each.returncode for each in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
