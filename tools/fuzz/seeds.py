"""The files that are damaged: small, of every variant, checked in. `python -m tools.fuzz.seeds` makes them anew.

A machine that lacks a tool keeps the seeds that need it as they are, and says so. Other compilers than those that the
files tell of give other bytes, and so other inputs for the same number.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "seeds"
SOURCE: Final = FOLDER / "source"
NAMED, PATTERNS = SOURCE / "named.toml", SOURCE / "patterns.toml"

_LINK = "-nostdlib -static -Wl,-N,-e,0,--no-warn-rwx-segments,--build-id=sha1"
_MAP = "-Os -ffile-prefix-map=$PWD=."
GCC = f"gcc {_MAP} -gno-record-gcc-switches"
CLANG = f"clang {_MAP} -Qn"
FOREIGN = f"clang -w {_MAP} -Qn -g -c one.c -o input --target="
BPF = f"clang {_MAP} -Qn -g -c one.c -o bpf.o --target=bpf"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one seed is made."""

    name: str
    formats: str
    """What it is damaged as: dwarf, btf, elf."""
    commands: tuple[str, ...]
    """Shell commands in a folder with the sources; they leave a file `input`."""
    more: tuple[str, ...] = ()
    """Files that must lie beside it."""
    options: tuple[str, ...] = ()
    """What the command needs to read it."""
    status: int = 0
    """What `check` exits with on the undamaged seed."""
    rules: str = "named.toml"
    opened: str = "input"
    """What the command is given."""


def _recipe_of(name: str, formats: str, *commands: str, **more: object) -> Recipe:
    return Recipe(name, formats, commands, **more)  # type: ignore[arg-type]


def _gcc(name: str, flags: str, *then: str, formats: str = "dwarf", **more: object) -> Recipe:
    return _recipe_of(name, formats, f"{GCC} {flags} -o input", *then, **more)


