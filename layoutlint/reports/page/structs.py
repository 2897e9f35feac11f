"""The data of the structs of a page: what `show --format json` states, and how to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from layoutlint.geometry.containers import Container, Index, TooManyContainers
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import Access
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.reports.access_styles import access_styles, access_text, declared_fields, strongest
from layoutlint.reports.line_map import strips
from layoutlint.reports.show import json as show_json
from layoutlint.reports.show.options import ShowOptions
from layoutlint.reports.show.starts import object_placements

MOST_CONTAINERS = 200
"""Containers of one struct that a page lists."""

MOST_BASES = 512
"""Places of an object that the slider of a page has: enough for all of a line of 4,096 bytes."""


def struct_data(
    structs: Sequence[Struct], options: ShowOptions, accesses: Sequence[Sequence[Access]]
) -> dict[str, Any]:
    """Return the values of structs, with the declared accesses of each."""
    files = {file: number for number, file in enumerate(sorted({f for s in structs for f in s.files}))}
    stated = [msgspec.to_builtins(show_json.struct_values(struct, files, options)) for struct in structs]
    styles = access_styles(access.access for own in accesses for access in own if access.access)
    containers = _containers(structs)
    return {
        "files": list(files),
        "structs": [
            values | _drawing(struct, own, options) | {"containers": outer}
            for struct, values, own, outer in zip(structs, stated, accesses, containers, strict=True)
        ],
        "accesses": [[style.access, style.color, style.dashes] for style in styles],
    }


def _drawing(struct: Struct, accesses: Iterable[Access], options: ShowOptions) -> dict[str, Any]:
    """Return what is drawn of a struct; nothing for an unknown layout."""
    line_size = options.line_size or struct.target.line_size
    if struct.problem is not None or struct.bit_size is None:
        return {"line_size": line_size, "bases": [], "places": 0, "strips": [], "uses": []}
    layout = Layout(struct)
    placed = object_placements(layout, options)
    listed = layout.walk_fields() if options.expand else layout.places
    numbers = {place.path: number for number, place in enumerate(listed)}
    chosen = strips(layout, options.expand)
    return {
        "line_size": line_size,
        "bases": list(placed.bases[:MOST_BASES]),
        "places": len(placed.bases),
        "strips": [
            [
                -1 if strip.place is None else numbers[strip.place.path],
                strip.bit_start,
                strip.bit_stop,
                strip.lane,
                strip.lanes,
                int(strip.is_open or strip.is_padding),
            ]
            for strip in chosen.drawn
        ],
        "uses": [_use(place, own) for place, own in declared_fields(layout, accesses).items()],
    }


def _use(place: Place, accesses: tuple[Access, ...]) -> list[Any]:
    """Return path, strongest access, whether it is contended, and all accesses in words."""
    is_contended = any(access.contended for access in accesses)
    return [place.path, strongest(accesses), is_contended, access_text(accesses)]


def _containers(structs: Sequence[Struct]) -> list[list[list[Any]]]:
    """Return the direct containers of each struct: the number of the container among `structs`, and the path.

    A definition that is in several files counts as one.
    """
    by_target: dict[Target, list[Struct]] = {}
    for struct in structs:
        by_target.setdefault(struct.target, []).append(struct)
    indices = {target: Index(of_target) for target, of_target in by_target.items()}
    numbers = {_key(struct): number for number, struct in enumerate(structs)}
    return [_direct(struct, indices[struct.target], numbers) for struct in structs]


def _direct(struct: Struct, index: Index, numbers: Mapping[object, int]) -> list[list[Any]]:
    try:
        ways: Iterable[Container] = index.containers(struct.name, index.merged_definition(struct), True)
    except (KeyError, TooManyContainers):
        return []
    return [
        [numbers[_key(way.struct)], way.written, way.offset]
        for way in list(ways)[:MOST_CONTAINERS]
        if _key(way.struct) in numbers
    ]


def _key(struct: Struct) -> object:
    return struct.target, struct.name, struct.bit_size, struct.source
