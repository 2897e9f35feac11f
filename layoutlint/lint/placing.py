"""The placements of structs: by themselves in memory, or inside containers, as rule files declare them."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.errors import RuleFileError
from layoutlint.geometry import placement
from layoutlint.geometry.allocators import contradiction
from layoutlint.geometry.containers import Container
from layoutlint.geometry.field_types import Finder
from layoutlint.geometry.layout import Alignment, Layout
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import (
    AreDecided,
    CannotTell,
    Companions,
    Context,
    Owners,
    UnreliableLayout,
)
from layoutlint.judgement.namesakes import Namesakes
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.shown_places import is_variable
from layoutlint.model.aligner import LINUX, Aligner
from layoutlint.model.reading import Reading, Version
from layoutlint.model.record import Record, field, replace
from layoutlint.model.storage import EMBEDDED, Storage
from layoutlint.model.struct_table import StructTable
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.phrases import first_few

_LONG_LINE = 4096
"""More bytes of a line than in any target's."""


class Case(Record, frozen=True):
    """The placements of a struct for one choice of the possible alignments of it or its containers."""

    placements: Placements
    aligns: tuple[int, ...] = ()
    """The alignments of the struct, in bytes, that lead to the placements; empty for an embedded struct."""
    containers: tuple[str, ...] = ()
    """The containers whose alignment decides on the placements."""
    alignment: str = ""
    """Which of their possible alignments the containers have."""


