"""Rules on variables: judged at the addresses that a program gives them (docs/rules.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import gcd
from typing import Protocol, cast

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import Placements, pair_size
from layoutlint.judgement.context import SELECTOR, Access, CannotTell, Context
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import VARIABLES, Kind, Pack, Rule
from layoutlint.judgement.verdict import Verdict, unknown
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted

NEAR = 256
"""Bytes around a variable that are looked at: the longest line of any target."""
_NO_SYMBOLS = "it has no symbol table, which would tell where variables stand"


class OfVariables(Kind, Protocol):
    """A kind whose rules can be about variables."""

    variables: tuple[str, ...]

    def concerns(self, context: Context) -> bool:
        """Return whether some data have one of the variables that the rule is about."""
        ...


Judge = Callable[[Rule, Callable[[Context], Verdict], Context], Verdict]


def wanted(structs: Wanted, packs: Iterable[Pack]) -> Wanted:
    """The structs that are asked for, and the variables of packs that have rules on variables."""
    names: set[str] = set()
    for pack in packs:
        kinds = [rule.kind for rule in pack.rules if rule.struct == VARIABLES]
        names.update(path for kind in kinds for path in _named(cast("OfVariables", kind)))
        names.update(access.path for access in pack.variables if kinds)
    return replace(structs, variables=tuple(sorted(names)), near=NEAR)


def judged(
    rule: Rule, reading: Reading, pack: Pack, line_size: int | None, judge: Judge
) -> Iterator[Finding]:
    """A rule on variables of one input: in all data that has one of those that it is about."""
    kind = cast("OfVariables", rule.kind)
    if rule.shipped and not reading.data:
        return  # as structs that an input lacks
    if reading.data is None:
        yield Finding(rule, None, unknown(f"{reading.path}: {_NO_SYMBOLS}"), reading.path)
        return
    lacking = _lacking(kind, reading, pack.variables)
    if lacking and not rule.shipped:
        message = f"{reading.path}: no variable is called {', '.join(lacking)}"
        yield Finding(rule, None, unknown(message, missing_field=True), reading.path)
    told = False
    if rule.line_pairs:
        line_size = pair_size(line_size, reading.target)
    if line_size is not None and line_size > NEAR:
        message = f"only what is within {NEAR} bytes of a variable is looked at, and not lines of {line_size}"
        yield Finding(rule, None, unknown(message), reading.path)
        return
    for number, data in enumerate(reading.data):
        context = _context(data, pack.variables, line_size, rule.line_pairs)
        if _concerns(kind, context):
            told = True
            verdict = judge(rule, kind.check, context)
            if reading.least_data:
                least = _context(reading.least_data[number], pack.variables, line_size, rule.line_pairs)
                verdict = _whatever_sizes(verdict, judge(rule, kind.check, least))
            yield Finding(rule, data, verdict, data.origin)
    if not told and not lacking:
        message = f"{reading.path}: no variable that the rule is about is there, or declared to be used so"
        yield Finding(rule, None, unknown(message, missing_field=True), reading.path)


def _whatever_sizes(largest: Verdict, least: Verdict) -> Verdict:
    """Return the verdict that holds whatever the sizes of variables are; unknown where they decide."""
    if largest.outcome is least.outcome:
        return largest
    outcomes = f"{largest.outcome.value} if each reaches to the next, {least.outcome.value} if they are small"
    return unknown(f"the sizes of variables are not known: {outcomes}; check a vmlinux with symbols")


def _concerns(kind: OfVariables, context: Context) -> bool:
    """Whether a rule is about some data; also where that cannot be told, and neither can the verdict."""
    try:
        return kind.concerns(context)
    except CannotTell:
        return True


def _named(kind: OfVariables) -> tuple[str, ...]:
    return tuple(
        path for path in (*kind.variables, *getattr(kind, "except_", ())) if not path.startswith(SELECTOR)
    )


def _lacking(kind: OfVariables, reading: Reading, declared: tuple[Access, ...]) -> list[str]:
    """Variables that the rule names, or else is about by what is declared, and that are not there."""
    names = {*_named(kind), *(access.path for access in declared if not _named(kind))}
    return [str(variable) for variable in reading.missing_variables if variable.name in names]


def _context(data: Struct, accesses: tuple[Access, ...], line_size: int | None, in_pairs: bool) -> Context:
    """Where data stands: at one address, or for an object file wherever the section's alignment allows."""
    line = data.target.line_size if line_size is None else line_size
    if data.address is not None:
        placements = Placements(line, (data.address % line,), "at its address in the linked file")
    else:
        align = data.align or 1
        bases = tuple(range(0, line, gcd(align, line)))
        placements = Placements(line, bases, f"the section is aligned to {align}, and not linked yet")
    return Context(Layout(data), replace(placements, in_pairs=in_pairs), accesses)
