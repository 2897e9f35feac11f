"""Rows of a store that are added one by one while a survey runs, and written many to a file."""

from __future__ import annotations

import time
from uuid import uuid4

from layoutlint.errors import UsageError
from layoutlint.surveys.store import Store, Unwritable
from layoutlint.surveys.tables import Row


class RowLog:
    """The waiting rows of one table. They are written once there are `most`, or they waited for `seconds`."""

    def __init__(self, store: Store, table: str, most: int, seconds: float) -> None:
        self._store, self._table = store, table
        self._most, self._seconds = most, seconds
        self._rows: list[Row] = []
        self._flushed = time.monotonic()

    def add(self, row: Row) -> None:
        """Keep a row, and write what waits if that is much or old. Raises UsageError."""
        self._rows.append(row)
        if len(self._rows) >= self._most or time.monotonic() - self._flushed > self._seconds:
            self.flush()

    def flush(self) -> None:
        """Write what waits. Raises UsageError."""
        rows, self._rows = self._rows, []
        self._flushed = time.monotonic()
        if rows:
            try:
                self._store.write(self._table, f"{time.time_ns():020d}-{uuid4().hex[:12]}", rows)
            except Unwritable as error:
                raise UsageError(str(error)) from error
