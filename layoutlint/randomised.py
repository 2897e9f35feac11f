"""What `check` judges of a build that randomises layouts: its structs, and what embeds them, in its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from layoutlint import inputs, placed, randstruct
from layoutlint.containers import Container
from layoutlint.definitions import element_bits
from layoutlint.model import Field, Reading, ReadOptions, Struct, Target, Unread, Wanted
from layoutlint.placed import Surroundings
from layoutlint.randstruct import Randomisation
from layoutlint.rule import CannotTell


@dataclass(frozen=True, slots=True)
class Known:
    """The inputs as they declare their structs, and all that the layouts of these depend on."""

    readings: list[Reading]
    embedded: dict[str, list[Reading]]
    """By inputs, what their structs embed."""
    around: Surroundings
    containers: dict[Target, tuple[Struct, ...]]
    """Whatever holds a struct that a rule file calls embedded."""

    def held(self, path: str) -> list[Reading]:
        """What the structs of one input embed."""
        return self.embedded.get(path, [])


def read(
    paths: tuple[str, ...], wanted: Wanted, names: frozenset[str], options: ReadOptions
) -> tuple[Known, list[Unread]]:
    """The inputs; `names` are those of structs that rule files call embedded."""
    options = replace(options, marks=True)
    readings, unread, around = placed.read(paths, wanted, names, options)
    structs = [struct for reading in readings for struct in reading.structs]
    containers = {target: _holding(around, target, structs, names) for target in around.indices}
    holders = [struct for some in containers.values() for struct in some]
    more = randstruct.embedded((*structs, *holders)) | {struct.name for struct in holders}
    embedded: dict[str, list[Reading]] = {}
    for reading in inputs.read(paths, Wanted(more), options)[0] if more else ():
        embedded.setdefault(reading.path, []).append(reading)
    return Known(readings, embedded, around, containers), unread


def _holding(
    around: Surroundings, target: Target, structs: Iterable[Struct], names: frozenset[str]
) -> tuple[Struct, ...]:
    """Whatever holds one of the structs of some names, at any depth."""
    found: dict[int, Struct] = {}
    for struct in structs:
        if struct.target == target and any(struct.answers_to(name) for name in names):
            try:
                ways = around.containers(struct)
            except CannotTell:
                continue  # which is said when the struct is judged
            found.update((id(way.struct), way.struct) for way in ways)
    return tuple(found.values())


def built(known: Known, how: Randomisation) -> tuple[list[Reading], Surroundings]:
    """The readings with the layouts that one seed gives, and what embeds their structs likewise.

    Raises UsageError for a name of a member that is not there.
    """
    readings: list[Reading] = []
    declared: dict[int, Struct] = {}
    for reading in known.readings:
        redone = randstruct.redone(reading, known.held(reading.path), how)
        readings.append(replace(reading, structs=redone.structs, notes=(*reading.notes, *redone.notes)))
        declared.update((id(new), old) for new, old in zip(redone.structs, reading.structs, strict=True))
    holders: dict[int, Struct] = {}
    for target, structs in known.containers.items():
        held = [one for some in known.embedded.values() for one in some if one.target == target]
        if structs and held:
            new = randstruct.redone(replace(held[0], structs=structs), held, how).structs
            holders.update((id(old), struct) for old, struct in zip(structs, new, strict=True))
    return readings, _Built(known.around.indices, declared, holders)


@dataclass(frozen=True, slots=True)
class _Built(Surroundings):
    """Everything that embeds a struct of one build."""

    declared: dict[int, Struct] = field(default_factory=dict)
    """By the identity of a struct as it is built."""
    holders: dict[int, Struct] = field(default_factory=dict)
    """Containers as they are built, by the identity of what is declared."""

    def containers(self, struct: Struct) -> list[Container]:
        """Every place in which a struct is embedded; raises CannotTell."""
        declared = self.declared[id(struct)]
        ways = super(_Built, self).containers(declared)
        return [self._moved(way, declared) for way in ways]

    def _moved(self, way: Container, struct: Struct) -> Container:
        """A container as it is built."""
        new = self.holders[id(way.struct)]
        if new.problem is not None:
            return replace(way, struct=new)
        fields = inside(way, struct, new)
        if fields is None:
            raise CannotTell(f"where `{way.path}` stands in {new.aggregate} {new.name} cannot be told")
        arrays = zip(way.arrays, (f for f in fields if f.dims), strict=True)
        strided = tuple(replace(array, bit_stride=element_bits(f, None)) for array, f in arrays)
        offset = sum(f.bit_offset for f in fields)
        return replace(way, struct=new, bit_offset=offset, arrays=strided)


def inside(way: Container, struct: Struct, new: Struct) -> tuple[Field, ...] | None:
    """The fields that lead down to an embedded struct in its container as it is built.

    `struct` is what is embedded, as it is declared; None where no field, or more than one, could be meant.
    """
    declared = [
        fields
        for fields in _along(way.struct.fields, way.path)
        if sum(f.bit_offset for f in fields) == way.bit_offset and fields[-1].members == struct.fields
    ]
    types = {fields[-1].type for fields in declared}
    found = [fields for fields in _along(new.fields, way.path) if fields[-1].type in types]
    return found[0] if len(found) == 1 else None


def _along(fields: tuple[Field, ...], path: str) -> Iterator[tuple[Field, ...]]:
    """Every way down that a dotted path can mean; members without a name are on it without a dot."""
    first, _, rest = path.partition(".")
    for member in fields:
        if member.name is not None and member.name != first:
            continue
        left = path if member.name is None else rest
        if not left:
            yield (member,)
        yield from ((member, *inner) for inner in _along(member.members, left))
