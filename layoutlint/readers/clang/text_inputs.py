"""Reading one C header or source, or a folder of them: with the flags of the command line, and of the
compilation database around it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import InputText, Omission, Reading, ReadOptions, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few, part_of, quantity
from layoutlint.readers.clang import c_units, flag_search, parallel, query_driver, text_search, unit_listings
from layoutlint.readers.clang.c_units import HEADERS, SOURCES
from layoutlint.readers.clang.flag_search import FlagSearch
from layoutlint.readers.clang.given_files import GivenFiles, given_files
from layoutlint.readers.clang.kept_listings import UnitListing
from layoutlint.readers.clang.parallel import UnitResults
from layoutlint.readers.clang.parse import Unit

_DATABASE = "compile_commands.json"


def read_file(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of one header or source."""
    files_read = given_files(wanted, options, flag_search.search(path, options))
    outcome = files_read.read([path])
    notes = [*_notes_on_file(path, files_read), *_notes_on_machine(files_read)]
    return _reading(path, files_read, outcome, notes)


def read_unsaved(given: InputText, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a text that is not on disk."""
    files_read = given_files(wanted, options, None)
    unit = files_read.unit(given.path)
    unit = replace(unit, text=given.text, origin=given.path, reported_main=given.path)
    outcome = parallel.run([unit], files_read.wanted, options)
    return _reading(given.path, files_read, outcome, [*_notes_on_machine(files_read)])


def _notes_on_file(path: str, files_read: GivenFiles) -> Iterator[str]:
    match = files_read.matches[path]
    if match is not None:
        yield match.note
    elif files_read.search is not None:
        yield files_read.search.missing_note()
    for source, error in files_read.through.values():
        yield f"read through {source}, which includes it; by itself it has errors: {error}"


def _notes_on_machine(files_read: GivenFiles) -> tuple[str, ...]:
    return () if files_read.kernel else c_units.notes(c_units.command_line_flags(files_read.options))


def _reading(path: str, files_read: GivenFiles, outcome: UnitResults, notes: list[str]) -> Reading:
    compilers = (parsed.unit.compiler for parsed in outcome.parsed)
    notes = [*notes, *query_driver.notes(compilers, files_read.options)]
    reading = parallel.reading(path, outcome, files_read.wanted, notes, files_read.is_configured)
    matches = (match for match in files_read.matches.values() if match is not None)
    used = (match.report_name or match.database for match in matches if not match.is_of_folder)
    reading = replace(reading, compile_commands=next(used, None))
    return reading if files_read.kernel is None else files_read.kernel.describe(reading)


class _MissedFiles(Record):
    """Lists the structs of a folder's files by libclang; a header that a source includes, through that."""

    given: GivenFiles
    paths: Sequence[str]
    """All files of the folder."""
    seeming: frozenset[str]
    """Those that seem to define a requested struct, which are read anyway."""
    failed: list[Unread] = field(default_factory=list)
    """The files that cannot be parsed."""
    _units: dict[str, Unit] = field(default_factory=dict)
    _listings: dict[str, UnitListing] = field(default_factory=dict)

    def find(self) -> list[str]:
        """Return the files whose requested structs differ from those of the files that are read anyway.

        Of several with the same structs and layouts, it is the first. Raises ReadError without libclang.
        """
        for path in filter(files.is_file, self.paths):  # others are dangling links, or reported as not read
            self._add_unit(path)
        is_first = {path: path in self.seeming or path.endswith(c_units.SOURCES) for path in self._units}
        self._list([path for path, first in is_first.items() if first])
        included = {files.real_path(file) for listing in self._listings.values() for file in listing.files}
        headers = (path for path, first in is_first.items() if not first)
        self._list([path for path in headers if files.real_path(path) not in included])
        known: set[object] = set(map(files.real_path, self.seeming))
        known |= {each for path in self.seeming for each in self._requests(path)}
        found = []
        for path in sorted(self._listings.keys() - self.seeming):
            new = set(self._requests(path)) - known
            if new:
                found.append(path)
                known |= new
        return found

    def omissions(self, read: Sequence[str], structs: tuple[Struct, ...]) -> Iterator[Omission]:
        """Yield the files that are not `read` and whose errors may hide a requested struct."""
        others = [path for path in self._listings if path not in read]
        listings = ((self._units[path].origin, self._listings[path]) for path in sorted(others))
        yield from unit_listings.hidden_by_errors(listings, self.given.wanted, structs)

    def _add_unit(self, path: str) -> None:
        try:
            self._units[path] = self.given.plain_unit(path)
        except c_units.NotC:
            return
        except ReadError as error:
            if path not in self.seeming:
                self.failed.append(Unread.of_error(error))

    def _list(self, paths: Sequence[str]) -> None:
        listings = unit_listings.list_units([self._units[path] for path in paths], self.given.options)
        for path in paths:
            listing = listings[self._units[path]]
            if isinstance(listing, UnitListing):
                self._listings[path] = listing
            elif path not in self.seeming:
                self.failed.append(listing)

    def _requests(self, path: str) -> Iterator[object]:
        """Yield the requested definitions of a file with its compiler, and its annotated files."""
        if path in self._listings:
            compiler = self._units[path].compiler
            for each in self._listings[path].requests(self.given.wanted):
                yield each if isinstance(each, str) else (each, compiler)


def read_folder(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a folder's headers and sources; raises ReadError if it has no C."""
    paths = list(text_search.files_below([path], HEADERS + SOURCES))
    if not paths:
        raise ReadError(
            path,
            "holds no C headers or sources, no compile_commands.json, and is not a configured kernel tree",
        )
    files_by_name = text_search.definitions(paths, wanted, stop_when_found=False)
    selected = sorted({file for files in files_by_name.values() for file in files})
    if wanted.annotated:
        selected = sorted({*selected, *text_search.annotated_files(paths)})
    files_read = given_files(wanted, options, flag_search.search(path, options))
    missed = _MissedFiles(files_read, paths[: text_search.MOST_FILES], frozenset(selected))
    found = missed.find()
    is_empty = not selected and not found
    if wanted.arrays is not None:
        selected = sorted({*selected, *(path for path in paths if path.endswith(SOURCES))})
    if not selected:
        # Parse one unit anyway: it shows the target, and that nothing was found.
        selected = found[:1] or paths[:1]
    outcome = files_read.read(files_read.leave_out_read(selected))
    if is_empty:
        outcome = outcome.without_failures()
    outcome = outcome.plus(files_read.read([path for path in found if path not in selected]))
    outcome = outcome.plus(UnitResults((), tuple(missed.failed)))
    notes = [*_notes_on_files(files_read), *_notes_on_machine(files_read)]
    reading = _reading(path, files_read, outcome, notes)
    if is_empty:
        reading = _with_note(reading, path, len(paths))
    if not options.finds_omissions:
        return reading
    errors = missed.omissions([*selected, *found], outcome.structs)
    omitted = [*_omissions(path, wanted), *_unreadable_files(paths), *errors]
    if options.finds_flags and options.compile_commands is None:
        unused = _databases(path, paths, selected, files_read.search)
        omitted += (omission for at, omission in unused if options.flag_files.has_file(at))
    return replace(reading, omissions=(*reading.omissions, *omitted))


def _notes_on_files(files_read: GivenFiles) -> Iterator[str]:
    matches = [match for match in files_read.matches.values() if match is not None]
    for database in dict.fromkeys(match.database for match in matches):
        count = sum(match.database == database for match in matches)
        shown = next(match.report_name or database for match in matches if match.database == database)
        yield f"flags from {shown}, for {part_of(count, len(files_read.matches), 'file', 'the only')}"
    if files_read.through:
        headers = [f"{header} (in {source})" for header, (source, _) in files_read.through.items()]
        reason = "read through sources, because of errors without them"
        yield f"{quantity(len(headers), 'header')} {reason}: {', '.join(headers[:3])}"


def _unreadable_files(paths: list[str]) -> Iterator[Omission]:
    """Yield the files that cannot be read, and how many are too many; dangling links are left out."""
    existing = [path for path in paths[: text_search.MOST_FILES] if files.exists(path)]
    closed = [path for path in existing if not files.is_file(path) or not files.is_readable(path)]
    if closed:
        yield Omission(f"cannot read {first_few(closed)}")
    if len(paths) > text_search.MOST_FILES:
        yield Omission(f"{len(paths):,} C files, of which the first {text_search.MOST_FILES:,} are searched")


def _databases(
    path: str, paths: list[str], chosen: list[str], search: FlagSearch | None
) -> Iterator[tuple[str, Omission]]:
    """Yield the unused compilation databases below a folder that can have the flags of files that were read.

    `paths` are all C files below it. A folder without any is a build folder, next to its sources.
    """
    used = {files.real_path(database.path) for database in search.databases} if search else set()
    for database in text_search.files_below([path], (_DATABASE,)):
        if files.real_path(database) in used:
            continue
        folder = os.path.dirname(database)
        is_of_build = not any(file.startswith(f"{folder}{os.sep}") for file in paths)
        top = os.path.dirname(folder) if is_of_build else folder
        if os.path.basename(database) == _DATABASE and any(f.startswith(f"{top}{os.sep}") for f in chosen):
            yield database, Omission(f"read without the flags in {database}: give that file as INPUT")


def _omissions(path: str, wanted: Wanted) -> Iterator[Omission]:
    """Yield the parts of a folder that are not read: files that define requested structs, and unlistable
    folders.
    """
    unlisted: list[OSError] = []
    others = list(text_search.skipped_files(path, HEADERS + SOURCES, unlisted))
    files_by_name = text_search.definitions(others, wanted, stop_when_found=False)
    left_out = sorted({file for paths in files_by_name.values() for file in paths})
    if left_out:
        paths = "1 file that defines" if len(left_out) == 1 else f"{len(left_out):,} files that define"
        shown = first_few([os.path.relpath(file, path) for file in left_out])
        limits = "of a folder, .h and .c files outside of hidden and linked folders are read"
        reason = f"not read: {paths} struct {first_few(sorted(files_by_name))}: {shown} ({limits})"
        yield Omission(reason, frozenset(files_by_name))
    if unlisted:
        folders = first_few(sorted(str(error.filename) for error in unlisted))
        yield Omission(f"cannot list {folders}: {files.error_reason(unlisted[0])}")


def _with_note(reading: Reading, path: str, count: int) -> Reading:
    note = f"no text of the {count} C files below {path} defines a wanted struct"
    notes = (*reading.notes, note)
    return Reading(reading.path, reading.reader, reading.target, (), notes=notes)
