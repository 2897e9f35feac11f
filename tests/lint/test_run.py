"""Rules times inputs, in memory: which findings come out, in which order, and with which status."""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError, UsageError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.condition import Versions, When, assumed_conditions, exclusion_reason
from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import SkippedRule, Unresolved
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.lint import run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.judge import judge_input
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source, Struct, Unstated
from layoutlint.model.target import target_named
from layoutlint.readers import dispatch
from layoutlint.readers.linux import version as linux_version
from tests.harness.build import X86_64, member, struct
from tests.harness.run_options import run_options

NEAR = struct("ring", 16, member("head", 0, 8), member("tail", 8, 8))
FAR = struct("ring", 136, member("head", 0, 8), member("tail", 128, 8))
DECLARED = Struct("ring", "struct", None, None, (), X86_64, Source("example.h", 1), "other.c")
DAMAGED = replace(NEAR, problem="ring.h:3: error: unknown type name 'lung'")
OTHER = struct("other", 8, member("a", 0, 8))
APART = Rule("apart", "ring", Separate((("head",), ("tail",))), Severity.ERROR, "a test", Source("rules.toml", 1))
JOINT = replace(APART, id="joint", kind=Together(("head", "tail")))
LOST = replace(APART, id="lost", struct="lost")
SHIPPED = replace(LOST, id="shipped", shipped=True)
UNFIELDED = replace(APART, id="unfielded", kind=Separate((("haed",), ("tail",))))


def rule_when(*config: str, arch: tuple[str, ...] = ()) -> Rule:
    return replace(APART, when=When(config, arch))


def inputs(monkeypatch: pytest.MonkeyPatch, **structs: tuple[Struct, ...] | str) -> tuple[str, ...]:
    """Inputs that hold some structs, or (a string) that cannot be read for that reason."""

    def read(path, wanted, options):
        held = structs[path]
        if isinstance(held, str):
            raise ReadError(path, held)
        return Reading(path, "dwarf", X86_64, tuple(s for s in held if wanted.matches(s.name)))

    monkeypatch.setattr(dispatch, "read", read)
    return tuple(structs)


def check(monkeypatch, rules, structs, *, kernel=(), **options):
    paths = inputs(monkeypatch, **structs)
    packs = (Pack("mine", "rules.toml", tuple(rules)),) if rules else ()
    return run.check(paths, packs, tuple(kernel), run_options(**options))


