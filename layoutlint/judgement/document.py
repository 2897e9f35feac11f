"""One C file as an editor shows it: its structs, judged, as they are in the text of the editor."""

from __future__ import annotations

from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import Finding
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class Holder(Record, frozen=True):
    """A struct that embeds another by value."""

    struct: str
    path: str
    """The path of the embedded struct, with the lengths of arrays."""
    offset: int
    """Bytes from the start of the container."""


class JudgedStruct(Record, frozen=True):
    """A struct that a file defines."""

    struct: Struct
    placements: Placements | None
    """Where its objects can start; None if that is unknown."""
    accesses: tuple[Access, ...]
    """The declared accesses of its fields."""
    holders: tuple[Holder, ...]
    """The structs that embed it, as far as the file shows."""
    findings: tuple[Finding, ...]
    """All findings on it, failures first."""

    @property
    def name(self) -> str:
        """The tag or typedef of the struct."""
        return self.struct.name

    @property
    def is_laid_out(self) -> bool:
        """Whether its layout is known and reliable."""
        return self.struct.bit_size is not None and self.struct.problem is None


class Failure(Record, frozen=True):
    """Something of a document that could not be read."""

    text: str
    """A sentence that begins with the file."""
    line: int | None = None
    """The line of the document where the cause is, from 1; None if it is elsewhere or unknown."""


class JudgedDocument(Record, frozen=True):
    """A C file, judged."""

    structs: tuple[JudgedStruct, ...] = ()
    """The structs that the file defines, also those without a reliable layout, in the order of the text."""
    others: tuple[Finding, ...] = ()
    """Findings at places of the file that are on none of its structs."""
    failures: tuple[Failure, ...] = ()
    paths: tuple[tuple[str, str], ...] = ()
    """The absolute paths of the files that findings name, by these names."""
    is_kernel: bool = False
    """Whether it belongs to a Linux kernel, whose objects can come from kmalloc."""
