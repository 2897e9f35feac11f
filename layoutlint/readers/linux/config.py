"""The configuration of a built kernel: its own IKCONFIG, or a file of its package that fits its banner."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.files import accesses
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.readers.linux.version import Release, release_version

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_ON = re.compile(r"^CONFIG_(\w+)=[ym]$", re.MULTILINE)
_HEADING = re.compile(r"^# Linux/\S+ (\d\S*) Kernel Configuration$", re.MULTILINE)
_COMPILER = re.compile(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', re.MULTILINE)
_LOCAL = re.compile(r'^CONFIG_LOCALVERSION="(.*)"$', re.MULTILINE)
_LAST_MENU = "\n# end of Kernel hacking\n"
"""The end of the last menu of a `.config`, since Linux 5.3; a few options can follow. auto.conf has no
menus."""
_LARGEST = 1 << 24
"""The most bytes of a configuration; those of Linux v7.2 have up to 300 thousand."""
_START, _END = b"IKCFG_ST\x1f\x8b", b"IKCFG_ED"
_DEBUG, _RUNNING = "/usr/lib/debug/", "/sys/kernel/btf"
_HOMES = ("/boot/", "/usr/lib/modules/", "/lib/modules/")


class Config(Record, frozen=True):
    """A configuration, and where it comes from."""

    on: frozenset[str]
    """Options that are `y` or `m`, without CONFIG_."""
    place: str


@lru_cache(maxsize=2)  # editors read the same text for each edit
def options_on(text: str) -> frozenset[str]:
    """Return the options that a configuration turns on (y or m), without CONFIG_."""
    return frozenset(_ON.findall(text))


def with_release(reading: Reading, release: Release | None, image: Image | None) -> Reading:
    """Return the reading of a kernel with its version, configuration, and the options of its banner.

    `image` holds the code of an ELF file, None for the running kernel's BTF. A configuration that is damaged
    or of another build is left out, with a note. Raises ReadError if its section is damaged.
    """
    notes: list[str] = []
    config = None if image is None else _ikconfig(image, notes)
    if config is None and release is not None:
        config = _read_config(reading.path, release, notes)
    if config is not None:
        notes.append(f"its configuration comes from {config.place}")
    return replace(
        reading,
        kernel=reading.kernel if release is None else release.version,
        config=None if config is None else config.on,
        options=frozenset() if release is None else release.options,
        notes=(*reading.notes, *notes),
    )


def _ikconfig(image: Image, notes: list[str]) -> Config | None:
    """Return the configuration that vmlinux contains under CONFIG_IKCONFIG (kernel/configs.c)."""
    span = image.span(".rodata")
    at = span.find(_START)
    if at < 0:
        return None
    start = span.start + at + len(_START) - 2
    content = bytes(span.text[start : min(start + _LARGEST, span.end)])
    try:
        return _parse(_decompress(content), "its IKCONFIG", None, notes)
    except (zlib.error, ValueError) as error:
        notes.append(f"its IKCONFIG cannot be decompressed: {error}")
        return None


def _decompress(content: bytes) -> str:
    """Return the text of one gzip stream; raises zlib.error or ValueError for a damaged or endless one."""
    stream = zlib.decompressobj(wbits=31)
    text = stream.decompress(content, _LARGEST)
    if not stream.eof:
        raise ValueError("it is truncated, or larger than 16 MB")
    return text.decode("utf-8", "replace")


def _parse(text: str, place: str, release: Release | None, notes: list[str]) -> Config | None:
    """Return a configuration if it is complete and of that release; else None, and a note says why."""
    reason = _misfit(text, release)
    if reason is not None:
        notes.append(f"{place} is not its configuration: {reason}")
        return None
    return Config(options_on(text), place)


def _misfit(text: str, release: Release | None) -> str | None:
    """Return why a text is not the configuration of a release; None if nothing contradicts it."""
    heading = _HEADING.search(text[:4096])
    if heading is None:
        return "it has no line `# Linux/ARCH VERSION Kernel Configuration`"
    if not text.endswith("\n") or ("\n# end of " in text and _LAST_MENU not in text):
        return "it is truncated"
    if release is None:
        return None
    version, length = release_version(heading[1]) or (), len(release.version)
    if version[:length] != release.version:
        return f"it is of Linux {heading[1]}, and the banner says {'.'.join(map(str, release.version))}"
    return _other_build(text, release)


def _other_build(text: str, release: Release) -> str | None:
    """Return the difference between the banner and a configuration of the same version."""
    compiler, local = _COMPILER.search(text), _LOCAL.search(text)
    if compiler and release.banner and compiler[1] not in release.banner:
        return f"it is for {compiler[1]}, which the banner does not name"
    if local and local[1] not in release.name:
        return f"its CONFIG_LOCALVERSION is {local[1]}, and the release {release.name}"
    on = options_on(text)
    contradicted = sorted(o for o in release.options if (o.removeprefix("!") in on) == o.startswith("!"))
    return f"the banner says {contradicted[0].replace('!', 'no ')}, and it does not" if contradicted else None


def _read_config(path: str, release: Release, notes: list[str]) -> Config | None:
    """Return the first configuration that fits among the files where packages and builds leave it."""
    for place in _places(files.real_path(path), release.name):
        text = _content(place)
        config = _parse(text, place, release, notes) if text else None
        if config is not None:
            return config
    return None


def _places(path: str, release: str) -> Iterator[str]:
    """Yield where the configuration of a kernel or module can be: in its package, its build, its headers."""
    if path.startswith(_RUNNING):
        yield "/proc/config.gz"
    folder = os.path.dirname(path)
    yield os.path.join(folder, f"config-{release}")
    if os.path.basename(path).startswith("vmlinux"):
        yield os.path.join(folder, "include/config/auto.conf")
        yield os.path.join(folder, ".config")
        yield os.path.join(folder, "config")
    root = _root(path)
    if root is not None and "/" not in release:
        yield f"{root}/boot/config-{release}"
        for modules in (f"{root}/lib/modules/{release}", f"{root}/usr/lib/modules/{release}"):
            yield f"{modules}/config"
            yield f"{modules}/build/.config"
        yield f"{root}/usr/src/linux-headers-{release}/.config"


def package_files(path: str, name: str) -> tuple[str, ...]:
    """Return where the package of a kernel installs a file, such as `System.map-6.1.0-50-amd64`."""
    real = files.real_path(path)
    root = _root(real)
    sibling = os.path.join(os.path.dirname(real), name)
    return (sibling,) if root is None else (sibling, f"{root}/boot/{name}")


def _root(path: str) -> str | None:
    """Return the folder in which the system of a path is installed or unpacked."""
    if path.startswith(_RUNNING):
        return ""
    if _DEBUG in path:
        return path[: path.rindex(_DEBUG)]
    return next((path[: path.rindex(home)] for home in _HOMES if home in path), None)


@accesses.remember(64)
def _content(path: str) -> str | None:
    """Return the text of a file, also of a compressed one; None if it cannot be read."""
    try:
        content = files.read_all(path, _LARGEST)
        return _decompress(content) if path.endswith(".gz") else content.decode("utf-8", "replace")
    except (OSError, ValueError, zlib.error):
        return None
