"""The bench itself, on small inputs and with real commands: its figures are held against what is known beforehand."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import command
from tests.harness.tools import need
from tools.bench import measure
from tools.bench.cases import Case, Limit
from tools.bench.process import Command, Failed, Peak, Took, peak, took
from tools.bench.repeat import repeat
from tools.bench.rounds import Measured, judge

SOURCE = """
struct list { struct list *next; };
struct pool { long used; struct list free; char name[32]; unsigned flags : 3; };
struct pool pools[4];
int main(void) { return (int)pools[1].used; }
"""
MB = 1_000_000
HOLD = "import time; time.sleep(0.3)"
MAP = "import mmap, sys; f = open(sys.argv[1]); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); sum(m[::4096])"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A linked program with debug information."""
    need("gcc")
    folder = tmp_path_factory.mktemp("bench")
    (folder / "pool.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-o", "pool", "pool.c"], cwd=folder, check=True)
    return folder / "pool"


def python(code: str, *arguments: str, **more: object) -> Command:
    return Command((sys.executable, "-c", code, *arguments), **more)  # type: ignore[arg-type]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("code", "private", "resident"),
    [
        pytest.param(f"b = bytes([1]) * 80 * {MB}; {HOLD}", 80, 80, id="a block of its own is both"),
        pytest.param(f"{MAP}; {HOLD}", 0, 80, id="a mapped file is resident alone"),
        pytest.param(f"b = bytes([1]) * 80 * {MB}; {HOLD}; del b", 80, 80, id="what was given back counts as well"),
        pytest.param(
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'b = bytes([1]) * 80 * {MB}; {HOLD}'])",
            80, 80, id="a child counts as well",
        ),
    ],
)  # fmt: skip
def test_memory_is_what_a_program_takes(code, private, resident, tmp_path):
    (tmp_path / "file").write_bytes(bytes(80 * MB))
    found = peak(python(code, str(tmp_path / "file")))
    assert private <= found.private <= private + 25
    assert resident <= found.resident <= resident + 50


def test_time_is_of_the_clock_and_of_the_processors():
    slept, worked = took(python("import time; time.sleep(0.5)")), took(python("import time\nwhile time.process_time() < 0.5: pass"))
    assert slept.wall >= 0.5 > slept.cpu
    assert worked.cpu >= 0.5


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        (python("import sys; sys.exit('no such struct')"), "exit status 1: no such struct"),
        (python("print('another')", shows="wanted"), "its output lacks 'wanted'"),
        (Command(("/nowhere/tool",)), os.strerror(errno.ENOENT)),
    ],
)
def test_a_tool_that_fails_is_not_measured(ran, reason):
    with pytest.raises(Failed, match=reason):
        peak(ran)


def test_a_status_that_findings_have_is_no_failure():
    assert took(python("import sys; sys.exit(1)", statuses=(0, 1))).wall > 0
    with pytest.raises(Failed, match="exit status 1"):
        took(python("import sys; sys.exit(1)"))


def runs(key: str, *figures: float, reason: str = "") -> Measured:
    """A case that took so many seconds, and megabytes, in each round."""
    case = Case(key, key, "", "", lambda: Command(()))
    return Measured(case, reason, None, [Took(one, one, 0) for one in figures], [Peak(one, one) for one in figures])


@pytest.mark.parametrize("quantity", ["wall", "private"])
@pytest.mark.parametrize(
    ("theirs", "limit", "found", "holds"),
    [
        # ours are 1, 2 and 6; the shares of the rounds are taken before their median
        ((2, 2, 2), 1.0, (1.0, 0.5, 3.0), True),
        ((2, 2, 2), 0.9, (1.0, 0.5, 3.0), False),
        ((10, 10, 10), 0.2, (0.2, 0.1, 0.6), True),
        (None, 2.0, (2, 1, 6), True),
        (None, 1.9, (2, 1, 6), False),
    ],
)
def test_a_limit_is_held_against_the_median_of_the_rounds(quantity, theirs, limit, found, holds):
    measured = [runs("ours", 1, 2, 6), *([runs("theirs", *theirs)] if theirs else [])]
    judged = judge(Limit("ours", "theirs" if theirs else None, quantity, limit, ""), measured)
    assert judged.found is not None
    assert (judged.found.median, judged.found.least, judged.found.greatest) == pytest.approx(found)
    assert judged.holds is holds


