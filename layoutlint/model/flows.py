"""Where the addresses of structs and of their members go in C sources."""

from __future__ import annotations

from typing import Literal, NamedTuple

from layoutlint.model.record import Record, field

STATIC = "static"
"""The end of the name of a static variable, which keeps what it has between calls."""

MOST_TAG = 3
"""The largest number in the low bits of a pointer, which marks it and leads to no member."""


class Slot(NamedTuple):
    """A place that keeps an address: a variable, a parameter or the result of a function, a field."""

    kind: Literal["variable", "parameter", "result", "field", "behind"]
    name: str
    """The variable and its file if other files cannot name it, the function, or the struct and the field.

    `behind` is what the pointer in another slot points to; its name is the kind and the name of that.
    """
    number: int
    """The line of the variable, or the position of the parameter; else 0."""

    @property
    def behind(self) -> Slot:
        """What the pointer in this slot points to."""
        return Slot("behind", f"{self.kind}|{self.name}", self.number)

    @property
    def pointer(self) -> Slot | None:
        """The slot with the pointer to this one; None for a slot that is not behind another."""
        kind, _, name = self.name.partition("|")
        return Slot(kind, name, self.number) if self.kind == "behind" else None  # type: ignore[arg-type]

    @property
    def spelling(self) -> str:
        """The name of the variable or the field in the text; empty for a union, and for others."""
        if self.kind == "field":
            return self.name.rpartition(".")[2]
        return self.name.partition(" ")[0] if self.kind == "variable" else ""

    @property
    def masked(self) -> Slot:
        """What this slot has, without marks in the low bits."""
        return self if self.is_masked else Slot(self.kind, f"{self.name} &", self.number)

    @property
    def is_masked(self) -> bool:
        """Whether it has what another slot has, without marks in the low bits."""
        return self.name.endswith(" &")

    @property
    def scalars(self) -> Slot:
        """What this slot has, as a pointer to scalars or as a number."""
        return self if self.is_of_scalars else Slot(self.kind, f"{self.name} %", self.number)

    @property
    def is_of_scalars(self) -> bool:
        """Whether it has what another slot has, as a pointer to scalars or as a number."""
        return self.name.endswith(" %")

    @property
    def is_union(self) -> bool:
        """Whether it stands for all members of a union."""
        return self.kind == "field" and self.name.endswith(".")

    @property
    def is_lasting(self) -> bool:
        """Whether it is a variable that keeps what it has between calls."""
        return self.kind == "variable" and (not self.number or self.name.endswith(f" {STATIC}"))

    @property
    def address(self) -> Term:
        """The address of this slot."""
        return Term("slot", f"{self.kind}|{self.name}", self.number)


class Term(NamedTuple):
    """The address of a struct, of a member of the searched one, or of an array of bytes or words.

    Also the offset of such a member, a number, and the address of a slot.
    """

    kind: Literal["struct", "member", "words", "offset", "number", "slot"]
    name: str
    number: int = 0
    """As of the slot, or of the variable with the bytes; of a struct, 1 behind `p & ~3`."""

    @property
    def is_allocated(self) -> bool:
        """Whether it is memory that a call allocates."""
        return " at " in self.name

    @property
    def slot(self) -> Slot | None:
        """The slot whose address this is; None for others."""
        kind, _, name = self.name.partition("|")
        return Slot(kind, name, self.number) if self.kind == "slot" else None  # type: ignore[arg-type]


class Address(NamedTuple):
    """An address, or what a slot keeps, with a number of bytes added."""

    term: Term | Slot
    offset: int | None
    """Bytes that numbers in the text add; None for another sum."""

    def shift(self, step: int | None) -> Address:
        """Return the address with some bytes added; None for an unknown number."""
        return Address(self.term, None if step is None or self.offset is None else self.offset + step)


class Move(NamedTuple):
    """A slot gets an address."""

    slot: Slot
    address: Address
    is_once: bool = False
    """Whether it adds bytes to what the slot has, in no loop."""


class Store(NamedTuple):
    """What a pointer points to gets an address."""

    target: Address
    address: Address
    file: str
    line: int


class Copy(NamedTuple):
    """The bytes at an address are copied to another one."""

    target: Address
    source: Address
    file: str
    line: int


class Convert(NamedTuple):
    """An address becomes a pointer to a struct."""

    address: Address
    struct: str
    file: str
    line: int


class Access(NamedTuple):
    """A scalar at an address is read or written."""

    address: Address
    size: int
    """In bytes; 0 if only the address is made."""
    file: str
    line: int
    is_copied: bool = False
    """Whether its value goes into another scalar behind a pointer, as in a loop that copies bytes, or it is
    written."""
    is_computed: bool = False
    """Whether what is written there is neither 0 nor a scalar behind another pointer."""


class Pass(NamedTuple):
    """A function gets an address of no type, and then a number."""

    address: Address
    number: int
    is_size: bool
    """Whether the parameter is declared as `size_t`."""
    file: str
    line: int
    origin: Literal["number", "size", "name"] = "number"
    """What the number is made of: numbers alone, `sizeof`, or offsets of members."""


