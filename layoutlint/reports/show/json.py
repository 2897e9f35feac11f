"""Format `json` of `show`: the facts and geometry of structs, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from layoutlint.layout import Hole, Layout, Place
from layoutlint.model import Struct
from layoutlint.reports.show.options import ShowOptions

# Made once: `json.dumps` with an option builds an encoder for every call.
_dumps = json.JSONEncoder(ensure_ascii=False).encode


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """One JSON object whose `structs` come in the order given; each field stands on a line of its own.

    The files of a folder are named once: thousands of structs can be in thousands of them.
    """
    files = {file: number for number, file in enumerate(sorted({f for s in structs for f in s.files}))}
    yield f'{{\n  "schema": "layoutlint/show/1",\n  "files": {_dumps(list(files))},\n  "structs": ['
    for number, struct in enumerate(structs):
        found = [files[file] for file in struct.files]
        yield (",\n    " if number else "\n    ") + _struct(struct, found, options.expand)
    yield ("\n  " if structs else "") + "]\n}\n"


def _struct(struct: Struct, files: list[int], expand: bool) -> str:
    """One struct as JSON; what is not known of an incomplete one is null."""
    source = struct.source
    head: dict[str, Any] = {
        "name": struct.name,
        "aggregate": struct.aggregate,
        "size": None,
        "align": struct.align,
        "align_basis": None,
        "align_suggested": None,
        "padding": None,
        "file": source.file if source else None,
        "line": source.line if source else None,
        "origin": struct.origin,
        "files": files,
        "aliases": list(struct.aliases),
        "problem": struct.problem,
    }
    if struct.bit_size is None:
        return _object(head, (), ())
    layout = Layout(struct)
    head |= {
        "size": layout.size,
        "align": layout.align.value,
        "align_basis": layout.align.basis,
        "align_suggested": layout.suggested_align.value if layout.suggested_align else None,
        "padding": layout.bit_padding // 8,
    }
    places = layout.expanded() if expand else layout.places
    return _object(head, map(_field, places), map(_hole, layout.holes))


def _object(head: dict[str, Any], fields: Iterable[dict[str, Any]], holes: Iterable[dict[str, Any]]) -> str:
    return f'{_dumps(head)[:-1]},\n     "fields": {_rows(fields)},\n     "holes": {_rows(holes)}}}'


def _rows(objects: Iterable[dict[str, Any]]) -> str:
    rows = ",\n      ".join(map(_dumps, objects))
    return f"[\n      {rows}]" if rows else "[]"


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
