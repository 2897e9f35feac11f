"""The files that define structs with rules: in a kernel tree, and in any other repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.definers import kernel_definers, repository_definers
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.kernel.tree import Tree

RULES = """
[struct.sock]
header = "net/sock.h"
[struct.gone]
header = "net/gone.h"
[struct.noted]
annotated = true
""" + "".join(
    f'[[rule]]\nid = "{name.rstrip("_*")}-size"\nstruct = "{name}"\nkind = "size"\nmax = 64\nwhy = "w"\n'
    for name in ("sock", "gone", "task", "driver", "unit_*", "nowhere")
)  # fmt: skip
ARRAYS = """
[[rule]]
id = "shards"
kind = "stride"
variables = ["shards"]
why = "w"
[[rule]]
id = "slots"
kind = "stride"
variables = ["@type:struct slot"]
why = "w"
[[rule]]
id = "pools"
kind = "stride"
variables = ["pools"]
why = "w"
"""
SOURCES = {
    "include/net/sock.h": "struct sock { int a; };\nstruct other { int b; };\n",
    "include/linux/task.h": "struct task { int a; };\n",
    "include/uapi/unit.h": "struct unit_of_user { int a; };\n",
    "drivers/driver.c": "struct driver { int a; };\nstruct task { int copied; };\n",
    "drivers/local.h": "struct unit_here { int a; };\nstruct noted { int a; /* layoutlint: cold */ };\n",
    "drivers/edited.c": "struct driver { int b; };\nstruct group { int __cacheline_group_begin__x[0]; };\n",
    "drivers/arrays.c": "int shards[4];\n",
    "drivers/slots.c": "struct slot all[4];\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def rows(structs: dict[str, frozenset[str]], folder: Path) -> dict[str, set[str]]:
    return {os.path.relpath(path, folder): set(names) for path, names in structs.items()}


OWN = {"drivers/edited.c": {"driver"}}
KERNEL = {"include/net/sock.h": {"sock"}}
SHIPPED = [
    # whether the rules ship, the changed files, the structs by file
    (True, [], KERNEL),
    (True, ["drivers/edited.c"], KERNEL | OWN),
    (True, ["drivers/local.h"], KERNEL | {"drivers/local.h": {"unit_here", "noted"}}),
    # of a project's own rules, what has no header is searched in the folders of headers, then in all files
    (False, [], KERNEL | {
        "include/linux/task.h": {"task"}, "include/uapi/unit.h": {"unit_of_user"}, "drivers/driver.c": {"driver"},
        "drivers/edited.c": {"driver"}, "drivers/local.h": {"noted"},
    }),
    (False, ["drivers/edited.c"], KERNEL | OWN | {
        "include/linux/task.h": {"task"}, "include/uapi/unit.h": {"unit_of_user"}, "drivers/local.h": {"noted"},
    }),
]  # fmt: skip


@pytest.mark.parametrize(("ships", "changed", "expected"), SHIPPED)
def test_files_of_a_kernel(ships, changed, expected, folder):
    tree = Tree(str(folder), str(folder), frozenset(), "x86", "x86_64-linux-gnu", "")
    pack = rule_file.parse(RULES, "r.toml", shipped=ships)
    paths = [str(folder / name) for name in SOURCES]
    definers = kernel_definers(tree, paths, [str(folder / name) for name in (*changed, "Makefile")], frozenset(paths), (pack,))
    assert rows(definers.structs, folder) == expected
    assert definers.marked == {str(folder / name) for name in changed}
    assert definers.tree is tree
    assert (definers.variables, definers.unread) == ({}, ())


def test_files_of_a_repository(folder):
    paths = [str(folder / name) for name in SOURCES]
    packs = (rule_file.parse(RULES + ARRAYS, "r.toml"),)
    definers = repository_definers([*paths, str(folder / "notes.txt")], frozenset(paths), packs, ("-Iinclude", "-include", "drivers/local.h"))
    assert rows(definers.structs, folder) == {
        "include/net/sock.h": {"sock"}, "include/linux/task.h": {"task"}, "include/uapi/unit.h": {"unit_of_user"},
        "drivers/driver.c": {"driver", "task"}, "drivers/local.h": {"unit_here", "noted"}, "drivers/edited.c": {"driver"},
    }  # fmt: skip
    assert definers.marked == {str(folder / "drivers" / name) for name in ("local.h", "edited.c")}
    assert {os.path.relpath(path, folder): {rule.id for rule in rules} for path, rules in definers.variables.items()} == {
        "drivers/arrays.c": {"shards"}, "drivers/slots.c": {"slots"},
    }  # fmt: skip
    assert definers.inclusion.folders == (os.path.abspath("include"),)
    assert definers.inclusion.forced == (os.path.abspath("drivers/local.h"),)
    assert {name: [os.path.relpath(path, folder) for path in definers.files_of(name)] for name in ("sock", "unit_*", "d*er")} == {
        "sock": ["include/net/sock.h"], "unit_*": ["drivers/local.h", "include/uapi/unit.h"], "d*er": ["drivers/driver.c", "drivers/edited.c"],
    }  # fmt: skip


@pytest.mark.parametrize(("most", "reasons"), [
    (8, []), (7, ["the first 7 of 8 C files are searched for affected structs"]),
])  # fmt: skip
def test_most_files(most, reasons, folder, monkeypatch):
    monkeypatch.setattr(text_search, "MOST_FILES", most)
    paths = [str(folder / name) for name in SOURCES]
    definers = repository_definers(paths, frozenset(paths), (rule_file.parse(RULES, "r.toml"),), ())
    assert [each.reason for each in definers.unread] == reasons
    assert len(definers.structs) == (6 if most == 8 else 5)
