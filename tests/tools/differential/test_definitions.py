"""What a database and a folder judge is what each file alone judges (2,000 cases by the command of definitions.py)."""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import definitions


@pytest.mark.exhaustive
def test_no_form_of_a_definition_is_missed():
    need("gcc", "-c")
    result = definitions.examine(draws(80, 2000), 1)
    assert result.wrong == []
    assert result.counts.total() == draws(80, 2000)
