"""The errors that a changed text makes in the C sources that use a struct, such as assertions that fail."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import InputText, ReadOptions
from layoutlint.model.record import replace
from layoutlint.readers.c_tokens import number
from layoutlint.readers.clang import diagnostics, limits, parse
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Shared
from layoutlint.sources.bodies import shared_parses, sources, trees
from layoutlint.workers.pool import number_for

_OPTIONS = 0x200
"""CXTranslationUnit_KeepGoing: with function bodies."""
_MOST_UNITS = 300
_BYTES_EACH = 1 << 23
_ERROR = re.compile(r"(.*?):(\d+):\d+: (?:fatal )?error: (.*)", re.DOTALL)


class Problem(NamedTuple):
    """An error in a source."""

    file: str
    line: int | None
    text: str


def new_problems(paths: Sequence[str], file: str, text: str, options: ReadOptions) -> tuple[Problem, ...]:
    """Return the errors in C sources and headers if a file has another text, and not without it.

    Each is the first one of its source. Sources that cannot be parsed have none.
    """
    units: list[Unit] = []
    for path in paths:
        with suppress(ReadError):
            units += sources.find((path,), options).units
    units = [unit for unit in units if unit.main.endswith((".c", ".h"))][:_MOST_UNITS]
    real_path = files.real_path(file)
    others = (given for given in options.replaced if files.real_path(given.path) != real_path)
    changed = (*others, InputText(os.path.abspath(file), text))
    jobs = options.jobs or number_for(2 * len(units) * _BYTES_EACH, 0)
    alone, behind = partial(_read_unit, changed=changed), partial(_read_batch, changed=changed)
    results = shared_parses.run_each(alone, behind, units, jobs, int)
    found = {each: result for each, result in results if isinstance(result, Problem)}
    every = (found[each] for each in units if each in found)
    return tuple(dict.fromkeys(every))


def _read_batch(shared: Shared, changed: tuple[InputText, ...]) -> list[tuple[Unit, Problem | None]]:
    """Return the units that have no error behind changed headers that they share."""
    stream, paths = shared_parses.begin_process(), {files.real_path(each.path) for each in changed}
    if stream is None or any(files.real_path(each.main) in paths for each in shared.units):
        return []
    units = {replace(each, replaced=changed): each for each in shared.units}
    try:
        with shared_parses.parse_headers(replace(shared, units=tuple(units)), stream) as parses:
            return [(units[parsed.own], None) for parsed in parses.units()]
    except (ReadError, OSError):
        return []  # they are parsed alone


def _read_unit(unit: Unit, changed: tuple[InputText, ...]) -> Problem | None:
    """Return the first error that a unit has with changed texts only."""
    limits.confine()
    try:
        after = _errors(replace(unit, replaced=changed))
        before = {problem.text for problem in _errors(unit)} if after else set()
    except ReadError:
        return None
    return next((problem for problem in after if problem.text not in before), None)


def _errors(unit: Unit) -> list[Problem]:
    lib = trees.library()
    parse.refuse_endless(unit)
    with parse.parse_unit(lib, unit, None, _OPTIONS) as handle:
        places = Places(lib, unit.directory, unit.roots, {})
        every = diagnostics.read_diagnostics(lib, handle, places, None)
        return [_problem(each.text) for each in every if not each.is_warning]


def _problem(text: str) -> Problem:
    match = _ERROR.match(text)
    return Problem("", None, text) if match is None else Problem(match[1], number(match[2]), match[3])
