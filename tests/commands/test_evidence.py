"""`layoutlint evidence`: accesses of profiles at fields, rules and declared accesses."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.harness.command import ROOT, run
from tests.harness.tools import need

pytestmark = pytest.mark.usefixtures("whole_runs")

P = "fixtures/profiles"
BEFORE, AFTER = f"{P}/c2c-address-space-before.txt", f"{P}/c2c-address-space-after.txt"
HEADER, RULES = ("--in", f"{P}/address-space.h"), ("--rules", f"{P}/address-space.toml")
BOX = ("--in", f"{P}/box.c", "--struct", "box")


def evidence(*words: str, cwd=ROOT) -> tuple[int, dict]:
    done = run("evidence", *words, "--format", "json", cwd=cwd)
    assert done.returncode in (0, 1, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


def fields(document: dict) -> list[tuple[str, int, int]]:
    """Path, contended loads and stores of each field on placed lines."""
    return [
        (f["path"], f["counts"]["remote"] + f["counts"]["local"], f["counts"]["l1_hit"] + f["counts"]["l1_miss"])
        for struct in document["structs"]
        for line in struct["lines"]
        for f in line["fields"]
    ]


TREE = [
    ("gfp_mask", 590, 0), ("i_mmap_writable.counter", 56, 0), ("i_mmap.rb_root.rb_node", 80, 6),
    ("i_mmap.rb_leftmost", 69, 73), ("a_ops", 10, 0), ("i_mmap_rwsem.count.counter", 489, 11316),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("chosen", [("--struct", "address_space"), (), ("--struct", "struct address_space", "--base", "0xffff92e266af9080")])
def test_the_line_of_the_mail_has_the_tree_and_the_count_of_the_lock(chosen):
    status, document = evidence(BEFORE, *HEADER, *RULES, *chosen)
    assert (status, fields(document)) == (0, TREE)
    (line,) = document["structs"][0]["lines"]
    assert (line["first_byte"], line["base"], line["line"]) == (64, 0, 11)
    assert line["identified_by"] == ("base" if "--base" in chosen else "code")
    (rule,) = document["rules"]
    assert (rule["state"], [(pair["written"], pair["stores"], pair["read"], pair["loads"]) for pair in rule["pairs"]]) == (
        "measured", [("i_mmap", 79, "i_mmap_rwsem", 489), ("i_mmap_rwsem", 11316, "i_mmap", 149)],
    )  # fmt: skip
    (against,) = document["contradictions"]
    assert (against["path"], against["declared"], against["report_line"]) == ("i_mmap.rb_leftmost", "read-mostly", 17)


def test_a_line_that_contradicts_the_struct_is_not_placed():
    """After the patch, `wb_err` is where the count of the lock was."""
    status, document = evidence(AFTER, *HEADER, "--struct", "address_space")
    (line,) = document["unplaced"]
    assert (status, fields(document)) == (3, [])
    assert "would access a field of another type" in line["reason"]


def test_a_line_without_code_is_not_measured():
    status, document = evidence(f"{P}/c2c-hitm.txt", *BOX)
    assert status == 3
    assert [(each["total"] > 1, each["reason"].split(";")[1]) for each in document["unplaced"]] == [
        (True, " state the address of the object with --base")
    ]


STATUS = [
    # words, exit status, and a part of the text
    ((BEFORE, *HEADER, *RULES, "--fail-on", "measured"), 1, "measured: on a contended line"),
    ((BEFORE, *HEADER, *RULES, "--fail-on", "contradiction"), 1, "declared read-mostly at"),
    ((BEFORE, *HEADER), 3, "no struct was searched for; choose one with --struct"),
    ((BEFORE, *HEADER, "--struct", "adress_space"), 3, "no struct adress_space (did you mean `address_space`?)"),
    ((BEFORE, *HEADER, "--struct", "address_space", "--base", "0x1000"), 3, "has bytes of an object at --base"),
    ((BEFORE, *HEADER, "--struct", "address_space", "--base", "0xffff92e266af9084"), 2, "not a multiple of 8"),
    ((BEFORE, *HEADER, "--base", "0x1000"), 2, "name its struct with --struct"),
    ((BEFORE, *HEADER, "--struct", "address_space", "--base", "12z"), 2, "'12z' is not an address"),
    ((BEFORE, "gone.txt", *HEADER, *RULES), 3, "gone.txt: no such file or directory"),
    ((BEFORE, "gone.txt", *HEADER, *RULES, "--allow-unknown"), 0, "gone.txt: no such file or directory"),
    ((BEFORE, "--in", "gone.h"), 3, "gone.h: no such file or directory"),
    ((BEFORE, *HEADER, "--build-id", "12"), 2, "'12' is not a build id"),
    ((BEFORE, *HEADER, *RULES, "--line-size", "128"), 3, "starts no line of 128 bytes"),
    ((f"{P}/c2c-peer.txt", *BOX, "--base", "0xaaaac17d6000"), 0, "0 remote and 99 local peer snoops"),
    ((f"{P}/report-6.12.txt", *BOX), 0, "does not distinguish loads and stores"),
    ((), 2, "For example: `layoutlint evidence report.txt --in vmlinux"),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("words", "status", "text"), STATUS, ids=[row[2] for row in STATUS])
def test_status(words, status, text):
    done = run("evidence", *words, cwd=ROOT)
    assert done.returncode == status
    assert text in " ".join((done.stdout + done.stderr).split())


def types(*rows: str, event: str = "cpu/mem-stores/P") -> str:
    body = "".join(f"     1.00%            10  {row.partition(' +')[0]}  {row}\n" for row in rows)
    return f"# Samples: 2K of event '{event}'\n#\n# Overhead       Samples  Data Type  Data Type Offset\n{body}"


REFUSED = [
    ("struct box +0x8 (head)", None),
    ("struct box +0x1c (in.b)", None),
    ("struct box +0x1c (in)", None),
    ("struct box +0x28 (arr)", None),
    ("struct box +0x8 (tail)", "the profile has `tail` there, and the input has `head`: another build"),
    ("struct box +0x8 (no field)", "the profile has no field there, and the input has `head`"),
    ("struct box +0x88 (cold)", "beyond the struct"),
    ("struct box +0x800 (cold)", "beyond the struct"),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("row", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_offsets_that_contradict_the_input_are_refused(row, reason, tmp_path):
    (tmp_path / "types.txt").write_text(types(row, "struct box +0x10 (tail)"))
    _, document = evidence("types.txt", "--in", str(ROOT / P / "box.c"), cwd=tmp_path)
    (box,) = document["structs"]
    assert [each["reason"] for each in box["refused"]] == ([reason] if reason else [])
    (event,) = document["events"]
    assert (event["counts"], event["placed"], event["refused"]) == ("stores", 2 - bool(reason), bool(reason))


NAMED = [
    # the field that perf names, and the one that is reported
    ("struct page +0x30 (_mapcount.counter)", "_mapcount.counter"),
    ("struct page +0x30 (page_type)", "page_type"),
    ("struct page +0x30 ()", "page_type"),
    ("struct page +0x8 (lru.next)", "lru.next"),
    ("struct page +0x8 (lru)", "lru.next"),
]
PAGE = """
typedef struct { int counter; } atomic_t;
struct list_head { struct list_head *next, *prev; };
struct page {
	unsigned long flags;
	union { struct { union { struct list_head lru; void *pool; }; void *mapping; long index; long private; }; };
	union { unsigned int page_type; atomic_t _mapcount; };
};
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("row", "path"), NAMED, ids=[row[0] for row in NAMED])
def test_the_member_of_a_union_is_the_one_that_perf_names(row, path, tmp_path):
    (tmp_path / "page.h").write_text(PAGE)
    (tmp_path / "types.txt").write_text(types(row))
    status, document = evidence("types.txt", "--in", "page.h", cwd=tmp_path)
    assert (status, [each["path"] for each in document["structs"][0]["samples"]]) == (0, [path])


