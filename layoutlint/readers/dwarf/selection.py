"""Selection of wanted structs: by name, through typedefs, and once for equal definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Final

from layoutlint.model.overlaps import Overlaps
from layoutlint.model.record import Record, field
from layoutlint.model.structs import (
    Aggregate,
    Annotation,
    Source,
    Struct,
    Unstated,
    hidden_name,
    untagged_fields,
)
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dwarf import foreign, producers
from layoutlint.readers.dwarf.foreign import ForeignStruct, KnownLayouts
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError, MissingFile
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.holders import CrossUnitReference, Holders
from layoutlint.readers.dwarf.scan import SHORTEST, Names, Positions, find_strings, find_types, walk
from layoutlint.readers.dwarf.types import annotation_tags
from layoutlint.readers.dwarf.types.decoder import DECLARATION, Body, Decoder, read_alignment
from layoutlint.readers.dwarf.types.spelling import (
    ATOMIC,
    DEEPEST,
    KEYWORDS,
    QUALIFIERS,
    SIGNATURE,
    TYPE,
    TYPEDEF,
)

Local = tuple[str, str]
"""A struct that is local to a function: its name, and where it is declared."""

_FEW: Final = 500
"""Up to this many names are looked up in .debug_str in advance; more are compared one by one."""
_HANDFUL: Final = 4
"""Up to this many names are searched one by one; one pass over .debug_str for all takes as long."""
_FILES: Final = 4
"""Files in which the names are looked up at a time: a program, its supplement, its package, a .dwo."""


class _Definition(Record, gc=False):
    """A definition while the units are read."""

    name: str
    aggregate: Aggregate
    body: Body
    source: Source | None
    origin: str
    is_tagged: bool
    annotations: tuple[Annotation, ...] = ()
    aliases: set[str] = field(default_factory=set)
    realigned: str = ""
    left_out: Unstated | None = None
    """What the input does not state of its alignment, if that differs from what its compiler leaves out."""

    def struct(self, target: Target, unstated: Unstated, overlaps: Overlaps) -> Struct:
        body, aliases = self.body, tuple(sorted(self.aliases))
        return Struct(
            self.name, self.aggregate, body.bit_size, body.align, body.fields, target, self.source,
            self.origin, aliases, body.problem(self.aggregate, overlaps), (), self.is_tagged, self.realigned,
            annotations=self.annotations, unstated=unstated if self.left_out is None else self.left_out,
            declared_order=body.declared_order,
        )  # fmt: skip


class OtherCompiler(Exception):
    """A unit's compiler leaves out something that was assumed to be stated."""

    def __init__(self, unstated: Unstated) -> None:
        super().__init__(unstated)
        self.unstated = unstated


class _Variant(Record, frozen=True):
    """A struct type under a typedef that gives it its own alignment, or size."""

    name: str
    """The typedef."""
    align: int | None
    """In bytes; None if unknown."""
    bit_size: int | None
    """The size of an atomic type; None for the struct's."""
    named_align: int | None = None
    """The alignment in bytes stated by the typedef that names a struct without a tag; None for none, or a
    tag."""

    def changes(self, body: Body) -> bool:
        """Return whether it differs from the struct as laid out, or from the typedef that names it."""
        struct_align = body.align if self.named_align is None else self.named_align
        return {self.align} != {struct_align, body.align} or self.bit_size not in (None, body.bit_size)


class DebugEntry(Record, frozen=True):
    """An entry, decoded."""

    unit: Unit
    position: int
    plan: Plan
    values: Values
    end: int


