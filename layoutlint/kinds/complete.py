"""Kind `complete`: the declarations cover all fields, and no missing ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from layoutlint.errors import did_you_mean
from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge_once
from layoutlint.model.record import Record

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


class Complete(Record, frozen=True):
    """Every field has a declaration in `[struct.NAME.fields]`, and every declaration a field."""

    name: ClassVar[str] = "complete"
    traits: ClassVar[Traits] = Traits()
    summary: ClassVar[str] = (
        "every field of the struct is declared, and every declared field is in the struct"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("except", "paths", "fields that need no declaration; missing ones are ignored"),
    )
    manual: ClassVar[Manual] = Manual(
        "Declarations are those of `[struct.NAME.fields]`. A field is declared by its path, by a pattern,\n"
        "by a field that contains it, or by all its parts. Fields without bytes need no declaration.\n"
        "Without declarations, the outcome is unknown.",
        "Find out who reads and who writes the new field, and declare it. Remove or rename declarations\n"
        "without a field.",
        "",
        Example(_BREAKS, Outcome.BROKEN, "1 field of 3 is not declared: `dropped`"),
        Example(_KEEPS, Outcome.KEPT, "all 2 fields are declared"),
    )

    except_: tuple[str, ...] = ()

    def check(self, context: Context) -> Verdict:
        """Return broken for undeclared fields, and for declarations without a field."""
        layout, struct = context.layout, context.layout.struct
        paths = dict.fromkeys(access.path for access in context.accesses)
        if not paths:
            raise CannotTell(f"no field of {struct.aggregate} {struct.name} is declared")
        places_by_path = {path: context.match_fields(path) for path in paths}
        declared = [place for places in places_by_path.values() for place in places]
        declared += [place for path in self.except_ for place in context.match_fields(path)]
        undeclared = tuple(_without_twins(layout.remaining_fields(declared), declared, layout))
        missing = [path for path in paths if not places_by_path[path] and not path.startswith(TYPE)]
        total = sum(not place.is_empty for place in layout.places)
        sentences = [
            *_describe_undeclared(undeclared, total),
            *_describe_missing(missing, places_by_path, layout),
        ]
        if not sentences:
            return judge_once(True, f"all {total} fields are declared", (), "")
        return judge_once(False, "; ".join(sentences), undeclared, _advice(undeclared, missing))


def _without_twins(places: tuple[Place, ...], declared: list[Place], layout: Layout) -> Iterator[Place]:
    """Yield the fields that are declared neither as members of a group nor as a group of declared members."""
    declared_members = {
        _without_group(place) for outer in declared for place in (outer, *_members(outer, layout))
    }
    own = {(place.path, place.bit_offset, place.bit_size) for place in declared}
    for place in places:
        parts = _members(place, layout)
        is_group = bool(parts) and all(_without_group(part) in own for part in parts)
        is_member = (place.path, place.bit_offset, place.bit_size) in declared_members
        if not (place.is_empty or is_group or is_member):
            yield place


def _members(place: Place, layout: Layout) -> tuple[Place, ...]:
    return layout.match(f"{place.path}.*") if place.field.members else ()


def _without_group(place: Place) -> tuple[str, int, int | None]:
    """Return the path of a group's member without the group, and its bits: `x` for `xy.x` of a
    `struct_group`.
    """
    *outer, name = place.path.split(".")
    return ".".join([*outer[:-1], name]), place.bit_offset, place.bit_size


def _describe_undeclared(undeclared: tuple[Place, ...], total: int) -> Iterator[str]:
    if undeclared:
        fields = f"{len(undeclared)} field{'s' if len(undeclared) > 1 else ''} of {total}"
        names = ", ".join(f"`{place.path}`" for place in undeclared)
        yield f"{fields} {'are' if len(undeclared) > 1 else 'is'} not declared: {names}"


def _describe_missing(
    missing: list[str], places_by_path: dict[str, tuple[Place, ...]], layout: Layout
) -> Iterator[str]:
    """Describe declarations without a field, each with a likely field: an inner field, or a new name.

    A field that is itself declared is no candidate for a new name.
    """
    if missing:
        inner_paths = [place.path for place in layout.walk_fields()]
        names = [
            place.path
            for place in layout.remaining_fields(
                place for places in places_by_path.values() for place in places
            )
        ]
        sentences = (
            f"`{path}`{_hint_inner_field(path, inner_paths) or did_you_mean(path, names)}" for path in missing
        )
        are = "1 declaration has" if len(missing) == 1 else f"{len(missing)} declarations have"
        yield f"{are} no field: {', '.join(sentences)}"


def _hint_inner_field(path: str, inner_paths: list[str]) -> str:
    matches = [inner for inner in inner_paths if inner.endswith(f".{path}")]
    return f" (there is `{matches[0]}`)" if len(matches) == 1 else ""


def _advice(undeclared: tuple[Place, ...], missing: list[str]) -> str:
    says = ["declare how the new fields are used"] if undeclared else []
    return " and ".join(
        [*says, *(["take out or rename the declarations without a field"] if missing else [])]
    )
