"""Format `json` of `show`: the contract, as a table of structs and what is said of them."""

from __future__ import annotations

import json

import pytest

from layoutlint.escapes import json_text
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Unstated
from layoutlint.reports import SHOW_FORMATS
from layoutlint.reports.show.options import ShowOptions
from tests.harness.build import bits, flexible, member, struct

KEYS = [
    "name", "aggregate", "size", "align", "align_possible", "align_basis", "align_suggested", "padding", "nested_padding", "flexible_ends", "free_on_line", "file", "line", "origin", "files", "aliases",
    "problem", "randomised", "fields", "holes", "allocations",
]  # fmt: skip
INNER = member("inner", 8, 16, member("x", 0, 8), member("y", 8, 4))
ANONYMOUS = member(None, 8, 8, member("low", 0, 4), member("high", 4, 4))


def show(*structs, **options):
    return json.loads("".join(SHOW_FORMATS["json"](structs, ShowOptions(**options))))["structs"]


def places(of, **options):
    return [
        (f["path"], f["offset"], f["size"], f["bit_offset"], f["bit_size"])
        for f in show(of, **options)[0]["fields"]
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
    (found,) = show(of)
    assert [(h["offset"], h["size"], h["bit_offset"], h["bit_size"]) for h in found["holes"]] == holes
    assert found["padding"] == padding


def test_keys():
    assert list(show(struct("s", 8, member("a", 0, 8)))[0]) == KEYS


def test_an_incomplete_struct_has_no_figures():
    (found,) = show(replace(struct("later", 0), bit_size=None, align=None))
    assert list(found) == KEYS
    assert (found["size"], found["align"], found["padding"], found["fields"]) == (None, None, None, [])


@pytest.mark.parametrize("number", [0, 1, 3])
def test_any_number_of_structs(number):
    assert [s["name"] for s in show(*(struct(f"s{n}", 8) for n in range(number)))] == [
        f"s{n}" for n in range(number)
    ]


def test_pieces_are_bounded():
    pieces = SHOW_FORMATS["json"](tuple(struct(f"s{n}", 8) for n in range(600)), ShowOptions())
    assert [piece.count('"name"') for piece in pieces] == [0, 256, 256, 88, 0]


ODD = 'a "b" \\ \n \x01 \x7f % %s {} \u00e9 \u20ac \U0001f642 \ud800'
FACTS = [
    # id, struct, what stands in its row
    ("a header's", struct("s", 8), {"name": "s", "file": "example.h", "line": 1, "origin": "example.c", "aliases": [], "files": []}),
    ("no source", replace(struct("s", 8), source=None), {"file": None, "line": None}),
    ("no line", replace(struct("s", 8), source=Source("x.h")), {"file": "x.h", "line": None}),
    ("problem", replace(struct("s", 8), problem="members overlap"), {"problem": "members overlap"}),
    ("typedefs", replace(struct("s", 8), aliases=("s_t", "t_s")), {"aliases": ["s_t", "t_s"]}),
    ("files", replace(struct("s", 8), files=("b.ko", "a.ko")), {"files": [1, 0]}),
    ("possible alignments", replace(struct("s", 192, member("a", 0, 136, align=8), align=None), unstated=Unstated.ALIGNED),
     {"align": None, "align_possible": [1, 2, 4, 8, 16, 32, 64], "align_basis": None, "align_suggested": 64}),
    ("room", struct("s", 72, member("a", 0, 72)), {"free_on_line": 56}),
    ("padding inside", struct("s", 24, member("a", 0, 8), INNER), {"nested_padding": 4}),
    ("no room", struct("s", 128, member("a", 0, 128)), {"free_on_line": 0}),
    ("a flexible array inside", struct("s", 16, member("a", 0, 8, member("n", 0, 8), flexible("tail", 8)), member("b", 8, 8)),
     {"flexible_ends": ["a.tail"]}),
    ("a flexible array", struct("s", 8, member("a", 0, 8), flexible("tail", 8)), {"free_on_line": None}),
    ("declared only", replace(struct("s", 0), bit_size=None, align=4), {"size": None, "align": 4, "align_basis": None, "holes": []}),
    ("odd texts", replace(struct(ODD, 8), source=Source(ODD, 1), origin=ODD, aliases=(ODD,), problem=ODD),
     {"name": ODD, "file": ODD, "origin": ODD, "aliases": [ODD], "problem": ODD}),
]  # fmt: skip


@pytest.mark.parametrize(("of", "expected"), [case[1:] for case in FACTS], ids=[case[0] for case in FACTS])
def test_facts(of, expected):
    (found,) = show(of)
    assert {key: found[key] for key in expected} == expected


def encode(found):
    """A struct as the standard library's encoder writes its parts."""
    head = {key: found[key] for key in KEYS if key not in ("fields", "holes", "allocations")}
    rows = {key: ",\n      ".join(json.dumps(row, ensure_ascii=False) for row in found[key]) for key in ("fields", "holes")}
    lists = "".join(f',\n     "{key}": [' + (f"\n      {row}]" if row else "]") for key, row in rows.items())
    return json.dumps(head, ensure_ascii=False)[:-1] + lists + ',\n     "allocations": []}'


@pytest.mark.parametrize("of", [case[1] for case in (*FACTS, *FIELDS, *HOLES)], ids=[case[0] for case in (*FACTS, *FIELDS, *HOLES)])
def test_rows_are_as_an_encoder_writes_them(of):
    of = replace(of, fields=(*of.fields, Field(ODD, CType(ODD, ODD), of.bit_size or 0, 0)))
    (found,) = show(of)
    assert f"[\n    {json_text(encode(found))}\n  ]\n}}\n" in "".join(SHOW_FORMATS["json"]((of,), ShowOptions()))
