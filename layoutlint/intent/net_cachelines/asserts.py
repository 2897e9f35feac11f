"""Assertions in C that hold a struct to its groups, as Linux has them (include/linux/cache.h)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layoutlint import escapes
from layoutlint.geometry import groups
from layoutlint.geometry.group_marks import Use
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack, StructIntent
from layoutlint.kinds.group import MarkedGroup
from layoutlint.kinds.group_sides import use_of
from layoutlint.model.paths import is_pattern


@dataclass(frozen=True, slots=True)
class Asserted:
    """What is asserted of one group."""

    struct: str
    aggregate: str
    group: str
    members: tuple[str, ...]
    size: int | None
    """Bytes, at most; None where nothing says how many."""
    left_out: tuple[str, ...] = ()
    """Members that `offsetof` cannot name: bit-fields, and patterns of names."""


def of_layout(layout: Layout) -> tuple[Asserted, ...]:
    """What the marks of a struct come to: every group as it is now."""
    struct = layout.struct
    return tuple(
        Asserted(
            struct.name,
            struct.aggregate,
            group.name,
            tuple(place.path for place in group.members if not place.field.is_bitfield),
            group.size,
            tuple(place.path for place in group.members if place.field.is_bitfield),
        )
        for group in groups.of(layout).whole
    )


def of_pack(pack: Pack) -> tuple[Asserted, ...]:
    """What a rule file comes to: the members of its `group` rules, and the accesses of sides in it.

    A field with such accesses belongs in the group that is called as Linux calls them: `STRUCT_read_tx`.
    """
    rules = [(rule.struct, rule.kind) for rule in pack.rules if isinstance(rule.kind, MarkedGroup)]
    stated = [
        _asserted(struct, kind.group, kind.members, kind.max)
        for struct, kind in rules
        if kind.group is not None and (kind.members or kind.max is not None)
    ]
    known = {(each.struct, each.group) for each in stated}
    declared = [each for intent in pack.structs for each in _declared(intent)]
    return (*stated, *(each for each in declared if (each.struct, each.group) not in known))


def _asserted(struct: str, group: str, members: tuple[str, ...], size: int | None) -> Asserted:
    left_out = tuple(path for path in members if is_pattern(path))
    return Asserted(
        struct, "struct", group, tuple(path for path in members if path not in left_out), size, left_out
    )


def _declared(intent: StructIntent) -> Iterator[Asserted]:
    by_path: dict[str, list[Access]] = {}
    for access in intent.accesses:
        by_path.setdefault(access.path, []).append(access)
    found: dict[Use, list[str]] = {}
    for path, accesses in by_path.items():
        use = use_of(accesses)
        if use is not None and use.sides <= {"tx", "rx"}:
            found.setdefault(use, []).append(path)
    for use in sorted(found, key=lambda use: (use.writes, use.called)):
        yield _asserted(intent.struct, f"{intent.struct}_{use.called}", tuple(found[use]), None)


def text(asserted: Iterable[Asserted]) -> str:
    """The assertions as statements of C, each group behind a comment with its name."""
    return "\n".join(escapes.lines(_lines(each)) for each in asserted)


def _lines(of: Asserted) -> Iterator[str]:
    called = f"{of.aggregate} {of.struct}, {of.group}"
    yield f"\t/* {of.group} */"
    for member in of.members:
        yield f"\tCACHELINE_ASSERT_GROUP_MEMBER({called}, {member});"
    if of.left_out:
        yield f"\t/* offsetof() cannot name: {', '.join(of.left_out).replace('*/', '* /')} */"
    if of.size is not None:
        yield f"\tCACHELINE_ASSERT_GROUP_SIZE({called}, {of.size});"
