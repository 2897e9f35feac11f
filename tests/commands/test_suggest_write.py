"""`suggest --write` changes files of the input's tree, whatever a repository lets its text include."""

from __future__ import annotations

import json

import pytest

from tests.commands.test_suggest import RING, RULES
from tests.harness.command import run
from tests.harness.repository import git, write
from tests.harness.tools import NEEDS_SOLVER

pytestmark = NEEDS_SOLVER

UNIT = '#include "{}"\nstruct ring r;\n'


def database(*flags: str) -> str:
    return json.dumps([{"directory": ".", "file": "u.c", "arguments": ["cc", *flags, "-c", "u.c"]}])


TREES = {
    # files and links (`-> target`) of the project, input, whether the header is in its tree
    "a linked header": ({"ring.h": "-> ../other/ring.h"}, "ring.h", False),
    "a header in a linked folder": ({"src": "-> ../other"}, "src/ring.h", False),
    "a header below a linked folder": ({"src": "-> ../other"}, "src/sub/ring.h", False),
    "a header by its absolute path": ({"u.c": UNIT.format("HERE/../other/ring.h")}, "u.c", False),
    "a header by a path that leads out": ({"u.c": UNIT.format("../other/ring.h")}, "u.c", False),
    "an include folder": ({"u.c": UNIT.format("ring.h"), "compile_flags.txt": "-IHERE/../other\n"}, "u.c", False),
    "a folder of system headers": (
        {"u.c": UNIT.format("ring.h"), "compile_commands.json": database("-isystem", "HERE/../other")}, "compile_commands.json", False
    ),
    "a link in the tree": ({"ring.h": "-> src/ring.h", "src/ring.h": RING}, "ring.h", True),
    "a folder beside": ({"u.c": UNIT.format("ring.h"), "compile_flags.txt": "-Iinclude\n", "include/ring.h": RING}, "u.c", True),
    "a database below": (
        {"u.c": UNIT.format("ring.h"), "ring.h": RING, "build/compile_commands.json": database().replace('"."', '".."')},
        "build/compile_commands.json", True,
    ),
    "a folder": ({"src/ring.h": RING}, "src", True),
}  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize("has_repository", [True, False], ids=["repository", "folder"])
@pytest.mark.parametrize(("files", "path", "is_inside"), TREES.values(), ids=TREES)
def test_files_outside_of_the_tree_stay(tmp_path, files, path, is_inside, has_repository):
    project, other = tmp_path / "project", tmp_path / "other"
    write(other, {"ring.h": RING, "sub/ring.h": RING})
    project.mkdir()
    if has_repository:
        git(project, "init", "-q")
        git(other, "init", "-q")
    for name, text in ({"rules.toml": RULES} | files).items():
        text = text.replace("HERE", str(project))
        if text.startswith("-> "):
            (project / name).symlink_to(text[3:])
        else:
            write(project, {name: text})
    done = run("suggest", path, "ring", "--rules", "rules.toml", "--no-packs", "--write", cwd=project)
    outside = {file: file.read_text() for file in other.rglob("ring.h")}
    assert set(outside.values()) == {RING}
    inside = [file for file in project.rglob("ring.h") if file.read_text() != RING]
    assert (done.returncode, bool(inside)) == ((0, True) if is_inside else (2, False)), done.stderr
    assert is_inside or ("cannot write " in done.stderr and "ring.h: it is not below " in done.stderr)


def test_an_input_elsewhere_is_its_own_tree(tmp_path):
    write(tmp_path, {"other/ring.h": RING, "project/rules.toml": RULES})
    words = ("suggest", "../other/ring.h", "ring", "--rules", "rules.toml", "--no-packs", "--write")
    assert run(*words, cwd=tmp_path / "project").returncode == 0
    assert (tmp_path / "other/ring.h").read_text() != RING
