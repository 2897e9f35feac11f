"""Why a note is made, in words: who writes, who reads, and how the fields fall on lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutlint.inference.ranking import Note, Pair, Traffic
from layoutlint.model.uses import Effect, plain_name
from layoutlint.phrases import quantity

_FEW = 3
_KINDS = {Effect.WRITE: "written", Effect.ATOMIC: "changed atomically", Effect.LOCK: "locked"}


def reasons(note: Note) -> Iterator[str]:
    """Yield sentences about the writer, then about each victim."""
    yield writer_reason(note.writer)
    yield from (reader_reason(pair.reader) for pair in note.pairs)


def writer_reason(writer: Traffic) -> str:
    """Return the sentence about a written field: how, and in which functions."""
    functions = _functions(writer.contended_writes or writer.writes)
    return f"`{writer.part.path}` is {_KINDS[writer.kind]} in {functions}"


def reader_reason(reader: Traffic) -> str:
    """Return the sentence about a victim: who reads it, who writes it."""
    written = f", written in {_functions(reader.writes)}" if _count(reader.writes) else ", never written"
    return f"`{reader.part.path}` is read in {_functions(reader.reads)}{written}"


def placement_count(pair: Pair, note: Note) -> str:
    """Return in how many placements a pair shares a line."""
    total = len(note.placements.bases)
    return f"{len(pair.bases)} of {quantity(total, 'placement')}"


def _functions(some: Mapping[str, float]) -> str:
    hot = sorted((key for key in some if some[key] > 0), key=lambda key: (-some[key], key))
    plain_names = list(map(plain_name, hot))  # static functions of several files can share a name
    names = list(dict.fromkeys(plain_names))[:_FEW]
    others = sum(name not in names for name in plain_names)
    more = f" and {others} more" if others else ""
    return f"{quantity(len(hot), 'function')} ({', '.join(names)}{more})"


def _count(some: Mapping[str, float]) -> int:
    return sum(amount > 0 for amount in some.values())
