"""Reading inputs of builds that randomise layouts: structs and containers, in the order of the build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from layoutlint.geometry.containers import Container
from layoutlint.geometry.definitions import element_bits
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import CannotTell, UnreliableLayout
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs, read_inputs
from layoutlint.model import possible_alignments
from layoutlint.model.overlaps import is_overlapping
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import Record, field, replace
from layoutlint.model.struct_table import StructTable
from layoutlint.model.structs import Field, Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import marked_linux, probability, randomisation, view
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.order_tree import TooManyOrders
from layoutlint.randstruct.randomisation import Randomisation
from layoutlint.randstruct.shape import Shape, ShapeLayout
from layoutlint.randstruct.unseeded import UnseededInput
from layoutlint.readers import inputs

_DRAWN = 400
"""How many orders of a container are drawn at random before all orders are counted."""


_Containers = dict[int, Struct]
"""Structs that contain others, by `Container.definition`."""


class DeclaredInputs(Record, frozen=True):
    """The inputs as they declare their structs, with the structs on which the layouts depend."""

    readings: list[Reading]
    embedded: dict[str, list[Reading]]
    """By the path of an input: readings of the structs that its structs embed, and of the marked ones."""
    surroundings: Surroundings
    containers: dict[Target, _Containers]
    """The structs that contain a struct which rule files declare as embedded."""

    def embedded_readings(self, path: str) -> list[Reading]:
        """Return the readings of the structs that the structs of one input embed."""
        return self.embedded.get(path, [])


def read(paths: tuple[str, ...], wanted: Wanted, embedded: frozenset[str], options: Options) -> Inputs:
    """Read inputs with the layouts that the seed of the options gives, or that any seed can give.

    `embedded` are the names of structs that rule files declare as embedded. Raises UsageError for a name of a
    member that does not exist, and for an input that was not built so.
    """
    how = options.randomised
    if how is None:
        return read_inputs(paths, wanted, embedded, options.read)
    read_options = replace(options.read, with_marks=True)
    inputs_read = read_inputs(paths, wanted, embedded, read_options)
    for reading in inputs_read.readings:
        how.settle(reading)
    declared = _read_dependencies(
        inputs_read.readings, inputs_read.surroundings, embedded, read_options, how.named_structs
    )
    how = how.with_unused_notes(
        (*inputs_read.readings, *(each for readings in declared.embedded.values() for each in readings))
    )
    if how.seed is None:
        readings, surroundings = _with_any_order(declared, how, options.line_size)
    else:
        readings, surroundings = _with_order_of_seed(declared, how)
    return replace(inputs_read, readings=readings, surroundings=surroundings)


def _read_dependencies(
    readings: list[Reading],
    surroundings: Surroundings,
    names: frozenset[str],
    options: ReadOptions,
    marked: frozenset[str] = frozenset(),
) -> DeclaredInputs:
    """Read the structs on which the layouts of readings depend, and the structs that are `marked` by name."""
    structs = [struct for reading in readings for struct in reading.structs]
    containers = {
        target: _containers_of(surroundings, target, structs, names) for target in surroundings.indices
    }
    holders = [struct for of_target in containers.values() for struct in of_target.values()]
    wanted = randomisation.embedded_names((*structs, *holders)) | {struct.name for struct in holders} | marked
    embedded: dict[str, list[Reading]] = {}
    paths = tuple(dict.fromkeys(reading.path for reading in readings))
    for reading in inputs.read(paths, Wanted(wanted), options)[0] if wanted else ():
        embedded.setdefault(reading.path, []).append(reading)
    return DeclaredInputs(readings, embedded, surroundings, containers)


def _containers_of(
    surroundings: Surroundings, target: Target, structs: Iterable[Struct], names: frozenset[str]
) -> _Containers:
    """Return the structs that contain a struct of one of the names, at any depth."""
    containers: _Containers = {}
    for struct in structs:
        if struct.target == target and any(struct.matches(name) for name in names):
            try:
                ways = surroundings.containers(struct)
            except CannotTell:
                continue  # reported when the struct is judged
            containers.update((way.definition, way.struct) for way in ways)
    return containers


def mark_unknown_orders(inputs_read: Inputs, embedded: frozenset[str], options: ReadOptions) -> Inputs:
    """Mark the structs whose order a compiler has shuffled and the options do not state.

    The debug information of GCC has their declared order, so they cannot be judged.
    """
    readings, surroundings = inputs_read.readings, inputs_read.surroundings
    shuffled = [reading for reading in readings if _is_by_gcc(reading)]
    declared = _read_dependencies(shuffled, surroundings, embedded, options)
    moved: dict[tuple[Target, int], str] = {}
    for reading in shuffled:
        containers = declared.containers.get(reading.target, {})
        of_containers = replace(reading, structs=tuple(containers.values()))
        marked = _mark_reading(of_containers, declared.embedded_readings(reading.path)).structs
        for definition, struct in zip(containers, marked, strict=True):
            if struct.problem is not None:
                moved[reading.target, definition] = f"{struct.aggregate} {struct.name}: {struct.problem}"
    return replace(
        inputs_read,
        readings=[
            _mark_reading(reading, declared.embedded_readings(reading.path))
            if _is_by_gcc(reading)
            else reading
            for reading in readings
        ],
        surroundings=_UnknownOrder(surroundings.indices, surroundings.proofs, moved=moved),
    )


def _is_by_gcc(reading: Reading) -> bool:
    return reading.shuffled is not None and reading.shuffled.by == "gcc"


def _mark_reading(reading: Reading, embedded: Iterable[Reading]) -> Reading:
    """Return a reading whose shuffled structs have a problem; `embedded` are the structs inside of them."""
    how = reading.shuffled
    if how is None:
        return reading
    mode = how.mode or "gcc-full"
    free = UnseededInput(reading, embedded, Randomisation(mode, None))
    problem = (
        f"the build puts its fields into a random order ({how.sign}), and its debug information has the "
        f"declared one: give --randstruct {mode}, with the --seed if it is known"
    )
    note = (
        f"GCC put fields into a random order ({how.sign}): structs that Linux {marked_linux.VERSION} marks "
        "for it, and those of function pointers, are not judged; others are assumed not to be marked"
    )
    structs = tuple(
        replace(struct, problem=problem)
        if _may_be_reordered(free, struct) or is_overlapping(struct)
        else struct
        for struct in reading.structs
    )
    return replace(reading, structs=structs, notes=(*reading.notes, note))


def _may_be_reordered(free: UnseededInput, struct: Struct) -> bool:
    if struct.problem is not None or struct.bit_size is None:
        return False
    try:
        return free.shape_of(struct) is not None
    except CannotLayOut:
        return True


class _UnknownOrder(Surroundings, frozen=True):
    """The containers in a build that has shuffled some of them into an unknown order."""

    moved: dict[tuple[Target, int], str] = field(default_factory=dict)
    """The problems of containers, by target and `Container.definition`."""

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Return every place in which a struct is embedded; raises CannotTell."""
        ways = super().containers(struct)
        problems = (self.moved.get((struct.target, way.definition)) for way in ways)
        problem = next(filter(None, problems), None)
        if problem is not None:
            raise UnreliableLayout(f"the layout of a container is unreliable: {problem}")
        return ways


