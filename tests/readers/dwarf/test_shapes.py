"""Shapes: what may tell two types apart, and that equal sequences of words get equal numbers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.readers import dwarf
from layoutlint.readers.dwarf.format import type_recipe
from layoutlint.readers.dwarf.format.abbreviation_tables import Tables
from layoutlint.readers.dwarf.format.abbreviations import Format
from layoutlint.readers.dwarf.format.constants import attribute
from layoutlint.readers.dwarf.format.word_tables import UNKNOWN, Memo, Words
from layoutlint.readers.elf.span import Span

FOLDER = Path(dwarf.__file__).parent / "types"
DECODERS = ("decoder", "spelling", "fixed_fields")
ABOUT_UNITS = {"sibling"}


@pytest.mark.parametrize("module", DECODERS)
def test_shapes_hold_every_attribute_that_is_decoded(module):
    asked = set(re.findall(r'\battribute\("(\w+)"\)', (FOLDER / f"{module}.py").read_text())) - ABOUT_UNITS
    assert len(asked) >= 7
    assert {name for name in asked if attribute(name) not in type_recipe.USED} == set()


@given(st.lists(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), max_size=6), max_size=60))
def test_equal_words_have_equal_numbers(sequences):
    words, numbers = Words(), {}
    for sequence in sequences:
        assert number(words, sequence) == numbers.setdefault(tuple(sequence), len(numbers))


def test_few_words_in_every_order():
    for sequences in itertools.product(((), (0,), (0, 0), (1,)), repeat=4):
        words, numbers = Words(), {}
        for sequence in sequences:
            assert number(words, sequence) == numbers.setdefault(sequence, len(numbers))


def test_more_words_than_there_was_room_for():
    words = Words()
    for _ in range(2):
        assert [number(words, [0] * (count % 7) + [count]) for count in range(20_000)] == list(range(20_000))


@given(st.lists(st.tuples(st.integers(0, 30), st.lists(st.integers(0, 200), max_size=40)), max_size=8))
def test_a_memo_knows_the_keys_of_the_unit_at_hand_and_no_others(units):
    """Units of 200 keys, some of them come back to; everything that another unit left is forgotten."""
    memo = Memo()
    for unit, keys in units:
        first = (unit + 1) << 40
        memo.begin(first, first + 201)
        known = {}
        for key in keys:
            assert memo.recall(first + key) == known.get(key, UNKNOWN)
            if key not in known:
                memo.keep(first + key, len(known))
                known[key] = len(known)
        assert [memo.recall(first + key) for key in known] == list(known.values())


@pytest.mark.parametrize("stride", [1, 2, 4, 1 << 14, 1 << 20], ids="{:#x}".format)
def test_a_memo_has_room_for_as_many_keys_as_come(stride):
    memo = Memo()
    memo.begin_all()
    for number in range(9_000):
        memo.keep(1 + number * stride, number)
    assert [memo.recall(1 + number * stride) for number in range(9_000)] == list(range(9_000))


@pytest.mark.parametrize("end", [b"\0", b"\x80\0", b"\x80\x80\0"], ids=["one byte", "two bytes", "three bytes"])
def test_a_table_of_abbreviations_ends_with_a_zero_of_any_length(end):
    base_type = b"\x24\0\x0b\x0b\0\0"
    section = b"\x01" + base_type + end + b"\x02" + base_type + b"\0"
    table = Tables(Span(section, 0, len(section))).table(0, Format(5, 4, 8, True))
    assert [table.plan(code) is not None for code in range(4)] == [False, True, False, False]


def number(words: Words, sequence: list[int]) -> int:
    """The number of a sequence that does not stand alone where it stands."""
    if len(words.stack) < len(sequence) + 2:
        words.grow(len(sequence) + 2)
    for place, word in enumerate([7, *sequence, 9]):
        words.stack[place] = word
    return words.number(1, 1 + len(sequence))
