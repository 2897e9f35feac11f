"""Reports of perf, read from fixtures that perf wrote, and from excerpts, copies and damaged ones of them."""

from __future__ import annotations

import random
import re
from contextlib import suppress

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.profiles.read import read
from tests.harness.command import ROOT

PROFILES = ROOT / "fixtures/profiles"
BEFORE, HITM = PROFILES / "c2c-address-space-before.txt", PROFILES / "c2c-hitm.txt"


def touches(path) -> list[tuple[int, int, int, int | None]]:
    """Offset, contended loads, stores and records of each offset."""
    return [
        (touch.offset, touch.counts.contended_loads, touch.counts.stores, touch.records)
        for block in read(str(path)).blocks
        for touch in block.touches
    ]


# The counts of a row are shares of those of its line, in the mail that is the fixture's origin: 46.89 % of 546
# and 44.65 % of 748 are 590.
ALL = [
    (0x0, 590, 0, 1069), (0x4, 56, 0, 95), (0x8, 80, 6, 215), (0x10, 69, 73, 278), (0x28, 10, 0, 24),
    (0x38, 489, 11316, 13439),
]  # fmt: skip


def test_a_table_is_read():
    assert touches(BEFORE) == ALL
    (block,) = read(str(BEFORE)).blocks
    assert (block.address, block.counts.remote, block.counts.local, block.counts.stores) == (
        0xFFFF92E266AF90C0, 546, 748, 11395,
    )  # fmt: skip
    assert block.line == 11
    assert block.covered > 99.9