CASES = [
    # id, rules, inputs, options, (rule, outcome) of what is not kept, status
    ("kept", [APART], {"a": (FAR,)}, {}, [], 0),
    ("broken in some placements", [APART], {"a": (NEAR,)}, {}, [("apart", "at-risk")], 1),
    ("which need not fail", [APART], {"a": (NEAR,)}, {"fail_on": Outcome.BROKEN}, [("apart", "at-risk")], 0),
    ("which a rule tolerates", [replace(JOINT, tolerate=0.125)], {"a": (NEAR,)}, {}, [], 0),
    ("but no more of them", [replace(JOINT, tolerate=0.12)], {"a": (NEAR,)}, {}, [("joint", "at-risk")], 1),
    ("broken in all", [JOINT], {"a": (FAR,)}, {"fail_on": Outcome.BROKEN}, [("joint", "broken")], 1),
    ("in all, which a rule tolerates", [replace(JOINT, tolerate=1.0)], {"a": (FAR,)}, {}, [], 0),
    ("in all, and it tolerates almost all", [replace(JOINT, tolerate=0.99)], {"a": (FAR,)}, {}, [("joint", "broken")], 1),
    ("without placements", [replace(JOINT, kind=Order(("tail", "head")), tolerate=1.0)], {"a": (FAR,)}, {}, [], 0),
    ("without placements, and almost", [replace(JOINT, kind=Order(("tail", "head")), tolerate=0.99)], {"a": (FAR,)}, {}, [("joint", "broken")], 1),
    ("a note", [replace(JOINT, severity=Severity.NOTE)], {"a": (FAR,)}, {}, [("joint", "broken")], 0),
    ("a warning", [replace(JOINT, severity=Severity.WARNING)], {"a": (FAR,)}, {}, [("joint", "broken")], 1),
    ("larger lines", [JOINT], {"a": (FAR,)}, {"line_size": 256}, [("joint", "at-risk")], 1),
    ("aligned objects", [JOINT], {"a": (NEAR,)}, {"min_align": 64}, [], 0),
    ("no such struct", [APART, LOST], {"a": (FAR,)}, {}, [("lost", "unknown")], 3),
    ("no such struct, allowed", [APART, LOST], {"a": (FAR,)}, {"allow_unknown": True}, [("lost", "unknown")], 0),
    ("no such struct, ignored", [APART, LOST], {"a": (FAR,)}, {"ignore_missing": True}, [], 0),
    ("no such struct, shipped", [APART, SHIPPED], {"a": (FAR,)}, {}, [], 0),
    ("struct in one of two inputs", [APART], {"a": (OTHER,), "b": (FAR,)}, {}, [], 0),
    ("findings outweigh unknowns", [APART, LOST], {"a": (NEAR,)}, {}, [("apart", "at-risk"), ("lost", "unknown")], 1),
    ("declared only", [APART], {"a": (DECLARED,)}, {}, [("apart", "unknown")], 3),
    ("declared here, defined there", [APART], {"a": (DECLARED,), "b": (FAR,)}, {}, [], 0),
    ("declared only, ignored", [APART], {"a": (DECLARED,)}, {"ignore_missing": True}, [], 0),
    ("damaged", [APART], {"a": (DAMAGED,)}, {}, [("apart", "unknown")], 3),
    ("damaged, not ignored", [APART], {"a": (DAMAGED,)}, {"ignore_missing": True}, [("apart", "unknown")], 3),
    ("damaged here, whole there", [APART], {"a": (DAMAGED,), "b": (FAR,)}, {}, [("apart", "unknown")], 3),
    ("no such field", [replace(APART, kind=Separate((("heads",), ("tail",))))], {"a": (FAR,)}, {}, [("apart", "unknown")], 3),
    ("no such field", [APART, UNFIELDED], {"a": (FAR,)}, {}, [("unfielded", "unknown")], 3),
    ("no such field, shipped", [APART, replace(UNFIELDED, shipped=True)], {"a": (FAR,)}, {}, [("unfielded", "unknown")], 3),
    ("unreadable", [APART], {"a": (FAR,), "b": "damaged"}, {}, [], 3),
    ("unreadable, allowed", [APART], {"a": (FAR,), "b": "damaged"}, {"allow_unknown": True}, [], 0),
    ("all unreadable", [APART], {"a": "damaged"}, {}, [], 3),
    ("pattern", [replace(APART, struct="r*")], {"a": (NEAR, OTHER)}, {}, [("apart", "at-risk")], 1),
    ("one struct of a pattern", [replace(APART, struct="*")], {"a": (FAR, OTHER)}, {"only": ("ring",)}, [], 0),
    ("rules for other structs", [APART, LOST], {"a": (FAR,)}, {"only": ("ring",)}, [], 0),
    ("other architecture", [APART, replace(LOST, when=When((), ("s390x",)))], {"a": (FAR,)}, {}, [], 0),
    ("this architecture", [rule_when(arch=("s390x", "x86*"))], {"a": (NEAR,)}, {}, [("apart", "at-risk")], 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "structs", "options", "expected", "status"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_findings_and_status(monkeypatch, rules, structs, options, expected, status):
    report = check(monkeypatch, rules, structs, **options)
    assert sorted((f.rule.id, f.verdict.outcome.value) for f in report.findings) == expected
    assert report.exit_status == status


NOTHING = [
    # id, rules, inputs, options, why a run that judged nothing is not green
    ("shipped rules, no such struct", [SHIPPED], {}, "rules: nothing was judged: no input has a struct that the rules name (lost)"),
    ("a note on no struct", [replace(LOST, severity=Severity.NOTE)], {}, "rules: nothing was judged: no input has a struct that the rules name (lost)"),
    ("other struct asked for", [APART], {"only": ("other",)}, "--struct: nothing was judged: no input has a struct other"),
    ("other structs than a pattern's", [replace(APART, struct="*")], {"only": ("other*s",)},
     "--struct: nothing was judged: no struct of the inputs matches other*s"),
    ("other architecture", [rule_when(arch=("s390x",))], {}, "rules: nothing was judged: they are for other targets, versions or configurations"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "options", "why"), [case[1:] for case in NOTHING], ids=[case[0] for case in NOTHING])
def test_nothing_judged_is_never_0(monkeypatch, rules, options, why):
    report = check(monkeypatch, rules, {"a": (FAR, OTHER)}, **options)
    assert [str(unread) for unread in report.unread] == [why]
    assert report.exit_status == 3


CONFIGURATIONS = [
    # what the rule wants, what is configured, whether it judges
    (("SMP",), {"SMP"}, True),
    (("SMP",), set(), False),
    (("!SMP",), set(), True),
    (("!SMP",), {"SMP"}, False),
    (("SMP", "!NUMA"), {"SMP"}, True),
    (("SMP", "!NUMA"), {"SMP", "NUMA"}, False),
    (("SMP",), None, True),
]


STATED = [
    # what the rule wants, what the configuration says, what the banner says, why it is left out, what is assumed
    (When(("SMP",)), None, (), None, ("`SMP`",)),
    (When(("!SMP",)), None, (), None, ("`!SMP`",)),
    (When(("SMP",)), None, ("SMP",), None, ()),
    (When(("!SMP",)), None, ("SMP",), "for a configuration with !SMP, which vmlinux has not", ()),
    (When(("PREEMPT_RT",)), None, ("!PREEMPT_RT",), "for a configuration with PREEMPT_RT, which vmlinux has not", ()),
    (When(("SMP", "MEMCG")), None, ("SMP",), None, ("`MEMCG`",)),
    (When(("SMP",)), {"SMP"}, (), None, ()),
]


@pytest.mark.parametrize(("when_", "configured", "options", "left_out", "assumptions"), STATED)
def test_what_an_input_states_of_its_configuration(when_, configured, options, left_out, assumptions):
    config = None if configured is None else frozenset(configured)
    reading = Reading("vmlinux", "dwarf", X86_64, (FAR,), config=config, options=frozenset(options))
    assert (exclusion_reason(when_, reading), assumed_conditions(when_, reading)) == (left_out, assumptions)


SERIES = [
    # the range, a version of which only two numbers are known, whether it is in it
    (Versions((6, 1)), (6, 1), True),
    (Versions((6, 1, 1)), (6, 1), None),
    (Versions((6, 1, 5), (6, 1, 9)), (6, 1), None),
    (Versions((), (6, 1, 50)), (6, 1), None),
    (Versions((), (6, 1)), (6, 1), False),
    (Versions((), (6, 2)), (6, 1), True),
    (Versions((6, 2)), (6, 1), False),
    (Versions((6, 0, 5), (6, 2, 3)), (6, 1), True),
]


@pytest.mark.parametrize(("range_", "version", "is_in"), SERIES)
def test_a_version_of_two_numbers(range_, version, is_in):
    reading = Reading("vmlinux", "dwarf", X86_64, (FAR,), kernel=version)
    assert range_.admits(version) is is_in
    assert (exclusion_reason(When(kernel=range_), reading) is None) == (is_in is not False)
    assert bool(assumed_conditions(When(kernel=range_), reading)) == (is_in is None)


MACHINES = [
    # what the rule is for, the input's target, whether it is left out, whether it is assumed
    (("x86_64",), "unknown64-le", False, True),
    (("s390x",), "unknown64-le", True, False),
    (("x86*",), "x86_64", False, False),
    (("x86*",), "aarch64", True, False),
    (("i386",), "unknown64-le", True, False),
]


@pytest.mark.parametrize(("arch", "target", "is_left_out", "is_assumed"), MACHINES)
def test_an_input_that_names_no_machine(arch, target, is_left_out, is_assumed):
    reading = Reading("btf", "btf", target_named(target), (FAR,))
    assert (exclusion_reason(When(arch=arch), reading) is not None) == is_left_out
    assert bool(assumed_conditions(When(arch=arch), reading)) == is_assumed


def test_the_report_says_what_was_taken_to_hold():
    rules = (replace(rule_when("SMP"), id="a"), replace(rule_when("!SMP"), id="b"), replace(rule_when("MEMCG"), id="c", struct="gone"))
    reading = Reading("vmlinux", "dwarf", X86_64, (FAR,))
    found = run.report(run.Inputs([reading], [], Surroundings()), (Pack("p", "p.toml", rules),), (), Options())
    assert found.readings[0].notes == ("conditions that it does not state, taken to hold: `!SMP` (1 rule), `SMP` (1 rule)",)


@pytest.mark.parametrize(("stated", "given", "expected"), [
    (None, (6, 12, 0), (6, 12, 0)), ((6, 1), (6, 1, 176), (6, 1, 176)), ((6, 1), (6, 2, 0), (6, 1)), ((6, 1, 9), (6, 1, 8), (6, 1, 9)),
])
def test_the_command_line_adds_to_the_version_that_is_stated(stated, given, expected):
    reading = Reading("vmlinux", "dwarf", X86_64, (), is_kernel=True, kernel=stated)
    assert run.with_kernel_version(reading, given).kernel == expected


@pytest.mark.parametrize(("wanted", "configured", "judges"), CONFIGURATIONS)
def test_when_configured(wanted, configured, judges):
    config = None if configured is None else frozenset(configured)
    reading = Reading("tree", "clang", X86_64, (FAR,), config=config)
    found = list(judge_input(JudgedInput(reading, (Pack("p", "p.toml", (rule_when(*wanted),)),)), Options()))
    assert bool(found) == judges


VERSIONS = [
    # the range, what the input is, whether the rule judges
    (Versions((6, 8)), (6, 8, 0), True),
    (Versions((6, 8)), (6, 7, 12), False),
    (Versions((6, 8)), None, True),
    (Versions((), (6, 12)), (6, 11, 9), True),
    (Versions((), (6, 12)), (6, 12, 0), False),
    (Versions((6, 1), (6, 1, 50)), (6, 1, 49), True),
    (Versions((6, 1), (6, 1, 50)), (7, 0, 0), False),
]


@pytest.mark.parametrize(("wanted", "version", "judges"), VERSIONS)
def test_when_of_a_version(wanted, version, judges):
    reading = Reading("vmlinux", "dwarf", X86_64, (FAR,), kernel=version)
    rule = replace(APART, when=When(kernel=wanted))
    assert bool(list(judge_input(JudgedInput(reading, (Pack("p", "p.toml", (rule,)),)), Options()))) == judges


SPELLINGS = [
    # a version as a kernel or --kernel-version tells it, a range as a rule has it, whether it is in it
    ("6.8", ">=6.8", True),
    ("6.8", ">=6.8.0", True),
    ("6.8", "<6.8.0", False),
    ("6.8", ">=6.8.1", False),
    ("6.8", "<6.8.1", True),
    ("6.8.0", ">=6.8", True),
    ("6.8.0", "<6.8", False),
    ("6.8.0-rc1", ">=6.8.0", True),
    ("6.8-rc3", ">=6.8", True),
    ("6.8-rc3", "<6.8.0", False),
    ("6.7.12-arch1-1", ">=6.8.0", False),
    ("6.7.12", "<6.8", True),
    ("6.12.107+deb13-amd64", ">=6.8, <6.12.107", False),
    ("6.12.107+deb13-amd64", ">= v6.12.107 , < v6.12.108", True),
    ("6.10", ">=6.9", True),
    ("10.0", ">=6.12.100", True),
]


@pytest.mark.parametrize(("version", "range_", "is_in"), SPELLINGS)
def test_versions_as_they_are_written(version, range_, is_in):
    text = f'[[rule]]\nid = "r"\nstruct = "s"\nkind = "size"\nmax = 8\nwhy = "w"\nwhen = {{ kernel = "{range_}" }}\n'
    (rule,) = rule_file.parse(text, "r.toml").rules
    assert (linux_version.release_version(version) in rule.when.kernel) == is_in


@pytest.mark.parametrize("first", [(6,), (6, 8), (6, 8, 0)])
@pytest.mark.parametrize("version", [(6, 8), (6, 8, 0)])
def test_a_version_has_three_numbers(version, first):
    assert version in Versions(first, (6, 8, 1))
    assert version not in Versions((), (6, 8))


@pytest.mark.parametrize(
    ("is_kernel", "output", "text_message", "judges"),
    [
        (True, None, (6, 7), False),
        (True, None, (6, 8), True),
        (True, (6, 8, 1), (6, 7), True),
        (False, None, (6, 7), True),
    ],
)
def test_the_version_of_a_kernel_that_does_not_tell_it(monkeypatch, is_kernel, output, text_message, judges):
    reading = Reading("a", "btf", X86_64, (FAR,), is_kernel=is_kernel, kernel=output)
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: reading)
    pack = Pack("p", "p.toml", (JOINT, replace(APART, when=When(kernel=Versions((6, 8))))))
    report = run.check(["a"], (pack,), (), Options(kernel=text_message))
    assert (report.coverage.applied == 2) == judges


def test_a_range_of_versions_reads_as_words(monkeypatch):
    rules = [APART, replace(LOST, when=When(kernel=Versions((6, 8), (6, 12))))]
    old = Reading("a", "dwarf", X86_64, (FAR,), kernel=(6, 1, 3))
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: old)
    report = run.check(["a"], (Pack("p", "p.toml", tuple(rules)),), (), Options())
    assert report.coverage.skipped == (SkippedRule("lost", "for Linux from 6.8 on and before 6.12, not 6.1.3"),)


