"""Address ranges of units, from lists of both formats that are written by hand."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from layoutlint.readers.dwarf.format.constants import attribute, form
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.ranges import Ranges

ALL_ONES = (1 << 64) - 1


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def ranges_of_lists(version: int, sections: dict[str, bytes], low: int = 0) -> list[tuple[int, int]]:
    """The ranges of a unit whose list stands at the start of its section, behind addresses at 0."""
    forms = {attribute("low_pc"): form("addr"), attribute("ranges"): form("sec_offset")}
    values = {attribute("low_pc"): low, attribute("ranges"): 0, attribute("addr_base"): 0}
    unit = SimpleNamespace(
        root=(SimpleNamespace(forms=forms), values, 0), shape=SimpleNamespace(version=version, address_size=8, offset_size=4)
    )
    return Ranges(SimpleNamespace(little_endian=True, section=sections.get)).read(unit)


PAIRS = [
    # what, the address of the unit, numbers of .debug_ranges, ranges
    ("none", 0, (0, 0), []),
    ("from the address of the unit", 100, (1, 2, 10, 20, 0, 0), [(101, 102), (110, 120)]),
    ("from a base", 100, (ALL_ONES, 1000, 1, 2, 0, 0), [(1001, 1002)]),
    ("from one base after another", 0, (ALL_ONES, 1000, 1, 2, ALL_ONES, 2000, 1, 2, 0, 0), [(1001, 1002), (2001, 2002)]),
]


@pytest.mark.parametrize(("low", "numbers", "ranges"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS])
def test_up_to_dwarf_4(low, numbers, ranges):
    assert ranges_of_lists(4, {".debug_ranges": words(*numbers)}, low) == ranges


ADDRESSES = words(1000, 2000, 3000)
ENTRIES = [
    # what, .debug_rnglists, ranges
    ("none", b"\0", []),
    ("offsets from the address of the unit", b"\4\1\2\0", [(101, 102)]),
    ("offsets from an address", b"\5" + words(500) + b"\4\1\2\0", [(501, 502)]),
    ("offsets from a numbered address", b"\1\1\4\1\2\0", [(2001, 2002)]),
    ("numbered start and end", b"\2\0\2\0", [(1000, 3000)]),
    ("numbered start, and length", b"\3\1\7\0", [(2000, 2007)]),
    ("start and end", b"\6" + words(5, 9) + b"\0", [(5, 9)]),
    ("start and length", b"\7" + words(5) + b"\x90\1\0", [(5, 149)]),
    ("several", b"\7" + words(5) + b"\1\3\0\1\0", [(5, 6), (1000, 1001)]),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "ranges"), [row[1:] for row in ENTRIES], ids=[row[0] for row in ENTRIES])
def test_since_dwarf_5(entries, ranges):
    assert ranges_of_lists(5, {".debug_rnglists": entries, ".debug_addr": ADDRESSES}, 100) == ranges


def test_a_kind_that_is_not_known():
    with pytest.raises(DwarfError, match=r"an entry of kind 0x8 in \.debug_rnglists"):
        ranges_of_lists(5, {".debug_rnglists": b"\x08\1\1\0"})
