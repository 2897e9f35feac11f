"""Where rule files put structs: embedded in others, with the containers' own placements; what contradicts."""

from __future__ import annotations

import json

import pytest

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.lint import run as lint
from layoutlint.lint.judge import judge_input
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct, Unstated
from layoutlint.model.target import target_named
from layoutlint.readers import dispatch
from tests.harness.build import X86_64, flexible, member, struct
from tests.harness.command import run
from tests.harness.run_options import run_options

RULE = Rule("r", "lock", Together(("count", "owner")), Severity.ERROR, "both are touched", Source("m.toml", 9))
LOCK = struct("lock", 16, member("count", 0, 8), member("owner", 8, 8))


def field(name: str, offset: int, of: Struct, *dims: int | None) -> Field:
    count = 1
    for dim in dims:
        count *= dim or 0
    right = "".join(f"[{'' if dim is None else dim}]" for dim in dims)
    return Field(name, CType(f"struct {of.name}", right), offset * 8, (of.bit_size or 0) * count, aggregate="struct",
                 dims=dims, members=of.fields, align=of.align)  # fmt: skip


def struct_intent(name: str, placement: str, line: int = 1, **more: int) -> StructIntent:
    word, _, align = placement.partition(":")
    storage = Storage(word, Source("m.toml", line), int(align) if align else None, more.get("stride"), more.get("array"))
    return StructIntent(name, Source("m.toml", line), placement=storage)


def judge(monkeypatch, structs: tuple[Struct, ...], *intents: StructIntent, rule: Rule = RULE, **options: object) -> Verdict:
    asked = []

    def read(path, wanted, options):
        asked.append(wanted)
        return Reading(path, "dwarf", structs[0].target, structs)

    monkeypatch.setattr(dispatch, "read", read)
    report = lint.check(("a",), (Pack("m", "m.toml", (rule,), intents),), (), run_options(**options))
    embedded = {i.struct for i in intents if i.placement is not None and i.placement.word == "embedded"}
    assert (asked[0].with_containers, asked[0].everything) == (embedded, False)
    ((finding),) = (*report.findings, *report.kept_findings)
    return finding.verdict


def holder(name: str, size: int, offset: int, *dims: int | None, align: int | None = 64, of: Struct = LOCK) -> Struct:
    return struct(name, size, field("x", offset, of, *dims), align=align)


