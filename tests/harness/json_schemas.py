"""The published schemas of JSON outputs: mistakes of a document, and tables of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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
    return _mistakes(found[1], document)


def snapshot_mistakes(text: str) -> list[str]:
    """What a snapshot breaks in its schema."""
    return _mistakes("snapshot", json.loads(text))


def _mistakes(name: str, document: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:500]}" for error in validator(name).iter_errors(document)]


@cache
def read(name: str) -> Any:
    """Return one schema as the command prints it."""
    return schema.make(name)


class Validator:
    """The keywords of jsonschema, for schemas that refer to their own definitions. Its own validators copy themselves and search a
    registry for each value of a document, which takes most of their time."""

    def __init__(self, schema: Any, root: Any) -> None:
        from jsonschema import Draft202012Validator  # takes longer to import than most tests

        self._schema, self._root = schema, root
        self._keywords, self._types = Draft202012Validator.VALIDATORS, Draft202012Validator.TYPE_CHECKER

    def iter_errors(self, document: Any) -> Iterator[Any]:
        """Yield what a document breaks."""
        return self.descend(document, self._schema)

    def is_valid(self, document: Any) -> bool:
        """Return whether a document breaks nothing."""
        return next(self.iter_errors(document), None) is None

    # what the keywords call

    def descend(self, instance: Any, schema: Any, path: object = None, schema_path: object = None) -> Iterator[Any]:
        for name, value in schema.items():
            keyword = self._keywords.get(name)
            for error in () if keyword is None else keyword(self, value, instance, schema) or ():
                if path is not None:
                    error.path.appendleft(path)
                yield error

    def evolve(self, schema: Any) -> Validator:
        return Validator(schema, self._root)

    def is_type(self, instance: Any, name: str) -> bool:
        return bool(self._types.is_type(instance, name))

    def _validate_reference(self, ref: str, instance: Any) -> Iterator[Any]:
        return self.descend(instance, self._root if ref == "#" else self._root["$defs"][ref.removeprefix("#/$defs/")])


@cache
def validator(name: str) -> Validator:
    """The validator of one schema."""
    return Validator(read(name), read(name))


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
        meant = _meanings(value)[0]
        yield Row(key, _type(value, definitions), _meaning_text(value, meant, definitions, known))
        yield from _inner_rows(meant, key, definitions, known)


def _inner_rows(value: Any, path: str, definitions: Any, known: dict[str, str]) -> Iterator[Row]:
    if _items(value):
        yield from _inner_rows(_meanings(_items(value))[0], f"{path}[]", definitions, known)
    elif "$ref" in value:
        if value["$ref"] not in known:
            known[value["$ref"]] = path
            yield from _rows(_definition(value, definitions), path, definitions, known)
    else:
        yield from _rows(value, path, definitions, known)


def _items(value: Any) -> Any:
    """What a list has; the values of a pair are alike."""
    return value.get("prefixItems", [value.get("items")])[0]


def _definition(value: Any, definitions: Any) -> Any:
    return definitions[value["$ref"].removeprefix("#/$defs/")]


def _meaning_text(value: Any, meant: Any, definitions: Any, known: dict[str, str]) -> str:
    """Return the description of a value, with its values if they are few."""
    if meant.get("$ref") in known:
        return " ".join((*filter(None, [value.get("description")]), f"As `{known[meant['$ref']]}`."))
    text = value.get("description") or _definition(meant, definitions)["description"]
    entry = _meanings(_items(meant))[0] if _items(meant) else meant
    if known.get(entry.get("$ref")):
        text += f" Each as `{known[entry['$ref']]}`."
    few = [f"`{each}`" for each in entry.get("enum", ()) if isinstance(each, str)]
    is_listed = len(few) > _FEW or all(each in text for each in few)
    return text if is_listed else f"{text} {'One of' if few[1:] else 'Always'} {', '.join(few)}."


def _meanings(value: Any) -> list[Any]:
    """What a value can be, null last."""
    return value.get("anyOf", [value])


_WORDS = {"integer": "number", "boolean": "boolean", "number": "number", "string": "string", "object": "object", "null": "null"}


def _type(value: Any, definitions: Any) -> str:
    """The type in words: `list of strings or null`."""
    *first, last = [_word(each, definitions) for each in _meanings(value)]
    return " or ".join([*([", ".join(first)] if first else []), last])


def _word(value: Any, definitions: Any) -> str:
    if "$ref" in value:
        value = _definition(value, definitions)
    if value.get("enum") == [True]:
        return "true"
    kind = value.get("type", "string")
    return _list(_items(value)) if kind == "array" else _WORDS[kind]


def _list(items: Any) -> str:
    first, *others = [each.get("type", "object") for each in _meanings(items)]
    word = _WORDS.get(first, "list")
    return "list" if word == "object" else f"list of {word}s{' and nulls' if 'null' in others else ''}"
