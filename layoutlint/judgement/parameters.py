"""Checks of the parameters of kinds. They raise ValueError, with a text for the author of the rule."""

from __future__ import annotations

from layoutlint.model.paths import is_pattern
from layoutlint.phrases import name_hint


def need_fields(fields: tuple[str, ...], key: str = "fields") -> None:
    """Require at least one field, and none twice."""
    if not fields:
        raise ValueError(f"`{key}` needs at least one field")
    need_distinct(fields, key)


def need_distinct(fields: tuple[str, ...], key: str) -> None:
    """Require that no field is named twice."""
    paths: set[str] = set()
    for path in fields:
        if path in paths:
            raise ValueError(f"`{key}` names `{path}` twice")
        paths.add(path)


def need_choices(key: str, words: tuple[str, ...], choices: tuple[str, ...]) -> None:
    """Require at least one word, all of them from some choices, and none twice."""
    if not words:
        raise ValueError(f"`{key}` needs at least one of {', '.join(f'`{word}`' for word in choices)}")
    for word in words:
        if word not in choices:
            raise ValueError(f"`{key}` cannot have `{word}`{name_hint(word, choices)}")
    need_distinct(words, key)


def need_several(fields: tuple[str, ...], purpose: str) -> None:
    """Require at least two fields, or a pattern; none twice."""
    need_fields(fields)
    if len(fields) == 1 and not is_pattern(fields[0]):
        raise ValueError(f"`fields` needs at least two fields {purpose}")


def need_one(fields: tuple[str, ...]) -> None:
    """Require exactly one field, and no pattern."""
    if len(fields) != 1 or is_pattern(fields[0]):
        raise ValueError("`fields` needs exactly one field, and no pattern")


def need_at_least(key: str, value: int | None, least: int) -> None:
    """Require a minimum, if the number is given."""
    if value is not None and value < least:
        raise ValueError(f"`{key}` is {value}, and must be at least {least}")


def need_at_most(key: str, value: int | None, most: int) -> None:
    """Require a maximum, if the number is given."""
    if value is not None and value > most:
        raise ValueError(f"`{key}` is {value}, and must be at most {most}")
