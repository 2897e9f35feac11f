"""Whole runs of `evidence` on profiles, structs and rules in memory: every way in which a line or a report fits, or does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from layoutlint.commands.evidence import run as evidence
from layoutlint.commands.evidence.lines import (
    LineResult,
    ObjectType,
    line_size_of,
    object_types,
    place_by_address,
    place_by_offsets,
    refusal,
)
from layoutlint.errors import LayoutlintError, ReadError
from layoutlint.geometry import access_masks
from layoutlint.intent.toml import rule_file
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs
from layoutlint.model.ctype import CType
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.readers.profiles.records import (
    Code,
    Counts,
    EventProfile,
    LineBlock,
    Profile,
    ReportHeader,
    Touch,
    TypeRow,
)
from tests.harness.build import X86_64, bits, flexible, member, struct
from tests.harness.run_options import run_options
from tests.harness.whole import inline, whole_lines

LOCK = replace(member("lock", 64, 8, member("count", 0, 4), member("owner", 4, 4)), type=CType("struct rw_semaphore"))
POINTER = replace(member("next", 0, 8), type=CType("struct box *"))
FLAGS, TAIL, LATE = bits("flags", 8 * 8, 3), member("tail", 16, 8), member("late", 80, 4)
BOX = struct("box", 128, POINTER, FLAGS, TAIL, LOCK, LATE)
OPEN = struct("open", 16, member("n", 0, 8), flexible("rest", 16))
SMALL = struct("small", 8, member("only", 0, 4))
WRITE, READ, OTHER = Code("down_write", "rwsem.c:9", True), Code("lookup", "", False), Code("mutex_lock", "mutex.c:7", True)
LINE = 0xFFFF_8880_0000_1000
EMPTY = (Code("idle"),)


def touch(offset: int, loads: int = 0, stores: int = 0, *codes: Code) -> Touch:
    return Touch(offset, Counts(loads, 0, 0, stores, 0, 0), loads + stores, stores > 0, loads > 0, 2, codes or EMPTY, (40 + offset,))


def block(*touches: Touch, address: int = LINE) -> LineBlock:
    loads, stores = (sum(getattr(each.counts, name) for each in touches) for name in ("remote", "hits"))
    return LineBlock(address, Counts(loads, 0, 0, stores, 0, 0), touches, 30)


def profile(*blocks: LineBlock, **more: object) -> Profile:
    return Profile("c2c.txt", ("perf c2c",), ReportHeader(), blocks, **more)  # type: ignore[arg-type]


SIZES = [
    # addresses in units of 64 bytes, largest offset, size of the target, stated size, and the result or a part of the refusal
    ((0, 1), 63, 64, None, 64),
    ((0, 2), 64, 64, None, 128),
    ((0, 2), 127, 64, None, 128),
    ((0, 2), 128, 64, None, "no line of 64 bytes has offset 0x80"),
    ((0, 1), 64, 64, None, "no line of 64 bytes has offset 0x40"),
    ((0, 2), 64, 64, 64, "no line of 64 bytes has offset 0x40"),
    ((0, 2), 127, 64, 128, 128),
    ((0, 1), 63, 64, 128, "0x40 starts no line of 128 bytes"),
    ((2, 3), 63, 128, None, "0xc0 starts no line of 128 bytes"),
    ((), 0, 64, None, 64),
]


@pytest.mark.parametrize(("lines", "largest", "default", "stated", "expected"), SIZES)
def test_line_size(lines, largest, default, stated, expected):
    report = profile(*(block(touch(0), touch(largest), address=64 * number) for number in lines))
    if isinstance(expected, int):
        assert line_size_of(report, default, stated) == expected
    else:
        with pytest.raises(ReadError) as raised:
            line_size_of(report, default, stated)
        place = "c2c.txt:30" if "starts no line" in expected else f"c2c.txt:{40 + largest}"
        assert str(raised.value) == f"{place}: {expected}; state the size with --line-size"


def test_bytes_at_which_an_access_can_start():
    reasons = {byte: refusal(ObjectType(BOX), byte) for byte in (-1, 0, 4, 8, 11, 12, 15, 16, 20, 64, 66, 68, 84, 127, 128)}
    assert reasons == {
        -1: "before the object", 0: None, 4: "inside `next`, which code accesses as a whole", 8: None, 11: "in padding",
        12: "in padding", 15: "in padding", 16: None, 20: None, 64: None, 66: None, 68: None, 84: "in padding", 127: "in padding",
        128: "beyond the struct",
    }  # fmt: skip
    assert [refusal(ObjectType(OPEN), byte) for byte in (15, 16)] == ["in padding", "in the flexible array `rest`"]


HUGE = struct("huge", access_masks.LARGEST + 8, member("first", 0, 8))


def test_a_struct_that_is_too_large_is_not_searched():
    kind = ObjectType(HUGE)
    result = LineResult()
    place_by_offsets(profile(block(touch(0, 1, 1, WRITE))), 64, [kind], result, names_only=False)
    assert (kind.masks, refusal(kind, 4), result.placed) == (None, None, [])
    assert [each.reason for each in result.unplaced] == ["no place explains all offsets"]


def test_the_structs_whose_objects_are_looked_for():
    declared, broken = struct("declared", 0), replace(SMALL, name="broken", problem="no header")
    every = (BOX, replace(declared, bit_size=None), broken, replace(SMALL, address=64), SMALL)
    assert [(kind.struct.name, kind.is_kernel) for kind in object_types(every, True)] == [("box", True), ("small", True)]


TAKEN, OWNED = touch(0, 5, 9, WRITE), touch(4, 2, 0, READ)
LINES = {
    "the lock of the struct": block(TAKEN, touch(16, 3, 0, READ)),
    "the lock, and code of another lock beside it": block(TAKEN, touch(16, 0, 4, OTHER)),
    "code of another lock alone": block(touch(0, 1, 1, OTHER), touch(16, 3)),
    "one offset without code": block(touch(0, 1, 1)),
    "many offsets without code": block(touch(0, 1), touch(4, 2), touch(16, 3)),
    "offsets that fit nowhere": block(touch(0, 1), touch(1, 1), touch(2, 1), touch(11, 1), touch(33, 1)),
    "no offset": block(),
    "an address of a program": block(TAKEN, touch(16, 3), address=0x7F00_0000_1000),
    "the lowest address of a kernel": block(TAKEN, touch(16, 3), address=1 << 63),
    "the highest address of a program": block(TAKEN, touch(16, 3), address=(1 << 63) - 64),
}
KINDS = {
    "box": [ObjectType(BOX)],
    "box of a kernel": [ObjectType(BOX, True)],
    "small": [ObjectType(SMALL)],
    "both": [ObjectType(SMALL), ObjectType(BOX)],
    "alignment not stated": [ObjectType(replace(BOX, align=None))],
    "none": [],
}


@pytest.mark.parametrize("names_only", [False, True])
@pytest.mark.parametrize("kinds", list(KINDS))
def test_lines_by_their_offsets(kinds, names_only, golden_row):
    texts = []
    for name, each in LINES.items():
        result = LineResult()
        place_by_offsets(profile(each), 64, KINDS[kinds], result, names_only)
        texts += [f"== {name}", *(inline(line) for _, line in result.placed), *map(inline, result.unplaced), *result.notes]
    golden_row("\n".join(texts))


@pytest.mark.parametrize(("names_only", "limit"), [(False, 2_000), (True, 200)])
@pytest.mark.parametrize("more", [0, 1])
def test_only_so_many_lines_are_searched(names_only, limit, more):
    result = LineResult()
    place_by_offsets(profile(*(block() for _ in range(limit + more))), 64, [], result, names_only)
    notes = [f"c2c.txt: only the first {limit:,} of {limit + 1:,} lines are searched"] if more else []
    assert (len(result.unplaced), result.notes) == (limit, notes)


def test_lines_by_addresses(golden_row):
    """Objects that begin or end on a line, or one byte beside it."""
    texts = []
    for address in (LINE - 128, LINE - 127, LINE - 64, LINE, LINE + 56, LINE + 63, LINE + 64):
        result = LineResult()
        place_by_address(profile(block(touch(0, 1, 1), touch(16, 2))), 64, ObjectType(BOX), (address, address + 4096), result)
        texts += [f"== {address - LINE}", *(inline(line) for _, line in result.placed)]
    golden_row("\n".join(texts))


RULES = """
[[rule]]
id = "apart"
struct = "box"
kind = "separate"
fields = [["lock"], ["late"]]
why = "w"

