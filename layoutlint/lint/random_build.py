"""What `check` judges of a build that randomises layouts: its structs, and what embeds them, in its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from layoutlint.geometry.containers import Container
from layoutlint.geometry.definitions import element_bits
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import CannotTell
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.reading import Found, read_inputs
from layoutlint.model import alignment
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import marked_linux, probability, randomisation, view
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.order_tree import TooManyOrders
from layoutlint.randstruct.randomisation import Randomisation
from layoutlint.randstruct.shape import Laid, Shape
from layoutlint.randstruct.unseeded import Free
from layoutlint.readers import inputs

_DRAWN = 400
"""Orders of a container that are drawn before all are looked at."""


@dataclass(frozen=True, slots=True)
class Known:
    """The inputs as they declare their structs, and all that the layouts of these depend on."""

    readings: list[Reading]
    embedded: dict[str, list[Reading]]
    """By inputs, what their structs embed, and the structs that are said to be marked."""
    around: Surroundings
    containers: dict[Target, tuple[Struct, ...]]
    """Whatever holds a struct that a rule file calls embedded."""

    def held(self, path: str) -> list[Reading]:
        """The same of one input."""
        return self.embedded.get(path, [])


def read(
    paths: tuple[str, ...],
    wanted: Wanted,
    names: frozenset[str],
    options: ReadOptions,
    how: Randomisation,
    line_size: int | None,
) -> Found:
    """The inputs and what embeds their structs, as one seed lays them out, or as any may.

    `names` are those of structs that rule files call embedded. Raises UsageError for a name of a member that
    is not there, and for an input that was not built so.
    """
    options = replace(options, marks=True)
    readings, unread, around = read_inputs(paths, wanted, names, options)
    for reading in readings:
        how.of(reading)
    known = _known(readings, around, names, options, how.named)
    how = how.among((*readings, *(one for some in known.embedded.values() for one in some)))
    readings, around = _free(known, how, line_size) if how.seed is None else _built(known, how)
    return readings, unread, around


def _known(
    readings: list[Reading],
    around: Surroundings,
    names: frozenset[str],
    options: ReadOptions,
    marked: frozenset[str] = frozenset(),
) -> Known:
    """What was read, with what the layouts depend on and the `marked` structs, which are read besides."""
    structs = [struct for reading in readings for struct in reading.structs]
    containers = {target: _holding(around, target, structs, names) for target in around.indices}
    holders = [struct for some in containers.values() for struct in some]
    more = randomisation.embedded((*structs, *holders)) | {struct.name for struct in holders} | marked
    embedded: dict[str, list[Reading]] = {}
    paths = tuple(dict.fromkeys(reading.path for reading in readings))
    for reading in inputs.read(paths, Wanted(more), options)[0] if more else ():
        embedded.setdefault(reading.path, []).append(reading)
    return Known(readings, embedded, around, containers)


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


def refused(found: Found, names: frozenset[str], options: ReadOptions) -> Found:
    """Readings of inputs that a compiler has shuffled, where nothing was said of how.

    Structs whose order in the build is not the declared one, which GCC's debug information has, are not told.
    """
    readings, unread, around = found
    shuffled = [one for one in readings if one.shuffled is not None and one.shuffled.by == "gcc"]
    known = _known(shuffled, around, names, options)
    checked = {id(one): _refused(one, known.held(one.path)) for one in shuffled}
    moved: dict[int, str] = {}
    for one in shuffled:
        structs = tuple(s for some in known.containers.values() for s in some if s.target == one.target)
        for old, new in zip(
            structs, _refused(replace(one, structs=structs), known.held(one.path)).structs, strict=True
        ):
            if new.problem is not None:
                moved[id(old)] = f"{new.aggregate} {new.name}: {new.problem}"
    readings = [checked.get(id(one), one) for one in readings]
    return readings, unread, _Refused(around.indices, around.proofs, moved)


def _refused(reading: Reading, known: Iterable[Reading]) -> Reading:
    """A reading whose shuffled structs have a problem."""
    how = reading.shuffled
    if how is None:
        return reading
    mode = how.mode or "gcc-full"
    free = Free(reading, known, Randomisation(mode, None))
    told = (
        f"the build puts its fields into a random order ({how.sign}), and its debug information has the "
        f"declared one: give --randstruct {mode}, with the --seed if it is known"
    )
    note = (
        f"GCC put fields into a random order ({how.sign}): structs that Linux {marked_linux.VERSION} marks "
        "for it, and those of function pointers, are not judged; others are taken not to be marked"
    )
    structs = tuple(replace(one, problem=told) if _may_move(free, one) else one for one in reading.structs)
    return replace(reading, structs=structs, notes=(*reading.notes, note))


def _may_move(free: Free, struct: Struct) -> bool:
    if struct.problem is not None or struct.bit_size is None:
        return False
    try:
        return free.of(struct) is not None
    except CannotLayOut:
        return True


@dataclass(frozen=True, slots=True)
class _Refused(Surroundings):
    """Everything that embeds a struct, where some of it stands in an order that is not known."""

    moved: dict[int, str] = field(default_factory=dict)
    """Why containers cannot be told, by their identity."""

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Every place in which a struct is embedded; raises CannotTell."""
        ways = super(_Refused, self).containers(struct)
        why = next((self.moved[id(way.struct)] for way in ways if id(way.struct) in self.moved), None)
        if why is not None:
            raise CannotTell(f"the layout of a container cannot be told: {why}")
        return ways