class TestEmbedded:
    @pytest.mark.parametrize(("containers", "intents", "outcome", "bases"), [
        # a lock of two words at an offset of containers; it is cut where it starts at 56
        ([holder("inode", 128, 40)], [], Outcome.KEPT, ()),
        ([holder("inode", 128, 56)], [], Outcome.BROKEN, (56,)),
        ([holder("inode", 128, 40), holder("page", 64, 120)], [], Outcome.AT_RISK, (56,)),
        ([holder("inode", 128, 40, align=8)], [], Outcome.AT_RISK, (56,)),
        ([holder("inode", 128, 40, align=8)], [struct_intent("inode", "slab")], Outcome.KEPT, ()),
        ([holder("inode", 128, 40, align=8)], [struct_intent("inode", "line")], Outcome.KEPT, ()),
        ([holder("inode", 128, 40, align=8)], [struct_intent("inode", "malloc")], Outcome.AT_RISK, (56,)),
        ([holder("inode", 128, 48, align=8)], [struct_intent("inode", "aligned:16")], Outcome.KEPT, ()),
        ([holder("inode", 96, 24, align=8)], [struct_intent("inode", "kmalloc")], Outcome.AT_RISK, (56,)),
        ([holder("inode", 96, 16, align=8)], [struct_intent("inode", "kmalloc")], Outcome.KEPT, ()),
        ([holder("ring", 192, 8, 4)], [], Outcome.AT_RISK, (56,)),
        ([holder("ring", 192, 0, 4)], [], Outcome.KEPT, ()),
    ])  # fmt: skip
    def test_is_judged_where_the_containers_are(self, monkeypatch, containers, intents, outcome, bases):
        verdict = judge(monkeypatch, (LOCK, *containers), struct_intent("lock", "embedded"), *intents)
        assert (verdict.outcome, verdict.bases) == (outcome, bases)

    INODE = holder("inode", 64, 40, align=8)
    OUTER = struct("ext_inode", 128, field("vfs", 16, INODE), align=64)

    def test_goes_through_containers_that_are_embedded_themselves(self, monkeypatch):
        """At 56 of every ext_inode; an inode by itself could be anywhere, and is nowhere."""
        structs = (LOCK, self.INODE, self.OUTER)
        alone = judge(monkeypatch, structs, struct_intent("lock", "embedded"))
        assert (alone.outcome, alone.total) == (Outcome.AT_RISK, 8)
        chained = judge(monkeypatch, structs, struct_intent("lock", "embedded"), struct_intent("inode", "embedded"))
        assert (chained.outcome, chained.bases, chained.total) == (Outcome.BROKEN, (56,), 1)
        assert chained.basis == "fails in its only place: at 56 of ext_inode, which is aligned to 64 (stated by the input)"

    def test_names_the_first_containers(self, monkeypatch):
        many = tuple(holder(f"h{number}", 64, 8) for number in range(5))
        verdict = judge(monkeypatch, (LOCK, *many), struct_intent("lock", "embedded"))
        assert verdict.basis == "; ".join(
            f"at 8 of h{number}, which is aligned to 64 (stated by the input)" for number in range(3)
        ) + "; and 2 more"  # fmt: skip

    def test_names_those_in_which_it_fails(self, monkeypatch):
        containers = [holder("a", 128, 8), holder("b", 128, 56), holder("c", 128, 16), holder("d", 128, 120)]
        verdict = judge(monkeypatch, (LOCK, *containers), struct_intent("lock", "embedded"))
        assert verdict.basis == (
            "fails in 2 of 4 places: at 56 of b, which is aligned to 64 (stated by the input); "
            "at 120 of d, which is aligned to 64 (stated by the input)"
        )

    def test_names_those_in_which_neighbours_are_in_the_way(self, checked_text):
        """The same base in two structs: in one an element stands beside, in the other nothing does."""
        output = checked_text("struct two { struct slot x[2]; };\nstruct one { struct slot x; };\n", "separate")
        assert "fails in 1 of 2 places: at 0 of two, which is aligned to 8" in output
        output = checked_text(
            "#define LINE __attribute__((aligned(64)))\n"
            "struct two { long pad; struct slot x[2]; } LINE;\nstruct one { long pad; struct slot x; } LINE;\n", "separate", 6
        )  # fmt: skip
        assert "at-risk in its only placement" in output
        assert "fails in 1 of 2 places: at 8 of two, which is aligned to 64" in output
        output = checked_text("struct two { struct slot x[2]; };\nstruct one { struct slot x; };\n", "stride")
        assert "fails in 1 of 2 places: at 0 of two, which is aligned to 8" in output

    @pytest.fixture
    def checked_text(self, tmp_path):
        def check(containers: str, kind: str, words: int = 8) -> str:
            slot = f"struct slot {{ long a; long more[{words}]; long b; }};\n"  # `b` is 8 before the next `a`
            (tmp_path / "a.h").write_text(slot + containers)
            fields = 'fields = [["a"], ["b"]]' if kind == "separate" else 'fields = ["a"]\nagainst = ["b"]'
            (tmp_path / "r.toml").write_text(
                f'[struct.slot]\nplacement = "embedded"\n[[rule]]\nid = "r"\nstruct = "slot"\nkind = "{kind}"\n{fields}\nwhy = "a test"\n'
            )
            return " ".join(run("check", "a.h", "--rules", "r.toml", cwd=tmp_path).stdout.split())

        return check

    @pytest.mark.parametrize(("structs", "message"), [
        ((LOCK,), "nothing in the inputs embeds struct lock"),
        ((LOCK, struct("open", 16, Field("x", CType("struct lock", "[]"), 128, None, aggregate="struct", dims=(None,),
                                         members=LOCK.fields)), replace(holder("bad", 64, 8), problem="overlaps")),
         "the layout of struct bad is unreliable: overlaps"),
    ])  # fmt: skip
    def test_is_unknown_where_it_cannot_be_told(self, monkeypatch, structs, message):
        verdict = judge(monkeypatch, structs, struct_intent("lock", "embedded"))
        assert (verdict.outcome, verdict.message) == (Outcome.UNKNOWN, message)

    def test_is_unknown_where_nothing_is_but_in_itself_embedded(self, monkeypatch):
        verdict = judge(monkeypatch, (LOCK, self.INODE), struct_intent("lock", "embedded"), struct_intent("inode", "embedded"))
        assert verdict.message == "all containers of struct lock are declared as embedded themselves: inode"

    @pytest.mark.parametrize(("size", "offset"), [(128, 64), (64, 24)])
    def test_the_alignment_of_a_container_that_is_not_stated_can_decide(self, monkeypatch, size, offset):
        gap = struct("gap", size, member("a", 0, 8, align=8), field("x", offset, LOCK), align=None)
        gap = replace(gap, unstated=Unstated.PACKED | Unstated.ALIGNED)
        verdict = judge(monkeypatch, (LOCK, gap), struct_intent("lock", "embedded"))
        assert verdict.outcome is Outcome.UNKNOWN
        assert verdict.message == (
            "The alignment of what embeds struct lock (gap) is not in the debug information. If it is what its members "
            "need, at risk, if the largest possible, kept. Check the headers, or state their `placement` in the "
            "rule file."
        )

    def test_readings_keep_what_was_asked_for(self, monkeypatch):
        structs = (LOCK, holder("inode", 128, 40))
        monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: Reading(path, "dwarf", X86_64, structs))
        pack = Pack("m", "m.toml", (RULE,), (struct_intent("lock", "embedded"),))
        report = lint.check(("a",), (pack,), (), Options())
        assert [s.name for s in report.readings[0].structs] == ["lock"]


