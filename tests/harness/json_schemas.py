"""The published schemas of JSON outputs: mistakes of a document, and tables of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from layoutlint.commands import schema

LARGEST = 1 << 20
"""Characters of a document that is validated: larger ones are more of the same, and take minutes."""

_FEW = 8
"""Values that a table lists."""

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


def snapshot_mistakes(text: str) -> list[str]:
    """What a snapshot breaks in its schema."""
    return [f"{error.json_path}: {error.message[:500]}" for error in validator("snapshot").iter_errors(json.loads(text))]


def read(name: str) -> Any:
    """Return one schema as its file has it."""
    return json.loads(Path(schema.path(name)).read_text(encoding="utf-8"))


@cache
def validator(name: str) -> Any:
    """The validator of one schema."""
    from jsonschema import Draft202012Validator  # takes longer to import than most tests

    return Draft202012Validator(read(name))


@dataclass(frozen=True, slots=True)
class Row:
    """A key of a document, as a row of docs/json.md."""

    key: str
    type: str
    meaning: str


def rows(name: str) -> dict[str, str]:
    """Return every key of a document with its type in words."""
    return {row.key: row.type for row in table(name)}


def table(name: str) -> list[Row]:
    """Return every key of a document, in the order of its schema."""
    document = read(name)
    return list(_rows(document, "", document.get("$defs", {}), {"#": ""}))


def _rows(schema: Any, path: str, definitions: Any, known: dict[str, str]) -> Iterator[Row]:
    """Yield the rows below `path`. A definition is written out where it is used first."""
    entries = {f"{path}.{name}" if path else name: value for name, value in schema.get("properties", {}).items()}
    if schema.get("additionalProperties", False):
        entries[f"{path}.NAME"] = schema["additionalProperties"]
    for key, value in entries.items():
        meant, is_null = _meaning_of(value)
        yield Row(key, _type(meant, is_null, definitions), _meaning_text(value, meant, definitions, known))
        yield from _inner_rows(meant, key, definitions, known)


def _inner_rows(value: Any, path: str, definitions: Any, known: dict[str, str]) -> Iterator[Row]:
    if "items" in value:
        yield from _inner_rows(value["items"], f"{path}[]", definitions, known)
    elif "$ref" in value:
        if value["$ref"] not in known:
            known[value["$ref"]] = path
            yield from _rows(_definition(value, definitions), path, definitions, known)
    else:
        yield from _rows(value, path, definitions, known)


def _definition(value: Any, definitions: Any) -> Any:
    return definitions[value["$ref"].removeprefix("#/$defs/")]


def _meaning_text(value: Any, meant: Any, definitions: Any, known: dict[str, str]) -> str:
    """Return the description of a value, with its values if they are few."""
    if meant.get("$ref") in known:
        return f"As `{known[meant['$ref']]}`."
    text = value.get("description") or _definition(meant, definitions)["description"]
    values = meant.get("enum") or meant.get("items", {}).get("enum") or [meant.get("const")]
    few = [f"`{each}`" for each in values if isinstance(each, str)]
    is_listed = len(few) > _FEW or all(each in text for each in few)
    return text if is_listed else f"{text} {'One of' if few[1:] else 'Always'} {', '.join(few)}."


def _meaning_of(value: Any) -> tuple[Any, bool]:
    """What a value is when it is not null, and whether it can be null."""
    if "anyOf" in value:
        return value["anyOf"][0], True
    return value, "null" in value.get("type", "")


_WORDS = {"integer": "number", "boolean": "boolean", "number": "number", "string": "string", "object": "object"}


def _type(value: Any, is_null: bool, definitions: Any) -> str:
    """The type in words: `list of strings or null`."""
    if "$ref" in value:
        value = _definition(value, definitions)
    types = [value["type"]] if isinstance(value["type"], str) else value["type"]
    words = [_list(value["items"]) if each == "array" else _WORDS[each] for each in types if each != "null"]
    if value.get("not") == {"const": False}:
        words = [word.replace("boolean", "true") for word in words]
    return " or ".join([", ".join(words), *(["null"] if is_null else [])])


def _list(items: Any) -> str:
    types = items.get("type", "object")
    words = [_WORDS.get(each, "list") for each in ([types] if isinstance(types, str) else types) if each != "null"]
    plural = f"{words[0]}s"
    return "list" if words == ["object"] else f"list of {plural}{' and nulls' if 'null' in types else ''}"
