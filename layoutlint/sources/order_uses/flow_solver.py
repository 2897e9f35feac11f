"""What the addresses in slots are: a fixed point over all that slots get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from layoutlint.model.flows import MOST_TAG, Address, Convert, Copy, Flows, Move, Slot, Store, Term
from layoutlint.sources.order_uses.subject import Subject

_MOST_ADDRESSES = 40
"""The most addresses that are followed through a slot."""
_MOST_SUMS = 50
"""The most different sums of what statements add to a slot: each can double their number."""
_MOST_ROUNDS = 60
"""The most slots that an address is followed through."""
_LASTING = Slot("variable", "", 0)
"""Stands for all variables that keep what they have between calls."""
_DEEPEST = 4
"""The most pointers to pointers."""


class Known(NamedTuple):
    """An address of a struct or a member, with bytes added."""

    term: Term
    offset: int | None
    is_passed: bool
    """Whether it went through a parameter."""


_Fact = TypeVar("_Fact")
Addresses = dict[Known, None]
"""Each address once, in the order in which they are found: that of a set would be another one in each run."""


class Solver:
    """The addresses in all slots."""

    def __init__(self, flows: Flows, subject: Subject) -> None:
        self.subject, self.flows = subject, flows
        self.layouts = {each.struct: each for each in flows.layouts}
        self._own = Term("struct", subject.names[0] if subject.names else "")
        self._values: dict[Slot, Addresses] = {}
        self._results: dict[Slot, Addresses] = {}
        """The memory that functions allocate and return, which is another one for each call."""
        self._calls = {each.term: each.result for each in flows.made}
        moves = (move for move in flows.moves if move.slot == move.address.term)
        self._steps = {move.slot: move.address.offset for move in moves}
        """The bytes by which slots are moved."""
        self._once: dict[Slot, dict[int | None, None]] = {}
        """The bytes that statements in no loop add to slots: sums of some of them."""
        self._moved: dict[Slot, Addresses] = {}
        """The values that such statements make."""
        self._lasting: set[Term] = set()
        """What variables have that keep it between calls."""
        self._visited: dict[Slot, int] = {}
        """The slots that were looked at since it was emptied, with the number of addresses that they had."""
        self._inputs: dict[int, dict[Slot, int]] = {}
        """The same for the last time that each move, store and copy was added."""
        self._has_more_addresses = False
        """Whether a slot gets more addresses than are followed."""
        self._is_too_deep = False
        for move in flows.moves:
            if move.is_once and move.slot == move.address.term:
                self._add_step(move.slot, move.address.offset)
        for _ in range(_MOST_ROUNDS):
            before = self._count_values()
            self._add_all()
            self._is_complete = self._count_values() == before
            if self._is_complete:
                break
        self._counts: dict[tuple[Slot, Slot], set[tuple[int, bool]]] = {}
        for count in flows.counts:
            if isinstance(count.address.term, Slot) and count.address.offset == 0:
                key = count.address.term, count.parameter
                self._counts.setdefault(key, set()).add((count.size, count.is_index))
        self._by_copies = list(self._conversions_by_copies())
        self.conversions = [*flows.conversions, *self._by_copies]

    def limits(self) -> Iterator[str]:
        """Yield sentences on addresses that were not followed to their end."""
        if self._has_more_addresses:
            yield f"where addresses go if a variable, parameter or member gets over {_MOST_ADDRESSES}"
        if not self._is_complete:
            yield f"where an address goes after {_MOST_ROUNDS} variables, parameters and members"
        if self._is_too_deep:
            yield f"addresses behind more than {_DEEPEST} pointers to pointers"

    def _add_step(self, slot: Slot, step: int | None) -> None:
        """Add the sums with one more step to those of a slot; of many, the smallest are followed."""
        sums = self._once.setdefault(slot, {0: None})
        sums |= {_sum(each, step): None for each in sums}
        if len(sums) > _MOST_SUMS:
            self._has_more_addresses = True
            self._once[slot] = dict.fromkeys(sorted(sums, key=_distance)[:_MOST_SUMS])

    def _add_all(self) -> None:
        """Add once what all slots get, of what has changed."""
        for move in self.flows.moves:
            if not (move.is_once and move.slot == move.address.term):
                self._add_changed(move, self._add_move)
        for slot in self._once:
            self._add_sums(slot)
        for store in self.flows.stores:
            self._add_changed(store, self._add_store)
        for copy in self.flows.copies:
            self._add_changed(copy, self._copy_pointer)

    def _add_changed(self, fact: _Fact, add: Callable[[_Fact], None]) -> None:
        """Add what a fact gives, unless the slots that it looks at have what they had."""
        inputs = self._inputs.get(id(fact))
        if inputs is not None and all(self._count(slot) == count for slot, count in inputs.items()):
            return
        self._visited = self._inputs[id(fact)] = {}
        add(fact)

    def _count(self, slot: Slot) -> int:
        """Return how many addresses a slot has so far."""
        if slot is _LASTING:
            return len(self._lasting)
        return len(self._values.get(slot, ())) + len(self._results.get(slot, ()))

    def _add_move(self, move: Move) -> None:
        self._add(move.slot, move.address)

    def _add_store(self, store: Store) -> None:
        slots = dict.fromkeys(each.term.slot for each in self.resolve(store.target))
        for stored in filter(None, slots):
            self._add(stored, store.address)

    def _conversions_by_copies(self) -> Iterator[Convert]:
        """Yield copies as conversions: bytes of a struct become another one, or are copied to bytes."""
        for copy in self.flows.copies:
            for one, other in ((copy.target, copy.source), (copy.source, copy.target)):
                if any(each.term.kind == "member" for each in self.resolve(other)):
                    continue
                structs = {each.term.name for each in self.resolve(one) if self._is_in_struct(each)}
                for struct in sorted(structs):
                    yield Convert(other, struct, copy.file, copy.line)

    def _is_in_struct(self, known: Known) -> bool:
        """Return whether an address is that of a struct, and not of what is behind it."""
        layout = self.layouts.get(known.term.name)
        return known.term.kind == "struct" and (layout is None or (known.offset or 0) < layout.size)

    def _add(self, slot: Slot | None, address: Address) -> None:
        """Add the addresses that a slot gets."""
        own = Addresses() if slot is None else self._values.setdefault(slot, {})
        if slot is None or (len(own) >= _MOST_ADDRESSES and self._has_more_addresses):
            return
        is_passed = slot.kind == "parameter"
        found = [each._replace(is_passed=each.is_passed or is_passed) for each in self.resolve(address)]
        found = [_mask(each) for each in found] if slot.is_masked else found
        if len(own) >= _MOST_ADDRESSES:
            self._has_more_addresses = any(each not in own for each in found)
            return
        fresh = {each: None for each in found if slot.kind == "result" and self._is_fresh(each.term)}
        self._results.setdefault(slot, {}).update(fresh)
        own.update((each, None) for each in found if each not in fresh)
        if slot.is_lasting:
            self._lasting.update(each.term for each in found)

    def _add_sums(self, slot: Slot) -> None:
        """Add what statements in no loop make of the addresses in a slot."""
        own = self._values.setdefault(slot, {})
        moved = self._moved.setdefault(slot, {})
        for each in [each for each in own if each not in moved]:
            sums = (each._replace(offset=_sum(each.offset, step)) for step in self._once[slot])
            fresh = {one: None for one in sums if one not in own}
            moved |= fresh
            own |= fresh
            if slot.is_lasting:
                self._lasting.update(one.term for one in fresh)

    def _count_values(self) -> int:
        return sum(map(len, (*self._values.values(), *self._results.values())))

    def _is_fresh(self, term: Term) -> bool:
        """Return whether memory is allocated, and no variable keeps it for the next call."""
        self._visited.setdefault(_LASTING, len(self._lasting))
        return term.kind == "words" and term.is_allocated and term not in self._lasting

    def _copy_pointer(self, copy: Copy) -> None:
        """Add what a pointer has that is copied by its bytes."""
        pairs = ((to.term.slot, source) for to in self.resolve(copy.target) for source in (copy.source,))
        for slot, source in pairs:
            for each in self.resolve(source) if slot is not None else ():
                if each.term.slot is not None:
                    self._add(slot, Address(each.term.slot, 0))

    def origins(self, term: Term, depth: int = _DEEPEST) -> Iterator[tuple[Term, int | None]]:
        """Yield the memory that a term stands for where functions allocate it, with the offset there."""
        result = self._calls.get(term)
        for each in self._results.get(result, ()) if result is not None and depth else ():
            yield each.term, each.offset
            for inner, offset in self.origins(each.term, depth - 1):
                is_known = offset is not None and each.offset is not None
                yield inner, (offset or 0) + (each.offset or 0) if is_known else None

    def addresses(self, address: Address) -> Addresses:
        """Return the addresses that an address can be, each once."""
        return dict.fromkeys(self.resolve(address))

    def resolve(self, address: Address) -> Iterator[Known]:
        """Yield the addresses that an address can be."""
        if isinstance(address.term, Term):
            result = self._calls.get(address.term)
            if result is not None:
                self._visited.setdefault(result, self._count(result))
            if result is None or self._results.get(result):
                yield Known(address.term, address.offset, False)
            return
        for each in tuple(self._slot_addresses(address.term, _DEEPEST)):
            is_known = each.offset is not None and address.offset is not None
            yield each._replace(offset=(each.offset or 0) + (address.offset or 0) if is_known else None)

    def _slot_addresses(self, slot: Slot, depth: int) -> Iterator[Known]:
        """Yield the addresses in a slot, also in one that a pointer leads to."""
        self._visited.setdefault(slot, self._count(slot))
        yield from self._values.get(slot, ())
        pointer = slot.pointer if depth else None
        self._is_too_deep |= pointer is None and slot.pointer is not None
        for each in tuple(self._slot_addresses(pointer, depth - 1)) if pointer is not None else ():
            if each.term.slot is not None and each.offset == 0:
                yield from self._slot_addresses(each.term.slot, depth - 1)

    def inner_addresses(self, known: Known) -> Iterator[Known]:
        """Yield the addresses in the struct that an address in one which embeds it is."""
        layout = self.layouts.get(known.term.name) if known.term.kind == "struct" else None
        size = (self.subject.struct.bit_size or 0) // 8
        for start in () if layout is None else layout.places:
            if known.offset is None:
                yield known._replace(term=self._own)
            elif start <= known.offset < start + size:
                yield known._replace(term=self._own, offset=known.offset - start)

    def overlaps(self, known: Known, other: str) -> bool:
        """Return whether another struct at an address in a container of the struct has the same bytes."""
        layouts = self.layouts.get(known.term.name), self.layouts.get(other)
        if layouts[0] is None or layouts[1] is None or layouts[1].places or known.offset is None:
            return False
        size, low = (self.subject.struct.bit_size or 0) // 8, known.offset
        high = low + layouts[1].size
        return any(low < start + size and start < high for start in layouts[0].places)

    def is_own(self, term: Term) -> bool:
        """Return whether a term is the address of the struct."""
        return term.kind == "struct" and term.name in self.subject.names

    def is_container(self, term: Term) -> bool:
        """Return whether a term is the address of a struct that embeds the searched one."""
        layout = self.layouts.get(term.name) if term.kind == "struct" else None
        return layout is not None and bool(layout.places)

    def is_place(self, offset: int | None) -> bool:
        """Return whether a number of bytes leads from one place in the struct to another one."""
        size = (self.subject.struct.bit_size or 0) // 8
        return offset is not None and MOST_TAG < abs(offset) < size


def _mask(known: Known) -> Known:
    """Return an address without a mark in its low bits."""
    term = known.term._replace(number=1) if known.term.kind == "struct" else known.term
    is_marked = known.offset is not None and 0 < known.offset <= MOST_TAG
    return known._replace(term=term, offset=0 if is_marked else known.offset)


def _sum(offset: int | None, step: int | None) -> int | None:
    return None if offset is None or step is None else offset + step


def _distance(offset: int | None) -> int:
    return 0 if offset is None else abs(offset)
