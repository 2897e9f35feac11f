"""Lines with the names of fields, each byte a character."""

from __future__ import annotations

import pytest

from layoutlint.reports import drawing, styled
from tests.harness.build import context, member, struct

PAIR = struct("pair", 128, member("head", 0, 8), member("other", 8, 8), member("flag", 20, 1), member("cached_head", 24, 8), member("cached_tail", 32, 8),
              member("lock", 60, 16))  # fmt: skip
HUGE = struct("ring", 1 << 30, member("head", 0, 8), member("slots", 8, (1 << 30) - 8))
LAID = [
    # the struct, the fields that are drawn, the base, bytes of a line; the rows
    (PAIR, ("head",), 0, 64, ["  line 0 [|head===|.......----.---................--------------------....]"]),
    (PAIR, ("head", "flag"), 0, 64, ["  line 0 [|head===|.......----||--................--------------------....]"]),
    (PAIR, ("cached_head", "cached_tail"), 0, 64, ["  line 0 [................----.---|~d_head|~d_tail|-------------------....]"]),
    (PAIR, ("head",), 24, 64, ["  base 24 line 0 [                        |head===|.......----.---................]"]),
    (PAIR, ("lock",), 0, 64, [
        "  line 0 [................----.---................--------------------|loc]",
        "  line 1 [k===========|---------------------------------------------------]",
    ]),
    (PAIR, ("other",), 0, 128, [
        "  line 0 [........|other==|---.---................--------------------....]",
        "  +64    [............----------------------------------------------------]",
    ]),
    (PAIR, ("head", "cached_tail"), 0, 32, ["  line 0 [|head===|.......----.---........]", "  line 1 [|~d_tail|-------------------....]".replace("~d_tail", "cached_")]),
    (HUGE, ("slots",), 0, 64, [f"  line 0 [........|slots{'=' * 50}]", f"  line 1 [{'=' * 64}]", "  ..."]),
]  # fmt: skip


@pytest.mark.parametrize(("of_struct", "paths", "base", "size", "rows"), LAID)
def test_rows(of_struct, paths, base, size, rows):
    layout = context(of_struct).layout
    places = [layout.find(path) for path in paths]
    assert styled.render_plain(drawing.draw_names(layout, places, base, size, 2)).splitlines() == rows
