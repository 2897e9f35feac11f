"""Format `json` of `containers`: definitions of a struct, and its offset in each container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from layoutlint import escapes
from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container, EmbeddedStruct
from layoutlint.model.structs import Struct
from layoutlint.reports.json_values import file_and_line
from layoutlint.reports.show.options import ShowOptions

# One encoder: `json.dumps` with an option builds one for every call.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def render(definitions: tuple[EmbeddedStruct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield one JSON object, each container on a line of its own; files are numbered as in `show`."""
    structs = [
        struct
        for definition in definitions
        for struct in (definition.struct, *(container.struct for container in definition.containers))
    ]
    files = {
        file: number
        for number, file in enumerate(sorted({file for struct in structs for file in struct.files}))
    }
    yield f'{{\n  "schema": "layoutlint/containers/1",\n  "files": {_dumps(list(files))},\n  "structs": ['
    for number, definition in enumerate(definitions):
        struct = definition.struct
        head = {**_definition(struct, files), "aliases": list(struct.aliases), "target": struct.target.name}
        yield (",\n    " if number else "\n    ") + f'{_dumps(head)[:-1]},\n     "containers": ['
        for position, container in enumerate(definition.containers):
            row = {**_definition(container.struct, files), **_container(container, options)}
            yield (",\n      " if position else "\n      ") + _dumps(row)
        yield "]}"
    yield ("\n  " if definitions else "") + "]\n}\n"


def _definition(struct: Struct, files: dict[str, int]) -> dict[str, Any]:
    size = None if struct.problem else struct.bit_size
    return {
        "name": struct.name,
        "aggregate": struct.aggregate,
        "size": None if size is None else size // 8,
        **file_and_line(struct.source),
        "origin": struct.origin,
        "files": [files[file] for file in struct.files],
        "problem": struct.problem,
    }


def _container(container: Container, options: ShowOptions) -> dict[str, Any]:
    is_known = container.struct.problem is None
    placements = (
        placement.embedded_placements(container, options.line_size, options.min_align) if is_known else None
    )
    return {
        "path": container.path,
        "offset": container.offset if is_known else None,
        "through": list(container.through),
        "count": container.count,
        "arrays": [_array(array, is_known) for array in container.arrays],
        "line_size": placements.line_size if placements else None,
        "bases": list(placements.bases) if placements else None,
    }


def _array(array: Array, is_known: bool) -> dict[str, Any]:
    stride = array.bit_stride if is_known else None
    return {"path": array.path, "count": array.count, "stride": None if stride is None else stride // 8}


def _dumps(value: object) -> str:
    return escapes.json_text(_encode(value))
