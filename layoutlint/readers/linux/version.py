"""The Linux version of an input, if it states it: its release, its version, and options that these state.

The version of a kernel source tree is read by `readers.clang.kernel.tree`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.model.record import Record

if TYPE_CHECKING:
    from layoutlint.model.reading import Version
    from layoutlint.readers.elf.elf_file import Image

_NUMBERS = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?!\d)")
_PLACEHOLDER = re.compile(r"\d+\.\d+\.0-\d")
"""Releases that distributions number themselves: Debian's 6.1.0-50-amd64, Ubuntu's 6.8.0-31-generic."""
_BANNER, _VERMAGIC = b"Linux version ", b"vermagic="
_LONGEST = 512
_MOST_BANNERS = 16
_RUNNING = "/sys/kernel/btf"


class Release(Record, frozen=True):
    """The release that a kernel or module states, and the other facts of its banner."""

    name: str
    """As `uname -r` prints it: `6.1.0-50-amd64`."""
    version: Version
    """The numbers of Linux itself; two if the third is a distribution's, and nothing states Linux's."""
    options: frozenset[str] = frozenset()
    """Configuration options that are on (`SMP`) or off (`!SMP`)."""
    banner: str = ""
    """The whole banner, which also names the compiler; empty if a module states the release."""


def release_version(text: str) -> Version | None:
    """Return the numbers that a release (`6.12.107+deb13-amd64`) starts with; None for another text."""
    numbers = _NUMBERS.match(text)
    return tuple(int(number) for number in numbers.groups(default="0")) if numbers else None


def image_release(image: Image) -> Release | None:
    """Return the release that an ELF file of Linux states: `linux_banner` of vmlinux, or `vermagic` of a
    module.

    None if it states nothing, as a file with only debug information. Raises ReadError for a damaged file.
    Source: init/version-timestamp.c and include/linux/vermagic.h.
    """
    return _search_release(image, ".modinfo", _VERMAGIC) or _search_release(image, ".rodata", _BANNER)


def blob_release(path: str) -> Release | None:
    """Return the running kernel's release for its own BTF below /sys; other BTF states none."""
    if not files.real_path(path).startswith(_RUNNING):
        return None
    try:
        banner = files.read_start("/proc/version", _LONGEST).decode("latin-1")
    except OSError:
        banner = ""
    return _parse_banner(banner.removeprefix(_BANNER.decode())) or _parse_banner(os.uname().release)


def _search_release(image: Image, section: str, mark: bytes) -> Release | None:
    """Return the release after the first `mark` of a section that has one there; format strings have none."""
    span = image.span(section)
    at = span.find(mark)
    for _ in range(_MOST_BANNERS):
        if at < 0:
            return None
        start = span.start + at + len(mark)
        text = bytes(span.text[start : min(start + _LONGEST, span.end)]).partition(b"\0")[0].decode("latin-1")
        release = _parse_banner(text) if mark == _BANNER else _parse_vermagic(text)
        if release is not None:
            return release
        at = span.find(mark, at + 1)
    return None


def _parse_banner(text: str) -> Release | None:
    """Return the release in the text after `Linux version `: release, builder, compiler, and UTS_VERSION
    after `#`.
    """
    version = release_version(text)
    if version is None:
        return None
    name, _, rest = text.partition(" ")
    built = re.search(r"(?:^|\) )(#.*)", rest.strip(), re.DOTALL)
    words = built[1].split() if built else []
    return Release(name, _upstream(name, version, words), _banner_options(words), text.strip())


def _upstream(name: str, version: Version, words: list[str]) -> Version:
    """Return Linux's own version, which a distribution that numbers releases may add (`Debian 6.1.176-1`)."""
    if _PLACEHOLDER.match(name) is None:
        return version
    for word in words:
        upstream = release_version(word)
        if upstream is not None and upstream[:2] == version[:2] and word.count(".") > 1:
            return upstream
    return version[:2]


def _banner_options(words: list[str]) -> frozenset[str]:
    """Return the options that UTS_VERSION shows (init/Makefile): `#1 SMP PREEMPT_DYNAMIC Fri ...`."""
    if not words:
        return frozenset()
    flags = [word for word in words[1:4] if word == "SMP" or word == "RT" or word.startswith("PREEMPT")]
    shown = {"SMP": "SMP" in flags, "PREEMPT_RT": "PREEMPT_RT" in flags or "RT" in flags}
    shown |= {flag: True for flag in flags if flag == "PREEMPT_DYNAMIC"}
    return _with_signs(shown)


def _parse_vermagic(text: str) -> Release | None:
    """Return the release that a module's vermagic states: `6.1.55 SMP preempt mod_unload modversions`."""
    version = release_version(text)
    if version is None:
        return None
    name, *words = text.split()
    shown = {
        "SMP": "SMP" in words, "PREEMPT_RT": "preempt_rt" in words,
        "MODULE_UNLOAD": "mod_unload" in words, "MODVERSIONS": "modversions" in words,
    }  # fmt: skip
    return Release(name, _upstream(name, version, []), _with_signs(shown))


def _with_signs(shown: dict[str, bool]) -> frozenset[str]:
    return frozenset(option if is_on else f"!{option}" for option, is_on in shown.items())
