"""Fields that code changes only together, as the C sources of an input show."""

from __future__ import annotations

from collections import Counter
from functools import cache

from layoutlint.judgement.context import Companions
from layoutlint.lint.allocated_arrays import all_sources
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct, fields_in_braces
from layoutlint.readers.allocations import sources
from layoutlint.readers.field_uses import FieldName, FieldUses


def companions(reading: Reading, below: tuple[str, ...]) -> Companions | None:
    """Return what the sources of an input, and those below folders, show; None without any."""
    paths = all_sources(reading, below)
    if not paths:
        return None
    uses = FieldUses(sources.source_files(paths))
    counts = Counter(name for struct in reading.structs for name in _field_names(struct))

    @cache
    def is_always_with(structs: tuple[str, ...], field: str, other: str) -> bool:
        one, two = (FieldName(name, structs, counts[name] == 1) for name in (field, other))
        return uses.is_always_with(one, two)

    def are_companions(struct: Struct, a: str, b: str) -> bool:
        structs = (struct.name, *struct.aliases)
        return a != b and (is_always_with(structs, a, b) or is_always_with(structs, b, a))

    return are_companions


def _field_names(struct: Struct) -> set[str | None]:
    return {field.name for _, field in fields_in_braces(struct.fields)}
