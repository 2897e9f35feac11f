"""What structs say themselves, in a run: which structs are asked for, what is judged with what packs know of them."""

from __future__ import annotations

import json

import pytest

from layoutlint.intent import group_marks
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Field, Source
from tests.harness.build import X86_64, member, struct
from tests.harness.command import run

MARKS = """\
#define begin(GROUP) unsigned char __cacheline_group_begin__##GROUP[0]
#define end(GROUP) unsigned char __cacheline_group_end__##GROUP[0]
struct port {
    begin(port_read_txrx);
    long mtu;
    end(port_read_txrx);
    begin(port_write_rx);
    long received;
    end(port_write_rx);
};
struct calm { struct { begin(read_mostly); long mtu; end(read_mostly); }; long rest; };
struct plain { long mtu; };
struct torn { begin(g); long a; };
"""
RULE = '[[rule]]\nid = "size"\nstruct = "{}"\nkind = "size"\nmax = 1024\nwhy = "a test"\n'
ASKS = '[struct.port]\nannotated = true\n'
CASES = [
    # id, rule file, options, (rule, outcome) of what was judged, status
    ("a rule names the struct", RULE.format("port"), (), [("marks/port", "at-risk"), ("size", "kept")], 1),
    ("which keeps quiet", RULE.format("calm"), (), [("marks/calm", "kept"), ("size", "kept")], 0),
    ("which marks nothing", RULE.format("plain"), (), [("size", "kept")], 0),
    ("a rule on a pattern", RULE.format("*"), (),
     [("marks/calm", "kept"), ("marks/port", "at-risk"), ("marks/torn", "broken"), *[("size", "kept")] * 4], 1),
    ("a table asks for it", ASKS, (), [("marks/port", "at-risk")], 1),
    ("--struct asks for it", RULE.format("plain"), ("--struct", "port"), [("marks/port", "at-risk")], 1),
    ("--struct by a pattern", RULE.format("plain"), ("--struct", "[ct]*"), [("marks/calm", "kept"), ("marks/torn", "broken")], 1),
    ("--struct asks for another", ASKS, ("--struct", "calm"), [("marks/calm", "kept")], 0),
    ("not asked", RULE.format("port"), ("--no-annotations",), [("size", "kept")], 0),
    ("where objects start", ASKS + 'placement = "line"\n', (), [("marks/port", "broken")], 1),
    ("who uses a field", '[pack]\nsides = ["tx", "rx"]\n' + ASKS + '[struct.port.fields]\nmtu = { rx = "hot-write" }\n', (),
     [("marks/port", "broken")], 1),
    ("at risk is not broken", ASKS, ("--fail-on", "broken"), [("marks/port", "at-risk")], 0),
]  # fmt: skip


@pytest.fixture
def checked(tmp_path):
    def check(rules: str, *options: str):
        (tmp_path / "port.h").write_text(MARKS)
        (tmp_path / "r.toml").write_text(rules)
        return run("check", tmp_path / "port.h", "--rules", tmp_path / "r.toml", *options, "--", "--target=x86_64-linux-gnu")

    return check


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("rules", "options", "judged", "status"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_check(rules, options, judged, status, checked):
    done = checked(rules, "--format", "json", *options)
    report = json.loads(done.stdout)
    found = [(f["rule"], f["outcome"]) for f in (*report["findings"], *report["kept"])]
    assert (sorted(found), done.returncode) == (judged, status)


def test_the_report_says_which_one_spoke(checked, tmp_path):
    report = json.loads(checked(RULE.format("port"), "--format", "json").stdout)
    by = {f["rule"]: f["intent"] for f in (*report["findings"], *report["kept"])}
    assert by == {
        "marks/port": {"by": "marks in the struct", "file": str(tmp_path / "port.h"), "line": 4},
        "size": {"by": "rule file", "file": str(tmp_path / "r.toml"), "line": 1},
    }
    words = " ".join(checked(RULE.format("port")).stdout.split())
    assert f"stated by: marks in the struct at {tmp_path}/port.h:4" in words


def test_nothing_to_judge_is_no_success(checked):
    done = checked(ASKS, "--struct", "plain")
    assert done.returncode == 2
    assert "no rules apply to these inputs" in done.stderr


def mark(edge, at):
    name = f"__cacheline_group_{edge}__g"
    return Field(name, CType("unsigned char", "[0]"), at * 8, 0, dims=(0,), align=1)


BARE = struct("s", 8, mark("begin", 0), member("a", 0, 8), mark("end", 8))
LINE, SLAB = '[struct.s]\nplacement = "line"\n', '[struct."[s]"]\nplacement = "slab"\n[struct.s.fields]\na = { access = "cold" }\n'


def annotated_packs(*rules: str) -> tuple[Pack, ...]:
    packs = [rule_file.parse(text, f"{number}.toml") for number, text in enumerate(rules)]
    return group_marks.group_mark_packs(Reading("vmlinux", "btf", X86_64, (BARE,)), packs)


def test_where_a_mark_has_no_place_it_is_the_struct_s():
    (pack,) = annotated_packs()
    assert [rule.source for rule in pack.rules] == [BARE.source]


def test_the_first_pack_that_says_where_objects_start_is_heard_and_all_are_on_accesses():
    for rules, word in (((LINE, SLAB), "line"), ((SLAB, LINE), "slab")):
        (pack,) = annotated_packs(*rules)
        storage = pack.storage(BARE)
        assert storage is not None
        assert storage.word == word
        assert [(a.path, a.access) for intent in pack.structs for a in intent.accesses] == [("a", "cold")]


@pytest.mark.parametrize(
    "quiet",
    [struct("s", 8, member("a", 0, 8)), struct("s", 8, member("__cacheline_group_begin", 0, 8))],
)
def test_other_structs_say_nothing(quiet):
    assert group_marks.group_mark_packs(Reading("a.h", "clang", X86_64, (quiet,)), ()) == ()


def test_a_place_is_a_file_at_least():
    from layoutlint.model.record import replace

    (pack,) = group_marks.group_mark_packs(Reading("vmlinux", "btf", X86_64, (replace(BARE, source=None),)), ())
    assert pack.rules[0].source == Source("vmlinux")
