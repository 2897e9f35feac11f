"""Format `text` of `accesses`: every field with how many functions use it, and the hottest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.evidence.inference.analysis import Analysis
from layoutlint.evidence.inference.fields import FieldUses, hottest
from layoutlint.model.uses import Effect, plain_name
from layoutlint.phrases import quantity

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
        for use in hottest(each.uses, analysis.heat, _FEW):
            loop = ", in a loop" if use.in_loop else ""
            place = analysis.place(use.function)
            yield f"    {_WORDS[use.effect]} by {plain_name(use.function)} ({place}){loop}"
    yield from ("",) if fields else ()
    bodies = analysis.bodies
    kept = f", {bodies.recalled:,} of them from the cache" if bodies.recalled else ""
    yield f"{quantity(len(analysis.program.functions), 'function')} of {quantity(bodies.units, 'unit')}{kept}"
