"""Part of a file that can be searched without a copy: memoryviews have no `find`, mappings have."""

from __future__ import annotations

from mmap import mmap

from layoutlint.model.record import Record


class Span(Record, frozen=True):
    """A section of strings, in the mapped file, or in memory if it was decompressed."""

    text: bytes | mmap
    """The object that holds the section; a mapping holds the whole file."""
    start: int
    """Where the section starts in `text`, in bytes."""
    end: int
    """The position after its last byte in `text`."""

    def __len__(self) -> int:
        return self.end - self.start

    def find(self, needle: bytes, position: int = 0) -> int:
        """Return the next position of `needle`, at `position` or later, in bytes; -1 if there is none."""
        place = self.text.find(needle, self.start + max(position, 0), self.end)
        return place - self.start if place >= 0 else -1

    @property
    def octets(self) -> memoryview:
        """The bytes of the section; they keep the mapping alive."""
        return memoryview(self.text)[self.start : self.end]

    def string(self, position: int) -> bytes:
        """Return the string at a position, up to its NUL.

        Raises ValueError if it is outside or does not end.
        """
        start = self.start + position
        if not self.start <= start < self.end:
            raise ValueError(f"{position:#x} is outside the section, which has {len(self):#x} bytes")
        end = self.text.find(b"\0", start, self.end)
        if end < 0:
            raise ValueError(f"the string at {position:#x} does not end")
        return self.text[start:end]
