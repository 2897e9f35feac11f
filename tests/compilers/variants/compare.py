"""A reading against what the compiler says, struct by struct and field by field, and against pahole's listing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Field, Struct, Unstated
from tests.compilers.variants.facts import Definition, Spot
from tests.oracles import pahole


@dataclass(slots=True)
class Result:
    """What was compared, and every difference by `struct.path`, with what either side says."""

    structs: int = 0
    fields: int = 0
    bit_fields: int = 0
    differences: dict[str, str] = field(default_factory=dict)


def with_compiler(readings: Iterable[Reading], facts: tuple[Definition, ...]) -> Result:
    """Every definition of the compiler has its struct among the readings, and every struct its definition."""
    read = _group_by_name(struct for reading in readings for struct in reading.structs)
    result = Result()
    output: dict[str, list[Definition]] = defaultdict(list)
    for definition in facts:
        output[definition.name].append(definition)
        result.structs += 1
        result.fields += len(definition.spots) - definition.bit_fields
        result.bit_fields += definition.bit_fields
        found = [dict(_differences(definition, struct)) for struct in read.get(definition.name, ())]
        result.differences |= min(found, key=len, default={definition.name: "not read"})
    for name, structs in read.items():
        if name not in output:
            result.differences[name] = "read, and in no table"
            continue
        for struct in structs:
            result.differences |= min((dict(_differences(each, struct)) for each in output[name]), key=len)
    return result


def _group_by_name(structs: Iterable[Struct]) -> dict[str, list[Struct]]:
    found: dict[str, list[Struct]] = defaultdict(list)
    for struct in structs:
        found[struct.name].append(struct)
    return found


def _differences(definition: Definition, struct: Struct) -> Iterator[tuple[str, str]]:
    name = definition.name
    if struct.problem is not None or struct.bit_size is None:
        yield name, f"unknown: {struct.problem}"
        return
    layout = Layout(struct)
    if layout.size != definition.size:
        yield f"{name} size", f"{layout.size}, compiled {definition.size}"
    if definition.align not in layout.alignments:
        yield f"{name} align", f"{layout.alignments}, compiled {definition.align}"
    places = {place.path: place for place in layout.walk_fields()}
    spots = dict(definition.spots)
    for path in dict.fromkeys((*places, *spots)):
        if path not in spots or path not in places:
            yield f"{name}.{path}", "not read" if path in spots else "read, and in no table"
            continue
        place, spot = places[path], spots[path]
        got = Spot(place.bit_offset, place.bit_size if spot.size is not None else None, place.field.is_bitfield)
        if place.bit_size is None and place.bit_offset == spot.offset and _may_be_padded(struct, place.field):
            continue  # a size that is not known is not wrong
        if got != spot:
            yield f"{name}.{path}", f"{_spell(got)}, compiled {_spell(spot)}"


def _may_be_padded(struct: Struct, member: Field) -> bool:
    """Whether a vector, or an atomic struct, can look like a member, which has no padding itself.

    BTF has neither, and DWARF before version 5 no atomic types.
    """
    in_btf = bool(struct.unstated & Unstated.ALIGNED)
    return (in_btf and bool(member.dims)) or (bool(struct.unstated & (Unstated.ALIGNED | Unstated.ATOMIC)) and member.aggregate is not None)


def _spell(spot: Spot) -> str:
    return f"{'bit-field' if spot.is_bitfield else 'field'} at bit {spot.offset} of {spot.size} bits"


def with_pahole(readings: Iterable[Reading], shapes: Iterable[pahole.Shape]) -> Result:
    """Every struct of a listing has its struct among the readings; what the listing leaves out is not compared."""
    read = _group_by_name(struct for reading in readings for struct in reading.structs)
    result = Result()
    for shape in dict.fromkeys(shapes):
        result.structs += 1
        result.bit_fields += sum(spot.is_bitfield for _, spot in shape.spots)
        result.fields += sum(not spot.is_bitfield for _, spot in shape.spots)
        found = [dict(_unlike(shape, struct)) for struct in read.get(shape.name, ())]
        result.differences |= min(found, key=len, default={shape.name: "not read"})
    return result


def _unlike(shape: pahole.Shape, struct: Struct) -> Iterator[tuple[str, str]]:
    if struct.aggregate != shape.aggregate:
        yield shape.name, f"{struct.aggregate}, in pahole {shape.aggregate}"
    if shape.size is not None and struct.bit_size != shape.size * 8:
        yield f"{shape.name} size", f"{(struct.bit_size or 0) // 8}, in pahole {shape.size}"
    if struct.bit_size is None:
        return
    places = {place.path: place for place in Layout(struct).walk_fields()}
    for path, spot in shape.spots:
        place = places.get(path)
        if place is None:
            yield f"{shape.name}.{path}", "not read"
        elif (place.bit_offset, place.bit_size, place.field.is_bitfield) != (spot.bit_offset, spot.bit_size, spot.is_bitfield):
            ours = _spell(Spot(place.bit_offset, place.bit_size, place.field.is_bitfield))
            yield f"{shape.name}.{path}", f"{ours}, in pahole {_spell(Spot(spot.bit_offset, spot.bit_size, spot.is_bitfield))}"