COPIES = {
    "colours": lambda text: re.sub(r"^(.+)$", "\x1b[31m\\1\x1b[m\x1b[K", text, flags=re.M),
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "quoted in a mail": lambda text: re.sub("^", "> > ", text, flags=re.M),
    "quoted and indented": lambda text: re.sub("^", "    > ", text, flags=re.M),
    "decimal commas": lambda text: re.sub(r"(\d)\.(\d\d%)", r"\1,\2", text),
    "merged spaces": lambda text: re.sub(" +", " ", text),
    "without a header": lambda text: "".join(line for line in text.splitlines(True) if not line.startswith("#")),
    "the head behind #": lambda text: re.sub(r"^  (---.*|    162.*)$", r"#\1", text, flags=re.M),
    "overstruck by a pager": lambda text: text.replace("down_write", "d\bdown_write"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "a call graph": lambda text: text.replace("file", "file", 1) + "            |\n            --12.00%--main\n",
    "32-bit addresses": lambda text: text.replace("0xffff", "0x"),
}


@pytest.mark.parametrize("change", COPIES.values(), ids=COPIES)
def test_copies_say_the_same(change, tmp_path):
    path = tmp_path / "copy.txt"
    path.write_bytes(change(BEFORE.read_text()).encode())
    assert touches(path) == ALL


CODES = [
    (HITM, 0x8, ["std::map<int, box >::at(int)", "0x00000000000013e2"], ["box.cc:13", "box[13e2]"]),
    (BEFORE, 0x10, ["vma_interval_tree_remove"] * 2, ["rbtree_augmented.h:339", "rbtree_augmented.h:338"]),
]


@pytest.mark.parametrize(("path", "offset", "symbols", "sources"), CODES)
def test_code_of_an_offset(path, offset, symbols, sources):
    (touch,) = (each for each in read(str(path)).blocks[0].touches if each.offset == offset)
    assert [code.symbol for code in touch.codes] == symbols
    assert [code.source for code in touch.codes] == sources


TRUTH = [(0x0, 0, 7), (0x8, 3, 4), (0x10, 2, 5), (0x38, 2, 0)]
COALESCED = ["c2c-coalesce-pid-6.1.txt", "c2c-coalesce-tid-6.1.txt", "c2c-node-cpus-6.1.txt", "c2c-verbose-6.1.txt"]


@pytest.mark.parametrize("name", COALESCED)
def test_reports_with_other_columns(name):
    """Offset, contended loads and stores are those of the samples that perf was given."""
    assert [each[:3] for each in touches(PROFILES / name)] == TRUTH


def test_symbols_that_perf_cuts_off():
    codes = {code.symbol for touch in read(str(PROFILES / "c2c-verbose-6.1.txt")).blocks[0].touches for code in touch.codes}
    assert codes <= {"write...", "reade...", "main...", "ns::R..."}


def test_reports_of_hitm_and_of_peer_snoops_are_not_joined(tmp_path):
    path = tmp_path / "joined.txt"
    path.write_text(HITM.read_text() + (PROFILES / "c2c-peer.txt").read_text())
    with pytest.raises(ReadError, match=r"joined.txt:40: some tables count HITMs, others peer snoops"):
        read(str(path))
    path.write_text(HITM.read_text() + BEFORE.read_text())
    assert [block.address for block in read(str(path)).blocks] == [0x55C8971F0080, 0xFFFF92E266AF90C0]


def test_peer_snoops_are_told_from_hitm():
    assert [read(str(PROFILES / name)).is_peer for name in ("c2c-hitm.txt", "c2c-peer.txt")] == [False, True]


REFUSED = [
    # what is replaced in which file, by what, and the place and the cause
    (BEFORE, "44.65%", "94.65%", ":16: the shares add up to 105.08 %"),
    (BEFORE, "      546  ", "        0  ", ":13: has 46.89 % of 0 samples: the totals contradict the row"),
    (BEFORE, "32  [k] down_write  ", "32\n[k] down_write  ", ":21: the row is cut off"),
    (BEFORE, "__handle_mm_fault           [kernel.vmlinux]  memory.c:2940            0  1", "__handle_mm", ":13: the row is cut off"),
    (BEFORE, "0x0     1 ", "0x1000  1 ", ":13: the offset 0x1000 is outside of every cache line"),
    (BEFORE, "  4.21%", "  4.21%    1.00%", ":14: has 5 shares, and the block has 4 counts"),
    (BEFORE, "L1 Miss", "L1 Fehl", ":7: the column 'L1 Fehl' is not known"),
    (HITM, "RmtHitm  LclHitm   L1 Hit", "RmtHitm   LclHit   L1 Hit", ":20: the column 'LclHit' is not known"),
    (BEFORE, " Offset ", "        ", ":7: the table has no column `Offset`"),
    (BEFORE, "    4.21%", "14    4.21%", ":14: the row begins with other text"),
    (BEFORE, "  162      546", "  162     1      546", ":11: 5 counts do not fit the columns"),
    (BEFORE, "0xffff92e266af90c0", "0xffff92e266af90c0ff", ":11: a number is too large"),
    (BEFORE, "  162      546", "  162    5,460", ":13: a row comes before the line with the address"),
    # the head of a second line, with thousands separators: its rows are not those of the first one
    (BEFORE, "           4.21%", f"\n  {'-' * 61}\n 1,163  1 1 1 1  0x40\n  {'-' * 61}\n           4.21%", ":18: a row comes before"),
    (HITM, "    252      250", "    252      251", ":24: has 250 local and 2 remote hits, and line 13 has 251 and 2"),
]


@pytest.mark.parametrize(("path", "old", "new", "reason"), REFUSED, ids=[row[3] for row in REFUSED])
def test_contradictions_are_refused_with_their_line(path, old, new, reason, tmp_path):
    text = path.read_text()
    assert old in text
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(text.replace(old, new, 1))
    with pytest.raises(ReadError) as error:
        read(str(damaged))
    assert f"damaged.txt{reason}" in str(error.value)


OTHERS = {
    "perf.data": (b"PERFILE2" + b"\0" * 50, "is a recording of perf, not a report; write one with `perf c2c report"),
    "json": (b'{\n\t"linux-perf-json-version": 1,\n', "has neither the addresses of data nor types"),
    "utf-16": ("\ufeffabc".encode("utf-16-le"), "is text in UTF-16"),
    "gzip": (b"\x1f\x8b\x08", "is compressed"),
    "elf": (b"\x7fELF\2\1\1", "it belongs after --in"),
    "zero bytes": (b"a\n\0", ":2: has bytes of value 0"),
    "a long line": (b"x" * 70_000, ":1: the line is longer than 65,536 bytes"),
    "nothing": (b"", "the file is empty"),
    "text": (b"Dear all,\n", "no table of perf was found in it"),
    "rows of another table": (b"  Shared Data Cache Line Table\n# Total  Rmt  Address\n   1  41829  0x7f9c80041040\n", ":3: the row has other columns"),
    "a screen": (b"Cacheline 0x406100\n", ":1: is a copy of perf's screen"),
    "a screen of types": (  # mail of 2024-08-12 on the data type browser
        b"Annotate type: 'struct socket' (1 samples)\n      Percent     Offset       Size  Field\n", ":1: is a copy of"
    ),
    "a screen without its title": (
        b"Annotate type: 'struct a' in b (1 samples):\n Percent Offset Size  Field\n", ":2: is a copy of"
    ),
    "folded members": (
        b"Annotate type: 'struct a' in b (1 samples):\n Percent  offset  size  field\n+  100.00  0  8  struct a {\n",
        ":3: is a copy of",
    ),
    "types without their first row": (
        b"Annotate type: 'struct a' in b (1 samples):\n samples  offset  size  field\n  1  0  4  int  first;\n",
        ":3: rows are missing: the first one is not that of 'struct a'",
    ),
    "types without offsets": (
        b"# Samples: 2 of event 'a'\n# Overhead  Data Type\n    79.45%  (unknown)\n", ":2: the table has no offsets"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "reason"), OTHERS.values(), ids=OTHERS)
def test_other_files_are_answered_with_what_to_do(data, reason, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(ReadError) as error:
        read(str(path))
    assert reason in str(error.value)


TYPES = {
    # file: name, unknown share and rows of each event: offset, path, share, samples
    "report-6.12.txt": [
        ("cpu-clock", 79.45, [(128, "cold", 19.28, 258), (0, "flags", 0.97, 13), (8, "head", 0.22, 3)]),
        ("task-clock", 79.96, [(128, "cold", 18.92, 253), (0, "flags", 0.82, 11), (8, "head", 0.3, 4)]),
    ],
    "report-separated-6.12.txt": [
        ("cpu-clock", 79.45, [(128, "col", 19.28, 258), (0, "flags", 0.97, 13), (8, "head", 0.22, 3)]),
        ("task-clock", 79.96, [(128, "col", 18.92, 253), (0, "flags", 0.82, 11), (8, "head", 0.3, 4)]),
    ],
    "report-group-6.12.txt": [
        ("cpu-clock", 79.45, [(128, "cold", 19.28, 258), (0, "flags", 0.97, 13), (8, "head", 0.22, 3)]),
        ("task-clock", 79.96, [(128, "cold", 18.92, 253), (0, "flags", 0.82, 11), (8, "head", 0.3, 4)]),
    ],
    "report-hierarchy-6.12.txt": [
        ("cpu-clock", 79.45, [(128, "cold", 19.28, None), (0, "flags", 0.97, None), (8, "head", 0.22, None)]),
        ("task-clock", 79.96, [(128, "cold", 18.92, None), (0, "flags", 0.82, None), (8, "head", 0.3, None)]),
    ],
    "annotate-6.12.txt": [
        (None, None, [(0, "flags", 4.74, None), (8, "head", 1.09, None), (128, "cold", 94.16, None)]),
        (None, None, [(0, "flags", 4.1, None), (8, "head", 1.49, None), (128, "cold", 94.4, None)]),
    ],
    "annotate-group-6.12.txt": [
        ("cpu-clock", None, [(0, "flags", 4.74, None), (8, "head", 1.09, None), (128, "cold", 94.16, None)]),
        ("task-clock", None, [(0, "flags", 4.1, None), (8, "head", 1.49, None), (128, "cold", 94.4, None)]),
    ],
    "annotate-samples-6.12.txt": [
        (None, 83.33, [(0, "flags", None, 13), (8, "head", None, 3), (128, "cold", None, 258)]),
        (None, 83.33, [(0, "flags", None, 11), (8, "head", None, 4), (128, "cold", None, 253)]),
    ],
}


@pytest.mark.parametrize("name", TYPES)
def test_types_and_offsets_of_each_event(name):
    """perf prints the same recording in all of its formats."""
    events = read(str(PROFILES / name)).events
    assert [
        (
            event.name,
            None if event.unknown is None else round(event.unknown, 2),
            [(r.offset, r.path, r.share, r.samples) for r in event.rows if r.type_name == "struct box"],
        )
        for event in events
    ] == TYPES[name]


@pytest.mark.parametrize(("share", "is_possible"), [("100.00", True), ("100.50", True), ("100.51", False)])
def test_the_largest_share(tmp_path, share, is_possible):
    """perf rounds, so that shares can add up to a little more than the whole."""
    rows = (PROFILES / "report-6.12.txt").read_text().split("\n\n\n", 1)[0].splitlines()
    head = [row for row in rows if row.startswith("#") or not row]
    (tmp_path / "report.txt").write_text("\n".join([*head, f"   {share}%  258  struct box  struct box +0x80 (cold)\n"]))
    if is_possible:
        assert [row.share for row in read(str(tmp_path / "report.txt")).events[0].rows] == [float(share)]
    else:
        with pytest.raises(ReadError, match=f"the share {share}% is not possible"):
            read(str(tmp_path / "report.txt"))


ROLES = [
    ("cpu/mem-loads,ldlat=30/P", "load"),
    ("cpu/mem-stores/P", "store"),
    ("mem_inst_retired.all_stores:pp", "store"),
    ("ibs_op//", "any"),
    ("arm_spe_0/load_filter=1,store_filter=1/", "any"),
    ("cycles", "any"),
]


@pytest.mark.parametrize(("event", "role"), ROLES)
def test_what_an_event_counts(event, role, tmp_path):
    path = tmp_path / "report.txt"
    path.write_text(
        f"# Samples: 2K of event '{event}'\n# Overhead  Data Type  Data Type Offset\n"
        "     3.01%  struct page  struct page +0x8 (lru.next)\n"
    )
    assert [each.role for each in read(str(path)).events] == [role]


CUT = [
    # the column, and the offset and path; None if it is refused
    ("struct page +0x8 (lru.next)", (8, "lru.next", False)),
    ("struct page +52 (_refcount.counter)", (52, "_refcount.counter", False)),
    ("struct page +0x8 (lru.ne", (8, "lru.ne", True)),
    ("struct page +0x8 ()", (8, "", False)),
    ("struct page +0 (flags:3)", (0, "flags", False)),
    ("struct page +0x8 (no field)", (8, None, False)),
    ("struct page +0x8", None),
    ("struct page", None),
]


@pytest.mark.parametrize(("column", "row"), CUT)
def test_a_column_that_is_cut_off(column, row, tmp_path):
    """Without its parenthesis, the offset itself may have lost digits."""
    path = tmp_path / "report.txt"
    path.write_text(
        "# Samples: 2K of event 'a'\n# Overhead;     Samples;Data Type;Data Type Offset\n"
        f" 3.01% ; 12         ;struct page;{column}\n"
    )
    if row is None:
        with pytest.raises(ReadError, match=r":3: .* the column is cut off"):
            read(str(path))
    else:
        assert [(r.offset, r.path, r.is_cut) for r in read(str(path)).events[0].rows] == [row]


def test_a_pseudo_type_is_known_by_its_own_column(tmp_path):
    path = tmp_path / "report.txt"
    path.write_text(
        "# Samples: 2K of event 'a'\n# Overhead;     Samples;Data Type;Data Type Offset\n"
        " 3.01% ; 12         ;(stack operation);(stack opera\n 2.00% ; 8          ;(unknown);(unkno\n"
    )
    (event,) = read(str(path)).events
    assert (event.scalars, event.unknown, event.rows) == (3.01, 2.0, ())


def test_build_ids_and_the_recording_are_read(tmp_path):
    path = tmp_path / "report.txt"
    ids = "9d4623ba817f1fb964546e0395e69c2c062d0478 /usr/bin/box\n4a5a9b0affb66c437abcd455d2738af879985fa9 [kernel.kallsyms]\n"
    path.write_text(ids + HITM.read_text())
    header = read(str(path)).header
    assert header.build_ids == (
        ("9d4623ba817f1fb964546e0395e69c2c062d0478", "/usr/bin/box", 1),
        ("4a5a9b0affb66c437abcd455d2738af879985fa9", "[kernel.kallsyms]", 2),
    )
    assert (header.captured, header.release, header.tool) == ("Mon Jan  6 10:00:00 2025", "6.12.0", "6.12.1")


@pytest.mark.parametrize(("total", "bad", "unknown"), [(0, 0, None), (1, 1, 100.0), (8, 2, 25.0)])
def test_statistics_state_the_share_of_unknown_types(total, bad, unknown, tmp_path):
    path = tmp_path / "report.txt"
    text = (PROFILES / "annotate-6.12.txt").read_text()
    path.write_text(f" total {total}, ok {total - bad} (0.0%), bad {bad} (0.0%)\n{text}")
    assert {event.unknown for event in read(str(path)).events} == {unknown}


@pytest.mark.parametrize("start", ["", "\ufeff", "\x1b[m", "x\b", "> "])
def test_marks_before_the_first_word_are_left_out(start, tmp_path):
    path = tmp_path / "report.txt"
    path.write_text(f"{start}9d4623ba817f1fb964546e0395e69c2c062d0478 /usr/bin/box\n" + HITM.read_text())
    assert read(str(path)).header.build_ids == (("9d4623ba817f1fb964546e0395e69c2c062d0478", "/usr/bin/box", 1),)


def test_damaged_reports_are_read_or_refused(tmp_path):
    generator = random.Random(1)
    reports = [path.read_bytes()[:5000] for path in sorted(PROFILES.glob("*.txt"))]
    path = tmp_path / "report.txt"
    for _ in range(40):
        data = bytearray(generator.choice(reports))
        for _ in range(generator.randrange(1, 5)):
            at = generator.randrange(len(data))
            data[at : at + generator.randrange(30)] = bytes(generator.choices(b"0123456789x%{};+ \n\xff\x1b", k=9))
        path.write_bytes(data)
        with suppress(ReadError):
            read(str(path))


@pytest.mark.exhaustive
def test_a_large_report_takes_little_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "report.txt"
    text = BEFORE.read_text().partition("\n  ---")[2]
    with path.open("w") as file:
        for number in range(4_000):
            file.write(f"\n  ---{text.replace('0xffff92e266af90c0', hex(0xFFFF92E200000000 + 64 * number))}")
    tracemalloc.start()
    profile = read(str(path))
    assert len(profile.blocks) == 4_000
    assert tracemalloc.get_traced_memory()[1] < 80_000_000
    tracemalloc.stop()
