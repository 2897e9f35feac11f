"""One definition with several layouts in one program, as by a `#pragma pack` that holds in some units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.model.structs import Field, Struct
from layoutlint.phrases import quantity


def other_layouts(struct: Struct, namesakes: Iterable[Struct]) -> tuple[str, ...]:
    """Return a unit or file of each struct with the definition of another one, and a different layout."""
    own = _layout(struct)
    others = (other for other in namesakes if _is_one_definition(struct, other))
    return tuple(dict.fromkeys(_unit_of(other) for other in others if _layout(other) != own))


def sentences(structs: Iterable[Struct]) -> Iterator[str]:
    """Yield a sentence for each definition that has several layouts."""
    by_name: dict[str, list[Struct]] = {}
    for struct in structs:
        by_name.setdefault(struct.name, []).append(struct)
    for namesakes in by_name.values():
        while len(namesakes) > 1:
            first, *rest = namesakes
            same = [struct for struct in rest if _is_one_definition(first, struct)]
            layouts: dict[object, Struct] = {}
            for struct in (first, *same):
                layouts.setdefault(_layout(struct), struct)
            if len(layouts) > 1:
                shown = (f"{quantity(_bytes(s), 'byte')} in {_file(s)}" for s in layouts.values())
                at = f" at {first.source}" if first.source else ""
                name = f"{first.aggregate} {first.name}{at}"
                yield f"{name} has {len(layouts)} layouts: {', '.join(shown)}"
            namesakes = [struct for struct in rest if struct not in same]


def _unit_of(struct: Struct) -> str:
    """Return the first file or unit of a definition; with its size, if the input has no units."""
    return _file(struct) if struct.source else f"{_file(struct)} ({quantity(_bytes(struct), 'byte')})"


def _file(struct: Struct) -> str:
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
        is_same = is_same and _names(struct.fields) == _names(other.fields)
    return is_known and is_same and struct.source == other.source


def _names(fields: tuple[Field, ...]) -> tuple[object, ...]:
    return tuple((field.name, field.type.left, _names(field.members)) for field in fields)


def _layout(struct: Struct) -> tuple[object, ...]:
    return struct.bit_size, struct.align, tuple(_places(struct.fields))


def _places(fields: tuple[Field, ...]) -> Iterator[tuple[object, ...]]:
    for field in fields:
        yield field.name, field.bit_offset, field.bit_size, tuple(_places(field.members))
