"""The compiler that builds a C file, by its name in a command: its family, version and machine.

Only the name is read. A database can be part of a change that is judged, so nothing that it names is run,
except for compilers that the user trusts (`query_driver`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from layoutlint.model.record import Record
from layoutlint.readers.clang import cross_target, flags
from layoutlint.readers.clang.compiler_answer import CompilerAnswer

Family = Literal["gcc", "clang"]

_WRAPPERS = re.compile(
    r"(?:ccache|sccache|distcc|icecc|icerun|buildcache|gomacc|goma|recc|fastbuild|cachecc1|pump|time|nice"
    r"|env|ionice|scan-build|compiledb|bear|libtool|ccache-swig|xrun|rsh|kache"
    r"|(?:ba|da)?sh|cmake|__run_co_compile|timeout|taskset|stdbuf|setarch|strace|firejail)(?:\.exe)?"
)
"""Programs that run the compiler named after them."""
_NAME = re.compile(
    r"(?P<prefix>.+-)?(?P<tool>gcc|g\+\+|clang|clang\+\+|cc|c\+\+|c89|c99|cpp|clang-cpp)"
    r"(?P<version>-?\d+(?:\.\d+)*)?(?P<threads>-(?:win32|posix))?"
    r"(?:\.(?:real|br_real|orig|bin))?(?:\.exe)?",
    re.IGNORECASE,
)
_HOSTED = re.compile(r"mpicc|mpiicc|icc|icx|tcc|pcc|hipcc|wrapped_clang|cc_wrapper(?:\.sh)?|.*-clang-wrapper")
"""Other names of compilers for the machine on which they run."""
_NATIVE_PREFIXES = frozenset(("musl", "afl", "c89", "c99", "klibc", "uclibc", "dietlibc", "hardening"))
"""Words before `-gcc` that are no machine: the compiler is for the machine on which it runs."""
_STATE_TARGET = "state one of docs/targets.md with `-- --target=...`"
_SOURCE = re.compile(r"\.(?:[cCihsSm]|cc|cp|cpp|cxx|c\+\+|sx|mm|o)$")
"""The ends of names that are those of no compiler."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_FAMILIES: dict[str, Family] = {
    "gcc": "gcc", "g++": "gcc", "clang": "clang", "clang++": "clang", "clang-cpp": "clang",
}  # fmt: skip
_WINDOWS = re.compile(r"mingw(?:32|64)?\w*|windows|win32")
_THREADED = re.compile(r"-fopenmp|-fopenacc")
"""Options under which GCC defines what it defines for -pthread (GOMP_SELF_SPECS)."""
_BARE_ARM = re.compile(r"(?:arm|thumb)(?!64)\w*-(?:\w+-)*(?:eabi(?:hf)?|rtems[\d.]*)$")
"""GCC's names of ARM without Linux (config.gcc): enums are as small as their values allow (AAPCS, 7.1.3)."""

_WIDE = re.compile(r"(?:\w*64\w*|s390x)-(?!.*(?:x32|n32|ilp32))")
"""Machines whose `long` has 8 bytes."""
_NARROW = frozenset(("-m32", "-mx32", "-m16"))
_MOST = {"int": "__INT_MAX__", "long int": "__LONG_MAX__"}
_ARM = re.compile(r"(?:arm|thumb)(?!64)")
_BARE_SYSTEMS = ("elf", "eabi", "eabihf")
_SYSTEM = re.compile(
    r"linux\d*|elf|eabi(?:hf)?|mingw(?:32|64)?\w*|windows|cygwin|(?:free|net|open)bsd[\d.]*"
    r"|dragonfly[\d.]*|kfreebsd|gnu|darwin[\d.]*|rtems[\d.]*|haiku|solaris[\d.]*|uefi|fuchsia|hurd"
)
"""The first part of a triple behind the vendor, which can be any word: `arm-cortex_a8-linux-gnueabi`."""


