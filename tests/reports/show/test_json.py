"""Format `json` of `show`: the contract, as a table of structs and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from layoutlint.model import CType, Field
from layoutlint.reports import SHOW_FORMATS
from layoutlint.reports.show.options import ShowOptions
from tests.build import bits, flexible, member, struct

KEYS = [
    "name", "aggregate", "size", "align", "align_basis", "align_suggested", "padding", "file", "line", "origin", "files", "aliases",
    "problem", "fields", "holes",
]  # fmt: skip
INNER = member("inner", 8, 16, member("x", 0, 8), member("y", 8, 4))
ANONYMOUS = member(None, 8, 8, member("low", 0, 4), member("high", 4, 4))


def shown(*structs, **options):
    return json.loads("".join(SHOW_FORMATS["json"](structs, ShowOptions(**options))))["structs"]


def places(of, **options):
    return [
        (f["path"], f["offset"], f["size"], f["bit_offset"], f["bit_size"])
        for f in shown(of, **options)[0]["fields"]
    ]


FIELDS = [
    # id, struct, expand, (path, offset, size, bit_offset, bit_size)...
    ("plain", struct("s", 16, member("a", 0, 8), member("b", 8, 8)), False,
     [("a", 0, 8, None, None), ("b", 8, 8, None, None)]),
    ("bit-field", struct("s", 8, bits("flag", 35, 3)), False, [("flag", 4, 1, 35, 3)]),
    ("bit-field over two bytes", struct("s", 8, bits("wide", 5, 6)), False, [("wide", 0, 2, 5, 6)]),
    ("flexible", struct("s", 8, member("a", 0, 8), flexible("tail", 8)), False,
     [("a", 0, 8, None, None), ("tail", 8, 0, None, None)]),
    ("unknown size", struct("s", 8, Field("odd", CType("odd_t"), 0, None)), False, [("odd", 0, None, None, None)]),
    ("anonymous members are opened", struct("s", 16, member("a", 0, 8), ANONYMOUS), False,
     [("a", 0, 8, None, None), ("low", 8, 4, None, None), ("high", 12, 4, None, None)]),
    ("nested", struct("s", 24, member("a", 0, 8), INNER), False,
     [("a", 0, 8, None, None), ("inner", 8, 16, None, None)]),
    ("nested, expanded", struct("s", 24, member("a", 0, 8), INNER), True,
     [("a", 0, 8, None, None), ("inner", 8, 16, None, None), ("inner.x", 8, 8, None, None),
      ("inner.y", 16, 4, None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("of", "expand", "expected"), [case[1:] for case in FIELDS], ids=[case[0] for case in FIELDS])
def test_fields(of, expand, expected):
    assert places(of, expand=expand) == expected


HOLES = [
    # id, struct, holes as (offset, size, bit_offset, bit_size), padding
    ("none", struct("s", 8, member("a", 0, 8)), [], 0),
    ("bytes", struct("s", 16, member("a", 0, 4), member("b", 8, 8)), [(4, 4, None, None)], 0),
    ("bits", struct("s", 8, bits("a", 0, 3), bits("b", 6, 2), member("c", 1, 7)), [(None, None, 3, 3)], 0),
    ("a rest of bits, then bytes", struct("s", 8, bits("a", 0, 3), member("b", 4, 4)),
     [(None, None, 3, 5), (1, 3, None, None)], 0),
    ("padding", struct("s", 64, member("a", 0, 8), align=64), [], 56),
]  # fmt: skip


@pytest.mark.parametrize(("of", "holes", "padding"), [case[1:] for case in HOLES], ids=[case[0] for case in HOLES])
def test_holes(of, holes, padding):
    (found,) = shown(of)
    assert [(h["offset"], h["size"], h["bit_offset"], h["bit_size"]) for h in found["holes"]] == holes
    assert found["padding"] == padding


def test_keys():
    assert list(shown(struct("s", 8, member("a", 0, 8)))[0]) == KEYS


def test_an_incomplete_struct_has_no_figures():
    (found,) = shown(replace(struct("later", 0), bit_size=None, align=None))
    assert list(found) == KEYS
    assert (found["size"], found["align"], found["padding"], found["fields"]) == (None, None, None, [])


@pytest.mark.parametrize("number", [0, 1, 3])
def test_any_number_of_structs(number):
    assert [s["name"] for s in shown(*(struct(f"s{n}", 8) for n in range(number)))] == [
        f"s{n}" for n in range(number)
    ]


def test_pieces_come_one_struct_at_a_time():
    pieces = SHOW_FORMATS["json"](tuple(struct(f"s{n}", 8) for n in range(3)), ShowOptions())
    assert [piece.count('"name"') for piece in pieces] == [0, 1, 1, 1, 0]
