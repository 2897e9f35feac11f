"""Kind `neighbours`: variables of a program keep off the cache lines of others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import accumulate, islice, pairwise, product
from math import prod
from typing import ClassVar

from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements
from layoutlint.geometry.siblings import next_elements, places_in_differing_elements
from layoutlint.judgement.advice import first_few
from layoutlint.judgement.context import SELECTOR, CannotTell, Context, NoSuchField
from layoutlint.judgement.line_sharing import Pair, judge_apart, refuse_many
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge
from layoutlint.model.ctype import CType
from layoutlint.model.paths import is_pattern, is_within
from layoutlint.model.structs import Struct

_BREAKS = """\
long limit = 1;         /* read for every packet */
long packets = 1;       /* written for every packet */
"""
_KEEPS = """\
long limit = 1;
long packets __attribute__((aligned(64))) = 1;
"""
_QUIET = "read_mostly"
"""In the names of sections for what is hardly ever written."""
_BY_SECTION = "read-mostly"
_FEW = 6
_MOST_MATCHES = 10_000_000
"""Patterns times names that one rule holds against one another in some data."""
UNKNOWN_TYPE = CType("??")
"""Of variables that DWARF does not describe."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Variables share no line with those that disturb them."""

    name: ClassVar[str] = "neighbours"
    traits: ClassVar[Traits] = Traits()
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
        "These rules name no `struct`. They judge variables, named as in C, at the addresses in the symbol\n"
        "table of a program, a `vmlinux`, a module or an object file. A linked file has one placement:\n"
        "loading it at a multiple of a page changes no line. In an object file each section is judged by\n"
        "itself, at all bases that its alignment allows.\n"
        "\n"
        "Accesses are declared in `[variables]` of the rule file. An undeclared variable in a section for\n"
        "rarely written data (`.data..read_mostly`) is `read-mostly`. `variables` are compared with all\n"
        "others if one of the two is read and the other written; with `alone`, with everything there.\n"
        "\n"
        "- Parts of a variable (`net.count`) need DWARF. Declared parts of one variable are compared with\n"
        "  one another.\n"
        "- With `alone`, a part is also compared with its variable's other parts, and the elements of an\n"
        "  array of structs or unions, such as locks, with one another. `except` with the variable's name\n"
        "  allows both.\n"
        "- For elements of other arrays, use kind `stride` with `variables`. Elements without DWARF are\n"
        "  not judged; `stride` is unknown for them.\n"
        "- Symbols for the same memory are not compared.\n"
        "- Per-CPU variables are judged among those of one CPU.\n"
        "- If a line, or a pair of lines, has more than 256 bytes, the outcome is unknown.",
        "Give the written variable its own line (`____cacheline_aligned_in_smp`), or put the read one\n"
        "among other read ones (`__read_mostly`).",
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
                raise ValueError(f"`{path}`: variables go by their names, and not by their types")
        if self.except_ and not self.alone:
            raise ValueError("`except` says who may be beside a variable that is otherwise `alone`")

    def check(self, context: Context) -> Verdict:
        """Broken where a variable is on a line with one that disturbs it."""
        known = _Known(context)
        group = self._group(known)
        mine = {variable.at for variable in group}
        allowed = [variable for path in self.except_ for variable in known.meant(path)]
        wholes = mine | {variable.at for variable in allowed}
        others = [*known.all(), *known.rest(allowed)] if self.alone else known.declared()
        if self.alone:
            others = [o for o in others if o.at not in (mine if o.is_part else wholes)]
        pairs = self._pairs(known, group, others, context.placements.line_size)
        message = _kept(len(mine), context.placements.unit) + (_unjudged(group) if self.alone else "")
        kept = judge(context.placements, (), message, tuple(v.place for v in group[:_FEW]), "")
        verdict = judge_apart(pairs, context.placements, kept, known.say)
        if verdict is kept:
            return kept
        written = (place for place in verdict.evidence if known.has(place, self.writers))
        return replace(verdict, advice=_advice(next(written, verdict.evidence[0]), context.placements))

    def _pairs(self, known: _Known, group: list[_Variable], others: list[_Variable], line: int) -> list[Pair]:
        """What must keep apart and can be on one line, each pair once. Raises CannotTell for too many."""
        pairs: dict[frozenset[tuple[_At, str]], Pair] = {}
        found = [
            both
            for a, b in _close(group, others, line)
            if self._disturb(a, b)
            for both in ([(a, b)] if not a.overlaps(b) else known.next_elements(a, b))
            if both[0].is_near(both[1], line)
        ]
        for a, b in (*found, *(self._inside(known, group, line) if self.alone else ())):
            each = frozenset(((a.at, a.place.path), (b.at, b.place.path)))
            pairs.setdefault(each, (a.place, b.place))
        return list(pairs.values())

    def _inside(
        self, known: _Known, group: list[_Variable], line: int
    ) -> Iterator[tuple[_Variable, _Variable]]:
        """What is alone, and what its own variable has beside it: other parts, or other elements."""
        excepted = [variable for path in self.except_ for variable in known.meant(path)]
        allowed = {variable.at for variable in excepted if not variable.is_part}
        own: dict[_At, list[Place]] = {}
        for variable in (*group, *excepted):
            own.setdefault(variable.at, []).append(variable.place)
        for variable in group:
            if variable.at not in allowed:
                for one, other in known.beside(variable, own[variable.at], line):
                    if one.is_near(other, line):
                        yield one, other

    def concerns(self, context: Context) -> bool:
        """Whether some data have one of the variables that the rule is about."""
        return has_any(context, self._paths)

    @property
    def _paths(self) -> tuple[str, ...]:
        return self.variables or tuple(f"{SELECTOR}{word}" for word in self.readers)

    def _group(self, known: _Known) -> list[_Variable]:
        """The variables that the rule is about."""
        group = {(found.at, found.place.path): found for path in self._paths for found in known.meant(path)}
        return list(group.values())

    def _disturb(self, a: _Variable, b: _Variable) -> bool:
        """Whether one of two variables disturbs the other."""
        return self.alone or any(
            not read.words.isdisjoint(self.readers) and not written.words.isdisjoint(self.writers)
            for read, written in ((a, b), (b, a))
        )


