"""The words by which fields are accessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.geometry.layout import Layout
from layoutlint.measurement.arrange import MOST_WORDS, field_access
from tests.harness.build import bits, flexible, member, struct

ALIGNED, QUARTER, ANY = range(0, 64, 8), range(0, 64, 4), range(64)


@pytest.mark.parametrize(("offset", "size", "bases", "words"), [
    (0, 8, ALIGNED, [(0, 8)]),
    (120, 16, ALIGNED, [(120, 8), (128, 8)]),
    (4, 4, ALIGNED, [(4, 4)]),
    (4, 8, ALIGNED, [(4, 4), (8, 4)]),
    (3, 6, ALIGNED, [(3, 1), (4, 4), (8, 1)]),
    (8, 8, QUARTER, [(8, 4), (12, 4)]),
    (8, 2, ANY, [(8, 1), (9, 1)]),
    (1, 1, ALIGNED, [(1, 1)]),
    (1, 7, (0,), [(1, 1), (2, 2), (4, 4)]),
])  # fmt: skip
def test_a_field(offset, size, bases, words):
    assert [(word.offset, word.width) for word in words_of(offset, size, bases)] == words


def words_of(offset: int, size: int, bases):
    place = Layout(struct("s", offset + size, member("a", offset, size))).find("a")
    return field_access(place, "load", False, bases, 64).words


@given(st.integers(0, 300), st.integers(1, 3000), st.sampled_from([ALIGNED, QUARTER, ANY, (0,), (8, 40), (2,)]))
def test_every_word_is_aligned_and_inside(offset, size, bases):
    words = words_of(offset, size, bases)
    touched = [byte for word in words for byte in range(word.offset, word.offset + word.width)]
    assert touched == sorted(set(touched))
    assert (touched[0], touched[-1]) == (offset, offset + size - 1)
    assert len(touched) == size or len(words) == MOST_WORDS
    assert all((base + word.offset) % word.width == 0 for base in bases for word in words)


S = struct("s", 1 << 21, bits("flag", 3, 2), member("a", 8, 8), member("far", 1 << 20, 8), flexible("rest", 1 << 21))


def test_a_bit_field_is_its_bytes():
    assert [(word.offset, word.width) for word in field_access(Layout(S).find("flag"), "add", False, ALIGNED, 64).words] == [(0, 1)]


@pytest.mark.parametrize(("path", "reason"), [
    ("far", "`far` ends at byte 1,048,584; only the first 1,048,576 bytes of a struct are measured"),
    ("rest", "the size of `rest` is not known"),
])  # fmt: skip
def test_what_cannot_be_accessed(path, reason):
    with pytest.raises(ValueError, match=reason):
        field_access(Layout(S).find(path), "load", False, ALIGNED, 64)
