"""Other files with debug information of a file, in the places that gdb and elfutils search.

These are separate debug files, supplementary files (dwz), and the .dwo and .dwp files of split DWARF. Servers
are asked only if the options name some.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from layoutlint import files
from layoutlint.errors import NoDebugInformation, ReadError
from layoutlint.files import stored_files
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record
from layoutlint.readers.elf import elf_file
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.linux import version

_LONGEST_PATH = 4096
"""PATH_MAX of Linux: no path is longer, and a longer name would only lengthen the message."""
_DWZ = ".dwz"
_OTHER_INFORMATION = {
    ".gnu.lto_": "gcc -flto leaves that to the linker: give the linked program, or build it with "
    "`-g -ffat-lto-objects`",
    ".stab": "its stabs are not read: build it with `-gdwarf` instead of `-gstabs`",
    ".ctf": "its CTF is not read: build it with `-g` instead of `-gctf`",
}
"""How to build files that have a section whose name starts like this."""


class _Link(Record, frozen=True):
    """The name of a supplementary file."""

    name: str
    build_id: str
    """Its build id in hexadecimal; empty if not stated."""


class _DebugLink(Record, frozen=True):
    """The name of a separate debug file."""

    name: str
    crc: int
    """The CRC32 of all its bytes."""


def debug_file(image: Image, kind: str | None, options: ReadOptions) -> Image:
    """Return the debug file of a file without debug information; it stays open as long as `image`.

    `kind` is `dwarf` or `btf`, or None for either. The two belong together if their build ids agree; if one
    has none, the checksum in .gnu_debuglink decides. Raises ReadError that lists all places searched.
    """
    link = _debug_link(image)
    places = _reachable(image, _debug_places(image, link, options.debug_dirs), options.debug_dirs)
    problems: list[str] = []
    for place in places:
        if _first_file([place], image) is None:
            continue
        try:
            other = image.open_related(place)
            problem = _mismatch(image, other, link) or _lack(other, kind)
        except ReadError as error:
            problem = f"cannot be read: {error.reason}"
        if problem is None:
            return other
        problems.append(f"{place} {problem}")
    downloaded = _download_file(image.build_id, options, problems)
    if downloaded is not None:
        other = image.open_related(downloaded)
        problem = _lack(other, kind)
        if problem is None:
            return other
        problems.append(f"{downloaded} of a server {problem}")
    is_lack = kind is None and not problems
    kind_of_error = NoDebugInformation if is_lack else ReadError
    raise kind_of_error(image.path, _missing_reason(kind, _remedy(image, kind), places, problems))


def _download_file(build_id: str | None, options: ReadOptions, problems: list[str]) -> str | None:
    """Return the name of a debug file that a server has; None if none is asked or has it."""
    if options.servers is None or not build_id:
        return None
    from layoutlint.readers.downloads import debuginfod

    return debuginfod.fetch(build_id, debuginfod.DEBUG, options, problems)


def _missing_reason(kind: str | None, remedy: str, places: list[str], problems: list[str]) -> str:
    kind_name = kind.upper() if kind else "debug information (neither DWARF nor BTF)"
    if problems:
        return f"has no {kind_name}, and {'; '.join(problems)}"
    searched = f" (there is {_missing_files(places)}; `--debug-dir` names other folders)" if places else ""
    return f"has no {kind_name}; {remedy}, or give its vmlinux or debug file{searched}"


def _remedy(image: Image, kind: str | None) -> str:
    """Return how to build a file with the debug information that it lacks."""
    if kind == "btf":
        # pahole 1.24 drops the types of `_Atomic` members; 1.30 fails, and writes no BTF at all.
        make = "make it with `gcc -gbtf`, or from DWARF with `pahole -J` (newer ones refuse `_Atomic`)"
        return f"leave out `--reader btf` for its DWARF, or {make}" if image.has_dwarf else make
    names = {header.name for header in image.headers}
    for start, remedy in _OTHER_INFORMATION.items():
        if any(name.startswith(start) for name in names):
            return remedy
    return "build it with `-g`"


def supplement(image: Image, options: ReadOptions) -> Image | None:
    """Return the supplementary file with which a file shares entries and strings; None if it names none.

    It stays open as long as `image`. Raises ReadError if it is missing, damaged, or of another build.
    """
    link = _supplement_link(image)
    if link is None:
        return None
    places = _reachable(image, _supplement_places(image, link, options.debug_dirs), options.debug_dirs)
    problems: list[str] = []
    path = _first_file(places, image) or _download_file(link.build_id, options, problems)
    if path is None:
        subject = f"part of its types is in the supplementary file {link.name} (dwz), which was not found"
        raise ReadError(image.path, f"{subject}: {'; '.join((_missing_files(places), *problems))}")
    other = image.open_related(path)
    other_id = _supplement_id(other)
    if link.build_id and other_id != link.build_id:
        problem = f"the supplementary file {path} has the build id {other_id or '??'}"
        raise ReadError(image.path, f"{problem}, and {link.build_id} is the one that belongs to it")
    return other


@contextmanager
def split(image: Image, directory: str, name: str, options: ReadOptions) -> Iterator[Image]:
    """Open the .dwo file of a skeleton unit, until the block ends; a kernel has thousands of them.

    `directory` and `name` are DW_AT_comp_dir and DW_AT_dwo_name. The caller compares DW_AT_dwo_id. Raises
    ReadError if the file is missing or cannot be read.
    """
    places = _reachable(
        image, _split_places(image, directory, name, options.debug_dirs), options.debug_dirs
    )
    path = _first_file(places, image)
    if path is None:
        raise ReadError(image.path, f"{name} (split DWARF) was not found: {_missing_files(places)}")
    with elf_file.open_elf(path) as other:
        yield other


def package(image: Image, options: ReadOptions) -> Image | None:
    """Return the .dwp file with all .dwo files of a program, next to it; None if there is none.

    It stays open as long as `image`. Raises ReadError if it cannot be read.
    """
    names = dict.fromkeys((image.path, files.real_path(image.path)))
    places = [f"{name}.dwp" for name in names]
    places += [_move_root(root, f"{name}.dwp") for root in options.debug_dirs for name in names]
    path = _first_file(_reachable(image, places, options.debug_dirs), image)
    return image.open_related(path) if path is not None else None


def build_id_paths(build_id: str, roots: Iterable[str]) -> Iterator[str]:
    """Yield the paths of a debug file by its build id: .build-id/xx/yyyy.debug under each root."""
    if len(build_id) > 2:
        for root in roots:
            yield os.path.join(root, ".build-id", build_id[:2], f"{build_id[2:]}.debug")


def kernel_places(release: str, roots: Iterable[str], system: str = "") -> Iterator[str]:
    """Yield where the vmlinux of a release with debug information is installed, as pahole and perf search
    it (vmlinux_path in util/symbol.c of perf); `system` is the root of the system, empty for `/`.
    """
    roots = tuple(roots)
    yield from (os.path.join(root, "boot", f"vmlinux-{release}") for root in roots)
    yield from (os.path.join(root, "lib/modules", release, "vmlinux") for root in roots)
    yield from (os.path.join(root, "boot", f"vmlinux-{release}.debug") for root in roots)
    yield f"{system}/lib/modules/{release}/build/vmlinux"
    yield f"{system}/boot/vmlinux-{release}"


def _debug_link(image: Image) -> _DebugLink | None:
    """Return what .gnu_debuglink holds: a name, padding to 4 bytes, and a CRC32 in the file's byte order."""
    content = bytes(image.section(".gnu_debuglink") or b"")
    name, _, _ = content.partition(b"\0")
    end = len(name) // 4 * 4 + 8
    if not content:
        return None
    if len(content) < end:
        raise ReadError(image.path, "section .gnu_debuglink ends inside its checksum")
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    return _DebugLink(_path(image, name), int.from_bytes(content[end - 4 : end], order))


