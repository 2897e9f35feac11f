"""Unwind tables that are written by hand: of all encodings and byte orders, and damaged ones."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers import frames

ADDRESS = 0x4000
"""Where the section is in memory."""
LETTERS = {0x00: "Q", 0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
RELATIVE, ABSOLUTE = 0x10, 0x00


def image_of(content: bytes, order: str = "<", bits: int = 64, name: str = ".eh_frame", **changes: object) -> SimpleNamespace:
    section = SimpleNamespace(name=name, address=ADDRESS)
    fields = {
        "headers": [section], "is_relocatable": False, "little_endian": order == "<", "bits": bits, "path": "f",
        "holds_content": lambda header: True, "raw": lambda header: content, **changes,
    }  # fmt: skip
    return SimpleNamespace(**fields)


def entry(order: str, content: bytes) -> bytes:
    return struct.pack(order + "I", len(content)) + content


def table(order: str, letter: str, encoding: int, augmentation: bytes, data: bytes, functions: list[tuple[int, int]], version: int = 1) -> bytes:
    """A common entry, and functions with addresses and sizes that use it."""
    register = b"\x10" if version == 1 else b"\x90\x01"
    factors = b"\x01\x78" if version < 4 else b"\x81\x01\xf8\x7f"
    length = bytes([len(data)]) if augmentation[:1] == b"z" else b""
    made = entry(order, bytes(4) + bytes([version]) + augmentation + b"\0" + factors + register + length + data + bytes(3))
    for address, size in functions:
        place = len(made) + 8
        start = address - (ADDRESS + place if encoding & 0x70 == RELATIVE else 0)
        numbers = struct.pack(f"{order}2{letter}", start, size)
        made += entry(order, struct.pack(order + "I", len(made) + 4) + numbers + bytes(5))
    return made


FUNCTIONS = [(0x4100, 0x20), (0x5000, 1), (0x4001, 0x7FFF)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("how", [ABSOLUTE, RELATIVE])
@pytest.mark.parametrize("size", LETTERS)
@pytest.mark.parametrize(("augmentation", "before"), [(b"zR", b""), (b"zLR", b"\x1b"), (b"zPLR", None), (b"zSR", b"")])
def test_encodings(order, how, size, augmentation, before):
    letter, encoding = LETTERS[size], size | how
    before = bytes([encoding]) + struct.pack(order + letter, 77) + b"\x1b" if before is None else before
    functions = FUNCTIONS if how == ABSOLUTE else FUNCTIONS[:2]  # the third one is before the table
    made = table(order, letter, encoding, augmentation, before + bytes([encoding]), functions)
    assert frames.sizes(image_of(made + bytes(4), order)) == dict(functions)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("version", [1, 3, 4])
@pytest.mark.parametrize(("augmentation", "data", "encoding"), [
    (b"", b"", 0), (b"z", b"", 0), (b"zL", b"\x1b", 0), (b"zR", b"\x1b", 0x1B), (b"eh", b"", 0),
])  # fmt: skip
def test_versions_and_pointers(bits, version, augmentation, data, encoding):
    letter = LETTERS[encoding & 15] if encoding else "Q" if bits == 64 else "I"
    made = table("<", letter, encoding, augmentation, data, FUNCTIONS, version)
    image = image_of(made, bits=bits)
    assert frames.sizes(image) == dict(FUNCTIONS)
    assert frames.starts(image) == [address for address, _ in FUNCTIONS]


@pytest.mark.parametrize(("bits", "address"), [(32, 0xFFFFFFF0), (64, 0xFFFFFFFFFFFFFFF0)])
def test_addresses_wrap_around(bits, address):
    assert frames.sizes(image_of(table("<", "i", 0x1B, b"zR", b"\x1b", [(-16, 8)]), bits=bits)) == {address: 8}


def test_several_tables_and_common_entries():
    first = table("<", "i", 0x1B, b"zR", b"\x1b", FUNCTIONS[:1])
    again = entry("<", struct.pack("<I", len(first) + 8) + struct.pack("<2i", 0x6000 - ADDRESS - len(first) - 12, 9) + bytes(1))
    made = first + bytes(4) + again
    assert frames.sizes(image_of(made)) == {0x4100: 0x20, 0x6000: 9}


GOOD = table("<", "i", 0x1B, b"zR", b"\x1b", FUNCTIONS)
DAMAGED = [
    # what, the section, a part of the message
    ("ends behind the section", GOOD + struct.pack("<I", 5) + b"abcd", "an entry ends behind it"),
    ("no common entry", entry("<", struct.pack("<I", 999) + bytes(8)), "KeyError"),
    ("an encoding that is not known", table("<", "i", 0x2B, b"zR", b"\x2b", FUNCTIONS), "pointers of encoding 0x2b"),
    ("numbers in LEB128", table("<", "i", 0x01, b"zR", b"\x01", FUNCTIONS), "pointers of encoding 0x1"),
    ("an augmentation without an end", entry("<", bytes(4) + b"\x01zR"), "IndexError"),
    ("no number", GOOD + entry("<", struct.pack("<I", len(GOOD) + 4) + bytes(3)), "error"),
]


@pytest.mark.parametrize(("content", "message"), [row[1:] for row in DAMAGED], ids=[row[0] for row in DAMAGED])
def test_damage(content, message):
    with pytest.raises(ReadError, match=f"section .eh_frame cannot be read: .*{message}"):
        frames.sizes(image_of(content))


@pytest.mark.parametrize(("content", "functions"), [(b"", 0), (GOOD, 3), (GOOD + bytes(3), 3), (GOOD + struct.pack("<I", 4) + struct.pack("<I", 0)[:3], None)])
def test_ends_of_a_section(content, functions):
    if functions is None:
        with pytest.raises(ReadError):
            frames.sizes(image_of(content))
    else:
        assert len(frames.sizes(image_of(content))) == functions


@pytest.mark.parametrize("changes", [{"is_relocatable": True}, {"name": ".other"}, {"holds_content": lambda header: False}])
def test_what_has_no_functions(changes):
    assert frames.sizes(image_of(GOOD, **changes)) == {}
    assert frames.starts(image_of(GOOD, **changes)) == []


def search_table(order: str, pairs: list[tuple[int, int]], head: bytes = b"\x01\x1b\x03\x3b", count: int | None = None) -> bytes:
    """The table that linkers write, of addresses behind that of the section."""
    numbers = [number for pair in pairs for number in pair]
    return head + struct.pack(f"{order}iI{len(numbers)}i", 0, len(pairs) if count is None else count, *numbers)


PAIRS = [(-16, 1), (0x100, 2), (0x200, 3)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("content", "starts"), [
    # the table, given its byte order, and the addresses
    (lambda order: search_table(order, PAIRS), [ADDRESS - 16, ADDRESS + 0x100, ADDRESS + 0x200]),
    (lambda order: search_table(order, PAIRS, count=2), [ADDRESS - 16, ADDRESS + 0x100]),
    (lambda order: search_table(order, PAIRS, count=4), []),
    (lambda order: search_table(order, []), []),
    (lambda order: search_table(order, PAIRS, b"\x01\x1b\x03\x1b"), []),
    (lambda order: search_table(order, PAIRS)[:11], []),
])  # fmt: skip
def test_the_table_of_the_linker(order, content, starts):
    image = image_of(content(order), order, name=".eh_frame_hdr")
    assert frames.starts(image) == starts
    for change in ({"is_relocatable": True}, {"holds_content": lambda header: False}):
        assert frames.starts(image_of(content(order), order, name=".eh_frame_hdr", **change)) == []
