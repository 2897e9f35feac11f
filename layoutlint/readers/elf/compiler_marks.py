"""Marks of compilers that put the fields of structs into a random order, in the ELF files that they write."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from layoutlint.errors import ReadError
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.record import replace

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image
    from layoutlint.readers.elf.span import Span

_STRINGS = (".debug_str", ".debug_str.dwo")
_ENTRIES = ((".debug_abbrev", ".debug_info"), (".debug_abbrev.dwo", ".debug_info.dwo"))
_INLINE = bytes((0x25, 0x08))
"""DW_AT_producer and DW_FORM_string, in an abbreviation: the entry itself holds the text, as with -fno-
merge-debug-strings."""
_PLUGIN = b"randomize_layout_plugin.so"
_PERFORMANCE = b"randomize_layout_plugin-performance-mode"
_HASHED = re.compile(rb"RANDSTRUCT_(?:PLUGIN_)?([0-9a-f]{64})")
_MARK = b"RANDSTRUCT_"
_C_COMPILER = re.compile(rb"^GCC: |clang version ")
_GCC = re.compile(r"^GCC: (?:\(.*\) )?(\d+)\.")
_CLANG = re.compile(r"clang version (\d+)\.")
_LONGEST_COMMENT = 1 << 16
"""The bytes of `.comment` in which compilers are searched; linkers keep each name once."""
_LONGEST = len("RANDSTRUCT_PLUGIN_") + 64


def image_evidence(
    image: Image, built: Image, searches_code: bool, units: ShufflingEvidence | None, are_read: bool
) -> ShufflingEvidence | None:
    """Return how a file was randomised, by the debug information in `image` and the vermagic in `built`.

    `units` is what the DWARF units state, also for a file that refers to others for its debug information. It
    counts if `are_read`; otherwise the entries are searched. With `searches_code` the search includes the
    constants of vmlinux, which hold its vermagic. None without a mark. Raises ReadError for a damaged file.
    """
    marks = merge(string_evidence(image), units if are_read else _entry_evidence(image))
    seed = _seed(built, ".modinfo")
    if seed is None and (searches_code or marks is not None):
        seed = _seed(built, ".rodata")
    if marks is not None:
        return replace(marks, seed=seed)
    if seed is None:
        return None
    return ShufflingEvidence(_compiler(built), None, seed, "its vermagic says RANDSTRUCT_")


def string_evidence(image: Image) -> ShufflingEvidence | None:
    """Return the mark in the debug strings of one file. Raises ReadError for a damaged file."""
    return merge(*(text_evidence(image.span(name)) for name in _STRINGS))


def text_evidence(text: Span | bytes) -> ShufflingEvidence | None:
    """Return the mark in one DW_AT_producer, or in many; None without one."""
    if text.find(_PLUGIN) < 0:
        return None
    return mode_evidence("gcc-performance" if text.find(_PERFORMANCE) >= 0 else "gcc-full")


def mode_evidence(mode: str) -> ShufflingEvidence:
    """Return the mark of a DW_AT_producer that names a mode of the plugin."""
    return ShufflingEvidence("gcc", mode, None, "DW_AT_producer names randomize_layout_plugin.so")


def merge(*marks: ShufflingEvidence | None) -> ShufflingEvidence | None:
    """Return the first mark that is not None; one of performance mode comes before all others."""
    stated = [mark for mark in marks if mark is not None]
    return next((mark for mark in stated if mark.mode == "gcc-performance"), stated[0] if stated else None)


def compilers(image: Image) -> tuple[str, ...]:
    """Return the C compilers that `.comment` names, sorted; () without one, or if it is damaged."""
    try:
        span = image.span(".comment")
    except ReadError:  # no layout depends on it
        return ()
    texts = bytes(span.text[span.start : min(span.end, span.start + _LONGEST_COMMENT)]).split(b"\0")
    names = {text.decode(errors="replace") for text in texts if _C_COMPILER.search(text)}
    return tuple(sorted(names))


def major_versions(compilers: Iterable[str]) -> tuple[str, ...]:
    """Return compilers by family and major version, sorted: `gcc 14`; unknown ones as they are."""
    return tuple(sorted({_major_version(name) for name in compilers}))


def _major_version(compiler: str) -> str:
    for family, pattern in (("gcc", _GCC), ("clang", _CLANG)):
        if (match := pattern.search(compiler)) is not None:
            return f"{family} {match[1]}"
    return compiler


def _entry_evidence(image: Image) -> ShufflingEvidence | None:
    """Return the mark in the entries. They are large, and rarely hold producers."""
    return merge(
        *(
            text_evidence(span)
            for abbreviations, entries in _ENTRIES
            if image.span(abbreviations).find(_INLINE) >= 0
            for span in image.spans(entries)
        )
    )


def _seed(image: Image, section: str) -> str | None:
    """Return the SHA-256 of the seed that a section names (VERMAGIC_STRING in include/linux/vermagic.h)."""
    span = image.span(section)
    position = span.find(_MARK)
    while position >= 0:
        start = span.start + position
        match = _HASHED.match(bytes(span.text[start : min(start + _LONGEST, span.end)]))
        if match is not None:
            return match[1].decode()
        position = span.find(_MARK, position + 1)
    return None


def _compiler(image: Image) -> Literal["gcc", "clang"]:
    """Return clang if `.comment` names it; else GCC, whose debug information is the unreliable one."""
    return "clang" if image.span(".comment").find(b"clang version") >= 0 else "gcc"
