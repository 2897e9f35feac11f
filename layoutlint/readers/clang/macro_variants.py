"""Units in which it is not known whether the compiler defines some macros: read with and without them.

`-march=native` and the like define a macro for each feature of a processor, and compilers differ in which. A
struct that is the same under all variants is the same for each compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.readers.clang import option_table
from layoutlint.readers.clang.flags import Doubt

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import ParsedUnit, Unit

_MOST = 32
"""The most combinations of macros that are tried: with more, a unit would take over a minute."""
_FEATURE = re.compile(option_table.FEATURE_MACROS)
_METHOD = re.compile(option_table.EVALUATION_METHOD)


def are_features(macros: Collection[str]) -> bool:
    """Return whether there are macros whose values are known, few enough, for features of a processor."""
    choices = [_choices(macro) for macro in macros]
    return bool(choices) and all(choices) and prod(map(len, choices)) <= _MOST


def _choices(macro: str) -> tuple[str, ...]:
    """Return the flags for each value that a macro can have; none if these are not known."""
    if _METHOD.fullmatch(macro):
        return tuple(f"-D{macro}={value}" for value in option_table.EVALUATION_METHODS)
    return (f"-U{macro}", f"-D{macro}=1") if _FEATURE.fullmatch(macro) else ()


def settle(parsed: ParsedUnit, read: Callable[[Unit], ParsedUnit]) -> ParsedUnit:
    """Return a unit without the doubts that make no difference to a struct, or to anything else in it."""
    variants = (read(unit) for unit in _variants(parsed.unit, sorted(parsed.doubtful_macros)))
    first, *others = (replace(each, unit=parsed.unit, doubtful_macros=frozenset()) for each in variants)
    if all(other == first for other in others):
        return first
    return replace(
        parsed,
        structs=_settle_each(parsed.structs, first.structs, [other.structs for other in others]),
        arrays=_settle_each(parsed.arrays, first.arrays, [other.arrays for other in others]),
    )


def _settle_each(
    doubtful: tuple[Struct, ...], first: tuple[Struct, ...], others: list[tuple[Struct, ...]]
) -> tuple[Struct, ...]:
    """Return structs, or arrays, without the doubts if they are the same in all variants."""
    equal = _by_place(first)
    for other in others:
        own = _by_place(other)
        equal = {place: some for place, some in equal.items() if own.get(place) == some}
    settled = (equal.get(_place(struct), [struct]) for struct in doubtful)
    return tuple(some[0] if len(some) == 1 else old for some, old in zip(settled, doubtful, strict=True))


def _variants(unit: Unit, macros: list[str]) -> Iterator[Unit]:
    """Yield a unit with some macros defined and others not, in all combinations."""
    settled = "|".join(macros)
    doubts = tuple(Doubt(each.flag, rf"(?!(?:{settled})(?!\w))(?:{each.names})") for each in unit.doubts)
    for words in product(*map(_choices, macros)):
        yield replace(unit, flags=(*unit.flags, *words), doubts=doubts)


def _by_place(structs: tuple[Struct, ...]) -> dict[tuple[object, ...], list[Struct]]:
    by_place: dict[tuple[object, ...], list[Struct]] = {}
    for struct in structs:
        by_place.setdefault(_place(struct), []).append(struct)
    return by_place


def _place(struct: Struct) -> tuple[object, ...]:
    """Return what tells a struct from others of the unit, as far as a macro has not made two in one line."""
    return struct.name, struct.aggregate, struct.source