def test_fields_that_a_kernel_lacks_are_counted_and_no_failure_of_shipped_rules(monkeypatch):
    kernel = Reading("a", "dwarf", X86_64, (FAR,), is_kernel=True)
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: kernel)
    report = run.check(["a"], (Pack("p", "p.toml", (APART, replace(UNFIELDED, shipped=True))),), (), Options())
    assert (report.findings, report.exit_status) == ((), 0)
    assert report.coverage.unresolved == (Unresolved("unfielded", "struct ring has no field `haed` (did you mean `head`?)"),)
    assert (report.coverage.rules, report.coverage.applied) == (2, 1)


UNUSED = [
    # rule, what is said of it with --unused, and the exit status; without, it is no finding
    (SHIPPED, "struct lost is in none of the inputs", 0),
    (replace(UNFIELDED, shipped=True), "struct ring has no field `haed` (did you mean `head`?)", 0),
    (replace(APART, id="shipped", shipped=True, when=When(kernel=Versions((), (6, 1)))),
     "its `when` holds in none of the inputs: for Linux before 6.1, not 6.12.0", 0),
    (replace(LOST, when=When(arch=("s390x",))), "its `when` holds in none of the inputs: for s390x, not x86_64", 3),
    (replace(APART, id="old", when=When(kernel=Versions((), (6, 1)))),
     "its `when` holds in none of the inputs: for Linux before 6.1, not 6.12.0", 3),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text_message", "status"), UNUSED, ids=[rule.id for rule, *_ in UNUSED])
def test_unused_rules_are_findings_when_asked_for(monkeypatch, rule, text_message, status):
    kernel = Reading("a", "dwarf", X86_64, (FAR,), is_kernel=True, kernel=(6, 12, 0))
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: kernel)
    pack = Pack("p", "p.toml", (APART, rule))
    assert run.check(["a"], (pack,), (), Options()).findings == ()
    report = run.check(["a"], (pack,), (), run_options(unused=True))
    noted = replace(rule, severity=Severity.NOTE) if rule.shipped else rule
    assert [(f.rule, f.verdict.message) for f in report.findings] == [(noted, text_message)]
    assert report.exit_status == status


