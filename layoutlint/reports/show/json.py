"""Format `json` of `show`: the facts and geometry of structs, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from layoutlint.layout import Hole, Layout, Place
from layoutlint.model import Struct
from layoutlint.reports.show.options import ShowOptions


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """One JSON object whose `structs` come in the order given, each on lines of its own."""
    yield '{\n  "schema": "layoutlint/show/1",\n  "structs": ['
    for number, struct in enumerate(structs):
        text = json.dumps(_struct(struct, options.expand), indent=2, ensure_ascii=False)
        yield ("," if number else "") + "\n    " + text.replace("\n", "\n    ")
    yield ("\n  " if structs else "") + "]\n}\n"


def _struct(struct: Struct, expand: bool) -> dict[str, Any]:
    source = struct.source
    known: dict[str, Any] = {
        "name": struct.name,
        "aggregate": struct.aggregate,
        "size": None,
        "align": struct.align,
        "align_basis": None,
        "file": source.file if source else None,
        "line": source.line if source else None,
        "origin": struct.origin,
        "aliases": list(struct.aliases),
        "problem": struct.problem,
        "fields": [],
        "holes": [],
        "padding": None,
    }
    return known if struct.bit_size is None else known | _geometry(Layout(struct), expand)


def _geometry(layout: Layout, expand: bool) -> dict[str, Any]:
    places = layout.expanded() if expand else layout.places
    align = layout.align
    return {
        "size": layout.size,
        "align": align.value,
        "align_basis": align.basis,
        "fields": [_field(place) for place in places],
        "holes": [_hole(hole) for hole in layout.holes],
        "padding": layout.bit_padding // 8,
    }


def _field(place: Place) -> dict[str, Any]:
    is_bits = place.field.is_bitfield
    return {
        "path": place.path,
        "type": str(place.field.type),
        "offset": place.offset,
        "size": place.size,
        "bit_offset": place.bit_offset if is_bits else None,
        "bit_size": place.bit_size if is_bits else None,
    }


def _hole(hole: Hole) -> dict[str, Any]:
    if hole.is_whole:
        return {"offset": hole.offset, "size": hole.size, "bit_offset": None, "bit_size": None}
    return {"offset": None, "size": None, "bit_offset": hole.bit_offset, "bit_size": hole.bit_size}