def test_stores_and_loads_of_two_events_profile_a_rule(tmp_path):
    (tmp_path / "types.txt").write_text(
        types("struct box +0x8 (head)") + "\n" + types("struct box +0x10 (tail)", "(unknown)", event="cpu/mem-loads/P")
    )
    (tmp_path / "rules.toml").write_text(
        '[[rule]]\nid = "apart"\nstruct = "box"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "w"\n'
    )
    _, document = evidence("types.txt", "--in", str(ROOT / P / "box.c"), "--rules", "rules.toml", cwd=tmp_path)
    (rule,) = document["rules"]
    assert (rule["state"], [(pair["written"], pair["read"]) for pair in rule["pairs"]]) == ("profiled", [("head", "tail")])
    assert [event["unknown"] for event in document["events"]] == [0, 1.0]


def test_no_contended_load_is_inconclusive(tmp_path):
    text = (ROOT / P / "c2c-peer.txt").read_text()
    (tmp_path / "quiet.txt").write_text(text.replace("99        0", " 0        0").replace("6.06", "0.00").replace("93.94", " 0.00"))
    _, document = evidence("quiet.txt", "--in", str(ROOT / P / "box.c"), "--struct", "box", "--base", "0xaaaac17d6000", cwd=tmp_path)
    assert document["notes"] == ["quiet.txt: no line has a peer snoop, which is inconclusive: a recording can lack them"]


