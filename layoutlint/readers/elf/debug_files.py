"""Files that hold the rest of a file's debug information, where gdb and elfutils look for them.

Supplementary files (dwz), and the .dwo and .dwp files of split DWARF. Nothing is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.elf import elf_file
from layoutlint.readers.elf.elf_file import Image

_LONGEST_PATH = 4096
"""PATH_MAX of Linux: a longer name is none, and would only lengthen the message."""
_DWZ = ".dwz"


@dataclass(frozen=True, slots=True)
class _Link:
    """A supplementary file that another one names."""

    name: str
    build_id: str
    """What it must have as its build id, in hexadecimal; empty when that is not said."""


@dataclass(frozen=True, slots=True)
class _DebugLink:
    """A debug file that another one names."""

    name: str
    crc: int
    """The CRC32 of all its bytes."""


def debug_file(image: Image, kind: str | None, options: ReadOptions) -> Image:
    """The file that holds the debug information of one without; it stays open as long as `image`.

    `kind` is `dwarf` or `btf`, or None for either. Build ids tell that the two belong together; where one of
    them is missing, the checksum in .gnu_debuglink. Raises ReadError with all that was looked for, in vain.
    """
    link = _debug_link(image)
    places = list(dict.fromkeys(_debug_places(image, link, options.debug_dirs)))
    wrong: list[str] = []
    for place in places:
        if _first([place], image) is None:
            continue
        try:
            other = image.also(place)
            why = _not_of(image, other, link) or _without(other, kind)
        except ReadError as error:
            why = f"cannot be read: {error.reason}"
        if why is None:
            return other
        wrong.append(f"{place} {why}")
    raise ReadError(image.path, _no_debug_file(kind, places, wrong))


def _no_debug_file(kind: str | None, places: list[str], wrong: list[str]) -> str:
    missing = kind.upper() if kind else "debug information (neither DWARF nor BTF)"
    if wrong:
        return f"has no {missing}, and {'; '.join(wrong)}"
    looked = f" (there is {_looked_for(places)}; `--debug-dir` names other folders)" if places else ""
    return f"has no {missing}; build it with `-g`, or give its vmlinux or debug file{looked}"


def supplement(image: Image, options: ReadOptions) -> Image | None:
    """The supplementary file that a file shares entries and strings with; None when it names none.

    It stays open as long as `image`. Raises ReadError when it is not found or damaged, or of another build.
    """
    link = _supplement_link(image)
    if link is None:
        return None
    places = list(_supplement_places(image, link, options.debug_dirs))
    found = _first(places, image)
    if found is None:
        what = f"part of its types stands in the supplementary file {link.name} (dwz), which was not found"
        raise ReadError(image.path, f"{what}: {_looked_for(places)}")
    other = image.also(found)
    theirs = _supplement_id(other)
    if link.build_id and theirs != link.build_id:
        wrong = f"the supplementary file {found} has the build id {theirs or '??'}"
        raise ReadError(image.path, f"{wrong}, and {link.build_id} is the one that belongs to it")
    return other


@contextmanager
def split(image: Image, directory: str, name: str, options: ReadOptions) -> Iterator[Image]:
    """The .dwo file of a skeleton unit, opened while it is needed; a kernel has thousands of them.

    `directory` and `name` are DW_AT_comp_dir and DW_AT_dwo_name; that DW_AT_dwo_id agrees is for the caller
    to see. Raises ReadError when it is not found or cannot be read.
    """
    places = list(_split_places(image, directory, name, options.debug_dirs))
    found = _first(places, image)
    if found is None:
        raise ReadError(image.path, f"{name} (split DWARF) was not found: {_looked_for(places)}")
    with elf_file.opened(found) as other:
        yield other


def package(image: Image, options: ReadOptions) -> Image | None:
    """The .dwp file that holds all .dwo files of a program, beside it; None when there is none.

    It stays open as long as `image`. Raises ReadError when it cannot be read.
    """
    names = dict.fromkeys((image.path, os.path.realpath(image.path)))
    places = [f"{name}.dwp" for name in names]
    places += [_under(root, f"{name}.dwp") for root in options.debug_dirs for name in names]
    found = _first(places, image)
    return image.also(found) if found is not None else None


def by_build_id(build_id: str, roots: Iterable[str]) -> Iterator[str]:
    """Where a debug file stands by its build id: xx/yyyy.debug in .build-id below each root."""
    if len(build_id) > 2:
        for root in roots:
            yield os.path.join(root, ".build-id", build_id[:2], f"{build_id[2:]}.debug")


def _debug_link(image: Image) -> _DebugLink | None:
    """What .gnu_debuglink holds: a name, padding to 4 bytes, and a CRC32 in the byte order of the file."""
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
    """gdb's places (Separate Debug Files), and where distributions put those of kernel modules."""
    yield from by_build_id(image.build_id or "", roots)
    name = link.name if link else ""
    for directory in _directories(image) if name else ():
        yield os.path.normpath(os.path.join(directory, name))
        yield os.path.normpath(os.path.join(directory, ".debug", name))
        yield from (_under(root, os.path.join(directory, name)) for root in roots)
    if image.is_kernel and image.is_relocatable:
        for path in (os.path.abspath(image.path), os.path.realpath(image.path)):
            _, lib_modules, module = path.rpartition("/lib/modules/")
            for root in roots if lib_modules else ():
                yield _under(root, f"{lib_modules}{module}")
                yield _under(root, f"{lib_modules}{module}.debug")


