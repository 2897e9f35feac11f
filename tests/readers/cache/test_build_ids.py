"""Readings that surveys find by build id, if their stores say that build ids identify the content."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.commands.test_survey import rows, survey
from tests.harness.command import run
from tests.harness.tools import need
from tests.readers.archives import made
from tests.readers.downloads.servers import content, serve

pytest.importorskip("pyarrow")

ID = "00112233445566778899aabbccddeeff00112233"
C = "struct ring {{ long head; char name[{size}]; struct {{ int a; }} inner; }} r; struct use {{ char c; struct ring ring; }} u;\n"
STRUCT = ("--struct", "ring")


FORGED = C.replace("long head; char name[{size}];", "char name[{size}]; long head;")
"""Another layout, whose sections have the same sizes."""


def link(path: Path, size: int = 8, *flags: str, build_id: str = ID, source: str = C) -> Path:
    path.parent.mkdir(exist_ok=True)
    words = [need("gcc"), "-g", *flags, "-shared", f"-Wl,--build-id=0x{build_id}", "-x", "c", "-o", path, "-"]
    subprocess.run(words, input=source.format(size=size).encode(), check=True, cwd=path.parent)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with a library; the cache is beside it, because none is used inside the working folder."""
    return link(tmp_path / "work" / "one.so").parent


def look(folder: Path, *words: str, store: str = "store", options: tuple[str, ...] = ("--by-build-id",), **environment: str):
    """What a survey finds in the cache, and what not; the size of the struct."""
    (folder / store).is_dir() and shutil.rmtree(folder / store)
    _, found = survey(folder, *words, store=store, rules=(*STRUCT, *options), XDG_CACHE_HOME=str(folder.parent), **environment)
    sizes = {row["size"] for row in rows(folder / store, "layouts")}
    return (found["cost"]["cache_hits"], found["cost"]["cache_misses"]), sizes


def copy(folder: Path) -> str:
    shutil.copy(folder / "one.so", folder / "copy.so")
    return "copy.so"


def package(folder: Path) -> str:
    (folder / "one.deb").write_bytes(made.deb((("usr/lib/one.so", (folder / "one.so").read_bytes()),)))
    return "one.deb"


def tarball_of_tarballs(folder: Path) -> str:
    inner = made.tar((("lib/one.so", (folder / "one.so").read_bytes()),), "gz")
    (folder / "outer.tar").write_bytes(made.tar((("inner.tar.gz", inner),)))
    return "outer.tar"


def beside_another_file(folder: Path) -> str:
    other = link(folder / "other" / "other.so", 16, build_id=ID[::-1]).read_bytes()
    (folder / "two.tar").write_bytes(made.tar((("one.so", (folder / "one.so").read_bytes()), ("other.so", other))))
    return "two.tar"


def with_a_debug_file(folder: Path) -> str:
    place = folder / "debug/.build-id" / ID[:2]
    place.mkdir(parents=True)
    shutil.copy(folder / "one.so", place / f"{ID[2:]}.debug")
    subprocess.run([need("strip"), "-o", folder / "stripped.so", folder / "one.so"], check=True)
    return "stripped.so"


PLACES: dict[Callable[[Path], str], tuple[int, int]] = {
    copy: (1, 0), package: (1, 0), tarball_of_tarballs: (1, 0), with_a_debug_file: (1, 0),
    beside_another_file: (1, 1),
}  # fmt: skip
AGAIN = {beside_another_file: [(1, 0), (2, 0)]}
"""The hits of the next look, if not one: the reading of the archive, or of both files while it is too young for its state."""


@pytest.mark.one_in(6)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_the_same_file_elsewhere(folder, place):
    name = place(folder)
    hits = PLACES[place]
    debug = ("--debug-dir", "debug")
    assert look(folder, "one.so", options=("--by-build-id", *debug)) == ((0, 1), {24})
    found, sizes = look(folder, name, options=("--by-build-id", *debug))
    assert (found, 24 in sizes) == (hits, True)
    again = look(folder, name, options=("--by-build-id", *debug))[0]
    assert again in AGAIN.get(place, [(1, 0)]), "the archive, or the file, did not change"


