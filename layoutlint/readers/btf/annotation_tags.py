"""Annotations in BTF: BTF_KIND_DECL_TAG of structs and members (Documentation/bpf/btf.rst of Linux)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from layoutlint.model.structs import ANNOTATION, Annotation
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Damaged, TypeEntry

_TAGS: Final = frozenset((blob.DECL_TAG,))
_AGGREGATES: Final = frozenset((blob.STRUCT, blob.UNION))
_NAMELESS: Final = frozenset((blob.CONST, blob.VOLATILE, blob.RESTRICT, blob.TYPE_TAG, blob.ARRAY))
"""Kinds between a member and the struct defined in its declaration."""
_WHOLE: Final = 0xFFFFFFFF
"""component_idx of a tag on the type itself, not on a member."""
_DEEPEST: Final = 100

_Texts = dict[int, list[str]]


class Annotations:
    """The annotations of one blob, by struct."""

    def __init__(self, source: Blob) -> None:
        """Read the tags. Raises Damaged."""
        self._blob = source
        self._tags: dict[int, _Texts] = {}
        for type_id, name in source.own_types(_TAGS):
            text = source.text(name, type_id)
            if text.startswith(ANNOTATION):
                record = source.record(type_id)
                texts = self._tags.setdefault(record.value, {}).setdefault(record.words[0], [])
                texts.append(text.removeprefix(ANNOTATION))
        self.owners = self._owners()
        """The structs with annotations, on themselves or on structs defined inside of them."""

    def _owners(self) -> frozenset[int]:
        if not self._tags:
            return frozenset()
        ids = [type_id for type_id, _ in self._blob.own_types(_AGGREGATES)]
        return frozenset(type_id for type_id in ids if any(self.annotations_of(self._blob.record(type_id))))

    def annotations_of(self, record: TypeEntry, prefix: str = "", depth: int = 0) -> Iterator[Annotation]:
        """Yield the annotations of a struct and of the structs defined inside of it. Raises Damaged."""
        if not self._tags:
            return
        if depth > _DEEPEST:
            raise Damaged(f"type {record.id} is nested {_DEEPEST} types deep")
        texts = self._tags.get(record.id, {})
        for text in texts.get(_WHOLE, ()):
            yield Annotation(prefix.removesuffix("."), text)
        for number, (name, type_id, _) in enumerate(record.elements(3)):
            path = prefix + self._blob.text(name, record.id)
            for text in texts.get(number, ()):
                yield Annotation(path.removesuffix("."), text)
            inner = self._unnamed_struct(type_id)
            if inner is not None:
                yield from self.annotations_of(inner, f"{path}." if name else prefix, depth + 1)

    def _unnamed_struct(self, type_id: int) -> TypeEntry | None:
        """Return the unnamed struct that a member is declared with; None for other types."""
        for _ in range(_DEEPEST):
            if not type_id:
                return None
            record = self._blob.record(type_id)
            if record.kind in _AGGREGATES:
                return None if record.name else record
            if record.kind not in _NAMELESS:
                return None
            type_id = record.words[0] if record.kind == blob.ARRAY else record.value
        raise Damaged(f"type {type_id} and others refer to one another in a circle")
