"""How C spells types: around the name that is declared."""

from __future__ import annotations

import re
from typing import NamedTuple


class CType(NamedTuple):
    """The spelling of a C type, cut where a declared name would stand: `int (*` name `)(void)`.

    Base types are spelled as GCC's debug information does (`long unsigned int`), whatever the input.
    """

    left: str
    right: str = ""

    def __str__(self) -> str:
        return self.left + self.right

    def declare(self, name: str) -> str:
        """The declaration of `name` with this type, without the semicolon."""
        glue = "" if not name or self.left.endswith(("*", "(")) else " "
        return f"{self.left}{glue}{name}{self.right}"


_QUALIFIERS = ("const", "volatile", "restrict", "_Atomic")
_QUALIFIED_POINTER = re.compile(rf"\*((?: (?:{'|'.join(_QUALIFIERS)}))*)$")
_LEADING_QUALIFIERS = re.compile(rf"^(?:(?:{'|'.join(_QUALIFIERS)}) )*")


def pointer_to(pointee: CType) -> CType:
    """A pointer to `pointee`, with the parentheses that arrays and functions need."""
    if pointee.right.startswith(("[", "(")):
        return CType(f"{pointee.left} (*", ")" + pointee.right)
    star = "*" if pointee.left.endswith(("*", "(")) else " *"
    return CType(pointee.left + star, pointee.right)


def array_of(element: CType, count: int | None) -> CType:
    """An array of `count` elements; None spells a flexible array, `[]`."""
    return CType(element.left, f"[{'' if count is None else count}]" + element.right)


def function_of(result: CType, parameters: tuple[str, ...]) -> CType:
    """A function type; `parameters` are spelled types, `()` spells an unprototyped one."""
    return CType(result.left, f"({', '.join(parameters)})" + result.right)


def qualified(inner: CType, qualifier: str) -> CType:
    """`inner` with `const`, `volatile` or `restrict`: before a named type, behind a pointer's star.

    Several stand in one order, whatever the input's: compilers nest them as they come.
    """
    pointer = _QUALIFIED_POINTER.search(inner.left)
    if pointer is not None:
        words = _in_order((*pointer[1].split(), qualifier))
        return CType(" ".join((inner.left[: pointer.start(1)], *words)), inner.right)
    name = _LEADING_QUALIFIERS.sub("", inner.left)
    words = _in_order((*inner.left[: len(inner.left) - len(name)].split(), qualifier))
    return CType(" ".join((*words, name)), inner.right)


def unqualified(of: CType) -> CType:
    """A type without its own qualifiers; those of what it points to stay."""
    if "*" in of.left:
        return CType(_QUALIFIED_POINTER.sub("*", of.left), of.right)
    return CType(_LEADING_QUALIFIERS.sub("", of.left), of.right)


def _in_order(qualifiers: tuple[str, ...]) -> list[str]:
    return sorted(set(qualifiers), key=_QUALIFIERS.index)
