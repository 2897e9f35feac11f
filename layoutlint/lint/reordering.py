"""Searches the order of a struct's members that keeps its rules with the fewest moves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from layoutlint import files
from layoutlint.geometry.layout import Layout, cached_layout
from layoutlint.geometry.placement import count_lines
from layoutlint.judgement.context import CannotTell, NotApplicable
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.judgement.verdict import Outcome, Verdict, unknown
from layoutlint.kinds.allocation import Allocation
from layoutlint.kinds.size import Size
from layoutlint.lint.judge import judge_placements
from layoutlint.lint.options import Options
from layoutlint.lint.placing import Case, PlacementTable, RulePlacements, placements_key
from layoutlint.lint.subject import Found, Source, find_struct
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import randomisation
from layoutlint.randstruct.c_abi import CannotLayOut, round_up
from layoutlint.readers import inputs, order_uses
from layoutlint.readers.clang import members
from layoutlint.readers.order_uses import OrderUse
from layoutlint.suggestion.arrangement import Arrangement, arrange
from layoutlint.suggestion.demands import CannotState, Demand, demands
from layoutlint.suggestion.limits import Limit, text_limits, use_limits
from layoutlint.suggestion.program import unmoved
from layoutlint.suggestion.result import Aimed, Move, Patch, RuleOutcome, Status, Suggestion
from layoutlint.suggestion.search import Aim, Search, SizeClass, Solution, Task

_LARGEST = 1 << 26
"""The most bytes of a file that defines a struct."""
_MOST_SIZES = 64
"""The most sizes of a struct whose placements are told apart."""
_MOST_TRIES = 20
"""How many orders are tried that keep what the search knows of the rules, and not the rules."""
MOST_MEMBERS = 250
"""The most members of a struct that is searched: pairs of them are compared."""


class Request(Record, frozen=True):
    """What is searched."""

    struct: str
    aims: tuple[Aim, ...] = ("moves", "size", "holes")
    effort: float = 4.0
    """The most work for each aim, in CP-SAT's deterministic time."""
    sources: tuple[str, ...] = ()
    """Files and folders that are searched for uses of the order, besides the input."""
    is_forced: bool = False
    """Whether the order may be one that uses forbid."""


class Surroundings(Record, frozen=True):
    """What the sources at hand leave of the orders."""

    search: order_uses.Search
    text_limits: tuple[Limit, ...]
    use_limits: tuple[Limit, ...]
    notes: tuple[str, ...]


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
        placements = case.placements
        if not self.rule.tolerate:
            return (demands(self.rule.kind, self.where.context(layout, placements, is_one_of_many)),)
        each = (replace(placements, bases=(base,)) for base in placements.bases)
        return tuple(demands(self.rule.kind, self.where.context(layout, one, is_one_of_many)) for one in each)


_RANK = {Outcome.KEPT: 0, Outcome.AT_RISK: 1, Outcome.BROKEN: 2, Outcome.UNKNOWN: 3}


class Refused(Exception):
    """Raised for a struct that cannot be put in another order; the text is the reason."""


