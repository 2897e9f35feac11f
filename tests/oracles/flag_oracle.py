"""What each option of the installed compilers does to headers: the macros that it defines, and layouts.

The compilers themselves list their options (`gcc --completion=-f`, `clang --autocomplete=-`) and say what each
does (`-dM -E`, and static assertions on sizes and offsets).
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from layoutlint.readers.clang import flags, libclang

GCCS = ("gcc-11", "gcc-12", "gcc-13", "gcc-14")
CROSS = (
    "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc", "riscv64-linux-gnu-gcc", "powerpc64le-linux-gnu-gcc",
    "powerpc-linux-gnu-gcc", "s390x-linux-gnu-gcc", "mips64-linux-gnuabi64-gcc", "sparc64-linux-gnu-gcc",
)  # fmt: skip
CLANGS = ("clang-13", "clang-14", "clang-16", "clang-19", "clang-22")
_PREFIXES = (
    "-f",
    "-m",
    "-O",
    "-g",
    "-W",
    "-i",
    "-n",
    "-p",
    "-s",
    "-t",
    "-u",
    "-a",
    "-d",
    "-A",
    "-C",
    "-D",
    "-P",
    "-Q",
    "-r",
    "-w",
    "-v",
)
_SECONDS = 20

PROBE = """
enum small { A, B }; enum wide { C = 0x7fffffff };
typedef int v8 __attribute__((vector_size(32)));
struct all {
    char c; long double ld; char c2; double d; char c3; long long ll; char c4; long l; char c5; void *p;
    char c6; enum small e; enum wide w; char c7; __WCHAR_TYPE__ wc; char c8; __SIZE_TYPE__ z;
    unsigned bits : 3; char c9; int more : 30; int : 0; char c10; short s; char c11; float f; char c12; _Bool b;
};
struct last { int a; char c; }; struct outer { struct last l; char c; };
struct one { char c; }; union both { char c[3]; short s; }; struct bits { char a; long long b : 33; long long c : 31; };
struct packed { char a; int b; } __attribute__((packed));
struct doubles { double d; }; struct longs { long long d; }; struct vector { char c; v8 v; };
#define O(m) __builtin_offsetof(struct all, m)
"""
PLACES = [
    *(f"O({member})" for member in ["ld", "c2", "d", "ll", "l", "p", "e", "w", "wc", "z", "c9", "c10", "s", "f", "b"]),
    *(f"sizeof(struct {name})" for name in ["all", "last", "outer", "one", "bits", "packed", "doubles", "longs", "vector"]),
    *(f"_Alignof({name})" for name in ("struct all", "struct one", "struct bits", "long double", "double", "long long", "v8", "_Atomic long long", "short", "int")),
    "sizeof(union both)", "sizeof(int)", "sizeof(long double)", "sizeof(__WCHAR_TYPE__)", "(char)-1 < 0", "((__WCHAR_TYPE__)-1) < 0",
    "__BIGGEST_ALIGNMENT__", "(__SIZE_TYPE__)-1 > 0xffffffffu", "(int)sizeof(enum small)", "sizeof(L'x')",
]  # fmt: skip


@dataclass(frozen=True)
class Effect:
    """What one option does under one compiler."""

    is_taken: bool
    macros: tuple[tuple[str, str | None], ...] = ()
    """Macros whose definition differs, with what it is under the option (None: none)."""
    layouts: bool = False
    """Whether sizes or offsets differ."""


def installed_compilers(names: tuple[str, ...]) -> list[str]:
    """Those of some compilers that can be used."""
    return [
        name
        for name in names
        if shutil.which(name) and _run([name, "-dM", "-E", "-xc", "/dev/null"]).returncode == 0
    ]


def _run(words: list[str], text: str = "", folder: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            input=text,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", "does not end")


def options(compiler: str, target_only: bool = False, share: int = 1) -> list[str]:
    """The options that a compiler lists, joined to one of the values that it lists for them; of `share` one, always the same."""
    if "gcc" in compiler:
        return [word for word in dict.fromkeys(_gcc_flags(compiler, target_only)) if _is_chosen(word, share)]
    return list(dict.fromkeys(_clang_flags(compiler, share)))


def _is_chosen(word: str, share: int) -> bool:
    return crc32(word.encode()) % share == 0


def _gcc_flags(compiler: str, target_only: bool) -> Iterator[str]:
    for prefix in ("-m",) if target_only else _PREFIXES:
        for word in _run([compiler, f"--completion={prefix}"]).stdout.split():
            yield from _option_values(word)


def _clang_flags(compiler: str, share: int) -> Iterator[str]:
    """Yield the chosen ones: clang is run for the values of each, which takes long for hundreds of them."""
    for line in _run([compiler, "--autocomplete=-"]).stdout.splitlines():
        word = line.split("\t")[0]
        if not _is_chosen(word, share):
            continue
        yield from _option_values(word)
        if word.endswith("="):
            yield from (word + value for value in _run([compiler, f"--autocomplete={word},"]).stdout.split())


def _option_values(word: str) -> Iterator[str]:
    """An option that lacks a value with some."""
    yield from (word + value for value in ("1", "8", "none", "x86-64")) if word.endswith("=") else (word,)


@cache
def macros(compiler: str, *words: str) -> dict[str, str] | None:
    """What a compiler predefines; None when it does not take the words."""
    with tempfile.TemporaryDirectory() as folder:
        done = _run([compiler, *words, "-dM", "-E", "-xc", "-", "-w"], folder=folder)
    if done.returncode or re.search("warning: (?:argument unused|optimization flag|unknown)", done.stderr):
        return None
    return dict(re.findall(r"^#define (\w+(?:\([^)]*\))?) ?(.*)$", done.stdout, re.MULTILINE))


@cache
def _values(compiler: str, *words: str) -> dict[str, int]:
    """The value of each of PLACES, out of the assembler text of a variable."""
    text = PROBE + "".join(f"unsigned p{n} = {place};\n" for n, place in enumerate(PLACES))
    out = _run([compiler, "-S", "-o", "-", "-xc", "-", "-O0", *words], text).stdout
    found = {}
    for n, place in enumerate(PLACES):
        part = re.search(rf"^p{n}:\n((?:\s+\..*\n)+)", out, re.MULTILINE)
        numbers = (
            re.findall(r"\.(?:quad|xword|8byte|dword|long|4byte|word|zero|skip|space)\s+(\d+)", part[1])
            if part
            else []
        )
        found[place] = (
            max(map(int, numbers), default=0)
            if not (part and re.search(r"\.(?:zero|skip|space)", part[1]))
            else 0
        )
    return found


def differs(compiler: str, *words: str) -> bool:
    """Whether sizes or offsets are others under an option."""
    checks = "".join(
        f'_Static_assert(({place}) == {value}, "place");\n' for place, value in _values(compiler).items()
    )
    with tempfile.TemporaryDirectory() as folder:
        done = _run([compiler, *words, "-fsyntax-only", "-w", "-xc", "-"], PROBE + checks, folder)
    return bool(done.returncode) and bool(re.search("static.assert", done.stderr))


def effect(compiler: str, *words: str) -> Effect:
    """What an option does."""
    before, after = macros(compiler), macros(compiler, *words)
    if before is None or after is None:
        return Effect(False)
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return Effect(True, tuple((name, after.get(name)) for name in names), differs(compiler, *words))


def effects(compiler: str, target_only: bool = False, jobs: int = 2, share: int = 1) -> dict[str, Effect]:
    """What every option does that a compiler lists and takes by itself; of `share` options one, always the same."""
    words = [word for word in options(compiler, target_only, share) if not RUNS_OR_WRITES.match(word)]
    macros(compiler), _values(compiler)
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(words, pool.map(lambda word: effect(compiler, word), words), strict=True))


def libclang_meanings(words: tuple[str, ...], names: tuple[str, ...]) -> dict[str, str] | None:
    """What libclang has some macros as under some words; None where it does not take them."""
    lib = libclang.library()
    text = "".join(f'#ifdef {name}\n#pragma message("@@{name} " S({name}))\n#endif\n' for name in names)
    text = f"#define S_(...) #__VA_ARGS__\n#define S(...) S_(__VA_ARGS__)\n{text}"
    return (
        dict(message[2:].partition(" ")[::2] for message in _messages(lib, words, text) or ())
        if _messages(lib, words, "") is not None
        else None
    )


def _messages(lib: Any, words: tuple[str, ...], text: str) -> list[str] | None:
    index, handle = lib.clang_createIndex(0, 0), ctypes.c_void_p()
    every = [os.fsencode(word) for word in (libclang.driver(lib), "-xc", *flags.driver_flags(words))]
    unsaved = libclang.UnsavedFile(b"probe.c", text.encode(), len(text.encode()))
    failed = lib.clang_parseTranslationUnit2FullArgv(
        index,
        b"probe.c",
        (ctypes.c_char_p * len(every))(*every),
        len(every),
        ctypes.byref(unsaved),
        1,
        0,
        ctypes.byref(handle),
    )
    found = None
    if not failed and handle.value is not None:
        unit = handle.value
        each = [lib.clang_getDiagnostic(unit, n) for n in range(lib.clang_getNumDiagnostics(unit))]
        wrong = any(lib.clang_getDiagnosticSeverity(one) >= libclang.ERROR for one in each)
        texts = [libclang.text(lib, lib.clang_getDiagnosticSpelling(one)) for one in each]
        found = None if wrong else [one for one in texts if one.startswith("@@")]
        lib.clang_disposeTranslationUnit(handle)
    lib.clang_disposeIndex(index)
    return found


RUNS_OR_WRITES = re.compile(
    r"-W|-wrapper|--?output|-o|-M|--(?:user-|write-)?dependencies|-fplugin|-fpass-plugin|--?save-temps|--?print|-dump|--?help|--?version|-v$|--verbose"
    r"|-###|-E$|-S$|-c$|-x|-D|-U|-I|-include|-imacros|-E|--autocomplete|--?analyze|-emit|-extract|--param|-Q|-fdump|-P$|-pass-exit|--target-help|-i|-B"
)
"""Options that print, run or write something, take values, or are read by their meaning (-D, -include)."""


def triple(compiler: str) -> str:
    """The target of a compiler, as its driver names it."""
    return (
        "x86_64-linux-gnu"
        if compiler in ("gcc", *GCCS) or compiler.startswith("clang")
        else compiler.removesuffix("-gcc")
    )


@dataclass
class Judge:
    """Holds what layoutlint does with options against what a compiler says that they do."""

    compiler: str
    effects: dict[str, Effect]
    unknown: int = 0
    """Options that change something, and make layouts unknown."""
    idle: int = 0
    """Options that change nothing, and make layouts unknown all the same."""

    def __post_init__(self) -> None:
        changed = {name for effect in self.effects.values() for name, _ in effect.macros}
        self.names = tuple(sorted(name for name in changed if "(" not in name))
        self.target = f"--target={triple(self.compiler)}"
        self.before = libclang_meanings((self.target,), self.names) or {}

    def mistakes(self) -> Iterator[str]:
        """What is believed of an option, and is not so."""
        for word, effect in self.effects.items():
            if effect.is_taken:
                yield from self._mistakes(word, effect)

    def _mistakes(self, word: str, effect: Effect) -> Iterator[str]:
        read = flags.normalise((self.target, word))
        if read.problem or read.refusal or (read.language or "c") != "c":
            self.unknown += bool(effect.macros or effect.layouts)
            self.idle += not (effect.macros or effect.layouts)
            return
        after = libclang_meanings(read.passed, self.names)
        if after is None:
            return  # libclang does not take it, and the unit is not read
        doubts = [re.compile(rf"(?<!\w)(?:{doubt.names})(?!\w)") for doubt in read.doubts]
        wanted = dict(effect.macros)
        for name in self.names:
            is_changed = after.get(name) != self.before.get(name)
            expected = wanted.get(name, self.before.get(name)) if name in wanted else self.before.get(name)
            if name not in wanted and not is_changed:
                continue
            if name == "__WCHAR_TYPE__" and "-m" in word:
                continue  # long to GCC and int to clang on i386, of the same size, which is one of PLACES
            if not _agree(expected, after.get(name)) and not any(
                one.search(f"{name} == 1") for one in doubts
            ):
                yield f"{word}: {name} is {expected!r} to {self.compiler}, and {after.get(name)!r} here"
        if effect.layouts:
            is_local = {
                name for name in ("aligned", r":\s*0") for doubt in read.doubts if name in doubt.names
            }
            yield from self._places(word, read.passed, is_local)

    def _places(self, word: str, kept: tuple[str, ...], doubted: set[str]) -> Iterator[str]:
        before, after = _values(self.compiler), _values(self.compiler, word)
        if not any(after.values()):
            return  # -undef: the probe itself lacks __WCHAR_TYPE__
        for place in PLACES:
            if place == "__BIGGEST_ALIGNMENT__" and "aligned" in doubted:
                continue
            if place == "_Alignof(v8)" and not self.target.startswith("--target=x86_64"):
                continue  # GCC gives vectors that the machine lacks less outside of structs, under no option too
            if r":\s*0" in doubted and "all" in place + "struct all" * place.startswith("O("):
                continue
            if after[place] != before[place] and not holds(kept, place, after[place]):
                yield f"{word}: {place} is {after[place]} to {self.compiler}"


def _agree(one: str | None, other: str | None) -> bool:
    """Whether both have a macro, and as the same; parentheses and suffixes of numbers aside."""
    if one is None or other is None:
        return one is other
    are_fractions = all(re.search(r"\d\.\d", value) for value in (one, other))  # written to other lengths
    return are_fractions or _plain(one) == _plain(other)


def _plain(value: str) -> list[str]:
    """The words of a value: numbers without bases and suffixes, types without what goes without saying."""
    value = value.replace("__ORDER_BIG_ENDIAN__", "4321").replace("__ORDER_LITTLE_ENDIAN__", "1234")
    words = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]*\b", lambda number: str(int(number[1], 0)), value)
    return sorted(word for word in re.findall(r"[\w.+-]+", words) if word != "int")


def holds(words: tuple[str, ...], place: str, value: int) -> bool:
    """Whether libclang has a size or offset of PROBE so under some words."""
    return (
        _messages(libclang.library(), words, f'{PROBE}_Static_assert(({place}) == {value}, "");') is not None
    )


def _main(folder: Path) -> None:
    import json
    import sys

    for compiler in sys.argv[1:]:
        found = effects(compiler, "-linux-" in compiler and compiler not in GCCS)
        rows = {word: [one.macros, one.layouts] for word, one in found.items() if one.is_taken}
        (folder / f"{compiler}.json").write_text(json.dumps(rows, indent=0))
        print(
            compiler,
            len(found),
            len(rows),
            sum(bool(one.macros or one.layouts) for one in found.values()),
            flush=True,
        )


if __name__ == "__main__":
    _main(Path("/tmp/fl/o"))