def test_accesses_of_fields_that_no_struct_has(monkeypatch):
    accesses = (Access("haed", "hot-read", source=Source("p.toml", 4)), Access("t*", "hot-write", source=Source("p.toml", 5)))
    pack = Pack("p", "p.toml", (APART,), (StructIntent("ring", Source("p.toml", 3), accesses=accesses),))
    for shipped, output in ((False, ("p.toml:4: struct ring has no field `haed` (did you mean `head`?)",)), (True, ())):
        report = run.check(inputs(monkeypatch, a=(FAR,)), (replace(pack, shipped=shipped),), (), Options())
        assert tuple(map(str, report.coverage.unresolved)) == output
        assert [(f.rule.id, f.rule.source) for f in report.findings] == [("unused/ring/haed", Source("p.toml", 4)) for _ in output]


MISSPELT = [
    # structs with a table beside the rule on ring, what is noted
    (("rign",), ("no rule is on struct rign (did you mean `ring`?)",)),
    (("Ring",), ("no rule is on struct Ring (did you mean `ring`?)",)),
    (("rign", "ring"), ()),  # another build may have both
    (("socket",), ()),  # other inputs may have it
    (("rin*",), ()),
    (("far",), ()),
]


@pytest.mark.parametrize(("names", "noted"), MISSPELT)
def test_tables_of_misspelt_structs(monkeypatch, names, noted):
    pack = Pack("p", "p.toml", (APART,), tuple(StructIntent(name, Source("p.toml", 3)) for name in names))
    structs = (FAR, replace(FAR, name="far"))
    for shipped, expected in ((False, noted), (True, ())):
        report = run.check(inputs(monkeypatch, a=structs), (replace(pack, shipped=shipped),), (), Options())
        assert tuple(finding.verdict.message for finding in report.findings) == expected
        assert {finding.rule.source for finding in report.findings} <= {Source("p.toml", 3)}


