"""Whole structs as assertions: size, alignment, and the offset of every member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.commands.rules.statements import Assertion, Block, Remark
from layoutlint.geometry.layout import Place, cached_layout, named_members
from layoutlint.judgement.c_assertion import CannotAssert, CNames, is_c_name, require_layout
from layoutlint.lint.struct_listing import list_structs
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct


class StructAssertions(Record, frozen=True):
    """The assertions on structs of an input, and what could not be asserted, as sentences."""

    blocks: tuple[Block, ...]
    troubles: tuple[str | Unread, ...]


def assert_structs(path: str, names: tuple[str, ...], options: ReadOptions) -> StructAssertions:
    """Return assertions that hold for the structs of an input as they are now. Raises ReadError."""
    listing = list_structs(path, names, options)
    definitions: dict[str, list[Struct]] = {}
    for struct in listing.structs:
        definitions.setdefault(f"{struct.aggregate} {struct.name}", []).append(struct)
    blocks, troubles = list[Block](), list(listing.troubles)
    for label, structs in definitions.items():
        try:
            blocks.append(_only_block(structs))
        except CannotAssert as error:
            blocks.append(Block(structs[0].name, (Remark(f"{label} is not asserted: {error}"),)))
            if all(struct.bit_size is not None and struct.problem is None for struct in structs):
                troubles.append(f"{path}: {label} is not asserted: {error}")  # the others are in the listing
    return StructAssertions(tuple(blocks), tuple(troubles))


def _only_block(structs: Iterable[Struct]) -> Block:
    """Return the assertions on the definitions of one name; raise CannotAssert if these differ."""
    places = {Block(struct.name, tuple(_lines(struct))): struct.source for struct in structs}
    if len(places) > 1:
        files = ", ".join(str(source) for source in places.values() if source is not None)
        raise CannotAssert(f"its {len(places)} definitions differ{f' ({files})' if files else ''}")
    return next(iter(places))


def _lines(struct: Struct) -> Iterator[Assertion | Remark]:
    """Yield the assertions on one definition; raise CannotAssert."""
    require_layout(struct)
    names, layout = CNames(struct), cached_layout(struct)
    yield _equal(names.size, layout.size)
    if len(layout.alignments) == 1:
        yield _equal(names.align, layout.align.value)
    else:
        values = " or ".join(map(str, layout.alignments))
        yield Remark(f"the alignment of {names.type} is not asserted: the input leaves it open ({values})")
    for place in _walk(layout.places):
        yield _member(place, names)
        if place.field.members and (reason := _no_access_reason(place.field)):
            yield Remark(f"the members of {place.path} are not asserted: {reason}")


def _walk(places: Iterable[Place]) -> Iterator[Place]:
    """Yield members and their members, with paths as in C: of an array, the first element."""
    for place in places:
        yield place
        member = place.field
        if member.members and not _no_access_reason(member):
            prefix = f"{place.path}{'[0]' * len(member.dims)}."
            is_union = member.aggregate == "union"
            yield from _walk(named_members(member.members, prefix, place.bit_offset, is_union))


def _no_access_reason(member: Field) -> str:
    """Return why C cannot name the members of a member; empty if it can."""
    if member.is_flattened:
        return "the input does not state the dimensions of the array"
    is_atomic = any("_Atomic" in each.left for each in (member.type, *member.underlying_types))
    return "C gives no access to members of an _Atomic struct" if is_atomic else ""


def _member(place: Place, names: CNames) -> Assertion | Remark:
    if place.field.is_bitfield:
        position = f"{place.offset}:{place.bit_offset % 8}"
        return Remark(f"{place.path} at {position} is not asserted: a bit-field has no offsetof()")
    if not all(is_c_name(step.partition("[")[0]) for step in place.path.split(".")):
        return Remark(f"{place.path} at {place.offset} is not asserted: it is no name in C")
    return _equal(names.offset(place.path), place.offset)


def _equal(expression: str, value: int) -> Assertion:
    return Assertion(f"{expression} == {value}", f"{expression} != {value}")
