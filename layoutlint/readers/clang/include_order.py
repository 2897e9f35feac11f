"""Whether headers mean the same when others are included before them.

A text is cut into pieces where it includes something. What a piece means depends on the macros that are in
force when it is read: those that it names, asks for, or reaches through the bodies of macros that it names.
If the same definition of each of these is in force before the same pieces in two orders, the preprocessor
makes the same tokens of every piece. Names that `##` makes are not seen, and declarations may come in another
order.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import islice, pairwise
from string import ascii_letters, digits

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import pack_pragmas
from layoutlint.readers.clang.macro_uses import MacroUses

MESSAGE_MACROS = frozenset((b"pr_fmt", b"dev_fmt"))
"""Macros of Linux that many sources define before headers; they are part of messages only."""
_WORD_BYTES = f"{ascii_letters}{digits}_".encode()
_WORDS = bytes(each if each in _WORD_BYTES else 0x20 for each in range(256))
_NOISE = re.compile(rb'/\*.*?(?:\*/|\Z)|//[^\n]*+|"(?:\\.|[^"\\\n])*+"|\'(?:\\.|[^\'\\\n])*+\'', re.DOTALL)
_LINE = re.compile(rb"(?:\\\r?\n|[^\n])*+")
_LEADING = re.compile(rb"(?:\s++|/\*.*?\*/|//[^\n]*+)*+", re.DOTALL)
_GUARD = re.compile(
    rb"#[ \t]*+(?:pragma[ \t]++once\b|if(?:ndef|[ \t]*+![ \t]*+defined)[ \t(]++(\w++)[ \t)]*+"
    rb"(?:/[/*][^\n]*+)?\r?\n"
    rb"(?:\s++|/\*.*?\*/|//[^\n]*+)*+#[ \t]*+define[ \t]++\1\b)",
    re.DOTALL,
)
_IMPORT = re.compile(rb"\bimport\b")
_OTHER_SIGN = re.compile(rb"(?:%:|\?\?=)[\s\\]*+(?:/\*|(?:include|import|define|undef|el?if)\w*+)")
"""Other signs for the `#` of directives."""
LAST = 1 << 60
"""The time of what is never read."""
_DEEPEST = 200
_MOST_PIECES = 100_000
"""Where files are read each time, texts can have more than anybody reads."""
_MOST_WORDS = 10_000_000
"""The most identifiers to which all macros lead, and the most places that must keep their order."""
_ATTRIBUTE_WORD = re.compile(rb"\b__(\w+?)__\b")
Names = frozenset[bytes]


class Piece(Record, frozen=True):
    """What a piece of a text does with macros."""

    named: Names
    """The identifiers in its code and in conditions."""
    asked: Names
    """The macros of which it asks whether they are defined."""
    defined: Names
    """The macros that it defines or undefines."""
    settled: Names
    """Those of them before all that could use them: what they were does not matter."""
    undefined: Names
    """Those that are not defined behind it."""


class IncludedText(Record, frozen=True):
    """A file that is included."""

    pieces: tuple[Piece, ...]
    """One more than it includes files."""
    includes: tuple[tuple[int, bytes], ...]
    """The offsets of its lines of `#include`, and what these name; nothing for `#include_next`."""
    bodies: Mapping[bytes, AbstractSet[bytes]]
    """The definitions of its macros, without spaces at their ends."""
    changes_layouts: bool
    """Whether it may change the layouts of structs in what it includes, or behind it."""
    targets: tuple[str | None, ...] = ()
    """The files that it includes, whether or not they are read again; None for what is not known."""


class UnknownIncludes(Exception):
    """It is not known what a text includes, or too much is."""


def left_out(text: bytes, skipped: Iterable[tuple[int, int]]) -> bytes:
    """Return a text with spaces in place of what `#if` leaves out; the directives that decide it stay."""
    result = bytearray(text)
    for start, end in skipped:
        line = _LINE.match(text, start)
        first = start if line is None else line.end()
        if first < end:
            result[first:end] = b" " * (end - first)
    return bytes(result)


def guard_of(text: bytes) -> int | None:
    """Return the offset of what seems to keep a text from being read again; None without that."""
    leading = _LEADING.match(text)
    at = 0 if leading is None else leading.end()
    guard = _GUARD.match(text, at)
    if guard is None or (guard[1] and b"endif" not in text[text.rfind(b"#") :]):
        return None
    return at


def read_pieces(text: bytes) -> IncludedText:
    """Return what a text does with macros. Raises Unknown for what may be `#import`, or `%:` for `#`."""
    has_other_sign = (b"%:" in text or b"??=" in text) and _OTHER_SIGN.search(text)
    if has_other_sign or any(_may_be_directive(text, word.start()) for word in _IMPORT.finditer(text)):
        raise UnknownIncludes
    uses = MacroUses(text)
    pieces = tuple(Piece(*map(frozenset, piece)) for piece in uses.pieces)
    cuts = (0, *(offset for offset, _ in uses.includes), len(text))
    changes_layouts = any(pack_pragmas.last(text[start:end]) for start, end in pairwise(cuts))
    return IncludedText(pieces, tuple(uses.includes), uses.bodies, changes_layouts)


def _may_be_directive(text: bytes, at: int) -> bool:
    """Return whether a word can be that of a directive: behind `#` or a comment, or first in its line."""
    start = text.rfind(b"\n", 0, at) + 1
    before = text[start:at].rstrip()
    return not before or before.endswith(b"*/") or text.find(b"#", start, at) >= 0


def _words(text: bytes) -> Names:
    """Return the words in the definition of a macro."""
    if b"/" in text or b'"' in text:
        text = _NOISE.sub(b" ", text)
    return frozenset(text.translate(_WORDS).split())


def are_alike(bodies: Iterable[bytes]) -> bool:
    """Return whether definitions of a macro mean the same: attributes may have underscores around them."""
    return len({_ATTRIBUTE_WORD.sub(rb"\1", b" ".join(body.split())) for body in bodies}) <= 1


class Reach(Record):
    """The identifiers that macros lead to."""

    bodies: Mapping[bytes, AbstractSet[bytes]]
    varying: AbstractSet[bytes] = frozenset()
    """Macros whose definitions do not count here."""
    _known: dict[bytes, Names] = field(default_factory=dict)
    _count: int = 0

    def expand(self, named: Iterable[bytes]) -> set[bytes]:
        """Return some identifiers, and all that the macros among them lead to. Raises Unknown."""
        result = set(named)
        for name in (result & self.bodies.keys()) - self.varying:
            result |= self._known.get(name) or self._find(name)
        return result

    def _find(self, name: bytes) -> Names:
        found, waiting = {name}, [name]
        while waiting:
            for body in self.bodies.get(waiting.pop(), ()):
                more = _words(body) - found
                found |= more
                waiting += (more & self.bodies.keys()) - self.varying
        self._count += len(found)
        if self._count > _MOST_WORDS:
            raise UnknownIncludes
        self._known[name] = frozenset(found)
        return self._known[name]


Key = tuple[str, int]
"""A piece: its file, and its number there. A file that is read each time is named with what includes it."""


class Order(Record, frozen=True, dict=True):
    """Texts in the order in which some includes read them."""

    first: tuple[str, ...]
    """The files that are included by name, in their order."""
    texts: Mapping[str, IncludedText]
    """All files that these lead to."""
    repeated: frozenset[str]
    """The files that are read each time they are included."""
    declared: Mapping[str, AbstractSet[bytes]]
    """What they declare outside of functions."""

    def visit(self, file: str, visited: set[str]) -> Iterator[tuple[Key, IncludedText]]:
        """Yield the pieces that the inclusion of a file reads, with their texts; add the files to those that
        were visited.
        """
        if file in visited and file not in self.repeated:
            return
        waiting = [(file, self.texts[file], 0)]
        visited.add(file)
        while waiting:
            name, text, at = waiting.pop()
            yield (name, at), text
            if at == len(text.targets):
                continue
            waiting.append((name, text, at + 1))
            target = text.targets[at]
            if target is None or (target in visited and target not in self.repeated):
                continue
            visited.add(target)
            if target not in self.repeated:
                waiting.append((target, self.texts[target], 0))
            elif len(waiting) < _DEEPEST:
                waiting.append((f"{name}:{at}:{target}", self.texts[target], 0))

    def prepare(self) -> None:
        """Find out what must hold. Raises Unknown if it is too much, or depends on more than macros."""
        if any(text.changes_layouts for text in self.texts.values()):
            raise UnknownIncludes
        assert self._rules

    @cached_property
    def read(self) -> dict[Key, IncludedText]:
        """The text of each piece, in their order. Raises Unknown if there are too many."""
        visited = set[str]()
        every = (each for file in self.first for each in self.visit(file, visited))
        result = dict(islice(every, _MOST_PIECES))
        if len(result) == _MOST_PIECES:
            raise UnknownIncludes
        return result

    @cached_property
    def pieces(self) -> list[Piece]:
        """The pieces in their order."""
        return [text.pieces[at] for (_, at), text in self.read.items()]

    @cached_property
    def places(self) -> dict[Key, int]:
        """The place of each piece."""
        return {key: place for place, key in enumerate(self.read)}

    @cached_property
    def bodies(self) -> Mapping[bytes, AbstractSet[bytes]]:
        """The definitions of all macros."""
        result: dict[bytes, AbstractSet[bytes]] = {}
        for text in self.texts.values():
            for name, body in text.bodies.items():
                result[name] = result[name] | body if name in result else body
        return result

    @cached_property
    def reach(self) -> Reach:
        """What its macros lead to."""
        return Reach(self.bodies)

    @cached_property
    def all_definers(self) -> dict[bytes, list[int]]:
        """The places at which each macro is defined or undefined."""
        result: dict[bytes, list[int]] = {}
        for place, piece in enumerate(self.pieces):
            for name in piece.defined:
                result.setdefault(name, []).append(place)
        return result

    @cached_property
    def definers(self) -> dict[bytes, list[int]]:
        """The same, of definitions that are all alike only the first."""
        undefined = frozenset[bytes]().union(*(piece.undefined for piece in self.pieces))
        return {
            name: places[:1] if name not in undefined and are_alike(self.bodies.get(name, ())) else places
            for name, places in self.all_definers.items()
        }

    @cached_property
    def needs(self) -> list[set[bytes]]:
        """The identifiers on which each piece depends, by its place. Raises Unknown."""
        varying = {name for name, places in self.definers.items() if len(places) > 1}
        reach = Reach(self.bodies, varying)
        return [
            (self._needs_at(place, piece, reach) | piece.asked) - piece.settled
            for place, piece in enumerate(self.pieces)
        ]

    def _needs_at(self, place: int, piece: Piece, reach: Reach) -> set[bytes]:
        """Return the identifiers of a piece, and all that the definitions lead to that are in force there."""
        later = {name for name in piece.named if self.definers.get(name, (-1,))[0] > place}
        result = reach.expand(piece.named - later) | later
        waiting = result & reach.varying
        done = set[bytes]()
        while waiting:
            done |= waiting
            bodies = (body for name in waiting for body in self._bodies_at(name, place, piece))
            result |= reach.expand(word for body in bodies for word in _words(body))
            waiting = (result & reach.varying) - done
        return result

    def _bodies_at(self, name: bytes, place: int, piece: Piece) -> Iterator[bytes]:
        """Yield the definitions of a macro that can be in force in a piece."""
        decisive = self.definer_before(name, place)
        places = {place} if name in piece.defined else set[int]()
        for each in places if decisive is None else {decisive, *places}:
            yield from self._texts[each].bodies.get(name, ())

    @cached_property
    def _texts(self) -> list[IncludedText]:
        """The text of each piece, by its place."""
        return list(self.read.values())

    def definer_before(self, name: bytes, place: int) -> int | None:
        """Return the place of what decides about a macro where a piece begins; None if nothing does."""
        places = self.definers.get(name, ())
        at = bisect_left(places, place)
        return places[at - 1] if at else None

    @cached_property
    def _rules(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int, int]]]:
        """Pieces and what decides about a macro before them; pieces and what must not be before them; pieces,
        what decides, and what must not be between both. Raises Unknown if there are too many.
        """
        first, never, between = set[tuple[int, int]](), set[tuple[int, int]](), set[tuple[int, int, int]]()
        for place, needs in enumerate(self.needs):
            for name in needs & self.definers.keys():
                decisive = self.definer_before(name, place)
                if decisive is None:
                    never.update((place, each) for each in self.all_definers[name] if each != place)
                else:
                    first.add((place, decisive))
                    others = (each for each in self.definers[name] if each not in (decisive, place))
                    between.update((place, decisive, each) for each in others)
            if len(never) + len(between) > _MOST_WORDS // 10:
                raise UnknownIncludes
        return list(first), list(never), list(between)

    def keeps_meaning(self, unit: UnitOrder) -> bool:
        """Return whether each piece means in a unit alone what it means behind all of the texts."""
        at = unit.places
        first, never, between = self._rules
        return (
            not unit.changes_layouts
            and not any(at[decisive] > at[place] for place, decisive in first)
            and not any(at[each] < at[place] < LAST for place, each in never)
            and not any(at[decisive] < at[each] < at[place] < LAST for place, decisive, each in between)
            and unit.keeps_meaning()
        )


class UnitOrder:
    """The order in which a unit reads texts when it is parsed alone."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.places = [LAST] * len(order.places)
        """The times at which the pieces of the order are read; LAST for those that the unit does not read."""
        self.visited = set[str]()
        """The files of the order that it reads."""
        self._own: list[tuple[int, Piece]] = []
        """Its other pieces, and when they are read."""
        self._bodies: dict[bytes, AbstractSet[bytes]] = {}
        self.changes_layouts = False
        """Whether another text that it reads does, or leads to that."""
        self._time = 0

    def include(self, file: str) -> None:
        """Read a file of the order where the unit includes it. Raises Unknown."""
        known = self._order.places
        for key, _ in self._order.visit(file, self.visited):
            self._time += 1
            if key not in known:
                raise UnknownIncludes
            self.places[known[key]] = self._time

    def take(self, piece: Piece) -> None:
        """Read a piece of a text that is not in the order."""
        self._time += 1
        self._own.append((self._time, piece))

    def add(self, text: IncludedText) -> None:
        """Note a text that is not in the order, before its pieces are taken."""
        self.changes_layouts |= text.changes_layouts
        for name, body in text.bodies.items():
            self._bodies[name] = self._bodies.get(name, frozenset()) | body

    def keeps_meaning(self) -> bool:
        """Return whether its own pieces, and what they define, mean the same behind the whole order."""
        latest: dict[bytes, int] = {}
        defined: dict[bytes, int] = {}
        for time, piece in self._own:
            needed = (self._reach(piece.named) | piece.asked) - piece.settled - MESSAGE_MACROS
            names = needed & self._order.definers.keys()
            if not all(self._is_decided(name, latest.get(name), time) for name in names):
                return False
            latest |= dict.fromkeys(piece.defined, time)
            for name in piece.defined - MESSAGE_MACROS:
                defined.setdefault(name, time)
        return self._changes_nothing(defined) and self._names_nothing_else()

    def _names_nothing_else(self) -> bool:
        """Return whether it names nothing that only files declare which it does not read."""
        read, others = set[bytes](), set[bytes]()
        for file, names in self._order.declared.items():
            (read if file in self.visited else others).update(names)
        others -= read
        return all(others.isdisjoint(piece.named) for _, piece in self._own)

    def _is_decided(self, name: bytes, own: int | None, time: int) -> bool:
        """Return whether the same decides about a macro at some time, alone and behind the whole order."""
        if own is None:
            places = self._order.definers[name]
            own = self.places[places[-1]]
        else:
            places = self._order.all_definers[name]
        return own < time and not any(own < self.places[place] < time for place in places)

    def _changes_nothing(self, defined: Mapping[bytes, int]) -> bool:
        """Return whether macros of the unit's own decide nothing in the texts of the order."""
        order, names = self._order, frozenset(defined)
        first = min(defined.values(), default=LAST)
        for place, (time, needs) in enumerate(zip(self.places, order.needs, strict=True)):
            if first < time < LAST and not needs.isdisjoint(names):
                for name in needs & names:
                    decisive = order.definer_before(name, place)
                    own = defined[name]
                    if own < time and (decisive is None or self.places[decisive] < own):
                        return False
        return True

    def _reach(self, named: Iterable[bytes]) -> set[bytes]:
        """Return some identifiers, and all that macros of the order and of the unit lead to."""
        result = self._order.reach.expand(named)
        waiting = result & self._bodies.keys()
        while waiting:
            more = {word for name in waiting for body in self._bodies[name] for word in _words(body)} - result
            more = self._order.reach.expand(more) - result
            result |= more
            waiting = more & self._bodies.keys()
        return result
