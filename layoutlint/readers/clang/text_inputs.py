"""One C header or source, or a folder of them, with the flags of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Omission, Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import some_of
from layoutlint.readers.clang import builtin_headers, cross_target, flags, parallel, text_search
from layoutlint.readers.clang.file_names import relative_to
from layoutlint.readers.clang.parse import Unit

HEADERS, SOURCES = (".h",), (".c",)
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".C")
ASSEMBLER = (".S", ".s", ".asm", ".sx")
LANGUAGES = ("c", "c-header", "cpp-output", "none", "assembler", "assembler-with-cpp")
"""Values of -x of C, and of what is beside it in a database without structs."""
_DATABASE = "compile_commands.json"
NO_BUILTIN = "no builtin headers (stddef.h) of clang or gcc were found on this machine"


class NotC(ReadError):
    """A file of another language, which has no structs of C."""


def unit(
    path: str, words: tuple[str, ...], directory: str, roots: tuple[str, ...], with_marks: bool = False
) -> Unit:
    """The unit that a C file is under some flags; raises ReadError for C++."""
    read = flags.normalised(words)
    shown = relative_to(roots, os.path.join(directory, path))
    if path.endswith(ASSEMBLER):
        raise NotC(shown, "is assembler, which defines no structs")
    if path.endswith(CPLUSPLUS) or (read.language or "c").startswith("c++"):
        raise NotC(shown, "is C++; layoutlint reads C (a program's DWARF has the layouts of both)")
    if read.refusal is not None or (read.language or "c") not in LANGUAGES:
        raise ReadError(shown, read.refusal or f"is compiled as {read.language}; layoutlint reads C")
    own = () if "-nostdinc" in read.kept else builtin_headers.flags() or ()
    alone = cross_target.ALONE if cross_target.lacks_library(read.kept) else ()
    main = os.path.normpath(os.path.join(directory, path))
    words = ("-xc", *read.kept, *own, *alone)
    return Unit(
        main, words, directory, roots, shown, problem=read.problem, doubts=read.doubts, with_marks=with_marks
    )


def asked(options: ReadOptions) -> tuple[str, ...]:
    """The compiler flags that were given, behind those for the target and configuration asked for."""
    on = (option for option in options.config or () if not option.startswith("!"))
    return (
        *cross_target.target_flags(options.target),
        *(f"-DCONFIG_{option}=1" for option in on),
        *options.flags,
    )


def notes(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a user must know of how files are read on this machine."""
    found = () if "-nostdinc" in words or builtin_headers.flags() else (NO_BUILTIN,)
    return (*found, cross_target.NOTE) if cross_target.lacks_library(flags.normalised(words).kept) else found


def read_file(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """One header or source, all by itself."""
    here, words = os.getcwd(), asked(options)
    one = unit(path, words, here, (here,), options.marks)
    return parallel.reading(path, parallel.run([one], wanted, options), wanted, notes(words))


def read_folder(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """The headers and sources of a folder that define what is wanted; raises ReadError when it has no C."""
    here, words = os.getcwd(), asked(options)
    paths = list(text_search.files([path], HEADERS + SOURCES))
    if not paths:
        raise ReadError(
            path, "holds no C headers or sources, no compile_commands.json, and is no configured kernel tree"
        )
    found = text_search.definitions(paths, wanted, stop_when_found=False)
    chosen = sorted({file for files in found.values() for file in files})
    if not chosen:
        # One unit all the same: it tells the target, and that nothing is there.
        chosen = paths[:1]
    parts = [unit(file, words, here, (here,), options.marks) for file in chosen]
    outcome = parallel.run(parts, wanted, options)
    if not found:
        outcome = outcome.of_any()
    told = parallel.reading(path, outcome, wanted, notes(words))
    told = told if found else _nothing(told, path, len(paths))
    if not options.omissions:
        return told
    omitted = (*_omissions(path, wanted), *_unsearched(paths), *_databases(path, paths, chosen))
    return replace(told, omissions=(*told.omissions, *omitted))


def _unsearched(paths: list[str]) -> Iterator[Omission]:
    """Yield the files whose text cannot be read, or not to its end; links to nothing are left out."""
    there = [path for path in paths[: text_search.MOST_FILES] if os.path.exists(path)]
    closed = [path for path in there if not os.path.isfile(path) or not os.access(path, os.R_OK)]
    large = [path for path in there if os.path.getsize(path) > text_search.MOST_BYTES]
    if closed:
        yield Omission(f"cannot read {some_of(closed)}")
    if large:
        yield Omission(f"searched only in the first {text_search.MOST_BYTES >> 20} MB: {some_of(large)}")
    if len(paths) > text_search.MOST_FILES:
        yield Omission(f"{len(paths):,} C files, of which the first {text_search.MOST_FILES:,} are searched")


def _databases(path: str, paths: list[str], chosen: list[str]) -> Iterator[Omission]:
    """Yield the compilation databases below a folder that can have the flags of files that were read.

    `paths` are all C files below it. A folder without any is one of a build, beside its sources.
    """
    for database in text_search.files([path], (_DATABASE,)):
        folder = os.path.dirname(database)
        is_of_build = not any(file.startswith(f"{folder}{os.sep}") for file in paths)
        top = os.path.dirname(folder) if is_of_build else folder
        if os.path.basename(database) == _DATABASE and any(f.startswith(f"{top}{os.sep}") for f in chosen):
            yield Omission(f"read without the flags in {database}: give that file as INPUT")


def _omissions(path: str, wanted: Wanted) -> Iterator[Omission]:
    """Yield what of a folder is not read: files that define wanted structs, and folders without access."""
    unlisted: list[OSError] = []
    others = list(text_search.others(path, HEADERS + SOURCES, unlisted))
    found = text_search.definitions(others, wanted, stop_when_found=False)
    left_out = sorted({file for several in found.values() for file in several})
    if left_out:
        several = "1 file that defines" if len(left_out) == 1 else f"{len(left_out):,} files that define"
        shown = some_of([os.path.relpath(file, path) for file in left_out])
        why = "of a folder, .h and .c files outside of hidden and linked folders are read"
        what = f"not read: {several} struct {some_of(sorted(found))}: {shown} ({why})"
        yield Omission(what, frozenset(found))
    if unlisted:
        folders = some_of(sorted(str(error.filename) for error in unlisted))
        yield Omission(f"cannot list {folders}: {files.why(unlisted[0])}")


def _nothing(told: Reading, path: str, count: int) -> Reading:
    note = f"no text of the {count} C files below {path} defines a wanted struct"
    return Reading(told.path, told.reader, told.target, (), unread=(), notes=(*told.notes, note))
