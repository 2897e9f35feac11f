"""Format `toml` of `infer`: a draft of a rule file, to be read before it is used."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.inference.infer import Inferred
from layoutlint.inference.ranking import Note
from layoutlint.reports.meeting_phrases import reasons

_NO_ID = re.compile(r"[^a-z0-9]+")


def render(inferred: Inferred) -> str:
    """Return a rule file with one rule for each note."""
    return escapes.lines(_lines(inferred))


def _lines(inferred: Inferred) -> Iterator[str]:
    yield "# Guesses from sources, the best first. Keep the rules that are true, with your own reasons."
    ids: dict[str, int] = {}
    for note in inferred.notes:
        yield ""
        yield from _rule(note, ids)


def _rule(note: Note, ids: dict[str, int]) -> Iterator[str]:
    words = f"{note.struct.name}-{note.writer.part.path}-apart".lower()
    name = _NO_ID.sub("-", words).strip("-")
    ids[name] = ids.get(name, 0) + 1
    readers = [pair.reader.part.path for pair in note.pairs]
    yield "[[rule]]"
    yield f"id = {escapes.toml_string(name if ids[name] == 1 else f'{name}-{ids[name]}')}"
    yield f"struct = {escapes.toml_string(note.struct.name)}"
    yield 'kind = "separate"'
    writer, victims = note.writer.part.path, ", ".join(map(escapes.toml_string, readers))
    yield f"fields = [[{escapes.toml_string(writer)}], [{victims}]]"
    yield 'severity = "note"'
    yield f"why = {escapes.toml_string('; '.join(reasons(note)))}"
    yield 'evidence = ["inferred from sources"]'
