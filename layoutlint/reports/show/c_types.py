"""Types and declarations as pahole spells them."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field

_ADJACENT_STARS = re.compile(r"\*(?=\*)")
_QUALIFIED_POINTEE = re.compile(r"\b((?:const|volatile) (?!\*)[\w ]*\w) (?=[*(])")
_QUALIFIED_PARAMETER = re.compile(r"\b((?:const|volatile) [\w ]*\w)(?=[,)])")
_NUMBERED = re.compile(r"(?:^|\D)(8|16|32|64)(?:_t)?$")

_LONGEST = 4096
"""Characters of a type that is respaced; only damaged inputs have longer ones."""

# Bytes in the storage unit of a bit-field, by the spelling of its type (System V psABI).
_UNITS = {
    "char": 1, "signed char": 1, "unsigned char": 1, "_Bool": 1, "bool": 1, "u_char": 1,
    "short int": 2, "short unsigned int": 2, "u_short": 2, "ushort": 2,
    "int": 4, "unsigned int": 4, "uint": 4, "u_int": 4,
    "long int": 8, "long unsigned int": 8, "long long int": 8, "long long unsigned int": 8, "ulong": 8,
}  # fmt: skip


class Declaration(NamedTuple):
    """A declaration in two columns: the type, and the declarator without the semicolon."""

    type: str
    name: str


def declaration(kind: CType, name: str) -> Declaration:
    """Declare `name` with a type: `void` and `(*name)(int)` for a pointer to a function."""
    prefix, after = add_blanks(kind.left), add_blanks(kind.right)
    paren = prefix.rfind("(*")
    if paren < 0:
        return Declaration(prefix, name + after)
    glue = "" if prefix.endswith(("*", "(")) else " "
    return Declaration(prefix[:paren].rstrip(), f"{prefix[paren:]}{glue}{name}{after}")


def add_blanks(text: str) -> str:
    """Return a type with pahole's blanks: one between stars, and one more after a qualified name."""
    if len(text) > _LONGEST:
        return text
    text = _QUALIFIED_POINTEE.sub(r"\1  ", _ADJACENT_STARS.sub("* ", text))
    return _QUALIFIED_PARAMETER.sub(r"\1 ", text)


def unit_size(member: Field, pointer_size: int) -> int:
    """Return the bytes in the storage unit of a bit-field.

    Inputs do not state it: it is taken from the spelling of the type, or else is the smallest unit that
    holds the field.
    """
    name = member.type.left.removeprefix("const ").removeprefix("volatile ")
    if name.startswith("enum "):
        return 4
    if name in _UNITS:
        return pointer_size if name in ("long int", "long unsigned int", "ulong") else _UNITS[name]
    numbered = _NUMBERED.search(name)
    if numbered is not None:
        return int(numbered[1]) // 8
    return _smallest_unit(member)


def _smallest_unit(member: Field) -> int:
    size = 1
    first, last = member.bit_offset, member.bit_offset + max(member.bit_size or 1, 1) - 1
    while size < 8 and first // (size * 8) != last // (size * 8):
        size *= 2
    return size
