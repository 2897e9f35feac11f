"""The types of fields as inputs spell them, and the fields that have another type of the same size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from layoutlint.model.ctype import QUALIFIERS, UNKNOWN, CType, add_qualifier, strip_qualifiers
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Source, Struct, Unstated

_DIMENSIONS = re.compile(r"^(?:\[\d*\])+")
_ATOMIC = re.compile(r"_Atomic (?=\w)| _Atomic\b")
_TAG = re.compile(r"\b(struct|union) (\w+)")


class TypeKey(NamedTuple):
    """The type of a field with its typedef resolved; of an array, the type of its elements."""

    left: str
    right: str
    dims: tuple[int, ...]
    """The lengths of an array, 0 for a flexible one."""
    is_flattened: bool
    is_bitfield: bool
    names: frozenset[str]
    """What a struct or union is called, with qualifiers: its tag and its typedefs; empty for other types."""

    @property
    def text(self) -> str:
        """The type as C spells it."""
        return f"{self.left}{''.join(f'[{length or str()}]' for length in self.dims)}{self.right}"


class Retyping(Record, frozen=True):
    """A field that has another type of the same size."""

    path: str
    old: str
    """The type as it was spelled; with the typedef resolved if the spelling is the same."""
    new: str
    source: Source | None


def type_key(member: Field) -> TypeKey:
    """Return the type of a field: a typedef counts as what it refers to, as long as that has a name."""
    spellings = (member.type, *member.underlying_types)
    named = [number for number, each in enumerate(spellings) if not each.is_untagged]
    at = named[-1] if named else 0
    base = spellings[at]
    for alias in spellings[:at]:
        for word in alias.left.split()[:-1]:
            base = add_qualifier(base, word) if word in QUALIFIERS else base
    dims = tuple(length or 0 for length in member.dims)
    right = _DIMENSIONS.sub("", base.right)
    return TypeKey(base.left, right, dims, member.is_flattened, member.is_bitfield, _names(member, spellings))


def _names(member: Field, spellings: tuple[CType, ...]) -> frozenset[str]:
    """Return all names of a struct or union, with the qualifiers of the field."""
    if member.aggregate is None:
        return frozenset()
    words = {word for each in spellings for word in each.left.split()[:-1] if word in QUALIFIERS}
    names = (strip_qualifiers(each).left for each in spellings if not each.is_untagged)
    return frozenset(" ".join((*sorted(words), name)) for name in names)


class Leeway(Record, frozen=True):
    """Which differences of spellings are no differences of types."""

    renamed: Mapping[str, str] = {}
    """The new names of structs."""
    knows_atomic: bool = False
    """Whether both inputs state `_Atomic`."""
    knows_bit_fields: bool = False
    """Whether both inputs state which members are bit-fields as wide as their types."""

    def is_same(self, old: TypeKey, new: TypeKey) -> bool:
        """Return whether two fields can have the same type."""
        if self.knows_bit_fields and old.is_bitfield != new.is_bitfield:
            return False
        if not self.has_same_name(old, new):
            return False
        is_flattened = old.is_flattened or new.is_flattened
        return old.dims == new.dims or (is_flattened and prod(old.dims) == prod(new.dims))

    def has_same_name(self, old: TypeKey, new: TypeKey) -> bool:
        """Return whether two types are spelled alike, apart from lengths; a struct needs one name in common.

        What the struct holds is compared by itself.
        """
        names = [set(map(self._plain, each.names)) for each in (old, new)]
        if not names[0].isdisjoint(names[1]):
            return True
        before = [self._with_new_names(self._plain(text)) for text in (old.left, old.right)]
        return before == [self._plain(text) for text in (new.left, new.right)]

    def _plain(self, text: str) -> str:
        """Return a spelling without what not all inputs state: DWARF 2 has no `restrict`."""
        text = text.replace(" restrict", "")
        return text if self.knows_atomic else _ATOMIC.sub("", text)

    def _with_new_names(self, text: str) -> str:
        if not self.renamed:
            return text
        return _TAG.sub(lambda tag: f"{tag[1]} {self.renamed.get(tag[2], tag[2])}", text)


def leeway(old: Struct, new: Struct, renamed: Mapping[str, str]) -> Leeway:
    """Return the leeway for two definitions of a struct."""
    unstated = old.unstated | new.unstated
    return Leeway(renamed, Unstated.ATOMIC not in unstated, Unstated.WHOLE not in unstated)


def is_known(member: Field) -> bool:
    """Return whether the input states the type of a field."""
    return member.bit_size is not None and member.type != UNKNOWN


def retyping(path: str, old: Field, new: Field) -> Retyping:
    """Return how the type of a field is spelled before and now."""
    texts = [_spelling(each.type, each) for each in (old, new)]
    if texts[0] == texts[1]:
        texts = [_spelling(type_key(each).text, each) for each in (old, new)]
    return Retyping(path, texts[0], texts[1], new.source)


def _spelling(ctype: CType | str, member: Field) -> str:
    return f"{ctype} : {member.bit_size}" if member.is_bitfield else str(ctype)
