"""Format `json` of `containers`: definitions of a struct, and its offset in each container."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container, EmbeddedStruct
from layoutlint.model.json_object import NULL, JsonObject, Natural, Positive, both_or_neither
from layoutlint.model.structs import Aggregate, Struct
from layoutlint.model.target import TargetName
from layoutlint.reports.cache_json import CacheJson, cache_rows
from layoutlint.reports.json_values import file_and_line, row_text, rows_text
from layoutlint.reports.show.options import ShowOptions

_UNRELIABLE = Meta(
    extra_json_schema={
        "if": {"properties": {"problem": {"type": "string"}}},
        "then": {"properties": {"size": NULL, "offset": NULL}},
    }
)


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/containers/1"):
    """The structs that embed a struct.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null.
    """

    files: Sequence[str]
    """The files that have the structs, for a folder of modules or for several inputs. Else empty."""
    structs: Sequence[StructJson]
    """Definitions of the struct. Different definitions of its name are separate entries."""


class StructJson(JsonObject, frozen=True):
    """A definition of the struct."""

    name: str
    """The struct's tag, or the typedef that names it."""
    aggregate: Aggregate
    """Which of the two it is."""
    size: Natural | None
    """The size of the struct. Null if it is declared and not defined, or has a `problem`."""
    file: str | None
    """The file that defines the struct."""
    line: Positive | None
    """Line number, from 1."""
    origin: str
    """The unit or file in which this definition was read."""
    files: Sequence[Natural]
    """The files that have this definition, as positions in the document's `files`, from 0."""
    problem: str | None
    """Why the layout is unreliable."""
    aliases: Sequence[str]
    """Typedefs of the struct that were asked for."""
    target: TargetName
    """The machine."""
    containers: Sequence[Annotated[ContainerJson, _UNRELIABLE, both_or_neither("line_size", "bases")]]
    """Every place in which it is embedded by value, by the container's name, then by offset."""


class ContainerJson(JsonObject, frozen=True):
    """A place of the struct in a container."""

    name: str
    """The container's tag, or the typedef that names it."""
    aggregate: Aggregate
    """Which of the two it is."""
    size: Natural | None
    """The size of the container. Null if it has a `problem`."""
    file: str | None
    """The file that defines the container."""
    line: Positive | None
    """Line number, from 1."""
    origin: str
    """The unit or file in which this definition was read."""
    files: Sequence[Natural]
    """The files that have this definition, as positions in the document's `files`, from 0."""
    problem: str | None
    """Why the container's layout is unreliable."""
    path: str
    """The path from the container. Empty for an unnamed member (`-fms-extensions`)."""
    offset: Natural | None
    """The first byte, from the start of the container. For arrays, of the first element. Null if the
    container has a `problem`."""
    through: Sequence[str]
    """The named structs and unions between the container and the struct, outermost first. Empty for a direct
    member."""
    count: Natural | None
    """How many there are in one container; 0 inside an array without a length (`[0]`). Null inside a flexible
    array (`[]`)."""
    arrays: Sequence[ArrayJson]
    """The arrays between the container and the struct, outermost first. The dimensions of one field count as
    one array."""
    line_size: Positive | None
    """The size of a line. Null if `bases` is null."""
    bases: Sequence[Natural] | None
    """Where the struct can start: its address modulo the line size, over all placements of the container and
    all elements of the arrays. Null if a size is unknown, or the container has a `problem`."""
    caches: Sequence[CacheJson]
    """The slab caches of the container, if they are known (`--slabs`). Else empty."""


class ArrayJson(JsonObject, frozen=True):
    """An array between a container and the embedded struct."""

    path: str
    """The path from the container."""
    count: Natural | None
    """The number of elements; 0 for an array without a length. Null for a flexible array."""
    stride: Natural | None
    """The number of bytes from one element to the next. Null if the input does not state it, or the container
    has a `problem`."""


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
    yield f'{{\n  "schema": "layoutlint/containers/1",\n  "files": {row_text(list(files))},\n  "structs": ['
    for number, definition in enumerate(definitions):
        text = row_text(_struct(definition, files, options)).removesuffix("]}")
        head, _, containers = text.partition(', "containers": [')
        rows = rows_text(containers, "name")
        yield (",\n    " if number else "\n    ") + f'{head},\n     "containers": {rows}}}'
    yield ("\n  " if definitions else "") + "]\n}\n"


def _struct(definition: EmbeddedStruct, files: dict[str, int], options: ShowOptions) -> StructJson:
    struct = definition.struct
    return StructJson(
        name=struct.name,
        aggregate=struct.aggregate,
        size=_size(struct),
        **file_and_line(struct.source),
        origin=struct.origin,
        files=[files[file] for file in struct.files],
        problem=struct.problem,
        aliases=struct.aliases,
        target=struct.target.name,
        containers=[_container(container, files, options) for container in definition.containers],
    )


def _container(container: Container, files: dict[str, int], options: ShowOptions) -> ContainerJson:
    struct = container.struct
    is_known = struct.problem is None
    storage = None if options.slabs is None else options.slabs.complete(struct, None)
    placements = (
        placement.embedded_placements(container, options.line_size, options.min_align, storage)
        if is_known
        else None
    )
    return ContainerJson(
        name=struct.name,
        aggregate=struct.aggregate,
        size=_size(struct),
        **file_and_line(struct.source),
        origin=struct.origin,
        files=[files[file] for file in struct.files],
        problem=struct.problem,
        path=container.path,
        offset=container.offset if is_known else None,
        through=container.through,
        count=container.count,
        arrays=[_array(array, is_known) for array in container.arrays],
        line_size=placements.line_size if placements else None,
        bases=placements.bases if placements else None,
        caches=cache_rows(placements.caches if placements else ()),
    )


def _size(struct: Struct) -> int | None:
    return None if struct.problem or struct.bit_size is None else struct.bit_size // 8


def _array(array: Array, is_known: bool) -> ArrayJson:
    stride = array.bit_stride if is_known else None
    return ArrayJson(path=array.path, count=array.count, stride=None if stride is None else stride // 8)
