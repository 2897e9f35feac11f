"""Makers of BTF blobs by hand (Documentation/bpf/btf.rst of Linux)."""

from __future__ import annotations

import struct

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT = range(1, 12)
FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(12, 20)
MAGIC = 0xEB9F


class Strings:
    """A string section that grows; the empty string stands at 0."""

    def __init__(self, *first: str) -> None:
        self.bytes = b"\0"
        self._at: dict[str, int] = {"": 0}
        for name in first:
            self.add(name)

    def add(self, name: str) -> int:
        """The offset of a name."""
        if name not in self._at:
            self._at[name] = len(self.bytes)
            self.bytes += name.encode() + b"\0"
        return self._at[name]


def record(name: int, kind: int, value: int, *words: int, vlen: int = 0, flag: bool = False) -> bytes:
    """One type: struct btf_type and the words behind it."""
    return struct.pack(f"<3I{len(words)}I", name, flag << 31 | kind << 24 | vlen, value, *words)


def blob(types: bytes, strings: bytes = b"\0ring\0tail\0", layout: bytes = b"", **header: int) -> bytes:
    """A blob; keywords falsify its header. With a layout the header is the longer one of Linux 7."""
    values = {"magic": MAGIC, "version": 1, "flags": 0, "hdr_len": 32 if layout else 24, "type_off": 0,
              "type_len": len(types), "str_off": len(types), "str_len": len(strings), **header}  # fmt: skip
    more = struct.pack("<II", len(types) + len(strings), len(layout)) if layout else b""
    return struct.pack("<HBBIIIII", *values.values()) + more + types + strings + layout


def ring_of(type_id: int) -> bytes:
    """`struct ring { TYPE tail; }` of 8 bytes; the names stand at 1 and 6 of the default strings."""
    return record(1, STRUCT, 8, 6, type_id, 0, vlen=1)


LONG = record(0, INT, 8, 64)


def swap(data: bytes) -> bytes:
    """A little-endian blob as a big-endian machine has it: strings and bytes stay, words turn."""
    magic, version, flags, *words = struct.unpack_from("<HBBIIIII", data)
    types = data[24 : 24 + words[2]]
    cut = len(types) - len(types) % 4
    turned = struct.pack(f">{cut // 4}I", *struct.unpack(f"<{cut // 4}I", types[:cut])) + types[cut:]
    return struct.pack(">HBBIIIII", magic, version, flags, *words) + turned + data[24 + len(types) :]


def one_of_each() -> bytes:
    """A blob with every kind, in which `struct holder` has a member of every one that a member can have."""
    strings = Strings()
    name = strings.add
    at = {kind: number for number, kind in enumerate(
        ("int", "char", "double", "void*", "char[3]", "inner", "union", "colour", "huge", "inner_t", "ahead", "ahead*",
         "proto", "proto*", "volatile", "const", "int*", "restrict", "tagged", "holder"), 1)}  # fmt: skip
    members = ("int", "void*", "char[3]", "inner", "union", "colour", "huge", "double", "inner_t", "ahead*", "proto*",
               "const", "restrict")  # fmt: skip
    sizes = (4, 8, 3, 8, 8, 4, 8, 8, 8, 8, 8, 4, 8)
    words: list[int] = []
    offset = 0
    letters = iter("abcdefghijkl")
    for member, size in zip(members, sizes, strict=True):
        offset = -(-offset // size) * size if size != 3 else offset
        words += [0 if member == "union" else name(next(letters)), at[member], offset * 8]
        offset += size
    types = (
        record(name("int"), INT, 4, 32 | 1 << 24), record(name("char"), INT, 1, 8), record(name("double"), FLOAT, 8),
        record(0, PTR, 0), record(0, ARRAY, 0, at["char"], at["int"], 3),
        record(name("inner"), STRUCT, 8, name("x"), at["int"], 0, name("y"), at["int"], 5 << 24 | 32, vlen=2, flag=True),
        record(0, UNION, 8, name("u"), at["double"], 0, name("v"), at["int"], 0, vlen=2),
        record(name("colour"), ENUM, 4, name("RED"), 0, vlen=1), record(name("huge"), ENUM64, 8, name("HUGE"), 0, 256, vlen=1),
        record(name("inner_t"), TYPEDEF, at["inner"]), record(name("ahead"), FWD, 0), record(0, PTR, at["ahead"]),
        record(0, FUNC_PROTO, at["int"], name("p"), at["int"], vlen=1), record(0, PTR, at["proto"]),
        record(0, VOLATILE, at["int"]), record(0, CONST, at["volatile"]), record(0, PTR, at["tagged"]),
        record(0, RESTRICT, at["int*"]), record(name("user"), TYPE_TAG, at["int"]),
        record(name("holder"), STRUCT, -(-offset // 8) * 8, *words, vlen=len(members)),
        record(name("main"), FUNC, at["proto"], vlen=1), record(name("counter"), VAR, at["int"], 1),
        record(name(".data"), DATASEC, 4, 22, 0, 4, vlen=1), record(name("hot"), DECL_TAG, at["holder"], 0xFFFFFFFF),
    )  # fmt: skip
    return blob(b"".join(types), strings.bytes)


_BASE_STRINGS = Strings("list_head", "next", "long int")
BASE = blob(
    record(_BASE_STRINGS.add("list_head"), STRUCT, 8, _BASE_STRINGS.add("next"), 2, 0, vlen=1)
    + record(_BASE_STRINGS.add("long int"), INT, 8, 64),
    _BASE_STRINGS.bytes,
)
_OWN = len(_BASE_STRINGS.bytes)
SPLIT = blob(record(_OWN, STRUCT, 16, _BASE_STRINGS.add("next"), 1, 0, _OWN + 7, 2, 64, vlen=2), b"module\0size\0")
"""A module's `struct module { struct list_head next; long size; }` on top of BASE, which has the former."""
