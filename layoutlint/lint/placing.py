"""Where the objects of a struct can be, by what rule files say: by itself in memory, or inside others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from layoutlint.errors import RuleFileError
from layoutlint.geometry import placement
from layoutlint.geometry.allocators import contradiction
from layoutlint.geometry.containers import Container
from layoutlint.geometry.field_types import Finder
from layoutlint.geometry.layout import Alignment, Layout
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.lint.embedding import Surroundings
from layoutlint.model.reading import Reading, Version
from layoutlint.model.storage import EMBEDDED, Storage
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.phrases import some_of


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
            wrong = contradiction(storage, called, placement.wanting(layout), least)
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
