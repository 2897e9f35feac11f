"""Drafts of rules from a profile: the fields that a line ties together, and what the profile cannot tell."""

from __future__ import annotations

import tomllib

import pytest

from layoutlint.commands.evidence import toml
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.evidence import (  # fmt: skip
    EvidenceReport,
    FieldTouch,
    PlacedLine,
    ReportSummary,
    StructEvidence,
)
from layoutlint.model.record import replace
from layoutlint.readers.profiles.records import Counts, ReportHeader, Touch
from tests.harness.build import member, struct
from tests.harness.command import run

BOX = struct("box", 64, member("head", 0, 8), member("tail", 8, 8), member("lock", 16, 8, member("count", 0, 4), member("owner", 4, 4)))
SUMMARY = ReportSummary("c2c.txt", ("perf c2c",), ReportHeader(), 1, 1, 0, False, "same")
P = "fixtures/profiles"


def touch(path: str, loads: int = 0, stores: int = 0, cpus: int = 2) -> FieldTouch:
    counts = Counts(loads, 0, 0, stores, 0, 0)
    return FieldTouch(path, 0, 8, 0, Touch(0, counts, loads + stores, stores > 0, loads > 0, cpus, (), (9,)))


def line(*fields: FieldTouch, **more) -> PlacedLine:
    loads = sum(each.touch.counts.contended_loads for each in fields)
    placed = PlacedLine("c2c.txt", 7, 0x1000, 64, Counts(loads, 0, 0, 1, 0, 0), 0, "unique", "code", 0, 2, (), (), fields)
    return replace(placed, **more)


def drafts(*lines: PlacedLine, summary: ReportSummary = SUMMARY) -> list[dict]:
    report = EvidenceReport((), (summary,), (), (StructEvidence(BOX, lines),), (), 0, (), (), (), (), 0)
    text = toml.render(report)
    rule_file.parse(text, "draft.toml")
    return tomllib.loads(text).get("rule", [])


H, T, COUNT, OWNER = "head", "tail", "lock.count", "lock.owner"
PAIRS = [
    # what a line shows; the fields of each draft
    ("one writes, others read", [touch(H, 0, 9), touch(T, 5), touch(COUNT, 7)], [[["head"], ["lock", "tail"]], ["lock", "tail"]]),
    ("both write and read", [touch(H, 3, 9), touch(T, 5, 8)], [[["head"], ["tail"]]]),
    ("true sharing of one word", [touch(H, 9, 9)], []),
    ("parts of one member", [touch(COUNT, 0, 9), touch(OWNER, 5)], [[["lock.count"], ["lock.owner"]]]),
    ("a member and its part", [touch("lock", 0, 9), touch(COUNT, 5)], []),
    ("elements of an array", [touch("slot[0].n", 0, 9), touch("slot[1].n", 5)], []),
    ("few stores beside many", [touch(H, 4, 1), touch(T, 0, 99), touch(COUNT, 5)], [[["tail"], ["lock", "head"]]]),
    ("only read", [touch(H, 4), touch(T, 5)], [["tail", "head"]]),
    ("only read here, and written on another line", [touch(H, 4), touch(T, 5)], [], [touch(H, 0, 3)]),
    ("only read on two lines", [touch(H, 4), touch(T, 5)], [["tail", "head"], ["lock", "head"]], [touch(H, 1), touch(COUNT, 2)]),
    ("written, and nobody waits", [touch(H, 0, 9), touch(T, 0, 9)], []),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected", "others"), [(*row[1:], [])[:3] for row in PAIRS], ids=[row[0] for row in PAIRS])
def test_fields(fields, expected, others):
    found = drafts(line(*fields), *([line(*others, shift=64)] if others else []))
    assert [draft["fields"] for draft in found] == expected


CLEAR = (touch(H, 0, 9), touch(T, 5))
DOUBTS = [
    # what is less than certain; what the reason says of it
    ({"certainty": "likely"}, SUMMARY, "the place of the object on the line is likely, not certain"),
    ({"identity": "struct"}, SUMMARY, "no code shows that the line is one of this struct"),
    ({"covered": 42.3}, SUMMARY, "the report is an excerpt with 42 % of the samples"),
    ({"fields": (touch(H, 0, 9, 1), touch(T, 5, 0, 1))}, SUMMARY, "the report does not show which processors touch which field"),
    ({}, replace(SUMMARY, build="unverified", build_note="no build id"), "the build of the profile is not verified: no build id"),
    ({}, SUMMARY, "loads that took its line: 5 of `tail`"),
]


@pytest.mark.parametrize(("more", "summary", "doubt"), DOUBTS, ids=[row[2] for row in DOUBTS])
def test_reasons(more, summary, doubt):
    (draft,) = drafts(replace(line(*CLEAR), **more), summary=summary)
    assert draft["why"].partition("; ")[0] == "9 stores to `head`"
    assert draft["why"].endswith(f"; {doubt}")
    assert draft["evidence"] == ["perf c2c, c2c.txt:7"]


def test_lines_are_added_up():
    """Also those on which the other one is written: one rule keeps the two apart."""
    (draft,) = drafts(line(*CLEAR), line(*CLEAR, line=8), line(touch(T, 0, 4), touch(H, 3), line=9))
    assert draft["fields"] == [["head"], ["tail"]]
    assert draft["why"] == "18 stores to `head`; loads that took its line: 10 of `tail`"
    assert draft["evidence"] == ["perf c2c, c2c.txt:7", "perf c2c, c2c.txt:8"]


def test_a_draft_names_saved_evidence_and_is_supported_by_it(tmp_path):
    """From the mail's profile to a finding that quotes it."""
    words = (f"{P}/c2c-address-space-before.txt", "--in", f"{P}/address-space.h", "--struct", "address_space")
    done = run("evidence", *words, "--output", f"toml={tmp_path}/draft.toml", "--output", f"json={tmp_path}/c2c.json")
    assert done.returncode == 0, done.stderr
    rule, together = tomllib.loads((tmp_path / "draft.toml").read_text())["rule"]
    assert rule["fields"] == [["i_mmap_rwsem"], ["gfp_mask", "i_mmap", "i_mmap_writable", "a_ops"]]
    assert together["fields"] == ["gfp_mask", "i_mmap_writable", "a_ops"]
    assert rule["evidence_files"] == together["evidence_files"] == ["c2c.json"]
    done = run("check", f"{P}/address-space.h", "--rules", f"{tmp_path}/draft.toml", "--no-packs")
    assert done.returncode == 1, done.stderr
    assert "profiled: 11,316 stores to `i_mmap_rwsem`, 149 loads of `i_mmap` that took the line" in " ".join(done.stdout.split())