class TestWhatIsSaidTwice:
    def test_a_name_goes_before_a_pattern(self, monkeypatch):
        verdict = judge(monkeypatch, (LOCK,), struct_intent("l*", "line"), struct_intent("lock", "malloc"))
        assert verdict.total == 4

    def test_two_patterns_contradict(self, monkeypatch):
        with pytest.raises(RuleFileError) as caught:
            judge(monkeypatch, (LOCK,), struct_intent("l*", "line", 3), struct_intent("*ck", "slab:32", 7))
        assert caught.value.messages == ("m.toml:7: `placement` `slab:32` of lock contradicts `line` at m.toml:3",)

    def test_the_same_twice_does_not(self, monkeypatch):
        assert judge(monkeypatch, (LOCK,), struct_intent("l*", "line", 3), struct_intent("*ck", "line", 7)).total == 1


@pytest.mark.parametrize(("held", "intent", "message"), [
    (replace(LOCK, align=64, bit_size=512), struct_intent("lock", "aligned:16"),
     "m.toml:1: `placement` `aligned:16` contradicts struct lock, which is aligned to 64"),
    (LOCK, struct_intent("lock", "slab", stride=8), "m.toml:1: `stride` 8 contradicts struct lock: objects of 16 bytes do not fit"),
    (replace(LOCK, fields=(*LOCK.fields, flexible("more", 16))), struct_intent("lock", "kmalloc", array=4),
     "m.toml:1: `array`: struct lock ends with a flexible array, so it cannot be an array element"),
])  # fmt: skip
def test_a_placement_that_the_struct_cannot_have_is_a_mistake_of_the_file(monkeypatch, held, intent, message):
    with pytest.raises(RuleFileError) as caught:
        judge(monkeypatch, (held,), intent)
    assert caught.value.messages == (message,)


def test_a_container_with_a_placement_that_it_cannot_have_too(monkeypatch):
    with pytest.raises(RuleFileError, match="contradicts struct inode, which is aligned to 64"):
        judge(monkeypatch, (LOCK, holder("inode", 128, 40)), struct_intent("lock", "embedded"), struct_intent("inode", "slab:8"))


def test_the_constants_are_those_of_the_target(monkeypatch):
    rule = replace(RULE, kind=Separate((("count",), ("owner",))))
    bases = {}
    for name in ("x86_64", "arm", "s390x"):
        on = replace(LOCK, target=target_named(name))
        bases[name] = judge(monkeypatch, (on,), struct_intent("lock", "kmalloc"), rule=rule).total
    assert bases == {"x86_64": 4, "arm": 1, "s390x": 16}


SOURCE = """\
struct lock { long count, owner; };
struct inode { long number[6]; struct lock lock; long size; long more[6]; };
struct inode inode;
"""
RULES = """\
[struct.lock]
placement = "embedded"

[struct.inode]
placement = "{}"

[[rule]]
id = "lock-whole"
struct = "lock"
kind = "together"
fields = ["count", "owner"]
why = "both are touched"
"""


