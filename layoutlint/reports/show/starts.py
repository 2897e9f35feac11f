"""Where objects of a shown struct start: as a rule file states it, or else by the alignment of the struct."""

from __future__ import annotations

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import Placements, placements
from layoutlint.model.storage import EMBEDDED
from layoutlint.reports.show.options import ShowOptions

_BY_FILE = "the rule file says that "


def object_placements(layout: Layout, options: ShowOptions) -> Placements:
    """Return the placements of the objects of a struct. Containers, which are not shown, decide nothing."""
    storage = options.stated.get(layout.struct.name)
    if storage is not None and storage.word == EMBEDDED:
        storage = None
    return placements(layout, options.line_size, options.min_align, storage)


def starts(layout: Layout, where: Placements, options: ShowOptions) -> str:
    """Return at how many places of a line an object can start, and why."""
    storage = options.stated.get(layout.struct.name)
    why, number = where.why, len(where.bases)
    if storage is not None and storage.word != EMBEDDED:
        why = f"{why.removeprefix(_BY_FILE)} ({storage.source})"
    if where.bases == (0,):
        return f"starts at the start of a line: {why}"
    at = f"starts at byte {where.bases[0]}" if number == 1 else f"can start at {number} places"
    sentence = f"{at} of a line: {why}"
    if storage is None or storage.word != EMBEDDED:
        return sentence
    return f"{sentence}; {storage.source} says that it is embedded: `layoutlint containers` lists where"