@pytest.mark.parametrize(("rule", "reason"), [
    ('kind = "separate"\nfields = [["arr[0]"], ["arr[1]"]]', "the profile shows both fields, but not that writing one disturbs readers of the other"),
    ('kind = "separate"\nfields = [["head"], ["arr"]]', "the profile does not show both fields"),
    ('kind = "size"\nmax = 8', "no two fields of one object make the rule fail"),
])  # fmt: skip
def test_an_inconclusive_rule_has_its_reason(tmp_path, rule, reason):
    """Both fields are on the placed line, and no load took it."""
    text = (ROOT / P / "c2c-peer.txt").read_text()
    (tmp_path / "quiet.txt").write_text(text.replace("99        0", " 0        0").replace("6.06", "0.00").replace("93.94", " 0.00"))
    (tmp_path / "rules.toml").write_text(f'[[rule]]\nid = "r"\nstruct = "box"\n{rule}\nwhy = "w"\n')
    words = ("quiet.txt", "--in", str(ROOT / P / "box.c"), "--struct", "box", "--base", "0xaaaac17d6000", "--rules", "rules.toml")
    shown = " ".join(run("evidence", *words, "--width", "300", cwd=tmp_path).stdout.split())
    assert f"inconclusive: {reason}" in shown


NOTHING = "\n".join(["   Shared Data Cache Line Table", "#", "   Shared Cache Line Distribution Pareto"])
EMPTY = [
    # the text of a report without a cache line, and what is said about it
    ("  Total records   :  2463\n" + NOTHING, "lists no cache line, because none has a HITM, which is inconclusive"),
    ("  Total records   :  0\n" + NOTHING, "no load or store was sampled"),
    ("  Total records   :  2463\n", "has only statistics"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), EMPTY, ids=[row[1] for row in EMPTY])
def test_a_report_without_lines(text, reason, tmp_path):
    """perf lists lines without HITMs only with --show-all."""
    (tmp_path / "empty.txt").write_text(f"   Trace Event Information\n{text}")
    done = run("evidence", str(tmp_path / "empty.txt"), *BOX)
    assert (done.returncode, reason in " ".join(done.stdout.split())) == (3, True)


@pytest.mark.exhaustive
def test_builds_are_compared(tmp_path):
    gcc = need("gcc", "-g", "-c")
    (tmp_path / "box.c").write_text((ROOT / P / "box.c").read_text() + "struct box b;\nint main(void) { return 0; }\n")
    subprocess.run([gcc, "-g", "-Wl,--build-id=0x0123456789abcdef", "-o", "box", "box.c"], cwd=tmp_path, check=True)
    report = (ROOT / P / "report-6.12.txt").read_text()
    for build_id, expected in (("0123456789abcdef", (0, ["same"])), ("0123456789abcdee", (3, []))):
        (tmp_path / "report.txt").write_text(f"{build_id} /usr/bin/box\n{report}")
        status, document = evidence("report.txt", "--in", "box", cwd=tmp_path)
        assert (status, [each["build"] for each in document["reports"]]) == expected
        (tmp_path / "plain.txt").write_text(report)
        status, document = evidence("plain.txt", "--in", "box", "--build-id", build_id, cwd=tmp_path)
        assert (status, [each["build"] for each in document["reports"]]) == expected
    status, document = evidence("plain.txt", "--in", "box", cwd=tmp_path)
    assert (status, [each["build"] for each in document["reports"]]) == (0, ["unverified"])


def test_control_characters_reach_no_terminal(tmp_path):
    text = (ROOT / BEFORE).read_text().replace("down_write  ", "down\x07\u202e_write  ")
    (tmp_path / "c2c.txt").write_text(text)
    done = run("evidence", "c2c.txt", "--in", str(ROOT / P / "address-space.h"), "--struct", "address_space", cwd=tmp_path)
    assert "down\\x07\\u202e_write" in done.stdout
    assert done.stdout.replace("\n", "").isprintable()


def test_an_output_file_replaces_no_input(tmp_path):
    (tmp_path / "c2c.txt").write_text((ROOT / BEFORE).read_text())
    words = ("evidence", "c2c.txt", "--in", str(ROOT / P / "address-space.h"), "--struct", "address_space")
    refused = run(*words, "--output", "json=c2c.txt", cwd=tmp_path)
    assert (refused.returncode, "same file as c2c.txt" in refused.stderr) == (2, True)
    done = run(*words, "--output", "json=out.json", cwd=tmp_path)
    assert (done.returncode, json.loads((tmp_path / "out.json").read_text())["exit"]) == (0, 0)
