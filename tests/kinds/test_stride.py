"""`stride`: as a table, and against arrays that are laid out byte by byte."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutlint.geometry import placement
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds import stride
from layoutlint.kinds.stride import Stride
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source, Struct
from tests.harness.build import context, flexible, member, struct
from tests.harness.facts import facts
from tests.kinds.cases import (  # fmt: skip
    AT_RISK,
    BROKEN,
    EVERY8,
    KEPT,
    ONCE,
    Case,
    Refusal,
    Untold,
    assert_refused,
    cannot_tell,
    check,
    table,
)
from tests.kinds.structs import HIDDEN, RING, TAIL, UNION, WORDS, array
from tests.oracles import slow_model as slow
from tests.oracles.random_structs import structs

SLOT = struct("slot", 72, member("used", 0, 8), member("names", 8, 56), member("limit", 64, 8))
PADDED = struct("padded", 72, member("a", 0, 8), member("b", 8, 8))
OWN_LINES = struct("own_lines", 128, member("a", 0, 8), member("b", 120, 8), align=64)
COUNTERS = struct("counters", 72, member("lock", 0, 8), array("count", 8, 8, 8))
SPREAD = struct("spread", 576, member("lock", 0, 8), array("slot", 64, 8, 64, member("head", 0, 8), member("tail", 8, 8)), align=64)
SLOTS = CType("struct slot")
MIXED = struct("mixed", 144, replace(array("slot", 0, 2, 72, member("head", 0, 8), member("tag", 64, 1)), type=SLOTS))
APART = replace(SPREAD, fields=(replace(SPREAD.fields[1], type=SLOTS),))
TWO_ARRAYS = struct("two", 192, array("far", 0, 2, 64, member("head", 0, 8)), array("near", 128, 4, 8))
TABLE = struct("table", 64, replace(array("row", 0, 4, 16), dims=(2, 2)), align=64)

CASES = [
    Case("ends with what the next begins with", SLOT, {"fields": ("limit",), "against": ("used",)}, AT_RISK, EVERY8[:7],
         "element 0's `limit` at 64..71 shares a line with element 1's `used` at 0..7 (72 bytes on) in 7 of 8 placements",
         advice="align the struct to 64 bytes (`____cacheline_aligned_in_smp`), so that one begins 128 bytes behind the other"),
    Case("every field", WORDS, {}, AT_RISK, EVERY8[:4] + EVERY8[5:],
         "element 0's `d` at 24..31 shares a line with element 1's `a` at 0..7 (32 bytes on) in 7 of 8 placements; "
         "and 15 more pairs"),
    Case("padding belongs to nobody", PADDED, {}, KEPT, (), "elements 72 bytes apart share no line in any placement"),
    Case("a field and itself", PADDED, {"fields": ("a",), "against": ("a",)}, KEPT, (),
         "the chosen fields of elements 72 bytes apart share no line in any placement"),
    Case("on lines of their own", OWN_LINES, {}, KEPT, (), "elements 128 bytes apart share no line in any placement"),
    Case("elements of an array", COUNTERS, {"array": "count"}, BROKEN, EVERY8,
         "element k at 0..7 of `count` shares a line with element k+1 at 0..7 (8 bytes on) in all 8 placements",
         advice="align the elements to 64 bytes (`____cacheline_aligned_in_smp`), so that one begins 64 bytes behind the other"),
    Case("elements of an array of structs", RING, {"array": "slot", "fields": ("tail",), "against": ("head",)}, BROKEN, EVERY8,
         "element k's `tail` at 8..15 of `slot` shares a line with element k+1's `head` at 0..7 (32 bytes on) in all 8 placements; "
         "element k's `head` at 0..7 of `slot` shares a line with element k+1's `tail` at 8..15 (32 bytes on) in 6 of 8 placements"),
    Case("elements that fill their lines", SPREAD, {"array": "slot"}, KEPT, (),
         "elements of `slot` 64 bytes apart share no line in any placement"),
    Case("arrays by the type of their elements", COUNTERS, {"arrays": ("@type:long int",)}, BROKEN, EVERY8,
         "element k at 0..7 of `count` shares a line with element k+1 at 0..7 (8 bytes on) in all 8 placements"),
    Case("by what elements hold", APART, {"arrays": ("@type:long*",)}, KEPT, (),
         "the chosen fields of elements of `slot` 64 bytes apart share no line in any placement"),
    Case("what they hold, against all of the neighbour", MIXED, {"arrays": ("@type:long int",)}, AT_RISK, EVERY8[:7],
         "element k's `tag` at 64..64 of `slot` shares a line with element k+1's `head` at 0..7 (72 bytes on) in 7 of 8 placements"),
    Case("several, the worst first", TWO_ARRAYS, {"arrays": ("far", "near")}, BROKEN, EVERY8,
         "element k at 0..7 of `near` shares a line with element k+1 at 0..7 (8 bytes on) in all 8 placements"),
    Case("rows of scalars are elements", TABLE, {"array": "row"}, BROKEN, ONCE,
         "element k at 0..31 of `row` shares a line with element k+1 at 0..31 (32 bytes on) in its only placement"),
    Case("one row of them", TABLE, {"array": "row[1]"}, BROKEN, ONCE,
         "element k at 0..15 of `row[1]` shares a line with element k+1 at 0..15 (16 bytes on) in its only placement"),
    Case("an array of one", struct("one", 8, array("x", 0, 1, 8)), {"array": "x"}, KEPT, (),
         "`x` at 0..7 has no two elements side by side"),
    Case("a union", UNION, {"fields": ("last",), "against": ("tag",)}, AT_RISK, EVERY8[:5] + EVERY8[6:],
         "element 0's `last` at 16..23 shares a line with element 1's `tag` at 0..7 (24 bytes on) in 7 of 8 placements; "
         "element 0's `tag` at 0..7 shares a line with element 1's `last` at 16..23 (24 bytes on) in 3 of 8 placements"),
]  # fmt: skip
REFUSALS = [
    Refusal("twice", {"fields": ("a", "a")}, "`fields` names `a` twice"),
    Refusal("twice against", {"against": ("a", "a")}, "`against` names `a` twice"),
    Refusal("arrays and fields", {"arrays": ("a",), "fields": ("b",)}, "`arrays` excludes `array`, `fields` and `against`"),
    Refusal("arrays and an array", {"arrays": ("a",), "array": "b"}, "`arrays` excludes `array`, `fields` and `against`"),
    Refusal("arrays against", {"arrays": ("a",), "against": ("b",)}, "`arrays` excludes `array`, `fields` and `against`"),
    Refusal("a pattern", {"array": "slot*"}, "`array` needs exactly one field, and no pattern"),
    Refusal("threads of what", {"per_thread": True}, "`per_thread` needs `arrays` or `variables`"),
]  # fmt: skip
UNTOLD = [
    Untold("misspelt", WORDS, {"fields": ("aa",)}, "struct words has no field `aa` (did you mean `a`?)"),
    Untold("misspelt in an element", RING, {"array": "slot", "fields": ("heda",)},
           "struct slot[] has no field `heda` (did you mean `head`?)"),
    Untold("none of a type", WORDS, {"arrays": ("@type:long int",)}, "no array of struct words has a type like `long int`"),
    Untold("no array", WORDS, {"array": "a"}, "`a` at 0..7 is no array"),
    Untold("a flexible array", TAIL, {"array": "body"},
           "the size of an element of `body` at 16 and beyond is unknown: it is a flexible array"),
    Untold("where it ends is open", TAIL, {}, "the end of an object is unknown: `body` at 16 and beyond"),
    Untold("size not known", HIDDEN, {}, "the size of `b` is not known"),
]  # fmt: skip


@table(CASES)
def test_stride(case):
    check(Stride, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Stride, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Stride, case)


def storage(text_message: str, array: int | None = None) -> Storage:
    word, _, align = text_message.partition(":")
    return Storage(word, Source("my.toml", 1), int(align) if align else None, None, array)


@pytest.mark.parametrize(("text_message", "array", "outcome", "bases", "message"), [
    ("slab", None, "at-risk", EVERY8[:7],
     "object 0's `limit` at 64..71 shares a line with object 1's `used` at 0..7 (72 bytes on) in 7 of 8 placements"),
    ("slab:64", None, "kept", (), "the chosen fields of objects 128 bytes apart share no line in any placement"),
    ("kmalloc", None, "at-risk", (0,),
     "block 0's `limit` at 64..71 shares a line with block 1's `used` at 0..7 (96 bytes on) in 1 of 2 placements"),
    ("line", 2, "at-risk", (0,),
     "element 0's `limit` at 64..71 shares a line with element 1's `used` at 0..7 (72 bytes on) in 1 of 2 placements"),
    ("malloc", 2, "broken", (0, 16, 32, 48),
     "element 0's `limit` at 64..71 shares a line with element 1's `used` at 0..7 (72 bytes on) in all 4 placements"),
    ("line", None, "kept", (), "the chosen fields of objects 128 bytes apart share no line in any placement"),
    ("percpu", None, "kept", (), "the chosen fields of copies on pages of their own share no line in any placement"),
])  # fmt: skip
def test_the_rule_file_says_how_far_the_next_one_is(text_message, array, outcome, bases, message):
    layout = Layout(SLOT)
    found = placement.placements(layout, 64, None, storage(text_message, array))
    verdict = Stride(fields=("limit",), against=("used",)).check(Context(layout, found))
    assert (verdict.outcome.value, verdict.bases, facts(verdict.message)) == (outcome, bases, facts(message))


@pytest.mark.parametrize("text_message", ["static", "malloc", "aligned:64"])
def test_what_stands_behind_a_variable_is_not_known(text_message):
    layout = Layout(SLOT)
    with pytest.raises(CannotTell, match="the distance to the next object is unknown"):
        Stride().check(Context(layout, placement.placements(layout, 64, None, storage(text_message))))


def shares(ours: list[slow.Node], theirs: list[slow.Node], at: int, behind: int, line: int) -> bool:
    """Whether of two objects at two addresses, fields of one side and fields of the other are on a line."""
    return any(
        slow.lines(a, x, line) & slow.lines(b, y, line) for x, y in ((at, behind), (behind, at)) for a in ours for b in theirs
    )


def outcome_of(failing: set[int], bases: set[int]) -> Outcome:
    return Outcome.KEPT if not failing else Outcome.BROKEN if failing == bases else Outcome.AT_RISK


def choose(data: st.DataObject, held: Struct) -> tuple[Stride, list[slow.Node], list[slow.Node]]:
    named, tops = slow.nodes_by_path(held), list(slow.nodes(held))
    paths = [data.draw(st.lists(st.sampled_from(sorted(named)), max_size=2, unique=True)) for _ in "ab"]
    ours, theirs = ([named[path] for path in some] or tops for some in paths)
    return Stride(None, tuple(paths[0]), tuple(paths[1])), ours, theirs


@pytest.mark.exhaustive
@given(
    data=st.data(), held=structs(), line=st.sampled_from([16, 32, 64, 128]), first=st.sampled_from([8, 16, 64, 128]),
    count=st.integers(2, 6),
)  # fmt: skip
@settings(max_examples=50)
def test_every_two_elements_side_by_side(data, held, line, first, count):
    layout = Layout(held)
    assume(layout.open_end is None and layout.size and layout.places)
    kind, ours, theirs = choose(data, held)
    failing, bases = set(), set()
    for block in range(0, 128 * first, first):
        for at in range(block, block + (count - 1) * layout.size, layout.size):
            bases.add(at % line)
            if shares(ours, theirs, at, at + layout.size, line):
                failing.add(at % line)
    found = placement.placements(layout, line, None, storage(f"aligned:{first}", count))
    verdict = kind.check(Context(layout, found))
    assert (verdict.outcome, set(verdict.bases), verdict.total) == (outcome_of(failing, bases), failing, len(bases))


@pytest.mark.exhaustive
@given(
    data=st.data(), held=structs(), line=st.sampled_from([16, 32, 64, 128]), offset=st.integers(0, 3),
    count=st.integers(2, 6),
)  # fmt: skip
@settings(max_examples=50)
def test_every_two_elements_of_an_array_in_a_struct(data, held, line, offset, count):
    size = held.bit_size // 8
    assume(Layout(held).open_end is None and size and Layout(held).places)
    kind, ours, theirs = choose(data, held)
    start = offset * 8
    field = replace(
        member("x", start, size * count, *held.fields, dims=(count,)), aggregate=held.aggregate
    )  # fmt: skip
    holder = struct("holder", start + size * count, field)
    failing = {
        base
        for base in range(0, line, 8)
        for at in range(base + start, base + start + (count - 1) * size, size)
        if shares(ours, theirs, at, at + size, line)
    }
    verdict = replace(kind, array="x").check(context(holder, line_size=line))
    bases = set(range(0, line, 8))
    assert (verdict.outcome, set(verdict.bases), verdict.total) == (outcome_of(failing, bases), failing, len(bases))


@given(st.integers(2, 40), st.integers(0, 39), st.integers(0, 39), st.sampled_from([32, 64, 128]))
@settings(max_examples=80)
def test_padding_as_advised_parts_the_elements(words, ours, theirs, line):
    held = struct("s", words * 8, *(member(f"f{at}", 8 * at, 8) for at in range(words)))
    kind = Stride(None, (f"f{ours % words}",), (f"f{theirs % words}",))
    advice = kind.check(context(held, line_size=line)).advice
    padding = re.search(r"; (\d+) bytes of padding", advice)
    more = int(padding[1]) if padding else -(words * 8) % line
    fewer = [extra for extra in range(0, more, 8) if advice]
    wider = {extra: replace(held, bit_size=words * 64 + extra * 8) for extra in (*fewer, more)}
    kept = {extra: kind.check(context(each, line_size=line)).outcome is Outcome.KEPT for extra, each in wider.items()}
    assert not any(kept[extra] for extra in fewer)
    assert not padding or kept[more]


@given(data=st.data(), held=structs(), line=st.sampled_from([16, 32, 64]))
@settings(max_examples=50)
def test_aligning_as_advised_parts_the_elements(data, held, line):
    layout = Layout(held)
    assume(layout.open_end is None and layout.size and layout.places)
    kind, _, _ = choose(data, held)
    aligned = replace(held, align=max(line, held.align or 1), bit_size=-(-layout.size // line) * line * 8)
    assert kind.check(context(aligned, line_size=line)).outcome is Outcome.KEPT


def test_flexible_arrays_inside_do_not_count_as_elements():
    held = struct("s", 16, member("a", 0, 8), flexible("more", 16))
    with pytest.raises(CannotTell):
        Stride().check(context(held))


@pytest.mark.parametrize(("most", "is_refused"), [(16, False), (15, True)])
def test_at_most_so_many_pairs_are_compared(most, is_refused, monkeypatch):
    """Each of four fields is within a line of each of the next object."""
    monkeypatch.setattr(stride, "_MOST_PAIRS", most)
    if not is_refused:
        assert Stride().check(context(WORDS)).outcome is AT_RISK
        return
    with pytest.raises(CannotTell) as caught:
        Stride().check(context(WORDS))
    assert str(caught.value) == "more than 15 pairs of fields are within a line: name some as `fields`"