@pytest.mark.parametrize(("limit", "holds"), [(0.5, False), (1.0, True)])
def test_a_difference_is_taken_in_each_round(limit, holds):
    measured = [runs("ours", 4, 5, 7), runs("theirs", 3, 1, 6)]
    judged = judge(Limit("ours", "theirs", "wall", limit, "", is_more=True), measured)
    assert judged.found is not None
    assert (judged.found.median, judged.found.least, judged.found.greatest) == pytest.approx((1, 1, 4))
    assert judged.holds is holds


@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        ([runs("ours", 1)], "not measured"),
        ([runs("ours", 1), runs("theirs", reason="theirs: no cargo")], "theirs: no cargo"),
        ([runs("ours", 1, reason="exit status 4"), runs("theirs", 1)], "exit status 4"),
    ],
)
def test_what_was_not_measured_does_not_hold(measured, reason):
    judged = judge(Limit("ours", "theirs", "wall", 9, ""), measured)
    assert (judged.found, judged.reason, judged.holds) == (None, reason, False)


def show(path: Path) -> object:
    """What layoutlint says of all structs of a file, but for the file's name."""
    done = command.run("show", "--all", "--format", "json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["structs"]


def test_a_repeated_program_has_the_same_structs_in_more_units(program, tmp_path):
    larger = tmp_path / "larger"
    repeat(program, 3, larger)
    assert show(larger) == show(program)
    need("readelf")
    for section, text in (("info", "Compilation Unit @"), ("info", "DW_TAG_member"), ("info", ": used\n"), ("abbrev", "DW_TAG_member")):
        assert _readelf(section, larger).count(text) == 3 * _readelf(section, program).count(text) > 0


def _readelf(section: str, path: Path) -> str:
    done = subprocess.run(["readelf", "-W", f"--debug-dump={section}", path], capture_output=True, text=True, check=True)
    assert "warning" not in done.stderr.lower()
    return done.stdout


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["-c"], "not a linked 64-bit little-endian program"),
        (["-g0"], "no .debug_info"),
        (["-gdwarf64"], "a unit of 64-bit DWARF"),
    ],
)
def test_what_cannot_be_repeated_is_refused(program, tmp_path, flags, reason):
    subprocess.run(["gcc", "-g", *flags, "-o", tmp_path / "other", program.with_suffix(".c")], check=True)
    with pytest.raises(ValueError, match=reason):
        repeat(tmp_path / "other", 2, tmp_path / "larger")


@pytest.mark.exhaustive
def test_the_whole_bench_on_a_small_program(program, tmp_path, monkeypatch, capsys):
    """Without other tools, which are not installed here: they are in the page with the reason."""
    monkeypatch.setenv("LAYOUTLINT_OFFLINE", "1")
    monkeypatch.setenv("LAYOUTLINT_PEERS", str(tmp_path / "nothing"))
    page = tmp_path / "page.md"
    words = ["--vmlinux", str(program), "--struct", "pool", "--rounds", "2", "--output", str(page)]
    assert measure.main([*words, "--only", "^(show|layout-audit|drgn|version|grow-show)$"]) == 0
    text = page.read_text()
    rows = {tuple(cell.strip() for cell in line.split("|")[1:4]): line for line in text.splitlines() if line.startswith("|")}
    assert "skipped: layout-audit-" in rows["structs of the rules", "layout-audit", "`inspect --filter pool -o json`"]
    assert "skipped: drgn-" in rows["one struct", "drgn", "`look-up of pool`"]
    assert "not installed yet" in rows["`show pool`", "wall time", "drgn `look-up of pool`"]
    assert "skipped" not in rows["layoutlint", "`show pool`", "wall s"]
    assert float(rows["one struct", "layoutlint", "`show pool`"].split("|")[4]) > 0
    assert "`--version`" in capsys.readouterr().out
    assert page.with_suffix(".svg").exists() == ("](page.svg)" in text)


def test_the_picture_says_what_was_measured(program, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib to draw with (the extra bench)")
    words = ["--vmlinux", str(program), "--struct", "pool", "--rounds", "1", "--output", str(tmp_path / "page.md")]
    assert measure.main([*words, "--only", "^(show|version|python|grow-show)$"]) == 0
    drawn = (tmp_path / "page.svg").read_text()
    for text in ("one struct", "start-up", "layoutlint: show pool", "layoutlint: --version", "Python: -c pass"):
        assert f">{text}<" in drawn
