"""The process of `layoutlint` and `python -m layoutlint`: garbage collection, and the exit status.

Python exits with status 1 for an unhandled exception, which would mean findings: all are handled here.
"""

from __future__ import annotations

import gc
import os
import sys

EXIT_INTERNAL = 4  # as in errors.py, which may be what cannot be imported
EXIT_INTERRUPTED = 130
_NO_MEMORY = b"layoutlint: cannot run: there is not enough memory\n"

_LEAST_MEMORY = 20 << 20
"""Bytes of address space below which no command has ever run."""


def main() -> None:
    """Run the command line of this process, and exit with its status."""
    # Most objects live until the end. Collecting as often as Python does takes an eighth of a run; one
    # collection of the containers of a kernel takes ten milliseconds.
    gc.set_threshold(300_000, 20, 100)
    try:
        if _has_little_memory():
            _say_no_memory()
            _exit_at_once(EXIT_INTERNAL)
        from layoutlint import cli
        from layoutlint.workers.guard import allow_guard

        allow_guard()
        cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else EXIT_INTERNAL if end.code else 0
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BaseException as error:  # an import failed: no memory, or a broken installation
        status = EXIT_INTERNAL
        _complain(error)
    try:
        _exit_at_once(status)
    except MemoryError:  # not even for the call, so output can be missing
        os._exit(EXIT_INTERNAL)
    raise SystemExit(status)


def _complain(error: BaseException) -> None:
    try:
        cause = ascii(str(error))[1:-1]
        os.write(2, f"layoutlint: cannot run: {type(error).__name__}: {cause}{_remedy(error)}\n".encode())
    except Exception:  # nothing is left for a longer message; the status remains in any case
        _say_no_memory()


def _say_no_memory() -> None:
    try:
        os.write(2, _NO_MEMORY)
    except OSError:  # the status remains
        return


def _has_little_memory() -> bool:
    """Return whether the limit of the address space is below what imports need, where Python can crash."""
    try:
        from resource import RLIMIT_AS, getrlimit
    except ImportError:  # no such limits, or none that can be read
        return False
    return 0 <= getrlimit(RLIMIT_AS)[0] < _LEAST_MEMORY


def _remedy(error: BaseException) -> str:
    """Return what mends an error if compiled modules of other sources can be its cause."""
    try:
        from layoutlint.commands import version

        text = version.remedy(error)
    except Exception:  # it can be what cannot be imported
        return ""
    return f"; {text}" if text else ""


def _exit_at_once(status: int) -> None:
    """End the process without freeing its objects, which takes a tenth of a run.

    Returns, so that the interpreter ends as usual, if output cannot be written (the interpreter reports it)
    and for LAYOUTLINT_DEBUG (profilers write at the end).
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
    finally:  # the status remains if stderr cannot be written
        os._exit(status)


def _ignore_working_folder() -> None:
    """Import nothing from the working directory, which `python -m` searches first: it can be hostile."""
    try:
        folder = os.getcwd()
    except OSError:
        return
    if not sys.flags.safe_path and sys.path[:1] == [folder]:
        del sys.path[0]


if __name__ == "__main__":
    _ignore_working_folder()
    main()
