"""Search for the types of a blob that embed a struct, by their ids, before any is decoded."""

from __future__ import annotations

from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Damaged, TypeEntry
from layoutlint.readers.btf.types import AGGREGATES, DEEPEST, TRANSPARENT

_NAMED = frozenset((*AGGREGATES, blob.TYPEDEF))


_REFER = frozenset((blob.PTR, blob.VAR, blob.FUNC_PROTO))
_BETWEEN = frozenset((*TRANSPARENT, blob.TYPEDEF, blob.ARRAY))


def unnamed_alone(source: Blob) -> frozenset[int]:
    """Return the structs of a blob without a name that are not only the type of a member. Raises Damaged."""
    in_members, elsewhere, named = set[int](), set[int](), set[int]()
    for type_id, _ in source.own_types(frozenset((*AGGREGATES, *_REFER, blob.TYPEDEF))):
        record = source.record(type_id)
        if record.kind in AGGREGATES:
            in_members.update(_struct_of(source, part) for part in source.parts(type_id))
        elif record.kind == blob.TYPEDEF:
            named.add(_struct_of(source, record.value, TRANSPARENT))
            elsewhere.add(_struct_of(source, record.value))  # a typedef of an array names no struct
        else:
            parameters = record.elements(2) if record.kind == blob.FUNC_PROTO else ()
            elsewhere.update(_struct_of(source, each) for each in (record.value, *(p[1] for p in parameters)))
    unnamed = {type_id for type_id, name in source.own_types(frozenset(AGGREGATES)) if not name}
    return frozenset(unnamed - named - (in_members - elsewhere))


def _struct_of(source: Blob, type_id: int, between: frozenset[int] = _BETWEEN) -> int:
    """Return the id of the type behind qualifiers, typedefs and arrays. Raises Damaged."""
    for _ in range(DEEPEST):
        record = source.record(type_id) if type_id else None
        if record is None or record.kind not in between:
            return type_id
        type_id = source.parts(type_id)[0]
    raise Damaged(f"type {type_id} goes through more than {DEEPEST} others, or in a circle")


class Holders:
    """Finds structs by name, and the types that embed them, at any depth."""

    def __init__(self, source: Blob, names: frozenset[str], omits_typedefs: bool = False) -> None:
        """Mark the named structs. Raises Damaged.

        `omits_typedefs`: any struct without a tag can be one of the same size that a typedef names.
        """
        self._source = source
        self._is_holder: dict[int, bool] = {0: True}
        """Pahole writes `void` for types that it cannot express: a member of it can embed anything."""
        while source.base is not None:
            self._mark(source, names)
            source = source.base
        self._mark(source, names)
        if omits_typedefs:
            self._mark_lookalikes(source)

    def _mark_lookalikes(self, source: Blob) -> None:
        """Mark the structs without a tag that have the size of one that a typedef names."""
        untagged = [
            source.record(type_id) for type_id, name in source.own_types(frozenset(AGGREGATES)) if not name
        ]
        typedefs = (
            source.record(type_id).value for type_id, _ in source.own_types(frozenset((blob.TYPEDEF,)))
        )
        named = set(typedefs)
        sizes = {(record.kind, record.value) for record in untagged if record.id in named}
        lookalikes = (r for r in untagged if r.id not in named and (r.kind, r.value) in sizes)
        self._is_holder.update((record.id, True) for record in lookalikes)

    def _mark(self, source: Blob, names: frozenset[str]) -> None:
        """Mark the structs of these names, and those that typedefs of these names refer to."""
        for record in source.records_named(_NAMED, names):
            target: TypeEntry | None = record
            for _ in range(DEEPEST):
                if target is None or (target.kind != blob.TYPEDEF and target.kind not in TRANSPARENT):
                    break
                target = source.record(target.value) if target.value else None
            if target is not None and target.kind in AGGREGATES:
                self._is_holder[target.id] = True

    def ids(self) -> frozenset[int]:
        """Return the ids of types that embed such a struct, and of all types that these contain. Raises
        Damaged.

        The contained types decide which struct a field's typedef refers to, if several have the same members.
        """
        ids: set[int] = set()
        pending = [type_id for type_id, _ in self._source.own_types(_NAMED) if self._holds(type_id)]
        while pending:
            type_id = pending.pop()
            if type_id not in ids:
                ids.add(type_id)
                pending += self._source.parts(type_id)
        return frozenset(ids)

    def _holds(self, type_id: int, depth: int = 0) -> bool:
        is_holder = self._is_holder.get(type_id)
        if is_holder is None:
            self._is_holder[type_id] = True  # a type that contains itself is reported when it is decoded
            parts = self._source.parts(type_id)
            is_holder = depth > DEEPEST or any(self._holds(part, depth + 1) for part in parts)
            self._is_holder[type_id] = is_holder
        return is_holder
