"""Reading a TOML table key by key: every mistake is noted with its line, none stops the reading."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from layoutlint.intent.toml.document import Document, Path
from layoutlint.phrases import one_of

T = TypeVar("T")
_FIELD_STEP = r"(?!\d)(?:[\w$*?]|\[!?[^\[\].]+\])+"
_FIELD_PATH = re.compile(rf"{_FIELD_STEP}(?:\.{_FIELD_STEP})*")
_OPTION = re.compile(r"!?\w+")
_SELECTOR = re.compile(r"@[a-z*?][a-z0-9*?-]*")
_TYPE = re.compile(r"[\w*?(\[][^@;{}]*")
_WORDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "an integer"),
    (float, "a number"),
    (list, "a list"),
    (dict, "a table"),
)


class Misfit(Exception):
    """A value that a key cannot have; `within` leads to the guilty element of it."""

    def __init__(self, reason: str, within: Path = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.within = within


@dataclass(frozen=True, slots=True)
class Notes:
    """The document that is read, and the mistakes found in it so far."""

    document: Document
    mistakes: list[tuple[int, str]] = field(default_factory=list)

    def wrong(self, path: Path, message: str) -> None:
        """Notes a mistake at the line of `path`."""
        self.mistakes.append((self.document.line(path), message))


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the document, and what messages call it."""

    data: Mapping[str, object]
    path: Path
    called: str
    notes: Notes

    @property
    def line(self) -> int:
        """Where the table starts."""
        return self.notes.document.line(self.path)

    def wrong(self, message: str, *within: str | int) -> None:
        """Notes a mistake in the table, or at a key of it."""
        self.notes.wrong((*self.path, *within), message)

    def only(self, keys: Iterable[str], explain: Callable[[str], str] = lambda key: "") -> None:
        """Notes every key that is not among `keys`; `explain` may say more than the nearest name."""
        known = tuple(keys)
        for key in self.data:
            if key not in known:
                hint = explain(key) or one_of(key, known)
                self.wrong(f"unknown key `{key}` in {self.called}{hint}", key)

    def get(self, key: str, convert: Callable[[object], T]) -> T | None:
        """The converted value of a key; None when it is absent, or wrong, which is noted."""
        if key not in self.data:
            return None
        try:
            return convert(self.data[key])
        except Misfit as misfit:
            glue = "" if misfit.within else " "
            self.wrong(f"`{key}`{glue}{misfit.reason}", key, *misfit.within)
            return None

    def need(self, key: str, convert: Callable[[object], T]) -> T | None:
        """As `get`, for a key that must be there."""
        if key not in self.data:
            self.wrong(f"{self.called} has no `{key}`")
        return self.get(key, convert)

    def table(self, key: str, called: str) -> Table:
        """The table at a key, empty when it is absent or no table, which is noted."""
        value = self.get(key, table)
        return Table(value or {}, (*self.path, key), called, self.notes)


def _word(value: object) -> str:
    return next((word for kind, word in _WORDS if isinstance(value, kind)), "a date or time")


def _must_be(what: str, value: object) -> Misfit:
    return Misfit(f"must be {what}, not {_word(value)}")


def table(value: object) -> Mapping[str, object]:
    """A table."""
    if not isinstance(value, dict):
        raise _must_be("a table", value)
    return value


def text(value: object) -> str:
    """A string that is not blank."""
    if not isinstance(value, str):
        raise _must_be("a string", value)
    if not value.strip():
        raise Misfit("is empty")
    return value.strip()


def boolean(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _must_be("true or false", value)
    return value


def integer(value: object) -> int:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _must_be("an integer", value)
    return value


def number(value: object) -> float:
    """A finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _must_be("a number", value)
    if not math.isfinite(value):
        raise Misfit(f"must be a finite number, not {value}")
    return float(value)


def share(value: object) -> float:
    """A number from 0 to 1."""
    found = number(value)
    if not 0 <= found <= 1:
        raise Misfit(f"must be from 0 to 1 (a share of the placements), not {value}")
    return found


def choice(names: Iterable[str]) -> Callable[[object], str]:
    """A converter that takes one of some names."""
    known = tuple(names)

    def convert(value: object) -> str:
        found = text(value)
        if found not in known:
            raise Misfit(f"cannot be `{found}`{one_of(found, known)}")
        return found

    return convert


def listed(convert: Callable[[object], T], what: str) -> Callable[[object], tuple[T, ...]]:
    """A converter that takes a list with at least one element; `what` names the elements."""

    def each(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise _must_be(f"a list of {what}", value)
        if not value:
            raise Misfit("is empty")
        return tuple(_element(index, element) for index, element in enumerate(value))

    def _element(index: int, element: object) -> T:
        try:
            return convert(element)
        except Misfit as misfit:
            glue = "" if misfit.within else " "
            raise Misfit(f"[{index}]{glue}{misfit.reason}", (index, *misfit.within)) from None

    return each


def field_path(value: object) -> str:
    """A field path or pattern: `a.b`, `ring[2].head`, `*_lock`."""
    found = text(value)
    if _FIELD_PATH.fullmatch(found):
        return found
    if "->" in found:
        why = "write `.` for `->`"
    elif found.count("[") != found.count("]"):
        why = "a `[` or `]` has no partner"
    elif "" in found.split("."):
        why = "a name is missing beside a `.`"
    else:
        why = "it holds names, `.`, `[2]` and the wildcards `*`, `?`, `[a-z]`"
    raise Misfit(f"cannot be `{found}`: no field path ({why})")


def kernel_option(value: object) -> str:
    """An option of the kernel's configuration that is on (`SMP`) or off (`!SMP`)."""
    found = text(value)
    bare = found.replace("CONFIG_", "")
    if bare != found:
        raise Misfit(f"cannot be `{found}`: write `{bare}`")
    if not _OPTION.fullmatch(found):
        raise Misfit(f"cannot be `{found}`: a kernel option, or `!` and an option that is off")
    return found


def selection(value: object) -> str:
    """A field path or pattern, or `@` and an access or a type: every field that is declared so."""
    found = text(value)
    if not found.startswith("@") or ":" in found:
        return declarable(found)
    if not _SELECTOR.fullmatch(found):
        raise Misfit(f"cannot be `{found}`: behind `@` stands an access, `@hot-read`, or a pattern, `@hot-*`")
    return found


def declarable(value: object) -> str:
    """A field path or pattern, or a type or pattern of it with `@type:` before it."""
    found = text(value)
    word, colon, pattern = found.partition(":")
    if not found.startswith("@") or not colon:
        return field_path(found)
    if word != "@type":
        raise Misfit(f"cannot be `{found}`: before `:` stands `@type`, and nothing else")
    if not _TYPE.fullmatch(pattern):
        raise Misfit(
            f"cannot be `{found}`: behind `@type:` stands a type or a pattern, `@type:struct *_ops [*]`"
        )
    return found


words = listed(text, "strings")
field_paths = listed(selection, "field paths")
groups = listed(field_paths, "lists of field paths")
