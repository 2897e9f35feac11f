"""One BTF blob: its header, strings, and the offset of each type (Documentation/bpf/btf.rst of Linux)."""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from layoutlint.model.record import Record

Data = bytes | bytearray | memoryview

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT = range(1, 12)
FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(12, 20)
KINDS: Final = (
    "VOID", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST",
    "RESTRICT", "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
)  # fmt: skip

# Words after struct btf_type: once per type, and for each of its vlen elements.
_ONCE: Final = {INT: 1, ARRAY: 3, VAR: 1, DECL_TAG: 1}
_EACH: Final = {STRUCT: 3, UNION: 3, ENUM: 2, FUNC_PROTO: 2, DATASEC: 3, ENUM64: 3}
_NAMED_ELEMENTS: Final = {STRUCT: 3, UNION: 3, ENUM: 2, FUNC_PROTO: 2, ENUM64: 3}
_STANDS_FOR: Final = frozenset((TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG))
_RECORD: Final = 3
_ARRAYS: Final = frozenset((ARRAY,))
_FUNCTIONS: Final = frozenset((FUNC,))
_TYPES: Final = frozenset((*range(INT, FUNC), FUNC_PROTO, FLOAT, TYPE_TAG, ENUM64))
_VARIABLES: Final = frozenset((VAR,))
_INTEGERS: Final = frozenset((INT,))
_OF_CLANG: Final = (
    "__ARRAY_SIZE_TYPE__", "short", "unsigned short", "long", "unsigned long", "long long",
    "unsigned long long",
)  # fmt: skip
"""Integers as only LLVM calls them: gcc's are `long int`, and have no type for the index of arrays."""
_KINDS_POSSIBLE: Final = 128
_LONGEST_NAME: Final = 1 << 12
"""The most bytes of a name; a blob stores it once, and reports repeat it. Linux's longest has 65."""

_MAGIC: Final = 0xEB9F
_VERSION: Final = 1
_HEADER: Final = 24
_HEADER_WITH_LAYOUT: Final = 32
_ENTRY_OF_LAYOUT: Final = 4


class Damaged(Exception):
    """BTF that contradicts itself or the format; `reason` states how, and in which type."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TypeEntry(Record, frozen=True):
    """One type as stored: struct btf_type and the words that its kind adds."""

    id: int
    kind: int
    flag: bool
    name: str
    """Empty if it has none."""
    value: int
    """By kind, the type's size in bytes, or the id of the type that it refers to."""
    words: array[int]
    """The words after struct btf_type."""

    @property
    def kind_name(self) -> str:
        """The kind as the documentation spells it, without BTF_KIND_."""
        return KINDS[self.kind] if self.kind < len(KINDS) else f"number {self.kind}"

    def elements(self, width: int) -> Iterator[tuple[int, ...]]:
        """Return its elements (members, parameters), `width` words each."""
        return zip(*[iter(self.words)] * width, strict=True)


