"""Where the objects of a struct start, as a rule file states it."""

from __future__ import annotations

from typing import Final, Literal

from layoutlint.model.record import Record
from layoutlint.model.structs import Source

LINE, EMBEDDED, ALIGNED, MALLOC = "line", "embedded", "aligned", "malloc"
AllocatorWord = Literal["jemalloc", "tcmalloc", "mimalloc", "musl-static"]
"""An allocator that implements `malloc`; the last one is musl's in static programs without `free`."""
JEMALLOC: Final = "jemalloc"
TCMALLOC: Final = "tcmalloc"
MIMALLOC: Final = "mimalloc"
MUSL_STATIC: Final = "musl-static"
MALLOCS = (MALLOC, JEMALLOC, TCMALLOC, MIMALLOC, MUSL_STATIC)
"""`malloc` as such, and by the allocator that implements it."""
WORDS = (LINE, "slab", "kmalloc", "percpu", "static", *MALLOCS, ALIGNED, EMBEDDED)
"""The values of `placement` in a rule file."""
TAKE_ALIGNMENT = ("slab", "percpu", "static", ALIGNED)
"""The values of `placement` that can have an alignment: `slab:64`."""
PAGE = 4096
"""The smallest page of any target, in bytes; slabs and large blocks start on one."""
ANY = 0
"""An unknown number of elements."""


class CacheSlab(Record, frozen=True):
    """The objects in a slab of a cache, as a kernel has it; sizes are in bytes."""

    name: str
    stride: int
    """From one object to the next."""
    first: int
    """Before the first object, from the start of a page: a red zone."""
    objects: int
    """In one slab."""
    in_use: int | None
    """Objects of the cache that were in use; None if not known."""


class Storage(Record, frozen=True):
    """Where the objects of a struct start, as a rule file states it; sizes are in bytes."""

    word: str | None
    """One of WORDS; None if only `array` is given."""
    source: Source
    align: int | None = None
    """The alignment that the cache, the variable or the call requests."""
    stride: int | None = None
    """The distance between objects of a slab, if it is not the size of the struct."""
    array: int | None = None
    """The length of the arrays whose elements the objects are, ANY for an unknown one; None for no array."""
    has_constructor: bool = False
    """Whether the slab cache has a constructor or SLAB_TYPESAFE_BY_RCU, and states no offset for the free
    pointer."""
    has_red_zone: bool = False
    """Whether the slab cache has a red zone before each object, not only after it."""
    caches: tuple[CacheSlab, ...] = ()
    """The caches of a kernel that have the objects, as it shows them; empty if that is not known."""
    seen: tuple[tuple[int, int], ...] = ()
    """Bytes of a page at which objects were, each with the number of objects; empty if none was seen."""
    seen_in: str = ""
    """The file that has them."""

    @property
    def spelling(self) -> str:
        """The text of `placement` in a rule file: `slab:64`."""
        word = self.word or "array"
        return word if self.align is None else f"{word}:{self.align}"


class Allocator(Record, frozen=True):
    """A function or macro of a project that allocates, as a rule file declares it. Arguments count from 0."""

    name: str
    size_at: int = 0
    """The argument with the size of an object, or of all objects."""
    count_at: int | None = None
    """The argument with the number of objects."""
    align_at: int | None = None
    """The argument with their alignment."""
    type_at: int | None = None
    """The argument with their type, instead of their size."""
    word: str = "malloc"
    """Where its memory starts: one of WORDS."""
    align: int | None = None
