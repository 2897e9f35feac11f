"""The bytes of padding inside members, counted by the type, are those of the gaps that are found one by one."""

from __future__ import annotations

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.padding import UnknownSize, count_nested_bytes, find_padding
from tests.harness.varied_structs import struct_of_seed


@pytest.mark.parametrize("seed", range(60))
def test_bytes_are_those_of_the_gaps(seed):
    layout = Layout(struct_of_seed(seed))
    try:
        expected = sum(gap.bit_size // 8 * gap.count for gap in find_padding(layout) if gap.where == "nested" and gap.is_whole)
    except UnknownSize:
        expected = None
    assert count_nested_bytes(layout) == expected
