"""Merging of the files of a module folder: a definition that many files share is returned once.

A process that reads files of a folder sends each definition once, and its number from then on: thousands of
modules include the same headers.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Hashable, Iterator
from contextlib import closing
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import (
    MissingVariable,
    Omission,
    Reading,
    ReadOptions,
    Unread,
    Version,
)
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.model.task import LIMITS_OF_INPUT, Executor, Failure
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few
from layoutlint.readers import dispatch
from layoutlint.readers.modules import find
from layoutlint.readers.modules.find import Folder
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import map_ordered, processors

_MOST_TEXTS = 50
"""The most different reasons, or notes, that are shown for one folder."""
_FOR_BASE = -1
_MOST_FILES_OF_TASK = 64
"""Each task reads the base of split BTF again, which takes as long as 30 modules."""
_TASKS = 16
"""A folder makes at least so many tasks, unless it has fewer files."""


def read(folder: Folder, names: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    """Return one Reading for each target of the files in a folder, or why there is none."""
    bases = find.bases(folder)
    if options.btf_base is not None:
        bases = dict.fromkeys(folder.files, options.btf_base)
    merged = _MergedFolder(folder)
    quiet = options.of_task
    try:
        with closing(_parts(bases, names, options)) as parts:
            for number, part in enumerate(parts):
                merged.add(part)
                options.progress(f"reading {folder.path}", number + 1, len(folder.files))
    except ReadError as error:
        return [Unread(folder.path, error.reason)]
    # Modules have only the types that their base lacks, so its structs are theirs as well.
    of_base = _FileReader(names, replace(quiet, reader="btf"), _FOR_BASE)
    for base in merged.other_bases():
        merged.add(of_base.part(base, None))
    return merged.results()


class MergedDefinitions:
    """Distinct definitions, numbered in order; the place where one was read does not distinguish it."""

    def __init__(self) -> None:
        self.structs: list[Struct] = []
        self._numbers: dict[Hashable, list[int]] = {}

    def number(self, struct: Struct) -> int:
        """Return the number of a definition, the next one if it is new."""
        plain = replace(struct, origin="", aliases=())
        key = plain.name, plain.aggregate, plain.bit_size, plain.source, len(plain.fields)
        candidates = self._numbers.setdefault(key, [])
        for number in candidates:
            if self.structs[number] == plain:
                return number
        candidates.append(len(self.structs))
        self.structs.append(plain)
        return candidates[-1]


class _Sighting(Record, frozen=True):
    """One definition in one file, by the number that the worker assigned."""

    number: int
    origin: str
    aliases: tuple[str, ...]


class _FileResult(Record, frozen=True):
    """The result of one file of a folder."""

    path: str
    worker: int
    """The number of the process or the task that read it, else `_FOR_BASE`."""
    result: Reading | Unread
    """Without its structs."""
    sightings: tuple[_Sighting, ...] = ()
    new: tuple[Struct, ...] = ()
    """The definitions that this worker has not sent yet, in the order of their numbers."""


class _FileReader:
    """Reads files of a folder, and tracks which definitions it has sent."""

    def __init__(self, names: Wanted, options: ReadOptions, number: int) -> None:
        self._names = names
        self._options = options
        self._number = number
        self._definitions = MergedDefinitions()

    def part(self, path: str, base: str | None) -> _FileResult:
        """Return the result of a file; `base` is the base of its split BTF."""
        result = _attempt(path, self._names, replace(self._options, btf_base=base))
        if isinstance(result, Unread):
            return _FileResult(path, self._number, result)
        definitions = self._definitions.structs
        sent = len(definitions)
        sightings = tuple(_Sighting(self._definitions.number(s), s.origin, s.aliases) for s in result.structs)
        plain = replace(result, structs=())
        return _FileResult(path, self._number, plain, sightings, tuple(definitions[sent:]))


def _attempt(path: str, names: Wanted, options: ReadOptions) -> Reading | Unread:
    """Return the result of a file: one that is named like a module, and is text, is no C source."""
    try:
        is_text = dispatch.sniff(path) not in ("elf", "btf")
    except ReadError as error:
        return Unread.of_error(error)
    return Unread(path, find.NOT_COMPILED) if is_text else dispatch.attempt(path, names, options)


def _parts(bases: dict[str, str | None], names: Wanted, options: ReadOptions) -> Generator[_FileResult]:
    """Yield the result of each file, in order, as it arrives. Raises ReadError if a process dies."""
    if options.executor is not None:
        return _parts_of_tasks(options.executor, bases, names, options.of_task)
    return _parts_of_processes(bases, names, options.of_task, options.jobs or processors())


def _parts_of_processes(
    bases: dict[str, str | None], names: Wanted, options: ReadOptions, jobs: int
) -> Generator[_FileResult]:
    files, workers = list(bases), dict[int, _FileReader]()

    def part(path: str) -> _FileResult:
        process = os.getpid()
        if process not in workers:
            workers[process] = _FileReader(names, options, process)
        return workers[process].part(path, bases[path])

    try:
        yield from map_ordered(part, files, jobs)
    except Lost as lost:
        file = "one of its files" if lost.part is None else files[lost.part]
        reason = f"the process that read {file} {lost.how}; `--jobs 1` needs less memory"
        raise ReadError(files[0], reason) from lost


class _Share(Record, frozen=True):
    """The files of one task."""

    number: int
    """That of its first file in the folder: it distinguishes tasks, which number what they send."""
    bases: tuple[tuple[str, str | None], ...]
    """Each file, with the base of its split BTF."""


def _parts_of_tasks(
    executor: Executor, bases: dict[str, str | None], names: Wanted, options: ReadOptions, first: int = 0
) -> Generator[_FileResult]:
    """Yield the result of each file, in order; if the task of several fails, each gets one of its own."""
    from layoutlint.workers import calls

    each = list(bases.items())
    size = max(1, min(_MOST_FILES_OF_TASK, len(each) // _TASKS))
    shares = [_Share(first + at, tuple(each[at : at + size])) for at in range(0, len(each), size)]
    work = partial(_read_share, names=names, options=options)
    results = calls.run_each(executor, work, shares, _name_of_share, LIMITS_OF_INPUT)
    with closing(calls.in_order(results)) as ordered:
        for share, result in zip(shares, ordered, strict=True):
            if not isinstance(result, Failure):
                yield from result
            elif len(share.bases) > 1:
                yield from _parts_of_tasks(executor, dict(share.bases), names, options, share.number)
            else:
                yield _FileResult(share.bases[0][0], share.number, calls.unread(share.bases[0][0], result))


def _name_of_share(share: _Share) -> str:
    return share.bases[0][0]


def _read_share(share: _Share, names: Wanted, options: ReadOptions) -> list[_FileResult]:
    worker = _FileReader(names, options, share.number)
    return [worker.part(path, base) for path, base in share.bases]


class _Occurrences(Record):
    """Where a definition occurs: the first unit, the files, and the requested typedefs."""

    origin: str
    files: list[str] = field(default_factory=list)
    aliases: set[str] = field(default_factory=set)


class _MergedFolder:
    """The merged files of a folder, independent of the processes that read them."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._definitions = MergedDefinitions()
        self._numbers: dict[int, list[int]] = {}
        """For each worker, our number of each of its definitions."""
        self._occurrences: dict[int, _Occurrences] = {}
        self._readings: list[Reading] = []
        self._reasons: dict[str, list[Unread]] = {}

    def other_bases(self) -> list[str]:
        """Return the base files outside of the folder."""
        read = {files.real_path(reading.path) for reading in self._readings}
        used = {reading.base for reading in self._readings if reading.base is not None}
        return sorted(base for base in used if files.real_path(base) not in read)

    def add(self, part: _FileResult) -> None:
        """Add the result of one file."""
        if isinstance(part.result, Unread):
            self._add_failure(part.result)
            return
        numbers = self._numbers.setdefault(part.worker, [])
        numbers += map(self._definitions.number, part.new)
        for sighting in part.sightings:
            occurrences = self._occurrences.setdefault(
                numbers[sighting.number], _Occurrences(sighting.origin)
            )
            occurrences.files.append(part.path)
            occurrences.aliases.update(sighting.aliases)
        self._readings.append(part.result)
        for unread in part.result.unread:
            self._add_failure(unread)

    def _add_failure(self, unread: Unread) -> None:
        self._reasons.setdefault(unread.reason, []).append(unread)

    def results(self) -> list[Reading | Unread]:
        """Return one Reading for each target, with all failures in the first; only failures if nothing was
        read.
        """
        unread = (*self._folder.unread, *self._grouped_failures())
        if not self._readings:
            return [*unread]
        structs = self._structs()
        targets = dict.fromkeys(reading.target for reading in self._readings)
        readings = [self._reading(target, structs) for target in targets]
        return [replace(readings[0], unread=unread), *readings[1:]]

    def _structs(self) -> list[Struct]:
        """Return each definition once; incomplete ones only without a definition."""
        definitions = self._definitions.structs
        complete = {
            definitions[number].name
            for number in self._occurrences
            if definitions[number].bit_size is not None
        }
        return [
            replace(
                definitions[number], origin=f.origin, aliases=tuple(sorted(f.aliases)), files=tuple(f.files)
            )
            for number, f in self._occurrences.items()
            if definitions[number].bit_size is not None or definitions[number].name not in complete
        ]

    def _reading(self, target: Target, structs: list[Struct]) -> Reading:
        readings = [reading for reading in self._readings if reading.target == target]
        return Reading(
            path=self._folder.path,
            reader=" and ".join(sorted({reading.reader for reading in readings})),
            target=target,
            structs=tuple(struct for struct in structs if struct.target == target),
            notes=(*self._folder.notes, *_notes(readings, self._folder.files)),
            is_kernel=any(reading.is_kernel for reading in readings),
            kernel=_common_version(readings),
            config=_common_config(readings),
            options=frozenset[str].intersection(*(reading.options for reading in readings)),
            shuffled=next((reading.shuffled for reading in readings if reading.shuffled), None),
            files=len(readings),
            data=_data(readings),
            arrays=tuple(array for reading in readings for array in reading.arrays),
            variables=tuple(variable for reading in readings for variable in reading.variables),
            least_data=_least_data(readings),
            allocator=next((reading.allocator for reading in readings if reading.allocator), None),
            unsized=tuple(name for reading in readings for name in reading.unsized),
            misplaced=tuple(variable for reading in readings for variable in reading.misplaced),
            missing_variables=_missing_variables(readings),
            names=frozenset[str]().union(*(reading.names for reading in readings)),
            folders=frozenset[str]().union(*(reading.folders for reading in readings)),
            omissions=tuple(_omissions(readings)),
            compilers=tuple(sorted({name for reading in readings for name in reading.compilers})),
        )

    def _grouped_failures(self) -> Iterator[Unread]:
        """Yield each reason once, with all files to which it applies."""
        for number, (reason, failures) in enumerate(self._reasons.items()):
            if number == _MOST_TEXTS:
                rest = list(self._reasons.values())[number:]
                reason = f"and {len(rest):,} more reasons why files could not be read"
                is_lack = all(unread.lacks_debug_information for unreads in rest for unread in unreads)
                yield Unread(self._folder.path, reason, lacks_debug_information=is_lack)
                return
            files = tuple(dict.fromkeys(unread.origin for unread in failures))
            several = replace(failures[0], origin=self._folder.path, files=files)
            yield several if len(files) > 1 else failures[0]


