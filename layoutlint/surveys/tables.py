"""The tables of a survey's store: their columns, with types and meanings (docs/survey-store.md)."""

from __future__ import annotations

from typing import Any

from layoutlint.model.record import Record

STORE_SCHEMA = "layoutlint/survey-store/1"
COMPLETE, INCOMPLETE, WITHOUT, FAILED = "complete", "incomplete", "without-debug-information", "failed"
OUTCOMES = (COMPLETE, INCOMPLETE, WITHOUT, FAILED)
"""The outcomes of an input. One without debug information was read, and nothing is known of its structs."""
GAPS = (INCOMPLETE, FAILED)
"""Those that are listed one by one, with their reasons."""
RUNS, READINGS, LAYOUTS, VERDICTS, PROBLEMS = "runs", "readings", "layouts", "verdicts", "problems"
DIGESTS = "digests"
"""What is known about files that were inputs. It has no results, so it is no table for queries."""


class Column(Record, frozen=True):
    """A column of a table."""

    name: str
    type: str
    """`text`, `integer`, `number`, `boolean`, `time`, `texts`, `integers`, `fields` or `places`."""
    meaning: str
    is_optional: bool = False
    """Whether a row can have null there."""


_KEY = Column("key", "text", "The key of the task, as in `runs`.")
_MEMBER = Column("member", "text", "The file in the input, if it is a folder or an archive.", True)
_TARGET = Column("target", "text", "The machine.")
_RELEASE = Column("release", "text", "The version of Linux.", True)
_FILE = Column("file", "text", "The file that defines the struct.", True)
_LINE = Column("line", "integer", "The line there.", True)

TABLES: dict[str, tuple[Column, ...]] = {
    RUNS: (
        Column("key", "text", "What decides the rows of a task: content, rules, options and version."),
        Column("input", "text", "The input, as it was named."),
        Column("size", "integer", "Its bytes.", True),
        Column("rules", "text", "A digest of rules, options and the version of layoutlint."),
        Column("version", "text", "The version of layoutlint."),
        Column("ended", "time", "When the task ended, or was found in the store."),
        Column(
            "outcome",
            "text",
            "`complete`, `incomplete` (something was not read), `without-debug-information` or `failed`.",
        ),
        Column(
            "failure",
            "text",
            "`timed-out`, `out-of-memory`, `crashed`, `lost`, `refused`, `changed` or `unread`.",
            True,
        ),
        Column("message", "text", "Why it failed, or what is incomplete.", True),
        Column("reused", "boolean", "Whether the rows were there already, from another input or run."),
        Column("structs", "integer", "The rows in `layouts`."),
        Column("kept", "integer", "The verdicts `kept`."),
        Column("at_risk", "integer", "The verdicts `at-risk`, without suppressed ones and notes."),
        Column("broken", "integer", "The verdicts `broken`, likewise."),
        Column("unknown", "integer", "The verdicts `unknown`, likewise."),
        Column("problems", "integer", "The rows in `problems`."),
        Column("judged", "texts", "The rules that judged a struct."),
        Column("seconds", "number", "Wall-clock time of all attempts."),
        Column("processor_seconds", "number", "Processor time of all attempts."),
        Column("memory", "integer", "The most bytes that were resident."),
        Column("attempts", "integer", "The number of attempts; 0 if the rows were there."),
        Column("cache_hits", "integer", "The readings that were in the cache."),
        Column("cache_misses", "integer", "The readings that were not."),
    ),
    READINGS: (
        _KEY,
        _MEMBER,
        Column("reader", "text", "What read it: `dwarf`, `btf`, `clang`, `snapshot of ...`."),
        _TARGET,
        _RELEASE,
        Column("build_id", "text", "Its build id.", True),
        Column("compilers", "texts", "The compilers that made it."),
        Column("notes", "texts", "What to know about how it was read."),
        Column("linux", "boolean", "Whether it is a Linux kernel or a module."),
        Column("config", "texts", "The kernel options that are on.", True),
    ),
    LAYOUTS: (
        _KEY,
        _MEMBER,
        _TARGET,
        _RELEASE,
        Column("struct", "text", "The name of the struct or union."),
        Column("aggregate", "text", "`struct` or `union`."),
        Column("size", "integer", "Its bytes."),
        Column("align", "integer", "Its alignment in bytes.", True),
        _FILE,
        _LINE,
        Column("layout", "text", "A digest of names, offsets and sizes of its fields."),
        Column("fields", "fields", "Its fields, those of unnamed members included."),
        Column("record", "text", "The struct as a snapshot (docs/snapshot.md)."),
    ),
    VERDICTS: (
        _KEY,
        _MEMBER,
        _TARGET,
        _RELEASE,
        Column("rule", "text", "The rule."),
        Column("kind", "text", "Its kind."),
        Column("severity", "text", "Its severity."),
        Column("struct", "text", "The struct."),
        Column("outcome", "text", "`kept`, `at-risk`, `broken` or `unknown`."),
        Column("message", "text", "The message."),
        Column("fields", "places", "The fields that it is about."),
        _FILE,
        _LINE,
        Column("line_size", "integer", "The bytes of a cache line.", True),
        Column("placements", "integer", "The number of placements."),
        Column("violating", "integer", "The number of those in which the rule fails."),
        Column("bases", "integers", "The bases of those."),
        Column("guess", "boolean", "Whether the rule guesses."),
        Column("suppressed", "text", "The reason of a suppression.", True),
        Column("fingerprint", "text", "The same for the same rule, struct and fields."),
        Column("fingerprint_state", "text", "Changes with the outcome and the share of placements."),
    ),
    PROBLEMS: (
        _KEY,
        Column("kind", "text", "`unread`, `without-debug-information`, `not-covered` or `layout`."),
        _MEMBER,
        Column("reason", "text", "Why it could not be read or judged."),
    ),
}
"""The tables with their columns, by the names of their folders."""