def test_skipped_rules_are_counted_with_the_reason(monkeypatch):
    report = check(monkeypatch, [APART, replace(LOST, when=When((), ("arm*",)))], {"a": (FAR,)})
    assert report.coverage.skipped == (SkippedRule("lost", "for arm*, not x86_64"),)
    assert report.coverage.unresolved == ()
    assert (report.coverage.rules, report.coverage.applied, report.coverage.structs) == (2, 1, 1)


def test_no_rules_at_all_is_bad_usage(monkeypatch):
    with pytest.raises(UsageError, match="no rules apply to these inputs"):
        check(monkeypatch, [], {"a": (FAR,)})


def test_every_definition_of_a_name_is_judged_and_named(monkeypatch):
    structs = replace(NEAR, origin="v2/main.c"), replace(FAR, origin="v3/main.c")
    report = check(monkeypatch, [JOINT], {"a": structs}, fail_on=Outcome.BROKEN)
    assert sorted(finding_message(f).split(" (the definition ")[1] for f in report.findings) == [
        "at example.h:1 in v2/main.c; it has another layout in v3/main.c)",
        "at example.h:1 in v3/main.c; it has another layout in v2/main.c)",
    ]  # fmt: skip
    assert report.exit_status == 1


def test_one_definition_needs_no_name(monkeypatch):
    report = check(monkeypatch, [APART], {"a": (NEAR,)})
    assert report.findings[0].definition is None


