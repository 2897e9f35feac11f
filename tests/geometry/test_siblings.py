"""What stands before and behind an object: against objects laid out in simulated memory, one behind the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import ASSUMED, Placements
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.judgement.rule import Kind
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.guards import Guards
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.stride import Stride
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Struct
from tests.geometry.test_allocators import MEMORY, pad, storage
from tests.harness.build import flexible, member, struct
from tests.oracles import slow_model as slow
from tests.oracles.random_structs import structs

Rows = list[list[int]]
"""Addresses of objects, those in one list one behind the other."""
LINES = (16, 32, 64, 128)


def arrays(blocks: Iterable[int], size: int, count: int) -> Rows:
    return [[block + element * size for element in range(count)] for block in blocks]


def block_starts(word: str, size: int, align: int) -> Iterator[int]:
    """Blocks of a size in memory, by the words for their allocator."""
    return {
        "kmalloc": lambda: MEMORY.kmalloc(size),
        "slab": lambda: MEMORY.slab(pad(size, max(align, 8))),
        "line": lambda: MEMORY.variables(max(align, 64)),
        "malloc": lambda: MEMORY.variables(16),
        "static": lambda: MEMORY.variables(align),
    }[word]()


def meets(a: slow.Node, at: int, b: slow.Node, other: int, line: int) -> bool:
    return bool(slow.lines(a, at, line) & slow.lines(b, other, line))


Fails = Callable[[int, int], bool]
"""Whether an object at one address has something on a line with the object (or itself) at another."""


def agrees(kind: Kind, context: Context, rows: Rows, line: int, fails: Fails) -> None:
    """The verdict is what looking at every object, and at those before and behind it, says."""
    failing, bases = set(), {at % line for row in rows for at in row}
    for row in rows:
        beside = {at: {at} for at in row}
        for at, behind in pairwise(row):
            beside[at].add(behind)
            beside[behind].add(at)
        for at in row:
            if any(fails(at, other) or fails(other, at) for other in beside[at]):
                failing.add(at % line)
    verdict = kind.check(context)
    outcome = Outcome.KEPT if not failing else Outcome.BROKEN if failing == bases else Outcome.AT_RISK
    assert (verdict.outcome, set(verdict.bases), verdict.total) == (outcome, failing, len(bases))


def pairs_of(struct_: Struct, data: st.DataObject, *, most: int = 3) -> tuple[list[str], list[str], dict[str, slow.Node]]:
    named = slow.nodes_by_path(struct_)
    assume(len(named) > 1)
    fields = data.draw(st.lists(st.sampled_from(sorted(named)), min_size=2, max_size=most + 1, unique=True))
    ours, theirs = fields[:1], fields[1:]
    assume(not any(slow.parts_of_one_another(a, b) for a, b in product(ours, theirs)))
    return ours, theirs, named


def rules(held: Struct, data: st.DataObject, line: int, **more: object) -> Iterator[tuple[Kind, tuple[Access, ...], Fails]]:
    """Every kind that looks at neighbours, on the same fields, and what it is about."""
    ours, theirs, named = pairs_of(held, data)
    tops = slow.nodes(held)

    def pairwise_fails(at: int, other: int) -> bool:
        return any(meets(named[a], at, named[b], other, line) for a, b in product(ours, theirs))

    yield Separate((tuple(ours), tuple(theirs)), **more), (), pairwise_fails
    accesses = tuple(Access(path, "hot-read") for path in ours) + tuple(Access(path, "hot-write") for path in theirs)
    yield AccessApart(**more), accesses, pairwise_fails
    if named[ours[0]].bytes:
        yield Guards(ours[0], tuple(theirs), True, **more), (), pairwise_fails
    if not more:
        others = list(slow.other_nodes(tops, set(ours)))

        def alone_fails(at: int, other: int) -> bool:
            theirs_there = others if at == other else tops
            return any(meets(named[a], at, b, other, line) for a in ours for b in theirs_there)

        yield Isolated(tuple(ours)), (), alone_fails


@pytest.mark.exhaustive
@given(
    data=st.data(), held=structs(), word=st.sampled_from(["kmalloc", "slab", "line", "malloc", "static"]),
    count=st.integers(1, 5), line=st.sampled_from(LINES),
)  # fmt: skip
@settings(max_examples=80)
def test_elements_of_arrays(data, held, word, count, line):
    layout = Layout(held)
    assume(layout.open_end is None and layout.size)
    rows = arrays(block_starts(word, layout.size * count, layout.align.value), layout.size, count)
    found = placement.placements(layout, line, None, storage(word, array=count))
    for kind, accesses, fails in rules(held, data, line):
        agrees(kind, Context(layout, found, accesses), rows, line, fails)


@pytest.mark.exhaustive
@given(data=st.data(), held=structs(), word=st.sampled_from(["kmalloc", "slab", "line"]), line=st.sampled_from(LINES))
@settings(max_examples=50)
def test_objects_of_a_cache_when_asked(data, held, word, line):
    layout = Layout(held)
    assume(layout.open_end is None and layout.size)
    found = placement.placements(layout, line, None, storage(word))
    (known,) = found.rows
    at = next(block_starts(word, layout.size, layout.align.value))
    # variables start on any line, two of 64 are one of 128
    starts = (at, at + 64) if word == "line" and layout.align.value <= 64 else (at,)
    rows = [[start + number * known.step for number in range(4 * line)] for start in starts]
    for kind, accesses, fails in rules(held, data, line, neighbours=True):
        agrees(kind, Context(layout, found, accesses), rows, line, fails)
    for kind, accesses, fails in rules(held, data, line):
        alone = [[each] for row in rows for each in row]
        agrees(kind, Context(layout, found, accesses), alone, line, fails)


def elements(named: dict[str, slow.Node], path: str) -> list[slow.Node]:
    """What a path means in every element of the arrays through which it leads without an index."""
    pattern = r"(\[\d+\])*\.".join(map(re.escape, path.split(".")))
    return [node for spelled, node in named.items() if re.fullmatch(pattern, spelled)]


def must_part(named: dict[str, slow.Node], a: slow.Node, b: slow.Node) -> list[tuple[slow.Node, slow.Node]]:
    """The two; of a field and its own part, the part and the other elements that the field has."""
    if not slow.parts_of_one_another(a.path, b.path):
        return [(a, b)]
    outer, inner = sorted((a, b), key=lambda node: len(node.path))
    ends = [found.end() for found in re.finditer(r"\[\d+\]", inner.path) if found.end() > len(outer.path)]
    held = [inner.path[:end] for end in ends]
    beside = [node for path in held for other, node in named.items()
              if other != path and other.rpartition("[")[0] == path.rpartition("[")[0] and other.endswith("]")]  # fmt: skip
    return [(node, inner) for node in beside]


@pytest.mark.exhaustive
@given(data=st.data(), held=structs(), word=st.sampled_from(["slab", "line", "static"]), count=st.integers(1, 4),
       line=st.sampled_from(LINES))  # fmt: skip
@settings(max_examples=60)
def test_access_in_elements(data, held, word, count, line):
    """Fields of one element against those of the others, their own parts and themselves among them."""
    layout, named = Layout(held), slow.nodes_by_path(held)
    assume(layout.open_end is None and layout.size and named)
    somewhere = sorted(path for path, node in named.items() if not node.goes_on)
    paths = {re.sub(r"\[\d+\]", "", path) if data.draw(st.booleans()) else path
             for path in data.draw(st.lists(st.sampled_from(somewhere), min_size=1, max_size=3))}  # fmt: skip
    readers = data.draw(st.sampled_from([("hot-read",), ("hot-write",), ("hot-read", "hot-write")]))
    accesses = tuple(Access(path, data.draw(st.sampled_from(["hot-read", "hot-write"]))) for path in sorted(paths))
    own = {node.path: access.access for access in sorted(accesses, key=lambda access: "[" in access.path)
           for node in elements(named, access.path)}  # fmt: skip
    pairs = [(named[a], named[b]) for a, b in product(own, own) if own[a] in readers and own[b] == "hot-write"]
    assume(pairs)

    def fails(at: int, other: int) -> bool:
        apart = [two for a, b in pairs for two in must_part(named, a, b)] if at == other else pairs
        return any(meets(a, at, b, other, line) for a, b in apart)

    rows = arrays(block_starts(word, layout.size * count, layout.align.value), layout.size, count)
    found = placement.placements(layout, line, None, storage(word, array=count))
    agrees(AccessApart(readers=readers), Context(layout, found, accesses), rows, line, fails)


STEPS = [
    # placement, size, alignment, bytes from one to the next
    ("slab", 40, 8, 40), ("slab", 41, 1, 48), ("slab:64", 72, 8, 128), ("kmalloc", 40, 8, 64), ("kmalloc", 72, 8, 96),
    ("kmalloc", 300, 8, 512), ("kmalloc", 9000, 8, 16_384), ("line", 40, 8, 64), ("line", 72, 8, 128),
    ("percpu", 40, 8, 8192), ("percpu", 40, 4096, 4096), ("percpu", 4096, 4096, 4096), ("percpu", 4208, 8, 12_288),
]  # fmt: skip


@pytest.mark.parametrize(("text_message", "size", "align", "step"), STEPS)
def test_the_next_object_stands_where_the_allocator_puts_it(text_message, size, align, step):
    held = Layout(struct("s", size, member("a", 0, 1), align=align))
    (row,) = placement.placements(held, 64, None, storage(text_message)).rows
    assert row.step == step
    addresses = {
        "slab": lambda: MEMORY.slab(pad(size, max(align, 8))), "slab:64": lambda: MEMORY.slab(pad(size, 64)),
        "kmalloc": lambda: MEMORY.kmalloc(size),
    }.get(text_message)  # fmt: skip
    if addresses and step <= 4096:
        distances = {behind - at for at, behind in pairwise(addresses())}
        assert min(gap for gap in distances if gap > 0) == step


@pytest.mark.parametrize("line", [32, 64, 128, 256])
@pytest.mark.parametrize("size", [8, 3840, 4088, 4096, 4104, 8192])
def test_no_line_has_parts_of_two_copies_of_a_per_cpu_variable(size, line):
    """Copies at the same place of as many pages as hold the variable there, for every place."""
    held = struct("s", size, member("a", 0, 8), member("b", size - 8, 8), align=8)
    units = [(at, -(-(at + size) // 4096) * 4096) for at in range(0, 4096, 8)]
    assert not any((at + size - 1) // line == (at + unit) // line for at, unit in units)
    context = Context(Layout(held), placement.placements(Layout(held), line, None, storage("percpu")))
    assert Stride().check(context).outcome is Outcome.KEPT
    assert Stride(fields=("a",), against=("b",)).check(context).outcome is Outcome.KEPT


@pytest.mark.parametrize("text_message", ["malloc", "static", "aligned:64"])
def test_what_stands_behind_is_not_always_known(text_message):
    assert placement.placements(Layout(struct("s", 40, member("a", 0, 8))), 64, None, storage(text_message)).rows == ()


def test_what_ends_with_a_flexible_array_is_in_no_row():
    held = Layout(struct("s", 16, member("a", 0, 8), flexible("more", 16)))
    assert placement.placements(held).rows == ()
    assert [placement.placements(held, 64, None, storage(text_message)).rows for text_message in ("slab", "kmalloc", "line", "percpu")] == [()] * 4


def placements_inside(size: int, text_message: Storage | None, offset: int, *strides: tuple[int | None, int]) -> Placements:
    holder = struct("holder", size, member("x", 0, 1))
    on_way = tuple(Array("x", count, stride * 8) for count, stride in strides)
    found = placement.embedded_placements(Container(holder, "x", "x", offset * 8, on_way, ()), 64, None, text_message)
    assert found is not None
    return found


@pytest.mark.parametrize(("strides", "text_message"), list(product(
    [(), ((3, 24),), ((1, 24),), ((2, 104), (3, 24)), ((2, 104), (1, 24)), ((3, 60), (2, 24), (3, 8))],
    [None, "slab", "slab:64", "kmalloc", "line"],
)))  # fmt: skip
def test_rows_inside_of_containers(strides, text_message):
    """Bytes of two embedded structs on one line, by the addresses of all of them in containers one behind the other."""
    size, offset = 328, 12
    found = placements_inside(size, None if text_message is None else storage(text_message), offset, *strides)
    starts = [0] if text_message is None else list(block_starts("slab" if text_message == "slab:64" else text_message, size, 64 if text_message == "slab:64" else 8))
    if text_message in ("slab", "slab:64", "kmalloc"):  # from one slab or page to the next there is nothing to tell
        step = {"slab": 328, "slab:64": 384, "kmalloc": 512}[text_message]
        starts = [8 * 4096 + number * step for number in range(64)]
    held = [offset + sum(e * s for e, (_, s) in zip(each, strides, strict=True))
            for each in product(*(range(count) for count, _ in strides))]  # fmt: skip
    if text_message in (None, "line"):
        laid_out = [[start + at for at in held] for start in (starts if text_message else range(0, 64 * 8, 8))]
    else:
        laid_out = [[start + at for start in starts for at in held]]
    seen = {(behind - at, at % 64) for row in laid_out for at, behind in pairwise(row)}
    rows = {(row.step, base) for row in found.rows for base in row.bases if text_message != "line" or row.item != "object"}
    assert rows == seen


def test_of_flexible_arrays_of_containers_every_element_has_a_next():
    (row,) = placements_inside(328, storage("slab"), 16, (None, 24)).rows
    assert (row.step, row.bases) == (24, tuple(range(0, 64, 8)))


def test_containers_that_nothing_is_said_of_have_no_neighbours():
    assert placements_inside(328, None, 16).rows == ()
    assert placement.placements(Layout(struct("s", 40, member("a", 0, 8)))).rows[0].item == ASSUMED


WORDS = struct("words", 72, member("a", 0, 8), member("b", 64, 8))


def verdict(kind: Kind, text_message: Storage | None) -> tuple[str, str, str]:
    layout = Layout(WORDS)
    output = kind.check(Context(layout, placement.placements(layout, 64, None, text_message), (Access("a", "hot-read"), Access("b", "hot-write"))))
    return output.outcome.value, output.message, output.advice


MESSAGES = [
    (Separate((("a",), ("b",))), storage("line", array=2), "broken",
     "`b` at 64..71 shares a line with `a` at 0..7 of the next element, 72 bytes on, in 1 of 2 placements"),
    (Separate((("a",), ("b",)), neighbours=False), storage("line", array=2), "kept",
     "`a` at 0..7 and `b` at 64..71 share no line in any placement"),
    (Separate((("a",), ("b",))), storage("slab"), "kept",
     "`a` at 0..7 and `b` at 64..71 share no line in any placement"),
    (Separate((("a",), ("b",)), neighbours=True), storage("slab"), "broken",
     "`b` at 64..71 shares a line with `a` at 0..7 of the next object, 72 bytes on, in 7 of 8 placements"),
    (AccessApart(), storage("line", array=2), "broken",
     "`b` (hot-write) at 64..71 shares a line with `a` (hot-read) at 0..7 of the next element, 72 bytes on, "
     "in 1 of 2 placements"),
    (Guards("a", ("b",), True), storage("line", array=2), "broken",
     "contended: `b` at 64..71 shares a line with `a` at 0..7 of the next element, 72 bytes on, "
     "in 1 of 2 placements: each CPU that tries the lock takes the data's line from the one that holds it"),
    (Isolated(("a",)), storage("line", array=2), "broken",
     "`b` at 64..71 shares a line with `a` at 0..7 of the next element, 72 bytes on, in 1 of 2 placements; "
     "bytes outside of the object are on a line of theirs in 1 of 2 placements"),
    (Isolated(("b",)), storage("line", array=2), "broken",
     "`b` at 64..71 shares a line with `a` at 0..7 of the next element, 72 bytes on, in 1 of 2 placements; "
     "bytes outside of the object are on a line of theirs in all 2 placements"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text_message", "outcome", "message"), MESSAGES)
def test_says_who_stands_there(kind, text_message, outcome, message):
    output = verdict(kind, text_message)
    assert output[:2] == (outcome, message)
    assert output[2] == ("align the struct to 64 bytes (`____cacheline_aligned_in_smp`), so that one begins 128 bytes behind the other" if outcome != "kept" else "")


def test_asked_of_neighbours_that_nobody_knows():
    layout = Layout(WORDS)
    for text_message in (None, storage("malloc")):
        with pytest.raises(CannotTell, match="the distance to the next object is unknown: state `array` in the rule file"):
            Separate((("a",), ("b",)), neighbours=True).check(Context(layout, placement.placements(layout, 64, None, text_message)))


def test_a_rule_file_says_so(tmp_path):
    from layoutlint.intent.toml import rule_file
    from layoutlint.lint.options import Options
    from layoutlint.lint.run import check
    from layoutlint.model.reading import ReadOptions

    (tmp_path / "s.c").write_text("struct words { long a; long names[7]; long b; };\n")
    text = (
        '[struct.words]\nplacement = "line"\narray = 4\n[[rule]]\nid = "apart"\nstruct = "words"\nkind = "separate"\n'
        'fields = [["a"], ["b"]]\nwhy = "w"\n'
    )
    options = Options(read=ReadOptions(flags=("--target=x86_64-linux-gnu",)))
    (found,) = check([str(tmp_path / "s.c")], (rule_file.parse(text, "s.toml"),), (), options).findings
    assert found.verdict.basis == "the rule file says that objects start on a line, 72 bytes from one element of an array to the next"
    assert (found.verdict.outcome, found.verdict.bases) == (Outcome.BROKEN, (0, 8, 16, 24))




IN_ONE_AND_MANY = "struct sem {{ long count; {rest} int owner; }};\nstruct one {{ struct sem sem; }} one;\nstruct many {{ struct sem sem[4]; }} many;\n"
PLACES = [
    # between the two fields, what the rule says of one and many, the outcome
    ("", "line", "line", "broken"),  # in the object itself, everywhere
    ("char rest[128];", "line", "line", "at-risk"),  # with the next element, which the lonely one has not
]


@pytest.mark.parametrize(("rest", "one", "many", "outcome"), PLACES)
@pytest.mark.parametrize("kind", ["separate", "access", "guards"])
def test_one_of_several_places_has_no_neighbours(rest, one, many, outcome, kind, tmp_path):
    import json

    from tests.harness.command import run

    (tmp_path / "a.c").write_text(IN_ONE_AND_MANY.format(rest=rest))
    keys = {
        "separate": 'fields = [["owner"], ["count"]]', "access": "", "guards": 'lock = "owner"\ndata = ["count"]\ncontended = true',
    }[kind]  # fmt: skip
    (tmp_path / "r.toml").write_text(
        f'[struct.sem]\nplacement = "embedded"\n[struct.sem.fields]\nowner = {{ access = "hot-write" }}\n'
        f'count = {{ access = "hot-read" }}\n[struct.one]\nplacement = "{one}"\n[struct.many]\nplacement = "{many}"\n'
        f'[[rule]]\nid = "r"\nstruct = "sem"\nkind = "{kind}"\n{keys}\nneighbours = true\nwhy = "w"\n'
    )
    done = run("check", tmp_path / "a.c", "--rules", tmp_path / "r.toml", "--format", "json", "--fail-on", "broken")
    assert [finding["outcome"] for finding in json.loads(done.stdout)["findings"]] == [outcome]
    assert done.returncode == (1 if outcome == "broken" else 0)


def test_what_is_broken_in_the_object_is_so_without_known_neighbours():
    held = Layout(struct("s", 16, member("a", 0, 8), member("b", 8, 8), align=16))
    accesses = Access("a", "hot-read"), Access("b", "hot-write")
    for kind in (Separate((("a",), ("b",)), neighbours=True), AccessApart(neighbours=True), Guards("a", ("b",), True, neighbours=True)):
        assert kind.check(Context(held, placement.placements(held, 64), accesses)).outcome is Outcome.BROKEN
