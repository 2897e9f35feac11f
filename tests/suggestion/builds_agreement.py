"""Orders that several builds share compared with all orders, which a compiler lays out for each build."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Rule
from layoutlint.lint.options import Options
from layoutlint.lint.placing import PlacementTable, RulePlacements
from layoutlint.lint.subject import Source, find_struct
from layoutlint.model.build import Build
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Source as Place
from layoutlint.model.structs import Struct
from layoutlint.suggestion.orders.result import Suggestion
from tests.suggestion.agreement import offsets
from tests.suggestion.brute_force import (
    Judge,
    Layouts,
    Order,
    count_moves,
    group_orders,
    holes,
    orders,
    struct_in_order,
)
from tests.suggestion.specimens import PRELUDE, Declaration, Group, Specimen, make_specimen

Pair = tuple[str, str]
"""A build and a rule."""


@dataclass(frozen=True, slots=True)
class Variants:
    """A struct with builds that have other words, or lack a declaration."""

    base: Specimen
    """The struct with all declarations; its units are those of the common order."""
    builds: dict[str, Specimen]

    @property
    def text(self) -> str:
        """The definition, with `#if` around what a build lacks."""
        pieces = self.base.pieces(range(len(self.base.units)))
        members = "".join(self._line(one) if isinstance(one, Declaration) else one for one in pieces)
        return f"{self.base.before}struct {self.base.name} {{\n{members}}}{self.base.behind}\n"

    def _line(self, one: Declaration) -> str:
        lacking = [name for name, each in self.builds.items() if not any(one in unit for unit in each.units)]
        text = f"\t{one.text}\n"
        return text if not lacking else f"#ifndef IN_{lacking[0]}\n{text}#endif\n"

    def translate(self, name: str, order: Order) -> Order:
        """Return an order of all units as one of the units of a build."""
        own = [at for at, unit in enumerate(self.base.units) if self._units_of(name, at)]
        return tuple(own.index(at) for at in order if at in own)

    def _units_of(self, name: str, at: int) -> bool:
        members = {one.shape + one.name for unit in self.builds[name].units for one in unit}
        return any(one.shape + one.name in members for one in self.base.units[at])


def variants(seed: int, fewest: int, most: int) -> Variants | None:
    """Return a struct with two or three builds; None if the chosen builds would have no struct."""
    base, chance = make_specimen(seed, fewest, most, is_portable=True), random.Random(seed + 1)
    every = [one for unit in base.units for one in unit]
    group_of = {one: at for at, group in enumerate(_groups(base.top)) for number in group for one in base.units[number]}
    named = [one for one in every if one.name and (not group_of[one] or _size(group_of, one) > 3)]
    kept: dict[str, list[Declaration]] = {"wide": every}
    lacking = [one for one in chance.sample(named, min(len(named), 2)) if len(named) > 2]
    kept["narrow"] = [one for one in every if one not in lacking[:1]] if chance.random() < 0.6 else every
    if chance.random() < 0.4:
        kept["third"] = [one for one in every if one not in lacking[1:]]
    bits = {"wide": 64, "narrow": chance.choice((32, 32, 64)), "third": chance.choice((32, 64))}
    units = _glue(every, group_of, kept.values())
    joined = _restrict(base, base, units, every)
    builds = {name: replace(_restrict(base, joined, joined.units, own), bits=bits[name]) for name, own in kept.items()}
    if any(len(each.units) < 2 or not _is_sound(each) for each in builds.values()):
        return None
    return Variants(joined, builds)


def _groups(group: Group) -> Iterator[list[int]]:
    """Yield the units that stand directly in a group, and those of each group in it."""
    yield [node for node in group.nodes if not isinstance(node, Group)]
    for node in group.nodes:
        if isinstance(node, Group):
            yield from _groups(node)


def _size(group_of: dict[Declaration, int], one: Declaration) -> int:
    """Return the number of declarations in the group of one: a struct with a single one is none that opens."""
    return sum(group == group_of[one] for group in group_of.values())


def _is_sound(each: Specimen) -> bool:
    """Return whether a struct has a named member besides a flexible array, as C demands."""
    return any(one.name and not one.is_last for unit in each.units for one in unit)


def _restrict(base: Specimen, of: Specimen, units, own: Sequence[Declaration]) -> Specimen:
    """Return a struct with some declarations, in the given units; `of` has the groups of the declarations."""
    left = [unit for each in units if (unit := tuple(one for one in each if one in own))]
    unit_of = {one: at for at, unit in enumerate(left) for one in unit}

    def restrict(group: Group) -> Group:
        nodes: dict[int | Group, None] = {}
        for node in group.nodes:
            if isinstance(node, Group):
                nodes[restrict(node)] = None
            else:
                nodes |= dict.fromkeys(unit_of[one] for one in of.units[node] if one in unit_of)
        return Group(tuple(nodes), group.end)

    opened = None if of.opened is None else restrict(of.opened)
    return replace(base, units=tuple(left), opened=opened)


def _glue(every: Sequence[Declaration], group_of: dict[Declaration, int], builds) -> list[list[Declaration]]:
    """Return the declarations in units: bit-fields in a row in some build, with what other builds have between."""
    glued = set()
    for own in builds:
        places = [every.index(one) for one in own]
        for a, b in pairwise(places):
            is_run = every[a].bits is not None and every[b].bits is not None
            if is_run and len({group_of[one] for one in every[a : b + 1]}) == 1:
                glued.update(range(a + 1, b + 1))
    units: list[list[Declaration]] = []
    for at, one in enumerate(every):
        if at not in glued:
            units.append([])
        units[-1].append(one)
    return units


class BuildsComparison:
    """All common orders of a struct, held against the suggested one."""

    def __init__(self, given: Variants, result: Suggestion, judges: dict[str, Judge], rules) -> None:
        self.given, self.result, self.judges = given, result, judges
        self.rules: dict[Pair, tuple[Rule, RulePlacements]] = rules
        self.searched = {
            (each.build.name, outcome.rule.id)
            for each in result.builds
            for outcome in each.result.rules
            if not outcome.reason or outcome.rule in result.core
        }
        allowed = {name: set(orders(each)) for name, each in given.builds.items()}
        self.every = [
            order
            for order in group_orders(given.base.top)
            if all(given.translate(name, order) in own for name, own in allowed.items())
        ]
        self.every = [order for order in self.every if self._keeps_unsearched(order)]

    def _keeps(self, pair: Pair, order: Order) -> bool:
        return self.judges[pair[0]].keeps(*self.rules[pair], self.given.translate(pair[0], order))

    def _keeps_unsearched(self, order: Order) -> bool:
        """Return whether an order keeps what the search only judges, if the declared one does."""
        first = tuple(range(len(order)))
        return all(
            self._keeps(pair, order) or not self._keeps(pair, first)
            for pair in self.rules
            if pair not in self.searched
        )

    def _broken(self, order: Order) -> set[Pair]:
        return {pair for pair in self.searched if not self._keeps(pair, order)}

    def _value(self, order: Order) -> tuple[int, ...]:
        base = self.given.base
        moved = count_moves(order, base)
        compiled = {
            name: judge.lay_out(self.given.translate(name, order)) for name, judge in self.judges.items()
        }
        size = sum(each.size for each in compiled.values())
        ends = (size, moved) if base.is_smallest else (moved, size)
        counted = () if base.has_unnamed or base.opened is not None else (sum(self._holes(name, order) for name in compiled),)
        return (len(self._broken(order)), *ends, *counted)

    def _rank(self, order: Order) -> tuple[int, ...]:
        """Return the value; of the smallest orders with as few moves, those that leave the first member come before the others."""
        value, given = self._value(order), self.given
        changed = sum(given.translate(name, order)[0] != 0 for name in given.builds) if given.base.is_smallest else 0
        return (*value[:3], changed, *value[3:])

    def _holes(self, name: str, order: Order) -> int:
        each, own = self.given.builds[name], self.given.translate(name, order)
        judge = self.judges[name]
        struct = struct_in_order(judge.struct, each, own, judge.lay_out(own))
        return holes(struct, [at for at in own for one in each.units[at] if one.name])

    def _is_new(self, order: Order) -> bool:
        """Return whether the compiler gives an order the promised offsets in all builds."""
        for each in self.result.builds:
            name, new = each.build.name, each.result.new
            own, judge = self.given.translate(name, order), self.judges[name]
            compiled = struct_in_order(judge.struct, self.given.builds[name], own, judge.lay_out(own))
            if new is None or compiled.bit_size != new.bit_size or offsets(compiled) != offsets(new):
                return False
        return True

    def faults(self) -> Iterator[str]:
        """Yield what contradicts."""
        result = self.result
        if any("likeliest" in note for note in result.notes):  # a pragma that C text leaves open
            return
        if result.status == "refused" and ("differently" in result.reason or "unnamed" in result.reason):
            return
        is_unsearched = result.status == "unknown" and all(each.after == each.bound for each in result.aims)
        if result.status not in ("optimal", "infeasible") and not (is_unsearched and result.not_kept):
            yield f"{result.status}: {result.reason}"
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

    def _core_faults(self) -> Iterator[str]:
        pairs = zip(self.result.core, self.result.core_builds, strict=True)
        core = [{(build.name, rule.id) for build in builds} for rule, builds in pairs]
        if (self.result.status == "infeasible") is not bool(core):
            yield f"{self.result.status} with a core of {len(core)} rules"
            return
        if not core:
            return
        broken = [self._broken(order) for order in self.every]
        if any(not any(own & each for own in core) for each in broken):
            yield f"the core {core} can be kept"
        for own in core if self.result.is_core_minimal else ():
            rest = [other for other in core if other is not own]
            if all(any(other & each for other in rest) for each in broken):
                yield f"{own} of the core {core} is not needed"


def compare(given: Variants, layouts: dict[str, dict[str, Layouts]], folder: Path) -> list[str] | None:
    """Return what contradicts in the suggested order; None if the struct cannot be placed as its rules say."""
    from layoutlint.commands.suggest.matrix import suggest_for_builds
    from layoutlint.suggestion.builds import Request  # imports the solver

    base = given.base
    path = folder / f"{base.name}.h"
    path.write_text(PRELUDE + given.text)
    packs = (rule_file.parse(base.rules, "rules.toml"),) if base.rules else ()
    builds = tuple(
        Build(name, Place("matrix.toml", 1), (str(path),), flags=(f"-m{each.bits}", f"-DIN_{name}"))
        for name, each in given.builds.items()
    )
    aims = ("size", "moves", "holes") if base.is_smallest else ("moves", "size", "holes")
    options = Options(line_size=base.line)
    request = Request(base.name, aims, is_forced=True)
    try:
        result = suggest_for_builds("matrix.toml", builds, request, packs, (), options)
        founds = {
            build.name: find_struct(
                Source("", str(path)), base.name, packs, (),
                Options(line_size=base.line, read=ReadOptions(flags=build.flags)),
            )
            for build in builds
        }  # fmt: skip
    except RuleFileError:
        return None
    judges = {name: _judge(given, name, found.struct, layouts) for name, found in founds.items()}
    known = {(each.build.name, one.rule.id) for each in result.builds for one in each.result.rules}
    rules = {
        (name, rule.id): (
            rule,
            PlacementTable(pack, found.judged.reading, found.judged.surroundings, base.line).select(rule),
        )
        for name, found in founds.items()
        for pack in found.judged.packs
        for rule in pack.rules
        if (name, rule.id) in known
    }
    if result.new is None and result.status != "refused":
        return [f"{result.status} without an order: {result.reason}"]
    return (
        list(BuildsComparison(given, result, judges, rules).faults()) if result.builds else _refusal(result)
    )


def _refusal(result: Suggestion) -> list[str]:
    is_known = "differently" in result.reason or "unnamed" in result.reason
    return [] if is_known else [f"{result.status}: {result.reason}"]


def _judge(given: Variants, name: str, struct: Struct, layouts: dict[str, dict[str, Layouts]]) -> Judge:
    return Judge(given.builds[name], struct, layouts[name][given.base.name])
