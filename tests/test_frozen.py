"""Frozen classes with slots behave as the standard library makes them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from dataclasses import dataclass as standard
from dataclasses import field
from itertools import product
from typing import ClassVar

import pytest

from layoutlint.frozen import dataclass as ours
from tests.command import ROOT


def classes(dataclass):
    @dataclass(frozen=True, slots=True)
    class Point:
        """Two numbers and what is known of them."""

        kind: ClassVar[str] = "point"
        x: int
        y: int = 2
        seen: list[int] = field(default_factory=list)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

        @property
        def sum(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True, order=True)
    class One:
        """One value."""

        value: object

    @dataclass(frozen=True, slots=True)
    class Nothing:
        """No value."""

    @dataclass(frozen=True, slots=True, eq=False)
    class Itself:
        """Equal to itself alone."""

        value: int = 0

    @dataclass(frozen=True, slots=True)
    class Spelled:
        """Says itself how it reads."""

        value: int

        def __repr__(self) -> str:
            return f"<{self.value}>"

    return Point, One, Nothing, Itself, Spelled


THEIRS, OURS = classes(standard), classes(ours)


def matched(value):
    match value:
        case object(x=x, y=y):
            return x, y
        case object(value=only):
            return only
    return None


SAYINGS = [
    # what is asked of the classes; the answer, or what is raised
    lambda p, *_: repr(p(1)),
    lambda p, *_: repr(p(1, seen=[3], y=5)),
    lambda p, *_: (p(1, 2, [3]) == p(1, 2, [3]), p(1) == p(2), p(1) != p(1), p(1) == (1, 2, [])),
    lambda p, *_: hash(p(1)),
    lambda p, *_: p(1).seen is p(1).seen,
    lambda p, *_: p(-1),
    lambda p, *_: p(),
    lambda p, *_: p(1, z=2),
    lambda p, *_: p(1, 2, [], 4),
    lambda p, *_: p(1).sum,
    lambda p, *_: setattr(p(1), "x", 2),
    lambda p, *_: delattr(p(1), "x"),
    lambda p, *_: dataclasses.replace(p(1), y=7),
    lambda p, *_: dataclasses.replace(p(1), x=-7),
    lambda p, *_: dataclasses.asdict(p(1)),
    lambda p, *_: [(f.name, f.type, f.default) for f in dataclasses.fields(p)],
    lambda p, *_: (p.__slots__, p.__match_args__, p.kind, p.__doc__, p.__name__, p.__qualname__),
    lambda p, *_: hasattr(p(1), "__dict__"),
    lambda p, *_: [(q.name, q.kind, q.annotation) for q in inspect.signature(p).parameters.values()],
    lambda p, *_: p.__init__.__qualname__,
    lambda p, *_: (copy.copy(p(1)), copy.deepcopy(p(1, 2, [3]))),
    lambda p, *_: matched(p(4)),
    lambda _, o, *__: (o(1) == o(1), o(1) == o(2), hash(o(1)) == hash(o(1)), len({o(1), o(1), o(2)})),
    lambda _, o, *__: (o(1) < o(2), o(2) <= o(1), o(2) > o(1), o(2) >= o(2), sorted((o(3), o(1)))),
    lambda _, o, *__: o(1) < 1,
    lambda _, o, *__: hash(o([])),
    lambda p, o, *_: p(1) < p(2),
    lambda p, o, n, *_: (repr(n()), n() == n(), n() == o(1), hash(n()) == hash(n()), n(1)),
    lambda p, o, n, i, *_: (i(1) == i(1), hash(i(1)) == hash(i(2)), repr(i(1))),
    lambda *all_: repr(all_[-1](3)),
]


def answer(of, asked):
    try:
        return re.sub("0x[0-9a-f]+", "0x", repr(asked(*of)))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("asked", SAYINGS, ids=range(len(SAYINGS)))
def test_they_say_the_same(asked):
    assert answer(OURS, asked) == answer(THEIRS, asked)


@ours(frozen=True, slots=True)
class Sent:
    """What goes from one process to another."""

    x: int
    y: tuple[int, ...] = ()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_they_are_sent_to_other_processes(protocol):
    assert pickle.loads(pickle.dumps(Sent(1, (2, 3)), protocol)) == Sent(1, (2, 3))


@pytest.mark.parametrize("given", [{"frozen": frozen, "slots": slots} for frozen, slots in product((True, False), repeat=2)][1:])
def test_other_classes_are_the_standard_librarys(given):
    made = ours(**given)(type("Made", (), {"__annotations__": {"x": int}, "__doc__": "."}))
    assert made.__init__.__code__.co_filename == "<string>"
    assert (made.__dataclass_params__.frozen, made.__dataclass_params__.init) == (given["frozen"], True)


@pytest.mark.parametrize("asked", [field(init=False, default=1), field(repr=False), field(compare=False), field(kw_only=True), field(hash=False)])
def test_what_they_do_not_know_is_refused(asked):
    with pytest.raises(TypeError, match="use dataclasses"):
        ours(frozen=True, slots=True)(type("Made", (), {"__annotations__": {"x": int}, "x": asked}))


def test_every_module_uses_them():
    using = [path for path in (ROOT / "layoutlint").rglob("*.py") if "@dataclass(frozen=True, slots=True" in path.read_text()]
    assert len(using) > 20
    wrong = [path for path in using if re.search(r"^from dataclasses import .*\bdataclass\b", path.read_text(), re.M)]
    assert [str(path.relative_to(ROOT)) for path in wrong] == []
