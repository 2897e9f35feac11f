"""What documents show of real kernels is what the commands print."""

from __future__ import annotations

import pytest

from tests.harness.shown_examples import Example, examples, follow
from tests.project.test_shown_examples import PAGES
from tests.real import kernels

pytestmark = pytest.mark.real

EXAMPLES = [example for page in PAGES for example in examples(page) if example.is_real]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_command_prints_what_is_shown(example: Example, measured, tmp_path):
    paths = {}
    for name, (source, version) in example.kernels.items():
        paths[name] = measured(source)
        assert f"{kernels.release(paths[name])}.".startswith(f"{version}."), "the document is about another version"
    follow(example, tmp_path, paths)
