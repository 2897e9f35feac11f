"""Compiler flags for libclang: each is passed, translated, known to be harmless, or makes layouts unknown.

None of them can run a program, load code, write a file, or name a file of settings.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from layoutlint.model.record import Record, field
from layoutlint.model.target import TRIPLES, target_named
from layoutlint.readers.clang import option_table

_CHANGES_LAYOUT = (
    r"-m31|-m(?:96|128)bit-long-double|-malign-(?:natural|power)|-mstructure-size-boundary=.*|-mlong(?:32|64)"
    r"|-mshort|-mint8|-fplugin=.*|-fshort-double|-mlong-double-(?:32|40)"
)
# The parts of triples after the processor: vendors, systems and ABIs. None of them makes libclang's driver
# run a program, as it does for graphics processors (amdgpu-arch, nvptx-arch).
_SYSTEM = (
    r"(?:pc|none|unknown|redhat|suse|ibm|apple|w64|poky|oe|buildroot|cros|wrs|linux|freebsd|netbsd"
    r"|openbsd|kfreebsd"
    r"|dragonfly|darwin|macosx?|ios|windows|win32|mingw\d*|msvc|cygwin|fuchsia|hurd|solaris|haiku|rtems"
    r"|uefi|elf"
    r"|eabi(?:hf|sim)?|gnu\w*|musl\w*|uclibc\w*|android\w*|itanium|coff|macho|aeabi|n32|abi64|abin32"
    r"|x32)[\d.]*"
)


_MOST_WORDS = 20_000
"""The most words of one file's command line; those of large projects have hundreds. libclang needs 0.3 ms for
each unknown word, to suggest a similar one."""


IN_FRONT = ("-include", "-imacros")
"""Options whose headers are read before the text."""


class Doubt(Record, frozen=True):
    """Macros that the build's compiler may define differently from libclang."""

    flag: str
    names: str
    """A regular expression."""
    reason: str = ""
    """Why they may differ, if not by the compiler."""


class Flags(Record, frozen=True):
    """The flags for libclang, and the effects of the others."""

    passed: tuple[str, ...]
    problem: str | None = None
    """A flag with an unknown effect on layouts: all layouts of the unit are unreliable."""
    language: str | None = None
    """The value of the last -x."""
    refusal: str | None = None
    """Why nothing can be read with these flags."""
    doubts: tuple[Doubt, ...] = ()
    has_small_library: bool = False
    """Whether the headers of the C library are those of newlib's small variant."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The include folders, in order; as written."""
        return tuple(
            value
            for option, value in _pairs(self.passed)
            if option in ("-iquote", "-I", "-isystem", "-idirafter")
        )

    @property
    def includes(self) -> tuple[str, ...]:
        """The headers that are read before the text."""
        return headers_in_front(self.passed)


def make_absolute(words: Iterable[str], folder: str) -> tuple[str, ...]:
    """Return the words with relative paths of headers, sysroots, seeds, build folders and response files made
    absolute.
    """
    return replace_paths(words, lambda option, path: (os.path.join(folder, path),))


