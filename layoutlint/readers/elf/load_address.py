"""Where a program or kernel was loaded, by the mappings that perf recorded or by the address of a symbol."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record
from layoutlint.model.structs import Source
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.symbols import symbol_values
from layoutlint.readers.profiles.records import Mapping

_LOADED, _EXECUTABLE = 1, 1  # PT_LOAD, PF_X
_FIXED = 2  # ET_EXEC
_KERNEL = "linux_banner"
"""A variable of every Linux kernel (init/version-timestamp.c)."""
_KERNEL_FILES = ("[kernel.kallsyms]", "[guest.kernel.kallsyms]")
_PAGE = 4096
_DELETED = " (deleted)"
_MOST_SEGMENTS = 4096


class _Segment(Record, frozen=True):
    """A part of a program that is loaded; numbers in bytes."""

    offset: int
    address: int
    is_code: bool


def biases_by_mappings(image: Image, name: str, path: str, mappings: Iterable[Mapping]) -> dict[int, int]:
    """Return what is added to the addresses in a file, each with the line of a report that shows it.

    `name` is the file's, `path` the report's. Processes can have loaded the file at several addresses. Raises
    ReadError with the line for a mapping of a file with other segments.
    """
    biases: dict[int, int] = {}
    if is_kernel(image):
        for mapping in mappings:
            file = next((each for each in _KERNEL_FILES if mapping.file.startswith(each)), None)
            symbol = mapping.file.removeprefix(file or "")
            if file is not None and symbol:
                for value in symbol_values(image, (symbol,)).get(symbol, ()):
                    biases.setdefault(mapping.offset - value, mapping.line)
        return biases
    segments = list(_segments(image))
    for mapping in mappings:
        file = mapping.file.removesuffix(_DELETED).rpartition("/")[2]
        if file != name or "x" not in mapping.access:
            continue
        own = [each for each in segments if each.is_code and each.offset - mapping.offset in range(_PAGE)]
        if not own:
            reason = f"maps byte {mapping.offset:#x} of {mapping.file}, where {image.path} has no code"
            raise ReadError(Source(path, mapping.line), f"{reason}: another build")
        start = mapping.start + own[0].offset - mapping.offset
        biases.setdefault(start - own[0].address, mapping.line)
    return biases


def bias_by_symbol(image: Image, symbol: str, address: int) -> int:
    """Return what is added to the addresses in a file, of which one symbol is at an address.

    Raises UsageError for a symbol that it does not have, or has several times.
    """
    values = symbol_values(image, (symbol,)).get(symbol, set())
    if len(values) != 1:
        number = "has no" if not values else f"has {len(values)} addresses of the"
        raise UsageError(f"{image.path} {number} symbol {symbol}", "--base-of")
    return address - values.pop()


def is_fixed(image: Image) -> bool:
    """Return whether a program can only be loaded at the addresses that it states."""
    (kind,) = struct.unpack_from(_order(image) + "H", image.content, 16)
    return bool(kind == _FIXED) and not is_kernel(image)


def is_kernel(image: Image) -> bool:
    """Return whether a file is a kernel of Linux, which can be loaded at any address."""
    return bool(symbol_values(image, (_KERNEL,)).get(_KERNEL))


def _segments(image: Image) -> Iterator[_Segment]:
    """Yield the loaded segments (gABI, chapter 5)."""
    order, is_64 = _order(image), image.bits == 64
    content = image.content
    (start,) = struct.unpack_from(order + ("Q" if is_64 else "I"), content, 32 if is_64 else 28)
    size, count = struct.unpack_from(order + "HH", content, 54 if is_64 else 42)
    form = order + ("IIQQQQQQ" if is_64 else "IIIIIIII")
    for number in range(min(count, _MOST_SEGMENTS)):
        place = start + number * size
        if place + struct.calcsize(form) > len(content):
            return
        words = struct.unpack_from(form, content, place)
        kind, flags, offset, address = (words[0], words[1] if is_64 else words[6], *words[2:4])
        if not is_64:
            offset, address = words[1], words[2]
        if kind == _LOADED:
            yield _Segment(offset, address, bool(flags & _EXECUTABLE))


def _order(image: Image) -> str:
    return "<" if image.little_endian else ">"
