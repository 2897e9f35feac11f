"""The rules on a struct that is put in another order, with its placements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from layoutlint.geometry.layout import Layout, Place, cached_layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement.context import Access, CannotTell, NotApplicable
from layoutlint.judgement.rule import VARIABLES, Rule
from layoutlint.judgement.verdict import Outcome, Verdict, unknown
from layoutlint.lint import slab_placements
from layoutlint.lint.judge import judge_placements
from layoutlint.lint.options import Options
from layoutlint.lint.placing import Case, PlacementTable, RulePlacements
from layoutlint.lint.subject import InputStruct
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED, Storage
from layoutlint.model.structs import Struct
from layoutlint.suggestion.orders.demands import Demand, demands


class Ruled(Record, frozen=True):
    """A rule on the struct, with its placements."""

    rule: Rule
    where: RulePlacements
    cases: tuple[Case, ...]
    """The placements of the struct as it is."""
    before: Verdict
    is_embedded: bool
    """Whether containers decide on its placements, so that its size must stay."""

    def cases_at(self, struct: Struct) -> tuple[Case, ...]:
        """Return the placements of the struct in another order. Raises CannotTell."""
        return self.cases if self.is_embedded else self.where.cases(Layout(struct))

    def judge(self, struct: Struct) -> Verdict:
        """Return the verdict on the struct in another order."""
        try:
            verdicts = list(self._verdicts(struct))
        except CannotTell as error:
            return unknown(str(error))
        worst = max(verdicts, key=lambda verdict: _RANK[verdict.outcome])
        if len({verdict.outcome for verdict in verdicts}) > 1:
            return unknown(f"it depends on the alignment of the struct: {worst.message}")
        return worst

    def _verdicts(self, struct: Struct) -> Iterator[Verdict]:
        layout = Layout(struct)
        for case in self.cases_at(struct):
            context = self.where.context(layout, case.placements, is_pattern(self.rule.struct))
            yield judge_placements(self.rule, self.rule.kind.check, context)

    def demands(self, struct: Struct, case: Case) -> tuple[tuple[Demand, ...], ...]:
        """Return the demands in a placement; one for each base if the rule may fail at some.

        Raises CannotState and CannotTell.
        """
        layout, is_one_of_many = cached_layout(struct), is_pattern(self.rule.struct)
        where = case.placements
        if not self.rule.tolerate:
            return (demands(self.rule.kind, self.where.context(layout, where, is_one_of_many)),)
        each = (replace(where, bases=(base,)) for base in where.bases)
        return tuple(demands(self.rule.kind, self.where.context(layout, one, is_one_of_many)) for one in each)


_RANK = {Outcome.KEPT: 0, Outcome.AT_RISK: 1, Outcome.BROKEN: 2, Outcome.UNKNOWN: 3}


def rules_of(input_struct: InputStruct, options: Options) -> tuple[list[Ruled], tuple[str, ...]]:
    """Return the rules that can be judged on the struct, and notes on the others."""
    judged, struct = input_struct.judged, input_struct.struct
    ruled, notes = [], list[str]()
    if options.slabs is not None:
        notes += slab_placements.refusals((struct,), options.slabs)
    for pack in judged.packs:
        table = PlacementTable(
            pack,
            judged.reading,
            judged.surroundings,
            options.line_size,
            options.min_align,
            owners=judged.owners(pack, options.read),
        )
        for rule in pack.rules:
            if rule.struct == VARIABLES or not struct.matches(rule.struct) or judged.exclusion(rule.when):
                continue
            if rule.around:
                notes.append(f"{rule.id} is about the containers of the struct, and was not judged")
                continue
            where = table.select(rule)
            try:
                one = _judge_rule(rule, where, struct)
            except NotApplicable:
                continue
            except CannotTell as error:
                notes.append(f"{rule.id} was not judged: {error}")
                continue
            if one.before.outcome is Outcome.UNKNOWN:
                if not one.before.is_not_applicable and not one.before.is_missing_field:
                    notes.append(f"{rule.id} was not judged: {one.before.message}")
                continue
            ruled.append(one)
    return ruled, tuple(notes)


def _judge_rule(rule: Rule, where: RulePlacements, struct: Struct) -> Ruled:
    """Return a rule with its verdict. Raises CannotTell."""
    cases = where.cases(cached_layout(struct))
    storage = where.pack.storage(struct)
    is_embedded = storage is not None and storage.word == EMBEDDED
    is_embedded = is_embedded or any(case.placements.parts for case in cases)
    one = Ruled(rule, where, cases, unknown(""), is_embedded)
    return replace(one, before=one.judge(struct))


def storage_of(ruled: Sequence[Ruled], struct: Struct) -> Storage | None:
    """Return how rule files say that objects of a struct are allocated; None if none does."""
    stated = (one.where.pack.storage(struct) for one in ruled)
    return next((storage for storage in stated if storage is not None), None)


def declared_paths(input_struct: InputStruct, options: Options) -> tuple[tuple[Place, ...], ...]:
    """Return the fields that each side uses in the declared accesses, or without sides all code.

    Cold fields do not count. Raises CannotTell if no access is declared.
    """
    struct = input_struct.struct
    by_side: dict[str, dict[Place, None]] = {}
    for place, access in _declared_uses(input_struct, options):
        if access.access != "cold":
            by_side.setdefault(access.side, {})[place] = None
    if not by_side:
        raise CannotTell(f"no access is declared for a field of {struct.aggregate} {struct.name}")
    return tuple(map(tuple, by_side.values()))


def declared_accesses(input_struct: InputStruct, options: Options) -> dict[str, tuple[str, ...]]:
    """Return the declared accesses of members in words, by the path of each field up to the first point."""
    words: dict[str, dict[str, None]] = {}
    with suppress(CannotTell):
        for place, access in _declared_uses(input_struct, options):
            text = f"{access.access} of {access.side}" if access.side else access.access
            words.setdefault(member_of(place), {})[text] = None
    return {name: tuple(own) for name, own in words.items()}


def member_of(place: Place) -> str:
    """Return the member that a field is, or is a part of, by its name in the struct."""
    return member_of_path(place.path)


def member_of_path(path: str) -> str:
    """Return the member that a path leads to, or into."""
    return path.split(".")[0].split("[")[0]


def _declared_uses(input_struct: InputStruct, options: Options) -> Iterator[tuple[Place, Access]]:
    """Yield the fields with their declared accesses. Raises CannotTell."""
    judged, layout = input_struct.judged, cached_layout(input_struct.struct)
    for pack in judged.packs:
        where = RulePlacements(
            pack.select_for(judged.reading), judged.surroundings, options.line_size, options.min_align
        )
        context = where.context(layout, placements(layout))
        if any(access.access for access in context.accesses):
            yield from ((place, one) for place, own in context.uses().items() for one in own)
