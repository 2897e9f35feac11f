"""The process of `layoutlint` and `python -m layoutlint`: what it does besides the command line.

Python ends with status 1 where an exception is left, which would mean findings: none is left here.
"""

from __future__ import annotations

import gc
import os
import sys

EXIT_INTERNAL = 4
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


def main() -> None:
    """Run the command line of this process, and exit with its status."""
    # Most objects stay to the end: looking for cycles among them at Python's pace takes an eighth of a run,
    # and one look at what a kernel's containers are made of ten milliseconds.
    gc.set_threshold(300_000, 20, 100)
    try:
        from layoutlint import cli
        from layoutlint.readers.processes.guard import (
            allow_guard,  # not before: importing makes objects that stay as well
        )

        allow_guard()
        cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else EXIT_INTERNAL if end.code else 0
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BaseException as error:  # it cannot even be imported: no memory, a broken installation
        status = EXIT_INTERNAL
        _complain(error)
    _leave(status)
    raise SystemExit(status)


def _complain(error: BaseException) -> None:
    try:
        cause = ascii(str(error))[1:-1]
        os.write(2, f"layoutlint: cannot run: {type(error).__name__}: {cause}\n".encode())
    except Exception:  # the status says it as well
        return


def _leave(status: int) -> None:
    """Ends the process at once: taking a run's objects apart one by one takes a tenth of it, for nothing.

    Returns, for the interpreter to end as it always does, when output cannot be written (it says so), and for
    LAYOUTLINT_DEBUG (profilers write at the end).
    """
    if os.environ.get("LAYOUTLINT_DEBUG"):
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        return
    try:
        sys.stderr.flush()
    finally:  # the status says what stderr cannot take
        os._exit(status)


def _without_working_folder() -> None:
    """Import nothing from the working folder, which `python -m` searches first: it can be a hostile tree."""
    try:
        here = os.getcwd()
    except OSError:
        return
    if not sys.flags.safe_path and sys.path[:1] == [here]:
        del sys.path[0]


if __name__ == "__main__":
    _without_working_folder()
    main()
