"""Languages of units: layoutlint reads C, and names the others in notes."""

from __future__ import annotations

from functools import cache
from typing import Final

# DW_LANG_C89, C, C99, C11, C17, C23 (dwarfstd.org/languages.html)
_C: Final = frozenset((0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E))
ASSEMBLERS: Final = frozenset((0x8001, 0x31))
_NAME_OF_C: Final = 3  # DW_LNAME_C of DWARF 6


def foreign(language: object, name: object) -> str | None:
    """Return the language that the attributes state; None for C, assembler, and no statement."""
    if language is None:
        return None if name is None or name == _NAME_OF_C else "another language"
    if language in _C or language in ASSEMBLERS:
        return None
    return _names().get(language, "another language")


@cache
def _names() -> dict[object, str]:
    from elftools.dwarf.enums import ENUM_DW_LANG  # brings pyelftools' parsers, which C alone does not need

    return {
        number: name.removeprefix("DW_LANG_").replace("_plus_plus", "++").replace("_", " ")
        for name, number in ENUM_DW_LANG.items()
    }
