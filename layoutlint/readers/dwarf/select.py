"""Which entries are asked for: names, typedefs that stand for structs, equal and different definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Final

from layoutlint.model import Aggregate, Annotation, Source, Struct, Target, Wanted
from layoutlint.readers.dwarf import annotated
from layoutlint.readers.dwarf.abbrev import Plan
from layoutlint.readers.dwarf.forms import DAMAGE, Damaged, Missing
from layoutlint.readers.dwarf.holders import Holders
from layoutlint.readers.dwarf.members import DECLARATION, Body, Decoder
from layoutlint.readers.dwarf.scan import SHORTEST, Names, Positions, places, walk
from layoutlint.readers.dwarf.sections import Sections
from layoutlint.readers.dwarf.types import DEEPEST, KEYWORDS, QUALIFIERS, SIGNATURE, TYPE, TYPEDEF
from layoutlint.readers.dwarf.unit import NAME, Unit, Values

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

    def struct(self, target: Target) -> Struct:
        body, aliases = self.body, tuple(sorted(self.aliases))
        return Struct(
            self.name, self.aggregate, body.bit_size, body.align, body.fields, target, self.source,
            self.origin, aliases, body.problem(self.aggregate), (), self.is_tagged,
            annotations=self.annotations,
        )  # fmt: skip


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

    def __init__(self, wanted: Wanted, target: Target) -> None:
        self._wanted = wanted
        self._target = target
        self._decoder = Decoder(target)
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
        return bool(self._wanted.files) or (self._wanted.annotated and annotated.mentioned(sections))

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
        """Reads entries of one unit; where it is damaged and why, as sentences."""
        damaged: list[str] = []
        for position in hits:
            try:
                shape = self._decoder.shapes.of(unit, position)
                if shape not in self._taken:
                    self._taken.add(shape)
                    self._take(entry_at(unit, position))
            except DAMAGE as error:
                damaged.append(said(unit, position, error))
        return damaged

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
        return tuple(found.struct(self._target) for found in (*shown, *rest))

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
        naming, target = followed(entry, name)
        if target is None:
            return
        tag = target.unit.text(target.plan, target.values, NAME)
        own = naming if tag is None else tag
        if own != name and name not in self._asked and self._gives_more:
            return  # everything has its own name already; only what is asked for gets others
        self._add(target, own, name if own != name else None, tag is not None)

    def _add(self, entry: Entry, name: str, alias: str | None, is_tagged: bool) -> None:
        defined = entry.unit.reference(entry.plan, entry.values, SIGNATURE)
        if defined is not None:
            entry = _struct(*defined)
        elif DECLARATION in entry.values:
            self._add_incomplete(entry, name, alias, is_tagged)
            return
        unit = entry.unit
        said: tuple[Annotation, ...] = ()
        if self._is_annotated(unit.sections):
            said = tuple(annotated.of(unit, entry.plan, entry.values, entry.behind))
        source = self._decoder.source(unit, entry.values)
        is_declared = source is not None and self._wanted.is_declared_in(source.file)
        if not said and not is_declared and not self._is_asked(alias or name):
            return
        body = self._decoder.body(unit, entry.position, entry.plan, entry.values, entry.behind)
        key = (name, is_tagged, entry.plan.tag, id(body), id(source))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = _Found(
                name, KEYWORDS[entry.plan.tag], body, source,
                unit.name or (source.file if source else ""), is_tagged, said,
            )  # fmt: skip
        if alias is not None:
            found.aliases.add(alias)

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


def followed(entry: Entry, name: str) -> tuple[str, Entry | None]:
    """The struct or union that a typedef stands for, and the typedef next to it; None for any other type."""
    naming = name
    for _ in range(DEEPEST):
        target = entry.unit.reference(entry.plan, entry.values, TYPE)
        if target is None:
            return naming, None
        entry = entry_at(*target)
        if entry.plan.tag in KEYWORDS:
            defined = entry.unit.reference(entry.plan, entry.values, SIGNATURE)
            return naming, entry if defined is None else _struct(*defined)
        if entry.plan.tag == TYPEDEF:
            naming = entry.unit.text(entry.plan, entry.values, NAME) or naming
        elif entry.plan.tag not in QUALIFIERS:
            return naming, None
    raise Damaged("typedefs stand for one another in a circle", entry.position)


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
