"""Converters of TOML values: each returns the value that a key may have, or raises Misfit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from layoutlint.intent.toml.document import Path
from layoutlint.judgement.position import Position, read_position
from layoutlint.phrases import name_hint

T = TypeVar("T")
_FIELD_STEP = r"(?!\d)(?:[\w$*?]|\[!?[^\[\].]+\])+"
_FIELD_PATH = re.compile(rf"{_FIELD_STEP}(?:\.{_FIELD_STEP})*")
_OPTION = re.compile(r"!?\w+")
_QUOTED_NUMBER = re.compile(r"\s*(\d{1,18})(?:\s*(?:[bB]|bytes?|lines?))?\s*")
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
    """A value that a key cannot have; `within` holds the indices of the wrong element."""

    def __init__(self, reason: str, within: Path = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.within = within


def type_name(value: object) -> str:
    """Return the name of the type of a value, for messages."""
    return next((word for kind, word in _WORDS if isinstance(value, kind)), "a date or time")


def _wrong_type(expected: str, value: object, hint: str = "") -> Misfit:
    return Misfit(f"must be {expected}, not {type_name(value)}{hint}")


def table(value: object) -> Mapping[str, object]:
    """Return a table."""
    if not isinstance(value, dict):
        raise _wrong_type("a table", value)
    return value


def text(value: object) -> str:
    """Return a string without surrounding blanks; it must not be empty."""
    if not isinstance(value, str):
        raise _wrong_type("a string", value)
    if not value.strip():
        raise Misfit("is empty")
    return value.strip()


def boolean(value: object) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise _wrong_type("true or false", value)
    return value


def integer(value: object) -> int:
    """Return an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type("an integer", value, _number_hint(value))
    return value


def _number_hint(value: object) -> str:
    """Return how a number is written, if a value looks like one; empty for others."""
    digits = _QUOTED_NUMBER.fullmatch(value) if isinstance(value, str) else None
    if digits is not None:
        return f" (write {digits[1]})"
    return f" (write {value:.0f})" if isinstance(value, float) and value.is_integer() else ""


def number(value: object) -> float:
    """Return a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        is_number = isinstance(value, str) and re.fullmatch(r"\d+(?:\.\d+)?", value)
        raise _wrong_type("a number", value, f" (write {value})" if is_number else "")
    if not math.isfinite(value):
        raise Misfit(f"must be a finite number, not {value}")
    return float(value)


def share(value: object) -> float:
    """Return a number from 0 to 1."""
    converted = number(value)
    if not 0 <= converted <= 1:
        raise Misfit(f"must be from 0 to 1 (a share of the placements), not {value}")
    return converted


def choice(names: Iterable[str]) -> Callable[[object], str]:
    """Return a converter for one of some names."""
    names = tuple(names)

    def convert(value: object) -> str:
        name = text(value)
        if name not in names:
            raise Misfit(f"cannot be `{name}`{name_hint(name, names)}")
        return name

    return convert


def list_of(
    convert: Callable[[object], T], elements: str, example: str = '"{}"', drops: str = ""
) -> Callable[[object], tuple[T, ...]]:
    """Return a converter for a non-empty list; `elements` is their name in messages, and `example` how one
    is written, without the text `drops`.
    """

    def convert_list(value: object) -> tuple[T, ...]:
        if isinstance(value, str):
            parts = (part.strip().replace(drops, "") for part in value.split(","))
            written = ", ".join(map(example.format, filter(None, parts)))
            raise Misfit(f"must be a list of {elements}, not a string (write [{written}])")
        if not isinstance(value, list):
            raise _wrong_type(f"a list of {elements}", value)
        if not value:
            raise Misfit(f"is empty: give {elements}")
        if all(isinstance(element, list) for element in value) and not accepts_lists(value[0]):
            words = [word for element in value for word in element if isinstance(word, str)]
            written = ", ".join(map('"{}"'.format, words))
            raise Misfit(f"must be a list of {elements}, not of lists (write [{written}])")
        return tuple(_element(index, element) for index, element in enumerate(value))

    def accepts_lists(element: object) -> bool:
        try:
            convert(element)
        except Misfit as misfit:
            return bool(misfit.within)
        return True

    def _element(index: int, element: object) -> T:
        try:
            return convert(element)
        except Misfit as misfit:
            raise Misfit(misfit.reason, (index, *misfit.within)) from None

    return convert_list


def field_path(value: object) -> str:
    """Return a field path or pattern: `a.b`, `ring[2].head`, `*_lock`."""
    path = text(value)
    if _FIELD_PATH.fullmatch(path):
        return path
    if "->" in path:
        reason = "write `.` for `->`"
    elif path.count("[") != path.count("]"):
        reason = "a `[` or `]` has no partner"
    elif "" in path.split("."):
        reason = "a name is missing before or after a `.`"
    else:
        reason = "a path has names, `.`, `[2]` and the wildcards `*`, `?`, `[a-z]`"
    raise Misfit(f"cannot be `{path}`: not a field path ({reason})")


def kernel_option(value: object) -> str:
    """Return an option of the kernel's configuration that is on (`SMP`) or off (`!SMP`)."""
    option = text(value)
    bare = option.replace("CONFIG_", "")
    if bare != option:
        raise Misfit(f"cannot be `{option}`: write `{bare}`")
    if not _OPTION.fullmatch(option):
        raise Misfit(f"cannot be `{option}`: a kernel option, or `!` and an option that is off")
    return option


def selection(value: object) -> str:
    """Return a field path or pattern, or a selector of fields: `@` and an access or a type."""
    path = text(value)
    if not path.startswith("@") or ":" in path:
        return declarable(path)
    if not _SELECTOR.fullmatch(path):
        raise Misfit(f"cannot be `{path}`: after `@` comes an access, `@hot-read`, or a pattern, `@hot-*`")
    return path


def declarable(value: object) -> str:
    """Return a field path or pattern, or `@type:` and a type or a pattern of types."""
    path = text(value)
    word, colon, pattern = path.partition(":")
    if not path.startswith("@") or not colon:
        return field_path(path)
    if word != "@type":
        raise Misfit(f"cannot be `{path}`: only `@type` can come before `:`")
    if not _TYPE.fullmatch(pattern):
        raise Misfit(
            f"cannot be `{path}`: after `@type:` comes a type or a pattern, `@type:struct *_ops [*]`"
        )
    return path


words = list_of(text, "strings")
field_paths = list_of(selection, "field paths")


def _group(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise Misfit(f'must be a list of field paths, not a string (write ["{value}"])')
    return field_paths(value)


def positions(value: object) -> Position | tuple[tuple[str, Position], ...]:
    """Return the position of a field, or fields with their positions."""
    if not isinstance(value, dict):
        return _position(value)
    if not value:
        raise Misfit("is empty: give fields with their offsets")
    return tuple(_field_position(path, each) for path, each in value.items())


def _field_position(path: str, value: object) -> tuple[str, Position]:
    if isinstance(value, dict):
        dotted = f"{path}.{next(iter(value), '')}"
        raise Misfit(f'must be an offset, not a table (quote a dotted path: "{dotted}")', (path,))
    try:
        return field_path(path), _position(value)
    except Misfit as misfit:
        raise Misfit(misfit.reason, (path,)) from None


def _position(value: object) -> Position:
    if isinstance(value, str):
        try:
            return read_position(value.strip())
        except ValueError as error:
            raise Misfit(str(error)) from None
    return integer(value)


groups = list_of(_group, "lists of field paths", '["{}"]')
