"""Compile-time assertions in C on the groups of a struct, with Linux's macros (include/linux/cache.h)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint import escapes
from layoutlint.geometry import groups
from layoutlint.geometry.group_marks import Use
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, StructIntent
from layoutlint.kinds.group import MarkedGroup
from layoutlint.kinds.group_sides import combine_uses
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record


class GroupAssertion(Record, frozen=True):
    """The assertions on one group of fields."""

    struct: str
    aggregate: str
    group: str
    members: tuple[str, ...]
    size: int | None
    """The maximum in bytes; None if nothing states it."""
    left_out: tuple[str, ...] = ()
    """Members that `offsetof` cannot name: bit-fields, and patterns of names."""


def from_layout(layout: Layout) -> tuple[GroupAssertion, ...]:
    """Return assertions that pin every marked group of a struct as it is now."""
    struct = layout.struct
    return tuple(
        GroupAssertion(
            struct.name,
            struct.aggregate,
            group.name,
            tuple(place.path for place in group.members if not place.field.is_bitfield),
            group.size,
            tuple(place.path for place in group.members if place.field.is_bitfield),
        )
        for group in groups.find_groups(layout).complete
    )


def from_pack(pack: Pack) -> tuple[GroupAssertion, ...]:
    """Return the assertions for a rule file: members of its `group` rules, and accesses by side.

    A field with accesses by side belongs to the group with Linux's name: `STRUCT_read_tx`.
    """
    rules = [(rule.struct, rule.kind) for rule in pack.rules if isinstance(rule.kind, MarkedGroup)]
    stated = [
        _assertion(struct, kind.group, kind.members, kind.max)
        for struct, kind in rules
        if kind.group is not None and (kind.members or kind.max is not None)
    ]
    stated_groups = {(assertion.struct, assertion.group) for assertion in stated}
    implied = [assertion for intent in pack.structs for assertion in _declared_groups(intent)]
    return (
        *stated,
        *(assertion for assertion in implied if (assertion.struct, assertion.group) not in stated_groups),
    )


def _assertion(struct: str, group: str, members: tuple[str, ...], size: int | None) -> GroupAssertion:
    left_out = tuple(path for path in members if is_pattern(path))
    return GroupAssertion(
        struct, "struct", group, tuple(path for path in members if path not in left_out), size, left_out
    )


def _declared_groups(intent: StructIntent) -> Iterator[GroupAssertion]:
    by_path: dict[str, list[Access]] = {}
    for access in intent.accesses:
        by_path.setdefault(access.path, []).append(access)
    by_use: dict[Use, list[str]] = {}
    for path, accesses in by_path.items():
        use = combine_uses(accesses)
        if use is not None and use.sides <= {"tx", "rx"}:
            by_use.setdefault(use, []).append(path)
    for use in sorted(by_use, key=lambda use: (use.writes, use.name_suffix)):
        yield _assertion(intent.struct, f"{intent.struct}_{use.name_suffix}", tuple(by_use[use]), None)


def text(asserted: Iterable[GroupAssertion]) -> str:
    """Return the assertions as C statements, each group below a comment with its name."""
    return "\n".join(escapes.lines(_lines(assertion)) for assertion in asserted)


def _lines(assertion: GroupAssertion) -> Iterator[str]:
    group = f"{assertion.aggregate} {assertion.struct}, {assertion.group}"
    yield f"\t/* {assertion.group} */"
    for member in assertion.members:
        yield f"\tCACHELINE_ASSERT_GROUP_MEMBER({group}, {member});"
    if assertion.left_out:
        yield f"\t/* offsetof() cannot name: {', '.join(assertion.left_out).replace('*/', '* /')} */"
    if assertion.size is not None:
        yield f"\tCACHELINE_ASSERT_GROUP_SIZE({group}, {assertion.size});"
