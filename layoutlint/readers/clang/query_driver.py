"""Compilers that the user trusts (`--query-driver GLOB`): asked for their macros, folders and target.

A database can be part of a change that is judged. So a compiler is run only if the user's pattern matches its
file, which is outside of what is judged. Its environment and working folder are fixed. Flags of the command
are passed only if they can run, load and write nothing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.errors import ReadError, UsageError
from layoutlint.files import accesses, project
from layoutlint.model.reading import ReadOptions, TrustedCompilers
from layoutlint.model.record import replace
from layoutlint.phrases import first_few
from layoutlint.readers.cache import keys
from layoutlint.readers.cache.memory import Memory
from layoutlint.readers.clang import build_compiler, cross_target, flags, option_table
from layoutlint.readers.clang.build_compiler import Compiler
from layoutlint.readers.clang.compiler_answer import CompilerAnswer, feature_question
from layoutlint.readers.clang.file_names import relative_to
from layoutlint.workers import program

if TYPE_CHECKING:
    from layoutlint.readers.clang.compdb import Command

_QUESTION = ("-E", "-dM", "-v", "-x", "c", "-")
"""Before all flags of the command, so that none of them takes one of these words as its value."""
_LIMITS = program.Limits(5, 1 << 20, 1 << 20)
_MOST_ANSWERS = 4096
_FOLDER = "/"
"""Where compilers run: nobody but the administrator writes there."""
_ASKED = re.compile(
    r"""-m(?!llvm\b)[\w.+-]+(?:=[\w.+,-]+)? | -std=[\w:+]+ | -ansi | -O\w* | -pthreads? | -posix
    | -nostdinc | -E[BL] | -trigraphs
    | -f(?:no-)?(?:short-enums|short-wchar|short-double|pack-struct(?:=\d+)?|(?:un)?signed-(?:char|bitfields)
      |PIC|pic|PIE|pie|fast-math|math-errno|finite-math-only|signed-zeros|trapping-math|associative-math
      |reciprocal-math|unsafe-math-optimizations|rounding-math|signaling-nans|single-precision-constant
      |cx-limited-range|cx-fortran-rules|excess-precision=\w+|fp-contract=\w+|freestanding|hosted|exceptions
      |non-call-exceptions|(?:asynchronous-)?unwind-tables|dwarf2-cfi-asm|openmp(?:-simd)?|openacc|gnu-tm
      |stack-protector(?:-(?:strong|all|explicit))?|abi-version=\d+|leading-underscore|gnu89-inline
      |sanitize=[\w,-]+|cf-protection(?:=\w+)?|ms-extensions|plan9-extensions|blocks|char8_t|fixed-point
      |exec-charset=[\w-]+|wide-exec-charset=[\w-]+|inline|builtin|building-libgcc)""",
    re.VERBOSE,
)
"""Flags that can change an answer, and can do nothing else when nothing is compiled."""
_SPECS = re.compile(r"[\w+-][\w.+-]*")
"""A file of the compiler's own folders; one with a folder could be anybody's, and run programs."""
_FOLDER_FLAGS = ("--sysroot", "-isysroot")
_SEARCH = re.compile(
    r"^#include <\.\.\.> search starts here:\n(?P<folders>.*?)^End of search list", re.M | re.S
)
_TARGET = re.compile(r"^Target: ([\w.-]+)$", re.M)


def trusted_compilers(globs: Iterable[str], path: str) -> TrustedCompilers | None:
    """Return the compilers that patterns name, separated by commas; None for none. Raises UsageError.

    `path` is the PATH of this run.
    """
    patterns = tuple(pattern for glob in globs for pattern in glob.split(",") if pattern)
    for pattern in patterns:
        if not pattern.startswith(("/", "*")):
            name = os.path.basename(pattern)
            hint = f"it is matched with whole paths, such as '/usr/bin/{name}'"
            raise UsageError(f"--query-driver {pattern!r}: {hint}")
    return TrustedCompilers(patterns, _folders_of(path)) if patterns else None


def compiler_of(
    command: Command, words: tuple[str, ...], options: ReadOptions, roots: tuple[str, ...], judged: str
) -> Compiler:
    """Return the compiler of a command with some words, and its answer if the user trusts it.

    `judged` is the database or input: no file of its folder and repository is run, nor of those of the source
    and the repository of the working folder. Raises ReadError if the compiler gives no answer.
    """
    named, trusted = build_compiler.compiler_named(command.compiler), options.query_drivers
    is_overridden = named.is_gcc and cross_target.stated_triple(words) is not None
    is_no_path = any("\0" in text for text in (command.compiler, command.directory, command.file, *words))
    if trusted is None or is_overridden or is_no_path or "-undef" in words:
        return named
    source = os.path.join(command.directory, command.file)
    forbidden = _forbidden_folders(judged, source, options)
    path = _find(command.compiler, command.directory, trusted, forbidden)
    if path is None:
        return named
    asked = tuple(_asked_flags(words, command.directory, named, forbidden))
    folders = os.pathsep.join(folder for folder in trusted.search_path if not _is_inside(folder, forbidden))
    state = files.content_state(path)
    answer = _remembered_answer(path, state[2:4], asked, folders, options.cache)
    if isinstance(answer, str):
        raise ReadError(relative_to(roots, source), f"{path} {answer} (--query-driver)")
    return _with_answer(named, path, answer)


def _with_answer(named: Compiler, path: str, answer: CompilerAnswer) -> Compiler:
    triple, refusal = build_compiler.normal_triple(answer.target), None
    if triple is None or not flags.is_target(triple):
        refusal = f"is compiled by {path} for {answer.target}, which is not known here (docs/targets.md)"
        triple = None
    family: build_compiler.Family = "clang" if answer.is_clang else "gcc"
    return replace(
        named, family=family, version=answer.version, triple=triple, refusal=refusal, answer=answer
    )


def notes(compilers: Iterable[Compiler | None], options: ReadOptions) -> Iterator[str]:
    """Yield a note on the compilers of commands that were not asked although the user trusts some."""
    if options.query_drivers is None:
        return
    known = {each.name: each.answer is not None for each in compilers if each is not None}
    unasked = sorted(name for name, is_answered in known.items() if not is_answered)
    if not known:
        yield "--query-driver: no compile_commands.json names a compiler to ask"
    elif unasked:
        why = "they are not found, do not match, or are in the checkout (docs/inputs.md)"
        yield f"--query-driver: not asked: {first_few(unasked)}: {why}"


def remedy(name: str) -> str:
    """Return the option with which a compiler is asked, as the user can type it.

    Links are resolved before it is matched: `gcc` is `x86_64-linux-gnu-gcc-12`.
    """
    return f"`--query-driver {shlex.quote(f'/usr/bin/*{name}*')}`"


def find_program(name: str, path: str) -> str | None:
    """Return the real path of a program in the folders of a PATH; None if it is in none."""
    places = (os.path.join(folder, name) for folder in _folders_of(path))
    found = next((place for place in places if files.is_file(place)), None)
    return None if found is None else files.real_path(found)


def _folders_of(path: str) -> tuple[str, ...]:
    """Return the folders of a PATH, without those that depend on the working folder."""
    return tuple(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))


def _forbidden_folders(judged: str, source: str, options: ReadOptions) -> tuple[str, ...]:
    """Return the real paths of the folders that a change can write."""
    copy = () if options.copy is None else (options.copy.top, options.copy.folder)
    own = {folder for path in (judged, source, *copy) for folder in _folder_and_repository(path)}
    return tuple(sorted(own.union(_folder_and_repository(os.getcwd())[1:])))


@accesses.remember(4096)
def _folder_and_repository(path: str) -> tuple[str, ...]:
    """Return the real path of a folder, or that of a file, and the top of its repository if it has one."""
    start = files.real_path(path)
    start = start if files.is_folder(start) else os.path.dirname(start)
    around = project.folders_around(start)
    return (start, around[-1]) if around and project.is_repository(around[-1]) else (start,)


def _is_inside(path: str, folders: tuple[str, ...]) -> bool:
    real = files.real_path(path)
    return any(f"{real}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}") for folder in folders)


def _find(word: str, directory: str, trusted: TrustedCompilers, forbidden: tuple[str, ...]) -> str | None:
    """Return the real path of a compiler that the user trusts; None for another, and for a missing one."""
    if os.sep in word:
        places = [os.path.join(directory, word)]
    else:
        places = [os.path.join(folder, word) for folder in trusted.search_path]
    for place in places:
        path = files.real_path(place)
        is_wrapper = os.sep not in word and build_compiler.is_wrapper(path)
        if is_wrapper or not files.is_file(path) or not files.is_executable(path):
            continue
        is_trusted = any(pattern.fullmatch(path) for pattern in map(_pattern, trusted.patterns))
        return path if is_trusted and not _is_inside(path, forbidden) else None
    return None


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """Return the expression of a pattern as clangd has it: `*` is within a folder, `**` is any path."""
    parts = re.split(r"(\*\*|\*|\?)", glob)
    meanings = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts), re.DOTALL)


def _asked_flags(
    words: tuple[str, ...], directory: str, named: Compiler, forbidden: tuple[str, ...]
) -> Iterator[str]:
    """Yield the flags of a command that can change the answer."""
    pairs = list(flags.spellings(words))
    folders = (value for option, value in pairs if option in _FOLDER_FLAGS and value is not None)
    sysroots = [os.path.join(directory, folder) for folder in folders]
    for option, value in pairs:
        if value is None and _ASKED.fullmatch(option) and not option_table.is_native(option):
            yield option
        elif value is not None and option == "-specs":
            # The compiler searches it below the sysroot as well.
            if _SPECS.fullmatch(value) and not any(_is_inside(folder, forbidden) for folder in sysroots):
                yield f"{option}={value}"
        elif value is not None and option == "--sysroot":
            yield f"{option}={os.path.join(directory, value)}"
        elif value is not None and option == "-isysroot":
            yield from (option, os.path.join(directory, value))
    triple = cross_target.stated_triple(words) or named.triple
    if named.family == "clang" and triple is not None:
        yield f"--target={triple}"


@accesses.remember(_MOST_ANSWERS, is_lasting=True)
def _remembered_answer(
    path: str, state: tuple[int, ...], asked: tuple[str, ...], search_path: str, uses_cache: bool
) -> CompilerAnswer | str:
    """Return the answer of a compiler, from an earlier run if it is the same file; else why it has none."""
    if not uses_cache:
        return _ask(path, asked, search_path)
    try:
        memory = Memory(keys.key_anywhere("compiler", path, state, asked, search_path))
    except (keys.Unknown, OSError):
        return _ask(path, asked, search_path)
    kept = memory.recall()
    if kept is not None:
        target, folders, definitions = json.loads(kept)
        return CompilerAnswer(asked, target, tuple(folders), definitions)
    with accesses.log_answers() as log:
        files.content_state(path)
        answer = _ask(path, asked, search_path)
    if isinstance(answer, CompilerAnswer):
        memory.keep(log, json.dumps((answer.target, answer.folders, answer.definitions)).encode())
    return answer


def _ask(path: str, asked: tuple[str, ...], search_path: str) -> CompilerAnswer | str:
    """Return the answer of a compiler, or why it has none."""
    environment = {"LC_ALL": "C", "PATH": search_path}
    try:
        command = (path, *_QUESTION, *asked)
        result = program.run(command, _FOLDER, environment, _LIMITS, (), True, feature_question())
    except OSError as error:
        return f"cannot be run: {files.error_reason(error)}"
    except program.LimitExceeded as error:
        return f"{error}"
    messages = result.messages.decode("utf-8", "surrogateescape")
    definitions = result.output.decode("utf-8", "surrogateescape")
    search, target = _SEARCH.search(messages), _TARGET.search(messages)
    if result.status or search is None or target is None or "#define __GNUC__ " not in definitions:
        line = _complaint(definitions, messages, result.status)
        return f"gives no answer to `{' '.join(_QUESTION[:3])}`: {line}"
    lines = (line.strip() for line in search["folders"].splitlines())
    folders = tuple(os.path.normpath(line) for line in lines if os.path.isabs(line))
    return CompilerAnswer(asked, target[1], folders, definitions)


_LONGEST_LINE = 200


def _complaint(output: str, messages: str, status: int) -> str:
    """Return the line that says why a compiler gives no answer: its first error, or its first line."""
    lines = [line.strip() for line in (*messages.splitlines(), *output.splitlines()) if line.strip()]
    errors = (line for line in lines if "error: " in line)
    return next(errors, next(iter(lines), f"status {status}"))[:_LONGEST_LINE]
