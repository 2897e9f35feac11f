"""What helps if a build shuffles fields, by what rules of a kind do; and which pair of a writer is the worst."""

from __future__ import annotations

import pytest

from layoutlint.commands.diff.likely_sharing import _with_ranks
from layoutlint.comparison.likely_sharing import LikelyPair
from layoutlint.comparison.verdicts import PairChange
from layoutlint.kinds import KINDS, find_kind
from layoutlint.lint.every_order import _advice
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from tests.harness.build import member, struct

HELP = {
    "apart": "put each side into a named struct, aligned to the line (`____cacheline_aligned_in_smp`)",
    "together": "put the fields into a named, aligned struct: it moves as one piece",
    None: "put these fields into a named struct: it moves as one piece",
}


@pytest.mark.parametrize("name", KINDS)
def test_advice_on_shuffled_fields(name):
    kind = find_kind(name)
    assert kind is not None
    rest = ("; alignments survive the shuffle and the declared order does not; "
            "as a last resort, `__no_randomize_layout`, or a build with RANDSTRUCT_NONE")  # fmt: skip
    assert _advice(kind.traits) == HELP[kind.traits.arranges] + rest


S = struct("s", 16, member("a", 0, 8), member("b", 8, 8))
ELSEWHERE = replace(S, source=Source("other.h", 1))


def test_pairs_are_numbered_by_struct_and_writer():
    given = [(S, "a"), (S, "b"), (S, "a"), (ELSEWHERE, "a"), (S, "a"), (replace(S, name="t"), "a"), (S, "b")]
    pairs = [LikelyPair(of, PairChange(first, "c", (), (0,), 8, 8), 1.0, 0, ()) for of, first in given]
    assert [each.rank_of_writer for each in _with_ranks(pairs)] == [1, 1, 2, 1, 3, 1, 2]
