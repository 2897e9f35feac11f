"""Whether an ELF file was built by a compiler that puts the fields of structs into a random order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from layoutlint.shuffled import Shuffled

if TYPE_CHECKING:
    from layoutlint.readers.elf import Image

_SECTIONS = (
    (".debug_str", ".debug_abbrev", ".debug_info"),
    (".debug_str.dwo", ".debug_abbrev.dwo", ".debug_info.dwo"),
)
_INLINE = bytes((0x25, 0x08))
"""DW_AT_producer and DW_FORM_string, in an abbreviation: the text stands among the entries, as
-fno-merge-debug-strings has it."""
_PLUGIN = b"randomize_layout_plugin.so"
_PERFORMANCE = b"randomize_layout_plugin-performance-mode"
_HASHED = re.compile(rb"RANDSTRUCT_(?:PLUGIN_)?([0-9a-f]{64})")
_MARK = b"RANDSTRUCT_"
_LONGEST = len("RANDSTRUCT_PLUGIN_") + 64


def of_image(
    image: Image, built: Image, searches_code: bool, beside: Shuffled | None = None
) -> Shuffled | None:
    """What the debug information in `image` says of its compiler, and what the vermagic in `built` does.

    `beside` is what `of_producer` says of files that hold the rest of it. With `searches_code` the vermagic
    of vmlinux is looked for as well, which stands among its constants. None where nothing is said. Raises
    ReadError for a damaged file.
    """
    found = of_producer(image) or beside
    seed = _seed(built, ".modinfo")
    if seed is None and (searches_code or found is not None):
        seed = _seed(built, ".rodata")
    if found is not None:
        return replace(found, seed=seed)
    if seed is None:
        return None
    return Shuffled(_compiler(built), None, seed, "its vermagic says RANDSTRUCT_")


def of_producer(image: Image) -> Shuffled | None:
    """What the strings of one file's debug information say. Raises ReadError for a damaged file."""
    for strings, abbreviations, entries in _SECTIONS:
        spans = [image.span(strings)]
        if image.span(abbreviations).find(_INLINE) >= 0:
            spans += image.spans(entries)  # which are large, and rarely have them
        if any(span.find(_PLUGIN) >= 0 for span in spans):
            is_fast = any(span.find(_PERFORMANCE) >= 0 for span in spans)
            mode = "gcc-performance" if is_fast else "gcc-full"
            return Shuffled("gcc", mode, None, "DW_AT_producer names randomize_layout_plugin.so")
    return None


def _seed(image: Image, section: str) -> str | None:
    """The SHA-256 of the seed that a section names (VERMAGIC_STRING in include/linux/vermagic.h)."""
    span = image.span(section)
    at = span.find(_MARK)
    while at >= 0:
        start = span.start + at
        found = _HASHED.match(bytes(span.text[start : min(start + _LONGEST, span.end)]))
        if found is not None:
            return found[1].decode()
        at = span.find(_MARK, at + 1)
    return None


def _compiler(image: Image) -> Literal["gcc", "clang"]:
    """Clang where `.comment` says so; else GCC, whose debug information is the one not to be believed."""
    return "clang" if image.span(".comment").find(b"clang version") >= 0 else "gcc"
