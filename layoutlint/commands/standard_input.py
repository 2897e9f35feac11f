"""C text on standard input: the input `-`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from layoutlint import files
from layoutlint.errors import ReadError

if TYPE_CHECKING:
    from layoutlint.model.reading import InputText

WORD = "-"
_NAME = "<stdin>"
_FILE = "/dev/stdin"
_LARGEST = 1 << 25
"""The most bytes of a text; preprocessed sources of Linux have up to 10 million."""


def take_text(
    inputs: tuple[str, ...], rule_paths: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[InputText, ...]]:
    """Return inputs with `-` as `<stdin>`, and the C text on standard input.

    Raises UsageError if it has no C text, or something else reads it too; ReadError if it is empty or cannot
    be read.
    """
    if WORD not in inputs:
        return inputs, ()
    if inputs.count(WORD) > 1:
        raise click.UsageError("standard input can be read once: give `-` once")
    if not {WORD, _FILE}.isdisjoint(rule_paths):
        raise click.UsageError("standard input can be read once: as INPUT, or as the rules of `--rules -`")
    if _NAME in inputs:
        raise click.UsageError(f"`{_NAME}` is the name of standard input; write `./{_NAME}` for the file")
    from layoutlint.model.reading import InputText

    return tuple(_NAME if path == WORD else path for path in inputs), (InputText(_NAME, _read()),)


def _read() -> str:
    """Return the text on standard input."""
    from layoutlint.readers import dispatch

    try:
        content = files.read_start(_FILE, _LARGEST + 1, through_pipe=True)
    except OSError as error:
        raise ReadError(_NAME, files.error_reason(error)) from error
    if len(content) > _LARGEST:
        raise ReadError(_NAME, f"has more than the {_LARGEST:,} bytes that are read")
    try:
        reader = dispatch.reader_of(_NAME, content[: dispatch.SNIFFED])
    except ReadError as error:
        if not content:
            raise
        raise click.UsageError(f"standard input: {error.reason} (`-` is for C text)") from error
    if reader == "snapshot":
        raise click.UsageError("`-` is for C text, and standard input is a snapshot; give it by its name")
    if reader != "clang" or b"\0" in content:
        raise click.UsageError("`-` is for C text, and standard input is binary; give the file by its name")
    return content.decode("utf-8", "surrogateescape")
