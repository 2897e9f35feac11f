"""All that the readers find in files with structs of all forms: DWARF and BTF of several compilers, and C for several targets.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them. One is whole; the others say in which lines a
reading differs from it.
"""

from __future__ import annotations

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.harness.whole import changes, whole_lines
from tests.readers.forms import BTF, COMMANDS, FOLDER, SOURCE
from tests.readers.test_whole_readings import EVERYTHING

FIRST = "gcc-dwarf5.o"
FLAGS = [
    (), ("-m32",), ("-m32", "-malign-double"), ("--target=arm-linux-gnueabi",),
    ("--target=s390x-linux-gnu",), ("-fpack-struct=2",), ("-fshort-enums",), ("-mms-bitfields",),
]  # fmt: skip
SOME = Wanted(frozenset(("bits", "anonymous", "outer")), patterns=("pack*", "*atomic*"))


def reading(name: str, wanted: Wanted = EVERYTHING, flags: tuple[str, ...] = ()) -> list[str]:
    return list(whole_lines(inputs.read((name,), wanted, ReadOptions(flags=flags, cache=False, jobs=1))))


def test_compiled_forms(golden, monkeypatch):
    monkeypatch.chdir(FOLDER)
    first = reading(FIRST)
    golden("forms-first.txt", "".join(f"{line}\n" for line in first))
    texts = {name: changes(first, reading(name)) for name in (*COMMANDS, *BTF) if name != FIRST}
    golden("forms-compiled.txt", "".join(f"== {name}\n{text}" for name, text in texts.items()))


def test_forms_in_c(golden, monkeypatch):
    monkeypatch.chdir(FOLDER)
    first = reading(SOURCE)
    golden("forms-c.txt", "".join(f"{line}\n" for line in first))
    texts = {" ".join(flags): changes(first, reading(SOURCE, flags=flags)) for flags in FLAGS if flags}
    golden("forms-flags.txt", "".join(f"== {name}\n{text}" for name, text in texts.items()))


@pytest.mark.parametrize("name", [FIRST, "gcc.btf", SOURCE])
def test_some_structs_are_read_alike(name, monkeypatch):
    """A reading of some structs has them as a reading of all structs has them."""
    monkeypatch.chdir(FOLDER)
    read = {wanted: inputs.read((name,), wanted, ReadOptions(cache=False, jobs=1)) for wanted in (EVERYTHING, SOME)}
    every = {struct.name: struct for one in read[EVERYTHING][0] for struct in one.structs}
    some = {struct.name: struct for one in read[SOME][0] for struct in one.structs}
    assert {*some} == {name for name in every if SOME.matches(name)}
    assert {name: list(whole_lines(struct)) for name, struct in some.items()} == {name: list(whole_lines(every[name])) for name in some}
