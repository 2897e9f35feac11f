"""Arrays of which each thread writes an element of its own, as the C sources of an input show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from layoutlint.judgement.rule import Pack
from layoutlint.lint.pointed_arrays import is_pointer, pointed_arrays
from layoutlint.model.reading import AllocatedArray, Reading
from layoutlint.model.structs import Struct, fields_in_braces
from layoutlint.model.uses import words_of
from layoutlint.sources.source_uses.element_owners import ArrayName, ElementOwners
from layoutlint.sources.source_uses.functions import SourceFunctions
from layoutlint.sources.whole_program.phases import Phase, phase_of

_ENDS = re.compile(r"(?:^|_)(?:deinit|term|terminate|exit|fork)(?:_|$)")
"""In the words of functions that end a thread or a program, or begin another one."""


class ThreadElements:
    """What functions show on the arrays of an input: fields of structs, and variables."""

    def __init__(self, reading: Reading, packs: Iterable[Pack], functions: SourceFunctions) -> None:
        declared = (each.name for pack in packs for each in pack.known_functions if each.is_thread)
        self._reading, self._functions = reading, functions
        self._find_reason = cache(ElementOwners(functions, is_setup, tuple(declared)).reason)
        self._counts = Counter(name for struct in reading.structs for name in _array_names(struct))
        self._variables = {id(data) for data in reading.arrays}

    def reason(self, struct: Struct, name: str) -> str | None:
        """Return the code that shows that threads write elements of an array; None if none does."""
        if id(struct) in self._variables:
            file = struct.source.file if struct.source is not None else ""
            return self._find_reason(ArrayName(name, None, True, file)) if name == struct.name else None
        return self._find_reason(ArrayName(name, (struct.name, *struct.aliases), self._is_unique(name)))

    def pointed_arrays(self) -> Iterable[tuple[AllocatedArray, str]]:
        """Return the arrays behind pointers whose elements threads write, with the code that shows it."""
        typedefs = self._functions.find_typedef
        return pointed_arrays(self._reading, self._find_reason, self._is_unique, typedefs)

    def _is_unique(self, name: str) -> bool:
        return self._counts[name] == 1


def is_setup(function: str) -> bool:
    """Return whether a function runs before threads share an object, or after."""
    is_end = _ENDS.search(words_of(function)) is not None
    return is_end or phase_of(function) in (Phase.SETUP, Phase.TEARDOWN)


def _array_names(struct: Struct) -> set[str | None]:
    return {field.name for _, field in fields_in_braces(struct.fields) if field.dims or is_pointer(field)}
