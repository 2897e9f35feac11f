"""The first lines of a finding in text: what is wrong, in one sentence, and what else the message states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from layoutlint.judgement.finding import Finding
from layoutlint.judgement.line_sharing import list_shared_lines
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.verdict import Outcome, SharedLine, Verdict
from layoutlint.phrases import placements_phrase, quantity
from layoutlint.reports.finding_phrases import outcome, share, subject

_LEAST_PAIRS, _MOST_PAIRS = 2, 4
"""The pairs of fields from which they are named one by one, and up to which."""
_MOST_BASES = 4
_ONLY = f" {placements_phrase(1, 1)}"


def headline(finding: Finding) -> str:
    """Return what is wrong, with the struct: the first of several pairs, and the number of the others."""
    head, _ = _parts(finding)
    more = len(_pairs(finding)) - 1
    if more > 0 and not _names_all_pairs(finding):
        head += f", and {quantity(more, 'more pair')}"
    about = "" if finding.rule.kind.traits.is_built_in else subject(finding)
    if finding.verdict.outcome is Outcome.UNKNOWN and not finding.builds:
        return f"unknown: {head}" if about in head else f"{about} is unknown: {head}"
    return head if about in head else f"{about}: {head}"


def outcome_line(finding: Finding, with_pairs: bool) -> str:
    """Return the outcome where it depends on placements; empty if it does not.

    With `with_pairs`, some pairs of fields that the headline does not name follow.
    """
    verdict = finding.verdict
    is_single = verdict.total <= 1 and verdict.orders is None and verdict.outcome is not Outcome.AT_RISK
    shares = "" if finding.builds or is_single else share(verdict)
    words = f"{outcome(finding)} {shares}{_bases(verdict)}{_count_objects(verdict)}" if shares else ""
    is_named = finding.builds or _names_all_pairs(finding)  # each build has pairs of its own
    pairs = _pairs(finding) if with_pairs and not is_named else ()
    total = len(verdict.possible)
    return ": ".join(filter(None, (words, _name_pairs(pairs, total))))


def other_clauses(finding: Finding) -> str:
    """Return the clauses of a message that neither the headline nor the line of the outcome has."""
    return _parts(finding)[1]


def _count_objects(verdict: Verdict) -> str:
    """Return how many objects fail, if some were seen."""
    if verdict.seen is None or len(verdict.bases) == verdict.total:
        return ""
    return f", with {verdict.seen[0]:,} of {quantity(verdict.seen[1], 'object')}"


def _bases(verdict: Verdict) -> str:
    if len(verdict.bases) == verdict.total or verdict.orders is not None:
        return ""
    shown = ", ".join(map(str, verdict.bases[:_MOST_BASES]))
    hidden = len(verdict.bases) - _MOST_BASES
    more = f" and {hidden} more" if hidden > 0 else ""
    return f" (base{'s' if len(verdict.bases) > 1 else ''} {shown}{more})"


def _pairs(finding: Finding) -> Sequence[SharedLine]:
    """Return the pairs of fields that a message lists, in the worst build of a matrix.

    A message that tells new pairs from those of before states them in its own way.
    """
    verdict = _worst(finding).verdict
    return verdict.shared if list_shared_lines(verdict.shared) in verdict.message else ()


def _worst(finding: Finding) -> Finding:
    return finding.builds[0][1] if finding.builds else finding


def _names_all_pairs(finding: Finding) -> bool:
    """Return whether the headline names all of several pairs: a field with others, in one placement."""
    pairs = _pairs(finding)
    is_few = _LEAST_PAIRS <= len(pairs) <= _MOST_PAIRS and len(_worst(finding).verdict.possible) <= 1
    return is_few and len({pair.first for pair in pairs}) == 1 and not any(pair.distance for pair in pairs)


def _parts(finding: Finding) -> tuple[str, str]:
    """Return the first clause of a message, and the others without the further pairs."""
    message, pairs = finding_message(_worst(finding)), _pairs(finding)
    if not pairs:
        head, _, rest = message.partition("; ")
        return _shorten(head), _shorten(rest)
    unit = "pair of lines" if _worst(finding).verdict.in_pairs else "line"
    first = pairs[0]
    if _names_all_pairs(finding):
        sentence = f"`{first.first}` shares a {unit} with {_seconds(pairs, 1)}"
    elif first.distance:
        sentence = first.sentence
    else:
        sentence = f"`{first.first}` and `{first.second}` share a {unit}"
    before, _, behind = message.partition(list_shared_lines(pairs))
    return _shorten(before + sentence), _shorten(behind.lstrip(",; "))


def _name_pairs(pairs: Sequence[SharedLine], total: int) -> str:
    """Return several pairs in few words: "`usage` with `gid` in 2 and `euid` in 1"; empty for one pair."""
    if len(pairs) < _LEAST_PAIRS:
        return ""
    hidden = len(pairs) - _MOST_PAIRS
    more = f", and {hidden:,} more (-v)" if hidden > 0 else ""
    groups = groupby(pairs[:_MOST_PAIRS], key=lambda pair: pair.first)
    return "; ".join(f"`{first}` with {_seconds(group, total)}" for first, group in groups) + more


def _seconds(pairs: Iterable[SharedLine], total: int) -> str:
    return ", ".join(
        f"`{pair.second}`"
        + (f" {pair.distance} bytes on" if pair.distance else "")
        + (f" in {len(pair.bases)}" if total > 1 else "")
        for pair in pairs
    )


def _shorten(text: str) -> str:
    """Return a text without the words on placements where there is only one."""
    return text.replace(f",{_ONLY}", "").replace(_ONLY, "")
