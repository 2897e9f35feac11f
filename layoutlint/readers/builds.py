"""Whether an input is of the build that was asked for."""

from __future__ import annotations

from layoutlint.errors import ReadError
from layoutlint.model import Reading, ReadOptions


def refuse_other(told: Reading, options: ReadOptions) -> None:
    """Raises ReadError for an input, its structs aside, of another machine or configuration than asked."""
    if options.target not in (None, told.target.name):
        raise ReadError(told.path, f"is for {told.target.name}, and {options.target} was asked for")
    for option in options.config or ():
        is_on, name = not option.startswith("!"), option.removeprefix("!")
        opposite = f"!{name}" if is_on else name
        if opposite in told.options or (told.config is not None and is_on != (name in told.config)):
            has = f"{'without' if is_on else 'with'} {name}"
            raise ReadError(told.path, f"is configured {has}, and `{option}` was asked for")
