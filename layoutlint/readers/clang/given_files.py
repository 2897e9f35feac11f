"""C files given by themselves: their flags, and the sources through which headers with errors are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.files import project
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record, field, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import c_units, flags, parallel, query_driver, text_search
from layoutlint.readers.clang.flag_search import FlagSearch, Match
from layoutlint.readers.clang.include_graph import IncludeGraph, included_names
from layoutlint.readers.clang.kernel.units import OutsideFiles, outside_files
from layoutlint.readers.clang.parallel import UnitResults
from layoutlint.readers.clang.parse import ParsedUnit, Unit

_MOST_TRIED = 200_000
"""The most paths at which the headers of a header are searched."""
_MOST_FILES = 5_000
"""The most files whose `#include` lines are read."""
_MOST_SOURCES = 3
"""The most sources through which a header is read, until one of them is without errors."""


class Includers(Record):
    """The files around headers, by the headers that they include; each is read once."""

    _by_name: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By the last part of a header's name, the files that include it, and the name there."""
    _searched: list[str] = field(default_factory=list)
    _files: int = 0

    def sources(self, header: str) -> list[str]:
        """Return sources that seem to include a header, also through other headers, the nearest first."""
        header = os.path.abspath(header)
        for folder in project.searched_folders(header):
            self._search(folder)
            sources = self._reached_sources(header)
            if sources:
                return sources[:_MOST_SOURCES]
        return []

    def _search(self, folder: str) -> None:
        """Read the `#include` lines of the C files below a folder."""
        if any(folder == done or folder.startswith(f"{done}{os.sep}") for done in self._searched):
            return
        self._searched.append(folder)
        for file in text_search.files_below([folder], (".c", ".h")):
            if any(file.startswith(f"{done}{os.sep}") for done in self._searched[:-1]):
                continue
            self._files += 1
            if self._files > _MOST_FILES:
                return
            for _, name in included_names(text_search.content(file)):
                self._by_name.setdefault(os.path.basename(name), []).append((file, name))

    def _reached_sources(self, header: str) -> list[str]:
        """Return the sources that include a header, by the number of steps, then by nearness."""
        sources: list[tuple[int, int, str]] = []
        visited, front, steps = {header}, [header], 0
        folder = os.path.dirname(header)
        while front:
            steps += 1
            front = [file for included in front for file in self._includers(included) if file not in visited]
            front = list(dict.fromkeys(front))
            visited.update(front)
            found = [file for file in front if file.endswith(".c")]
            sources += [(steps, project.distance(folder, os.path.dirname(file)), file) for file in found]
        return [file for _, _, file in sorted(sources)]

    def _includers(self, file: str) -> Iterator[str]:
        for includer, name in self._by_name.get(os.path.basename(file), ()):
            tail = [part for part in name.split("/") if part not in ("", ".", "..")]
            if file.endswith(f"{os.sep}{os.sep.join(tail)}"):
                yield includer


