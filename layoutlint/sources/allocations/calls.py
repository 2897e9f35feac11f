"""Search for all calls in a C source that make objects, and where the objects start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from layoutlint.model.storage import ANY, Allocator, Storage
from layoutlint.model.structs import Source
from layoutlint.readers.c_tokens import blank_out
from layoutlint.sources.allocations import allocators, user_space
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.allocators import Arguments, Maker, Making
from layoutlint.sources.allocations.declarations import Names, Unclear
from layoutlint.sources.allocations.expressions import Size, number, tokens
from layoutlint.sources.c_text import arguments

_MAKERS = {**allocators.MAKERS, **user_space.MAKERS}
_HINTS = (
    *("alloc", "KMEM_CACHE", "kmem_cache_create", "PER_CPU", "kmemdup"),
    *("memalign", "g_new", "g_try_new", "g_renew", "g_slice_new", "Alloc", "ShmemInitStruct"),
)
"""The name of every call contains one of these, which `str.find` locates fast."""
_ALIGNED = "cacheline"
_WORD = re.compile(r"\w+")
_OPEN = re.compile(r"\s*\(")
# A variable on lines of its own; attributes follow the name, or precede it.
_VARIABLE = re.compile(
    r"^(?:(?:static|const|volatile)\s+){0,9}(?:struct|union)\s+(\w+)\s+(\w++)\s*((?:\[[^\]\n]*\]\s*){0,9})"
    r"(?:__\w+\s+){0,9}"
    r"(____cacheline_aligned(?:_in_smp)?|__cacheline_aligned(?:_in_smp)?|____cacheline_internodealigned_in_smp)"
    r"\s*(?:__\w++\s*)*[;=]",
    re.MULTILINE,
)


def find(
    text: str,
    file: str,
    wanted: Callable[[str], bool] | None = None,
    declared: tuple[Allocator, ...] = (),
) -> list[Allocation]:
    """Return the allocations of a source in their order, limited to those of `wanted` structs if given.

    `declared` are functions of the project that allocate.
    """
    makers = {**_MAKERS, **user_space.makers_of(declared)} if declared else _MAKERS
    hints = _HINTS + tuple(f.name for f in declared if not any(hint in f.name for hint in _HINTS))
    if not _call_names(text, makers, hints) and _ALIGNED not in text:
        return []
    code = blank_out(text)
    allocations: list[Allocation] = []
    names = Names(code)
    line, previous = 1, 0
    candidates = (*_calls(code, makers, hints), *_variables(code))
    for at, call, making in sorted(candidates, key=lambda candidate: candidate[0]):
        line, previous = line + text.count("\n", previous, at), at
        allocation = _allocation(at, call, making, names, Source(file, line))
        if allocation is not None and (wanted is None or wanted(allocation.struct)):
            allocations.append(allocation)
    return allocations


_Candidate = tuple[int, str, Making]
"""Offset of a call, its name, and what it makes."""


def _call_names(text: str, makers: Mapping[str, Maker], hints: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return offsets and names of calls that can allocate."""
    names: dict[int, str] = {}
    for hint in hints:
        at = text.find(hint)
        while at >= 0:
            start, end = at, at + len(hint)
            while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                start -= 1
            word = _WORD.match(text, start)
            end = word.end() if word is not None else end
            if text[start:end] in makers:
                names[start] = text[start:end]
            at = text.find(hint, end)
    return list(names.items())


def _calls(code: str, makers: Mapping[str, Maker], hints: tuple[str, ...]) -> Iterator[_Candidate]:
    for at, name in _call_names(code, makers, hints):
        parenthesis = _OPEN.match(code, at + len(name))
        parsed = arguments(code, parenthesis.end() - 1) if parenthesis is not None else None
        making = makers[name](Arguments(parsed[0], code, at)) if parsed is not None else None
        if making is not None:
            yield at, name, making


def _variables(code: str) -> Iterator[_Candidate]:
    for variable in _VARIABLE.finditer(code) if _ALIGNED in code else ():
        dims = re.findall(r"\[([^\][]*+)\]", variable[3])
        count = None if not dims else number(tokens(dims[0])) or ANY if len(dims) == 1 else ANY
        yield variable.start(), variable[4], Making(Size(("struct", variable[1]), count), "line")


def _allocation(at: int, call: str, making: Making, names: Names, source: Source) -> Allocation | None:
    """Return the allocation that a call makes; None if its size is no struct's."""
    size = making.size
    if not size.operand:
        return Allocation("", call, source, None, problem=size.problem) if size.problem else None
    meaning = names.meaning(size.operand, at)
    problem = size.problem or making.problem
    if meaning is None:
        return None
    if isinstance(meaning, Unclear):
        return Allocation("", call, source, None, problem=meaning.reason)
    storage = None if problem else _storage(making, source)
    return Allocation(meaning.name, call, source, storage, meaning.is_typedef, making.details, problem)


def _storage(making: Making, source: Source) -> Storage:
    return Storage(making.word, source, making.align, None, making.size.count, making.has_constructor)
