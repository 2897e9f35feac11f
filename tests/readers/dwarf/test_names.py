"""The numbers of DWARF's names are pyelftools'."""

from __future__ import annotations

import pytest
from elftools.dwarf import enums

from layoutlint.readers.dwarf.format import constants

TABLE = [
    ("DW_AT_", constants.ATTRIBUTES, enums.ENUM_DW_AT),
    ("DW_TAG_", constants.TAGS, enums.ENUM_DW_TAG),
    ("DW_FORM_", constants.FORMS, enums.ENUM_DW_FORM),
    ("DW_UT_", constants.UNITS, enums.ENUM_DW_UT),
]


VENDORS = {
    # in no version of pyelftools: LLVM's Dwarf.def, and TI's compilers
    "DW_TAG_TI_far_type": 0x4080, "DW_TAG_TI_near_type": 0x4081, "DW_TAG_TI_ioport_type": 0x4083,
    "DW_TAG_TI_restrict_type": 0x4084, "DW_TAG_TI_onchip_type": 0x4085, "DW_TAG_LLVM_ptrauth_type": 0x4300,
    "DW_FORM_LLVM_addrx_offset": 0x2001,
}  # fmt: skip


@pytest.mark.parametrize(("prefix", "ours", "theirs"), TABLE, ids=[prefix for prefix, *_ in TABLE])
def test_names_have_their_numbers(prefix, ours, theirs):
    assert {f"{prefix}{name}": number for name, number in ours.items()}.items() <= (theirs | VENDORS).items()
    assert len(set(ours.values())) == len(ours)
