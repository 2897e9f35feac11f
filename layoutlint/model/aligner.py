"""How C sources write the alignment of a member or a type, so that advice compiles where it stands."""

from __future__ import annotations

from layoutlint.model.record import Record

ATTRIBUTE = "__attribute__((aligned({})))"
"""What gcc and clang take behind a name, and behind the braces of a type."""


class Aligner(Record, frozen=True):
    """What aligns in one source; by default C11's specifier, which stands before a declaration."""

    macro: str = ""
    """The macro that aligns to a line; empty for none."""
    sized: str = "_Alignas({})"
    """What aligns to some bytes, in place of `{}`."""
    is_attribute: bool = False
    """Whether both are attributes, which stand behind a name, or the braces of a type."""
    is_linux: bool = False

    @property
    def where(self) -> str:
        """The side of a member on which it stands."""
        return "behind" if self.is_attribute else "before"

    def of_member(self, size: int, line: int) -> str:
        """Return the code that aligns one member to `size` bytes; the macro if they are a `line`."""
        return self.macro if self.macro and size == line else self.sized.format(size)

    def of_declarator(self, size: int, line: int) -> str:
        """Return the code behind a name or the braces of a type, where C11 has none."""
        return self.of_member(size, line) if self.is_attribute else ATTRIBUTE.format(size)


LINUX = Aligner("____cacheline_aligned_in_smp", "__aligned({})", is_attribute=True, is_linux=True)
"""The macros of Linux: include/linux/cache.h and include/linux/compiler_attributes.h."""
PLAIN = Aligner()
