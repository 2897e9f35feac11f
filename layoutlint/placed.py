"""Where the objects of a struct can be, by what rule files say: by itself in memory, or inside others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from layoutlint import allocators, inputs, placement
from layoutlint.allocators import EMBEDDED, Storage
from layoutlint.containers import Container, Index, TooManyWays
from layoutlint.errors import RuleFileError
from layoutlint.layout import Alignment, Layout, is_pattern
from layoutlint.model import Reading, ReadOptions, Struct, Target, Unread, Version, Wanted, some_of
from layoutlint.placement import Placements
from layoutlint.proofs import Proofs
from layoutlint.rule import CannotTell, Context, Pack, Rule
from layoutlint.settled import settle
from layoutlint.typed import Finder

if TYPE_CHECKING:
    from layoutlint.randstruct.shapes import Shape


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything that the inputs define, where a rule file says that a struct is embedded in it."""

    indices: dict[Target, Index] = field(default_factory=dict)
    proofs: Proofs | None = None
    """What uses of structs tell of alignments; None where structs do not stand as they are declared."""

    def settled(self, struct: Struct) -> Struct:
        """Return a struct with the alignments that its uses leave; the first time reads more inputs."""
        return struct if self.proofs is None else self.proofs.settled(struct)

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Every place in which a struct is embedded, in all inputs for its target; raises CannotTell.

        Of places in many orders of fields, those count once that are the same modulo `line_size`, in bytes.
        """
        index = self.indices[struct.target]
        left = sorted(index.unsettled(struct.name))
        if left:
            raise CannotTell(f"which struct `{left[0]}` stands for cannot be told")
        untyped = index.untyped(struct)
        if untyped is not None:
            called = f"{struct.aggregate} {struct.name}"
            raise CannotTell(f"the type of {untyped} is not in the input, and {called} may be there")
        try:
            return index.containers(struct.name, index.same(struct))
        except TooManyWays as error:
            raise CannotTell(str(error)) from None

    def answering(self, target: Target, names: Iterable[str]) -> list[Struct]:
        """Every definition that one of some names and patterns means, as far as its layout is known."""
        index = self.indices[target]
        wanted = tuple(names)
        found = {
            id(struct): struct
            for known in index.names
            if any(fnmatchcase(known, name) for name in wanted)
            for struct in index.definitions(known)
        }
        return [struct for struct in found.values() if struct.bit_size is not None and struct.problem is None]

    @property
    def is_random(self) -> bool:
        """Whether it is that of a build that randomises."""
        return False

    def shape(self, struct: Struct) -> Shape | None:
        """How a struct may be laid out in a build whose seed is not known; None where it is as declared.

        Raises CannotTell.
        """
        return None


@dataclass(frozen=True, slots=True)
class Case:
    """The placements of a struct, if it or its containers have some of the alignments that are possible."""

    placements: Placements
    aligns: tuple[int, ...] = ()
    """Those of the struct for which these are the placements; empty for a struct in containers."""
    containers: tuple[str, ...] = ()
    """The containers whose alignment decides on them."""
    what: str = ""
    """Which alignments those have."""


@dataclass(frozen=True, slots=True)
class Where:
    """What the placements of a struct depend on, besides the struct."""

    pack: Pack
    surroundings: Surroundings
    line_size: int | None = None
    min_align: int | None = None
    in_pairs: bool = False
    """Whether `line_size` is that of an aligned pair of lines."""
    _known: dict[tuple[int, bool], tuple[Case, ...]] = field(default_factory=dict)
    """Of embedded structs, which have hundreds of containers and several rules, by identity; with and
    without what uses tell."""
    _held: list[dict[int, list[tuple[Container, Context]]]] = field(default_factory=list)
    """What `declared_in` says, by the identity of containers; empty until it is asked."""
    _finder: Finder = field(default_factory=Finder)

    def paired(self, target: Target) -> Where:
        """Return the same with aligned pairs of lines in the place of lines."""
        return Where(
            self.pack, self.surroundings, placement.pair_size(self.line_size, target), self.min_align, True
        )

    def cases(self, layout: Layout, is_settled: bool = False) -> tuple[Case, ...]:
        """The placements of a struct, the likeliest first; several where an unknown alignment decides.

        With `is_settled`, containers have the alignments that their uses leave, as the layout then has.
        Raises CannotTell, and RuleFileError for a placement that the struct cannot have.
        """
        storage = self._storage(layout.struct, layout)
        if storage is not None and storage.word == EMBEDDED:
            key = id(layout.struct), is_settled
            if key not in self._known:
                self._known[key] = self._embedded(layout.struct, is_settled)
            return self._known[key]
        likely = self._of(layout, storage, layout.align)
        if len(layout.alignments) == 1:
            return (Case(likely, layout.alignments),)
        return tuple(self._different(layout, storage, likely))

    def _different(self, layout: Layout, storage: Storage | None, likely: Placements) -> Iterator[Case]:
        """The placements of a struct of several possible alignments, each once."""
        found = {_places(likely): (likely, list[int]())}
        for value in layout.alignments:
            one = self._of(layout, storage, Alignment(value, "one that it may have"))
            found.setdefault(_places(one), (one, []))[1].append(value)
        for placements, aligns in found.values():
            yield Case(placements, tuple(aligns))

    def context(self, layout: Layout, placements: Placements, is_one_of_many: bool = False) -> Context:
        """What a kind judges a struct by, with the accesses that the rule file declares."""
        struct = layout.struct
        storage, accesses = self.pack.storage(struct), self.pack.accesses(struct)
        return Context(layout, placements, accesses, storage, self.min_align, self._finder, is_one_of_many)

    def declared_in(self, container: Struct, placements: Placements) -> list[tuple[Container, Context]]:
        """The structs in a container of which the rule file declares accesses. Raises CannotTell."""
        if not self._held:
            found: dict[int, list[tuple[Container, Context]]] = {}
            for struct in self.surroundings.answering(container.target, self.pack.declared):
                held = self.context(Layout(struct), placements)
                for way in self.surroundings.containers(struct):
                    found.setdefault(id(way.struct), []).append((way, held))
            self._held.append(found)
        return self._held[0].get(id(container), [])

    def _of(self, layout: Layout, storage: Storage | None, align: Alignment) -> Placements:
        found = placement.of(layout, self.line_size, self.min_align, storage, align)
        return replace(found, in_pairs=self.in_pairs)

    def _storage(self, struct: Struct, layout: Layout) -> Storage | None:
        """What the rule file says of a struct, if the struct can be there."""
        storage = self.pack.storage(struct)
        if storage is not None:
            called = f"{struct.aggregate} {struct.name}"
            least = None if struct.align is None else layout.alignments[0]
            wrong = allocators.contradiction(storage, called, placement.wanting(layout), least)
            if wrong is not None:
                raise RuleFileError((f"{storage.source}: {wrong}",))
        return storage

    def _embedded(self, struct: Struct, is_settled: bool) -> tuple[Case, ...]:
        """The placements in every container that is not itself only embedded in others."""
        outer, ways = [], self.surroundings.containers(struct, self.line_size)
        for way in ways:
            if is_settled:
                way = replace(way, struct=self.surroundings.settled(way.struct))
            storage = None if way.struct.bit_size is None else self._storage(way.struct, Layout(way.struct))
            if storage is None or storage.word != EMBEDDED:
                outer.append((way, storage))
        if not outer:
            called = f"{struct.aggregate} {struct.name}"
            if not ways:
                raise CannotTell(f"nothing in the inputs embeds {called}")
            names = some_of(tuple(dict.fromkeys(way.struct.name for way in ways)))
            raise CannotTell(f"all that embed {called} are said to be embedded themselves: {names}")
        return tuple(self._in_any(outer))

    def _in_any(self, outer: list[tuple[Container, Storage | None]]) -> Iterator[Case]:
        """The placements in containers, for each alignment that these can have: their own next to it.

        A larger alignment leaves some of the bases of a smaller one, so that what holds for the smallest and
        the largest holds between; but not where elements of arrays stand beside one another.
        """
        layouts = [Layout(way.struct) for way, _ in outer]
        likely = [self._inside(way, storage, None) for way, storage in outer]
        yield Case(first := placement.anywhere(likely))
        if all(len(layout.alignments) == 1 for layout in layouts):
            return
        known, different = {_places(first)}, dict[str, None]()
        smallest, *between, largest = sorted({each for layout in layouts for each in layout.alignments})
        steps = [(smallest, "the smallest possible"), (largest, "the largest possible")]
        if any(one.rows for one in likely):
            steps[1:1] = [(each, str(each)) for each in between]
        for step, what in steps:
            found = []
            for (way, storage), layout, usual in zip(outer, layouts, likely, strict=True):
                value = max([layout.alignments[0], *(a for a in layout.alignments if a <= step)])
                one = usual
                if value != layout.align.value:
                    one = self._inside(way, storage, Alignment(value, "one that it may have"))
                if _places(one) != _places(usual):
                    different[way.struct.name] = None
                    found.append(one)
                else:
                    found.append(usual)
            other = placement.anywhere(found)
            if _places(other) not in known:
                known.add(_places(other))
                yield Case(other, (), tuple(different), what)

    def _inside(self, way: Container, storage: Storage | None, align: Alignment | None) -> Placements:
        called = f"{way.struct.aggregate} {way.struct.name}"
        if way.struct.problem is not None:
            raise CannotTell(f"the layout of {called} cannot be told: {way.struct.problem}")
        found = placement.inside(way, self.line_size, self.min_align, storage, align)
        if found is None:
            raise CannotTell(f"the size of what lies between {called} and `{way.path}` is not known")
        return replace(found, in_pairs=self.in_pairs)


@dataclass(frozen=True, slots=True)
class Wheres:
    """What the placements in one input depend on, by rule: by its version of Linux and its unit of lines."""

    pack: Pack
    reading: Reading
    surroundings: Surroundings
    line_size: int | None = None
    min_align: int | None = None
    _known: dict[tuple[Version | None, bool], Where] = field(default_factory=dict)

    def of(self, rule: Rule) -> Where:
        """Return what the placements depend on for one rule.

        If the input states no version, what the pack says of structs is taken for one that the rule is for.
        """
        version = self.reading.kernel or rule.when.some_version
        if (version, rule.line_pairs) not in self._known:
            pack = self.pack.applied(replace(self.reading, kernel=version))
            where = Where(pack, self.surroundings, self.line_size, self.min_align)
            chosen = where.paired(self.reading.target) if rule.line_pairs else where
            self._known[version, rule.line_pairs] = chosen
        return self._known[version, rule.line_pairs]


def _places(placements: Placements) -> tuple[object, ...]:
    """What a verdict can depend on: not the reasons."""
    parts = frozenset(map(_places, placements.parts))
    return placements.bases, placements.rows, parts


def embedded(packs: Iterable[Pack]) -> frozenset[str]:
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


def read(paths: tuple[str, ...], wanted: Wanted, names: frozenset[str], options: ReadOptions) -> Found:
    """The inputs; where structs of some names are embedded, with everything that can hold them.

    The readings have the wanted structs alone.
    """
    if not names:
        readings, unread = inputs.read(paths, wanted, options)
        readings = settle(readings)
        return readings, unread, Surroundings({}, _proofs(readings, wanted, options))
    if any(is_pattern(name) for name in names):
        asked = replace(wanted, everything=True)
    else:
        asked = replace(wanted, held=names)
    readings, unread = inputs.read(paths, asked, options)
    readings = settle(readings)
    around = _surroundings(readings, _proofs(readings, asked, options))
    unsettled = {typedef for index in around.indices.values() for typedef in _unsettled(index, names)}
    if unsettled:  # typedefs of structs without members, mostly: their names alone tell what they stand for
        asked = replace(asked, names=asked.names | unsettled)
        readings, unread = inputs.read(paths, asked, options)
        readings = settle(readings)
        around = _surroundings(readings, _proofs(readings, asked, options))
    return [_narrowed(reading, wanted) for reading in readings], unread, around


def _proofs(readings: list[Reading], asked: Wanted, options: ReadOptions) -> Proofs:
    return Proofs(tuple(readings), asked.everything, options)


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
