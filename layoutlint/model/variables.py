"""Variables of compiled inputs: where each is in memory, as a symbol table states it."""

from __future__ import annotations

from collections.abc import Mapping

from layoutlint.model.record import Record
from layoutlint.model.target import Target


class DataSection(Record, frozen=True):
    """A section with variables; sizes in bytes."""

    name: str
    address: int
    """0 in an object file."""
    size: int
    align: int

    @property
    def is_per_cpu(self) -> bool:
        """Whether each CPU has a copy of it (`.data..percpu` of Linux)."""
        return "percpu" in self.name


class Variable(Record, frozen=True):
    """A variable; its address and size in bytes."""

    name: str
    """The symbol; of several for the same memory the first global one."""
    address: int
    """In an object file, the offset in its section."""
    size: int
    section: str
    is_static: bool = False
    """Whether only its own unit knows the name."""
    unit: str = ""
    """The source file of a static one, without folders; empty if not known."""

    @property
    def last(self) -> int:
        """The address of its last byte."""
        return self.address + self.size - 1


class VariableTable(Record, frozen=True):
    """The variables of one file that are written at run time."""

    label: str
    """The input; in a folder of modules the name of the module."""
    path: str
    target: Target
    is_linked: bool
    """Whether addresses are those in memory; in an object file they are offsets in sections."""
    sections: tuple[DataSection, ...]
    """The sections with variables that are written, by address."""
    variables: tuple[Variable, ...]
    """Sorted by section, then address."""
    constants: Mapping[tuple[str, str], str]
    """The sections of variables that nothing writes at run time, by name and unit, if these occur once."""
