"""Every document is followed to the letter: its commands print what it shows (see tests/harness/shown_examples.py)."""

from __future__ import annotations

import pytest

from tests.harness.command import ROOT
from tests.harness.shown_examples import Example, examples, follow, unchecked_blocks

pytestmark = pytest.mark.usefixtures("own_processes")

GENERATED = {"cli.md", "json.md", "kinds.md"}
FOLDERS = (ROOT / "docs", ROOT / "docs/contributing")
PAGES = [ROOT / "README.md", *(page for each in FOLDERS for page in sorted(each.glob("*.md")) if page.name not in GENERATED)]
EXAMPLES = [example for page in PAGES for example in examples(page) if not example.is_real]


@pytest.mark.parametrize(
    "example",
    [pytest.param(each, id=each.name, marks=[pytest.mark.exhaustive] * each.is_exhaustive) for each in EXAMPLES],
)
def test_every_command_prints_what_is_shown(example: Example, tmp_path):
    follow(example, tmp_path, {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_output_is_compared(page):
    assert unchecked_blocks(page) == [], "show the command: ```console, or a comment `output of` (tests/harness/shown_examples.py)"
