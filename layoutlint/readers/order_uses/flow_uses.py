"""The uses that depend on the order of a struct's members, by where its addresses go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, TypeVar

from layoutlint.model.flows import (
    Access,
    Address,
    Assembly,
    Comparison,
    Convert,
    Copy,
    Flows,
    Given,
    Pass,
    Slot,
    Store,
    Term,
    UnionUse,
)
from layoutlint.readers.order_uses.casts import Cast
from layoutlint.readers.order_uses.facts import OrderUse
from layoutlint.readers.order_uses.subject import Subject

_MOST_ADDRESSES = 40
"""The most addresses that are followed through a slot."""
_MOST_ROUNDS = 12
"""The most slots that an address is followed through."""
_HARMLESS = frozenset((
    "free", "memset", "memcpy", "memmove", "memcmp", "bcmp", "bzero", "explicit_bzero", "realloc", "printf",
    "fprintf", "snprintf", "sprintf", "puts", "malloc", "calloc", "qsort", "bsearch", "pthread_create",
    "memchr", "strlen", "strcmp", "fwrite", "fread", "read", "write", "send", "recv", "posix_memalign",
))  # fmt: skip
"""Functions of the C library that do nothing else with an address than what is searched for."""
_DEEPEST = 4
"""The most pointers to pointers."""
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
    yield from _each(solver.conversions, solver.conversion_uses)
    yield from _each(flows.stores, solver.store_uses)
    yield from _each(flows.accesses, solver.access_uses)
    yield from _each(flows.passes, solver.pass_uses)
    yield from _each(flows.comparisons, solver.comparison_uses)
    yield from _each(flows.assembly, solver.assembly_uses)
    yield from _each(flows.given, solver.given_uses)
    yield from _values(flows, subject)
    yield from _symbols(flows, subject)
    yield from _hardware(flows, subject)
    yield from _unions(flows)
    yield from solver.words_uses()
    yield from solver.step_uses()


class _Placed(Protocol):
    @property
    def file(self) -> str:
        """The file of a fact."""


_Fact = TypeVar("_Fact", bound=_Placed)


def _each(
    facts: Iterable[_Fact], judge: Callable[[_Fact], Iterator[OrderUse | Cast]]
) -> Iterator[tuple[str, OrderUse | Cast]]:
    for fact in facts:
        for use in judge(fact):
            yield fact.file, use


def unseen_calls(flows: Flows, subject: Subject) -> list[str]:
    """Return the calls that pass the struct, without its type, to functions whose bodies were not read."""
    return _Solver(flows, subject).unseen_calls()


def _values(flows: Flows, subject: Subject) -> Iterator[tuple[str, OrderUse]]:
    """Yield the values by position, as initialisers have them when macros are expanded."""
    for values in flows.values:
        first, last = (subject.member_at.get(name) for name in (values.first, values.last))
        if first is None or last is None:  # this configuration has other members
            text = "an initialiser sets members by position"
            yield values.file, OrderUse("positional-initialiser", values.file, values.line, text)
            continue
        members = subject.range(first, last)
        shown = f"`{members[0]}`" if len(members) == 1 else f"`{members[0]}` to `{members[-1]}`"
        text, file = f"an initialiser sets {shown} by position", values.file
        if first == 0:
            use = OrderUse("positional-initialiser", file, values.line, text, members, "order", "start")
        else:
            use = OrderUse("positional-initialiser", file, values.line, text, members, "range")
        yield file, use


def _hardware(flows: Flows, subject: Subject) -> Iterator[tuple[str, OrderUse]]:
    """Yield the constant addresses that become pointers to the struct."""
    for fill in flows.fills:
        if fill.address.term.kind == "struct" and fill.address.term.name in subject.names:
            yield fill.file, OrderUse("raw-transfer", fill.file, fill.line, fill.text)


def _unions(flows: Flows) -> Iterator[tuple[str, OrderUse]]:
    """Yield the reads of bytes that only another member of a union is written by."""
    by_union: dict[str, list[UnionUse]] = {}
    for use in flows.unions:
        by_union.setdefault(use.union, []).append(use)
    for uses in by_union.values():
        filled = {use.member for use in uses if use.kind != "read"}
        of_subject = {use.is_subject for use in uses if use.kind != "read"}
        for use in uses:
            if use.kind == "read" and use.member not in filled and (not use.is_subject) in of_subject:
                text = f"`{use.member}` of a union is read, and only another member is written"
                yield use.file, OrderUse("union-overlay", use.file, use.line, text)


def _symbols(flows: Flows, subject: Subject) -> Iterator[tuple[str, Cast]]:
    """Yield the declarations of the struct's objects as objects of other structs."""
    own = {each.name for each in flows.symbols if each.struct in subject.names}
    for each in flows.symbols:
        if each.name in own and each.struct not in subject.names:
            yield each.file, Cast(each.struct, each.line, False)


