"""The sections that units refer to, and the strings in them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Final

from layoutlint.readers.dwarf.forms import Damaged
from layoutlint.readers.dwarf.tables import Tables
from layoutlint.readers.elf import Data, Image
from layoutlint.readers.span import Span

_LONGEST: Final = 1 << 12
"""Bytes of a name, which a file holds once and reports repeat with every use (Linux's PATH_MAX)."""


@dataclass(frozen=True, slots=True, eq=False)
class Sections:
    """The sections that units refer to."""

    tables: Tables
    strings: Span
    line_strings: Span
    line: Data
    string_offsets: Data
    number: int = field(default_factory=itertools.count().__next__)
    """Tells them from the sections of other files."""
    texts: dict[int, str] = field(default_factory=dict)
    """Names already decoded, by their place in .debug_str."""

    @classmethod
    def of(cls, image: Image, suffix: str = "") -> Sections:
        """The sections of a file whose names end in a suffix; a missing one is empty. Raises ReadError."""
        line, offsets = (
            image.section(f"{name}{suffix}") or b"" for name in (".debug_line", ".debug_str_offsets")
        )
        strings, line_strings, abbreviations = (
            image.span(f"{name}{suffix}") for name in (".debug_str", ".debug_line_str", ".debug_abbrev")
        )
        return cls(Tables(abbreviations), strings, line_strings, line, offsets)

    def text(self, offset: int) -> str:
        """A string of .debug_str. Raises Damaged when it is outside."""
        text = self.texts.get(offset)
        if text is None:
            text = self.texts[offset] = string(self.strings, offset, ".debug_str")
        return text


def string(span: Span, offset: int, section: str) -> str:
    """A string of a section. Raises Damaged when it is outside or does not end."""
    try:
        text = span.at(offset)
    except ValueError as error:
        raise Damaged(f"{section}: {error}") from error
    if len(text) > _LONGEST:
        raise Damaged(f"a name of {len(text)} bytes")
    return text.decode(errors="replace")
