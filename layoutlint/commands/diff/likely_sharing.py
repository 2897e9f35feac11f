"""Ranking what changed between two inputs by how functions use the fields (docs/diff.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from layoutlint.comparison.comparison import Comparison
from layoutlint.comparison.edits import Edit, EditKind
from layoutlint.comparison.layouts import LayoutChange, NotCompared, Presence
from layoutlint.comparison.likely_sharing import LikelyPair, LikelySharing
from layoutlint.comparison.verdicts import PairChange
from layoutlint.geometry.allocators import contradiction
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import Placements, allocation_request, placements
from layoutlint.inference import ranking
from layoutlint.inference.analysis import Analysis, StructTraffic, analyse
from layoutlint.inference.infer import MOST_NOTES, SMALLEST
from layoutlint.inference.ranking import Part
from layoutlint.judgement.rule import Pack
from layoutlint.lint.allocator_listing import stated_storages
from layoutlint.lint.options import Options
from layoutlint.model.record import replace
from layoutlint.model.storage import EMBEDDED, Storage
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few
from layoutlint.reports.meeting_phrases import reader_reason, writer_reason
from layoutlint.sources import bodies

_MOST_NAMES = 6


def rank(
    comparison: Comparison,
    sources: tuple[str, ...],
    packs: Sequence[Pack],
    kernel_packs: Sequence[Pack],
    options: Options,
) -> Comparison:
    """Return a comparison with the pairs of fields that came to share a line, by what functions do to them.

    Sources that cannot be read are not compared. Raises ReadError for sources without any functions.
    """
    changes = [change for change in comparison.layouts.changes if _is_about_lines(change)]
    if not changes:
        return replace(comparison, likely=LikelySharing(sources, (), 0))
    read = bodies.read(sources, options.read)
    active = (*packs, *(kernel_packs if read.is_kernel else ()))
    analysis = analyse(read, active)
    readings = comparison.new.report.readings
    storages = stated_storages((change.struct for change in changes), active, readings)
    pairs = likely_pairs(changes, analysis, storages, options)
    gaps = [NotCompared(each.origin, f"uses of fields: {each.reason}") for each in read.unread]
    if not (read.functions or gaps):
        reason = "uses of fields: these sources define no function: give the *.c files too"
        gaps.append(NotCompared(", ".join(sources), reason))
    return replace(
        comparison,
        likely=LikelySharing(sources, tuple(pairs[:MOST_NOTES]), len(pairs[MOST_NOTES:])),
        not_compared=(*comparison.not_compared, *gaps),
        notes=(*comparison.notes, *_notes(changes, analysis)),
    )


def _is_about_lines(change: LayoutChange) -> bool:
    is_small = (change.struct.bit_size or 0) <= SMALLEST
    return change.presence is Presence.BOTH and not is_small and change.struct.aggregate == "struct"


def _notes(changes: Iterable[LayoutChange], analysis: Analysis) -> Iterator[str]:
    """Yield which changed structs the sources do not use, or define several times."""
    keys = {change.name: len(analysis.struct_keys(change.struct)) for change in changes}
    if not any(keys.values()):
        yield "no function of the sources uses a field of a struct that changed"
    if several := [name for name, number in keys.items() if number > 1]:
        names = first_few(several, _MOST_NAMES)
        yield f"the sources define several structs of the same name, whose uses do not count: {names}"


def likely_pairs(
    changes: Iterable[LayoutChange],
    analysis: Analysis,
    storages: Mapping[str, tuple[Storage, ...]],
    options: Options,
) -> list[LikelyPair]:
    """Return the pairs of fields that share a line more often than before, best first.

    `storages` are declared placements, by the name of the struct.
    """
    pairs: list[LikelyPair] = []
    for change in changes:
        keys = analysis.struct_keys(change.struct)
        if len(keys) == 1 and change.old is not None and change.new is not None:
            storage = next(iter(storages.get(change.name, ())), None)
            before, after = (_Side(struct, storage, options) for struct in (change.old, change.new))
            traffic = analysis.traffic(keys[0], change.new)
            pairs += _find(before, after, traffic, _former_paths(change.edits.edits))
    pairs.sort(key=lambda each: (-each.score, each.struct.name, each.change.first, each.change.second))
    return list(_with_ranks(pairs))


def _with_ranks(pairs: Iterable[LikelyPair]) -> Iterator[LikelyPair]:
    counts: Counter[tuple[object, ...]] = Counter()
    for each in pairs:
        key = each.struct.name, each.struct.source, each.change.first
        counts[key] += 1
        yield replace(each, rank_of_writer=counts[key])


class _Side:
    """The layout and placements of a struct in one of the inputs."""

    def __init__(self, struct: Struct, storage: Storage | None, options: Options) -> None:
        self.struct = struct
        layout = Layout(struct)
        if len(layout.alignments) > 1:  # the least alignment has all placements
            layout = layout.with_alignment(min(layout.alignments))
        self.layout = layout
        self.placements = _placements(layout, storage, options)

    def bases(self, first: str, second: str) -> tuple[int, ...]:
        """Return the bases at which two fields share a line; none if one is missing."""
        parts = [self._part(path) for path in (first, second)]
        if parts[0] is None or parts[1] is None:
            return ()
        return ranking.shared_bases(parts[0], parts[1], self.placements)

    @property
    def total(self) -> int:
        """The number of placements."""
        return len(self.placements.bases)

    def _part(self, path: str) -> Part | None:
        place = self.layout.find(path)
        return None if place is None or not place.bit_size else Part(path, place.bit_offset, place.bit_size)


def _placements(layout: Layout, storage: Storage | None, options: Options) -> Placements:
    """Return the placements of a struct; a declared placement that it cannot have does not count."""
    if storage is not None:
        least = None if layout.struct.align is None else layout.alignments[0]
        mistake = contradiction(storage, layout.struct.name, allocation_request(layout), least)
        storage = None if storage.word == EMBEDDED or mistake is not None else storage
    return placements(layout, options.line_size, options.min_align, storage)


def _find(
    before: _Side, after: _Side, traffic: StructTraffic, former: Mapping[str, str]
) -> Iterator[LikelyPair]:
    for pair in ranking.pairs(after.struct, traffic.fields, after.placements):
        writer, reader = pair.writer.part.path, pair.reader.part.path
        old = before.bases(_former(writer, former), _former(reader, former))
        share, old_share = len(pair.bases) / after.total, len(old) / before.total
        if share > old_share:
            change = PairChange(writer, reader, old, pair.bases, before.total, after.total)
            score = traffic.score(pair) * (share - old_share) / share
            reasons = writer_reason(pair.writer), reader_reason(pair.reader)
            yield LikelyPair(after.struct, change, score, 0, reasons)


def _former_paths(edits: Iterable[Edit]) -> dict[str, str]:
    """Return the old names of renamed fields, also of the only removed and the only added one of a type."""
    groups: dict[tuple[object, ...], list[Edit]] = defaultdict(list)
    renamed: dict[str, str] = {}
    for edit in edits:
        if edit.kind is EditKind.RENAMED and edit.old is not None:
            renamed[edit.path] = edit.old.path
        if edit.kind in (EditKind.ADDED, EditKind.REMOVED):
            member = edit.place.field
            groups[member.type, member.dims, edit.place.bit_size].append(edit)
    for group in groups.values():
        by_kind = {edit.kind: edit.path for edit in group}
        if len(group) == len(by_kind) == 2:
            renamed[by_kind[EditKind.ADDED]] = by_kind[EditKind.REMOVED]
    return renamed


def _former(path: str, former: Mapping[str, str]) -> str:
    """Return the old path of a field."""
    known = ranking.part_path(path, former)
    return former[known] + path[len(known) :] if known else path
