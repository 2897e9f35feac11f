"""The structs of a BPF program whose members its loader places (CO-RE), from .BTF.ext (btf.rst of Linux).

Their source can declare only some members, at any offset: the kernel that loads the program decides.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.readers import btf
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Damaged, Data
from layoutlint.readers.btf.types import AGGREGATES, TRANSPARENT
from layoutlint.readers.elf.elf_file import Image

_SECTION: Final = ".BTF.ext"
_HEADER: Final = 32
"""The bytes of struct btf_ext_header with the place of the relocations."""
_RECORD: Final = 16
"""The bytes of struct bpf_core_relo."""
_NAMED: Final = frozenset((*AGGREGATES, blob.TYPEDEF))
_HOLDING: Final = frozenset((*_NAMED, *TRANSPARENT, blob.ARRAY))
_PROBLEM: Final = (
    "the loader of this BPF program places its members as the running kernel has them (CO-RE); "
    "give the BTF of that kernel"
)


def mark(reading: Reading, image: Image) -> Reading:
    """Return a reading of a BPF program with a problem at each struct that is relocated, contains such a
    struct, or is inside one. Raises ReadError for damage.
    """
    if not image.has_btf or not any(header.name == _SECTION for header in image.headers):
        return reading
    names = _names(image)
    if not names:
        return reading
    return replace(reading, structs=tuple(_add_problem(each, names) for each in reading.structs))


def _add_problem(definition: Struct, names: frozenset[str]) -> Struct:
    return replace(definition, problem=_PROBLEM) if definition.name in names else definition


def _names(image: Image) -> frozenset[str]:
    data = b"".join(bytes(image.raw(header)) for header in image.headers if header.name == _SECTION)
    names: set[str] = set()
    try:
        for source in btf.blobs(image):
            ids, size = _type_ids(data, source.little_endian)
            names |= _affected_names(source, ids)
            data = data[size:]
    except (Damaged, struct.error) as error:
        raise ReadError(image.path, f"section {_SECTION} cannot be read: {error}") from error
    return frozenset(names)


def _type_ids(data: Data, little_endian: bool) -> tuple[frozenset[int], int]:
    """Return the types that a .BTF.ext relocates, and its bytes. Raises struct.error for damage."""
    order = "<" if little_endian else ">"
    if len(data) < _HEADER or struct.unpack_from(order + "I", data, 4)[0] < _HEADER:
        return frozenset(), len(data)
    length, *places = struct.unpack_from(order + "7I", data, 4)
    start, size = places[-2:]
    ids = frozenset(_relocated_types(data[length + start : length + start + size], order))
    return ids, length + max(offset + count for offset, count in zip(places[::2], places[1::2], strict=True))


def _relocated_types(data: Data, order: str) -> Iterator[int]:
    if not data:
        return
    (size,) = struct.unpack_from(order + "I", data)
    if size < _RECORD:
        raise struct.error(f"its relocations have {size} bytes")
    position = 4
    while position < len(data):
        _, count = struct.unpack_from(order + "II", data, position)
        position += 8
        for _ in range(count):
            yield struct.unpack_from(order + "4I", data, position)[1]
            position += size


def _affected_names(source: Blob, ids: frozenset[int]) -> set[str]:
    """Return the names of the structs of these ids, of those inside them, and of those around these."""
    inside: set[int] = set()
    pending = list(ids)
    while pending:
        type_id = pending.pop()
        if type_id not in inside:
            inside.add(type_id)
            pending += source.parts(type_id)
    affected = {each for each in inside - {0} if source.record(each).kind in AGGREGATES}
    is_growing = bool(affected)
    while is_growing:
        holding = (type_id for type_id, _ in source.own_types(_HOLDING))
        found = {type_id for type_id in holding if not affected.isdisjoint(source.parts(type_id))}
        is_growing = not found <= affected
        affected |= found
    return {record.name for record in map(source.record, affected) if record.kind in _NAMED and record.name}
