"""Whether an ELF file was built by a compiler that puts the fields of structs into a random order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from layoutlint.model.randomised import Shuffled

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image
    from layoutlint.readers.elf.span import Span

_STRINGS = (".debug_str", ".debug_str.dwo")
_ENTRIES = ((".debug_abbrev", ".debug_info"), (".debug_abbrev.dwo", ".debug_info.dwo"))
_INLINE = bytes((0x25, 0x08))
"""DW_AT_producer and DW_FORM_string, in an abbreviation: the text stands among the entries, as
-fno-merge-debug-strings has it."""
_PLUGIN = b"randomize_layout_plugin.so"
_PERFORMANCE = b"randomize_layout_plugin-performance-mode"
_HASHED = re.compile(rb"RANDSTRUCT_(?:PLUGIN_)?([0-9a-f]{64})")
_MARK = b"RANDSTRUCT_"
_LONGEST = len("RANDSTRUCT_PLUGIN_") + 64


def of_image(
    image: Image, built: Image, searches_code: bool, units: Shuffled | None, are_read: bool
) -> Shuffled | None:
    """What the debug information in `image` says of its compiler, and what the vermagic in `built` does.

    `units` is what those of DWARF say, also in files that hold the rest of it, if they `are_read`; if not,
    they are searched. With `searches_code` the vermagic of vmlinux is looked for as well, which stands among
    its constants. None where nothing is said. Raises ReadError for a damaged file.
    """
    found = either(of_strings(image), units if are_read else _of_entries(image))
    seed = _seed(built, ".modinfo")
    if seed is None and (searches_code or found is not None):
        seed = _seed(built, ".rodata")
    if found is not None:
        return replace(found, seed=seed)
    if seed is None:
        return None
    return Shuffled(_compiler(built), None, seed, "its vermagic says RANDSTRUCT_")


def of_strings(image: Image) -> Shuffled | None:
    """What the strings of one file's debug information say. Raises ReadError for a damaged file."""
    return either(*(of_text(image.span(name)) for name in _STRINGS))


def of_text(text: Span | bytes) -> Shuffled | None:
    """What a DW_AT_producer says, or many of them."""
    if text.find(_PLUGIN) < 0:
        return None
    return of_mode("gcc-performance" if text.find(_PERFORMANCE) >= 0 else "gcc-full")


def of_mode(mode: str) -> Shuffled:
    """What a DW_AT_producer says that names a mode of the plugin."""
    return Shuffled("gcc", mode, None, "DW_AT_producer names randomize_layout_plugin.so")


def either(*said: Shuffled | None) -> Shuffled | None:
    """What is said by any; of performance mode, where some say so."""
    found = [one for one in said if one is not None]
    return next((one for one in found if one.mode == "gcc-performance"), found[0] if found else None)


def _of_entries(image: Image) -> Shuffled | None:
    """What stands among the entries, which are large, and rarely have producers."""
    return either(
        *(
            of_text(span)
            for abbreviations, entries in _ENTRIES
            if image.span(abbreviations).find(_INLINE) >= 0
            for span in image.spans(entries)
        )
    )


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