def _with_any_order(
    declared: DeclaredInputs, how: Randomisation, line_size: int | None
) -> tuple[list[Reading], Surroundings]:
    """Return the readings and the containers, as any seed can lay them out."""
    readings, inputs_free, free_containers = [], [], {}
    for reading in declared.readings:
        free = UnseededInput(reading, declared.embedded_readings(reading.path), how)
        notes = (*reading.notes, *_notes_on_shapes(free, reading.structs))
        structs = tuple(
            randomisation.with_advice(struct) if how.scheme.is_gcc and is_overlapping(struct) else struct
            for struct in reading.structs
        )
        readings.append(replace(reading, structs=structs, notes=notes))
        inputs_free.append(free)
    for target, containers in declared.containers.items():
        embedded = _embedded_of_target(declared, target)
        if containers and embedded:
            free_containers[target] = UnseededInput(embedded[0], embedded, how)
    indices = declared.surroundings.indices
    return readings, _AnyOrder(indices, None, None, line_size, tuple(inputs_free), free_containers)


def _embedded_of_target(declared: DeclaredInputs, target: Target) -> list[Reading]:
    every = (reading for readings in declared.embedded.values() for reading in readings)
    return [reading for reading in every if reading.target == target]


def _notes_on_shapes(free: UnseededInput, structs: Iterable[Struct]) -> tuple[str, ...]:
    """Return notes with what is assumed about the layouts of structs."""
    for struct in structs:
        with suppress(CannotLayOut):
            free.shape_of(struct)
    return free.notes


