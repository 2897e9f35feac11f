"""What compilers leave out of their debug information that decides on alignments."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from layoutlint.model import alignment
from layoutlint.model.structs import Unstated
from layoutlint.model.target import Target
from layoutlint.readers.dwarf.format.constants import at
from layoutlint.readers.dwarf.format.unit import Unit

_PRODUCER: Final = at("producer")
_GCC: Final = re.compile(r"GNU \S+ (\d+)\.")
_CLANG: Final = re.compile(r"clang version (\d+)")
# add_alignment_attribute() in gcc/dwarf2out.cc, since gcc 8.
_GCC_STATES: Final = 8
# getTypeAlignIfRequired() in clang/lib/CodeGen/CGDebugInfo.cpp: what structs have since 15, not what they ask
# for; and of those after `#pragma pack` as well, by 19, but not under -fpack-struct, which it names nowhere.
_CLANG_STATES: Final = 15
_DWARF_5: Final = 5
# constructMemberDIE() in llvm/lib/CodeGen/AsmPrinter/DwarfUnit.cpp takes them for ordinary members before 16.
_CLANG_STATES_WHOLE: Final = 16

EVERYTHING: Final = (
    Unstated.PACKED | Unstated.PRAGMA | Unstated.ALIGNED | Unstated.ATOMIC | Unstated.WIDE | Unstated.TYPEDEF
)
"""What a compiler leaves out of which nothing is known."""
ANYTHING: Final = ~Unstated(0)


def unstated(unit: Unit, target: Target) -> Unstated | None:
    """What the compiler of a unit leaves out; None where the unit names none. Raises Damaged."""
    plan, values, _ = unit.root
    if _PRODUCER not in values:
        return None
    text = unit.text(plan, values, _PRODUCER)
    if text is None or text.startswith("GNU AS "):
        return None
    found = of_producer(text, unit.shape.version, target)
    if found & Unstated.BIT_FIELDS and unit.shape.version < _DWARF_5 and not unit.sections.states_alignment:
        found |= Unstated.ALIGNED  # nothing is aligned, or -gstrict-dwarf leaves it out
    return found


@lru_cache(maxsize=64)
def of_producer(text: str, version: int, target: Target) -> Unstated:
    """What a compiler, as DW_AT_producer names it, leaves out of DWARF of a version."""
    if (clang := _CLANG.search(text)) is not None:
        found = _of_clang(0 if text.startswith("Apple") else int(clang[1]))
        # LLVM writes atomic types, and what typedefs are aligned to, from DWARF 5 on (DwarfUnit.cpp).
        return found | (Unstated.ATOMIC | Unstated.TYPEDEF if version < _DWARF_5 else Unstated.NOTHING)
    gcc = _GCC.match(text)
    is_strict = "-gstrict-dwarf" in text and version < _DWARF_5
    if gcc is None or int(gcc[1]) < _GCC_STATES or is_strict:
        return EVERYTHING | (Unstated.KEPT if gcc is not None else Unstated.NOTHING)
    found = Unstated.PACKED | Unstated.PRAGMA | Unstated.KEPT
    if version < _DWARF_5:
        found |= Unstated.ATOMIC
    if "-malign-double" in text or "-mms-bitfields" in text:  # with which `double` is aligned to 8 as well
        found |= Unstated.WIDE
    if "-mms-bitfields" in text:
        found |= Unstated.UNNAMED
    if alignment.strict(target) or "-mstrict-align" in text:
        found |= Unstated.AS_LARGE
    return found


def _of_clang(version: int) -> Unstated:
    found = Unstated.PACKED | Unstated.PRAGMA | Unstated.CAPPED
    found |= Unstated.BIT_FIELDS | Unstated.ROUNDED | Unstated.WIDE
    if version < _CLANG_STATES:
        found |= Unstated.RAISED
    if version < _CLANG_STATES_WHOLE:
        found |= Unstated.WHOLE
    return found
