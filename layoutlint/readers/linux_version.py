"""Which version of Linux an input is, where it says so."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutlint.model import Version
    from layoutlint.readers.elf import Image

_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?!\d)")
_BANNER, _VERMAGIC = b"Linux version ", b"vermagic="
_LONGEST = 64
_MOST_BANNERS = 16
_RUNNING = "/sys/kernel/btf"


def of_release(text: str) -> Version | None:
    """The numbers that a release (`6.12.107+deb13-amd64`) starts with; None for another text."""
    found = _RELEASE.match(text)
    return tuple(int(number) for number in found.groups(default="0")) if found else None


def of_image(image: Image) -> Version | None:
    """What an ELF file of Linux says: `linux_banner` of vmlinux (init/version.c), `vermagic` of a module.

    None where it says nothing, as a file of debug information alone. Raises ReadError for a damaged file.
    """
    return _behind(image, ".modinfo", _VERMAGIC) or _behind(image, ".rodata", _BANNER)


def of_blob(path: str) -> Version | None:
    """That of the running kernel for its own BTF below /sys; other BTF does not tell."""
    if not os.path.abspath(path).startswith(_RUNNING):
        return None
    return of_release(os.uname().release)


def _behind(image: Image, section: str, mark: bytes) -> Version | None:
    """The release behind the first `mark` in a section that has one there: formats (`%s`) have none."""
    span = image.span(section)
    at = span.find(mark)
    for _ in range(_MOST_BANNERS):
        if at < 0:
            return None
        start = span.start + at + len(mark)
        found = of_release(span.text[start : min(start + _LONGEST, span.end)].decode("latin-1"))
        if found is not None:
            return found
        at = span.find(mark, at + 1)
    return None
