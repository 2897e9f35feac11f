"""One C header or source, or a folder of them, with the flags of the command line."""

from __future__ import annotations

import os

from layoutlint.errors import ReadError
from layoutlint.model import Reading, ReadOptions, Wanted
from layoutlint.readers.clang import builtin, cross, flags, search, units
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.places import relative_to

HEADERS, SOURCES = (".h",), (".c",)
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".C")
NO_BUILTIN = "no builtin headers (stddef.h) of clang or gcc were found on this machine"


def unit(
    path: str, words: tuple[str, ...], directory: str, roots: tuple[str, ...], with_marks: bool = False
) -> Unit:
    """The unit that a C file is under some flags; raises ReadError for C++."""
    read = flags.normalised(words)
    shown = relative_to(roots, os.path.join(directory, path))
    if path.endswith(CPLUSPLUS) or (read.language or "c").startswith("c++"):
        raise ReadError(shown, "is C++; layoutlint reads C (a program's DWARF has the layouts of both)")
    own = () if "-nostdinc" in read.kept else builtin.flags() or ()
    alone = cross.ALONE if cross.lacks_library(read.kept) else ()
    main = os.path.normpath(os.path.join(directory, path))
    words = ("-xc", *read.kept, *own, *alone)
    return Unit(main, words, directory, roots, shown, problem=read.problem, with_marks=with_marks)


def asked(options: ReadOptions) -> tuple[str, ...]:
    """The compiler flags that were given, behind those for the target and configuration asked for."""
    on = (option for option in options.config or () if not option.startswith("!"))
    return (
        *cross.target_flags(options.target),
        *(f"-DCONFIG_{option}=1" for option in on),
        *options.flags,
    )


def notes(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a user must know of how files are read on this machine."""
    found = () if "-nostdinc" in words or builtin.flags() else (NO_BUILTIN,)
    return (*found, cross.NOTE) if cross.lacks_library(flags.normalised(words).kept) else found


def read_file(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """One header or source, all by itself."""
    here, words = os.getcwd(), asked(options)
    one = unit(path, words, here, (here,), options.marks)
    return units.reading(path, units.run([one], wanted, options), wanted, notes(words))


def read_folder(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """The headers and sources of a folder that define what is wanted; raises ReadError when it has no C."""
    here, words = os.getcwd(), asked(options)
    paths = list(search.files([path], HEADERS + SOURCES))
    if not paths:
        raise ReadError(
            path, "holds no C headers or sources, no compile_commands.json, and is no configured kernel tree"
        )
    found = search.definitions(paths, wanted, stop_when_found=False)
    chosen = sorted({file for files in found.values() for file in files})
    if not chosen:
        # One unit all the same: it tells the target, and that nothing is there.
        chosen = paths[:1]
    parts = [unit(file, words, here, (here,), options.marks) for file in chosen]
    outcome = units.run(parts, wanted, options)
    if not found:
        outcome = outcome.of_any()
    told = units.reading(path, outcome, wanted, notes(words))
    return told if found else _nothing(told, path, len(paths))


def _nothing(told: Reading, path: str, count: int) -> Reading:
    note = f"no text of the {count} C files below {path} defines a wanted struct"
    return Reading(told.path, told.reader, told.target, (), unread=(), notes=(*told.notes, note))
