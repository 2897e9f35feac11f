"""Translation units of C files with flags that people or build systems give."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.readers.clang import (
    builtin_headers,
    cplusplus,
    cross_target,
    flags,
    gcc_macros,
    option_table,
)
from layoutlint.readers.clang.build_compiler import Compiler
from layoutlint.readers.clang.file_names import relative_to
from layoutlint.readers.clang.parse import Unit

HEADERS, SOURCES = (".h",), (".c",)
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".C")
ASSEMBLER = (".S", ".s", ".asm", ".sx")
_OTHER_LANGUAGES = {
    ".go": "Go", ".java": "Java", ".js": "JavaScript", ".py": "Python", ".rs": "Rust", ".sh": "shell",
    ".ts": "TypeScript", ".zig": "Zig", ".rb": "Ruby", ".pl": "Perl", ".lua": "Lua", ".swift": "Swift",
    ".kt": "Kotlin", ".cs": "C#", ".ll": "LLVM IR", ".md": "Markdown", ".rst": "reStructuredText",
    ".html": "HTML", ".xml": "XML", ".yaml": "YAML", ".yml": "YAML", ".cmake": "CMake", ".mk": "make",
    ".ac": "autoconf", ".am": "automake",
}  # fmt: skip
"""Other languages of files that people give, by suffix."""
_OTHER_NAMES = {
    "Makefile": "make", "GNUmakefile": "make", "makefile": "make", "Kbuild": "make", "Kconfig": "Kconfig",
    "CMakeLists.txt": "CMake", "meson.build": "Meson", "configure": "shell",
}  # fmt: skip
_C = ("c", "c-header", "cpp-output")
LANGUAGES = (*_C, "none", "assembler", "assembler-with-cpp")
"""Values of -x for C, and for assembler, which a database can contain as well and which has no structs."""
NO_BUILTIN = "no builtin headers (stddef.h) of clang or gcc were found on this machine"


class NotC(ReadError):
    """A file of another language, which has no structs of C."""


def unit(
    path: str,
    words: tuple[str, ...],
    directory: str,
    roots: tuple[str, ...],
    with_marks: bool = False,
    compiler: Compiler | None = None,
) -> Unit:
    """Return the unit of a C file with some flags; raises ReadError for C++.

    `compiler` is that of the build; None if it is not known.
    """
    is_gcc = compiler is not None and compiler.is_gcc
    answer = None if compiler is None else compiler.answer
    implied = () if compiler is None else compiler.implied_flags(words)
    words = words if answer is None else answer.without_specs(words)
    parsed_flags = flags.normalise((*implied, *words))
    name = relative_to(roots, os.path.join(directory, path))
    refuse_other_languages(name, path, parsed_flags.language)
    if compiler is not None and compiler.refusal is not None and cross_target.stated_triple(words) is None:
        raise ReadError(name, compiler.refusal)
    if parsed_flags.refusal is not None or (parsed_flags.language or "c") not in LANGUAGES:
        raise ReadError(
            name, parsed_flags.refusal or f"is compiled as {parsed_flags.language}; layoutlint reads C"
        )
    main = os.path.normpath(os.path.join(directory, path))
    doubts, problem = parsed_flags.doubts, parsed_flags.problem
    if answer is None:
        library = cross_target.find_library(parsed_flags.passed, compiler, parsed_flags.has_small_library)
        first, last, problem = library.first, library.last, problem or library.problem
        last = (*_builtin_headers(parsed_flags.passed, compiler), *last)
    else:
        first, last, doubts = (), answer.flags, tuple(flags.without_macros(doubts, answer.is_asked))
    machine = cross_target.stated_triple(parsed_flags.passed) or os.uname().machine
    as_gcc = gcc_macros.flags_of(compiler, machine)
    return Unit(
        main,
        (*as_gcc, "-xc", *first, *parsed_flags.passed, *last),
        directory,
        roots,
        name,
        problem=problem,
        doubts=tuple(_open_doubts(doubts) if is_gcc else doubts),
        with_marks=with_marks,
        has_given_flags=True,
        compiler=compiler,
    )


def refuse_other_languages(name: str, path: str, stated: str | None = None) -> None:
    """Raise NotC for a file that is not C by its suffix, if no flag says what it is, or by that flag."""
    if stated in _C:
        return
    if path.endswith(ASSEMBLER):
        raise NotC(name, "is assembler, which defines no structs")
    other = _OTHER_LANGUAGES.get(os.path.splitext(path)[1]) or _OTHER_NAMES.get(os.path.basename(path))
    if other is not None:
        raise NotC(name, f"is {other} by its name; layoutlint reads C")
    if path.endswith(CPLUSPLUS) or (stated or "c").startswith("c++"):
        raise NotC(name, f"is C++; {cplusplus.REASON}")


def _open_doubts(doubts: Iterable[flags.Doubt]) -> Iterator[flags.Doubt]:
    """Yield the doubts about what GccLayouts does not know of GCC.

    It lays out packed structs. On x86, `aligned` without a number is 16, whatever registers there are
    (ATTRIBUTE_ALIGNED_VALUE in i386.h).
    """
    for doubt in doubts:
        if "pack-struct" not in doubt.flag:
            yield replace(doubt, names=doubt.names.replace(f"|{option_table.BARE_ALIGNED}", ""))


def _builtin_headers(words: tuple[str, ...], compiler: Compiler | None) -> tuple[str, ...]:
    """Return the flags for the headers of a compiler, and for those that only GCC has."""
    found = () if "-nostdinc" in words else builtin_headers.flags() or ()
    if found and compiler is not None and compiler.is_gcc:
        found = (*found, *builtin_headers.gcc_flags(compiler.prefix, compiler.version, compiler.path))
    return found


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