def _omissions(readings: list[Reading]) -> Iterator[Omission]:
    """Yield the parts of files that were not read: each reason once, with its files."""
    files: dict[Omission, list[str]] = {}
    for reading in readings:
        for omission in reading.omissions:
            files.setdefault(omission, []).append(reading.path)
    for omission, paths in files.items():
        yield replace(omission, reason=f"{omission.reason} ({first_few(paths)})")


def _common_version(readings: list[Reading]) -> Version | None:
    """Return the version of all files that state one; None if they differ.

    A vmlinux may state three numbers, and its modules two.
    """
    versions = sorted({reading.kernel for reading in readings if reading.kernel is not None}, key=len)
    agree = all(versions[-1][: len(version)] == version for version in versions)
    return versions[-1] if versions and agree else None


def _common_config(readings: list[Reading]) -> frozenset[str] | None:
    """Return the configuration of all files that state one; None if they differ, or none does."""
    configs = {reading.config for reading in readings if reading.config is not None}
    return configs.pop() if len(configs) == 1 else None


def _data(readings: list[Reading]) -> tuple[Struct, ...] | None:
    """Return the data of all files that have some; None if none has."""
    data_lists = [reading.data for reading in readings if reading.data is not None]
    return tuple(data for structs in data_lists for data in structs) if data_lists else None


