"""Compiles and runs the program of a plan, in limits, and reads its numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint.measurement.machine import CannotMeasure, search_path
from layoutlint.measurement.plan import Plan
from layoutlint.model.record import Record
from layoutlint.workers import program
from layoutlint.workers.program import LimitExceeded, Limits
from layoutlint.workers.temporary_folder import temporary_folder

FLAGS = ("-std=gnu11", "-O2", "-pthread", "-fno-strict-aliasing")
"""Flags of the compiler; gcc and clang have them."""
_COMPILATION = Limits(120, 1 << 16, 1 << 16)
_VERSION = Limits(20, 1 << 16, 1 << 12)
_LINE = 160
"""Bytes of the longest line that the program prints."""
_NUMBERS = 7
"""Numbers in a line of a sample."""


class Sample(Record, frozen=True):
    """One core in one window."""

    cell: int
    round: int
    thread: int
    times: int
    """How often it did its accesses."""
    start: int
    """Nanoseconds of the system's clock."""
    end: int
    used: int
    """Nanoseconds that the thread ran."""


def program_text(plan: Plan) -> str:
    """Return the program as one text, as `--dry-run` prints it. Raises ValueError if it is too large."""
    return _source().replace('#include "plan.h"\n', plan.text())


def compiler_version(compiler: str) -> str:
    """Return the first line that a compiler prints about itself; empty if it prints none."""
    try:
        result = program.run((compiler, "--version"), "/", _environment("/"), _VERSION)
    except (OSError, LimitExceeded):
        return ""
    lines = result.output.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if lines else ""


def run(plan: Plan, compiler: str) -> tuple[Sample, ...]:
    """Compile and run the program of a plan, and return its samples. Raises CannotMeasure and ValueError."""
    return tuple(_samples(_run_built(plan, compiler), plan))


def _run_built(plan: Plan, compiler: str) -> str:
    executable = _build(plan, compiler)
    cells = len(plan.cells)
    most = plan.timing.most_samples(cells) * len(plan.cores) * _LINE
    limits = Limits(plan.timing.most_seconds + 5, most, 1 << 12)
    try:
        # Its folder is gone already, so that nothing of it stays if this process is killed.
        name = f"/proc/self/fd/{executable}"
        result = program.run((name,), "/", {}, limits, (executable,))
    except LimitExceeded as error:
        raise CannotMeasure(f"the program that measures {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CannotMeasure(
            f"the program that measures cannot be run: {reason} (it is built in the folder of TMPDIR)"
        ) from error
    finally:
        os.close(executable)
    if result.status:
        raise CannotMeasure(f"the program that measures ended with {_ending(result.status)}")
    return result.output.decode("ascii", "replace")


def _build(plan: Plan, compiler: str) -> int:
    """Return a descriptor of the compiled program."""
    with temporary_folder() as folder:
        for name, text in (("program.c", _source()), ("plan.h", plan.text())):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
        command = (compiler, *FLAGS, "-o", "program", "program.c")
        try:
            result = program.run(command, folder, _environment(folder), _COMPILATION)
        except (OSError, LimitExceeded) as error:
            raise CannotMeasure(f"{compiler} cannot compile: {error}") from error
        if result.status:
            lines = result.messages.decode("utf-8", "replace").splitlines()
            first = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
            raise CannotMeasure(f"{compiler} fails to compile the program: {first}")
        return os.open(os.path.join(folder, "program"), os.O_RDONLY | os.O_CLOEXEC)


def _environment(folder: str) -> dict[str, str]:
    return {"PATH": search_path(), "LC_ALL": "C", "TMPDIR": folder}


def _source() -> str:
    path = os.path.join(os.path.dirname(__file__), "program.c")
    with open(path, encoding="ascii") as file:
        return file.read()


def _samples(text: str, plan: Plan) -> Iterator[Sample]:
    for line in text.splitlines():
        numbers = line.split()
        if len(numbers) != _NUMBERS or not all(map(str.isdecimal, numbers)):
            raise CannotMeasure("the program that measures printed something else than numbers")
        sample = Sample(*map(int, numbers))
        if sample.cell >= len(plan.cells) or sample.round >= plan.timing.rounds or sample.end <= sample.start:
            raise CannotMeasure("the program that measures printed impossible numbers")
        yield sample


_STATUSES = {10: "status 10: it could not choose its core", 11: "status 11: it could not start a thread"}


def _ending(status: int) -> str:
    from signal import strsignal

    if status < 0:
        return f"signal {-status} ({strsignal(-status)})"
    return _STATUSES.get(status, f"status {status}")
