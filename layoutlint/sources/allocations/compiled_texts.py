"""The texts of sources as their compilation database compiles them: without what `#if` leaves out."""

from __future__ import annotations

import os
from functools import partial

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.clang import active_text, compdb, limits
from layoutlint.readers.clang.parse import Unit
from layoutlint.workers import sandbox

_MOST = 16
"""The most units that are parsed."""


def compiled_texts(database: str, units: frozenset[str], paths: frozenset[str]) -> dict[str, str]:
    """Return those of some files that some units of a database read; empty if too many units are named.

    All paths are absolute. A unit that cannot be read, or is compiled several times, has none.
    """
    chosen: dict[str, list[Unit]] = {}
    roots = (os.path.dirname(os.path.abspath(database)), os.getcwd())
    for command in compdb.load(database):
        path = os.path.abspath(os.path.join(command.directory, command.file))
        if path in units:
            try:
                unit = compdb.unit_of(database, compdb.expand(command), ReadOptions(), roots)
            except ReadError:
                continue
            chosen.setdefault(path, []).append(unit)
    once = [own[0] for own in chosen.values() if len(set(own)) == 1]
    if not once or len(once) > _MOST:
        return {}
    texts: dict[str, str] = {}
    for _, found in sandbox.run_each(partial(_read, paths=paths), once, 1, limits.LIMITS):
        own_texts = {} if isinstance(found, sandbox.WorkFailure) else found
        for path, text in own_texts.items():
            texts[path] = text if texts.setdefault(path, text) == text else ""
    return {path: text for path, text in texts.items() if text}


def _read(unit: Unit, paths: frozenset[str]) -> dict[str, str]:
    limits.confine()
    try:
        return active_text.active_texts(unit, paths)
    except ReadError:
        return {}
