"""Fields that code changes only together, as the C sources of an input show."""

from __future__ import annotations

from collections import Counter
from functools import cache

from layoutlint.judgement.context import Companions
from layoutlint.lint.allocated_arrays import all_sources
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Struct, fields_in_braces
from layoutlint.sources.allocations import sources
from layoutlint.sources.source_uses.field_uses import FieldName, FieldUses
from layoutlint.sources.source_uses.functions import SourceFunctions


def source_functions(reading: Reading, read: ReadOptions) -> SourceFunctions | None:
    """Return the functions in the sources of an input and those below folders; None without any source."""
    texts = {each.path: each.text for each in read.texts}
    own = (reading.path,) if reading.path in texts else ()
    paths = all_sources(reading, read.sources)
    if not (own or paths):
        return None
    return SourceFunctions(dict.fromkeys((*own, *sources.source_files(paths))), texts)


def companions(reading: Reading, functions: SourceFunctions) -> Companions:
    """Return what functions show on the fields of an input."""
    uses = FieldUses(functions)
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
