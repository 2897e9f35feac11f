"""Manuals on a terminal: nothing of the Markdown is lost, and none of its marks is left."""

from __future__ import annotations

import re

import pytest

from layoutlint.commands.explain.markdown import render_lines
from layoutlint.kinds import all_kinds, manual
from layoutlint.lint.held_layouts import HeldLayout
from layoutlint.lint.unused import UnusedIntent
from layoutlint.reports import styled

KINDS = [*all_kinds(), UnusedIntent, HeldLayout]
BLOCKS = [
    # Markdown, and its lines at 30 columns
    ("## size\n\nThe struct is\nsmall.", ["size", "", "The struct is small."]),
    ("- one\n  and more\n- *two*", ["- one and more", "- two"]),
    ("See [the page](page.md#part) of `*_lock`.", ["See the page of `*_lock`."]),
    ("```c\nstruct a {\n\n    int b;   };\n```", ["    struct a {", "", "        int b;   };"]),
    ("> a message", ["  a message"]),
    ("| key | value | required | |\n|---|---|---|---|\n| `max` | number | yes | bytes |\n| `min` | number |  | more |",
     ["  max: number, required", "      bytes", "  min: number", "      more"]),
    ("**What to do.** Make it\nsmaller.", ["What to do:", "  Make it smaller."]),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), BLOCKS)
def test_blocks(text, lines):
    assert styled.render_plain(render_lines(text, 30)).splitlines() == lines


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
@pytest.mark.parametrize("width", [60, 100])
def test_a_manual_is_whole(kind, width):
    text = manual.explain(kind)
    rendered = styled.render_plain(render_lines(text, width))
    prose = [row for row in rendered.splitlines() if not row.startswith("    ") or row.startswith("      ")]
    code = re.findall(r"```\w+\n(.*?)```", text, re.S)
    rows = {row for block in code for row in block.splitlines()}
    assert [row for row in prose if len(row) > width and row.strip() not in {each.strip() for each in rows}] == []
    assert all(f"    {row}".rstrip() in rendered for row in rows)
    words = re.findall(r"\w+", re.sub(r"```\w+|\]\([^)]+\)|\| yes \|", "", text))
    left_out = sorted(set(words) - set(re.findall(r"\w+", rendered)) - {"key", "value", "required"})
    assert left_out == []
    assert re.findall(r"```|\*\*|^#|^\||^> |\]\(", "\n".join(prose), re.M) == []