FOLDERS = {
    **TABLES,
    DIGESTS: (
        Column("path", "text", "A digest of the absolute path."),
        Column("state", "text", "Device, inode, size, and both times in nanoseconds."),
        Column("digest", "text", "The SHA-256 of the content that the file had in this state."),
    ),
}
"""All that a store keeps in Parquet files, with the columns."""

ITEMS: dict[str, tuple[Column, ...]] = {
    "fields": (
        Column("path", "text", "Its path in the struct."),
        Column("offset", "integer", "Its offset in bytes."),
        Column("size", "integer", "Its bytes; null for a bit-field.", True),
        Column("bit_offset", "integer", "For a bit-field, its first bit in the struct.", True),
        Column("bit_size", "integer", "For a bit-field, its bits.", True),
        Column("type", "text", "Its type."),
    ),
    "places": (
        Column("path", "text", "Its path in the struct."),
        Column("offset", "integer", "Its offset in bytes."),
        Column("size", "integer", "Its bytes.", True),
    ),
}
"""The columns of the lists of a type."""

Row = dict[str, Any]
"""A row: a value for each column of its table."""

_JSON_TYPES = {
    "text": "string", "integer": "integer", "number": "number", "boolean": "boolean", "time": "string",
}  # fmt: skip


def store_schema() -> dict[str, Any]:
    """Return the JSON Schema of the rows, as readers of Parquet return them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{STORE_SCHEMA.replace('/', ':')}",
        "title": "The rows of a survey's store",
        "description": "Each table is a folder of Parquet files with these columns. "
        "Later versions can add columns. Times are in UTC.",
        "type": "object",
        "properties": {name: {"type": "array", "items": {"$ref": f"#/$defs/{name}"}} for name in TABLES},
        "required": list(TABLES),
        "additionalProperties": False,
        "$defs": {name: _row(columns) for name, columns in TABLES.items()},
    }


def _row(columns: tuple[Column, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            column.name: {**_json_type(column), "description": column.meaning.replace("`", "")}
            for column in columns
        },
        "required": [column.name for column in columns],
        "additionalProperties": False,
    }


def _json_type(column: Column) -> dict[str, Any]:
    null = ["null"] if column.is_optional else []
    if column.type in ITEMS:
        return {"type": ["array", *null], "items": _row(ITEMS[column.type])}
    if column.type in ("texts", "integers"):
        return {"type": ["array", *null], "items": {"type": _JSON_TYPES[column.type[:-1]]}}
    return {"type": [_JSON_TYPES[column.type], *null]}
