"""What BTF declares by a name that no struct has: a function, an enum and the like, for messages."""

from __future__ import annotations

from typing import Final

from layoutlint.model.target import Target
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, TypeEntry
from layoutlint.readers.btf.types import Decoder

_THINGS: Final = {
    blob.ENUM: "an enum",
    blob.ENUM64: "an enum",
    blob.FUNC: "a function",
    blob.VAR: "a variable",
    blob.INT: "a number type",
    blob.FLOAT: "a number type",
    blob.TYPEDEF: "a typedef",
}
_PARTS: Final = {
    blob.ENUM: "an enumerator",
    blob.ENUM64: "an enumerator",
    blob.STRUCT: "a field",
    blob.UNION: "a field",
}


def what_is(source: Blob, name: str, target: Target) -> str | None:
    """Return what a blob, or its base, declares by a name; None if it does not. Raises Damaged."""
    for record in source.records_named(frozenset(_THINGS), (name,)):
        if record.kind != blob.TYPEDEF:
            return _THINGS[record.kind]
        return f"a typedef of `{Decoder(source, target).spell(record.value)}`"
    parts = [_describe_part(record) for record in source.records_with_part(frozenset(_PARTS), name)]
    if parts:
        return next((part for part in parts if part not in _PARTS.values()), parts[0])
    return None if source.base is None else what_is(source.base, name, target)


def _describe_part(record: TypeEntry) -> str:
    is_field = record.kind in (blob.STRUCT, blob.UNION)
    return _PARTS[record.kind] + (f" of {record.name}" if is_field and record.name else "")
