"""Annotations in every input: what attributes of the shipped header become, and how each reader finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.compilers.variants import compilers
from tests.harness.command import ROOT
from tests.harness.tools import need

SOURCE = ROOT / "fixtures" / "annotations" / "everywhere.c"
HEADER = f"-I{ROOT / 'layoutlint' / 'include'}"

AT_FIELDS = {
    "counter": [
        ("hits", "hot_write, contended", 7),
        ("rate", "hot_read", 10),
        ("last", "cold", 12),
        ("slots.id", "read_mostly", 17),
        ("limit", "hot_read", 19),
    ],
    "untagged_t": [("quota", "hot_read", 23)],
}
"""By struct: path, text, line. `outer` embeds counter, and has none of its own."""
EVERYWHERE = {**AT_FIELDS, "counter": [("", "separate(hits, limit)", 6), *AT_FIELDS["counter"]]}

WAYS = [
    # what makes the input, the reader asked for, what is found, whether lines are known
    (("clang", "-g", "-c"), "dwarf", EVERYWHERE, True),
    (("clang", "-gdwarf-4", "-c"), "dwarf", EVERYWHERE, True),
    (("clang", "-g", "-target", "bpf", "-c"), "btf", EVERYWHERE, False),
    (("clang", "-g", "-c", "pahole -J"), "btf", EVERYWHERE, False),
    (("gcc-16", "-g", "-c"), "dwarf", AT_FIELDS, True),
    (("gcc-16", "-gbtf", "-c"), "btf", AT_FIELDS, False),
    (("gcc", "-g", "-c"), "dwarf", {}, True),
]


def make(way: tuple[str, ...], path: Path) -> str:
    """The file that a compiler makes of the fixture; skips where there is none."""
    compiler, *options = way
    after = options.pop() if options[-1].startswith("pahole") else None
    try:
        command = compilers.command(compiler) if compiler == "gcc-16" else (compiler,)
    except compilers.kernels.Unavailable as error:
        pytest.skip(str(error))
    if after:
        need("pahole")
    subprocess.run([*command, HEADER, *options, str(SOURCE), "-o", str(path)], check=True)
    if after:
        subprocess.run([*after.split(), str(path)], check=True)
    return str(path)


def annotations_of(structs: tuple[Struct, ...], with_lines: bool) -> dict[str, list[tuple[str, str, int | None]]]:
    return {
        struct.name: [
            (a.path, a.text, a.source.line if with_lines and a.source else None) for a in struct.annotations
        ]
        for struct in structs
    }


def lineless(found: dict) -> dict:
    return {name: [(path, text, None) for path, text, _ in message] for name, message in found.items()}


@pytest.mark.parametrize(("way", "reader", "found", "has_lines"), WAYS, ids=[" ".join(way[0]) for way in WAYS])
def test_what_compilers_keep(way, reader, found, has_lines, tmp_path):
    path = make(way, tmp_path / "made.o")
    reading = dispatch.read(path, Wanted(annotated=True), ReadOptions(reader=reader))
    assert reading.reader == reader
    assert annotations_of(reading.structs, has_lines) == (found if has_lines else lineless(found))


def test_what_libclang_shows():
    reading = dispatch.read(str(SOURCE), Wanted(annotated=True), ReadOptions(flags=(HEADER,)))
    assert annotations_of(reading.structs, True) == EVERYWHERE
    assert all(a.source.file.endswith("everywhere.c") for s in reading.structs for a in s.annotations)


@pytest.mark.parametrize("reader", ["clang", "dwarf", "btf"])
def test_they_come_with_what_is_asked_for_by_name(reader, tmp_path):
    path = str(SOURCE) if reader == "clang" else make(("clang", "-g", "-c", "pahole -J"), tmp_path / "made.o")
    flags = (HEADER,) if reader == "clang" else ()
    options = ReadOptions(flags=flags, reader=None if reader == "clang" else reader)
    reading = dispatch.read(path, Wanted(frozenset({"outer"}), annotated=True), options)
    assert set(annotations_of(reading.structs, False)) == {"outer", "counter", "untagged_t"}
    reading = dispatch.read(path, Wanted(frozenset({"outer"})), options)
    assert set(annotations_of(reading.structs, False)) == {"outer"}
