"""Words of fact: what an input says about structs, before anything is computed or judged.

Standard library only, no input or output. Sizes and offsets are in bits; alignments are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntFlag
from fnmatch import fnmatchcase
from typing import Literal

from layoutlint.model.ctype import CType
from layoutlint.model.randomised import Randomised
from layoutlint.model.target import Target

Aggregate = Literal["struct", "union"]


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where something is declared; `line` counts from 1 and is None where the input gives none."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Unstated(IntFlag):
    """What decides on alignments and is not in an input; C text states all of it."""

    NOTHING = 0
    PACKED = 1
    """`packed`, on structs and on members."""
    PRAGMA = 2
    """`#pragma pack(N)`."""
    ALIGNED = 4
    """`aligned`, on structs, members and typedefs."""
    RAISED = 8
    """How far members raise a struct above the alignment that it asks for, which is what is stated."""
    AS_LARGE = 16
    """`aligned(N)` of structs of N bytes that fit into registers (gcc, on strict-alignment targets)."""
    BIT_FIELDS = 32
    """`aligned` on bit-fields."""
    CAPPED = 64
    """How far `#pragma pack(N)` cuts down what members ask for."""
    ATOMIC = 128
    """`_Atomic`, which raises alignments, and with clang sizes."""
    KEPT = 256
    """That atomic types have the size of what they are made of (gcc)."""
    ROUNDED = 512
    """That they are rounded up to powers of two (clang)."""
    WIDE = 1024
    """`-malign-double`, on i386."""
    TYPEDEF = 2048
    """`aligned` on typedefs; of a struct, that it goes by one that may have some alignment of its own."""
    WHOLE = 4096
    """Which members are bit-fields as wide as their types."""
    UNNAMED = 8192
    """Bit-fields without a name, which align what they stand in (`-mms-bitfields`)."""


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a struct or union. `bit_offset` counts from the start of what it is a member of."""

    name: str | None
    """None for an anonymous struct or union, whose members are addressed as the outer struct's own."""
    type: CType
    bit_offset: int
    bit_size: int | None
    """None when the input does not tell; 0 for a flexible array and for empty types."""
    is_bitfield: bool = False
    aggregate: Aggregate | None = None
    """What the type (or, for an array, the element type) is, when it has members."""
    dims: tuple[int | None, ...] = ()
    """Array dimensions, outermost first; None is a flexible one."""
    members: tuple[Field, ...] = ()
    """Members of the type, or of one element of the array, with offsets from its start."""
    align: int | None = None
    """Alignment of the member in bytes where nothing is packed, with its own `aligned` where the input shows
    it; of a bit-field that of its declared type, None where it has one of its own. Of several that a struct
    can have (`possible`) the one that its members ask for."""
    source: Source | None = None
    is_function_pointer: bool = False
    """Whether its type, or that of an array's elements, is a pointer to a function, also through typedefs."""
    stands_for: tuple[CType, ...] = field(default=(), compare=False)
    """What its type, or that of an array's elements, is a typedef of, outermost first; not compared."""
    asked: int = 0
    """The alignment in bytes that its own `aligned` gives it and `packed` does not take away; 0 for none."""
    possible: int = 0
    """The alignments that its type can have, where the input leaves several open: their sum, as they are
    powers of two. 0 where there is one, which is `align`."""

    is_flattened: bool = field(default=False, compare=False)
    """Whether a dimension can stand for several (`x[6]` for `x[2][3]`); not compared."""

    @property
    def is_flexible(self) -> bool:
        """Whether this is an array without a length of its own (`x[]`, `x[0]`)."""
        return bool(self.dims) and self.dims[0] in (None, 0)


def written(fields: tuple[Field, ...], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """The fields that a struct's own braces hold, with their paths; those of structs inside of it as well."""
    for member in fields:
        path = prefix + (member.name or "")
        if member.name is not None:
            yield path, member
        if member.type.left.endswith("{...}"):
            yield from written(member.members, f"{path}." if member.name else prefix)


ANNOTATION = "layoutlint:"
"""What annotations begin with, in attributes and comments (docs/annotations.md)."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What somebody wrote down at a struct or a field about how it is used."""

    path: str
    """Of the field, dotted; empty for the struct itself."""
    text: str
    """What stands behind ANNOTATION."""
    source: Source | None = None
    """Where it stands, or what it stands at; None when the input does not tell."""


@dataclass(frozen=True, slots=True)
class Stray:
    """An annotation in a comment that stands at nothing which the input has."""

    text: str
    """What stands behind ANNOTATION."""
    source: Source
    struct: str | None
    """Inside of which it stands; None outside of those that were read."""


@dataclass(frozen=True, slots=True)
class Struct:
    """One definition of a struct or union, as one input gives it."""

    name: str
    """Its tag, or for an anonymous one the typedef that names it."""
    aggregate: Aggregate
    bit_size: int | None
    """None for an incomplete type."""
    align: int | None
    """Alignment in bytes when the input states it, else None (see `Layout.alignments` for what follows)."""
    fields: tuple[Field, ...]
    target: Target
    source: Source | None = None
    origin: str = ""
    """The unit or file in which this definition was read."""
    aliases: tuple[str, ...] = ()
    """Typedef names that were asked for and stand for this struct."""
    problem: str | None = None
    """Why its layout cannot be believed, with file and line; rules on it are then unknown."""
    files: tuple[str, ...] = ()
    """The files that have this definition, where a folder of them is one input; else empty."""
    is_tagged: bool = True
    """Whether `name` is its tag, and not a typedef's name."""
    realigned: str = ""
    """The name of the struct that it is a typedef of with an alignment of its own; empty where it is none."""
    randomised: Randomised | None = None
    """How its fields were put into a random order; None for the declared one."""
    is_randomisable: bool = False
    """Whether C text marks it for that, in a configuration that has it off."""
    annotations: tuple[Annotation, ...] = ()
    """What the input says of its use, in the order of its fields, the struct itself first."""
    address: int | None = None
    """Of data in memory, whose fields are sections with variables: where it stands; else None."""
    unstated: Unstated = Unstated.NOTHING
    """What the input leaves out that decides on its alignment."""
    possible: int = 0
    """The alignments that it can have, as far as more is known than its fields tell: their sum; else 0. If
    nothing is unstated, its fields tell nothing."""

    def answers_to(self, name: str) -> bool:
        """Whether `name`, a tag or typedef or fnmatch pattern, means this struct."""
        return fnmatchcase(self.name, name) or name in self.aliases
