"""Builders of structs in memory, so that a test shows the layout that it is about."""

from __future__ import annotations

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement.context import Access, Context
from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import Target, target_named

X86_64 = target_named("x86_64")


def member(name: str | None, offset: int, size: int, *members: Field, **more: object) -> Field:
    """A field of whole bytes; with members, an embedded struct."""
    if members:
        more.setdefault("aggregate", "struct")
    more.setdefault("align", 1)
    more.setdefault("source", None if name is None else Source("example.h", offset + 2))
    return Field(name, CType("unsigned char" if size == 1 else "long int"), offset * 8, size * 8,
                 members=members, **more)  # type: ignore[arg-type]  # fmt: skip


def bits(name: str, bit_offset: int, bit_size: int) -> Field:
    """A bit-field."""
    return Field(name, CType("unsigned int"), bit_offset, bit_size, is_bitfield=True)


def flexible(name: str, offset: int) -> Field:
    """A flexible array."""
    return Field(name, CType("long int", "[]"), offset * 8, 0, dims=(None,), align=8)


def struct(name: str, size: int, *fields: Field, align: int | None = 8, target: Target = X86_64) -> Struct:
    """A struct of whole bytes."""
    return Struct(name, "struct", size * 8, align, fields, target, Source("example.h", 1), "example.c")


def context(
    of_struct: Struct, *accesses: Access, line_size: int | None = None, min_align: int | None = None
) -> Context:
    """What a kind judges `of_struct` by."""
    layout = Layout(of_struct)
    return Context(layout, placements(layout, line_size, min_align), accesses)
