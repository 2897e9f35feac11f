"""Format `text` of `accesses`: every field with how many functions use it, and the hottest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.inference.analysis import Analysis
from layoutlint.model.uses import Effect, plain_name
from layoutlint.phrases import quantity
from layoutlint.sources.whole_program.fields import FieldUses, hottest
from layoutlint.sources.whole_program.program import FieldUse

_FEW = 4
_WORDS = {
    Effect.READ: "read", Effect.WRITE: "written", Effect.ATOMIC: "atomic", Effect.LOCK: "locked",
    Effect.ADDRESS: "address taken",
}  # fmt: skip


def render(fields: Sequence[FieldUses], analysis: Analysis) -> str:
    """Return a paragraph for each struct, and totals."""
    return escapes.lines(_lines(fields, analysis))


def _lines(fields: Sequence[FieldUses], analysis: Analysis) -> Iterator[str]:
    struct = ""
    for each in fields:
        if each.struct != struct:
            yield from ("",) if struct else ()
            yield f"struct {each.name} ({each.file})"
            struct = each.struct
        counts = [f"{word} in {n}" for effect, word in _WORDS.items() if (n := each.count(effect))]
        yield f"  {each.path}: {', '.join(counts)}"
        for uses in hottest(each.uses, analysis.heat, _FEW):
            yield from _rows(uses, analysis)
    yield from ("",) if fields else ()
    bodies = analysis.bodies
    kept = f", {bodies.recalled:,} of them from the cache" if bodies.recalled else ""
    yield f"{quantity(len(analysis.program.functions), 'function')} of {quantity(bodies.units, 'unit')}{kept}"


def _rows(uses: Sequence[FieldUse], analysis: Analysis) -> Iterator[str]:
    """Yield what one function does to a field: a row for what it does in loops, and one for the rest."""
    name, place = plain_name(uses[0].function), analysis.place(uses[0].function)
    for in_loop in dict.fromkeys(use.in_loop for use in uses):
        effects = {use.effect for use in uses if use.in_loop is in_loop}
        words = " and ".join(word for effect, word in _WORDS.items() if effect in effects)
        yield f"    {words} by {name} ({place}){', in a loop' if in_loop else ''}"
