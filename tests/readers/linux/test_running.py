"""The running kernel's debug file: a system with its own root, whose kernel is a small program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from layoutlint.readers.elf import elf_file
from layoutlint.readers.linux import running
from tests.readers.btf.btf_blob import LONG, blob, ring_of
from tests.readers.elf.test_debug_files import move, programs, run_tool

RELEASE = "6.12.107+deb13-amd64"
RING = Wanted(frozenset(["ring"]))
PLACES = (
    "usr/lib/debug/.build-id/{id}.debug", "usr/lib/debug/boot/vmlinux-{release}",
    "usr/lib/debug/lib/modules/{release}/vmlinux", "usr/lib/debug/boot/vmlinux-{release}.debug",
    "lib/modules/{release}/build/vmlinux", "boot/vmlinux-{release}",
)  # fmt: skip
"""vmlinux_path__init in tools/perf/util/symbol.c of Linux, and the build ids of elfutils and gdb."""


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A system whose running kernel is `one`, with BTF of 8 bytes where DWARF has more; `two` is another."""
    one, _ = programs(tmp_path / "built", "-Wl,--build-id")
    run_tool("objcopy", "-O", "binary", "--only-section=.note.gnu.build-id", one, tmp_path / "notes", cwd=tmp_path)
    for name, content in {
        "sys/kernel/btf/vmlinux": blob(LONG + ring_of(1)),
        "sys/kernel/notes": (tmp_path / "notes").read_bytes(),
        "proc/sys/kernel/osrelease": f"{RELEASE}\n".encode(),
    }.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_bytes(content)
    monkeypatch.setattr(running, "ROOT", os.path.realpath(tmp_path / "root"))
    return tmp_path / "root"


def read_running(root: Path, reader: str | None) -> tuple[str, int | None, tuple[str, ...]]:
    options = ReadOptions(reader=reader, debug_dirs=(str(root / "usr/lib/debug"),))
    reading = read(str(root / "sys/kernel/btf/vmlinux"), RING, options)
    assert reading.path == str(root / "sys/kernel/btf/vmlinux")
    return reading.reader, reading.structs[0].bit_size, reading.notes


def place_of(root: Path, program: Path, place: str) -> Path:
    with elf_file.open_elf(str(program)) as image:
        build_id = image.build_id or ""
    return root / place.format(id=f"{build_id[:2]}/{build_id[2:]}", release=RELEASE)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", PLACES)
def test_it_is_read_in_each_place(root, tmp_path, place):
    debug = move(tmp_path / "built/one", place_of(root, tmp_path / "built/one", place))
    reader, bits, notes = read_running(root, "dwarf")
    assert (reader, bits) == ("dwarf", 64 * 8)
    assert notes[0] == f"the running kernel's debug information was read from {debug}"
    reader, bits, notes = read_running(root, None)
    assert (reader, bits) == ("btf", 8 * 8)
    assert any(note.startswith(f"{debug} has the DWARF of this kernel") and "`--reader dwarf`" in note for note in notes)


def test_none(root):
    with pytest.raises(ReadError) as error:
        read_running(root, "dwarf")
    assert all(place.format(release=RELEASE) in error.value.reason for place in PLACES[1:])
    reader, _, notes = read_running(root, None)
    assert (reader, [note for note in notes if "DWARF" in note]) == ("btf", [])


def test_that_of_another_build_is_not_read(root, tmp_path):
    move(tmp_path / "built/two", root / PLACES[1].format(release=RELEASE))
    with pytest.raises(ReadError, match=r"has the build id .*, and .* is the running kernel's"):
        read_running(root, "dwarf")
    move(tmp_path / "built/one", root / PLACES[5].format(release=RELEASE))
    assert read_running(root, "dwarf")[0] == "dwarf"


def test_without_build_id_the_banner_counts(root, tmp_path):
    (root / "sys/kernel/notes").unlink()
    place = move(tmp_path / "built/one", root / PLACES[1].format(release=RELEASE))
    banner = f"Linux version {RELEASE} (a@b) (gcc 14) #1 SMP Debian 6.12.107-1 (2026-07-01)"
    (root / "proc/version").write_text(f"{banner}\n")
    with pytest.raises(ReadError, match="has another banner than /proc/version"):
        read_running(root, "dwarf")
    (tmp_path / "built/banner.c").write_text(f'const char linux_banner[] = "{banner}\\n";\n')
    run_tool("gcc", "-g", "-Wl,--build-id=none", "banner.c", "one.c", "-o", place, cwd=tmp_path / "built")
    assert read_running(root, "dwarf")[0] == "dwarf"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"text\n", b"\x7fELF" + bytes(100)])
def test_a_damaged_file_is_reported(root, content):
    place = root / PLACES[1].format(release=RELEASE)
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    with pytest.raises(ReadError, match="cannot be read: "):
        read_running(root, "dwarf")
    assert read_running(root, None)[0] == "btf"


def test_other_raw_btf_has_no_dwarf(root, tmp_path):
    (tmp_path / "other.btf").write_bytes(blob(LONG + ring_of(1)))
    with pytest.raises(ReadError, match="is raw BTF, which has no DWARF"):
        read(str(tmp_path / "other.btf"), RING, ReadOptions(reader="dwarf"))
