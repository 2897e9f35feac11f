"""What embeds a struct, in everything that some inputs define, for `containers`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutlint.errors import ReadError, did_you_mean
from layoutlint.geometry.containers import Embedded, Index, TooManyWays
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Contained:
    """Definitions of a name with their containers, what could not be told, and what the user should know."""

    found: tuple[Embedded, ...]
    troubles: tuple[str, ...]
    notes: tuple[str, ...]


def list_containers(paths: tuple[str, ...], name: str, is_direct: bool, options: ReadOptions) -> Contained:
    """The containers of a struct, or of what a typedef stands for, in all inputs; raises ReadError."""
    held = frozenset((name,))
    readings, unread, indices = _indexed(paths, Wanted(held=held), options)
    unsettled = frozenset(typedef for index in indices for typedef in index.unsettled(name))
    if unsettled:  # typedefs of structs without members, mostly: their names alone tell what they stand for
        readings, unread, indices = _indexed(paths, Wanted(unsettled, held=held), options)
    found: list[Embedded] = []
    left = sorted({typedef for index in indices for typedef in index.unsettled(name)})
    troubles = [f"which struct `{typedef}` stands for cannot be told" for typedef in left]
    for index in indices:
        for struct in index.definitions(name):
            untyped = index.untyped(struct)
            if untyped is not None:
                called = f"{struct.aggregate} {struct.name}"
                troubles.append(f"the type of {untyped} is not in the input, and {called} may be there")
            try:
                found.append(Embedded(struct, tuple(index.containers(name, struct, is_direct))))
            except TooManyWays as error:
                troubles.append(str(error))
    if not found and not troubles:
        near = did_you_mean(name, _names(readings, indices, options))
        troubles.append(f"{', '.join(paths)}: struct {name} is not there{near}")
    troubles += [trouble for each in found for trouble in _troubles(each)]
    notes = tuple(dict.fromkeys(note for reading in readings for note in reading.notes))
    return Contained(tuple(found), (*dict.fromkeys(troubles), *map(str, unread)), notes)


def _names(readings: list[Reading], indices: list[Index], options: ReadOptions) -> set[str]:
    """What structs are called in inputs that were asked for the containers of one."""
    known = {name for index in indices for name in index.names}
    others = dict.fromkeys(reading.path for reading in readings if reading.reader != "clang")
    # Of C text everything was read already.
    return known | inputs.names(tuple(others), options) if others else known


def _indexed(
    paths: tuple[str, ...], wanted: Wanted, options: ReadOptions
) -> tuple[list[Reading], list[Unread], list[Index]]:
    """What is read of some inputs, and an index for each target. Raises ReadError when nothing can be."""
    readings, unread = inputs.read(paths, wanted, options)
    if not readings:
        raise ReadError(unread[0].origin, unread[0].reason)
    structs: dict[Target, list[Struct]] = {}
    for reading in readings:
        told = (reading.path,) if len(paths) > 1 else ()
        of_target = structs.setdefault(reading.target, [])
        of_target += [replace(s, files=s.files or told) for s in reading.structs] if told else reading.structs
    return readings, unread, [Index(of_target) for of_target in structs.values()]


def _troubles(found: Embedded) -> list[str]:
    """What keeps definitions from being believed."""
    every = (found.struct, *(way.struct for way in found.containers))
    missing = [f"{s.aggregate} {s.name} is declared but not defined" for s in every[:1] if s.bit_size is None]
    return missing + [f"{s.aggregate} {s.name} cannot be believed: {s.problem}" for s in every if s.problem]
