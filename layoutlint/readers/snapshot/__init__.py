"""Reads snapshots: layouts that `layoutlint snapshot` recorded (docs/snapshot.md)."""

from __future__ import annotations

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import SNAPSHOT_OF, Omission, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few
from layoutlint.readers.snapshot.decode import decode
from layoutlint.readers.snapshot.record import LARGEST


def load(path: str) -> Reading:
    """Return all that a snapshot states. Raises ReadError with place and cause."""
    try:
        data = files.read_all(path, LARGEST)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    return decode(data, path)


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a snapshot. Raises ReadError with place and cause."""
    return select(load(path), wanted, options)


def select(reading: Reading, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a snapshot that was decoded. Raises ReadError for another reader."""
    recorded = reading.reader.removeprefix(SNAPSHOT_OF)
    if options.reader is not None and options.reader not in recorded:
        reason = f"is a snapshot of what was read by {recorded}, not by {options.reader}"
        raise ReadError(reading.path, reason)
    if wanted.names_only:
        structs = reading.structs
        names = frozenset(name for struct in structs for name in (struct.name, *struct.aliases))
        return replace(reading, structs=(), names=names)
    own = wanted.narrow(reading.is_kernel)
    named = [_with_requested_typedefs(struct, own) for struct in reading.structs]
    embedding = _containers(named, own.with_containers)
    selected = tuple(
        struct for struct in named if id(struct.fields) in embedding or _is_requested(struct, own)
    )
    reading = replace(reading, structs=selected)
    return _with_missing_containers(reading, own) if options.finds_omissions else reading


def _with_missing_containers(reading: Reading, wanted: Wanted) -> Reading:
    """Return a reading with an omission for requested containers that were not recorded."""
    recorded = frozenset[str]() if reading.chosen is None else frozenset(reading.chosen.containers_of)
    missing = wanted.names_embedded(reading.structs) - recorded
    if not missing:
        return reading
    lacks = "containers" if reading.chosen else "containers without a name, and local ones,"
    reason = f"the snapshot has no {lacks} of {first_few(sorted(missing))}: record it with the rules"
    return replace(reading, omissions=(*reading.omissions, Omission(reason, missing)))


def _is_requested(struct: Struct, wanted: Wanted) -> bool:
    is_named = any(map(wanted.matches, (struct.name, *struct.aliases)))
    is_declared = (
        struct.source is not None and bool(wanted.files) and wanted.is_declared_in(struct.source.file)
    )
    return is_named or is_declared or (wanted.annotated and bool(struct.annotations))


def _with_requested_typedefs(struct: Struct, wanted: Wanted) -> Struct:
    """Return a struct with the requested typedefs, as from every reader."""
    if not struct.aliases:
        return struct
    by_name = replace(wanted, everything=False)
    aliases = tuple(filter(by_name.matches, struct.aliases))
    hides = bool(aliases) and Unstated.ALIGNED in struct.unstated
    # With a typedef it can have more alignments than were recorded for its tag.
    return replace(struct, aliases=aliases, possible=0 if hides else struct.possible)


def _containers(structs: list[Struct], names: frozenset[str]) -> frozenset[int]:
    """Return the identities of the members of structs that embed one of some names, at any depth."""
    if not names:
        return frozenset()
    by_members = {id(struct.fields): struct for struct in structs}
    holds: dict[int, bool] = {}

    def embeds(fields: tuple[Field, ...]) -> bool:
        key = id(fields)
        if key not in holds:
            holds[key] = False
            holds[key] = any(
                _is_named(member, by_members, names) or embeds(member.members)
                for member in fields
                if member.aggregate is not None
            )
        return holds[key]

    return frozenset(id(struct.fields) for struct in structs if embeds(struct.fields))


def _is_named(member: Field, by_members: dict[int, Struct], names: frozenset[str]) -> bool:
    struct = by_members.get(id(member.members)) if member.members else None
    known = () if struct is None else (struct.name, *struct.aliases)
    spelled = (member.type, *member.underlying_types)
    words = {each.left.rpartition(" ")[2] for each in spelled}
    return not names.isdisjoint((*known, *words))
