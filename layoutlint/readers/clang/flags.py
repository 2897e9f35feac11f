"""The flags of a compiler as libclang takes them: each one is passed, translated, known to be harmless, or
makes layouts unknown; none of them can run a program, load code, write a file, or name a file of settings.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from layoutlint.model.target import TRIPLES, target_named
from layoutlint.readers.clang import option_table

_CHANGES_LAYOUT = re.compile(
    r"-m31|-m(?:96|128)bit-long-double|-malign-(?:natural|power)|-mstructure-size-boundary=.*|-mlong(?:32|64)"
    r"|-mshort|-mint8|-fplugin=.*|-fshort-double|-mlong-double-(?:32|40)"
)
_SHAPELESS_X = frozenset(("c", "c-header", "cpp-output", "none"))
# What stands behind the processor in triples: vendors, systems and ABIs. None of them makes libclang's driver
# run a program, as it does for graphics processors (amdgpu-arch, nvptx-arch).
_SYSTEM = re.compile(
    r"(?:pc|none|unknown|redhat|suse|ibm|apple|w64|poky|oe|buildroot|cros|wrs|linux|freebsd|netbsd"
    r"|openbsd|kfreebsd"
    r"|dragonfly|darwin|macosx?|ios|windows|win32|mingw\d*|msvc|cygwin|fuchsia|hurd|solaris|haiku|rtems"
    r"|uefi|elf"
    r"|eabi(?:hf|sim)?|gnu\w*|musl\w*|uclibc\w*|android\w*|itanium|coff|macho|aeabi|n32|abi64|abin32"
    r"|x32)[\d.]*"
)


_MOST_WORDS = 20_000
"""Of the command line of one file; those of large projects have hundreds. libclang takes 0.3 ms for each that
it does not know, to find one of a similar name."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Macros of which it is not known whether the compiler that was used has them as libclang does."""

    flag: str
    names: str
    """An expression."""


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags for libclang, and what is to be known of the others."""

    kept: tuple[str, ...]
    problem: str | None = None
    """A flag whose effect on layouts is not known: no layout of the unit can be believed."""
    language: str | None = None
    """The value of the last -x."""
    refusal: str | None = None
    """Why nothing can be read under these flags."""
    doubts: tuple[Doubt, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """Where headers are searched, in order; as written."""
        return tuple(
            value
            for option, value in _pairs(self.kept)
            if option in ("-iquote", "-I", "-isystem", "-idirafter")
        )

    @property
    def includes(self) -> tuple[str, ...]:
        """The headers that are read before the text."""
        return tuple(value for option, value in _pairs(self.kept) if option in ("-include", "-imacros"))


def anchored(words: Iterable[str], folder: str) -> tuple[str, ...]:
    """The words with relative paths of headers, sysroots, seeds, build folders and response files seen from a
    folder."""
    found: list[str] = []
    queue = iter(words)
    for word in queue:
        for option, value in _spelled(word, queue):
            name, equals, path = option.partition("=")
            is_path = option in option_table.PATHS or option in ("-include", "-imacros", "-B")
            if value is not None and is_path:
                value = os.path.join(folder, value)
                is_joined = option == "--sysroot" or (word != option and word.startswith(option))
                found += (
                    (f"{option}{'=' * (option == '--sysroot')}{value}",) if is_joined else (option, value)
                )
            elif option.startswith("@"):
                found.append("@" + os.path.join(folder, option[1:]))
            elif equals and name in (
                "-frandomize-layout-seed-file",
                "O",
                "--gcc-toolchain",
                "--gcc-install-dir",
            ):
                found.append(f"{name}={os.path.join(folder, path)}")
            else:
                found += (word,) if value is None or word != option else (option, value)
    return tuple(found)


def normalised(words: tuple[str, ...]) -> Flags:
    """The words of a compiler's command line (without the compiler and the file) as libclang takes them."""
    main = _Group()
    main.take(words)
    late = _Group(passed_by="-Wp")
    late.take(tuple(main.preprocessor))
    last = _Group(passed_by="-Xclang")
    last.take(tuple(main.frontend))
    groups = (main, late, last)
    kept = [
        *(word for group in groups for word in group.macros),
        *(word for group in groups for word in group.kept),
    ]
    problem = next((group.problem for group in groups if group.problem), _precompiled(groups, kept))
    refusal = next((group.refusal for group in groups if group.refusal), None)
    machine = next((word[9:] for word in reversed(kept) if word.startswith("--target=")), os.uname().machine)
    doubts = dict.fromkeys(doubt for group in groups for doubt in group.doubts(machine))
    if machine.startswith("sparc") and "-m32" in kept:
        problem = problem or "compiled with -m32 for SPARC, whose layouts are not known here"
    features = _features(main.sanitizers, kept, machine)
    if len(features) < len(main.sanitizers):
        doubts[Doubt(f"-fsanitize={','.join(main.sanitizers)}", option_table.SANITIZER_NAMES)] = None
    return Flags((*kept, *features), problem, main.language, refusal, tuple(doubts))


