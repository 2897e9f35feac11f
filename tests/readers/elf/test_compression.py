"""Compressed sections: what compilers and linkers write, and headers that claim what is not there."""

from __future__ import annotations

import random
import subprocess
import sys
import zlib

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.elf import compression
from layoutlint.readers.elf import elf_file as elf
from layoutlint.readers.elf.compression import ZLIB, ZSTD, decompress
from tests.harness.command import run
from tests.readers.dwarf.dwarf_file import elf as elf_file
from tests.readers.elf.test_elf import SOURCE, compressed_header, tool, write

zstd = compression.zstd()
COMPRESS = {ZLIB: zlib.compress, ZSTD: zstd.compress}
METHODS = pytest.mark.parametrize("method", COMPRESS, ids=["zlib", "zstd"])
MIB = 1 << 20
TEXTS = {
    "nothing": b"",
    "a byte": b"x",
    "a piece": bytes(1 << 18),
    "a piece and a byte": bytes((1 << 18) + 1),
    "zeros": bytes(3 * MIB),
    "noise": random.Random(1).randbytes(700_000),
    "both": random.Random(2).randbytes(300_000) + bytes(900_000) + b"end",
}


@METHODS
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("streams", [1, 2, 5])
@pytest.mark.parametrize("padding", [b"", bytes(7)], ids=["exact", "padded"])
def test_what_was_compressed_comes_back(method, text, streams, padding):
    step = -(-len(text) // streams) or 1
    parts = [text[start : start + step] for start in range(0, len(text), step)] or [b""]
    data = b"".join(map(COMPRESS[method], parts)) + padding
    assert decompress(method, memoryview(data), len(text)) == text


BAD = [
    # id, claim, change of the compressed bytes, what is said
    ("one byte less than it claims", 1001, lambda data: data, "holds 1000 bytes of the 1001 that it claims"),
    ("one byte more", 999, lambda data: data, "holds more than the 999 bytes that it claims"),
    ("claims 8 GiB", 8 << 30, lambda data: data, "more than .* bytes of (zlib|zstd) can hold"),
    ("claims all", (1 << 64) - 1, lambda data: data, "more than .* bytes of (zlib|zstd) can hold"),
    ("empty", 10, lambda data: b"", "claims 10 bytes, more than 0 bytes"),
    ("the last byte is missing", 1000, lambda data: data[:-1], "ends inside a stream|holds 0 bytes"),
    ("half is missing", 1000, lambda data: data[: len(data) // 2], "ends inside a stream|holds [0-9]+ bytes"),
    ("garbage", 1000, lambda data: b"\x07" * 50, "cannot be decompressed: "),
    ("garbage behind too little", 2000, lambda data: data + b"\x07" * 50, "cannot be decompressed: "),
    ("a damaged sum", 1000, lambda data: data[:-1] + bytes((data[-1] ^ 1,)), "cannot be decompressed: "),
]  # fmt: skip


def add_checksum(method: int, text: bytes) -> bytes:
    """Compressed with a checksum, which zlib has always."""
    if method == ZLIB:
        return zlib.compress(text)
    return zstd.compress(text, options={zstd.CompressionParameter.checksum_flag: 1})


@METHODS
@pytest.mark.parametrize(("claim", "change", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_damage_is_told(method, claim, change, message):
    data = change(add_checksum(method, random.Random(3).randbytes(1000)))
    with pytest.raises(ValueError, match=message):
        decompress(method, memoryview(data), claim)


@METHODS
def test_streams_without_contents_do_not_take_long(method):
    """A million of them in 9 MB: each costs a decompressor."""
    with pytest.raises(ValueError, match="is made of too many streams for its size"):
        decompress(method, memoryview(COMPRESS[method](b"") * 1_000_000), 1 * MIB)


@METHODS
def test_the_best_that_a_method_can_do_is_believed(method):
    """The ratio of zeros is next to the limit, and the limit is not below it."""
    text = bytes(200 * MIB)
    data = COMPRESS[method](text)
    assert len(text) <= compression.max_content_size(method, len(data)) <= 1.01 * len(text)


BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
from layoutlint.errors import ReadError
from layoutlint.readers.elf import elf_file
try:
    with elf_file.open_elf(sys.argv[1]) as image:
        print(len(image.sections(".debug_info")))
except ReadError as error:
    print(error.reason)
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("sections", "claim", "held", "message"), [
    (1, 8 << 30, 8 << 20, "section .debug_info claims 8589934592 bytes, too many for a file of"),
    (1, 255 << 20, 8 << 20, "section .debug_info claims 267386880 bytes, more than "),
    (1, 255 << 20, 255 << 20, "1"),
    (5, 60 << 20, 60 << 20, "section .debug_info claims 62914560 bytes, too many for a file of"),
])  # fmt: skip
def test_memory_is_bounded(tmp_path, sections, claim, held, message):
    """In 700 MiB of addresses: small files that claim, or hold, very much."""
    content = compressed_header(ZSTD, claim, zstd.compress(bytes(held)), sections)
    done = subprocess.run([sys.executable, "-c", BOUNDED, write(tmp_path, content)], capture_output=True, text=True)
    assert (done.stdout.startswith(message), done.stderr) == (True, ""), done.stdout


def test_a_section_for_which_there_is_no_memory(tmp_path):
    content = compressed_header(ZSTD, 255 << 20, zstd.compress(bytes(255 << 20)))
    script = BOUNDED.replace("700", "200")
    done = subprocess.run([sys.executable, "-c", script, write(tmp_path, content)], capture_output=True, text=True)
    assert done.stdout == "section .debug_info claims 267386880 bytes, more than there is memory for\n", done.stderr


def test_zstd_that_is_not_installed(tmp_path, monkeypatch):
    module = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delattr(module, raising=False)
    path = write(tmp_path, compressed_header(ZSTD, 10, b"x"))
    with pytest.raises(ReadError, match=r"section \.debug_info is compressed with zstd, which is not installed \("), \
            elf.open_elf(path) as image:  # fmt: skip
        image.section(".debug_info")


def test_zstd_is_not_loaded_before_it_is_met(tmp_path):
    path = write(tmp_path, elf_file({".debug_info": b"x"}))
    script = BOUNDED + "\nprint([name for name in sys.modules if 'zstd' in name])"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", ["-gz=zlib", "-gz=zstd", "-gz=zlib-gnu"])
@pytest.mark.parametrize("kind", ["-c", "-fPIC -shared"], ids=["object", "linked"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_compilers_compress(tmp_path, compiler, kind, how):
    """The source is long, because a compiler leaves a section alone that compression makes longer."""
    text = SOURCE + "".join(f"struct s{n} {{ long member_number_{n}; }} v{n};\n" for n in range(200))
    source, plain, small = tmp_path / "ring.c", tmp_path / "plain", tmp_path / "small"
    source.write_text(text)
    command = [tool(compiler), "-g", *kind.split(), str(source), "-o"]
    subprocess.run([*command, str(plain)], check=True)
    done = subprocess.run([*command, str(small), how], capture_output=True, text=True)
    if done.returncode or "unsupported" in done.stderr or "not enabled" in done.stderr:
        pytest.skip(f"this {compiler} or its linker does not know {how}")
    if plain.stat().st_size <= small.stat().st_size:
        pytest.skip(f"this {compiler} does not compress for {how}")
    shown = [run("show", str(path), "--all", "--format", "json") for path in (plain, small)]
    assert [done.returncode for done in shown] == [0, 0], shown[1].stderr
    assert shown[0].stdout == shown[1].stdout
