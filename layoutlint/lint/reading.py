"""Inputs with everything that the rules of a run need to know of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from layoutlint.geometry.alignment_proofs import Proofs
from layoutlint.geometry.containers import Index
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.rule import Pack
from layoutlint.lint.embedding import Surroundings
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs


def embedded_names(packs: Iterable[Pack]) -> frozenset[str]:
    """The names and patterns of structs whose containers are asked for.

    Rule files call them embedded, have rules on their surroundings, or declare accesses of what may be there.
    """
    names: set[str] = set()
    for pack in packs:
        if pack.rules:
            said = ((intent.struct, intent.placement) for intent in pack.structs)
            names |= {struct for struct, placement in said if placement and placement.word == EMBEDDED}
        around = {rule.struct for rule in pack.rules if rule.around}
        names |= around.union(pack.declared) if around else around
    return frozenset(names)


Found = tuple[list[Reading], list[Unread], Surroundings]
"""Readings, what could not be read, and what can embed the structs."""


def read_inputs(paths: tuple[str, ...], wanted: Wanted, names: frozenset[str], options: ReadOptions) -> Found:
    """The inputs; where structs of some names are embedded, with everything that can hold them.

    The readings have the wanted structs alone.
    """
    if not names:
        readings, unread = read_annotated(paths, wanted, options)
        readings = settle(readings)
        return readings, unread, Surroundings({}, _proofs(readings, wanted, options))
    if any(is_pattern(name) for name in names):
        asked = replace(wanted, everything=True)
    else:
        asked = replace(wanted, held=names)
    readings, unread = read_annotated(paths, asked, options)
    readings = settle(readings)
    around = _surroundings(readings, _proofs(readings, asked, options))
    unsettled = {typedef for index in around.indices.values() for typedef in _unsettled(index, names)}
    if unsettled:  # typedefs of structs without members, mostly: their names alone tell what they stand for
        asked = replace(asked, names=asked.names | unsettled)
        readings, unread = read_annotated(paths, asked, options)
        readings = settle(readings)
        around = _surroundings(readings, _proofs(readings, asked, options))
    return [_narrowed(reading, wanted) for reading in readings], unread, around


def read_annotated(
    paths: tuple[str, ...], names: Wanted, options: ReadOptions
) -> tuple[list[Reading], list[Unread]]:
    """The inputs, with what comments say of structs where annotations are asked for."""
    results = inputs.read_each(paths, names, options)
    if names.annotated:
        results = [_annotated(result, names, options) for result in results]
    return inputs.divided(results)


def _annotated(result: Reading | Unread, names: Wanted, options: ReadOptions) -> Reading | Unread:
    """A reading with what comments say, without the structs of which they say nothing after all."""
    if isinstance(result, Unread) or not result.structs:
        return result
    from layoutlint.intent.annotations.comments import Sources, with_comments  # most inputs have neither

    is_text = result.reader == "clang"
    folders = (".", result.path, os.path.dirname(result.path) or ".") if is_text else options.sources
    found = with_comments(result, Sources(folders), not is_text)
    asked = names if result.is_kernel else names.outside_kernels()
    kept = (s for s in found.structs if asked.wants(s) or s.annotations)
    return replace(found, structs=tuple(kept))


def _proofs(readings: list[Reading], asked: Wanted, options: ReadOptions) -> Proofs:
    return Proofs(tuple(readings), asked.everything, partial(inputs.read, options=options))


def _surroundings(readings: list[Reading], proofs: Proofs) -> Surroundings:
    structs: dict[Target, list[Struct]] = {}
    for reading in readings:
        told = (reading.path,) if len(readings) > 1 else ()
        for struct in reading.structs:
            of_it = replace(struct, files=struct.files or told) if told else struct
            structs.setdefault(struct.target, []).append(of_it)
    return Surroundings({target: Index(of_target) for target, of_target in structs.items()}, proofs)


def _unsettled(index: Index, names: frozenset[str]) -> set[str]:
    known = [known for known in index.names if any(fnmatchcase(known, name) for name in names)]
    return {typedef for name in known for typedef in index.unsettled(name)}


def _narrowed(reading: Reading, wanted: Wanted) -> Reading:
    asked = wanted if reading.is_kernel else wanted.outside_kernels()
    structs = (s for s in reading.structs if asked.wants(s) or s.annotations)
    return replace(reading, structs=tuple(structs))


def settle(readings: list[Reading]) -> list[Reading]:
    """Return the readings, with alignments that other readings state of structs of the same layout."""
    if len(readings) < 2:
        return readings
    stated: dict[object, set[int]] = {}
    for struct in (struct for reading in readings for struct in reading.structs):
        is_known = struct.bit_size is not None and struct.problem is None and struct.align is not None
        if is_known and len(Layout(struct).alignments) == 1:
            stated.setdefault(_key(struct), set()).add(struct.align or 1)
    if not stated:
        return readings
    return [replace(reading, structs=tuple(_settled(reading.structs, stated))) for reading in readings]


def _settled(structs: Iterable[Struct], stated: dict[object, set[int]]) -> Iterable[Struct]:
    for struct in structs:
        known = stated.get(_key(struct)) if struct.bit_size is not None and struct.unstated else None
        if known and len(known) == 1 and len(Layout(struct).alignments) > 1:
            struct = replace(struct, possible=next(iter(known)))
        yield struct


def _key(struct: Struct) -> object:
    """What definitions of one struct have in common."""
    members = tuple((field.name, field.bit_offset, field.bit_size) for field in struct.fields)
    return struct.target, struct.name, struct.is_tagged, struct.aggregate, struct.bit_size, members
