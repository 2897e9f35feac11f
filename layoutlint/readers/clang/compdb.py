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
from layoutlint.model.flag_files import ON_DISK, FlagFiles
from layoutlint.model.reading import Omission, Reading, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few
from layoutlint.readers.clang import (
    build_compiler,
    c_units,
    copied_flags,
    flags,
    parallel,
    query_driver,
    reached_units,
    response_files,
    text_search,
    unit_listings,
)
from layoutlint.readers.clang.include_graph import IncludeGraph
from layoutlint.readers.clang.parse import Unit

NAME = "compile_commands.json"
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
    """The compiler as the command names it, without what runs it (ccache)."""


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of the units that can define them, each with its own flags."""
    commands, unread = _expand_commands(load(path, options.flag_files), options.flag_files)
    if options.copy is not None:
        commands = tuple(copied_flags.command_for_copy(options.copy, command) for command in commands)
    if options.touched is not None:
        reading = _read_reached(path, commands, unread, wanted, options)
        if reading is not None:
            return reading
    return _read_commands(path, commands, unread, wanted, options)


def _read_reached(
    path: str, commands: tuple[Command, ...], unread: list[Unread], wanted: Wanted, options: ReadOptions
) -> Reading | None:
    """Return the requested structs of the units that a change reaches; None if others are needed as well."""
    assert options.touched is not None
    touched = options.touched.paths
    if options.copy is not None:
        touched = frozenset(copied_flags.path_in_copy(options.copy, each) for each in touched)
    found = reached_units.find(commands, touched, wanted)
    if found is None:
        return None
    chosen = found.commands
    if not any(command.file.endswith(".c") for command in chosen):  # an input needs a unit of C
        chosen += tuple(command for command in commands if command.file.endswith(".c"))[:1]
    try:
        reading = _read_commands(path, chosen, [*unread], wanted, options, found.elsewhere)
    except ReadError:  # all units give the reason
        return None
    if options.touched.needs_all and found.has_missing(reading.structs, wanted):
        return None
    count = f"{len(found.commands):,} of {len(commands):,} units"
    note = f"{count} can read what the change touches; the others are not parsed"
    return replace(reading, elsewhere=found.elsewhere, notes=(*reading.notes, note))


def _read_commands(
    path: str, commands: tuple[Command, ...], unread: list[Unread], wanted: Wanted, options: ReadOptions,
    elsewhere: frozenset[str] = frozenset(),
) -> Reading:  # fmt: skip
    """Return the requested structs of the units of some commands; `elsewhere` are names of other units."""
    working_folder = os.getcwd()
    notes: list[str] = []
    parts: dict[Unit, bool] = {}
    if options.is_sampled and wanted.is_by_name and _have_equal_flags(commands):
        sample = next(_select_commands(commands, wanted), None)
        if sample is not None and (reading := _read_sample(path, sample, wanted, options)) is not None:
            return reading
    seeming = frozenset(_select_commands(commands, wanted))
    for command in commands:
        try:
            roots = (os.path.dirname(os.path.abspath(path)), working_folder)
            unit = unit_of(path, command, options, roots)
            parts[unit] = parts.get(unit, False) or command in seeming
        except c_units.NotC as error:
            notes += [str(error)] if command in seeming else []
        except ReadError as error:
            unread.append(Unread.of_error(error))
    if not parts and unread:
        raise ReadError(unread[0].origin, unread[0].reason)
    if not parts:
        raise ReadError(path, "names no C source that can be read")
    certain = frozenset(unit for unit, is_seeming in parts.items() if is_seeming)
    found = unit_listings.read(tuple(parts), certain, wanted, options)
    outcome = found.outcome
    if not outcome.parsed:
        if not elsewhere:
            notes.append(f"no text of the {len(commands)} units and their headers defines a wanted struct")
        outcome = outcome.plus(parallel.run(tuple(parts)[:1], wanted, options).without_failures())
    outcome = outcome.plus(parallel.UnitResults((), tuple(unread)))
    notes += c_units.notes(c_units.command_line_flags(options)) if options.target else ()
    notes += query_driver.notes((unit.compiler for unit in parts), options)
    others = elsewhere.intersection(parallel.missing_names(outcome.structs, wanted))
    wanted = replace(wanted, names=wanted.names - others)
    reading = parallel.reading(path, outcome, wanted, notes, is_configured=True)
    shown_path = path if options.copy is None else options.copy.display_path(path)
    reading = replace(reading, compile_commands=shown_path)
    if options.finds_omissions:
        listings = ((unit.origin, listing) for unit, listing in found.others.items())
        hidden = unit_listings.hidden_by_errors(listings, wanted, outcome.structs)
        omissions = (*hidden, *_missing_sources(commands))
        reading = replace(reading, omissions=(*reading.omissions, *omissions))
    return replace(reading, names=_names(commands)) if wanted.names_only else reading


def _have_equal_flags(commands: tuple[Command, ...]) -> bool:
    """Return whether commands are for different files, with the same flags apart from the names of these."""
    flags_of = {
        tuple(word for word in each.words if not word.endswith((".c", ".o", ".d"))) for each in commands
    }
    return len(flags_of) == 1 and len({(each.directory, each.file) for each in commands}) == len(commands)


def _read_sample(path: str, command: Command, wanted: Wanted, options: ReadOptions) -> Reading | None:
    """Return the requested structs of one unit; None if it lacks one, or has a problem."""
    try:
        roots = (os.path.dirname(os.path.abspath(path)), os.getcwd())
        unit = unit_of(path, command, options, roots)
    except (c_units.NotC, ReadError):
        return None
    outcome = parallel.run((unit,), wanted, options)
    is_sound = outcome.parsed and not any(struct.problem for struct in outcome.structs)
    if not is_sound or parallel.missing_names(outcome.structs, wanted):
        return None
    notes = [*(c_units.notes(c_units.command_line_flags(options)) if options.target else ())]
    notes += query_driver.notes((unit.compiler,), options)
    shown_path = path if options.copy is None else options.copy.display_path(path)
    reading = parallel.reading(path, outcome, wanted, notes, is_configured=True)
    return replace(reading, compile_commands=shown_path)


def _seems_requested(text: bytes, wanted: Wanted) -> bool:
    is_annotated = wanted.annotated and text_search.mentions_annotations(text)
    return is_annotated or bool(text_search.names_in_text(text, wanted))


def _missing_sources(commands: tuple[Command, ...]) -> Iterator[Omission]:
    """Yield an omission for the sources that a database names and that do not exist."""
    paths = (os.path.join(command.directory, command.file) for command in commands)
    missing = [path for path in dict.fromkeys(paths) if not files.exists(path)]
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


def load(path: str, flag_files: FlagFiles = ON_DISK) -> tuple[Command, ...]:
    """Return the commands of a database, in order; raises ReadError with the number of a wrong entry.

    Its relative folders start where it was written, not at a link to it.
    """
    entries, base = load_entries(path, flag_files), flag_files.folder_of(path)
    if not entries:
        raise ReadError(path, "names no files")
    return tuple(command_of(path, base, number, entry) for number, entry in enumerate(entries, 1))


BUILD_FOLDERS = ("", "build", "builddir", "out", "_build", "cmake-build-debug", "cmake-build-release")
"""The folders of a project in which build systems are usually told to write."""


def load_entries(path: str, flag_files: FlagFiles = ON_DISK) -> list[dict[str, Any]]:
    """Return the entries of a database, each with a `file`; raises ReadError."""
    try:
        text = flag_files.read_all(path, _LARGEST)
        if not text.strip():
            raise ReadError(path, "the file is empty: the build system has not written it yet")
        _refuse_crowded(path, text)
        entries = json.loads(text)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise ReadError(path, f"is not a compilation database: {error}") from error
    if not isinstance(entries, list):
        raise ReadError(path, "is not a compilation database: it holds no list")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
            raise ReadError(path, f"entry {number} names no `file`")
        if not isinstance(entry.get("directory", ""), str):
            raise ReadError(path, f"entry {number}: `directory` is not a string")
    return entries


def _refuse_crowded(path: str, text: bytes) -> None:
    """Raise ReadError for a text of many small values: `{},` needs 24 times as much memory as text."""
    for things, count, most in (
        ("objects and lists", text.count(b"{") + text.count(b"["), _MOST_OBJECTS),
        ("values", text.count(b","), _MOST_VALUES),
    ):
        if count > most:
            raise ReadError(path, f"may hold {count:,} {things}, more than the {most:,} that are read")


def command_of(path: str, base: str, number: int, entry: dict[str, Any]) -> Command:
    """Return the command of an entry of a database in the folder `base`; raises ReadError with its number."""
    where = f"entry {number}"
    words = entry.get("arguments")
    if words is None and isinstance(entry.get("command"), str):
        try:
            words = shlex.split(entry["command"])
        except ValueError as error:
            raise ReadError(path, f"{where}: the command cannot be split: {error}") from error
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ReadError(path, f"{where} ({entry['file']}) has neither `arguments` nor a `command`")
    directory = os.path.join(base, entry.get("directory", ""))
    _, number = build_compiler.identify(words)
    return Command(entry["file"], directory, tuple(words[number:]), words[number - 1])


def expand(command: Command, flag_files: FlagFiles = ON_DISK) -> Command:
    """Return a command with response files expanded; raises ReadError if its flags cannot be read."""
    reason = _refusal(command)
    words = response_files.expand(command.words, command.directory, flag_files)
    reason = reason or flags.count_problem(words)
    if reason is not None:
        raise ReadError(command.file, reason)
    return replace(command, words=words)


def _expand_commands(
    commands: tuple[Command, ...], flag_files: FlagFiles = ON_DISK
) -> tuple[tuple[Command, ...], list[Unread]]:
    """Return the commands with response files expanded, and those whose flags cannot be read."""
    expansion = response_files.Expansion(flag_files)
    complete, unread = [], []
    for command in commands:
        reason = _refusal(command)
        try:
            words = expansion.expand(command.words, command.directory)
            reason = reason or flags.count_problem(words)
            complete += [] if reason else [replace(command, words=words)]
        except ReadError as error:
            reason = str(error)
        unread += [Unread(command.file, reason)] if reason else []
    return tuple(complete), unread


def _refusal(command: Command) -> str | None:
    """Return why the flags of a command are not read: they are Microsoft's; else None."""
    name = build_compiler.compiler_named(command.compiler).name.lower()
    if not _OF_MICROSOFT.fullmatch(name) and "--driver-mode=cl" not in command.words:
        return None
    return f"is compiled by {command.compiler}, whose flags (/D, /I) are not read"


def unit_of(path: str, command: Command, options: ReadOptions, roots: tuple[str, ...]) -> Unit:
    """Return the unit of a command of a database; raises ReadError, and NotC for another language."""
    words = command.words + flags.make_absolute(c_units.command_line_flags(options), os.getcwd())
    compiler = query_driver.compiler_of(command, words, options, roots, path)
    return c_units.unit(command.file, words, command.directory, roots, options.with_marks, compiler)


def _select_commands(commands: tuple[Command, ...], wanted: Wanted) -> Iterator[Command]:
    """Yield the commands whose file, or a header of it, seems to define a requested struct, also by its
    annotations.

    If the search takes too long, yield all remaining ones; if arrays are requested, all.
    """
    if wanted.arrays is not None:
        yield from commands
        return
    graph = IncludeGraph(lambda text: _seems_requested(text, wanted), _MOST_TRIED)
    for command in commands:
        files_read = graph.files(command.file, command.directory, command.words)
        if wanted.everything or any(defines for _, defines in files_read) or graph.is_exhausted:
            yield command
