"""Format `json` of `infer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.inference.contradictions import Contradiction
from layoutlint.inference.infer import Inferred
from layoutlint.inference.ranking import Note
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, Share, one_of
from layoutlint.model.uses import Effect, plain_name
from layoutlint.reports.json_values import document_text, file_and_line
from layoutlint.reports.meeting_phrases import reasons
from layoutlint.sources.whole_program.fields import FieldUses

_MOST_FUNCTIONS = 20


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/infer/1"):
    """Guesses from sources: fields whose writers disturb the readers of others on the same cache line."""

    units: Natural
    """The number of C units that were read."""
    functions: Natural
    """The number of functions."""
    notes: Sequence[NoteJson]
    """One for each written field that disturbs others, the best first."""
    left_out: Natural
    """The number of notes after these."""
    without_signs: Natural
    """The number of written fields of a program that nothing marks as used by several threads at once: no
    atomic, no store through a volatile pointer, no lock held by the functions that store, no reader that only
    other threads run. They have no notes. 0 for a kernel."""
    pairs: Sequence[PairJson]
    """Pairs of fields of all structs, the best first."""
    contradictions: Sequence[ContradictionJson]
    """Declared accesses that the source denies."""
    fields: Sequence[FieldJson]
    """The uses of all fields, sorted by struct and path."""
    unread: Sequence[UnreadJson]
    """What could not be read."""


class NoteJson(JsonObject, frozen=True):
    """A note."""

    struct: str
    """The struct's tag or typedef."""
    file: str | None
    """The file that defines it."""
    line: Positive | None
    """The line of the definition."""
    writer: str
    """The path of the written field."""
    kind: Annotated[str, one_of("write", "atomic", "lock")]
    """How it is written."""
    victims: Sequence[str]
    """The paths of up to three fields that it disturbs most."""
    rank: Positive
    """Its place among all notes, from 1."""
    rank_in_struct: Positive
    """Its place among the notes of the struct, from 1."""
    writers: Positive
    """The number of notes of the struct."""
    score: Amount
    """What notes are sorted by."""
    chance: Share
    """The probability with which a random order puts it among the first three of the struct."""
    placements: PlacementsJson
    """The positions of objects in a cache line."""
    reasons: Sequence[str]
    """Sentences: who writes, then who reads each victim."""
    origin: Annotated[str, one_of("inferred")]
    """What the note rests on."""


class PairJson(JsonObject, frozen=True):
    """A pair."""

    struct: str
    """The struct."""
    fields: tuple[str, str]
    """The written field and the one that is read."""
    rank: Positive
    """Its place among all pairs."""
    rank_in_struct: Positive
    """Its place among the pairs of the struct."""
    score: Amount
    """What pairs are sorted by."""


class ContradictionJson(JsonObject, frozen=True):
    """A contradiction."""

    struct: str
    """The struct."""
    path: str
    """The field."""
    declared: str
    """What is declared, and where."""
    found: Annotated[str, one_of("written", "only read")]
    """What functions do."""
    places: Sequence[PlaceJson]
    """The hottest of these functions."""


class FieldJson(JsonObject, frozen=True):
    """A field."""

    struct: str
    """The struct."""
    file: str
    """The file that defines it."""
    path: str
    """The path of the field."""
    reads: Natural
    """The number of functions that read it."""
    writes: Natural
    """The number that write it."""
    atomics: Natural
    """The number that change it atomically."""
    locks: Natural
    """The number that lock it."""
    functions: Sequence[str]
    """The hottest of them."""


class UnreadJson(JsonObject, frozen=True):
    """An input or unit."""

    path: str
    """Its name."""
    reason: str
    """Why."""


class PlacementsJson(JsonObject, frozen=True):
    """The positions of objects in a cache line."""

    line_size: Positive
    """Bytes of a line."""
    total: Positive
    """The number of positions."""
    violating: Sequence[Natural]
    """For each victim the number of positions in which it shares a line with the writer."""
    bases: Sequence[Sequence[Natural]]
    """For each victim these positions, in bytes."""


class PlaceJson(JsonObject, frozen=True):
    """A function."""

    function: str
    """Its name."""
    file: str
    """Its file."""
    line: Positive
    """Its line."""


def render(inferred: Inferred) -> str:
    """Return one JSON object."""
    document = Document(
        units=inferred.analysis.bodies.units,
        functions=len(inferred.analysis.program.functions),
        notes=[_note(rank, note) for rank, note in enumerate(inferred.notes, 1)],
        left_out=inferred.left_out,
        without_signs=inferred.without_signs,
        pairs=_pairs(inferred),
        contradictions=[_contradiction(each, inferred) for each in inferred.contradictions],
        fields=[_field(each) for each in inferred.fields],
        unread=[
            UnreadJson(path=each.origin, reason=each.reason)
            for each in (*inferred.analysis.bodies.unread, *inferred.lost)
        ],
    )
    return document_text(document)


def _note(rank: int, note: Note) -> NoteJson:
    return NoteJson(
        struct=note.struct.name,
        **file_and_line(note.struct.source),
        writer=note.writer.part.path,
        kind=note.writer.kind.value,
        victims=[pair.reader.part.path for pair in note.pairs],
        rank=rank,
        rank_in_struct=note.rank_in_struct,
        writers=note.writers,
        score=round(note.score, 4),
        chance=round(note.chance, 4),
        placements=PlacementsJson(
            line_size=note.placements.line_size,
            total=len(note.placements.bases),
            violating=[len(pair.bases) for pair in note.pairs],
            bases=[list(pair.bases) for pair in note.pairs],
        ),
        reasons=list(reasons(note)),
        origin="inferred",
    )


def _pairs(inferred: Inferred) -> list[PairJson]:
    ranks: dict[str, int] = {}
    rows = []
    for rank, pair in enumerate(inferred.pairs, 1):
        ranks[pair.struct] = ranks.get(pair.struct, 0) + 1
        rows.append(
            PairJson(
                struct=pair.struct,
                fields=(pair.writer.part.path, pair.reader.part.path),
                rank=rank,
                rank_in_struct=ranks[pair.struct],
                score=round(pair.score, 4),
            )
        )
    return rows


def _contradiction(each: Contradiction, inferred: Inferred) -> ContradictionJson:
    places = [(use, inferred.analysis.place(use.function)) for use in each.places]
    return ContradictionJson(
        struct=each.struct,
        path=each.path,
        declared=each.declared,
        found=each.observation,
        places=[
            PlaceJson(
                function=plain_name(use.function),
                file=place.file,
                line=place.line,  # type: ignore[arg-type]  # a function has one
            )
            for use, place in places
        ],
    )


def _field(each: FieldUses) -> FieldJson:
    names = dict.fromkeys(plain_name(use.function) for use in each.uses)
    return FieldJson(
        struct=each.name,
        file=each.file,
        path=each.path,
        reads=each.count(Effect.READ),
        writes=each.count(Effect.WRITE),
        atomics=each.count(Effect.ATOMIC),
        locks=each.count(Effect.LOCK),
        functions=list(names)[:_MOST_FUNCTIONS],
    )
