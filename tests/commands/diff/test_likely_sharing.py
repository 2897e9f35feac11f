"""Pairs of fields that a change puts on a line, and how functions use them: of changes that a seed makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from textwrap import fill
from types import SimpleNamespace

import pytest

from layoutlint.commands.diff import likely_sharing
from layoutlint.commands.diff.likely_sharing import _is_about_lines, _Side, likely_pairs
from layoutlint.comparison.comparison import Comparison, Side
from layoutlint.comparison.layouts import LayoutChange, NotCompared, Presence, compare_layouts
from layoutlint.comparison.likely_sharing import LikelyPair
from layoutlint.inference.analysis import StructTraffic
from layoutlint.inference.infer import SMALLEST
from layoutlint.inference.ranking import Traffic, parts
from layoutlint.judgement.finding import Coverage, Report
from layoutlint.judgement.rule import Pack, StructIntent
from layoutlint.lint.options import Options
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct, Unstated
from layoutlint.model.uses import Effect
from tests.harness.build import X86_64, flexible, member, struct
from tests.harness.whole import inline

HERE = Source("r.toml", 1)
SIDE = _Side(struct("s", 72, member("a", 0, 8), member("n", 8, 8), member("b", 64, 8), flexible("c", 72)), None, Options())
STORAGES = ((), (), (), (Storage("slab", HERE, 64),), (Storage("kmalloc", HERE),), (Storage("embedded", HERE),), (Storage("slab", HERE, 16),), (Storage("page", HERE), Storage("slab", HERE, 64)))


@pytest.mark.parametrize(("first", "second", "count"), [
    ("a", "a", 0), ("a", "n", 7), ("a", "b", 0), ("gone", "a", 0), ("a", "gone", 0), ("gone", "gone", 0), ("c", "a", 0), ("b", "c", 0),
])  # fmt: skip
def test_bases(first, second, count):
    assert len(SIDE.bases(first, second)) == count
    assert SIDE.total == 8


SIZES = (("char", 1), ("int", 4), ("long", 8), ("long", 8), ("spinlock_t", 4))


def layout(name: str, members: list[tuple[str, str, int, int]], align: int | None) -> Struct:
    """A struct of members with a type, a size and a length, as a compiler lays it out."""
    fields: list[Field] = []
    end = 0
    for label, spelling, size, count in members:
        at = -(-end // size) * size
        dims = {"type": CType(spelling, f"[{count}]"), "dims": (count,)} if count > 1 else {"type": CType(spelling)}
        inner = {"members": (member("x", 0, size // 2), member("y", size // 2, size // 2)), "aggregate": "struct"} if label.startswith("n") and size > 1 else {}
        fields.append(Field(label, bit_offset=at * 8, bit_size=size * count * 8, align=size, source=Source("s.h", len(fields) + 2), **dims, **inner))  # type: ignore[arg-type]
        end = at + size * count
    whole = -(-end // (align or 8)) * (align or 8)
    return Struct(name, "struct", whole * 8, align, tuple(fields), X86_64, Source(f"{name}.h", 1), "a.o")


def change(chance: Random, name: str) -> LayoutChange:
    """A struct before and after some edits: members that are new, gone, longer, elsewhere, or have another name."""
    old = [(f"{chance.choice('mmn')}{number}", *chance.choice(SIZES), chance.choice((1, 1, 1, 3, 20))) for number in range(chance.randint(3, 7))]
    new = list(old)
    for number in range(chance.randint(1, 3)):
        at = chance.randrange(len(new))
        how = chance.choice(("add", "remove", "rename", "rename", "grow", "move"))
        if how == "add":
            new.insert(at, (f"add{number}", *chance.choice(SIZES), chance.choice((1, 1, 9))))
        elif how == "remove" and len(new) > 2:
            del new[at]
        elif how == "rename":
            new[at] = (f"{new[at][0][0]}{number}new", *new[at][1:])
        elif how == "grow":
            new[at] = (*new[at][:3], new[at][3] + 6)
        else:
            new.append(new.pop(at))
    align = chance.choice((8, 8, 64, None))
    found = compare_layouts([layout(name, old, align)], [layout(name, new, align)]).changes
    return found[0] if found else LayoutChange(Presence.BOTH, layout(name, old, align), layout(name, new, align))


def traffic(chance: Random, about: Struct) -> StructTraffic:
    names = [f"f{number}" for number in range(4)]

    def uses() -> dict[str, float]:
        return {name: chance.choice((0.5, 1.0, 4.0)) for name in chance.sample(names, chance.choice((0, 1, 1, 2)))}

    fields = tuple(
        Traffic(part, uses(), chance.random() < 0.5, reads=uses(), kind=chance.choice((Effect.WRITE, Effect.ATOMIC, Effect.LOCK)))
        for part in parts(about.fields) if chance.random() < 0.8
    )  # fmt: skip
    return StructTraffic(fields, chance.choice((1.0, 1.0, 0.25)), chance.choice((1.0, 0.1)))


def analysis(chance: Random, changes: list[LayoutChange], counts: tuple[int, ...] = (1, 1, 1, 1, 0, 2)) -> SimpleNamespace:
    """Functions that use each changed struct, or none of that name, or two."""
    keys = {each.name: [f"{each.name}@{number}" for number in range(chance.choice(counts))] for each in changes}
    made = {each.name: traffic(chance, each.struct) for each in changes}
    return SimpleNamespace(struct_keys=lambda struct: keys[struct.name], traffic=lambda key, struct: made[key.partition("@")[0]])


def describe(pairs: tuple[LikelyPair, ...] | list[LikelyPair]) -> Iterator[str]:
    for each in pairs:
        yield f"{each.struct.name} {each.rank_of_writer} {each.score:.6g} {inline(each.change)}: {'; '.join(each.reasons)}"


def lines(seed: int) -> Iterator[str]:
    chance = Random(f"likely {seed}")
    changes = [change(chance, name) for name in ("box", "case")[: chance.choice((1, 1, 2))]]
    storages: Mapping[str, tuple[Storage, ...]] = {each.name: chance.choice(STORAGES) for each in changes}
    options = Options(line_size=chance.choice((None, None, None, 32)), min_align=chance.choice((None, None, 16)))
    for each in changes:
        sides = [[(field.name, field.bit_offset // 8, (field.bit_size or 0) // 8) for field in side.fields] for side in (each.old, each.new) if side is not None]
        yield f"== {seed}: {each.name} {each.struct.align} {inline(storages[each.name])} {options.line_size} {options.min_align} {sides}"
    yield from describe(likely_pairs(changes, analysis(chance, changes), storages, options))  # type: ignore[arg-type]


def test_pairs_of_seeds(golden):
    every = (line for seed in range(60) for line in lines(seed))
    golden("likely-sharing.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every))


AT_64 = Storage("slab", HERE, 64)
SIDES = [
    # the alignment, members with alignments that are not stated, the placement, and the bases
    (8, Unstated.NOTHING, None, tuple(range(0, 64, 8))),
    (8, Unstated.NOTHING, AT_64, (0,)),
    (8, Unstated.NOTHING, Storage("embedded", HERE), tuple(range(0, 64, 8))),
    (64, Unstated.NOTHING, Storage("slab", HERE, 16), (0,)),
    (None, Unstated.ALIGNED, None, tuple(range(0, 64, 8))),
    (None, Unstated.ALIGNED, AT_64, (0,)),
]


@pytest.mark.parametrize(("align", "unstated", "storage", "bases"), SIDES)
def test_placements(align, unstated, storage, bases):
    about = replace(struct("s", 128, *(member(f"m{at}", 8 * at, 8, align=8) for at in range(16)), align=align), unstated=unstated)
    assert _Side(about, storage, Options()).placements.bases == bases


BOTH, ADDED = LayoutChange(Presence.BOTH, SIDE.struct, SIDE.struct), LayoutChange(Presence.ADDED, None, SIDE.struct)


@pytest.mark.parametrize(("each", "is_about_lines"), [
    (BOTH, True), (ADDED, False), (replace(BOTH, presence=Presence.RENAMED), False),
    (replace(BOTH, new=replace(SIDE.struct, bit_size=SMALLEST)), False),
    (replace(BOTH, new=replace(SIDE.struct, bit_size=SMALLEST + 8)), True),
    (replace(BOTH, new=replace(SIDE.struct, bit_size=None)), False),
    (replace(BOTH, new=replace(SIDE.struct, aggregate="union")), False),
])  # fmt: skip
def test_changes_about_lines(each, is_about_lines):
    assert _is_about_lines(each) is is_about_lines


def comparison(*changes: LayoutChange) -> Comparison:
    side = Side("new", Report((Reading("new.o", "dwarf", X86_64, ()),), (), (), Coverage(0, 0, 0), 0), ())
    layouts = compare_layouts((), ())
    return Comparison(side, side, replace(layouts, changes=changes), (), (NotCompared("old", "gone"),), ("known",), ())


def rank(chance: Random, monkeypatch: pytest.MonkeyPatch, changes: list[LayoutChange], counts: tuple[int, ...], **read: object) -> Iterator[str]:
    """What a comparison says of its changes with some functions: the notes, the gaps, and the best pairs."""
    known = {"unread": (), "functions": ("f",), "is_kernel": False}
    monkeypatch.setattr(likely_sharing.bodies, "read", lambda sources, options: SimpleNamespace(**known | read))
    packs: list[object] = []

    def analyse(read: object, active: object) -> SimpleNamespace:
        packs.append(active)
        return analysis(chance, changes, counts)

    monkeypatch.setattr(likely_sharing, "analyse", analyse)
    own, kernel = (Pack(name, name, (), (StructIntent("box", HERE, None, (), Storage(name, HERE, 64)),)) for name in ("slab", "aligned"))
    got = likely_sharing.rank(comparison(*changes), ("a.c", "b.c"), (own,), (kernel,), Options())
    yield f"{[[pack.name for pack in active] for active in packs]} {got.notes} {list(map(inline, got.not_compared))}"  # type: ignore[attr-defined]
    assert got.likely is not None
    yield f"{got.likely.sources} {got.likely.left_out} of {got.likely.left_out + len(got.likely.pairs)}"
    yield from describe(got.likely.pairs)


SOME = (1, 1, 1, 1, 0, 2)
RANKED: dict[str, tuple[int, tuple[int, ...], dict[str, object]]] = {
    # the number of changes, how many structs of one name the sources use, and what the sources have
    "nothing changed": (0, SOME, {}),
    "one": (1, SOME, {}),
    "a kernel": (1, SOME, {"is_kernel": True}),
    "two": (2, SOME, {}),
    "more than are shown": (8, SOME, {}),
    "no functions": (1, SOME, {"functions": ()}),
    "a source is gone": (1, SOME, {"functions": (), "unread": (Unread("b.c", "gone"),)}),
    "one of two sources is gone": (2, SOME, {"unread": (Unread("b.c", "gone"),)}),
    "no struct is used": (3, (0,), {}),
    "several structs of six names": (6, (2,), {}),
    "several structs of seven names": (7, (2,), {}),
}


def test_comparisons_with_sources(golden, monkeypatch):
    monkeypatch.setattr(likely_sharing, "MOST_NOTES", 4)
    every: list[str] = []
    for number, (name, (count, counts, read)) in enumerate(RANKED.items()):
        chance = Random(f"rank {number}")
        changes = [change(chance, each) for each in ("box", "case", *"abcdefgh")[:count]]
        every += (f"== {name}", *rank(chance, monkeypatch, [*changes, *[ADDED] * (number % 3)], counts, **read))
    golden("likely-sharing-of-sources.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in every))
