"""Rules as assertions, for builds without layoutlint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.commands.rules.statements import Assertion, Block, Remark
from layoutlint.geometry.layout import cached_layout
from layoutlint.judgement.c_assertion import CannotAssert, require_layout
from layoutlint.judgement.condition import ALWAYS
from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.kinds.c_conditions import conditions
from layoutlint.lint import run
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.placing import PlacementTable
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class RuleAssertion(Record, frozen=True):
    """The conditions of a rule on one struct, or why there are none."""

    rule: Rule
    struct: str
    conditions: tuple[str, ...] = ()
    reason: str = ""
    """Why no condition in C is equivalent; empty if there are conditions."""

    @property
    def block(self) -> Block:
        """Its text in C."""
        message = f"layoutlint {self.rule.id}: {self.rule.why}"
        lines = [Assertion(condition, f"!({condition})", message) for condition in self.conditions]
        refusal = (Remark(f"not asserted: {self.rule.id} on {self.struct}: {self.reason}"),)
        return Block(self.struct, (*lines, *(refusal if self.reason else ())))


class Assertions(Record, frozen=True):
    """The assertions of rule files on an input, and what could not be read."""

    rows: tuple[RuleAssertion, ...]
    unread: tuple[Unread, ...]


def assert_rules(path: str, packs: tuple[Pack, ...], options: Options) -> Assertions:
    """Return the assertions for rules on the structs of an input. Raises RuleFileError."""
    inputs = run.read((path,), packs, (), options)
    rows = [
        row
        for number, reading in enumerate(inputs.readings)
        for row in _input_rows(JudgedInput(reading, packs, inputs.surroundings.select(number)), options)
    ]
    return Assertions(tuple(dict.fromkeys(rows)), tuple(inputs.unread))


def _input_rows(judged: JudgedInput, options: Options) -> Iterator[RuleAssertion]:
    for pack in judged.packs:
        table = PlacementTable(
            pack, judged.reading, judged.surroundings, options.line_size, options.min_align
        )
        for rule in pack.rules:
            structs: Iterable[Struct] = judged.structs.find(rule.struct) if rule.struct != VARIABLES else ()
            has_rows = False
            for struct in structs:
                has_rows = True
                yield _assertion(rule, struct, table)
            if not has_rows:
                reason = "it is about variables" if rule.struct == VARIABLES else "its struct is not there"
                yield RuleAssertion(rule, rule.struct, reason=reason)


def _assertion(rule: Rule, struct: Struct, table: PlacementTable) -> RuleAssertion:
    try:
        return RuleAssertion(rule, struct.name, _conditions(rule, struct, table))
    except (CannotAssert, CannotTell) as error:
        return RuleAssertion(rule, struct.name, reason=str(error))


def _conditions(rule: Rule, struct: Struct, table: PlacementTable) -> tuple[str, ...]:
    """Return the conditions; raise CannotAssert or CannotTell."""
    refusals = {
        "it applies to some configurations only (`when`)": rule.when != ALWAYS,
        "it tolerates some placements": bool(rule.tolerate),
        "it is about the surroundings of the struct": rule.around,
        "it names structs by a pattern": is_pattern(rule.struct),
    }
    for reason, holds in refusals.items():
        if holds:
            raise CannotAssert(reason)
    require_layout(struct)
    where = table.select(rule)
    layout = cached_layout(struct)
    cases = where.cases(layout)
    if len(cases) > 1:
        raise CannotAssert("its placements depend on an alignment that the input does not state")
    return conditions(rule.kind, where.context(layout, cases[0].placements))
