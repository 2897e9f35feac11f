"""What the addresses in slots are: a fixed point over all that slots get."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from layoutlint.model.flows import MOST_TAG, Address, Comparison, Convert, Copy, Flows, Slot, Term
from layoutlint.sources.order_uses.subject import Subject

_MOST_ADDRESSES = 40
"""The most addresses that are followed through a slot."""
_MOST_SUMS = 50
"""The most different sums of what statements add to a slot: each can double their number."""
_DEEPEST = 4
"""The most functions that return memory of one another."""
_MOST_STRUCTS = 4
"""The most structs in a container out of which one can come as something else: allocators keep more."""

_IN_STRUCT = ("member", "offset")
"""The kinds of terms that are about a member."""


class KnownAddress(NamedTuple):
    """An address of a struct or a member, with bytes added."""

    term: Term
    offset: int | None
    is_passed: bool
    """Whether it went through a parameter."""

    def shift(self, step: int | None) -> KnownAddress:
        """Return the address with some bytes added; None for an unknown number."""
        return self if step == 0 else KnownAddress(self.term, _sum(self.offset, step), self.is_passed)


Addresses = dict[KnownAddress, None]
"""Each address once, in the order in which they are found: that of a set would be another one in each run."""


class Solver:
    """The addresses in all slots."""

    def __init__(self, flows: Flows, subject: Subject) -> None:
        self.subject, self.flows = subject, flows
        # The size of a struct is negative where it is only declared.
        self.layouts = {each.struct: each for each in sorted(flows.layouts, key=lambda each: each.size)}
        self._own = Term("struct", subject.names[0] if subject.names else "")
        self._values: dict[Slot, Addresses] = {}
        self._results: dict[Slot, Addresses] = {}
        """The memory that functions allocate and return, which is another one for each call."""
        self._fresh: dict[Term, dict[Slot, None]] = {}
        """The functions that return such memory."""
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
        self._edges: dict[Slot, dict[tuple[Slot, int | None], None]] = {}
        """The slots that get what a slot has, with the bytes that are added."""
        self._waiting: dict[Slot, dict[tuple[Slot, Address], None]] = {}
        """The slots that get what a call returns, once the function is known to allocate it."""
        self._takers: dict[Slot, list[Callable[[Slot, int | None], None]]] = {}
        """What is to be done with the slots whose addresses a slot gets, and the bytes behind them."""
        self._behind: set[Slot] = set()
        """The slots behind pointers that get what these point to."""
        self._new: deque[tuple[Slot, KnownAddress]] = deque()
        """What slots got, and others do not have yet."""
        self._has_more_addresses = False
        """Whether a slot gets more addresses than are followed."""
        self._mixed: frozenset[Slot] | None = None
        """The slots that have addresses of several structs, as containers do."""
        self._unreturned: frozenset[Slot] = frozenset()
        """Those of them that have the searched struct, which nothing takes out as itself."""
        self._solve()
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

    def _solve(self) -> None:
        """Find what all slots have: first without what containers pass on as scalars."""
        for move in self.flows.moves:
            if move.is_once and move.slot == move.address.term:
                self._add_step(move.slot, move.address.offset)
        for move in self.flows.moves:
            if not (move.is_once and move.slot == move.address.term):
                self._join(move.slot, move.address)
        for store in self.flows.stores:
            self._take(store.target, partial(self._store, store.address))
        for copy in self.flows.copies:
            self._copy_pointer(copy)
        self._spread()
        self._find_mixed()
        for source, edges in self._edges.items():
            for slot, step in [edge for edge in edges if edge[0].is_of_scalars]:
                for each in self._values.get(source, ()):
                    self._add(slot, each.shift(step))
        self._spread()

    def _find_mixed(self) -> None:
        """Find the slots of containers: what goes in as one struct comes out of them as the same one.

        If nothing comes out as the searched struct where it is with a few others, what comes out as something
        else can be it.
        """
        names = {
            slot: frozenset(each.term.name for each in own if each.term.kind == "struct")
            for slot, own in self._values.items()
        }
        self._mixed = frozenset(slot for slot, some in names.items() if len(some) > 1)
        out = (one.address.term for one in self.flows.conversions if one.struct in self.subject.names)
        returned = {names[slot] for slot in out if isinstance(slot, Slot) and slot in self._mixed}
        own = frozenset(self.subject.names)
        lacking = {some for some in set(names.values()) if not any(len(some & each) > 1 for each in returned)}
        kept = {names[slot] for slot in self._mixed if slot.kind == "field"}
        few = {some for some in lacking & kept if some & own and len(some) <= _MOST_STRUCTS}
        self._unreturned = frozenset(slot for slot in self._mixed if names[slot] in few)

    def _add_step(self, slot: Slot, step: int | None) -> None:
        """Add the sums with one more step to those of a slot; of many, the smallest are followed."""
        sums = self._once.setdefault(slot, {0: None})
        sums |= {_sum(each, step): None for each in sums}
        if len(sums) > _MOST_SUMS:
            self._has_more_addresses = True
            self._once[slot] = dict.fromkeys(sorted(sums, key=_distance)[:_MOST_SUMS])

    def _join(self, slot: Slot, address: Address) -> None:
        """Give a slot what an address is, now and later."""
        term, step = address
        if isinstance(term, Term):
            result = self._calls.get(term)
            if result is None or self._results.get(result):
                self._add(slot, KnownAddress(term, step, False))
            else:
                self._waiting.setdefault(result, {})[slot, address] = None
            return
        self._look_behind(term)
        edges = self._edges.setdefault(term, {})
        if (slot, step) not in edges:
            edges[slot, step] = None
            for each in tuple(self._values.get(term, ())):
                self._add(slot, each.shift(step))

    def _take(self, address: Address, taker: Callable[[Slot, int | None], None]) -> None:
        """Do something with each slot whose address something is, now and later."""
        if isinstance(address.term, Term):
            if address.term.slot is not None:
                taker(address.term.slot, address.offset)
            return
        self._look_behind(address.term)
        self._takers.setdefault(address.term, []).append(taker)
        for each in tuple(self._values.get(address.term, ())):
            if each.term.slot is not None:
                taker(each.term.slot, each.offset)

    def _look_behind(self, slot: Slot) -> None:
        """Let a slot behind a pointer have what is in the slots that this points to."""
        pointer = slot.pointer
        if pointer is not None and slot not in self._behind:
            self._behind.add(slot)
            self._take(Address(pointer, 0), partial(self._fetch, slot))

    def _fetch(self, slot: Slot, place: Slot, offset: int | None) -> None:
        if offset == 0:
            self._join(slot, Address(place, 0))

    def _store(self, address: Address, place: Slot, _: int | None) -> None:
        self._join(place, address)

    def _copy_pointer(self, copy: Copy) -> None:
        """Give a pointer what one has whose bytes are copied to it."""
        self._take(copy.target, lambda place, _: self._take(copy.source, partial(self._fill, place)))

    def _fill(self, place: Slot, source: Slot, _: int | None) -> None:
        self._join(place, Address(source, 0))

    def _spread(self) -> None:
        """Give others what slots got, until there is no more."""
        while self._new:
            source, known = self._new.popleft()
            for slot, step in tuple(self._edges.get(source, ())):
                self._add(slot, known.shift(step))
            if known.term.slot is not None:
                for taker in tuple(self._takers.get(source, ())):
                    taker(known.term.slot, known.offset)

    def _add(self, slot: Slot, known: KnownAddress) -> None:
        """Add an address to those of a slot, as far as it has it."""
        kind = slot.kind
        if kind == "parameter" and not known.is_passed:
            known = known._replace(is_passed=True)
        if slot.is_masked:
            known = _mask(known)
        elif known.term.kind == "struct" and slot.is_of_scalars:
            base = Slot(kind, slot.name[:-2], slot.number)
            if self._mixed is None or (
                base in self._mixed and not (base in self._unreturned and self.is_own(known.term))
            ):
                return
        own = self._values.setdefault(slot, {})
        if known in own:
            return
        if kind == "result" and self._is_fresh(slot, known):
            return
        if len(own) >= _MOST_ADDRESSES:
            self._has_more_addresses = True
            return
        self._keep(slot, own, known)
        for step in self._once.get(slot, ()) if known not in self._moved.get(slot, ()) else ():
            moved = known._replace(offset=_sum(known.offset, step))
            if moved not in own:
                self._moved.setdefault(slot, {})[moved] = None
                self._keep(slot, own, moved)

    def _keep(self, slot: Slot, own: Addresses, known: KnownAddress) -> None:
        own[known] = None
        self._new.append((slot, known))
        if slot.is_lasting and known.term not in self._lasting:
            self._lasting.add(known.term)
            for result in self._fresh.get(known.term, ()):
                for each in [each for each in self._results[result] if each.term == known.term]:
                    self._add(result, each)

    def _is_fresh(self, slot: Slot, known: KnownAddress) -> bool:
        """Return whether memory is allocated for a call, and no variable keeps it for the next one."""
        term = known.term
        if term.kind != "words" or not term.is_allocated or term in self._lasting:
            return False
        self._results.setdefault(slot, {})[known] = None
        self._fresh.setdefault(term, {})[slot] = None
        for place, address in self._waiting.pop(slot, ()):
            self._join(place, address)
        return True

    def _conversions_by_copies(self) -> Iterator[Convert]:
        """Yield copies as conversions: bytes of a struct become another one, or are copied to bytes."""
        for copy in self.flows.copies:
            for one, other in ((copy.target, copy.source), (copy.source, copy.target)):
                if any(each.term.kind == "member" for each in self.resolve(other)):
                    continue
                structs = {each.term.name for each in self.resolve(one) if self._is_in_struct(each)}
                structs = set() if self.is_mixed(one) else structs
                for struct in sorted(structs):
                    yield Convert(other, struct, copy.file, copy.line)

    def _is_in_struct(self, known: KnownAddress) -> bool:
        """Return whether an address is that of a struct, and not of what is behind it."""
        layout = self.layouts.get(known.term.name)
        return known.term.kind == "struct" and (layout is None or (known.offset or 0) < layout.size)

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

    def resolve(self, address: Address) -> Iterator[KnownAddress]:
        """Yield the addresses that an address can be."""
        if isinstance(address.term, Term):
            result = self._calls.get(address.term)
            if result is None or self._results.get(result):
                yield KnownAddress(address.term, address.offset, False)
            return
        slot, step = address.term, address.offset
        if slot.kind == "behind":
            self._look_behind(slot)
            self._spread()
        yield from [each.shift(step) for each in self._values.get(slot, ())]

    def sides(self, one: Comparison) -> list[Addresses]:
        """Return the addresses on both sides of a comparison; none if they can be about no member."""
        number = KnownAddress(Term("number", "", 0), None, False)
        unknown: Addresses = {number: None} if one.kind in ("order", "bound") else {}
        sides = [self.addresses(each) or unknown for each in (one.left, one.right)]
        is_used = one.kind == "bytes" or any(each.term.kind in _IN_STRUCT for side in sides for each in side)
        return sides if is_used else [{}, {}]

    def is_mixed(self, address: Address) -> bool:
        """Return whether an address can be that of several structs, as what containers keep."""
        result = self._calls.get(address.term) if isinstance(address.term, Term) else None
        known = self.resolve(address if result is None else Address(result, 0))
        return len({each.term.name for each in known if each.term.kind == "struct"}) > 1

    def is_unreturned(self, address: Address) -> bool:
        """Return whether an address is what a container keeps that nothing takes out as the struct."""
        return isinstance(address.term, Slot) and address.term in self._unreturned

    def inner_addresses(self, known: KnownAddress) -> Iterator[KnownAddress]:
        """Yield the addresses in the struct that an address in one which embeds it is."""
        layout = self.layouts.get(known.term.name) if known.term.kind == "struct" else None
        size = (self.subject.struct.bit_size or 0) // 8
        for start in () if layout is None else layout.places:
            if known.offset is None:
                yield known._replace(term=self._own)
            elif start <= known.offset < start + size:
                yield known._replace(term=self._own, offset=known.offset - start)

    def overlaps(self, known: KnownAddress, other: str) -> bool:
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


def _mask(known: KnownAddress) -> KnownAddress:
    """Return an address without a mark in its low bits."""
    term = known.term._replace(number=1) if known.term.kind == "struct" else known.term
    is_marked = known.offset is not None and 0 < known.offset <= MOST_TAG
    return known._replace(term=term, offset=0 if is_marked else known.offset)


def _sum(offset: int | None, step: int | None) -> int | None:
    return None if offset is None or step is None else offset + step


def _distance(offset: int | None) -> int:
    return 0 if offset is None else abs(offset)
