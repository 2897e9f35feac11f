"""The numbers of DWARF's names are pyelftools'."""

from __future__ import annotations

import pytest
from elftools.dwarf import enums

from layoutlint.readers.dwarf import names

TABLE = [
    ("DW_AT_", names.ATTRIBUTES, enums.ENUM_DW_AT),
    ("DW_TAG_", names.TAGS, enums.ENUM_DW_TAG),
    ("DW_FORM_", names.FORMS, enums.ENUM_DW_FORM),
    ("DW_UT_", names.UNITS, enums.ENUM_DW_UT),
]


@pytest.mark.parametrize(("prefix", "ours", "theirs"), TABLE, ids=[prefix for prefix, *_ in TABLE])
def test_names_have_their_numbers(prefix, ours, theirs):
    assert {f"{prefix}{name}": number for name, number in ours.items()}.items() <= theirs.items()
    assert len(set(ours.values())) == len(ours)
