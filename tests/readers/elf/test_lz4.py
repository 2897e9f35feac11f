"""Blocks of LZ4, by hand: what each token does, and where a block is damaged (LZ4 Block Format Description)."""

from __future__ import annotations

import io

import pytest

from layoutlint.readers.elf import lz4

LARGEST = 300
BLOCKS = [
    # a block, its content; None for a damaged one, "" for one that ends early
    (b"", b""), (b"\x10a", b"a"), (b"\x00", b""), (b"\x30abc\x01\x00", b"abc" + b"c" * 4), (b"\x30abc\x02\x00", b"abc" + b"bcbc"), (b"\x30abc\x03\x00", b"abc" + b"abca"), (b"\x30abc\x04\x00", None), (b"\x30abc\x00\x00", None),
    (b"\x31abc\x01\x00", b"abc" + b"c" * 5), (b"\x3eabc\x01\x00", b"abc" + b"c" * 18), (b"\x3fabc\x01\x00\x00", b"abc" + b"c" * 19), (b"\x3fabc\x01\x00\x05", b"abc" + b"c" * 24), (b"\x3fabc\x01\x00\xff\x00", b"abc" + b"c" * 274),
    (b"\x3fabc\x01\x00\xff\x01", b"abc" + b"c" * 275), (b"\x3fabc\x01\x00\xff\x17", b"abc" + b"c" * 297), (b"\x3fabc\x01\x00\xff\x18", None), (b"\xe0" + b"x" * 14, b"x" * 14), (b"\xf0\x00" + b"x" * 15, b"x" * 15),
    (b"\xf0\x01" + b"x" * 16, b"x" * 16), (b"\xf0\xff\x00" + b"x" * 270, b"x" * 270), (b"\xf0\xff\x1e" + b"x" * 300, b"x" * 300), (b"\xf0\xff\x1f" + b"x" * 301, None), (b"\x40abc", None), (b"\x30abc\x01", ""), (b"\x3fabc\x01\x00", ""),
    (b"\xf0", ""), (b"\xf0\xff", ""), (b"\x10a\x01\x00\x10b", b"aaaaab"), (b"\xf0\xf1" + b"y" * 256 + b"\x00\x01", b"y" * 260), (b"\xf0\xf1" + b"y" * 256 + b"\x01\x01", None), (b"\x10a\x01\x00\x00\x02\x00", b"a" * 9),
]  # fmt: skip


@pytest.mark.parametrize(("block", "content"), BLOCKS, ids=range(len(BLOCKS)))
def test_blocks(block, content, monkeypatch):
    monkeypatch.setattr(lz4, "_BLOCK", LARGEST)
    if content:
        assert lz4.decompress_block(block) == content
    elif content is None or content == "":
        with pytest.raises(ValueError, match="a block is damaged" if content is None else "it ends within a block"):
            lz4.decompress_block(block)
    else:
        assert lz4.decompress_block(block) == b""


MAGIC = lz4.MAGIC
ONE = b"\2\0\0\0\x10a"
FILES = [
    # a file, its blocks and the error behind them
    (MAGIC, [], None), (MAGIC + ONE, [b"a"], None), (MAGIC + ONE * 2, [b"a", b"a"], None), (MAGIC[:3], [], "it is not LZ4 in the legacy format"), (b"x" + MAGIC, [], "it is not LZ4 in the legacy format"),
    (MAGIC + ONE + b"\2\0\0", [b"a"], "a block of 2 bytes is damaged"), (MAGIC + bytes(4), [], "a block of 0 bytes is damaged"), (MAGIC + ONE[:-1], [], "it ends within a block"),
    (MAGIC + b"\x07\0\0\0" + b"\x60abcdef", [b"abcdef"], None), (MAGIC + b"\x08\0\0\0" + b"\x70abcdefg", [], "a block of 8 bytes is damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "blocks", "reason"), FILES, ids=range(len(FILES)))
def test_files(content, blocks, reason, monkeypatch):
    monkeypatch.setattr(lz4, "_LARGEST_PACKED", 7)
    found = []
    with lz4.open_stream(io.BytesIO(content)) as stream:
        try:
            while piece := stream.read(1):
                found.append(piece)
            error = None
        except ValueError as raised:
            error = str(raised)
    assert (found, error) == (blocks, reason)
