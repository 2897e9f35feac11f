"""Finds the structs in some inputs that embed a struct, for `containers`."""

from __future__ import annotations

from layoutlint.errors import ReadError
from layoutlint.geometry.containers import EmbeddedStruct, Index, TooManyContainers
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs


class ContainerListing(Record, frozen=True):
    """Definitions of a name with their containers, problems of the listing, and notes for the user."""

    definitions: tuple[EmbeddedStruct, ...]
    troubles: tuple[str, ...]
    notes: tuple[str, ...]
    inputs: tuple[Reading, ...] = ()
    """What was read, without structs."""


def list_containers(
    paths: tuple[str, ...], name: str, is_direct: bool, options: ReadOptions
) -> ContainerListing:
    """Return the containers of a struct, or of the struct behind a typedef; raises ReadError."""
    embedded = frozenset((name,))
    wanted = Wanted(with_containers=embedded, embedded=(name,))
    options = replace(options, finds_omissions=True)
    readings, unread, indices = _read_indices(paths, wanted, options)
    unsettled = frozenset(typedef for index in indices for typedef in index.ambiguous_typedefs(name))
    if unsettled:  # mostly typedefs of structs without members: only their names identify them
        readings, unread, indices = _read_indices(paths, replace(wanted, names=unsettled), options)
    definitions: list[EmbeddedStruct] = []
    ambiguous = sorted({typedef for index in indices for typedef in index.ambiguous_typedefs(name)})
    troubles = [f"it is unknown which struct typedef `{typedef}` names" for typedef in ambiguous]
    for index in indices:
        for struct in index.definitions(name):
            untyped = index.field_without_type(name, struct)
            if untyped is not None:
                label = f"{struct.aggregate} {struct.name}"
                troubles.append(f"the type of {untyped} is not in the input; it may contain {label}")
            try:
                definitions.append(EmbeddedStruct(struct, tuple(index.containers(name, struct, is_direct))))
            except TooManyContainers as error:
                troubles.append(str(error))
    if not definitions and not troubles:
        from layoutlint.lint.missing_name import missing_name_hint  # only mistakes need it

        near = missing_name_hint(name, paths, options, _names(readings, indices, options))
        troubles.append(f"{', '.join(paths)}: no struct {name}{near}")
    troubles += [trouble for definition in definitions for trouble in _troubles(definition)]
    whole = [reading for reading in readings if reading.chosen is None]  # a note says what a choice lacks
    omissions = ((reading.path, omission) for reading in whole for omission in reading.omissions)
    troubles += [f"{path}: {each.reason}" for path, each in omissions if name in (each.structs or ())]
    notes = tuple(dict.fromkeys(note for reading in readings for note in reading.notes))
    read = tuple(replace(reading, structs=()) for reading in readings)
    return ContainerListing(tuple(definitions), (*dict.fromkeys(troubles), *map(str, unread)), notes, read)


def _names(readings: list[Reading], indices: list[Index], options: ReadOptions) -> set[str]:
    """Return the names of all structs in the inputs."""
    names = {name for index in indices for name in index.names}
    others = dict.fromkeys(reading.path for reading in readings if reading.reader != "clang")
    # C source was read in full already.
    return names | inputs.names(tuple(others), options) if others else names


def _read_indices(
    paths: tuple[str, ...], wanted: Wanted, options: ReadOptions
) -> tuple[list[Reading], list[Unread], list[Index]]:
    """Read inputs; return readings, failures, and an index for each target. Raises ReadError if all fail."""
    readings, unread = inputs.read(paths, wanted, options)
    if not readings:
        raise ReadError(unread[0].origin, unread[0].reason)
    structs: dict[Target, list[Struct]] = {}
    for reading in readings:
        files = (reading.path,) if len(paths) > 1 else ()
        of_target = structs.setdefault(reading.target, [])
        of_target += (
            [replace(struct, files=struct.files or files) for struct in reading.structs]
            if files
            else reading.structs
        )
    return readings, unread, [Index(of_target) for of_target in structs.values()]


def _troubles(definition: EmbeddedStruct) -> list[str]:
    """Return the problems of the layouts of a struct and its containers."""
    structs = (definition.struct, *(container.struct for container in definition.containers))
    missing = [
        f"{struct.aggregate} {struct.name} is declared but not defined"
        for struct in structs[:1]
        if struct.bit_size is None
    ]
    return missing + [
        f"the layout of {struct.aggregate} {struct.name} is unreliable: {struct.problem}"
        for struct in structs
        if struct.problem
    ]
