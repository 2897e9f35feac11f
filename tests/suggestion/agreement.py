"""Suggested orders compared with all orders, which a compiler lays out and the rules judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.lint.placing import PlacementTable, RulePlacements
from layoutlint.lint.subject import InputStruct, Source, find_struct
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.suggestion.orders.result import Suggestion
from tests.suggestion.brute_force import (
    Compiled,
    Judge,
    Layouts,
    Order,
    count_moves,
    holes,
    orders,
    struct_in_order,
)
from tests.suggestion.specimens import PRELUDE, Specimen


@dataclass(frozen=True, slots=True)
class Answer:
    """What `suggest` says of a struct, with all that its rules are judged by."""

    specimen: Specimen
    found: InputStruct
    result: Suggestion


def answer(specimen: Specimen, folder: Path) -> Answer | None:
    """Ask for the best order of a struct; None if it cannot be placed as its rule file says."""
    from layoutlint.suggestion.builds import Request  # imports the solver
    from layoutlint.suggestion.run import suggest

    path = folder / f"{specimen.name}.h"
    path.write_text(PRELUDE + specimen.text())
    packs: tuple[Pack, ...] = (rule_file.parse(specimen.rules, "rules.toml"),) if specimen.rules else ()
    options = Options(line_size=specimen.line, read=ReadOptions(flags=(f"-m{specimen.bits}",)))
    aims = ("size", "moves", "holes") if specimen.is_smallest else ("moves", "size", "holes")
    try:
        result = suggest(str(path), Request(specimen.name, aims, is_forced=True), packs, (), options)
        return Answer(specimen, find_struct(Source("", str(path)), specimen.name, packs, (), options), result)
    except RuleFileError:
        return None


class Comparison:
    """All orders of a struct, held against the suggested one."""

    def __init__(self, given: Answer, layouts: Layouts) -> None:
        self.specimen, self.result = given.specimen, given.result
        self.rules = dict(_rules(given))
        self.judge = Judge(given.specimen, given.found.struct, layouts)
        searched = {each.rule.id for each in given.result.rules if not each.reason}
        searched |= {rule.id for rule in given.result.core}  # orders that one of them breaks were tried
        self.unsearched = set(self.rules) - searched if given.result.new is not None else set()
        self.every = [order for order in orders(given.specimen) if self._may_be(order)]

    def faults(self) -> Iterator[str]:
        """Yield what contradicts."""
        result = self.result
        if any("likeliest" in note for note in result.notes):  # a pragma that C text leaves open
            return
        is_open = self.specimen.opened is not None
        if is_open and any("move as one" in note for note in result.notes):  # with an aligned bit-field in it, for example
            return
        if result.status == "refused" and "lay out its declaration differently" in result.reason:
            return
        if result.status not in ("optimal", "infeasible") and not self._is_best_of_searched():
            yield f"{result.status}: {result.reason}"
            return
        if result.new is None:
            if any(self._is_kept(order) for order in self.every):
                yield "no order was found, and there are some"
            return
        order = min((each for each in self.every if self._is_new(each)), key=self._rank, default=None)
        if order is None:
            yield "no order has the promised offsets"
            return
        ours, best_order = self._value(order), min(self.every, key=self._rank)
        best = self._value(best_order)
        if self._rank(order) != self._rank(best_order):
            yield f"{order} has {ours}, {best_order} has {best}: rules broken, then aims"
        message = tuple(each.after for each in result.aims)
        if message[: len(ours) - 1] != ours[1:]:
            yield f"it says {message} of {ours[1:]}"
        if (best[0] > 0) is not (result.status == "infeasible"):
            yield f"{result.status}, and at best {best[0]} rules are broken"
        yield from self._core_faults()

    def _is_best_of_searched(self) -> bool:
        """Return whether the order is unknown only for rules that cannot be searched, which it breaks."""
        broken = {each.rule.id for each in self.result.not_kept}
        is_proved = all(each.after == each.bound for each in self.result.aims)
        return self.result.status == "unknown" and is_proved and bool(broken) and broken <= self.unsearched

    def _core_faults(self) -> Iterator[str]:
        core = {rule.id for rule in self.result.core}
        if (self.result.status == "infeasible") is not bool(core):
            yield f"{self.result.status} with a core of {len(core)} rules"
        if not core:
            return
        broken = [self._broken(order) & core for order in self.every]
        if not all(broken):
            yield f"the core {sorted(core)} can be kept"
        # Rules that are only judged are no part of the contradiction.
        broken = [self._broken(order) & core for order in orders(self.specimen)]
        for rule in core if self.result.is_core_minimal else ():
            if all(each - {rule} for each in broken):
                yield f"{rule} of the core {sorted(core)} is not needed"

    def _is_new(self, order: Order) -> bool:
        """Return whether the compiler gives an order the promised offsets."""
        assert self.result.new is not None
        compiled = struct_in_order(self.result.struct, self.specimen, order, self.judge.lay_out(order))
        return compiled.bit_size == self.result.new.bit_size and offsets(compiled) == offsets(self.result.new)

    def _may_be(self, order: Order) -> bool:
        """Return whether an order keeps what the search only judges, if the declared one does."""
        first = tuple(range(len(order)))
        return all(
            self._keeps(id_, order) or not self._keeps(id_, first) for id_ in sorted(self.unsearched)
        )

    def _keeps(self, id_: str, order: Order) -> bool:
        return self.judge.keeps(*self.rules[id_], order)

    def _broken(self, order: Order) -> set[str]:
        return {id_ for id_ in self.rules if id_ not in self.unsearched and not self._keeps(id_, order)}

    def _is_kept(self, order: Order) -> bool:
        return not self._broken(order)

    def _value(self, order: Order) -> tuple[int, ...]:
        specimen, compiled = self.specimen, self.judge.lay_out(order)
        moved = count_moves(order, specimen)
        ends = (compiled.size, moved) if specimen.is_smallest else (moved, compiled.size)
        has_groups = specimen.opened is not None  # whose ends compiled code does not show
        counted = () if specimen.has_unnamed or has_groups else (self._holes(order, compiled),)
        return (len(self._broken(order)), *ends, *counted)

    def _rank(self, order: Order) -> tuple[int, ...]:
        """Return the value; of the smallest orders with as few moves, those that leave the first member come before the others."""
        value = self._value(order)
        return (*value[:3], int(self.specimen.is_smallest and order[0] != 0), *value[3:])

    def _holes(self, order: Order, compiled: Compiled) -> int:
        struct = struct_in_order(self.result.struct, self.specimen, order, compiled)
        units = [at for at in order for one in self.specimen.units[at] if one.name]
        return holes(struct, units)


def offsets(struct: Struct) -> list[tuple[str | None, int]]:
    return [(field.name or field.members[0].name, field.bit_offset) for field in struct.fields]


def _rules(given: Answer) -> Iterator[tuple[str, tuple[Rule, RulePlacements]]]:
    """Yield the rules that can be judged on the struct as it is, with their placements."""
    judged, line = given.found.judged, given.specimen.line
    known = {each.rule.id for each in given.result.rules}
    for pack in judged.packs:
        table = PlacementTable(pack, judged.reading, judged.surroundings, line)
        for rule in pack.rules:
            if rule.id in known or given.result.new is None:
                yield rule.id, (rule, table.select(rule))


def rules_kept(result: Suggestion) -> Sequence[str]:
    """Return the rules that the suggested order keeps, as the report says."""
    return [each.rule.id for each in result.rules if each.after.outcome is Outcome.KEPT]
