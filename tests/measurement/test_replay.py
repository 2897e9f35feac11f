"""A replayed profile: the program accesses the bytes of the report, in the proportions of the report."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import inf, nan
from pathlib import Path
from random import Random

import pytest

from layoutlint.lint.options import Options
from layoutlint.lint.subject import Request, Source, find_subjects
from layoutlint.measurement import run as run_of_program
from layoutlint.measurement.arrange import Uses
from layoutlint.measurement.mix import MOST_TURNS, Mix, MixedAccess
from layoutlint.readers.profiles import saved
from tests.commands.test_measure import measure, need_two_cores
from tests.harness.command import ROOT, run
from tests.harness.tools import need
from tests.measurement.test_program import program

PROFILES = ROOT / "fixtures/profiles"
AFTER = ("\tstruct rw_semaphore i_mmap_rwsem;\n", "\tvoid *i_private_data;\n")
"""The member that moves behind the others, and the one that it stands before then."""
SAMPLES = [
    # report, header, struct, address of an object, its first byte on the line
    ("c2c-address-space-before.txt", "address-space.h", "address_space", "0xffff92e266af9080", 64),
    ("c2c-hitm.txt", "box.c", "box", "0x55c8971f0080", 0),
    ("c2c-verbose-6.1.txt", "box.c", "box", "0x7f0000001000", 0),
    ("c2c-node-cpus-6.1.txt", "box.c", "box", "0x7f0000001000", 0),
    ("c2c-peer.txt", "box.c", "box", "0xaaaac17d6000", 0),
]
ROW = re.compile(r"^\s+((?:\d+\.\d\d%\s+)+)0x([0-9a-f]+)\s.*?\s0x[0-9a-f]+\s+\d+\s+\d+\s+\d+\s+(\d+)\s+(\d+)\s")
TOTALS = re.compile(r"^\s+\d+\s+((?:\d+\s+)+)0x[0-9a-f]{8,}\s*$", re.M)


def save(folder: Path, report: str, header: str, struct: str, address: str) -> None:
    words = (str(PROFILES / report), "--in", str(PROFILES / header), "--struct", struct, "--base", address)
    done = run("evidence", *words, "--output", f"json={folder / 'seen.json'}", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def counts(report: str, first: int) -> Counter[tuple[int, bool]]:
    """Loads (False) and stores (True) of each byte of the object, from the text of the report."""
    text = (PROFILES / report).read_text()
    totals = [int(number) for number in TOTALS.search(text)[1].split()]
    found: Counter[tuple[int, bool]] = Counter()
    records: Counter[int] = Counter()
    for line in text.splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        shares = [float(share) / 100 for share in re.findall(r"[\d.]+(?=%)", row[1])]
        at = first + int(row[2], 16)
        records[at] += int(row[3])
        found[at, True] += sum(share * total for share, total in zip(shares[2:], totals[2:], strict=True))
    for at, number in records.items():
        found[at, False] = max(0, number - found[at, True])
    return found


@pytest.mark.parametrize(("report", "header", "struct", "address", "first"), SAMPLES, ids=[row[0] for row in SAMPLES])
def test_the_program_has_the_proportions_of_the_report(tmp_path, report, header, struct, address, first):
    """What the compiled program prints, cell by cell: bytes from the object, and how often both cores access them."""
    save(tmp_path, report, header, struct, address)
    rows = program(tmp_path, "gcc", str(PROFILES / header), struct, "--evidence", "seen.json", "--cores", "0,1")
    expected = counts(report, first)
    whole, bases = expected.total(), set()
    for number in {cell for cell, *_ in rows} - {0, 1, 2}:  # the control, and the reference
        own = [(operation, byte) for cell, _, operation, _, byte in rows if cell == number]
        start = min(byte for _, byte in own) - min(at for (at, _), count in expected.items() if count * 200 > whole)
        bases.add(start % 64)
        seen = Counter((byte - start, operation != "LOAD") for operation, byte in own)
        assert set(seen) <= set(expected)
        assert all(abs(seen[key] / len(own) - count / whole) <= 1 / MOST_TURNS for key, count in expected.items())
    assert bases == {*range(0, 64, 8)}


def test_four_cores(tmp_path):
    """Each does the same here; with lines of their own, no two touch one line, and the control is one line for all."""
    save(tmp_path, *SAMPLES[0][:-1])
    rows = program(tmp_path, "gcc", str(PROFILES / SAMPLES[0][1]), SAMPLES[0][2], "--evidence", "seen.json", "--cores", "0,1,2,3")
    lines = [[{byte // 64 for cell, thread, _, _, byte in rows if (cell, thread) == (number, core)} for core in range(4)] for number in range(4)]
    assert [len(set.union(*own)) for own in lines] == [1, 4, 4 * len(lines[2][0]), len(lines[3][0])]


def test_atomic_types_are_changed_atomically(tmp_path):
    """The count of the lock is an atomic_long_t; `rb_leftmost` is a pointer. --stores makes all of them plain stores."""
    save(tmp_path, *SAMPLES[0][:-1])
    words = (str(PROFILES / SAMPLES[0][1]), SAMPLES[0][2], "--evidence", "seen.json", "--cores", "0,1", "--dry-run")
    changed = [re.findall(r"X\((ADD|STORE), 64, (\d+)\)", run("measure", *words, *more, cwd=tmp_path).stdout) for more in ((), ("--stores",))]
    assert [set(found) - {("ADD", "0"), ("ADD", "8")} for found in changed] == [
        {("ADD", "120"), ("STORE", "80")}, {("STORE", "120"), ("STORE", "80")},
    ]  # fmt: skip


def mix(*rows: tuple[str, str, int, int]) -> Mix:
    return Mix(tuple(MixedAccess(path, 0, operation, count, cpus) for path, operation, count, cpus in rows), ("f",))


SHARES = [
    # the accesses, the cores, and the turns of each core
    ([("a", "store", 9, 1), ("b", "load", 3, 1)], 2, [{"a": 3}, {"b": 1}]),
    ([("a", "store", 1, 1), ("b", "load", 1, 1)], 2, [{"a": 1}, {"b": 1}]),  # one writer and one reader
    ([("a", "store", 30, 32), ("b", "load", 10, 32)], 2, [{"a": 3, "b": 1}, {"a": 3, "b": 1}]),
    ([("a", "store", 4, 8), ("b", "load", 6, 2), ("c", "add", 2, 1)], 4, [{"a": 1, "c": 2}, {"a": 1}, {"a": 1}, {"a": 1, "b": 6}]),
    ([("a", "store", 4, 3), ("b", "load", 6, 4)], 4, [{"a": 8, "b": 9}, {"a": 8, "b": 9}, {"a": 8, "b": 9}, {"b": 9}]),
    ([("a", "store", 2, 0), ("b", "load", 4, 0)], 2, [{"a": 1, "b": 2}] * 2),  # unknown CPUs
    ([("a", "store", 1000, 4), ("b", "load", 1, 4)], 2, [{"a": 256}] * 2),
]  # fmt: skip


@pytest.mark.parametrize(("accesses", "cores", "turns"), SHARES)
def test_shares_of_cores(accesses, cores, turns):
    own = mix(*accesses)
    assert [{access.path: times for access, times in core} for core in own.share_out(cores)] == turns
    assert [*own.rare_accesses(cores)] == (["left out are the rarest accesses, 0.10% of all: some to `b`"] if len(turns[0]) == 1 and accesses[0][2] == 1000 else [])


KNOWN = [
    # the accesses with their CPUs, the cores, and the turns of each core
    ([("a", "store", 6, {3}), ("b", "load", 2, {7})], 2, [{"a": 3}, {"b": 1}]),
    ([("a", "store", 6, {7}), ("b", "load", 2, {3})], 2, [{"b": 1}, {"a": 3}]),
    ([("a", "store", 4, {0, 9}), ("b", "load", 4, {9})], 2, [{"a": 1}, {"a": 1, "b": 2}]),
    ([("a", "store", 4, {0, 1}), ("b", "load", 4, {2, 3})], 2, [{"a": 1}, {"b": 1}]),  # four CPUs on two cores
    ([("a", "store", 4, {0, 2}), ("b", "load", 4, {1, 3})], 4, [{"a": 1}, {"b": 1}] * 2),
    ([("a", "store", 4, {0, 2}), ("b", "load", 4, set())], 2, [{"a": 1, "b": 1}] * 2),  # those of one are not known
]  # fmt: skip


@pytest.mark.parametrize(("accesses", "cores", "turns"), KNOWN)
def test_known_cpus_are_cores(accesses, cores, turns):
    own = Mix(tuple(MixedAccess(path, 0, way, count, 2, frozenset(on)) for path, way, count, on in accesses), ("f",))
    assert [{access.path: times for access, times in core} for core in own.share_out(cores)] == turns


@pytest.mark.parametrize(("cores", "number"), [(2, 1), (3, 0)])
def test_joined_cpus_are_noted(cores, number):
    own = Mix(tuple(MixedAccess("a", 0, "store", 1, 1, frozenset({on})) for on in (1, 2, 5)), ("f",))
    assert [each.startswith("2 cores replay 3 CPUs: ") for each in own.sentences(cores)] == [True] * number


def test_more_cores_than_known_cpus():
    own = Mix(tuple(MixedAccess(path, 0, "store", 1, 1, frozenset({on})) for path, on in (("a", 1), ("b", 2))), ("f",))
    with pytest.raises(ValueError, match="the profile has accesses of 2 CPUs: name no more cores"):
        own.share_out(3)


def test_random_shares_are_near():
    """Turns of all cores, in proportion: no access is off by more than one turn of a core."""
    for seed in range(300):
        chance = Random(seed)
        cores = chance.randint(2, 8)
        rows = [(f"f{n}", chance.choice(("load", "store", "add")), chance.randint(1, 10 ** chance.randint(1, 9)), chance.randint(1, 32)) for n in range(chance.randint(2, 40))]
        rows += [("w", "store", 10**6, 32), ("r", "load", 10**6, 32)]
        own = mix(*rows)
        found = own.share_out(cores)
        most = max(sum(times for _, times in core) for core in found)
        assert most <= MOST_TURNS
        assert len(found) == cores
        seen = Counter()
        for core in found:
            for access, times in core:
                seen[access.path] += times
        per_count = seen.total() / sum(count for _, _, count, _ in rows)
        assert all(abs(seen[path] - count * per_count) <= 2 * cores for path, _, count, _ in rows)


def test_one_cpu_disturbs_nobody():
    with pytest.raises(ValueError, match="the profile has accesses of one CPU only"):
        mix(("a", "store", 9, 1), ("b", "add", 3, 1)).share_out(2)


def test_repeated_accesses_are_spread(tmp_path):
    """Three of four accesses are additions: at most four others are between two of them, not all in one block."""
    save(tmp_path, *SAMPLES[0][:-1])
    rows = program(tmp_path, "gcc", str(PROFILES / "address-space.h"), "address_space", "--evidence", "seen.json", "--cores", "0,1")
    own = [operation for cell, thread, operation, _, _ in rows if (cell, thread) == (3, 0)]
    gaps = [len(run_) for run_ in "".join("A" if each == "ADD" else "." for each in own).split("A")]
    assert max(gaps) <= 4


def change(text: str, *keys: str | int, to: object) -> str:
    """A document with one value changed; NaN and infinity as Python prints them."""
    document = json.loads(text)
    held = document
    for key in keys[:-1]:
        held = held[key]
    held[keys[-1]] = to
    return json.dumps(document)


LINE = ("structs", 0, "lines", 0)
FIELD = (*LINE, "fields", 5)
DAMAGED = [
    # keys and another value, a part of the message
    ((*FIELD, "counts", "l1_hit", -1), "`structs[0].lines[0].fields[5].counts.l1_hit`: expected `int` >= 0"),
    ((*FIELD, "counts", "remote", nan), "is not evidence: not a whole JSON object"),
    ((*FIELD, "counts", "remote", inf), "is not evidence: not a whole JSON object"),
    ((*FIELD, "counts", "remote", 1e300), "`structs[0].lines[0].fields[5].counts.remote`: "),
    ((*FIELD, "counts", "remote", 1 << 61), "`structs[0].lines[0].fields[5]`: `counts.remote` is 2,305,843,009,213,693,952, and the line has 546"),
    ((*FIELD, "records", 1 << 64), "`structs[0].lines[0].fields[5].records`: "),
    ((*FIELD, "records", 3), "`structs[0].lines[0].fields[5]`: `records` is 3, and `counts` has 11,316"),
    ((*FIELD, "records", "many"), "`structs[0].lines[0].fields[5].records`: expected `int | null`, got `str`"),
    ((*FIELD, "cpus", -3), "`structs[0].lines[0].fields[5].cpus`: expected `int` >= 0"),
    ((*FIELD, "at", 100), "`structs[0].lines[0].fields[5]`: `at` is 100, which is not in the field"),
    ((*FIELD, "at", 300), "it is not on the line"),
    ((*FIELD, "path", "i_mmap_rwsem.none"), "the layout differs: it has no `i_mmap_rwsem.none`"),
    ((*FIELD, "offset", 128), "the layout is another: `i_mmap_rwsem.count.counter` was at 128 with 8 bytes, and is at 120 with 8 bytes"),
    (("structs", 0, "size", 8), "the layout is another: the struct had 8 bytes, and has 192 bytes"),
    (("structs", 0, "name", "inode"), "no accesses to struct address_space, only to struct inode"),
    (("structs", 0, "lines", []), "samples of types count loads and stores in different units"),
    (("structs", []), "no struct address_space"),
    ((*LINE, "fields", []), "the profile counts no load and no store of a field"),
    (("schema", "layoutlint/report/1"), "is not evidence: its `schema` is 'layoutlint/report/1'"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("replay")
    save(made, *SAMPLES[0][:-1])
    text = (PROFILES / "address-space.h").read_text()
    (made / "before.h").write_text(text)
    head, tail = text.split("struct address_space {")
    (made / "after.h").write_text(f"{head}struct address_space {{{tail.replace(AFTER[0], '').replace(AFTER[1], AFTER[0] + AFTER[1])}")
    (made / "less.h").write_text(text.replace("const void *a_ops;", "const void *b_ops;"))
    (made / "third.h").write_text(text.replace("void *host;", "void *host, *guest;"))
    return made


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("changed", "message"), DAMAGED, ids=[str(row[1]) for row in DAMAGED])
def test_damaged_evidence(folder, changed, message):
    *keys, value = changed
    (folder / "bad.json").write_text(change((folder / "seen.json").read_text(), *keys, to=value))
    done = run("measure", "before.h", "address_space", "--evidence", "bad.json", "--cores", "0,1", "--output", "json=out.json", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("layoutlint: bad.json: ")
    assert message in done.stderr
    assert not (folder / "out.json").exists()


E_ = ("--evidence", "seen.json")
MISTAKES = [
    (("before.h", "address_space", *E_, "--write", "flags"), 2, "--evidence has the accesses of all cores: leave out --rule, --read, --write, --lock"),
    (("before.h", "address_space", *E_, "--read", "flags", "--lock", "host"), 2, "leave out --rule, --read, --write, --lock and --sweep"),
    (("before.h", "address_space", *E_, "--rule", "r"), 2, "leave out --rule"),
    (("before.h", "address_space", *E_, "--sweep"), 2, "leave out --rule"),
    (("before.h", "rw_semaphore", *E_), 3, "seen.json: no accesses to struct rw_semaphore, only to struct address_space"),
    (("third.h", "address_space", *E_), 3, "seen.json: the layout is another: `gfp_mask` was at 64 with 4 bytes, and is at 72"),
    (("address_space", "--before", "third.h", "--after", "third.h", *E_), 3, "seen.json: the layout is another: `gfp_mask` was at 64"),
    (("address_space", "--before", "before.h", "--after", "less.h", *E_), 3, "less.h: struct address_space has no field `a_ops`"),
    (("before.h", "address_space", "--evidence", "before.h"), 3, "before.h: is not evidence: not a whole JSON object"),
    (("before.h", "address_space", "--evidence", "gone.json"), 3, "gone.json: cannot read the evidence: no such file"),
    (("before.h", "address_space", *E_, "--output", "json=seen.json"), 2, "cannot write seen.json: it is the same file"),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("words", "status", "message"), MISTAKES)
def test_mistakes(folder, words, status, message):
    done = run("measure", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def test_two_files_are_added(folder):
    """The same profile twice is the same mix; a file that is given twice counts once."""
    (folder / "twin.json").write_text((folder / "seen.json").read_text())
    words = ("before.h", "address_space", *E_, "--cores", "0,1", "--dry-run")
    one, two = (run("measure", *words, *more, cwd=folder).stdout for more in ((), ("--evidence", "twin.json")))
    assert one == two
    assert "ROLE(3)" in one


def test_a_short_replay(folder):
    need_two_cores()
    need("cc")
    words = ("address_space", "--before", "before.h", "--after", "after.h", *E_, "--rounds", "1", "--seconds", "0.5")
    done = run("measure", *words, "--output", "json=short.json", "--output", "svg=short.svg", cwd=folder)
    assert done.returncode in (0, 3)
    document = json.loads((folder / "short.json").read_text())
    assert (document["exit"], document["evidence"], document["mode"]) == (done.returncode, ["seen.json"], "contention")
    assert [layout["label"] for layout in document["layouts"]] == ["before", "after"]
    assert "replay of seen.json" in (folder / "short.svg").read_text()


def test_a_replay_without_the_command(folder):
    """As other commands call it: with the structs of two inputs, and saved profiles."""
    need_two_cores()
    need("cc")
    setup = run_of_program.Setup(seconds=0.5, rounds=1)
    sources = (Source("before", str(folder / "before.h")), Source("after", str(folder / "after.h")))
    request = Request("address_space", None, Uses(), run_of_program.line_size(setup), is_replay=True)
    subjects = find_subjects(sources, request, (), (), Options()).subjects
    measured = run_of_program.replay("address_space", subjects, [saved.load(str(folder / "seen.json"))], setup)
    assert measured.evidence == (str(folder / "seen.json"),)
    assert [each.label for each in measured.plan.experiment.arrangements] == ["before", "after"]
    assert measured.refusal() is not None or measured.gain is not None


@pytest.mark.exhaustive
def test_a_writer_and_a_reader_apart_are_faster(folder):
    """Of one CPU the lock is, of another one all else, which is only read."""
    need_two_cores()
    document = json.loads((folder / "seen.json").read_text())
    for field in document["structs"][0]["lines"][0]["fields"]:
        is_lock = field["path"] == "i_mmap_rwsem.count.counter"
        field.update(cpus=1, written=is_lock, counts=field["counts"] | ({} if is_lock else dict.fromkeys(("l1_hit", "l1_miss", "other"), 0)))
    (folder / "two.json").write_text(json.dumps(document))
    measured = measure(folder, "address_space", "--before", "before.h", "--after", "after.h", "--evidence", "two.json", "--seconds", "8")
    gains = {each["core"]: each["ratio"]["least"] for each in measured["ratios"] if each["of"] == "after"}
    assert len(gains) == 3
    assert min(gains.values()) > 1.1


@pytest.mark.exhaustive
def test_the_order_after_is_faster(folder):
    """The patch of the mail puts the lock on another line than the tree: the ratio of all accesses is above 1."""
    need_two_cores()
    document = measure(folder, "address_space", "--before", "before.h", "--after", "after.h", *E_, "--seconds", "30")
    (gain,) = [each["ratio"] for each in document["ratios"] if each["core"] is None]
    assert gain["median"] > 1
