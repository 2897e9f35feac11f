"""Readings of ELF files under their build ids, for runs that take these for the content (docs/inputs.md).

The key has no path: a copy, a member of another archive and a download find the reading of the first file.
Only what comes from the file alone is kept, so nothing beside it decides. Anybody can write a build id into a
file, so only runs whose user trusts them read and write such entries; no other run finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from layoutlint.files import accesses
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import keys, readings
from layoutlint.readers.cache.memory import Memory
from layoutlint.readers.cache.readings import counts, is_small

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_NOWHERE = ReadOptions()


def recall_or_read(
    image: Image, reader: str | None, wanted: Wanted, options: ReadOptions, read: Callable[[], Reading]
) -> Reading:
    """Return what `read` returns for an open file, or what it returned for another one of its build id."""
    memory = _memory(image, reader, wanted, options)
    if memory is None:
        return read()
    name = f"build-id:{image.build_id}"
    reading = _recall(memory)
    if reading is not None:
        counts.hits += 1
        return _move(reading, name, image.path)
    counts.misses += 1
    with accesses.log_answers() as log:
        reading = read()
    if log.is_empty() and not reading.unread and is_small(reading):
        try:
            memory.keep(log, readings.encode([_move(reading, image.path, name)]))
        except ValueError:  # names that are no UTF-8
            return reading
    return reading


def _memory(image: Image, reader: str | None, wanted: Wanted, options: ReadOptions) -> Memory | None:
    """Return the place of a reading; None for a file without a build id.

    Options that name other files are left out: a reading that depends on such a file is not kept.
    """
    if image.identity is None:
        return None
    alone = replace(
        _NOWHERE, reader=options.reader, with_marks=options.with_marks,
        finds_omissions=options.finds_omissions, target=options.target, config=options.config,
    )  # fmt: skip
    try:
        return Memory(keys.key_anywhere("build id", image.identity, reader, wanted, alone))
    except (keys.Unknown, OSError):
        return None


def _recall(memory: Memory) -> Reading | None:
    kept = memory.recall()
    if kept is None:
        return None
    try:
        (result,) = readings.decode(kept)
    except ValueError:
        return None
    return result if isinstance(result, Reading) else None


def _move(reading: Reading, old: str, new: str) -> Reading:
    """Return a reading of a file at one path as that of the file at another path.

    The origin of structs from BTF is the file, of those from DWARF a unit.
    """

    def move(structs: tuple[Struct, ...]) -> tuple[Struct, ...]:
        return tuple(replace(struct, origin=new) if struct.origin == old else struct for struct in structs)

    is_btf = reading.reader == "btf"
    return replace(reading, path=new, structs=move(reading.structs) if is_btf else reading.structs)
