"""Converts a table of net_cachelines to a rule file with accesses, and rules that use them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.commands.rules.net_cachelines.table import SIDES, CachelineTable, Row


def rule_file(table: CachelineTable, path: str) -> str:
    """Return the table as TOML; `path` is its file, the evidence of every rule."""
    name = os.path.splitext(os.path.basename(path))[0]
    return escapes.lines((*_head(table, name, path), *_rules(table.struct, path)))


def _head(table: CachelineTable, name: str, path: str) -> Iterator[str]:
    yield "[pack]"
    yield f"name = {_quote(f'net_cachelines/{name}')}"
    yield f"description = {_quote(f'Which fields of {table.struct} the fast paths of TCP use, by {path}')}"
    yield f"sides = [{', '.join(map(_quote, SIDES))}]"
    yield ""
    struct = escapes.toml_key(table.struct)
    yield f"[struct.{struct}]"
    yield "optional_fields = true  # a configuration may lack some; `complete` below lists what has no field"
    yield ""
    yield f"[struct.{struct}.fields]"
    yield from map(_field, table.rows)


def _field(row: Row) -> str:
    key = escapes.toml_key(row.path)
    uses = [f"{side} = {_quote(access)}" for side, access in zip(SIDES, row.accesses, strict=True) if access]
    value = f"{{ {', '.join(uses)} }}" if uses else "{}"
    return f"{key} = {value}" + (f"  # {_plain(row.comment)}" if row.comment else "")


def _rules(struct: str, path: str) -> Iterator[str]:
    yield from _rule(
        f"{struct}-table",
        struct,
        "complete",
        "the table lists the users of each field; a field without a row was placed without regard to them",
        path,
    )
    yield from _rule(
        f"{struct}-sides",
        struct,
        "access",
        "sending and receiving run on different CPUs: a write by one takes the cache line from the other",
        path,
    )
    for side, paths in (*((side, side) for side in SIDES), ("any", "both paths together")):
        why = f"a packet waits for every cache line that the fast path touches ({paths})"
        yield from _rule(f"{struct}-lines-{side}", struct, "lines", why, path, side)


def _rule(id_: str, struct: str, kind: str, why: str, path: str, side: str | None = None) -> Iterator[str]:
    """Yield the lines of a rule; one on the lines of a side is a note."""
    yield ""
    yield "[[rule]]"
    yield f"id = {_quote(id_)}"
    yield f"struct = {_quote(struct)}"
    yield f'kind = "{kind}"'
    if side is not None:
        yield f'side = "{side}"'
    yield f'severity = "{"warning" if side is None else "note"}"'
    yield f"why = {_quote(why)}"
    yield f"evidence = [{_quote(path)}]"


def _quote(text: str) -> str:
    """Return a basic string of TOML; bytes of a file name that are not UTF-8 become question marks."""
    return escapes.toml_string(text.encode(errors="replace").decode())


def _plain(text: str) -> str:
    """Return text for a comment of TOML, with spaces for control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
