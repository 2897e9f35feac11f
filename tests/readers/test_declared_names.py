"""What a name is that no struct has: in compiled files, sources, folders, and for each command that is given a struct."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.readers.declared_names import what_is
from tests.harness.command import run
from tests.harness.tools import need

TEXT = """
enum color { RED = 1, GREEN };
typedef unsigned long word_t;
typedef int (*handler_t)(word_t, int);
struct ring { unsigned long head; struct { int deep; } inner; unsigned tail : 3; };
union both { int one; char other; };
struct ring rings[2];
enum color paint; word_t word; handler_t handler; union both both_of;
static int twice(int parameter) { int local = parameter; return local + parameter; }
int compute(int x) { return twice(x); }
"""
WAYS = {
    "gcc-dwarf3": "gcc -gdwarf-3 -gstrict-dwarf", "gcc-dwarf5": "gcc -gdwarf-5", "gcc-O2": "gcc -O2 -g", "dwarf64": "gcc -g -gdwarf64",
    "clang-dwarf5": "clang -gdwarf-5", "btf": "gcc -gbtf",
}  # fmt: skip
THINGS = {
    "color": "an enum", "RED": "an enumerator", "word_t": "a typedef of `long unsigned int`", "compute": "a function",
    "rings": "a variable", "head": "a field of ring", "tail": "a field of ring", "one": "a field of both", "deep": "a field",
    "handler_t": "a typedef of `int (*)(word_t, int)`", "int": "a number type", "char": "a number type", "ring": None, "inner": "a field of ring", "local": None, "parameter": None, "missing": None, "": None, "*": None,
}  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text, compiled."""
    command = shlex.split(WAYS[request.param])
    need(*command)
    folder = tmp_path_factory.mktemp("things")
    (folder / "a.c").write_text(TEXT)
    subprocess.run([*command, "-c", "a.c", "-o", "a.o"], cwd=folder, check=True)
    return folder / "a.o"


@pytest.mark.parametrize(("name", "thing"), THINGS.items(), ids=lambda value: value or "nothing")
def test_what_a_name_is_in_compiled_files(name, thing, compiled):
    assert what_is(str(compiled), name, ReadOptions()) == thing


SAID = ": `compute` is a function"
COMMANDS = [
    "show INPUT compute", "containers INPUT compute", "suggest INPUT compute", "measure INPUT compute --read head --write tail",
    "snapshot INPUT --struct compute", "history INPUT INPUT compute", "check INPUT --rules rules.toml",
    "check INPUT --rules rules.toml --struct compute", "rules asserts --in INPUT compute", "evidence report.txt --in INPUT --struct compute",
]  # fmt: skip
RULE = '[[rule]]\nid = "a"\nkind = "size"\nmax = 1\nwhy = "w"\nstruct = "compute"\n'


@pytest.mark.one_in(3)
@pytest.mark.parametrize("given", ["a.c", "a.o", "."])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_it(command, given, tmp_path):
    if given == "." and command.startswith("rules asserts"):
        given = "a.c"
    (tmp_path / "rules.toml").write_text(RULE)
    (tmp_path / "report.txt").write_text("no report\n")
    (tmp_path / "a.c").write_text(TEXT)
    subprocess.run([need("gcc"), "-g", "-c", "a.c"], cwd=tmp_path, check=True)
    done = run(*shlex.split(command.replace("INPUT", given)), cwd=tmp_path)
    assert SAID in " ".join((done.stdout + done.stderr).split()), done.stdout + done.stderr
    assert done.returncode == 3


@pytest.mark.parametrize("name", ["compute", "color", "LIMIT", "word_t"])
def test_another_file_of_the_project_is_named(name, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src/other.h").write_text(f"#define LIMIT 3\n{TEXT}")
    (tmp_path / "ring.h").write_text("struct ring { int limit; };\n")
    done = run("show", "ring.h", name, cwd=tmp_path)
    assert f"ring.h: no struct {name}: `{name}` is a" in done.stderr
    assert done.stderr.endswith(" (src/other.h)\n")


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"\x9f\xeb\1", b"\0"])
def test_damage_is_no_error(damage, tmp_path):
    (tmp_path / "a").write_bytes(damage)
    assert what_is(str(tmp_path / "a"), "name", ReadOptions()) is None
