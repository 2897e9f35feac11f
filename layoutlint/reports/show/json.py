"""Format `json` of `show`: the facts and geometry of structs.

The objects are formatted by hand: encoding a dictionary for each takes longer than everything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from layoutlint import escapes
from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.inner_holes import inner_holes
from layoutlint.geometry.layout import Hole, Layout, Place
from layoutlint.model.ctype import UNKNOWN
from layoutlint.model.randomised import Chances, Randomisation
from layoutlint.model.structs import Field, Struct
from layoutlint.reports.show.options import ShowOptions

_PIECE = 256
"""The number of structs in one piece of output."""

_KEYS = (
    "name", "aggregate", "size", "align", "align_possible", "align_basis", "align_suggested", "padding",
    "free_on_line",
    "file", "line", "origin", "files", "aliases", "problem", "randomised",
)  # fmt: skip
_HEAD = ", ".join(f'"{key}": %s' for key in _KEYS)
_NO_FIGURES = ("null", "null", "[]", "null", "null", "null", "null")
"""Size, alignments, padding and room of a struct whose layout is unreliable."""
_STRUCT = "{" + _HEAD + ',\n     "fields": %s,\n     "holes": %s,\n     "allocations": %s}'

# One encoder: `json.dumps` with an option builds one for every call.
_text = json.JSONEncoder(ensure_ascii=False).encode


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield one JSON object with `structs` in the given order, and each field on a line of its own.

    Structs refer to files by number: thousands of structs can be in thousands of files.
    """
    files = {
        file: number
        for number, file in enumerate(sorted({file for struct in structs for file in struct.files}))
    }
    names = escapes.json_text(_text(list(files)))
    yield f'{{\n  "schema": "layoutlint/show/1",\n  "files": {names},\n  "structs": ['
    for first in range(0, len(structs), _PIECE):
        piece = rows(structs[first : first + _PIECE], files, options)
        yield (",\n    " if first else "\n    ") + escapes.json_text(piece)
    yield ("\n  " if structs else "") + "]\n}\n"


def rows(structs: Sequence[Struct], files: Mapping[str, int], options: ShowOptions) -> str:
    """Return the text of some structs, separated by commas; `files` has the numbers of their files."""
    return ",\n    ".join([_struct(struct, files, options) for struct in structs])


def _struct(struct: Struct, files: Mapping[str, int], options: ShowOptions) -> str:
    """Return one struct as JSON; unknown values of an incomplete or unreliable one are null."""
    source, layout = struct.source, None if struct.bit_size is None else Layout(struct)
    places = () if layout is None else layout.walk_fields() if options.expand else layout.places
    if struct.problem is not None:
        layout = None
    holes = () if layout is None else inner_holes(layout) if options.expand else layout.holes
    return _STRUCT % (
        _text(struct.name),
        _text(struct.aggregate),
        *(_figures(struct, layout) if struct.problem is None else _NO_FIGURES),
        *((_text(source.file), _number(source.line)) if source else ("null", "null")),
        _text(struct.origin),
        [files[file] for file in struct.files],
        f"[{', '.join(map(_text, struct.aliases))}]",
        "null" if struct.problem is None else _text(struct.problem),
        "null" if struct.randomised is None else _randomisation(struct.randomised),
        _lines(map(_field if struct.problem is None else _unplaced_field, places)),
        _lines(map(_hole, holes)),
        _text(list(_allocations(layout, options))) if layout and options.storages else "[]",
    )


def _allocations(layout: Layout, options: ShowOptions) -> Iterator[dict[str, object]]:
    """Yield what an object takes of each allocator that it comes from."""
    for storage in options.storages.get(layout.struct.name, ()):
        room = allocation_room(layout, storage, options.min_align)
        if room is not None:
            slabs = [
                {
                    "cpus": [row.fewest_cpus, row.most_cpus],
                    "order": row.slab.order,
                    "objects": row.slab.objects,
                    "stride": row.slab.stride,
                    "room": row.room,
                }
                for row in room.slabs
            ]
            yield {"allocator": room.word, "class": room.block, "slack": room.slack, "slabs": slabs}


def _randomisation(how: Randomisation) -> str:
    values = {"mode": how.mode, "seed_sha256": how.seed, "kernel": how.kernel, "own": how.is_own}
    return _text({**values, "chances": None if how.chances is None else _chances(how.chances)})


def _chances(chances: Chances) -> dict[str, object]:
    return {
        "orders": chances.orders,
        "step": chances.step,
        "size": [chances.smallest, chances.largest],
        "members": [
            {"name": each.name, "size": each.size, "starts": list(each.starts)} for each in chances.members
        ],
    }


def _figures(struct: Struct, layout: Layout | None) -> tuple[object, ...]:
    if layout is None:
        align = _number(struct.align)
        return "null", align, "[]" if struct.align is None else f"[{align}]", "null", "null", "null", "null"
    possible, padding = list(layout.alignments), layout.bit_padding // 8
    free: object = "null" if layout.open_end else -layout.size % struct.target.line_size
    if len(possible) == 1:
        return layout.size, possible[0], possible, _text(layout.align.basis), "null", padding, free
    suggested = layout.suggested_align
    likely = suggested.value if suggested else "null"
    return layout.size, "null", possible, "null", likely, padding, free


def _lines(objects: Iterable[str]) -> str:
    lines = ",\n      ".join(objects)
    return f"[\n      {lines}]" if lines else "[]"


def _field(place: Place) -> str:
    path, kind, size = _text(place.path), _text(str(place.field.type)), _number(place.size)
    bits = '"bit_offset": null, "bit_size": null'
    if place.field.is_bitfield:
        bits = f'"bit_offset": {place.bit_offset}, "bit_size": {_number(place.bit_size)}'
    return f'{{"path": {path}, "type": {kind}, "offset": {place.offset}, "size": {size}, {bits}}}'


def _unplaced_field(place: Place) -> str:
    """Return a field of a struct whose layout is unreliable."""
    path, kind = _text(place.path), _type(place.field)
    numbers = '"offset": null, "size": null, "bit_offset": null, "bit_size": null'
    return f'{{"path": {path}, "type": {kind}, {numbers}}}'


def _type(member: Field) -> str:
    return "null" if member.type == UNKNOWN else _text(str(member.type))


def _hole(hole: Hole) -> str:
    if hole.is_whole:
        return f'{{"offset": {hole.offset}, "size": {hole.size}, "bit_offset": null, "bit_size": null}}'
    return f'{{"offset": null, "size": null, "bit_offset": {hole.bit_offset}, "bit_size": {hole.bit_size}}}'


def _number(number: int | None) -> int | str:
    return "null" if number is None else number
