"""A survey reads an input once, with what proves alignments; its rows are those of two readings."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.survey.run import plan_of
from layoutlint.commands.survey.task import Assignment, Survey, survey_input
from layoutlint.model.record import replace
from layoutlint.readers import dwarf
from layoutlint.surveys.store import create_store
from tests.commands.test_survey import TABLES, rows
from tests.harness.run_options import run_options
from tests.harness.tools import need
from tests.readers.archives import made

pytest.importorskip("pyarrow")

SOURCE = """
struct open { long values[8]; } variable;
struct closed { long values[8]; };
struct use { char first; struct closed inner; } use;
struct deep { struct use use; int last; } deep;
typedef union { long number; struct open open; } named; named of_typedef;
typedef struct closed closed_t; closed_t of_tag;
typedef struct closed __attribute__((aligned(128))) closed_aligned; closed_aligned aligned;
struct declared; struct declared *pointer;
"""
MANY = SOURCE + "".join(f"struct many_{number} {{ long value; struct open open; }} many_{number};\n" for number in range(510))
"""More structs than are looked up by name."""


def compile_program(folder: Path, source: str) -> Path:
    path = folder / "program.o"
    words = [need("gcc"), "-g", "-gdwarf-4", "-c", "-x", "c", "-o", path, "-"]
    subprocess.run(words, input=source.encode(), check=True)
    return path


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    """Tasks go to the folder of their inputs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return compile_program(tmp_path_factory.mktemp("program"), SOURCE)


def survey(program, store, names: tuple[str, ...]) -> tuple[object, int]:
    """The rows of a survey of one input, and how often its DWARF was read."""
    read = dwarf.read_elf
    with pytest.MonkeyPatch.context() as patch:
        readings = []
        patch.setattr(dwarf, "read_elf", lambda *arguments: readings.append(1) or read(*arguments))
        plan = plan_of((), (), run_options(mode=Survey(names)))
        survey_input(Assignment(plan, "0" * 32, str(program), "/", create_store(str(store)), None, None, None))
    return {table: rows(store, table) for table in TABLES}, len(readings)


def compare(path: Path, folder: Path, names: tuple[str, ...]) -> tuple[int, int]:
    """How often an input was read in one request, and in two; the rows are the same."""
    once, count = survey(path, folder / "once", names)
    request = Survey.request
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Survey, "request", lambda *arguments: replace(request(*arguments), misplaced=None))
        twice, count_of_two = survey(path, folder / "twice", names)
    assert once == twice
    return count, count_of_two


def test_layouts_are_told_apart_by_64_bits(program, tmp_path):
    """Equal layouts have equal digests; stores that other versions wrote are compared with them."""
    structs, _ = survey(program, tmp_path / "store", ("open", "closed", "named"))
    digests = [row["layout"] for found in structs.values() for row in found if "layout" in row]
    assert digests
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in digests)


NAMES = [
    ("open",), ("closed",), ("open", "closed", "named"), ("o*",), ("*e*",), ("closed_*",), ("n?med", "open"), ("declared*",), ("use", "[co]*"),
]  # fmt: skip


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_rows(program, tmp_path, names):
    assert compare(program, tmp_path, names) == (1, 1 if names in (("declared*",), ("closed_*",)) else 2)


@pytest.mark.parametrize("names", [("missing",), ("missing*",)])
def test_nothing_is_read_again_for_nothing(program, tmp_path, names):
    assert compare(program, tmp_path, names) == (1, 1)


def test_more_names_than_are_looked_up(tmp_path):
    assert compare(compile_program(tmp_path, MANY), tmp_path, ("many_*", "open")) == (1, 2)


@pytest.mark.parametrize("names", [("open",), ("o*", "closed")])
def test_members_are_read_once(program, tmp_path, names):
    """The variables of one exclude nothing for a definition that others have as well."""
    members = (("one.o", program.read_bytes()), ("two.o", compile_program(tmp_path, SOURCE + "struct user { struct open open; } user;").read_bytes()))
    (tmp_path / "two.a").write_bytes(made.ar(members))
    assert compare(tmp_path / "two.a", tmp_path, names) == (2, 2)


def test_damage_does_not_hide_names(program, tmp_path):
    """A name that cannot be read may match a pattern: then it is as in two readings, with the reason."""
    content = bytearray(program.read_bytes())
    place = content.index(b"closed\0")
    content[place : place + 4] = b"\xff\xff\xff\xff"
    (tmp_path / "damaged.o").write_bytes(content)
    assert compare(tmp_path / "damaged.o", tmp_path, ("[!o]*",))[0] <= 2
