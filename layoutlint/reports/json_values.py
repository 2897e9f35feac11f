"""Values that several JSON outputs have."""

from __future__ import annotations

from layoutlint.model.structs import Source


def file_and_line(source: Source | None) -> dict[str, str | int | None]:
    """Return the keys for the place of a declaration, null if the input does not state it."""
    return {"file": source.file if source else None, "line": source.line if source else None}
