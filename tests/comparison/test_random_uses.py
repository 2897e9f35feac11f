"""Random uses of reserved members: `--may-use` accepts those that bits of gcc allow, and no others."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.harness.command import run
from tests.harness.tools import need
from tools.differential import changes
from tools.differential.changes import Maker, Member, Type

HIDDEN = re.compile(r"\bhide\d+(?:\.|$)")
"""The names that a macro numbers."""
USERS = (("char",), ("short",), ("int",), ("long",), ("char", "char"), ("char", "short"), ("int", "int"))


class Uses:
    """Structs with reserved members, and the members that use them."""

    def __init__(self, seed: int) -> None:
        self.maker = Maker(seed)
        self.chance = Random(seed)
        self.reserved: set[str] = set()
        self._number = 0

    def name(self) -> str:
        self._number += 1
        return f"n{self._number}"

    def case(self, number: int) -> changes.Case:
        """A struct whose reserved members are used once, or a second time."""
        old = self.maker.root(number)
        names = {name for type_ in changes.types_of(old.type) for name in self._reserve(type_)}
        self.reserved |= names
        if self.chance.random() < 0.3:
            self.use(old, names)
        new = copy.deepcopy(old)
        self.use(new, names)
        return changes.Case(old, new)

    def _reserve(self, type_: Type) -> Iterator[str]:
        """At most one member of a type with others."""
        scalars = [member.name for member in type_.members if member.name and member.of is None]
        if len(scalars) > 1 and self.chance.random() < 0.6:
            yield self.chance.choice(scalars)

    def use(self, root: changes.Root, names: set[str]) -> None:
        """Use a member, in one of the ways of macros and people, of which some are wrong."""
        places = [(type_, member) for type_ in changes.types_of(root.type) for member in type_.members if member.name in names]
        if places:
            type_, member = self.chance.choice(places)
            at = type_.members.index(member)
            type_.members[at : at + 1] = self._members_for(member)

    def _members_for(self, member: Member) -> list[Member]:
        users = [Member(self.name(), type=each) for each in self.chance.choice(USERS)]
        if member.bits is not None:
            users = [Member(self.name(), type=member.type, bits=max(1, member.bits // 2))]
        inside = Member("", Type("", False, users))
        hidden = Member(f"hide{self.name()[1:]}", Type("", False, [member]))
        shorter = [Member(self.name(), type=member.type, dims=(1,)), replace_length(member)] if member.dims[:1] > (1,) else users
        return self.chance.choice((
            [Member("", Type("", True, [inside, hidden]))], [Member("", Type("", True, [*users, member]))],
            [Member(self.name(), Type("", True, [*users, member]))], users, shorter, [*users, member], [Member("", type="int", bits=0)],
        ))  # fmt: skip


def replace_length(member: Member) -> Member:
    shorter = copy.copy(member)
    shorter.dims = (member.dims[0] - 1, *member.dims[1:])
    return shorter


def bits_of(truth: changes.Truth) -> dict[str, range]:
    """The bits of each path, without the names of a counter."""
    places = {path: range(first, first + count) for path, (first, count, _) in truth.bits.items()}
    return {HIDDEN.sub("", path): bits for path, bits in places.items() if not re.search(r"\bhide\d+$", path)}


def is_allowed(case: changes.Case, reserved: set[str]) -> bool:
    """Whether all but reserved members stay, and new ones have only bits that reserved ones had for themselves."""
    old, new = map(bits_of, case.truths)
    spare = {path for path in old if not reserved.isdisjoint(path.split("."))}
    around = {path for path in old if any(each.startswith(f"{path}.") for each in spare)}
    free = {bit for path in spare for bit in old[path]}
    free -= {bit for path in old.keys() - spare - around for bit in old[path]}
    changed = {path for path in old if new.get(path) != old[path]}
    added = {bit for path in new.keys() - old.keys() for bit in new[path]}
    return (
        (case.truths[0].size, case.truths[0].align) == (case.truths[1].size, case.truths[1].align)
        and changed <= spare
        and all(free.issuperset(new[path]) for path in new if new[path] != old.get(path))
        and all(free.issuperset(old[path]) for path in changed)
        and all(added.intersection(old[path]) for path in changed if len(new.get(path, ())) != len(old[path]))
    )


def write(folder: Path, cases: list[changes.Case]) -> None:
    for side in ("old", "new"):
        text = changes.Text()
        for case in cases:
            text.add(case.old if side == "old" else case.new)
        (folder / side).mkdir()
        (folder / side / "s.h").write_text(changes.PRELUDE + "\n".join(text.lines) + "\n")


@pytest.mark.parametrize(("seed", "count"), [(1, 20), pytest.param(2, 500, marks=pytest.mark.exhaustive)])
def test_uses(tmp_path, seed, count):
    need("gcc", "-c")
    uses = Uses(seed)
    cases = [uses.case(number) for number in range(count)]
    changes.find_truth(cases, tmp_path)
    write(tmp_path, cases)
    names = {path.rpartition(".")[2] for case in cases for path in case.truths[0].bits} & uses.reserved
    globs = [word for name in sorted(names) for word in ("--may-use", name)]
    assert run("snapshot", "old/s.h", "--struct", "r*", "--output", "l.json", *globs, cwd=tmp_path).returncode == 0
    report = json.loads(run("check", "new/s.h", "--snapshot", "l.json", "--no-packs", "--format", "json", cwd=tmp_path).stdout)
    allowed = {case.old.name for case in cases if is_allowed(case, uses.reserved)}
    assert {each["struct"] for each in report["kept"]} == allowed
    accepted = [each for each in report["kept"] if "accepted edits" in each["message"]]
    assert count / 8 < len(accepted) < count * 3 / 4
