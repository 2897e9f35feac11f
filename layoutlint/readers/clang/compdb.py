"""compile_commands.json (clang's JSON compilation database), and which units can define requested structs."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Omission, Reading, ReadOptions, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few
from layoutlint.readers.clang import flags, parallel, response_files, text_inputs, text_search
from layoutlint.readers.clang.parse import Unit

NAME = "compile_commands.json"
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_LARGEST = 1 << 28
"""The most bytes; a database has about a thousand for each unit."""
_MOST_OBJECTS = 2_000_000
"""The most JSON objects and lists; each unit is an object with at most one list."""
_MOST_VALUES = 20_000_000
_MOST_TRIED = 5_000_000
"""The most paths at which headers are searched; all units of Linux need at most 400,000."""

_OF_MICROSOFT = re.compile(r"(?:cl|clang-cl|icl|icx-cl)(?:-\d+)?(?:\.exe)?")


class Command(Record, frozen=True):
    """The compiler command for one file."""

    file: str
    directory: str
    words: tuple[str, ...]
    """The compiler's arguments without the compiler."""
    compiler: str = "cc"


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of the units that can define them, each with its own flags."""
    working_folder = os.getcwd()
    notes: list[str] = []
    parts = []
    commands, unread = _expand_commands(load(path))
    commands_used = list(_Chooser(wanted).select_commands(commands))
    for command in commands_used or commands[:1]:
        try:
            parts.append(_unit(command, options, (os.path.dirname(os.path.abspath(path)), working_folder)))
        except text_inputs.NotC as error:
            notes.append(str(error))
        except ReadError as error:
            unread.append(Unread(error.path, error.reason))
    if not parts and unread:
        raise ReadError(unread[0].origin, unread[0].reason)
    if not parts:
        raise ReadError(path, "names no C source that can be read")
    outcome = parallel.run(list(dict.fromkeys(parts)), wanted, options)
    if not commands_used:
        notes.append(f"no text of the {len(commands)} units and their headers defines a wanted struct")
        outcome = outcome.ignoring_failures()
    outcome = outcome.plus(parallel.Outcome((), tuple(unread)))
    notes += text_inputs.notes(text_inputs.command_line_flags(options)) if options.target else ()
    reading = parallel.reading(path, outcome, wanted, notes, is_configured=True)
    if options.finds_omissions:
        reading = replace(reading, omissions=(*reading.omissions, *_missing_sources(commands)))
    return replace(reading, names=_names(commands)) if wanted.names_only else reading


def _missing_sources(commands: tuple[Command, ...]) -> Iterator[Omission]:
    """Yield an omission for the sources that a database names and that do not exist."""
    paths = (os.path.join(command.directory, command.file) for command in commands)
    missing = [path for path in dict.fromkeys(paths) if not os.path.exists(path)]
    if missing:
        count = (
            "1 source that it names is"
            if len(missing) == 1
            else f"{len(missing):,} sources that it names are"
        )
        yield Omission(f"{count} not there: {first_few(missing)}")


def _names(commands: tuple[Command, ...]) -> frozenset[str]:
    """Return the names that the text of all units seems to define."""
    return text_search.names(
        dict.fromkeys(os.path.join(command.directory, command.file) for command in commands)
    )


def load(path: str) -> tuple[Command, ...]:
    """Return the commands of a database, in order; raises ReadError with the number of a wrong entry."""
    try:
        text = files.read_all(path, _LARGEST)
        _refuse_crowded(path, text)
        entries = json.loads(text)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise ReadError(path, f"is no compilation database: {error}") from error
    if not isinstance(entries, list):
        raise ReadError(path, "is no compilation database: it holds no list")
    if not entries:
        raise ReadError(path, "names no files")
    return tuple(_command(path, number, entry) for number, entry in enumerate(entries, 1))


def _refuse_crowded(path: str, text: bytes) -> None:
    """Raise ReadError for a text of many small values: `{},` needs 24 times as much memory as text."""
    for things, count, most in (
        ("objects and lists", text.count(b"{") + text.count(b"["), _MOST_OBJECTS),
        ("values", text.count(b","), _MOST_VALUES),
    ):
        if count > most:
            raise ReadError(path, f"may hold {count:,} {things}, more than the {most:,} that are read")


def _command(path: str, number: int, entry: Any) -> Command:
    where = f"entry {number}"
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise ReadError(path, f"{where} names no `file`")
    directory = entry.get("directory", "")
    words = entry.get("arguments")
    if words is None and isinstance(entry.get("command"), str):
        try:
            words = shlex.split(entry["command"])
        except ValueError as error:
            raise ReadError(path, f"{where}: the command cannot be split: {error}") from error
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ReadError(path, f"{where} ({entry['file']}) has neither `arguments` nor a `command`")
    if not isinstance(directory, str):
        raise ReadError(path, f"{where}: `directory` is no string")
    directory = os.path.join(os.path.dirname(os.path.abspath(path)), directory)
    return Command(entry["file"], directory, tuple(words[1:]), words[0])


def _expand_commands(commands: tuple[Command, ...]) -> tuple[tuple[Command, ...], list[Unread]]:
    """Return the commands with response files expanded, and those whose flags cannot be read."""
    expansion = response_files.Expansion()
    complete, unread = [], []
    for command in commands:
        reason = _refusal(command)
        try:
            words = expansion.expand(command.words, command.directory)
            reason = reason or flags.too_many(words)
            complete += [] if reason else [replace(command, words=words)]
        except ReadError as error:
            reason = str(error)
        unread += [Unread(command.file, reason)] if reason else []
    return tuple(complete), unread


def _refusal(command: Command) -> str | None:
    """Return why the flags of a command are not read: they are Microsoft's; else None."""
    names = (
        os.path.basename(word.replace("\\", "/")).lower() for word in (command.compiler, *command.words[:1])
    )
    if not any(_OF_MICROSOFT.fullmatch(name) for name in names) and "--driver-mode=cl" not in command.words:
        return None
    return f"is compiled by {command.compiler}, whose flags (/D, /I) are not read"


