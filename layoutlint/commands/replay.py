"""The output of an earlier `check`, printed again if all that it depends on is the same (docs/inputs.md)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from layoutlint.files.accesses import Log
    from layoutlint.readers.cache.memory import Memory

OFF = "LAYOUTLINT_NO_CACHE"
"""The environment variable that turns the cache off, unless it is empty."""
_LARGEST = 1 << 24
"""The most characters of an output that is kept."""


class Output(NamedTuple):
    """The text of a run on stdout, and its exit status."""

    text: str
    status: int


def is_on(no_cache: bool) -> bool:
    """Return whether results are kept, by the option and the environment."""
    return not no_cache and not os.environ.get(OFF)


def memory_for(command: str, color: str, width: int | None, *options: object) -> Memory | None:
    """Return where the output of a command with these options is kept; None if it cannot be kept."""
    from layoutlint.commands import terminal
    from layoutlint.readers.cache import keys
    from layoutlint.readers.cache.memory import Memory

    try:
        return Memory(keys.key_of(command, terminal.has_color(color), terminal.width(width), options))
    except (keys.Unknown, OSError):
        return None


def recall(memory: Memory) -> Output | None:
    """Return the output of an earlier run; None if there is none, or it would differ."""
    kept = memory.recall()
    if kept is None:
        return None
    status, _, text = kept.partition(b"\n")
    try:
        return Output(text.decode(errors="surrogatepass"), int(status))
    except ValueError:
        return None


def keep(memory: Memory, log: Log, output: Output) -> None:
    """Keep an output that comes from the answers in a log."""
    if len(output.text) <= _LARGEST:
        memory.keep(log, b"%d\n" % output.status + output.text.encode(errors="surrogatepass"))
