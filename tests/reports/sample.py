"""One report in memory that has every outcome in it, for the tests of all formats."""

from __future__ import annotations

from typing import Any

from layoutlint.errors import ReadError
from layoutlint.judgement.finding import Coverage, CoverageGap, Finding, Report, SkippedRule, Unresolved
from layoutlint.judgement.rule import Kind, Rule, Severity
from layoutlint.judgement.verdict import Verdict, unknown
from layoutlint.kinds.separate import Separate
from layoutlint.model.build import Build
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Source, Struct
from tests.harness.build import X86_64, bits, context, flexible, member, struct

NODE = struct("node", 24, member("next", 0, 8), member("prev", 8, 8), member("locked", 16, 4), member("cpu", 20, 4))
MAPPING = struct(
    "mapping", 80, member("i_mmap", 0, 8), member("flags", 8, 8), member("rwsem", 56, 16), bits("dirty", 576, 1)
)
CHUNK = struct("chunk", 128, member("free", 0, 4), member("base", 64, 8), flexible("populated", 72), align=64)
INPUT = "build/vmlinux"
FOLDER = "modules"
MODULES = tuple(f"{FOLDER}/net/{name}.ko" for name in ("one", "two", "three", "four"))


def rule(name: str, of_struct: str, kind: Kind, severity: Severity = Severity.ERROR, line: int = 3) -> Rule:
    return Rule(
        name, of_struct, kind, severity, "both are written by other CPUs, and each write takes the other's line away",
        Source("rules/sample.toml", line), ("seed thread of the sample", "+3.94 % in a benchmark"), pack="sample",
    )  # fmt: skip


LINE_OF_ITS_OWN = "or start it on a line of its own (`____cacheline_aligned_in_smp`)"
SENTENCES = {
    ("node-cpu-apart", 24): (
        "`cpu` at 20..23 shares a line with `locked` at 16..19 in all 8 placements; "
        "`cpu` at 20..23 shares a line with `next` at 0..7 in 6 of 8 placements",
        f"move `cpu` at least 60 bytes further from `locked`, {LINE_OF_ITS_OWN}",
    ),
    ("mapping-apart", 80): (
        "`i_mmap` at 0..7 shares a line with `rwsem` at 56..71 in 1 of 8 placements",
        f"move `rwsem` at least 8 bytes further from `i_mmap`, {LINE_OF_ITS_OWN}",
    ),
    ("mapping-apart", 72): (
        "`i_mmap` at 0..7 shares a line with `rwsem` at 48..63 in 2 of 8 placements",
        f"move `rwsem` at least 16 bytes further from `i_mmap`, {LINE_OF_ITS_OWN}",
    ),
    ("chunk-tail", 128): (
        "`base` at 64..71 shares a line with `populated` at 72 and beyond in its only placement",
        f"move `populated` at least 56 bytes further from `base`, {LINE_OF_ITS_OWN}",
    ),
    ("chunk-base", 128): ("`base` at 64..71 and `free` at 0..3 share no line in any placement", ""),
}
"""The messages and advice of findings by rule and size: formats print what they get, whatever a kind says today."""


