"""Finds the structs of one input that `show` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layoutlint.errors import ReadError
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs

if TYPE_CHECKING:
    from layoutlint.randstruct.randomisation import Randomisation
    from layoutlint.randstruct.unseeded import UnseededInput


class StructListing(Record, frozen=True):
    """Structs to show, problems of the listing, and notes for the user, as sentences."""

    structs: tuple[Struct, ...]
    troubles: tuple[str | Unread, ...]
    notes: tuple[str, ...]
    is_kernel: bool = False
    """Whether an input is a Linux kernel, whose objects can come from kmalloc."""
    inputs: tuple[Reading, ...] = ()
    """What was read, without structs."""


def list_structs(
    path: str,
    names: tuple[str, ...],
    options: ReadOptions,
    how: Randomisation | None = None,
    with_comments: bool = False,
) -> StructListing:
    """Return the structs of one input that match names or patterns, or all for no names; raises ReadError.

    `how` gives them the layouts of a randomised build. `with_comments` adds the annotations in comments.
    """
    options = replace(options, with_marks=how is not None)
    patterns = tuple(name for name in names if is_pattern(name))
    wanted = Wanted(frozenset(names) - set(patterns), patterns, everything=not names)
    readings, unread = inputs.read((path,), wanted, options)
    if not readings:
        raise ReadError(unread[0].origin, unread[0].reason)
    if how is not None:
        readings = _randomise(path, readings, options, how)
    if with_comments:
        from layoutlint.lint.reading import add_comments  # only pictures show declared accesses

        readings = [add_comments(reading, options) for reading in readings]
    structs = sorted(
        (struct for reading in readings for struct in reading.structs),
        key=lambda struct: (struct.name, str(struct.source or ""), struct.origin),
    )
    missing = [name for name in names if not any(struct.matches(name) for struct in structs)]
    troubles: list[str | Unread] = [*_missing_structs(path, missing, options)] if missing else []
    troubles += [
        f"the layout of {struct.aggregate} {struct.name} is unreliable: {struct.problem}"
        for struct in structs
        if struct.problem and (struct.randomised is None or struct.randomised.chances is None)
    ]
    if names:
        troubles += [
            f"{struct.aggregate} {struct.name} is declared but not defined"
            for struct in structs
            if struct.bit_size is None
        ]
    notes = tuple(dict.fromkeys(note for reading in readings for note in reading.notes))
    notes = notes if structs or names else (*notes, f"{path} defines no structs or unions")
    is_kernel = any(reading.is_kernel for reading in readings)
    inputs_read = tuple(replace(reading, structs=()) for reading in readings)
    return StructListing(tuple(structs), (*troubles, *unread), notes, is_kernel, inputs_read)


def _missing_structs(path: str, names: list[str], options: ReadOptions) -> Iterator[Unread]:
    """Yield the failure for each requested name that no struct has."""
    from layoutlint.lint.missing_name import missing_name_hint  # only mistakes need it

    known = inputs.names((path,), options)
    for name in names:
        yield Unread(path, f"no struct {name}{missing_name_hint(name, (path,), options, known)}")


def _randomise(
    path: str, readings: list[Reading], options: ReadOptions, build: Randomisation
) -> list[Reading]:
    """Return the readings with the layouts of a randomised build; read the structs they depend on too."""
    from layoutlint.randstruct import randomisation

    structs = [struct for reading in readings for struct in reading.structs]
    needed = (randomisation.embedded_names(structs) | build.named_structs) - {
        struct.name for struct in structs
    }
    needed_readings = inputs.read((path,), Wanted(needed), options)[0] if needed else []
    build = build.with_unused_notes((*readings, *needed_readings))
    if build.seed is None:
        return [_with_chances(reading, needed_readings, build) for reading in readings]
    results = [randomisation.relay_structs(reading, needed_readings, build) for reading in readings]
    return [
        replace(reading, structs=result.structs, notes=(*reading.notes, *result.notes))
        for reading, result in zip(readings, results, strict=True)
    ]


def _with_chances(reading: Reading, context: list[Reading], build: Randomisation) -> Reading:
    """Return a reading in which structs that a seed would shuffle say where their members can land."""
    from layoutlint.randstruct.unseeded import UnseededInput

    free = UnseededInput(reading, context, build)
    structs = tuple(_with_any_order(struct, free) for struct in reading.structs)
    return replace(reading, structs=structs, notes=(*reading.notes, *free.notes))


def _with_any_order(struct: Struct, free: UnseededInput) -> Struct:
    from layoutlint.model.randomised import Randomisation as StructRandomisation
    from layoutlint.randstruct.c_abi import CannotLayOut
    from layoutlint.randstruct.chances import draw_chances

    if struct.problem is not None or struct.bit_size is None:
        return struct
    try:
        shape = free.shape_of(struct)
        if shape is None:
            return struct
        chances = draw_chances(shape)
    except CannotLayOut as error:
        return replace(struct, problem=f"its randomised layouts are not known: {error}")
    kernel = free.how.plugin.name if free.how.mode.startswith("gcc") else None
    how = StructRandomisation(free.how.mode, None, kernel, shape.stream is not None, chances)
    return replace(struct, problem="its order is random, and the seed is not known", randomised=how)
