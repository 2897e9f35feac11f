"""Format `json` of `containers`: definitions of a struct, and where each of its containers holds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from layoutlint import escapes
from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container, Embedded
from layoutlint.model.structs import Struct
from layoutlint.reports.show.options import ShowOptions

# Made once: `json.dumps` with an option builds an encoder for every call.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def render(found: tuple[Embedded, ...], options: ShowOptions) -> Iterator[str]:
    """One JSON object; each container stands on a line of its own. Files are named once, as by `show`."""
    structs = [struct for each in found for struct in (each.struct, *(way.struct for way in each.containers))]
    files = {file: number for number, file in enumerate(sorted({f for s in structs for f in s.files}))}
    yield f'{{\n  "schema": "layoutlint/containers/1",\n  "files": {_dumps(list(files))},\n  "structs": ['
    for number, each in enumerate(found):
        struct = each.struct
        head = {**_definition(struct, files), "aliases": list(struct.aliases), "target": struct.target.name}
        yield (",\n    " if number else "\n    ") + f'{_dumps(head)[:-1]},\n     "containers": ['
        for nth, way in enumerate(each.containers):
            row = {**_definition(way.struct, files), **_way(way, options)}
            yield (",\n      " if nth else "\n      ") + _dumps(row)
        yield "]}"
    yield ("\n  " if found else "") + "]\n}\n"


def _definition(struct: Struct, files: dict[str, int]) -> dict[str, Any]:
    source, size = struct.source, struct.bit_size
    return {
        "name": struct.name,
        "aggregate": struct.aggregate,
        "size": None if size is None else size // 8,
        "file": source.file if source else None,
        "line": source.line if source else None,
        "origin": struct.origin,
        "files": [files[file] for file in struct.files],
        "problem": struct.problem,
    }


def _way(way: Container, options: ShowOptions) -> dict[str, Any]:
    placements = placement.inside(way, options.line_size, options.min_align)
    return {
        "path": way.path,
        "offset": way.offset,
        "through": list(way.through),
        "count": way.count,
        "arrays": [_array(array) for array in way.arrays],
        "line_size": placements.line_size if placements else None,
        "bases": list(placements.bases) if placements else None,
    }


def _array(array: Array) -> dict[str, Any]:
    stride = array.bit_stride
    return {"path": array.path, "count": array.count, "stride": None if stride is None else stride // 8}


def _dumps(value: object) -> str:
    return escapes.json_text(_encode(value))
