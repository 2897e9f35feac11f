"""What `suggest` makes of a search: alternatives, what was not searched, what it does not claim, and refusals."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from layoutlint.errors import UsageError
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.rule import Rule, Severity
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.size import Size
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.suggestion import run
from layoutlint.suggestion.alternatives import Budget
from layoutlint.suggestion.builds import Refused, Request
from layoutlint.suggestion.orders.common_order import CannotJoin
from layoutlint.suggestion.orders.result import Aimed, Alternative, Move, Refusal, RuleOutcome, Suggestion
from layoutlint.suggestion.run import best_order
from tests.harness.build import member, struct

HERE = Source("r.toml", 1)
MOVES, SIZE = Request("box"), Request("box", ("size", "moves"))
RULE, OTHER = (Rule(name, "box", Size(max=8), Severity.ERROR, "w", HERE) for name in ("small", "other"))


def braces(offset: int, *members: Field, aggregate: str = "struct") -> Field:
    """A struct or union without a name."""
    size = sum((each.bit_size or 0) for each in members) // 8
    return replace(member(None, offset, size, *members, aggregate=aggregate), type=CType(f"{aggregate} {{...}}"))


def longs(*names: str) -> list[Field]:
    return [member(name, 8 * at, 8) for at, name in enumerate(names)]


PLAIN = struct("box", 32, *longs("a", "b", "c", "d"))
NAMED = struct("box", 32, *longs("a", "b"), member("in", 16, 16, *longs("x", "y")))
OPEN = struct("box", 32, *longs("a", "b"), braces(16, *longs("x", "y")))
ONE = struct("box", 24, *longs("a", "b"), braces(16, *longs("x")))
UNION = struct("box", 24, *longs("a", "b"), braces(16, *longs("x", "y"), aggregate="union"))
DEEP = struct("box", 64, member("a", 0, 8), braces(8, braces(0, *longs("x", "y", "z")), member("w", 0, 8), aggregate="union"), braces(40, *longs("p", "q")))
NESTED = struct("box", 64, braces(0, member("k", 0, 8), braces(8, *longs("x", "y"))))


def order_of(of: Struct, **more: object) -> Suggestion:
    """An order that moves a member."""
    return Suggestion("s.o", of, **{"status": "optimal", "new": of, "order": ("b", "a"), "moves": (Move("b", None),)} | more)  # type: ignore[arg-type]


def outcome(rule: Rule, *paths: str, after: Outcome = Outcome.KEPT, of: Struct = OPEN) -> RuleOutcome:
    layout = Layout(of)
    evidence = tuple(place for path in paths if (place := layout.find(path)) is not None)
    assert len(evidence) == len(paths)
    return RuleOutcome(rule, Verdict(Outcome.BROKEN, "m", evidence), Verdict(after, "m"))


def suggestion(result: Suggestion, request: Request = MOVES, has_rules: bool = False, arranged: tuple[str, ...] = ("one",), others: tuple[Alternative, ...] = (), steps: int = 1) -> Suggestion:
    """The suggestion of a search that ends with a result; `steps` is in how many its alternatives take a tenth of the effort."""
    def take(each: str, core: list[str], budget: Budget, is_forced: bool, _: object) -> tuple[Alternative, ...]:
        assert (each, core, is_forced) == ("one", [rule.id for rule in result.core], request.is_forced)
        for number in range(steps):
            budget.take(budget.allot(0.1, f"step {number}"))
        return others

    search = SimpleNamespace(best=lambda given: result if given is request else None, has_rules=has_rules, has_declarations=False, arranged=arranged)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_joint_search", lambda subjects, label, given: search if (label, given) == ("s.o", request) else None)
        patch.setattr(run, "alternatives", take)
        patch.setattr(run, "with_patch", lambda given, suggestion: suggestion if given == arranged else None)
        return best_order(["one"], "s.o", request)  # type: ignore[list-item]


def unsearched_note(count: int, names: str) -> str:
    return f"structs without a name move as one: orders of the {count} members in {names} were not searched"


INSIDE = "a struct without a name moves as one: orders of the members inside it were not searched, and can keep the rules"
FRONT = "`b` is first in place of `a`: code outside of what was searched may take the address of the struct for that of `a`"
NOTES = [
    # a result, the aims, and the note on what was not searched
    (order_of(PLAIN), MOVES, None),
    (order_of(NAMED), MOVES, None),
    (order_of(ONE), MOVES, None),
    (order_of(UNION), MOVES, None),
    (order_of(OPEN), MOVES, unsearched_note(2, "`{x}`")),
    (order_of(OPEN), SIZE, unsearched_note(2, "`{x}`")),
    (order_of(OPEN, moves=()), MOVES, None),
    (order_of(OPEN, moves=()), SIZE, unsearched_note(2, "`{x}`")),
    (order_of(OPEN, moves=(), status="unknown"), SIZE, unsearched_note(2, "`{x}`")),
    (order_of(DEEP), MOVES, unsearched_note(5, "`{x}`, `{p}`")),
    (order_of(NESTED), MOVES, unsearched_note(4, "`{k}`")),
    *((order_of(of, moves=(), status="infeasible", core=core, rules=rules), MOVES, note) for of, core, rules, note in (
        (OPEN, (RULE,), (outcome(RULE, "x"),), INSIDE),
        (OPEN, (RULE,), (outcome(RULE, "a", "y"),), INSIDE),
        (OPEN, (RULE,), (outcome(RULE, "a", "b"),), None),
        (OPEN, (RULE,), (outcome(OTHER, "x"), outcome(RULE, "a")), None),
        (OPEN, (RULE, OTHER), (outcome(OTHER, "x"), outcome(RULE, "a")), INSIDE),
        (OPEN, (), (outcome(OTHER, "x"),), None),
        (ONE, (RULE,), (outcome(RULE, "x", of=ONE),), None),
        (NAMED, (RULE,), (outcome(RULE, "in.x", of=NAMED),), None),
        (UNION, (RULE,), (outcome(RULE, "x", of=UNION),), None),
        (DEEP, (RULE,), (outcome(RULE, "y", of=DEEP),), INSIDE),
        (DEEP, (RULE,), (outcome(RULE, "w", of=DEEP),), None),
        (DEEP, (RULE,), (outcome(RULE, "q", of=DEEP),), INSIDE),
        (NESTED, (RULE,), (outcome(RULE, "y", of=NESTED),), INSIDE),
        (NESTED, (RULE,), (outcome(RULE, "k", of=NESTED),), INSIDE),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("result", "request_", "note"), NOTES)
def test_what_was_not_searched(result, request_, note):
    result = replace(result, notes=("first",))
    begins = [FRONT] if request_ is SIZE and result.moves else []
    assert suggestion(result, request_) == replace(result, notes=("first", *([note] if note else []), *begins))


def test_paths_of_a_contradiction_count_by_their_first_member():
    of = struct("box", 64, member("a", 0, 8), braces(8, replace(member("v", 0, 32), dims=(4,), type=CType("long", "[4]")), member("in", 32, 8, member("k", 0, 8))))
    for path, note in (("v[1]", INSIDE), ("in.k", INSIDE), ("a", None)):
        result = order_of(of, moves=(), status="infeasible", core=(RULE,), rules=(outcome(RULE, path, of=of),))
        assert suggestion(result).notes == ((note,) if note else ())


def alternative(size: int, *moves: Move) -> Alternative:
    return Alternative((), None, 64, ("d", str(size)), moves, replace(PLAIN, bit_size=8 * size), (outcome(OTHER, "a"),), "feasible", "", "")


SMALL, LARGE = alternative(64, Move("d", None)), alternative(128, Move("d", None), Move("c", "d"))
CONTRADICTION = order_of(PLAIN, status="infeasible", new=None, order=(), moves=(), core=(RULE,), reason="r", refusals=(Refusal("text", "r", "f", 1),))
NO_CHOICE = "alignment is tried for one build, and not for the builds of a matrix together"


def test_alternatives_of_a_contradiction():
    assert suggestion(CONTRADICTION, others=(SMALL, LARGE)) == replace(CONTRADICTION, alternatives=(SMALL, LARGE))
    assert suggestion(CONTRADICTION, arranged=("one", "two")) == replace(CONTRADICTION, notes=(NO_CHOICE,))
    forced = Request("box", is_forced=True)
    assert suggestion(CONTRADICTION, forced, others=(SMALL,)).alternatives == (SMALL,)


@pytest.mark.parametrize(("effort", "steps", "note"), [
    (4.0, 9, ()), (1.0, 11, ()),
    (2.0, 12, ("not tried within --effort 2: step 11; raise --effort",)),
    (0.25, 16, ("not tried within --effort 0.25: step 11, step 12, step 13 and 2 more; raise --effort",)),
])  # fmt: skip
def test_what_is_not_tried_within_the_effort(effort, steps, note):
    got = suggestion(CONTRADICTION, Request("box", effort=effort), others=(SMALL,), steps=steps)
    assert got == replace(CONTRADICTION, alternatives=(SMALL,), notes=note)


@pytest.mark.parametrize(("status", "has_rules", "expected"), [
    ("infeasible", False, (SMALL,)), ("infeasible", True, (SMALL,)), ("unknown", True, (SMALL,)), ("unknown", False, ()), ("optimal", True, ()), ("refused", True, ()),
])  # fmt: skip
def test_when_alternatives_are_searched(status, has_rules, expected):
    assert suggestion(replace(CONTRADICTION, status=status), has_rules=has_rules, others=(SMALL,)).alternatives == expected


@pytest.mark.parametrize(("number", "one"), [(1, SMALL), (2, LARGE)])
def test_an_alternative_that_is_chosen(number, one):
    got = suggestion(CONTRADICTION, Request("box", alternative=number), others=(SMALL, LARGE))
    assert got == replace(
        CONTRADICTION, status="feasible", new=one.new, order=one.order, moves=one.moves, rules=one.rules, core=(), refusals=(), reason="", chosen=one,
        aims=(Aimed("moves", 0, len(one.moves), 0), Aimed("size", 32, one.size, 0)),
    )  # fmt: skip


def test_an_alternative_that_is_missing():
    for others, text in (((SMALL, LARGE), "box has 2 alternatives, and no number 3"), ((SMALL,), "box has 1 alternative, and no number 3")):
        with pytest.raises(UsageError, match=text):
            suggestion(CONTRADICTION, Request("box", alternative=3), others=others)
    unsized = replace(CONTRADICTION, struct=replace(PLAIN, bit_size=None))
    assert suggestion(unsized, Request("box", alternative=1), others=(SMALL,)).aims[1] == Aimed("size", 0, 64, 0)


def test_an_alternative_of_several_builds():
    given = replace(CONTRADICTION, aims=(Aimed("moves", 0, 1, 0),), new=PLAIN, order=("a",), moves=(Move("a", "b"),))
    got = suggestion(given, Request("box", alternative=1), arranged=("one", "two"))
    assert got == replace(given, status="unknown", new=None, order=(), moves=(), aims=(), reason=NO_CHOICE, notes=(NO_CHOICE,))


KEPT, BROKEN, LOST = outcome(RULE, "a"), outcome(OTHER, "a", after=Outcome.BROKEN), outcome(RULE, "a", after=Outcome.UNKNOWN)


@pytest.mark.parametrize(("status", "rules", "names"), [
    ("optimal", (KEPT,), None), ("optimal", (), None), ("optimal", (KEPT, BROKEN), "other"), ("feasible", (LOST, BROKEN), "small, other"),
    ("refused", (BROKEN,), None), ("unknown", (BROKEN,), None), ("infeasible", (BROKEN,), None),
])  # fmt: skip
def test_no_order_is_claimed_while_a_rule_stays_broken(status, rules, names):
    result = order_of(PLAIN, status=status, rules=rules, reason="before")
    expected = result if names is None else replace(result, status="unknown", reason=f"no order was searched that keeps {names}")
    assert suggestion(result) == expected


def subject(source: Source | None, build: str = "") -> SimpleNamespace:
    return SimpleNamespace(path="s.o", build=SimpleNamespace(name=build) if build else None, input_struct=SimpleNamespace(struct=replace(PLAIN, source=source)))


@pytest.mark.parametrize(("source", "file", "line"), [(Source("box.h", 7), "box.h", 7), (None, "s.o", None)])
def test_refusals(source, file, line, monkeypatch):
    def refuse(*_: object) -> None:
        raise Refused("it is a union")

    monkeypatch.setattr(run, "arrangements", refuse)
    for build, place in (("", ""), ("debug", "in debug: ")):
        got = best_order([subject(source, build)], "the input", Request("box"))  # type: ignore[list-item]
        reason = f"{place}it is a union"
        assert got == Suggestion("the input", replace(PLAIN, source=source), "refused", None, reason=reason, refusals=(Refusal("struct", reason, file, line),))


def test_builds_that_open_no_struct_alike_are_joined_as_declared(monkeypatch):
    asked: list[tuple[str, bool]] = []

    def arrangements(each: str, opens: bool, splits: bool) -> list[str]:
        asked.append((each, opens))
        return [f"{each} {opens}"]

    def join(every: list[list[str]]) -> list[list[str]]:
        if every[-1] == ["b True"] or every[0] == ["none False"]:
            raise CannotJoin("no order is common")
        return every

    monkeypatch.setattr(run, "arrangements", arrangements)
    monkeypatch.setattr(run, "join", join)
    assert run._join(["a"], False) == [["a True"]]  # type: ignore[list-item]
    assert run._join(["a", "b"], False) == [["a False"], ["b False"]]  # type: ignore[list-item]
    assert asked == [("a", True), ("a", True), ("b", True), ("a", False), ("b", False)]
    with pytest.raises(Refused, match="no order is common"):
        run._joint_search(["none", "b"], "s.o", Request("box"))  # type: ignore[list-item]
