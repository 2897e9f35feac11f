"""Compiler flags as libclang takes them: what decides layouts is kept, the rest is dropped by a table.

A flag that is in no table can change neither the meaning of the text nor a layout: warnings, optimisation,
code generation, debug information and output. (GCC manual, "Option Summary"; clang's command line reference.)
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from layoutlint.machines import TRIPLES

WITH_VALUE = frozenset((
    "-I", "-D", "-U", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot",
    "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-target", "-x", "-arch",
))  # fmt: skip
"""Kept flags whose value is the next word when it is not behind them."""
DROPPED_WITH_VALUE = frozenset((
    "-o", "-MF", "-MT", "-MQ", "-MJ", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm",
    "-L", "-l", "-T", "-u", "-z", "-aux-info", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-G", "-wrapper",
    "--param", "-B", "-e", "-framework", "--serialize-diagnostics", "-dependency-file", "-specs",
))  # fmt: skip
_KEPT = re.compile(
    r"""-[ID].+ | -U.+ | -include.+ | -isystem.+ | -iquote.+ | -idirafter.+ | -isysroot.+ | --sysroot=.+
    | -std=.+ | --std=.+ | -ansi | -x.+ | --target=.+ | -nostd(?:lib)?inc | -undef | -pthread
    | -m(?:16|32|64|x32|be|le|EB|EL|big-endian|little-endian|endian=.+|thumb|arm|thumb-interwork)
    | -m(?:abi|arch|cpu|fpu|float-abi)=.+ | -m(?:no-)?(?:sse|avx|altivec|vsx|mmx).*
    | -m(?:hard|soft)-float | -m(?:no-)?ms-bitfields | -m(?:no-)?align-double | -mlong-double-(?:64|80|128)
    | -f(?:no-)?(?:short-enums|short-wchar|pack-struct|signed-char|unsigned-char|ms-extensions
      |ms-compatibility|signed-bitfields|blocks|gnu89-inline|openmp)
    | -f(?:freestanding|hosted) | -fpack-struct=.+ | -fms-compatibility-version=.+
    | -frandomize-layout-seed(?:-file)?=.+
    | -f(?:pic|PIC|pie|PIE) | -O.* | -fdeclspec | -fgnuc-version=.+""",
    re.VERBOSE,
)
_RENAMED = {"-fplan9-extensions": ("-fms-extensions",), "-pthreads": ("-pthread",)}
_SANITIZERS = {"address": "__SANITIZE_ADDRESS__", "kernel-address": "__SANITIZE_ADDRESS__",
               "thread": "__SANITIZE_THREAD__"}  # fmt: skip
"""What GCC defines under -fsanitize=; headers add members under these."""
_NEUTRAL_PLUGINS = re.compile(
    r"annobin|stackleak|latent_entropy|structleak|sancov|cyc_complexity|arm_ssp|kstack_erase|multiple_compilers"
)
_CHANGES_LAYOUT = re.compile(
    r"-m(?:96|128)bit-long-double|-malign-(?:natural|power)|-mstructure-size-boundary=.*|-mlong(?:32|64)"
    r"|-m31|-mshort|-mint8|-fplugin=.*|-fshort-double|-mlong-double-(?:32|40)"
)
_SHAPELESS_X = frozenset(("c", "c-header", "cpp-output", "none"))


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags for libclang, and what the dropped ones would have done."""

    kept: tuple[str, ...]
    problem: str | None = None
    """A flag that libclang does not have and that changes layouts: no layout of the unit can be believed."""
    language: str | None = None
    """The value of the last -x."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Where headers are searched, in order; as written."""
        found = []
        words = iter(self.kept)
        for word in words:
            for option in ("-iquote", "-I", "-isystem", "-idirafter"):
                if word == option:
                    found.append(next(words, ""))
                elif word.startswith(option) and not word.startswith("-include"):
                    found.append(word[len(option) :])
                else:
                    continue
                break
        return tuple(found)


