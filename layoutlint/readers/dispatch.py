"""One module per kind of input, each turning a foreign library's objects into Structs and nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.wanted import Wanted
from layoutlint.readers.elf import packed

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_BTF_MAGIC = (b"\x9f\xeb", b"\xeb\x9f")
_SNIFFED = 4096


def sniff(path: str) -> str:
    """Which reader an input needs, told by its content: `elf`, `btf` or `clang`.

    Raises ReadError for what no reader takes.
    """
    try:
        if os.path.isdir(path):
            return "clang"
        if os.path.exists(path) and not os.path.isfile(path):
            raise ReadError(path, "is a pipe or a device; readers need a file that they can read twice")
        head = files.start(path, _SNIFFED)
    except OSError as error:
        raise ReadError(path, files.why(error)) from error
    if not head:
        raise ReadError(path, "the file is empty")
    if head.startswith((b"\x7fELF", *packed.STARTS)):
        return "elf"
    if head.startswith(_BTF_MAGIC):
        return "btf"
    if b"\0" in head:
        raise ReadError(path, f"neither ELF, BTF nor C text (it starts with the bytes {head[:4].hex(' ')})")
    return "clang"


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """The wanted structs of one input.

    Raises ReadError when nothing of it can be read or believed; smaller failures are in the Reading.
    """
    what = sniff(path)
    if what == "clang":
        from layoutlint.readers import clang

        return clang.read(path, wanted.widened(), options)
    if what == "btf":
        from layoutlint.readers import btf

        return btf.read(path, wanted, options)
    return _read_elf(path, wanted, options)


def attempt(path: str, wanted: Wanted, options: ReadOptions) -> Reading | Unread:
    """What `read` gives, or why it gives nothing."""
    try:
        return read(path, wanted, options)
    except ReadError as error:
        return Unread(error.path, error.reason)


def _read_elf(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    from layoutlint.readers.elf import elf_file

    with elf_file.opened(path) as image:
        choice = options.reader or image.debug_information
        if choice and image.has(choice):
            reading = _with_build(_read_image(image, choice, wanted, options), image, image, options)
            return _with_variables(reading, (image,), wanted, options)
        from layoutlint.readers.elf import debug_files

        try:
            other = debug_files.debug_file(image, choice, options)
        except ReadError:
            own = wanted if image.is_kernel else wanted.outside_kernels()
            if not own.near or own.names or own.patterns or own.everything or own.held:
                raise
            # Variables have their addresses without debug information.
            none = Reading(path, "symbols", image.target, (), image.build_id, is_kernel=image.is_kernel)
            reading = _with_build(none, image, image, options)
            return _with_variables(reading, (image,), wanted, options)
        reading = _read_image(other, choice or other.debug_information, wanted, options)
        reading = replace(
            _with_build(reading, other, image, options),
            path=path,
            build_id=image.build_id or reading.build_id,
            notes=(f"its debug information was read from {other.path}", *reading.notes),
        )
        return _with_variables(reading, (other, image), wanted, options)


def _with_variables(
    reading: Reading, images: tuple[Image, ...], wanted: Wanted, options: ReadOptions
) -> Reading:
    """A reading with the variables that are asked for, by the first file that has a symbol table."""
    if not wanted.near and not wanted.misplaced:
        return reading
    from layoutlint.readers import variables

    if wanted.misplaced:
        return variables.misplaced(reading, images[0], wanted, options)
    for image in images:
        reading = variables.add(reading, image, wanted, options)
        if reading.data is not None:
            break
    return reading


def _read_image(image: Image, choice: str | None, wanted: Wanted, options: ReadOptions) -> Reading:
    if choice == "btf":
        from layoutlint.readers import btf

        return btf.read_elf(image, wanted, options)
    from layoutlint.readers import dwarf

    return dwarf.read_elf(image, wanted, options)


def _with_build(reading: Reading, image: Image, built: Image, options: ReadOptions) -> Reading:
    """A reading of `image` with what that and `built`, whose debug information it is, say of the build."""
    from layoutlint.readers.elf import compiler_marks

    is_searched = reading.is_kernel and (options.marks or reading.reader == "btf")
    are_read = reading.reader == "dwarf"
    found = compiler_marks.of_image(image, built, is_searched, reading.shuffled, are_read)
    reading = replace(reading, shuffled=found)
    if not reading.is_kernel:
        return reading
    from layoutlint.readers.linux import config, version

    return config.with_release(reading, version.of_image(built), built)
