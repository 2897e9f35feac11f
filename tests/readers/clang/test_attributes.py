"""Attributes in C text that libclang does not show: `#pragma pack`, by its text."""

from __future__ import annotations

import pytest

from layoutlint.readers.clang.pack_pragmas import may_hold, pragmas

PACKS = [
    # pragmas up to the place, whether one may be in force there
    ((), False),
    (("4",), True), (("4", ""), False),
    (("push, 1",), True), (("push, 1", "pop"), False),
    (("push", "1", "pop"), False), (("push", "1"), True),
    (("1", "push, 2", "pop"), True), (("1", "push, 2", "pop", ""), False),
    (("push, 1", "push, 2", "pop"), True), (("push, 1", "push, 2", "pop", "pop"), False),
    (("pop",), False), (("push, name, 2", "pop"), False),
]  # fmt: skip


@pytest.mark.parametrize(("packs", "is_held"), PACKS, ids=[" | ".join(row[0]) or "none" for row in PACKS])
def test_a_pragma_may_hold(packs, is_held):
    text = "".join(f"# pragma pack({pack})\n" for pack in packs)
    assert may_hold(pragmas(f"{text}#pragma pack(8)\n".encode()), len(text)) is is_held


def test_a_pragma_of_a_macro_may_hold():
    assert may_hold(pragmas(b'_Pragma("pack(1)")\nstruct s;'), 20)
