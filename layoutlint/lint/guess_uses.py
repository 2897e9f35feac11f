"""Ranking guesses by what functions do to the fields, with the score of `infer` (docs/servers.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest

from layoutlint.files import accesses
from layoutlint.inference import ranking
from layoutlint.inference.analysis import Analysis, StructTraffic, analyse
from layoutlint.inference.ranking import Traffic
from layoutlint.judgement.finding import Finding, UseRank
from layoutlint.judgement.rule import VARIABLES, Pack
from layoutlint.judgement.verdict import Verdict
from layoutlint.lint.options import Options
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record, replace
from layoutlint.reports.meeting_phrases import reader_reason, writer_reason
from layoutlint.sources import bodies

_MOST_PAIRS = 3
"""As many pairs count for a note as victims for one of `infer`."""
_INDICES = re.compile(r"\[[^]]*\]")
_UNUSED = UseRank(0.0, ())


class _Scored(Record, frozen=True):
    """How much two fields disturb each other, or an element of an array the others."""

    score: float
    reasons: tuple[str, ...]


class GuessUses(Record, frozen=True):
    """The uses by functions of fields in guesses."""

    paths: tuple[str, ...]
    """The sources."""
    analysis: Analysis

    @property
    def unread(self) -> tuple[Unread, ...]:
        """The sources that could not be read, or have no function."""
        read = self.analysis.bodies
        if not (read.functions or read.unread):
            reason = "these sources define no function: give the *.c files too"
            return (Unread(", ".join(self.paths), reason),)
        return read.unread

    def rank(self, finding: Finding) -> UseRank | None:
        """Return the score of a note with its reasons: 0 if no function uses its fields.

        None for a variable or a type that has no fields, and for a struct that could be several.
        """
        struct = finding.struct
        if struct is None or not struct.fields:
            return None
        is_array = finding.rule.struct == VARIABLES
        keys = self.analysis.struct_keys(struct)
        if len(keys) != 1:
            return None if keys or is_array else _UNUSED
        traffic = self.analysis.traffic(keys[0], struct)
        scores = _element_scores(finding.verdict, traffic) if is_array else _scores(finding.verdict, traffic)
        best = [each for each in nlargest(_MOST_PAIRS, scores, key=lambda each: each.score) if each.score > 0]
        return UseRank(sum(each.score for each in best), best[0].reasons) if best else _UNUSED


def read(paths: tuple[str, ...], packs: Sequence[Pack], options: Options) -> GuessUses:
    """Return what the functions of C sources do; raises ReadError for an input without any."""
    accesses.refuse("functions are read by other processes")
    return GuessUses(paths, analyse(bodies.read(paths, options.read), packs))


def _scores(verdict: Verdict, traffic: StructTraffic) -> Iterator[_Scored]:
    """Yield how much the fields of a verdict disturb each other."""
    fields = {each.part.path: each for each in traffic.fields}
    total = verdict.total or 1
    for shared in verdict.shared:
        pair = [_find(path, fields) for path in (shared.first, shared.second)]
        if pair[0] is not None and pair[1] is not None:
            scored = _score_of_pair(pair[0], pair[1], traffic.weight)
            yield replace(scored, score=scored.score * len(shared.bases) / total)
    if not verdict.shared:
        owns = (_find(path, fields) for path in dict.fromkeys(place.path for place in verdict.evidence))
        yield from (_own_score(own, verdict, traffic) for own in owns if own is not None)


def _element_scores(verdict: Verdict, traffic: StructTraffic) -> Iterator[_Scored]:
    """Yield how much the fields of one element disturb those of the next."""
    return (_own_score(each, verdict, traffic) for each in traffic.fields)


def _own_score(own: Traffic, verdict: Verdict, traffic: StructTraffic) -> _Scored:
    """Return how much writes of a field disturb its uses in other elements, or on its other line."""
    return _Scored(verdict.share * traffic.weight(own) * ranking.contention(own, own), (writer_reason(own),))


def _score_of_pair(first: Traffic, second: Traffic, weight: Callable[[Traffic], float]) -> _Scored:
    """Return how much one of two fields disturbs those that read, or write, the other: the most of it."""
    both = ((first, second), (second, first))
    reads = [
        _Scored(
            weight(writer) * ranking.disturbance(writer, other),
            (writer_reason(writer), reader_reason(other)),
        )
        for writer, other in both
    ]
    writes = [
        _Scored(
            weight(writer) * ranking.contention(writer, other), (writer_reason(writer), writer_reason(other))
        )
        for writer, other in both
    ]
    return max((*reads, *writes), key=lambda each: each.score)


def _find(path: str, fields: dict[str, Traffic]) -> Traffic | None:
    """Return the uses of a field, or of the member that contains it and counts as one."""
    return fields.get(ranking.part_path(_INDICES.sub("", path), fields))
