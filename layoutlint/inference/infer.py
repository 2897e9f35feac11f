"""From functions and layouts to notes on fields that disturb others, and to intent that the source denies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from layoutlint.geometry.groups import find_groups
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.inference import ranking
from layoutlint.inference.analysis import Analysis
from layoutlint.inference.contradictions import Contradiction, find_contradictions
from layoutlint.inference.ranking import Note, Pair
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.sources.whole_program.fields import FieldUses, fields_of

MOST_NOTES = 150
SMALLEST = 128
"""The bits of a struct of two words, which are used together unless different threads use them."""
_LEAST_SHARE, _LEAST, _WEAK_SHARE = 0.02, 0.06, 0.5
"""The share of the best score, and the score, that a note on a program needs: the others are on rare work. If
no note has that score, the share of the best."""
_MOST_PAIRS = 400
"""The most pairs of a struct."""


class Inferred(Record, frozen=True):
    """The guesses from some inputs."""

    notes: tuple[Note, ...]
    """Best first."""
    left_out: int
    """The number of notes after these."""
    pairs: tuple[Pair, ...]
    """All pairs of the structs of the notes, best first."""
    contradictions: tuple[Contradiction, ...]
    fields: tuple[FieldUses, ...]
    """Sorted by struct and path."""
    without_signs: int
    """The number of written fields without a note, as nothing says that several threads use them."""
    ambiguous: tuple[str, ...]
    """Names of structs that sources define several times, of which a compiled file has another layout."""
    lost: tuple[Unread, ...]
    """The structs that an internal error left without a judgement."""
    analysis: Analysis


def infer(
    analysis: Analysis,
    structs: Iterable[Struct],
    packs: Sequence[Pack],
    only: str | None = None,
    most: int = MOST_NOTES,
) -> Inferred:
    """Return what functions and layouts together suggest.

    `structs` have the layouts, `packs` declared accesses. `only` is a pattern of the structs that count,
    `most` the most notes.
    """
    notes: list[Note] = []
    pairs: list[Pair] = []
    contradictions: list[Contradiction] = []
    ambiguous: dict[str, None] = {}
    without_signs = 0
    lost: list[Unread] = []
    noted = {name for name in analysis.names if only is None or fnmatchcase(name, only)}
    for key, struct in _select_structs(structs, analysis, only, ambiguous):
        try:
            own_notes, own_pairs, silent, denied = _judge(key, struct, analysis, packs, noted)
        except Exception as error:  # the other structs count
            lost.append(Unread(f"struct {struct.name}", f"is left out: {type(error).__name__}: {error}"))
            continue
        without_signs += silent
        notes += own_notes
        pairs += own_pairs
        contradictions += denied
    notes.sort(key=lambda note: (-note.score, note.struct.name, note.writer.part.path))
    if analysis.meetings is not None:
        best = max((note.score for note in notes), default=0.0)
        least = max(_LEAST_SHARE * best, min(_LEAST, _WEAK_SHARE * best))
        notes = [note for note in notes if note.score >= least]
    pairs.sort(key=lambda pair: (-pair.score, pair.struct, pair.writer.part.path, pair.reader.part.path))
    fields = tuple(fields_of(analysis.uses, analysis.heat, only))
    return Inferred(
        tuple(notes[:most]), len(notes[most:]), tuple(pairs), tuple(contradictions), fields,
        without_signs, tuple(sorted(ambiguous)), tuple(lost), analysis,
    )  # fmt: skip


def _select_structs(
    structs: Iterable[Struct], analysis: Analysis, only: str | None, ambiguous: dict[str, None]
) -> Iterator[tuple[str, Struct]]:
    """Yield the structs that are used and whose layouts are known, with their keys, each key once.

    Names of structs that could be several go to `ambiguous`.
    """
    done: set[str] = set()
    for struct in structs:
        is_wanted = only is None or fnmatchcase(struct.name, only)
        has_layout = struct.bit_size is not None and not struct.problem and struct.aggregate == "struct"
        if not is_wanted or not has_layout:
            continue
        keys = analysis.struct_keys(struct)
        if len(keys) > 1:
            ambiguous[struct.name] = None
        elif keys and keys[0] not in done:
            done.add(keys[0])
            yield keys[0], struct


def _judge(
    key: str, struct: Struct, analysis: Analysis, packs: Sequence[Pack], noted: Collection[str]
) -> tuple[list[Note], list[Pair], int, list[Contradiction]]:
    """Return the notes and pairs of a struct, how many written fields lack signs, and contradictions."""
    layout = Layout(struct)
    groups = find_groups(layout).complete
    denied = find_contradictions(struct, groups, packs, analysis.uses[key], analysis.heat)
    return *_rank(key, layout, analysis, noted), list(denied)


def _rank(
    key: str, layout: Layout, analysis: Analysis, noted: Collection[str]
) -> tuple[list[Note], list[Pair], int]:
    """Return the notes and pairs of a struct, and the number of written fields without signs of threads.

    `noted` are the names of structs that have notes of their own, also where others embed them.
    """
    if len(layout.alignments) > 1:  # the least alignment has all placements
        layout = layout.with_alignment(min(layout.alignments))
    where, struct = placements(layout), layout.struct
    traffic = analysis.traffic(key, struct)
    homes = tuple(ranking.inner_structs(struct.fields, noted))
    pairs = [pair for pair in ranking.pairs(struct, traffic.fields, where) if not pair.is_within(homes)]
    if layout.size * 8 <= SMALLEST:
        pairs = [pair for pair in pairs if _is_apart(pair)]
    pairs = pairs[:_MOST_PAIRS]
    notes = ranking.notes(struct, pairs, where, traffic.weight)
    noted = {note.writer.part.path for note in notes}
    silent = sum(
        each.written > 0 and each.contended == 0 and each.part.path not in noted for each in traffic.fields
    )
    return notes, pairs, silent


def _is_apart(pair: Pair) -> bool:
    """Return whether different threads use the two fields, rather than the same functions both."""
    writer = pair.writer
    if writer.is_plain:
        return writer.meetings is not None and writer.contended == 0  # one thread stores, and others read
    users = writer.reads.keys() | writer.writes.keys()
    return any(function not in users for function in pair.reader.reads)
