"""Where the addresses of structs and of their members go in C sources."""

from __future__ import annotations

from typing import Literal, NamedTuple

from layoutlint.model.record import Record, field


class Slot(NamedTuple):
    """A place that keeps an address: a variable, a parameter or the result of a function, a field."""

    kind: Literal["variable", "parameter", "result", "field"]
    name: str
    """The variable and its file if other files cannot name it, the function, or the struct and the field."""
    number: int
    """The line of the variable, or the position of the parameter; else 0."""


class Term(NamedTuple):
    """The address of a struct, or of a member of the searched one."""

    kind: Literal["struct", "member"]
    name: str
    number: int = 0


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
    """In bytes."""
    file: str
    line: int


class Pass(NamedTuple):
    """A function gets an address of no type, and then a number."""

    address: Address
    number: int
    is_size: bool
    """Whether the parameter is declared as `size_t`."""
    file: str
    line: int


class Flows(Record):
    """The flows of addresses in some units."""

    moves: list[Move] = field(default_factory=list)
    conversions: list[Convert] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Units that were not read, with the reason."""
