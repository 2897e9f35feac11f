"""What a kind judges by: the geometry of a struct, where it can sit, and what is declared of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NoReturn

from layoutlint.errors import did_you_mean
from layoutlint.geometry.allocators import Wanting
from layoutlint.geometry.field_types import TYPE, Finder, is_unnamed
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements, wanting
from layoutlint.model.paths import is_pattern
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source


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


class Unconcerned(NoSuchField):
    """A rule speaks of what the struct has none of; where it is one of many, nothing is said of it."""


class NothingOfType(NothingDeclared, Unconcerned):
    """A rule speaks of fields by their type, and none has it."""


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
    finder: Finder = field(default_factory=Finder, compare=False)
    is_one_of_many: bool = False
    """Whether the rule is about every struct that a pattern means, those inside of this one as well."""

    @property
    def wanted(self) -> Wanting:
        """What an object asks of its allocator."""
        return wanting(self.layout, self.min_align)

    def places(self, patterns: tuple[str, ...], or_none: bool = False) -> tuple[Place, ...]:
        """The fields that paths and patterns mean, in the order given, each once.

        `@hot-read` means those that are declared so, `@type:T` those of a type. Raises NoSuchField for a path
        that means none, with the nearest name, NothingDeclared when there is no field at all and `or_none` is
        not said, and CannotTell for unknown sizes.
        """
        found: dict[str, Place] = {}
        nothing: NothingDeclared | None = None
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        for pattern in patterns if len(types) < 2 else _types_as_one(patterns, types[0]):
            try:
                if pattern.startswith(TYPE):
                    matched = self._typed(types) or self._nothing_of("field", types)
                else:
                    is_access = pattern.startswith(SELECTOR)
                    matched = self.declared_as(pattern[1:]) if is_access else self.named(pattern)
                found.update((place.path, place) for place in matched)
            except NothingDeclared as error:
                nothing = error
        if nothing is not None and not found and not or_none:
            raise nothing
        return sized(tuple(found.values()))

    def _typed(self, types: tuple[str, ...]) -> tuple[Place, ...]:
        """The outermost fields of some types, each with `@type:` before it."""
        return tuple(self.finder.fields(self.layout, types))

    def arrays(self, patterns: tuple[str, ...]) -> tuple[Place, ...]:
        """The arrays that paths mean, or whose elements are or hold what a type means.

        Where the rule is about every struct, those inside of a struct with a name are that one's.
        """
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        found = [place for path in patterns if not path.startswith(TYPE) for place in self.named(path)]
        if types:
            found += self.finder.arrays(self.layout, types, own=self.is_one_of_many)
        return sized(tuple(dict.fromkeys(found))) or self._nothing_of("array", types)

    def of_arrays(self, array: Place, element: Context, patterns: tuple[str, ...]) -> tuple[Place, ...]:
        """For which fields of its elements a type means an array; none where it is for all of an element."""
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        if not types or self.finder.fits(array.field, types):
            return ()
        return tuple(self.finder.fields(element.layout, types))

    def _nothing_of(self, what: str, types: tuple[str, ...]) -> NoReturn:
        struct = self.layout.struct
        told = ", ".join(f"`{each.removeprefix(TYPE)}`" for each in types[:_FEW])
        more = f" and {len(types) - _FEW} more" if len(types) > _FEW else ""
        raise NothingOfType(f"no {what} of {struct.aggregate} {struct.name} has a type like {told}{more}")

    def matched(self, path: str) -> tuple[Place, ...]:
        """The fields that a path, a pattern or a type means; none is no error."""
        return self._typed((path,)) if path.startswith(TYPE) else self.layout.match(path)

    def named(self, pattern: str) -> tuple[Place, ...]:
        """The fields that one path or pattern means; raises NoSuchField, with the nearest name."""
        matched = self.layout.match(pattern)
        if not matched:
            raise NoSuchField(self._missing(pattern))
        return matched

    def declared(self, access: Access) -> tuple[Place, ...]:
        """The fields that a declaration means; none for an optional one, or a type, that the struct lacks."""
        return self._declared((access,))

    def _declared(self, alike: tuple[Access, ...]) -> tuple[Place, ...]:
        """What several declarations of one access mean; of types the outermost fields."""
        if alike[0].path.startswith(TYPE):
            return sized(self._typed(tuple(access.path for access in alike)))
        if alike[0].is_optional and not self.layout.match(alike[0].path):
            return ()
        return self.places((alike[0].path,))

    def uses(self) -> dict[Place, tuple[Access, ...]]:
        """The fields with their declared accesses; a field's own word stands above a pattern's.

        Raises NoSuchField, and NothingDeclared when there is none; NothingOfType where all are of types.
        """
        struct = self.layout.struct
        words = [access for access in self.accesses if access.access]
        if not words:
            raise NothingDeclared(f"no access is declared for a field of {struct.aggregate} {struct.name}")
        patterns_first = sorted(words, key=lambda access: not is_pattern(access.path))
        groups = _alike(patterns_first)
        by_side = {(place, group[0].side): group[0] for group in groups for place in self._declared(group)}
        if not by_side and all(access.path.startswith(TYPE) for access in words):
            self._nothing_of("field", tuple(access.path for access in words))
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
        """Those of some pairs of fields, found by their accesses or types, that the rule is about.

        Where it is about every struct, what two fields of a struct inside of this one do is its own, unless
        they are declared by their names.
        """
        if not self.is_one_of_many:
            return pairs
        named = {p for a in self.accesses if not a.path.startswith(TYPE) for p in self.declared(a)}
        return [
            (a, b)
            for a, b in pairs
            if a in named or b in named or not self._has_inside(a.path.split("."), b.path.split("."))
        ]

    def crossing(self, pairs: Iterable[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs that the rule is about, of a field of an object and one of the next object."""
        return list(pairs)

    def _has_inside(self, a: list[str], b: list[str]) -> bool:
        """Whether one struct with a name, inside of this one, has two fields."""
        same = 0
        while same < min(len(a), len(b)) - 1 and a[same] == b[same]:
            same += 1
            place = self.layout.find(".".join(a[:same]))
            if place is not None and not is_unnamed(place.field):
                return True
        return False

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

    def others_near(
        self, chosen: Sequence[Place], centers: Sequence[Place], shift: int = 0
    ) -> tuple[Place, ...]:
        """Return those of the others that can be on a line of some fields, or of these in another object.

        `shift` is the bytes from that object to this one. Raises CannotTell for unknown sizes.
        """
        if not self.layout.is_sized:
            self.others(chosen)
        return sized(self.layout.others_near(chosen, centers, self.placements.line_size, shift))

    def _flattened(self, pattern: str) -> str | None:
        """Return the array in a path whose element depends on dimensions that the input does not state."""
        for match in re.finditer(r"(?<!\])(?:\[\d+\])+", pattern):
            array, element = (self.layout.find(pattern[:end]) for end in (match.start(), match.end()))
            if array is not None and array.field.is_flattened and element is None:
                return array.path
        return None

    def _missing(self, pattern: str) -> str:
        struct = self.layout.struct
        flattened = self._flattened(pattern)
        if flattened is not None:
            what = f"BTF does not state the dimensions of `{flattened}` in {struct.aggregate} {struct.name}"
            return f"{what}, so `{pattern}` can be several elements; check a file with DWARF, or the header"
        names = [place.path for place in self.layout.expanded(pattern.count("."))]
        return f"{struct.aggregate} {struct.name} has no field `{pattern}`{did_you_mean(pattern, names)}"


_FEW = 3
"""Types that are named where none of many is found."""


def _types_as_one(patterns: tuple[str, ...], first: str) -> tuple[str, ...]:
    """Paths and patterns of them; of those of types the first."""
    return tuple(pattern for pattern in patterns if pattern == first or not pattern.startswith(TYPE))


def _alike(accesses: Iterable[Access]) -> list[tuple[Access, ...]]:
    """Declarations one by one, but those of types together that say the same."""
    groups: dict[object, list[Access]] = {}
    for number, access in enumerate(accesses):
        by_type = access.access, access.side, access.contended
        groups.setdefault(by_type if access.path.startswith(TYPE) else number, []).append(access)
    return list(map(tuple, groups.values()))


def used_as(uses: Mapping[Place, tuple[Access, ...]], access: str) -> tuple[Place, ...]:
    """The fields of which one of the accesses is the given one, or fits it."""
    return tuple(place for place, by in uses.items() if any(fnmatchcase(a.access, access) for a in by))


def sized(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The same fields; raises CannotTell when the size of one is not known."""
    for place in places:
        if place.bit_size is None:
            raise CannotTell(f"the size of `{place.path}` is not known")
    return places
