"""Which entries are asked for: names, typedefs that stand for structs, equal and different definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Final

from layoutlint.model.structs import Aggregate, Annotation, Source, Struct, Unstated
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dwarf import producers
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.forms import DAMAGE, Damaged, Missing
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.holders import Holders
from layoutlint.readers.dwarf.scan import SHORTEST, Names, Positions, places, walk
from layoutlint.readers.dwarf.types import annotation_tags
from layoutlint.readers.dwarf.types.decoder import DECLARATION, Body, Decoder, stated
from layoutlint.readers.dwarf.types.spelling import (
    ATOMIC,
    DEEPEST,
    KEYWORDS,
    QUALIFIERS,
    SIGNATURE,
    TYPE,
    TYPEDEF,
)
from layoutlint.readers.overlaps import Overlaps

Local = tuple[str, str]
"""A struct that is local to a function: its name, and where it stands."""

_FEW: Final = 500
"""Up to so many names are looked up in .debug_str beforehand; more are compared one by one."""
_HANDFUL: Final = 4
"""Up to so many names are looked for one by one; one pass over .debug_str for all takes as long."""
_FILES: Final = 4
"""Names are looked up in so many files at a time: a program, its supplement, its package, a .dwo."""


@dataclass(slots=True)
class _Found:
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
    """What is not stated that decides on its alignment, where that is not what its compiler leaves out."""

    def struct(self, target: Target, unstated: Unstated, overlaps: Overlaps) -> Struct:
        body, aliases = self.body, tuple(sorted(self.aliases))
        return Struct(
            self.name, self.aggregate, body.bit_size, body.align, body.fields, target, self.source,
            self.origin, aliases, body.problem(self.aggregate, overlaps), (), self.is_tagged, self.realigned,
            annotations=self.annotations, unstated=unstated if self.left_out is None else self.left_out,
        )  # fmt: skip


class OtherCompiler(Exception):
    """A unit is of a compiler that leaves out what is taken as stated."""

    def __init__(self, unstated: Unstated) -> None:
        super().__init__(unstated)
        self.unstated = unstated


@dataclass(frozen=True, slots=True)
class _Other:
    """A struct type as a typedef has it that gives it an alignment, or a size, of its own."""

    name: str
    """The typedef that does."""
    align: int | None
    """In bytes; None where it is not known."""
    bit_size: int | None
    """That of an atomic type; None where it is the struct's."""
    named_align: int | None = None
    """What the typedef that names a struct without a tag states, in bytes; None for nothing, or a tag."""

    def changes(self, body: Body) -> bool:
        """Whether it differs from the struct as that is laid out, or as the typedef that names it has it."""
        usual = body.align if self.named_align is None else self.named_align
        return {self.align} != {usual, body.align} or self.bit_size not in (None, body.bit_size)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry with what is known of it."""

    unit: Unit
    position: int
    plan: Plan
    values: Values
    behind: int


class Selection:
    """Gathers the wanted structs of one file, unit after unit."""

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
        """Whether typedefs may give structs alignments that are not stated; Linux is taken to have none."""
        self._found: dict[tuple[object, ...], _Found] = {}
        self._incomplete: dict[str, _Found] = {}
        self._taken: set[int] = set()
        """The shapes of the entries taken so far."""
        self._asked = wanted.names | wanted.held
        self._gives_more = wanted.everything or bool(wanted.held)
        """Whether structs come that were not asked for by their names."""
        self._matches = cache(wanted.matches)
        names, held = (lru_cache(_FILES)(partial(_named, few)) for few in (self._asked, wanted.held))
        self._names: Callable[[Sections], Names | None] = _all if are_many(wanted) else names
        self._held = names if wanted.held == self._asked else held
        self._holders = Holders()
        self._others = Positions()
        """Where types stand that have no name which is asked for."""
        self._is_annotated = lru_cache(_FILES)(self._mentions)

    def leave(self) -> None:
        """Lets go of what is known by places in files, of which one is closed."""
        self._decoder.shapes.leave()

    def prepare(self, sections: Sections) -> None:
        """Looks the names up, so that the forks of this process need not."""
        self._names(sections)
        self._held(sections)
        self._is_annotated(sections)

    def _mentions(self, sections: Sections) -> bool:
        """Whether a file can have structs that are asked for by annotations, and not by name."""
        return bool(self._wanted.files) or (self._wanted.annotated and annotation_tags.mentioned(sections))

    def look(self, unit: Unit) -> list[int]:
        """Where the entries of a unit stand that are to be taken, those that are damaged among them.

        Raises DAMAGE when all of it is.
        """
        plan, _, behind = unit.root
        if not plan.has_children:
            return []
        new, names = self._decoder.shapes.new_among, self._names(unit.sections)
        is_annotated = self._is_annotated(unit.sections)
        if names is None or not (self._gives_more or is_annotated):
            return new(unit, walk(unit, behind, names))
        others = self._others
        others.clear()
        hits = walk(unit, behind, names, others)
        if not self._wanted.held or is_annotated:
            return new(unit, sorted((*hits, *others.listed())))
        named = self._holders.called(unit, hits, names)
        held = self._holders.called(unit, hits, self._held(unit.sections))
        found = new(unit, sorted((*named, *self._holders.among(unit, held, others))))
        # What they hold tells which struct the typedef of a field means, where several have the same members.
        return sorted({*found, *new(unit, self._holders.inside(unit, found))}) if found else []

    def take(self, unit: Unit, hits: Sequence[int]) -> list[str]:
        """Reads entries of one unit; where it is damaged and why, as sentences.

        Raises OtherCompiler for the first unit whose compiler leaves out what is taken as stated.
        """
        damaged: list[str] = []
        if hits:
            self._refuse_other(unit)
        for position in hits:
            try:
                shape = self._decoder.shapes.of(unit, position)
                if shape not in self._taken:
                    self._taken.add(shape)
                    self._take(entry_at(unit, position))
            except DAMAGE as error:
                damaged.append(said(unit, position, error))
        return damaged

    def local(self, unit: Unit) -> list[Local]:
        """Return the structs that are local to functions, of those that `look` met. Raises DAMAGE."""
        return self._defined(unit, unit.local or ())

    def foreign(self, unit: Unit) -> list[Local]:
        """Return the structs with names that are asked for in a unit of another language. Raises DAMAGE."""
        plan, _, behind = unit.root
        names = self._names(unit.sections)
        return self._defined(unit, walk(unit, behind, names) if plan.has_children else ())

    def places(self) -> frozenset[str]:
        """Return where the structs stand that were found."""
        return frozenset(str(each.source) for each in self._found.values())

    def _defined(self, unit: Unit, positions: Sequence[int]) -> list[Local]:
        """Return the structs of some entries that are asked for by name and defined, with their places."""
        found: list[Local] = []
        for position in positions:
            entry = entry_at(unit, position)
            name = entry.unit.text(entry.plan, entry.values, NAME)
            if name is None or DECLARATION in entry.values or not self._asked_for(name):
                continue
            if entry.plan.tag != TYPEDEF or followed(entry, name).struct is not None:
                found.append((name, str(self._decoder.source(unit, entry.values) or unit.name)))
        return found

    def _refuse_other(self, unit: Unit) -> None:
        try:
            left_out = producers.unstated(unit, self._target)
        except DAMAGE:  # which is told where the unit is read
            return
        if left_out is None:
            return
        if self._unstated is None:
            raise OtherCompiler(left_out)
        if left_out & ~self._unstated:
            raise OtherCompiler(left_out | self._unstated)

    def met(self) -> frozenset[str]:
        """The names of all structs that were found, and the typedefs that led to them."""
        return frozenset(name for each in self._found.values() for name in (each.name, *each.aliases))

    def meant(self) -> frozenset[str]:
        """What structs are called that go by a typedef among the names of held structs."""
        found = (*self._found.values(), *self._incomplete.values())
        return frozenset(each.name for each in found if not each.aliases.isdisjoint(self._wanted.held))

    def names(self) -> frozenset[str]:
        """None: what is found comes as structs."""
        return frozenset()

    def structs(self) -> tuple[Struct, ...]:
        """What was found, in the order of the file; incomplete ones only where nothing completes them."""
        complete = {found.name for found in self._found.values()}
        rest = [found for name, found in self._incomplete.items() if name not in complete]
        shown = [found for found in self._found.values() if not self._is_left_out(found)]
        left_out = self._left_out & ~Unstated.TYPEDEF
        overlaps = Overlaps()
        return tuple(found.struct(self._target, left_out, overlaps) for found in (*shown, *rest))

    def notes(self) -> tuple[str, ...]:
        """What everything does not include, as sentences."""
        names = sorted({found.name for found in self._found.values() if self._is_left_out(found)})
        what = f"left out, for want of members in the debug information: {', '.join(names)}"
        return (what,) if names else ()

    def _is_left_out(self, found: _Found) -> bool:
        """Like an incomplete struct, a union whose members are lacking is given only where asked for."""
        return found.body.lacks_members(found.aggregate) and not self._asked_for(found.name)

    def _take(self, entry: Entry) -> None:
        name = entry.unit.text(entry.plan, entry.values, NAME)
        if name is None or not (self._is_asked(name) or self._is_annotated(entry.unit.sections)):
            return
        if entry.plan.tag != TYPEDEF:
            self._add(entry, name, None, True)
            return
        meaning = followed(entry, name)
        if meaning.struct is None:
            return
        target = meaning.struct
        tag = target.unit.text(target.plan, target.values, NAME)
        own = meaning.name if tag is None else tag
        if own != name and name not in self._asked and self._gives_more:
            return  # everything has its own name already; only what is asked for gets others
        other = self._other(entry, meaning, tag is not None)
        self._add(target, own, name if own != name else None, tag is not None, other)

    def _other(self, entry: Entry, meaning: Meaning, is_tagged: bool) -> _Other | None:
        """What a typedef changes of the struct that it stands for; None for nothing."""
        align, aligned, size = meaning.align, meaning.aligned, None
        if meaning.is_atomic:
            kind = self._decoder.at(entry.unit, entry.position)
            size = kind.bit_size
            return _Other(aligned, None if kind.possible else kind.align, size)
        named_align = None if is_tagged else meaning.named_align
        return None if align is None else _Other(aligned, align, size, named_align)

    def _add(
        self, entry: Entry, name: str, alias: str | None, is_tagged: bool, other: _Other | None = None
    ) -> None:
        defined = entry.unit.reference(entry.plan, entry.values, SIGNATURE)
        if defined is not None:
            entry = _struct(*defined)
        elif DECLARATION in entry.values:
            self._add_incomplete(entry, name, alias, is_tagged)
            return
        unit = entry.unit
        said: tuple[Annotation, ...] = ()
        if self._is_annotated(unit.sections):
            said = tuple(annotation_tags.of(unit, entry.plan, entry.values, entry.behind))
        source = self._decoder.source(unit, entry.values)
        is_declared = source is not None and self._wanted.is_declared_in(source.file)
        if not said and not is_declared and not self._is_asked(alias or name):
            return
        body = self._decoder.body(unit, entry.position, entry.plan, entry.values, entry.behind)
        realigned, left_out = "", None
        if other is not None and other.changes(body):
            left_out = Unstated.NOTHING if other.align else self._left_out | Unstated.TYPEDEF
            body = self._decoder.realigned(body, other.align, other.bit_size)
            if other.name != name:
                name, realigned, is_tagged = other.name, name, False
        key = (name, is_tagged, entry.plan.tag, id(body), id(source))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = _Found(
                name, KEYWORDS[entry.plan.tag], body, source, unit.name or (source.file if source else ""),
                is_tagged, said, realigned=realigned, left_out=left_out,
            )  # fmt: skip
        if alias is not None and alias != name:
            found.aliases.add(alias)
        if left_out is None and self._hides_typedefs and (found.aliases or not is_tagged):
            found.left_out = self._left_out | Unstated.TYPEDEF

    def _add_incomplete(self, entry: Entry, name: str, alias: str | None, is_tagged: bool) -> None:
        if not self._asked_for(alias or name):
            return
        found = self._incomplete.get(name)
        if found is None:
            source = self._decoder.source(entry.unit, entry.values)
            body = Body(None, None, ())
            found = _Found(name, KEYWORDS[entry.plan.tag], body, source, entry.unit.name, is_tagged)
            self._incomplete[name] = found
        if alias is not None:
            found.aliases.add(alias)

    def _is_asked(self, name: str) -> bool:
        """Whether a struct that was met is asked for, by its name or whatever it is called."""
        return self._gives_more or self._matches(name)

    def _asked_for(self, name: str) -> bool:
        """Whether a name is asked for by itself, not as a part of everything."""
        wanted = self._wanted
        return Wanted(self._asked, wanted.patterns).matches(name)


def are_many(wanted: Wanted) -> bool:
    """Whether so many names are asked for that they are compared one by one, and not looked up beforehand."""
    return bool(wanted.patterns) or len(wanted.names | wanted.held) > _FEW


def said(unit: Unit, position: int | None, error: Exception) -> str:
    """What to say of damage, and where; what is missing everywhere has no place, and so is told once."""
    if isinstance(error, Missing):
        return error.reason
    why = error.reason if isinstance(error, Damaged) else "the data ends inside an entry"
    return f"{unit.index.where}{unit.section}+{unit.offset if position is None else position:#x}: {why}"


def entry_at(unit: Unit, position: int) -> Entry:
    """The entry at a position. Raises DAMAGE."""
    plan, behind = unit.entry(position)
    if plan is None:
        raise Damaged("a type that is none", position)
    values, behind = unit.read(plan, behind)
    return Entry(unit, position, plan, values, behind)


def _struct(unit: Unit, position: int) -> Entry:
    """The entry that a signature means."""
    entry = entry_at(unit, position)
    if entry.plan.tag not in KEYWORDS:
        raise Damaged("the signature of a struct or union means another type", position)
    return entry


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a typedef stands for."""

    struct: Entry | None
    """The struct or union; None for any other type."""
    name: str
    """The typedef next to it, which names a struct without a tag."""
    align: int | None = None
    """The alignment in bytes that the typedefs and qualifiers on the way give; None where none states one."""
    aligned: str = ""
    """The typedef next to the struct that gives this alignment, or has the atomic type."""
    is_atomic: bool = False
    named_align: int | None = None
    """What the typedef next to the struct states."""