def _unit(command: Command, options: ReadOptions, roots: tuple[str, ...]) -> Unit:
    words = command.words + text_inputs.command_line_flags(options)
    return text_inputs.unit(command.file, words, command.directory, roots, options.with_marks)


class _Chooser(Record):
    """Follows #include lines, without a preprocessor, to the files that define requested structs."""

    wanted: Wanted
    _texts: dict[str, tuple[bool, tuple[tuple[bool, str], ...]]] = field(default_factory=dict)
    _resolved: dict[tuple[str, bool, str, int], str | None] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Numbers of lists of folders, which can be long."""
    _tried: int = 0
    """The number of paths at which headers were searched."""

    def select_commands(self, commands: tuple[Command, ...]) -> Iterator[Command]:
        """Yield the commands whose file, or a header of it, seems to define a requested struct.

        If the search takes too long, yield all remaining ones.
        """
        for command in commands:
            if self.wanted.everything or self._tried > _MOST_TRIED or self._reaches(command):
                yield command

    def _reaches(self, command: Command) -> bool:
        parsed_flags = flags.normalise(command.words)
        folders = tuple(os.path.join(command.directory, folder) for folder in parsed_flags.folders)
        pending = [os.path.join(command.directory, name) for name in (command.file, *parsed_flags.includes)]
        visited = set(pending)
        number = self._numbers.setdefault(folders, len(self._numbers))
        while pending:
            file = pending.pop()
            defines, includes = self._text(file)
            if defines:
                return True
            for is_quoted, name in includes:
                if self._tried > _MOST_TRIED:
                    return True
                header = self._resolve(os.path.dirname(file), is_quoted, name, folders, number)
                if header is not None and header not in visited:
                    visited.add(header)
                    pending.append(header)
        return False

    def _text(self, file: str) -> tuple[bool, tuple[tuple[bool, str], ...]]:
        """Return whether a file defines a requested struct, and its #include lines."""
        if file not in self._texts:
            text = text_search.content(file)
            includes = tuple((kind == b'"', os.fsdecode(name)) for kind, name in _INCLUDE.findall(text))
            self._texts[file] = (bool(text_search.wanted_in(text, self.wanted)), includes)
        return self._texts[file]

    def _resolve(
        self, folder: str, is_quoted: bool, name: str, folders: tuple[str, ...], number: int
    ) -> str | None:
        key = (folder if is_quoted else "", is_quoted, name, number)
        if key not in self._resolved:
            places = (folder, *folders) if is_quoted else folders
            self._tried += len(places)
            candidates = (os.path.normpath(os.path.join(place, name)) for place in places)
            self._resolved[key] = next((at for at in candidates if os.path.isfile(at)), None)
        return self._resolved[key]
