"""Facts that an input states about structs, before anything is computed or judged.

Uses the standard library only, without input or output. Sizes and offsets are in bits, alignments in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntFlag
from fnmatch import fnmatchcase
from typing import Literal

from layoutlint.model.ctype import CType
from layoutlint.model.randomised import Randomisation
from layoutlint.model.record import Record, replace
from layoutlint.model.target import Target

Aggregate = Literal["struct", "union"]


class Source(Record, frozen=True, order=True, gc=False):
    """Where something is declared; `line` counts from 1, and is None if the input has none."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Unstated(IntFlag):
    """Facts that decide alignments and are missing in an input; C source states all of them."""

    NOTHING = 0
    PACKED = 1
    """`packed`, on structs and on members."""
    PRAGMA = 2
    """`#pragma pack(N)`."""
    ALIGNED = 4
    """`aligned`, on structs, members and typedefs."""
    RAISED = 8
    """How far members raise a struct above the alignment that it requests, which is the stated one."""
    AS_LARGE = 16
    """`aligned(N)` of structs of N bytes that fit into registers (gcc, on strict-alignment targets)."""
    BIT_FIELDS = 32
    """`aligned` on bit-fields."""
    CAPPED = 64
    """How far `#pragma pack(N)` lowers the alignments that members request."""
    ATOMIC = 128
    """`_Atomic`, which raises alignments, and with clang sizes."""
    ATOMIC_UNROUNDED = 256
    """Atomic types have the size of their value type (gcc)."""
    ATOMIC_ROUNDED = 512
    """Sizes of atomic types are rounded up to powers of two (clang)."""
    WIDE = 1024
    """`-malign-double`, on i386."""
    TYPEDEF = 2048
    """`aligned` on typedefs; for a struct, that its typedef may have an alignment of its own."""
    WHOLE = 4096
    """Which members are bit-fields as wide as their types."""
    UNNAMED = 8192
    """Unnamed bit-fields, which align the struct (`-mms-bitfields`)."""
    ATOMIC_NAME = 16384
    """The typedef that names a struct, in atomic types of it: their fields seem to have an unnamed type."""


class Field(Record, frozen=True, gc=False):
    """One member of a struct or union. `bit_offset` counts from the start of the containing type."""

    name: str | None
    """None for an anonymous struct or union, whose members are addressed as the outer struct's own."""
    type: CType
    bit_offset: int
    bit_size: int | None
    """None if the input does not state it; 0 for a flexible array and for empty types."""
    is_bitfield: bool = False
    aggregate: Aggregate | None = None
    """The kind of the type, or of an array's elements, if it has members."""
    dims: tuple[int | None, ...] = ()
    """Array dimensions, outermost first; None is a flexible one."""
    members: tuple[Field, ...] = ()
    """Members of the type, or of one array element, with offsets from its start."""
    align: int | None = None
    """The natural alignment of the member in bytes, with its own `aligned` if the input shows it. For a
    bit-field, the alignment of its declared type; None if it has its own. If the type can have several
    (`possible`), the one that its members need."""
    source: Source | None = None
    is_function_pointer: bool = False
    """Whether its type, or that of an array's elements, is a pointer to a function, also through typedefs."""
    underlying_types: tuple[CType, ...] = ()
    """The types that the typedef of the field, or of its array elements, refers to, outermost first; not
    compared."""
    requested_align: int = 0
    """The alignment of its own `aligned` in bytes, unless `packed` removes it; 0 for none."""
    possible: int = 0
    """The alignments that its type can have, as their sum, if the input leaves several open. 0 if `align` is
    the only one."""

    is_flattened: bool = False
    """Whether one dimension can stand for several (`x[6]` for `x[2][3]`); not compared."""
    flexible_bits: int | None = None
    """Of a flexible array the size of an element (of an array of arrays, the innermost), in bits; None if the
    input does not state it. Not compared."""
    possible_bits: tuple[int, ...] = ()
    """If `bit_size` is None, all sizes that it can have, if these are known; else empty. Not compared."""
    unnamed_bits: tuple[tuple[int, int], ...] | None = None
    """The unnamed bit-fields declared after the field, and those before the first one: from which bit after
    the field's first, and how many bits. Of a bit-field, None if the input does not state them. Not
    compared."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return (
            self.name, self.bit_offset, self.type, self.bit_size, self.is_bitfield, self.aggregate, self.dims,
            self.members, self.align, self.source, self.is_function_pointer, self.requested_align,
            self.possible,
        )  # fmt: skip

    @property
    def is_flexible(self) -> bool:
        """Whether this is an array without a length (`x[]`, `x[0]`)."""
        return bool(self.dims) and self.dims[0] in (None, 0)


def place_unnamed_bits(members: Iterable[tuple[Field | None, int, int]]) -> tuple[Field, ...]:
    """Return the fields of members in their order, each with the unnamed bit-fields that it states.

    A member is a field, or None for an unnamed bit-field, with its first bit and its bits.
    """
    placed: list[Field] = []
    unnamed: list[list[tuple[int, int]]] = [[]]
    for field, start, width in members:
        if field is not None:
            if placed:  # what is before the first field belongs to it
                unnamed.append([])
            placed.append(field)
        elif width > 0:
            unnamed[-1].append((start, width))
    return tuple(map(_with_unnamed_bits, placed, unnamed))


def _with_unnamed_bits(field: Field, bits: list[tuple[int, int]]) -> Field:
    """Return a field with unnamed bit-fields beside it, and no others."""
    stated = None if field.unnamed_bits is None or not field.is_bitfield else ()
    beside = tuple((start - field.bit_offset, width) for start, width in bits) or stated
    return field if field.unnamed_bits == beside else replace(field, unnamed_bits=beside)


def fields_in_braces(fields: tuple[Field, ...], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield the fields declared within a struct's braces, also those of inner structs, with their paths."""
    for member in fields:
        path = prefix + (member.name or "")
        if member.name is not None:
            yield path, member
        if member.type.is_untagged:
            yield from fields_in_braces(member.members, f"{path}." if member.name else prefix)


