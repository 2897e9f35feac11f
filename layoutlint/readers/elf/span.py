"""A part of a file that can be searched without being copied: memoryviews have no `find`, mappings have."""

from __future__ import annotations

from dataclasses import dataclass
from mmap import mmap


@dataclass(frozen=True, slots=True)
class Span:
    """A section of strings, where it stands: in the mapped file, or in memory once it was decompressed."""

    text: bytes | mmap
    """What holds the section, and much else where it is the mapping."""
    start: int
    """Where the section starts in `text`, in bytes."""
    end: int
    """One past its last byte in `text`."""

    def __len__(self) -> int:
        return self.end - self.start

    def find(self, needle: bytes, position: int = 0) -> int:
        """Where `needle` next stands whole, at or behind `position`, in bytes; -1 for nowhere."""
        found = self.text.find(needle, self.start + max(position, 0), self.end)
        return found - self.start if found >= 0 else -1

    @property
    def octets(self) -> memoryview:
        """The bytes of the section; the mapping stays as long as they do."""
        return memoryview(self.text)[self.start : self.end]

    def at(self, position: int) -> bytes:
        """The string at a position, up to its NUL. Raises ValueError when it is outside, or does not end."""
        start = self.start + position
        if not self.start <= start < self.end:
            raise ValueError(f"{position:#x} is outside the section, which has {len(self):#x} bytes")
        end = self.text.find(b"\0", start, self.end)
        if end < 0:
            raise ValueError(f"the string at {position:#x} does not end")
        return self.text[start:end]
