"""The tables of a survey's store, as docs/survey-store.md and as a schema: `python -m tests.project.survey_doc` writes both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from layoutlint.commands import schema
from layoutlint.comparison.survey_tables import ITEMS, STORE_SCHEMA, TABLES, Column

PATH = Path(__file__).resolve().parents[2] / "docs" / "survey-store.md"
SCHEMA = Path(schema.path("survey-store"))
_HEAD = """# Tables of a survey's store

Each table is a folder of Parquet files in the store of a [survey](survey.md). `layoutlint schema survey-store` prints their JSON Schema.
Sizes and offsets are in bytes unless a name says bits. Rows count only if `runs` has their key.
"""
_TYPES = {"text": "string", "integer": "integer", "number": "number", "boolean": "boolean", "time": "string"}


def text() -> str:
    """Return all of docs/survey-store.md."""
    return f"{_HEAD}\n{_sections()}"


def _sections() -> str:
    sections = [f"## {name}\n\n{_table(columns)}" for name, columns in TABLES.items()]
    items = [f"## Entries of `{name}`\n\n{_table(ITEMS[kind])}" for kind, name in (("fields", "layouts.fields"), ("places", "verdicts.fields"))]
    return "\n".join((*sections, *items))


def _table(columns: tuple[Column, ...]) -> str:
    rows = [f"| `{c.name}` | {_type(c)} | {c.meaning} |" for c in columns]
    return "\n".join(("| column | type | meaning |", "|---|---|---|", *rows, ""))


def _type(column: Column) -> str:
    words = {"texts": "list of texts", "integers": "list of integers", "fields": "list of fields", "places": "list of fields"}
    return words.get(column.type, column.type) + (" or null" if column.is_optional else "")


def schema_text() -> str:
    """Return the JSON Schema of the rows, as readers of Parquet return them."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{STORE_SCHEMA.replace('/', ':')}",
        "title": "The rows of a survey's store",
        "description": "Each table is a folder of Parquet files with these columns. Later versions can add columns. Times are in UTC.",
        "type": "object",
        "properties": {name: {"type": "array", "items": {"$ref": f"#/$defs/{name}"}} for name in TABLES},
        "required": list(TABLES),
        "additionalProperties": False,
        "$defs": {name: _row(columns) for name, columns in TABLES.items()},
    }
    return json.dumps(document, indent=2) + "\n"


def _row(columns: tuple[Column, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {column.name: {**_json_type(column), "description": re.sub(r"`", "", column.meaning)} for column in columns},
        "required": [column.name for column in columns],
        "additionalProperties": False,
    }


def _json_type(column: Column) -> dict[str, Any]:
    null = ["null"] if column.is_optional else []
    if column.type in ITEMS:
        return {"type": ["array", *null], "items": _row(ITEMS[column.type])}
    if column.type in ("texts", "integers"):
        return {"type": ["array", *null], "items": {"type": _TYPES[column.type[:-1]]}}
    return {"type": [_TYPES[column.type], *null]}


if __name__ == "__main__":
    PATH.write_text(text())
    SCHEMA.write_text(schema_text())
