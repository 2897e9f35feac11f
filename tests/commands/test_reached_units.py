"""`check DATABASE --since REV` parses the units that a change can reach, and finds what two whole runs find."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git, write

RULES = "".join(
    f'[[rule]]\nid = "{name}-apart"\nstruct = "{name}"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n' for name in ("one", "two", "three", "four")
)
APART, SHARED = (f"struct %s {{ long a; {between} long b; }};\n" for between in ("char pad[64];", ""))
UNITS = {"one.c": '#include "one.h"\n', "two.c": '#include <deep/two.h>\n', "three.c": '#define WHICH "three.h"\n#include WHICH\n', "asks.c": "#if __has_include(<sizes.h>)\n#define PAD 64\n#else\n#define PAD 8\n#endif\nstruct four { long a; char pad[PAD]; long b; };\n", "main.c": '#include "one.h"\n#include "deep/two.h"\n'}
DATABASE = json.dumps([{"directory": ".", "file": name, "arguments": ["cc", "-I.", "-Ifirst", *(["-imacros", "front.h"] if name == "two.c" else []), "-c", name]} for name in (*UNITS, "other.cc")])
BASE: dict[str, str | None] = {
    "layoutlint.toml": RULES, "one.h": '#include "pad.h"\n' + APART % "one", "deep/two.h": SHARED % "two", "three.h": APART % "three", "pad.h": "#define PAD 64\n",
    "compile_commands.json": DATABASE, "README": "text\n", "first/.keep": "", "sizes.h": "", "front.h": "", "other.cc": "class other;\n", **UNITS,
}  # fmt: skip
CHANGES: dict[str, tuple[dict[str, str | None], int | None]] = {
    # the change; the number of units that are parsed, with the one that includes what a macro names; None for all
    "no C file": ({"README": "other\n"}, 1), "a header of two units": ({"one.h": SHARED % "one"}, 3), "a deep header": ({"deep/two.h": APART % "two"}, 3),
    "behind a header": ({"pad.h": "#define PAD 8\n"}, 3), "a unit": ({"two.c": "#define long char\n#include <deep/two.h>\n"}, 2),
    "behind a macro": ({"three.h": SHARED % "three"}, 1), "another macro": ({"three.c": '#define WHICH "one.h"\n#include WHICH\n'}, None),
    "a new header before another": ({"first/deep/two.h": APART % "two"}, 3), "a header goes": ({"one.h": None, "one.c": SHARED % "one", "main.c": ""}, 3),
    "a struct moves": ({"one.h": '#include "three.h"\n' + SHARED % "one"}, 3), "the reason of a rule": ({"layoutlint.toml": RULES.replace('"w"', '"v"')}, 1),
    "new rules": ({"layoutlint.toml": RULES + RULES.replace("-apart", "-too")}, None), "a struct is lost": ({"deep/two.h": APART % "other"}, None),
    "the database": ({"compile_commands.json": DATABASE.replace("main.c", "one.c")}, None), "every unit": ({name: f"{text}int v;\n" for name, text in UNITS.items()}, 5),
    "what __has_include asks for": ({"sizes.h": None}, 2), "a digraph": ({"one.h": '%:include "pad.h"\n' + SHARED % "one"}, 3),
    "a unit in another language": ({"other.cc": "class another;\n"}, 2), "a header in front": ({"front.h": "#define PAD 8\n"}, 2),
    "a struct that others define": ({"deep/two.h": "int none;\n", "one.c": '#include "one.h"\n' + APART % "two"}, 4),
}  # fmt: skip

LOSSES = ("another macro", "a struct is lost")


def outcomes(folder: Path) -> set[tuple[str, str, str]]:
    """What a whole run finds: rules, structs, outcomes."""
    report = json.loads(run("check", "compile_commands.json", "--format", "json", cwd=folder).stdout)
    return {(each["rule"], each["struct"], each["outcome"]) for each in report["findings"]}


@pytest.fixture(scope="module")
def committed(tmp_path_factory) -> tuple[Path, set[tuple[str, str, str]]]:
    """The project before each change, and what a whole run finds in it."""
    folder = tmp_path_factory.mktemp("committed") / "project"
    folder.mkdir()
    commit(folder, "before", BASE)
    return folder, outcomes(folder)


@pytest.fixture(scope="module")
def changed(request, committed, tmp_path_factory) -> tuple[Path, set[tuple[str, str, str]]]:
    """The project after a change, and what a whole run finds anew."""
    folder = tmp_path_factory.mktemp("changed") / "project"
    shutil.copytree(committed[0], folder)
    write(folder, CHANGES[request.param][0])
    git(folder, "add", "-A")
    return folder, {each for each in outcomes(folder) - committed[1] if each[2] not in ("kept", "unknown")}


@pytest.mark.parametrize("form", [("--since", "HEAD"), ("--staged",)])
@pytest.mark.parametrize(("changed", "name"), [(name, name) for name in CHANGES], indirect=["changed"], ids=CHANGES)
def test_findings_are_those_of_two_whole_runs(changed, name, form):
    folder, new = changed
    units = CHANGES[name][1]
    done = run("check", "compile_commands.json", *form, "--format", "json", cwd=folder)
    report = json.loads(done.stdout)
    found = {(each["rule"], each["struct"], each["outcome"]) for each in report["findings"] if each["state"] in ("new", "worse")}
    notes = [note for each in report["inputs"] for note in each["notes"] if "can read what the change touches" in note]
    assert (found, [note.partition(" ")[0] for note in notes]) == (new, [] if units is None else [str(units)]), done.stdout
    assert done.returncode == (1 if new else 3 if name in LOSSES else 0)


@pytest.mark.parametrize("words", [("--all-findings",), ("--pack", "generic"), ("--unused",), ("--comments",)])
def test_all_units_are_parsed_for_findings_of_before(tmp_path, words):
    commit(tmp_path, "before", BASE)
    write(tmp_path, {"pad.h": "#define PAD 8\n"})
    git(tmp_path, "add", "-A")
    done = run("check", "compile_commands.json", "--since", "HEAD", *words, cwd=tmp_path)
    assert "can read what the change touches" not in done.stdout


def test_a_struct_that_no_unit_defines_is_missing_still(tmp_path):
    commit(tmp_path, "before", {**BASE, "layoutlint.toml": RULES.replace('struct = "three"', 'struct = "thre"')})
    write(tmp_path, {"pad.h": "#define PAD 8\n"})
    git(tmp_path, "add", "-A")
    done = run("check", "compile_commands.json", "--since", "HEAD", cwd=tmp_path)
    assert "struct thre is in none of the inputs" in done.stdout
