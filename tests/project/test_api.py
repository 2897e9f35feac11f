"""The Python interface: docs/scripting.md to the letter, and its errors."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import pytest

import layoutlint
from layoutlint import api
from tests.harness.command import ROOT, run

PAGE = ROOT / "docs/scripting.md"
EXAMPLE = ROOT / "docs/example"


def test_the_page(monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_every_public_name_is_there_and_documented():
    text = PAGE.read_text()
    documented = [name for name in layoutlint.__all__ if re.search(rf"(`|layoutlint\.){name}\b", text)]
    facts = {"Field", "Outcome", "Rule", "Source", "Struct", "Target"}  # types of attributes
    assert facts.isdisjoint(documented)
    assert {*documented, *facts} == set(layoutlint.__all__)
    assert all(getattr(layoutlint, name) is getattr(api, name) for name in layoutlint.__all__)
    assert set(layoutlint.__all__) <= set(dir(layoutlint))


def test_offsets_are_those_of_the_compiler(tmp_path, compiled_offsets):
    (ring,) = layoutlint.read(str(EXAMPLE / "ring.h"), ["ring"])
    assert {place.path: place.offset for place in ring.places} == compiled_offsets


@pytest.fixture
def compiled_offsets(tmp_path):
    """The offsets of the example's fields, in a program that prints them."""
    names = ["slots", "mask", "head", "cached_tail", "tail", "cached_head"]
    prints = "".join(f'printf("{name} %zu\\n", offsetof(struct ring, {name}));' for name in names)
    source = tmp_path / "offsets.c"
    source.write_text(
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{EXAMPLE}/ring.h"\nint main(void) {{ {prints} return 0; }}\n'
    )
    try:
        subprocess.run(["cc", "-o", tmp_path / "offsets", source], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C compiler that works: {error}")
    printed = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True).stdout
    return {name: int(offset) for name, offset in map(str.split, printed.splitlines())}


def test_the_report_is_that_of_the_command(monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    report = layoutlint.check(["ring.h"], ["layoutlint.toml"])
    command = run("check", "ring.h", "--format", "json", cwd=EXAMPLE)
    assert layoutlint.format_report(report) == command.stdout
    assert report.exit_status == command.returncode == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layoutlint.read("none.h"), layoutlint.ReadError, "^none.h: no such file"),
        (lambda: layoutlint.read("ring.h", ["rnig"]), layoutlint.ReadError, "^ring.h: no struct rnig"),
        (lambda: layoutlint.read("ring.h", "ring"), layoutlint.UsageError, "must be a list"),
        (lambda: layoutlint.check("ring.h"), layoutlint.UsageError, "must be a list"),
        (lambda: layoutlint.read(["ring.h"]), layoutlint.UsageError, r"`path`: \['ring.h'\] is neither a string nor a path"),  # type: ignore[arg-type]
        (lambda: layoutlint.read("ring.h", [None]), layoutlint.UsageError, "`structs`: None is neither"),  # type: ignore[list-item]
        (lambda: layoutlint.check([3]), layoutlint.UsageError, "`paths`: 3 is neither"),  # type: ignore[list-item]
        (lambda: layoutlint.check(["ring.h"]), layoutlint.UsageError, "no rules apply"),
        (lambda: layoutlint.check(["ring.h"], packs=["generics"]), layoutlint.UsageError, "did you mean `generic`"),
        (lambda: layoutlint.check(["ring.h"], ["none.toml"]), layoutlint.RuleFileError, "none.toml"),
        (lambda: layoutlint.placements(ring_layout(), line_size=48), layoutlint.UsageError, "48 is not a power of two"),
        (lambda: layoutlint.placements(several()), layoutlint.ReadError, "alignment of struct q is 1 or"),
        (lambda: layoutlint.format_report(kept_report(), "yaml"), layoutlint.UsageError, "known: checkstyle, concise"),
        (lambda: layoutlint.nothing, AttributeError, "no attribute 'nothing'"),
    ],
)
def test_errors(call, error, message, monkeypatch):
    monkeypatch.chdir(EXAMPLE)
    with pytest.raises(error, match=message):
        call()


def test_what_cannot_be_judged_is_left_out_only_if_asked_for(tmp_path):
    path = tmp_path / "a.h"
    path.write_text("struct a { int x; };\nstruct b { missing_t y; };\nstruct c;\n")
    with pytest.raises(layoutlint.ReadError, match="missing_t"):
        layoutlint.read(str(path))
    assert [layout.struct.name for layout in layoutlint.read(str(path), allow_unknown=True)] == ["a"]


def ring_layout() -> layoutlint.Layout:
    return layoutlint.read("ring.h", ["ring"])[0]


def kept_report() -> layoutlint.Report:
    return layoutlint.check(["ring-fixed.h"], ["layoutlint.toml"])


def several() -> layoutlint.Layout:
    """A struct of BTF, which states no alignment."""
    from layoutlint.model.structs import Struct, Unstated
    from tests.kinds.structs import WORDS

    return layoutlint.Layout(
        Struct("q", "struct", 128, None, WORDS.fields, WORDS.target, unstated=Unstated(~0 & (2 * Unstated.UNNAMED - 1)))
    )


def test_commands_do_not_import_it():
    code = "import sys; from layoutlint import cli; print('layoutlint.api' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
