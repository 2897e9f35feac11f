"""Verdicts on layouts that a snapshot holds, for structs in memory."""

from __future__ import annotations

import pytest

from layoutlint.errors import UsageError
from layoutlint.judgement.context import CannotTell
from layoutlint.lint.held_layouts import Held, HeldLayout, judge, other_targets, wanted_with_held
from layoutlint.lint.options import Options
from layoutlint.model.reading import Chosen, Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct.randomisation import Randomisation
from tests.harness.build import X86_64, context, member, struct
from tests.harness.run_options import run_options

RING = struct("ring", 16, member("head", 0, 8), member("tail", 8, 8))
LONGER = struct("ring", 24, member("head", 0, 8), member("pad", 8, 8), member("tail", 16, 8))
TASK = struct("task", 8, member("pid", 0, 8))
ELSEWHERE = replace(LONGER, source=Source("old/other.h", 1))
ARM = target_named("aarch64")
UNRELIABLE = "the layout is unreliable: gone.h is missing"


def reading(*structs, path="a.o", target=X86_64, chosen=None):
    return Reading(path, "dwarf", target, tuple(structs), chosen=chosen)


def broken(struct_):
    return replace(struct_, problem="gone.h is missing")


CASES = [
    # structs of the snapshot, of the inputs, options; for each finding its rule, outcome, input, and a part of the message
    ([RING], [RING], {}, [("ring", "kept", "a.o", "has the layout of l.json")]),
    ([RING, TASK], [RING, TASK], {}, [("ring", "kept", "a.o", ""), ("task", "kept", "a.o", "")]),
    ([RING], [LONGER], {}, [("ring", "broken", "a.o", "differs from l.json: 16 -> 24 bytes; added `pad`, 8 bytes at 8")]),
    ([RING], [RING, TASK], {}, [("ring", "kept", "a.o", "")]),
    ([RING, TASK], [RING], {}, [("task", "unknown", "", "struct task of l.json is in none of the inputs"), ("ring", "kept", "a.o", "")]),
    ([RING, TASK], [RING], {"ignore_missing": True}, [("ring", "kept", "a.o", "")]),
    ([RING, TASK], [LONGER, TASK], {"only": ("task",)}, [("task", "kept", "a.o", "")]),
    ([RING], [broken(RING)], {}, [("ring", "unknown", "a.o", UNRELIABLE)]),
    ([RING], [broken(LONGER)], {}, [("ring", "unknown", "a.o", UNRELIABLE)]),
    ([broken(RING)], [RING], {}, [("ring", "unknown", "a.o", UNRELIABLE)]),
    ([RING], [RING, LONGER], {}, [("ring", "broken", "a.o", "has another definition of 24 bytes, which is not in l.json")]),
    ([RING], [RING, broken(LONGER)], {}, [("ring", "unknown", "a.o", UNRELIABLE)]),
    ([RING], [RING, ELSEWHERE], {}, [("ring", "kept", "a.o", "")]),
    ([RING], [RING, replace(LONGER, source=Source("new/example.h", 9))], {}, [("ring", "broken", "a.o", "has another definition")]),
    ([RING], [RING, replace(LONGER, source=None)], {}, [("ring", "broken", "a.o", "has another definition")]),
    ([replace(RING, source=None)], [RING, ELSEWHERE], {}, [("ring", "broken", "a.o", "has another definition")]),
    ([RING], [replace(LONGER, is_tagged=False)], {}, [("ring", "unknown", "", "is in none of the inputs")]),
    ([RING], [replace(LONGER, files=("x.c", "y.c"))], {}, [("ring", "broken", "x.c", "")]),
]  # fmt: skip


@pytest.mark.parametrize(("recorded", "current", "options", "expected"), CASES)
def test_verdicts(recorded, current, options, expected):
    held = Held(reading(*recorded, path="l.json"), "layoutlint snapshot a.o --update l.json")
    found = judge(held, (reading(*current),), run_options(**options))
    rows = [(each.rule.id, each.verdict.outcome.value, each.input) for each in found]
    assert rows == [(f"snapshot/{name}", outcome, path) for name, outcome, path, _ in expected]
    for each, (*_, message) in zip(found, expected, strict=True):
        assert message in each.verdict.message
        changed = each.verdict.outcome.value == "broken" or each.struct is None
        assert each.verdict.advice == ("undo the change, or accept it: `layoutlint snapshot a.o --update l.json`" if changed else "")


def many(count, shift=0):
    return struct("many", 8 * (count + 1), *(member(f"f{at}", 8 * at + shift, 8) for at in range(count)))


@pytest.mark.parametrize(("count", "moves"), [
    (6, "`f5` 40 -> 48"), (7, "`f5` 40 -> 48 and 1 more field moved"), (9, "`f5` 40 -> 48 and 3 more fields moved"),
])  # fmt: skip
def test_moved_fields(count, moves):
    """Six are shown; as evidence they follow the one that was added."""
    new = replace(many(count, 8), bit_size=many(count).bit_size, fields=(member("first", 0, 8), *many(count, 8).fields))
    held = Held(reading(many(count), path="l.json"), "")
    (found,) = judge(held, (reading(new),), Options())
    assert found.verdict.message.endswith(moves)
    assert [place.path for place in found.verdict.evidence] == ["first", "f0", "f1", "f2", "f3", "f4", "f5"]


@pytest.mark.parametrize(("count", "end"), [(20, "`f18`, 8 bytes at 144 (example.h:146)"), (21, "1 more edit"), (30, "10 more edits")])
def test_edits(count, end):
    """Twenty are listed."""
    held = Held(reading(replace(many(count), fields=(TASK.fields[0],)), path="l.json"), "")
    new = replace(many(count), fields=(TASK.fields[0], *many(count).fields))
    (found,) = judge(held, (reading(new),), Options())
    assert found.verdict.message.count("added `f") == 20
    assert found.verdict.message.endswith(end)


def test_other_machines():
    held = Held(reading(RING, path="l.json"), "")
    other = reading(LONGER, path="arm.o", target=ARM)
    assert judge(held, (other,), Options()) == []
    assert [each.verdict.outcome.value for each in judge(held, (other, reading(RING)), Options())] == ["kept"]
    assert [(each.origin, each.reason) for each in other_targets(held, (other, reading(RING)))] == [
        ("arm.o", "is for aarch64, and the snapshot l.json for x86_64")
    ]


@pytest.mark.parametrize(("chosen", "options", "names"), [
    (None, {}, {"ring", "task"}), (Chosen(("ring",)), {}, {"ring"}), (None, {"only": ("t*",)}, {"task"}),
])  # fmt: skip
def test_what_is_read(chosen, options, names):
    """What the snapshot was asked for, whatever else the rules leave out."""
    held = Held(reading(RING, TASK, chosen=chosen), "")
    wanted = Wanted(frozenset({"box"}), kernel=frozenset({"ring", "page"}), unless=(("task", bool), ("page", bool)))
    found = wanted_with_held(wanted, held, run_options(**options))
    assert found.names == {"box", *names}
    assert found.kernel == {"ring", "page"} - names
    assert found.unless == tuple(each for each in wanted.unless if each[0] not in names)


def test_a_random_order_has_no_held_layout():
    held = Held(reading(RING), "")
    with pytest.raises(UsageError, match="--snapshot needs the seed of a build that randomises layouts"):
        wanted_with_held(Wanted(), held, Options(randomised=Randomisation("gcc-full", None)))


def test_the_kind_judges_nothing_alone():
    with pytest.raises(CannotTell, match="struct ring is judged by its snapshot only"):
        HeldLayout().check(context(RING))
