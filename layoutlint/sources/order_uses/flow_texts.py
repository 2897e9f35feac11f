"""What depends on the bytes around a member: texts without an end, sizes of rests, bits of addresses."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.model.flows import Address, Call, Placed, Slot, Term, Text
from layoutlint.model.structs import Field
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.flow_solver import KnownAddress, Solver

_NO_SINKS = frozenset((
    "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memset", "memcpy", "memmove", "memcmp",
    "bcmp", "bzero", "bcopy", "mempcpy", "memchr", "free",
))  # fmt: skip
"""Functions to which an offset is a size, for which there are other searches."""
_WRITERS = frozenset((
    "write", "fwrite", "send", "sendto", "printf", "fprintf", "sprintf", "snprintf", "dprintf", "vprintf",
    "vfprintf", "vsnprintf", "syslog", "printk", "putchar", "putc", "fputc", "exit", "_exit",
))  # fmt: skip
"""Functions that show numbers, or bytes behind an address, to users or other programs."""


def uses(solver: Solver) -> Iterator[tuple[str, OrderUse]]:
    """Yield the file of each use, and the use."""
    yield from _text_uses(solver)
    yield from _placed_uses(solver)
    yield from _offset_uses(solver)
    yield from _copy_uses(solver)


def _copy_uses(solver: Solver) -> Iterator[tuple[str, OrderUse]]:
    """Yield the copies from or to a place that a pointer reached by unknown steps from a scalar member."""
    for copy in solver.flows.copies:
        for address in (copy.target, copy.source):
            for each, field in _members(solver, address):
                is_moved = each.offset is None and not each.is_passed
                if is_moved and not field.dims and field.aggregate is None:
                    text = f"a pointer to `{each.term.name}` moves on to other members"
                    yield copy.file, OrderUse("member-index", copy.file, copy.line, text, (), "order")


def _members(solver: Solver, address: Address) -> Iterator[tuple[KnownAddress, Field]]:
    """Yield the members at an address, with their fields."""
    for each in solver.addresses(address):
        place = solver.subject.member_at.get(each.term.name) if each.term.kind == "member" else None
        if place is not None:
            yield each, solver.subject.struct.fields[place]


def _text_uses(solver: Solver) -> Iterator[tuple[str, OrderUse]]:
    """Yield the texts that are read from the struct, or from a member that can have no end in it."""
    closed: set[str] = set()
    opened: set[str] = set()
    for text in solver.flows.texts:
        is_end = text.kind in ("open", "closed")
        for each, field in _members(solver, text.address) if is_end else ():
            if text.kind == "closed":
                closed.add(each.term.name)
            elif text.size and text.size >= (field.bit_size or 0) // 8 - (each.offset or 0):
                opened.add(each.term.name)
    yield from _sum_uses(solver)
    for text in solver.flows.texts:
        if text.kind == "read":
            yield from ((text.file, use) for use in _read_uses(solver, text, opened - closed))


def _sum_uses(solver: Solver) -> Iterator[tuple[str, OrderUse]]:
    """Yield the texts of the source that one function puts behind one another, and are too long together."""
    copied: dict[tuple[str, str, int], int] = {}
    added: dict[tuple[str, str, int], int] = {}
    for text in solver.flows.texts:
        if text.kind not in ("copied", "added"):
            continue
        functions = (own.line for own in solver.flows.defined if own.file == text.file)
        function = max((line for line in functions if line <= text.line), default=0)
        for each, field in _members(solver, text.address):
            key = each.term.name, text.file, function
            if text.kind == "copied":
                copied[key] = max(copied.get(key, 0), text.size)
                continue
            added[key] = added.get(key, 0) + text.size
            if copied.get(key, 0) + added[key] >= (field.bit_size or 0) // 8:
                reason = f"texts that are put behind one another are too long for `{each.term.name}`"
                yield text.file, OrderUse("member-range", text.file, text.line, reason)


def _read_uses(solver: Solver, text: Text, opened: set[str]) -> Iterator[OrderUse]:
    for each in solver.addresses(text.address):
        if solver.is_own(each.term) and each.offset is not None:
            reason = "a function reads the bytes of an object as a text"
            yield OrderUse("scalar-cast", text.file, text.line, reason)
    for each, field in _members(solver, text.address):
        if each.term.name in opened or not (field.dims or field.aggregate or field.is_bitfield):
            reason = f"`{each.term.name}` is read as a text, and can have no end in it"
            yield OrderUse("member-index", text.file, text.line, reason, (), "order")


def _placed_uses(solver: Solver) -> Iterator[tuple[str, OrderUse]]:
    for one in solver.flows.placed:
        if one.kind == "size":
            text = "the size of the struct is compared with a number"
            yield one.file, OrderUse("size-assertion", one.file, one.line, text, (), "size")
        for each, field in _members(solver, one.address):
            if (use := _placed_use(solver, one, each, field)) is not None:
                yield one.file, use


def _placed_use(solver: Solver, one: Placed, known: KnownAddress, field: Field) -> OrderUse | None:
    """Return what it means that a number is made of where a member is; None for a number that stays."""
    name, members = known.term.name, solver.subject.members
    if one.kind == "null":
        text = f"whether the address of `{name}` is 0, as it is for the first member behind a null pointer"
        others = tuple(member for member in members if member != name)
        is_first = bool(members) and members[0] == name
        may_be_first = () if is_first else others
        return OrderUse(
            "first-member-cast", one.file, one.line, text, members[:1], "first", may_be_first=may_be_first
        )
    if known.is_passed:
        return None
    if one.kind == "rest":
        text = f"a size is that of all bytes from `{name}` on"
        return OrderUse("member-range", one.file, one.line, text, (), "order")
    is_scalar = not field.dims and field.aggregate is None
    if one.number <= (field.align or (is_scalar and (field.bit_size or 0) // 8) or 1):
        return None
    text = f"the low bits of the address of `{name}` are used"
    return OrderUse("offset-constant", one.file, one.line, text, (), "order")


def _offset_uses(solver: Solver) -> Iterator[tuple[str, OrderUse]]:
    """Yield the offsets of members that programs show."""
    for call in solver.flows.calls:
        if call.function not in _WRITERS:
            continue
        names = {name for each in solver.resolve(call.address) for name in _offsets(solver, each)}
        for name in sorted(names):
            text = f"{call.function}() gets the offset of `{name}`"
            yield call.file, OrderUse("offset-constant", call.file, call.line, text, (name,), "offset")


def offset_calls(solver: Solver) -> Iterator[str]:
    """Yield the functions without a body that get offsets of members, each with a place."""
    found: dict[Term, bool] = {}
    for call in solver.flows.calls:
        if call.function in _WRITERS or call.function in _NO_SINKS:
            continue
        for each in solver.resolve(call.address):
            if each.term not in found:
                found[each.term] = any(_offsets(solver, each))
            if found[each.term]:
                yield place_of_call(call)
                break


def place_of_call(call: Call) -> str:
    """Return the function that is called, and the name and the line of the file."""
    return f"{call.function}() in {call.file.rpartition('/')[2]}:{call.line}"


def _offsets(solver: Solver, known: KnownAddress) -> Iterator[str]:
    """Yield the members whose offset an address is, or is in the variable at it."""
    own = known.term.name if known.term.kind == "offset" else ""
    if own and own in solver.subject.member_at:
        yield solver.subject.members[solver.subject.member_at[own]]
    slot: Slot | None = known.term.slot
    if known.term.kind == "words":  # an array: its elements are in one slot
        slot = Slot("variable", known.term.name, known.term.number)
    for each in solver.resolve(Address(slot, 0)) if slot is not None else ():
        if isinstance(each.term, Term) and each.term.kind == "offset":
            yield from _offsets(solver, each)
