"""The uses that depend on the order of a struct's members, by where its addresses go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeVar

from layoutlint.model.flows import (
    MOST_TAG,
    Access,
    Address,
    Assembly,
    Call,
    Comparison,
    Convert,
    Flows,
    Given,
    Pass,
    Slot,
    Store,
    Term,
    UnionUse,
)
from layoutlint.phrases import first_few
from layoutlint.sources.bodies.library_calls import FREES
from layoutlint.sources.order_uses import flow_texts
from layoutlint.sources.order_uses.casts import Cast
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.flow_solver import Addresses, KnownAddress, Solver
from layoutlint.sources.order_uses.subject import Subject

_HARMLESS = FREES | frozenset((
    "memset", "memcpy", "memmove", "memcmp", "bcmp", "bzero", "explicit_bzero", "realloc", "printf",
    "fprintf", "snprintf", "sprintf", "puts", "malloc", "calloc", "qsort", "bsearch", "pthread_create",
    "memchr", "strlen", "strcmp", "fwrite", "fread", "read", "write", "send", "recv", "posix_memalign",
))  # fmt: skip
"""Functions of the C library that do nothing else with an address than what is searched for."""


_TRANSFERS = frozenset((
    "write", "pwrite", "pwrite64", "fwrite", "send", "sendto", "read", "pread", "pread64", "fread", "recv",
    "recvfrom",
))  # fmt: skip
"""Functions that pass bytes to other programs and files, or get them."""


def uses(solver: FlowUses) -> Iterator[tuple[str, OrderUse | Cast]]:
    """Yield the file of each use, and the use, or a cast between the struct and another one."""
    flows, subject = solver.flows, solver.subject
    yield from _each(solver.conversions, solver.conversion_uses)
    yield from _each(flows.stores, solver.store_uses)
    yield from _each(flows.accesses, solver.access_uses)
    yield from _each(flows.passes, solver.pass_uses)
    yield from _each(flows.comparisons, solver.comparison_uses)
    yield from _each(flows.assembly, solver.assembly_uses)
    yield from _each(flows.given, solver.given_uses)
    yield from _each(flows.calls, solver.transfer_uses)
    yield from _values(flows, subject)
    yield from _symbols(flows, subject)
    yield from _hardware(flows, subject)
    yield from _unions(flows)
    yield from solver.words_uses()
    yield from solver.step_uses()
    yield from flow_texts.uses(solver)


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


def limits(solver: FlowUses) -> Iterator[str]:
    """Yield sentences on calls of functions whose bodies were not read, and on addresses that go too far."""
    if calls := solver.unseen_calls():
        yield f"what functions do with the struct whose code was not given: {first_few(calls)}"
    yield from solver.limits()


def names_with_objects(solver: FlowUses) -> tuple[list[str], list[str]]:
    """Return the functions without a body that get objects of the struct, and the variables that are one."""
    flows, subject = solver.flows, solver.subject
    defined = {each.function for each in flows.defined}
    functions = {
        each.function
        for each in flows.calls
        if each.function not in defined
        and any(solver.is_own(known.term) for known in solver.resolve(each.address))
    }
    objects = {each.name for each in flows.symbols if each.struct in subject.names and " " not in each.name}
    return sorted(functions), sorted(objects)


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
    for uses in _by_union(flows, ("read", "write", "address")).values():
        filled = {use.member for use in uses if use.kind != "read"}
        of_subject = {use.is_subject for use in uses if use.kind != "read"}
        for use in uses:
            if use.kind == "read" and use.member not in filled and (not use.is_subject) in of_subject:
                text = f"`{use.member}` of a union is read, and only another member is written"
                yield use.file, OrderUse("union-overlay", use.file, use.line, text)


def _by_union(flows: Flows, kinds: Sequence[str]) -> dict[str, list[UnionUse]]:
    by_union: dict[str, list[UnionUse]] = {}
    for use in flows.unions:
        if use.kind in kinds:
            by_union.setdefault(use.union, []).append(use)
    return by_union


def other_members(flows: Flows) -> tuple[str, ...] | None:
    """Return the members beside the struct in unions around it; None if one of them may be used as it."""
    others = {use.member for use in flows.unions if use.kind == "beside" and not use.is_subject}
    uses = (use for use in flows.unions if use.kind != "beside")
    is_shared = any(use.kind == "whole" or not use.is_subject for use in uses)
    return None if is_shared or not others or "" in others else tuple(sorted(others))


def _symbols(flows: Flows, subject: Subject) -> Iterator[tuple[str, Cast]]:
    """Yield the declarations of the struct's objects as objects of other structs."""
    own = {each.name for each in flows.symbols if each.struct.removesuffix(" *") in subject.names}
    for each in flows.symbols:
        struct = each.struct.removesuffix(" *")
        if each.name in own and struct not in subject.names:
            yield each.file, Cast(struct, each.line, False)


