"""The input of a kind: geometry, placements and declared accesses of a struct."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NoReturn, Protocol

from layoutlint.errors import did_you_mean
from layoutlint.geometry.allocators import AllocationRequest
from layoutlint.geometry.field_types import TYPE, Finder, is_unnamed
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements, allocation_request, shared_bases
from layoutlint.judgement.namesakes import Namesakes
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import AllocatedArray
from layoutlint.model.record import Record, field
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source, Struct


class Access(Record, frozen=True):
    """The declared access of a field: `hot-read`, `hot-write`, `read-mostly`, `cold`, or a word of the
    project.
    """

    path: str
    access: str
    """Empty for a field that is declared without an access."""
    contended: bool = False
    source: Source | None = None
    side: str = ""
    """The code, on a processor of its own, with this access (`tx`); empty for any code."""
    is_optional: bool = False
    """Whether an input may lack the field."""


class CannotTell(Exception):
    """Raised by a kind that cannot judge a struct. The verdict is then unknown, with this reason."""


class UnreliableLayout(CannotTell):
    """Raised if the verdict depends on a struct whose layout is unreliable."""


class NoSuchField(CannotTell):
    """Raised if a rule names a field that the struct lacks."""


class NoDeclaredAccess(NoSuchField):
    """Raised if a rule selects fields by declared access, and no field has it."""


class NotApplicable(NoSuchField):
    """Raised if a rule does not apply to a struct; a rule on a pattern then skips the struct."""


class NoFieldOfType(NoDeclaredAccess, NotApplicable):
    """Raised if a rule selects fields by type, and no field has it."""


Companions = Callable[[Struct, str, str], bool]
"""Returns whether all code that changes one of two fields of a struct changes the other as well."""


class Owners(Protocol):
    """What the sources of an input show on elements that threads write."""

    def reason(self, struct: Struct, name: str) -> str | None:
        """Return the code that shows that threads write elements of an array in a struct, or of a variable.

        None if none does.
        """
        ...

    def pointed_arrays(self) -> Iterable[tuple[AllocatedArray, str]]:
        """Return the arrays behind pointers whose elements threads write, with the code that shows it."""
        ...


AreDecided = Callable[["Context"], Callable[[Place, Place], bool]]
"""Returns for a struct whether a rule that is no guess keeps two of its fields apart or together."""

SELECTOR = "@"
"""Prefix of an access that selects every field declared so: `@hot-read`, `@hot-*`."""


class Context(Record, frozen=True):
    """The input of a kind: geometry, placements and declared accesses of a struct."""

    layout: Layout
    placements: Placements
    accesses: tuple[Access, ...] = ()
    storage: Storage | None = None
    """The `placement` in the rule file."""
    min_align: int | None = None
    """The smallest alignment of an object in bytes, if it is not the target's."""
    finder: Finder = field(default_factory=Finder)
    is_one_of_many: bool = False
    """Whether the rule is about every struct that matches a pattern, including structs inside this one."""
    companions: Companions | None = None
    """What the sources show on fields that are changed together; None without sources."""
    decided: AreDecided | None = None
    """What other rules decide about pairs of fields; None if they decide nothing."""
    owners: Owners | None = None
    """What the sources show on elements that threads write; None without sources."""
    namesakes: Namesakes | None = None
    """The struct among all definitions of its name in the input; None if it is judged by itself."""

    @property
    def allocation_request(self) -> AllocationRequest:
        """The allocation request for an object."""
        return allocation_request(self.layout, self.min_align)

    def places(self, patterns: tuple[str, ...], or_none: bool = False) -> tuple[Place, ...]:
        """Return the fields that match paths and patterns, in the given order, each once.

        `@hot-read` matches fields with this declared access, `@type:T` fields of a type. Raises NoSuchField
        for a path without a match, with the nearest name; NoDeclaredAccess if no field matches at all, unless
        `or_none`; and CannotTell for unknown sizes.
        """
        fields: dict[str, Place] = {}
        error_if_empty: NoDeclaredAccess | None = None
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        for pattern in patterns if len(types) < 2 else _merge_types(patterns, types[0]):
            try:
                if pattern.startswith(TYPE):
                    matched = self._fields_of_types(types) or self._refuse_no_type("field", types)
                else:
                    is_access = pattern.startswith(SELECTOR)
                    matched = (
                        self.fields_declared_as(pattern[1:]) if is_access else self.require_fields(pattern)
                    )
                fields.update((place.path, place) for place in matched)
            except NoDeclaredAccess as error:
                error_if_empty = error
        if error_if_empty is not None and not fields and not or_none:
            raise error_if_empty
        return require_sizes(tuple(fields.values()))

    def _fields_of_types(self, types: tuple[str, ...]) -> tuple[Place, ...]:
        """Return the outermost fields of types, each given with the prefix `@type:`."""
        return tuple(self.finder.find_fields(self.layout, types))

    def arrays(self, patterns: tuple[str, ...]) -> tuple[Place, ...]:
        """Return the arrays at paths, and those whose elements match a type or contain one.

        If the rule is about every struct, arrays inside a named struct belong to that struct.
        """
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        arrays = [
            place for path in patterns if not path.startswith(TYPE) for place in self.require_fields(path)
        ]
        if types:
            arrays += self.finder.find_arrays(self.layout, types, only_own=self.is_one_of_many)
        return require_sizes(tuple(dict.fromkeys(arrays))) or self._refuse_no_type("array", types)

    def is_array_of(self, array: Place, patterns: tuple[str, ...]) -> bool:
        """Return whether the elements of an array are of one of some types (`@type:T`)."""
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        return bool(types) and self.finder.matches(array.field, types)

    def element_fields(self, array: Place, element: Context, patterns: tuple[str, ...]) -> tuple[Place, ...]:
        """Return the fields of an element that matched a type; none if the whole element matched."""
        types = tuple(pattern for pattern in patterns if pattern.startswith(TYPE))
        if not types or self.is_array_of(array, types):
            return ()
        return tuple(self.finder.find_fields(element.layout, types))

    def _refuse_no_type(self, noun: str, types: tuple[str, ...]) -> NoReturn:
        struct = self.layout.struct
        names = ", ".join(f"`{pattern.removeprefix(TYPE)}`" for pattern in types[:_FEW])
        more = f" and {len(types) - _FEW} more" if len(types) > _FEW else ""
        raise NoFieldOfType(f"no {noun} of {struct.aggregate} {struct.name} has a type like {names}{more}")

    def match_fields(self, path: str) -> tuple[Place, ...]:
        """Return the fields that match a path, a pattern or a type; an empty result is no error."""
        return self._fields_of_types((path,)) if path.startswith(TYPE) else self.layout.match(path)

    def require_fields(self, pattern: str) -> tuple[Place, ...]:
        """Return the fields that match one path or pattern. Raises NoSuchField, with the nearest name."""
        matched = self.layout.match(pattern)
        if not matched:
            raise NoSuchField(self._describe_missing(pattern))
        return matched

    def declared_fields(self, access: Access) -> tuple[Place, ...]:
        """Return the fields of a declaration; none if it is optional, or by type, and the struct has no such
        field.
        """
        return self._fields_of_declarations((access,))

    def _fields_of_declarations(self, declarations: tuple[Access, ...]) -> tuple[Place, ...]:
        """Return the fields of declarations of one access; for types the outermost fields."""
        if declarations[0].path.startswith(TYPE):
            return require_sizes(self._fields_of_types(tuple(access.path for access in declarations)))
        if declarations[0].is_optional and not self.layout.match(declarations[0].path):
            return ()
        return self.places((declarations[0].path,))

    def uses(self) -> dict[Place, tuple[Access, ...]]:
        """Return the fields with their declared accesses. A field's own declaration overrides a pattern's.

        Raises NoSuchField; NoDeclaredAccess if there is no access; NoFieldOfType if all declarations are by
        type and none matches.
        """
        struct = self.layout.struct
        words = [access for access in self.accesses if access.access]
        if not words:
            raise NoDeclaredAccess(f"no access is declared for a field of {struct.aggregate} {struct.name}")
        patterns_first = sorted(words, key=lambda access: not is_pattern(access.path))
        groups = _group_declarations(patterns_first)
        by_side = {
            (place, group[0].side): group[0]
            for group in groups
            for place in self._fields_of_declarations(group)
        }
        if not by_side and all(access.path.startswith(TYPE) for access in words):
            self._refuse_no_type("field", tuple(access.path for access in words))
        by_type = {place.path for (place, _), access in by_side.items() if access.path.startswith(TYPE)}
        uses: dict[Place, tuple[Access, ...]] = {}
        for (place, _), access in by_side.items():
            if access.path.startswith(TYPE) and _is_inside_any(place.path, by_type):
                continue  # matching fields are not searched inside
            uses[place] = (*uses.get(place, ()), access)
        return uses

    def fields_declared_as(self, access: str) -> tuple[Place, ...]:
        """Return the fields declared with an access, which can be an fnmatch pattern.

        Raises the errors of `uses`.
        """
        fields = fields_used_as(self.uses(), access)
        if not fields:
            struct = self.layout.struct
            raise NoDeclaredAccess(f"no field of {struct.aggregate} {struct.name} is declared `{access}`")
        return fields

    def is_beside(self, place: Place) -> bool:
        """Return whether a field is beside the struct that the paths are about; always false for a plain
        struct.
        """
        return False

    def filter_own_pairs(self, pairs: list[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs of fields, found by access or type, that belong to this struct.

        If the rule is about every struct, pairs inside a named inner struct belong to that struct, unless a
        field is declared by name.
        """
        if not self.is_one_of_many:
            return pairs
        named = {p for a in self.accesses if not a.path.startswith(TYPE) for p in self.declared_fields(a)}
        return [
            (a, b)
            for a, b in pairs
            if a in named or b in named or not self._is_in_inner_struct(a.path.split("."), b.path.split("."))
        ]

    def filter_undecided_pairs(self, pairs: list[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs that no other rule keeps apart or together: a guess gives way to it."""
        if self.decided is None or not pairs:
            return pairs
        are_decided = self.decided(self)
        return [(a, b) for a, b in pairs if not are_decided(a, b)]

    def filter_independent_pairs(self, pairs: list[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs that can share a line, without fields that code changes only together."""
        if self.companions is None:
            return pairs
        return [
            (a, b)
            for a, b in pairs
            if shared_bases(a, b, self.placements)
            and not self.companions(self.layout.struct, self._own_field(a), self._own_field(b))
        ]

    def arrays_of_threads(self, arrays: tuple[Place, ...]) -> dict[Place, str]:
        """Return the arrays of which threads write elements of their own, with the code that shows it.

        Raises NoFieldOfType if there is none.
        """
        reasons = {} if self.owners is None else {
            array: reason
            for array in arrays
            if (reason := self.owners.reason(self.layout.struct, self._own_field(array))) is not None
        }
        if not reasons:
            name = self.layout.struct.name
            raise NoFieldOfType(f"the sources do not show that threads write elements of {name}")
        return reasons

    def _own_field(self, place: Place) -> str:
        """Return the name of the field that contains a place and is declared in the struct's own braces."""
        steps = place.path.split(".")
        for count, step in enumerate(steps, 1):
            outer = self.layout.find(".".join(steps[:count]))
            if outer is None or not is_unnamed(outer.field):
                return step.partition("[")[0]
        return steps[-1].partition("[")[0]

    def filter_crossing_pairs(self, pairs: Iterable[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Return the pairs that belong to this struct, of a field of an object and one of the next object."""
        return list(pairs)

    def _is_in_inner_struct(self, a: list[str], b: list[str]) -> bool:
        """Return whether one named struct inside this one contains both fields."""
        same = 0
        while same < min(len(a), len(b)) - 1 and a[same] == b[same]:
            same += 1
            place = self.layout.find(".".join(step.partition("[")[0] for step in a[:same]))
            if place is not None and not is_unnamed(place.field):
                return True
        return False

    def place(self, path: str) -> Place:
        """Return the one field at a path. Raises the errors of `places`, and CannotTell if a pattern matches
        several.
        """
        places = self.places((path,))
        if len(places) > 1:
            raise CannotTell(f"`{path}` means {len(places)} fields, and one is needed")
        return places[0]

    def remaining_fields(self, chosen: Sequence[Place]) -> tuple[Place, ...]:
        """Return the fields that are not chosen, and the other parts of fields with a chosen part.

        Raises CannotTell for unknown sizes.
        """
        return require_sizes(self.layout.remaining_fields(chosen))

    def remaining_fields_near(
        self, chosen: Sequence[Place], centers: Sequence[Place], shift: int = 0
    ) -> tuple[Place, ...]:
        """Return the fields that are not chosen and can be on a line with some fields of this or another
        object.

        `shift` is the distance in bytes from the other object to this one. Raises CannotTell for unknown
        sizes.
        """
        if not self.layout.is_sized:
            self.remaining_fields(chosen)
        return require_sizes(
            self.layout.remaining_fields_near(chosen, centers, self.placements.line_size, shift)
        )

    def _find_flattened(self, pattern: str) -> str | None:
        """Return the array in a path whose element depends on dimensions that the input does not state."""
        for match in re.finditer(r"(?<!\])(?:\[\d+\])+", pattern):
            array, element = (self.layout.find(pattern[:end]) for end in (match.start(), match.end()))
            if array is not None and array.field.is_flattened and element is None:
                return array.path
        return None

    def _describe_missing(self, pattern: str) -> str:
        struct = self.layout.struct
        flattened = self._find_flattened(pattern)
        if flattened is not None:
            reason = f"BTF does not state the dimensions of `{flattened}` in {struct.aggregate} {struct.name}"
            return f"{reason}, so `{pattern}` can be several elements; check a file with DWARF, or the header"
        names = [place.path for place in self.layout.walk_fields(pattern.count("."))]
        hint = did_you_mean(pattern, names)
        if not hint and 0 < len(names) <= _MOST_NAMES:
            hint = f" (it has {', '.join(f'`{name}`' for name in names)})"
        return f"{struct.aggregate} {struct.name} has no field `{pattern}`{hint}"


_MOST_NAMES = 6
"""The most fields that a message lists in place of the nearest one."""


_FEW = 3
"""Maximum number of types in a message."""


def _is_inside_any(path: str, paths: set[str]) -> bool:
    """Return whether a path leads into one of some others."""
    end = path.rfind(".")
    while end > 0:
        if path[:end] in paths:
            return True
        end = path.rfind(".", 0, end)
    return False


def _merge_types(patterns: tuple[str, ...], first: str) -> tuple[str, ...]:
    """Return the patterns with only the first of the type patterns."""
    return tuple(pattern for pattern in patterns if pattern == first or not pattern.startswith(TYPE))


def _group_declarations(accesses: Iterable[Access]) -> list[tuple[Access, ...]]:
    """Group the declarations by type that declare the same access; leave the others single."""
    groups: dict[object, list[Access]] = {}
    for number, access in enumerate(accesses):
        by_type = access.access, access.side, access.contended
        groups.setdefault(by_type if access.path.startswith(TYPE) else number, []).append(access)
    return list(map(tuple, groups.values()))


def fields_used_as(uses: Mapping[Place, tuple[Access, ...]], access: str) -> tuple[Place, ...]:
    """Return the fields with an access that matches an fnmatch pattern."""
    return tuple(place for place, by in uses.items() if any(fnmatchcase(a.access, access) for a in by))


def require_sizes(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Return the fields. Raises CannotTell if the size of one is unknown."""
    for place in places:
        if place.bit_size is None:
            raise CannotTell(f"the size of `{place.path}` is not known")
    return places