def judge(of_rule: Rule, of_struct: Struct, **more: Any) -> Verdict:
    """The verdict of a rule, with the sentences of the sample."""
    assert of_struct.bit_size is not None
    message, advice = SENTENCES[of_rule.id, of_struct.bit_size // 8]
    return replace(of_rule.kind.check(context(of_struct, **more)), message=message, advice=advice)


def make_finding(of_rule: Rule, of_struct: Struct | None, verdict: Verdict | None = None, **more: Any) -> Finding:
    if verdict is None:
        assert of_struct is not None
        verdict = judge(of_rule, of_struct)
    more.setdefault("input", INPUT if of_struct else "")
    return Finding(of_rule, of_struct, verdict, **more)


APART = rule("node-cpu-apart", "node", Separate((("cpu",), ("locked", "next"))))
AT_RISK = rule("mapping-apart", "mapping", Separate((("i_mmap",), ("rwsem",))), Severity.WARNING, 9)
MISSING = rule("gone-apart", "gone", Separate((("a",), ("b",))), Severity.NOTE, 15)
SUPPRESSED = rule("chunk-tail", "chunk", Separate((("base",), ("populated",))), Severity.NOTE, 21)
KEPT = rule("chunk-base", "chunk", Separate((("base",), ("free",))), line=27)
SKIPPED = rule("smp-only", "node", Separate((("cpu",), ("prev",))), line=33)

PLACED = replace(judge(AT_RISK, MAPPING), basis="a static variable, aligned to 8", is_placed=True)

FINDINGS = (
    make_finding(APART, NODE),
    make_finding(AT_RISK, MAPPING, PLACED, input=MODULES[0], also=MODULES[1:]),
    make_finding(MISSING, None, unknown("struct gone is in none of the inputs")),
    make_finding(SUPPRESSED, CHUNK, suppressed="known since 2023"),
)

REPORT = Report(
    readings=(
        Reading(INPUT, "dwarf", X86_64, (NODE, MAPPING, CHUNK), build_id="1f2e", notes=("2 units in Rust were skipped",)),
        Reading(FOLDER, "dwarf", X86_64, (MAPPING,), files=312),
    ),
    findings=FINDINGS,
    kept_findings=(make_finding(KEPT, CHUNK),),
    coverage=Coverage(
        rules=6,
        applied=4,
        structs=3,
        unresolved=(Unresolved("gone-apart", "struct gone is in none of the inputs"),),
        skipped=(SkippedRule("smp-only", "for a configuration with SMP, which build/vmlinux has not"),),
        not_covered=(
            CoverageGap(INPUT, "no debug information for 2 C units: a.c, b.c", None, 3),
            CoverageGap(FOLDER, "no debug information for start-up objects: crtstuff.c", ("node",)),
        ),
    ),
    exit_status=1,
    unread=(
        Unread("drivers/net.ko", "the section .debug_info ends inside a unit"),
        Unread(FOLDER, "has no debug information", (f"{FOLDER}/a.ko", f"{FOLDER}/b.ko")),
    ),
    rules=(APART, AT_RISK, MISSING, SUPPRESSED, KEPT, SKIPPED),
)

CLEAN = Report(
    readings=(Reading(INPUT, "btf", X86_64, (CHUNK,)),),
    findings=(),
    kept_findings=(make_finding(KEPT, CHUNK),),
    coverage=Coverage(rules=1, applied=1, structs=1),
    exit_status=0,
    rules=(KEPT,),
)

COMBINED = tuple(
    Build(f"{machine}-{cpus}", Source("builds.toml", 3), ("all.h",), (machine, cpus), ("-Iinclude",), None, (option,))
    for machine in ("arm", "x86")
    for cpus, option in (("smp", "SMP"), ("up", "!SMP"))
)
PAIRS, GONE = Build("pairs", Source("builds.toml", 9), (INPUT,), line_size=128), Build("gone", Source("builds.toml", 12), ("none",))
BUILDS = (*COMBINED, PAIRS, GONE)
SMALL = struct("mapping", 72, member("i_mmap", 0, 8), member("flags", 8, 8), member("rwsem", 48, 16))


def _finding_over_builds(*found: tuple[str, Finding]) -> Finding:
    """The finding on a rule and struct over builds, of which the worst comes first."""
    return replace(found[0][1], builds=found)


_WIDE = make_finding(AT_RISK, MAPPING, replace(
        judge(AT_RISK, MAPPING, line_size=128),
        message="`i_mmap` at 0..7 shares a line with `rwsem` at 56..71 in 9 of 16 placements",
    ))
MATRIX = Report(
    readings=(
        *(Reading("all.h", "clang", X86_64, (NODE, SMALL), notes=("no stddef.h was found",), build=one.name) for one in COMBINED),
        Reading(INPUT, "dwarf", X86_64, (MAPPING,), build_id="1f2e", build="pairs"),
    ),
    findings=(
        _finding_over_builds(*((build.name, make_finding(AT_RISK, SMALL, input="all.h")) for build in COMBINED), ("pairs", _WIDE)),
        _finding_over_builds(
            ("x86-smp", make_finding(APART, NODE, input="all.h")),
            ("arm-smp", make_finding(APART, NODE, unknown("struct node is declared but not defined"), input="all.h")),
            ("arm-up", make_finding(APART, NODE, judge(KEPT, CHUNK), input="all.h")),
        ),
    ),
    kept_findings=(_finding_over_builds(("pairs", make_finding(KEPT, CHUNK))),),
    coverage=Coverage(
        rules=4, applied=3, structs=6, unresolved=(Unresolved("gone-apart", "struct gone is in none of the inputs", ("pairs",)),),
        skipped=(SkippedRule("node-cpu-apart", "for a configuration with SMP, which all.h has not", ("arm-up", "x86-up")),),
    ),
    exit_status=1,
    unread=(Unread("none", "no such file or directory", builds=("gone",)),),
    rules=(APART, AT_RISK, KEPT, MISSING),
    builds=BUILDS,
)  # fmt: skip

DAMAGED = replace(CLEAN, unread=(Unread.of_error(ReadError(Source("old.snapshot", 3), "`size` is missing")),), exit_status=3)
