"""From functions and layouts to notes on fields that disturb others, and to intent that the source denies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from layoutlint.geometry.groups import find_groups
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.inference import ranking
from layoutlint.inference.contradictions import Contradiction, find_contradictions
from layoutlint.inference.fields import FieldUses, fields_of
from layoutlint.inference.heat import EntryPoints, heat_of_functions
from layoutlint.inference.known_functions import KnownFunctions
from layoutlint.inference.program import FieldUse, Program
from layoutlint.inference.ranking import Note, Pair
from layoutlint.judgement.rule import Pack
from layoutlint.model.record import Record
from layoutlint.model.structs import Source, Struct
from layoutlint.model.uses import Effect, plain_name, struct_key
from layoutlint.readers.bodies import Bodies

MOST_NOTES = 150
_ONE_PER_PROCESSOR, _ON_STACK = 0.02, 0.02
_UNGUARDED_IN_KERNEL, _UNGUARDED = 0.1, 0.005
"""What is left of a score for objects that others seldom see: one for each processor; variables of functions;
objects without a lock or an atomic, which one thread uses at a time. Much of a program has one thread."""
_PLAIN = 0.1
"""What is left for a plain store outside kernels: most of a program's data has one thread."""
_SMALLEST = 128
"""The bits of a struct whose fields cannot be kept apart: two words that are used together."""
_MOST_PAIRS = 400
"""The most pairs of a struct."""


class Analysis(Record, frozen=True):
    """The functions of some inputs together, with what they do to fields and how hot they are."""

    bodies: Bodies
    program: Program
    uses: Mapping[str, Mapping[str, Sequence[FieldUse]]]
    """By the key of the struct, and path."""
    heat: Mapping[str, float]

    def has_any(self, names: Iterable[str]) -> bool:
        """Return whether one of some names is that of a function."""
        own = {plain_name(key) for key in self.program.functions}
        return not own.isdisjoint(names)

    def place(self, function: str) -> Source:
        """Return where a function is defined."""
        found = self.program.functions[function]
        return Source(found.file, found.line)


class Inferred(Record, frozen=True):
    """What was inferred from some inputs."""

    notes: tuple[Note, ...]
    """Best first."""
    left_out: int
    """The number of notes after these."""
    pairs: tuple[Pair, ...]
    """All pairs of the structs of the notes, best first."""
    contradictions: tuple[Contradiction, ...]
    fields: tuple[FieldUses, ...]
    """Sorted by struct and path."""
    ambiguous: tuple[str, ...]
    """Names of structs that sources define several times, of which a compiled file has another layout."""
    analysis: Analysis


def analyse(bodies: Bodies, packs: Sequence[Pack], profile: Mapping[str, float] | None = None) -> Analysis:
    """Return what functions do, with the known functions and entry points that packs state."""
    known = KnownFunctions(row for pack in packs for row in pack.known_functions)
    program = Program(bodies.functions, bodies.stored, known)
    own = {name: weight for pack in packs for name, weight in pack.entries}
    heat = heat_of_functions(program, EntryPoints(bodies.is_kernel, own, profile or {}))
    return Analysis(bodies, program, program.uses(), heat)


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
    for key, struct in _selected(structs, analysis.uses, only, ambiguous):
        layout, uses = Layout(struct), analysis.uses[key]
        own_notes, own_pairs = _rank(key, layout, uses, analysis)
        notes += own_notes
        pairs += own_pairs
        groups = find_groups(layout).complete
        contradictions += find_contradictions(struct, groups, packs, uses, analysis.heat)
    notes.sort(key=lambda note: (-note.score, note.struct.name, note.writer.part.path))
    pairs.sort(key=lambda pair: (-pair.score, pair.struct, pair.writer.part.path, pair.reader.part.path))
    fields = tuple(fields_of(analysis.uses, analysis.heat, only))
    return Inferred(
        tuple(notes[:most]), len(notes[most:]), tuple(pairs), tuple(contradictions), fields,
        tuple(sorted(ambiguous)), analysis,
    )  # fmt: skip


def _selected(
    structs: Iterable[Struct], uses: Iterable[str], only: str | None, ambiguous: dict[str, None]
) -> Iterator[tuple[str, Struct]]:
    """Yield the structs that are used and whose layouts are known, with their keys, each key once.

    Names of structs that could be several go to `ambiguous`.
    """
    by_name: dict[str, list[str]] = defaultdict(list)
    for key in uses:
        by_name[plain_name(key)].append(key)
    done: set[str] = set()
    for struct in structs:
        is_wanted = only is None or fnmatchcase(struct.name, only)
        has_layout = struct.bit_size is not None and not struct.problem and struct.aggregate == "struct"
        if not is_wanted or not has_layout or (struct.bit_size or 0) <= _SMALLEST:
            continue
        keys = _keys_of(struct, by_name.get(struct.name, []))
        if len(keys) > 1:
            ambiguous[struct.name] = None
        elif keys and keys[0] not in done:
            done.add(keys[0])
            yield keys[0], struct


def _keys_of(struct: Struct, keys: list[str]) -> list[str]:
    """Return the keys, among those of the same name, that can mean a struct: by the end of its file's path.

    Sources and compiled files name one file by different folders.
    """
    if len(keys) < 2 or struct.source is None:
        return keys
    file = struct.source.file
    exact = [key for key in keys if key == struct_key(struct.name, file)]
    base = file.rpartition("/")[2]
    return exact or [key for key in keys if key.rpartition("@")[2].rpartition("/")[2] == base]


def _rank(
    key: str, layout: Layout, uses: Mapping[str, Sequence[FieldUse]], analysis: Analysis
) -> tuple[list[Note], list[Pair]]:
    if len(layout.alignments) > 1:  # the least alignment has all placements
        layout = layout.with_alignment(min(layout.alignments))
    where, struct = placements(layout), layout.struct
    traffic = ranking.traffic(struct, uses, analysis.heat)
    pairs = ranking.pairs(struct, traffic, where)[:_MOST_PAIRS]
    share = _shared_share(key, analysis.bodies, analysis.program)
    if not any(each.written > 0 and each.kind is not Effect.WRITE for each in traffic):
        share *= _UNGUARDED_IN_KERNEL if analysis.bodies.is_kernel else _UNGUARDED
    plain = 1.0 if analysis.bodies.is_kernel else _PLAIN
    return ranking.notes(struct, pairs, where, share, plain), pairs


def _shared_share(struct: str, bodies: Bodies, program: Program) -> float:
    """Return how likely the objects of a struct are seen by several processors."""
    if struct in bodies.variables or struct in program.allocated:
        return 1.0
    if plain_name(struct) in bodies.per_cpu:
        return _ONE_PER_PROCESSOR
    return _ON_STACK if struct in program.on_stack else 1.0