class _AnyOrder(Surroundings, frozen=True):
    """The containers in builds whose seed is not known."""

    line_size: int | None = None
    """Bytes in a line; None for the target's."""
    inputs: tuple[UnseededInput, ...] = ()
    """What determines the possible layouts of the structs of each input."""
    free_containers: dict[Target, UnseededInput] = field(default_factory=dict)
    """What determines the possible layouts of containers, by target."""
    own: UnseededInput | None = None
    """What determines the possible layouts of the structs of this input."""

    def select(self, number: int) -> Surroundings:
        """Return the surroundings of the structs of one input."""
        return replace(self, own=self.inputs[number])

    @property
    def is_random(self) -> bool:
        """Whether the build randomises layouts."""
        return True

    def shape(self, struct: Struct) -> Shape | None:
        """Return the possible layouts of a struct; None for the declared one. Raises CannotTell."""
        return _shape(self.own, struct)

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Return every place in which a struct is embedded, in every order; raises CannotTell."""
        places: dict[tuple[object, ...], Container] = {}
        line = line_size or self.line_size or struct.target.line_size
        for way in super().containers(struct):
            shape = _shape(self.free_containers.get(struct.target), way.struct)
            for place in [way] if shape is None else _possible_places(way, struct, shape, line):
                strides = tuple((array.count, array.bit_stride) for array in place.arrays)
                places.setdefault((way.definition, way.path, place.offset % line, strides), place)
        return list(places.values())


def _shape(free: UnseededInput | None, struct: Struct) -> Shape | None:
    """Return the possible layouts of a struct; None for the declared one. Raises CannotTell."""
    if free is None:
        raise CannotTell(f"the layout of {struct.aggregate} {struct.name} in that build was not computed")
    try:
        return free.shape_of(struct)
    except CannotLayOut as why:
        raise CannotTell(f"its randomised layouts are not known: {why}") from None


def _possible_places(way: Container, struct: Struct, shape: Shape, line: int) -> Iterator[Container]:
    """Yield the places of an embedded struct in a container, over all orders of the container's members.

    Orders drawn at random show most of the places. If they do not show every place that the alignment allows,
    all orders are counted; if there are too many orders, every such place counts.
    """
    align = Layout(struct).align.value
    aligned, offsets = set(range(0, line, align)), set[int]()
    for _, layouts in probability.sample_layouts(shape, _DRAWN):
        place = _container_as_built(way, struct, _struct_in_order(way.struct, shape, layouts))
        offsets.add(place.offset % line)
        yield place
        if offsets >= aligned and not way.arrays:
            return
    path = tuple(way.path.split(".")) if way.path else ()
    question = view.make_question(shape, (path,), not path, needs_size=True)
    try:
        for chance in probability.count_views(shape, question):
            new = _struct_in_order(way.struct, shape, shape.lay_out_all(chance.orders))
            yield _container_as_built(way, struct, new)
    except TooManyOrders:
        yield from (replace(way, bit_offset=offset * 8) for offset in aligned - offsets)


def _struct_in_order(struct: Struct, shape: Shape, layouts: Mapping[Shape, ShapeLayout]) -> Struct:
    """Return a struct in one of its possible orders."""
    return possible_alignments.reorder(
        struct, shape.move_members(layouts), layouts[shape].bit_size, shape.align
    )


def _with_order_of_seed(declared: DeclaredInputs, how: Randomisation) -> tuple[list[Reading], Surroundings]:
    """Return the readings and the containers with the layouts that one seed gives.

    Raises UsageError for a name of a member that does not exist.
    """
    readings: list[Reading] = []
    declared_structs: list[StructTable[Struct]] = []
    for reading in declared.readings:
        redone = randomisation.relay_structs(reading, declared.embedded_readings(reading.path), how)
        readings.append(replace(reading, structs=redone.structs, notes=(*reading.notes, *redone.notes)))
        table: StructTable[Struct] = StructTable()
        for new, old in zip(redone.structs, reading.structs, strict=True):
            table.add(new, old)
        declared_structs.append(table)
    built: dict[Target, _Containers] = {}
    for target, containers in declared.containers.items():
        embedded = _embedded_of_target(declared, target)
        if containers and embedded:
            of_target = replace(embedded[0], structs=tuple(containers.values()))
            structs = randomisation.relay_structs(of_target, embedded, how).structs
            built[target] = dict(zip(containers, structs, strict=True))
    return readings, _SeededOrder(declared.surroundings.indices, None, None, tuple(declared_structs), built)


class _SeededOrder(Surroundings, frozen=True):
    """The containers in a build whose seed is known."""

    inputs: tuple[StructTable[Struct], ...] = ()
    """For each input, the declared structs by the structs as they are built."""
    built: dict[Target, _Containers] = field(default_factory=dict)
    """The containers as they are built."""
    own: StructTable[Struct] = field(default_factory=StructTable)
    """The declared structs of this input."""

    def select(self, number: int) -> Surroundings:
        """Return the surroundings of the structs of one input."""
        return replace(self, own=self.inputs[number])

    @property
    def is_random(self) -> bool:
        """Whether the build randomises layouts."""
        return True

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Return every place in which a struct is embedded; raises CannotTell."""
        declared = self.own.find(struct) or struct
        built = self.built.get(struct.target, {})
        return [
            _container_as_built(way, declared, built[way.definition]) for way in super().containers(declared)
        ]