[[rule]]
id = "kept"
struct = "box"
kind = "separate"
fields = [["next"], ["lock"]]
why = "w"

[struct.box.fields]
"lock.owner" = { access = "read-mostly" }
tail = { access = "cold" }
late = { access = "cold" }
flags = { access = "cold" }
"lock.count" = { access = "hot-write" }
"""
PACK = rule_file.parse(RULES, "rules.toml")
CONTENDED = block(touch(0, 5, 9, WRITE), touch(4, 0, 3), touch(16, 7, 0, READ))
QUIET = block(touch(0, 0, 9, WRITE), touch(16, 0, 2, READ))
VMLINUX = Reading("vmlinux", "dwarf", X86_64, (BOX, OPEN, SMALL), build_id="AB12", is_kernel=True, kernel=(6, 12))
PROGRAM = replace(VMLINUX, path="bin/box", is_kernel=False, kernel=None)
NO_ID = replace(VMLINUX, build_id=None)


def types(*rows: TypeRow, role: str = "store", name: str | None = "mem-stores", unknown: float | None = 0.0) -> Profile:
    event = EventProfile(name, role, 3, rows, (), unknown)  # type: ignore[arg-type]
    return Profile("types.txt", ("perf report",), ReportHeader(), events=(event,))


def row(offset: int, path: str | None, samples: int | None = 4, share: float | None = 1.5) -> TypeRow:
    return TypeRow("struct box", offset, path, share, samples, 20 + offset)


def with_header(**of_header: object) -> Profile:
    return replace(profile(CONTENDED), header=ReportHeader(**of_header))  # type: ignore[arg-type]


ID, OTHER_ID = ("ab12", "[kernel.kallsyms]", 2), ("cd34", "/boot/vmlinux-6.12", 2)
AT = {"struct": "box", "bases": (LINE - 64,)}
RUNS: dict[str, tuple[Profile, Reading, dict[str, object]]] = {
    "a contended line": (profile(CONTENDED), VMLINUX, {}),
    "a quiet line": (profile(QUIET), VMLINUX, {}),
    "a line at an address": (profile(CONTENDED), PROGRAM, AT),
    "a line of the struct, if it is one": (profile(block(touch(0, 5, 9), touch(4, 1), touch(16, 7))), VMLINUX, {"struct": "box"}),
    "other objects": (profile(CONTENDED), VMLINUX, AT | {"bases": (LINE + 64,)}),
    "a misaligned object": (profile(CONTENDED), VMLINUX, AT | {"bases": (LINE - 63,)}),
    "two structs at an address": (profile(CONTENDED), replace(VMLINUX, structs=(BOX, replace(BOX, bit_size=2048))), AT),
    "a line of another size": (profile(block(touch(200, 1))), VMLINUX, {}),
    "a line of no struct of rules": (profile(block(touch(1, 1))), VMLINUX, {}),
    "a line of a program": (profile(block(touch(0, 1), address=4096)), VMLINUX, {"struct": "box"}),
    "no such struct": (profile(CONTENDED), VMLINUX, {"struct": "gone"}),
    "a struct without members": (profile(CONTENDED), replace(VMLINUX, structs=(replace(BOX, bit_size=None),)), {"struct": "box"}),
    "an unreliable struct": (profile(CONTENDED), replace(VMLINUX, structs=(replace(BOX, problem="no header"),)), {"struct": "box"}),
    "a randomised input": (profile(CONTENDED), replace(VMLINUX, shuffled=ShufflingEvidence("gcc", None, None, "s")), {}),
    "lines that were left out": (profile(CONTENDED, omitted=1234), VMLINUX, AT),
    "only lines that were left out": (profile(omitted=1), VMLINUX, AT),
    "only the table of lines": (profile(listed=3), VMLINUX, {}),
    "no sample": (profile(records=0), VMLINUX, {}),
    "no table": (profile(records=9, has_line_tables=False), VMLINUX, {}),
    "no line": (profile(records=9), VMLINUX, {}),
    "no line with a peer": (profile(records=9, is_peer=True), VMLINUX, {}),
    "a quiet line with peers": (profile(QUIET, is_peer=True), VMLINUX, {"struct": "box"}),
    "the same build": (with_header(build_ids=(OTHER_ID, ID)), VMLINUX, {}),
    "another build": (with_header(build_ids=(OTHER_ID,)), VMLINUX, {}),
    "another build of another program": (with_header(build_ids=(OTHER_ID,)), PROGRAM, {}),
    "another build of the program": (with_header(build_ids=(("cd34", "/usr/bin/box", 2),)), PROGRAM, {}),
    "the stated build": (profile(CONTENDED), VMLINUX, {"build_id": "aB12"}),
    "another stated build": (profile(CONTENDED), VMLINUX, {"build_id": "cd34"}),
    "a stated build, and an input without": (with_header(build_ids=(OTHER_ID,)), NO_ID, {"build_id": "cd34"}),
    "another release": (with_header(release="6.1.0"), VMLINUX, {}),
    "the same release": (with_header(release="6.12.4"), VMLINUX, {}),
    "another release of a program": (with_header(release="6.1.0"), replace(PROGRAM, kernel=(6, 12)), {}),
    "stores and loads of types": (types(row(64, "lock.count"), row(68, "lock.owner"), row(80, "late")), VMLINUX, {}),
    "loads of types": (types(row(68, "lock.owner"), row(80, "late"), role="load"), VMLINUX, {}),
    "stores without samples": (types(row(68, "lock.owner", None), name=None), VMLINUX, {}),
    "stores without shares": (types(row(80, "late", 1, None)), VMLINUX, {}),
    "stores and loads alike": (types(row(80, "late"), role="any"), VMLINUX, {}),
    "of no name alike": (types(row(80, "late"), role="any", name=None), VMLINUX, {}),
    "alike, and refused": (types(row(90, "late"), role="any"), VMLINUX, {}),
    "types that perf found for 1 %": (types(unknown=99.0), VMLINUX, {}),
    "types that perf did not find": (types(unknown=99.5), VMLINUX, {}),
    "types of other programs": (types(TypeRow("struct page", 0, "flags", 9.0, 9, 9)), VMLINUX, {}),
    "fails if measured": (profile(CONTENDED), VMLINUX, {"fail_on": frozenset({"measured"})}),
    "fails if contradicted": (profile(CONTENDED), VMLINUX, {"fail_on": frozenset({"contradiction"})}),
    "nothing measured": (types(row(80, "late")), VMLINUX, {"fail_on": frozenset({"measured"})}),
    "nothing contradicted": (types(row(64, "lock.count")), VMLINUX, {"fail_on": frozenset({"contradiction"})}),
    "several rows of a field": (types(row(80, "late"), replace(row(80, "late"), line=7)), VMLINUX, {}),
}


@pytest.fixture
def collect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def text(report: Profile, reading: Reading, more: dict[str, object], unread: tuple[Unread, ...] = (), **options: object) -> str:
        """All that a run returns, without the structs of the input."""
        read = Inputs([reading] if reading.structs else [], list(unread), Surroundings())
        monkeypatch.setattr(evidence, "read", lambda path, *_: report)
        monkeypatch.setattr(evidence, "read_inputs", lambda *_: read)
        monkeypatch.setattr(evidence, "missing_name_hint", lambda *_: " (no hint)")
        request = evidence.Request((report.path,), reading.path, **more)  # type: ignore[arg-type]
        try:
            result = evidence.collect(request, (PACK,), (), run_options(**options))  # type: ignore[arg-type]
        except LayoutlintError as error:
            return f"{type(error).__name__}: {error}"
        return "\n".join(map(_short, whole_lines(replace(result, readings=()))))

    return text


def _short(line: str) -> str:
    for each in (BOX, *PACK.rules):
        line = line.replace(inline(each), each.name if isinstance(each, Struct) else each.id)
    return line


@pytest.mark.parametrize("name", list(RUNS))
def test_run(name, collect, golden_row):
    golden_row(collect(*RUNS[name]))


UNREAD = (Unread("vmlinux", "is damaged"),)


@pytest.mark.parametrize(("reading", "allow_unknown"), [(VMLINUX, False), (VMLINUX, True), (replace(VMLINUX, structs=()), True)])
def test_an_input_that_is_read_in_part(reading, allow_unknown, collect, golden_row):
    golden_row(collect(profile(CONTENDED), reading, {}, UNREAD, allow_unknown=allow_unknown))


def test_accesses_of_a_struct_without_the_declared_field(collect):
    """It contradicts nothing."""
    lone = replace(VMLINUX, structs=(struct("box", 128, LOCK, LATE),))
    text = collect(profile(CONTENDED), lone, {"struct": "box"})
    assert "Contradiction" not in text


@pytest.mark.parametrize(("distance", "is_near"), [(-256, False), (-255, True), (0, True), (access_masks.LARGEST - 1, True), (access_masks.LARGEST, False)])
def test_lines_near_an_object_are_read(distance, is_near, monkeypatch):
    asked = []
    monkeypatch.setattr(evidence, "read", lambda path, near, _: asked.append(near(LINE + distance)) or profile())
    monkeypatch.setattr(evidence, "read_inputs", lambda *_: Inputs([VMLINUX], [], Surroundings()))
    evidence.collect(evidence.Request(("c2c.txt", "c2c.txt"), "vmlinux", "box", (LINE,)), (), (), Options())
    assert asked == [is_near]