def _free(known: Known, how: Randomisation, line_size: int | None) -> tuple[list[Reading], Surroundings]:
    """The readings, and what embeds their structs, as any seed may lay them out."""
    of_any = _Any(known.around.indices, None, line_size)
    readings = []
    for reading in known.readings:
        free = Free(reading, known.held(reading.path), how)
        of_any.frees.update((id(struct), free) for struct in reading.structs)
        readings.append(replace(reading, notes=(*reading.notes, *_shaped(free, reading.structs))))
    for target, structs in known.containers.items():
        held = [one for some in known.embedded.values() for one in some if one.target == target]
        if structs and held:
            free = Free(held[0], held, how)
            of_any.frees.update((id(struct), free) for struct in structs)
    return readings, of_any


def _shaped(free: Free, structs: Iterable[Struct]) -> tuple[str, ...]:
    """What is assumed of some structs, as sentences."""
    for struct in structs:
        with suppress(CannotLayOut):
            free.of(struct)
    return free.notes


@dataclass(frozen=True, slots=True)
class _Any(Surroundings):
    """Everything that embeds a struct, in builds whose seed is not known."""

    line_size: int | None = None
    """Bytes in a line; None for the target's."""
    frees: dict[int, Free] = field(default_factory=dict)
    """By the identity of a struct."""

    @property
    def is_random(self) -> bool:
        """Whether it is that of a build that randomises."""
        return True

    def shape(self, struct: Struct) -> Shape | None:
        """How a struct may be laid out; None where it is as declared. Raises CannotTell."""
        free = self.frees.get(id(struct))
        if free is None:
            raise CannotTell(
                f"how {struct.aggregate} {struct.name} is laid out in that build was not looked at"
            )
        try:
            return free.of(struct)
        except CannotLayOut as why:
            raise CannotTell(f"its randomised layouts cannot be told: {why}") from None

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Every place in which a struct is embedded, in every order; raises CannotTell."""
        found: dict[tuple[object, ...], Container] = {}
        line = line_size or self.line_size or struct.target.line_size
        for way in super(_Any, self).containers(struct):
            shape = self.shape(way.struct)
            for one in [way] if shape is None else _places(way, struct, shape, line):
                strides = tuple((array.count, array.bit_stride) for array in one.arrays)
                found.setdefault((id(way.struct), way.path, one.offset % line, strides), one)
        return list(found.values())


def _places(way: Container, struct: Struct, shape: Shape, line: int) -> Iterator[Container]:
    """Where an embedded struct stands in a container, in all orders that its members may have.

    Orders drawn by chance show most of it; where they do not show every place that its alignment allows, all
    are looked at, and where these are too many, every such place counts.
    """
    align = Layout(struct).align.value
    wanted, found = set(range(0, line, align)), set[int]()
    for _, known in probability.drawn(shape, _DRAWN):
        one = _moved(way, struct, _built_struct(way.struct, shape, known))
        found.add(one.offset % line)
        yield one
        if found >= wanted and not way.arrays:
            return
    path = tuple(way.path.split(".")) if way.path else ()
    question = view.question(shape, (path,), not path, needs_size=True)
    try:
        for chance in probability.counted(shape, question):
            yield _moved(way, struct, _built_struct(way.struct, shape, shape.all_laid(chance.orders)))
    except TooManyOrders:
        yield from (replace(way, bit_offset=offset * 8) for offset in wanted - found)


def _built_struct(struct: Struct, shape: Shape, known: Mapping[Shape, Laid]) -> Struct:
    """A struct in one of the orders that it may have."""
    return alignment.reordered(struct, shape.moved(known), known[shape].bit_size, shape.align)


def _built(known: Known, how: Randomisation) -> tuple[list[Reading], Surroundings]:
    """The readings with the layouts that one seed gives, and what embeds their structs likewise.

    Raises UsageError for a name of a member that is not there.
    """
    readings: list[Reading] = []
    declared: dict[int, Struct] = {}
    for reading in known.readings:
        redone = randomisation.redone(reading, known.held(reading.path), how)
        readings.append(replace(reading, structs=redone.structs, notes=(*reading.notes, *redone.notes)))
        declared.update((id(new), old) for new, old in zip(redone.structs, reading.structs, strict=True))
    holders: dict[int, Struct] = {}
    for target, structs in known.containers.items():
        held = [one for some in known.embedded.values() for one in some if one.target == target]
        if structs and held:
            new = randomisation.redone(replace(held[0], structs=structs), held, how).structs
            holders.update((id(old), struct) for old, struct in zip(structs, new, strict=True))
    return readings, _Built(known.around.indices, None, declared, holders)


@dataclass(frozen=True, slots=True)
class _Built(Surroundings):
    """Everything that embeds a struct of one build."""

    declared: dict[int, Struct] = field(default_factory=dict)
    """By the identity of a struct as it is built."""
    holders: dict[int, Struct] = field(default_factory=dict)
    """Containers as they are built, by the identity of what is declared."""

    @property
    def is_random(self) -> bool:
        """Whether it is that of a build that randomises."""
        return True

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Every place in which a struct is embedded; raises CannotTell."""
        declared = self.declared[id(struct)]
        ways = super(_Built, self).containers(declared)
        return [_moved(way, declared, self.holders[id(way.struct)]) for way in ways]


def _moved(way: Container, struct: Struct, new: Struct) -> Container:
    """A container as it is built; `struct` is what it embeds, as it is declared."""
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
