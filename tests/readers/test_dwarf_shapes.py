"""Shapes: what may tell two types apart, and that equal sequences of words get equal numbers."""

from __future__ import annotations

import re
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.readers import dwarf
from layoutlint.readers.dwarf import recipe
from layoutlint.readers.dwarf.abbrev import Format
from layoutlint.readers.dwarf.interning import Words
from layoutlint.readers.dwarf.names import at
from layoutlint.readers.dwarf.tables import Tables
from layoutlint.readers.span import Span

FOLDER = Path(dwarf.__file__).parent
DECODERS = ("members", "types")
ABOUT_UNITS = {"sibling"}


@pytest.mark.parametrize("module", DECODERS)
def test_shapes_hold_every_attribute_that_is_decoded(module):
    asked = set(re.findall(r'\bat\("(\w+)"\)', (FOLDER / f"{module}.py").read_text())) - ABOUT_UNITS
    assert len(asked) >= 7
    assert {name for name in asked if at(name) not in recipe.USED} == set()


@given(st.lists(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), max_size=6), max_size=60))
def test_equal_words_have_equal_numbers(sequences):
    words, numbers = Words(), {}
    for sequence in sequences:
        assert number(words, sequence) == numbers.setdefault(tuple(sequence), len(numbers))


def test_more_words_than_there_was_room_for():
    words = Words()
    for _ in range(2):
        assert [number(words, [0] * (count % 7) + [count]) for count in range(20_000)] == list(range(20_000))


@pytest.mark.parametrize("end", [b"\0", b"\x80\0", b"\x80\x80\0"], ids=["one byte", "two bytes", "three bytes"])
def test_a_table_of_abbreviations_ends_with_a_zero_of_any_length(end):
    base_type = b"\x24\0\x0b\x0b\0\0"
    section = b"\x01" + base_type + end + b"\x02" + base_type + b"\0"
    table = Tables(Span(section, 0, len(section))).at(0, Format(5, 4, 8, True))
    assert [table.plan(code) is not None for code in range(4)] == [False, True, False, False]


def number(words: Words, sequence: list[int]) -> int:
    """The number of a sequence that does not stand alone where it stands."""
    return words.number(memoryview(array("Q", [7, *sequence, 9])), 1, 1 + len(sequence))
