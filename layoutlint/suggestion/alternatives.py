"""Orders with more alignment or padding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, count

from layoutlint.errors import RuleFileError
from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.ctype import CType
from layoutlint.model.declared import Member
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.phrases import quantity
from layoutlint.sources import order_uses
from layoutlint.suggestion.builds import ArrangedSubject
from layoutlint.suggestion.contention import Contention
from layoutlint.suggestion.orders.arrangement import Arrangement, arrange
from layoutlint.suggestion.orders.limits import Limit
from layoutlint.suggestion.orders.problem import Aim, ContendedPair, OrderTask, task_of_one
from layoutlint.suggestion.orders.reasons import reasons
from layoutlint.suggestion.orders.result import Alternative, RuleOutcome
from layoutlint.suggestion.rules import Ruled, member_of, member_of_path, rules_of, storage_of
from layoutlint.suggestion.solving import moves_of, solve
from layoutlint.suggestion.task import task_of

_SHARE = 0.1
"""The most of the effort for each aim of each alternative."""
_SMALL_SHARE = 0.05
"""The same where several members are aligned, because there are many choices."""
_ARRANGING = 1e-6
"""The effort of preparing a search, for each pair of units."""
_MOST_MEMBERS = 12
"""The most members whose alignment is tried."""
_MOST_PAIRS = 30
"""The most pairs of members whose alignment is tried."""
_MOST_SIZES = 16
"""The most sizes of padding that are tried."""
_AIMS: tuple[Aim, ...] = ("size", "moves")


class Budget:
    """The effort that all alternatives share."""

    def __init__(self, effort: float) -> None:
        self._effort = self._left = effort
        self.untried: list[str] = []
        """What was not tried, because nothing was left: the members to align, or padding."""

    def allot(self, share: float, what: str) -> float:
        """Return the most effort for a search with what is added; 0 if none is left."""
        if self._left <= 0:
            self.untried.append(what)
        return max(0.0, min(share * self._effort, self._left))

    def take(self, effort: float) -> None:
        """Take what a search took."""
        self._left -= effort


def alternatives(
    each: ArrangedSubject,
    core: Collection[str],
    budget: Budget,
    is_forced: bool,
    contention: Contention | None = None,
) -> tuple[Alternative, ...]:
    """Return the orders that keep all rules with more alignment or padding; smallest first.

    The struct is aligned to a line, or a member of a rule that is not kept, or several if one does not help;
    or an array is added. Members of rules in the `core`, which contradict one another, come first. A struct
    in containers stays as it is: they would change with it. With `contention`, those with less of it than
    that, the least first, also by members of its pairs. Raises KeyboardInterrupt if a person ends the search.
    """
    if any(one.is_embedded for one in each.ruled):
        return ()
    options = each.subject.options
    line = options.line_size or each.arrangement.struct.target.line_size
    trial = _Trial(each, is_forced, line, frozenset(core), budget, contention)
    orders = [*trial.with_one_aligned(), *trial.with_padding()]
    if all(alternative.padding for alternative in orders):
        orders += trial.with_several_aligned()
    return tuple(sorted(orders, key=_badness))


def _badness(one: Alternative) -> tuple[object, ...]:
    return _remains_of(one.contention), one.size, len(one.moves), one.aligned


def _remains_of(contention: Contention | None) -> float:
    """Return what an order leaves of contention, on average over all placements."""
    return 0.0 if contention is None else contention.after


def _align(arrangement: Arrangement, units: Sequence[int], line: int) -> Arrangement:
    """Return the arrangement with some plain units of one member aligned to a line; with none the struct.

    The units are none of opened structs.
    """
    way, fields = arrangement.way, list(arrangement.declared.fields)
    if not units:
        way = replace(way, rules=replace(way.rules, stated=max(line, way.rules.stated or 1)))
    members = list(way.members)
    for number in units:
        (member,) = arrangement.units[number].members
        at = way.fields[member] or 0
        old = members[member]
        members[member] = replace(old, requested_align=max(line, old.requested_align or 0))
        fields[at] = replace(fields[at], requested_align=line, align=max(line, fields[at].align or 1))
    way = replace(way, members=tuple(members))
    struct = replace(
        arrangement.declared, fields=tuple(fields), align=max(line, arrangement.align), possible=0,
        unstated=Unstated.NOTHING,
    )  # fmt: skip
    opened = arrangement.opened
    order = range(len(arrangement.units))
    declared = replace(arrange(struct, way, (), opened).lay_out(order), align=struct.align)
    return arrange(declared, way, (), opened)


def _pad(arrangement: Arrangement, size: int) -> tuple[Arrangement, int]:
    """Return the arrangement with an array of some bytes as its last unit, and the number of that unit.

    It comes before a flexible array.
    """
    way, struct, units = arrangement.way, arrangement.declared, arrangement.units
    if arrangement.last is None:
        number, at, member_at = len(units), len(struct.fields), len(way.members)
    else:
        number, member_at = arrangement.last, units[arrangement.last].members[0]
        at = way.fields[member_at] or 0
    name = _padding_name(arrangement.struct)
    field = Field(name, CType("char"), 0, size * 8, dims=(size,), align=1)
    fields = (*struct.fields[:at], field, *struct.fields[at:])
    members = (*way.members[:member_at], Member(name, size * 8, 1), *way.members[member_at:])
    shifted = [None if each is None else each + (each >= at) for each in way.fields]
    way = replace(way, members=members, fields=(*shifted[:member_at], at, *shifted[member_at:]))
    struct = replace(struct, fields=fields)
    opened = {each + (each >= at): inner for each, inner in arrangement.opened.items()}
    order = range(len(units) + 1)
    return arrange(arrange(struct, way, (), opened).lay_out(order), way, (), opened), number


def _padding_name(struct: Struct) -> str:
    """Return a name for a new member of a struct."""
    taken = {field.name for field in struct.fields}
    return next(name for number in count() if (name := f"_pad{number or ''}") not in taken)


def _shift_limits(limits: Sequence[Limit], number: int) -> Iterator[Limit]:
    """Yield limits on the units of an arrangement that has one more, with a number."""
    for limit in limits:
        units, after = (tuple(each + (each >= number) for each in own) for own in (limit.units, limit.after))
        yield replace(limit, units=units, after=after)


class _Trial(Record, frozen=True):
    """Searches orders of one struct with additions."""

    each: ArrangedSubject
    is_forced: bool
    line: int
    core: frozenset[str]
    budget: Budget
    contention: Contention | None
    """What the best order without additions leaves; None if it is not to be less."""

    @property
    def _candidates(self) -> list[int]:
        """The units with fields of rules that are not kept, which can be aligned; of the core first."""
        arrangement = self.each.arrangement
        broken = [one for one in self.each.ruled if one.before.outcome is not Outcome.KEPT]
        paths: dict[str, bool] = {}
        for is_core in (False, True):
            own = (one for one in broken if (one.rule.id in self.core) == is_core)
            paths |= {member_of(place): is_core for one in own for place in one.before.evidence}
        for pair in self.contention.pairs if self.contention else ():
            if pair.after:
                paths |= dict.fromkeys(map(member_of_path, (pair.written, pair.other)), True)
        fields = arrangement.struct.fields
        named = [
            number
            for number, unit in enumerate(arrangement.units)
            if number in arrangement.top.nodes
            and unit.is_plain
            and len(unit.fields) == len(unit.members) == 1
            and fields[unit.fields[0]].name in paths
        ]
        named.sort(key=lambda number: not paths[fields[arrangement.units[number].fields[0]].name or ""])
        return named[:_MOST_MEMBERS]

    def with_one_aligned(self) -> Iterator[Alternative]:
        """Yield the orders with the struct, or one member, aligned."""
        for units in ((), *((number,) for number in self._candidates)):
            yield from self._align(units, _SHARE)

    def with_several_aligned(self) -> list[Alternative]:
        """Return the orders with two members aligned; if there is none, with as few as were found."""
        candidates = self._candidates
        pairs = list(combinations(candidates, 2))[:_MOST_PAIRS]
        best = [order for pair in pairs for order in self._align(pair, _SMALL_SHARE)]
        if best or len(candidates) < 3:
            return best
        units = tuple(candidates)
        best = list(self._align(units, _SMALL_SHARE))
        for number in candidates if best else ():
            fewer = tuple(unit for unit in units if unit != number)
            orders = list(self._align(fewer, _SMALL_SHARE)) if len(fewer) > 2 else []
            if orders:
                units, best = fewer, orders
        return best

    def with_padding(self) -> Iterator[Alternative]:
        """Yield the order with the smallest array that helps."""
        step = max(self.each.arrangement.align, -(-self.line // _MOST_SIZES))
        if step >= self.line or not any(self._pad(self.line)):
            return
        for size in range(step, self.line + 1, step):
            if orders := list(self._pad(size)):
                yield from orders
                return

    def _align(self, units: Sequence[int], share: float) -> Iterator[Alternative]:
        arrangement, names = self.each.arrangement, self.each.names
        aligned = tuple(names[arrangement.units[number].fields[0]] for number in units)
        what = " and ".join(f"`{name}`" for name in aligned) or "the struct"
        effort = self.budget.allot(share, f"alignment of {what}")
        if not effort:
            return
        arrangement = _align(arrangement, units, self.line)
        yield from self._search(arrangement, aligned, None, self._limits, effort)

    def _pad(self, size: int) -> Iterator[Alternative]:
        effort = self.budget.allot(_SMALL_SHARE, f"padding of {quantity(size, 'byte')}")
        if not effort:
            return
        arrangement, number = _pad(self.each.arrangement, size)
        others = tuple(each for each in range(len(arrangement.units)) if each != number)
        limits = (Limit("first", others), *_shift_limits(self._limits, number))
        name = _padding_name(self.each.arrangement.struct)
        yield from self._search(arrangement, (), name, limits, effort)

    @property
    def _limits(self) -> tuple[Limit, ...]:
        return () if self.is_forced else self.each.around.limits

    def _search(
        self,
        arrangement: Arrangement,
        aligned: tuple[str, ...],
        padding: str | None,
        limits: tuple[Limit, ...],
        effort: float,
    ) -> Iterator[Alternative]:
        """Yield the best order of a changed struct, if one keeps all rules."""
        self.budget.take(_ARRANGING * len(arrangement.units) ** 2)
        ruled = self._rules_on(arrangement.declared)
        if ruled is None:
            return
        build, candidate = task_of(arrangement, ruled)
        pairs = self.each.contended_pairs(arrangement.declared)
        aims: tuple[Aim, ...] = ("contention", *_AIMS) if pairs else _AIMS
        task = task_of_one(replace(build, limits=limits, pairs=pairs), aims).with_taste(self.each.taste)
        task = _without_move_of(padding, task)
        solution, after = solve(task, [[candidate]], effort, explains=False)
        self.budget.take(solution.effort)
        if solution.is_interrupted:
            raise KeyboardInterrupt
        if not solution.order:
            return
        judged = zip(self.each.ruled, after[0][0], strict=True)
        outcomes = tuple(RuleOutcome(one.rule, one.before, verdict) for one, verdict in judged)
        if any(outcome.after.outcome is not Outcome.KEPT for outcome in outcomes):
            return
        names, new = order_uses.member_names(arrangement.struct), arrangement.lay_out_flat(solution.order)
        moves = moves_of(task.order, solution.order, reasons(task, solution.order))
        left = self._compare(pairs, new)
        if self.contention is not None and _remains_of(left) >= self.contention.after:
            return
        one = Alternative(
            aligned, padding, self.line, tuple(names[at] for at in arrangement.field_order(solution.order)),
            tuple(move for move in moves if move.member != padding),
            new, outcomes, solution.state,
            _allocation(ruled, self.each.arrangement.declared), _allocation(ruled, new), left,
        )  # fmt: skip
        if self.is_forced or not self._is_forbidden(one):
            yield one

    def _compare(self, pairs: Sequence[ContendedPair], new: Struct) -> Contention | None:
        """Return what a changed struct leaves of contention; `pairs` are at its placements."""
        if self.each.measured is None:
            return None
        old = self.each.arrangement.declared
        before = self.each.contended_pairs(old)
        return self.each.measured.compare(before, old, pairs, new)

    def _rules_on(self, struct: Struct) -> list[Ruled] | None:
        """Return the rules on a changed struct; None if they are not those on the struct as it is."""
        input_struct = replace(self.each.subject.input_struct, struct=struct)
        try:
            ruled, _ = rules_of(input_struct, self.each.subject.options)
        except RuleFileError:  # the declared placement contradicts the alignment
            return None
        is_same = [one.rule.id for one in ruled] == [one.rule.id for one in self.each.ruled]
        return ruled if is_same else None

    def _is_forbidden(self, one: Alternative) -> bool:
        """Return whether something depends on the order or the offsets that an alternative changes."""
        names, fields = self.each.names, self.each.arrangement.struct.fields
        order = [name for name in one.order if name != one.padding]
        old = {name: field.bit_offset for name, field in zip(names, fields, strict=True)}
        new = {name: field.bit_offset for name, field in zip(one.order, one.new.fields, strict=True)}
        new.pop(one.padding or "", None)
        uses = [use for use in self.each.around.search.uses if not use.is_note]
        sizes = self.each.arrangement.struct.bit_size, one.new.bit_size
        if any(order_uses.forbids(use, names, order, old, new, sizes) for use in uses):
            return True
        if one.padding is None:
            return False
        before = frozenset(one.order[: one.order.index(one.padding)])
        return any(_is_parted(use, names, before) for use in uses)


def _without_move_of(padding: str | None, task: OrderTask) -> OrderTask:
    """Return a task in which a new member moves for nothing: it has no place yet."""
    pairs = zip(task.order.members, task.order.weights, strict=True)
    weights = tuple(0 if names == (padding,) else weight for names, weight in pairs)
    return replace(task, order=replace(task.order, weights=weights))


def _is_parted(use: order_uses.OrderUse, names: Sequence[str], before: frozenset[str]) -> bool:
    """Return whether a new member behind some others changes what a use of consecutive members means."""
    if use.scope in ("offset", "size"):
        return False
    if use.scope == "first":
        return not before
    members = frozenset(use.members or names)
    return not members <= before and (use.place == "start" or not members.isdisjoint(before))


def _allocation(ruled: Sequence[Ruled], struct: Struct) -> str:
    """Return what an object takes of its allocator, in words; empty if that is not known."""
    storage = storage_of(ruled, struct)
    room = None if storage is None else allocation_room(Layout(struct), storage)
    if room is not None and room.block is not None:
        return f"kmalloc-{room.block}"
    if room is not None and room.slabs:
        slab = room.slabs[-1].slab
        return f"{slab.objects} in a slab of order {slab.order}"
    return ""
