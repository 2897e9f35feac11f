"""Limits of the processes in which libclang runs."""

from __future__ import annotations

import os

from layoutlint.workers import permissions, sandbox
from layoutlint.workers.child import HAS_PROCESSES

LIMITS = sandbox.WorkLimits(seconds=120, memory=2 << 30, is_confined=True)
"""For one unit; one with all 3,000 headers of Linux and every struct takes 9 s and 310 MB."""
_PATIENCE_SECONDS = 240.0
PATIENCE = sandbox.Patience(_PATIENCE_SECONDS)
"""For the whole run: after two units that do not end, the rest is not read."""
_DRIVER_VARIABLES = (
    "CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH", "COMPILER_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "QA_OVERRIDE_GCC3_OPTIONS",
    "SDKROOT",
    "LIBCLANG_LOGGING", "LIBCLANG_OBJTRACKING", "LIBCLANG_RESOURCE_USAGE", "SOURCE_DATE_EPOCH",
)  # fmt: skip
"""Variables from which libclang and its driver would read flags, folders or names of files."""


def begin_run() -> None:
    """Renew the patience in a process that does one run after another."""
    PATIENCE.seconds = _PATIENCE_SECONDS


def confine() -> None:
    """Prepare a process for libclang: without variables that it reads, and calls that it does not need."""
    if HAS_PROCESSES:
        # After some crashes libclang would continue without the declaration that crashed it.
        os.putenv("LIBCLANG_DISABLE_CRASH_RECOVERY", "1")
        os.putenv("CLANG_NO_DEFAULT_CONFIG", "1")
        for name in _DRIVER_VARIABLES:
            os.unsetenv(name)
        permissions.refuse_calls()
