"""The search for one order of a struct's members in all of its builds, with its verdicts in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from layoutlint.errors import UsageError
from layoutlint.judgement.rule import Rule
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.build import Build, short_name
from layoutlint.model.reading import Progress
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few
from layoutlint.sources import order_uses
from layoutlint.sources.order_uses import LookedAt
from layoutlint.suggestion.builds import ArrangedSubject, Request
from layoutlint.suggestion.contention import Contention
from layoutlint.suggestion.orders.common_order import CommonOrder
from layoutlint.suggestion.orders.problem import BuildTask, OrderTask, Solution
from layoutlint.suggestion.orders.reasons import reasons
from layoutlint.suggestion.orders.result import (
    Aimed,
    BuildResult,
    OpenedStruct,
    Refusal,
    RuleOutcome,
    Status,
    Suggestion,
)
from layoutlint.suggestion.solving import moves_of, polish, solve
from layoutlint.suggestion.task import BuildCandidate

_BADNESS = {Outcome.KEPT: 0, Outcome.UNKNOWN: 1, Outcome.AT_RISK: 2, Outcome.BROKEN: 3}


class BuildGroup(Record, frozen=True):
    """Builds with the same orders and demands, which are searched once."""

    task: BuildTask
    candidates: tuple[BuildCandidate, ...]
    """Each build."""
    numbers: tuple[int, ...]
    """The position of each build among all of them."""


def joint_search(
    label: str, order: CommonOrder, arranged: Sequence[ArrangedSubject], request: Request
) -> JointSearch:
    """Return the search over some builds. Raises UsageError if no access is declared to count lines of."""
    groups: list[tuple[object, BuildGroup]] = []
    for number, each in enumerate(arranged):
        task, candidate = each.task(request.aims, len(arranged) == 1)
        key = _key(each, task)
        at = next((at for at, (other, _) in enumerate(groups) if other == key), None)
        if at is None:
            groups.append((key, BuildGroup(task, (candidate,), (number,))))
            continue
        old = groups[at][1]
        task = replace(old.task, weight=old.task.weight + 1)
        groups[at] = key, BuildGroup(task, (*old.candidates, candidate), (*old.numbers, number))
    merged = tuple(group for _, group in groups)
    if "lines" in request.aims and not any(group.task.paths for group in merged):
        raise UsageError("--optimize lines counts the lines of declared accesses, and no build has any")
    order = order.select([group.numbers[0] for group in merged])
    tasks = tuple(group.task for group in merged)
    task_of_all = OrderTask(order, tasks, request.aims, most_moves=request.most_moves)
    known = [each.taste for each in reversed(arranged)]
    taste = {name: one for own in known for name, one in own.items()}
    return JointSearch(label, task_of_all.with_taste(taste), merged, tuple(arranged))


def _key(each: ArrangedSubject, task: BuildTask) -> object:
    """Return what decides on a search: builds with equal ones have the same orders."""
    arrangement = each.arrangement
    shape = (
        arrangement.units, arrangement.grain, arrangement.last, arrangement.align, arrangement.top.nesting,
    )  # fmt: skip
    rules = [(one.rule.id, one.before.outcome) for one in each.ruled]
    demands = (task.classes, task.paths, task.bases, task.line, task.pairs, each.around.limits)
    return shape, arrangement.struct.fields, each.names, rules, demands


def _merge_builds(
    label: str,
    status: Status,
    parts: Sequence[Suggestion],
    builds: Sequence[Build | None],
    facts: dict[str, Any],
) -> Suggestion:
    """Return a suggestion for all builds of a struct, with some facts that are common to them.

    It has the struct of the first build, and each rule with its worst outcomes. Without a matrix there is one
    build, which is None.
    """
    named = [build for build in builds if build is not None]
    results = [
        BuildResult(build, part) for build, part in zip(builds, parts, strict=True) if build is not None
    ]
    first = parts[0]
    return Suggestion(
        label, first.struct, status, first.new, first.declared,
        rules=tuple(_worst_outcomes(parts)),
        refusals=tuple(dict.fromkeys(refusal for part in parts for refusal in part.refusals)),
        hints=tuple(dict.fromkeys(use for part in parts for use in part.hints)),
        is_order_free=all(part.is_order_free for part in parts),
        notes=tuple(_notes([part.notes for part in parts], tuple(named))),
        looked_at=_sum({part.input: part.looked_at for part in parts}.values()),
        not_looked_at=tuple(_notes([part.not_looked_at for part in parts], tuple(named))),
        builds=tuple(results), **facts,
    )  # fmt: skip


def _worst_outcomes(parts: Sequence[Suggestion]) -> Iterable[RuleOutcome]:
    """Return each rule once, with its worst outcome before, and its worst one after."""
    by_rule: dict[str, list[RuleOutcome]] = {}
    for outcome in (outcome for part in parts for outcome in part.rules):
        by_rule.setdefault(outcome.rule.id, []).append(outcome)
    for own in by_rule.values():
        reason = next((each.reason for each in own if each.reason), "")
        before, after = _worst(each.before for each in own), _worst(each.after for each in own)
        yield RuleOutcome(own[0].rule, before, after, reason)


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=lambda verdict: _BADNESS[verdict.outcome])


def _notes(notes: Sequence[tuple[str, ...]], builds: tuple[Build, ...]) -> Iterable[str]:
    """Yield each note once, with its builds if it is not about all of them."""
    if not builds:
        yield from (note for own in notes for note in own)
        return
    names: dict[str, list[str]] = {}
    for build, own in zip(builds, notes, strict=True):
        for note in own:
            names.setdefault(note, []).append(build.name)
    for note, own_names in names.items():
        is_all = len(own_names) == len(builds)
        yield note if is_all else f"{note} (in {short_name(own_names, builds)})"


def _sum(searches: Iterable[LookedAt]) -> LookedAt:
    every = list(searches)
    return LookedAt(
        sum(each.sources for each in every),
        sum(each.headers for each in every),
        sum(each.mentioning for each in every),
    )


class JointSearch(Record, frozen=True):
    """A search over all builds of a struct."""

    label: str
    """The name of the input, or of the matrix."""
    task: OrderTask
    groups: tuple[BuildGroup, ...]
    arranged: tuple[ArrangedSubject, ...]
    """All builds, in their order."""

    @property
    def has_rules(self) -> bool:
        """Whether some build has a rule on the struct."""
        return any(each.ruled for each in self.arranged)

    @property
    def has_declarations(self) -> bool:
        """Whether some build has a declaration of several members."""
        return any(each.arrangement.together for each in self.arranged)

    def best(self, request: Request) -> Suggestion:
        """Return the best order that the text and the uses allow, unless it is forced."""
        result = self._best_allowed(request)
        return replace(result, notes=(*result.notes, *self._order_notes()))

    def _order_notes(self) -> Iterator[str]:
        first, names = self.arranged[0].subject.build, self.task.order.contradiction
        if names and first is not None:
            both = " and ".join(f"`{name}`" for name in names[:2])
            yield f"its builds declare {both} in different orders: moves count from the order of {first.name}"

    def _best_allowed(self, request: Request) -> Suggestion:
        free = self._suggestion(self.task, request)
        if not free.refusals or request.is_forced or free.status == "infeasible":
            return free
        limits = [self.arranged[group.numbers[0]].around.limits for group in self.groups]
        limited = self._suggestion(self.task.with_limits(limits), request)
        is_idle = self.task.aims[0] == "contention" and not limited.moves  # all that is allowed is as it is
        if limited.status not in ("optimal", "feasible") or limited.refusals or is_idle:
            return replace(free, status="refused")
        if [each.after for each in limited.aims] == [each.after for each in free.aims]:
            return limited
        values = ", ".join(f"{each.aim} {each.after}" for each in free.aims)
        notes = (f"an order that is better ({values}) is ruled out: {each}" for each in free.refusals)
        return replace(limited, notes=(*limited.notes, *notes))

    def _suggestion(self, task: OrderTask, request: Request) -> Suggestion:
        """Return the best order for a task."""
        judges, progress = [group.candidates for group in self.groups], self._progress
        solution, after = solve(task, judges, request.effort, progress=progress)
        solution, after = polish(task, judges, solution, after, progress)
        core = self._rules_at(solution.core)
        facts: dict[str, Any] = {
            "core": tuple(rule for rule, _ in core),
            "core_builds": tuple(builds for _, builds in core) if any(own for _, own in core) else (),
            "is_core_minimal": solution.is_minimal,
        }
        if not solution.order:
            status: Status = "infeasible" if solution.state == "infeasible" else "unknown"
            facts["reason"] = "" if core else self._reason(solution, request)
            parts = [_part(each, status, None) for each in self.arranged]
        else:
            status = solution.state
            facts["order"] = tuple(name for number in solution.order for name in task.order.members[number])
            why = {} if status == "infeasible" else reasons(task, solution.order)
            facts["moves"] = tuple(moves_of(task.order, solution.order, why))
            facts["opened"] = tuple(
                OpenedStruct(group.name, tuple(n for unit in group.units for n in task.order.members[unit]))
                for group in task.order.groups
            )
            facts["aims"] = tuple(_aims(task, solution))
            is_contended = task.aims[0] == "contention"
            facts["steps"] = tuple(
                (step.moves, step.size, step.value if is_contended else None) for step in solution.steps
            )
            facts["contention"] = self._contention(task, solution.order)
            facts["is_forced"] = request.is_forced
            parts = self._parts(task, solution, after)
        builds = [each.subject.build for each in self.arranged]
        return _merge_builds(self.label, status, parts, builds, facts)

    def _contention(self, task: OrderTask, order: tuple[int, ...]) -> Contention | None:
        """Return what an order leaves of the contention; None without evidence, which is of one build."""
        first, build = self.arranged[0], task.builds[0]
        if first.measured is None:
            return None
        structs = (first.arrangement.lay_out(units) for units in (task.order.declared_order(), order))
        old, new = structs
        return first.measured.compare(build.pairs, old, build.pairs, new)

    @property
    def _progress(self) -> Progress:
        return self.arranged[0].subject.options.read.progress

    def _reason(self, solution: Solution, request: Request) -> str:
        """Return why no order was found, and what can help."""
        rules = self._rules_at(solution.in_the_way)
        nearest = f"; the nearest order breaks {first_few([rule.id for rule, _ in rules])}" if rules else ""
        if solution.lacking:
            return f"no order was found with few moves{nearest}; to search further, {solution.lacking}"
        return f"no order was found within --effort {request.effort:g}{nearest}; raise --effort"

    def _parts(
        self, task: OrderTask, solution: Solution, after: Sequence[Sequence[Sequence[Verdict]]]
    ) -> list[Suggestion]:
        """Return what the solution is in each build."""
        parts: dict[int, Suggestion] = {}
        status: Status = solution.state
        for at, (group, verdicts) in enumerate(zip(self.groups, after, strict=True)):
            units = task.order.translate(at, solution.order)
            for number, candidate, own in zip(group.numbers, group.candidates, verdicts, strict=True):
                outcomes = (
                    RuleOutcome(one.rule, one.before, verdict, candidate.reasons.get(index, ""))
                    for index, (one, verdict) in enumerate(zip(candidate.ruled, own, strict=True))
                )
                parts[number] = _part(self.arranged[number], status, units, tuple(outcomes))
        return [parts[number] for number in range(len(self.arranged))]

    def _rules_at(self, numbers: Sequence[int]) -> list[tuple[Rule, tuple[Build, ...]]]:
        """Return rules by their numbers through all builds, with their builds."""
        every = [(group, number) for group in self.groups for number in range(group.task.rules)]
        found = []
        for group, number in (every[at] for at in numbers):
            builds = (self.arranged[at].subject.build for at in group.numbers)
            rule = group.candidates[0].ruled[number].rule
            found.append((rule, tuple(build for build in builds if build is not None)))
        return found


def _part(
    each: ArrangedSubject,
    status: Status,
    units: Sequence[int] | None,
    rules: tuple[RuleOutcome, ...] = (),
) -> Suggestion:
    """Return an order of the units of one build as its suggestion; without moves, which are common to all."""
    search, notes = each.around.search, each.notes
    hints = tuple(use for use in search.uses if use.is_note)
    part = Suggestion(
        each.subject.path, each.arrangement.struct, status, None, each.names, rules=rules, notes=notes,
        hints=hints, looked_at=search.looked_at, not_looked_at=search.not_looked_at,
        is_order_free=search.is_order_free,
    )  # fmt: skip
    if units is None:
        return part
    new = each.arrangement.lay_out_flat(units)
    positions = each.arrangement.field_order(units)
    if any(_offsets(new) != _offsets(other.lay_out_flat(units)) for other in each.others):
        doubt = "does not state which types are packed: the offsets are the likeliest ones"
        notes = (*notes, f"{each.subject.path} {doubt}")
    order = tuple(each.names[at] for at in positions)
    return replace(part, new=new, order=order, notes=notes, refusals=tuple(_refusals(each, positions, new)))


def _offsets(struct: Struct) -> list[tuple[str | None, int]]:
    return [(field.name, field.bit_offset) for field in struct.fields]


def _refusals(each: ArrangedSubject, positions: list[int], new: Struct) -> Iterator[Refusal]:
    """Yield what forbids an order in the text and in the sources."""
    struct = each.arrangement.struct
    names = order_uses.member_names(struct)
    order = [names[at] for at in positions]
    yield from each.around.refusals(positions, struct)
    old = {name: field.bit_offset for name, field in zip(names, struct.fields, strict=True)}
    moved = {name: field.bit_offset for name, field in zip(order, new.fields, strict=True)}
    for use in each.around.search.uses:
        if order_uses.forbids(use, names, order, old, moved, (struct.bit_size, new.bit_size)):
            yield Refusal(use.kind, use.text, use.file, use.line, use.members)


def _aims(task: OrderTask, solution: Solution) -> Iterator[Aimed]:
    declared = task.order.declared_order()
    for reached in solution.reached:
        before, after = (task.value(reached.aim, order) for order in (declared, solution.order))
        yield Aimed(reached.aim, before, after, min(reached.bound, after))
