"""The process of `layoutlint` and `python -m layoutlint`: what it does besides the command line."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line of this process, and exit with its status."""
    # Most objects stay to the end: looking for cycles among them at Python's pace takes an eighth of a run,
    # and one look at what a kernel's containers are made of ten milliseconds.
    gc.set_threshold(300_000, 20, 100)
    from layoutlint import cli  # not before: importing makes objects that stay as well

    try:
        cli.main()
    except SystemExit as end:
        _leave(end.code)
        raise


def _leave(status: object) -> None:
    """Ends the process at once: taking a run's objects apart one by one takes a tenth of it, for nothing.

    Returns, for the interpreter to end as it always does, when output cannot be written (it says so), when
    processes were used (their locks are tidied up), and for LAYOUTLINT_DEBUG (profilers write at the end).
    """
    if not isinstance(status, int) or "multiprocessing" in sys.modules or os.environ.get("LAYOUTLINT_DEBUG"):
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        return
    with suppress(OSError, ValueError):  # the status says what stderr cannot take
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
