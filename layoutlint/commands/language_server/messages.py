"""The messages of an editor, with a head that pygls can read.

pygls (2.1.1) waits for ever behind a head without a length, and ends on one that is too large for memory.
"""

from __future__ import annotations

import re
from typing import BinaryIO

LARGEST = 1 << 26
"""The most bytes of a message; texts of files are a part of some."""
_LONGEST_LINE = 1 << 16
_LENGTH = re.compile(rb"content-length[ \t]{0,9}:[ \t]{0,9}(\d{1,18})[ \t]{0,9}\r?\n", re.IGNORECASE)
"""At the end of a line: behind a message without a length, that of the next one begins in the same line."""
_LONGEST_LENGTH = 80
"""The most bytes of such a line, which can be in two pieces."""
_NO_MESSAGE = b"?"
"""A message that is no JSON, to which the server answers an error."""


class Messages:
    """The reading end of a stream, as pygls reads it: lines of a head, then a message.

    In place of a message without a length, or larger than `LARGEST`, one comes that is no JSON. The next
    message begins with the next line that states a length.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self._length: int | None = 0

    def readline(self) -> bytes:
        """Return the next line of a head; empty at the end of the stream."""
        if not self._lines:
            is_lost = self._length is None
            if not self._read_head(self._next_length_line() if is_lost else self._line()):
                return b""
        return self._lines.pop(0)

    def read(self, size: int) -> bytes:
        """Return the message behind a head."""
        return _NO_MESSAGE if self._length is None else self._stream.read(size)

    def _read_head(self, line: bytes) -> bool:
        """Read the rest of a head, up to its empty line; return whether there is one."""
        while line and not line.strip():
            line = self._line()
        length, stated = 0, 0
        while line.strip():
            if (match := _LENGTH.search(line)) is not None:
                length, stated = int(match[1]), stated + 1
            line = self._line()
        if not line:
            return False
        is_right = stated == 1 and 0 < length <= LARGEST
        self._length = length if is_right else None
        self._lines = [b"Content-Length: %d\r\n" % (length if is_right else len(_NO_MESSAGE)), b"\r\n"]
        return True

    def _next_length_line(self) -> bytes:
        """Skip to the next line that states a length, and return it; empty at the end of the stream."""
        end = b""
        while line := self._line():
            if _LENGTH.search(end + line) is not None:
                return end + line
            end = line[-_LONGEST_LENGTH:]
        return b""

    def _line(self) -> bytes:
        """Return a line, or a piece of one that is longer than those of heads."""
        return self._stream.readline(_LONGEST_LINE)