def _debug_places(image: Image, link: _DebugLink | None, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield gdb's places (Separate Debug Files), and those of distributions for kernel modules."""
    yield from build_id_paths(image.build_id or "", roots)
    name = link.name if link else ""
    for directory in _directories(image) if name else ():
        yield _join(image, directory, name)
        yield _join(image, directory, os.path.join(".debug", name))
        yield from (_move_root(root, os.path.join(directory, name)) for root in roots)
    release = version.image_release(image) if image.is_kernel and not image.is_relocatable else None
    if release is not None:
        yield from kernel_places(release.name, roots)
    if image.is_kernel and image.is_relocatable:
        for path in (os.path.abspath(image.path), files.real_path(image.path)):
            _, lib_modules, module = path.rpartition("/lib/modules/")
            for root in roots if lib_modules else ():
                yield _move_root(root, f"{lib_modules}{module}")
                yield _move_root(root, f"{lib_modules}{module}.debug")


def _mismatch(image: Image, other: Image, link: _DebugLink | None) -> str | None:
    """Return why a debug file does not belong to a file; None if it does."""
    own_id, other_id = image.build_id, other.build_id
    if own_id and other_id:
        different = f"has the build id {other_id}, and {own_id} is the one that belongs to it"
        return different if own_id != other_id else None
    if link is None:
        return f"has no build id, and {own_id} belongs to it" if own_id else "shares no build id with it"
    import zlib

    crc = zlib.crc32(other.content)
    return f"has the CRC32 {crc:08x}, and {link.crc:08x} belongs to it" if crc != link.crc else None


def _lack(other: Image, kind: str | None) -> str | None:
    is_missing = not other.has(kind) if kind else other.debug_information is None
    return f"has no {kind.upper() if kind else 'debug information'} either" if is_missing else None


def _supplement_link(image: Image) -> _Link | None:
    """Return the link in .gnu_debugaltlink (dwz, up to DWARF 4) or .debug_sup (DWARF 5, section 7.3.6)."""
    old = bytes(image.section(".gnu_debugaltlink") or b"")
    if old:
        name, _, build_id = old.partition(b"\0")
        return _Link(_path(image, name), build_id.hex())
    is_supplement, name, build_id = _debug_sup(image)
    return _Link(_path(image, name), build_id.hex()) if name and not is_supplement else None


def _debug_sup(image: Image) -> tuple[bool, bytes, bytes]:
    """Return whether the file itself is a supplement, its supplement's name, and the checksum of both."""
    content = bytes(image.section(".debug_sup") or b"")
    name, _, tail = content[3:].partition(b"\0")
    length, shift, position = 0, 0, 0
    while position < len(tail) and shift < 64:
        length |= (tail[position] & 0x7F) << shift
        shift, position = shift + 7, position + 1
        if tail[position - 1] < 0x80:
            break
    checksum = tail[position : position + length]
    if len(checksum) != length:
        raise ReadError(image.path, "section .debug_sup ends inside its checksum")
    return content[2:3] == b"\1", name, checksum


def _supplement_id(other: Image) -> str | None:
    is_supplement, _, checksum = _debug_sup(other)
    return checksum.hex() if is_supplement and checksum else other.build_id


def _supplement_places(image: Image, link: _Link, roots: tuple[str, ...]) -> Iterator[str]:
    paths = [_join(image, directory, link.name) for directory in _directories(image)]
    yield from paths
    parts = [part for part in link.name.split("/") if part not in ("", ".")]
    if _DWZ in parts:
        parts_below = parts[parts.index(_DWZ) :]
        yield from (os.path.join(root, *parts_below) for root in roots)
    else:
        yield from (_move_root(root, path) for root in roots for path in paths)
    yield from build_id_paths(link.build_id, roots)


def _split_places(image: Image, directory: str, name: str, roots: tuple[str, ...]) -> Iterator[str]:
    path = os.path.normpath(os.path.join(directory, name))
    folders = _directories(image)
    if os.path.isabs(path):
        yield _join(image, folders[0], path)
    for folder in folders:
        yield _join(image, folder, name)
        yield os.path.join(folder, os.path.basename(name))
    for root in roots:
        yield _move_root(root, path)
        yield os.path.join(root, os.path.basename(name))


def _directories(image: Image) -> list[str]:
    """Return the folder of a file's path, and that of the path with symbolic links resolved."""
    if files.stored_file(image.path) is not None:
        return [os.path.dirname(files.real_path(image.path))]
    paths = (os.path.abspath(image.path), files.real_path(image.path))
    return list(dict.fromkeys(os.path.dirname(path) for path in paths))


def _join(image: Image, folder: str, name: str) -> str:
    """Return the path of a name in a folder; a member of an archive names files of its archive only.

    The root of its system is that of the archive, also for `..`.
    """
    root = _archive_root(image)
    if root is None:
        return os.path.normpath(os.path.join(folder, name))
    inside = os.path.normpath(os.path.join("/", folder.removeprefix(root), name))
    return f"{root}{inside.lstrip('/')}"


def _archive_root(image: Image) -> str | None:
    """Return the root of the archive that a file is a member of, `ARCHIVE:/`; None for a file on disk.

    That of a download has no other files.
    """
    if files.stored_file(image.path) is None:
        return None
    archive, colon, _ = files.real_path(image.path).rpartition(":/")
    return f"{archive}:/" if colon else os.path.join(image.path, "")


def _reachable(image: Image, places: Iterable[str], roots: tuple[str, ...]) -> list[str]:
    """Return the different places that an image may name: for a member of an archive or a download, other
    members, and files below the folders for debug files.
    """
    distinct = list(dict.fromkeys(places))
    own = _archive_root(image)
    if own is None:
        return distinct
    allowed = tuple(os.path.join(os.path.abspath(root), "") for root in roots)
    return [place for place in distinct if os.path.abspath(place).startswith((own, *allowed))]


def _move_root(root: str, path: str) -> str:
    """Return a path moved under another root; that of a member from the root of its archive."""
    return os.path.join(root, stored_files.system_path(path).lstrip("/"))


def _first_file(places: Iterable[str], image: Image) -> str | None:
    """Return the first regular file that is not `image` itself. A device could be read without end."""
    for place in places:
        if len(place) < _LONGEST_PATH and files.is_file(place) and not files.is_same(place, image.path):
            return place
    return None


def _missing_files(places: Iterable[str]) -> str:
    return f"no {', no '.join(dict.fromkeys(places))}"


def _path(image: Image, name: bytes) -> str:
    if not 0 < len(name) < _LONGEST_PATH:
        raise ReadError(image.path, f"names another file by {len(name)} bytes, which are not a path")
    return os.fsdecode(name)
