"""Doubts about structs of BTF: offsets or members that its writer lost. Nothing in the blob says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

from layoutlint.model.structs import Field, Struct
from layoutlint.readers import scalars
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob
from layoutlint.readers.btf.types import AGGREGATES, KEPT_BITS, BtfDecoder, MemberType

_MOVED: Final = (
    "BTF of gcc does not state whether unnamed bit-fields are before its first member, or a member's"
)
_LOST: Final = (
    "BTF has 24 bits for offsets in a struct with bit-fields, so those from 2 MiB on are lost; DWARF has them"
)
_REDUCED: Final = (
    "this BTF seems to be the output of `bpftool gen min_core_btf`, which leaves out members; give the BTF "
    "that it was made from"
)
_CODE: Final = frozenset((blob.FUNC, blob.VAR))
_POINTERS: Final = frozenset((blob.PTR,))


class Doubts:
    """The doubts about the structs of one blob."""

    def __init__(self, source: Blob, decoder: BtfDecoder, by_gcc: bool, may_be_reduced: bool) -> None:
        """`by_gcc`: gcc may have written it. It puts the first named member at 0 even after unnamed bit-
        fields (ctf_add_member() in gcc/ctfc.cc), and since 14 drops bit-fields whose offset does not fit.
        """
        self._source = source
        self._decoder = decoder
        self._by_gcc = by_gcc
        self._may_be_reduced = may_be_reduced

    def problem(self, definition: Struct, type_id: int) -> str | None:
        """Return why the layout of a struct is unreliable; None if it is not. Raises Damaged."""
        if self._decoder.type_at(type_id).loses_offsets:
            return _LOST
        if self._may_be_reduced and _any_struct(definition, _has_gap) and self._is_reduced:
            return _REDUCED
        if self._by_gcc and _any_struct(definition, _may_lack_bits):
            return _LOST
        return _MOVED if self._by_gcc and _any_struct(definition, _may_be_moved) else None

    @cached_property
    def _is_reduced(self) -> bool:
        """Whether `bpftool gen min_core_btf` seems to have written the blob: btfgen_get_btf() in its gen.c.

        It keeps only the members that a BPF program uses, at their offsets. The blob has no functions and no
        variables, and its pointers lead nowhere.
        """
        source = self._source
        if source.base is not None or any(True for _ in source.own_types(_CODE)):
            return False
        leads = any(source.record(type_id).value for type_id, _ in source.own_types(_POINTERS))
        ids = (type_id for type_id, _ in source.own_types(frozenset(AGGREGATES)))
        return any(_lacks_members(self._decoder.type_at(type_id), leads) for type_id in ids)


def _lacks_members(kind: MemberType, leads: bool) -> bool:
    if not kind.members:
        return bool(kind.bit_size)
    return not leads and kind.aggregate == "struct" and _has_unexplained_gap(kind)


def _has_unexplained_gap(kind: MemberType) -> bool:
    """Return whether a gap of a struct is larger than the alignment of what follows it requires."""
    end: int | None = 0
    largest = 1
    for field in kind.members:
        align = field.align or 1
        if end is not None and field.bit_offset - end >= align * 8:
            return True
        end = None if field.bit_size is None else field.bit_offset + field.bit_size
        largest = max(largest, align)
    return end is not None and (kind.bit_size or 0) - end >= largest * 8


def _any_struct(
    container: Struct | Field, applies: Callable[[tuple[Field, ...], Struct | Field], bool]
) -> bool:
    """Return whether something applies to a struct or union, or to one that it contains."""
    fields = container.fields if isinstance(container, Struct) else container.members
    return applies(fields, container) or any(
        _any_struct(member, applies) for member in fields if member.aggregate
    )


def _may_be_moved(fields: tuple[Field, ...], container: Struct | Field) -> bool:
    """Return whether the first member of a struct has room to be at a later offset."""
    if container.aggregate != "struct" or not fields:
        return False
    end = fields[1].bit_offset if len(fields) > 1 else _bits(container)
    size = fields[0].bit_size
    return end is None or size is None or fields[0].bit_offset + size < end


def _may_lack_bits(fields: tuple[Field, ...], container: Struct | Field) -> bool:
    """Return whether a struct may lack bit-fields: gcc since 14 drops those whose offset does not fit."""
    is_large = container.aggregate == "struct" and (_bits(container) or 0) > 1 << KEPT_BITS
    return is_large and _has_gap(fields, container)


def _has_gap(fields: tuple[Field, ...], container: Struct | Field) -> bool:
    """Return whether a struct or union has bits that belong to no member."""
    end = 0
    for field in fields:
        if field.bit_size is None or field.bit_offset > end:
            return True
        end = max(end, field.bit_offset + field.bit_size)
    bits = _bits(container)
    return bits is None or end < bits


def _bits(container: Struct | Field) -> int | None:
    """Return the bits of a struct or union, of one element of an array; None if unknown."""
    if isinstance(container, Struct) or not container.dims:
        return container.bit_size
    return container.flexible_bits or scalars.innermost_bits(container.bit_size, container.dims)
