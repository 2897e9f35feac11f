"""What a rule file says about where the objects of a struct start."""

from __future__ import annotations

from dataclasses import dataclass

from layoutlint.model.structs import Source

LINE, EMBEDDED, ALIGNED = "line", "embedded", "aligned"
WORDS = (LINE, "slab", "kmalloc", "percpu", "static", "malloc", ALIGNED, EMBEDDED)
"""What a rule file's `placement` can say."""
TAKE_ALIGNMENT = ("slab", "percpu", "static", ALIGNED)
"""The words behind which an alignment can stand: `slab:64`."""
PAGE = 4096
"""The smallest page of any target, in bytes: slabs and large blocks start on one."""
ANY = 0
"""A number of elements that is not known."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What a rule file says about where objects of a struct start; sizes in bytes."""

    word: str | None
    """One of WORDS; None where only `array` is given."""
    source: Source
    align: int | None = None
    """That the cache, the variable or the call asks for."""
    stride: int | None = None
    """From one object of a slab to the next, where it is not the size of the struct."""
    array: int | None = None
    """Objects are elements of arrays of so many, ANY for any number; None where they are not."""
    has_constructor: bool = False
    """The slab cache has a constructor, or SLAB_TYPESAFE_BY_RCU, and names no place for the free pointer."""
    has_red_zone: bool = False
    """The slab cache has a red zone before each object as well as behind it."""

    @property
    def spelling(self) -> str:
        """As the rule file says it: `slab:64`."""
        word = self.word or "array"
        return word if self.align is None else f"{word}:{self.align}"