_At = tuple[str, int]
"""A variable by its name and its place: files can have variables of one name."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable, or a part of one, and how it is used."""

    whole: Place
    place: Place
    """The part that is meant, or the whole."""
    words: frozenset[str]

    @property
    def at(self) -> _At:
        return self.whole.path, self.whole.bit_offset

    @property
    def is_part(self) -> bool:
        """Whether a part is meant, and not the whole."""
        return self.place != self.whole

    def overlaps(self, other: _Variable) -> bool:
        """Whether both have some of the same memory."""
        mine, its = self.place, other.place
        return mine.offset < its.end and its.offset < mine.end

    def is_near(self, other: _Variable, line: int) -> bool:
        """Whether another variable, or part of one, not the same memory, can be on a line with it."""
        mine, its = self.place, other.place
        if self.overlaps(other):
            return False
        return mine.offset < its.end + line and its.offset < mine.end + line


def _close(
    group: list[_Variable], others: list[_Variable], line: int
) -> Iterator[tuple[_Variable, _Variable]]:
    """Yield what can be on one line, or overlaps, in the order of both. Raises CannotTell for too many."""
    near = _Spans([(other.place.offset, other.place.end) for other in others])
    reaches = [(variable.place.offset - line, variable.place.end + line) for variable in group]
    refuse_many(sum(near.number(*reach) for reach in reaches), "variables")
    for variable, reach in zip(group, reaches, strict=True):
        yield from ((variable, others[number]) for number in near.meeting(*reach))