class RulePlacements(Record, frozen=True):
    """Computes the placements of structs for a rule."""

    pack: Pack
    surroundings: Surroundings
    line_size: int | None = None
    min_align: int | None = None
    in_pairs: bool = False
    """Whether `line_size` is the size of an aligned pair of lines."""
    aligner: Aligner = LINUX
    """What aligns declarations in the source."""
    companions: Companions | None = None
    """What the sources show on fields that are changed together."""
    decided: AreDecided | None = None
    """What other rules decide about pairs of fields."""
    owners: Owners | None = None
    """What the sources show on elements that threads write."""
    namesakes: Namesakes | None = None
    """The struct that is judged, among all definitions of its name in the input, if there are several."""
    _embedded_cases: dict[bool, StructTable[tuple[Case, ...]]] = field(
        default_factory=lambda: {False: StructTable(), True: StructTable()}
    )
    """The cases of embedded structs, by `is_settled`: a struct can have hundreds of containers and several
    rules."""
    _containers: list[dict[int, list[tuple[Container, Context]]]] = field(default_factory=list)
    """The result of `structs_with_accesses`, by the definition of the container; empty until computed."""
    _finder: Finder = field(default_factory=Finder)

    def widen_to_pairs(self, target: Target) -> RulePlacements:
        """Return the placements with aligned pairs of lines instead of lines."""
        line_size = placement.pair_size(self.line_size, target)
        return RulePlacements(
            self.pack,
            self.surroundings,
            line_size,
            self.min_align,
            True,
            self.aligner,
            self.companions,
            self.decided,
            self.owners,
        )

    def cases(self, layout: Layout) -> tuple[Case, ...]:
        """Return `usual_cases` with the places at which inputs show the struct; raises the same errors."""
        return self.add_shown_places(layout, self.usual_cases(layout))

    def smallest_unplaced(self, struct: Struct) -> int | None:
        """Return the smallest alignment of the allocator, if objects can be aligned to less, and not by it.

        None if no container or variable can add a place: a rule file declares the placement, the struct is
        aligned to more, or its layouts are random.
        """
        shown = self.surroundings.shown
        if shown is None or self.pack.storage(struct) is not None:
            return None
        smallest = self.min_align or struct.target.min_align
        return smallest if shown.is_below(struct, smallest) else None

    def at_every_byte(self, layout: Layout, smallest: int) -> Placements | None:
        """Return the placements at all bytes of a line: in packed containers, objects can be anywhere.

        None if that takes longer than `add_shown_places`: because it has read the inputs for `smallest`
        already, or the line is long.
        """
        shown, line = self.surroundings.shown, self.line_size or layout.struct.target.line_size
        if line > _LONG_LINE or (shown is not None and shown.has_read(smallest)):
            return None
        everywhere = placement.placements(layout, self.line_size, 1, None, Alignment(1, "packed"))
        return replace(everywhere, in_pairs=self.in_pairs, source_aligner=self.aligner)

    def add_shown_places(self, layout: Layout, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return cases with the places that containers, arrays and variables of the inputs add.

        Several for each, if that depends on the alignments of containers. Raises CannotTell.
        """
        smallest, shown = self.smallest_unplaced(layout.struct), self.surroundings.shown
        if smallest is None or shown is None:
            return cases
        ways = shown.containers(layout.struct, smallest)
        found: dict[object, Case] = {}
        for chosen, description in ((None, ""), (-1, "the largest possible"), (0, "the smallest possible")):
            places = [place for way in ways for place in self._shown_in(way, chosen)]
            for case in cases:
                placements = placement.add_places(case.placements, places)
                new = replace(case, placements=placements)
                if chosen is not None:
                    new = Case(placements, (), _with_open_alignment(ways), description)
                found.setdefault(placements_key(placements), new)
        return tuple(found.values())

    def _shown_in(self, way: Container, chosen: int | None) -> Iterator[Placements]:
        """Yield the placements at one place of a container or variable with a known layout.

        `chosen` is one of the possible alignments of the container, by its number; None for the likeliest.
        """
        struct = way.struct
        if struct.bit_size is None or struct.problem is not None:
            return
        if is_variable(struct):
            line = self.line_size or struct.target.line_size
            outer, name = placement.variable_placements(struct, line), f"variable `{way.written}`"
        else:
            layout, storage = Layout(struct), self.pack.storage(struct)
            if storage is not None and storage.word == EMBEDDED:
                return  # its containers are others of the struct
            align = None if chosen is None else Alignment(layout.alignments[chosen], "one that it may have")
            outer = self._placements(layout, storage, align or layout.align)
            name = f"`{way.written}` at {way.offset} of {struct.aggregate} {struct.name}"
        place = placement.shown_placements(way, name, outer)
        if place is not None:
            yield place

    def usual_cases(self, layout: Layout, is_settled: bool = False) -> tuple[Case, ...]:
        """Return the placements of a struct, the likeliest first; several if an unknown alignment decides.

        They are in containers if a rule file declares the struct as embedded, else in allocated memory. With
        `is_settled`, containers have the alignments that their uses prove, as the layout then has. Raises
        CannotTell, and RuleFileError for a declared placement that the struct cannot have.
        """
        storage = self._storage(layout.struct, layout)
        if storage is not None and storage.word == EMBEDDED:
            known = self._embedded_cases[is_settled]
            cases = known.find(layout.struct)
            return cases or known.add(layout.struct, self._cases_in_containers(layout.struct, is_settled))
        return self.cases_alone(layout, storage)

    def cases_alone(self, layout: Layout, storage: Storage | None = None) -> tuple[Case, ...]:
        """Return the placements of a struct in allocated memory, whatever a rule file or a kernel says."""
        likely = self._placements(layout, storage, layout.align)
        if len(layout.alignments) == 1:
            return (Case(likely, layout.alignments),)
        return tuple(self._distinct_cases(layout, storage, likely))

    def is_of_caches(self, struct: Struct) -> bool:
        """Return whether only slab caches of a kernel tell where objects start: other structs hold others."""
        storage = None if self.pack.slabs is None else self.pack.storage(struct)
        return storage is not None and bool(storage.caches) and self.pack.stated_storage(struct) is None

    def add_holders(self, struct: Struct, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return cases with the places in all structs that contain one. Raises CannotTell."""
        if self.surroundings.shown is None:
            raise CannotTell("the layouts of what embeds it are not known")
        outer = [(way, self.pack.storage(way.struct)) for way in self.surroundings.shown.holders(struct)]
        if not outer:
            return cases
        return tuple(
            replace(inside, placements=_join(case.placements, inside.placements), aligns=case.aligns)
            for case in cases
            for inside in self._cases_by_alignment(outer)
        )

    def _distinct_cases(self, layout: Layout, storage: Storage | None, likely: Placements) -> Iterator[Case]:
        """Yield the placements of a struct with several possible alignments, each once."""
        cases = {placements_key(likely): (likely, list[int]())}
        for value in layout.alignments:
            placements = self._placements(layout, storage, Alignment(value, "one that it may have"))
            cases.setdefault(placements_key(placements), (placements, []))[1].append(value)
        for placements, aligns in cases.values():
            yield Case(placements, tuple(aligns))

    def context(self, layout: Layout, placements: Placements, is_one_of_many: bool = False) -> Context:
        """Return the context in which a kind judges a struct, with the declared accesses."""
        struct = layout.struct
        storage, accesses = self.pack.storage(struct), self.pack.accesses(struct)
        return Context(
            layout,
            placements,
            accesses,
            storage,
            self.min_align,
            self._finder,
            is_one_of_many,
            self.companions,
            self.decided,
            self.owners,
            self.namesakes,
        )

    def structs_with_accesses(
        self, container: Container, placements: Placements
    ) -> list[tuple[Container, Context]]:
        """Return the structs in a container for which the rule file declares accesses. Raises CannotTell."""
        if not self._containers:
            by_container: dict[int, list[tuple[Container, Context]]] = {}
            target = container.struct.target
            for struct in self.surroundings.definitions(target, self.pack.structs_with_accesses):
                context = self.context(Layout(struct), placements)
                for way in self.surroundings.containers(struct):
                    by_container.setdefault(way.definition, []).append((way, context))
            self._containers.append(by_container)
        return self._containers[0].get(container.definition, [])

    def _placements(self, layout: Layout, storage: Storage | None, align: Alignment) -> Placements:
        placements = placement.placements(layout, self.line_size, self.min_align, storage, align)
        return replace(placements, in_pairs=self.in_pairs, source_aligner=self.aligner)

    def _storage(self, struct: Struct, layout: Layout) -> Storage | None:
        """Return the declared placement of a struct; raise RuleFileError if the struct cannot have it."""
        storage = self.pack.storage(struct)
        if storage is not None:
            name = f"{struct.aggregate} {struct.name}"
            least = None if struct.align is None else layout.alignments[0]
            mistake = contradiction(storage, name, placement.allocation_request(layout), least)
            if mistake is not None:
                raise RuleFileError((f"{storage.source}: {mistake}",))
        return storage

    def _cases_in_containers(self, struct: Struct, is_settled: bool) -> tuple[Case, ...]:
        """Return the placements in all containers that are not themselves declared as embedded."""
        outer, ways = [], self.surroundings.containers(struct, self.line_size)
        for way in ways:
            if is_settled:
                way = replace(way, struct=self.surroundings.settle(way.struct))
            storage = None if way.struct.bit_size is None else self._storage(way.struct, Layout(way.struct))
            if storage is None or storage.word != EMBEDDED:
                outer.append((way, storage))
        if not outer:
            name = f"{struct.aggregate} {struct.name}"
            if not ways:
                raise CannotTell(f"nothing in the inputs embeds {name}")
            containers = first_few(tuple(dict.fromkeys(way.struct.name for way in ways)))
            raise CannotTell(f"all containers of {name} are declared as embedded themselves: {containers}")
        return tuple(self._cases_by_alignment(outer))

    def _cases_by_alignment(self, outer: list[tuple[Container, Storage | None]]) -> Iterator[Case]:
        """Yield the placements in containers for each alignment that these can have, the likeliest first.

        A larger alignment leaves a subset of the bases of a smaller one. So an outcome that the smallest and
        the largest share holds between them too, unless elements of arrays stand side by side.
        """
        layouts = [Layout(way.struct) for way, _ in outer]
        likely = [self._placements_inside(way, storage, None) for way, storage in outer]
        yield Case(first := placement.combine_placements(likely))
        if all(len(layout.alignments) == 1 for layout in layouts):
            return
        yielded, differing = {placements_key(first)}, dict[str, None]()
        smallest, *between, largest = sorted({align for layout in layouts for align in layout.alignments})
        choices = [(smallest, "the smallest possible"), (largest, "the largest possible")]
        if any(placements.rows for placements in likely):
            choices[1:1] = [(align, str(align)) for align in between]
        for limit, description in choices:
            chosen = []
            for (way, storage), layout, usual in zip(outer, layouts, likely, strict=True):
                value = max([layout.alignments[0], *(a for a in layout.alignments if a <= limit)])
                placements = usual
                if value != layout.align.value:
                    align = Alignment(value, "one that it may have")
                    placements = self._placements_inside(way, storage, align)
                if placements_key(placements) != placements_key(usual):
                    differing[way.struct.name] = None
                    chosen.append(placements)
                else:
                    chosen.append(usual)
            merged = placement.combine_placements(chosen)
            if placements_key(merged) not in yielded:
                yielded.add(placements_key(merged))
                yield Case(merged, (), tuple(differing), description)

    def _placements_inside(
        self, way: Container, storage: Storage | None, align: Alignment | None
    ) -> Placements:
        container = f"{way.struct.aggregate} {way.struct.name}"
        if way.struct.problem is not None:
            raise UnreliableLayout(f"the layout of {container} is unreliable: {way.struct.problem}")
        placements = placement.embedded_placements(way, self.line_size, self.min_align, storage, align)
        if placements is None:
            raise CannotTell(f"the size of what lies between {container} and `{way.path}` is not known")
        return replace(placements, in_pairs=self.in_pairs, source_aligner=self.aligner)


class PlacementTable(Record, frozen=True):
    """The placements in one input by rule: they depend on its version of Linux and its unit of lines."""

    pack: Pack
    reading: Reading
    surroundings: Surroundings
    line_size: int | None = None
    min_align: int | None = None
    aligner: Aligner = LINUX
    """What aligns declarations in its source."""
    companions: Companions | None = None
    """What its sources show on fields that are changed together."""
    decided: AreDecided | None = None
    """What other packs decide about pairs of fields."""
    owners: Owners | None = None
    """What its sources show on elements that threads write."""
    _by_version: dict[tuple[Version | None, bool], RulePlacements] = field(default_factory=dict)

    def select(self, rule: Rule) -> RulePlacements:
        """Return the placements for a rule.

        If the input states no version, the pack's declarations for a version of the rule's `when` apply.
        """
        version = self.reading.kernel or rule.when.some_version
        key = version, rule.line_pairs
        if key not in self._by_version:
            pack = self.pack.select_for(replace(self.reading, kernel=version))
            placements = RulePlacements(
                pack,
                self.surroundings,
                self.line_size,
                self.min_align,
                aligner=self.aligner,
                companions=self.companions,
                decided=self.decided,
                owners=self.owners,
            )
            in_lines = not rule.line_pairs
            self._by_version[key] = placements if in_lines else placements.widen_to_pairs(self.reading.target)
        return self._by_version[key]


def _join(alone: Placements, inside: Placements) -> Placements:
    """Return the places of objects that are alone in memory, and of those in other structs."""
    both = placement.combine_placements((alone, *(inside.parts or (inside,))))
    return replace(both, why=f"{alone.why}; and {inside.why}")


def _with_open_alignment(ways: list[Container]) -> tuple[str, ...]:
    """Return the names of the containers with several possible alignments."""
    structs = (way.struct for way in ways if way.struct.bit_size is not None)
    return tuple(dict.fromkeys(s.name for s in structs if len(Layout(s).alignments) > 1))


def placements_key(placements: Placements) -> tuple[object, ...]:
    """Return the part of placements on which a verdict can depend: all but the reasons."""
    parts = frozenset(map(placements_key, placements.parts))
    return placements.bases, placements.rows, parts
