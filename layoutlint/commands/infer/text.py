"""Format `text` of `infer`: notes with their reasons, then contradictions."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.inference.analysis import Analysis
from layoutlint.inference.contradictions import Contradiction
from layoutlint.inference.infer import Inferred
from layoutlint.inference.ranking import Note
from layoutlint.model.uses import plain_name
from layoutlint.phrases import quantity
from layoutlint.reports.meeting_phrases import placement_count, reasons


def render(inferred: Inferred) -> str:
    """Return the report for people."""
    return escapes.lines(_lines(inferred))


def _lines(inferred: Inferred) -> Iterator[str]:
    for rank, note in enumerate(inferred.notes, 1):
        yield from _note(rank, note)
        yield ""
    for contradiction in inferred.contradictions:
        yield from _contradiction(contradiction, inferred.analysis)
        yield ""
    bodies = inferred.analysis.bodies
    functions = quantity(len(inferred.analysis.program.functions), "function")
    yield f"{functions} of {quantity(bodies.units, 'unit')} read"
    notes = f"{quantity(len(inferred.notes), 'note')}, the best first"
    yield f"{notes}; {inferred.left_out:,} more are left out (--most)" if inferred.left_out else notes
    if not inferred.notes:
        yield (
            "infer looks for fields that functions write, on a line with fields that others use; "
            "`layoutlint check --pack generic` guesses from types alone, and `layoutlint init` drafts rules"
        )
    if inferred.notes:
        yield "notes are guesses: sources do not show how often code runs, and on which processor"
    if inferred.without_signs:
        yield (
            f"{quantity(inferred.without_signs, 'written field')} left out: no function changes them "
            "atomically, with a lock, or in another thread than the readers; without races, one thread at a "
            "time uses such a field"
        )
    if inferred.contradictions:
        yield quantity(len(inferred.contradictions), "contradiction")


def _note(rank: int, note: Note) -> Iterator[str]:
    victims = ", ".join(f"`{pair.reader.part.path}` in {placement_count(pair, note)}" for pair in note.pairs)
    yield f"{rank}. struct {note.struct.name}: `{note.writer.part.path}` shares a line with {victims}"
    if note.struct.source is not None:
        yield f"  --> {note.struct.source}"
    yield from (f"  {reason}" for reason in reasons(note))
    writers = quantity(note.writers, "writer")
    yield f"  score {note.score:.1f}, {note.rank_in_struct} of {writers} of the struct"


def _contradiction(contradiction: Contradiction, analysis: Analysis) -> Iterator[str]:
    yield (
        f"contradiction: struct {contradiction.struct}: `{contradiction.path}` is "
        f"{contradiction.declared}, and is {contradiction.observation}"
    )
    for use in contradiction.places:
        yield f"  by {plain_name(use.function)} ({analysis.place(use.function)})"