def test_kernel_packs_judge_kernels_alone(monkeypatch):
    pack = Pack("kernel/p", "p.toml", (replace(APART, shipped=True),), kernel=True)
    readings = {"vmlinux": True, "program": False}

    def read(path, wanted, options):
        return Reading(path, "dwarf", X86_64, (NEAR,), is_kernel=readings[path])

    monkeypatch.setattr(dispatch, "read", read)
    report = run.check(tuple(readings), (), (pack,), Options())
    assert [finding.input for finding in report.findings] == ["vmlinux"]


def test_readers_are_told_what_only_kernels_need(monkeypatch):
    asked = []

    def read(path, wanted, options):
        asked.append(wanted)
        return Reading(path, "clang", X86_64, (FAR,))

    monkeypatch.setattr(dispatch, "read", read)
    mine = Pack("mine", "m.toml", (APART,), (StructIntent("ring", Source("m.toml", 1), header="ring.h"),))
    kernel = Pack("kernel/p", "p.toml", (replace(APART, shipped=True), SHIPPED, replace(SHIPPED, struct="*_sock")), kernel=True)
    run.check(("a",), (mine,), (kernel,), Options())
    assert asked[0].names == {"ring", "lost"}
    assert asked[0].kernel == {"lost", "*_sock"}
    assert asked[0].headers == (("ring", "ring.h"),)
    assert (asked[0].narrow(is_kernel=False).names, asked[0].narrow(is_kernel=False).patterns) == ({"ring"}, ())


