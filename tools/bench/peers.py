"""The tools that layoutlint is measured against, at fixed versions, in a folder of their own.

What is missing is installed by name, under $LAYOUTLINT_PEERS (default ~/.cache/layoutlint-peers), and kept between
runs; nothing of the machine changes and no privilege is needed. With $LAYOUTLINT_OFFLINE set nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real import kernels

LAYOUT_AUDIT = ("layout-audit", "0.5.0")
PADLOCK = ("padlock-cli", "0.82.0")
DRGN = "0.3.0"
PAHOLE_RELEASE = "trixie"
PAHOLE_PACKAGES = ("pahole", "libbpf1", "libbz2-1.0", "libc6", "libdw1t64", "libelf1t64", "liblzma5", "libzstd1", "zlib1g")
"""Debian's package and all the libraries that it loads: it runs with its own loader, whatever the machine has."""
INSTALL_SECONDS = 1800


class Unavailable(Exception):
    """A tool that cannot be had on this machine, and why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool at hand: the words that run it, and its version in its own words."""

    words: tuple[str, ...]
    version: str


def home() -> Path:
    """The folder that keeps the tools."""
    output = os.environ.get("LAYOUTLINT_PEERS")
    return Path(output) if output else Path.home() / ".cache" / "layoutlint-peers"


def layout_audit() -> Peer:
    """layout-audit from crates.io; raises Unavailable."""
    return _crate(*LAYOUT_AUDIT, "layout-audit")


def padlock() -> Peer:
    """padlock from crates.io; raises Unavailable."""
    return _crate(*PADLOCK, "padlock")


def drgn() -> Peer:
    """A Python that has drgn, in a virtual environment of its own; raises Unavailable."""
    root = home() / f"drgn-{DRGN}"
    if not root.exists():
        with _build_folder(root) as part:
            _run(sys.executable, "-m", "venv", str(part))
            _run(str(part / "bin/python"), "-m", "pip", "install", "-q", f"drgn=={DRGN}")
    return Peer((str(root / "bin/python"),), f"drgn {DRGN}")


def pahole() -> Peer:
    """pahole as one fixed release of Debian has it, else the one that is installed; raises Unavailable."""
    root = home() / f"pahole-{PAHOLE_RELEASE}"
    try:
        if not root.exists():
            with _build_folder(root) as part:
                kernels.unpack(PAHOLE_RELEASE, PAHOLE_PACKAGES, part)
    except kernels.Unavailable as reason:
        if shutil.which("pahole") is None:
            raise Unavailable(str(reason)) from reason
        return _version_of("pahole")
    libraries = root / "usr/lib/x86_64-linux-gnu"
    loader = (str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries))
    return _version_of(*loader, str(root / "usr/bin/pahole"))


def _version_of(*words: str) -> Peer:
    return Peer(words, f"pahole {_run(*words, '--version').strip().removeprefix('v')}")


def _crate(crate: str, version: str, binary: str) -> Peer:
    root = home() / f"{crate}-{version}"
    if not root.exists():
        if shutil.which("cargo") is None:
            raise Unavailable(f"{crate}: this machine has no cargo to build it with")
        with _build_folder(root) as part:
            _run("cargo", "install", "--quiet", "--locked", "--root", str(part), f"{crate}@{version}")
    return Peer((str(root / "bin" / binary),), f"{binary} {version}")


@contextmanager
def _build_folder(root: Path) -> Iterator[Path]:
    """A folder that takes its final name when all of it is there; raises Unavailable where nothing may be installed."""
    if os.environ.get("LAYOUTLINT_OFFLINE"):
        raise Unavailable(f"{root.name}: not installed yet, and LAYOUTLINT_OFFLINE is set")
    home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="install.", dir=home()) as into:
        part = Path(into, root.name)
        part.mkdir()
        print(f"installing {root.name}", file=sys.stderr, flush=True)
        yield part
        part.rename(root)


def _run(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        output = error.stderr.strip().splitlines() or [f"exit status {error.returncode}"]
        raise Unavailable(f"{Path(words[0]).name}: {output[-1]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(str(error)) from error
    return done.stdout