class Selection:
    """Collects the wanted structs of one file, unit after unit."""

    def __init__(
        self, wanted: Wanted, target: Target, unstated: Unstated | None = None, is_kernel: bool = False
    ) -> None:
        self._wanted = wanted
        self._target = target
        self._unstated = unstated
        self._left_out = producers.EVERYTHING if unstated is None else unstated
        self._decoder = Decoder(target, self._left_out, not is_kernel)
        hidden = Unstated.TYPEDEF | Unstated.ALIGNED
        self._hides_typedefs = not is_kernel and bool(self._left_out & hidden)
        """Whether typedefs may give structs alignments that are not stated; Linux is assumed to have none."""
        self._definitions: dict[tuple[object, ...], _Definition] = {}
        self._incomplete: dict[str, _Definition] = {}
        self._shapes_read: set[int] = set()
        """The shapes of the entries that were read."""
        self._asked_names = wanted.names | wanted.with_containers
        self._gives_more = wanted.everything or bool(wanted.with_containers)
        """Whether structs are included that were not asked for by name."""
        self._matches = cache(wanted.matches)
        self._is_declared_in = cache(wanted.is_declared_in)
        names, held_names = (
            lru_cache(_FILES)(partial(_look_up, chosen_names))
            for chosen_names in (self._asked_names, wanted.with_containers)
        )
        self._names: Callable[[Sections], Names | None] = _no_names if are_many(wanted) else names
        self._held_places = names if wanted.with_containers == self._asked_names else held_names
        self._holders = Holders()
        self._others = Positions()
        """Positions of types without a wanted name."""
        self._hidden = Positions() if wanted.embedded else None
        """Positions of structs that no rule can name, if they are wanted as containers."""
        self._hidden_definitions: dict[tuple[object, ...], _Definition] = {}
        self._of_type_units: list[_Definition] = []
        """Those without a name in type units, which merge the types of fields with those of variables."""
        self._is_annotated = lru_cache(_FILES)(partial(_can_have_annotated, wanted))

    def forget_places(self) -> None:
        """Forget everything that is known by positions, because a file is closed."""
        self._decoder.shapes.forget_places()

    def prepare(self, sections: Sections) -> None:
        """Look the names up, so that forks of this process need not."""
        self._names(sections)
        self._held_places(sections)
        self._is_annotated(sections)

    def find_entries(self, unit: Unit) -> list[int]:
        """Return the positions of the entries of a unit to read, including damaged ones.

        Raises DAMAGE if all of the unit is damaged.
        """
        plan, _, end = unit.root
        if not plan.has_children:
            return []
        new_among, names = self._decoder.shapes.new_among, self._names(unit.sections)
        is_annotated = self._is_annotated(unit.sections)
        hidden = self._hidden
        if hidden is not None:
            hidden.clear()
        if names is None or not (self._gives_more or is_annotated):
            return new_among(unit, walk(unit, end, names, None, hidden)) + self._hidden_hits(unit)
        others = self._others
        others.clear()
        named = walk(unit, end, names, others, hidden)
        if not self._wanted.with_containers or is_annotated:
            return new_among(unit, sorted((*named, *others.to_list()))) + self._hidden_hits(unit)
        exact = self._holders.find_named(unit, named, names)
        targets = self._holders.find_named(unit, named, self._held_places(unit.sections))
        hits = new_among(unit, sorted((*exact, *self._holders.find_holders(unit, targets, others))))
        # Their contents decide which of several equal structs the typedef of a field refers to.
        of_hidden = self._hidden_hits(unit, targets)
        roots = [*hits, *(-1 - hit for hit in of_hidden)]
        contained = new_among(unit, self._holders.find_contained(unit, roots)) if roots else []
        return sorted({*hits, *contained}.difference(roots[len(hits) :])) + of_hidden

    def _hidden_hits(self, unit: Unit, targets: list[int] | None = None) -> list[int]:
        """Return the hidden structs that hold one of the targets, each position as -1 - position.

        Raises CrossUnitReference.
        """
        hidden = self._hidden
        if hidden is None or not (positions := hidden.to_list()):
            return []
        if targets is not None:
            positions = self._holders.find_holders(unit, targets, hidden)
        return [-1 - position for position in self._decoder.shapes.new_among(unit, positions)]

    def read_entries(self, unit: Unit, hits: Sequence[int]) -> list[str]:
        """Read entries of one unit; return damaged positions and reasons, as sentences.

        Raises OtherCompiler for the first unit whose compiler leaves out something that was assumed to be
        stated.
        """
        damaged: list[str] = []
        if hits:
            self._refuse_other(unit)
        for position in hits:
            is_hidden = position < 0
            position = -1 - position if is_hidden else position
            try:
                shape = self._decoder.shapes.shape(unit, position)
                if shape not in self._shapes_read:
                    self._shapes_read.add(shape)
                    read = self._read_hidden if is_hidden else self._read_entry
                    read(entry_at(unit, position))
            except DAMAGE as error:
                damaged.append(describe_damage(unit, position, error))
        return damaged

    def local(self, unit: Unit) -> list[Local]:
        """Return the structs that are local to functions, of those seen by `find_entries`. Raises DAMAGE."""
        return self._list_defined(unit, unit.local or ())

    def foreign(self, unit: Unit) -> list[ForeignStruct]:
        """Return the structs with wanted names in a unit of another language, and what embeds them.

        Raises DAMAGE.
        """
        plan, _, end = unit.root
        if not plan.has_children:
            return []
        others = self._others
        others.clear()
        names = self._names(unit.sections)
        positions = find_types(unit, end, names, others if self._wanted.embedded else None)
        structs = [(*each, at) for at in positions for each in self._list_defined(unit, (at,))]
        found = [foreign.describe(name, place, *self._struct_at(unit, at)) for name, place, at in structs]
        embedded = Wanted(patterns=self._wanted.embedded)
        if unit.sections.has_signatures and embedded.patterns:
            return found + self._containers_by_names(unit, embedded)
        targets = {position: name for name, _, position in structs if embedded.matches(name)}
        return found + self._foreign_containers(unit, targets) if targets else found

    def _struct_at(self, unit: Unit, position: int) -> tuple[Unit, int]:
        """Return where the struct is to which an entry refers, if that is a typedef."""
        entry = entry_at(unit, position)
        if entry.plan.tag == TYPEDEF:
            entry = resolve_typedef(entry, "").struct or entry
        return entry.unit, entry.position

    def _foreign_containers(self, unit: Unit, targets: dict[int, str]) -> list[ForeignStruct]:
        """Return the structs of a unit in another language that embed one of the targets. Raises DAMAGE."""
        try:
            holders = self._holders.find_holders(unit, [*targets], self._others)
        except CrossUnitReference:
            return [ForeignStruct(name, unit.name, container="another unit") for name in targets.values()]
        found: list[ForeignStruct] = []
        for position in holders:
            if position not in targets:
                found += self._foreign_container(unit, position, targets.values())
        return found

    def _containers_by_names(self, unit: Unit, embedded: Wanted) -> list[ForeignStruct]:
        """Return what `_foreign_containers` does for a unit that refers to type units. Raises DAMAGE."""
        found: list[ForeignStruct] = []
        for position in self._others.to_list():
            names = filter(embedded.matches, foreign.contained_names(unit, position))
            found += self._foreign_container(unit, position, names)
        return found

    def _foreign_container(self, unit: Unit, position: int, names: Iterable[str]) -> list[ForeignStruct]:
        entry = entry_at(unit, position)
        if DECLARATION in entry.values:
            return []
        name = unit.text(entry.plan, entry.values, NAME) or "a struct without a name"
        place = str(self._decoder.source(unit, entry.values) or unit.name)
        return [ForeignStruct(target, place, container=name) for target in dict.fromkeys(names)]

    def merged_containers(self) -> list[Local]:
        """Return the structs of type units that are types of fields, and perhaps of variables as well."""
        every = (*self._definitions.values(), *self._hidden_definitions.values())
        inner = {id(member.members) for each in every for member in untagged_fields(each.body.fields)}
        merged = (each for each in self._of_type_units if id(each.body.fields) in inner)
        return sorted((each.name, str(each.source or each.origin)) for each in merged)

    def layouts(self) -> KnownLayouts:
        """Return the layouts of the collected structs, to compare those of other languages with."""
        known = KnownLayouts(frozenset(self._layouts()))
        for each in self._definitions.values():
            for name in (each.name, *each.aliases):
                fields = each.body.bit_size, foreign.whole_fields(each.body.fields)
                known.fields.setdefault(name, []).append(fields)
        return known

    def _layouts(self) -> Iterator[tuple[str, str, str]]:
        for each in self._definitions.values():
            body = each.body
            layout = foreign.describe_layout(body.bit_size, body.align, body.fields)
            yield from ((name, str(each.source), layout) for name in (each.name, *each.aliases))

    def _list_defined(self, unit: Unit, positions: Sequence[int]) -> list[Local]:
        """Return the structs of some entries that are wanted by name and defined, with their places."""
        structs: list[Local] = []
        for position in positions:
            entry = entry_at(unit, position)
            name = entry.unit.text(entry.plan, entry.values, NAME)
            if name is None or DECLARATION in entry.values or not self._is_wanted_by_name(name):
                continue
            if entry.plan.tag != TYPEDEF or resolve_typedef(entry, name).struct is not None:
                structs.append((name, str(self._decoder.source(unit, entry.values) or unit.name)))
        return structs

    def _refuse_other(self, unit: Unit) -> None:
        try:
            left_out = producers.find_unstated(unit, self._target)
        except DAMAGE:  # reported when the unit is read
            return
        if left_out is None or left_out == self._unstated:
            return
        if self._unstated is None:
            raise OtherCompiler(left_out)
        if left_out & ~self._unstated:
            raise OtherCompiler(left_out | self._unstated)

    def all_names(self) -> frozenset[str]:
        """Return the names of all structs that were collected, and the typedefs that led to them."""
        return frozenset(
            name
            for definition in self._definitions.values()
            for name in (definition.name, *definition.aliases)
        )

    def held_names(self) -> frozenset[str]:
        """Return the names of structs that have a typedef among the names of held structs."""
        definitions = (*self._definitions.values(), *self._incomplete.values())
        return frozenset(
            definition.name
            for definition in definitions
            if not definition.aliases.isdisjoint(self._wanted.with_containers)
        )

    def names(self) -> frozenset[str]:
        """Return no names: `structs` returns what was collected."""
        return frozenset()

    def structs(self) -> tuple[Struct, ...]:
        """Return the structs in the order of the file; incomplete ones only without a complete definition."""
        complete = {definition.name for definition in self._definitions.values()}
        incomplete = [definition for name, definition in self._incomplete.items() if name not in complete]
        included = [
            definition for definition in self._definitions.values() if not self._is_dropped(definition)
        ]
        left_out = self._left_out & ~Unstated.TYPEDEF
        known = {(id(each.body.fields), id(each.source)) for each in included}
        hidden = [
            each for key, each in self._hidden_definitions.items() if key[1:] not in known
        ]
        overlaps = Overlaps()
        return tuple(
            definition.struct(self._target, left_out, overlaps)
            for definition in (*included, *incomplete, *hidden)
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on what `everything` does not include, as sentences."""
        dropped = filter(self._is_dropped, self._definitions.values())
        names = sorted({each.name for each in dropped})
        note = f"left out, for want of members in the debug information: {', '.join(names)}"
        return (note,) if names else ()

    def _is_dropped(self, definition: _Definition) -> bool:
        """Return whether a union without its members is dropped: if it is not wanted by name."""
        return definition.body.lacks_members(definition.aggregate) and not self._is_wanted_by_name(
            definition.name
        )

    def _read_entry(self, entry: DebugEntry) -> None:
        name = entry.unit.text(entry.plan, entry.values, NAME)
        if name is None or not (self._is_wanted(name) or self._is_annotated(entry.unit.sections)):
            return
        if entry.plan.tag != TYPEDEF:
            self._add(entry, name, None, True)
            return
        meaning = resolve_typedef(entry, name)
        if meaning.struct is None:
            return
        target = meaning.struct
        tag = target.unit.text(target.plan, target.values, NAME)
        own_name = meaning.name if tag is None else tag
        if own_name != name and name not in self._asked_names and self._gives_more:
            return  # everything is included under its own name; only wanted names become aliases
        variant = self._variant(entry, meaning, tag is not None)
        self._add(target, own_name, name if own_name != name else None, tag is not None, variant)

    def _read_hidden(self, entry: DebugEntry) -> None:
        """Add a struct without a name, or one that is local to a function."""
        unit = entry.unit
        if DECLARATION in entry.values or unit.reference(entry.plan, entry.values, SIGNATURE) is not None:
            return
        body = self._decoder.body(unit, entry.position, entry.plan, entry.values, entry.end)
        source = self._decoder.source(unit, entry.values)
        name = hidden_name(unit.text(entry.plan, entry.values, NAME), source or unit.name)
        key = (name, id(body.fields), id(source))
        if body.fields and key not in self._hidden_definitions:
            keyword = KEYWORDS[entry.plan.tag]
            definition = _Definition(name, keyword, body, source, unit.name, False)
            self._hidden_definitions[key] = definition
            if unit.signature is not None:
                self._of_type_units.append(definition)

    def _variant(self, entry: DebugEntry, meaning: Typedef, is_tagged: bool) -> _Variant | None:
        """Return what a typedef changes of the struct that it stands for; None for nothing."""
        align, aligned, size = meaning.align, meaning.aligned, None
        if meaning.is_atomic:
            kind = self._decoder.type_at(entry.unit, entry.position)
            size = kind.bit_size
            return _Variant(aligned, None if kind.possible else kind.align, size)
        named_align = None if is_tagged else meaning.named_align
        return None if align is None else _Variant(aligned, align, size, named_align)

    def _add(
        self,
        entry: DebugEntry,
        name: str,
        alias: str | None,
        is_tagged: bool,
        variant: _Variant | None = None,
    ) -> None:
        signature_target = entry.unit.reference(entry.plan, entry.values, SIGNATURE)
        if signature_target is not None:
            entry = _entry_of_signature(*signature_target)
        elif DECLARATION in entry.values:
            self._add_incomplete(entry, name, alias, is_tagged)
            return
        unit = entry.unit
        annotations: tuple[Annotation, ...] = ()
        if self._is_annotated(unit.sections):
            annotations = tuple(annotation_tags.read_annotations(unit, entry.plan, entry.values, entry.end))
        source = self._decoder.source(unit, entry.values)
        is_declared = source is not None and self._is_declared_in(source.file)
        if not annotations and not is_declared and not self._is_wanted(alias or name):
            return
        body = self._decoder.body(unit, entry.position, entry.plan, entry.values, entry.end)
        realigned, left_out = "", None
        if variant is not None and variant.changes(body):
            left_out = Unstated.NOTHING if variant.align else self._left_out | Unstated.TYPEDEF
            body = self._decoder.realign(body, variant.align, variant.bit_size)
            if variant.name != name:
                name, realigned, is_tagged = variant.name, name, False
        key = (name, is_tagged, entry.plan.tag, id(body), id(source))
        definition = self._definitions.get(key)
        if definition is None:
            definition = self._definitions[key] = _Definition(
                name, KEYWORDS[entry.plan.tag], body, source, unit.name or (source.file if source else ""),
                is_tagged, annotations, realigned=realigned, left_out=left_out,
            )  # fmt: skip
        if alias is not None and alias != name:
            definition.aliases.add(alias)
        if left_out is None and self._hides_typedefs and (definition.aliases or not is_tagged):
            definition.left_out = self._left_out | Unstated.TYPEDEF

    def _add_incomplete(self, entry: DebugEntry, name: str, alias: str | None, is_tagged: bool) -> None:
        if not self._is_wanted_by_name(alias or name):
            return
        definition = self._incomplete.get(name)
        if definition is None:
            source = self._decoder.source(entry.unit, entry.values)
            body = Body(None, None, ())
            definition = _Definition(name, KEYWORDS[entry.plan.tag], body, source, entry.unit.name, is_tagged)
            self._incomplete[name] = definition
        if alias is not None:
            definition.aliases.add(alias)

    def _is_wanted(self, name: str) -> bool:
        """Return whether a struct that was seen is wanted, by its name or under any name."""
        return self._gives_more or self._matches(name)

    def _is_wanted_by_name(self, name: str) -> bool:
        """Return whether a name is wanted for itself, not as a part of everything."""
        wanted = self._wanted
        return Wanted(self._asked_names, wanted.patterns).matches(name)


def are_many(wanted: Wanted) -> bool:
    """Return whether too many names are wanted to look them up in advance."""
    return bool(wanted.patterns) or len(wanted.names | wanted.with_containers) > _FEW


def _can_have_annotated(wanted: Wanted, sections: Sections) -> bool:
    """Return whether a file can have structs that are wanted for their annotations, not their names."""
    return bool(wanted.files) or (wanted.annotated and annotation_tags.has_annotations(sections))


def describe_damage(unit: Unit, position: int | None, error: Exception) -> str:
    """Return where the damage is, and its reason. A missing file has no position, so it is reported once."""
    if isinstance(error, MissingFile):
        return error.reason
    why = error.reason if isinstance(error, DwarfError) else "the data ends inside an entry"
    return f"{unit.index.where}{unit.section}+{unit.offset if position is None else position:#x}: {why}"


def entry_at(unit: Unit, position: int) -> DebugEntry:
    """Return the entry at a position. Raises DAMAGE."""
    plan, end = unit.entry(position)
    if plan is None:
        raise DwarfError("a type that is none", position)
    values, end = unit.read(plan, end)
    return DebugEntry(unit, position, plan, values, end)


def _entry_of_signature(unit: Unit, position: int) -> DebugEntry:
    """Return the entry to which a signature refers."""
    entry = entry_at(unit, position)
    if entry.plan.tag not in KEYWORDS:
        raise DwarfError("the signature of a struct or union means another type", position)
    return entry


class Typedef(Record, frozen=True):
    """The type that a typedef refers to."""

    struct: DebugEntry | None
    """The struct or union; None for any other type."""
    name: str
    """The typedef next to it, which names a struct without a tag."""
    align: int | None = None
    """The alignment in bytes stated by the typedefs and qualifiers in between; None if none states one."""
    aligned: str = ""
    """The typedef next to the struct that states this alignment, or has the atomic type."""
    is_atomic: bool = False
    named_align: int | None = None
    """The alignment stated by the typedef next to the struct."""


def resolve_typedef(entry: DebugEntry, name: str) -> Typedef:
    """Return the type that a typedef refers to. Raises DwarfError."""
    steps = [(name, read_alignment(entry.values))]
    atomic_steps: list[tuple[str, int | None]] = []
    for _ in range(DEEPEST):
        target = entry.unit.reference(entry.plan, entry.values, TYPE)
        if target is None:
            return Typedef(None, steps[-1][0])
        entry = entry_at(*target)
        if entry.plan.tag in KEYWORDS:
            signature_target = entry.unit.reference(entry.plan, entry.values, SIGNATURE)
            align, aligned = _innermost_alignment(atomic_steps or steps)
            struct = entry if signature_target is None else _entry_of_signature(*signature_target)
            naming = steps[-1][0]
            named_align, _ = _innermost_alignment([step for step in steps if step[0] == naming])
            return Typedef(
                struct,
                naming,
                align,
                aligned or (atomic_steps or steps)[-1][0],
                bool(atomic_steps),
                named_align,
            )
        if entry.plan.tag == TYPEDEF:
            naming = entry.unit.text(entry.plan, entry.values, NAME) or steps[-1][0]
            steps.append((naming, read_alignment(entry.values)))
        elif entry.plan.tag in QUALIFIERS:
            atomic_steps = list(steps) if entry.plan.tag == ATOMIC else atomic_steps
            steps.append((steps[-1][0], read_alignment(entry.values)))
        else:
            return Typedef(None, steps[-1][0])
    raise DwarfError("typedefs refer to one another in a circle", entry.position)


def _innermost_alignment(steps: list[tuple[str, int | None]]) -> tuple[int | None, str]:
    """Return the alignment of a typedef, and the innermost one that states it; the outer ones come first."""
    align, aligned = None, ""
    for name, own_align in reversed(steps):  # a typedef without alignment has that of its type
        if own_align is not None and own_align != align:
            align, aligned = own_align, name
    return align, aligned


def _no_names(sections: Sections) -> None:
    """Return None, which stands for all names."""


def _look_up(names: frozenset[str], sections: Sections) -> Names:
    """Return the names, with the positions in .debug_str that hold one, or a string that ends in one."""
    texts = frozenset(name.encode(errors="surrogateescape") for name in names)
    long_texts = frozenset(text for text in texts if len(text) >= SHORTEST and len(texts) > _HANDFUL)
    positions = find_strings(sections.strings.octets, long_texts) if long_texts else set()
    for text in texts - long_texts:
        position = sections.strings.find(text + b"\0")
        while position >= 0:
            positions.add(position)
            position = sections.strings.find(text + b"\0", position + 1)
    return Names(frozenset(positions), texts)