_RAW = "objcopy -O binary --only-section=.BTF --set-section-flags .BTF=alloc"
RECIPES: Final = (
    # DWARF of each version, linked, of two units
    *(_gcc(f"gcc-dwarf{n}", f"-gdwarf-{n} {_LINK} one.c two.c") for n in (2, 3, 4, 5)),
    *(_recipe_of(f"clang-dwarf{n}", "dwarf", f"{CLANG} -gdwarf-{n} {_LINK} one.c two.c -o input") for n in (2, 3, 4, 5)),
    _gcc("gcc-dwarf4-types", f"-gdwarf-4 -fdebug-types-section {_LINK} one.c two.c"),
    _gcc("gcc-dwarf5-types", f"-gdwarf-5 -fdebug-types-section {_LINK} one.c two.c"),
    _gcc("gcc-dwarf5-64", f"-gdwarf-5 -gdwarf64 {_LINK} one.c two.c"),
    _recipe_of("clang-dwarf5-64", "dwarf", f"{CLANG} -gdwarf-5 -gdwarf64 -c one.c -o input"),
    _gcc("gcc-strict", "-gdwarf-3 -gstrict-dwarf -c one.c"),
    _gcc("gcc-lto", f"-gdwarf-5 -flto -fno-fat-lto-objects {_LINK} one.c two.c"),
    _recipe_of("mixed-languages", "dwarf", f"{GCC} -g -c one.c -o one.o", f"g++ {_MAP} -gno-record-gcc-switches -g -c plus.cc -o plus.o",
        "ld -r one.o plus.o -o input", status=3),  # the C++ unit has a `ring` of its own, which is not judged
    # Object files: relocations, groups
    _gcc("gcc-object", "-gdwarf-5 -c one.c", formats="dwarf elf"),
    _gcc("gcc-object-types", "-gdwarf-4 -fdebug-types-section -c one.c", formats="dwarf elf"),
    _recipe_of("gcc-merged-objects", "dwarf elf", f"{GCC} -gdwarf-4 -c one.c", f"{GCC} -gdwarf-5 -c two.c", "ld -r one.o two.o -o input"),
    *(_recipe_of(f"clang-{target}", "dwarf elf", f"{FOREIGN}{target}-linux-gnu")
      for target in ("powerpc64", "s390x", "mips", "mips64", "arm", "armeb", "i386", "riscv64")),
    # Split units
    _gcc("gcc-split", f"-gdwarf-5 -gsplit-dwarf {_LINK} one.c", more=("input-one.dwo",)),
    _gcc("gcc-split-object", "-gdwarf-4 -gsplit-dwarf -c one.c", more=("input.dwo",)),
    _recipe_of("clang-split", "dwarf", f"{CLANG} -gdwarf-5 -gsplit-dwarf -c one.c -o input", more=("input.dwo",)),
    _gcc("gcc-dwp", f"-gdwarf-4 -gsplit-dwarf {_LINK} one.c two.c", "dwp -o input.dwp input-one.dwo input-two.dwo", more=("input.dwp",)),
    _recipe_of("clang-dwp", "dwarf", f"{CLANG} -gdwarf-5 -gsplit-dwarf -c one.c -o input", "llvm-dwp input.dwo -o input.dwp", more=("input.dwp",)),
    _gcc("gcc-dwo", "-gdwarf-5 -gsplit-dwarf -c one.c", "mv input.dwo input"),
    # Separate files
    _gcc("dwz", f"-gdwarf-4 {_LINK} one.c two.c", "cp input other", "dwz -m shared -r input other", more=("shared",)),
    _gcc("dwz-partial", f"-gdwarf-4 {_LINK} one.c two.c", "dwz input"),
    _gcc("debuglink", f"-gdwarf-5 {_LINK} one.c two.c", "objcopy --only-keep-debug input input.debug",
         "strip -g input", "objcopy --add-gnu-debuglink=input.debug input", more=("input.debug",)),
    # Compressed sections
    _gcc("gcc-zlib", f"-gdwarf-5 {_LINK} one.c two.c -gz=zlib", formats="dwarf elf"),
    _gcc("gcc-zlib-object", "-gdwarf-4 -c one.c -gz=zlib", formats="dwarf elf"),
    _gcc("gcc-zdebug", f"-gdwarf-4 {_LINK} one.c two.c", "objcopy --compress-debug-sections=zlib-gnu input", formats="dwarf elf"),
    _gcc("gcc-zstd", f"-gdwarf-5 {_LINK} one.c two.c", "objcopy --compress-debug-sections=zstd input", formats="dwarf elf"),
    # BTF
    _recipe_of("btf-elf", "btf elf", BPF, "llvm-strip -g bpf.o -o input"),
    _recipe_of("btf-raw", "btf", BPF, "llvm-objcopy --dump-section .BTF=input bpf.o"),
    _recipe_of("btf-raw-big-endian", "btf", BPF + "eb", "llvm-objcopy --dump-section .BTF=input bpf.o"),
    _recipe_of("btf-pahole", "btf elf", f"{GCC} -gdwarf-4 {_LINK} one.c two.c -o input", "pahole -J input", "strip -g input"),
    _recipe_of("btf-split", "btf", f"{GCC} -gdwarf-4 {_LINK} one.c -o base", "pahole --btf_encode_detached=vmlinux base",
        f"{GCC} -gdwarf-4 {_LINK} one.c two.c -o module", "pahole --btf_base vmlinux --btf_encode_detached=input module",
        more=("vmlinux",), rules="split.toml"),
    _recipe_of("btf-split-elf", "btf", f"{GCC} -gdwarf-4 {_LINK} one.c -o base", "pahole --btf_encode_detached=vmlinux base",
        f"{GCC} -gdwarf-4 {_LINK} one.c two.c -o input", "pahole --btf_base vmlinux -J input", "strip -g input",
        more=("vmlinux",), options=("--btf-base", "vmlinux"), rules="split.toml"),
    _recipe_of("btf-distilled", "btf", f"{GCC} -gdwarf-4 {_LINK} one.c -o base", "pahole --btf_encode_detached=vmlinux base",
        f"{GCC} -gdwarf-4 {_LINK} one.c two.c -o input", "pahole --btf_base vmlinux -J input", "strip -g input",
        "objcopy --add-section .BTF.base=vmlinux input", rules="split.toml"),
    _recipe_of("modules", "btf elf dwarf", f"{GCC} -gdwarf-4 {_LINK} one.c -o base", "pahole --btf_encode_detached=vmlinux base",
        f"{GCC} -gdwarf-4 {_LINK} one.c two.c -o one.ko", "pahole --btf_base vmlinux -J one.ko", "strip -g one.ko", "cp one.ko two.ko",
        f"{GCC} -gdwarf-5 -c two.c -o three.ko", opened=".", more=("one.ko", "two.ko", "three.ko", "vmlinux"), options=("--jobs", "1"), rules="split.toml"),
    *(_gcc(f"module-{how.split()[0]}", "-gdwarf-5 -c one.c", f"{how} -c input > packed", "mv packed input", formats="elf") for how in ("gzip -9n", "xz", "zstd -19q")),
    _recipe_of("btf-and-dwarf", "btf dwarf elf", f"{GCC} -gdwarf-4 {_LINK} one.c -o input", "pahole -J input"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed: its files, the first of which the command is given."""

    recipe: Recipe
    files: tuple[tuple[str, bytes], ...]

    @property
    def name(self) -> str:
        return self.recipe.name


@cache
def seeds() -> tuple[Seed, ...]:
    """All seeds that are checked in, in the order of their recipes."""
    return tuple(Seed(recipe, tuple((name, (FOLDER / recipe.name / name).read_bytes()) for name in _files(recipe)))
                 for recipe in RECIPES)  # fmt: skip


def _files(recipe: Recipe) -> tuple[str, ...]:
    return (*(("input",) if recipe.opened == "input" else ()), *recipe.more)


def make(recipe: Recipe) -> str:
    """Makes one seed anew; what to say of it."""
    with tempfile.TemporaryDirectory() as folder:
        for file in SOURCE.iterdir():
            shutil.copy(file, folder)
        for command in recipe.commands:
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                return f"kept as it is: {command}: {(done.stderr or 'fails').strip()}"
        missing = [name for name in _files(recipe) if not (Path(folder) / name).is_file()]
        if missing:
            there = sorted({path.name for path in Path(folder).iterdir()} - {path.name for path in SOURCE.iterdir()})
            return f"kept as it is: its commands left no {', '.join(missing)}, but {', '.join(there)}"
        (FOLDER / recipe.name).mkdir(exist_ok=True)
        for name in _files(recipe):
            shutil.copyfile(Path(folder) / name, FOLDER / recipe.name / name)
        return " + ".join(f"{(Path(folder) / name).stat().st_size} bytes" for name in _files(recipe))


if __name__ == "__main__":
    for each in RECIPES:
        if not sys.argv[1:] or each.name in sys.argv[1:]:
            print(f"{each.name:<22} {make(each)}", flush=True)
