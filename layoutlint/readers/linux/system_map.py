"""Addresses of a kernel's variables from the System.map of its package, for a vmlinux without symbols.

System.map is `nm -n vmlinux` without symbols that only tools need (scripts/mksysmap): addresses, no sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.readers.linux import config, version

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_LARGEST = 1 << 26
"""The most bytes of a System.map; that of Linux v7.2 has 8 million."""
_LINE = re.compile(rb"^([0-9a-f]{8,16}) ([A-Za-z]) ([^\s]+)$", re.MULTILINE)
_BANNER = b"linux_banner"
_TEXT = b"Linux version "


class SystemMap(Record, frozen=True):
    """The symbols of one vmlinux."""

    path: str
    symbols: tuple[tuple[int, str], ...]
    """Addresses and names of symbols other than code, in the order of the file."""


def image_map(image: Image) -> SystemMap | None:
    """Return the System.map of a vmlinux, if the banner is at the address in that file; else None."""
    release = version.image_release(image)
    if release is None or not release.banner or "/" in release.name:
        return None
    # Up to the build number, which init/version.c puts into one of two banners only.
    text = _TEXT + release.banner.partition(" #")[0].encode("latin-1")
    for path in _places(image.path, release.name):
        try:
            content = files.read_all(path, _LARGEST)
        except OSError:
            continue
        banner_address = {
            name: int(address, 16) for address, _, name in _LINE.findall(content) if name == _BANNER
        }
        if _BANNER in banner_address and _bytes_at(image, banner_address[_BANNER], len(text)) == text:
            return SystemMap(path, tuple(_data_symbols(content)))
    return None


def _places(path: str, release: str) -> Iterator[str]:
    yield from config.package_files(path, f"System.map-{release}")
    yield config.package_files(path, "System.map")[0]


def _data_symbols(content: bytes) -> Iterator[tuple[int, str]]:
    for at, kind, name in _LINE.findall(content):
        if kind not in b"tTwWaA":
            yield int(at, 16), name.decode(errors="replace")


def _bytes_at(image: Image, address: int, length: int) -> bytes:
    """Return the bytes of a linked file at an address; none if no section holds it."""
    for header in image.headers:
        start = address - header.address
        if header.address and start >= 0 and start + length <= header.size and image.holds_content(header):
            return bytes(image.raw(header)[start : start + length])
    return b""