class Comparison(NamedTuple):
    """Two addresses are compared or subtracted, or the bytes at them are compared for their order.

    For a sum, the right one is the member whose offset is added to the left one.
    """

    left: Address
    right: Address
    kind: Literal["equality", "order", "bound", "bytes", "sum"]
    """`bound` is `left >= right` or `left < right`, for whichever side can be the object around the other."""
    file: str
    line: int


class Fill(NamedTuple):
    """The bytes at an address come from a file, from constants, or from words that a program writes."""

    address: Address
    text: str
    """Where they come from, as a part of a sentence."""
    file: str
    line: int


class Text(NamedTuple):
    """A function reads the bytes at an address up to a 0, or something writes bytes there."""

    address: Address
    kind: Literal["read", "open", "closed", "copied", "added"]
    """`open` if the bytes that are written can have no 0 in them, `closed` if a 0 is written; `copied` and
    `added` for a text of the source that becomes the text there, or is put behind it."""
    size: int
    """The bytes that are written, without the end of a text of the source; 0 for others."""
    file: str
    line: int


class Placed(NamedTuple):
    """A number is made of where an address is."""

    address: Address
    kind: Literal["rest", "bits", "null", "size"]
    """The bytes up to the end of the object, the low bits of the address, whether it is 0, or whether the
    size of the object is a number."""
    number: int
    """The number of different values of the low bits; 0 for others."""
    file: str
    line: int


class Values(NamedTuple):
    """Members of the searched struct, one behind the other, get values by position.

    The first one can be that of a designator. Of a member without a name it is the first or the last one in
    it.
    """

    first: str
    last: str
    file: str
    line: int


class Symbol(NamedTuple):
    """An object that other units can name has a struct type."""

    name: str
    """Its name for the linker, or that of the section with it."""
    struct: str
    file: str
    line: int


class Step(NamedTuple):
    """The number in a slot is added to an address."""

    address: Address
    slot: Slot
    file: str
    line: int


class Count(NamedTuple):
    """A loop takes as many scalars behind a pointer as a parameter says."""

    address: Address
    parameter: Slot
    size: int
    """Of a scalar, in bytes."""
    is_index: bool = False
    """Whether the parameter is the index of the one scalar that is taken."""


class Given(NamedTuple):
    """A call gives a member's address to a parameter, and a number to another one."""

    pointer: Slot
    parameter: Slot
    address: Address
    number: int | None
    """None if it is not known."""
    file: str
    line: int


class UnionUse(NamedTuple):
    """A member of a union that embeds the searched struct is read, written, or its address is taken."""

    union: str
    """Its place."""
    member: str
    is_subject: bool
    """Whether the member has the searched struct in it."""
    kind: Literal["read", "write", "address", "whole", "beside"]
    """`whole` if the address of the union becomes a pointer to something else, or the other way round;
    `beside` for each member of such a union."""
    file: str
    line: int


class Layout(NamedTuple):
    """The size of a struct, and where it embeds the searched one, in bytes."""

    struct: str
    size: int
    places: tuple[int, ...]
    is_array: bool = False
    """Whether it embeds an array of it."""


class Defined(NamedTuple):
    """A function whose body was read, and its lines."""

    function: str
    file: str
    line: int
    last: int


class Call(NamedTuple):
    """A function whose body is not in the unit gets an address."""

    function: str
    address: Address
    file: str
    line: int


class Assembly(NamedTuple):
    """An `asm` statement gets an address in a register, or an object in memory."""

    address: Address
    file: str
    line: int
    is_displaced: bool = False
    """Whether it adds a number to an address."""


class Made(NamedTuple):
    """A call returns memory that the function allocates: the term stands for what this call gets."""

    term: Term
    result: Slot


class Flows(Record):
    """The flows of addresses in some units."""

    moves: list[Move] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    conversions: list[Convert] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    fills: list[Fill] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    assembly: list[Assembly] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    numbers: list[Move] = field(default_factory=list)
    """The numbers that slots for integers get: offsets by name, and others."""
    counts: list[Count] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    unions: list[UnionUse] = field(default_factory=list)
    layouts: list[Layout] = field(default_factory=list)
    definitions: list[tuple[int, ...]] = field(default_factory=list)
    """The size of the searched struct, and the offsets of its members, in bits, as units have them."""
    defined: list[Defined] = field(default_factory=list)
    walked: list[str] = field(default_factory=list)
    """Those of the defined functions whose flows were read; nothing in others leads to the struct."""
    formats: list[str] = field(default_factory=list)
    """The functions that get a text before arguments without parameters, and seem to print these."""
    bodies: list[tuple[str, int]] = field(default_factory=list)
    """What tells the bodies of walked functions from others of the same name: macros can change one."""
    notes: list[str] = field(default_factory=list)
    """Units that were not read, with the reason."""
