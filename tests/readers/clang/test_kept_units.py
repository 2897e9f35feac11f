"""A unit that is kept between edits gives what a new parse gives, or nothing."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutlint.commands.language_server import worker
from layoutlint.commands.language_server.requests import Judge, Judged, Settings
from layoutlint.model.reading import InputText
from layoutlint.readers.clang import kept_units, libclang
from layoutlint.readers.clang.kept_units import KeptUnits
from tests.harness.effort import draws

RULES = """\
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "measured"

[[rule]]
id = "small"
struct = "ring_t"
kind = "size"
max = 64
why = "one line"
"""
PART = "#ifndef PART_H\n#define PART_H\nstruct part { char bytes[%d]; };\nstruct late;\n#endif\n"
RING = """\
%s#include "part.h"
#include <stddef.h>
%s
struct first { int a; };
%s
struct ring {
	long head;
	%s
	long tail;
} __attribute__((aligned(64)));
%s
"""
CHOICES = (
    ("", "", "", "/* before */\n", '#include "other.h"\n'),
    ("", "", "/* é𝒳 */\n", "// a comment \\\n goes on\n", "#define N 3\n", "#define TEXT \"/*\"\n"),
    ("", '#include "tail.h"\n', "struct late { int b; };\n", "typedef struct part part_t;\n", "#pragma pack(1)\n"),
    ("", "struct part part;", "part_t part;", "int x y;", "char pad[64];", "int n; /* layoutlint: separate(head) */", "struct { int in; };"),
    ("", "typedef struct ring ring_t;\n", "struct ring two[2];\n", "#if 0\n", "struct {\n", '#error "no"\n'),
)  # fmt: skip


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptUnits]:
    """The units of this process."""
    if not libclang.keeps_preambles(libclang.library()):
        pytest.skip("this libclang cannot keep preambles in memory")
    units = KeptUnits()
    monkeypatch.setattr(kept_units, "_kept", units)
    monkeypatch.setattr(libclang, "_LOADED", time.time_ns() + 3_600 * 10**9)  # files count as old: they are read from disk
    yield units
    units.end()


def project(folder: Path) -> Path:
    """A folder with rules and headers."""
    (folder / ".git").mkdir()
    (folder / "layoutlint.toml").write_text(RULES)
    (folder / "part.h").write_text(PART % 8)
    (folder / "tail.h").write_text("struct tail { long c; };\n")
    return folder


def answer(path: Path, text: str, texts: dict[Path, str]) -> Judged:
    """The judgement of a text."""
    given = tuple(InputText(os.path.realpath(at), other) for at, other in {**texts, path: text}.items())
    result = worker.answer(Judge(str(path), text, True, frozenset(), given, Settings()))
    assert isinstance(result, Judged), result
    return result


def both(kept: KeptUnits, path: Path, text: str, texts: dict[Path, str]) -> tuple[Judged, Judged]:
    """The judgement of a text with kept units, and without."""
    with_units = answer(path, text, texts)
    kept_units._kept, before = None, kept_units._kept
    without = answer(path, text, texts)
    kept_units._kept = before
    return with_units, without


def settle(kept: KeptUnits) -> None:
    """Prepare the unit that was noted last, and wait for it."""
    kept.prepare()
    end = time.monotonic() + 30
    while not all(unit.answers or unit.service.has_answer() for unit in kept._units) and time.monotonic() < end:
        time.sleep(0.01)


def change_disk(folder: Path, dice: random.Random) -> None:
    """Write, delete or create a header."""
    (folder / "part.h").write_text(PART % dice.choice((8, 80)))
    where = folder / dice.choice(("tail.h", "other.h", "stddef.h"))
    if where.exists() and dice.random() < 0.5:
        where.unlink()
    elif where.name != "stddef.h" or dice.random() < 0.2:
        where.write_text(f"struct {where.stem} {{ char c[{dice.choice((1, 70))}]; }};\n")


@pytest.mark.parametrize("name", ["ring.h", "ring.c"])
def test_edits_after_the_first_declaration_are_served(kept: KeptUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    folder = project(tmp_path)
    monkeypatch.chdir(folder)
    path, clean = folder / name, RING % ("", "", "", "", "")
    path.write_text(clean)
    answer(path, clean, {})
    settle(kept)
    parsed: list[str] = []
    monkeypatch.setattr(KeptUnits, "note", lambda *_: parsed.append("anew"))
    for member in CHOICES[3]:
        with_units, without = both(kept, path, clean.replace("long tail;", f"{member}\n\tlong tail;"), {})
        assert with_units == without, member
    assert parsed == []
    (folder / "part.h").write_text(PART % 80)
    with_units, without = both(kept, path, clean, {})
    assert (with_units, parsed) == (without, ["anew"])


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.one_in(draws(4, 12))) for seed in range(draws(4, 12))])
def test_random_edits(kept: KeptUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    folder, dice = project(tmp_path), random.Random(seed)
    monkeypatch.chdir(folder)
    path = folder / ("ring.h" if seed % 2 else "ring.c")
    parts = ["", "", "", "", ""]
    texts: dict[Path, str] = {}
    path.write_text(RING % tuple(parts))
    for step in range(24):
        if dice.random() < 0.3:
            parts = ["", parts[1], "", "", ""]
        at = dice.choice((0, 1, 2, 2, 3, 3, 3, 4, 4))
        parts[at] = dice.choice(CHOICES[at])
        if dice.random() < 0.1:
            change_disk(folder, dice)
        if dice.random() < 0.1:
            texts = {folder / "part.h": PART % dice.choice((8, 80))} if not texts else {}
        text = RING % tuple(parts)
        with_units, without = both(kept, path, text, texts)
        assert with_units == without, (step, text)
        settle(kept)
