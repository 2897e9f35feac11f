"""Case files: what they say, where their C stands, and every mistake with its line."""

from __future__ import annotations

import pytest

from layoutlint.commands.rules import case_file
from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Source
from tests.harness.command import ROOT
from tests.harness.outside_words import toml_words

PACK = rule_file.parse(
    '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
    '[[rule]]\nid = "small"\nstruct = "s"\nkind = "size"\nmax = 64\nwhy = "w"\n',
    "locks.toml",
)


def cases(text: str) -> tuple[case_file.Case, ...]:
    return case_file.parse(text, "locks.cases.toml", PACK)


def test_a_file():
    first, second = cases(
        "prelude = '''\ntypedef int number;\n'''\n"
        '[[case]]\nname = "near"\ncode = "struct s { long a, b; };"\nflags = ["-m32"]\n'
        'expect = { apart = "at-risk" }\n'
        "[[case]]\nname = \"far\"\ncode = '''\nstruct s {\n  number a;\n};\n'''\n"
        '[case.expect]\napart = "broken"\nsmall = "kept"\n'
    )
    assert (first.name, first.source, first.flags) == ("near", Source("locks.cases.toml", 4), ("-m32",))
    assert [(e.rule.id, e.outcome, e.source.line) for e in first.expectations] == [("apart", Outcome.AT_RISK, 8)]
    assert [(e.rule.id, e.outcome, e.source.line) for e in second.expectations] == [
        ("apart", Outcome.BROKEN, 17), ("small", Outcome.KEPT, 18),
    ]  # fmt: skip


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_c_stands_on_its_lines(quotes):
    text = (
        f"# a comment\nprelude = {quotes}\ntypedef int number;\n{quotes}\n\n[[case]]\nname = 'n'\n"
        f"code = {quotes}struct t;\nstruct s {{ number a; }};{quotes}\nexpect = {{ apart = 'kept' }}\n"
    )
    (case,) = cases(text)
    written = dict(enumerate(text.splitlines(), 1))
    assert {n: line for n, line in enumerate(case.text.splitlines(), 1) if line} == {
        3: written[3], 8: "struct t;", 9: "struct s { number a; };",
    }  # fmt: skip


CASE = '[[case]]\nname = "n"\ncode = "struct s;"\n'
MISTAKES = [
    # id, text, messages behind "locks.cases.toml:"
    ("no TOML", "case = [", [f"1: not TOML: {toml_words('case = [')}"]),
    ("cases", "[[cases]]\n", ["1: unknown key `cases` in a case file (cases are `[[case]]`)"]),
    ("rules", "[[rule]]\n", ["1: unknown key `rule` in a case file (known: prelude, case)"]),
    ("nothing in it", "[[case]]\n", [f"1: this case has no `{key}`" for key in ("code", "expect", "name")]),
    ("no outcome", CASE + "expect = {}\n", ["4: `expect` names no rule"]),
    ("no table", CASE + 'expect = "kept"\n', ["4: `expect` must be a table, not a string", "4: `expect` names no rule"]),
    ("other word", CASE + 'expect = { apart = "brokn" }\n', ["4: `apart` cannot be `brokn` (did you mean `broken`?)"]),
    ("no such rule", CASE + 'expect = { aprt = "kept" }\n', ["4: the pack has no rule `aprt` (did you mean `apart`?)"]),
    ("no C", '[[case]]\nname = "n"\ncode = "  "\nexpect = { apart = "kept" }\n', ["3: `code` is empty"]),
    ("C of another type", '[[case]]\nname = "n"\ncode = 3\nexpect = { apart = "kept" }\n',
     ["3: `code` must be a string, not an integer"]),
    ("prelude", 'prelude = [""]\n' + CASE + 'expect = { apart = "kept" }\n', ["1: `prelude` must be a string, not a list"]),
    ("key", CASE + 'expect = { apart = "kept" }\nflag = ["-m32"]\n',
     ["5: unknown key `flag` in case `n` (did you mean `flags`?)"]),
    ("no tables", 'case = ["struct s;"]\n', ["1: `case`[0] must be a table, not a string"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "messages"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_mistakes(text, messages):
    with pytest.raises(RuleFileError) as error:
        cases(text)
    assert list(error.value.messages) == [f"locks.cases.toml:{message}" for message in messages]


def test_a_rule_file_without_cases_has_none(tmp_path):
    assert case_file.load(PACK, str(tmp_path / "locks.toml")) == ()


UNREADABLE = [("a folder", None, "is a directory"), ("latin-1", b'prelude = "\xe9"', "not UTF-8 (byte 0xe9)")]


@pytest.mark.parametrize(("content", "reason"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE])
def test_unreadable(tmp_path, content, reason):
    path = tmp_path / "locks.cases.toml"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(RuleFileError) as error:
        case_file.load(PACK, str(tmp_path / "locks.toml"))
    assert error.value.messages in ((f"{path}: {reason}",), (f"{path}:1: {reason}",))


@pytest.mark.parametrize("as_folder", [True, False])
def test_case_files_are_no_rule_files(tmp_path, as_folder):
    for name in ("layoutlint.toml", "layoutlint.cases.toml"):
        (tmp_path / name).write_text((ROOT / "docs/example" / name).read_text())
    if as_folder:
        assert [pack.name for pack in rule_file.load([str(tmp_path)])] == ["example"]
        return
    path = tmp_path / "layoutlint.cases.toml"
    with pytest.raises(RuleFileError, match=f"{path}: has the cases of {tmp_path / 'layoutlint.toml'}"):
        rule_file.load([str(path)])


def test_cases_of_no_rule_file(tmp_path):
    (tmp_path / "own.toml").write_text("")
    path = tmp_path / "locks.cases.toml"
    path.write_text("")
    with pytest.raises(RuleFileError) as error:
        rule_file.load([str(tmp_path)])
    assert error.value.messages == (f"{path}: has the cases of {tmp_path}/locks.toml, which is missing",)


def test_mistakes_of_all_case_files_at_once(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text("")
        (tmp_path / f"{name}.cases.toml").write_text("[[cases]]\n")
    with pytest.raises(RuleFileError) as error:
        case_file.load_all(rule_file.load([str(tmp_path)]))
    assert [message.partition(" (")[0] for message in error.value.messages] == [
        f"{tmp_path}/{name}.cases.toml:1: unknown key `cases` in a case file" for name in ("a", "b")
    ]


def test_every_key_is_in_the_manual():
    manual = (ROOT / "docs/rules.md").read_text()
    assert [key for key in (*case_file.CASE_KEYS, "prelude") if f"\n| `{key}` |" not in manual] == []
