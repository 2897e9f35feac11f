"""The uses that depend on the order of a struct's members, by where its addresses go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from layoutlint.model.flows import Access, Address, Convert, Flows, Pass, Slot, Term
from layoutlint.readers.order_uses.casts import Cast
from layoutlint.readers.order_uses.facts import OrderUse
from layoutlint.readers.order_uses.subject import Subject

_MOST_ADDRESSES = 40
"""The most addresses that are followed through a slot."""
_MOST_ROUNDS = 12
"""The most slots that an address is followed through."""
_MOST_TAG = 3
"""The largest number in the low bits of a pointer, which marks it and leads to no member."""


class _Known(NamedTuple):
    """An address of a struct or a member, with bytes added."""

    term: Term
    offset: int | None
    is_passed: bool
    """Whether it went through a parameter."""


def uses(flows: Flows, subject: Subject) -> Iterator[tuple[str, OrderUse | Cast]]:
    """Yield the file of each use, and the use, or a cast between the struct and another one."""
    solver = _Solver(flows, subject)
    for conversion in flows.conversions:
        for use in solver.conversion_uses(conversion):
            yield conversion.file, use
    for access in flows.accesses:
        for use in solver.access_uses(access):
            yield access.file, use
    for given in flows.passes:
        for use in solver.pass_uses(given):
            yield given.file, use


class _Solver:
    """The addresses in all slots, and the uses that they make."""

    def __init__(self, flows: Flows, subject: Subject) -> None:
        self._subject = subject
        self._values: dict[Slot, set[_Known]] = {}
        moves = (move for move in flows.moves if move.slot == move.address.term)
        self._steps = {move.slot: move.address.offset for move in moves}
        """The bytes by which slots are moved."""
        for _ in range(_MOST_ROUNDS):
            before = sum(map(len, self._values.values()))
            for move in flows.moves:
                own = self._values.setdefault(move.slot, set())
                if len(own) < _MOST_ADDRESSES:
                    is_passed = move.slot.kind == "parameter"
                    found = list(self._resolve(move.address))
                    own |= {each._replace(is_passed=each.is_passed or is_passed) for each in found}
            if sum(map(len, self._values.values())) == before:
                break

    def _resolve(self, address: Address) -> Iterator[_Known]:
        if isinstance(address.term, Term):
            yield _Known(address.term, address.offset, False)
            return
        for each in tuple(self._values.get(address.term, ())):
            is_known = each.offset is not None and address.offset is not None
            yield each._replace(offset=(each.offset or 0) + (address.offset or 0) if is_known else None)

    def _is_own(self, term: Term) -> bool:
        return term.kind == "struct" and term.name in self._subject.names

    def conversion_uses(self, one: Convert) -> Iterator[OrderUse | Cast]:
        """Yield what a pointer to another struct means: a cast, or a place in the struct."""
        known = set(self._resolve(one.address))
        structs = {each.term.name for each in known if each.term.kind == "struct"}
        if one.struct in self._subject.names:
            if not any(self._is_own(each.term) for each in known):
                yield from self._uses_from_members(one, known)
                if len(structs) == 1:
                    yield Cast(next(iter(structs)), one.line, False)
        elif one.struct not in structs and len(structs) == 1:
            for each in known:
                if self._is_own(each.term) and each.offset == 0:
                    yield Cast(one.struct, one.line, False)
                elif self._is_own(each.term) and self._is_place(each.offset):
                    yield self._number_use(one.file, one.line)

    def _uses_from_members(self, one: Convert, known: set[_Known]) -> Iterator[OrderUse]:
        """Yield how a member's address becomes that of the struct."""
        slot = one.address.term
        steps = {one.address.offset, self._steps.get(slot) if isinstance(slot, Slot) else None}
        if not known and any(map(self._is_place, steps)):
            text = "a number of bytes leads from a member to the struct"
            yield OrderUse("offset-constant", one.file, one.line, text)
        for each in known:
            place = self._subject.member_at.get(each.term.name) if each.term.kind == "member" else None
            if place == 0 and each.offset == 0:
                yield self._first_use(one.file, one.line, "a cast goes to the struct from its first member")
            elif place is not None and self._is_place(each.offset):
                text = "a number of bytes leads from a member to the struct"
                yield OrderUse("offset-constant", one.file, one.line, text)

    def _is_place(self, offset: int | None) -> bool:
        size = (self._subject.struct.bit_size or 0) // 8
        return offset is not None and _MOST_TAG < abs(offset) < size

    def _number_use(self, file: str, line: int) -> OrderUse:
        text = "a number of bytes leads to a place in the struct"
        return OrderUse("offset-constant", file, line, text)

    def _first_use(self, file: str, line: int, text: str) -> OrderUse:
        first = self._subject.members[:1]
        return OrderUse("first-member-cast", file, line, f"{text}, `{first[0]}`", first, "first")

    def access_uses(self, one: Access) -> Iterator[OrderUse]:
        """Yield the reads and writes of a struct's bytes or words, and of what is beside a member."""
        known = set(self._resolve(one.address))
        if len({each.term.name for each in known if each.term.kind == "struct"}) > 1:
            return
        for each in known:
            if self._is_own(each.term):
                yield from self._word_use(one, each)
            elif each.term.kind == "member" and each.offset is not None:
                yield from self._use_beside(one, each.term.name, each.offset)

    def _word_use(self, one: Access, known: _Known) -> Iterator[OrderUse]:
        size, offset = (self._subject.struct.bit_size or 0) // 8, known.offset
        if offset is None:
            if not known.is_passed:
                text = "single bytes or words of the struct are read or written"
                yield OrderUse("scalar-cast", one.file, one.line, text)
        elif offset == 0 and self._subject.byte_size(0) == one.size:
            text = "the first bytes of the struct are read or written as its first member"
            yield self._first_use(one.file, one.line, text)
        elif 0 <= offset < size:
            yield self._number_use(one.file, one.line)

    def _use_beside(self, one: Access, member: str, offset: int) -> Iterator[OrderUse]:
        place = self._subject.member_at.get(member)
        size = None if place is None else self._subject.byte_size(place)
        if place is None or not size or self._subject.struct.fields[place].is_flexible:
            return
        if not 0 <= offset <= size - one.size:
            side = "before" if offset < 0 else "behind"
            text = f"{abs(offset)} bytes {side} the start of `{member}`, another member is read or written"
            yield OrderUse("member-index", one.file, one.line, text, (), "order")

    def pass_uses(self, one: Pass) -> Iterator[OrderUse]:
        """Yield the calls that get a member's address and a size that is larger than the member."""
        for each in set(self._resolve(one.address)):
            if each.offset is None or each.offset < 0:
                continue
            if self._is_own(each.term) and one.is_size and self._is_place(one.number + each.offset):
                text = f"a call gets the address of the struct, and {one.number} bytes of it"
                yield OrderUse("member-range", one.file, one.line, text)
            place = self._subject.member_at.get(each.term.name) if each.term.kind == "member" else None
            size = None if place is None else self._subject.byte_size(place)
            if place is None or not size:
                continue
            fields = self._subject.struct.fields
            end = fields[place].bit_offset + 8 * (each.offset + one.number)
            if one.number <= size - each.offset or end > (self._subject.struct.bit_size or 0):
                continue
            last = max(at for at in range(place, len(fields)) if fields[at].bit_offset < end)
            if last > place:
                end_name = self._subject.members[last]
                text = f"a call gets the address of `{each.term.name}` and a size that reaches `{end_name}`"
                members = self._subject.range(place, last)
                yield OrderUse("member-range", one.file, one.line, text, members, "range")
