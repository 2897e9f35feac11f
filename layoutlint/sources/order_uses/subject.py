"""The struct whose uses are searched, as C text names it."""

from __future__ import annotations

import re
from functools import cached_property

from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct, fields_in_braces
from layoutlint.sources.allocations.declarations import TypeName
from layoutlint.sources.order_uses.facts import member_names

_TAG = re.compile(r"\b(?:struct|union)\s+(\w+)$")
_WORD = re.compile(r"[A-Za-z_]\w*")


class Subject(Record, frozen=True, dict=True):
    """A struct, and the names that C text has for it."""

    struct: Struct
    aliases: tuple[str, ...] = ()
    """Its typedef names."""
    arrays: tuple[tuple[str, int], ...] = ()
    """The typedef names of arrays of it, with their dimensions."""
    groups: tuple[tuple[int, int], ...] = ()
    """The structs without a name in it whose members are its fields: the first, and the one behind the last.

    Those around others come first.
    """

    @cached_property
    def tag(self) -> str | None:
        """The tag of the struct; None for a struct without one."""
        return self.struct.name if self.struct.is_tagged else None

    @cached_property
    def type_pattern(self) -> str:
        """A pattern of its type: `struct ring` or a typedef."""
        tagged = rf"{self.struct.aggregate}\s+{re.escape(self.struct.name)}\b" if self.tag else ""
        names = "|".join(re.escape(name) for name in self.aliases)
        typedefs = rf"\b(?:{names})\b" if names else ""
        return f"(?:{tagged}|{typedefs})" if tagged and typedefs else tagged or typedefs

    @cached_property
    def members(self) -> tuple[str, ...]:
        """The names of its members, by `member_names`."""
        return member_names(self.struct)

    @cached_property
    def member_at(self) -> dict[str, int]:
        """The position of the top-level member with each name that C text can use in the struct."""
        places: dict[str, int] = {}
        for index, field in enumerate(self.struct.fields):
            inner = [path.partition(".")[0] for path, _ in fields_in_braces(field.members)]
            for name in (field.name,) if field.name else inner:
                places.setdefault(name, index)
        return places

    @cached_property
    def member_pattern(self) -> str:
        """A pattern of the names of its members; matches nothing if it has none."""
        return "(?:" + "|".join(map(re.escape, sorted(self.member_at))) + ")" if self.member_at else r"(?!)"

    @cached_property
    def first_types(self) -> frozenset[str]:
        """The tags and typedefs of its first member, of the first member of that, and so on."""
        types: set[str] = set()
        fields = self.struct.fields
        while fields and fields[0].aggregate is not None:
            types |= type_names(fields[0])
            fields = fields[0].members
        return frozenset(types - set(self.names))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tag and the typedefs of the struct."""
        return ((self.tag,) if self.tag else ()) + self.aliases

    def is_type(self, meaning: object) -> bool:
        """Return whether a resolved type is the struct."""
        if not isinstance(meaning, TypeName):
            return False
        return meaning.name in self.aliases if meaning.is_typedef else meaning.name == self.tag

    def position(self, path: str) -> int | None:
        """Return the position of the top-level member in a path as C text has it; None if it is no member."""
        word = _WORD.match(path.strip())
        return self.member_at.get(word[0]) if word is not None else None

    def end_of_braces(self, position: int) -> int | None:
        """Return the position behind the struct without a name that begins at one; None if none does."""
        return next((stop for first, stop in self.groups if first == position), None)

    def byte_size(self, position: int) -> int | None:
        """Return the size of a top-level member in bytes; None if it is unknown or a bit-field."""
        size = self.struct.fields[position].bit_size
        return None if size is None or self.struct.fields[position].is_bitfield else size // 8

    def range(self, first: int, last: int) -> tuple[str, ...]:
        """Return the members from one position to another, both included, in either order."""
        return self.members[min(first, last) : max(first, last) + 1]


def type_names(field: Field) -> set[str]:
    """Return the tag and the typedefs of a field's type."""
    names: set[str] = set()
    for ctype in (field.type, *field.underlying_types):
        tag = _TAG.search(ctype.left)
        names.add(tag[1] if tag is not None else ctype.left.rpartition(" ")[2])
    return {name for name in names if name.isidentifier()}


def with_names(subject: Subject, aliases: set[str], arrays: set[tuple[str, int]]) -> Subject:
    """Return a subject with more typedef names of it and of arrays of it."""
    return Subject(
        subject.struct,
        tuple(sorted({*subject.aliases, *aliases})),
        tuple(sorted({*subject.arrays, *arrays})),
        subject.groups,
    )
