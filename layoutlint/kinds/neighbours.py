"""Kind `neighbours`: variables of a program keep off the cache lines of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from typing import ClassVar

from layoutlint.context import SELECTOR, CannotTell, Context, NoSuchField
from layoutlint.kinds.pairs import Pair, judge_apart
from layoutlint.layout import Layout, Place, is_pattern
from layoutlint.rule import Example, Key, Manual, Outcome, Verdict, judge
from layoutlint.typed import TYPE

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


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Variables share no line with those that disturb them."""

    name: ClassVar[str] = "neighbours"
    summary: ClassVar[str] = (
        "no variable that is read often shares a cache line with one that is written often"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "variables",
            "paths",
            "variables that the rule is about; by default all that are read, as declared",
        ),
        Key("alone", "boolean", "whether nobody else may be on their lines, declared or not"),
        Key("except", "paths", "other variables that may be there"),
        Key("readers", "words", 'accesses that suffer; by default ["hot-read", "read-mostly"]'),
        Key("writers", "words", 'accesses that they suffer from; by default ["hot-write"]'),
    )
    manual: ClassVar[Manual] = Manual(
        "A rule of this kind names no `struct`: it is about variables, by their names in C, and judges the\n"
        "addresses that the symbol table of a program, a `vmlinux`, a module or an object file gives them.\n"
        "In a linked file that is one placement; where it is loaded is a multiple of a page, and changes no\n"
        "line. In an object file each section is judged by itself, at all bases that its alignment allows.\n"
        "\n"
        "The accesses are those of `[variables]` in the rule file. A variable in a section for what is\n"
        "hardly ever written (`.data..read_mostly`) is `read-mostly` if nothing else is declared.\n"
        "`variables` are held against all others where one of the two is read and the other one written;\n"
        "with `alone`, against everything that is there. Parts of a variable (`net.count`) need DWARF.\n"
        "Symbols for the same memory are not held against one another; parts of one variable that are\n"
        "declared are. Per-CPU variables are judged among those of one CPU.",
        "Give the variable that is written a line of its own (`____cacheline_aligned_in_smp`), or put the\n"
        "one that is read among others that are (`__read_mostly`).",
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
        excepted = {variable.at for path in self.except_ for variable in known.meant(path)}
        others = known.all() if self.alone else known.declared()
        pairs: dict[frozenset[tuple[_At, str]], Pair] = {}
        for a, b in product(group, [o for o in others if not (self.alone and o.at in mine | excepted)]):
            if a.is_near(b, context.placements.line_size) and self._disturb(a, b):
                each = frozenset(((a.at, a.place.path), (b.at, b.place.path)))
                pairs.setdefault(each, (a.place, b.place))
        kept = judge(context.placements, (), _kept(len(mine)), tuple(v.place for v in group[:_FEW]), "")
        verdict = judge_apart(pairs.values(), context.placements, kept, known.say)
        if verdict is kept:
            return kept
        written = [place for place in verdict.evidence if known.has(place, self.writers)]
        return replace(verdict, advice=_advice((written or verdict.evidence)[0]))

    def concerns(self, context: Context) -> bool:
        """Whether some data have one of the variables that the rule is about."""
        known = _Known(context)
        return any(known.has_any(path) for path in self._paths)

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

    def is_near(self, other: _Variable, line: int) -> bool:
        """Whether another variable, or part of one, not the same memory, can be on a line with it."""
        mine, its = self.place, other.place
        if mine.offset < its.end and its.offset < mine.end:
            return False
        return mine.offset < its.end + line and its.offset < mine.end + line


class _Known:
    """The variables of some data, and what is declared of them."""

    def __init__(self, context: Context) -> None:
        self._layout = context.layout
        self._sections = [
            (p.bit_offset, p.bit_offset + (p.bit_size or 0), p.type.left)
            for p in context.layout.struct.fields
        ]
        self._uses: dict[tuple[_At, str], _Variable] = {}
        for place in context.layout.places:
            if _QUIET in self._section(place):
                self._add(_Variable(place, place, frozenset((_BY_SECTION,))))
        own: dict[tuple[_At, str], frozenset[str]] = {}
        for access in sorted(context.accesses, key=lambda access: not is_pattern(access.path)):
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
        return any(_is_called(place, path) for place in self._layout.places)

    def meant(self, path: str) -> list[_Variable]:
        """Those that a path, a pattern or an access means."""
        if path.startswith(SELECTOR):
            return [v for v in self._uses.values() if any(fnmatchcase(word, path[1:]) for word in v.words)]
        return [self._used(whole, place) for whole, place in self._matched(path)]

    def has(self, place: Place, words: tuple[str, ...]) -> bool:
        """Whether one of some accesses is declared of a variable, or of a part of it."""
        return any(
            v.place.offset < place.end and place.offset < v.place.end and not v.words.isdisjoint(words)
            for v in self._uses.values()
        )

    def _used(self, whole: Place, place: Place) -> _Variable:
        at = whole.path, whole.bit_offset
        found = self._uses.get((at, place.path)) or self._uses.get((at, whole.path))
        return _Variable(whole, place, found.words if found is not None else frozenset())

    def _matched(self, path: str) -> Iterator[tuple[Place, Place]]:
        """Every variable that has the first name, and what the rest of the path means in it."""
        name = _first(path)
        for whole in self._layout.places:
            if _is_called(whole, path):
                if name == path or whole.path == path:
                    yield whole, whole
                    continue
                only = Layout(
                    replace(
                        self._layout.struct,
                        fields=(replace(whole.field, name=name, bit_offset=whole.bit_offset),),
                    )
                )
                found = only.match(path)
                if not found and not whole.field.members:
                    raise CannotTell(f"what `{whole.path}` is made of is not known")
                if not found:
                    raise NoSuchField(f"`{whole.path}` has no part `{path}`")
                yield from ((whole, place) for place in found)

    def _section(self, place: Place) -> str:
        return next((name for start, end, name in self._sections if start <= place.bit_offset < end), "")

    def say(self, place: Place) -> str:
        """A variable with its accesses, its addresses and its section."""
        variable = next((v for v in self._uses.values() if v.place == place), None)
        words = f" ({', '.join(sorted(variable.words))})" if variable is not None and variable.words else ""
        section, start = self._section(place), self._layout.struct.address
        if start is None:
            return f"`{place.path}`{words} at {section}+{place.offset:#x}..{place.end - 1:#x}"
        return f"`{place.path}`{words} at {start + place.offset:#x}..{start + place.end - 1:#x} in {section}"


def _first(path: str) -> str:
    """The variable of a path."""
    return path.partition(".")[0].partition("[")[0]


def _is_called(place: Place, path: str) -> bool:
    """Whether a variable is the one of a path; the compiler's `count.3` can be named as a whole."""
    return place.path == path or fnmatchcase(place.path, _first(path))


def _kept(number: int) -> str:
    if number == 1:
        return "1 variable shares no line with those that disturb it"
    return f"{number} variables share no line with those that disturb them"


def _advice(written: Place) -> str:
    return (
        f"give `{written.path}` a line of its own (`____cacheline_aligned_in_smp`), or put what is hardly "
        f"ever written into a section with its like (`__read_mostly`)"
    )