@pytest.mark.exhaustive
def test_an_archive_that_was_written_again(folder):
    name = package(folder)
    assert look(folder, name)[0] == (0, 1)
    os.utime(folder / name, (1, 1))
    assert look(folder, name)[0] == (1, 0)


def test_a_download(folder):
    answers = {f"/buildid/{ID}/debuginfo": content((folder / "one.so").read_bytes())}
    look(folder, "one.so")
    with serve(answers) as server:
        assert look(folder, f"build-id:{ID}", options=("--by-build-id", "--debuginfod"), DEBUGINFOD_URLS=server.url) == ((1, 0), {24})


def test_another_folder(folder):
    """Entries by file state hold in one working folder; these in any."""
    look(folder, "one.so")
    (folder.parent / "elsewhere").mkdir()
    shutil.copy(folder / "one.so", folder.parent / "elsewhere/two.so")
    assert look(folder.parent / "elsewhere", "two.so") == ((1, 0), {24})


def test_a_forged_build_id_deceives_only_those_who_trust_it(folder):
    """A run without the option reads the content, also right after one with it."""

    def first_field(options: tuple[str, ...]) -> tuple[tuple[int, int], str]:
        found, _ = look(folder, "one.so", options=options)
        (row,) = rows(folder / "store", "layouts")
        return found, row["fields"][0]["path"]

    link(folder / "forged.so", source=FORGED)
    assert look(folder, "forged.so") == ((0, 1), {24})
    assert first_field(("--by-build-id",)) == ((1, 0), "name"), "the user said that build ids identify the content"
    assert first_field(()) == ((0, 1), "head")
    shown = run("show", "one.so", "ring", cwd=folder, XDG_CACHE_HOME=str(folder.parent)).stdout
    assert shown.index("long int head") < shown.index("char name[8]")


@pytest.mark.exhaustive
def test_what_depends_on_other_files_is_not_kept(folder):
    split = link(folder / "split.so", 8, "-gsplit-dwarf", build_id=ID[::-1])
    assert look(folder, "split.so") == ((0, 1), {24})
    shutil.copy(split, folder / "copy.so")
    assert look(folder, "copy.so")[0] == (0, 1)


@pytest.mark.exhaustive
def test_damage_is_not_kept(folder):
    """Of a damaged copy and the whole file, each has its own rows."""
    whole = (folder / "one.so").read_bytes()
    sections = subprocess.run([need("readelf"), "-SW", folder / "one.so"], capture_output=True, text=True, check=True).stdout
    offset = int(next(line for line in sections.splitlines() if " .debug_info " in line).split(".debug_info")[1].split()[2], 16)
    (folder / "damaged.so").write_bytes(whole[: offset + 20] + b"\xff" * 8 + whole[offset + 28 :])
    look(folder, "damaged.so")
    assert look(folder, "one.so") == ((0, 1), {24})


@pytest.mark.exhaustive
def test_other_sections_are_another_file(folder):
    subprocess.run([need("objcopy"), "--remove-section=.debug_line", folder / "one.so", folder / "less.so"], check=True)
    look(folder, "one.so")
    assert look(folder, "less.so")[0] == (0, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [(), ("--by-build-id",)])
def test_workers_share_the_cache(folder, options):
    """Each of two workers finds what the other one read, by file state too."""
    names = ["one.so", *(link(folder / f"{number}.so", 8 * number, build_id=f"{number:040x}").name for number in range(2, 6))]
    workers = ("--workers", "2")
    assert look(folder, *names, options=(*options, *workers))[0] == (0, 5)
    assert look(folder, *reversed(names), options=(*options, *workers))[0] == (5, 0)


@pytest.mark.parametrize("wanted", [Wanted(names=frozenset(("ring",))), Wanted(everything=True), Wanted(patterns=("u*",))])
def test_the_reading_is_that_of_the_file(folder, monkeypatch, wanted):
    monkeypatch.setattr("layoutlint.readers.cache.keys._YOUNG", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent))
    copy(folder)
    trusting = ReadOptions(cache=True, trusts_build_ids=True, finds_omissions=True)
    dispatch.read(str(folder / "one.so"), wanted, trusting)
    recalled, read = (dispatch.read(str(folder / "copy.so"), wanted, options) for options in (trusting, replace(trusting, cache=False)))
    assert recalled == read
