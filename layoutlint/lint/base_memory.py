"""The findings in a base revision, kept for later runs: a commit does not change (docs/inputs.md)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import strftime
from typing import Any

import msgspec

from layoutlint import files
from layoutlint.comparison.baseline_match import Entry
from layoutlint.files import accesses
from layoutlint.lint.lost_structs import JudgedStruct
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record
from layoutlint.readers.cache import keys
from layoutlint.readers.cache.memory import Memory


class BaseFindings(Record, frozen=True):
    """The findings in a base revision."""

    entries: tuple[Entry, ...] = ()
    """Its findings, as a baseline accepts them."""
    unread: tuple[Unread, ...] = ()
    """What could not be read there, so that findings may seem new."""
    judged: tuple[JudgedStruct, ...] = ()
    """What its rules judged."""
    units: tuple[JudgedStruct, ...] = ()
    """The structs of rules that changed files had there, also by what they include; without their rules."""
    failed: tuple[Unread, ...] = ()
    """The inputs of which nothing could be read there, so that nothing shows what its rules judged."""


def recall_or_find(parts: tuple[object, ...], root: str, find: Callable[[], BaseFindings]) -> BaseFindings:
    """Return what `find` returns, or what it returned in an earlier run if that would be the same.

    `parts` say what is judged: the commit, the inputs, rules and options. What `find` reads below the
    temporary folder `root` comes from the commit, and is no other question.
    """
    try:
        memory = Memory(keys.key_of("base/2", parts, strftime("%Y-%m-%d")))
    except (keys.Unknown, OSError):
        return find()
    kept = memory.recall()
    if kept is not None:
        try:
            return msgspec.json.decode(kept, type=BaseFindings, dec_hook=_decode_value)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    with accesses.log_answers() as log:
        result = find()
    log.leave_out(files.real_path(root))
    try:
        memory.keep(log, msgspec.json.encode(result, enc_hook=str))
    except ValueError:  # names that are no UTF-8
        return result
    return result


def _decode_value(kind: type, value: Any) -> Any:
    """Return a fraction from its text; raises ValueError for another one."""
    if kind is not Fraction or not isinstance(value, str):
        raise ValueError(f"no {kind.__name__}")
    return Fraction(value)