class _Solver:
    """The addresses in all slots, and the uses that they make."""

    def __init__(self, flows: Flows, subject: Subject) -> None:
        self._subject, self._flows = subject, flows
        self._layouts = {each.struct: each for each in flows.layouts}
        self._own = Term("struct", subject.names[0] if subject.names else "")
        self._values: dict[Slot, set[_Known]] = {}
        self._results: dict[Slot, set[_Known]] = {}
        """The memory that functions allocate and return, which is another one for each call."""
        self._calls = {each.term: each.result for each in flows.made}
        moves = (move for move in flows.moves if move.slot == move.address.term)
        self._steps = {move.slot: move.address.offset for move in moves}
        """The bytes by which slots are moved."""
        for _ in range(_MOST_ROUNDS):
            before = self._count_values()
            for move in flows.moves:
                self._add(move.slot, move.address)
            for store in flows.stores:
                slots = {each.term.slot for each in self._resolve(store.target)}
                for slot in slots - {None}:
                    self._add(slot, store.address)
            for copy in flows.copies:
                self._copy_pointer(copy)
            if self._count_values() == before:
                break

        self._counts: dict[tuple[Slot, Slot], set[int]] = {}
        for count in flows.counts:
            if isinstance(count.address.term, Slot) and count.address.offset == 0:
                key = count.address.term, count.parameter
                self._counts.setdefault(key, set()).add(count.size)
        self._by_copies = list(self._conversions_by_copies())
        self.conversions = [*flows.conversions, *self._by_copies]

    def _conversions_by_copies(self) -> Iterator[Convert]:
        """Yield copies as conversions: bytes of a struct become another one, or are copied to bytes."""
        for copy in self._flows.copies:
            for one, other in ((copy.target, copy.source), (copy.source, copy.target)):
                if any(each.term.kind == "member" for each in self._resolve(other)):
                    continue
                structs = {each.term.name for each in self._resolve(one) if each.term.kind == "struct"}
                for struct in sorted(structs):
                    yield Convert(other, struct, copy.file, copy.line)

    def _add(self, slot: Slot | None, address: Address) -> None:
        """Add the addresses that a slot gets."""
        own = set[_Known]() if slot is None else self._values.setdefault(slot, set())
        if slot is not None and len(own) < _MOST_ADDRESSES:
            is_passed = slot.kind == "parameter"
            found = [each._replace(is_passed=each.is_passed or is_passed) for each in self._resolve(address)]
            fresh = {each for each in found if slot.kind == "result" and self._is_fresh(each.term)}
            self._results.setdefault(slot, set()).update(fresh)
            own |= set(found) - fresh

    def _count_values(self) -> int:
        return sum(map(len, (*self._values.values(), *self._results.values())))

    def _is_fresh(self, term: Term) -> bool:
        """Return whether memory is allocated, and no variable keeps it for the next call."""
        if term.kind != "words" or not term.is_allocated:
            return False
        lasting = (own for slot, own in self._values.items() if slot.is_lasting)
        return not any(each.term == term for own in lasting for each in own)

    def _copy_pointer(self, copy: Copy) -> None:
        """Add what a pointer has that is copied by its bytes."""
        pairs = ((to.term.slot, source) for to in self._resolve(copy.target) for source in (copy.source,))
        for slot, source in pairs:
            for each in self._resolve(source) if slot is not None else ():
                if each.term.slot is not None:
                    self._add(slot, Address(each.term.slot, 0))

    def _origins(self, term: Term, depth: int = _DEEPEST) -> Iterator[tuple[Term, int | None]]:
        """Yield the memory that a term stands for where functions allocate it, with the offset there."""
        result = self._calls.get(term)
        for each in self._results.get(result, ()) if result is not None and depth else ():
            yield each.term, each.offset
            for inner, offset in self._origins(each.term, depth - 1):
                is_known = offset is not None and each.offset is not None
                yield inner, (offset or 0) + (each.offset or 0) if is_known else None

    def _resolve(self, address: Address) -> Iterator[_Known]:
        if isinstance(address.term, Term):
            result = self._calls.get(address.term)
            if result is None or self._results.get(result):
                yield _Known(address.term, address.offset, False)
            return
        for each in tuple(self._slot_addresses(address.term, _DEEPEST)):
            is_known = each.offset is not None and address.offset is not None
            yield each._replace(offset=(each.offset or 0) + (address.offset or 0) if is_known else None)

    def _slot_addresses(self, slot: Slot, depth: int) -> Iterator[_Known]:
        """Yield the addresses in a slot, also in one that a pointer leads to."""
        yield from self._values.get(slot, ())
        pointer = slot.pointer if depth else None
        for each in tuple(self._slot_addresses(pointer, depth - 1)) if pointer is not None else ():
            if each.term.slot is not None and each.offset == 0:
                yield from self._slot_addresses(each.term.slot, depth - 1)

    def _inner_addresses(self, known: _Known) -> Iterator[_Known]:
        """Yield the addresses in the struct that an address in one which embeds it is."""
        layout = self._layouts.get(known.term.name) if known.term.kind == "struct" else None
        size = (self._subject.struct.bit_size or 0) // 8
        for start in () if layout is None else layout.places:
            if known.offset is None:
                yield known._replace(term=self._own)
            elif start <= known.offset < start + size:
                yield known._replace(term=self._own, offset=known.offset - start)

    def _overlaps(self, known: _Known, other: str) -> bool:
        """Return whether another struct at an address in a container of the struct has the same bytes."""
        layouts = self._layouts.get(known.term.name), self._layouts.get(other)
        if layouts[0] is None or layouts[1] is None or layouts[1].places or known.offset is None:
            return False
        size, low = (self._subject.struct.bit_size or 0) // 8, known.offset
        high = low + layouts[1].size
        return any(low < start + size and start < high for start in layouts[0].places)

    def _is_own(self, term: Term) -> bool:
        return term.kind == "struct" and term.name in self._subject.names

    def conversion_uses(self, one: Convert) -> Iterator[OrderUse | Cast]:
        """Yield what a pointer to another struct means: a cast, or a place in the struct."""
        known = set(self._resolve(one.address))
        structs = {each.term.name for each in known if each.term.kind == "struct"}
        if one.struct.endswith(" *") and one.struct not in structs and len(structs) == 1:
            yield from self._pointer_uses(one, next(iter(structs)))
        elif one.struct in self._subject.names:
            if any(each.term.kind == "words" and not each.term.name for each in known):
                text = "a text in the source is read as the struct"
                yield OrderUse("scalar-cast", one.file, one.line, text)
            elif not any(self._is_own(each.term) for each in known):
                yield from self._uses_from_members(one, known)
                if len(structs) == 1:
                    yield from self._uses_of_other(one, known)
        elif one.struct not in structs and len(structs) == 1:
            for each in known:
                yield from self._uses_as(one, each)
        if one.struct not in self._subject.names:
            yield from self._uses_of_larger(one, known)

    def _uses_of_larger(self, one: Convert, known: set[_Known]) -> Iterator[OrderUse]:
        """Yield what it means that a member's address becomes a pointer to a struct with more bytes."""
        layout = self._layouts.get(one.struct)
        is_member = all(each.term.kind in ("member", "slot") for each in known)
        for each in known if layout is not None else ():
            is_sure = is_member or not each.is_passed
            if each.term.kind == "member" and each.offset is not None and is_sure:
                access = Access(one.address, layout.size if layout else 0, one.file, one.line)
                yield from self._use_beside(access, each.term.name, each.offset)

    def _uses_of_other(self, one: Convert, known: set[_Known]) -> Iterator[OrderUse | Cast]:
        """Yield what it means that the address of another struct becomes a pointer to the searched one."""
        for each in known:
            layout = self._layouts.get(each.term.name) if each.term.kind == "struct" else None
            if each.term.kind != "struct":
                continue
            if layout is not None and layout.places and each.offset is not None:
                if not layout.is_array and each.offset not in layout.places:
                    text = f"a cast of `{each.term.name}` does not lead to the struct in it"
                    yield OrderUse("struct-cast", one.file, one.line, text)
            else:
                yield Cast(each.term.name, one.line, False)

    def _uses_as(self, one: Convert, known: _Known) -> Iterator[OrderUse | Cast]:
        """Yield what it means that the address of a struct becomes a pointer to another one."""
        if known.term.kind == "struct" and self._overlaps(known, one.struct):
            text = f"a cast of `{known.term.name}`, which embeds the struct, to `{one.struct}`"
            yield OrderUse("struct-cast", one.file, one.line, text)
        if self._is_own(known.term) and known.offset == 0:
            yield Cast(one.struct, one.line, False)
        elif self._is_own(known.term) and self._is_place(known.offset):
            yield self._number_use(one.file, one.line)

    def _pointer_uses(self, one: Convert, old: str) -> Iterator[OrderUse | Cast]:
        """Yield what it means that a pointer to a pointer to a struct becomes one of another struct."""
        names = [name.removesuffix(" *") for name in (one.struct, old)]
        if not any(name.endswith("*") for name in names):
            inner = Address(Term("struct", names[1]), 0)
            yield from self.conversion_uses(Convert(inner, names[0], one.file, one.line))

    def store_uses(self, one: Store) -> Iterator[OrderUse | Cast]:
        """Yield what an address means that is stored behind a pointer to a pointer to a struct."""
        for each in set(self._resolve(one.target)):
            if each.term.kind == "struct" and each.term.name.endswith(" *"):
                struct = each.term.name.removesuffix(" *")
                yield from self.conversion_uses(Convert(one.address, struct, one.file, one.line))

    def comparison_uses(self, one: Comparison) -> Iterator[OrderUse]:
        """Yield the comparisons whose results the places of members decide."""
        if one.kind == "sum":
            yield from self._uses_of_sum(one)
            return
        pairs = [(a, b) for a in set(self._resolve(one.left)) for b in set(self._resolve(one.right))]
        for pair in pairs:
            terms = [each.term for each in pair]
            offsets = [term.name for term in terms if term.kind == "offset"]
            if one.kind != "bytes" and offsets:
                is_number = any(term.kind == "number" for term in terms)
                if is_number or (len(set(offsets)) == 2 and one.kind == "order"):
                    text = "the offset of a member is compared, or subtracted from another one"
                    names = tuple(name for name in self._subject.members if name in offsets)
                    yield OrderUse("offset-constant", one.file, one.line, text, names, "offset")
                continue
            own = [term for term in terms if self._is_own(term) or self._is_container(term)]
            members = [term.name for term in terms if term.kind == "member"]
            if one.kind == "bytes":
                if len(own) == 2:
                    text = "objects are compared byte by byte for their order"
                    yield OrderUse("member-range", one.file, one.line, text)
                continue
            places = [at for name in members if (at := self._subject.member_at.get(name)) is not None]
            if len(own) + len(places) < 2 or not places or len(set(places)) != len(members):
                continue
            names = self._subject.range(places[0], places[-1])
            if one.kind == "order":
                text = "the addresses of members are compared or subtracted"
                yield OrderUse("member-range", one.file, one.line, text, names, "offset")
            elif own:
                yield self._first_use(one.file, one.line, "the address of the struct is that of")

    def _uses_of_sum(self, one: Comparison) -> Iterator[OrderUse]:
        """Yield what it means that a member's offset is added to what is no address of the struct."""
        known = [each for each in self._resolve(one.left) if each.term.kind != "slot"]
        bases = [inner for each in known for inner in self._inner_addresses(each) if inner.offset == 0]
        is_known = all(each.term.kind == "member" or self._is_container(each.term) for each in known)
        if known and is_known and not bases:
            text = "the offset of a member is added to an address that is not the struct's"
            yield OrderUse("offset-constant", one.file, one.line, text)

    def _is_container(self, term: Term) -> bool:
        """Return whether a term is the address of a struct that embeds the searched one."""
        layout = self._layouts.get(term.name) if term.kind == "struct" else None
        return layout is not None and bool(layout.places)

    def assembly_uses(self, one: Assembly) -> Iterator[OrderUse]:
        """Yield the assembly that gets the address of an object."""
        known = set(self._resolve(one.address))
        if any(self._is_own(each.term) for each in known):
            text = "assembly gets the address of an object"
            yield OrderUse("asm-offset", one.file, one.line, text)
        elif one.is_displaced and any(each.term.kind == "member" for each in known):
            text = "assembly adds a number to the address of a member"
            yield OrderUse("member-index", one.file, one.line, text, (), "order")
        names = {each.term.name for each in known if each.term.kind == "offset"}
        members = tuple(name for name in self._subject.members if name in names)
        if members:
            text = "assembly gets the offset of a member"
            yield OrderUse("asm-offset", one.file, one.line, text, members, "offset")

    def step_uses(self) -> Iterator[tuple[str, OrderUse]]:
        """Yield the sums of an object's address and a number that the text states somewhere."""
        numbers: dict[Slot, set[str]] = {}
        for move in self._flows.numbers:
            numbers.setdefault(move.slot, set()).add(move.address.term.kind)
        for step in self._flows.steps:
            kinds = numbers.get(step.slot, set())
            if "number" not in kinds or "offset" in kinds:
                continue
            if any(self._is_own(each.term) for each in self._resolve(step.address)):
                text = "a number leads to a place in the struct"
                yield step.file, OrderUse("offset-constant", step.file, step.line, text)

    def words_uses(self) -> Iterator[tuple[str, OrderUse | Cast]]:
        """Yield the uses of bytes from elsewhere as the struct."""
        starts: dict[Term, set[int]] = {}
        others: dict[Term, list[Convert]] = {}
        for one in self.conversions:
            for each in self._resolve(one.address) if one.struct in self._subject.names else ():
                if each.term.kind == "words" and each.offset is not None:
                    starts.setdefault(each.term, set()).add(each.offset)
        self._add_origins(starts)
        for one in self._by_copies:
            for each in self._resolve(one.address) if one.struct not in self._subject.names else ():
                if each.term.kind == "words" and each.offset in starts.get(each.term, ()):
                    others.setdefault(each.term, []).append(one)
        yield from self._conversions_of_words(starts)
        for term in sorted(starts.keys() & others.keys()):
            for one in others[term]:
                text = f"the same bytes are read or written as `{one.struct}`, and as the struct"
                yield one.file, OrderUse("struct-cast", one.file, one.line, text)
        if starts:
            yield from self._uses_of_words(starts)

    def _add_origins(self, starts: dict[Term, set[int]]) -> None:
        """Add where memory is read as the struct in the functions that allocate it."""
        for term, offsets in tuple(starts.items()):
            for origin, shift in self._origins(term):
                if shift is not None:
                    starts.setdefault(origin, set()).update(shift + each for each in offsets)

    def _conversions_of_words(self, starts: Mapping[Term, set[int]]) -> Iterator[tuple[str, Cast]]:
        """Yield the conversions to other structs of memory that is the searched one, too."""
        for one in self._flows.conversions if starts else ():
            if one.struct in self._subject.names or one.struct.endswith("*"):
                continue
            known = set(self._resolve(one.address))
            words = {each.term for each in known if each.term.kind != "slot"}
            if len(words) == 1 and any(each.offset in starts.get(each.term, ()) for each in known):
                yield one.file, Cast(one.struct, one.line, False)

    def _uses_of_words(self, starts: Mapping[Term, set[int]]) -> Iterator[tuple[str, OrderUse]]:
        """Yield what fills bytes that are read as the struct from some offsets on, or takes single ones."""
        size = (self._subject.struct.bit_size or 0) // 8
        for fill in self._flows.fills:
            own = list(self._resolve(fill.address))
            if any(each.term in starts and each.offset is not None for each in own):
                text = f"{fill.text}, which are read as the struct"
                yield fill.file, OrderUse("raw-transfer", fill.file, fill.line, text)
        filled = {each.term for fill in self._flows.fills for each in self._resolve(fill.address)}
        for copy in self._flows.copies:
            if filled.isdisjoint(each.term for each in self._resolve(copy.source)):
                continue
            if any(each.term in starts and each.offset is not None for each in self._resolve(copy.target)):
                text = "constant bytes are copied to what is read as the struct"
                yield copy.file, OrderUse("raw-transfer", copy.file, copy.line, text)
        for access in self._flows.accesses:
            for each in self._resolve(access.address) if access.size else ():
                places = starts.get(each.term, set())
                if each.offset is not None and any(
                    start <= each.offset < start + size for start in places
                ):
                    text = "bytes or words are read or written by their place, and as the struct"
                    yield access.file, OrderUse("scalar-cast", access.file, access.line, text)

    def unseen_calls(self) -> list[str]:
        """Return the functions without a body that get the address of the struct, each with a place."""
        functions: dict[str, str] = {}
        defined = {each.function for each in self._flows.defined}
        for call in self._flows.calls:
            if call.function in _HARMLESS or call.function in defined:
                continue
            if any(self._is_own(each.term) for each in self._resolve(call.address)):
                functions.setdefault(call.function, f"{call.function}() in {call.file}:{call.line}")
        return list(functions.values())

    def _uses_from_members(self, one: Convert, known: set[_Known]) -> Iterator[OrderUse]:
        """Yield how a member's address becomes that of the struct."""
        slot = one.address.term
        steps = {one.address.offset, self._steps.get(slot) if isinstance(slot, Slot) else None}
        if not known and any(map(self._is_place, steps)):
            text = "a number of bytes leads from a member to the struct"
            yield OrderUse("offset-constant", one.file, one.line, text)
        places = [each for each in known if each.term.kind != "slot"]
        is_whole = all(each.term.kind == "member" and each.offset == 0 for each in places)
        for each in known:
            place = self._subject.member_at.get(each.term.name) if each.term.kind == "member" else None
            if place == 0 and each.offset == 0:
                yield self._first_use(one.file, one.line, "a cast goes to the struct from its first member")
            elif place is not None and (self._is_place(each.offset) or is_whole):
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
        if one.size and len({each.term.name for each in known if each.term.kind == "struct"}) > 1:
            return
        for each in known:
            for own in self._inner_addresses(each) if one.size else ():
                yield from self._word_use(one, own)
            if self._is_own(each.term):
                yield from self._word_use(one, each)
            elif each.term.kind == "member" and each.offset is not None:
                yield from self._use_beside(one, each.term.name, each.offset)
            elif each.term.kind == "member" and not each.is_passed:
                yield from self._use_around(one, each.term.name)

    def _word_use(self, one: Access, known: _Known) -> Iterator[OrderUse]:
        size, offset = (self._subject.struct.bit_size or 0) // 8, known.offset
        if offset is None:
            is_hash = known.is_passed and not one.is_copied
            if not known.is_passed or is_hash:
                text = "single bytes or words of the struct are read or written"
                yield OrderUse("scalar-cast", one.file, one.line, text)
        elif not one.size:
            if self._is_place(offset) and offset > 0:
                yield self._number_use(one.file, one.line)
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

    def given_uses(self, one: Given) -> Iterator[OrderUse]:
        """Yield the calls that give a member's address with a number of scalars that is larger."""
        for size in self._counts.get((one.pointer, one.parameter), ()):
            access = Access(one.address, one.number * size, one.file, one.line)
            for each in self._resolve(one.address) if one.number > 0 else ():
                if each.term.kind == "member" and each.offset is not None:
                    yield from self._use_beside(access, each.term.name, each.offset)

    def _use_around(self, one: Access, member: str) -> Iterator[OrderUse]:
        """Yield the use of a pointer that moves by a number which is not known, and began at a scalar."""
        place = self._subject.member_at.get(member)
        field = None if place is None else self._subject.struct.fields[place]
        if field is None or place is None or field.dims or field.aggregate is not None:
            return
        if one.size and one.size == self._subject.byte_size(place):
            text = f"a pointer to `{member}` moves on to other members"
            yield OrderUse("member-index", one.file, one.line, text, (), "order")

    def pass_uses(self, one: Pass) -> Iterator[OrderUse]:
        """Yield the calls that get a member's address and a size that is larger than the member."""
        for each in set(self._resolve(one.address)):
            if each.offset is None or each.offset < 0:
                continue
            whole = (self._subject.struct.bit_size or 0) // 8
            end = one.number + each.offset
            is_part = 0 < end < whole or (end == whole and one.origin == "number")
            if self._is_own(each.term) and one.is_size and is_part:
                text = f"a call gets the address of the struct, and {one.number} bytes of it"
                yield OrderUse("member-range", one.file, one.line, text)
            place = self._subject.member_at.get(each.term.name) if each.term.kind == "member" else None
            size = None if place is None else self._subject.byte_size(place)
            if place is None or not size:
                continue
            fields = self._subject.struct.fields
            end = fields[place].bit_offset + 8 * (each.offset + one.number)
            is_beyond = end > (self._subject.struct.bit_size or 0) and not one.is_size
            if one.number <= size - each.offset or is_beyond or fields[place].is_flexible:
                continue
            last = max(at for at in range(place, len(fields)) if fields[at].bit_offset < end)
            if last > place or one.is_size:
                end_name = self._subject.members[last]
                text = f"a call gets the address of `{each.term.name}` and a size that reaches `{end_name}`"
                members = self._subject.range(place, last)
                if last == place or end > (self._subject.struct.bit_size or 0):
                    yield OrderUse("member-range", one.file, one.line, text)
                    continue
                is_rest = one.origin == "name" and last == len(fields) - 1
                yield OrderUse(
                    "member-range", one.file, one.line, text, members, "range",
                    "end" if is_rest else "anywhere", any_order=one.origin == "name",
                )  # fmt: skip
