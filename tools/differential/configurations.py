"""The compilers, machines and flags that structs are compiled with; what is not installed is left out with the reason."""

from __future__ import annotations

import random
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.compilers.variants import compilers
from tests.real.kernels import Unavailable
from tools.differential.structs import Words
from tools.differential.truth import Compiler

_GCC = ("gcc-11", "gcc-12", "gcc-13", "gcc-14")
_CLANG = (
    "clang-14",
    "clang-15",
    "clang-16",
    "clang-17",
    "clang-18",
    "clang-19",
    "clang-20",
    "clang-21",
    "clang-22",
)
_CROSS = {
    # gcc: bits of long
    "aarch64-linux-gnu-gcc": 64, "arm-linux-gnueabihf-gcc": 32, "riscv64-linux-gnu-gcc": 64,
    "sparc64-linux-gnu-gcc": 64, "s390x-linux-gnu-gcc": 64, "powerpc64-linux-gnu-gcc": 64,
    "powerpc-linux-gnu-gcc": 32, "mips-linux-gnu-gcc": 32,
}  # fmt: skip
_RARE = (
    ("-fpack-struct=2",), ("-fpack-struct=4",), ("-fshort-enums",), ("-mms-bitfields",), ("-fpack-struct=1",),
)  # fmt: skip
_RARE_32 = (("-malign-double",),)
_RARE_64 = (("-mlong-double-64",), ("-mlong-double-128",))


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to compile, as the table has it."""

    name: str
    command: tuple[str, ...]
    machine: tuple[str, ...]
    """Flags that choose the machine."""
    words: Words
    rare: tuple[tuple[str, ...], ...] = ()
    is_clang: bool = False

    def compiler(self, seed: int) -> Compiler:
        """With random debug information, and at times with flags that change layouts."""
        chance = random.Random(seed)
        dwarf = chance.choice(("-gdwarf-4", "-gdwarf-5"))
        extra = chance.choice(self.rare) if self.rare and chance.random() < 0.12 else ()
        debug = (
            "-g",
            dwarf,
            *(("-fstandalone-debug",) if self.is_clang else ("-fno-eliminate-unused-debug-types",)),
        )
        standard = ("-std=gnu17",) if self.words.bit_int != 64 or self.is_clang else ("-std=gnu2x",)
        return Compiler(self.name, self.command, (*self.machine, *standard, *extra), debug)


def works(command: tuple[str, ...], *flags: str) -> bool:
    """Whether a compiler makes an object of a machine: it is used once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.c"
        path.write_text("struct s { int a; } s;\n")
        words = (*command, *flags, "-g", "-c", "-o", str(path.with_suffix(".o")), str(path))
        try:
            done = subprocess.run(words, capture_output=True, timeout=60)
        except OSError:
            return False
        return done.returncode == 0


def _words(name: str, bits: int) -> Words:
    is_clang = name.startswith("clang")
    version = int(name.rpartition("-")[2]) if name[-1].isdigit() else 12
    more = ("__int128", "unsigned __int128") if bits == 64 else ()
    if "linux" not in name:
        more += ("__float128", "_Complex float")
    if is_clang:
        return Words(bits, more, True, True, 128 if version >= 16 or bits == 64 else 64, version >= 17)
    return Words(bits, more, True, False, 64 if version >= 14 and bits == 64 else 0)


@cache
def available() -> tuple[list[Configuration], list[str]]:
    """The configurations of this machine, and why others are missing."""
    found, missing = [], []
    for name in (*_GCC, *_CLANG):
        try:
            command = compilers.command(name)
        except (Unavailable, OSError) as reason:
            missing.append(str(reason) if name in str(reason) else f"{name}: {reason}")
            continue
        for bits, flag, rare in ((64, "-m64", _RARE + _RARE_64), (32, "-m32", _RARE + _RARE_32)):
            if works(command, flag):
                words = _words(name, bits)
                found.append(Configuration(f"{name} {flag}", command, (flag,), words, rare, words.is_clang))
            else:
                missing.append(f"{name} {flag}: it makes no object")
    for name, bits in _CROSS.items():
        if works((name,)):
            found.append(Configuration(name, (name,), (), _words(name, bits), _RARE[:3]))
        else:
            missing.append(f"{name}: it makes no object")
    return found, missing
