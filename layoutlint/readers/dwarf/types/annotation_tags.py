"""Annotations in DWARF: entries of clang below what they are at, and of GCC that what they are at refers to.

DW_TAG_LLVM_annotation and DW_TAG_GNU_annotation are what `btf_decl_tag` attributes become.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from layoutlint.model.structs import ANNOTATION, Annotation
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import at, tag
from layoutlint.readers.dwarf.format.forms import Damaged
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types.decoder import declared_at
from layoutlint.readers.dwarf.types.spelling import ARRAY, KEYWORDS, QUALIFIERS, TYPE

_MEMBER: Final = tag("member")
_BELOW: Final = 0x6000  # DW_TAG_LLVM_annotation, as LLVM's Dwarf.def has it since version 14
_BESIDE: Final = 0x6001  # DW_TAG_GNU_annotation, as GCC's dwarf2.def has it since version 16
_REFERRED: Final = 0x2139  # DW_AT_GNU_annotation, likewise
_TEXT: Final = at("const_value")
_DECL_FILE: Final = at("decl_file")
_DECL_LINE: Final = at("decl_line")
_KIND: Final = "btf_decl_tag"
_MOST: Final = 100
"""Annotations of one entry, and types between a member and its struct: more go in a circle."""


def mentioned(sections: Sections) -> bool:
    """Whether a file has annotations that are ours."""
    return sections.strings.find(ANNOTATION.encode()) >= 0


def of(
    unit: Unit, plan: Plan, values: Values, behind: int, prefix: str = "", depth: int = 0
) -> Iterator[Annotation]:
    """Those of a struct and of what is written inside of it; `behind` is behind its attributes.

    Raises Damaged.
    """
    if depth > _MOST:
        raise Damaged("structs contain one another in a circle", behind)
    yield from _at(unit, plan, values, behind, prefix.removesuffix("."))
    for member, of_member, below in unit.children(plan, behind):
        if member.tag != _MEMBER:
            continue
        name = unit.text(member, of_member, NAME)
        path = prefix + (name or "")
        yield from _at(unit, member, of_member, below, path.removesuffix("."))
        inner = _inside(unit, member, of_member)
        if inner is not None:
            yield from of(*inner, f"{path}." if name else prefix, depth + 1)


def _at(unit: Unit, plan: Plan, values: Values, behind: int, path: str) -> Iterator[Annotation]:
    """The annotations of one entry."""
    source = declared_at(unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE))
    for text in (*_below(unit, plan, behind), *_referred(unit, plan, values)):
        if text.startswith(ANNOTATION):
            yield Annotation(path, text.removeprefix(ANNOTATION), source)


def _below(unit: Unit, plan: Plan, behind: int) -> Iterator[str]:
    for child, values, _ in unit.children(plan, behind):
        if child.tag == _BELOW:
            yield _text(unit, child, values)


def _referred(unit: Unit, plan: Plan, values: Values) -> Iterator[str]:
    for _ in range(_MOST):
        target = unit.reference(plan, values, _REFERRED)
        if target is None:
            return
        unit, plan, values, _ = _entry(*target)
        if plan.tag == _BESIDE:
            yield _text(unit, plan, values)
    raise Damaged("annotations refer to one another in a circle")


def _text(unit: Unit, plan: Plan, values: Values) -> str:
    """What an annotation says; empty for one of another kind, `btf_type_tag`."""
    is_ours = unit.text(plan, values, NAME) == _KIND
    return (unit.text(plan, values, _TEXT) or "") if is_ours else ""


def _inside(unit: Unit, plan: Plan, values: Values) -> tuple[Unit, Plan, Values, int] | None:
    """The struct without a name that a member is declared with."""
    for _ in range(_MOST):
        target = unit.reference(plan, values, TYPE)
        if target is None:
            return None
        unit, plan, values, behind = _entry(*target)
        if plan.tag in KEYWORDS:
            return None if NAME in values else (unit, plan, values, behind)
        if plan.tag != ARRAY and plan.tag not in QUALIFIERS:
            return None
    raise Damaged("types contain one another in a circle")


def _entry(unit: Unit, position: int) -> tuple[Unit, Plan, Values, int]:
    plan, start = unit.entry(position)
    if plan is None:
        raise Damaged("a reference to an entry that is none", position)
    values, behind = unit.read(plan, start)
    return unit, plan, values, behind