def followed(entry: Entry, name: str) -> Meaning:
    """What a typedef stands for. Raises Damaged."""
    steps = [(name, stated(entry.values))]
    outside: list[tuple[str, int | None]] = []
    for _ in range(DEEPEST):
        target = entry.unit.reference(entry.plan, entry.values, TYPE)
        if target is None:
            return Meaning(None, steps[-1][0])
        entry = entry_at(*target)
        if entry.plan.tag in KEYWORDS:
            defined = entry.unit.reference(entry.plan, entry.values, SIGNATURE)
            align, aligned = _aligned(outside or steps)
            found = entry if defined is None else _struct(*defined)
            naming = steps[-1][0]
            named_align, _ = _aligned([step for step in steps if step[0] == naming])
            return Meaning(
                found, naming, align, aligned or (outside or steps)[-1][0], bool(outside), named_align
            )
        if entry.plan.tag == TYPEDEF:
            naming = entry.unit.text(entry.plan, entry.values, NAME) or steps[-1][0]
            steps.append((naming, stated(entry.values)))
        elif entry.plan.tag in QUALIFIERS:
            outside = list(steps) if entry.plan.tag == ATOMIC else outside
            steps.append((steps[-1][0], stated(entry.values)))
        else:
            return Meaning(None, steps[-1][0])
    raise Damaged("typedefs stand for one another in a circle", entry.position)


def _aligned(steps: list[tuple[str, int | None]]) -> tuple[int | None, str]:
    """The alignment of a typedef, and the innermost on the way that has it; the outer ones come first."""
    align, aligned = None, ""
    for name, here in reversed(steps):  # what states none has the alignment of what it stands for
        if here is not None and here != align:
            align, aligned = here, name
    return align, aligned


def _all(sections: Sections) -> None:
    """Stands for all names."""


def _named(names: frozenset[str], sections: Sections) -> Names:
    """Every place in .debug_str where one of the names can be referred to; tails of longer strings count."""
    texts = frozenset(name.encode(errors="surrogateescape") for name in names)
    many = frozenset(text for text in texts if len(text) >= SHORTEST and len(texts) > _HANDFUL)
    found = places(sections.strings.octets, many) if many else set()
    for text in texts - many:
        position = sections.strings.find(text + b"\0")
        while position >= 0:
            found.add(position)
            position = sections.strings.find(text + b"\0", position + 1)
    return Names(frozenset(found), texts)
