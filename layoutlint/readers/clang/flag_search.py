"""The compilation databases around C files, or a compile_flags.txt: the command whose flags a file has.

Like clangd: a source has its own entry, a header the flags of a unit that includes it (docs/inputs.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from operator import eq
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import project
from layoutlint.files.accesses import SharedLog
from layoutlint.model.flag_files import ON_DISK, FlagFiles
from layoutlint.model.reading import ReadOptions, TreeCopy
from layoutlint.model.record import Record, field
from layoutlint.readers.clang import c_units, compdb, copied_flags
from layoutlint.readers.clang.compdb import Command
from layoutlint.readers.clang.include_graph import IncludeGraph

_FLAGS_FILE = "compile_flags.txt"
_LARGEST = 1 << 20
"""The most bytes of a compile_flags.txt."""
PLACES = (*(os.path.join(folder, compdb.NAME) for folder in compdb.BUILD_FOLDERS), _FLAGS_FILE)
"""Where flags are searched in each folder, in this order."""
_MOST_TRIED = 500_000
"""The most paths at which headers are searched to find a unit that includes a header."""
_MOST_ENTRIES = 100_000
"""The most entries among which a unit that includes a header is searched."""
_MOST_VISITED = 2_000_000
"""The most files, counted once for each unit that reads them."""


class _FlagsFile(Record, frozen=True):
    """A compile_flags.txt: the flags of all files of a folder and below, one a line, as clangd reads it."""

    path: str
    copy: TreeCopy | None = None
    """The copy of its tree that is read; None if the tree is."""
    flag_files: FlagFiles = ON_DISK

    def command(self, file: str) -> Command:
        """Return the command for a C file. Raises ReadError with the option that leaves the flags out."""
        folder = os.path.dirname(os.path.abspath(self.path))
        command = Command(os.path.abspath(file), folder, self._words())
        try:
            command = compdb.expand(command, self.flag_files)
        except ReadError as error:
            raise ReadError(self.path, f"{error.reason} (--no-compile-commands leaves it out)") from error
        return command if self.copy is None else copied_flags.command_for_copy(self.copy, command, (file,))

    def _words(self) -> tuple[str, ...]:
        try:
            text = self.flag_files.read_all(self.path, _LARGEST).decode(errors="surrogateescape")
        except OSError as error:
            reason = f"{files.error_reason(error)} (--no-compile-commands leaves it out)"
            raise ReadError(self.path, reason) from error
        return tuple(word for word in map(str.strip, text.splitlines()) if word)

    @property
    def report_name(self) -> str:
        """Its path in reports, if that is another one."""
        return "" if self.copy is None else self.copy.display_path(os.path.abspath(self.path))


class Match(Record, frozen=True):
    """The command whose flags a file is read with."""

    database: str
    command: Command
    is_own: bool
    """Whether it compiles the file itself, not a unit that includes it."""
    number: int
    """The position of its entry in the database."""
    entries: int = 1
    """The number of entries for its file in the database; the first counts."""
    report_name: str = ""
    """The database in reports; empty for its path."""

    @property
    def is_of_folder(self) -> bool:
        """Whether it has the flags of all files of a folder, which no database states."""
        return os.path.basename(self.database) == _FLAGS_FILE

    @property
    def source(self) -> str:
        """The absolute path of the file that it compiles."""
        return os.path.normpath(os.path.join(self.command.directory, self.command.file))

    @property
    def note(self) -> str:
        """The note on where the flags come from."""
        of = "" if self.is_own else f", those of {_from_working_folder(self.source)}, which includes it"
        count = f" (the first of {self.entries} entries)" if self.entries > 1 else ""
        return f"flags from {self.report_name or self.database}{of}{count}"


class FlagSearch(Record):
    """The databases around an input, the nearest first; and the flags of files that none of them knows."""

    databases: tuple[Database, ...]
    flags_file: _FlagsFile | None = None

    def match(self, path: str) -> Match | None:
        """Return the command for a file, from the nearest database that knows it; None if none does.

        Raises ReadError for a database, or an entry, that cannot be read.
        """
        matches = (database.find_own(path) for database in self.databases)
        own = next((match for match in matches if match is not None), None)
        if own is not None:
            return own
        matches = (database.find_includer(path) for database in self.databases)
        includer = next((match for match in matches if match is not None), None)
        if includer is not None or self.flags_file is None:
            return includer
        command = self.flags_file.command(path)
        return Match(self.flags_file.path, command, True, 0, report_name=self.flags_file.report_name)

    def is_read_by(self, matches: Iterable[Match], path: str) -> bool:
        """Return whether the unit of one of some commands seems to read a file."""
        databases = {database.path: database for database in self.databases}
        return any(
            databases[match.database].is_reading(match.number, path)
            for match in matches
            if match.database in databases
        )

    def missing_note(self) -> str:
        """Return the note for a file that no database knows."""
        names = " and ".join(database.path for database in self.databases)
        lacking = next(filter(None, (database.missing_response_file() for database in self.databases)), None)
        cause = "" if lacking is None else f" (the response file {lacking} is not there)"
        unknown = f"{names}: no entry for it, and no unit that is seen to include it{cause}"
        return f"{unknown}; read without their flags"


def search(path: str, options: ReadOptions) -> FlagSearch | None:
    """Return the databases for an input: the named one, or those around it; None if there are none.

    A file in a copy of a tree has those of the copy, then those around it in the working tree; one that is
    read with the flags of a kernel tree has none.
    """
    if not options.finds_flags or options.kernel_tree is not None:
        return None
    copy = options.copy
    if options.compile_commands is not None:
        folder = os.curdir if copy is None else copy.working_folder
        paths = [os.path.join(folder, options.compile_commands) if copy else options.compile_commands]
    else:
        paths = list(_paths_around(path, options.flag_files))
        if not paths and files.is_link(path) and copy is None:
            paths = list(_paths_around(files.real_path(path), options.flag_files))
        if copy is not None:
            original = copied_flags.path_in_working_tree(copy, path)
            paths += (at for at in _paths_around(original, options.flag_files) if at not in paths)
    named = options.compile_commands is not None
    last = next((at for at in paths if not named and os.path.basename(at) == _FLAGS_FILE), None)
    paths = paths if last is None else paths[: paths.index(last)]
    databases = tuple(_database(at, *_state(at), copy, options.flag_files) for at in paths)
    own = None if last is None else _FlagsFile(last, copy, options.flag_files)
    return FlagSearch(databases, own) if databases or own else None


def database_in(folder: str, options: ReadOptions) -> str | None:
    """Return the database at the top of a folder that is an input; None without one, or for the flags of a
    kernel tree.
    """
    if options.kernel_tree is not None:
        return None
    folders = [folder]
    if options.copy is not None and options.finds_flags and options.compile_commands is None:
        folders.append(copied_flags.path_in_working_tree(options.copy, folder))
    places = (os.path.join(each, compdb.NAME) for each in folders)
    return next(filter(options.flag_files.has_file, places), None)


def _paths_around(path: str, flag_files: FlagFiles) -> Iterator[str]:
    for folder in project.folders_of_input(path):
        for place in PLACES:
            at = os.path.join(folder, place)
            if flag_files.has_file(at):
                yield _from_working_folder(at)


def _from_working_folder(path: str) -> str:
    """Return a path as reports show it: relative to the working folder if that is shorter."""
    near = os.path.relpath(path)
    return near if len(near) < len(path) else path


def _state(path: str) -> tuple[int, int]:
    try:
        state = files.content_state(path)
    except OSError:
        return 0, 0
    return state[3], state[2]


@lru_cache(maxsize=4)
def _database(path: str, modified: int, size: int, copy: TreeCopy | None, flag_files: FlagFiles) -> Database:
    """Return a database, which is read once for many inputs."""
    return Database(path, flag_files.folder_of(path), copy, flag_files)


class Database(Record):
    """A compile_commands.json; its commands are split into words when they are needed."""

    path: str
    base: str
    copy: TreeCopy | None = None
    """The copy of its tree that is read; None if the tree is."""
    flag_files: FlagFiles = ON_DISK
    _entries: list[dict[str, Any]] = field(default_factory=list)
    _files: list[str] = field(default_factory=list)
    """The file of each entry."""
    _numbers: dict[str, list[int]] = field(default_factory=dict)
    """The positions of the entries, by the last part of the file's name."""
    _commands: dict[int, Command | None] = field(default_factory=dict)
    _graph: IncludeGraph = field(default_factory=lambda: IncludeGraph(lambda text: False, _MOST_TRIED))
    _bits: dict[str, int] = field(default_factory=dict)
    """The number of each file that units read, by its real path."""
    _bits_of_names: dict[str, int] = field(default_factory=dict)
    _reads: dict[int, int] = field(default_factory=dict)
    """By the position of an entry, a bit for each file that its unit reads."""
    _visited: int = 0
    _log: SharedLog = field(default_factory=SharedLog)

    def _load(self) -> None:
        """Read the entries once. Raises ReadError with the option that leaves the database out."""
        if self._entries:
            return
        try:
            entries = compdb.load_entries(self.path, self.flag_files)
        except ReadError as error:
            raise ReadError(error.path, f"{error.reason} (--no-compile-commands leaves it out)") from error
        for number, entry in enumerate(entries):
            file = os.path.join(self.base, entry.get("directory", ""), entry["file"])
            file = os.path.normpath(file)
            self._files.append(file if self.copy is None else copied_flags.path_in_copy(self.copy, file))
            self._numbers.setdefault(os.path.basename(file), []).append(number)
        self._entries = entries

    def missing_response_file(self) -> str | None:
        """Return a response file that a command names and that does not exist; None without one."""
        words = (word for command in self._commands.values() if command for word in command.words)
        return next((word[1:] for word in words if word.startswith("@")), None)

    def find_own(self, path: str) -> Match | None:
        """Return the first entry for a file; None if it has none. Raises ReadError."""
        with self._log.log_answers():
            return self._search_own(path)

    def _search_own(self, path: str) -> Match | None:
        self._load()
        real = files.real_path(path)
        names = dict.fromkeys(map(os.path.basename, (os.path.abspath(path), real)))
        candidates = (number for name in names for number in self._numbers.get(name, ()))
        numbers = sorted(number for number in candidates if files.real_path(self._files[number]) == real)
        if not numbers:
            return None
        command = self._command_of(numbers[0])
        try:
            command = self._adapt_to_copy(compdb.expand(command, self.flag_files), path)
            return Match(self.path, command, True, numbers[0], len(numbers), self._report_name)
        except ReadError as error:
            reason = f"{error.reason} (--no-compile-commands reads it without these flags)"
            raise ReadError(_from_working_folder(os.path.abspath(path)), reason) from error

    def _command_of(self, number: int) -> Command:
        """Return the command of an entry; raises ReadError with the option that leaves the database out."""
        try:
            return compdb.command_of(self.path, self.base, number + 1, self._entries[number])
        except ReadError as error:
            raise ReadError(error.path, f"{error.reason} (--no-compile-commands leaves it out)") from error

    def find_includer(self, path: str) -> Match | None:
        """Return the nearest unit that seems to include a header; None if none does within the limits."""
        with self._log.log_answers():
            return self._search_includer(path)

    def _search_includer(self, path: str) -> Match | None:
        self._load()
        near = _Nearness(os.path.abspath(path))
        numbers = range(min(len(self._files), _MOST_ENTRIES))
        if len(self._reads) < len(numbers):
            nearest = sorted(numbers, key=lambda number: near.rank(self._files[number], number))
            number = next((number for number in nearest if self._is_reading(number, path)), None)
        else:
            readers = (number for number in numbers if self._is_reading(number, path))
            number = min(readers, key=lambda number: near.rank(self._files[number], number), default=None)
        command = None if number is None else self._command(number)
        if number is None or command is None:
            return None
        same = self._numbers[os.path.basename(self._files[number])]
        entries = sum(self._files[other] == self._files[number] for other in same)
        if self.copy is not None:
            command = self._adapt_to_copy(self._raw_command(number), path)
        return Match(self.path, command, False, number, entries, self._report_name)

    @property
    def _report_name(self) -> str:
        """Its path in reports, if that is another one."""
        return "" if self.copy is None else self.copy.display_path(os.path.abspath(self.path))

    def _adapt_to_copy(self, command: Command, path: str) -> Command:
        """Return the command for a file of the copy, if one is read."""
        return command if self.copy is None else copied_flags.command_for_copy(self.copy, command, (path,))

    def is_reading(self, number: int, path: str) -> bool:
        """Return whether the unit of an entry seems to read a file."""
        with self._log.log_answers():
            return self._is_reading(number, path)

    def _is_reading(self, number: int, path: str) -> bool:
        if number not in self._reads:
            self._reads[number] = sum(1 << bit for bit in self._files_read(number))
        bit = self._bits.get(files.real_path(path))
        return bit is not None and bool(self._reads[number] >> bit & 1)

    def _files_read(self, number: int) -> set[int]:
        """Return the numbers of the files that the unit of an entry seems to read."""
        command = None if self._visited > _MOST_VISITED else self._command(number)
        read: set[int] = set()
        if command is None or self._graph.is_exhausted:
            return read
        for file, _ in self._graph.files(command.file, command.directory, command.words):
            self._visited += 1
            if file not in self._bits_of_names:
                bit = self._bits.setdefault(files.real_path(file), len(self._bits))
                self._bits_of_names[file] = bit
            read.add(self._bits_of_names[file])
        return read

    def _command(self, number: int) -> Command | None:
        """Return the command of an existing C source; None for others, and where it cannot be read."""
        if number not in self._commands:
            is_c = not self._files[number].endswith(c_units.CPLUSPLUS + c_units.ASSEMBLER)
            exists = is_c and files.is_file(self._files[number])
            self._commands[number] = self._read_command(number) if exists else None
        return self._commands[number]

    def _read_command(self, number: int) -> Command | None:
        try:
            command = self._adapt_to_copy(self._raw_command(number), self._files[number])
            c_units.unit(command.file, command.words, command.directory, ())
        except ReadError:
            return None
        return command

    def _raw_command(self, number: int) -> Command:
        """Return the command of an entry as the database has it. Raises ReadError."""
        command = compdb.command_of(self.path, self.base, number + 1, self._entries[number])
        return compdb.expand(command, self.flag_files)


class _Nearness:
    """Ranks sources by how near they are to a header: of the same name, then in near folders."""

    def __init__(self, header: str) -> None:
        folder, name = os.path.split(header)
        self._stem, self._steps = os.path.splitext(name)[0], folder.split(os.sep)

    def rank(self, source: str, number: int) -> tuple[bool, int, int]:
        folder, name = os.path.split(source)
        steps = folder.split(os.sep)
        common = sum(takewhile(bool, map(eq, self._steps, steps)))
        distance = len(self._steps) + len(steps) - 2 * common
        return os.path.splitext(name)[0] != self._stem, distance, number
