"""Verdicts on structs whose fields a build may put into any order: over all orders and bases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import log, sqrt
from typing import Literal

from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import SELECTOR, CannotTell, Context
from layoutlint.judgement.rule import Rule, Traits, paths_of
from layoutlint.judgement.verdict import CONFIDENCE, Orders, Outcome, Verdict, unknown
from layoutlint.lint import unknown_alignments
from layoutlint.lint.placing import Case, RulePlacements
from layoutlint.model import possible_alignments
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record, field, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct, Unstated
from layoutlint.randstruct import order_tree, probability, view
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.order_tree import TooManyOrders
from layoutlint.randstruct.shape import Chosen, Shape, ShapeLayout
from layoutlint.randstruct.view import Path, View

_STEPS = re.compile(r"[^.\[\]]+")
_DRAWN = (2_000, 10_000)
"""The least and the most orders drawn at random; between, so many that _PLACED members are placed."""
_PLACED = 300_000
_CONSTRUCTED = 48
"""The most members before the named fields, in orders that are constructed."""


def judge_every_order(rule: Rule, struct: Struct, shape: Shape, where: RulePlacements) -> Verdict:
    """Return the verdict over every order that the compiler may choose; raises CannotTell."""
    storage = where.pack.storage(struct)
    if storage is not None and storage.word == EMBEDDED:  # the containers decide where an object starts
        return _judge_alignment(rule, struct, shape, where, shape.align)
    declared = possible_alignments.reorder(struct, struct.fields, struct.bit_size or 0, shape.align)
    verdicts = []
    for case in _cases(declared, where):
        align = case.aligns[-1] if case.aligns else shape.align
        verdicts.append((case, _judge_alignment(rule, struct, shape, where, align)))
    outcomes = {verdict.outcome for _, verdict in verdicts}
    return verdicts[0][1] if len(outcomes) == 1 else unknown_alignments.unknown_alignment(declared, verdicts)


def _cases(declared: Struct, where: RulePlacements) -> tuple[Case, ...]:
    """Return the possible alignments of a struct that make a difference, the likeliest first.

    Raises CannotTell.
    """
    layout = Layout(declared)
    if where.pack.storage(declared) is None:
        return where.usual_cases(layout)
    likely = layout.align.value  # other orders have other sizes, which can decide where objects start
    aligns = sorted(layout.alignments, key=lambda align: align != likely)
    return tuple(Case(where.usual_cases(layout)[0].placements, (align,)) for align in aligns)


def _judge_alignment(rule: Rule, struct: Struct, shape: Shape, where: RulePlacements, align: int) -> Verdict:
    """Return the verdict over every order of a struct, for one alignment in bytes; raises CannotTell."""
    judge = _OrderJudge(rule, struct, shape, where, align)
    judge.check(judge.struct)  # raises CannotTell for mistakes that no order changes
    try:
        try:
            result = judge.count_orders()
        except TooManyOrders:
            result = judge.draw_orders()
        return _verdict(judge, result)
    except CannotLayOut as why:
        raise CannotTell(f"its randomised layouts are not known: {why}") from None


class _LayoutResult(Record, frozen=True):
    """The placements of one layout of a struct, and those in which the rule fails."""

    total: int
    violating: tuple[int, ...]
    """The bases at which the rule fails."""
    bases: tuple[int, ...]
    share: Fraction
    """The share of the placements in which the rule fails."""


class _Result(Record):
    """The result over all orders."""

    share: float = 0.0
    """The share of the placements of all orders in which the rule fails."""
    error: float = 0.0
    """How far `share` can be off; 0 if all orders were counted."""
    drawn: int | None = None
    """How many orders were drawn at random; None if all were counted."""
    fails: bool = False
    """Whether the rule fails in some placement of some order."""
    holds: bool = False
    """Whether it holds in some placement of some order."""
    witness: Chosen | None = None
    """The first order in which the largest share of the placements fails."""
    worst: Fraction = Fraction(-1)
    violating: set[int] = field(default_factory=set)
    bases: set[int] = field(default_factory=set)

    def add(self, layout_result: _LayoutResult, chosen: Chosen) -> None:
        """Add the result of one order."""
        self.fails |= layout_result.share > 0
        self.holds |= layout_result.share < 1
        self.violating.update(layout_result.violating)
        self.bases.update(layout_result.bases)
        if layout_result.share > self.worst:
            self.worst, self.witness = layout_result.share, chosen


class _OrderJudge:
    """Judges one rule on the layouts that the orders of one struct can have."""

    def __init__(self, rule: Rule, struct: Struct, shape: Shape, where: RulePlacements, align: int) -> None:
        self.rule, self.shape, self._where, self._declared = rule, shape, where, struct
        self.struct = replace(struct, align=align, possible=0, unstated=Unstated.NOTHING)
        """The declared struct, with one of its possible alignments."""
        self.storage = where.pack.storage(struct)
        traits = rule.kind.traits
        needs_size = traits.needs_size or self.storage is not None
        line = where.line_size or struct.target.line_size
        self._reach = line * 8 if traits.fields == "near" and self.storage is None else None
        self._cases: dict[int, Case] = {}
        self._results: dict[View, _LayoutResult] = {}
        self.question = view.make_question(shape, (), False, needs_size)
        fields = _fields_of_rule(rule, self._context(self.struct))
        sees_others = traits.fields != "named" or any(place.is_flexible for place in fields)
        self.question = view.make_question(shape, map(_steps, fields), sees_others, needs_size)

    def count_orders(self) -> _Result:
        """Judge all orders, each with its probability; raises TooManyOrders."""
        result, share, total = _Result(), Fraction(0), 0
        for chance in probability.count_views(self.shape, self.question):
            layout_result = self._judge_view(chance.view)
            result.add(layout_result, chance.orders)
            share += chance.weight * layout_result.share
            total += chance.weight
        result.share = float(share / total)
        return result

    def draw_orders(self) -> _Result:
        """Judge orders drawn at random and, if all agree, orders that are likely to differ."""
        result, shares = _Result(), list[float]()
        members = sum(len(shape.fields) for shape in self.shape.all_inside())
        number = max(_DRAWN[0], min(_DRAWN[1], _PLACED // members))
        for chosen, layouts in probability.sample_layouts(self.shape, number):
            layout_result = self._judge_view(self.question.view(self.shape, layouts))
            result.add(layout_result, chosen)
            shares.append(float(layout_result.share))
        result.drawn, result.share = number, sum(shares) / number
        result.error = _error(shares, result.share)
        if not result.fails or not result.holds:
            for chosen in self._constructed_orders():
                order_view = self.question.view(self.shape, self.shape.lay_out_all(chosen))
                result.add(self._judge_view(order_view), chosen)
        return result

    def _judge_view(self, order_view: View) -> _LayoutResult:
        """Judge the layouts that have one view; raises CannotTell."""
        if self._reach is not None:
            order_view = self.question.view_near(self.shape, order_view, self._reach)
        if order_view not in self._results:
            self._results[order_view] = self._judge_struct(self._struct_of(order_view))
        return self._results[order_view]

    def _struct_of(self, order_view: View) -> Struct:
        size = order_view[0] if self.question.needs_size else max(self.struct.bit_size or 0, 1)
        fields = self.question.place_members(self.shape, order_view)
        return replace(self.struct, fields=fields, bit_size=size)

    def _judge_struct(self, struct: Struct) -> _LayoutResult:
        verdict = self.check(struct)
        if verdict.total:
            share = Fraction(len(verdict.bases), verdict.total)
        else:
            share = Fraction(verdict.outcome is Outcome.BROKEN)
        return _LayoutResult(verdict.total, verdict.bases, self.case(struct).placements.bases, share)

    def check(self, struct: Struct) -> Verdict:
        """Return the verdict of the kind on one layout."""
        return self.rule.kind.check(self._context(struct))

    def _context(self, struct: Struct) -> Context:
        is_one_of_many = is_pattern(self.rule.struct)
        return self._where.context(Layout(struct), self.case(struct).placements, is_one_of_many)

    def case(self, struct: Struct) -> Case:
        """Return the placements of one layout; raises CannotTell."""
        size = struct.bit_size or 0 if self.question.needs_size else 0
        if size not in self._cases:
            is_embedded = self.storage is not None and self.storage.word == EMBEDDED
            cases = self._where.usual_cases(Layout(self._declared if is_embedded else struct))
            if len({case.placements.bases for case in cases}) > 1:
                name = f"{self.struct.aggregate} {self.struct.name}"
                raise CannotTell(
                    f"the alignment of {name} is not in the debug information, "
                    "which decides where it can start"
                )
            self._cases[size] = cases[0]
        return self._cases[size]

    def _constructed_orders(self) -> Iterator[Chosen]:
        """Yield orders with the fields of the rule side by side, at many places, or far apart."""
        shapes = (shape for shape in self.shape.all_inside() if shape.stream is not None)
        declared = {shape: list(range(len(shape.fields))) for shape in shapes}
        for shape in declared:
            positions = sorted(self.question.sights[shape].named)
            for key in _sort_keys(shape, positions):
                order = None if shape.part is None else order_tree.sort_by(shape.part, key.__getitem__)
                if order is not None:
                    yield {**_possible_orders(declared), shape: order}


def _possible_orders(declared: Mapping[Shape, list[int]]) -> Chosen:
    """Return one order of each shape that the compiler may choose, near the declared one."""
    orders: dict[Shape, list[int]] = {}
    for shape, positions in declared.items():
        order = None if shape.part is None else order_tree.sort_by(shape.part, float)
        orders[shape] = positions if order is None else order
    return orders


def _sort_keys(shape: Shape, fields: list[int]) -> Iterator[dict[int, float]]:
    """Yield keys that sort the members of a shape into orders in which a rule may fail or hold.

    `fields` are the positions of the fields of the rule.
    """
    others = [position for position in range(len(shape.fields)) if position not in fields]
    sizes = {position: shape.fields[position].bit_size or 0 for position in others}
    for rest in (others, sorted(others, key=sizes.__getitem__), sorted(others, key=lambda p: -sizes[p])):
        for group in (fields, fields[::-1]):
            for start in range(min(len(rest), _CONSTRUCTED) + 1):
                row = [*rest[:start], *group, *rest[start:]]
                yield {position: float(place) for place, position in enumerate(row)}
            half = len(group) // 2 or 1
            row = [*group[:half], *rest, *group[half:]]
            yield {position: float(place) for place, position in enumerate(row)}


def _fields_of_rule(rule: Rule, context: Context) -> tuple[Place, ...]:
    """Return all fields that a rule names, and those with declared accesses if it uses accesses.

    Raises what kinds raise.
    """
    patterns = paths_of(rule.kind)
    places = context.places(patterns, or_none=True)
    if not rule.kind.traits.uses_accesses and not any(pattern.startswith(SELECTOR) for pattern in patterns):
        return places
    declared = [place for access in context.accesses for place in context.declared_fields(access)]
    return tuple(dict.fromkeys((*places, *declared)))


def _steps(place: Place) -> Path:
    """Return the names that lead to a field, without the indices of arrays."""
    return tuple(step for step in _STEPS.findall(place.path) if not step.isdigit())


def _error(shares: Iterable[float], mean: float) -> float:
    """Return how far the mean of shares can be off, with CONFIDENCE.

    The bound is the smaller one of Hoeffding's inequality and Bernstein's, in its form for a measured
    variance (Maurer and Pontil, 2009, theorem 4). Each inequality gets half of the probability of error, and
    so does each side of it.
    """
    sample = list(shares)
    number, error_probability = len(sample), (1 - CONFIDENCE) / 2
    variance = sum((share - mean) ** 2 for share in sample) / (number - 1)
    hoeffding = sqrt(log(2 / error_probability) / (2 * number))
    log_term = log(4 / error_probability)
    bernstein = sqrt(2 * variance * log_term / number) + 7 * log_term / (3 * (number - 1))
    return min(hoeffding, bernstein)


def _verdict(judge: _OrderJudge, result: _Result) -> Verdict:
    """Return the verdict over all orders, with one order as the witness."""
    if result.drawn is not None and not result.fails:
        return unknown(_no_failure_message(judge.shape.mode, result))
    layouts = judge.shape.lay_out_all(result.witness or {})
    witness = replace(
        judge.struct, fields=judge.shape.move_members(layouts), bit_size=layouts[judge.shape].bit_size,
        origin="", files=(),
    )  # fmt: skip
    of_witness = judge.check(witness)
    placements = judge.case(witness).placements
    row = tuple(_names_in_order(judge.shape, layouts, ""))
    outcome = _outcome(judge.rule, result)
    counted: Literal["exact", "sampled"] = "exact" if result.drawn is None else "sampled"
    orders = Orders(
        judge.shape.mode, counted, result.share, result.error, result.drawn, row, of_witness.witness, witness
    )  # fmt: skip
    is_placed = bool(of_witness.total)
    violating = tuple(sorted(result.violating))
    return replace(
        of_witness,
        outcome=outcome,
        tolerance=judge.rule.tolerate if result.fails and outcome is Outcome.KEPT else None,
        bases=violating,
        possible=tuple(sorted(result.bases)) if is_placed else (),
        total=len(result.bases) if is_placed else 0,
        basis=placements.basis(violating) if is_placed else "",
        is_placed=is_placed and judge.storage is not None,
        advice="" if outcome is Outcome.KEPT else _advice(judge.rule.kind.traits),
        orders=orders,
    )


def _outcome(rule: Rule, result: _Result) -> Outcome:
    """Return the outcome over all orders; orders drawn at random cannot prove that all of them fail."""
    if not result.fails or 0 < result.share + result.error <= rule.tolerate:
        return Outcome.KEPT
    return Outcome.AT_RISK if result.holds or result.drawn is not None else Outcome.BROKEN


def _no_failure_message(mode: str, result: _Result) -> str:
    most = result.share + result.error
    return (
        f"the rule holds in {result.drawn:,} orders drawn at random from those that {mode} can choose, "
        f"and no order was found in which it fails: it fails in at most {most:.2%} of the placements, with "
        f"{CONFIDENCE:.0%} confidence, and whether in any is not known"
    )


def _names_in_order(shape: Shape, layouts: Mapping[Shape, ShapeLayout], prefix: str) -> Iterator[str]:
    """Yield the fields in their order; the fields of a shuffled or unnamed struct replace the struct."""
    for position in layouts[shape].order:
        member = shape.fields[position]
        inner = shape.inner.get(position)
        path = prefix if member.name is None else f"{prefix}{member.name}"
        if inner is not None:
            yield from _names_in_order(inner[0], layouts, path if member.name is None else f"{path}.")
        elif member.name is not None:
            yield path
        else:
            yield prefix + "/".join(view.member_names(member.members))


def _advice(traits: Traits) -> str:
    """Return advice that holds for shuffled fields."""
    if traits.arranges == "apart":
        holds = "put each side into a named struct, aligned to the line (`____cacheline_aligned_in_smp`)"
    elif traits.arranges == "together":
        holds = "put the fields into a named, aligned struct: it moves as one piece"
    else:
        holds = "put these fields into a named struct: it moves as one piece"
    return (
        f"{holds}; alignments survive the shuffle and the declared order does not; "
        f"as a last resort, `__no_randomize_layout`, or a build with RANDSTRUCT_NONE"
    )