def _container_as_built(way: Container, struct: Struct, new: Struct) -> Container:
    """Return a container as it is built: as `new`. `struct` is the declared embedded struct."""
    if new.problem is not None:
        return replace(way, struct=new)
    fields = _fields_to(way, struct, new)
    if fields is None:
        raise CannotTell(f"the offset of `{way.path}` in {new.aggregate} {new.name} is not known")
    arrays = zip(way.arrays, (f for f in fields if f.dims), strict=True)
    strided = tuple(replace(array, bit_stride=element_bits(f, None)) for array, f in arrays)
    offset = sum(f.bit_offset for f in fields)
    return replace(way, struct=new, bit_offset=offset, arrays=strided)


def _fields_to(way: Container, struct: Struct, new: Struct) -> tuple[Field, ...] | None:
    """Return the fields that lead to an embedded struct in its container as it is built.

    `struct` is the declared embedded struct. Returns None if no field, or more than one, can be meant.
    """
    declared = [
        fields
        for fields in _fields_along(way.struct.fields, way.path)
        if sum(f.bit_offset for f in fields) == way.bit_offset and fields[-1].members == struct.fields
    ]
    types = {fields[-1].type for fields in declared}
    matches = [fields for fields in _fields_along(new.fields, way.path) if fields[-1].type in types]
    return matches[0] if len(matches) == 1 else None


def _fields_along(fields: tuple[Field, ...], path: str) -> Iterator[tuple[Field, ...]]:
    """Yield every way down that a dotted path can mean; unnamed members are on it without a dot."""
    first, _, rest = path.partition(".")
    for member in fields:
        if member.name is not None and member.name != first:
            continue
        remaining = path if member.name is None else rest
        if not remaining:
            yield (member,)
        yield from ((member, *inner) for inner in _fields_along(member.members, remaining))
