"""The orders that clang generates with -frandomize-layout-seed (clang/lib/AST/Randstruct.cpp)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from layoutlint.model.record import Record, field
from layoutlint.model.structs import Field
from layoutlint.randstruct.generators import Draw, Shuffle

_BUCKET = 64
"""Capacity of a bucket in bits; clang compares them with the bytes of a line."""


class Bucket(Record):
    """Members that stay together; the bit-fields of a run also keep their order."""

    members: list[int] = field(default_factory=list)
    bits: int = 0
    is_run: bool = False


def is_kept_last(member: Field) -> bool:
    """Return whether a last member keeps its place: an array that is flexible or has at most two elements."""
    return bool(member.dims) and (member.dims[0] is None or member.dims[0] <= 2)


def order(fields: Sequence[Field], draw: Draw, shuffle: Shuffle) -> list[int]:
    """Return the declared positions of the members in their new order."""
    filled, tail = buckets(fields)
    shuffle(filled, draw)
    ordered: list[int] = []
    for bucket in filled:
        if not bucket.is_run:
            shuffle(bucket.members, draw)
        ordered += bucket.members
    return ordered + tail


def buckets(fields: Sequence[Field]) -> tuple[list[Bucket], list[int]]:
    """Return the buckets in the order in which they are filled, and the members that stay after them."""
    count = len(fields)
    if fields and is_kept_last(fields[-1]):
        count -= 1
    return _BucketFiller(fields, count).buckets(), list(range(count, len(fields)))


class _BucketFiller:
    """Fills buckets from a queue of members: a member that does not fit goes to the end of the queue."""

    def __init__(self, fields: Sequence[Field], count: int) -> None:
        self.fields = fields
        self.queue = deque(range(count))
        self.full: list[Bucket] = []
        self.current: Bucket | None = None
        self.run: Bucket | None = None
        self.skipped = 0

    def buckets(self) -> list[Bucket]:
        """Return all buckets in the order in which they are filled."""
        while self.queue:
            if self.skipped >= len(self.queue):
                self._close_bucket()
            first = self.fields[self.queue[0]]
            if first.is_bitfield and first.bit_size:
                self._extend_run()
            else:
                self._place_member()
        return self.full + [bucket for bucket in (self.current, self.run) if bucket is not None]

    def _close_bucket(self) -> None:
        self.skipped = 0
        if self.current is not None:
            self.full.append(self.current)
            self.current = None

    def _extend_run(self) -> None:
        if self.run is None:
            self.run = Bucket(is_run=True)
        self.run.members.append(self.queue.popleft())

    def _place_member(self) -> None:
        """Put the first member of the queue into a bucket, or to the end of the queue."""
        if self.run is not None:
            self.full.append(self.run)
            self.run = None
        if self.current is None:
            self.current = Bucket()
        first = self.fields[self.queue[0]]
        # `int : 0` counts as an `int`.
        width = (first.align or 0) * 8 if first.is_bitfield else first.bit_size or 0
        if width >= _BUCKET:
            self.full.append(Bucket([self.queue.popleft()], width))
        elif self.current.bits + width <= _BUCKET:
            self.current.members.append(self.queue.popleft())
            self.current.bits += width
            if self.current.bits >= _BUCKET:
                self._close_bucket()
        else:
            self.skipped += 1
            self.queue.rotate(-1)