_OF_PATHS = (
    "-I", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot", "-iprefix",
)  # fmt: skip
_HOLDS_PATH = re.compile(
    r"(-I|-isystem|-iquote|-idirafter|-isysroot|--sysroot=|-frandomize-layout-seed-file=|O=)(.+)", re.DOTALL
)


def anchored(words: Iterable[str], folder: str) -> tuple[str, ...]:
    """The words with relative paths of headers, sysroots, seeds and build folders seen from a folder."""
    found, before = [], ""
    for word in words:
        holder = _HOLDS_PATH.fullmatch(word)
        if before in _OF_PATHS:
            found.append(os.path.join(folder, word))
        elif holder is not None and word not in WITH_VALUE:
            found.append(holder[1] + os.path.join(folder, holder[2]))
        else:
            found.append(word)
        before = word
    return tuple(found)


def normalised(words: tuple[str, ...]) -> Flags:
    """The words of a compiler's command line (without the compiler and the file) as libclang takes them."""
    kept: list[str] = []
    problem = language = None
    queue = iter(words)
    for word in queue:
        if word in DROPPED_WITH_VALUE:
            next(queue, None)
        elif word in WITH_VALUE:
            value = next(queue, None)
            if value is None:
                problem = f"the flag {word} lacks its value"
            elif word == "-x":
                language = value
            else:
                kept += (word, value)
        elif word.startswith("-x") and word[2:] in _SHAPELESS_X | {"c++", "c++-header"}:
            language = word[2:]
        elif word in _RENAMED:
            kept += _RENAMED[word]
        elif word.startswith("-fsanitize="):
            kept += _sanitizer_macros(word)
        elif _CHANGES_LAYOUT.fullmatch(word):
            problem = problem or _effect(word)
        elif word.startswith("-Wp,"):
            kept += normalised(tuple(word.split(",")[1:])).kept
        elif _KEPT.fullmatch(word):
            kept.append(word)
    return Flags(tuple(kept), problem, language)


def refused(words: tuple[str, ...], takes: Callable[[tuple[str, ...]], bool]) -> str | None:
    """The first of some flags, with its value, that a compiler does not take; None when it takes them all.

    `takes` tries some of them. The machine comes first, on which others depend.
    """
    groups = sorted(_groups(words), key=lambda group: not group[0].startswith(("--target", "-target")))
    number = bisect_left(range(len(groups) + 1), True, key=lambda n: not takes(sum(groups[:n], ())))
    return " ".join(groups[number - 1]) if 0 < number <= len(groups) else None


def _groups(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Each flag with its value."""
    queue = iter(words)
    for word in queue:
        yield (word, next(queue, "")) if word in WITH_VALUE else (word,)


def _sanitizer_macros(word: str) -> list[str]:
    names = word.partition("=")[2].split(",")
    return [f"-D{_SANITIZERS[name]}=1" for name in names if name in _SANITIZERS]


def _effect(word: str) -> str | None:
    """What is lost when a flag is dropped that may change layouts; None for a plugin known not to."""
    if word.startswith("-fplugin=") and _NEUTRAL_PLUGINS.search(os.path.basename(word)):
        return None
    if "randomize_layout" in word:
        return f"compiled with {word}, which shuffles fields"
    return f"compiled with {word}, which libclang does not have and which may change layouts"


def architecture(triple: str, pointer_bits: int) -> str:
    """The name in TARGETS of a target triple, or of its family of unknown machines."""
    arch = triple.partition("-")[0]
    if re.fullmatch(r"i[3-9]86", arch):
        return "i386"
    if arch == "x86_64" and pointer_bits == 32:
        return "unknown32-le"
    if re.match(r"(arm|thumb)(?!eb)", arch) and not arch.startswith("arm64"):
        return "arm"
    if re.match(r"(arm|thumb)eb", arch):
        return "armeb"
    return TRIPLES.get(arch, arch)
