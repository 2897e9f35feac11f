"""The compiled scanner and its source say the same of a kernel, byte for byte."""

from __future__ import annotations

import pytest

from layoutlint.commands import version
from tests.harness import command, interpreted
from tests.harness.effort import row

pytestmark = pytest.mark.real

CASES = (
    # Each command on one kernel: what decodes differently is in the fast tests, and the source takes 15 times as long.
    row("cloud", ("show", "--format", "json", "--all", "--expand")),
    ("cloud", ("show", "--reader", "btf", "--format", "json", "--all", "--expand")),
    row("next", ("containers", "--format", "json", "rw_semaphore")),
    row("next-arm64", ("check", "--format", "json")),
)


@pytest.mark.parametrize(("name", "asked"), CASES)
def test_compiled_and_interpreted_say_the_same(kernel, name, asked):
    if version.state() != "compiled":
        pytest.skip(f"the scanner is {version.state()}: there is nothing to compare")
    arguments = (asked[0], kernel(name), *asked[1:])
    first, second = (run(*arguments, seconds=600) for run in (command.run, interpreted.run))
    assert first.stdout == second.stdout
    assert (first.returncode, first.stderr) == (second.returncode, second.stderr)
    assert len(first.stdout) > 1_000
