"""Verdicts on structs whose fields a build may put into any order: over every order and every base."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log, sqrt
from typing import Literal

from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import SELECTOR, CannotTell, Context
from layoutlint.judgement.rule import Rule, Traits, paths_of
from layoutlint.judgement.verdict import CONFIDENCE, Orders, Outcome, Verdict, unknown
from layoutlint.lint import open_alignments
from layoutlint.lint.placing import Case, Where
from layoutlint.model import alignment
from layoutlint.model.paths import is_pattern, overlap
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct, Unstated
from layoutlint.phrases import percent
from layoutlint.randstruct import order_tree, probability, view
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.order_tree import TooManyOrders
from layoutlint.randstruct.shape import Chosen, Laid, Shape
from layoutlint.randstruct.view import Path, View

_STEPS = re.compile(r"[^.\[\]]+")
_FEW = 8
"""Fields of an order that messages name."""
_DRAWN = (2_000, 10_000)
"""Orders that are drawn, at least and at most; between, as many as make _PLACED places of members."""
_PLACED = 300_000
_CONSTRUCTED = 48
"""How many members may stand before those that the rule names, in orders that are put together."""


def verdict(rule: Rule, struct: Struct, shape: Shape, where: Where) -> Verdict:
    """The verdict over every order that the compiler may choose; raises CannotTell."""
    storage = where.pack.storage(struct)
    if storage is not None and storage.word == EMBEDDED:  # its containers decide where it can start
        return _of_alignment(rule, struct, shape, where, shape.align)
    declared = alignment.reordered(struct, struct.fields, struct.bit_size or 0, shape.align)
    found = []
    for case in _cases(declared, where):
        align = case.aligns[-1] if case.aligns else shape.align
        found.append((case, _of_alignment(rule, struct, shape, where, align)))
    outcomes = {verdict.outcome for _, verdict in found}
    return found[0][1] if len(outcomes) == 1 else open_alignments.verdict(declared, found)


def _cases(declared: Struct, where: Where) -> tuple[Case, ...]:
    """The possible alignments of a struct as far as they make a difference, the likeliest first.

    Raises CannotTell.
    """
    layout = Layout(declared)
    if where.pack.storage(declared) is None:
        return where.cases(layout)
    likely = layout.align.value  # other orders have other sizes, which may decide where objects start
    aligns = sorted(layout.alignments, key=lambda align: align != likely)
    return tuple(Case(where.cases(layout)[0].placements, (align,)) for align in aligns)


def _of_alignment(rule: Rule, struct: Struct, shape: Shape, where: Where, align: int) -> Verdict:
    """The verdict over every order of a struct of one alignment in bytes; raises CannotTell."""
    judging = _Judging(rule, struct, shape, where, align)
    judging.said(judging.struct)  # which refuses what no order can change, with the names of all fields
    try:
        try:
            found = judging.counted()
        except TooManyOrders:
            found = judging.drawn()
        return _told(judging, found)
    except CannotLayOut as why:
        raise CannotTell(f"its randomised layouts cannot be told: {why}") from None


@dataclass(frozen=True, slots=True)
class _Failing:
    """In which of its placements the rule fails when a struct looks in one way."""

    total: int
    bases: tuple[int, ...]
    placements: tuple[int, ...]
    share: Fraction


@dataclass(slots=True)
class _Found:
    """What all orders come to."""

    share: float = 0.0
    error: float = 0.0
    drawn: int | None = None
    fails: bool = False
    holds: bool = False
    witness: Chosen | None = None
    """An order in which the rule fails, as often as in any; else any order."""
    worst: Fraction = Fraction(-1)
    violating: set[int] = field(default_factory=set)
    bases: set[int] = field(default_factory=set)

    def take(self, failing: _Failing, chosen: Chosen) -> None:
        """Takes one order into account."""
        self.fails |= failing.share > 0
        self.holds |= failing.share < 1
        self.violating.update(failing.bases)
        self.bases.update(failing.placements)
        if failing.share > self.worst:
            self.worst, self.witness = failing.share, chosen


class _Judging:
    """One rule on one struct: what it says of each way in which the struct can look."""

    def __init__(self, rule: Rule, struct: Struct, shape: Shape, where: Where, align: int) -> None:
        self.rule, self.shape, self.where, self._read = rule, shape, where, struct
        self.struct = replace(struct, align=align, possible=0, unstated=Unstated.NOTHING)
        """As it is declared, with one of the alignments that it can have."""
        self.storage = where.pack.storage(struct)
        traits = rule.kind.traits
        needs_size = traits.needs_size or self.storage is not None
        line = where.line_size or struct.target.line_size
        self._reach = line * 8 if traits.fields == "near" and self.storage is None else None
        self._cases: dict[int, Case] = {}
        self._failing: dict[View, _Failing] = {}
        self.question = view.question(shape, (), False, needs_size)
        named = _named(rule, self._context(self.struct))
        sees_others = traits.fields != "named" or any(place.is_flexible for place in named)
        self.question = view.question(shape, map(_steps, named), sees_others, needs_size)

    def counted(self) -> _Found:
        """Over all orders, each with its weight; raises TooManyOrders."""
        found, share, total = _Found(), Fraction(0), 0
        for chance in probability.counted(self.shape, self.question):
            failing = self.failing(chance.view)
            found.take(failing, chance.orders)
            share += chance.weight * failing.share
            total += chance.weight
        found.share = float(share / total)
        return found

    def drawn(self) -> _Found:
        """Over orders drawn by chance."""
        found, shares = _Found(), list[float]()
        members = sum(len(shape.fields) for shape in self.shape.below())
        number = max(_DRAWN[0], min(_DRAWN[1], _PLACED // members))
        for chosen, known in probability.drawn(self.shape, number):
            failing = self.failing(self.question.view(self.shape, known))
            found.take(failing, chosen)
            shares.append(float(failing.share))
        found.drawn, found.share = number, sum(shares) / number
        found.error = _error(shares, found.share)
        if not found.fails or not found.holds:
            for chosen in self._constructed():
                view = self.question.view(self.shape, self.shape.all_laid(chosen))
                found.take(self.failing(view), chosen)
        return found

    def failing(self, view: View) -> _Failing:
        """What becomes of the rule when the struct looks so; raises CannotTell."""
        if self._reach is not None:
            view = self.question.near(self.shape, view, self._reach)
        if view not in self._failing:
            self._failing[view] = self._judged(self._seen(view))
        return self._failing[view]

    def _seen(self, view: View) -> Struct:
        size = view[0] if self.question.needs_size else max(self.struct.bit_size or 0, 1)
        fields = self.question.shown(self.shape, view)
        return replace(self.struct, fields=fields, bit_size=size)

    def _judged(self, seen: Struct) -> _Failing:
        verdict = self.said(seen)
        if verdict.total:
            share = Fraction(len(verdict.bases), verdict.total)
        else:
            share = Fraction(verdict.outcome is Outcome.BROKEN)
        return _Failing(verdict.total, verdict.bases, self.case(seen).placements.bases, share)

    def said(self, seen: Struct) -> Verdict:
        """The verdict of the kind on one layout."""
        return self.rule.kind.check(self._context(seen))

    def _context(self, seen: Struct) -> Context:
        is_one_of_many = is_pattern(self.rule.struct)
        return self.where.context(Layout(seen), self.case(seen).placements, is_one_of_many)

    def case(self, seen: Struct) -> Case:
        """Where objects of a layout start; raises CannotTell."""
        size = seen.bit_size or 0 if self.question.needs_size else 0
        if size not in self._cases:
            is_embedded = self.storage is not None and self.storage.word == EMBEDDED
            cases = self.where.cases(Layout(self._read if is_embedded else seen))
            if len({case.placements.bases for case in cases}) > 1:
                called = f"{self.struct.aggregate} {self.struct.name}"
                raise CannotTell(
                    f"the alignment of {called} is not in the debug information, which decides where it "
                    "can start"
                )
            self._cases[size] = cases[0]
        return self._cases[size]

    def _constructed(self) -> Iterator[Chosen]:
        """Orders in which what the rule names stands side by side, at many places, or far apart."""
        plain = {one: list(range(len(one.fields))) for one in self.shape.below() if one.stream is not None}
        for shape in plain:
            asked = sorted(self.question.sights[shape].asked)
            for key in _keys(shape, asked):
                order = None if shape.part is None else order_tree.sorted_by(shape.part, key.__getitem__)
                if order is not None:
                    yield {**_producible(plain), shape: order}


def _producible(plain: Mapping[Shape, list[int]]) -> Chosen:
    """An order of each shape that the compiler may choose."""
    found: dict[Shape, list[int]] = {}
    for shape, declared in plain.items():
        order = None if shape.part is None else order_tree.sorted_by(shape.part, float)
        found[shape] = declared if order is None else order
    return found


def _keys(shape: Shape, asked: list[int]) -> Iterator[dict[int, float]]:
    """Numbers by which members are put into orders that a rule may fail or hold in."""
    others = [position for position in range(len(shape.fields)) if position not in asked]
    sizes = {position: shape.fields[position].bit_size or 0 for position in others}
    for rest in (others, sorted(others, key=sizes.__getitem__), sorted(others, key=lambda p: -sizes[p])):
        for turned in (asked, asked[::-1]):
            for before in range(min(len(rest), _CONSTRUCTED) + 1):
                row = [*rest[:before], *turned, *rest[before:]]
                yield {position: float(place) for place, position in enumerate(row)}
            half = len(turned) // 2 or 1
            row = [*turned[:half], *rest, *turned[half:]]
            yield {position: float(place) for place, position in enumerate(row)}


def _named(rule: Rule, context: Context) -> tuple[Place, ...]:
    """All fields that a rule names, with all accesses where it speaks of those. Raises as kinds do."""
    patterns = paths_of(rule.kind)
    places = context.places(patterns, or_none=True)
    if not rule.kind.traits.uses_accesses and not any(pattern.startswith(SELECTOR) for pattern in patterns):
        return places
    declared = [place for access in context.accesses for place in context.declared(access)]
    return tuple(dict.fromkeys((*places, *declared)))


def _steps(place: Place) -> Path:
    """The names that lead to a field, without the indices of arrays."""
    return tuple(step for step in _STEPS.findall(place.path) if not step.isdigit())


def _error(shares: Iterable[float], mean: float) -> float:
    """How far the mean of some shares can be off, with CONFIDENCE: by Hoeffding's inequality or Bernstein's.

    The latter is the one for a variance that was measured (Maurer and Pontil, 2009, theorem 4); each is given
    half of what may go wrong, and both of theirs on either side.
    """
    several = list(shares)
    number, wrong = len(several), (1 - CONFIDENCE) / 2
    variance = sum((share - mean) ** 2 for share in several) / (number - 1)
    hoeffding = sqrt(log(2 / wrong) / (2 * number))
    bernstein = sqrt(2 * variance * log(4 / wrong) / number) + 7 * log(4 / wrong) / (3 * (number - 1))
    return min(hoeffding, bernstein)


def _told(judging: _Judging, found: _Found) -> Verdict:
    """The verdict, as it is told: with one order as the witness."""
    if found.drawn is not None and not found.fails:
        return unknown(_not_seen(judging.shape.mode, found))
    known = judging.shape.all_laid(found.witness or {})
    shown = replace(
        judging.struct, fields=judging.shape.moved(known), bit_size=known[judging.shape].bit_size,
        origin="", files=(),
    )  # fmt: skip
    told = judging.said(shown)
    placements = judging.case(shown).placements
    row = tuple(_row(judging.shape, known, ""))
    outcome = _outcome(judging.rule, found)
    counted: Literal["exact", "sampled"] = "exact" if found.drawn is None else "sampled"
    over = Orders(
        judging.shape.mode, counted, found.share, found.error, found.drawn, row, told.witness, shown
    )  # fmt: skip
    is_placed = bool(told.total)
    return replace(
        told,
        outcome=outcome,
        message=_message(told, over, outcome, judging.rule),
        bases=tuple(sorted(found.violating)),
        total=len(found.bases) if is_placed else 0,
        basis=placements.basis(tuple(sorted(found.violating))) if is_placed else "",
        is_placed=is_placed and judging.storage is not None,
        advice="" if outcome is Outcome.KEPT else _advice(judging.rule.kind.traits),
        orders=over,
    )


def _outcome(rule: Rule, found: _Found) -> Outcome:
    """What a share comes to; that of drawn orders proves no more than that both can be, or one."""
    if not found.fails or 0 < found.share + found.error <= rule.tolerate:
        return Outcome.KEPT
    return Outcome.AT_RISK if found.holds or found.drawn is not None else Outcome.BROKEN


def _not_seen(mode: str, found: _Found) -> str:
    most = found.share + found.error
    return (
        f"the rule holds in {found.drawn:,} orders drawn by chance from those that {mode} can choose, and no "
        f"order was found in which it fails: it does so in at most {most:.2%} of the placements, with "
        f"{CONFIDENCE:.0%} confidence, and whether in any is not known"
    )


def _message(told: Verdict, over: Orders, outcome: Outcome, rule: Rule) -> str:
    row = _short(over.witness, {place.path for place in told.evidence})
    order = f"in the order {row}" if row else "in one order"
    if outcome is Outcome.KEPT and not over.share and over.drawn is None:
        return f"{told.message}, {order}; it holds in every other that {over.mode} can choose as well"
    if outcome is Outcome.BROKEN:
        return (
            f"{told.message}, {order}; it fails in every placement of every order that {over.mode} can choose"
        )
    often = percent(over.share)
    if over.drawn is not None:
        sure = (
            f"± {over.error:.2%} with {CONFIDENCE:.0%} confidence, by {over.drawn:,} orders drawn by chance"
        )
        often = f"{often} ({sure})"
    all_orders = f"over all orders that {over.mode} can choose"
    message = f"{told.message}, {order}; {all_orders} it fails in {often} of the placements"
    if outcome is Outcome.KEPT:
        return f"{message}; the rule tolerates {rule.tolerate:.1%} of the placements"
    return message


def _short(row: tuple[str, ...], paths: set[str]) -> str:
    """The part of an order in which the fields stand that a verdict is about, as a list of a few names."""
    at = [n for n, name in enumerate(row) if any(overlap(path, name) for path in paths)]
    if not at:
        return ""
    first, last = at[0], at[-1]
    names = [f"`{name}`" for name in row[first : last + 1]]
    if len(names) > _FEW:
        names = [*names[: _FEW // 2], f"... {len(names) - _FEW} more ...", *names[-(_FEW // 2) :]]
    before = ["..."] if first else []
    return ", ".join([*before, *names, *(["..."] if last + 1 < len(row) else [])])


def _row(shape: Shape, known: Mapping[Shape, Laid], prefix: str) -> Iterator[str]:
    """The fields in their order, those of shuffled structs inside in their stead; unnamed ones are opened."""
    for position in known[shape].order:
        member = shape.fields[position]
        held = shape.inner.get(position)
        here = prefix if member.name is None else f"{prefix}{member.name}"
        if held is not None:
            yield from _row(held[0], known, here if member.name is None else f"{here}.")
        elif member.name is not None:
            yield here
        else:
            yield prefix + "/".join(view.names(member.members))


def _advice(traits: Traits) -> str:
    """What holds in a struct whose fields are shuffled."""
    if traits.arranges == "apart":
        holds = (
            "give each side a struct of its own with a name, aligned to the line (`____cacheline_aligned`)"
        )
    elif traits.arranges == "together":
        holds = (
            "put the fields into a struct of their own with a name and an alignment: it moves as one piece"
        )
    else:
        holds = "put what belongs together into a struct of its own with a name: it moves as one piece"
    return (
        f"{holds}; alignments survive the shuffle and the declared order does not; "
        f"as a last resort, `__no_randomize_layout`, or a build with RANDSTRUCT_NONE"
    )
