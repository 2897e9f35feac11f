"""Rules on variables: judged at the addresses that a program gives them (docs/rules.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import gcd

from layoutlint.context import SELECTOR, Access, CannotTell, Context
from layoutlint.kinds.neighbours import Neighbours
from layoutlint.layout import Layout
from layoutlint.model import Reading, Struct, Wanted
from layoutlint.placement import Placements
from layoutlint.rule import Finding, Pack, Rule, Verdict, unknown

NEAR = 256
"""Bytes around a variable that are looked at: the longest line of any target."""
_NO_SYMBOLS = "it has no symbol table, which would tell where variables stand"

Judge = Callable[[Rule, Callable[[Context], Verdict], Context], Verdict]


def wanted(structs: Wanted, packs: Iterable[Pack]) -> Wanted:
    """The structs that are asked for, and the variables of packs that have rules on variables."""
    names: set[str] = set()
    for pack in packs:
        kinds = [rule.kind for rule in pack.rules if isinstance(rule.kind, Neighbours)]
        names.update(path for kind in kinds for path in _named(kind))
        names.update(access.path for access in pack.variables if kinds)
    return replace(structs, variables=tuple(sorted(names)), near=NEAR)


def judged(
    rule: Rule, reading: Reading, pack: Pack, line_size: int | None, judge: Judge
) -> Iterator[Finding]:
    """A rule on variables of one input: in all data that has one of those that it is about."""
    kind = rule.kind
    assert isinstance(kind, Neighbours)
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
    if line_size is not None and line_size > NEAR:
        message = f"only what is within {NEAR} bytes of a variable is looked at, and not lines of {line_size}"
        yield Finding(rule, None, unknown(message), reading.path)
        return
    for data in reading.data:
        context = _context(data, pack.variables, line_size)
        if _concerns(kind, context):
            told = True
            yield Finding(rule, data, judge(rule, kind.check, context), data.origin)
    if not told and not lacking:
        message = f"{reading.path}: no variable that the rule is about is there, or declared to be used so"
        yield Finding(rule, None, unknown(message, missing_field=True), reading.path)


def _concerns(kind: Neighbours, context: Context) -> bool:
    """Whether a rule is about some data; also where that cannot be told, and neither can the verdict."""
    try:
        return kind.concerns(context)
    except CannotTell:
        return True


def _named(kind: Neighbours) -> tuple[str, ...]:
    return tuple(path for path in (*kind.variables, *kind.except_) if not path.startswith(SELECTOR))


def _lacking(kind: Neighbours, reading: Reading, declared: tuple[Access, ...]) -> list[str]:
    """Variables that the rule names, or else is about by what is declared, and that are not there."""
    names = {*_named(kind), *(access.path for access in declared if not _named(kind))}
    return [hint for hint in reading.lacking if hint.split("`")[1] in names]


def _context(data: Struct, accesses: tuple[Access, ...], line_size: int | None) -> Context:
    """Where data stands: at one address, or for an object file wherever the section's alignment allows."""
    line = data.target.line_size if line_size is None else line_size
    if data.address is not None:
        placements = Placements(line, (data.address % line,), "at its address in the linked file")
    else:
        align = data.align or 1
        bases = tuple(range(0, line, gcd(align, line)))
        placements = Placements(line, bases, f"the section is aligned to {align}, and not linked yet")
    return Context(Layout(data), placements, accesses)
