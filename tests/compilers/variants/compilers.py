"""Compilers for the matrix: those that are installed, and gcc of other releases of Debian, unpacked into a folder.

    python -m tests.compilers.variants.compilers    unpack what is missing, about 400 MB

Of such a gcc only the compiler proper is taken, with the libraries that it runs with: the assembler, the linker and,
from gcc 11 on, the driver stay those of the machine, and no file of the machine changes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

from tests.harness import tools
from tests.real import kernels

_LIBRARIES = ("libc6", "libgmp10", "libisl23", "libmpc3", "libmpfr6", "libzstd1", "zlib1g")
_ASSEMBLER = ("binutils-x86-64-linux-gnu", "libbinutils", "libsframe3", "libjansson4")
_UNPACKED = {
    # compiler: release of Debian, the package with its cc1, and those of its driver or assembler where ours do not fit
    "gcc-9": ("bullseye", "cpp-9", "gcc-9"),
    "gcc-10": ("bullseye", "cpp-10", "gcc-10"),
    "gcc-13": ("trixie", "cpp-13-x86-64-linux-gnu"),
    "gcc-14": ("trixie", "cpp-14-x86-64-linux-gnu"),
    "gcc-15": ("sid", "cpp-15-x86-64-linux-gnu", *_ASSEMBLER),
    "gcc-16": ("sid", "cpp-16-x86-64-linux-gnu", *_ASSEMBLER),
}
_UNPACKING = threading.Lock()
_WRAPPER = '#!/bin/sh\nexec "{loader}" --library-path "{libraries}" "{proper}" "$@"\n'


@cache
def command(name: str) -> tuple[str, ...]:
    """How a compiler or tool is called; raises Unavailable with the reason."""
    at = shutil.which(name)
    if at is not None:
        if (reason := tools.fault(name)) is not None:
            raise kernels.Unavailable(reason)
        return (at,)
    if name not in _UNPACKED:
        raise kernels.Unavailable(f"{name} is not installed")
    root = kernels.home() / name
    wrapper = root / "driver/cc1"
    with _UNPACKING:
        if not wrapper.exists():
            _unpack(name, root)
    driver = next(iter(root.glob(f"usr/bin/*-{name}")), None) or shutil.which("gcc")
    if driver is None:
        raise kernels.Unavailable(f"{name} needs the driver of gcc, which is not installed")
    if not (wrapper.parent / "as").exists() and (reason := tools.fault("as")) is not None:
        raise kernels.Unavailable(f"{name} needs an assembler: {reason}")
    return str(driver), f"-B{wrapper.parent}/"


def _unpack(name: str, root: Path) -> None:
    """A folder in which a driver finds the compiler proper; raises Unavailable with the reason."""
    release, *packages = _UNPACKED[name]
    kernels.unpack(release, tuple(f"{each}/{release}" for each in (*packages, *_LIBRARIES)), root)
    (root / "driver").mkdir(exist_ok=True)
    for program in ("as", "cc1"):
        wrapper = root / "driver" / program
        proper = next(iter(sorted(root.glob(f"usr/lib*/gcc/*/*/{program}"))), None)
        proper = proper or next(iter(root.glob(f"usr/bin/*-{program}")), None)
        if proper is not None:
            wrapper.write_text(_wrapper(name, proper, root))
            wrapper.chmod(0o755)
    if not (root / "driver/cc1").exists():
        raise kernels.Unavailable(f"{name}: its packages hold no cc1")


def _wrapper(name: str, proper: Path, root: Path) -> str:
    """A script that runs a program with the C library of its own release."""
    loader = next((at for at in sorted(root.glob("**/ld-linux-x86-64.so.2")) if at.is_file()), None)
    if loader is None:
        raise kernels.Unavailable(f"{name}: its packages hold no loader")
    folders = sorted({str(at.parent) for at in root.glob("**/lib/**/lib*.so.*") if "gdb" not in at.parts})
    return _WRAPPER.format(loader=loader, libraries=":".join(folders), proper=proper)


def main() -> int:
    """Unpack all; returns the exit status, which is never a failure: tests skip what is missing, with the reason."""
    for name in _UNPACKED:
        try:
            words = command(name)
            output = subprocess.run([*words, "-xc", "-S", "-o-", "/dev/null"], capture_output=True, text=True)
            print(name, " ".join(words), output.stderr.strip() or "works", flush=True)
        except kernels.Unavailable as reason:
            print(f"without {name}: {reason}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
