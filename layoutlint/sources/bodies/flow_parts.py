"""Which functions and variables of a unit can do something with the address of a struct.

Those that name something whose type has the struct in it, or leads to it. Then, as long as there are more:
those that take something from where an address of the struct goes, or put something where one comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from layoutlint.model.flows import Address, Flows, Slot, Term
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.sources.bodies import syntax, trees
from layoutlint.sources.bodies.flow_walker import FlowWalker
from layoutlint.sources.bodies.trees import Node

_TYPED = (
    syntax.VARIABLE, syntax.PARAMETER, syntax.CAST, syntax.COMPOUND_LITERAL, syntax.INIT_LIST,
)  # fmt: skip
"""The kinds of nodes that have types of their own; others have that of what they name."""
_NAMES = (syntax.DECL_REF, syntax.MEMBER, syntax.MEMBER_NAME)
Place = Slot | Term
"""What keeps an address: a slot, or bytes that can be read as pointers or as the struct."""


class Passed(NamedTuple):
    """A function or a variable that nothing in its unit leads to; what it does can matter for others."""

    key: str
    """Of a function; empty for a variable."""
    flows: Flows
    places: frozenset[Place]
    """The slots and bytes in its flows."""


class Known(NamedTuple):
    """What other units have shown."""

    functions: frozenset[str] = frozenset()
    """Functions that matter, by their keys."""
    walked: frozenset[tuple[str, int]] = frozenset()
    """Functions whose flows were read, with what tells their bodies from others."""
    defined: frozenset[str] = frozenset()
    """These, and others with a body."""
    forward: frozenset[Place] = frozenset()
    backward: frozenset[Place] = frozenset()
    """As of `relevant`."""


NOTHING = Known()


def known_of(flows: Flows, subject: str, known: Known) -> Known:
    """Return what flows show, beside what is known."""
    forward, backward = relevant(flows, subject, known.forward, known.backward)
    return Known(
        known.functions,
        frozenset(flows.bodies),
        frozenset(each.function for each in flows.defined),
        frozenset(forward),
        frozenset(backward),
    )


class Part:
    """A function or a variable."""

    __slots__ = ("cursor", "identity", "is_about", "key", "names")

    def __init__(self, cursor: Cursor, reader: Parts) -> None:
        self.cursor, self.identity = cursor, reader.walker.identity(cursor)
        self.key = reader.walker.function_key(cursor) if cursor.kind == syntax.FUNCTION else ""
        """Empty for a variable."""
        self.is_about, self.names = reader.read(cursor)


class Parts:
    """The functions and variables of a unit."""

    def __init__(
        self, walker: FlowWalker, is_left_out: Callable[[Cursor], bool], known: Known
    ) -> None:
        """`is_left_out` tells functions of headers that are not walked with this unit."""
        self.walker, self._is_left_out, self._known = walker, is_left_out, known
        places = (*known.forward, *known.backward)
        self._spellings = frozenset(each.spelling for each in places if isinstance(each, Slot))
        self._by_name: dict[int, tuple[int, bool]] = {}
        self.passed: list[Passed] = []
        """What was walked apart from the rest."""
        self._walked: set[int] = set()
        """The identities of declarations."""
        self._bodies = frozenset(key for key, _ in known.walked)
        """The functions whose bodies are compared with those that were walked."""

    def walk(self, cursors: Iterable[Cursor]) -> None:
        """Walk those among some functions and variables that matter, and the functions that they lead to."""
        rest = {part.identity: part for part in (Part(cursor, self) for cursor in cursors)}
        waiting = [part for part in rest.values() if part.is_about or part.key in self._known.functions]
        while waiting:
            for part in waiting:
                rest.pop(part.identity, None)
                self._walk(part)
            itself, named = _select(self.walker, self._known)
            waiting = [
                part
                for part in rest.values()
                if part.identity in itself or not named.isdisjoint(part.names)
            ]
            waiting += self._others(itself - rest.keys())
        for part in rest.values():
            if part.key not in self._known.defined:
                self.walker.pass_over(part.cursor)
                self.passed.append(self._pass(part))

    def _walk(self, part: Part) -> None:
        self._walked.add(part.identity)
        if not part.key:
            self.walker.variable(part.cursor)
            return
        flows, tree = self.walker.flows, trees.tree(part.cursor)
        flows.walked.append(part.key)
        if part.key in self._bodies or not self._known.defined:
            flows.bodies.append((part.key, self.walker.digest(tree)))
        self.walker.note_definition(part.cursor)
        if part.key not in self._bodies or flows.bodies[-1] not in self._known.walked:
            self.walker.function(part.cursor, tree, part.is_about)

    def _pass(self, part: Part) -> Passed:
        """Walk a function or a variable apart from the others."""
        with self.walker.collect_apart() as flows:
            if part.key:
                self.walker.function(part.cursor, trees.tree(part.cursor), part.is_about)
            else:
                self.walker.variable(part.cursor)
        return Passed(part.key, flows, places_of(flows))

    def _others(self, identities: set[int]) -> Iterator[Part]:
        """Yield the functions of other headers."""
        for identity in sorted(identities - self._walked):
            function = self.walker.definition(identity)
            if function is not None and not self._is_left_out(function):
                yield Part(function, self)

    def read(self, cursor: Cursor) -> tuple[bool, frozenset[int]]:
        """Return whether something in a declaration has a type with the struct in it, and what it names."""
        if self.walker.leads_to_subject(cursor):
            return True, frozenset()
        named, typed = trees.mentions(cursor, _NAMES, _TYPED)
        names: set[int] = set()
        for identity, node in named.items():
            known = self._by_name.get(identity)
            if known is None:
                known = self._by_name[identity] = self._read_name(node)
            if known[1]:
                return True, frozenset()
            names.add(known[0])
        for node in typed:
            if self.walker.leads_to_subject(node.cursor):
                return True, frozenset()
            if node.kind == syntax.INIT_LIST:
                names |= self.walker.fields_in(node)
        return False, frozenset(names)

    def _read_name(self, node: Node) -> tuple[int, bool]:
        declaration = node.reference
        if self._spellings and self.walker.spelling(declaration) in self._spellings:
            self.walker.note_slot(declaration)
        return self.walker.identity(declaration), self.walker.leads_to_subject(declaration)


def _select(walker: FlowWalker, known: Known) -> tuple[set[int], set[int]]:
    """Return the declarations of functions and variables to be walked, and those that others name then."""
    itself: set[int] = set()
    named: set[int] = set()
    walker.note_functions()
    places = relevant(walker.flows, walker.subject, known.forward, known.backward)
    for place, is_forward in ((place, some is places[0]) for some in places for place in some):
        own = walker.declarations(place)
        is_function = place.kind in ("parameter", "result") and not place.name.startswith("*")
        if not is_function or (place.kind == "parameter") == is_forward:
            itself |= own
        if not is_function or (place.kind == "parameter") != is_forward:
            named |= own
    return itself, named


def leads_to(passed: Passed, forward: set[Place], backward: set[Place]) -> bool:
    """Return whether an address of the struct goes to what was passed over, or comes from there."""
    for place in passed.places:
        if place.kind not in ("parameter", "result") or place.name.startswith("*"):
            if place in forward or place in backward:
                return True
        elif place in (forward if (place.kind == "parameter") == (place.name == passed.key) else backward):
            return True
    return False


def places_of(flows: Flows) -> frozenset[Place]:
    """Return the slots and the bytes that some flows name."""
    rows = (
        flows.moves, flows.stores, flows.copies, flows.conversions, flows.accesses, flows.passes,
        flows.comparisons, flows.fills, flows.texts, flows.placed, flows.calls, flows.steps, flows.numbers,
        flows.counts, flows.given, flows.made,
    )  # fmt: skip
    parts = {part for facts in rows for fact in facts for part in fact if isinstance(part, tuple)}
    terms = {part.term if isinstance(part, Address) else part for part in parts}
    return frozenset(filter(None, map(_place, terms)))


def relevant(
    flows: Flows, subject: str, goes: Iterable[Place] = (), comes: Iterable[Place] = ()
) -> tuple[set[Place], set[Place]]:
    """Return the places to which an address of the struct goes, and those from which one comes.

    Of some it is known that it goes there, or comes from there.
    """
    structs = {subject, *(each.struct for each in flows.layouts if each.places)}

    def is_address(term: Place) -> bool:
        is_struct = term.kind == "struct" and term.name.rstrip(" *") in structs
        return is_struct or term.kind in ("member", "offset")

    pairs = [
        *((each.slot, each.address.term) for each in flows.moves),
        *((each.target.term, each.address.term) for each in flows.stores),
        *((each.target.term, each.source.term) for each in flows.copies),
        *((each.source.term, each.target.term) for each in flows.copies),
        *((each.term, each.result) for each in flows.made),
    ]
    edges = [(_place(target), _place(source)) for target, source in pairs]
    mixed = _find_containers(flows, structs)
    onward = _following(
        (source, target)
        for target, source in edges
        if not (isinstance(target, Slot) and target.is_of_scalars and source in mixed)
    )
    forward = {*goes, *(_place(target) for target, source in pairs if is_address(source))}
    _close(forward, onward)

    def leads(term: Place) -> bool:
        return is_address(term) or _place(term) in forward

    own = (each for each in flows.conversions if each.struct.rstrip(" *") in structs)
    backward = {_place(each.address.term) for each in own}
    backward |= {*comes, *(each.slot for each in flows.steps if leads(each.address.term))}
    backward |= {_place(each.source.term) for each in flows.copies if leads(each.target.term)}
    _close(backward, _following(edges))
    # What gets a pointer to a slot can fill it.
    forward |= {_place(to) for to, each in pairs if each.kind == "slot" and _place(each) in backward}
    _close(forward, onward)
    return {place for place in forward if place}, {place for place in backward if place}


def _find_containers(flows: Flows, structs: set[str]) -> set[Slot]:
    """Return the slots that get addresses of several structs, of which some come out as they went in.

    From there they do not go on as scalars.
    """
    names: dict[Slot, set[str]] = {}
    following: dict[Slot, list[Slot]] = {}
    for move in flows.moves:
        term = move.address.term
        if isinstance(term, Slot):
            following.setdefault(term, []).append(move.slot)
        elif term.kind == "struct":
            names.setdefault(move.slot, set()).add(term.name)
    waiting = list(names)
    while waiting:
        slot = waiting.pop()
        for after in () if slot.is_of_scalars else following.get(slot, ()):
            own = names.setdefault(after, set())
            if not names[slot] <= own:
                own |= names[slot]
                waiting.append(after)
    taken = (each.address.term for each in flows.conversions if each.struct in structs)
    out = {frozenset(names[slot]) for slot in taken if isinstance(slot, Slot) and slot in names}
    every = {frozenset(own) for own in names.values()}
    kept = {own for own in every if any(len(own & each) > 1 for each in out)}
    return {slot for slot, own in names.items() if frozenset(own) in kept}


def _following(edges: Iterable[tuple[Place | None, Place | None]]) -> dict[Place, list[Place]]:
    """Return what edges lead to, by where they begin."""
    following: dict[Place, list[Place]] = {}
    for start, end in edges:
        if start is not None and end is not None:
            following.setdefault(start, []).append(end)
    return following


def _close(places: set[Place | None], following: dict[Place, list[Place]]) -> None:
    """Add what edges lead to from some places."""
    waiting = [place for place in places if place is not None]
    while waiting:
        for end in following.get(waiting.pop(), ()):
            if end not in places:
                places.add(end)
                waiting.append(end)


def _place(term: Place) -> Place | None:
    """Return the slot whose address a term is, or that leads to it; bytes as they are; None for others."""
    place: Place | None = term.slot if isinstance(term, Term) and term.kind == "slot" else term
    while isinstance(place, Slot) and place.pointer is not None:
        place = place.pointer
    is_memory = isinstance(place, Slot) or (place is not None and place.kind == "words" and place.name)
    return place if is_memory else None  # a text of the source has no name
