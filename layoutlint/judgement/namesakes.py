"""One definition with several layouts in one program, as by a `#pragma pack` that holds in some units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.geometry.layout import Layout
from layoutlint.model.possible_alignments import struct_alignments
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct
from layoutlint.phrases import quantity


class Namesakes(Record, frozen=True):
    """A definition of a struct, among all definitions of its name in an input."""

    own: Struct
    every: tuple[Struct, ...]


def other_layouts(struct: Struct, namesakes: Iterable[Struct]) -> tuple[str, ...]:
    """Return a unit or file of each struct with the definition of another one, and a different layout."""
    own = _layout(struct)
    others = (other for other in namesakes if _is_one_definition(struct, other))
    different = (o for o in others if _layout(o) != own or not _alignments(o) & _alignments(struct))
    return tuple(dict.fromkeys(map(_named_unit, different)))


def sentences(structs: Iterable[Struct]) -> Iterator[str]:
    """Yield a sentence for each definition that has several layouts."""
    by_name: dict[str, list[Struct]] = {}
    for struct in structs:
        by_name.setdefault(struct.name, []).append(struct)
    for namesakes in by_name.values():
        while len(namesakes) > 1:
            first, *rest = namesakes
            same = [struct for struct in rest if _is_one_definition(first, struct)]
            layouts = tuple(distinct_layouts((first, *same)))
            if len(layouts) > 1:
                shown = (f"{quantity(_bytes(s), 'byte')} in {unit_of(s)}" for s in layouts)
                at = f" at {first.source}" if first.source else ""
                name = f"{first.aggregate} {first.name}{at}"
                yield f"{name} has {len(layouts)} layouts: {', '.join(shown)}"
            namesakes = [struct for struct in rest if struct not in same]


def distinct_layouts(structs: Iterable[Struct]) -> Iterator[Struct]:
    """Yield the first of the structs with each layout: what can have the same alignment has it."""
    layouts: dict[object, list[Struct]] = {}
    for struct in structs:
        alike = layouts.setdefault(_layout(struct), [])
        if not any(_alignments(struct) & _alignments(each) for each in alike):
            alike.append(struct)
            yield struct


def _alignments(struct: Struct) -> int:
    """Return the alignments that a struct can have, as their sum."""
    return struct_alignments(struct, struct.bit_size or 0)[1]


def _named_unit(struct: Struct) -> str:
    """Return the first file or unit of a definition; with its size, if the input has no units."""
    return unit_of(struct) if struct.source else f"{unit_of(struct)} ({quantity(_bytes(struct), 'byte')})"


def unit_of(struct: Struct) -> str:
    """Return the first file or unit of a definition."""
    has_several = len(struct.files) > 1 or not struct.origin
    return struct.files[0] if struct.files and has_several else struct.origin


def _bytes(struct: Struct) -> int:
    return (struct.bit_size or 0) // 8


def _is_one_definition(struct: Struct, other: Struct) -> bool:
    is_known = struct.bit_size is not None and other.bit_size is not None
    is_same = (struct.name, struct.aggregate, struct.realigned_from) == (
        other.name,
        other.aggregate,
        other.realigned_from,
    )
    if struct.source is None and other.source is None:  # BTF: the members tell
        is_same = is_same and members_of(struct.fields) == members_of(other.fields)
    return is_known and is_same and struct.source == other.source


def members_of(fields: tuple[Field, ...]) -> tuple[object, ...]:
    """Return the names and types of fields at every depth, which tell definitions without a file apart."""
    return tuple((field.name, field.type.left, members_of(field.members)) for field in fields)


def _layout(struct: Struct) -> tuple[object, ...]:
    """Return what two definitions of one layout share, beside the alignment."""
    places = () if struct.bit_size is None else Layout(struct).walk_fields()
    return struct.bit_size, frozenset((each.path, each.bit_offset, each.bit_size) for each in places)
