"""Arrays of which each thread writes an element of its own, as the C sources of an input show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from layoutlint.inference.phases import Phase, phase_of
from layoutlint.judgement.context import Owners
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct, fields_in_braces
from layoutlint.model.uses import words_of
from layoutlint.readers.element_owners import ArrayName, ElementOwners
from layoutlint.readers.source_functions import SourceFunctions

_ENDS = re.compile(r"(?:^|_)(?:deinit|term|terminate|exit|fork)(?:_|$)")
"""In the words of functions that end a thread or a program, or begin another one."""


def owners(reading: Reading, packs: Iterable[Pack], functions: SourceFunctions) -> Owners:
    """Return what functions show on the arrays of an input: fields of structs, and variables."""
    declared = (each.name for pack in packs for each in pack.known_functions if each.is_thread)
    elements = ElementOwners(functions, is_setup, tuple(declared))
    counts = Counter(name for struct in reading.structs for name in _array_names(struct))
    variables = {id(data) for data in reading.arrays}
    reason = cache(elements.reason)

    def find_owners(struct: Struct, field: str) -> str | None:
        if id(struct) in variables:
            file = struct.source.file if struct.source is not None else ""
            return reason(ArrayName(field, None, True, file)) if field == struct.name else None
        structs = (struct.name, *struct.aliases)
        return reason(ArrayName(field, structs, counts[field] == 1))

    return find_owners


def is_setup(function: str) -> bool:
    """Return whether a function runs before threads share an object, or after."""
    is_end = _ENDS.search(words_of(function)) is not None
    return is_end or phase_of(function) in (Phase.SETUP, Phase.TEARDOWN)


def _array_names(struct: Struct) -> set[str | None]:
    return {field.name for _, field in fields_in_braces(struct.fields) if field.dims}
