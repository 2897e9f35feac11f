"""Format `json` of `show`: the facts and geometry of structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.layout import Hole, Layout, Place, flexible_end
from layoutlint.geometry.padding import count_nested_bytes, inner_holes
from layoutlint.model.ctype import UNKNOWN
from layoutlint.model.json_object import NULL, JsonObject, Natural, Positive, one_of
from layoutlint.model.randomised import Chances, MemberChances, Randomisation
from layoutlint.model.structs import Aggregate, Struct
from layoutlint.randstruct.kernel_tree import MODES
from layoutlint.reports.json_values import file_and_line, row_text, rows_text
from layoutlint.reports.show.options import ShowOptions

_PIECE = 256
"""The number of structs in one piece of output."""
_RELIABLE = Meta(
    extra_json_schema={
        "if": {"properties": {"problem": {"type": "string"}}},
        "then": {
            "properties": {"size": NULL, "padding": NULL, "nested_padding": NULL, "holes": {"maxItems": 0}}
        },
    }
)
_BIT_FIELD = Meta(
    extra_json_schema={
        "if": {"properties": {"bit_offset": NULL}},
        "then": {"properties": {"bit_size": NULL}},
    }
)
_INTEGER = {"type": "integer"}
_BYTES_OR_BITS = Meta(
    extra_json_schema={
        "oneOf": [
            {"properties": {"offset": bytes_, "size": bytes_, "bit_offset": bits, "bit_size": bits}}
            for bytes_, bits in ((NULL, _INTEGER), (_INTEGER, NULL))
        ]
    }
)


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/show/1"):
    """The layouts of structs.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null.
    """

    files: Sequence[str]
    """The files of a folder of modules that have the structs. Empty for any other input."""
    structs: Sequence[Annotated[StructJson, _RELIABLE]]
    """Definitions, by name. Different definitions of one name are separate entries."""


class StructJson(JsonObject, frozen=True):
    """A definition of a struct or union."""

    name: str
    """The struct's tag, or the typedef that names it."""
    aggregate: Aggregate
    """Which of the two it is."""
    size: Natural | None
    """The size of the struct. Null if it is declared and not defined, or has a `problem`."""
    align: Positive | None
    """The alignment. Null if several are possible or none is known."""
    align_possible: Sequence[Positive]
    """Every alignment that the struct can have, from the smallest. Empty if it has a `problem`, or if it is
    not defined and the input does not state one."""
    align_basis: str | None
    """How `align` is known: stated by the input, or from the members."""
    align_suggested: Positive | None
    """If several are possible, the one that a gap of 16 bytes or more suggests."""
    padding: Natural | None
    """The number of whole bytes behind the last field."""
    nested_padding: Natural | None
    """The whole bytes of padding inside members that the struct holds by value, at any depth, in each element
    of arrays. What another member of a union covers counts, once. Null if a size is not known."""
    flexible_ends: Sequence[str]
    """The paths of flexible arrays at the end of its members, which overlap what follows them."""
    free_on_line: Natural | None
    """The bytes by which it can grow before an object at the start of a line takes another line. Null if it
    ends with a flexible array, or if its size is not known."""
    file: str | None
    """The file that defines the struct."""
    line: Positive | None
    """Line number, from 1."""
    origin: str
    """The unit or file in which this definition was read."""
    files: Sequence[Natural]
    """The files that have this definition, as positions in the document's `files`, from 0."""
    aliases: Sequence[str]
    """Typedefs of the struct that were asked for."""
    problem: str | None
    """Why the layout is unreliable. Its sizes, offsets and holes are then left out."""
    randomised: RandomisedJson | None
    """How its fields were put into a random order. Null for the declared order."""
    fields: Sequence[Annotated[FieldJson, _BIT_FIELD]]
    """The fields, in declared order or in the random one. With `--expand`, also those of embedded structs."""
    holes: Sequence[Annotated[HoleJson, _BYTES_OR_BITS]]
    """What no field covers, without the padding. With `--expand`, also the holes and the padding of embedded
    structs, each once, also where another member of a union covers them; of an array, those of its first
    element."""
    allocations: Sequence[AllocationJson]
    """What an object takes of kmalloc or a slab cache, if a rule file, or a call in a C input, states that it
    comes from there. Empty with `--all`."""


