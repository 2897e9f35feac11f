"""What a kind judges by: the geometry of a struct, where it can sit, and what is declared of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from layoutlint.allocators import Storage, Wanting
from layoutlint.errors import did_you_mean
from layoutlint.layout import Layout, Place, is_pattern
from layoutlint.model import Source
from layoutlint.placement import Placements, wanting


@dataclass(frozen=True, slots=True)
class Access:
    """How a field is used: `hot-read`, `hot-write`, `read-mostly`, `cold`, or a project's own word."""

    path: str
    access: str
    """Empty for a field that is declared and has no access on any side."""
    contended: bool = False
    source: Source | None = None
    side: str = ""
    """The part of the code, with a processor of its own, whose access it is (`tx`); empty for any code."""
    is_optional: bool = False
    """Whether an input may lack the field."""


class CannotTell(Exception):
    """Raised by a kind that cannot judge a struct; the verdict is then unknown, with this reason."""


class NoSuchField(CannotTell):
    """A rule names a field that the struct has not."""


class NothingDeclared(NoSuchField):
    """A rule speaks of fields by their declared access, and none has it."""


SELECTOR = "@"
"""Stands before an access where a rule means every field that is declared so: `@hot-read`, `@hot-*`."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a kind judges by: the geometry, where the object can sit, and the declared accesses."""

    layout: Layout
    placements: Placements
    accesses: tuple[Access, ...] = ()
    storage: Storage | None = None
    """What the rule file says of where objects come from."""
    min_align: int | None = None
    """The smallest alignment of an object in bytes, where it is not the target's."""

    @property
    def wanted(self) -> Wanting:
        """What an object asks of its allocator."""
        return wanting(self.layout, self.min_align)

    def places(self, patterns: tuple[str, ...], or_none: bool = False) -> tuple[Place, ...]:
        """The fields that paths and patterns mean, in the order given, each once.

        `@hot-read` means those that are declared so. Raises NoSuchField for a path that means none, with the
        nearest name, NothingDeclared when there is no field at all and `or_none` is not said, and CannotTell
        for unknown sizes.
        """
        found: dict[str, Place] = {}
        nothing: NothingDeclared | None = None
        for pattern in patterns:
            try:
                is_access = pattern.startswith(SELECTOR)
                matched = self.declared_as(pattern[1:]) if is_access else self.named(pattern)
                found.update((place.path, place) for place in matched)
            except NothingDeclared as error:
                nothing = error
        if nothing is not None and not found and not or_none:
            raise nothing
        return sized(tuple(found.values()))

    def named(self, pattern: str) -> tuple[Place, ...]:
        """The fields that one path or pattern means; raises NoSuchField, with the nearest name."""
        matched = self.layout.match(pattern)
        if not matched:
            raise NoSuchField(self._missing(pattern))
        return matched

    def declared(self, access: Access) -> tuple[Place, ...]:
        """The fields that a declaration means; none for an optional one that the struct lacks."""
        if access.is_optional and not self.layout.match(access.path):
            return ()
        return self.places((access.path,))

    def uses(self) -> dict[Place, tuple[Access, ...]]:
        """The fields with their declared accesses; a field's own word stands above a pattern's.

        Raises NoSuchField, and NothingDeclared when there is none.
        """
        struct = self.layout.struct
        words = [access for access in self.accesses if access.access]
        if not words:
            raise NothingDeclared(f"no access is declared for a field of {struct.aggregate} {struct.name}")
        patterns_first = sorted(words, key=lambda access: not is_pattern(access.path))
        by_side = {(place, a.side): a for a in patterns_first for place in self.declared(a)}
        found: dict[Place, tuple[Access, ...]] = {}
        for (place, _), access in by_side.items():
            found[place] = (*found.get(place, ()), access)
        return found

    def declared_as(self, access: str) -> tuple[Place, ...]:
        """The fields that are declared to have an access, which can be an fnmatch pattern.

        Raises as `uses` does.
        """
        found = used_as(self.uses(), access)
        if not found:
            struct = self.layout.struct
            raise NothingDeclared(f"no field of {struct.aggregate} {struct.name} is declared `{access}`")
        return found

    def is_beside(self, place: Place) -> bool:
        """Whether a field stands around the struct that the paths of the rule are about: here none does."""
        return False

    def concerned(self, pairs: list[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Those of some pairs of fields, found by their accesses, that the rule is about: here all."""
        return pairs

    def place(self, path: str) -> Place:
        """The one field at a path; raises as `places` does, and CannotTell when a pattern means several."""
        places = self.places((path,))
        if len(places) > 1:
            raise CannotTell(f"`{path}` means {len(places)} fields, and one is needed")
        return places[0]

    def others(self, chosen: Sequence[Place]) -> tuple[Place, ...]:
        """The other fields of the struct, and the other parts of a field of which a part is chosen.

        Raises CannotTell for unknown sizes.
        """
        return sized(self.layout.others(chosen))

    def _missing(self, pattern: str) -> str:
        struct = self.layout.struct
        names = [place.path for place in self.layout.expanded(pattern.count("."))]
        return f"{struct.aggregate} {struct.name} has no field `{pattern}`{did_you_mean(pattern, names)}"


def used_as(uses: Mapping[Place, tuple[Access, ...]], access: str) -> tuple[Place, ...]:
    """The fields of which one of the accesses is the given one, or fits it."""
    return tuple(place for place, by in uses.items() if any(fnmatchcase(a.access, access) for a in by))


def sized(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The same fields; raises CannotTell when the size of one is not known."""
    for place in places:
        if place.bit_size is None:
            raise CannotTell(f"the size of `{place.path}` is not known")
    return places
