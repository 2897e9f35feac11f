"""Arrays that C sources allocate, for rules on arrays of some types."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.judgement.lookup import Structs
from layoutlint.judgement.rule import VARIABLES
from layoutlint.lint.allocation_notes import sources_of
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.variables import array_types
from layoutlint.model.reading import AllocatedArray, Reading, no_progress
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.sources.allocations import sources
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.user_space import PRIVATE


def with_allocated_arrays(inputs: list[JudgedInput], options: Options) -> list[JudgedInput]:
    """Return the inputs, with the arrays that their sources allocate if a rule is about such arrays.

    The sources are inputs that are C, and the source directories of the options.
    """
    return [_with_arrays(judged, options) if _is_about_arrays(judged) else judged for judged in inputs]


def _is_about_arrays(judged: JudgedInput) -> bool:
    return any(
        rule.struct == VARIABLES and array_types(rule) and judged.exclusion(rule.when) is None
        for rule in judged.rules
    )


def _with_arrays(judged: JudgedInput, options: Options) -> JudgedInput:
    reading = judged.reading
    paths = all_sources(reading, options.read.sources)
    if not paths:
        return judged
    declared = tuple(dict.fromkeys(a for pack in judged.packs for a in pack.allocators))
    calls, _ = sources.read(paths, None, 0, no_progress, declared)
    arrays = tuple(_arrays(reading, calls))
    return replace(judged, reading=replace(reading, allocated=arrays)) if arrays else judged


def all_sources(reading: Reading, below: tuple[str, ...]) -> tuple[str, ...]:
    """Return the C sources that an input is or names, the headers beside them, and source directories."""
    own = sources_of(reading)
    return tuple(dict.fromkeys((*own, *_headers_beside(own), *below)))


def _headers_beside(paths: Iterable[str]) -> Iterator[str]:
    """Yield the headers in the folders of C files: they have the typedefs that calls name."""
    for folder in dict.fromkeys(os.path.dirname(path) for path in paths if path.endswith(".c")):
        try:
            names = files.names_in(folder or ".")
        except OSError:
            continue
        yield from (os.path.join(folder, name) for name in names if name.endswith(".h"))


def _arrays(reading: Reading, calls: Iterable[Allocation]) -> Iterator[AllocatedArray]:
    """Yield the arrays of structs that an input defines; each call that allocates one."""
    structs = Structs(reading.structs)
    for call in calls:
        if call.storage is None or call.storage.array is None or not call.struct or call.call in PRIVATE:
            continue
        definitions = [s for s in structs.find(call.struct) if s.bit_size and s.problem is None]
        for struct in definitions[:1]:
            yield AllocatedArray(_label_struct(struct, call), call.storage)


def _label_struct(struct: Struct, call: Allocation) -> Struct:
    label = f"the array of {struct.name} that {call.call} allocates"
    return replace(struct, source=call.source, label=label)