class RandomisedJson(JsonObject, frozen=True):
    """How the compiler put fields into a random order."""

    mode: Annotated[str, one_of(*MODES)]
    """The value of `--randstruct`."""
    seed_sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")] | None
    """The SHA-256 of the seed. A kernel has it in its vermagic. Null if the seed is not known."""
    kernel: str | None
    """The version of Linux, for GCC's plugin. Null if it was not given."""
    own: bool
    """True if the struct's own fields were shuffled, false if only those of structs inside it were."""
    chances: ChancesJson | None
    """Where members begin in many orders. Null if the seed is known."""


class FieldJson(JsonObject, frozen=True, gc=False):
    """A field."""

    path: str
    """The path from the struct, with dots between names."""
    type: str | None
    """The type, spelled as in GCC's debug information. Null if its declaration has an error."""
    offset: Natural | None
    """The first byte that it touches. Null if the struct has a `problem`."""
    size: Natural | None
    """The number of bytes that it touches; 0 for a flexible array."""
    bit_offset: Natural | None
    """The first bit of a bit-field, from the start of the struct. Null for other fields."""
    bit_size: Natural | None
    """The number of bits of a bit-field. Null for other fields."""


class HoleJson(JsonObject, frozen=True):
    """Bytes or bits that no field covers. Either the keys in bytes are null or those in bits."""

    offset: Natural | None
    """The first byte. Null if the hole starts or ends inside a byte."""
    size: Positive | None
    """The number of bytes. Null if the hole starts or ends inside a byte."""
    bit_offset: Natural | None
    """The first bit, from the start of the struct. Null if `offset` is known."""
    bit_size: Positive | None
    """The number of bits. Null if `size` is known."""


class AllocationJson(JsonObject, frozen=True, rename={"class_": "class"}):
    """An allocator."""

    allocator: Annotated[str, one_of("kmalloc", "slab")]
    """The allocator."""
    class_: Annotated[int, Meta(ge=8)] | None
    """The class of kmalloc, in bytes. Null for slabs."""
    slack: Natural | None
    """The bytes of the class that are left. Null for slabs."""
    slabs: Sequence[SlabJson]
    """By the number of CPUs. Empty for kmalloc."""


class ChancesJson(JsonObject, frozen=True):
    """Where members begin in many orders. Null if the seed is known."""

    orders: Positive
    """The number of orders, drawn as the compiler does."""
    step: Annotated[int, Meta(ge=8)]
    """The bytes of a step."""
    size: tuple[Natural, Natural]
    """The least and the most bytes of the struct."""
    members: Sequence[MemberChances]
    """The members, in declared order."""


