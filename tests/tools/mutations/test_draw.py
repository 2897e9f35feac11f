"""Which packages a seed changes."""

from __future__ import annotations

import pytest

from tools.mutations import PACKAGES, __main__
from tools.mutations.sites import Mutation

COUNT = 8


@pytest.mark.parametrize(
    ("words", "packages"), [([], PACKAGES), (["--packages", "kinds"], ["kinds"]), (["--packages", "lint", "kinds"], ["lint", "kinds"])]
)
def test_packages_take_turns(words, packages, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "mutations", lambda _: [Mutation(1, "a", "b", "")])  # all of a package take seconds
    assert __main__.main(["--list", "--seed", "3", "--count", str(COUNT), *words]) == 0
    drawn = [line.split("/")[1] for line in capsys.readouterr().out.splitlines() if "layoutlint/" in line]
    assert drawn == (list(packages) * COUNT)[:COUNT]
