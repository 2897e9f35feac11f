"""Reading the inputs of a run: structs, annotations in comments, and the containers of structs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from layoutlint.geometry.alignment_proofs import Proofs
from layoutlint.geometry.containers import Index
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.rule import Pack
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.query import narrow
from layoutlint.lint.shown_places import ShownPlaces
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct, Unstated
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs

if TYPE_CHECKING:
    from layoutlint.intent.annotations.comments import Sources
    from layoutlint.intent.claims import Claims
    from layoutlint.lint.options import Options


class Inputs(Record, frozen=True):
    """The readings, the failures, and the container index of a run."""

    readings: list[Reading]
    unread: list[Unread]
    surroundings: Surroundings
    claims: Claims | None = None
    """What comments claim about cache lines; None if the run does not judge it."""
    compared: tuple[Struct, ...] = ()
    """All structs that a comparison wants, also those that no rule judges."""
    unnarrowed: tuple[Reading, ...] = ()
    """The readings with the structs that no rule judges, but a snapshot holds or a survey keeps."""


def embedded_names(packs: Iterable[Pack]) -> frozenset[str]:
    """Return the names and patterns of structs whose containers must be read.

    Rule files declare these structs as embedded, have rules on their surroundings (`around`), or declare
    accesses of structs that can be near them.
    """
    names: set[str] = set()
    for pack in packs:
        if pack.rules:
            placements = ((intent.struct, intent.placement) for intent in pack.structs)
            names |= {name for name, placement in placements if placement and placement.word == EMBEDDED}
        around = {rule.struct for rule in pack.rules if rule.around}
        names |= around.union(pack.structs_with_accesses) if around else around
    return frozenset(names)


def read_structs(
    paths: tuple[str, ...], wanted: Wanted, embedded: frozenset[str], options: Options
) -> Inputs:
    """Read the wanted structs of inputs, with the layouts that the options state, and their surroundings."""
    read = replace(options.read, finds_omissions=True)
    if options.randomised is None:
        inputs = read_inputs(paths, wanted, embedded, read)
        if not any(reading.shuffled for reading in inputs.readings):
            return inputs
    from layoutlint.lint import random_build  # few builds are randomised

    if options.randomised is None:
        return random_build.mark_unknown_orders(inputs, embedded, read)
    return random_build.read(paths, wanted, embedded, replace(options, read=read))


def split_compared(inputs: Inputs, wanted: Wanted) -> Inputs:
    """Return inputs with the structs that rules want, and all that were read for a comparison."""
    every = tuple(struct for reading in inputs.readings for struct in reading.structs)
    readings = [narrow(reading, wanted) for reading in inputs.readings]
    return replace(inputs, readings=readings, compared=every)


def split_unnarrowed(inputs: Inputs, wanted: Wanted) -> Inputs:
    """Return inputs with the structs that rules want, and all that were read beside them."""
    readings = [narrow(reading, wanted) for reading in inputs.readings]
    return replace(inputs, readings=readings, unnarrowed=tuple(inputs.readings))


def read_inputs(
    paths: tuple[str, ...], wanted: Wanted, embedded: frozenset[str], options: ReadOptions
) -> Inputs:
    """Read the wanted structs of inputs, and index whatever can contain the `embedded` structs."""
    if not embedded:
        readings, unread = _read_settled(paths, wanted, options)
        surroundings = Surroundings({}, _proofs(readings, wanted, options), _shown_places(readings, options))
        return Inputs(readings, unread, surroundings)
    to_index = replace(wanted, embedded=tuple(sorted(embedded)))
    if any(is_pattern(name) for name in embedded):
        to_index = replace(to_index, everything=True)
    else:
        to_index = replace(to_index, with_containers=embedded)
    readings, unread = _read_settled(paths, to_index, options)
    surroundings = _surroundings(readings, _proofs(readings, to_index, options), options)
    indices = surroundings.indices.values()
    typedefs = {typedef for index in indices for typedef in _unresolved_typedefs(index, embedded)}
    if typedefs:  # most stand for structs without members, which only a search by name finds
        to_index = replace(to_index, names=to_index.names | typedefs)
        readings, unread = _read_settled(paths, to_index, options)
        surroundings = _surroundings(readings, _proofs(readings, to_index, options), options)
    return Inputs([narrow(reading, wanted) for reading in readings], unread, surroundings)


def _read_settled(
    paths: tuple[str, ...], wanted: Wanted, options: ReadOptions
) -> tuple[list[Reading], list[Unread]]:
    """Read inputs with the annotations in comments; settle alignments that another input states."""
    results = inputs.read_each(paths, wanted, options)
    if wanted.annotated:
        results = [_add_wanted_comments(result, wanted, options) for result in results]
    readings, unread = inputs.split_failures(results)
    return _settle_alignments(readings), unread


def _add_wanted_comments(result: Reading | Unread, wanted: Wanted, options: ReadOptions) -> Reading | Unread:
    """Add the annotations in comments to a reading; drop unwanted structs without annotations."""
    if isinstance(result, Unread) or not result.structs:
        return result
    return narrow(add_comments(result, options), wanted)


def add_comments(reading: Reading, options: ReadOptions) -> Reading:
    """Return a reading with the annotations in comments of C sources, or of the source directories."""
    from layoutlint.intent.annotations.comments import with_comments  # most inputs have neither

    return with_comments(reading, sources_of(reading, options), reading.reader != "clang")


def sources_of(reading: Reading, options: ReadOptions) -> Sources:
    """Return the C files that a reading names."""
    from layoutlint.intent.annotations.comments import Sources

    is_text = reading.reader == "clang"
    folders = (".", reading.path, os.path.dirname(reading.path) or ".") if is_text else options.sources
    return Sources(folders, options.texts, options.replaced, is_text)


def _proofs(readings: list[Reading], wanted: Wanted, options: ReadOptions) -> Proofs:
    has_variables = wanted.everything or wanted.misplaced is not None
    return Proofs(tuple(readings), has_variables, partial(inputs.read, options=options))


def _shown_places(readings: list[Reading], options: ReadOptions) -> ShownPlaces:
    return ShownPlaces(tuple(readings), partial(inputs.read, options=options))


def _surroundings(readings: list[Reading], proofs: Proofs, options: ReadOptions) -> Surroundings:
    structs: dict[Target, list[Struct]] = {}
    for reading in readings:
        for struct in reading.structs:
            if len(readings) > 1 and not struct.files:
                struct = replace(struct, files=(reading.path,))
            structs.setdefault(struct.target, []).append(struct)
    indices = {target: Index(of_target) for target, of_target in structs.items()}
    return Surroundings(indices, proofs, _shown_places(readings, options))


def _unresolved_typedefs(index: Index, embedded: frozenset[str]) -> set[str]:
    names = [name for name in index.names if any(fnmatchcase(name, pattern) for pattern in embedded)]
    return {typedef for name in names for typedef in index.ambiguous_typedefs(name)}


def _settle_alignments(readings: list[Reading]) -> list[Reading]:
    """Return the readings, with alignments that other readings state for the same definitions."""
    if len(readings) < 2:
        return readings
    stated: dict[object, list[Struct]] = {}
    for struct in (struct for reading in readings for struct in reading.structs):
        is_complete = struct.bit_size is not None and struct.problem is None and struct.align is not None
        if is_complete and len(Layout(struct).alignments) == 1:
            stated.setdefault(_definition_key(struct), []).append(struct)
    if not stated:
        return readings
    return [_settle_reading(reading, stated) for reading in readings]


def _settle_reading(reading: Reading, stated: dict[object, list[Struct]]) -> Reading:
    settled = {}
    for number, struct in enumerate(reading.structs):
        has_choice = struct.bit_size is not None and struct.unstated
        others = stated.get(_definition_key(struct), ()) if has_choice else ()
        alignments = {other.align or 1 for other in others if _is_same_definition(struct, other)}
        if len(alignments) == 1 and len(Layout(struct).alignments) > 1:
            settled[number] = replace(struct, possible=next(iter(alignments)))
    if not settled:
        return reading
    structs = tuple(settled.get(number, struct) for number, struct in enumerate(reading.structs))
    return replace(reading, structs=structs)


def _is_same_definition(struct: Struct, other: Struct) -> bool:
    """Return whether a struct of another input, whose alignment is stated, can be the same definition.

    Both are then at one line of one file, as far as the inputs state it. Debug information that states
    `aligned`, and does not for this struct, is about another definition than the one that it states.
    """
    if other.unstated and not struct.unstated & Unstated.ALIGNED:
        return False
    first, second = struct.source, other.source
    if first is None or second is None:
        return True
    return os.path.basename(first.file) == os.path.basename(second.file) and first.line == second.line


def _definition_key(struct: Struct) -> object:
    """Return a value that definitions of one struct have in common, whatever their alignments."""
    members = tuple((field.name, field.bit_offset, field.bit_size) for field in struct.fields)
    return struct.target, struct.name, struct.is_tagged, struct.aggregate, struct.bit_size, members
