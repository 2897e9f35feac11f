"""The whole of `suggest`: read a struct with its rules and uses, search, and judge what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from layoutlint.errors import UsageError
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import count_lines, placements
from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.rule import Pack
from layoutlint.lint.options import Options
from layoutlint.lint.reordering.alternatives import alternatives
from layoutlint.lint.reordering.rules import Ruled, declared_paths, rules_of
from layoutlint.lint.reordering.solving import moves_of, solve
from layoutlint.lint.reordering.task import task_of
from layoutlint.lint.reordering.text import Surroundings, surroundings_of, with_patch
from layoutlint.lint.subject import Found, Source, find_struct
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source as StructSource
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import randomisation
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.readers import inputs, order_uses
from layoutlint.suggestion.arrangement import Arrangement, arrange
from layoutlint.suggestion.demands import MOST_LINES
from layoutlint.suggestion.program import unmoved
from layoutlint.suggestion.result import Aimed, Refusal, RuleOutcome, Status, Suggestion
from layoutlint.suggestion.search import Aim, Solution, Task

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


class Refused(Exception):
    """Raised for a struct that cannot be put in another order; the text is the reason."""


def suggest(
    path: str, request: Request, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Suggestion:
    """Return the best order of a struct. Raises ReadError if the input states too little."""
    options = replace(options, read=replace(options.read, with_marks=True))
    found = find_struct(Source("", path), request.struct, packs, kernel_packs, options)
    try:
        arrangement, *others = _arrangements(found, options)
    except (Refused, CannotLayOut) as error:
        return _refusal(found, str(error))
    ruled, notes = rules_of(found, options)
    around = surroundings_of(found, arrangement, request.sources, request.aims[0] != "moves", options)
    task, reasons = task_of(arrangement, ruled, request.aims)
    if "lines" in request.aims:
        task = _with_paths(task, found, options)
    reordering = _Reordering(found, arrangement, ruled, reasons, around, (*notes, *around.notes))
    result = reordering.best(task, request)
    if result.status == "infeasible" or (result.status == "unknown" and ruled):
        limits = () if request.is_forced else around.limits
        aligned = alternatives(found, arrangement, ruled, limits, options)
        result = replace(result, alternatives=aligned)
    if _has_doubt(result, others):
        note = f"{path} does not state which types are packed: the offsets are the likeliest ones"
        result = replace(result, notes=(*result.notes, note))
    return with_patch(found, _without_claim(result), options)


def _without_claim(result: Suggestion) -> Suggestion:
    """Return a suggestion as unknown if a rule stays broken for which orders could not be searched."""
    if result.status not in ("optimal", "feasible") or not result.not_kept:
        return result
    names = ", ".join(each.rule.id for each in result.not_kept)
    return replace(result, status="unknown", reason=f"no order was searched that keeps {names}")


def _with_paths(task: Task, found: Found, options: Options) -> Task:
    """Return a task with the fields whose lines count. Raises UsageError if no access is declared."""
    try:
        paths = declared_paths(found, options)
    except CannotTell as error:
        raise UsageError(f"--optimize lines counts the lines of declared accesses: {error}") from None
    where = placements(Layout(found.struct), options.line_size, options.min_align)
    if (found.struct.bit_size or 0) // 8 > MOST_LINES * where.line_size:
        raise UsageError(f"--optimize lines is for structs of at most {MOST_LINES:,} lines")
    return replace(task, paths=paths, bases=where.bases, line=where.line_size)


def _refusal(found: Found, reason: str) -> Suggestion:
    source = found.struct.source or StructSource(found.source.path)
    refusal = Refusal("struct", reason, source.file, source.line)
    return Suggestion(found.source.path, found.struct, "refused", None, reason=reason, refusals=(refusal,))


def _arrangements(found: Found, options: Options) -> list[Arrangement]:
    """Return the units of the struct, for each declaration that it can have, the likeliest first.

    Raises Refused and CannotLayOut.
    """
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
    arrangements = [arrange(struct, way) for way in ways]
    declared = arrangements[0].lay_out(range(len(arrangements[0].units)))
    if _offsets(declared) != _offsets(struct):
        raise Refused("its offsets are not those that its members give in their declared order")
    return arrangements


def _offsets(struct: Struct) -> list[tuple[str | None, int]]:
    return [(field.name, field.bit_offset) for field in struct.fields]


def _has_doubt(result: Suggestion, arrangements: Sequence[Arrangement]) -> bool:
    """Return whether another possible declaration gives the suggested order other offsets."""
    if result.new is None:
        return False
    names = order_uses.member_names(result.struct)
    fields = [names.index(name) for name in result.order]
    for each in arrangements:
        order = tuple(dict.fromkeys(each.unit_of(position) for position in fields))
        if _offsets(each.lay_out(order)) != _offsets(result.new):
            return True
    return False


class _Reordering(Record, frozen=True):
    """A struct with everything that a search needs."""

    found: Found
    arrangement: Arrangement
    ruled: Sequence[Ruled]
    reasons: dict[int, str]
    around: Surroundings
    notes: tuple[str, ...]

    def best(self, task: Task, request: Request) -> Suggestion:
        """Return the best order that the text and the uses allow, unless it is forced."""
        free = self.suggestion(task, request)
        if not free.refusals or request.is_forced or free.status == "infeasible":
            return free
        limited = self.suggestion(replace(task, limits=self.around.limits), request)
        if limited.status not in ("optimal", "feasible") or limited.refusals:
            return replace(free, status="refused")
        if [each.after for each in limited.aims] == [each.after for each in free.aims]:
            return limited
        values = ", ".join(f"{each.aim} {each.after}" for each in free.aims)
        notes = (f"an order that is better ({values}) is ruled out: {each}" for each in free.refusals)
        return replace(limited, notes=(*limited.notes, *notes))

    def suggestion(self, task: Task, request: Request) -> Suggestion:
        """Return the best order for a task."""
        solution, after = solve(task, self.ruled, self.reasons, request.effort)
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
        return self._result(
            solution.state, new, order=order,
            moves=tuple(moves_of(arrangement, solution.order, labels)),
            aims=tuple(_aims(task, solution)), rules=outcomes, core=core, is_core_minimal=solution.is_minimal,
            refusals=tuple(self._refusals(order, new)), is_forced=request.is_forced,
        )  # fmt: skip

    def _refusals(self, order: tuple[str, ...], new: Struct) -> Iterator[Refusal]:
        """Yield what forbids an order in the text and in the sources."""
        struct, names = self.arrangement.struct, order_uses.member_names(self.arrangement.struct)
        yield from self.around.refusals([names.index(name) for name in order], struct)
        old = {name: field.bit_offset for name, field in zip(names, struct.fields, strict=True)}
        moved = {name: field.bit_offset for name, field in zip(order, new.fields, strict=True)}
        for use in self.around.search.uses:
            if order_uses.forbids(use, names, order, old, moved):
                yield Refusal(use.kind, use.text, use.file, use.line, use.members)

    def _result(self, status: Status, new: Struct | None, **facts: Any) -> Suggestion:
        search = self.around.search
        hints = tuple(use for use in search.uses if use.is_note)
        return Suggestion(
            self.found.source.path, self.arrangement.struct, status, new, notes=self.notes,
            looked_at=search.looked_at, not_looked_at=search.not_looked_at,
            is_order_free=search.is_order_free, hints=hints, **facts,
        )  # fmt: skip


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
    places = [[layout.find(place.path) or place for place in path] for path in task.paths]
    return sum(max(count_lines(path, base, task.line) for base in task.bases) for path in places)
