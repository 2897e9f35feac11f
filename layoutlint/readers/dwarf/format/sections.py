"""The sections that units refer to, and the strings in them."""

from __future__ import annotations

import itertools
from typing import Final

from layoutlint.model.record import Record, field
from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.abbreviation_tables import Tables
from layoutlint.readers.dwarf.format.constants import attribute
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.elf.elf_file import Data, Image
from layoutlint.readers.elf.span import Span

_SIGNED: Final = tuple(bytes((attribute(name), forms.REF_SIG8)) for name in ("type", "signature"))
_LONGEST: Final = 1 << 12
"""Bytes of a name (PATH_MAX of Linux). A file holds a name once, reports repeat it with every use."""
_ALIGNMENT: Final = bytes((0x88, 0x01, 0x0F))
"""DW_AT_alignment and DW_FORM_udata, in an abbreviation."""


class Sections(Record, frozen=True, eq=False):
    """The sections that units refer to."""

    tables: Tables
    strings: Span
    line_strings: Span
    line: Data
    string_offsets: Data
    number: int = field(default_factory=itertools.count().__next__)
    """Identifies the sections among those of other files."""
    texts: dict[int, str] = field(default_factory=dict)
    """Names already decoded, by their positions in .debug_str."""
    has_signatures: bool = False
    """Whether units may refer to type units: the bytes of such an abbreviation occur."""
    abbreviations: Span | None = None
    _alignment_cache: list[bool] = field(default_factory=list)
    """The result of `states_alignment`, after the first use."""

    @classmethod
    def from_image(cls, image: Image, suffix: str = "") -> Sections:
        """Return the sections of a file whose names end in a suffix; a missing one is empty.

        Raises ReadError.
        """
        line, offsets = (
            image.section(f"{name}{suffix}") or b"" for name in (".debug_line", ".debug_str_offsets")
        )
        strings, line_strings, abbreviations = (
            image.span(f"{name}{suffix}") for name in (".debug_str", ".debug_line_str", ".debug_abbrev")
        )
        has_signatures = any(abbreviations.find(mention) >= 0 for mention in _SIGNED)
        return cls(
            Tables(abbreviations), strings, line_strings, line, offsets, has_signatures=has_signatures,
            abbreviations=abbreviations,
        )  # fmt: skip

    @property
    def states_alignment(self) -> bool:
        """Whether any entry of the file states an alignment, in the form that clang writes."""
        if not self._alignment_cache:
            self._alignment_cache.append(
                self.abbreviations is not None and self.abbreviations.find(_ALIGNMENT) >= 0
            )
        return self._alignment_cache[0]

    def text(self, offset: int) -> str:
        """Return a string of .debug_str. Raises DwarfError if it is outside."""
        text = self.texts.get(offset)
        if text is None:
            text = self.texts[offset] = string(self.strings, offset, ".debug_str")
        return text


def string(span: Span, offset: int, section: str) -> str:
    """Return a string of a section. Raises DwarfError if it is outside or does not end."""
    try:
        text = span.string(offset)
    except ValueError as error:
        raise DwarfError(f"{section}: {error}") from error
    if len(text) > _LONGEST:
        raise DwarfError(f"a name of {len(text)} bytes")
    return text.decode(errors="replace")
