"""The debug file of the running kernel: a vmlinux with DWARF, in the places of distributions and of pahole.

Nothing is downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record
from layoutlint.readers.linux import version

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

ROOT = ""
"""The folder in which the kernel shows itself and is installed; empty for `/`."""
_BTF = "/sys/kernel/btf/vmlinux"
_NOTES = "/sys/kernel/notes"
"""The notes of vmlinux (Documentation/ABI/testing/sysfs-kernel-notes)."""
_RELEASE, _BANNER = "/proc/sys/kernel/osrelease", "/proc/version"
_LARGEST = 1 << 16


class DebugFile(Record, frozen=True):
    """The result of a search for the debug file."""

    path: str | None
    """None if there is none."""
    reason: str = ""
    """Why there is none: the places, and files there that do not belong to the kernel."""


def is_running(path: str) -> bool:
    """Return whether a file is the BTF of the running kernel."""
    return files.real_path(path) == f"{ROOT}{_BTF}"


def find(options: ReadOptions) -> DebugFile:
    """Return the first vmlinux with DWARF that is the running kernel's: by build id, else by banner."""
    from layoutlint.readers.elf import debug_files, elf_file  # most BTF is not the running kernel's

    release = _content(_RELEASE).decode(errors="replace").strip()
    build_id = elf_file.gnu_build_id(_content(_NOTES), "<" if sys.byteorder == "little" else ">") or ""
    places = [*debug_files.build_id_paths(build_id, options.debug_dirs)]
    places += debug_files.kernel_places(release, options.debug_dirs, ROOT) if release else ()
    problems = []
    for place in dict.fromkeys(places):
        if not files.is_file(place):
            continue
        problem = _problem(place, build_id)
        if problem is None:
            return DebugFile(place)
        problems.append(f"{place} {problem}")
    missing = f"there is no {', no '.join(dict.fromkeys(places))}; `--debug-dir` names other folders"
    subject = "no vmlinux with DWARF of the running kernel was found"
    return DebugFile(None, f"{subject}: {'; '.join(problems) or missing}")


def _problem(path: str, build_id: str) -> str | None:
    """Return why a file is not the debug file; None if it is."""
    from layoutlint.readers.elf import elf_file

    try:
        with elf_file.open_elf(path) as image:
            if build_id and image.build_id and image.build_id != build_id:
                return f"has the build id {image.build_id}, and {build_id} is the running kernel's"
            if not (build_id and image.build_id) and not _has_banner(image):
                return "has another banner than /proc/version"
            return None if image.has("dwarf") else "has no DWARF"
    except ReadError as error:
        return f"cannot be read: {error.reason}"


def _has_banner(image: Image) -> bool:
    banner = _content(_BANNER).decode("latin-1").strip().removeprefix("Linux version ")
    release = version.image_release(image)
    return bool(banner) and release is not None and release.banner == banner


def _content(path: str) -> bytes:
    try:
        return files.read_start(f"{ROOT}{path}", _LARGEST)
    except OSError:
        return b""


def notes(path: str, options: ReadOptions) -> Iterator[str]:
    """Yield a note on the debug file of the running kernel, if `path` is its BTF and there is one."""
    if not is_running(path):
        return
    debug = find(options)
    if debug.path is not None:
        yield f"{debug.path} has the DWARF of this kernel, with files, lines and alignments: `--reader dwarf`"


