"""The store of a survey: a folder with Parquet files, each written whole or not at all.

A task writes a file for each table in which it has rows, called by its key, so two tasks with one key write
the same file. Rows count once `runs` has the key. Nobody has to lock the folder: names never clash.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

from layoutlint import files
from layoutlint.errors import LayoutlintError, ReadError, UsageError, did_you_mean
from layoutlint.model.record import Record, replace
from layoutlint.surveys.tables import FOLDERS, ITEMS, STORE_SCHEMA, Column, Row

_HEAD = "layoutlint-store.json"
_BUILD_ID = "build-id"
"""The `identity` in the head of a store."""
_TEMPORARY = ".new-"
_ABANDONED = 7 * 86_400
"""The seconds after which a file that was not finished is removed: a task can take as long."""
_LARGEST_HEAD = 1 << 16
_PREFIX, _, _VERSION = STORE_SCHEMA.rpartition("/")
_ROW_GROUP = 2_000
"""The rows that are in memory at once: those of a struct can have a megabyte."""


class Unwritable(LayoutlintError):
    """A store that cannot be written, with the reason: the disk is full, for example."""


class Store(Record, frozen=True):
    """An open store."""

    path: str
    by_build_id: bool = False
    """Whether ELF files are identified by their build ids, in each run."""

    def write(self, table: str, name: str, rows: Iterable[Row]) -> int:
        """Write the rows of a table to a file of its own; without rows, remove it. Return their number.

        Raises Unwritable.
        """
        folder = os.path.join(self.path, table)
        final = os.path.join(folder, f"{name}.parquet")
        temporary = os.path.join(folder, f"{_TEMPORARY}{name}-{uuid4().hex}")
        try:
            try:
                count = _write_rows(temporary, table, rows)
                if count:
                    os.replace(temporary, final)
                    _sync_folder(folder)
                else:
                    with suppress(FileNotFoundError):
                        os.unlink(final)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
        except OSError as error:
            raise Unwritable(f"cannot write {final}: {files.error_reason(error)}") from error
        return count

    def rows(self, table: str, columns: tuple[str, ...]) -> Iterator[Row]:
        """Yield some columns of all rows of a table, a batch in memory at a time. Raises ReadError."""
        from pyarrow import ArrowException, parquet

        for path in self.files(table):
            try:
                with parquet.ParquetFile(path) as file:
                    for batch in file.iter_batches(columns=list(columns)):
                        yield from batch.to_pylist()
            except (ArrowException, OSError, KeyError, ValueError, OverflowError) as error:
                cause = str(error).partition("\n")[0].rstrip(".")
                reason = f"is damaged: {cause}; remove it, and the next run does its part again"
                raise ReadError(path, reason) from error

    def files(self, table: str) -> list[str]:
        """Return the paths of the files of a table, in order of their names. Raises ReadError."""
        try:
            paths = files.list_files(os.path.join(self.path, table))
        except OSError as error:
            raise ReadError(os.path.join(self.path, table), files.error_reason(error)) from error
        return [path for path in paths if path.endswith(".parquet")]


def is_store(path: str) -> bool:
    """Return whether a path is a folder that a survey made, of any version."""
    return files.exists(os.path.join(path, _HEAD))


def open_store(path: str) -> Store:
    """Return a store that exists. Raises UsageError for another folder, or a store of another version."""
    head = os.path.join(path, _HEAD)
    if not files.exists(path):
        raise UsageError("no such store", path)
    try:
        text = files.read_all(head, _LARGEST_HEAD)
    except OSError as error:
        raise UsageError(f"is not a store: {_HEAD} {files.error_reason(error)}", path) from None
    try:
        parsed = json.loads(text)
        schema, identity = parsed["schema"], parsed.get("identity")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UsageError(f"is not a store: {_HEAD} is damaged", path) from None
    if schema == STORE_SCHEMA:
        return Store(path, identity == _BUILD_ID)
    prefix, _, number = str(schema).rpartition("/")
    if prefix != _PREFIX:
        raise UsageError(f"is not a store: {_HEAD} has another `schema`", path)
    raise UsageError(f"is a store of version {number[:20]}; this layoutlint uses version {_VERSION}", path)


def create_store(path: str, by_build_id: bool = False) -> Store:
    """Return the store at a path, which is made unless it exists. Raises UsageError.

    `by_build_id` holds for later runs as well. A folder with other files is refused.
    """
    try:
        if not files.exists(path):
            os.makedirs(path, exist_ok=True)
        names = files.names_in(path)
    except OSError as error:
        raise UsageError(files.error_reason(error), path) from None
    if _HEAD not in names:
        others = [name for name in names if name not in FOLDERS and not name.startswith(_TEMPORARY)]
        if others:
            hint = did_you_mean(_HEAD, others)
            raise UsageError(f"is not a store, and not empty (it has {others[0]!r}){hint}", path)
        _make(path)
    store = open_store(path)
    if not os.access(path, os.W_OK | os.X_OK):
        raise UsageError("cannot be written: permission denied", path)
    try:
        _make_folders(path)  # those that stores of earlier versions lack
        _remove_abandoned(path)
        if by_build_id and not store.by_build_id:
            _write_head(path, {"schema": STORE_SCHEMA, "identity": _BUILD_ID})
    except OSError as error:
        raise UsageError(f"cannot be written: {files.error_reason(error)}", path) from None
    return replace(store, by_build_id=store.by_build_id or by_build_id)


def _make_folders(path: str) -> None:
    for name in FOLDERS:
        os.makedirs(os.path.join(path, name), exist_ok=True)


def _remove_abandoned(path: str) -> None:
    """Remove files that nobody finishes, because their tasks were killed. Raises OSError."""
    now = time.time()
    for folder in (os.path.join(path, table) for table in FOLDERS):
        for name in files.names_in(folder):
            temporary = os.path.join(folder, name)
            with suppress(FileNotFoundError):  # another run removes it too, or finishes it
                if name.startswith(_TEMPORARY) and now - files.status_of(temporary).st_mtime > _ABANDONED:
                    os.unlink(temporary)


def _make(path: str) -> None:
    """Write the folders, then the head, which makes it a store."""
    try:
        _make_folders(path)
        _write_head(path, {"schema": STORE_SCHEMA})
    except OSError as error:
        raise UsageError(f"cannot be written: {files.error_reason(error)}", path) from None


def _write_head(path: str, head: dict[str, str]) -> None:
    """Write the head whole. Raises OSError."""
    temporary = os.path.join(path, f"{_TEMPORARY}{uuid4().hex}")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, os.path.join(path, _HEAD))


def _write_rows(path: str, table: str, rows: Iterable[Row]) -> int:
    """Write rows to a new file, if there are any, and return their number. Raises OSError."""
    from pyarrow import RecordBatch, parquet

    schema = arrow_schema(table)
    writer = None
    count = 0
    for part in _parts(rows):
        if writer is None:
            stream = open(path, "xb")  # noqa: SIM115
            writer = parquet.ParquetWriter(stream, schema, compression="zstd")
        writer.write_batch(RecordBatch.from_pylist(part, schema=schema))
        count += len(part)
    if writer is not None:
        writer.close()
        stream.flush()
        os.fsync(stream.fileno())
        stream.close()
    return count


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    part: list[Row] = []
    for row in rows:
        part.append(row)
        if len(part) == _ROW_GROUP:
            yield part
            part = []
    if part:
        yield part


def _sync_folder(folder: str) -> None:
    """Make the name of a new file last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def arrow_schema(table: str) -> Any:
    """Return the schema of a table, as pyarrow has it."""
    import pyarrow

    return pyarrow.schema([_arrow_field(column) for column in FOLDERS[table]])


def _arrow_field(column: Column) -> Any:
    import pyarrow

    return pyarrow.field(column.name, _arrow_type(column.type), nullable=column.is_optional)


def _arrow_type(name: str) -> Any:
    import pyarrow

    if name in ITEMS:
        return pyarrow.list_(pyarrow.struct([_arrow_field(column) for column in ITEMS[name]]))
    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "texts": pyarrow.list_(pyarrow.string()),
        "integers": pyarrow.list_(pyarrow.int64()),
    }
    return types[name]
