"""`#pragma pack` in the text of a file: libclang states that one is in force, and neither which nor where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_PRAGMA = re.compile(rb"#\s*pragma\s+pack\s*\(([^)]{0,400})\)|\b_Pragma\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(?:if|el|endif|include|import)", re.MULTILINE)

Pragma = tuple[int, bytes]
"""The offset of a `#pragma pack`, and what is in its parentheses without blanks; `?` for a `_Pragma`."""


def pragmas(text: bytes) -> tuple[Pragma, ...]:
    """Return the offset and text of each `#pragma pack` of a file; `?` for a `_Pragma`."""
    if b"ragma" not in text:
        return ()
    return tuple(
        (pragma.start(), b"?" if pragma[1] is None else b"".join(pragma[1].split()))
        for pragma in _PRAGMA.finditer(text)
    )


def may_hold(pragmas_in_file: Iterable[Pragma], offset: int) -> bool:
    """Return whether a `#pragma pack` may be in force at an offset, if all earlier ones are compiled."""
    stack: list[bytes] = []
    current = b""
    for at, text in pragmas_in_file:
        if at >= offset:
            break
        words = text.split(b",")
        if words[0] == b"push":
            stack.append(current)
            current = words[-1] if len(words) > 1 else current
        elif words[0] == b"pop":
            current = stack.pop() if stack else b""
        else:
            current = text
    return bool(current) or bool(stack)


def is_balanced(inside: Sequence[Pragma]) -> bool:
    """Return whether pragmas inside the braces of a struct leave in force what was in force before them.

    clang packs a struct by what is in force at its opening brace, and gcc at the closing one.
    """
    stack: list[bool] = []
    is_same = True
    for _, text in inside:
        words = text.split(b",")
        if words[0] == b"push":
            stack.append(is_same)
            is_same = is_same and len(words) == 1
        elif words[0] == b"pop" and len(words) == 1 and stack:
            is_same = stack.pop()
        else:
            return False
    return is_same and not stack


def stated_before(pragmas_in_file: Sequence[Pragma], text: bytes, offset: int) -> int | None:
    """Return the value that is in force at an offset in bytes, if the text states it; else None.

    It counts the pragmas that are compiled if the offset is: no directive between could leave them out.
    """
    stack: list[tuple[bytes, int | None]] = []
    current: int | None = None
    start = max((each.end() for each in _DIRECTIVE.finditer(text, 0, offset)), default=0)
    for _, words in (each for each in pragmas_in_file if start <= each[0] < offset):
        first, *rest = words.split(b",")
        label = rest[0] if rest and not rest[0].isdigit() else b""
        value = (rest or [first])[-1]
        if first == b"pop":
            while stack and label and stack[-1][0] != label:
                stack.pop()
            current = stack.pop()[1] if stack else None
        elif first == b"push":
            stack.append((label, current))
        elif not value.isdigit():
            current = None if value else 0
        current = int(value) if value.isdigit() else current
    return current
