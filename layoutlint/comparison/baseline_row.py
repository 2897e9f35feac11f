"""The line of one accepted finding, as baselines have it and reports print it for pasting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from layoutlint.comparison.baseline_match import Entry
from layoutlint.comparison.standings import PairShare
from layoutlint.escapes import toml_string
from layoutlint.judgement.verdict import Outcome

ENTRY_KEYS = (
    "rule", "struct", "path", "variable", "build", "fields", "outcome", "share", "pairs", "cause", "reason",
)  # fmt: skip
NEXT = "next"
"""Marks a pair whose second field is in the next object."""


def row(entry: Entry) -> str:
    """Return an entry as it stands on its line, without the comma."""
    return f"{{ {', '.join(f'{key} = {value}' for key, value in _values(entry))} }}"


def _values(entry: Entry) -> Iterator[tuple[str, str]]:
    held = entry.standing
    for key, text in zip(ENTRY_KEYS, (*entry.key, entry.build), strict=False):
        if text:
            yield key, toml_string(text)
    of_pairs = tuple(sorted({name for pair in held.pairs for name in (pair.first, pair.second)}))
    if held.fields and held.fields != of_pairs:
        yield "fields", _list(toml_string(path) for path in held.fields)
    yield "outcome", toml_string(held.outcome.value)
    if held.outcome is Outcome.AT_RISK:
        yield "share", toml_string(_fraction(held.share))
    if held.pairs:
        yield "pairs", _list(_list(map(toml_string, _pair_words(pair))) for pair in held.pairs)
    if held.cause:
        yield "cause", toml_string(held.cause)
    if entry.reason:
        yield "reason", toml_string(entry.reason)


def _pair_words(pair: PairShare) -> Iterator[str]:
    yield from (pair.first, pair.second, _fraction(pair.share))
    if pair.is_across:
        yield NEXT


def _fraction(share: Fraction) -> str:
    return f"{share.numerator}/{share.denominator}"


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
