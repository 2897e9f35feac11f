"""Lines of TOML keys: in this document every value is the number of the line that it stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from layoutlint.intent.toml.document import Document, Path, parse

NUMBERED = '''\
a = 1
b.c."d.e" = 2 # [not] = { a table
'f"' = [ 3, [ 3,
  4 ], { g = 4, h.i = [ 4 ] },
# ]
  6, ]

[t]   # [[t]]
j = 9
[t."u.v"]
k={l=11,m={n=11}}
[[list]]
o = 13
[[list]]
p = 15
[list.q]
r = 17
[[list.s]]
t = 19
[[list.s]]
t = 21
[[list]]
[list.q]
r = 24
[w]
text = """
[x]
y = 1 "quoted" \\"""
"""
after = 30
raw = \'\'\'
] } \'\'\'
after-raw = 33
x.y = 34
x.z = 35
quotes = """"35""""
after-quotes = 37
'''


def numbers(value: object, path: Path) -> Iterator[tuple[Path, int]]:
    """Every integer in a value, and the way to it."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from numbers(inner, (*path, index))


DOCUMENT = parse(NUMBERED, "x.toml")


@pytest.mark.parametrize(("path", "line"), list(numbers(DOCUMENT.data, ())), ids=str)
def test_the_line_of_a_value(path, line):
    assert DOCUMENT.lines[path] == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("t",), 8), (("t", "u.v"), 10), (("list",), 12), (("list", 0), 12), (("list", 1), 14), (("list", 1, "q"), 16),
        (("list", 1, "s", 0), 18), (("list", 1, "s", 1), 20), (("list", 2), 22), (("list", 2, "q"), 23), (("w", "text"), 26),
    ],
)  # fmt: skip
def test_the_line_of_a_table(path, line):
    assert DOCUMENT.lines[path] == line


def test_what_the_text_does_not_spell_has_the_line_around_it():
    document = Document({}, {("a",): 3, ("a", "b"): 4})
    assert [document.line(path) for path in [("a", "b", 7), ("a", "x"), ("y",), ()]] == [4, 3, 1, 1]