class FlowUses(Solver):
    """The uses that the addresses in slots make."""

    def __init__(self, flows: Flows, subject: Subject) -> None:
        super().__init__(flows, subject)
        self._marked = frozenset(self._marked_structs())
        """The structs that pointers to the searched one can lead to, with a mark in their low bits, or whose
        pointers can lead to it."""

    def _marked_structs(self) -> Iterator[str]:
        for one in self.flows.conversions:
            is_to_subject = one.struct in self.subject.names
            for each in self.resolve(one.address):
                if self._has_mark(each) and is_to_subject != self.is_own(each.term):
                    yield each.term.name if is_to_subject else one.struct

    def _has_mark(self, known: KnownAddress) -> bool:
        return known.term.kind == "struct" and 0 < abs(known.offset or 0) <= MOST_TAG

    def _is_marked(self, one: Convert, known: KnownAddress, other: str) -> bool:
        """Return whether an address gets a mark, or had one that told what it leads to: another struct.

        The mark can be put into a variable before: `v += 1`, or `p = (void *)p + 1`. It can be taken away by
        a difference: `p - 1`.
        """
        if other not in self._marked or known.term.number == 1:
            return other in self._marked
        name = known.term.name
        if any(self._has_mark(each) and each.term.name == name for each in self.resolve(one.address)):
            return True
        own = (each for each in self.flows.defined if each.file == one.file)
        spans = [each for each in own if each.line <= one.line <= each.last]
        return any(
            span.line <= each.line <= one.line and any(map(self._has_mark, self.resolve(each.address)))
            for each in self.flows.conversions
            if each.struct == name and each.file == one.file
            for span in spans
        )

    def conversion_uses(self, one: Convert) -> Iterator[OrderUse | Cast]:
        """Yield what a pointer to another struct means: a cast, or a place in the struct."""
        known = self.addresses(one.address)
        structs = {each.term.name for each in known if each.term.kind == "struct"}
        slots = dict.fromkeys(each.term.slot for each in known) if one.struct.endswith(" *") else ()
        for slot in filter(None, slots):
            inner = Convert(Address(slot, 0), one.struct.removesuffix(" *"), one.file, one.line)
            yield from self.conversion_uses(inner)
        if one.struct.endswith(" *") and one.struct not in structs and len(structs) == 1:
            old = next(iter(structs))
            if old.endswith(" *") or old in self.subject.names:
                yield from self._pointer_uses(one, old)
        elif one.struct in self.subject.names:
            is_text = any(each.term.kind == "words" and not each.term.name for each in known)
            if is_text and not self.is_mixed(one.address):
                text = "a text in the source is read as the struct"
                yield OrderUse("scalar-cast", one.file, one.line, text)
            elif not any(self.is_own(each.term) for each in known):
                yield from self._uses_from_members(one, known)
                if len(structs) == 1:
                    yield from self._uses_of_other(one, known)
        elif one.struct not in structs and (len(structs) == 1 or self.is_unreturned(one.address)):
            for each in known:
                yield from self._uses_as(one, each) if len(structs) == 1 or self.is_own(each.term) else ()
        if one.struct not in self.subject.names:
            yield from self._uses_of_larger(one, known)

    def _uses_of_larger(self, one: Convert, known: Addresses) -> Iterator[OrderUse]:
        """Yield what it means that a member's address becomes a pointer to a struct with more bytes."""
        layout = self.layouts.get(one.struct)
        is_member = all(each.term.kind in ("member", "slot") for each in known)
        for each in known if layout is not None else ():
            is_sure = is_member or not each.is_passed
            if each.term.kind == "member" and each.offset is not None and is_sure:
                access = Access(one.address, layout.size if layout else 0, one.file, one.line)
                yield from self._use_beside(access, each.term.name, each.offset)

    def _uses_of_other(self, one: Convert, known: Addresses) -> Iterator[OrderUse | Cast]:
        """Yield what it means that the address of another struct becomes a pointer to the searched one."""
        for each in known:
            layout = self.layouts.get(each.term.name) if each.term.kind == "struct" else None
            if each.term.kind != "struct" or (layout is not None and (each.offset or 0) >= layout.size):
                continue
            if layout is not None and layout.places and each.offset is not None:
                if not layout.is_array and each.offset not in layout.places:
                    text = f"a cast of `{each.term.name}` does not lead to the struct in it"
                    yield OrderUse("struct-cast", one.file, one.line, text)
            elif not self._is_marked(one, each, each.term.name):
                yield Cast(each.term.name, one.line, False)

    def _uses_as(self, one: Convert, known: KnownAddress) -> Iterator[OrderUse | Cast]:
        """Yield what it means that the address of a struct becomes a pointer to another one."""
        if known.term.kind == "struct" and self.overlaps(known, one.struct):
            text = f"a cast of `{known.term.name}`, which embeds the struct, to `{one.struct}`"
            yield OrderUse("struct-cast", one.file, one.line, text)
        if self.is_own(known.term) and known.offset == 0 and not self._is_marked(one, known, one.struct):
            yield Cast(one.struct, one.line, False)
        elif self.is_own(known.term) and self.is_place(known.offset):
            yield self._number_use(one.file, one.line)

    def _pointer_uses(self, one: Convert, old: str) -> Iterator[OrderUse | Cast]:
        """Yield what it means that a pointer to a pointer to a struct becomes one of another struct."""
        names = [name.removesuffix(" *") for name in (one.struct, old)]
        if not any(name.endswith("*") for name in names):
            inner = Address(Term("struct", names[1]), 0)
            yield from self.conversion_uses(Convert(inner, names[0], one.file, one.line))

    def store_uses(self, one: Store) -> Iterator[OrderUse | Cast]:
        """Yield what an address means that is stored behind a pointer to a pointer to a struct."""
        for each in self.addresses(one.target):
            if each.term.kind == "struct" and each.term.name.endswith(" *"):
                struct = each.term.name.removesuffix(" *")
                yield from self.conversion_uses(Convert(one.address, struct, one.file, one.line))

    def comparison_uses(self, one: Comparison) -> Iterator[OrderUse]:
        """Yield the comparisons whose results the places of members decide."""
        if one.kind == "sum":
            yield from self._uses_of_sum(one)
            return
        sides = self.sides(one)
        pairs = [(a, b) for a in sides[0] for b in sides[1]]
        for pair in pairs:
            terms = [each.term for each in pair]
            offsets = [term.name for term in terms if term.kind == "offset"]
            if one.kind != "bytes" and offsets:
                is_number = any(term.kind == "number" for term in terms)
                if is_number or (len(set(offsets)) == 2 and one.kind in ("order", "bound")):
                    text = "the offset of a member is compared, or subtracted from another one"
                    names = tuple(name for name in self.subject.members if name in offsets)
                    yield OrderUse("offset-constant", one.file, one.line, text, names, "offset")
                continue
            if one.kind == "bound" and self._is_bound(*pair):
                continue
            own = [term for term in terms if self.is_own(term) or self.is_container(term)]
            members = [term.name for term in terms if term.kind == "member"]
            if one.kind == "bytes":
                if len(own) == 2:
                    text = "objects are compared byte by byte for their order"
                    yield OrderUse("member-range", one.file, one.line, text)
                continue
            places = [at for name in members if (at := self.subject.member_at.get(name)) is not None]
            if len(own) + len(places) < 2 or not places or len(set(places)) != len(members):
                continue
            names = self.subject.range(places[0], places[-1])
            if one.kind != "equality":
                text = "the addresses of members are compared or subtracted"
                yield OrderUse("member-range", one.file, one.line, text, names, "offset")
            elif own:
                text = "a member's address is compared with that of the struct, which is that of the first"
                yield self._first_use(one.file, one.line, text)
            elif any(each.term in self._steps for each in (one.left, one.right)) or any(
                each.offset for each in pair
            ):
                text = "a pointer moves from one member to another"
                yield OrderUse("member-range", one.file, one.line, text, (), "order")

    def _is_bound(self, left: KnownAddress, right: KnownAddress) -> bool:
        """Return whether it is the same for each member whether `left >= right` for the object around it."""
        size = (self.subject.struct.bit_size or 0) // 8
        is_start = self.is_own(right.term) and right.offset == 0
        is_end = any(self.is_own(each.term) and (each.offset or 0) >= size for each in (left, right))
        return is_start or is_end

    def _uses_of_sum(self, one: Comparison) -> Iterator[OrderUse]:
        """Yield what it means that a member's offset is added to what is no address of the struct."""
        known = [each for each in self.resolve(one.left) if each.term.kind != "slot"]
        bases = [inner for each in known for inner in self.inner_addresses(each) if inner.offset == 0]
        is_known = all(each.term.kind == "member" or self.is_container(each.term) for each in known)
        if known and is_known and not bases:
            text = "the offset of a member is added to an address that is not the struct's"
            yield OrderUse("offset-constant", one.file, one.line, text)

    def assembly_uses(self, one: Assembly) -> Iterator[OrderUse]:
        """Yield the assembly that gets the address of an object."""
        known = self.addresses(one.address)
        if any(self.is_own(each.term) for each in known):
            text = "assembly gets the address of an object"
            yield OrderUse("asm-offset", one.file, one.line, text)
        elif one.is_displaced and any(each.term.kind == "member" for each in known):
            text = "assembly adds a number to the address of a member"
            yield OrderUse("member-index", one.file, one.line, text, (), "order")
        names = {each.term.name for each in known if each.term.kind == "offset"}
        members = tuple(name for name in self.subject.members if name in names)
        if members:
            text = "assembly gets the offset of a member"
            yield OrderUse("asm-offset", one.file, one.line, text, members, "offset")

    def step_uses(self) -> Iterator[tuple[str, OrderUse]]:
        """Yield the sums of an object's address and a number that the text states somewhere."""
        numbers: dict[Slot, set[str]] = {}
        for move in self.flows.numbers:
            numbers.setdefault(move.slot, set()).add(move.address.term.kind)
        for step in self.flows.steps:
            kinds = numbers.get(step.slot, set())
            if "number" not in kinds or "offset" in kinds:
                continue
            is_own = any(self.is_own(each.term) for each in self.resolve(step.address))
            if is_own and not self.is_mixed(step.address):
                text = "a number leads to a place in the struct"
                yield step.file, OrderUse("offset-constant", step.file, step.line, text)

    def words_uses(self) -> Iterator[tuple[str, OrderUse | Cast]]:
        """Yield the uses of bytes from elsewhere as the struct."""
        starts: dict[Term, set[int]] = {}
        others: dict[Term, list[Convert]] = {}
        for one in self.conversions:
            is_subject = one.struct in self.subject.names and not self.is_mixed(one.address)
            for each in self.resolve(one.address) if is_subject else ():
                if self._is_memory(each) and each.offset is not None:
                    starts.setdefault(each.term, set()).add(each.offset)
        self._add_origins(starts)
        for one in self._by_copies:
            for each in self.resolve(one.address) if one.struct not in self.subject.names else ():
                if each.term.kind == "words" and each.offset in starts.get(each.term, ()):
                    others.setdefault(each.term, []).append(one)
        yield from self._conversions_of_words(starts)
        for term in sorted(starts.keys() & others.keys()):
            for one in others[term]:
                text = f"the same bytes are read or written as `{one.struct}`, and as the struct"
                yield one.file, OrderUse("struct-cast", one.file, one.line, text)
        if starts:
            yield from self._uses_of_words(starts)

    def _is_memory(self, known: KnownAddress) -> bool:
        """Return whether an address is that of bytes of no type, also behind a struct."""
        layout = self.layouts.get(known.term.name) if known.term.kind == "struct" else None
        is_behind = layout is not None and known.offset is not None and known.offset >= layout.size
        return known.term.kind == "words" or (is_behind and not self.is_own(known.term))

    def _add_origins(self, starts: dict[Term, set[int]]) -> None:
        """Add where memory is read as the struct in the functions that allocate it."""
        for term, offsets in tuple(starts.items()):
            for origin, shift in self.origins(term):
                if shift is not None:
                    starts.setdefault(origin, set()).update(shift + each for each in offsets)

    def _conversions_of_words(self, starts: Mapping[Term, set[int]]) -> Iterator[tuple[str, Cast]]:
        """Yield the conversions to other structs of memory that is the searched one, too."""
        for one in self.flows.conversions if starts else ():
            if one.struct in self.subject.names or one.struct.endswith("*"):
                continue
            known = self.addresses(one.address)
            words = {each.term for each in known if each.term.kind != "slot"}
            if len(words) == 1 and any(each.offset in starts.get(each.term, ()) for each in known):
                yield one.file, Cast(one.struct, one.line, False)

    def _uses_of_words(self, starts: Mapping[Term, set[int]]) -> Iterator[tuple[str, OrderUse]]:
        """Yield what fills bytes that are read as the struct from some offsets on, or takes single ones."""
        size = (self.subject.struct.bit_size or 0) // 8
        for fill in self.flows.fills:
            own = list(self.resolve(fill.address))
            if any(each.term in starts and each.offset is not None for each in own):
                text = f"{fill.text}, which are read as the struct"
                yield fill.file, OrderUse("raw-transfer", fill.file, fill.line, text)
        filled = {each.term for fill in self.flows.fills for each in self.resolve(fill.address)}
        for copy in self.flows.copies:
            if filled.isdisjoint(each.term for each in self.resolve(copy.source)):
                continue
            if any(each.term in starts and each.offset is not None for each in self.resolve(copy.target)):
                text = "constant bytes are copied to what is read as the struct"
                yield copy.file, OrderUse("raw-transfer", copy.file, copy.line, text)
        for copy in self.flows.copies:
            for each in (*self.resolve(copy.target), *self.resolve(copy.source)):
                if any(0 < (each.offset or 0) - start < size for start in starts.get(each.term, ())):
                    text = "bytes are copied to or from a place by its number in what is read as the struct"
                    yield copy.file, OrderUse("scalar-cast", copy.file, copy.line, text)
        for access in self.flows.accesses:
            for each in self.resolve(access.address) if access.size else ():
                places = starts.get(each.term, set())
                is_known = each.offset is not None
                if (access.is_computed and places and not is_known) or any(
                    is_known and start <= (each.offset or 0) < start + size for start in places
                ):
                    text = "bytes or words are read or written by their place, and as the struct"
                    yield access.file, OrderUse("scalar-cast", access.file, access.line, text)

    @cached_property
    def _unseen_names(self) -> frozenset[str]:
        """The names of what functions without a body get."""
        defined = {each.function for each in self.flows.defined}
        calls = (each for each in self.flows.calls if each.function not in defined)
        return frozenset(each.term.name for call in calls for each in self.resolve(call.address))

    def is_opaque(self, struct: str) -> bool:
        """Return whether no unit defines a struct, and no function without a body gets one."""
        layout = self.layouts.get(struct)
        if layout is None or layout.size >= 0:
            return False
        return struct not in self._unseen_names

    def unseen_calls(self) -> list[str]:
        """Return the functions without a body that get the address of the struct, each with a place."""
        functions: dict[str, str] = {}
        defined = {each.function for each in self.flows.defined}
        for call in self.flows.calls:
            if call.function in _HARMLESS or call.function in defined:
                continue
            if any(self.is_own(each.term) for each in self.resolve(call.address)):
                functions.setdefault(call.function, flow_texts.place_of_call(call))
        return list(dict.fromkeys((*functions.values(), *flow_texts.offset_calls(self))))

    def _uses_from_members(self, one: Convert, known: Addresses) -> Iterator[OrderUse]:
        """Yield how a member's address becomes that of the struct."""
        slot = one.address.term
        steps = {one.address.offset, self._steps.get(slot) if isinstance(slot, Slot) else None}
        if not known and any(map(self.is_place, steps)):
            text = "a number of bytes leads from a member to the struct"
            yield OrderUse("offset-constant", one.file, one.line, text)
        places = [each for each in known if each.term.kind != "slot"]
        is_whole = all(each.term.kind == "member" and each.offset == 0 for each in places)
        for each in known:
            place = self.subject.member_at.get(each.term.name) if each.term.kind == "member" else None
            if place == 0 and each.offset == 0:
                yield self._first_use(one.file, one.line, "a cast goes to the struct from its first member")
            elif place is not None and (self.is_place(each.offset) or is_whole):
                text = "a number of bytes leads from a member to the struct"
                yield OrderUse("offset-constant", one.file, one.line, text)

    def _number_use(self, file: str, line: int) -> OrderUse:
        text = "a number of bytes leads to a place in the struct"
        return OrderUse("offset-constant", file, line, text)

    def _first_use(self, file: str, line: int, text: str) -> OrderUse:
        first = self.subject.members[:1]
        return OrderUse("first-member-cast", file, line, f"{text}, `{first[0]}`", first, "first")

    def access_uses(self, one: Access) -> Iterator[OrderUse]:
        """Yield the reads and writes of a struct's bytes or words, and of what is beside a member."""
        known = self.addresses(one.address)
        if one.size and len({each.term.name for each in known if each.term.kind == "struct"}) > 1:
            return
        for each in known:
            for own in self.inner_addresses(each) if one.size else ():
                yield from self._word_use(one, own)
            if self.is_own(each.term):
                yield from self._word_use(one, each)
            elif each.term.kind == "member" and each.offset is not None:
                yield from self._use_beside(one, each.term.name, each.offset)
            elif each.term.kind == "member" and not each.is_passed:
                yield from self._use_around(one, each.term.name)

    def _word_use(self, one: Access, known: KnownAddress) -> Iterator[OrderUse]:
        size, offset = (self.subject.struct.bit_size or 0) // 8, known.offset
        if offset is None:
            is_hash = known.is_passed and not one.is_copied
            if not known.is_passed or is_hash:
                text = "single bytes or words of the struct are read or written"
                yield OrderUse("scalar-cast", one.file, one.line, text)
        elif not one.size:
            if self.is_place(offset) and offset > 0:
                yield self._number_use(one.file, one.line)
        elif offset == 0 and self.subject.byte_size(0) == one.size:
            text = "the first bytes of the struct are read or written as its first member"
            yield self._first_use(one.file, one.line, text)
        elif 0 <= offset < size:
            yield self._number_use(one.file, one.line)

    def _use_beside(self, one: Access, member: str, offset: int) -> Iterator[OrderUse]:
        place = self.subject.member_at.get(member)
        size = None if place is None else self.subject.byte_size(place)
        if place is None or not size or self.subject.struct.fields[place].is_flexible:
            return
        if not 0 <= offset <= size - one.size:
            side = "before" if offset < 0 else "behind"
            text = f"{abs(offset)} bytes {side} the start of `{member}`, another member is read or written"
            yield OrderUse("member-index", one.file, one.line, text, (), "order")

    def transfer_uses(self, one: Call) -> Iterator[OrderUse]:
        """Yield the calls that pass objects, or what embeds them, to other programs and files."""
        for each in self.addresses(one.address) if one.function in _TRANSFERS else ():
            if self.is_container(each.term) or (self.is_own(each.term) and not each.offset):
                text = f"{one.function}() passes the bytes of objects to other programs, files or users"
                yield OrderUse("raw-transfer", one.file, one.line, text)

    def given_uses(self, one: Given) -> Iterator[OrderUse]:
        """Yield the calls that give a member's address with a number of scalars that is larger."""
        for size, is_index in self._counts.get((one.pointer, one.parameter), ()):
            members = [each for each in self.resolve(one.address) if each.term.kind == "member"]
            if one.number is None:
                access = Access(one.address, size, one.file, one.line)
                for each in members if is_index else ():
                    yield from self._use_around(access, each.term.name)
                continue
            whole = (self.subject.struct.bit_size or 0) // 8
            if is_index and whole and one.number * size % whole == 0:
                continue  # the same member of another object
            access = Access(one.address, (one.number + is_index) * size, one.file, one.line)
            for each in members if access.size > 0 else ():
                if each.offset is not None:
                    yield from self._use_beside(access, each.term.name, each.offset)

    def _use_around(self, one: Access, member: str) -> Iterator[OrderUse]:
        """Yield the use of a pointer that moves by a number which is not known, and began at a scalar."""
        place = self.subject.member_at.get(member)
        field = None if place is None else self.subject.struct.fields[place]
        if field is None or place is None or field.dims or field.aggregate is not None:
            return
        if one.size and one.size == self.subject.byte_size(place):
            text = f"a pointer to `{member}` moves on to other members"
            yield OrderUse("member-index", one.file, one.line, text, (), "order")

    def pass_uses(self, one: Pass) -> Iterator[OrderUse]:
        """Yield the calls that get a member's address and a size that is larger than the member."""
        for each in self.addresses(one.address):
            if each.offset is None or each.offset < 0:
                continue
            whole = (self.subject.struct.bit_size or 0) // 8
            end = one.number + each.offset
            is_part = 0 < end < whole or (end == whole and one.origin == "number")
            if self.is_own(each.term) and one.is_size and is_part and not self.is_mixed(one.address):
                text = f"a call gets the address of the struct, and {one.number} bytes of it"
                yield OrderUse("member-range", one.file, one.line, text)
            place = self.subject.member_at.get(each.term.name) if each.term.kind == "member" else None
            size = None if place is None else self.subject.byte_size(place)
            if place is None or not size:
                continue
            fields = self.subject.struct.fields
            end = fields[place].bit_offset + 8 * (each.offset + one.number)
            is_beyond = end > (self.subject.struct.bit_size or 0) and not one.is_size
            if one.number <= size - each.offset or is_beyond or fields[place].is_flexible:
                continue
            last = max(at for at in range(place, len(fields)) if fields[at].bit_offset < end)
            if last > place or one.is_size:
                end_name = self.subject.members[last]
                text = f"a call gets the address of `{each.term.name}` and a size that reaches `{end_name}`"
                members = self.subject.range(place, last)
                if last == place or end > (self.subject.struct.bit_size or 0):
                    yield OrderUse("member-range", one.file, one.line, text)
                    continue
                is_rest = one.origin == "name" and last == len(fields) - 1
                yield OrderUse(
                    "member-range", one.file, one.line, text, members, "range",
                    "end" if is_rest else "anywhere", any_order=one.origin == "name",
                )  # fmt: skip
