"""What the words of an annotation mean, and which are none."""

from __future__ import annotations

import pytest

from layoutlint.intent.annotations.syntax import AnnotationError, Ignore, Meaning, Term, parse

MEANINGS = [
    ("hot-read", Meaning((Term("hot-read"),))),
    ("hot_write, contended", Meaning((Term("hot-write"), Term("contended")))),
    (" hot-read -- read for every packet", Meaning((Term("hot-read"),), None, "read for every packet")),
    ("separate(a, b)", Meaning((Term("separate", ("a", "b"), True),))),
    ("separate( a.b  c ,d ) -- of\n two minds", Meaning((Term("separate", ("a.b c", "d"), True),), None, "of two minds")),
    ("cold; together(x)", Meaning((Term("cold"), Term("together", ("x",), True)))),
    ("size(max=64, multiple_of=8)", Meaning((Term("size", ("max=64", "multiple_of=8"), True),))),
    ("isolated()", Meaning((Term("isolated", (), True),))),
    ("hot-read --", Meaning((Term("hot-read"),))),
    ("ignore[my-rule] measured, and it does not matter", Meaning(ignored=Ignore(("my-rule",), "measured, and it does not matter"))),
    ("ignore[a, b*] -- because", Meaning(ignored=Ignore(("a", "b*"), "because"))),
    ("ignore[a] until 2027-01-31 it is replaced", Meaning(ignored=Ignore(("a",), "it is replaced", "2027-01-31"))),
    ("ignore[a] until 2027-01-31: -- because", Meaning(ignored=Ignore(("a",), "because", "2027-01-31"))),
    ("ignore[a] until the driver is gone", Meaning(ignored=Ignore(("a",), "until the driver is gone"))),
]  # fmt: skip

MISTAKES = [
    ("", "it is empty: write an access (`hot-read`), a rule (`separate(a, b)`), or `ignore[RULE]`"),
    ("-- only a reason", "it is empty: write an access (`hot-read`), a rule (`separate(a, b)`), or `ignore[RULE]`"),
    ("separate(a, b", "`separate(` is not closed"),
    ("separate(a,,b)", "`(a,,b)` has an empty argument"),
    ("hot-read!", "`hot-read!` is neither an access nor a rule"),
    ("12", "`12` is neither an access nor a rule"),
    ("separate(a)b", "`separate(a)b` is neither an access nor a rule"),
    ("ignore[x]", "`ignore[x]` needs a reason after it: `ignore[x] REASON`"),
    ("ignore[x] until 2027-01-31", "`ignore[x]` needs a reason after it: `ignore[x] REASON`"),
    ("ignore[x] until 2027-02-30 why", "`until 2027-02-30`: expected a date, such as 2027-01-31"),
    ("ignore[x] until=2027-01-31 why", "`until=2027-01-31`: write the date after a space, such as `until 2027-01-31`"),
    ("ignore[x] until: 2027-01-31 why", "`until: 2027-01-31`: write the date after a space, such as `until 2027-01-31`"),
    ("ignore[x] until 20270131 why", "`until 20270131`: expected a date, such as 2027-01-31"),
    ("ignore[x] until 31.1.2027 why", "`until 31.1.2027`: expected a date, such as 2027-01-31"),
    ("ignore[x] until 2027-01-3\u0661 why", "`until 2027-01-3\u0661`: expected a date, such as 2027-01-31"),
    ("ignore[] why", "`ignore[]` names no rule: write `ignore[RULE] REASON`"),
    ("ignore x", None),
]


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
def test_meanings(text, meaning):
    assert parse(text) == meaning


@pytest.mark.parametrize(("text", "mistake"), MISTAKES)
def test_mistakes(text, mistake):
    if mistake is None:
        assert [message.word for message in parse(text).words] == text.split()  # no rule is called so: told later
        return
    with pytest.raises(AnnotationError) as output:
        parse(text)
    assert str(output.value) == mistake