def test_placement_on_a_line_and_accesses_come_from_the_pack(monkeypatch):
    hot = (Access("head", "hot-write"), Access("tail", "hot-read"))
    intent = StructIntent("ring", Source("m.toml", 1), accesses=hot, placement=Storage("line", Source("m.toml", 2)))
    rule = replace(APART, kind=AccessApart())
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: Reading(path, "dwarf", X86_64, (NEAR,)))
    verdict = run.check(("a",), (Pack("m", "m.toml", (rule,), (intent,)),), (), Options()).findings[0].verdict
    assert (verdict.outcome, verdict.bases, verdict.total) == (Outcome.BROKEN, (0,), 1)


PADDED = struct("ring", 128, member("head", 0, 8, align=8), member("tail", 64 - 16, 8, align=8), member("c", 64, 8), align=None)
PADDED = replace(PADDED, unstated=Unstated.PACKED | Unstated.ALIGNED)


@pytest.mark.parametrize(
    ("held", "outcome"),
    [
        (PADDED, "unknown"),  # starts 48 apart: at risk if aligned to 8, one line if aligned to 64
        (replace(PADDED, align=8), "at-risk"),
        (replace(PADDED, align=64), "broken"),
        (replace(PADDED, bit_size=256 * 8, fields=FAR.fields), None),  # kept either way
    ],
    ids=["not stated", "8", "64", "either way"],
)
def test_an_alignment_that_decides_and_is_not_stated_makes_it_unknown(monkeypatch, held, outcome):
    found = check(monkeypatch, [APART], {"a": (held,)}).findings
    assert [finding.verdict.outcome.value for finding in found] == ([outcome] if outcome else [])
    if outcome == "unknown":
        assert found[0].verdict.message == (
            "The alignment of struct ring is not in the debug information. The rule is broken if it is 64 or 128, "
            'at risk if 1, 2, 4, 8, 16 or 32. Check the header, or state `placement = "aligned:8"` in the rule file.'
        )


