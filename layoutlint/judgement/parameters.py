"""What kinds demand of their parameters: ValueError, with the text that the rule's author reads."""

from __future__ import annotations

from layoutlint.model.paths import is_pattern


def need_some(fields: tuple[str, ...], key: str = "fields") -> None:
    """At least one field, none of them twice."""
    if not fields:
        raise ValueError(f"`{key}` needs at least one field")
    need_unlike(fields, key)


def need_unlike(fields: tuple[str, ...], key: str) -> None:
    """No field twice."""
    seen: set[str] = set()
    for path in fields:
        if path in seen:
            raise ValueError(f"`{key}` names `{path}` twice")
        seen.add(path)


def need_several(fields: tuple[str, ...], purpose: str) -> None:
    """At least two fields, or a pattern that may mean several; none of them twice."""
    need_some(fields)
    if len(fields) == 1 and not is_pattern(fields[0]):
        raise ValueError(f"`fields` needs at least two fields {purpose}")


def need_one(fields: tuple[str, ...]) -> None:
    """Exactly one field, and not a pattern."""
    if len(fields) != 1 or is_pattern(fields[0]):
        raise ValueError("`fields` needs exactly one field, and no pattern")


def need_at_least(key: str, value: int | None, least: int) -> None:
    """A number that is not too small, when it is given."""
    if value is not None and value < least:
        raise ValueError(f"`{key}` is {value}, and must be at least {least}")


def need_at_most(key: str, value: int | None, most: int) -> None:
    """A number that is not too large, when it is given."""
    if value is not None and value > most:
        raise ValueError(f"`{key}` is {value}, and must be at most {most}")