class GivenFiles(Record):
    """Reads files with the flags of the command line, and of the compilation databases around them or of a
    kernel tree.
    """

    wanted: Wanted
    options: ReadOptions
    search: FlagSearch | None
    kernel: OutsideFiles | None = None
    """The kernel tree whose flags they have instead; None for none."""
    matches: dict[str, Match | None] = field(default_factory=dict)
    """The commands of the files that were read, by their paths; None if no database has one."""
    through: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Headers that were read through a source: its name, and the first error without it."""
    _includers: Includers = field(default_factory=Includers)

    def read(self, paths: Iterable[str]) -> UnitResults:
        """Parse files, and headers with errors through sources; raises ReadError for a damaged database."""
        units = [self.unit(path) for path in paths]
        outcome = parallel.run(units, self.wanted, self.options)
        return UnitResults(tuple(self._mend(outcome.parsed)), outcome.failed)

    def leave_out_read(self, paths: list[str]) -> list[str]:
        """Return the files without headers that the units of the other files read."""
        if self.search is None:
            return paths
        sources = [path for path in paths if not path.endswith(c_units.HEADERS)]
        matches = [match for match in map(self.search.match, sources) if match is not None]
        return [path for path in paths if path in sources or not self.search.is_read_by(matches, path)]

    @property
    def is_configured(self) -> bool:
        """Whether the flags of all files are from a database, or a kernel tree."""
        return self.kernel is not None or (self.search is not None and None not in self.matches.values())

    def unit(self, path: str) -> Unit:
        """Return the unit of a file with the flags of the nearest database; raises ReadError."""
        match = None if self.search is None else self.search.match(path)
        self.matches[path] = match
        return self._unit_with(os.path.abspath(path), match)

    def plain_unit(self, path: str) -> Unit:
        """Return the unit of a file that is perhaps not read; raises ReadError."""
        match = None if self.search is None else self.search.match(path)
        return self._unit_with(os.path.abspath(path), match)

    def _unit_with(self, path: str, match: Match | None) -> Unit:
        """Return the unit of a file with the flags of a command, or of a kernel tree."""
        if self.kernel is not None:
            return self.kernel.unit(path)
        folder, words = os.getcwd(), c_units.command_line_flags(self.options)
        directory, compiler = folder, None
        if match is not None:
            directory = match.command.directory
            words = (*match.command.words, *flags.make_absolute(words, folder))
            judged = match.database
            compiler = query_driver.compiler_of(match.command, words, self.options, (folder,), judged)
        return c_units.unit(path, words, directory, (folder,), self.options.with_marks, compiler)

    def _mend(self, parsed: tuple[ParsedUnit, ...]) -> list[ParsedUnit]:
        """Return the results, for headers with errors that through a source with fewer errors."""
        best = list(parsed)
        candidates = {
            number: self._candidates(result.unit)
            for number, result in enumerate(parsed)
            if result.unit.main.endswith(c_units.HEADERS) and _count_errors(result)
        }
        for turn in range(max(map(len, candidates.values()), default=0)):
            remaining = {
                units[turn]: number
                for number, units in candidates.items()
                if turn < len(units) and _count_errors(best[number])
            }
            for result in parallel.run(list(remaining), self.wanted, self.options).parsed:
                number = remaining[result.unit]
                if _count_errors(result) < _count_errors(best[number]):
                    self.through[parsed[number].unit.origin] = (
                        result.unit.origin,
                        _first_error(parsed[number]),
                    )
                    best[number] = result
        return best

    def _candidates(self, unit: Unit) -> list[Unit]:
        """Return the units through which a header can be read, the nearest first."""
        match = next((m for path, m in self.matches.items() if os.path.abspath(path) == unit.main), None)
        if match is not None and not match.is_own:
            sources: dict[str, Match | None] = {match.source: match}
        else:
            paths = self._includers.sources(unit.main)
            sources = {path: self.search.match(path) if self.search else None for path in paths}
        return [self._unit_of_source(unit, path, source_match) for path, source_match in sources.items()]

    def _unit_of_source(self, header: Unit, source: str, match: Match | None) -> Unit:
        unit = self._unit_with(source, match)
        graph = IncludeGraph(lambda text: False, _MOST_TRIED)
        files_read = graph.files(header.main, unit.directory, unit.flags)
        only = frozenset(files.real_path(file) for file, _ in files_read)
        return replace(unit, subject=files.real_path(header.main), only=only)


def given_files(wanted: Wanted, options: ReadOptions, search: FlagSearch | None) -> GivenFiles:
    """Return what reads the files of an input; raises ReadError for a kernel tree that cannot be used."""
    kernel = outside_files(options)
    return GivenFiles(wanted.narrow(is_kernel=kernel is not None), options, search, kernel)


def _count_errors(parsed: ParsedUnit) -> int:
    problems = sum(struct.problem is not None for struct in parsed.structs)
    return problems + len(parsed.without_warnings(parsed.errors))


def _first_error(parsed: ParsedUnit) -> str:
    errors = parsed.without_warnings(parsed.errors)
    return next(iter(errors), "") or next(s.problem for s in parsed.structs if s.problem is not None)