class SlabJson(JsonObject, frozen=True):
    """The slabs on machines with some numbers of CPUs."""

    cpus: tuple[Positive, Positive]
    """The fewest and most CPUs."""
    order: Natural
    """Two to the power of this is the number of pages of 4096 bytes."""
    objects: Positive
    """The objects in a slab."""
    stride: Positive
    """The bytes from one object to the next."""
    room: Natural | None
    """The bytes by which the struct can grow before a slab has fewer objects or another order. Null if not
    known."""


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield one JSON object with `structs` in the given order, and each field on a line of its own.

    Structs refer to files by number: thousands of structs can be in thousands of files.
    """
    files = {
        file: number
        for number, file in enumerate(sorted({file for struct in structs for file in struct.files}))
    }
    yield f'{{\n  "schema": "layoutlint/show/1",\n  "files": {row_text(list(files))},\n  "structs": ['
    for first in range(0, len(structs), _PIECE):
        piece = structs[first : first + _PIECE]
        texts = [_text(struct_values(struct, files, options)) for struct in piece]
        yield (",\n    " if first else "\n    ") + ",\n    ".join(texts)
    yield ("\n  " if structs else "") + "]\n}\n"


def _text(struct: StructJson) -> str:
    """Return a struct, each field and each hole on a line of its own."""
    head, _, rest = row_text(struct).partition(', "fields": [')
    fields, _, rest = rest.rpartition('], "holes": [')
    holes, _, allocations = rest.rpartition('], "allocations": ')
    lists = f'"fields": {rows_text(fields, "path")},\n     "holes": {rows_text(holes, "offset")}'
    return f'{head},\n     {lists},\n     "allocations": {allocations}'


def struct_values(struct: Struct, files: Mapping[str, int], options: ShowOptions) -> StructJson:
    """Return a struct; what an incomplete or unreliable one does not state is null.

    `files` has the numbers of its files.
    """
    layout = None if struct.bit_size is None else Layout(struct)
    places = () if layout is None else tuple(layout.walk_fields()) if options.expand else layout.places
    if struct.problem is not None:
        layout = None
    holes = () if layout is None else inner_holes(layout) if options.expand else layout.holes
    align, possible = _alignments(struct, layout)
    suggested = layout.suggested_align if layout is not None and align is None else None
    return StructJson(
        name=struct.name,
        aggregate=struct.aggregate,
        size=None if layout is None else layout.size,
        align=align,
        align_possible=possible,
        align_basis=None if layout is None or align is None else layout.align.basis,
        align_suggested=None if suggested is None else suggested.value,
        padding=None if layout is None else layout.bit_padding // 8,
        nested_padding=None if layout is None else count_nested_bytes(layout),
        flexible_ends=list(_flexible_ends(places)),
        free_on_line=None if layout is None or layout.open_end else -layout.size % struct.target.line_size,
        **file_and_line(struct.source),
        origin=struct.origin,
        files=[files[file] for file in struct.files],
        aliases=struct.aliases,
        problem=struct.problem,
        randomised=None if struct.randomised is None else _randomisation(struct.randomised),
        fields=list(map(_field if struct.problem is None else _unplaced_field, places)),
        holes=list(map(_hole, holes)),
        allocations=list(_allocations(layout, options)) if layout and options.storages else (),
    )


def _alignments(struct: Struct, layout: Layout | None) -> tuple[int | None, Sequence[int]]:
    """Return the alignment, None if it is open, and all that are possible."""
    if struct.problem is not None:
        return None, ()
    if layout is None:
        return struct.align, () if struct.align is None else (struct.align,)
    return layout.alignments[0] if len(layout.alignments) == 1 else None, layout.alignments


def _allocations(layout: Layout, options: ShowOptions) -> Iterator[AllocationJson]:
    """Yield what an object takes of each allocator that it comes from."""
    for storage in options.storages.get(layout.struct.name, ()):
        room = allocation_room(layout, storage, options.min_align)
        if room is not None:
            slabs = [
                SlabJson(
                    cpus=(row.fewest_cpus, row.most_cpus),
                    order=row.slab.order,
                    objects=row.slab.objects,
                    stride=row.slab.stride,
                    room=row.room,
                )
                for row in room.slabs
            ]
            yield AllocationJson(allocator=room.word, class_=room.block, slack=room.slack, slabs=slabs)


def _randomisation(how: Randomisation) -> RandomisedJson:
    return RandomisedJson(
        mode=how.mode,
        seed_sha256=how.seed,
        kernel=how.kernel,
        own=how.is_own,
        chances=None if how.chances is None else _chances(how.chances),
    )


def _chances(chances: Chances) -> ChancesJson:
    size = chances.smallest, chances.largest
    return ChancesJson(orders=chances.orders, step=chances.step, size=size, members=chances.members)


def _field(place: Place) -> FieldJson:
    kind = str(place.field.type)
    if place.field.is_bitfield:
        return FieldJson(place.path, kind, place.offset, place.size, place.bit_offset, place.bit_size)
    return FieldJson(place.path, kind, place.offset, place.size, None, None)


def _flexible_ends(places: Iterable[Place]) -> Iterator[str]:
    for place in places:
        array = flexible_end(place.field)
        if array is not None:
            yield f"{place.path}.{array.path}"


def _unplaced_field(place: Place) -> FieldJson:
    """Return a field of a struct whose layout is unreliable."""
    kind = None if place.field.type == UNKNOWN else str(place.field.type)
    return FieldJson(place.path, kind, None, None, None, None)


def _hole(hole: Hole) -> HoleJson:
    if hole.is_whole:
        return HoleJson(hole.offset, hole.size, None, None)
    return HoleJson(None, None, hole.bit_offset, hole.bit_size)