def test_findings_are_sorted_by_place_struct_and_rule(monkeypatch):
    early = struct("early", 16, member("head", 0, 8, source=Source("a.h", 9)), member("tail", 8, 8))
    late = struct("late", 16, member("head", 0, 8, source=Source("b.h", 2)), member("tail", 8, 8))
    rules = [replace(APART, id=id_, struct=name) for name in ("late", "early") for id_ in ("z", "b")]
    report = check(monkeypatch, rules, {"b": (late,), "a": (early,)})
    assert [(f.struct.name, f.rule.id) for f in report.findings] == [
        ("early", "b"), ("early", "z"), ("late", "b"), ("late", "z"),
    ]  # fmt: skip


def test_the_line_is_the_targets(monkeypatch):
    on_s390 = replace(FAR, target=target_named("s390x"))
    report = check(monkeypatch, [APART], {"a": (on_s390,)})
    assert (report.findings[0].verdict.line_size, report.findings[0].verdict.outcome) == (256, Outcome.AT_RISK)


LONG, BYTE = "@type:long int", "@type:unsigned char"
SMALL = struct("small", 8, member("a", 0, 1), member("b", 1, 1))
INNER = member("in", 8, 16, member("d", 0, 8), member("e", 8, 1))
UNNAMED = struct("holding", 32, member("c", 0, 8), replace(INNER, type=CType("struct {...}")))
HOLDING = replace(UNNAMED, fields=(UNNAMED.fields[0], replace(INNER, type=CType("struct inner"))))
CROSS = "`c` at 0..7 shares a line with `in.e` at 16..16 in 6 of 8 placements"
BOTH = f"`in.d` at 8..15 shares a line with `in.e` at 16..16 in 7 of 8 placements; {CROSS}"
TYPED = {
    # id, kind, struct of the rule, structs, (struct, outcome) of all verdicts
    "a struct without such fields is passed over": (
        Separate(((LONG,), (BYTE,))), "*", (NEAR, SMALL, OTHER), []),
    "one that a rule names is not": (
        Separate(((LONG,), (BYTE,))), "ring", (NEAR,), [("ring", "unknown")]),
    "what an inner struct without a name has is its own": (
        Separate(((LONG,), (BYTE,))), "*", (UNNAMED,), [("holding", "at-risk", BOTH)]),
    "what one with a name has is judged there": (
        Separate(((LONG,), (BYTE,))), "*", (HOLDING,),
        [("holding", "at-risk", CROSS)]),
    "but where the rule names the struct": (
        Separate(((LONG,), (BYTE,))), "holding", (HOLDING,),
        [("holding", "at-risk", BOTH)]),
    "accesses by type": (
        AccessApart(), "*", (HOLDING, SMALL),
        [("holding", "at-risk", "`in.e` (hot-read) at 16..16 shares a line with `c` (hot-write) at 0..7 in 6 of 8 placements"),
         ("small", "kept")]),
    "a field's own word stands above that of its type": (
        AccessApart(), "ring", (NEAR,),
        [("ring", "at-risk", "`tail` (hot-read) at 8..15 shares a line with `head` (hot-write) at 0..7 in 7 of 8 placements")]),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "named", "structs", "verdicts"), TYPED.values(), ids=TYPED)
def test_rules_on_types(monkeypatch, kind, named, structs, verdicts):
    rule = replace(APART, kind=kind, struct=named)
    source = rule.source
    text_message = (
        StructIntent("*", source, accesses=(Access(LONG, "hot-write"), Access(BYTE, "hot-read"))),
        StructIntent("ring", source, accesses=(Access("tail", "hot-read"),)),
    )
    report = run.check(inputs(monkeypatch, a=structs), (Pack("mine", "rules.toml", (rule,), text_message),), (), Options())
    output = [(f.struct.name if f.struct else None, f.verdict.outcome.value, f.verdict.message) for f in (*report.findings, *report.kept_findings)]
    assert [each[: len(wanted)] for each, wanted in zip(output, verdicts, strict=False)] == [tuple(v) for v in verdicts]
    assert [name for name, *_ in output[len(verdicts) :]] == ([] if verdicts else [None]), "a rule that judges nothing is told"
