"""However many processes read a kernel, they say the same of it, byte for byte."""

from __future__ import annotations

import pytest

from tests.harness import command
from tests.harness.effort import row

pytestmark = pytest.mark.real

ASKED = (
    ("check", "--format", "json"),
    ("show", "--format", "json", "--all"),
    *(("containers", "--format", "json", name) for name in ("rw_semaphore", "spinlock_t")),
)


BY_DEFAULT: tuple[str, ...] = ()
"""Without the option, as many as there are processors."""
JOBS = [
    # kernel, options that are to give the same
    ("cloud", (BY_DEFAULT, ("--jobs", "1"), ("--jobs", "5"))),
    row("newest", (BY_DEFAULT, ("--jobs", "1"), ("--jobs", "5")), id="newest"),
]


@pytest.mark.parametrize(("name", "each"), JOBS)
@pytest.mark.parametrize("asked", ASKED, ids=[f"{words[0]} {words[-1]}" for words in ASKED])
def test_the_same_for_any_number_of_processes(kernel, name, each, asked):
    output = []
    for jobs in each:
        done = command.run(asked[0], kernel(name), *asked[1:], *jobs)
        output.append((done.returncode, done.stdout, done.stderr))
    assert len(output[0][1]) > 1_000
    assert output[1:] == output[:-1]
