"""The published schemas of JSON outputs: what a document breaks, and the tables that they come to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from layoutlint.commands import schema

LARGEST = 1 << 20
"""Characters of a document that is validated: larger ones are more of the same, and take minutes."""

_FORMAT = re.compile(r"layoutlint/([a-z-]+)/1")


def mistakes(text: str) -> list[str]:
    """What a JSON document breaks in its own schema."""
    if len(text) > LARGEST:
        return []
    document = json.loads(text)
    found = _FORMAT.fullmatch(str(document.get("schema")))
    if found is None or found[1] not in schema.NAMES:
        return [f"there is no schema {document.get('schema')}"]
    return [f"{error.json_path}: {error.message[:500]}" for error in validator(found[1]).iter_errors(document)]


def read(name: str) -> Any:
    """Return one schema as its file has it."""
    return json.loads(Path(schema.path(name)).read_text(encoding="utf-8"))


@cache
def validator(name: str) -> Any:
    """The validator of one schema."""
    from jsonschema import Draft202012Validator  # takes longer to import than most tests

    return Draft202012Validator(read(name))


def rows(name: str) -> dict[str, str]:
    """Every key of a document with its type, as the tables of docs/json.md spell them."""
    document = read(name)
    return dict(_rows(document, "", document.get("$defs", {}), set()))


def _rows(schema: Any, path: str, definitions: Any, known: set[str]) -> Iterator[tuple[str, str]]:
    """What is below `path`; a definition is written out where it is used first."""
    for name, value in schema.get("properties", {}).items():
        key = f"{path}.{name}" if path else name
        meant, is_null = _meant(value)
        yield key, _type(meant, is_null, definitions)
        yield from _inside(meant, key, definitions, known)
    names = schema.get("additionalProperties", False)
    if names:
        yield f"{path}.NAME", _type(names, False, definitions)
        yield from _inside(names, f"{path}.NAME", definitions, known)


def _inside(value: Any, path: str, definitions: Any, known: set[str]) -> Iterator[tuple[str, str]]:
    if "items" in value:
        yield from _inside(value["items"], f"{path}[]", definitions, known)
    elif "$ref" in value:
        name = value["$ref"].removeprefix("#/$defs/")
        if name not in known:
            known.add(name)
            yield from _rows(definitions[name], path, definitions, known)
    else:
        yield from _rows(value, path, definitions, known)


def _meant(value: Any) -> tuple[Any, bool]:
    """What a value is when it is not null, and whether it can be null."""
    if "anyOf" in value:
        return value["anyOf"][0], True
    return value, "null" in value.get("type", "")


_WORDS = {"integer": "number", "boolean": "boolean", "number": "number", "string": "string", "object": "object"}


def _type(value: Any, is_null: bool, definitions: Any) -> str:
    """The type in words: `list of strings or null`."""
    if "$ref" in value:
        value = definitions[value["$ref"].removeprefix("#/$defs/")]
    types = [value["type"]] if isinstance(value["type"], str) else value["type"]
    words = [_list(value["items"]) if each == "array" else _WORDS[each] for each in types if each != "null"]
    if value.get("not") == {"const": False}:
        words = [word.replace("boolean", "true") for word in words]
    return " or ".join([", ".join(words), *(["null"] if is_null else [])])


def _list(items: Any) -> str:
    word = _WORDS.get(items.get("type", "object"), "object")
    return "list" if word == "object" else f"list of {word}s"
