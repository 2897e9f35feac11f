"""The structs of one input that are asked for, for `show`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from layoutlint.errors import ReadError, did_you_mean
from layoutlint.geometry.alignment_proofs import Proofs
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs

if TYPE_CHECKING:
    from layoutlint.randstruct.randomisation import Randomisation


@dataclass(frozen=True, slots=True)
class Shown:
    """Structs to show, what could not be shown, and what the user should know of it, as sentences."""

    structs: tuple[Struct, ...]
    troubles: tuple[str, ...]
    notes: tuple[str, ...]


def list_structs(
    path: str, names: tuple[str, ...], options: ReadOptions, how: Randomisation | None = None
) -> Shown:
    """The structs of one input that the names and patterns mean, or all for no names; raises ReadError.

    They have the layouts of a build that randomises where `how` says so.
    """
    options = replace(options, marks=how is not None)
    patterns = tuple(name for name in names if is_pattern(name))
    asked = Wanted(frozenset(names) - set(patterns), patterns, everything=not names)
    readings, unread = inputs.read((path,), asked, options)
    if not readings:
        raise ReadError(unread[0].origin, unread[0].reason)
    if how is not None:
        readings = _randomised(path, readings, options, how)
    elif asked.everything:  # uses of structs by name would have to be read as well
        proofs = Proofs(tuple(readings), True, partial(inputs.read, options=options))
        readings = [replace(r, structs=tuple(map(proofs.settled, r.structs))) for r in readings]
    structs = sorted(
        (struct for reading in readings for struct in reading.structs),
        key=lambda s: (s.name, str(s.source or ""), s.origin),
    )
    missing = [name for name in names if not any(s.answers_to(name) for s in structs)]
    known = inputs.names((path,), options) if missing else ()
    troubles = [f"{path}: struct {name} is not there{did_you_mean(name, known)}" for name in missing]
    troubles += [f"{s.aggregate} {s.name} cannot be believed: {s.problem}" for s in structs if s.problem]
    if names:
        troubles += [
            f"{s.aggregate} {s.name} is declared but not defined" for s in structs if s.bit_size is None
        ]
    notes = tuple(dict.fromkeys(note for reading in readings for note in reading.notes))
    notes = notes if structs or names else (*notes, f"{path} defines no structs or unions")
    return Shown(tuple(structs), (*troubles, *map(str, unread)), notes)


def _randomised(
    path: str, readings: list[Reading], options: ReadOptions, how: Randomisation
) -> list[Reading]:
    """The readings with the layouts of a build; what they depend on is read as well, by its names."""
    from layoutlint.randstruct import randomisation

    structs = [struct for reading in readings for struct in reading.structs]
    more = (randomisation.embedded(structs) | how.named) - {struct.name for struct in structs}
    known = inputs.read((path,), Wanted(more), options)[0] if more else []
    how = how.among((*readings, *known))
    redone = [randomisation.redone(one, known, how) for one in readings]
    return [
        replace(one, structs=new.structs, notes=(*one.notes, *new.notes))
        for one, new in zip(readings, redone, strict=True)
    ]
