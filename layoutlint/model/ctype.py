"""Spelling of C types, split where a declared name stands."""

from __future__ import annotations

import re
from typing import NamedTuple

UNTAGGED = "{...}"
"""Stands for the members of a struct or union without a tag: `struct {...}`."""


class CType(NamedTuple):
    """The spelling of a C type, split where a declared name would stand: `int (*` name `)(void)`.

    Base types are spelled as in GCC's debug information (`long unsigned int`), whatever the input.
    """

    left: str
    right: str = ""

    def __str__(self) -> str:
        return self.left + self.right

    @property
    def is_untagged(self) -> bool:
        """Whether it, or the element of an array, is a struct or union without a tag."""
        return self.left.endswith(UNTAGGED)

    @property
    def head(self) -> str:
        """For a struct or union without a tag, its text before the members: `const struct {`."""
        return self.left.removesuffix(UNTAGGED) + "{"

    def declare(self, name: str) -> str:
        """Return the declaration of `name` with this type, without the semicolon."""
        glue = "" if not name or self.left.endswith(("*", "(")) else " "
        return f"{self.left}{glue}{name}{self.right}"


UNKNOWN = CType("??")
"""The type of a member whose declaration has an error."""

QUALIFIERS = ("const", "volatile", "restrict", "_Atomic")
_QUALIFIED_POINTER = re.compile(rf"\*((?: (?:{'|'.join(QUALIFIERS)}))*)$")
_LEADING_QUALIFIERS = re.compile(rf"^(?:(?:{'|'.join(QUALIFIERS)}) )*")


def pointer_to(pointee: CType) -> CType:
    """Return the type of a pointer to `pointee`, with the parentheses that arrays and functions need."""
    if pointee.right.startswith(("[", "(")):
        return CType(f"{pointee.left} (*", ")" + pointee.right)
    star = "*" if pointee.left.endswith(("*", "(")) else " *"
    return CType(pointee.left + star, pointee.right)


def array_of(element: CType, count: int | None) -> CType:
    """Return an array of `count` elements; None spells a flexible array, `[]`."""
    return CType(element.left, f"[{'' if count is None else count}]" + element.right)


def function_of(result: CType, parameters: tuple[str, ...]) -> CType:
    """Return a function type; `parameters` are spelled types, `()` spells an unprototyped function."""
    return CType(result.left, f"({', '.join(parameters)})" + result.right)


def add_qualifier(inner: CType, qualifier: str) -> CType:
    """Return `inner` with `const`, `volatile` or `restrict`: before a named type, after a pointer's star.

    Qualifiers are sorted, because compilers nest them in any order.
    """
    pointer = _QUALIFIED_POINTER.search(inner.left)
    if pointer is not None:
        words = _sort_qualifiers((*pointer[1].split(), qualifier))
        return CType(" ".join((inner.left[: pointer.start(1)], *words)), inner.right)
    name = _LEADING_QUALIFIERS.sub("", inner.left)
    words = _sort_qualifiers((*inner.left[: len(inner.left) - len(name)].split(), qualifier))
    return CType(" ".join((*words, name)), inner.right)


def strip_qualifiers(ctype: CType) -> CType:
    """Return a type without its own qualifiers; those of what it points to stay."""
    if "*" in ctype.left:
        return CType(_QUALIFIED_POINTER.sub("*", ctype.left), ctype.right)
    return CType(_LEADING_QUALIFIERS.sub("", ctype.left), ctype.right)


def _sort_qualifiers(qualifiers: tuple[str, ...]) -> list[str]:
    return sorted(set(qualifiers), key=QUALIFIERS.index)
