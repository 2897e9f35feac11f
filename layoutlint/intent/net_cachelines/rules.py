"""The rule file that a table of net_cachelines comes to: accesses, and rules that judge a struct by them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.intent.net_cachelines.table import SIDES, CachelineTable, Row


def rule_file(table: CachelineTable, path: str) -> str:
    """The table as TOML; `path` is where it was read, which every rule names as its evidence."""
    name = os.path.splitext(os.path.basename(path))[0]
    return escapes.lines((*_head(table, name, path), *_rules(table.struct, path)))


def _head(table: CachelineTable, name: str, path: str) -> Iterator[str]:
    yield "[pack]"
    yield f"name = {_quoted(f'net_cachelines/{name}')}"
    yield f"description = {_quoted(f'Which fields of {table.struct} the fast paths of TCP use, by {path}')}"
    yield f"sides = [{', '.join(map(_quoted, SIDES))}]"
    yield ""
    struct = escapes.toml_key(table.struct)
    yield f"[struct.{struct}]"
    yield "optional_fields = true  # a configuration may lack some; `complete` below lists what has no field"
    yield ""
    yield f"[struct.{struct}.fields]"
    yield from map(_field, table.rows)


def _field(row: Row) -> str:
    key = escapes.toml_key(row.path)
    told = [f"{side} = {_quoted(access)}" for side, access in zip(SIDES, row.accesses, strict=True) if access]
    value = f"{{ {', '.join(told)} }}" if told else "{}"
    return f"{key} = {value}" + (f"  # {_plain(row.comment)}" if row.comment else "")


def _rules(struct: str, path: str) -> Iterator[str]:
    yield from _rule(
        f"{struct}-table",
        struct,
        'kind = "complete"',
        "the table says who uses each field; one that was added without a row was placed without asking",
        path,
    )
    yield from _rule(
        f"{struct}-sides",
        struct,
        'kind = "access"',
        "sending and receiving run on different processors: what one writes takes the line from the other",
        path,
    )
    for side, of in (*((side, side) for side in SIDES), ("any", "both paths together")):
        why = f"every line that the fast path touches ({of}) is one that a packet waits for"
        keys = f'kind = "lines"\nside = "{side}"\nseverity = "note"'
        yield from _rule(f"{struct}-lines-{side}", struct, keys, why, path)


def _rule(id_: str, struct: str, keys: str, why: str, path: str) -> Iterator[str]:
    yield ""
    yield "[[rule]]"
    yield f"id = {_quoted(id_)}"
    yield f"struct = {_quoted(struct)}"
    yield from keys.split("\n")
    if "severity" not in keys:
        yield 'severity = "warning"'
    yield f"why = {_quoted(why)}"
    yield f"evidence = [{_quoted(path)}]"


def _quoted(text: str) -> str:
    """A basic string of TOML; bytes of a file's name that are no UTF-8 become question marks."""
    return escapes.toml_string(text.encode(errors="replace").decode())


def _plain(text: str) -> str:
    """Text that can stand in a comment of TOML, where control characters cannot."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
