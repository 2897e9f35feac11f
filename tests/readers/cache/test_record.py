"""Readings as JSON: what is encoded comes back, and nothing else is accepted."""

from __future__ import annotations

import json
import random
import zlib

import pytest

from layoutlint.model.ctype import CType
from layoutlint.model.declared import Member, StructDeclaration
from layoutlint.model.randomised import Randomisation, ShufflingEvidence
from layoutlint.model.reading import MissingVariable, Omission, Reading, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Annotation, Field, Source, Struct, Unstated
from layoutlint.model.target import target_named
from layoutlint.readers.cache import readings

X86_64 = target_named("x86_64")
PLACE = Source("a.h", 3)
LOCK = Field("lock", CType("struct lock"), 0, 32, False, "struct", (), (Field("raw", CType("int"), 0, 32),), 4, PLACE)
FIELDS = (
    LOCK,
    Field(None, CType("union {...}"), 64, 64, aggregate="union", members=(LOCK,), align=8),
    Field("bits", CType("unsigned int"), 128, 3, True),
    Field("call", CType("int (*", ")(void)"), 192, 64, is_function_pointer=True, requested_align=8, possible=24),
    Field("x", CType("int", "[]"), 256, 0, dims=(None, 3), underlying_types=(CType("word"), CType("int")), is_flattened=True, flexible_bits=32),
)
STRUCT = Struct(
    "s", "struct", 256, None, FIELDS, X86_64, PLACE, origin="a.c", aliases=("s_t",), problem="why", files=("one", "two"),
    is_tagged=False, realigned_from="of", randomised=Randomisation("clang", "00", None, True), is_randomisable=True,
    annotations=(Annotation("lock", "hot-write", source=PLACE), Annotation("", "x")), address=4096,
    unstated=Unstated.PACKED | Unstated.WHOLE, possible=12,
)  # fmt: skip
READING = Reading(
    "in", "dwarf", X86_64, (STRUCT, replace(STRUCT, name="é", fields=())), build_id="id", unread=(Unread("o", "r", ("f",), ("b",)),),
    notes=("note",), config=frozenset({"SMP", "X"}), options=frozenset({"!A"}), is_kernel=True, base="base", files=3, build="build",
    shuffled=ShufflingEvidence("gcc", None, "00", "sign"), kernel=(6, 12), data=(), least_data=(STRUCT,), misplaced=(STRUCT,),
    declared=frozenset({
        StructDeclaration("k", None, (0, None), (Member(None, None, None), Member("b", 8, 1, None, 4, True)), True),
        StructDeclaration(("k", (1, 2)), 8, (), ()),
    }),
    missing_variables=(MissingVariable("v", "h"),), names=frozenset({"n"}),
    omissions=(Omission("r", frozenset({"s"}), True, False), Omission("q")),
)  # fmt: skip
RESULTS = [READING, Reading("e", "btf", X86_64, ()), Unread("x", "reason")]


def values(value: object) -> object:
    """Everything in a record, also what comparing leaves out."""
    if isinstance(value, Record):
        return type(value).__name__, [values(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, tuple):
        return tuple(map(values, value))
    return {values(each) for each in value} if isinstance(value, frozenset) and not any(isinstance(e, Record) for e in value) else value


def test_what_is_encoded_comes_back():
    decoded = readings.decode(readings.encode(RESULTS))
    assert decoded == RESULTS
    assert values(tuple(decoded)) == values(tuple(RESULTS))


def test_names_that_are_no_text_are_not_encoded():
    with pytest.raises(ValueError, match="surrogates"):
        readings.encode([replace(READING, path="\udcff")])


def places(value: object, path: tuple = ()) -> list[tuple]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]
    return [path]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("other", [None, -1, 10**30, "x", [], {}, 1.5, True], ids=repr)
def test_other_values_are_refused_or_valid(other):
    """Each value of a document is replaced: the result has the declared types, or there is none."""
    document = json.loads(zlib.decompress(readings.encode(RESULTS)))
    for path in places(document)[1:]:
        at = document
        for key in path[:-1]:
            at = at[key]
        before, at[path[-1]] = at[path[-1]], other
        changed = zlib.compress(json.dumps(document).encode(), 0)
        at[path[-1]] = before
        try:
            results = readings.decode(changed)
        except readings.Malformed:
            continue
        readings.decode(readings.encode(results))  # its types are right


@pytest.mark.parametrize("is_packed", [True, False])
def test_damaged_text_is_refused(is_packed):
    encoded, chance = readings.encode(RESULTS), random.Random(1)
    text = encoded if is_packed else zlib.decompress(encoded)
    for _ in range(300):
        at = chance.randrange(len(text))
        damaged = text[:at] + bytes([chance.randrange(256)]) + text[at + chance.randrange(3) :]
        try:
            readings.encode(readings.decode(damaged if is_packed else zlib.compress(damaged)))
        except readings.Malformed:
            continue


def test_a_text_that_grows_without_bound_is_refused(monkeypatch):
    monkeypatch.setattr(readings, "_LARGEST", 1000)
    with pytest.raises(readings.Malformed):
        readings.decode(readings.encode(RESULTS))
