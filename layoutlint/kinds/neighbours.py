"""Kind `neighbours`: variables of a program share no cache line with variables that disturb them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice, pairwise, product
from math import prod
from typing import ClassVar

from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements, field_lines
from layoutlint.geometry.siblings import next_elements, places_in_differing_elements
from layoutlint.geometry.spans import Spans
from layoutlint.judgement.advice import first_few
from layoutlint.judgement.context import SELECTOR, CannotTell, Context, NoSuchField
from layoutlint.judgement.line_sharing import Pair, judge_apart, refuse_many
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge
from layoutlint.model.ctype import CType
from layoutlint.model.paths import is_pattern, is_within
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct

_BREAKS = """\
long limit = 1;         /* read for every packet */
long packets = 1;       /* written for every packet */
"""
_KEEPS = """\
long limit = 1;
long packets __attribute__((aligned(64))) = 1;
"""
_QUIET_SECTION = "read_mostly"
"""Part of the names of sections for rarely written data."""
_BY_SECTION = "read-mostly"
_FEW = 6
_MOST_MATCHES = 10_000_000
"""Maximum number of comparisons of patterns with names, for one rule and one struct of data."""
UNKNOWN_TYPE = CType("??")
"""The type of variables that DWARF does not describe."""


class Neighbours(Record, frozen=True):
    """Variables share no line with those that disturb them."""

    name: ClassVar[str] = "neighbours"
    traits: ClassVar[Traits] = Traits(about="variables", line_pairs=True)
    summary: ClassVar[str] = (
        "no variable that is read often shares a cache line with one that is written often"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "variables",
            "paths",
            "variables that the rule is about; by default all that are declared as read",
        ),
        Key("alone", "boolean", "whether nothing else may be on their lines, declared or not"),
        Key("except", "paths", "other variables that are allowed there"),
        Key("readers", "words", 'accesses that suffer; by default ["hot-read", "read-mostly"]'),
        Key("writers", "words", 'accesses that they suffer from; by default ["hot-write"]'),
    )
    manual: ClassVar[Manual] = Manual(
        "These rules name no `struct`. They judge\n"
        "[variables](rules.md#variables-what-is-known-about-variables) at their addresses in the symbol\n"
        "table. A linked file has one placement. In an object file, each section is judged by itself, at\n"
        "all bases that its alignment allows.\n"
        "\n"
        "Declare accesses in `[variables]`. An undeclared variable in a section for rarely written data\n"
        "(`.data..read_mostly`) is `read-mostly`.\n"
        "\n"
        "With `alone`, nothing may share a line with one of `variables`, not even another one of them;\n"
        "variables that an access chooses (`@hot-read`) may share lines with one another. In an object\n"
        "file, the linker can fill the begin and the end of a section, so check the linked program.\n"
        "\n"
        "- Parts of a variable (`net.count`) need DWARF, and are compared with one another if declared.\n"
        "- With `alone`, a part is also compared with its variable's other parts, and elements of an array\n"
        "  of structs or unions with one another. `except` with the variable's name allows both.\n"
        "- For elements of other arrays, use `stride` with `variables`. Without DWARF, `stride` is unknown,\n"
        "  and so is `alone` for a variable longer than a line.\n"
        "- Per-CPU variables are judged among those of one CPU.",
        "Give the written variable its own line (`_Alignas(64)`, in Linux\n"
        "`____cacheline_aligned_in_smp`), or put the read one among other read ones (`__read_mostly`).",
        "",
        Example(
            _BREAKS,
            Outcome.AT_RISK,
            "`limit` (hot-read) at .data+0x0..0x7 shares a line with `packets` (hot-write) at .data+0x8..0xf "
            "in 7 of 8 placements",
        ),
        Example(_KEEPS, Outcome.KEPT, "1 variable shares no line with those that disturb it"),
    )

    variables: tuple[str, ...] = ()
    alone: bool = False
    except_: tuple[str, ...] = ()
    readers: tuple[str, ...] = ("hot-read", "read-mostly")
    writers: tuple[str, ...] = ("hot-write",)

    def __post_init__(self) -> None:
        for key, words in (("readers", self.readers), ("writers", self.writers)):
            if not words:
                raise ValueError(f"`{key}` needs at least one access")
        for path in (*self.variables, *self.except_):
            if path.startswith(TYPE):
                raise ValueError(f"`{path}`: name variables, not types")
        if self.except_ and not self.alone:
            raise ValueError("`except` needs `alone`: it lists what may be beside the variable")

    def check(self, context: Context) -> Verdict:
        """Return a violation where a variable is on a line with one that disturbs it."""
        variables = _Variables(context)
        group = self._find_group(variables)
        _refuse_unsized(group)
        allowed = [variable for path in self.except_ for variable in variables.find(path)]
        excepted = {variable.position for variable in allowed if not variable.is_part}
        others = self._find_others(variables, group, allowed)
        pairs = self._find_pairs(variables, group, others, context.placements.line_size)
        number = len({variable.position for variable in group})
        message = _kept_message(number, context.placements.unit)
        if self.alone:
            message += _describe_unjudged(group)
        kept_verdict = judge(context.placements, (), message, tuple(v.place for v in group[:_FEW]), "")
        verdict = judge_apart(pairs, context.placements, kept_verdict, variables.say)
        if verdict is kept_verdict:
            if self.alone:
                _refuse_unknown_elements([v for v in group if v.position not in excepted], context.placements)
                _refuse_open_lines(group, context)
            return kept_verdict
        written = (place for place in verdict.evidence if variables.has(place, self.writers))
        return replace(verdict, advice=_advice(next(written, verdict.evidence[0]), context.placements))

    def _find_others(
        self, variables: _Variables, group: list[_Variable], allowed: list[_Variable]
    ) -> list[_Variable]:
        """Return what can disturb the variables: with `alone`, all but themselves and what is allowed."""
        if not self.alone:
            return variables.declared_variables()
        allowed_positions = {variable.position for variable in allowed}
        own = {variable.position for variable in group}
        wholes = [v for v in variables.whole_variables() if v.position not in allowed_positions]
        return wholes + [part for part in variables.unchosen_parts(allowed) if part.position not in own]

    def _find_pairs(
        self, variables: _Variables, group: list[_Variable], others: list[_Variable], line: int
    ) -> list[Pair]:
        """Return the pairs that must be apart and can be on one line, each once. Raises CannotTell for too
        many.
        """
        pairs: dict[frozenset[tuple[_At, str]], Pair] = {}
        together = self._find_together(variables, group) if self.alone else set()
        near_pairs = [
            both
            for a, b in _close_pairs(group, others, line)
            if self._do_disturb(a, b)
            if not (self.alone and (a.position == b.position or {a.position, b.position} <= together))
            for both in ([(a, b)] if not a.overlaps(b) else variables.next_elements(a, b))
            if both[0].is_near(both[1], line)
        ]
        for a, b in (*near_pairs, *(self._pairs_inside(variables, group, line) if self.alone else ())):
            each = frozenset(((a.position, a.place.path), (b.position, b.place.path)))
            pairs.setdefault(each, (a.place, b.place))
        return list(pairs.values())

    def _find_together(self, variables: _Variables, group: list[_Variable]) -> set[_At]:
        """Return the variables of the group that only an access chooses, and that may share lines."""
        names = [path for path in self._paths if not path.startswith(SELECTOR)]
        if len(names) == len(self._paths):
            return set()
        named = {variable.position for path in names for variable in variables.find(path)}
        return {variable.position for variable in group} - named

    def _pairs_inside(
        self, variables: _Variables, group: list[_Variable], line: int
    ) -> Iterator[tuple[_Variable, _Variable]]:
        """Yield pairs inside a variable that must be alone: its parts, or its elements."""
        excepted = [variable for path in self.except_ for variable in variables.find(path)]
        allowed = {variable.position for variable in excepted if not variable.is_part}
        own: dict[_At, list[Place]] = {}
        for variable in (*group, *excepted):
            own.setdefault(variable.position, []).append(variable.place)
        for variable in group:
            if variable.position not in allowed:
                for one, other in variables.adjacent_parts(variable, own[variable.position], line):
                    if one.is_near(other, line):
                        yield one, other

    @property
    def variable_paths(self) -> tuple[str, ...]:
        """The variables that the rule names, and selectors of variables."""
        return (*self.variables, *self.except_)

    def concerns(self, context: Context) -> bool:
        """Return whether the data contain a variable that the rule is about."""
        return has_any(context, self._paths)

    @property
    def _paths(self) -> tuple[str, ...]:
        return self.variables or tuple(f"{SELECTOR}{word}" for word in self.readers)

    def _find_group(self, variables: _Variables) -> list[_Variable]:
        """Return the variables that the rule is about."""
        group = {
            (variable.position, variable.place.path): variable
            for path in self._paths
            for variable in variables.find(path)
        }
        return list(group.values())

    def _do_disturb(self, a: _Variable, b: _Variable) -> bool:
        """Return whether one of two variables disturbs the other."""
        return self.alone or any(
            not read.words.isdisjoint(self.readers) and not written.words.isdisjoint(self.writers)
            for read, written in ((a, b), (b, a))
        )


_At = tuple[str, int]
"""The name and position of a variable: files can contain several of one name."""


class _Variable(Record, frozen=True):
    """A variable or a part of one, with its accesses."""

    whole: Place
    place: Place
    """The part, or the whole variable."""
    words: frozenset[str]

    @property
    def position(self) -> _At:
        return self.whole.path, self.whole.bit_offset

    @property
    def is_part(self) -> bool:
        """Whether it is a part, and not the whole."""
        return self.place != self.whole

    def overlaps(self, other: _Variable) -> bool:
        """Return whether both share memory."""
        mine, theirs = self.place, other.place
        return mine.offset < theirs.end and theirs.offset < mine.end

    def is_near(self, other: _Variable, line: int) -> bool:
        """Return whether both can be on a line, and share no memory."""
        mine, theirs = self.place, other.place
        if self.overlaps(other):
            return False
        return mine.offset < theirs.end + line and theirs.offset < mine.end + line


def _close_pairs(
    group: list[_Variable], others: list[_Variable], line: int
) -> Iterator[tuple[_Variable, _Variable]]:
    """Yield pairs that can be on one line and share no memory, and pairs of one variable that do.

    In the order of both lists. Raises CannotTell for too many.

    Thousands of names can have one address, so other pairs that share memory are not even counted.
    """
    near = Spans([(other.place.offset, other.place.end) for other in others])
    numbers: dict[_At, list[int]] = {}
    for number, other in enumerate(others):
        numbers.setdefault(other.position, []).append(number)
    of_one = {
        position: Spans([(others[number].place.offset, others[number].place.end) for number in own])
        for position, own in numbers.items()
    }
    places = [(variable, variable.place.offset, variable.place.end) for variable in group]
    refuse_many(
        sum(
            near.count_beside(start, end, line)
            + (of_one[variable.position].count_candidates(start, end) if variable.position in of_one else 0)
            for variable, start, end in places
        ),
        "variables",
    )
    for variable, start, end in places:
        chosen = near.indices_beside(start, end, line)
        if variable.position in of_one:
            own = numbers[variable.position]
            chosen |= {own[index] for index in of_one[variable.position].overlapping_indices(start, end)}
        yield from ((variable, others[number]) for number in sorted(chosen))


def find_arrays(context: Context, paths: Iterable[str]) -> list[Place]:
    """Return the variables, and parts of variables, that match some paths.

    Raises CannotTell if the type of a variable is unknown.
    """
    variables = _Variables(context)
    places: dict[Place, None] = {}
    for path in paths:
        for place in (variable.place for variable in variables.find(path)):
            if place.field.type == UNKNOWN_TYPE:
                raise CannotTell(f"the type of `{place.path}` is unknown")
            if place.field.dims or not is_pattern(path):
                places[place] = None
    if not places:
        raise CannotTell(f"no array is called {', '.join(f'`{path}`' for path in paths)}")
    return list(places)


def has_any(context: Context, paths: Iterable[str]) -> bool:
    """Return whether the data contain a variable that matches one of some paths."""
    variables = _Variables(context)
    return any(variables.has_any(path) for path in paths)


class _Variables:
    """The variables in some data, with their declared accesses."""

    def __init__(self, context: Context) -> None:
        self._layout, self._line_size = context.layout, context.placements.line_size
        sections = [
            Place(section.type.left, section.bit_offset, section.bit_size, section)
            for section in context.layout.struct.fields
        ]
        self._section_names = [section.path for section in sections]
        self._sections = Spans([(section.offset, section.end) for section in sections])
        self._by_name: dict[str, list[int]] = {}
        for number, place in enumerate(context.layout.places):
            self._by_name.setdefault(place.path, []).append(number)
        self._matches = 0
        self._uses: dict[tuple[_At, str], _Variable] = {}
        for place in context.layout.places:
            if _QUIET_SECTION in self._section_of(place):
                self._add(_Variable(place, place, frozenset((_BY_SECTION,))))
        own: dict[tuple[_At, str], frozenset[str]] = {}
        for access in sorted(context.accesses, key=lambda a: (not is_pattern(a.path), "[" in a.path)):
            for whole, place in self._match(access.path):
                key = (whole.path, whole.bit_offset), place.path
                words = own.get(key, frozenset()) if access.side else frozenset()
                own[key] = words | {access.access}
                self._add(_Variable(whole, place, own[key]))

    def _add(self, variable: _Variable) -> None:
        self._uses[variable.position, variable.place.path] = variable

    def whole_variables(self) -> list[_Variable]:
        """Return every variable as a whole."""
        return [self._with_words(place, place) for place in self._layout.places if not place.is_empty]

    def declared_variables(self) -> list[_Variable]:
        """Return the variables, and parts of variables, with a declared access."""
        return list(self._uses.values())

    def has_any(self, path: str) -> bool:
        """Return whether a variable matches a path, a pattern or an access."""
        if path.startswith(SELECTOR):
            return bool(self.find(path))
        return bool(self._find_by_name(path))

    def _find_by_name(self, path: str) -> list[Place]:
        """Return the variables with the first name of a path, or with all of it (`count.3` of a compiler)."""
        places, name = self._layout.places, _variable_name(path)
        if "*" in name or "?" in name:
            self._refuse_many(len(places))
            return [place for place in places if place.path == path or fnmatchcase(place.path, name)]
        numbers = {*self._by_name.get(name, ()), *self._by_name.get(path, ())}
        return [places[number] for number in sorted(numbers)]

    def _refuse_many(self, number: int) -> None:
        """Raise CannotTell if patterns were compared with too many names."""
        self._matches += number
        if self._matches > _MOST_MATCHES:
            raise CannotTell(
                f"the rule compares patterns with names more than {_MOST_MATCHES:,} times; use fewer patterns"
            )

    def find(self, path: str) -> list[_Variable]:
        """Return the variables and parts that match a path, a pattern or an access."""
        if path.startswith(SELECTOR):
            self._refuse_many(len(self._uses))
            return [v for v in self._uses.values() if any(fnmatchcase(word, path[1:]) for word in v.words)]
        return [self._with_words(whole, place) for whole, place in self._match(path)]

    def has(self, place: Place, words: tuple[str, ...]) -> bool:
        """Return whether a variable, or a part of it, has one of some accesses."""
        uses, spans = self._used_spans
        return any(
            not uses[number].words.isdisjoint(words)
            for number in spans.overlapping_indices(place.offset, place.end)
        )

    @cached_property
    def _used_spans(self) -> tuple[list[_Variable], Spans]:
        uses = self.declared_variables()
        return uses, Spans([(v.place.offset, v.place.end) for v in uses])

    def _with_words(self, whole: Place, place: Place) -> _Variable:
        at = whole.path, whole.bit_offset
        declared = self._uses.get((at, place.path)) or self._uses.get((at, whole.path))
        return _Variable(whole, place, declared.words if declared is not None else frozenset())

    def _match(self, path: str) -> Iterator[tuple[Place, Place]]:
        """Yield each variable with the first name of a path, and each part that the rest of the
        path matches.
        """
        name = _variable_name(path)
        for whole in self._find_by_name(path):
            if name == path or whole.path == path:
                yield whole, whole
                continue
            places = self._layout_of_one(whole, name).match(path)
            if not places and not whole.field.members:
                raise CannotTell(f"the type of `{whole.path}` is unknown")
            if not places:
                raise NoSuchField(f"`{whole.path}` has no part `{path}`")
            struct = self._layout_of_one(whole, name).struct
            for place in places:
                yield from ((whole, element) for element in self._element_places(struct, place))

    def _element_places(self, struct: Struct, place: Place) -> list[Place]:
        """Return a part of a variable for each element of the arrays in its path that have no index."""
        try:
            return places_in_differing_elements(struct, place, self._line_size)
        except ValueError as error:
            raise CannotTell(str(error)) from None

    def next_elements(self, a: _Variable, b: _Variable) -> Iterator[tuple[_Variable, _Variable]]:
        """Yield a part of a variable with the elements next to the element that contains it."""
        inner, outer = (a, b) if is_within(a.place.path, b.place.path) else (b, a)
        if a.position == b.position and is_within(inner.place.path, outer.place.path):
            layout = self._layout_of_one(inner.whole, _variable_name(inner.place.path))
            for place in next_elements(layout, inner.place.path, outer.place.path, self._line_size):
                yield inner, replace(outer, place=place)

    def unchosen_parts(self, chosen: list[_Variable]) -> Iterator[_Variable]:
        """Yield the other parts of variables of which only parts are chosen."""
        wholes = {variable.position for variable in chosen if not variable.is_part}
        parts: dict[_At, list[_Variable]] = {}
        for variable in chosen:
            if variable.position not in wholes:
                parts.setdefault(variable.position, []).append(variable)
        for *_, variable in parts.values():
            own = [each.place for each in parts[variable.position]]
            layout = self._layout_of_one(variable.whole, _variable_name(variable.place.path))
            yield from (
                replace(variable, place=place) for place in layout.remaining_fields(own) if not place.is_empty
            )

    def adjacent_parts(
        self, variable: _Variable, chosen: list[Place], line: int
    ) -> Iterator[tuple[_Variable, _Variable]]:
        """Yield a part of a variable with the parts that are not chosen; of an array, each element with the
        next.

        Only arrays of structs and unions, such as locks, count.
        """
        whole, place = variable.whole, variable.place
        if place != whole:
            if whole not in chosen:
                parts = self._layout_of_one(whole, _variable_name(place.path)).remaining_fields(chosen)
                yield from (
                    (variable, replace(variable, place=next_element))
                    for next_element in parts
                    if not next_element.is_empty
                )
            return
        count, size = prod(length or 0 for length in whole.field.dims), whole.element_bits
        if whole.field.aggregate is None or not size:
            return
        elements = [
            replace(
                whole,
                path=f"{whole.path}{indices}",
                bit_offset=whole.bit_offset + number * size,
                bit_size=size,
            )
            for number, indices in enumerate(_first_indices(whole.field.dims, min(count, line + 1)))
        ]
        for element, other in pairwise(elements):
            yield replace(variable, place=element), replace(variable, place=other)

    def _layout_of_one(self, whole: Place, name: str) -> Layout:
        """Return a struct with the variable as its only field, under some name."""
        field = replace(whole.field, name=name, bit_offset=whole.bit_offset)
        return Layout(replace(self._layout.struct, fields=(field,)))

    def _section_of(self, place: Place) -> str:
        numbers = self._sections.overlapping_indices(place.offset, place.offset + 1)
        return next((self._section_names[number] for number in numbers), "")

    @cached_property
    def _variables_by_place(self) -> dict[tuple[str, int, int | None], _Variable]:
        """The variables with a declared access, by place; the first of several."""
        uses = reversed(self.declared_variables())
        return {(v.place.path, v.place.bit_offset, v.place.bit_size): v for v in uses}

    def say(self, place: Place) -> str:
        """Format a variable with its accesses, addresses and section."""
        variable = self._variables_by_place.get((place.path, place.bit_offset, place.bit_size))
        words = f" ({', '.join(sorted(variable.words))})" if variable is not None and variable.words else ""
        section, start = self._section_of(place), self._layout.struct.address
        if start is None:
            return f"`{place.path}`{words} at {section}+{place.offset:#x}..{place.end - 1:#x}"
        return f"`{place.path}`{words} at {start + place.offset:#x}..{start + place.end - 1:#x} in {section}"


def _first_indices(dims: tuple[int | None, ...], most: int) -> Iterator[str]:
    """Yield the indices of the first elements of an array, as C writes them."""
    each = product(*(range(length or 0) for length in dims))
    return ("".join(f"[{index}]" for index in indices) for indices in islice(each, most))


def _variable_name(path: str) -> str:
    """Return the variable of a path."""
    return path.partition(".")[0].partition("[")[0]


def _refuse_unknown_elements(group: list[_Variable], placements: Placements) -> None:
    """Raise CannotTell for a variable of unknown type on several lines, whose elements may share them."""
    for variable in group:
        name, size = variable.whole.path, variable.whole.size or 0
        is_unknown = not variable.is_part and variable.whole.field.type == UNKNOWN_TYPE
        if is_unknown and size > placements.line_size:
            raise CannotTell(
                f"nothing else is on the lines of `{name}`, but the type of its {size} bytes is unknown: "
                f"elements of an array can share lines. Build it with `-g`, or allow that with "
                f'`except = ["{name}"]`'
            )


def _refuse_unsized(group: list[_Variable]) -> None:
    """Raise CannotTell for a variable of unknown type without a byte before what follows it."""
    for variable in group:
        if variable.place.is_empty and variable.place.field.type == UNKNOWN_TYPE:
            raise CannotTell(f"the symbol table states no size of `{variable.whole.path}`")


def _refuse_open_lines(group: list[_Variable], context: Context) -> None:
    """Raise CannotTell for a variable of an object file with a line that extends beyond its section."""
    if context.layout.struct.address is not None:
        return
    placements, end = context.placements, context.layout.size
    for variable in group:
        for base in placements.bases:
            lines = field_lines(variable.place, base, placements.line_size)
            reach = lines.start * placements.line_size - base, lines.stop * placements.line_size - base
            if lines and (reach[0] < 0 or reach[1] > end):
                raise CannotTell(
                    f"a line of `{variable.place.path}` extends beyond {context.layout.struct.name} of this "
                    "object, and the linker can put data of other objects there: give the linked program"
                )


def _describe_unjudged(group: list[_Variable]) -> str:
    """Name the arrays whose elements are not compared with one another."""
    names = [f"`{v.place.path}`" for v in group if v.place.field.dims and v.place.field.aggregate is None]
    if not names:
        return ""
    return f"; the elements of {first_few(names, 'array')} may share lines with one another (kind `stride`)"


def _kept_message(number: int, unit: str) -> str:
    if number == 1:
        return f"1 variable shares no {unit} with those that disturb it"
    return f"{number} variables share no {unit} with those that disturb them"


def _advice(written: Place, placements: Placements) -> str:
    if written.path.endswith("]"):
        array, line, unit = written.path.rpartition("[")[0], placements.line_size, placements.unit
        return f"align the elements of `{array}` to {line} bytes, so that each begins on a {unit} of its own"
    if not placements.source_aligner.is_linux:
        how = f"{placements.aligner} at it and at what follows it"
        return f"give `{written.path}` a {placements.unit} of its own ({how})"
    return (
        f"give `{written.path}` a {placements.unit} of its own ({placements.aligner}), "
        "or move rarely written variables into one section (`__read_mostly`)"
    )
