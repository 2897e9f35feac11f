"""Structs with their members in a random order, laid out anew, and all that holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from layoutlint.model import Aggregate, Field, Inner, Marks, Randomised, Struct, Target
from layoutlint.randstruct import abi
from layoutlint.randstruct.abi import CannotLayOut, Packing, Rules
from layoutlint.randstruct.modes import Scheme

Definition = Callable[[Field], Struct | None]
"""The definition of the struct or union that a field holds; None for a type without a name."""


@dataclass(frozen=True, slots=True)
class Input:
    """What an input tells of its structs."""

    tells_packing: bool
    """Whether `packed` is in the marks, and the alignments of members are exact."""
    tells_empty_arrays: bool
    """Whether `x[0]` can be told from `x[]`."""


@dataclass(frozen=True, slots=True)
class Type:
    """A struct or union type, as it is declared."""

    fields: tuple[Field, ...]
    bit_size: int
    aggregate: Aggregate
    stated: int | None
    """The alignment in bytes that is known to be its own."""
    key: str | Inner | None
    """What marks call it."""
    tag: str | None
    likely: int | None = None
    """The alignment of a member of this type, which may be the type's or the member's."""


def declared(struct: Struct, bit_size: int) -> Type:
    """The type that a definition gives; its size is known."""
    tag = struct.name if struct.is_tagged else None
    return Type(struct.fields, bit_size, struct.aggregate, struct.align, struct.name, tag)


@dataclass(frozen=True, slots=True)
class _New:
    """The same type as it is laid out."""

    fields: tuple[Field, ...]
    bit_size: int
    is_own: bool = False
    """Whether its own members are in another order."""
    has_moved: bool = False
    """Whether members at some depth are."""
    align: int | None = None
    """In bytes; None where it was not laid out anew."""


class Redoer:
    """Lays out structs of one input as one build has them."""

    def __init__(self, scheme: Scheme, marks: Marks, of: Input, definition: Definition) -> None:
        self.scheme = scheme
        self._marks = marks
        self._input = of
        self._definition = definition
        self.assumed: list[str] = []
        """Structs taken as not packed, where the layout depends on it and the input does not tell."""

    def struct(self, struct: Struct) -> Struct:
        """The struct as the build has it; raises CannotLayOut when the input does not tell enough."""
        if struct.bit_size is None:
            return struct
        new = self._redone(declared(struct, struct.bit_size), struct.target)
        if not new.has_moved:
            return struct
        how = Randomised(self.scheme.mode, self.scheme.seed.hash, None, new.is_own)
        return replace(
            struct, fields=new.fields, bit_size=new.bit_size, align=new.align or struct.align, randomised=how
        )

    def _redone(self, of: Type, target: Target) -> _New:
        inner = [self._inner(of, position, field, target) for position, field in enumerate(of.fields)]
        fields = tuple(field for field, _ in inner)
        has_moved = any(moved for _, moved in inner)
        is_unclear = of.key in self._marks.unclear and of.key in self._marks.randomised
        if not is_unclear and not self.is_taken(of, fields):
            if all(new.bit_size == old.bit_size for new, old in zip(fields, of.fields, strict=True)):
                return _New(fields, of.bit_size, False, has_moved)
            return self._laid(of, fields, None, target)
        self.refuse_unclear(of)
        return self._laid(of, fields, self._order(of, fields), target)

    def refuse_unclear(self, of: Type) -> None:
        """Raises CannotLayOut for a marked struct with members that fields do not tell."""
        if of.key in self._marks.unclear and of.key in self._marks.randomised:
            raise CannotLayOut("it has bit-fields without a name, which are shuffled as well")

    def _order(self, of: Type, fields: tuple[Field, ...]) -> list[int]:
        order = self.scheme.order(fields, of.tag)
        if self._input.tells_empty_arrays or not fields[-1].is_flexible:
            return order
        empty = replace(fields[-1], dims=(0, *fields[-1].dims[1:]))
        if self.scheme.order((*fields[:-1], empty), of.tag) != order:
            last = fields[-1].name
            raise CannotLayOut(f"BTF has `{last}[]` and `{last}[0]` alike, of which the first stays last")
        return order

    def is_taken(self, of: Type, fields: Sequence[Field]) -> bool:
        """Whether the members of a type are put into another order."""
        marked, kept = of.key in self._marks.randomised, of.key in self._marks.kept
        return of.aggregate == "struct" and self.scheme.takes(fields, of.tag, marked, kept)

    def _inner(self, of: Type, position: int, field: Field, target: Target) -> tuple[Field, bool]:
        """A member whose type is as the build has it, and whether anything in that has moved."""
        if not field.members or field.aggregate is None or field.bit_size is None:
            return field, False
        count = prod(dimension or 0 for dimension in field.dims)
        inner = self.type_of(of, position, field, count)
        new = self._redone(inner, target)
        if not new.has_moved:
            return field, False
        return replace(field, members=new.fields, bit_size=new.bit_size * count), True

    def type_of(self, of: Type, position: int, field: Field, count: int) -> Type:
        """The type of a member, or of its elements, of which there are `count`; raises CannotLayOut."""
        found = self._definition(field)
        if found is not None and found.bit_size is not None:
            return declared(found, found.bit_size)
        if not count or field.bit_size is None or field.aggregate is None:
            raise CannotLayOut(f"the size of the elements of `{field.name}` is not known")
        before: Inner | None = (of.key, ()) if isinstance(of.key, str) else of.key
        key = before and (before[0], (*before[1], position))
        return Type(
            field.members, field.bit_size // count, field.aggregate, None, key, None, field.align
        )  # fmt: skip

    def _laid(self, of: Type, fields: tuple[Field, ...], order: list[int] | None, target: Target) -> _New:
        """The members in a random order, or None for the declared one, where they then stand."""
        ordered = fields if order is None else [fields[position] for position in order]
        sizes = tuple(field.bit_size for field in fields)
        results = [rules.lay_out(ordered) for rules in self.ways(of, sizes, order is not None, target)]
        laid = results[0]
        if any((one.offsets, one.bit_size) != (laid.offsets, laid.bit_size) for one in results[1:]):
            self.assumed.append(of.tag or "")
        placed = tuple(
            replace(field, bit_offset=offset) for field, offset in zip(ordered, laid.offsets, strict=True)
        )
        return _New(placed, laid.bit_size, order is not None, True, laid.align)

    def ways(self, of: Type, sizes: Sequence[int | None], is_shuffled: bool, target: Target) -> list[Rules]:
        """What its members are laid out by, the likeliest first; `sizes` are those that they have by then.

        Raises CannotLayOut when the declared layout does not follow from them.
        """
        rules = Rules(target, of.aggregate == "union", is_exact=self._input.tells_packing)
        # A compiler that has shuffled what is embedded describes its holder with that size.
        resized = [replace(old, bit_size=size) for old, size in zip(of.fields, sizes, strict=True)]
        found: list[tuple[Packing, int]] = []
        for stated in dict.fromkeys((of.stated, of.stated or of.likely)):
            rules = replace(rules, stated=stated)
            found = abi.fitting((of.fields, resized), of.bit_size, rules, self._packings(of))
            if found:
                break
        if self._input.tells_packing:
            found = found[:1]
        if not found:
            raise CannotLayOut("its declared layout is not what the alignments of its members give")
        # GCC lays a struct out a second time, which by then has its alignment and narrow bit-fields.
        again = self.scheme.is_gcc and is_shuffled
        return [
            replace(rules, packing=packing, stated=align if again else rules.stated, narrows=again)
            for packing, align in found
        ]

    def _packings(self, of: Type) -> list[Packing]:
        """How it may be packed: what the input shows, or the likeliest first."""
        if not self._input.tells_packing:
            return [abi.NATURAL, abi.PACKED]
        return [abi.PACKED] if of.key in self._marks.packed else [abi.NATURAL, *abi.PARTLY]
