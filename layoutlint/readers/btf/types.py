"""Types of BTF: spelling, size, alignment and members; types in a circle raise Damaged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from layoutlint.model import possible_alignments
from layoutlint.model.ctype import UNTAGGED, CType, add_qualifier, array_of, function_of, pointer_to
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Aggregate, Field, Unstated
from layoutlint.model.target import Target
from layoutlint.readers import scalars
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Damaged, TypeEntry

AGGREGATES: Final[dict[int, Aggregate]] = {blob.STRUCT: "struct", blob.UNION: "union"}
QUALIFIERS: Final = {blob.CONST: "const", blob.VOLATILE: "volatile", blob.RESTRICT: "restrict"}
TRANSPARENT: Final = frozenset((*QUALIFIERS, blob.TYPE_TAG))
"""Kinds without a name that can be between a typedef and its struct."""
UNSTATED: Final = Unstated.PACKED | Unstated.PRAGMA | Unstated.ALIGNED
"""The facts that BTF omits and that decide alignments."""
DEEPEST: Final = 100
"""The longest chain of types; longer ones are circular, or no compiler wrote them."""
_DOUBLE: Final = 8
"""The bytes of a `double`; wider types are `long double` and `__float128`."""
_WIDEST_VECTOR: Final = 256
"""The bytes of the largest vectors that are padded."""
_LONGEST: Final = 1 << 14
"""The most characters of a type's spelling; types that repeat one another could exceed any memory."""
_MOST_FIELDS: Final = 1 << 16
"""The most fields of one struct at all depths; the largest of Linux has 2,800. Structs that contain one
another twice double the number with each level."""

KEPT_BITS: Final = 24
"""The bits of an offset in a struct that has bit-fields (kind_flag); the other 8 hold the size of the bit-
field. gcc, clang and pahole let larger offsets run into these, or drop the bit-field."""

_FAKE: Final = "__SANITIZED_FAKE_INT__"
"""The type that pahole writes, with 4 bytes, for a number whose size is not 1, 2, 4, 8 or 16 (`long double`
on i386)."""


class MemberType(Record, frozen=True, eq=False):
    """The type of a member."""

    spelling: CType
    bit_size: int | None
    align: int | None = None
    aggregate: Aggregate | None = None
    dims: tuple[int | None, ...] = ()
    members: tuple[Field, ...] = ()
    part: tuple[int, int] | None = None
    """Offset and number of the value bits of an INT, if these are not all (no kind_flag)."""
    field_count: int = 0
    """The number of fields at all depths."""
    is_function_pointer: bool = False
    """Whether it, or the element of an array, is a pointer to a function."""
    underlying_types: tuple[CType, ...] = ()
    """The types that it, or the element of an array, is a typedef of, outermost first."""
    is_number: bool = False
    """Whether vectors can have it as element."""
    padded_bits: int = 0
    """The least bits that it has if it is larger: a vector, an atomic struct of clang, an array of elements
    aligned to more than their size. 0 if none applies."""
    possible: int = 0
    """The set of its possible alignments, as in `Field.possible`."""
    flexible_bits: int | None = None
    """The bits of an element of a flexible array."""
    loses_offsets: bool = False
    """Whether it is or contains a struct whose offsets do not fit (`KEPT_BITS`)."""


