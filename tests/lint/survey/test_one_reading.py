"""A survey reads an input once, with what proves alignments; its rows are those of two readings."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint.lint import query
from layoutlint.lint.options import Options
from layoutlint.lint.survey.run import plan_of
from layoutlint.lint.survey.store import create_store
from layoutlint.lint.survey.task import Assignment, survey_input
from layoutlint.model.record import replace
from layoutlint.readers import dwarf
from tests.command.test_survey import TABLES, rows
from tests.harness.tools import need

pytest.importorskip("pyarrow")

SOURCE = """
struct open { long values[8]; } variable;
struct closed { long values[8]; };
struct use { char first; struct closed inner; } use;
struct deep { struct use use; int last; } deep;
typedef union { long number; struct open open; } named; named of_typedef;
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.o"
    words = [need("gcc"), "-g", "-gdwarf-4", "-c", "-x", "c", "-o", path, "-"]
    subprocess.run(words, input=SOURCE.encode(), check=True)
    return path


def survey(program, store, names: tuple[str, ...]) -> tuple[object, int]:
    """The rows of a survey of one input, and how often its DWARF was read."""
    read = dwarf.read_elf
    with pytest.MonkeyPatch.context() as patch:
        readings = []
        patch.setattr(dwarf, "read_elf", lambda *arguments: readings.append(1) or read(*arguments))
        plan = plan_of((), (), Options(surveyed=names))
        survey_input(Assignment(plan, "0" * 32, str(program), "/", create_store(str(store)), None, None, None))
    return {table: rows(store, table) for table in TABLES}, len(readings)


@pytest.mark.parametrize("names", [("open",), ("closed",), ("open", "closed", "named"), ("missing",)])
def test_rows(program, tmp_path, names):
    once, count = survey(program, tmp_path / "once", names)
    assert count == 1
    request = query.with_surveyed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "with_surveyed", lambda *arguments: replace(request(*arguments), with_uses=False, misplaced=None))
        twice, count = survey(program, tmp_path / "twice", names)
    assert (once, count) == (twice, 1 if names == ("missing",) else 2)
