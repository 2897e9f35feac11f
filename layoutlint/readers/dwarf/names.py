"""The numbers behind the names of DWARF (DWARF 5, sections 7.5.3 and 7.5.4)."""

from __future__ import annotations

from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_TAG


def at(name: str) -> int:
    """The number of `DW_AT_name`."""
    return int(ENUM_DW_AT["DW_AT_" + name])


def tag(name: str) -> int:
    """The number of `DW_TAG_name`."""
    return int(ENUM_DW_TAG["DW_TAG_" + name])
