"""Kind `complete`: what is declared of the fields is about all of them, and about no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from layoutlint.errors import did_you_mean
from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, settle

_BREAKS = """\
struct stats {
    long packets;
    long limit;
    long dropped;       /* added since */
};
"""
_KEEPS = """\
struct stats {
    long packets;
    long limit;
};
"""


@dataclass(frozen=True, slots=True)
class Complete:
    """Every field has a declaration in `[struct.NAME.fields]`, and every declaration there a field."""

    name: ClassVar[str] = "complete"
    traits: ClassVar[Traits] = Traits()
    summary: ClassVar[str] = (
        "every field of the struct is declared, and every declared field is in the struct"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("except", "paths", "fields that need no declaration; those that the struct lacks are ignored"),
    )
    manual: ClassVar[Manual] = Manual(
        "Declarations are those of `[struct.NAME.fields]`, such as an imported table of Linux's\n"
        "documentation. A field is declared by its path, by a pattern, by the path of a field that\n"
        "contains it, or by all its parts. A field with two paths, such as a member of Linux's\n"
        "`struct_group`, is declared by either. Fields without bytes need no declaration. The base does\n"
        "not matter. Without any declaration, the outcome is unknown.",
        "Ask who reads and who writes the new field, and declare it. Remove or rename declarations without\n"
        "a field.",
        "",
        Example(_BREAKS, Outcome.BROKEN, "1 field of 3 is not declared: `dropped`"),
        Example(_KEEPS, Outcome.KEPT, "all 2 fields are declared"),
    )

    except_: tuple[str, ...] = ()

    def check(self, context: Context) -> Verdict:
        """Broken by fields that are not declared, and by declarations without a field."""
        layout, struct = context.layout, context.layout.struct
        paths = dict.fromkeys(access.path for access in context.accesses)
        if not paths:
            raise CannotTell(f"no field of {struct.aggregate} {struct.name} is declared")
        found = {path: context.match_fields(path) for path in paths}
        known = [place for places in found.values() for place in places]
        known += [place for path in self.except_ for place in context.match_fields(path)]
        left = tuple(_but_twins(layout.remaining_fields(known), known, layout))
        lost = [path for path in paths if not found[path] and not path.startswith(TYPE)]
        total = sum(not place.is_empty for place in layout.places)
        says = [*_undeclared(left, total), *_without_field(lost, found, layout)]
        if not says:
            return settle(True, f"all {total} fields are declared", (), "")
        return settle(False, "; ".join(says), left, _advice(left, lost))


def _but_twins(left: tuple[Place, ...], known: list[Place], layout: Layout) -> Iterator[Place]:
    """The fields that are not declared as members of a group, or as the group of declared members."""
    declared = {_without_group(place) for outer in known for place in (outer, *_members(outer, layout))}
    own = {(place.path, place.bit_offset, place.bit_size) for place in known}
    for place in left:
        parts = _members(place, layout)
        is_group = bool(parts) and all(_without_group(part) in own for part in parts)
        is_member = (place.path, place.bit_offset, place.bit_size) in declared
        if not (place.is_empty or is_group or is_member):
            yield place


def _members(place: Place, layout: Layout) -> tuple[Place, ...]:
    return layout.match(f"{place.path}.*") if place.field.members else ()


def _without_group(place: Place) -> tuple[str, int, int | None]:
    """What a member of a group is called without it, and its bits: `x` for `xy.x` of a `struct_group`."""
    *outer, name = place.path.split(".")
    return ".".join([*outer[:-1], name]), place.bit_offset, place.bit_size


def _undeclared(left: tuple[Place, ...], total: int) -> Iterator[str]:
    if left:
        fields = f"{len(left)} field{'s' if len(left) > 1 else ''} of {total}"
        names = ", ".join(f"`{place.path}`" for place in left)
        yield f"{fields} {'are' if len(left) > 1 else 'is'} not declared: {names}"


def _without_field(lost: list[str], found: dict[str, tuple[Place, ...]], layout: Layout) -> Iterator[str]:
    """The declarations without a field, each with what may be meant: a field of a field, or a new name.

    A field that is declared itself was not renamed.
    """
    if lost:
        deep = [place.path for place in layout.expanded()]
        names = [
            place.path
            for place in layout.remaining_fields(place for places in found.values() for place in places)
        ]
        told = (f"`{path}`{_inside(path, deep) or did_you_mean(path, names)}" for path in lost)
        are = "1 declaration has" if len(lost) == 1 else f"{len(lost)} declarations have"
        yield f"{are} no field: {', '.join(told)}"


def _inside(path: str, deep: list[str]) -> str:
    found = [inner for inner in deep if inner.endswith(f".{path}")]
    return f" (there is `{found[0]}`)" if len(found) == 1 else ""


def _advice(left: tuple[Place, ...], lost: list[str]) -> str:
    says = ["declare how the new fields are used"] if left else []
    return " and ".join([*says, *(["take out or rename the declarations without a field"] if lost else [])])
