"""What each fact about an address means for the order of members: every fact with addresses on either side of each bound.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them. Cases with the same result are named together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from textwrap import fill

import pytest

from layoutlint import api
from layoutlint.model.flows import (
    Access,
    Address,
    Assembly,
    Call,
    Comparison,
    Convert,
    Copy,
    Count,
    Defined,
    Fill,
    Flows,
    Given,
    Layout,
    Made,
    Move,
    Pass,
    Placed,
    Slot,
    Step,
    Store,
    Symbol,
    Term,
    Text,
    UnionUse,
    Values,
)
from layoutlint.model.record import replace
from layoutlint.sources.order_uses import flow_uses
from layoutlint.sources.order_uses.casts import Cast
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.subject import Subject
from tests.harness.command import ROOT
from tests.harness.whole import inline

SIZE = 136
"""The bytes of the struct."""
PLACE = "f.c", 7
OWN, H, OUTER, SHELF, FAR = (Term("struct", name) for name in ("s", "h", "outer", "shelf", "far"))
A, B, C, E, T, MANY, BIT, N, GONE = (Term("member", name) for name in ("a", "b", "c", "e", "t", "many", "bit", "n", "gone"))
BYTES, TEXT, HEAP = Term("words", "bytes"), Term("words", ""), Term("words", "malloc at f.c:3")
V, W, P, BOTH, LOOP, SUM, POINTER, ARRAY, OFFSET, KEPT, RESULT, EMPTY = (
    Slot(kind, name, number)
    for kind, name, number in (
        ("variable", "v", 2), ("variable", "w", 2), ("parameter", "g", 0), ("variable", "both", 2), ("variable", "loop", 2), ("variable", "sum", 2),
        ("variable", "pointer", 2), ("variable", "array", 2), ("variable", "offset", 2), ("variable", "kept", 0), ("result", "make", 0),
        ("variable", "empty", 2),
    )
)  # fmt: skip
MOVES = (
    Move(V, Address(OWN, 0)), Move(W, Address(B, 0)), Move(P, Address(B, 0)), Move(P, Address(V, 8)), Move(BOTH, Address(OWN, 0)), Move(BOTH, Address(H, 0)),
    Move(LOOP, Address(C, 0)), Move(LOOP, Address(LOOP, None)), Move(SUM, Address(B, 0)), Move(SUM, Address(SUM, 8), True), Move(SUM, Address(SUM, -16), True),
    Move(POINTER, Address(V.address, 0)), Move(ARRAY, Address(Term("words", "array", 2), 0)), Move(OFFSET, Address(Term("offset", "b"), 0)),
    Move(RESULT, Address(HEAP, 4)), Move(KEPT, Address(BYTES, 0)),
)  # fmt: skip
LAYOUTS = [Layout("s", SIZE, (), True), Layout("h", 24, ()), Layout("outer", 152, (8,)), Layout("shelf", 296, (0,), True), Layout("far", 200, ())]
MADE = [Made(Term("words", "call at f.c:9"), RESULT), Made(Term("words", "other at f.c:9"), Slot("result", "unknown", 0))]
CALLED, UNMADE = (made.term for made in MADE)


def places(term: Term | Slot, *offsets: int | None) -> list[Address]:
    return [Address(term, offset) for offset in offsets]


OWN_PLACES = places(OWN, -8, -3, 0, 1, 3, 4, 8, SIZE - 1, SIZE, None)
MEMBERS = [
    *places(A, 0, 1), *places(B, -8, -4, -1, 0, 1, 4, 7, 8, 16, None), *places(C, 0, None), *places(E, 0, 4, 11, 12, None), *places(T, 0, 7, 8, None),
    *places(MANY, 0, 8), *places(BIT, 0), *places(N, 0), *places(GONE, 0, None),
]  # fmt: skip
CONTAINERS = [*places(OUTER, 0, 7, 8, 9, 16, 143, 144, 152, None), *places(SHELF, 0, 8, 136, 271, 272, 296, None)]
OTHERS = [*places(H, 0, 8, 23, 24, None), *places(FAR, 0, 8), *places(Term("struct", "s *"), 0), *places(Term("struct", "h *"), 0), *places(Term("struct", "s * *"), 0)]
LOOSE = [
    *places(BYTES, 0, 8, None), *places(TEXT, 0), *places(HEAP, 0, 4), *places(CALLED, 0, 4), *places(UNMADE, 0),
    *(Address(Term("offset", name), 0) for name in ("a", "b", "n", "gone")), *places(Term("number", "", 0), 0), *places(V.address, 0), *places(ARRAY.address, 0),
    *places(Term("words", "offset", 2), 0),
]  # fmt: skip
SLOTS = [*places(V, 0, 8, None), *places(W, 0, 8, None), *places(P, 0, 8), *places(BOTH, 0), *places(LOOP, 0), *places(SUM, 0), *places(POINTER, 0),
         *places(POINTER.behind, 0, 8), *places(OFFSET, 0), *places(KEPT, 0), *places(RESULT, 0), *places(EMPTY, 0, 3, 4, 8, None)]  # fmt: skip
EVERY = [*OWN_PLACES, *MEMBERS, *CONTAINERS, *OTHERS, *LOOSE, *SLOTS]
FEW = [*places(OWN, 0, 8, None, SIZE), *places(A, 0), *places(B, 0, 8, None), *places(C, 0), *places(E, 0), *places(OUTER, 0, 8), *places(H, 0), *places(BYTES, 0, 8),
       Address(Term("offset", "b"), 0), Address(Term("offset", "e"), 0), *places(Term("number", "", 0), 0), *places(W, 0), *places(LOOP, 0), *places(SUM, 0), *places(EMPTY, 0)]  # fmt: skip
STRUCTS = ("s", "h", "outer", "shelf", "far", "unknown", "s *", "h *", "s * *")


def conversions() -> Iterator[tuple[object, ...]]:
    yield from ((Convert(each, struct, *PLACE),) for each, struct in product(EVERY, STRUCTS))


def stores() -> Iterator[tuple[object, ...]]:
    targets = [*places(Term("struct", "s *"), 0), *places(Term("struct", "h *"), 8), *places(OWN, 0), *places(POINTER, 0), *places(B, 0)]
    yield from ((Store(target, each, *PLACE),) for target, each in product(targets, FEW))


def copies() -> Iterator[tuple[object, ...]]:
    yield from ((Copy(target, source, *PLACE),) for target, source in product(FEW, FEW))


def accesses() -> Iterator[tuple[object, ...]]:
    manners = ((False, False), (True, False), (False, True))
    yield from ((Access(each, size, *PLACE, *manner),) for each, size, manner in product(EVERY, (0, 1, 8, 9), manners))


def passes() -> Iterator[tuple[object, ...]]:
    chosen = [*OWN_PLACES, *MEMBERS, *places(W, 0), *places(OUTER, 8)]
    for each, number, is_size in product(chosen, (0, 1, 8, 9, 17, SIZE - 8, SIZE - 7, SIZE - 1, SIZE, SIZE + 1), (True, False)):
        for origin in ("number", "size", "name"):
            yield (Pass(each, number, is_size, *PLACE, origin),)


def comparisons() -> Iterator[tuple[object, ...]]:
    for left, right in product(FEW, FEW):
        for kind in ("equality", "order", "bound", "bytes", "sum"):
            yield (Comparison(left, right, kind, *PLACE),)


def fills_and_assembly() -> Iterator[tuple[object, ...]]:
    yield from ((Fill(each, "a file fills them", *PLACE),) for each in EVERY)
    yield from ((Assembly(each, *PLACE, is_displaced),) for each, is_displaced in product(EVERY, (False, True)))
    yield from ((Call(name, each, *PLACE),) for each, name in product(EVERY, ("write", "printf", "memcpy")))


def calls() -> Iterator[tuple[object, ...]]:
    for each in (*FEW, *places(V.address, 0), *places(ARRAY.address, 0), *places(Term("words", "offset", 2), 0), *places(OFFSET, 0), *places(BOTH, 0)):
        yield from ((Call(name, each, *PLACE), Call("write", each, "f.c", 8)) for name in ("free", "malloc", "printf", "other"))
        yield Call("known", each, *PLACE), Defined("known", "f.c", 1, 3)


def bytes_as_the_struct() -> Iterator[tuple[object, ...]]:
    """What else happens to bytes that become the struct."""
    starts = {
        Address(BYTES, 0): places(BYTES, -1, 0, 1, 8, SIZE - 1, SIZE, None), Address(BYTES, 8): places(BYTES, 7, 8, 9, 8 + SIZE - 1, 8 + SIZE),
        Address(BYTES, None): places(BYTES, 0, None), Address(H, 24): places(H, 23, 24, 25, 24 + SIZE), Address(H, 23): places(H, 24),
        Address(CALLED, 4): places(HEAP, 4, 8, 9), Address(KEPT, 0): [*places(BYTES, 0), *places(KEPT, 0, 8)],
    }  # fmt: skip
    for start, others in starts.items():
        own = Convert(start, "s", "f.c", 3)
        for each in (*others, *places(V, 0)):
            yield own, Fill(each, "a file fills them", *PLACE)
            yield own, Convert(each, "h", *PLACE), Convert(each, "h *", "f.c", 8)
            yield own, Copy(each, Address(H, 0), *PLACE)
            yield own, Copy(Address(BOTH, 0), each, *PLACE)
            yield own, Copy(each, Address(TEXT, 0), *PLACE), Fill(Address(TEXT, 0), "a text", "f.c", 4)
            yield from ((own, Access(each, size, *PLACE, False, is_computed)) for size, is_computed in ((0, True), (8, False), (8, True)))


def texts() -> Iterator[tuple[object, ...]]:
    chosen = [*places(T, 0, 1, None), *places(E, 0), *places(A, 0), *places(BIT, 0), *places(MANY, 0), *places(OWN, 0), *places(GONE, 0)]
    for each, size in product(chosen, (0, 7, 8, 12)):
        read = Text(Address(each.term, 0), "read", 0, *PLACE)
        yield Text(each, "open", size, "f.c", 3), read
        yield Text(each, "open", size, "f.c", 3), Text(each, "closed", 0, "f.c", 4), read
    functions = Defined("f", "f.c", 2, 5), Defined("g", "f.c", 6, 9)
    for each, size, first, kind in product(chosen[:5], (1, 4, 8), (3, 4, 7, 8), ("copied", "added")):
        yield Text(each, kind, first, *PLACE), Text(each, "added", size, *PLACE), *functions
    for first, line in product((4, 5), (5, 6, 8)):
        yield Text(Address(T, 0), "copied", first, "f.c", line), Text(Address(T, 0), "added", 4, *PLACE), *functions
        yield Text(Address(T, 0), "copied", first, "f.c", line), Text(Address(T, 0), "copied", 2, "f.c", line), Text(Address(T, 0), "added", 4, "g.c", 7), *functions


def reads() -> Iterator[tuple[object, ...]]:
    yield from ((Text(each, "read", 0, *PLACE),) for each in EVERY)


def numbers_of_places() -> Iterator[tuple[object, ...]]:
    for each in (*OWN_PLACES, *MEMBERS, *SLOTS):
        yield from ((Placed(each, kind, 0, *PLACE),) for kind in ("rest", "null", "size"))
        yield from ((Placed(each, "bits", number, *PLACE),) for number in (0, 1, 2, 4, 5, 8, 9, 16))


def steps() -> Iterator[tuple[object, ...]]:
    sorts = ((), ("number",), ("offset",), ("number", "offset"))
    for line, (each, terms) in enumerate(product((*OWN_PLACES, *places(B, 0), *places(V, 0), *places(BOTH, 0), *places(H, 0)), sorts)):
        number = Slot("variable", "k", line)
        yield (Step(each, number, *PLACE), *(Move(number, Address(Term(term, ""), 0)) for term in terms))


def counts() -> Iterator[tuple[object, ...]]:
    chosen = product((*places(A, 0), *places(B, -8, 0, None), *places(E, 0, None), *places(BIT, 0), *places(OWN, 0), *places(LOOP, 0)), (1, 8, 0), (False, True), (None, -1, 0, 1, 2, 8, 17, SIZE))
    for line, (each, size, is_index, number) in enumerate(chosen):
        k = Slot("parameter", f"g{line}", 1)
        yield Given(P, k, each, number, *PLACE), Count(Address(P, 0), k, size, is_index)
    for number, each in enumerate((Address(P, 8), Address(B, 0))):
        k = Slot("parameter", f"h{number}", 1)
        yield Given(P, k, Address(B, 0), 4, *PLACE), Count(each, k, 8)


def values() -> Iterator[tuple[object, ...]]:
    yield from ((Values(first, last, *PLACE),) for first, last in product(("a", "b", "other", "n", "gone"), repeat=2))


def symbols() -> Iterator[tuple[object, ...]]:
    for one, other in product(("s", "s_t", "h", "s *", "h *"), repeat=2):
        yield Symbol("object", one, "f.c", 3), Symbol("object", other, *PLACE), Symbol("section .data", one, "g.c", 1)


def slots() -> Iterator[tuple[object, ...]]:
    """What slots get by pointers to them, and by copies of their bytes."""
    for target in (POINTER, Address(V.address, 0), Address(W.address, 0), Address(ARRAY.address, 0), Address(V.address, 8)):
        where = Address(target, 0) if isinstance(target, Slot) else target
        for source in (*places(H, 0), *places(C, 8), *places(W.address, 0), *places(W, 0), *places(BOTH.address, 0)):
            for read in (*places(V, 0), *places(W, 8), *places(ARRAY, 0), *places(POINTER.behind, 8)):
                yield Store(where, source, "f.c", 3), Access(read, 8, *PLACE)
                yield Copy(where, source, "f.c", 3), Access(read, 8, *PLACE)


def unions() -> Iterator[tuple[object, ...]]:
    sorts = [(member, member == "s", kind) for member in ("s", "h", "") for kind in ("read", "write", "address", "whole", "beside")]
    for line, (one, other) in enumerate(product(sorts, sorts)):
        yield UnionUse(f"f.c:{line}", *one, *PLACE), UnionUse(f"f.c:{line}", *other, "f.c", 8)  # type: ignore[arg-type]


TOGETHER = (accesses, comparisons, copies, counts, fills_and_assembly, numbers_of_places, passes, reads, steps, values)
"""Tables whose cases do not change one another: they are judged at once, each on a line of its own."""
ALONE = (bytes_as_the_struct, calls, conversions, slots, stores, symbols, texts, unions)
LISTS = {
    Convert: "conversions", Store: "stores", Copy: "copies", Access: "accesses", Pass: "passes", Comparison: "comparisons", Fill: "fills", Text: "texts",
    Placed: "placed", Values: "values", Symbol: "symbols", Call: "calls", Assembly: "assembly", Step: "steps", Move: "numbers", Count: "counts",
    Given: "given", UnionUse: "unions", Defined: "defined",
}  # fmt: skip


@pytest.fixture(scope="module")
def subject() -> Subject:
    (layout,) = (each for each in api.read(str(ROOT / "fixtures/bodies/subject.h")) if each.struct.name == "s")
    assert layout.struct.bit_size == 8 * SIZE
    return Subject(layout.struct, ("s_t",))


def flows_of(facts: Iterable[object]) -> Flows:
    flows = Flows(moves=list(MOVES), layouts=list(LAYOUTS), made=list(MADE))
    for fact in facts:
        getattr(flows, LISTS[type(fact)]).append(fact)
    return flows


def show(use: OrderUse | Cast) -> str:
    return inline(replace(use, line=None)) if isinstance(use, OrderUse) else str(use._replace(line=0))


def results(flows: Flows, subject: Subject) -> str:
    """Return all that follows from some facts."""
    solver = flow_uses.FlowUses(flows, subject)
    shown = [f"{file} {use.line} {show(use)}" for file, use in flow_uses.uses(solver)]
    shown += flow_uses.limits(solver) if flows.calls else ()
    functions, objects = flow_uses.names_with_objects(solver) if flows.calls or flows.symbols else ((), ())
    names = [f"functions {functions}"] * bool(functions) + [f"objects {objects}"] * bool(objects)
    others = [f"others {flow_uses.other_members(flows)}"] * bool(flows.unions)
    return "".join(f"{line}\n" for line in (*shown, *names, *others))


def results_of_lines(cases: Sequence[tuple[object, ...]], subject: Subject) -> list[str]:
    """Return what follows from each case, of those that are judged together."""
    facts = [(case[0]._replace(line=line), *case[1:]) for line, case in enumerate(cases)]  # type: ignore[attr-defined]
    shown = [""] * len(cases)
    for _, use in flow_uses.uses(flow_uses.FlowUses(flows_of(chain.from_iterable(facts)), subject)):
        shown[use.line or 0] += f"{show(use)}\n"
    return shown


INDENTS = {"initial_indent": "    ", "subsequent_indent": "    ", "break_long_words": False, "break_on_hyphens": False}


def label(fact: object) -> str:
    """Return a short text of a fact."""
    if isinstance(fact, Address):
        return label(fact.term) + (f"{fact.offset:+}" if fact.offset is not None else "+?")
    if isinstance(fact, Slot | Term):
        return f"{fact.kind}:{fact.name}".replace("struct:", "")
    fields = fact._asdict().items()  # type: ignore[attr-defined]
    parts = [name if each is True else label(each) if isinstance(each, Address | Slot) else str(each) for name, each in fields if each is not False and name != "file"]
    return f"{type(fact).__name__} {' '.join(parts)}"


def group(cases: Sequence[tuple[object, ...]], texts: Sequence[str]) -> str:
    """Return each result, and the cases with it below."""
    found: dict[str, list[str]] = {}
    for facts, text in zip(cases, texts, strict=True):
        found.setdefault(text, []).append(", ".join(map(label, facts)))
    return "\n".join(f"{text}{fill('; '.join(same), 180, **INDENTS)}\n" for text, same in found.items() if text)


@pytest.mark.parametrize("table", TOGETHER, ids=lambda table: table.__name__)
def test_facts(table, subject, golden):
    cases = list(table())
    golden(f"flows-{table.__name__}.txt", group(cases, results_of_lines(cases, subject)))


@pytest.mark.parametrize("table", ALONE, ids=lambda table: table.__name__)
def test_facts_that_change_others(table, subject, golden):
    cases = list(table())
    golden(f"flows-{table.__name__}.txt", group(cases, [results(flows_of(facts), subject) for facts in cases]))


def test_places_in_fields_without_an_alignment(subject, golden):
    """What follows if an input does not state the alignments of fields: the cases whose result is another one."""
    fields = tuple(replace(field, align=None) for field in subject.struct.fields)
    less = Subject(replace(subject.struct, fields=fields), subject.aliases)
    cases = list(numbers_of_places())
    known, texts = results_of_lines(cases, subject), results_of_lines(cases, less)
    others = [(case, text or "nothing\n") for case, text, before in zip(cases, texts, known, strict=True) if text != before]
    golden("flows-without-alignments.txt", group([case for case, _ in others], [text for _, text in others]))
