"""Bootable kernels: a bzImage gives the structs of its vmlinux, and damaged ones an error in bounded time and memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import attempt, read
from layoutlint.readers.elf import compression, lz4, packed
from tests.harness.command import run
from tests.harness.tools import need

EVERYTHING = Wanted(everything=True)


def stored_lz4(data: bytes) -> bytes:
    """LZ4 in the legacy format that only has literals."""
    blocks = []
    for start in range(0, len(data), 8 << 20):
        piece = data[start : start + (8 << 20)]
        rest = len(piece) - 15
        head = bytes([0xF0]) + b"\xff" * (rest // 255) + bytes([rest % 255])
        blocks.append(struct.pack("<I", len(head) + len(piece)) + head + piece)
    return lz4.MAGIC + b"".join(blocks)


def size_packer(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return a packer that appends the size of the content, as size_append of scripts/Makefile.lib does."""
    return lambda data: pack(data) + struct.pack("<I", len(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": size_packer(bz2.compress),
    "lzma": size_packer(lambda data: lzma.compress(data, lzma.FORMAT_ALONE)),
    "xz": size_packer(lambda data: lzma.compress(data, check=lzma.CHECK_CRC32)),
    "zstd": size_packer(compression.zstd().compress),
    "lz4": size_packer(stored_lz4),
}


def image(payload: bytes, *, sectors: int = 3, offset: int = 700, version: int = 0x20F, length: int | None = None) -> bytes:
    """Return a bzImage with a payload (Documentation/arch/x86/boot.rst)."""
    setup = bytearray((sectors or 4) * 512 + 512)
    setup[0x1F1] = sectors
    setup[0x202:0x206] = b"HdrS"
    setup[0x206:0x208] = struct.pack("<H", version)
    setup[0x248:0x250] = struct.pack("<II", offset, len(payload) if length is None else length)
    return bytes(setup) + b"\xcc" * offset + payload + b"\xcc" * 100


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("image") / "vmlinux"
    source = "struct ring { long head; char *tail; } ring;"
    subprocess.run([need("gcc"), "-g", "-c", "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return path


@pytest.mark.parametrize("form", PACKERS)
@pytest.mark.parametrize("sectors", [0, 3, 39])
def test_the_structs_are_those_of_vmlinux(vmlinux, tmp_path, form, sectors):
    path = tmp_path / "vmlinuz"
    path.write_bytes(image(PACKERS[form](vmlinux.read_bytes()), sectors=sectors))
    reading = read(str(path), EVERYTHING, ReadOptions())
    assert reading.structs == read(str(vmlinux), EVERYTHING, ReadOptions()).structs
    assert [each.name for each in reading.structs] == ["ring"]


REFUSED = [
    ("an old protocol", lambda data: image(data, version=0x207), "boot protocol 0x207, too old"),
    ("a payload behind the end", lambda data: image(data, offset=700, length=1 << 31), "its payload has 2,147,483,648 bytes"),
    ("an empty payload", lambda data: image(b""), "its payload has 0 bytes"),
    ("a cut file", lambda data: image(data)[:2300], "damaged or truncated kernel image"),
    ("a cut header", lambda data: image(data)[:0x230], "it ends within its header"),
    ("another compression", lambda data: image(b"\x89LZO" + data), "compressed with LZO, which is not supported"),
    ("garbage", lambda data: image(b"\x11\x22\x33\x44" + data), "compressed with an unknown format (11 22 33 44"),
    ("no ELF file", lambda data: image(gzip.compress(b"\0" * 4096)), "its content is not an ELF file"),
    ("a raw kernel in gzip", lambda data: gzip.compress(b"\0" * 0x38 + b"ARM\x64" + b"\0" * 99), "is a kernel image for arm64"),
    ("an arm64 Image", lambda data: b"MZ" + b"\0" * 0x36 + b"ARM\x64" + b"\0" * 99, "is a kernel image for arm64"),
    ("an EFI zboot image", lambda data: b"MZ\0\0zimg" + b"\0" * 99, "is a kernel image that EFI starts"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_be_read_says_why(vmlinux, tmp_path, make, reason):
    path = tmp_path / "vmlinuz"
    path.write_bytes(make(gzip.compress(vmlinux.read_bytes())))
    with pytest.raises(ReadError) as caught:
        read(str(path), EVERYTHING, ReadOptions())
    assert reason in caught.value.reason


@pytest.mark.parametrize("form", PACKERS)
def test_damage_is_an_error_or_harmless(vmlinux, tmp_path, form):
    """Any change of the payload, and any cut, ends with an error or with a reading."""
    payload, path, dice = PACKERS[form](vmlinux.read_bytes()), tmp_path / "vmlinuz", random.Random(form)
    for _ in range(40):
        damaged = bytearray(payload)
        for _ in range(dice.randint(1, 8)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path.write_bytes(image(bytes(damaged[: dice.choice((len(damaged), dice.randrange(16, len(damaged))))])))
        result = attempt(str(path), EVERYTHING, ReadOptions())
        assert isinstance(result, Reading) or (result.origin, bool(result.reason)) == (str(path), True)


@pytest.mark.parametrize("form", ["gzip", "lz4"])
def test_the_content_is_bounded(vmlinux, tmp_path, monkeypatch, form):
    monkeypatch.setattr(packed, "_FREE_CONTENT_SIZE", 1 << 10)
    monkeypatch.setattr(packed, "_LARGEST_RATIO", 0)
    path = tmp_path / "vmlinuz"
    path.write_bytes(image(PACKERS[form](vmlinux.read_bytes())))
    with pytest.raises(ReadError, match="holds more than 1024 bytes"):
        read(str(path), EVERYTHING, ReadOptions())


LZ4 = [
    # a block of LZ4, and its content (None: damaged); tokens of the LZ4 Block Format Description
    (b"\x30abc", b"abc"),
    (b"\x10a\x01\x00\x00", b"aaaaa"),
    (b"\x1fa\x01\x00\xff\x02\x00", b"a" * (1 + 15 + 255 + 2 + 4)),
    (b"\x30abc\x03\x00\x10z", b"abcabcaz"),
    (b"\x32abc\x03\x00\x10z", b"abcabcabcz"),
    (b"\xf0\x05" + b"q" * 20, b"q" * 20),
    (b"\x10a\x00\x00\x00", None),
    (b"\x10a\x02\x00\x00", None),
    (b"\x30ab", None),
    (b"\xf0\xff", None),
    (b"\x10a\x01", None),
    (b"\x1fa\x01\x00" + b"\xff" * 40000 + b"\x00", None),
]  # fmt: skip


@pytest.mark.parametrize(("block", "content"), LZ4)
def test_blocks_of_lz4(block, content):
    if content is None:
        with pytest.raises(ValueError, match=r"damaged|ends within"):
            lz4.decompress_block(block)
    else:
        assert lz4.decompress_block(block) == content


@pytest.mark.parametrize("size", [1, 100_000, (8 << 20) + 12345])
def test_lz4_as_the_tool_packs_it(tmp_path, size):
    if shutil.which("lz4") is None:
        pytest.skip("lz4 is not installed")
    dice = random.Random(size)
    words = [dice.randbytes(dice.randint(1, 30)) for _ in range(50)]
    data = b"".join(dice.choices(words, k=size // 10 + 1))[:size]
    done = subprocess.run(["lz4", "-l", "-9", "-c"], input=data, capture_output=True, check=True)
    (tmp_path / "data.lz4").write_bytes(done.stdout)
    with (tmp_path / "data.lz4").open("rb") as file:
        assert b"".join(lz4.decompress(file)) == data


@pytest.mark.parametrize("magic", [b"PERFILE2", b"2ELIFREP"])
def test_perf_data_is_answered_with_what_to_type(tmp_path, magic):
    (tmp_path / "perf.data").write_bytes(magic + b"\0" * 100)
    done = run("check", "perf.data", "--pack", "generic", cwd=tmp_path)
    assert done.returncode == 3
    printed = " ".join(done.stdout.split())
    assert "perf.data: is a profile of perf" in printed
    assert "`perf report -s type,typeoff --stdio -i FILE`" in printed
    assert "`layoutlint show PROGRAM STRUCT --at OFFSET`" in printed
