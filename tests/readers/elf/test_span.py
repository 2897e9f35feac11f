"""Strings of a section, searched where they stand: in the mapping, or decompressed."""

from __future__ import annotations

import mmap
import subprocess

import pytest

from layoutlint.readers.elf import elf_file as elf
from layoutlint.readers.elf.span import Span
from tests.readers.dwarf.dwarf_file import elf as elf_file
from tests.readers.elf.test_elf import tool, write

STRINGS = b"\0zone\0node\0freezone\0"
AROUND = b"node\0" + STRINGS + b"node\0"
SPANS = {
    "whole": Span(STRINGS, 0, len(STRINGS)),
    "inside": Span(AROUND, 5, 5 + len(STRINGS)),
}

FOUND = [
    # needle, from, where
    (b"zone\0", 0, 1), (b"zone\0", 1, 1), (b"zone\0", 2, 15), (b"zone\0", 16, -1), (b"\0zone\0", 0, 0),
    (b"node\0", 7, -1), (b"node\0", -9, 6), (b"zone\0", 1 << 40, -1), (b"", 20, 20), (b"one\0n", 0, 2),
]  # fmt: skip


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize(("needle", "position", "where"), FOUND)
def test_find_counts_from_the_section(span, needle, position, where):
    assert span.find(needle, position) == where


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
@pytest.mark.parametrize(("position", "text"), [(0, b""), (1, b"zone"), (3, b"ne"), (11, b"freezone"), (19, b"")])
def test_at_ends_at_the_nul(span, position, text):
    assert span.string(position) == text


@pytest.mark.parametrize(("text", "position", "message"), [
    (STRINGS, 20, "0x14 is outside the section, which has 0x14 bytes"),
    (STRINGS, -1, "-0x1 is outside the section"),
    (STRINGS, 1 << 70, "is outside the section"),
    (b"", 0, "0x0 is outside the section, which has 0x0 bytes"),
    (b"ab\0cd", 3, "the string at 0x3 does not end"),
])  # fmt: skip
def test_what_is_outside(text, position, message):
    with pytest.raises(ValueError, match=message):
        Span(b"\0" + text + b"\0", 1, 1 + len(text)).string(position)


def test_a_plain_section_is_searched_in_the_mapping(tmp_path):
    with elf.open_elf(write(tmp_path, elf_file({".comment": b"zone\0", ".debug_str": STRINGS}))) as image:
        span = image.span(".debug_str")
        assert isinstance(span.text, mmap.mmap)
        assert (len(span), span.find(b"zone\0", 2), span.string(11)) == (20, 15, b"freezone")
        assert len(image.span(".debug_line_str")) == 0


def test_a_compressed_section_is_searched_in_memory(tmp_path):
    plain, small = write(tmp_path, elf_file({".debug_str": STRINGS + bytes(500)})), str(tmp_path / "small.o")
    subprocess.run([tool("objcopy"), "--compress-debug-sections=zlib", plain, small], check=True)
    with elf.open_elf(small) as image:
        span = image.span(".debug_str")
        assert (len(span), span.find(b"zone\0", 2), span.string(11)) == (520, 15, b"freezone")