class BtfDecoder:
    """Decodes the types of one blob, each once."""

    def __init__(self, source: Blob, target: Target, is_kernel: bool = False) -> None:
        """`is_kernel`: the blob is Linux, which has no atomic types and no padded vectors."""
        self._is_kernel = is_kernel
        self._may_be_of_clang = not target.name.startswith("unknown")
        """Whether pahole may have derived it from what an old clang wrote; for BPF, clang writes BTF
        itself."""
        self._blob = source
        self._target = target
        self._types: dict[int, MemberType] = {}
        self._spellings: dict[int, CType] = {}
        self._open: set[int] = set()
        self._base = None if source.base is None else _base_decoder(source.base, target, is_kernel)

    def type_at(self, type_id: int, depth: int = 0) -> MemberType:
        """Return a type by its id. Raises Damaged."""
        decoded = self._types.get(type_id)
        if decoded is not None:
            return decoded
        if self._base is not None and 0 < type_id < self._blob.first_id:
            return self._base.type_at(type_id, depth)
        if type_id in self._open:
            raise Damaged(f"type {type_id} contains itself")
        if depth > DEEPEST:
            raise Damaged(f"type {type_id} is nested {DEEPEST} types deep")
        self._open.add(type_id)
        try:
            decoded = self._types[type_id] = self._decode(type_id, depth + 1)
        finally:
            self._open.discard(type_id)
        return decoded

    def _decode(self, type_id: int, depth: int) -> MemberType:
        if type_id == 0:
            return MemberType(CType("void"), None)
        record = self._blob.record(type_id)
        kind = record.kind
        if kind in AGGREGATES:
            return self._aggregate(record, depth)
        spelling = self.spell(type_id)
        if kind == blob.TYPEDEF or kind in TRANSPARENT:
            inner = self.type_at(record.value, depth)
            is_typedef = kind == blob.TYPEDEF
            targets = (inner.spelling, *inner.underlying_types) if is_typedef else inner.underlying_types
            return replace(inner, spelling=spelling, underlying_types=targets)
        if kind == blob.ARRAY:
            return self._array(record, spelling, depth)
        if kind == blob.INT and record.name == _FAKE:
            return MemberType(spelling, None)
        if kind == blob.INT:
            return self._integer(record, spelling)
        if kind in (blob.ENUM, blob.ENUM64, blob.FLOAT):
            is_integer = kind != blob.FLOAT or record.value <= _DOUBLE
            is_number = kind == blob.FLOAT
            align = self._natural(record.value, is_integer)
            return MemberType(spelling, record.value * 8, align, is_number=is_number)
        if kind == blob.PTR:
            size, calls = self._target.pointer_size, self._is_function(record.value)
            return MemberType(spelling, size * 8, self._natural(size), is_function_pointer=calls)
        return MemberType(spelling, None, aggregate=_forward_aggregate(record) if kind == blob.FWD else None)

    def _natural(self, size: int, is_integer: bool = True) -> int:
        """Return the natural alignment of a scalar on the target."""
        return scalars.natural(self._target, size, is_integer)[0]

    def _is_function(self, type_id: int) -> bool:
        """Return whether a pointer's target is a function, also through typedefs. Raises Damaged."""
        for _ in range(DEEPEST):
            record = self._blob.record(type_id) if type_id else None
            if record is None or record.kind == blob.FUNC_PROTO:
                return record is not None
            if record.kind != blob.TYPEDEF and record.kind not in TRANSPARENT:
                return False
            type_id = record.value
        raise Damaged(f"type {type_id} and others refer to one another in a circle")

    def _integer(self, record: TypeEntry, spelling: CType) -> MemberType:
        encoding, bits = record.words[0], record.value * 8
        offset, used = encoding >> 16 & 0xFF, encoding & 0xFF
        if offset + used > bits:
            raise Damaged(f"type {record.id} has {used} bits from bit {offset} in {record.value} bytes")
        part = None if (offset, used) == (0, bits & 0xFF) else (offset, used)
        is_bit_int = "_BitInt" in spelling.left
        align = scalars.bit_int(self._target, record.value)[0] if is_bit_int else self._natural(record.value)
        return MemberType(spelling, bits, align, part=part, is_number=True)

    def _array(self, record: TypeEntry, spelling: CType, depth: int) -> MemberType:
        element = self.type_at(record.words[0], depth)
        count = record.words[2]
        bits = None if element.bit_size is None else element.bit_size * count
        # Only the outermost length can be missing.
        dims = (count or None, *(inner or 0 for inner in element.dims))
        padded_bits = element.padded_bits * count
        if element.is_number:
            padded_bits = scalars.round_up_bits(bits, _WIDEST_VECTOR)
        if bits and element.underlying_types:  # clang rounds up to the typedef's alignment of elements
            padded_bits = min(filter(None, (padded_bits, bits + (bits & -bits))))
        return replace(
            element,
            spelling=spelling,
            bit_size=bits,
            dims=dims,
            part=None,
            is_number=False,
            padded_bits=padded_bits,
            flexible_bits=None if count else scalars.innermost_bits(element.bit_size, element.dims),
        )

    def _aggregate(self, record: TypeEntry, depth: int) -> MemberType:
        fields, count = self.fields(record, depth)
        spelling = self.spell(record.id)
        bits, is_union = record.value * 8, record.kind == blob.UNION
        align, alignments = possible_alignments.possible(fields, bits, is_union, None, UNSTATED, self._target)
        possible = 0 if alignments == align else alignments
        padded_bits = scalars.atomic_bits(bits)
        is_lost = record.flag and not is_union and bits > 1 << KEPT_BITS
        contained = (self.type_at(type_id, depth) for _, type_id, _ in record.elements(3))
        return MemberType(
            spelling,
            bits,
            align,
            AGGREGATES[record.kind],
            (),
            fields,
            None,
            count,
            padded_bits=padded_bits,
            possible=possible,
            loses_offsets=is_lost or any(inner.loses_offsets for inner in contained),
        )

    def fields(self, record: TypeEntry, depth: int = 0) -> tuple[tuple[Field, ...], int]:
        """Return the members of a struct or union, and their number at all depths. Raises Damaged."""
        fields, padded_bits, count = [], [], 0
        for name, type_id, place in record.elements(3):
            kind = self.type_at(type_id, depth)
            member = self._field(record, self._blob.text(name, record.id) or None, kind, place)
            if member is not None:
                fields.append(member)
                padded_bits.append(0 if member.is_bitfield else kind.padded_bits)
                count += 1 + kind.field_count
        if count > _MOST_FIELDS:
            raise Damaged(f"type {record.id} claims {count} fields at all depths")
        if not self._is_kernel:
            fields = self._clear_doubtful_sizes(fields, padded_bits, record)
        return tuple(fields), count

    def _clear_doubtful_sizes(
        self, fields: list[Field], padded_bits: list[int], record: TypeEntry
    ) -> list[Field]:
        """Return the members, without sizes for those that may be larger."""
        bits, is_union = record.value * 8, record.kind == blob.UNION
        doubtful = [False] * len(fields)
        if any(padded_bits):
            doubtful = scalars.may_be_larger(fields, padded_bits, bits, is_union)
        if self._may_be_of_clang:
            straddling = scalars.may_straddle(fields, bits, is_union, states_aligned=False)
            doubtful = [any(doubts) for doubts in zip(doubtful, straddling, strict=True)]
        return [
            replace(field, bit_size=None) if is_doubtful else field
            for field, is_doubtful in zip(fields, doubtful, strict=True)
        ]

    def _field(self, record: TypeEntry, name: str | None, kind: MemberType, place: int) -> Field | None:
        """Return a member; None for an unnamed bit-field, which is padding."""
        offset, bits = (place & 0xFFFFFF, place >> 24) if record.flag else (place, 0)
        if not bits and kind.part is not None:
            offset, bits = offset + kind.part[0], kind.part[1]
        elif not bits and offset % 8 and not kind.aggregate and not kind.dims:
            bits = kind.bit_size or 0
        if offset % 8 and not bits:
            raise Damaged(f"type {record.id}: member {name} starts within a byte, at bit {offset}")
        if name is None and (bits or not kind.members):
            return None
        if bits and record.kind == blob.UNION:
            offset = 0  # for some bit-fields of unions, gcc states another offset, and pahole copies it
        size = bits or kind.bit_size
        if offset + (size or 0) > record.value * 8:
            raise Damaged(f"type {record.id}: member {name} ends behind its {record.value} bytes")
        return Field(
            name, kind.spelling, offset, size, bool(bits), kind.aggregate, kind.dims, kind.members,
            kind.align, None, kind.is_function_pointer, kind.underlying_types, 0, kind.possible,
            is_flattened=bool(kind.dims) and not self._blob.keeps_dimensions,
            flexible_bits=kind.flexible_bits,
        )  # fmt: skip

    def spell(self, type_id: int, depth: int = 0) -> CType:
        """Return the spelling of a type; it stops at the first name, so that it ends."""
        if self._base is not None and 0 < type_id < self._blob.first_id:
            return self._base.spell(type_id, depth)
        spelling = self._spellings.get(type_id)
        if spelling is None:
            if depth > DEEPEST:
                raise Damaged(f"type {type_id} and others refer to one another in a circle")
            spelling = self._spell(type_id, depth + 1)
            if len(spelling.left) + len(spelling.right) > _LONGEST:
                raise Damaged(f"the spelling of type {type_id} is longer than {_LONGEST} characters")
            self._spellings[type_id] = spelling
        return spelling

    def _spell(self, type_id: int, depth: int) -> CType:
        if type_id == 0:
            return CType("void")
        record = self._blob.record(type_id)
        kind = record.kind
        if kind in _KEYWORDS:
            return CType(f"{_keyword(record)} {record.name or UNTAGGED}")
        if kind in (blob.INT, blob.FLOAT):
            return CType(scalars.GCC_NAMES.get(record.name, record.name or "??"))
        if kind == blob.TYPEDEF:
            return CType(record.name or "??")
        if kind == blob.PTR:
            return pointer_to(self.spell(record.value, depth))
        if kind in TRANSPARENT:
            inner = self.spell(record.value, depth)
            return add_qualifier(inner, QUALIFIERS[kind]) if kind in QUALIFIERS else inner
        if kind == blob.ARRAY:
            return self._spell_array(record, depth)
        if kind == blob.FUNC_PROTO:
            return function_of(self.spell(record.value, depth), tuple(self._parameters(record, depth)))
        raise Damaged(f"type {type_id} is a {record.kind_name}, where a member or a pointer needs a type")

    def _spell_array(self, record: TypeEntry, depth: int) -> CType:
        counts: list[int | None] = [record.words[2] or None]
        element = record.words[0]
        while element and (inner := self._blob.record(element)).kind == blob.ARRAY:
            element, _, count = inner.words
            counts.append(count)
            if len(counts) > DEEPEST:
                raise Damaged(f"type {record.id} is an array of more than {DEEPEST} dimensions, or of itself")
        spelling = self.spell(element, depth)
        for length in reversed(counts):
            spelling = array_of(spelling, length)
        return spelling

    def _parameters(self, record: TypeEntry, depth: int) -> Iterator[str]:
        """Yield spelled parameters; none for `()`, which BTF stores as only `...`."""
        types = [type_id for _, type_id in record.elements(2)]
        if types == [0]:
            return
        if not types:
            yield "void"
        for number, type_id in enumerate(types):
            last = number == len(types) - 1
            yield "..." if last and type_id == 0 else str(self.spell(type_id, depth))


@lru_cache(maxsize=2)
def _base_decoder(source: Blob, target: Target, is_kernel: bool) -> BtfDecoder:
    """Return the decoder of a base, shared by all modules of a folder."""
    return BtfDecoder(source, target, is_kernel)


_KEYWORDS: Final = frozenset((blob.STRUCT, blob.UNION, blob.ENUM, blob.ENUM64, blob.FWD))


def _keyword(record: TypeEntry) -> str:
    if record.kind == blob.FWD:
        return _forward_aggregate(record)
    return AGGREGATES.get(record.kind, "enum")


def _forward_aggregate(record: TypeEntry) -> Aggregate:
    """Return the kind that a forward declaration declares (kind_flag: a union)."""
    return "union" if record.flag else "struct"