class _Spans:
    """Stretches of memory, found by their place, not each by each: a kernel has 100,000 variables."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._numbers = sorted(range(len(spans)), key=spans.__getitem__)
        self._starts = [spans[number][0] for number in self._numbers]
        self._reach = list(accumulate((spans[number][1] for number in self._numbers), max))
        """The furthest end up to each of them."""

    def meeting(self, start: int, end: int) -> list[int]:
        """Return the numbers of those that begin before an end and end behind a start, in order."""
        chosen = self._numbers[self._first(start) : bisect_left(self._starts, end)]
        return sorted(number for number in chosen if self._spans[number][1] > start)

    def number(self, start: int, end: int) -> int:
        """Return how many `meeting` looks at."""
        return max(0, bisect_left(self._starts, end) - self._first(start))

    def _first(self, start: int) -> int:
        return bisect_right(self._reach, start)


def arrays(context: Context, paths: Iterable[str]) -> list[Place]:
    """Return the variables, and parts of variables, that some paths mean in some data.

    Raises CannotTell where it is not known what a variable is made of.
    """
    known = _Known(context)
    found: dict[Place, None] = {}
    for path in paths:
        for place in (variable.place for variable in known.meant(path)):
            if place.field.type == UNKNOWN_TYPE:
                raise CannotTell(f"what `{place.path}` is made of is not known")
            if place.field.dims or not is_pattern(path):
                found[place] = None
    if not found:
        raise CannotTell(f"no array is called {', '.join(f'`{path}`' for path in paths)}")
    return list(found)


def has_any(context: Context, paths: Iterable[str]) -> bool:
    """Return whether some data have a variable that one of some paths is about."""
    known = _Known(context)
    return any(known.has_any(path) for path in paths)


class _Known:
    """The variables of some data, and what is declared of them."""

    def __init__(self, context: Context) -> None:
        self._layout, self._line_size = context.layout, context.placements.line_size
        sections = context.layout.struct.fields
        self._section_names = [section.type.left for section in sections]
        self._sections = _Spans([(s.bit_offset, s.bit_offset + (s.bit_size or 0)) for s in sections])
        self._by_name: dict[str, list[int]] = {}
        for number, place in enumerate(context.layout.places):
            self._by_name.setdefault(place.path, []).append(number)
        self._matches = 0
        self._uses: dict[tuple[_At, str], _Variable] = {}
        for place in context.layout.places:
            if _QUIET in self._section(place):
                self._add(_Variable(place, place, frozenset((_BY_SECTION,))))
        own: dict[tuple[_At, str], frozenset[str]] = {}
        for access in sorted(context.accesses, key=lambda a: (not is_pattern(a.path), "[" in a.path)):
            for whole, place in self._matched(access.path):
                key = (whole.path, whole.bit_offset), place.path
                before = own.get(key, frozenset()) if access.side else frozenset()
                own[key] = before | {access.access}
                self._add(_Variable(whole, place, own[key]))

    def _add(self, variable: _Variable) -> None:
        self._uses[variable.at, variable.place.path] = variable

    def all(self) -> list[_Variable]:
        """Every variable as a whole."""
        return [self._used(place, place) for place in self._layout.places if not place.is_empty]

    def declared(self) -> list[_Variable]:
        """Those, and the parts of those, of which something is declared."""
        return list(self._uses.values())

    def has_any(self, path: str) -> bool:
        """Whether there is a variable that a path, a pattern or an access is about."""
        if path.startswith(SELECTOR):
            return bool(self.meant(path))
        return bool(self._called(path))

    def _called(self, path: str) -> list[Place]:
        """The variables of the name that a path begins with; `count.3` of a compiler is a name as a whole."""
        places, name = self._layout.places, _first(path)
        if "*" in name or "?" in name:
            self._refuse_many(len(places))
            return [place for place in places if place.path == path or fnmatchcase(place.path, name)]
        numbers = {*self._by_name.get(name, ()), *self._by_name.get(path, ())}
        return [places[number] for number in sorted(numbers)]

    def _refuse_many(self, number: int) -> None:
        """Raise CannotTell where patterns were held against too many names."""
        self._matches += number
        if self._matches > _MOST_MATCHES:
            raise CannotTell(
                f"the rule holds patterns against names more than {_MOST_MATCHES:,} times; use fewer patterns"
            )

    def meant(self, path: str) -> list[_Variable]:
        """Those that a path, a pattern or an access means."""
        if path.startswith(SELECTOR):
            self._refuse_many(len(self._uses))
            return [v for v in self._uses.values() if any(fnmatchcase(word, path[1:]) for word in v.words)]
        return [self._used(whole, place) for whole, place in self._matched(path)]

    def has(self, place: Place, words: tuple[str, ...]) -> bool:
        """Whether one of some accesses is declared of a variable, or of a part of it."""
        uses, spans = self._used_spans
        return any(
            not uses[number].words.isdisjoint(words) for number in spans.meeting(place.offset, place.end)
        )

    @cached_property
    def _used_spans(self) -> tuple[list[_Variable], _Spans]:
        uses = self.declared()
        return uses, _Spans([(v.place.offset, v.place.end) for v in uses])

    def _used(self, whole: Place, place: Place) -> _Variable:
        at = whole.path, whole.bit_offset
        found = self._uses.get((at, place.path)) or self._uses.get((at, whole.path))
        return _Variable(whole, place, found.words if found is not None else frozenset())

    def _matched(self, path: str) -> Iterator[tuple[Place, Place]]:
        """Every variable that has the first name, and what the rest of the path means in it."""
        name = _first(path)
        for whole in self._called(path):
            if name == path or whole.path == path:
                yield whole, whole
                continue
            found = self._opened(whole, name).match(path)
            if not found and not whole.field.members:
                raise CannotTell(f"what `{whole.path}` is made of is not known")
            if not found:
                raise NoSuchField(f"`{whole.path}` has no part `{path}`")
            struct = self._opened(whole, name).struct
            for place in found:
                yield from ((whole, each) for each in self._in_elements(struct, place))

    def _in_elements(self, struct: Struct, place: Place) -> list[Place]:
        """A part of a variable, in each element where its path leads through arrays without an index."""
        try:
            return places_in_differing_elements(struct, place, self._line_size)
        except ValueError as error:
            raise CannotTell(str(error)) from None

    def next_elements(self, a: _Variable, b: _Variable) -> Iterator[tuple[_Variable, _Variable]]:
        """A part of a variable, with the elements beside the one of an array in which it stands."""
        inner, outer = (a, b) if is_within(a.place.path, b.place.path) else (b, a)
        if a.at == b.at and is_within(inner.place.path, outer.place.path):
            layout = self._opened(inner.whole, _first(inner.place.path))
            for place in next_elements(layout, inner.place.path, outer.place.path, self._line_size):
                yield inner, replace(outer, place=place)

    def rest(self, chosen: list[_Variable]) -> Iterator[_Variable]:
        """The other parts of variables of which only parts are chosen."""
        wholes = {variable.at for variable in chosen if not variable.is_part}
        parts: dict[_At, list[_Variable]] = {}
        for variable in chosen:
            if variable.at not in wholes:
                parts.setdefault(variable.at, []).append(variable)
        for *_, variable in parts.values():
            own = [each.place for each in parts[variable.at]]
            layout = self._opened(variable.whole, _first(variable.place.path))
            yield from (
                replace(variable, place=place) for place in layout.remaining_fields(own) if not place.is_empty
            )

    def beside(
        self, variable: _Variable, chosen: list[Place], line: int
    ) -> Iterator[tuple[_Variable, _Variable]]:
        """A part of a variable with the parts that are not chosen; of an array each element with the next.

        Only the elements of arrays of structs and unions, such as locks, count.
        """
        whole, place = variable.whole, variable.place
        if place != whole:
            if whole not in chosen:
                rest = self._opened(whole, _first(place.path)).remaining_fields(chosen)
                yield from (
                    (variable, replace(variable, place=other)) for other in rest if not other.is_empty
                )
            return
        count = prod(length or 0 for length in whole.field.dims) if whole.field.dims else 0
        size = (whole.bit_size or 0) // count if count else 0
        if whole.field.aggregate is None or not size:
            return
        elements = [
            replace(
                whole,
                path=f"{whole.path}{indices}",
                bit_offset=whole.bit_offset + number * size,
                bit_size=size,
            )
            for number, indices in enumerate(_indices(whole.field.dims, min(count, line + 1)))
        ]
        for one, other in pairwise(elements):
            yield replace(variable, place=one), replace(variable, place=other)

    def _opened(self, whole: Place, name: str) -> Layout:
        """A variable as the only field of a struct, by some name."""
        field = replace(whole.field, name=name, bit_offset=whole.bit_offset)
        return Layout(replace(self._layout.struct, fields=(field,)))

    def _section(self, place: Place) -> str:
        at = place.bit_offset
        return next((self._section_names[number] for number in self._sections.meeting(at, at + 1)), "")

    @cached_property
    def _by_place(self) -> dict[tuple[str, int, int | None], _Variable]:
        """What is declared, by its place; of several the first."""
        uses = reversed(self.declared())
        return {(v.place.path, v.place.bit_offset, v.place.bit_size): v for v in uses}

    def say(self, place: Place) -> str:
        """A variable with its accesses, its addresses and its section."""
        variable = self._by_place.get((place.path, place.bit_offset, place.bit_size))
        words = f" ({', '.join(sorted(variable.words))})" if variable is not None and variable.words else ""
        section, start = self._section(place), self._layout.struct.address
        if start is None:
            return f"`{place.path}`{words} at {section}+{place.offset:#x}..{place.end - 1:#x}"
        return f"`{place.path}`{words} at {start + place.offset:#x}..{start + place.end - 1:#x} in {section}"


def _indices(dims: tuple[int | None, ...], most: int) -> Iterator[str]:
    """The indices of the first elements of an array, as they are written."""
    each = product(*(range(length or 0) for length in dims))
    return ("".join(f"[{index}]" for index in indices) for indices in islice(each, most))


def _first(path: str) -> str:
    """The variable of a path."""
    return path.partition(".")[0].partition("[")[0]


def _unjudged(group: list[_Variable]) -> str:
    """The arrays whose elements are not held against one another."""
    names = [f"`{v.place.path}`" for v in group if v.place.field.dims and v.place.field.aggregate is None]
    if not names:
        return ""
    return f"; the elements of {first_few(names, 'arrays')} may share lines with one another (kind `stride`)"


def _kept(number: int, unit: str) -> str:
    if number == 1:
        return f"1 variable shares no {unit} with those that disturb it"
    return f"{number} variables share no {unit} with those that disturb them"


def _advice(written: Place, placements: Placements) -> str:
    array, bracket, _ = written.path.rpartition("[")
    if bracket and written.path.endswith("]"):
        line, unit = placements.line_size, placements.unit
        return f"align the elements of `{array}` to {line} bytes, so that each begins on a {unit} of its own"
    how = f"`aligned({placements.line_size})`" if placements.in_pairs else "`____cacheline_aligned_in_smp`"
    return (
        f"give `{written.path}` a {placements.unit} of its own ({how}), or put what is hardly "
        f"ever written into a section with its like (`__read_mostly`)"
    )
