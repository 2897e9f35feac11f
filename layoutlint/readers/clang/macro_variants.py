"""Units in which it is not known whether the compiler defines some macros: read with and without them.

`-march=native` and the like define a macro for each feature of a processor, and compilers differ in which. A
struct that is the same under all variants is the same for each compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import product
from typing import TYPE_CHECKING

from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.readers.clang import option_table
from layoutlint.readers.clang.flags import Doubt

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import ParsedUnit, Unit

_MOST_TOGETHER = 3
"""The most macros of which all combinations are read."""
_MOST = 12
"""The most macros that are tried: one with more takes as long as a crowd of units."""
_FEATURE = re.compile(option_table.FEATURE_MACROS)


def are_features(macros: Collection[str]) -> bool:
    """Return whether there are macros, few enough, that are 1 or not defined, for features of a processor."""
    return 0 < len(macros) <= _MOST and all(_FEATURE.fullmatch(macro) for macro in macros)


def settle(parsed: ParsedUnit, read: Callable[[Unit], ParsedUnit]) -> ParsedUnit:
    """Return a unit without the doubts that make no difference to a struct, or to anything else in it."""
    variants = [read(unit) for unit in _variants(parsed.unit, sorted(parsed.doubtful_macros))]
    first, *others = (_comparable(variant, parsed.unit) for variant in variants)
    if all(other == first for other in others):
        return first
    equal = {_key(struct): struct for struct in first.structs}
    for other in others:
        own = {_key(struct): struct for struct in other.structs}
        equal = {key: struct for key, struct in equal.items() if own.get(key) == struct}
    return replace(parsed, structs=tuple(equal.get(_key(struct), struct) for struct in parsed.structs))


def _variants(unit: Unit, macros: list[str]) -> Iterator[Unit]:
    """Yield a unit with some macros defined and others not.

    Of few macros, these are all combinations; of more, none and all, each alone, and each missing.
    """
    settled = "|".join(macros)
    doubts = tuple(Doubt(each.flag, rf"(?!(?:{settled})(?!\w))(?:{each.names})") for each in unit.doubts)
    for words in _choices(macros):
        yield replace(unit, flags=(*unit.flags, *words), doubts=doubts)


def _choices(macros: list[str]) -> Iterator[list[str]]:
    """Yield flags that define some macros, and not the others."""
    count = len(macros)
    is_few = count <= _MOST_TOGETHER
    for choice in product((False, True), repeat=count) if is_few else _extremes(count):
        pairs = zip(macros, choice, strict=True)
        yield [f"-D{macro}=1" if is_defined else f"-U{macro}" for macro, is_defined in pairs]


def _extremes(count: int) -> Iterator[tuple[bool, ...]]:
    for is_defined in (False, True):
        rest = (is_defined,) * count
        yield rest
        yield from ((*rest[:number], not is_defined, *rest[number + 1 :]) for number in range(count))


def _comparable(variant: ParsedUnit, unit: Unit) -> ParsedUnit:
    return replace(variant, unit=unit, doubtful_macros=frozenset())


def _key(struct: Struct) -> tuple[object, ...]:
    return struct.name, struct.aggregate, struct.source
