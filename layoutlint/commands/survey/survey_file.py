"""Job files: the inputs, rules and limits of a survey (docs/survey.md)."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator

from layoutlint import files
from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import converters, document
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.table import Notes, Table
from layoutlint.model.record import Record

_KEYS = ("inputs", "inputs_from", "rules", "packs", "structs", "limits")
_LIMITS = ("task_seconds", "task_memory")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_BYTES = re.compile(r"(\d{1,15})\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)
_LEAST_MEMORY = 1 << 26
"""Python and the readers need a part of it before they read anything."""
MOST_SECONDS = 7 * 86_400
_LARGEST_LIST = 1 << 28
"""The most bytes of a list of inputs."""
_NOT_PATH = re.compile(r"[a-z][a-z0-9+.-]*:")
"""The start of an input that is no path: a URL, a build id."""


class Job(Record, frozen=True):
    """The inputs, rules and limits of a survey."""

    inputs: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """Rule files, and folders with them."""
    packs: tuple[str, ...] = ()
    structs: tuple[str, ...] = ()
    """Names and patterns of structs whose layouts are kept."""
    task_seconds: float | None = None
    task_memory: int | None = None
    """Bytes."""


def load(path: str) -> Job:
    """Return the job in a file. Raises RuleFileError with all its mistakes."""
    toml = document.parse(document.read_text(path, through_pipe=True), path)
    notes = Notes(toml)
    job = _Reader(Table(toml.data, (), "a job", notes), os.path.dirname(path)).job()
    if notes.mistakes:
        raise RuleFileError(tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes)))
    return job


def split_names(data: bytes) -> tuple[str, ...]:
    """Return the names in a list: one on each line, or each before a byte of value 0 if there is any."""
    end = b"\0" if b"\0" in data else b"\n"
    names = (name.removesuffix(b"\r") if end == b"\n" else name for name in data.split(end))
    return tuple(os.fsdecode(name) for name in names if name)


def memory(text: str) -> int:
    """Return a number of bytes, such as `512M` or `4 GiB`; raises Misfit."""
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise Misfit(f"cannot be `{text}`: a number of bytes, as `512M` or `4G`")
    number = int(match[1]) * _UNITS[(match[2] or "").upper()]
    if number < _LEAST_MEMORY:
        raise Misfit(f"cannot be `{text}`: a task needs at least {_LEAST_MEMORY >> 20} MiB")
    if number >= 1 << 60:
        raise Misfit(f"cannot be `{text}`: too large")
    return number


class _Reader(Record):
    """Turns the tables of a file into a job; mistakes go to its notes."""

    top: Table
    folder: str

    def job(self) -> Job:
        top = self.top
        top.allow_only(_KEYS)
        limits = top.table("limits", "[limits]")
        limits.allow_only(_LIMITS)
        inputs = tuple(self._inputs())
        if not {"inputs", "inputs_from"} & set(top.data):
            top.report("a job has no `inputs`")
        return Job(
            tuple(dict.fromkeys(inputs)),
            tuple(self._resolve(path) for path in top.get("rules", converters.words) or ()),
            top.get("packs", converters.words) or (),
            top.get("structs", converters.words) or (),
            limits.get("task_seconds", _seconds),
            limits.get("task_memory", lambda value: memory(converters.text(value))),
        )

    def _inputs(self) -> Iterator[str]:
        for number, name in enumerate(self.top.get("inputs", converters.words) or ()):
            if not glob.has_magic(name):
                yield self._resolve(name)
                continue
            paths = sorted(glob.glob(self._resolve(name), recursive=True))
            if not paths:
                self.top.report(f"`inputs` has `{name}`, which matches no file", "inputs", number)
            yield from paths
        for number, name in enumerate(self.top.get("inputs_from", converters.words) or ()):
            try:
                data = files.read_all(self._resolve(name), _LARGEST_LIST)
            except OSError as error:
                reason = files.error_reason(error)
                self.top.report(f"`inputs_from` has `{name}`: {reason}", "inputs_from", number)
                continue
            yield from (self._resolve(each) for each in split_names(data))

    def _resolve(self, name: str) -> str:
        """Return a path in the job, which is relative to its folder."""
        if _NOT_PATH.match(name) and not files.exists(os.path.join(self.folder, name)):
            return name
        return os.path.normpath(os.path.join(self.folder, name))


def _seconds(value: object) -> float:
    number = converters.number(value)
    if not 0 < number <= MOST_SECONDS:
        raise Misfit(f"must be more than 0 and at most {MOST_SECONDS:,}, not {value}")
    return number