class Compiler(Record, frozen=True):
    """The compiler of a unit."""

    name: str
    """Its name without folder, as the command has it: `arm-none-eabi-gcc-12`."""
    family: Family | None = None
    """None for a name such as `cc` that does not state it."""
    version: tuple[int, ...] = ()
    """The numbers at the end of its name; empty if there are none."""
    triple: str | None = None
    """The machine that its name states, in clang's words; None for the machine that it runs on."""
    refusal: str | None = None
    """Why nothing that it builds can be read: its machine is not in TARGETS."""
    answer: CompilerAnswer | None = None
    """What it says about itself, for the flags of a unit; None if it was not asked."""
    prefix: str | None = None
    """The machine as its name has it, which folders are called by: `arm-none-eabi`; None if it has none."""
    path: str | None = None
    """Its absolute path, if the command has it."""

    @property
    def is_gcc(self) -> bool:
        """Whether it is certainly GCC."""
        return self.family == "gcc"

    def implied_flags(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return flags for libclang, before the `words`, that state what this compiler does by itself."""
        words = tuple(words)
        stated = cross_target.stated_triple(words)
        triple = stated or self.triple
        implied = ("-D_REENTRANT=1",) if self.is_gcc and any(map(_THREADED.fullmatch, words)) else ()
        if triple is None:
            is_own = self.is_gcc and self.answer is None and not _NARROW.intersection(words)
            return (*implied, *self._types(f"{os.uname().machine}-linux-gnu")) if is_own else implied
        implied = implied if stated is not None else (f"--target={triple}", *implied)
        if self.answer is not None:
            return (*implied, *self.answer.type_flags, *self._ms_flags(triple))
        implied = (*implied, *(self._types(triple) if self.is_gcc else ()), *self._ms_flags(triple))
        if _ARM.match(triple) and self.family is not None:
            return (*implied, "-fshort-enums" if self._has_short_enums(triple, words) else "-fno-short-enums")
        return implied

    def _ms_flags(self, triple: str) -> tuple[str, ...]:
        """Return the flag for GCC's default on Windows (GCC manual, "x86 Windows Options")."""
        return ("-mms-bitfields",) if self.is_gcc and "windows" in triple else ()

    @staticmethod
    def _types(triple: str) -> tuple[str, ...]:
        """Return definitions of the types that GCC predefines, where clang's have another size."""
        if triple.endswith(_BARE_SYSTEMS):  # gcc/config/newlib-stdint.h
            types = dict.fromkeys(("INT_FAST8", "INT_FAST16", "INT_FAST32"), "int")
        elif "linux" in triple and "musl" not in triple and "android" not in triple:  # glibc-stdint.h
            types = dict.fromkeys(("INT_FAST16", "INT_FAST32"), "long int" if _WIDE.match(triple) else "int")
        else:
            return ()
        return tuple(
            f"-D__{sign}{name}_{macro}"
            for name, value in types.items()
            for sign, word, limit in (("", "", "{}"), ("U", "unsigned ", "({}*2UL+1)"))
            for macro in (f"TYPE__={word}{value}", f"MAX__={limit.format(_MOST[value])}")
        )

    def _has_short_enums(self, triple: str, words: Iterable[str]) -> bool:
        """Return whether enums are short by default on ARM (GCC's ARM_DEFAULT_SHORT_ENUMS)."""
        abi = [word.partition("=")[2] for word in words if word.startswith("-mabi=")]
        return self.is_gcc and (abi[-1] == "aapcs" if abi else bool(_BARE_ARM.match(triple)))


def identify(words: Sequence[str]) -> tuple[Compiler, int]:
    """Return the compiler of a command, and the number of its words up to it.

    Programs such as ccache, their options and variables come before it. If they run no compiler, the last of
    them stands for it.
    """
    last = 0
    for position, word in enumerate(words):
        is_option = _ASSIGNMENT.fullmatch(word) or (position and re.match(r"-|\d+$", word))
        if is_wrapper(word):
            last = position
        elif not is_option and _SOURCE.search(word):
            break
        elif not is_option:
            return compiler_named(word), position + 1
    return compiler_named(words[last]), last + 1


def is_wrapper(word: str) -> bool:
    """Return whether a word, which can be a path, names a program that runs the compiler named after it."""
    return bool(_WRAPPERS.fullmatch(_base_name(word)))


def _base_name(word: str) -> str:
    return re.split(r"[/\\]", word)[-1]


@cache
def compiler_named(word: str) -> Compiler:
    """Return the compiler that a command names with a word, which can be a path."""
    name = _base_name(word)
    match = _NAME.fullmatch(name)
    if match is None and (is_wrapper(word) or not re.search(r"\w", name)):
        empty = "with an empty name for the compiler"
        what = f"in which {name} runs no compiler" if is_wrapper(word) else empty
        return Compiler(name, refusal=f"has a command {what}; name it there, or {_STATE_TARGET}")
    if match is None:
        is_known = _HOSTED.fullmatch(name) or name.startswith("-")
        return Compiler(name, refusal=None if is_known else _refusal(name, "which is not known here"))
    family, version = _FAMILIES.get(match["tool"].lower()), _numbers(match["version"] or "")
    prefix = (match["prefix"] or "").rstrip("-")
    if not prefix:
        prefix = _folder_triple(word)
    path = word if os.path.isabs(word) else None
    if not prefix or prefix in _NATIVE_PREFIXES:
        return Compiler(name, family, version, path=path)
    triple = normal_triple(prefix)
    if triple is None or not flags.is_target(triple):
        machine = prefix.partition("-")[0]
        reason = _refusal(name, f"whose machine {machine} is not known here")
        return Compiler(name, family, version, refusal=reason)
    return Compiler(name, family, version, triple, prefix=prefix, path=path)


def _refusal(name: str, reason: str) -> str:
    remedy = f"{_STATE_TARGET}, or `--query-driver '**/*{name}*'` asks it"
    return f"is compiled by {name}, {reason}; {remedy}"


def _folder_triple(word: str) -> str:
    """Return the triple that GNU tools have in their folder, `TRIPLE/bin/gcc`; empty for another folder."""
    *_, folder, inner, _ = ("", "", *re.split(r"[/\\]", word))
    return folder if inner == "bin" and normal_triple(folder) is not None else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def normal_triple(prefix: str) -> str | None:
    """Return the triple of a prefix such as `arm-poky-linux-gnueabi`, as clang spells it; else None."""
    machine, *rest = prefix.split("-")
    if not rest:
        return None
    system = next((number for number, part in enumerate(rest) if _SYSTEM.fullmatch(part)), None)
    if system is None:
        return None
    parts = rest[system:]
    if _WINDOWS.fullmatch(parts[0]):
        parts = ["windows", "gnu"]
    vendor = "none" if parts[0] in _BARE_SYSTEMS else "unknown"
    return "-".join((machine, vendor, *parts))
