"""Structs with several possible layouts: a verdict on which all agree is reported."""

from __future__ import annotations

import pytest

from layoutlint import api

TEXT = """
#ifdef __clang__
typedef int own;
#else
typedef long own;
#endif
struct s { own a; char b; };
"""
RULE = '[[rule]]\nid = "small"\nstruct = "s"\nkind = "size"\nmax = {most}\nwhy = "w"\n'


@pytest.mark.parametrize(("most", "found"), [(16, []), (12, ["unknown"]), (8, ["unknown"]), (7, ["broken"])])
def test_verdicts_are_those_of_both_compilers(tmp_path, most, found):
    (tmp_path / "s.h").write_text(TEXT)
    (tmp_path / "r.toml").write_text(RULE.format(most=most))
    report = api.check([str(tmp_path / "s.h")], rules=[str(tmp_path / "r.toml")])
    assert [finding.verdict.outcome.value for finding in report.findings] == found
    assert report.coverage.structs == 1
