"""Assembly that depends on the offsets of members."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.sources.order_uses.code import Code
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.subject import Subject

_ASSEMBLY = re.compile(r"\b(?:__)?asm(?:__)?\s*(?:(?:__)?(?:volatile|goto|inline)(?:__)?\s*)*\(")
_DISPLACEMENT = re.compile(r"\b(?:0x[0-9a-f]++|[1-9]\d*+)\s*+\(\s*+%|\[\s*+%\w++\s*+(?:,\s*+#?|\+)\s*+[1-9]")
_OBJECT = re.compile(r"\s*+(?:const\s++|volatile\s++){0,9}+(\w++)\s*+[;=,\[]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OPERAND = re.compile(r"\(\s*(\w+)\s*\)")


def find(code: Code, raw: str, subject: Subject) -> Iterator[OrderUse]:
    """Yield the assembly that gets an object in a register, and has an offset as a number."""
    objects: frozenset[str] | None = None
    for match in _ASSEMBLY.finditer(code.text) if "asm" in code.text else ():
        end = code.closings.get(match.end() - 1, match.end())
        if code.brace_around(match.start()) is None:
            before = match.start()
            while before and code.text[before - 1].isspace():
                before -= 1
            if before and code.text[before - 1] not in ";}":
                continue  # the name of a variable for the linker
            objects = _objects(code, subject) if objects is None else objects
            if not objects.isdisjoint(_WORD.findall(raw, match.start(), end)):
                text = "assembly outside of functions names an object"
                yield OrderUse("asm-offset", code.path, code.line(match.start()), text)
            continue
        if _DISPLACEMENT.search(raw, match.end(), end) is None:
            continue
        names = (operand[1] for operand in _OPERAND.finditer(code.text, match.end(), end))
        if any(subject.is_type(code.pointed_type(name, match.start())) for name in names):
            text = "assembly has an offset in the struct as a number"
            yield OrderUse("asm-offset", code.path, code.line(match.start()), text)


def _objects(code: Code, subject: Subject) -> frozenset[str]:
    """Return the variables that a text declares with the type of the struct."""
    matches = (_OBJECT.match(code.text, end) for _, end in code.types(subject.type_pattern))
    return frozenset(match[1] for match in matches if match is not None)
