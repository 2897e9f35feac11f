"""Uses of the size of the struct as a number: assertions, comparisons, cases."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.subject import Subject

_SIZEOF = re.compile(r"\bsizeof\s*\(\s*(?:const\s+|volatile\s+)*$")
_CASE = re.compile(r"\bcase\s*+\(?\s*+$")
_NUMBER = r"(?:0[xX][0-9a-fA-F]+|\d+|[A-Z_][A-Z0-9_]{2,})[uUlL]*"
"""A number, or a macro or an enumerator that is one."""
_COMPARED = re.compile(rf"\s*\)(?P<closed>[\s)]{{0,64}}+)[=!]=[\s(]*(?:{_NUMBER}\b(?!\s*\()|sizeof\b)")
_COMPARED_BEFORE = re.compile(rf"(?:\b{_NUMBER}|\bsizeof\s*\([^()]*\))[\s)]*[=!]=[\s(]*$")
_GROUPING = re.compile(r"(?<![\w)\]])\(\s*+$")
"""A parenthesis that is not that of a call."""
_ASSERTION = re.compile(
    r"\b(?>\w*?(?:ASSERT|CHECK|EXPECT|assert|check|expect))(?>\w*?(?:SIZE|size))\w*+\s*+\(\s*+(?:const\s++)?$"
)
_GIVEN = re.compile(rf"\s*,\s*{_NUMBER}\s*[,)]")
_NEAR = 160


def find(code: Code, subject: Subject) -> Iterator[OrderUse]:
    """Yield the places that need the size of the struct to be what it is."""
    text = code.text
    for start, end in code.types(subject.type_pattern):
        before = max(0, start - _NEAR)
        own = _SIZEOF.search(text, before, start)
        if own is not None:
            after = _COMPARED.match(text, end)
            is_after = after is not None and _is_grouped(text, own.start(), after["closed"].count(")"))
            is_case = _CASE.search(text, before, own.start()) is not None
            is_number = is_after or _COMPARED_BEFORE.search(text, before, own.start()) is not None
            is_use = is_case or is_number
        else:
            is_use = bool(_ASSERTION.search(text, before, start) and _GIVEN.match(text, end))
        if is_use:
            reason = "the size of the struct is compared with a number"
            yield OrderUse("size-assertion", code.path, code.line(start), reason, (), "size")


def _is_grouped(text: str, at: int, count: int) -> bool:
    """Return whether so many parentheses before a place group an expression, and are not those of calls."""
    for _ in range(count):
        opened = _GROUPING.search(text, max(0, at - _NEAR), at)
        if opened is None:
            return False
        at = opened.start()
    return True
