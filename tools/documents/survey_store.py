"""The tables of a survey's store, as docs/survey-store.md: `python -m tools.documents.survey_store` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.surveys.tables import ITEMS, TABLES, Column

PATH = Path(__file__).resolve().parents[2] / "docs" / "survey-store.md"
_HEAD = """# Tables of a survey's store

Each table is a folder of Parquet files in the store of a [survey](survey.md). `layoutlint schema survey-store` prints their JSON Schema.
Sizes and offsets are in bytes unless a name says bits. Rows count only if `runs` has their key.
"""


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


if __name__ == "__main__":
    PATH.write_text(text())
