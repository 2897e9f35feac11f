"""The pictures in the documents are what the command draws."""

from __future__ import annotations

import json

from tests.harness.command import ROOT, run

FOLDER = ROOT / "docs" / "pictures"
COMMAND = "show address_space.h address_space --format svg --base 56"


def test_the_picture_is_what_the_command_draws():
    assert f"layoutlint {COMMAND} > address_space.svg" in (ROOT / "docs" / "editors.md").read_text()
    done = run(*COMMAND.split(), cwd=FOLDER)
    assert done.stdout == (FOLDER / "address_space.svg").read_text()


def test_the_struct_in_the_picture_shares_a_line_there():
    done = run("check", "address_space.h", "--format", "json", cwd=FOLDER)
    assert [finding["placements"]["bases"] for finding in json.loads(done.stdout)["findings"]] == [[0, 56]]