def untagged_fields(fields: tuple[Field, ...]) -> Iterator[Field]:
    """Yield the fields of a struct whose type has no tag, at any depth, also those without a name."""
    for member in fields:
        if member.type.is_untagged:
            yield member
            yield from untagged_fields(member.members)


ANNOTATION = "layoutlint:"
"""The prefix of annotations, in attributes and comments (docs/annotations.md)."""
ANNOTATION_NAME = ANNOTATION.removesuffix(":")
MISSPELT_ANNOTATION_NAMES = ("Layoutlint", "LayoutLint", "LAYOUTLINT", "layout-lint", "layout_lint")
"""How people write the name in comments."""
ANNOTATION_MARKS = (
    ANNOTATION.encode(),
    f"{ANNOTATION_NAME} ".encode(),
    *(f"{name}{end}".encode() for name in MISSPELT_ANNOTATION_NAMES for end in (":", " ")),
)
"""One of them is in each text with annotations, also where a colon was forgotten."""
_STEMS = (b"ayout", b"AYOUT")
"""One of them is in each mark. Most texts have neither, which two searches show soonest."""


def has_annotation_marks(text: bytes) -> bool:
    """Return whether a text can have annotations in comments or attributes."""
    return any(stem in text for stem in _STEMS) and any(mark in text for mark in ANNOTATION_MARKS)


class Annotation(Record, frozen=True, gc=False):
    """A statement at a struct or a field about how it is used."""

    path: str
    """The dotted path of the field; empty for the struct itself."""
    text: str
    """The text after ANNOTATION."""
    source: Source | None = None
    """Where the annotation, or its declaration, is; None if the input does not state it."""


class Stray(Record, frozen=True, gc=False):
    """An annotation in a comment that belongs to nothing in the input."""

    text: str
    """The text after ANNOTATION, without its reason."""
    source: Source
    struct: str | None
    """The struct around it; None outside of the structs that were read."""
    path: str = ""
    """The field that the struct lacks, as kernel-doc names it; empty if the comment names none."""


def hidden_name(tag: str | None, place: object) -> str:
    """Return what reports call a struct without a name, or one that is local to a function.

    `place` is its declaration, its file, or None if that is not known.
    """
    kind, prefix = ("unnamed", "") if tag is None else ("local", f"{tag} ")
    return f"{prefix}({kind})" if place is None else f"{prefix}({kind} at {place})"


class Struct(Record, frozen=True, gc=False):
    """One definition of a struct or union in one input."""

    name: str
    """Its tag; for an untagged struct, the typedef that names it."""
    aggregate: Aggregate
    bit_size: int | None
    """None for an incomplete type."""
    align: int | None
    """The alignment in bytes if the input states it, else None (see `Layout.alignments`)."""
    fields: tuple[Field, ...]
    target: Target
    source: Source | None = None
    origin: str = ""
    """The unit or file in which this definition was read."""
    aliases: tuple[str, ...] = ()
    """Requested typedef names that refer to this struct."""
    problem: str | None = None
    """Why its layout is unreliable, with file and line; rules on it are then unknown, and no size or offset
    of it is reported."""
    files: tuple[str, ...] = ()
    """The files with this definition, if the input is a folder; else empty."""
    is_tagged: bool = True
    """Whether `name` is its tag, not a typedef."""
    realigned_from: str = ""
    """The struct that this typedef with its own alignment refers to; empty otherwise."""
    randomised: Randomisation | None = None
    """How its fields were put into a random order; None for the declared order."""
    is_randomisable: bool = False
    """Whether C source marks it for randomisation, in a configuration without it."""
    annotations: tuple[Annotation, ...] = ()
    """The annotations of its use: of the struct first, then in the order of its fields."""
    address: int | None = None
    """For data in memory, whose fields are sections with variables, its address; else None."""
    label: str = ""
    """For data that is one variable or one allocated array, what messages call it: `variable locks`."""
    unstated: Unstated = Unstated.NOTHING
    """The facts that decide its alignment and are missing in the input."""
    possible: int = 0
    """The alignments that it can have, as their sum, if more is known than its fields show; else 0. If
    nothing is unstated, its fields show nothing."""

    declared_order: tuple[int, ...] = ()
    """If its fields are not in the order of their declaration, which a plugin of GCC changed before it was
    described: the positions of the fields in that order."""
    layouts: tuple[Struct, ...] = ()
    """If it has a problem, all layouts that it can have, if these are known; else empty."""

    @property
    def is_hidden(self) -> bool:
        """Whether no rule can name it, because it has no name or is local to a function (`hidden_name`)."""
        return self.name.endswith(")")

    @property
    def omits_members(self) -> bool:
        """Whether it is a union whose members a compiler omits (readers/losses.py): guesses need members."""
        return self.aggregate == "union" and self.problem is not None and not self.fields

    def matches(self, name: str) -> bool:
        """Return whether a tag, typedef or fnmatch pattern refers to this struct."""
        return fnmatchcase(self.name, name) or name in self.aliases
