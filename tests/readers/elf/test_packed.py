"""Compressed modules: the same structs as from the file that they hold, and an error for everything else."""

from __future__ import annotations

import gzip
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from layoutlint.readers.elf import compression, packed
from tests.oracles.c_probe import need

zstd = compression.zstd()
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstd.compress}
EVERYTHING = Wanted(everything=True)


@pytest.fixture(scope="module")
def module(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "ring.ko"
    source = "struct ring { long head; char *tail; } ring;"
    subprocess.run([need("gcc"), "-g", "-c", "-x", "c", "-o", path, "-"], cwd="/", input=source, text=True, check=True)
    return path


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_it_holds_is_read(module, tmp_path, suffix):
    path = tmp_path / f"ring.ko.{suffix}"
    path.write_bytes(PACKERS[suffix](module.read_bytes()))
    reading = read(str(path), EVERYTHING, ReadOptions())
    assert reading.structs == read(str(module), EVERYTHING, ReadOptions()).structs
    assert reading.path == str(path)


@pytest.mark.parametrize("tool", ["gzip", "xz", "zstd"])
def test_as_the_tools_pack_it(module, tmp_path, tool):
    path = tmp_path / "ring.ko.packed"
    with path.open("wb") as file:
        subprocess.run([need(tool), "-c", module], stdout=file, check=True)
    assert [struct.name for struct in read(str(path), EVERYTHING, ReadOptions()).structs] == ["ring"]


DAMAGE = [
    # what is done to the packed file, part of the reason
    ("cut", lambda data: data[: len(data) // 2], "is compressed, and cannot be decompressed: "),
    ("start alone", lambda data: data[:6], "is compressed, and cannot be decompressed: "),
    ("changed", lambda data: data[:40] + bytes(byte ^ 0x55 for byte in data[40:80]) + data[80:], "is compressed, and cannot be decompressed: "),
]  # fmt: skip


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(("damage", "reason"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_damage(module, tmp_path, suffix, damage, reason):
    path = tmp_path / "ring.ko"
    path.write_bytes(damage(PACKERS[suffix](module.read_bytes())))
    with pytest.raises(ReadError) as caught:
        read(str(path), EVERYTHING, ReadOptions())
    assert (caught.value.path, caught.value.reason[: len(reason)]) == (str(path), reason)


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(("held", "reason"), [(b"struct ring;", "its content is not an ELF file"), (b"", "holds nothing")])
def test_it_must_hold_an_elf_file(tmp_path, suffix, held, reason):
    path = tmp_path / "ring.ko"
    path.write_bytes(PACKERS[suffix](held))
    with pytest.raises(ReadError, match=f"is compressed, and {reason}"):
        read(str(path), EVERYTHING, ReadOptions())


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_it_may_hold_is_bounded(module, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(packed, "_FREE_CONTENT_SIZE", 1 << 20)
    path = tmp_path / "ring.ko"
    path.write_bytes(PACKERS[suffix](module.read_bytes() + bytes(1 << 24)))
    with pytest.raises(ReadError, match=r"is compressed, and holds more than \d+ bytes in \d+"):
        read(str(path), EVERYTHING, ReadOptions())
