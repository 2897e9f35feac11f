"""Reads TOML tables key by key; notes every mistake with its line and goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from layoutlint.intent.toml import converters
from layoutlint.intent.toml.document import Document, Path
from layoutlint.model.record import Record, field
from layoutlint.phrases import name_hint

T = TypeVar("T")


class Notes(Record, frozen=True):
    """A document, and the mistakes found in it so far, each with its line."""

    document: Document
    mistakes: list[tuple[int, str]] = field(default_factory=list)

    def report(self, path: Path, message: str) -> None:
        """Note a mistake at the line of `path`."""
        self.mistakes.append((self.document.line(path), message))


class Table(Record, frozen=True):
    """A table of the document, with its label in messages."""

    data: Mapping[str, object]
    path: Path
    label: str
    notes: Notes

    @property
    def line(self) -> int:
        """The first line of the table."""
        return self.notes.document.line(self.path)

    def report(self, message: str, *within: str | int) -> None:
        """Note a mistake in the table, or at a key of it."""
        self.notes.report((*self.path, *within), message)

    def allow_only(self, keys: Iterable[str], explain: Callable[[str], str] = lambda key: "") -> None:
        """Note every key that is not in `keys`; `explain` may return a hint to replace the nearest name."""
        allowed = tuple(keys)
        for key in self.data:
            if key not in allowed:
                hint = explain(key) or name_hint(key, allowed)
                self.report(f"unknown key `{key}` in {self.label}{hint}", key)

    def get(self, key: str, convert: Callable[[object], T]) -> T | None:
        """Return the converted value of a key; None if it is missing, or wrong (which is noted)."""
        if key not in self.data:
            return None
        try:
            return convert(self.data[key])
        except converters.Misfit as misfit:
            steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in misfit.within)
            self.report(f"`{key}`{''.join(steps)} {misfit.reason}", key, *misfit.within)
            return None

    def require(self, key: str, convert: Callable[[object], T]) -> T | None:
        """Return the converted value of a key, as `get` does; note a missing key."""
        if key not in self.data:
            self.report(f"{self.label} has no `{key}`")
        return self.get(key, convert)

    def table(self, key: str, label: str, example: str = "") -> Table:
        """Return the table at a key; empty if it is missing, or no table (which is noted).

        The note shows an example, or else the label of a table with a heading.
        """
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            wrong = converters.type_name(value)
            form = example or (label if label.startswith("[") else "")
            hint = f" (write `{form}`)" if form else ""
            self.report(f"`{key}` must be a table, not {wrong}{hint}", key)
            value = {}
        return Table(value, (*self.path, key), label, self.notes)
