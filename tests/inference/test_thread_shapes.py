"""Programs in which threads share fields or lines of arrays are noted, their harmless twins are not."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from layoutlint.inference.analysis import analyse
from layoutlint.inference.infer import infer
from layoutlint.model.reading import ReadOptions
from layoutlint.sources import bodies
from tests.harness import tools
from tests.harness.command import run
from tests.inference.thread_shapes import ELEMENTS, FIELDS, HEAD, Shape, rename_all, surround

pytestmark = pytest.mark.usefixtures("whole_runs")

WRITTEN = re.compile(r"`(\w+)\[[^`]*` is (?:written|changed)")
"""What the message on an array says of the code."""


def variations(text: str) -> list[tuple[str, dict[str, str]]]:
    """The program, with other names, and among other functions."""
    return [(text, {}), rename_all(text, len(text)), (surround(text, len(text)), {})]


def find_fields(tmp_path, text: str) -> set[tuple[str, str, str]]:
    (tmp_path / "t.c").write_text(HEAD + text)
    read = bodies.read((str(tmp_path / "t.c"),), ReadOptions(flags=("-fopenmp",), cache=False, jobs=1))
    assert read.unread == ()
    notes = infer(analyse(read, ()), read.structs, ()).notes
    return {(note.struct.name, note.writer.part.path, pair.reader.part.path) for note in notes for pair in note.pairs}


def find_arrays(tmp_path, text: str) -> set[str]:
    (tmp_path / "t.c").write_text(HEAD + text)
    done = run("check", "t.c", "--pack", "generic", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)["findings"]
    return {name for each in findings for name in WRITTEN.findall(each["message"]) or [each["struct"]]}


@pytest.mark.parametrize("shape", FIELDS, ids=lambda shape: shape.name)
def test_fields_that_threads_share(tmp_path, shape: Shape):
    for text, names in variations(shape.text):
        expected = tuple(names.get(name, name) for name in ("shared", "hits", "limit"))
        assert expected in find_fields(tmp_path, text), text
    for text, _ in variations(shape.twin):
        assert find_fields(tmp_path, text) == set(), text


@pytest.mark.parametrize("shape", ELEMENTS, ids=lambda shape: shape.name)
def test_elements_that_threads_write(tmp_path, shape: Shape):
    for text, names in variations(shape.text):
        assert find_arrays(tmp_path, text) == {names.get("used", "used")}, text
    for text, _ in variations(shape.twin):
        assert find_arrays(tmp_path, text) == set(), text


@pytest.mark.parametrize("shape", [*FIELDS, *ELEMENTS], ids=lambda shape: shape.name)
def test_the_programs_compile(tmp_path, shape: Shape):
    for text in (shape.text, shape.twin):
        for variant, _ in variations(text):
            (tmp_path / "t.c").write_text(HEAD + variant)
            subprocess.run([tools.need("gcc"), "-std=gnu11", "-fopenmp", "-w", "-fsyntax-only", "t.c"], cwd=tmp_path, check=True)