def replace_paths(words: Iterable[str], places: Callable[[str, str], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the words with other paths: those that `places` returns for an option and its path.

    An option with several is repeated. Words for the preprocessor and for clang's frontend come last, because
    an option and its path are passed to them one by one (`-Xclang -I -Xclang DIR`).
    """
    result: list[str] = []
    passed: dict[str, list[str]] = {"-Xpreprocessor": [], "-Xclang": []}
    queue = iter(words)
    for word in queue:
        if word in passed:
            passed[word].append(next(queue, ""))
        elif word.startswith("-Wp,"):
            passed["-Xpreprocessor"] += word.split(",")[1:]
        else:
            for option, value in _normal_spelling(word, queue):
                result += _with_paths(word, option, value, places)
    for passing, own in passed.items():
        for word in replace_paths(own, places) if own else ():
            result += (passing, word)
    return tuple(result)


def _with_paths(
    word: str, option: str, value: str | None, places: Callable[[str, str], tuple[str, ...]]
) -> Iterator[str]:
    """Yield an option, written as `word`, with other paths."""
    name, equals, path = option.partition("=")
    if value is not None and (option in option_table.PATHS or option in ("-include", "-imacros", "-B")):
        is_joined = option == "--sysroot" or (word != option and word.startswith(option))
        for place in places(option, value):
            joined = f"{option}{'=' * (option == '--sysroot')}{place}"
            yield from (joined,) if is_joined else (option, place)
    elif option.startswith("@"):
        yield from (f"@{place}" for place in places("@", option[1:]))
    elif equals and name in _WITH_PATH:
        yield from (f"{name}={place}" for place in places(name, path))
    else:
        yield from (word,) if value is None or word != option else (option, value)


_WITH_PATH = ("-frandomize-layout-seed-file", "O", "--gcc-toolchain", "--gcc-install-dir")
"""Options that name a file or folder after `=`."""


def normalise(words: tuple[str, ...]) -> Flags:
    """Return the words of a compiler's command line (without compiler and file) as libclang accepts them."""
    main = _Group()
    main.take(words)
    late = _Group(passed_by="-Wp")
    late.take(tuple(main.preprocessor))
    last = _Group(passed_by="-Xclang")
    last.take(tuple(main.frontend))
    groups = (main, late, last)
    passed = [
        *(word for group in groups for word in group.macros),
        *(word for group in groups for word in group.passed_words),
    ]
    problem = next((group.problem for group in groups if group.problem), _precompiled_problem(groups, passed))
    refusal = next((group.refusal for group in groups if group.refusal), None)
    machine = next(
        (word[9:] for word in reversed(passed) if word.startswith("--target=")), os.uname().machine
    )
    passed = _without_untaken(passed, machine)
    problem = problem or _enum_problem(passed, machine)
    doubts = dict.fromkeys(doubt for group in groups for doubt in group.doubts(machine))
    if machine.startswith("sparc") and "-m32" in passed:
        problem = problem or "compiled with -m32 for SPARC, whose layouts are not known here"
    features = _features(main.sanitizers, passed, machine)
    if len(features) < len(main.sanitizers):
        doubts[Doubt(f"-fsanitize={','.join(main.sanitizers)}", option_table.SANITIZER_NAMES)] = None
    settled = tuple(_without_stated_macros(doubts, passed))
    has_small_library = any(group.has_small_library for group in groups)
    return Flags((*passed, *features), problem, main.language, refusal, settled, has_small_library)


_ARM = re.compile(r"(?:arm|thumb)(?!64)")
_BARE = re.compile(r"-(?:eabi(?:hf)?|elf)$")
"""The ends of triples without an operating system, for which short enums are GCC's default."""
_ALIGN_DOUBLE, _NO_ALIGN_DOUBLE = "-malign-double", "-mno-align-double"


def _without_untaken(words: list[str], machine: str) -> list[str]:
    """Return words without those that libclang lacks, and what they turn off."""
    end = max((n + 1 for n, word in enumerate(words) if word == _NO_ALIGN_DOUBLE), default=0)
    return [
        word
        for n, word in enumerate(words)
        if not option_table.is_untaken(word, machine)
        and not (n < end and word in (_ALIGN_DOUBLE, _NO_ALIGN_DOUBLE))
    ]



def _enum_problem(words: Sequence[str], machine: str) -> str | None:
    """Return the problem of an ABI under which GCC's enums are short, and clang's are not; None if there is
    none.
    """
    is_stated = any(word in ("-fshort-enums", "-fno-short-enums") for word in words)
    abi = next((word for word in reversed(words) if word.startswith("-mabi=")), None)
    if abi != "-mabi=aapcs" or not _ARM.match(machine) or _BARE.search(machine) or is_stated:
        return None
    return f"compiled with {abi}, for which gcc has short enums; add `-fshort-enums` or `-fno-short-enums`"


def _without_stated_macros(doubts: Iterable[Doubt], words: list[str]) -> Iterator[Doubt]:
    """Yield doubts without the macros that flags define or undefine: compilers read these flags last."""
    stated = {value.partition("=")[0] for option, value in _pairs(tuple(words)) if option in ("-D", "-U")}
    for doubt in doubts:
        names = sorted(name for name in stated if re.fullmatch(doubt.names, name)) if stated else []
        yield Doubt(doubt.flag, rf"(?!(?:{'|'.join(names)})(?!\w))(?:{doubt.names})") if names else doubt


def without_macros(doubts: Iterable[Doubt], is_answered: Callable[[str], bool]) -> Iterator[Doubt]:
    """Yield doubts without macros, for flags about which the compiler itself was asked."""
    for doubt in doubts:
        names = rf"(?={option_table.NO_MACRO})(?:{doubt.names})"
        yield Doubt(doubt.flag, names) if is_answered(doubt.flag) else doubt


def headers_in_front(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the headers that flags have read before the text."""
    return tuple(value for option, value in _pairs(words) if option in IN_FRONT)


def count_problem(words: Sequence[str]) -> str | None:
    """Return why the words of one file are not read, if there are too many; else None."""
    if len(words) <= _MOST_WORDS:
        return None
    return f"is compiled with {len(words):,} flags, more than the {_MOST_WORDS:,} that are read"


def _precompiled_problem(groups: tuple[_Group, ...], words: list[str]) -> str | None:
    """Return the problem of a precompiled header, unless its text is included as well, as CMake does; else
    None.
    """
    texts = {value for option, value in _pairs(tuple(words)) if option == "-include"}
    for file in (file for group in groups for file in group.precompiled):
        if os.path.splitext(file)[0] not in texts:
            return f"compiled with -include-pch {file}: precompiled headers are not read"
    return None


def _features(sanitizers: Iterable[str], words: list[str], machine: str) -> tuple[str, ...]:
    """Return the flags for which `__has_feature(address_sanitizer)` is true."""
    is_featured = machine.startswith(option_table.FEATURED_MACHINES)
    if not is_featured or {"-m32", "-mx32", "-m16"}.intersection(words):
        return ()
    return tuple(f"-fsanitize={name}" for name in sanitizers if name in option_table.FEATURED)


class _Group(Record):
    """The flags that reach the compiler proper in one way, in order."""

    passed_by: str | None = None
    """The flag with which they are passed on; None for those of the command line itself."""
    passed_words: list[str] = field(default_factory=list)
    macros: list[str] = field(default_factory=list)
    """Definitions that precede those of the command line, as a compiler's own do."""
    preprocessor: list[str] = field(default_factory=list)
    frontend: list[str] = field(default_factory=list)
    sanitizers: dict[str, None] = field(default_factory=dict)
    """Each once, in order."""
    precompiled: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)
    problem: str | None = None
    refusal: str | None = None
    language: str | None = None
    has_small_library: bool = False

    def doubts(self, machine: str) -> Iterator[Doubt]:
        """Yield the doubtful macros of the flags."""
        for word in self.single:
            names = option_table.doubts(word, machine)
            if names is not None:
                yield Doubt(word, names)

    def take(self, words: tuple[str, ...]) -> None:
        """Classify words."""
        self.refusal = count_problem(words)
        queue = iter(() if self.refusal else words)
        for word in queue:
            if word == "-Xclang" and self.passed_by is None:
                self.frontend += [next(queue, "")]
            elif word == "-Xpreprocessor" and self.passed_by is None:
                self.preprocessor += [next(queue, "")]
            elif word.startswith("-Wp,") and self.passed_by is None:
                self.preprocessor += word.split(",")[1:]
            elif word == "-include-pch":
                self.precompiled.append(next(queue, ""))
            else:
                for option, value in _normal_spelling(word, queue):
                    self._option(option, value)

    def _option(self, option: str, value: str | None) -> None:
        if option in option_table.SEPARATE and value is None:
            self._set_problem(f"the flag {option} lacks its value")
        elif value is not None and option in option_table.VALUED:
            self._take_with_value(option, value)
        elif option == "-specs" and value == option_table.SMALL_LIBRARY_SPECS:
            self.has_small_library = True
        elif option == "-specs" and value is not None:
            if value not in option_table.LINKER_SPECS:
                self._unknown(f"-specs={value}")
        elif value is not None:
            if not option_table.is_harmless(option):
                self._unknown(f"{option} {value}")
        else:
            self._single(option)

    def _take_with_value(self, option: str, value: str) -> None:
        if option == "-x":
            self.language = value
        elif option in ("-target", "-arch"):
            self._target(value, option)
        elif option == "-B":
            self.passed_words += (
                "-isystem",
                os.path.join(value, "include"),
            )  # GCC manual, "Directory Options"
        elif option == "-A" or (option == "-I" and value == "-"):
            self._unknown(f"{option}{value}")
        else:
            self.passed_words += (f"{option}={value}",) if option == "--sysroot" else (option, value)

    def _target(self, triple: str, option: str) -> None:
        if not is_target(triple):
            self.refusal = self.refusal or f"is compiled for the target {triple}, which is not known here"
        else:
            self.passed_words += (option, triple) if option == "-arch" else (f"--target={triple}",)

    def _single(self, word: str) -> None:
        self.single.append(word)
        if not word.startswith(("-", "@")) or word == "-":
            return  # a file
        if word.startswith("--target="):
            self._target(word[9:], "-target")
        elif word.startswith("-fsanitize="):
            self._sanitize(word)
        elif word in option_table.MACROS or word in option_table.RENAMED:
            self.macros += option_table.MACROS.get(word, ())
            self.passed_words += option_table.RENAMED.get(word, ())
        elif option_table.is_spelled(_CHANGES_LAYOUT, word):
            self._set_problem(_effect(word))
        elif option_table.is_passed(word):
            self.passed_words.append(word)
        elif not option_table.is_native(word) and not option_table.is_harmless(word):
            self._unknown(word)

    def _sanitize(self, word: str) -> None:
        for name in word.partition("=")[2].split(","):
            self.macros += option_table.MACROS.get(f"-fsanitize={name}", ())
            self.sanitizers[name] = None

    def _unknown(self, flag: str) -> None:
        if flag.startswith("@"):
            self._set_problem(f"the response file {flag[1:]} is not there")
        else:
            spelling = f"{self.passed_by} {flag}" if self.passed_by else flag
            self._set_problem(f"compiled with {spelling}, which is not known here and may change layouts")

    def _set_problem(self, problem: str | None) -> None:
        self.problem = self.problem or problem


def spellings(words: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the options of a command in the spelling that GCC and clang share, with their values.

    What is passed on to the preprocessor or clang's frontend is left out.
    """
    queue = iter(words)
    for word in queue:
        if word in ("-Xclang", "-Xpreprocessor", "-include-pch"):
            next(queue, "")
        elif not word.startswith("-Wp,"):
            yield from _normal_spelling(word, queue)


def _normal_spelling(word: str, queue: Iterator[str]) -> Iterator[tuple[str, str | None]]:
    """Yield an option in the spelling that GCC and clang share, with its value if it has one of its own."""
    option, *value = option_table.short(word)
    if value:
        yield option, value[0]
    elif option in option_table.SEPARATE:
        yield option, next(queue, None)
    elif option.startswith(("--sysroot=", "-specs=")):
        name, _, path = option.partition("=")
        yield name, path
    else:
        yield next(_joint(option), (option, None))


def options_of(words: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the options of a command in the spelling of GCC and clang, each with its value if it has one."""
    queue = iter(words)
    for word in queue:
        yield from _normal_spelling(word, queue)


_JOINT = sorted(
    (name for name in option_table.VALUED if name not in ("-target", "-arch", "--sysroot")),
    key=len,
    reverse=True,
)


def _joint(word: str) -> Iterator[tuple[str, str | None]]:
    """Yield an option and the value joined to it."""
    for option in _JOINT:
        if word.startswith(option) and not word.startswith(
            ("-include-pch", "-Xclang", "-Ansi", "-Bstatic", "-Bdynamic", "-Bsymbolic")
        ):
            yield option, word[len(option) :]


def _pairs(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each option that precedes its value, with the value."""
    queue = iter(words)
    for word in queue:
        if word in option_table.VALUED:
            yield word, next(queue, "")


def driver_flags(words: Iterable[str]) -> tuple[str, ...]:
    """Return words for libclang's driver: headers that come first are passed to the compiler proper.

    For `-include x.h` the driver would use `x.h.pch` or `x.h.gch` instead if it exists, whatever it contains.
    """
    result: list[str] = []
    queue = iter(words)
    for word in queue:
        if word in IN_FRONT:
            result += ("-Xclang", word, "-Xclang", next(queue, ""))
        elif word in option_table.VALUED:
            result += (word, next(queue, ""))
        else:
            result.append(word)
    return tuple(result)


def without_headers_in_front(words: tuple[str, ...]) -> Iterator[str]:
    """Yield words of `driver_flags` without headers that are read before the text."""
    queue = iter(words)
    for word in queue:
        if word != "-Xclang":
            yield word
        elif (passed := next(queue, "")) in ("-include", "-imacros"):
            next(queue, ""), next(queue, "")
        else:
            yield from (word, passed)


def first_rejected(words: tuple[str, ...], accepts: Callable[[tuple[str, ...]], bool]) -> str | None:
    """Return the first flag, with its value, that a compiler rejects; None if it accepts all.

    `takes` tries some of them. The target comes first, because other flags depend on it.
    """
    groups = sorted(_groups(words), key=lambda group: not group[0].startswith(("--target", "-target")))
    number = bisect_left(
        range(len(groups) + 1), True, key=lambda count: not accepts(tuple(chain(*groups[:count])))
    )
    return " ".join(groups[number - 1]) if 0 < number <= len(groups) else None


def _groups(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield each flag with its value."""
    queue = iter(words)
    for word in queue:
        yield (word, next(queue, "")) if word in (*option_table.VALUED, "-resource-dir") else (word,)


def _effect(word: str) -> str | None:
    """Return the problem of dropping a flag that may change layouts; None for a harmless plugin."""
    if option_table.is_spelled(option_table.NEUTRAL_PLUGIN, word):
        return None
    if "randomize_layout" in word:
        return f"compiled with {word}, which shuffles fields"
    return f"compiled with {word}, which libclang does not have and which may change layouts"


def is_target(triple: str) -> bool:
    """Return whether machine and system of a target triple are known."""
    _, *rest = triple.split("-")
    try:
        target_named(architecture(triple, 64))
    except KeyError:
        return False
    return len(rest) <= 4 and all(re.fullmatch(_SYSTEM, part) for part in rest)


def architecture(triple: str, pointer_bits: int) -> str:
    """Return the name in TARGETS of a target triple, or of its family of unknown machines."""
    arch = triple.partition("-")[0]
    if re.fullmatch(r"i[3-9]86", arch):
        return "i386"
    if arch == "x86_64" and pointer_bits == 32:
        return "x32"
    if re.match(r"(arm|thumb)(?!eb)", arch) and not arch.startswith("arm64"):
        return "arm"
    if re.match(r"(arm|thumb)eb", arch):
        return "armeb"
    return TRIPLES.get(arch, arch)
