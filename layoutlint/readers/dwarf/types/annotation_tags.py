"""Annotations in DWARF: clang's are children of the annotated entry, and GCC's are referred to by it.

DW_TAG_LLVM_annotation and DW_TAG_GNU_annotation come from `btf_decl_tag` attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from layoutlint.model.structs import ANNOTATION, Annotation
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types.decoder import declaration_source
from layoutlint.readers.dwarf.types.spelling import ARRAY, KEYWORDS, QUALIFIERS, TYPE

_MEMBER: Final = tag("member")
_LLVM_ANNOTATION: Final = 0x6000  # DW_TAG_LLVM_annotation, as LLVM's Dwarf.def has it since version 14
_GNU_ANNOTATION: Final = 0x6001  # DW_TAG_GNU_annotation, as GCC's dwarf2.def has it since version 16
_GNU_REFERENCE: Final = 0x2139  # DW_AT_GNU_annotation, likewise
_TEXT: Final = attribute("const_value")
_DECL_FILE: Final = attribute("decl_file")
_DECL_LINE: Final = attribute("decl_line")
_KIND: Final = "btf_decl_tag"
_MOST: Final = 100
"""Largest number of annotations of one entry, and of types between a member and its struct; more form a
circle."""


def has_annotations(sections: Sections) -> bool:
    """Return whether a file has annotations for layoutlint."""
    return sections.strings.find(ANNOTATION.encode()) >= 0


def read_annotations(
    unit: Unit, plan: Plan, values: Values, end: int, prefix: str = "", depth: int = 0
) -> Iterator[Annotation]:
    """Yield the annotations of a struct and of anonymous structs inside of it. Raises DwarfError.

    `end` is the end of its attributes.
    """
    if depth > _MOST:
        raise DwarfError("structs contain one another in a circle", end)
    yield from _entry_annotations(unit, plan, values, end, prefix.removesuffix("."))
    for member, member_values, member_end in unit.children(plan, end):
        if member.tag != _MEMBER:
            continue
        name = unit.text(member, member_values, NAME)
        path = prefix + (name or "")
        yield from _entry_annotations(unit, member, member_values, member_end, path.removesuffix("."))
        inner = _anonymous_struct(unit, member, member_values)
        if inner is not None:
            yield from read_annotations(*inner, f"{path}." if name else prefix, depth + 1)


def _entry_annotations(unit: Unit, plan: Plan, values: Values, end: int, path: str) -> Iterator[Annotation]:
    """Yield the annotations of one entry."""
    source = declaration_source(unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE))
    for text in (*_child_texts(unit, plan, end), *_referenced_texts(unit, plan, values)):
        if text.startswith(ANNOTATION):
            yield Annotation(path, text.removeprefix(ANNOTATION), source)


def _child_texts(unit: Unit, plan: Plan, end: int) -> Iterator[str]:
    for child, values, _ in unit.children(plan, end):
        if child.tag == _LLVM_ANNOTATION:
            yield _text(unit, child, values)


def _referenced_texts(unit: Unit, plan: Plan, values: Values) -> Iterator[str]:
    for _ in range(_MOST):
        target = unit.reference(plan, values, _GNU_REFERENCE)
        if target is None:
            return
        unit, plan, values, _ = _entry(*target)
        if plan.tag == _GNU_ANNOTATION:
            yield _text(unit, plan, values)
    raise DwarfError("annotations refer to one another in a circle")


def _text(unit: Unit, plan: Plan, values: Values) -> str:
    """Return the text of an annotation; empty for another kind (`btf_type_tag`)."""
    is_ours = unit.text(plan, values, NAME) == _KIND
    return (unit.text(plan, values, _TEXT) or "") if is_ours else ""


def _anonymous_struct(unit: Unit, plan: Plan, values: Values) -> tuple[Unit, Plan, Values, int] | None:
    """Return the anonymous struct that a member is declared with; None for other types."""
    for _ in range(_MOST):
        target = unit.reference(plan, values, TYPE)
        if target is None:
            return None
        unit, plan, values, end = _entry(*target)
        if plan.tag in KEYWORDS:
            return None if NAME in values else (unit, plan, values, end)
        if plan.tag != ARRAY and plan.tag not in QUALIFIERS:
            return None
    raise DwarfError("types contain one another in a circle")


def _entry(unit: Unit, position: int) -> tuple[Unit, Plan, Values, int]:
    plan, start = unit.entry(position)
    if plan is None:
        raise DwarfError("a reference to an entry that is none", position)
    values, end = unit.read(plan, start)
    return unit, plan, values, end
