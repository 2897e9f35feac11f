"""Facts on alignments that compilers leave out of their debug information."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from layoutlint.model import possible_alignments
from layoutlint.model.structs import Unstated
from layoutlint.model.target import Target
from layoutlint.readers.c_tokens import number
from layoutlint.readers.dwarf.format.constants import attribute
from layoutlint.readers.dwarf.format.unit import Unit

_PRODUCER: Final = attribute("producer")
_GCC: Final = re.compile(r"GNU \S+ (\d+)\.")
_CLANG: Final = re.compile(r"clang version (\d+)")
# add_alignment_attribute() in gcc/dwarf2out.cc, since gcc 8.
_GCC_STATES: Final = 8
# getTypeAlignIfRequired() in clang/lib/CodeGen/CGDebugInfo.cpp: since 15 the resulting alignment of a struct,
# not the requested one; by 19 also after `#pragma pack`, but not under -fpack-struct, recorded nowhere.
_CLANG_STATES: Final = 15
_DWARF_5: Final = 5
# constructMemberDIE() in llvm/lib/CodeGen/AsmPrinter/DwarfUnit.cpp treats them as ordinary members before 16.
_CLANG_STATES_WHOLE: Final = 16

EVERYTHING: Final = (
    Unstated.PACKED | Unstated.PRAGMA | Unstated.ALIGNED | Unstated.ATOMIC | Unstated.WIDE | Unstated.TYPEDEF
)
"""What an unknown compiler leaves out."""
ANYTHING: Final = ~Unstated(0)


def find_unstated(unit: Unit, target: Target) -> Unstated | None:
    """Return what the compiler of a unit leaves out; None if the unit names none. Raises DwarfError."""
    plan, values, _ = unit.root
    if _PRODUCER not in values:
        return None
    text = unit.text(plan, values, _PRODUCER)
    if text is None or text.startswith("GNU AS "):
        return None
    left_out = omissions(text, unit.shape.version, target)
    if (
        left_out & Unstated.BIT_FIELDS
        and unit.shape.version < _DWARF_5
        and not unit.sections.states_alignment
    ):
        left_out |= Unstated.ALIGNED  # nothing is aligned, or -gstrict-dwarf hides it
    return left_out


@lru_cache(maxsize=64)
def omissions(text: str, version: int, target: Target) -> Unstated:
    """Return what a compiler, as DW_AT_producer names it, leaves out of DWARF of a version."""
    if (clang := _CLANG.search(text)) is not None:
        left_out = _clang_omissions(0 if text.startswith("Apple") else number(clang[1]))
        # LLVM writes atomic types, and the alignments of typedefs, since DWARF 5 (DwarfUnit.cpp).
        return left_out | (Unstated.ATOMIC | Unstated.TYPEDEF if version < _DWARF_5 else Unstated.NOTHING)
    gcc = _GCC.match(text)
    is_strict = "-gstrict-dwarf" in text and version < _DWARF_5
    if gcc is None or number(gcc[1]) < _GCC_STATES or is_strict:
        return EVERYTHING | (Unstated.ATOMIC_UNROUNDED if gcc is not None else Unstated.NOTHING)
    left_out = Unstated.PACKED | Unstated.PRAGMA | Unstated.ATOMIC_UNROUNDED
    if version < _DWARF_5:
        left_out |= Unstated.ATOMIC
    if "-malign-double" in text or "-mms-bitfields" in text:  # which align `double` to 8 as well
        left_out |= Unstated.WIDE
    if "-mms-bitfields" in text:
        left_out |= Unstated.UNNAMED
    if possible_alignments.strict(target) or "-mstrict-align" in text:
        left_out |= Unstated.AS_LARGE
    return left_out


def _clang_omissions(version: int) -> Unstated:
    left_out = Unstated.PACKED | Unstated.PRAGMA | Unstated.CAPPED
    left_out |= Unstated.BIT_FIELDS | Unstated.ATOMIC_ROUNDED | Unstated.WIDE
    if version < _CLANG_STATES:
        left_out |= Unstated.RAISED
    if version < _CLANG_STATES_WHOLE:
        left_out |= Unstated.WHOLE
    return left_out
