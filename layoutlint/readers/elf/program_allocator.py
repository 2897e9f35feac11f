"""The allocator that a program or an object file names, in its symbols and in the libraries that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from layoutlint.model.storage import JEMALLOC, MIMALLOC, MUSL_STATIC, TCMALLOC, AllocatorWord
from layoutlint.readers.elf.symbols import symbol_values

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_STRINGS: Final = 3  # SHT_STRTAB
# Functions of theirs under any prefix, and the beginnings of their libraries' names. One with smaller blocks
# is first: a program can have several.
_NAMES: tuple[tuple[AllocatorWord, tuple[bytes, ...]], ...] = (
    (MIMALLOC, (b"mi_malloc\0", b"libmimalloc")),
    (JEMALLOC, (b"je_malloc\0", b"mallctl\0", b"mallocx\0", b"libjemalloc")),
    (TCMALLOC, (b"tc_malloc\0", b"TCMallocInternalMalloc\0", b"libtcmalloc")),
)
_BUMP = "__simple_malloc"
"""The function of src/malloc/lite_malloc.c (musl 1.2.5), which is `malloc` unless the program has `free`."""
_ALIASES = ("malloc", "__libc_malloc_impl")


def find_allocator(image: Image) -> AllocatorWord | None:
    """Return the word of `placement` for the allocator that an ELF file names; None for the C library's.

    Raises ReadError for a damaged file.
    """
    tables = [header for header in image.headers if header.type == _STRINGS and header.size]
    texts = [bytes(image.raw(header)) for header in tables if image.holds_content(header)]
    if any(_BUMP.encode() in text for text in texts) and _is_bump(image):
        return MUSL_STATIC
    return next(
        (word for word, names in _NAMES if any(name in text for text in texts for name in names)), None
    )


def _is_bump(image: Image) -> bool:
    values = symbol_values(image, (_BUMP, *_ALIASES))
    return any(values.get(alias, set()) & values.get(_BUMP, set()) for alias in _ALIASES)