def too_many(words: Sequence[str]) -> str | None:
    """Why the words of one file are not read: there are too many; None where there are not."""
    if len(words) <= _MOST_WORDS:
        return None
    return f"is compiled with {len(words):,} flags, more than the {_MOST_WORDS:,} that are read"


def _precompiled(groups: tuple[_Group, ...], kept: list[str]) -> str | None:
    """The problem with a precompiled header, unless its text is included as well, as CMake has it."""
    texts = {value for option, value in _pairs(tuple(kept)) if option == "-include"}
    for file in (file for group in groups for file in group.precompiled):
        if os.path.splitext(file)[0] not in texts:
            return f"compiled with -include-pch {file}: precompiled headers are not read"
    return None


def _features(sanitizers: Iterable[str], kept: list[str], machine: str) -> tuple[str, ...]:
    """What makes `__has_feature(address_sanitizer)` true."""
    if not option_table.FEATURED_MACHINES.match(machine) or {"-m32", "-mx32", "-m16"}.intersection(kept):
        return ()
    return tuple(f"-fsanitize={name}" for name in sanitizers if name in option_table.FEATURED)


@dataclass(slots=True)
class _Group:
    """Flags that reach the compiler proper by one way, in their order."""

    passed_by: str | None = None
    """The flag with which they are passed on; None for those of the command line itself."""
    kept: list[str] = field(default_factory=list)
    macros: list[str] = field(default_factory=list)
    """Definitions that stand before those of the command line, as those of a compiler do."""
    preprocessor: list[str] = field(default_factory=list)
    frontend: list[str] = field(default_factory=list)
    sanitizers: dict[str, None] = field(default_factory=dict)
    """Each once, in their order."""
    precompiled: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)
    problem: str | None = None
    refusal: str | None = None
    language: str | None = None

    def doubts(self, machine: str) -> Iterator[Doubt]:
        """What is not known of macros under the options."""
        for word in self.single:
            names = option_table.doubts(word, machine)
            if names is not None:
                yield Doubt(word, names)

    def take(self, words: tuple[str, ...]) -> None:
        """Sort words in."""
        self.refusal = too_many(words)
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
                for option, value in _spelled(word, queue):
                    self._option(option, value)

    def _option(self, option: str, value: str | None) -> None:
        if option in option_table.SEPARATE and value is None:
            self._wrong(f"the flag {option} lacks its value")
        elif value is not None and option in option_table.VALUED:
            self._valued(option, value)
        elif value is not None:
            if not option_table.is_harmless(option):
                self._unknown(f"{option} {value}")
        else:
            self._single(option)

    def _valued(self, option: str, value: str) -> None:
        if option == "-x":
            self.language = value
        elif option in ("-target", "-arch"):
            self._target(value, option)
        elif option == "-B":
            self.kept += ("-isystem", os.path.join(value, "include"))  # GCC manual, "Directory Options"
        elif option == "-A" or (option == "-I" and value == "-"):
            self._unknown(f"{option}{value}")
        else:
            self.kept += (f"{option}={value}",) if option == "--sysroot" else (option, value)

    def _target(self, triple: str, option: str) -> None:
        if not is_target(triple):
            self.refusal = self.refusal or f"is compiled for the target {triple}, which is not known here"
        else:
            self.kept += (option, triple) if option == "-arch" else (f"--target={triple}",)

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
            self.kept += option_table.RENAMED.get(word, ())
        elif _CHANGES_LAYOUT.fullmatch(word):
            self._wrong(_effect(word))
        elif option_table.is_passed(word):
            self.kept.append(word)
        elif not option_table.is_native(word) and not option_table.is_harmless(word):
            self._unknown(word)

    def _sanitize(self, word: str) -> None:
        for name in word.partition("=")[2].split(","):
            self.macros += option_table.MACROS.get(f"-fsanitize={name}", ())
            self.sanitizers[name] = None

    def _unknown(self, flag: str) -> None:
        if flag.startswith("@"):
            self._wrong(f"the response file {flag[1:]} is not there")
        else:
            shown = f"{self.passed_by} {flag}" if self.passed_by else flag
            self._wrong(f"compiled with {shown}, which is not known here and may change layouts")

    def _wrong(self, problem: str | None) -> None:
        self.problem = self.problem or problem


