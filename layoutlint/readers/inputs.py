"""Reading of several inputs, one after the other or in parallel, and of folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions, Unread, no_progress
from layoutlint.model.record import replace
from layoutlint.model.task import LIMITS_OF_INPUT, Failure
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.archives.locate import Location, locate
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import map_ordered

if TYPE_CHECKING:
    from layoutlint.readers.modules.find import Folder


def read(inputs: tuple[str, ...], names: Wanted, options: ReadOptions) -> tuple[list[Reading], list[Unread]]:
    """Return the readings of all inputs in their order, and the failures, whole or partial."""
    return split_failures(read_each(inputs, names, options))


def read_each(inputs: tuple[str, ...], names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    """Return a reading for each input in order, or why it cannot be read."""
    if options.nearer:
        groups = groupby(inputs, options.of_input)
        return [result for own, paths in groups for result in read_each(tuple(paths), names, own)]
    if options.executor is None:
        return _read_here(inputs, names, options)
    ended = _results_of_tasks([path for path in inputs if not files.is_folder(path)], names, options)
    results: list[Reading | Unread] = []
    for path in inputs:
        results += ended[path] if path in ended else _read_here((path,), names, options)
    return results


def _results_of_tasks(
    paths: list[str], names: Wanted, options: ReadOptions
) -> dict[str, list[Reading | Unread]]:
    """Return the results of a task for each input; a task that fails costs no other."""
    from layoutlint.workers import calls

    assert options.executor is not None
    paths = list(dict.fromkeys(paths))
    work = partial(_read_alone, names=names, options=options.of_task)
    ended: dict[str, list[Reading | Unread]] = {}
    with closing(calls.run_each(options.executor, work, paths, str, LIMITS_OF_INPUT)) as results:
        for number, result in results:
            path = paths[number]
            ended[path] = [calls.unread(path, result)] if isinstance(result, Failure) else result
            options.progress("reading", len(ended), len(paths))
    return ended


def _read_alone(path: str, names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    return _read_here((path,), names, options)


def _read_here(inputs: tuple[str, ...], names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    """Read inputs in this process and its children; of a folder, the tasks of an executor read the files."""
    results: list[Reading | Unread] = []
    for run in _runs(inputs, options):
        if isinstance(run, list):
            results += _read_files(run, names, options)
        elif isinstance(run, Unread):
            results.append(run)
        elif isinstance(run, Location):
            results += _read_archive(run, names, options)
        else:
            from layoutlint.readers.cache.readings import recall_or_read
            from layoutlint.readers.modules import merge  # not needed for single files

            results += recall_or_read(
                (run,), names, options, partial(merge.read, run, names, options)
            )
    return [_with_config(result, options) for result in results]


def split_failures(results: Iterable[Reading | Unread]) -> tuple[list[Reading], list[Unread]]:
    """Split results into readings and failures, whole or partial."""
    results = tuple(results)
    readings = [result for result in results if isinstance(result, Reading)]
    failures = [result for result in results if isinstance(result, Unread)]
    return readings, failures + [unread for reading in readings for unread in reading.unread]


def names(paths: tuple[str, ...], options: ReadOptions) -> frozenset[str]:
    """Return the names of all structs of some inputs, and of typedefs that refer to one."""
    readings, _ = read(paths, Wanted(names_only=True), replace(options, with_marks=False))
    return frozenset[str]().union(*(reading.names for reading in readings))


def _with_config(result: Reading | Unread, options: ReadOptions) -> Reading | Unread:
    """Return a reading with the given configuration; Unread if its own contradicts that."""
    if isinstance(result, Unread):
        return result
    try:
        options.refuse_other(result)
    except ReadError as error:
        return Unread.of_error(error)
    if options.config is None or result.config is not None:
        return result
    return replace(
        result, config=frozenset(option for option in options.config if not option.startswith("!"))
    )


def _read_archive(location: Location, names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    from layoutlint.readers.archives import limits, read
    from layoutlint.readers.cache.readings import recall_or_read

    parts = (location, limits.limits())
    return recall_or_read(parts, names, options, partial(read.read, location, names, options))


def _runs(inputs: tuple[str, ...], options: ReadOptions) -> Iterator[Folder | Location | Unread | list[str]]:
    """Yield folders of modules, archives, URLs without an answer, and lists of the files between them."""
    texts = {text.path for text in options.texts}
    single: list[str] = []
    for path in inputs:
        several = None if path in texts else _several(path, options)
        if several is None:
            single.append(path)
            continue
        if single:
            yield single
        single = []
        yield several
    if single:
        yield single


def _several(path: str, options: ReadOptions) -> Folder | Location | Unread | None:
    """Return what an input of several files is, after its download; None for one file."""
    if files.is_folder(path):
        return _folder(path)
    if "://" in path:
        from layoutlint.readers.downloads import urls  # few inputs are URLs

        try:
            if urls.is_url(path):
                urls.fetch(path, options)
        except ReadError as error:
            return Unread.of_error(error)
    return locate(path)


def _folder(path: str) -> Folder | None:
    from layoutlint.readers.modules import find

    return find.find(path)


def _read_files(paths: list[str], names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    if options.jobs < 2 or len(paths) < 2:
        return [_read_file(path, names, options) for path in paths]
    quiet = replace(options, progress=no_progress, jobs=max(1, options.jobs // len(paths)))
    work = partial(_read_file, names=names, options=quiet)
    try:
        return list(map_ordered(work, paths, options.jobs))
    except Lost as lost:
        path = "an input" if lost.part is None else paths[lost.part]
        raise ReadError(path, f"the process that read it {lost.how}; `--jobs 1` needs less memory") from lost


def _read_file(path: str, names: Wanted, options: ReadOptions) -> Reading | Unread:
    if not options.cache:
        return dispatch.attempt(path, names, options)
    from layoutlint.readers.cache.readings import recall_or_read

    (result,) = recall_or_read((path,), names, options, lambda: [dispatch.attempt(path, names, options)])
    return result
