"""Whole results as text, for golden files: every field that differs from its default."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from enum import Enum
from functools import cache
from typing import Any

import msgspec

from layoutlint.model.ctype import CType
from layoutlint.model.record import Record
from layoutlint.model.structs import Source
from layoutlint.model.target import TARGETS, Target


def whole_lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield a value line by line: one for each record, those in its tuples below it."""
    if _has_records(value):
        for each in value:
            yield from whole_lines(each, indent)
    elif isinstance(value, Record):
        below = {name: each for name, each in _set_fields(value) if _has_records(each)}
        own = [f"{name}={inline(each)}" for name, each in _set_fields(value) if name not in below]
        yield f"{indent}{type(value).__name__} {', '.join(own)}".rstrip()
        for name, each in below.items():
            yield f"{indent}  {name}:"
            yield from whole_lines(each, f"{indent}    ")
    else:
        yield indent + inline(value)


def inline(value: Any) -> str:
    """Return a value in one line; sets are sorted."""
    match value:
        case Enum():
            return str(value)
        case Source():
            return str(value)
        case CType():
            return repr(f"{value.left}{value.right}")
        case Target() if value in TARGETS:
            return value.name
        case Record():
            return f"{type(value).__name__}({', '.join(f'{name}={inline(each)}' for name, each in _set_fields(value))})"
        case tuple() | list():
            return f"[{', '.join(map(inline, value))}]"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(inline, value)))}}}"
        case dict():
            return f"{{{', '.join(f'{inline(key)}: {inline(each)}' for key, each in value.items())}}}"
        case _:
            return repr(value)


def changes(before: list[str], after: list[str]) -> str:
    """Return the new lines in which a text differs from another, with the numbers of the lines."""
    lines = list(unified_diff(before, after, lineterm="", n=0))[2:]
    return "".join(f"{line}\n" for line in lines if not line.startswith("-"))


def _set_fields(value: Record) -> list[tuple[str, Any]]:
    """Return the fields that do not have their default."""
    named = {name: getattr(value, name) for name in value.__struct_fields__}
    return [(name, each) for name, each in named.items() if each != _defaults(type(value))[name]]


def _has_records(value: Any) -> bool:
    return isinstance(value, tuple | list) and any(isinstance(each, Record) or _has_records(each) for each in value)


@cache
def _defaults(kind: type[Record]) -> dict[str, Any]:
    fields = msgspec.structs.fields(kind)
    return {each.name: each.default if each.default_factory is msgspec.NODEFAULT else each.default_factory() for each in fields}
