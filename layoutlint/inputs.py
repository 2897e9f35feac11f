"""Inputs, read one after the other or side by side, and folders of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from layoutlint import processes, readers
from layoutlint.errors import ReadError
from layoutlint.model import Reading, ReadOptions, Unread, Wanted, no_progress
from layoutlint.readers import builds

if TYPE_CHECKING:
    from layoutlint.readers.modules import Folder


def read(inputs: tuple[str, ...], names: Wanted, options: ReadOptions) -> tuple[list[Reading], list[Unread]]:
    """Every input in the order given; those that cannot be read, wholly or in part, come second."""
    results: list[Reading | Unread] = []
    for several in _runs(inputs):
        if isinstance(several, list):
            results += _read_files(several, names, options)
        else:
            from layoutlint import folders  # with what files of their own do not need

            results += folders.read(several, names, options)
    results = [_as_asked(result, options) for result in results]
    if names.annotated:
        results = [_annotated(result, names, options) for result in results]
    readings = [result for result in results if isinstance(result, Reading)]
    failed = [result for result in results if isinstance(result, Unread)]
    return readings, failed + [unread for reading in readings for unread in reading.unread]


def names(paths: tuple[str, ...], options: ReadOptions) -> frozenset[str]:
    """What all structs of some inputs are called, and typedefs that stand for some."""
    readings, _ = read(paths, Wanted(names_only=True), replace(options, marks=False))
    return frozenset[str]().union(*(reading.names for reading in readings))


def _as_asked(result: Reading | Unread, options: ReadOptions) -> Reading | Unread:
    """A reading with the configuration that was given for it; why not, where it is for another build."""
    if isinstance(result, Unread):
        return result
    try:
        builds.refuse_other(result, options)
    except ReadError as error:
        return Unread(error.path, error.reason)
    if options.config is None or result.config is not None:
        return result
    return replace(
        result, config=frozenset(option for option in options.config if not option.startswith("!"))
    )


def _annotated(result: Reading | Unread, names: Wanted, options: ReadOptions) -> Reading | Unread:
    """A reading with what comments say, without the structs of which they say nothing after all."""
    if isinstance(result, Unread) or not result.structs:
        return result
    from layoutlint.intent.sources import Sources, with_comments  # most inputs have neither

    is_text = result.reader == "clang"
    folders = (".", result.path, os.path.dirname(result.path) or ".") if is_text else options.sources
    found = with_comments(result, Sources(folders), not is_text)
    asked = names if result.is_kernel else names.outside_kernels()
    kept = (s for s in found.structs if asked.wants(s) or s.annotations)
    return replace(found, structs=tuple(kept))


def _runs(inputs: tuple[str, ...]) -> Iterator[Folder | list[str]]:
    """Folders of modules, and what stands between them."""
    files: list[str] = []
    for path in inputs:
        folder = _folder(path) if os.path.isdir(path) else None
        if folder is None:
            files.append(path)
            continue
        if files:
            yield files
        files = []
        yield folder
    if files:
        yield files


def _folder(path: str) -> Folder | None:
    from layoutlint.readers import modules

    return modules.find(path)


def _read_files(paths: list[str], names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    if options.jobs < 2 or len(paths) < 2:
        return [readers.attempt(path, names, options) for path in paths]
    quiet = replace(options, progress=no_progress, jobs=max(1, options.jobs // len(paths)))
    work = partial(readers.attempt, wanted=names, options=quiet)
    try:
        return list(processes.ordered(work, paths, options.jobs))
    except processes.Lost as lost:
        path = "an input" if lost.part is None else paths[lost.part]
        raise ReadError(path, f"the process that read it {lost.how}; `--jobs 1` needs less memory") from lost
