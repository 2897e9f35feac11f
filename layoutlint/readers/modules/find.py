"""Search for folders of kernel modules, as distributions install them, or of raw BTF (/sys/kernel/btf)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from layoutlint import files
from layoutlint.model.reading import DEBUG_DIR, Unread
from layoutlint.model.record import Record
from layoutlint.readers.elf import kernel_image

_MODULE = re.compile(r"\.ko(\.(debug|gz|xz|zst))?$")
_VMLINUX = re.compile(r"vmlinux(-.*)?$")
_SOURCE = (".c", ".h")
_SOURCE_TREE_MARKS = (
    "Makefile",
    "GNUmakefile",
    "Kbuild",
    "Kconfig",
    "compile_commands.json",
    "include/linux",
)
"""Files at the top of a source tree; such a folder is read through its sources."""
_BTF_MAGIC = (b"\x9f\xeb", b"\xeb\x9f")
_RELEASE = re.compile(r"/modules/([^/]+)/")
NOT_COMPILED = "is named like a kernel module or vmlinux, and is neither an ELF file nor BTF"
"""Why such a file of a folder is not read."""
_RUNNING = "/sys/kernel/btf/vmlinux"


class Folder(Record, frozen=True):
    """The files of a folder that are read as one input."""

    path: str
    files: tuple[str, ...]
    """Modules and vmlinux below `path`, sorted by path."""
    unread: tuple[Unread, ...] = ()
    """Folders in it that cannot be listed."""
    notes: tuple[str, ...] = ()


def find(path: str) -> Folder | None:
    """Return the modules in a folder, at any depth; None for a folder without modules, or with C sources.

    A folder that holds only raw BTF blobs counts as well.
    """
    if any(files.exists(os.path.join(path, name)) for name in _SOURCE_TREE_MARKS):
        return None
    modules: list[str] = []
    unread: list[Unread] = []
    for folder, folders, names in files.walk(path, lambda error: unread.append(_listing_failure(error))):
        if any(name.endswith(_SOURCE) for name in names):
            return None
        folders.sort()
        modules += [os.path.join(folder, n) for n in names if _MODULE.search(n) or _VMLINUX.match(n)]
    if not any(_MODULE.search(name) for name in modules):
        blobs = _blobs(path)
        return Folder(path, blobs) if blobs else None
    inside, outside = _distinct(path, sorted(modules))
    notes = (f"links that lead out of it were not followed: {outside}",) if outside else ()
    return Folder(path, inside, tuple(unread), notes)


def is_module(path: str) -> bool:
    """Return whether a file is a kernel module by its name."""
    return _MODULE.search(path) is not None


def is_vmlinux(path: str) -> bool:
    """Return whether a file is an unpacked kernel by its name."""
    return _VMLINUX.match(os.path.basename(path)) is not None


def bases(folder: Folder) -> dict[str, str | None]:
    """Return for each file the vmlinux of its split BTF, at the places where distributions install it.

    The running kernel's is used only if the path names the same release; None if there is none.
    """
    top = files.real_path(folder.path)
    releases = {
        file: _release(_place(top, file, folder.path)) for file in folder.files
    }
    vmlinux_of = {release: _find_base(top, release) for release in set(releases.values())}
    return {file: vmlinux_of[release] for file, release in releases.items()}


def _place(top: str, file: str, folder: str) -> str:
    """Return the path of a file below the real path of its folder; members of an archive have a real one."""
    if files.stored_file(file) is not None:
        return files.real_path(file)
    return os.path.join(top, os.path.relpath(file, folder))


def _release(path: str) -> str:
    """Return the path up to the release that it names; empty if it names none."""
    match = _RELEASE.search(path)
    return path[: match.end(1)] if match else ""


def _find_base(path: str, release: str) -> str | None:
    """Return the vmlinux of modules in a folder, else the bootable kernel with it; None without both."""
    vmlinux = next(filter(files.is_file, _places(path, release)), None)
    return vmlinux or next(filter(_holds_vmlinux, _image_places(path, release)), None)


def _holds_vmlinux(path: str) -> bool:
    """Return whether a file is a kernel image of x86, or an ELF file that was unpacked from one."""
    if not files.is_file(path):
        return False
    try:
        start = files.read_start(path, kernel_image.HEAD)
    except OSError:
        return False
    return kernel_image.is_x86(start) or start.startswith(b"\x7fELF")


def _image_places(path: str, release: str) -> Iterator[str]:
    """Yield where the bootable kernel of modules in a folder can be; `release` is a folder, or empty."""
    for above in _folders_above(path):
        yield os.path.join(above, "vmlinuz")
    if release:
        name = os.path.basename(release)
        yield os.path.join(release, "vmlinuz")
        for root in _roots(release):
            yield f"{root}/boot/vmlinuz-{name}"


def _folders_above(path: str) -> tuple[str, str, str]:
    return path, os.path.dirname(path), os.path.dirname(os.path.dirname(path))


def _roots(release: str) -> Iterator[str]:
    """Yield the root below which a release is (an unpacked package), then that of the system."""
    yield from dict.fromkeys((release.partition("/lib/modules/")[0].removesuffix("/usr"), ""))


def _places(path: str, release: str) -> Iterator[str]:
    """Yield where the vmlinux of modules in a folder can be; `release` is a folder, or empty."""
    for above in _folders_above(path):
        yield os.path.join(above, "vmlinux")
    if not release:
        return
    name = os.path.basename(release)
    yield os.path.join(release, "vmlinux")
    for root in _roots(release):
        yield f"{root}{DEBUG_DIR}/lib/modules/{name}/vmlinux"
        yield f"{root}{DEBUG_DIR}/boot/vmlinux-{name}"
        yield f"{root}/boot/vmlinux-{name}"
    if name == os.uname().release:
        yield _RUNNING


def _listing_failure(error: OSError) -> Unread:
    return Unread(str(error.filename), f"cannot be listed: {files.error_reason(error)}")


def _blobs(path: str) -> tuple[str, ...]:
    """Return the files of a folder that holds only raw BTF."""
    try:
        blobs = files.list_files(path)
        is_btf = bool(blobs) and all(files.read_start(file, 2) in _BTF_MAGIC for file in blobs)
    except OSError:
        return ()
    return tuple(blobs) if is_btf else ()


def _distinct(path: str, paths: list[str]) -> tuple[tuple[str, ...], int]:
    """Return each file once, and the number of links out of the folder.

    Links to vmlinux are followed anywhere: debug packages put it into /usr/lib/debug/boot.
    """
    top = files.real_path(path)
    by_real_path: dict[str, str] = {}
    outside = 0
    for file in sorted(paths, key=os.path.islink):
        real = files.real_path(file)
        leads_out = os.path.islink(file) and os.path.commonpath((top, real)) != top
        if leads_out and not _VMLINUX.match(os.path.basename(file)):
            outside += 1
        else:
            by_real_path.setdefault(real, file)
    return tuple(sorted(by_real_path.values())), outside