def _not_of(image: Image, other: Image, link: _DebugLink | None) -> str | None:
    """Why a debug file does not belong to a file; None when it does."""
    ours, theirs = image.build_id, other.build_id
    if ours and theirs:
        different = f"has the build id {theirs}, and {ours} is the one that belongs to it"
        return different if ours != theirs else None
    if link is None:
        return f"has no build id, and {ours} belongs to it" if ours else "shares no build id with it"
    import zlib

    crc = zlib.crc32(other.content)
    return f"has the CRC32 {crc:08x}, and {link.crc:08x} belongs to it" if crc != link.crc else None


def _without(other: Image, kind: str | None) -> str | None:
    missing = not other.has(kind) if kind else other.debug_information is None
    return f"has no {kind.upper() if kind else 'debug information'} either" if missing else None


def _supplement_link(image: Image) -> _Link | None:
    """What .gnu_debugaltlink (dwz, up to DWARF 4) or .debug_sup (DWARF 5, section 7.3.6) names."""
    old = bytes(image.section(".gnu_debugaltlink") or b"")
    if old:
        name, _, build_id = old.partition(b"\0")
        return _Link(_path(image, name), build_id.hex())
    is_supplement, name, build_id = _debug_sup(image)
    return _Link(_path(image, name), build_id.hex()) if name and not is_supplement else None


def _debug_sup(image: Image) -> tuple[bool, bytes, bytes]:
    """Whether the file is itself a supplement, the name of its supplement, and the checksum of both."""
    content = bytes(image.section(".debug_sup") or b"")
    name, _, rest = content[3:].partition(b"\0")
    length, shift, position = 0, 0, 0
    while position < len(rest) and shift < 64:
        length |= (rest[position] & 0x7F) << shift
        shift, position = shift + 7, position + 1
        if rest[position - 1] < 0x80:
            break
    checksum = rest[position : position + length]
    if len(checksum) != length:
        raise ReadError(image.path, "section .debug_sup ends inside its checksum")
    return content[2:3] == b"\1", name, checksum


def _supplement_id(other: Image) -> str | None:
    is_supplement, _, checksum = _debug_sup(other)
    return checksum.hex() if is_supplement and checksum else other.build_id


def _supplement_places(image: Image, link: _Link, roots: tuple[str, ...]) -> Iterator[str]:
    there = [os.path.normpath(os.path.join(directory, link.name)) for directory in _directories(image)]
    yield from there
    parts = [part for part in link.name.split("/") if part not in ("", ".")]
    if _DWZ in parts:
        below = parts[parts.index(_DWZ) :]
        yield from (os.path.join(root, *below) for root in roots)
    else:
        yield from (_under(root, path) for root in roots for path in there)
    yield from by_build_id(link.build_id, roots)


def _split_places(image: Image, directory: str, name: str, roots: tuple[str, ...]) -> Iterator[str]:
    whole = os.path.normpath(os.path.join(directory, name))
    if os.path.isabs(whole):
        yield whole
    for beside in _directories(image):
        yield os.path.normpath(os.path.join(beside, name))
        yield os.path.join(beside, os.path.basename(name))
    for root in roots:
        yield _under(root, whole)
        yield os.path.join(root, os.path.basename(name))


def _directories(image: Image) -> list[str]:
    """The folder in which a file stands, and the one in which it really does."""
    paths = (os.path.abspath(image.path), os.path.realpath(image.path))
    return list(dict.fromkeys(os.path.dirname(path) for path in paths))


def _under(root: str, path: str) -> str:
    """A path as it stands below another root."""
    return os.path.join(root, os.path.abspath(path).lstrip("/"))


def _first(places: Iterable[str], image: Image) -> str | None:
    """The first that is a file, and not `image` itself: never a device, which could be read without end."""
    for place in places:
        if len(place) < _LONGEST_PATH and os.path.isfile(place) and not os.path.samefile(place, image.path):
            return place
    return None


def _looked_for(places: Iterable[str]) -> str:
    return f"no {', no '.join(dict.fromkeys(places))}"


def _path(image: Image, name: bytes) -> str:
    if not 0 < len(name) < _LONGEST_PATH:
        raise ReadError(image.path, f"names another file by {len(name)} bytes, which are no path")
    return os.fsdecode(name)
