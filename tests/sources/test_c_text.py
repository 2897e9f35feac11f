"""What searches of C text share."""

from __future__ import annotations

from layoutlint.sources.c_text import PARENTHESES, arguments


def test_arguments():
    """The arguments of a call, up to a length."""
    found = [arguments(text, text.index("(")) for text in ("f()", "f(a)", "f(a, b[1, 2], (c, d), {e, f}) g", "f(a", "f(a; b)", "x f(a)) h", "f((a)")]
    assert found == [
        ([""], 3), (["a"], 4), (["a", " b[1, 2]", " (c, d)", " {e, f}"], 29), None, (["a; b"], 7), (["a"], 6), None,
    ]  # fmt: skip
    assert [arguments(f"f({'a' * length})", 1, 6) for length in (4, 5)] == [(["aaaa"], 7), None]
    assert [arguments(f"f({'a' * length})", 1) is None for length in (1998, 1999)] == [False, True]


def test_arguments_as_the_preprocessor_reads_them():
    assert arguments("f({a, b]}, (c, d))", 1, 100, PARENTHESES) == (["{a", " b]}", " (c, d)"], 18)
