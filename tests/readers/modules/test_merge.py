"""What is merged of the readings of a folder's files: each definition, note, reason and fact of several files."""

from __future__ import annotations

import pytest

from layoutlint.model.ctype import CType
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.reading import MissingVariable, Omission, Reading, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.modules import find, merge
from layoutlint.readers.modules.find import Folder
from tests.harness.build import X86_64
from tests.harness.whole import whole_lines

A = Struct("a", "struct", 64, 8, (Field("x", CType("long"), 0, 64, align=8, source=Source("a.h", 2)),), X86_64, Source("a.h", 1), origin="a.c", aliases=("a_t",))
A_ELSEWHERE = replace(A, origin="b.c", source=Source("b.h", 7), aliases=("b_t",))
A_LARGER = replace(A, bit_size=128, origin="c.c")
A_DECLARED = replace(A, bit_size=None, fields=(), origin="d.c")
ARM = target_named("arm")
DATA, LESS = replace(A, name=".data", origin=""), replace(A, name=".data", bit_size=32, origin="")
FULL = Reading(
    "one.ko", "dwarf", X86_64, (A,), notes=("a note",), is_kernel=True, kernel=(6, 12), config=frozenset("S"), options=frozenset(("!A", "!B")), compilers=("gcc 14",),
    shuffled=ShufflingEvidence("gcc", None, "00", "sign"), omissions=(Omission("left out"),), data=(DATA,), arrays=(A,), variables=A.fields, names=frozenset("a"),
    missing_variables=(MissingVariable("v"), MissingVariable("w")), misplaced=(A,),
)  # fmt: skip
BARE = Reading("two.ko", "dwarf", X86_64, (A_ELSEWHERE,))
FOLDERS = {
    # what each file of a folder gives; paths are their numbers
    "one": (FULL,), "the same twice": (FULL, FULL), "one definition in two places": (FULL, BARE), "two definitions": (BARE, replace(BARE, structs=(A_LARGER,))),
    "a declaration and a definition": (replace(BARE, structs=(A_DECLARED,)), BARE), "declarations": (replace(BARE, structs=(A_DECLARED,)),) * 2,
    "two readers": (FULL, replace(FULL, reader="btf")), "two targets": (FULL, replace(FULL, target=ARM, structs=(replace(A, target=ARM),))),
    "versions of two and three numbers": (FULL, replace(FULL, kernel=(6, 12, 1)), BARE), "two versions": (FULL, replace(FULL, kernel=(6, 13))),
    "two versions of three numbers": (replace(FULL, kernel=(6, 12, 1)), replace(FULL, kernel=(6, 12, 2))), "two configurations": (FULL, replace(FULL, config=frozenset("T"))),
    "options": (FULL, replace(FULL, options=frozenset(("!B", "!C")))), "compilers": (FULL, replace(FULL, compilers=("clang 19", "gcc 14"))),
    "no data": (BARE, BARE), "data of one": (BARE, FULL), "less data": (FULL, replace(FULL, least_data=(LESS,))),
    "missing in both": (FULL, replace(FULL, missing_variables=(MissingVariable("w"),))), "missing where there is no data": (FULL, replace(FULL, data=None, missing_variables=())),
    "notes of one": (FULL, BARE), "omissions": (FULL, replace(FULL, omissions=(Omission("left out"), Omission("also")))),
    "a failure": (FULL, Unread("?", "is damaged")), "the same failure": (Unread("?", "is damaged"), Unread("?", "is damaged"), BARE),
    "only failures": (Unread("?", "is damaged"), Unread("?", "is damaged", lacks_debug_information=True)), "a part": (replace(BARE, unread=(Unread("?", "a unit"),)), BARE),
}  # fmt: skip


def merge_here(results: tuple[Reading | Unread, ...], monkeypatch: pytest.MonkeyPatch, folder: Folder | None = None, texts: tuple[str, ...] = ()) -> list[str]:
    paths = [f"f/{number}.ko" for number in range(len(results))]
    placed = {path: replace(each, path=path) if isinstance(each, Reading) else replace(each, origin=path) for path, each in zip(paths, results, strict=True)}
    monkeypatch.setattr(find, "bases", lambda folder: dict.fromkeys(paths))
    monkeypatch.setattr(dispatch, "sniff", lambda path: "clang" if path in texts else "elf")
    monkeypatch.setattr(dispatch, "attempt", lambda path, names, options: placed[path])
    return list(whole_lines(merge.read(folder or Folder("f", tuple(paths)), Wanted(everything=True), ReadOptions(jobs=1, cache=False))))


@pytest.mark.parametrize("case", FOLDERS)
def test_results(case, monkeypatch, golden_row):
    golden_row("\n".join(merge_here(FOLDERS[case], monkeypatch)))


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_many_texts(most, monkeypatch, golden_row):
    """Of three notes and of three reasons as many are shown as are allowed."""
    monkeypatch.setattr(merge, "_MOST_TEXTS", most)
    notes = tuple(replace(BARE, notes=(f"note {number}",)) for number in range(3))
    reasons = tuple(Unread("?", f"reason {number}", lacks_debug_information=number > 1) for number in range(3))
    golden_row("\n".join(merge_here((*notes, *reasons), monkeypatch)))


def test_notes_of_the_folder(monkeypatch, golden_row):
    folder = Folder("f", ("f/0.ko",), (Unread("f/closed", "cannot be listed"),), ("a note on the folder",))
    golden_row("\n".join(merge_here((FULL,), monkeypatch, folder)))


def test_texts_are_no_modules(monkeypatch, golden_row):
    golden_row("\n".join(merge_here((BARE, BARE), monkeypatch, texts=("f/1.ko",))))
