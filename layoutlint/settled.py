"""Alignments that one input leaves open and another states of the same struct."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from layoutlint.layout import Layout
from layoutlint.model import Reading, Struct


def settle(readings: list[Reading]) -> list[Reading]:
    """Return the readings, with alignments that other readings state of structs of the same layout."""
    if len(readings) < 2:
        return readings
    stated: dict[object, set[int]] = {}
    for struct in (struct for reading in readings for struct in reading.structs):
        is_known = struct.bit_size is not None and struct.problem is None and struct.align is not None
        if is_known and len(Layout(struct).alignments) == 1:
            stated.setdefault(_key(struct), set()).add(struct.align or 1)
    if not stated:
        return readings
    return [replace(reading, structs=tuple(_settled(reading.structs, stated))) for reading in readings]


def _settled(structs: Iterable[Struct], stated: dict[object, set[int]]) -> Iterable[Struct]:
    for struct in structs:
        known = stated.get(_key(struct)) if struct.bit_size is not None and struct.unstated else None
        if known and len(known) == 1 and len(Layout(struct).alignments) > 1:
            struct = replace(struct, possible=next(iter(known)))
        yield struct


def _key(struct: Struct) -> object:
    """What definitions of one struct have in common."""
    members = tuple((field.name, field.bit_offset, field.bit_size) for field in struct.fields)
    return struct.target, struct.name, struct.is_tagged, struct.aggregate, struct.bit_size, members