class Blob:
    """A BTF blob, alone or split on top of a base; types are looked up by id, also in the base."""

    def __init__(self, data: Data, base: Blob | None = None) -> None:
        """Read the header and locate the types. Raises Damaged, also if a base does not fit."""
        header = _Header(data)
        self.base = base
        self.little_endian = header.little_endian
        self.size = header.size
        """The bytes of the blob; data of another can follow."""
        if base is not None and base.little_endian != self.little_endian:
            raise Damaged("its byte order differs from that of its base")
        self._strings = bytes(header.section("strings", header.strings))
        if self._strings and self._strings[-1]:
            raise Damaged("its last string does not end")
        self.is_split = not self._strings or self._strings[0] != 0
        """Whether it needs the strings, and so the types, of a base (libbpf, btf_new_empty)."""
        self._first_string = base.string_end if base is not None else 0
        self._names: dict[int, str] = {0: ""}
        self._words = _words(header.section("types", header.types), self.little_endian)
        self.first_id = base.end_id if base is not None else 1
        once, per_element = header.lengths()
        self._starts: array[int] = array("I")
        self.kinds = bytearray()
        """The kind of each of its own types; the first has the id `first_id`."""
        self._index(once, per_element)

    @property
    def string_end(self) -> int:
        """The offset after its last string, including the base."""
        return self._first_string + len(self._strings)

    @property
    def end_id(self) -> int:
        """The id after its last type."""
        return self.first_id + len(self.kinds)

    def _index(self, once: list[int], per_element: list[int]) -> None:
        """Locate each type: the one pass over all types."""
        words, end, position = self._words, len(self._words), 0
        add_start, add_kind = self._starts.append, self.kinds.append
        while position < end:
            add_start(position)
            if position + _RECORD > end:
                break
            info = words[position + 1]
            kind = info >> 24 & 0x7F
            add_kind(kind)
            step = once[kind]
            if step < 0:
                raise Damaged(f"type {self.end_id - 1} has the unknown kind {kind}, so no known length")
            position += step + (info & 0xFFFFFF) * per_element[kind]
        if position != end:
            raise Damaged(f"the types end inside type {self.first_id + len(self._starts) - 1}")

    def record(self, type_id: int) -> TypeEntry:
        """Return a type by its id. Raises Damaged if there is none."""
        number = type_id - self.first_id
        if number < 0:
            if self.base is None or type_id == 0:
                raise Damaged(f"there is no type {type_id}")
            return self.base.record(type_id)
        if number >= len(self.kinds):
            raise Damaged(f"there is no type {type_id}: the last is {self.end_id - 1}")
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._words)
        name, info, value = self._words[start : start + _RECORD]
        extra = self._words[start + _RECORD : end]
        kind, text = self.kinds[number], self.text(name, type_id)
        return TypeEntry(type_id, kind, bool(info >> 31), text, value, extra)

    def parts(self, type_id: int) -> Sequence[int]:
        """Return the ids of the types that a type contains by value: of its members, its elements, its
        typedef target.

        Raises Damaged if there is no such type.
        """
        number = type_id - self.first_id
        if number < 0 and self.base is not None and type_id:
            return self.base.parts(type_id)
        if not 0 <= number < len(self.kinds):
            if type_id == 0:
                return ()
            raise Damaged(f"there is no type {type_id}: the last is {self.end_id - 1}")
        start, kind = self._starts[number], self.kinds[number]
        if kind in (STRUCT, UNION):
            end = start + _RECORD + 3 * (self._words[start + 1] & 0xFFFFFF)
            return self._words[start + _RECORD + 1 : end : 3]
        if kind in _STANDS_FOR:
            return (self._words[start + 2],)
        return (self._words[start + _RECORD],) if kind == ARRAY else ()

    def text(self, offset: int, type_id: int) -> str:
        """Return the string at an offset, to which `type_id` refers. Raises Damaged."""
        name = self._names.get(offset)
        if name is None:
            name = self._names[offset] = self._text(offset, type_id)
        return name

    def has_text(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether one of its own strings has a part that matches a pattern."""
        return pattern.search(self._strings) is not None

    def _text(self, offset: int, type_id: int) -> str:
        if self.base is not None and offset < self._first_string:
            return self.base.text(offset, type_id)
        start = offset - self._first_string
        if start >= len(self._strings):
            raise Damaged(f"type {type_id} has a name at {offset}; the strings end at {self.string_end}")
        end = self._strings.index(0, start)
        if end - start > _LONGEST_NAME:
            raise Damaged(f"type {type_id} has a name of {end - start} bytes")
        return self._strings[start:end].decode(errors="backslashreplace")

    def own_types(self, kinds: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Yield the ids of its own types of some kinds, each with the offset of its name."""
        words, starts, first = self._words, self._starts, self.first_id
        for number, kind in enumerate(self.kinds):
            if kind in kinds:
                yield first + number, words[starts[number]]

    @cached_property
    def may_be_of_gcc(self) -> bool:
        """Whether gcc, not pahole or clang, may have written it.

        gcc writes variables, and functions after all types. Pahole writes only per-CPU variables, and each
        function after its type; its arrays have an index of the type `int`. Only pahole splits blobs.
        """
        if self.base is not None or any(True for _ in self.records_named(_INTEGERS, _OF_CLANG)):
            return False
        ints = {each.id for each in self.records_named(_INTEGERS, ("int",))}
        if any(self.record(type_id).words[1] in ints for type_id, _ in self.own_types(_ARRAYS)):
            return False
        functions = [type_id for type_id, _ in self.own_types(_FUNCTIONS)]
        last = max((type_id for type_id, _ in self.own_types(_TYPES)), default=0)
        is_after_types = bool(functions) and functions[0] > last
        return is_after_types or any(True for _ in self.own_types(_VARIABLES))

    @cached_property
    def keeps_dimensions(self) -> bool:
        """Whether it keeps array dimensions, proved by an array of arrays: pahole merges them to one."""
        if self.base is not None and self.base.keeps_dimensions:
            return True
        arrays = {type_id for type_id, _ in self.own_types(_ARRAYS)}
        return any(
            self._words[self._starts[array_id - self.first_id] + _RECORD] in arrays for array_id in arrays
        )

    def records_named(self, kinds: frozenset[int], names: Iterable[str]) -> Iterator[TypeEntry]:
        """Yield its own types of some kinds with one of some names. Raises Damaged."""
        offsets = {offset for name in names for offset in self._offsets(name.encode() + b"\0")}
        return (self.record(type_id) for type_id, name in self.own_types(kinds) if name in offsets)

    def records_with_part(self, kinds: frozenset[int], name: str) -> Iterator[TypeEntry]:
        """Yield its own types of some kinds that have a member or enumerator of a name. Raises Damaged."""
        offsets = set(self._offsets(name.encode() + b"\0"))
        for type_id, _ in self.own_types(kinds):
            uses = self._uses(type_id)
            next(uses)  # the name of the type itself
            if not offsets.isdisjoint(uses):
                yield self.record(type_id)

    def _offsets(self, needle: bytes) -> Iterator[int]:
        """Yield all offsets by which a name can be referred to, also as the tail of a longer string."""
        if self.base is not None:
            yield from self.base._offsets(needle)
        position = self._strings.find(needle)
        while position >= 0:
            yield self._first_string + position
            position = self._strings.find(needle, position + 1)

    def fits_base(self) -> bool:
        """Return whether its names are whole strings, which they are not on top of a wrong base."""
        own = range(self.first_id, self.end_id)
        return all(self._is_whole(name) for type_id in own for name in self._uses(type_id))

    def _uses(self, type_id: int) -> Iterator[int]:
        """Yield the offsets of the names of a type and of its members or parameters."""
        start, kind = self._starts[type_id - self.first_id], self.kinds[type_id - self.first_id]
        yield self._words[start]
        width = _NAMED_ELEMENTS.get(kind)
        if width is not None:
            first = start + _RECORD
            yield from self._words[first : first + width * (self._words[start + 1] & 0xFFFFFF) : width]

    def _is_whole(self, offset: int) -> bool:
        """Return whether a string starts at an offset; libbpf refers to no tails of strings."""
        if self.base is not None and offset < self._first_string:
            return self.base._is_whole(offset)
        start = offset - self._first_string
        return start == 0 or (start < len(self._strings) and not self._strings[start - 1])


class _Header:
    """The header struct btf_header, checked against the length of the blob."""

    def __init__(self, data: Data) -> None:
        if len(data) < _HEADER:
            raise Damaged(f"its header needs {_HEADER} bytes, and it has {len(data)}")
        self.little_endian = _magic(data)
        self._data = memoryview(data)
        self._order = "<" if self.little_endian else ">"
        version, flags, self._length, *places = struct.unpack_from(self._order + "2xBBIIIII", data)
        if version != _VERSION:
            raise Damaged(f"it is of version {version}, and version {_VERSION} is known")
        if flags:
            raise Damaged(f"its flags {flags:#x} are not known")
        if not _HEADER <= self._length <= len(data):
            raise Damaged(f"its header claims {self._length} bytes of {len(data)}")
        self.types: tuple[int, int] = (places[0], places[1])
        self.strings: tuple[int, int] = (places[2], places[3])
        if self.types[0] % 4 or self.types[1] % 4:
            raise Damaged("its types are not aligned to 4 bytes")

    @property
    def size(self) -> int:
        """The bytes up to the end of its last part."""
        ends = (sum(place) for place in (self.types, self.strings, self._layout_place()))
        return int(self._length) + max(ends)

    def section(self, part: str, place: tuple[int, int]) -> memoryview:
        """Return a part of the blob by its offset after the header and its length. Raises Damaged."""
        start, end = self._length + place[0], self._length + sum(place)
        if end > len(self._data):
            raise Damaged(f"its {part} end at {end}, behind the end of the data at {len(self._data)}")
        return self._data[start:end]

    def lengths(self) -> tuple[list[int], list[int]]:
        """Return the words of a type of each kind, and of each of its elements; -1 if unknown.

        The layout section states the lengths of kinds that are unknown here (struct btf_layout).
        """
        once, per_element = [-1] * _KINDS_POSSIBLE, [0] * _KINDS_POSSIBLE
        for kind in range(1, len(KINDS)):
            once[kind], per_element[kind] = _RECORD + _ONCE.get(kind, 0), _EACH.get(kind, 0)
        for kind, (info, element, _) in enumerate(self._layout()):
            if len(KINDS) <= kind < _KINDS_POSSIBLE and not (info % 4 or element % 4):
                once[kind], per_element[kind] = _RECORD + info // 4, element // 4
        return once, per_element

    def _layout_place(self) -> tuple[int, int]:
        """Return offset and length of the layout section; zeros if the header knows none."""
        if self._length < _HEADER_WITH_LAYOUT:
            return 0, 0
        offset, length = struct.unpack_from(self._order + "II", self._data, _HEADER)
        return int(offset), int(length)

    def _layout(self) -> Iterator[tuple[int, int, int]]:
        offset, length = self._layout_place()
        content = self.section("layouts", (offset, length - length % _ENTRY_OF_LAYOUT))
        return struct.iter_unpack(self._order + "BBH", content)


def _magic(data: Data) -> bool:
    """Return whether the blob is little-endian, by its first two bytes."""
    for little_endian in (True, False):
        if int.from_bytes(data[:2], "little" if little_endian else "big") == _MAGIC:
            return little_endian
    raise Damaged(f"it starts with the bytes {bytes(data[:2]).hex(' ')}, where BTF has 9f eb or eb 9f")


def _words(data: memoryview, little_endian: bool) -> array[int]:
    words: array[int] = array("I")
    words.frombytes(data)
    if little_endian != (sys.byteorder == "little"):
        words.byteswap()
    return words
