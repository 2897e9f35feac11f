"""The lines of a report: bounded, without colours, quotation marks and what a pager left."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.structs import Source

STDIN = "-"
_LONGEST = 1 << 16
"""Bytes of a line; perf's longest symbols are a tenth of that."""
_LARGEST_PIPE = 1 << 28
"""Bytes that are read from a pipe, which has to be kept in memory."""

_C2C = "perf c2c report --stdio -i FILE > report.txt"
_TYPES = "perf report -s type,typeoff -n --stdio -i FILE > types.txt"
COMMANDS = f"`{_C2C}`, or `{_TYPES}`"
"""How to write reports that can be read."""
_DATA = f"is a recording of perf, not a report; write one with {COMMANDS}"
_JSON = (
    "is an export of samples (`perf data convert`), which has neither the addresses of data nor types; "
    f"write a report of the recording with {COMMANDS}"
)
_UTF16 = "is text in UTF-16; write it in UTF-8 (`iconv -f UTF-16 -t UTF-8`)"
_PACKED = "is compressed; unpack it first"
_STARTS = {
    b"PERFILE2": _DATA,
    b"2ELIFREP": _DATA,
    b"PERFFILE": _DATA,
    b"\xc1\x1f\xfc\xc1": _JSON,
    b"\xc1\xfc\x1f\xc1": _JSON,
    b"/* CTF": _JSON,
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": _PACKED,
    b"\xfd7zXZ": _PACKED,
    b"(\xb5/\xfd": _PACKED,
    b"\x7fELF": f"is a program, not a report; it belongs after --in. Write a report with {COMMANDS}",
}
"""Files that are given by mistake, by their first bytes (perf.data-file-format.txt of Linux; CTF 1.8)."""
_CTF_FILE = "metadata"

# ECMA-48: control sequences, and the texts that set the title of a window.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_=>]")
_OVERSTRUCK = re.compile(r".\x08")
_QUOTE = re.compile(r"^[ \t]*(?:> ?)+")


def lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a report with their numbers, from 1; raises ReadError.

    A regular file is read piece by piece. `-` is standard input.
    """
    with open_report(path) as file:
        yield from lines_of(file, path)


def lines_of(file: BinaryIO, path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of an open report as `lines` does; between two, the file is at the next one."""
    head = file.peek(4096) if isinstance(file, io.BufferedReader) else b""
    _refuse_other_formats(path, head)
    number = 0
    while True:
        data = file.readline(_LONGEST + 1)
        if not data:
            break
        number += 1
        if len(data) > _LONGEST:
            raise ReadError(Source(path, number), f"the line is longer than {_LONGEST:,} bytes")
        if b"\0" in data:
            raise ReadError(Source(path, number), "has bytes of value 0: it is not text")
        yield number, _clean(data.decode("utf-8", "backslashreplace"))
    if not number:
        raise ReadError(path, "the file is empty")


def open_report(path: str) -> BinaryIO:
    """Open a file, or read a whole pipe; raises ReadError."""
    try:
        if files.is_folder(path):
            is_ctf = files.exists(f"{path}/{_CTF_FILE}")
            raise ReadError(path, _JSON if is_ctf else "is a folder, not a report")
        if path != STDIN and (files.is_file(path) or not files.exists(path)):
            return files.open_file(path)
        data = files.read_start("/dev/stdin" if path == STDIN else path, _LARGEST_PIPE + 1, through_pipe=True)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    if len(data) > _LARGEST_PIPE:
        raise ReadError(
            path, f"has more than the {_LARGEST_PIPE:,} bytes that are read from a pipe; use a file"
        )
    return io.BufferedReader(io.BytesIO(data))


def _refuse_other_formats(path: str, head: bytes) -> None:
    for start, reason in _STARTS.items():
        if head.startswith(start):
            raise ReadError(path, reason)
    if b'"linux-perf-json-version"' in head:
        raise ReadError(path, _JSON)


def _clean(text: str) -> str:
    """Return a line without its end, colours, overstriking and marks of quotation."""
    text = text.rstrip("\r\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    if text.startswith("\ufeff"):
        text = text[1:]
    return _QUOTE.sub("", text) if ">" in text else text
