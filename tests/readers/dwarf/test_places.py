"""Where names stand in .debug_str: one pass for many of them against a search for each."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.readers.dwarf.scan import SHORTEST, find_strings

TEXTS = st.binary(min_size=SHORTEST, max_size=6).filter(lambda text: 0 not in text)


def search(section: bytes, texts: frozenset[bytes]) -> set[int]:
    return {at for text in texts for at in range(len(section)) if section.startswith(text + b"\0", at)}


@given(st.lists(st.binary(max_size=8)), st.frozensets(TEXTS, min_size=1))
def test_any_section(strings, texts):
    section = b"\0".join((*strings, *texts)) + b"\0"
    assert find_strings(memoryview(section), texts) == search(section, texts)


@pytest.mark.parametrize("section", [b"", b"\0", b"abc", b"abc\0", b"\0abc\0", b"xabc\0abcx\0abc\0ab\0bc\0c\0", b"abc\0" * 3])
def test_ends_of_sections(section):
    texts = frozenset((b"abc", b"xabc"))
    assert find_strings(memoryview(section), texts) == search(section, texts)


def test_many_names_in_many_strings():
    dice = random.Random(7)
    strings = [bytes(dice.choices(b"abcd_", k=dice.randrange(1, 9))) for _ in range(3000)]
    texts = frozenset(text for text in dice.sample(strings, 60) if len(text) >= SHORTEST)
    section = b"\0".join(strings) + b"\0"
    assert find_strings(memoryview(section), texts) == search(section, texts)