def _least_data(readings: list[Reading]) -> tuple[Struct, ...]:
    """Return the data of all files with the smallest sizes; nothing if all sizes are known."""
    if not any(reading.least_data for reading in readings):
        return ()
    return tuple(data for reading in readings for data in reading.least_data or reading.data or ())


def _missing_variables(readings: list[Reading]) -> tuple[MissingVariable, ...]:
    """Return the variables that no file has, each with the hint of the first file."""
    first, *others = [r.missing_variables for r in readings if r.data is not None] or [()]
    missing_names = [{variable.name for variable in variables} for variables in others]
    return tuple(variable for variable in first if all(variable.name in names for names in missing_names))


def _notes(readings: list[Reading], folder_files: tuple[str, ...]) -> Iterator[str]:
    """Yield each note once, with its files unless it applies to all."""
    total = len({reading.path for reading in readings}.intersection(folder_files))
    files: dict[str, list[str]] = {}
    for reading in readings:
        for note in reading.notes:
            files.setdefault(note, []).append(reading.path)
    for note, paths in list(files.items())[:_MOST_TEXTS]:
        yield note if len(paths) == total else f"{note} ({first_few(paths)})"
    if len(files) > _MOST_TEXTS:
        yield f"and {len(files) - _MOST_TEXTS:,} more notes on files"
