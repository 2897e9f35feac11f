"""The functions of all units together."""

from __future__ import annotations

from layoutlint.sources.whole_program.known_functions import KnownFunctions
from layoutlint.sources.whole_program.program import Program


def test_functions_that_call_one_another_end():
    assert Program((), (), KnownFunctions()).uses() == {}
