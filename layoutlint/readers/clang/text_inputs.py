"""Reading one C header or source, or a folder of them, with the flags of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Omission, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few
from layoutlint.readers.clang import builtin_headers, cplusplus, cross_target, flags, parallel, text_search
from layoutlint.readers.clang.file_names import relative_to
from layoutlint.readers.clang.parse import Unit

HEADERS, SOURCES = (".h",), (".c",)
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".C")
ASSEMBLER = (".S", ".s", ".asm", ".sx")
LANGUAGES = ("c", "c-header", "cpp-output", "none", "assembler", "assembler-with-cpp")
"""Values of -x for C, and for assembler, which a database can contain as well and which has no structs."""
_DATABASE = "compile_commands.json"
NO_BUILTIN = "no builtin headers (stddef.h) of clang or gcc were found on this machine"


class NotC(ReadError):
    """A file of another language, which has no structs of C."""


def unit(
    path: str, words: tuple[str, ...], directory: str, roots: tuple[str, ...], with_marks: bool = False
) -> Unit:
    """Return the unit of a C file with some flags; raises ReadError for C++."""
    parsed_flags = flags.normalise(words)
    name = relative_to(roots, os.path.join(directory, path))
    if path.endswith(ASSEMBLER):
        raise NotC(name, "is assembler, which defines no structs")
    if path.endswith(CPLUSPLUS) or (parsed_flags.language or "c").startswith("c++"):
        raise NotC(name, f"is C++; {cplusplus.REASON}")
    if parsed_flags.refusal is not None or (parsed_flags.language or "c") not in LANGUAGES:
        raise ReadError(
            name, parsed_flags.refusal or f"is compiled as {parsed_flags.language}; layoutlint reads C"
        )
    builtin = () if "-nostdinc" in parsed_flags.passed else builtin_headers.flags() or ()
    freestanding = cross_target.ALONE if cross_target.lacks_library(parsed_flags.passed) else ()
    main = os.path.normpath(os.path.join(directory, path))
    words = ("-xc", *parsed_flags.passed, *builtin, *freestanding)
    return Unit(
        main,
        words,
        directory,
        roots,
        name,
        problem=parsed_flags.problem,
        doubts=parsed_flags.doubts,
        with_marks=with_marks,
        has_given_flags=True,
    )


def command_line_flags(options: ReadOptions) -> tuple[str, ...]:
    """Return the requested compiler flags, after those for the requested target and configuration."""
    on = (option for option in options.config or () if not option.startswith("!"))
    return (
        *cross_target.target_flags(options.target),
        *(f"-DCONFIG_{option}=1" for option in on),
        *options.flags,
    )


def notes(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return what users must know about how files are read on this machine."""
    result = () if "-nostdinc" in words or builtin_headers.flags() else (NO_BUILTIN,)
    return (
        (*result, cross_target.NOTE) if cross_target.lacks_library(flags.normalise(words).passed) else result
    )


def read_file(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of one header or source."""
    folder, words = os.getcwd(), command_line_flags(options)
    single_unit = unit(path, words, folder, (folder,), options.with_marks)
    return parallel.reading(path, parallel.run([single_unit], wanted, options), wanted, notes(words))


def read_folder(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a folder's headers and sources; raises ReadError if it has no C."""
    folder, words = os.getcwd(), command_line_flags(options)
    paths = list(text_search.files_below([path], HEADERS + SOURCES))
    if not paths:
        raise ReadError(
            path, "holds no C headers or sources, no compile_commands.json, and is no configured kernel tree"
        )
    files_by_name = text_search.definitions(paths, wanted, stop_when_found=False)
    selected = sorted({file for files in files_by_name.values() for file in files})
    if not selected:
        # Parse one unit anyway: it shows the target, and that nothing was found.
        selected = paths[:1]
    parts = [unit(file, words, folder, (folder,), options.with_marks) for file in selected]
    outcome = parallel.run(parts, wanted, options)
    if not files_by_name:
        outcome = outcome.ignoring_failures()
    reading = parallel.reading(path, outcome, wanted, notes(words))
    reading = reading if files_by_name else _with_note(reading, path, len(paths))
    if not options.finds_omissions:
        return reading
    omitted = (*_omissions(path, wanted), *_unreadable_files(paths), *_databases(path, paths, selected))
    return replace(reading, omissions=(*reading.omissions, *omitted))


def _unreadable_files(paths: list[str]) -> Iterator[Omission]:
    """Yield the files whose text cannot be read, or not to its end; dangling links are left out."""
    existing = [path for path in paths[: text_search.MOST_FILES] if os.path.exists(path)]
    closed = [path for path in existing if not os.path.isfile(path) or not os.access(path, os.R_OK)]
    large = [path for path in existing if os.path.getsize(path) > text_search.MOST_BYTES]
    if closed:
        yield Omission(f"cannot read {first_few(closed)}")
    if large:
        yield Omission(f"searched only in the first {text_search.MOST_BYTES >> 20} MB: {first_few(large)}")
    if len(paths) > text_search.MOST_FILES:
        yield Omission(f"{len(paths):,} C files, of which the first {text_search.MOST_FILES:,} are searched")


def _databases(path: str, paths: list[str], chosen: list[str]) -> Iterator[Omission]:
    """Yield the compilation databases below a folder that can have the flags of files that were read.

    `paths` are all C files below it. A folder without any is a build folder, next to its sources.
    """
    for database in text_search.files_below([path], (_DATABASE,)):
        folder = os.path.dirname(database)
        is_of_build = not any(file.startswith(f"{folder}{os.sep}") for file in paths)
        top = os.path.dirname(folder) if is_of_build else folder
        if os.path.basename(database) == _DATABASE and any(f.startswith(f"{top}{os.sep}") for f in chosen):
            yield Omission(f"read without the flags in {database}: give that file as INPUT")


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
    return Reading(reading.path, reading.reader, reading.target, (), unread=(), notes=(*reading.notes, note))