class TestTheCommand:
    @pytest.fixture
    def checked(self, tmp_path):
        def check(placement: str, *options: str):
            (tmp_path / "a.c").write_text(SOURCE)
            (tmp_path / "r.toml").write_text(RULES.format(placement))
            return run("check", tmp_path / "a.c", "--rules", tmp_path / "r.toml", *options)

        return check

    def test_text_says_which_fact_narrowed_the_bases(self, checked):
        done = checked("slab")
        assert done.returncode == 1
        words = " ".join(done.stdout.split())
        assert "in 1 of 8 placements (base 56)" in words
        assert "placed: fails in its only place: at 48 of inode, which is in a slab cache, 120 bytes from one to the next" in words

    def test_json_says_it_as_well(self, checked):
        done = checked("kmalloc", "--format", "json")
        report = json.loads(done.stdout)
        assert report["inputs"][0]["structs"] == 1
        (kept,) = report["kept"]
        assert kept["placements"]["total"] == 1
        assert kept["placements"]["basis"] == "at 48 of inode, which is allocated by kmalloc in the class of 128 bytes"
        assert done.returncode == 0

    def test_a_contradiction_has_file_and_line_and_status_2(self, checked, tmp_path):
        done = checked("aligned:4")
        assert done.returncode == 2
        assert f"{tmp_path / 'r.toml'}:5: `placement` `aligned:4` contradicts struct inode" in done.stderr
        assert "Traceback" not in done.stderr

    def test_all_contradictions_are_told_at_once(self, tmp_path):
        (tmp_path / "a.h").write_text("struct a { long x[3]; };\nstruct b { long x[4]; };\nstruct c { long x; };\n")
        rules = "".join(
            f'[struct.{name}]\nplacement = "slab"\nstride = {stride}\n'
            f'[[rule]]\nid = "{name}"\nstruct = "{name}"\nkind = "size"\nmax = 99\nwhy = "a test"\n'
            for name, stride in (("a", 16), ("b", 36), ("c", 8))
        )
        (tmp_path / "r.toml").write_text(rules)
        done = run("check", "a.h", "--rules", "r.toml", cwd=tmp_path)
        assert done.stderr.splitlines() == [
            "r.toml:2: `stride` 16 contradicts struct a: objects of 24 bytes do not fit",
            "r.toml:11: `stride` 36 contradicts struct b, which is aligned to 8",
        ]
        assert (done.returncode, done.stdout) == (2, "")


class TestAlternatives:
    """A struct of 24 bytes whose two words are on two lines unless it starts on one."""

    HELD = struct("vma", 24, member("count", 0, 8), member("owner", 16, 8))
    TEXT = """
[[struct.vma]]
placement = "line"
when = { kernel = ">=6.15" }
[[struct.vma]]
placement = "slab"
[[rule]]
id = "r"
struct = "vma"
kind = "together"
fields = ["count", "owner"]
why = "both are read"
"""

    @pytest.mark.parametrize(("kernel", "when", "total"), [
        ((6, 1, 176), "", 8),
        ((6, 14, 9), "", 8),
        ((6, 15, 0), "", 1),
        ((7, 2, 13), "", 1),
        ((6, 1), ">=6.18", None),  # the rule does not apply
        (None, "", 1),  # a condition on what the input does not state is taken to hold
        (None, ">=6.18", 1),  # the rule's own condition says which version is meant
        (None, "<6.12", 8),
        (None, ">=6.1, <6.12", 8),
    ])  # fmt: skip
    def test_the_first_that_applies_is_used(self, kernel, when, total):
        text = self.TEXT + (f'when = {{ kernel = "{when}" }}\n' if when else "")
        reading = Reading("vmlinux", "dwarf", X86_64, (self.HELD,), kernel=kernel)
        found = list(judge_input(JudgedInput(reading, (rule_file.parse(text, "m.toml"),)), Options()))
        assert [finding.verdict.total for finding in found] == ([] if total is None else [total])

    def test_other_structs_of_the_file_keep_what_is_said(self):
        text = self.TEXT + '[struct.other]\nplacement = "line"\n'
        pack = rule_file.parse(text, "m.toml")
        assert pack.select_for(Reading("v", "dwarf", X86_64, (), kernel=(6, 1))).structs == pack.structs[1:]
