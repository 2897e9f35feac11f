"""The table [settings] of a rule file: options that a project always gives (docs/rules.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint.errors import Mistake, RuleFileError
from layoutlint.intent.toml import converters, document
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.table import Notes, Table
from layoutlint.model.record import Record

TABLE = "settings"
KEYS = ("line-size", "min-align", "flags", "pack", "fail-on", "inputs")
_RUNS = ("query-driver", "debuginfod", "executor", "scheduler", "workers", "uses", "policy-from")
"""Options that run programs, trust another machine, or say whom to trust."""
_LARGEST = 1 << 20


class Settings(Record, frozen=True):
    """The values of a table; None and () for those that it lacks."""

    line_size: int | None = None
    min_align: int | None = None
    flags: tuple[str, ...] = ()
    """Compiler flags, with paths from the working folder: those of a revision are in its own files."""
    pack: tuple[str, ...] = ()
    fail_on: str | None = None
    inputs: tuple[str, ...] = ()
    """What `check` judges without arguments, as paths from the working folder."""


def parse(path: str, text: str) -> Settings:
    """Return the settings in the text of a rule file. Raises RuleFileError with all mistakes in them."""
    if TABLE not in text:
        return Settings()
    toml = document.parse(text, path)
    notes = Notes(toml)
    settings = read(Table(toml.data, (), "a rule file", notes), path)
    if notes.mistakes:
        raise RuleFileError(tuple(Mistake(path, line, message) for line, message in sorted(notes.mistakes)))
    return settings


def read(top: Table, path: str) -> Settings:
    """Return the settings of a rule file; mistakes go to its notes."""
    table = top.table(TABLE, "[settings]")
    table.allow_only(KEYS, _explain)
    if table.data and path.startswith("/dev/"):
        table.report("[settings] is read from files only: a pipe can be read once")
    folder = os.path.relpath(os.path.dirname(path) or os.curdir)
    words = table.get("flags", converters.words) or ()
    return Settings(
        line_size=table.get("line-size", _power_of_two),
        min_align=table.get("min-align", _power_of_two),
        flags=_from_folder(words, folder),
        pack=table.get("pack", converters.words) or (),
        fail_on=table.get("fail-on", converters.choice(("broken", "at-risk"))),
        inputs=tuple(_expand(folder, table.get("inputs", converters.words) or ())),
    )


def _from_folder(words: tuple[str, ...], folder: str) -> tuple[str, ...]:
    if not words or folder == os.curdir:
        return words
    from layoutlint.readers.clang import flags  # few files have some

    return tuple(flags.make_absolute(words, folder))


def _expand(folder: str, patterns: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths that patterns match; one that matches nothing is yielded itself, and is no file."""
    from glob import glob  # few files name inputs

    for pattern in patterns:
        path = os.path.normpath(os.path.join(folder, pattern))
        names = glob(pattern, root_dir=folder, recursive=True)
        found = (os.path.normpath(os.path.join(folder, name)) for name in names)
        yield from sorted(found) or (path,)


def _explain(key: str) -> str:
    """Return why an option is no setting; empty for another word."""
    if key.replace("_", "-") in KEYS:
        return f" (write `{key.replace('_', '-')}`)"
    return " (it runs or trusts something: give it on the command line)" if key in _RUNS else ""


def _power_of_two(value: object) -> int:
    number = converters.integer(value)
    if number < 1 or number & (number - 1) or number > _LARGEST:
        raise Misfit(f"must be a power of two, up to {_LARGEST:,}, not {number}")
    return number