def suggest(
    path: str, request: Request, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Suggestion:
    """Return the best order of a struct. Raises ReadError if the input states too little."""
    options = replace(options, read=replace(options.read, with_marks=True))
    found = find_struct(Source("", path), request.struct, packs, kernel_packs, options)
    try:
        arrangement = _arrangement(found, options)
    except (Refused, CannotLayOut) as error:
        return _refusal(found, str(error))
    ruled, notes = _rules(found, options)
    around = _surroundings(found, arrangement, request, options)
    task, reasons = _task(arrangement, ruled, request)
    free = replace(task, limits=around.text_limits)
    limited = free if request.is_forced else replace(task, limits=around.text_limits + around.use_limits)
    found_order = _Found(found, arrangement, ruled, reasons, around, (*notes, *around.notes))
    result = found_order.suggestion(limited, request)
    if result.status in ("infeasible", "unknown") and limited != free:
        result = found_order.suggestion(free, request)
    return _with_patch(found, result, options)


def _with_patch(found: Found, result: Suggestion, options: Options) -> Suggestion:
    """Return a suggestion with the change of the text, which was read again with the new offsets."""
    if result.new is None or result.status == "refused":
        return result
    if found.judged.reading.reader != "clang":
        reason = f"{found.source.path} is no C text: give the header or source that defines the struct"
        return replace(result, no_patch=reason)
    try:
        return replace(result, patch=_patch(found, result, result.new, options))
    except members.CannotMove as error:
        place = f"line {error.line}: " if error.line is not None else ""
        return replace(result, no_patch=f"{place}{error.reason}")


def _patch(found: Found, result: Suggestion, new: Struct, options: Options) -> Patch:
    """Return the change of the file. Raises CannotMove."""
    struct = found.struct
    file, old = _text(found, options)
    names = order_uses.member_names(struct)
    order = [names.index(name) for name in result.order]
    text = members.reorder_members(old, struct, order)
    if text != old:
        read = members.verify(found.source.path, struct, file, text, options.read)
        if _offsets(read) != _offsets(new):
            raise members.CannotMove("the changed text has other offsets than the suggested order")
    moved = {move.member for move in result.moves}
    notes = [
        note
        for member in members.split_members(old, struct)
        if any(names[number] in moved for number in member.fields)
        for note in member.notes
    ]
    return Patch(file, old, text, members.unified_diff(old, text, _shown_path(struct, file)), tuple(notes))


def _offsets(struct: Struct) -> tuple[object, ...]:
    return struct.bit_size, tuple((f.name, f.bit_offset, f.bit_size) for f in struct.fields)


def _shown_path(struct: Struct, file: str) -> str:
    """Return the path of a file as a patch names it: from the root of the sources, or where the run is."""
    name = "" if struct.source is None else struct.source.file
    if name and not os.path.isabs(name) and not name.startswith(".."):
        return os.path.normpath(name)
    path = os.path.relpath(file)
    return path if not path.startswith("..") else os.path.abspath(file).lstrip("/")


def _surroundings(
    found: Found, arrangement: Arrangement, request: Request, options: Options
) -> Surroundings:
    """Return what the text of the struct and its uses leave of the orders."""
    struct, path = found.struct, found.source.path
    is_source = found.judged.reading.reader == "clang"
    paths = (*request.sources, *((path,) if is_source else ()))
    search = order_uses.find_order_uses(struct, paths, options.read.jobs, options.read.progress)
    text: tuple[Limit, ...] = ()
    notes = []
    if is_source:
        try:
            text = tuple(text_limits(arrangement, members.restrictions(_text(found, options)[1], struct)))
        except members.CannotMove as error:
            notes.append(f"the text of the struct cannot be changed: {error}")
    return Surroundings(search, text, tuple(use_limits(arrangement, search.uses)), tuple(notes))


def _text(found: Found, options: Options) -> tuple[str, str]:
    """Return the path and the text of the file that defines the struct. Raises CannotMove."""
    file = members.source_path(found.source.path, found.struct, options.read)
    if file is None:
        raise members.CannotMove("the file that defines the struct was not found")
    return file, files.read_all(file, _LARGEST).decode("utf-8", "surrogateescape")


def _refusal(found: Found, reason: str) -> Suggestion:
    return Suggestion(found.source.path, found.struct, "refused", None, reason=reason)


def _arrangement(found: Found, options: Options) -> Arrangement:
    """Return the units of the struct. Raises Refused and CannotLayOut."""
    struct, reading = found.struct, found.judged.reading
    if struct.aggregate == "union":
        raise Refused("it is a union, whose members all begin at 0")
    if struct.randomised is not None and struct.randomised.is_own:
        raise Refused("the build puts its fields into a random order, so the declared one decides nothing")
    if len(struct.fields) > MOST_MEMBERS:
        raise Refused(f"it has {len(struct.fields)} members, and at most {MOST_MEMBERS} are searched")
    if not struct.fields:
        raise Refused("it has no members")
    names = randomisation.embedded_names((struct,))
    context = inputs.read((found.source.path,), Wanted(names), options.read)[0] if names else []
    ways = randomisation.declared_ways(reading, context, struct)
    arrangement = arrange(struct, ways[0])
    order = range(len(arrangement.units))
    if [(f.name, f.bit_offset) for f in arrangement.lay_out(order).fields] != [
        (f.name, f.bit_offset) for f in struct.fields
    ]:
        raise Refused("its offsets are not those that its members give in their declared order")
    return arrangement


def _rules(found: Found, options: Options) -> tuple[list[Ruled], tuple[str, ...]]:
    """Return the rules that can be judged on the struct, and notes on the others."""
    judged, struct = found.judged, found.struct
    ruled, notes = [], []
    for pack in judged.packs:
        table = PlacementTable(
            pack, judged.reading, judged.surroundings, options.line_size, options.min_align
        )
        for rule in pack.rules:
            if rule.struct == VARIABLES or not struct.matches(rule.struct) or judged.exclusion(rule.when):
                continue
            if rule.around:
                notes.append(f"{rule.id} is about the containers of the struct, and was not judged")
                continue
            where = table.for_rule(rule)
            try:
                one = _ruled(rule, where, struct)
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


def _ruled(rule: Rule, where: RulePlacements, struct: Struct) -> Ruled:
    """Return a rule with its verdict. Raises CannotTell."""
    cases = where.cases(cached_layout(struct))
    storage = where.pack.storage(struct)
    is_embedded = storage is not None and storage.word == EMBEDDED
    one = Ruled(rule, where, cases, unknown(""), is_embedded)
    return replace(one, before=one.judge(struct))


def _task(
    arrangement: Arrangement, ruled: Sequence[Ruled], request: Request
) -> tuple[Task, dict[int, str]]:
    """Return the task, and for each rule that it cannot state the reason."""
    struct = arrangement.struct
    sizes = _sizes(arrangement, any(one.is_embedded for one in ruled))
    by_key: dict[tuple[object, ...], list[int]] = {}
    for size in sizes:
        by_key.setdefault(_key(ruled, replace(struct, bit_size=size * 8)), []).append(size)
    reasons: dict[int, str] = {}
    classes = [
        _size_class(ruled, replace(struct, bit_size=members[0] * 8), tuple(members), reasons)
        for members in by_key.values()
    ]
    if len(classes) == 1 and len(sizes) > 1:
        classes = [replace(classes[0], sizes=())]
    return Task(arrangement, len(ruled), tuple(classes), request.aims), reasons


def _sizes(arrangement: Arrangement, is_fixed: bool) -> list[int]:
    """Return the sizes in bytes that the struct can have."""
    size, align = (arrangement.struct.bit_size or 0) // 8, arrangement.align
    if is_fixed:
        return [size]
    grains = [(min(unit.lengths), max(unit.lengths) + max(unit.gaps)) for unit in arrangement.units]
    bits = [sum(ends) * arrangement.grain for ends in zip(*grains, strict=True)]
    low, high = (round_up(each, align * 8) // 8 for each in bits)
    every = list(range(low, high + 1, align))[:_MOST_SIZES]
    return every if size in every else [*every, size]


def _key(ruled: Sequence[Ruled], struct: Struct) -> tuple[object, ...]:
    """Return what the size of the struct decides for its rules."""
    key: list[object] = []
    for one in ruled:
        try:
            cases = one.cases_at(struct)
        except CannotTell as error:
            key.append(str(error))
            continue
        key.append(tuple(placements_key(case.placements) for case in cases))
        if isinstance(one.rule.kind, _SIZE_KINDS):
            key.append(one.judge(struct).outcome)
    return tuple(key)


_SIZE_KINDS = (Size, Allocation)
"""Kinds that judge nothing but the size of a struct."""


def _size_class(
    ruled: Sequence[Ruled], struct: Struct, sizes: tuple[int, ...], reasons: dict[int, str]
) -> SizeClass:
    """Return the demands at a size. Adds a reason for each rule that cannot be stated."""
    stated: dict[int, tuple[Demand, ...]] = {}
    tolerated: dict[int, tuple[tuple[tuple[Demand, ...], ...], int]] = {}
    impossible = set()
    for number, one in enumerate(ruled):
        if isinstance(one.rule.kind, _SIZE_KINDS):
            if one.judge(struct).outcome is not Outcome.KEPT:
                impossible.add(number)
            continue
        try:
            each = [one.demands(struct, case) for case in one.cases_at(struct)]
        except (CannotState, CannotTell) as error:
            reasons[number] = str(error)
            continue
        if one.rule.tolerate:
            by_base = each[0]
            tolerated[number] = by_base, int(one.rule.tolerate * len(by_base))
        else:
            stated[number] = tuple(dict.fromkeys(demand for (case,) in each for demand in case))
    return SizeClass(sizes, stated, tolerated, frozenset(impossible))


def _solve(
    task: Task, ruled: Sequence[Ruled], reasons: dict[int, str], effort: float
) -> tuple[Solution, list[Verdict]]:
    """Return an order that the rules themselves keep, with their verdicts on it."""
    for _ in range(_MOST_TRIES):
        solution = Search(task, effort).run()
        if not solution.order:
            return solution, []
        new = task.arrangement.lay_out(solution.order)
        after = [one.judge(new) for one in ruled]
        failing = [
            number
            for number, verdict in enumerate(after)
            if verdict.outcome is not Outcome.KEPT
            and (number in solution.kept if number not in reasons else _is_kept(ruled[number].before))
        ]
        if not failing:
            return solution, after
        task = replace(task, excluded=(*task.excluded, solution.order))
    return Solution("unknown"), []


def _is_kept(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.KEPT


class _Found(Record, frozen=True):
    """A struct with everything that a search needs."""

    found: Found
    arrangement: Arrangement
    ruled: Sequence[Ruled]
    reasons: dict[int, str]
    around: Surroundings
    notes: tuple[str, ...]

    def suggestion(self, task: Task, request: Request) -> Suggestion:
        """Return the best order for a task."""
        solution, after = _solve(task, self.ruled, self.reasons, request.effort)
        core = tuple(self.ruled[number].rule for number in solution.core)
        if not solution.order:
            status: Status = "infeasible" if solution.state == "infeasible" else "unknown"
            reason = "" if core else "no order was found within the limit of work"
            return self._result(status, None, core=core, is_core_minimal=solution.is_minimal, reason=reason)
        arrangement, struct = self.arrangement, self.arrangement.struct
        labels = order_uses.member_names(struct)
        positions = arrangement.field_order(solution.order)
        outcomes = tuple(
            RuleOutcome(one.rule, one.before, verdict, self.reasons.get(number, ""))
            for number, (one, verdict) in enumerate(zip(self.ruled, after, strict=True))
        )
        new = arrangement.lay_out(solution.order)
        order = tuple(labels[at] for at in positions)
        forbidding = self._forbidding(order, new)
        return self._result(
            solution.state if not forbidding or request.is_forced else "refused", new, order=order,
            moves=tuple(_moves(arrangement, solution.order, positions, labels)),
            aims=tuple(_aims(task, solution)), rules=outcomes, core=core, is_core_minimal=solution.is_minimal,
            uses=forbidding, is_forced=request.is_forced,
        )  # fmt: skip

    def _forbidding(self, order: tuple[str, ...], new: Struct) -> tuple[OrderUse, ...]:
        """Return the uses that forbid an order."""
        struct, names = self.arrangement.struct, order_uses.member_names(self.arrangement.struct)
        old = {name: field.bit_offset for name, field in zip(names, struct.fields, strict=True)}
        moved = {name: field.bit_offset for name, field in zip(order, new.fields, strict=True)}
        return tuple(
            use for use in self.around.search.uses if order_uses.forbids(use, names, order, old, moved)
        )

    def _result(self, status: Status, new: Struct | None, **facts: Any) -> Suggestion:
        search = self.around.search
        hints = tuple(use for use in search.uses if use.is_note)
        return Suggestion(
            self.found.source.path, self.arrangement.struct, status, new, notes=self.notes,
            looked_at=search.looked_at, not_looked_at=search.not_looked_at,
            is_order_free=search.is_order_free, hints=hints, **facts,
        )  # fmt: skip


def _moves(
    arrangement: Arrangement, order: Sequence[int], positions: Sequence[int], labels: Sequence[str]
) -> Iterator[Move]:
    """Yield the members that move, in their new order."""
    kept = unmoved(order, [len(unit.members) for unit in arrangement.units])
    moved = {at for number, unit in enumerate(arrangement.units) if number not in kept for at in unit.fields}
    for index, at in enumerate(positions):
        if at in moved:
            yield Move(labels[at], labels[positions[index - 1]] if index else None)


def _aims(task: Task, solution: Solution) -> Iterator[Aimed]:
    declared = tuple(range(len(task.arrangement.units)))
    for reached in solution.reached:
        before, after = (_value(task, reached.aim, order) for order in (declared, solution.order))
        yield Aimed(reached.aim, before, after, min(reached.bound, after))


def _value(task: Task, aim: Aim, order: tuple[int, ...]) -> int:
    """Return what an order reaches for an aim."""
    arrangement = task.arrangement
    if aim == "moves":
        kept = unmoved(order, [len(unit.members) for unit in arrangement.units])
        return sum(len(arrangement.units[number].members) for number in order if number not in kept)
    if aim == "size":
        return (arrangement.lay_out(order).bit_size or 0) // 8
    if aim == "holes":
        return arrangement.count_holes(order)
    layout = Layout(arrangement.lay_out(order))
    return sum(
        count_lines([layout.find(place.path) or place for place in path], base, task.line)
        for path in task.paths
        for base in task.bases
    )