def _spelled(word: str, queue: Iterator[str]) -> Iterator[tuple[str, str | None]]:
    """One option in the words that GCC and clang share, with its value where it has one of its own."""
    first, *rest = option_table.short(word)
    if rest:
        yield first, rest[0]
    elif first in option_table.SEPARATE:
        yield first, next(queue, None)
    elif first.startswith("--sysroot="):
        yield "--sysroot", first[len("--sysroot=") :]
    else:
        yield next(_joint(first), (first, None))


_JOINT = sorted(
    (name for name in option_table.VALUED if name not in ("-target", "-arch", "--sysroot")),
    key=len,
    reverse=True,
)


def _joint(word: str) -> Iterator[tuple[str, str | None]]:
    """An option and the value right behind it."""
    for option in _JOINT:
        if word.startswith(option) and not word.startswith(
            ("-include-pch", "-Xclang", "-Ansi", "-Bstatic", "-Bdynamic", "-Bsymbolic")
        ):
            yield option, word[len(option) :]


def _pairs(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each option that stands before its value, with that."""
    queue = iter(words)
    for word in queue:
        if word in option_table.VALUED:
            yield word, next(queue, "")


def for_driver(words: Iterable[str]) -> tuple[str, ...]:
    """Words as libclang's driver gets them: headers that come first go past it to the compiler proper.

    For `-include x.h` the driver takes `x.h.pch` or `x.h.gch` instead where there is one, whatever is in it.
    """
    found: list[str] = []
    queue = iter(words)
    for word in queue:
        if word in ("-include", "-imacros"):
            found += ("-Xclang", word, "-Xclang", next(queue, ""))
        elif word in option_table.VALUED:
            found += (word, next(queue, ""))
        else:
            found.append(word)
    return tuple(found)


def refused(words: tuple[str, ...], takes: Callable[[tuple[str, ...]], bool]) -> str | None:
    """The first of some flags, with its value, that a compiler does not take; None when it takes them all.

    `takes` tries some of them. The machine comes first, on which others depend.
    """
    groups = sorted(_groups(words), key=lambda group: not group[0].startswith(("--target", "-target")))
    number = bisect_left(range(len(groups) + 1), True, key=lambda n: not takes(tuple(chain(*groups[:n]))))
    return " ".join(groups[number - 1]) if 0 < number <= len(groups) else None


def _groups(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Each flag with its value."""
    queue = iter(words)
    for word in queue:
        yield (word, next(queue, "")) if word in (*option_table.VALUED, "-resource-dir") else (word,)


def _effect(word: str) -> str | None:
    """What is lost when a flag is dropped that may change layouts; None for a plugin known not to."""
    if word.startswith("-fplugin=") and option_table.NEUTRAL_PLUGINS.search(os.path.basename(word)):
        return None
    if "randomize_layout" in word:
        return f"compiled with {word}, which shuffles fields"
    return f"compiled with {word}, which libclang does not have and which may change layouts"


def is_target(triple: str) -> bool:
    """Whether a target triple is of a machine, and of a system, that are known."""
    _, *rest = triple.split("-")
    try:
        target_named(architecture(triple, 64))
    except KeyError:
        return False
    return len(rest) <= 4 and all(_SYSTEM.fullmatch(part) for part in rest)


def architecture(triple: str, pointer_bits: int) -> str:
    """The name in TARGETS of a target triple, or of its family of unknown machines."""
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
