"""Every call in a C source that makes objects, and what each says of where they start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Source
from layoutlint.readers.allocations.allocation import Allocation
from layoutlint.readers.allocations.allocators import MAKERS, Arguments, Making
from layoutlint.readers.allocations.c_text import blanked
from layoutlint.readers.allocations.declarations import Names, Unclear
from layoutlint.readers.allocations.expressions import Size, arguments, number, tokens

_HINTS = ("alloc", "KMEM_CACHE", "kmem_cache_create", "PER_CPU", "kmemdup")
"""One of them is in the name of every call, and looked for at the speed of memory."""
_ALIGNED = "cacheline"
_WORD = re.compile(r"\w+")
_OPEN = re.compile(r"\s*\(")
# A variable on lines of its own; attributes stand behind the name, or before it.
_VARIABLE = re.compile(
    r"^(?:(?:static|const|volatile)\s+){0,9}(?:struct|union)\s+(\w+)\s+(\w++)\s*((?:\[[^\]\n]*\]\s*){0,9})"
    r"(?:__\w+\s+){0,9}"
    r"(____cacheline_aligned(?:_in_smp)?|__cacheline_aligned(?:_in_smp)?|____cacheline_internodealigned_in_smp)"
    r"\s*(?:__\w++\s*)*[;=]",
    re.MULTILINE,
)


def find(text: str, file: str, wanted: Callable[[str], bool] | None = None) -> list[Allocation]:
    """The calls of a source in their order; those alone that make objects of `wanted` structs, or of all."""
    if not _named(text) and _ALIGNED not in text:
        return []
    code = blanked(text)
    found: list[Allocation] = []
    names = Names(code)
    line, reached = 1, 0
    for at, call, making in sorted((*_calls(code), *_variables(code)), key=lambda each: each[0]):
        line, reached = line + text.count("\n", reached, at), at
        told = _told(at, call, making, names, Source(file, line))
        if told is not None and (wanted is None or wanted(told.struct)):
            found.append(told)
    return found


_Found = tuple[int, str, Making]
"""Where a call stands, what it is called, and what it makes."""


def _named(text: str) -> list[tuple[int, str]]:
    """Where the names of calls stand, and the names."""
    found: dict[int, str] = {}
    for hint in _HINTS:
        at = text.find(hint)
        while at >= 0:
            start, end = at, at + len(hint)
            while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                start -= 1
            word = _WORD.match(text, start)
            end = word.end() if word is not None else end
            if text[start:end] in MAKERS:
                found[start] = text[start:end]
            at = text.find(hint, end)
    return list(found.items())


def _calls(code: str) -> Iterator[_Found]:
    for at, name in _named(code):
        opened = _OPEN.match(code, at + len(name))
        read = arguments(code, opened.end() - 1) if opened is not None else None
        making = MAKERS[name](Arguments(read[0], code, at)) if read is not None else None
        if making is not None:
            yield at, name, making


def _variables(code: str) -> Iterator[_Found]:
    for found in _VARIABLE.finditer(code) if _ALIGNED in code else ():
        dims = re.findall(r"\[([^\]]*)\]", found[3])
        count = None if not dims else number(tokens(dims[0])) or ANY if len(dims) == 1 else ANY
        yield found.start(), found[4], Making(Size(("struct", found[1]), count), "line")


def _told(at: int, call: str, making: Making, names: Names, source: Source) -> Allocation | None:
    """What a call says of a struct; None where its size is no struct's."""
    size = making.size
    if not size.operand:
        return Allocation("", call, source, None, problem=size.problem) if size.problem else None
    meant = names.meaning(size.operand, at)
    problem = size.problem or making.problem
    if meant is None:
        return None
    if isinstance(meant, Unclear):
        return Allocation("", call, source, None, problem=meant.reason)
    storage = None if problem else _storage(making, source)
    return Allocation(meant.name, call, source, storage, meant.is_typedef, making.details, problem)


def _storage(making: Making, source: Source) -> Storage:
    return Storage(making.word, source, making.align, None, making.size.count, making.has_constructor)
