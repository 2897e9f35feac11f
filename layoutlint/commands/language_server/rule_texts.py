"""Completion and hover in rule files, also while they are no TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from layoutlint.commands.language_server.documents import Kept, OpenDocument
from layoutlint.commands.language_server.markup import Markup
from layoutlint.commands.language_server.positions import column, units
from layoutlint.commands.language_server.views import kind_of
from layoutlint.geometry.layout import Place
from layoutlint.intent.toml import settings
from layoutlint.intent.toml.rule_file import (
    FIELD_KEYS,
    OVERRIDE_KEYS,
    PACK_KEYS,
    RULE_KEYS,
    STRUCT_KEYS,
)
from layoutlint.judgement.position import Bit
from layoutlint.judgement.rule import ACCESSES, Key, Kind, Severity
from layoutlint.kinds import KINDS, find_kind
from layoutlint.model.record import Record

_HEADER = re.compile(r"\s*\[{1,2}(?P<path>[^\[\]]*)\]")
_PAIR = re.compile(r"^\s*(?P<key>[\w-]+)\s*=\s*(?P<value>.*)$")
_ENDS_TOKEN = frozenset(" \t\"'[],={}")
_WORD = re.compile(r"[\w-]+")
_MOST_ROWS = 2_000
"""The most lines above the cursor that are read for its section."""
_MOST_ITEMS = 2_000
_DEPTH = 3
"""How deep the fields of a struct are completed."""


class Section(Record, frozen=True):
    """The table of a rule file around a line."""

    path: str
    """Its header without brackets: `rule`, `struct.ring`; empty above the first."""
    values: dict[str, str]
    """Its keys with the text of their values, also those behind the line."""
    key: str
    """The key of the value in which the line is; empty for none."""
    rule: Section | None = None
    """The rule of which it is a table (`rule.at`)."""

    @property
    def kind(self) -> type[Kind] | None:
        """The kind of a rule; None if it is missing or wrong."""
        return find_kind(self.values.get("kind", "").strip().strip("\"'"))

    @property
    def struct(self) -> str:
        """The struct that it is about; empty if it names none."""
        if self.path.startswith("struct."):
            return self.path.split(".")[1].strip("\"' ")
        return self.values.get("struct", "").strip().strip("\"'")

    def kind_key(self, name: str) -> Key | None:
        """Return a key of the kind."""
        kind = self.kind
        return None if kind is None else next((key for key in kind.keys if key.name == name), None)


def section(lines: Sequence[str], line: int) -> Section:
    """Return the section around a line."""
    first = line
    while first > 0 and line - first < _MOST_ROWS and not _HEADER.match(lines[first]):
        first -= 1
    header = _HEADER.match(lines[first]) if first < len(lines) else None
    values, key = {}, ""
    for number in range(first + (header is not None), min(len(lines), line + _MOST_ROWS)):
        if _HEADER.match(lines[number]):
            break
        pair = _PAIR.match(lines[number])
        if pair is not None:
            values[pair["key"]] = pair["value"]
            key = pair["key"] if number <= line else key
    path = header["path"].strip() if header else ""
    is_inner = path.startswith("rule.") and first > 0
    return Section(path, values, key, section(lines, first - 1) if is_inner else None)


def completion(
    document: OpenDocument, position: types.Position, encoding: str, others: Iterable[OpenDocument]
) -> list[types.CompletionItem]:
    """Return the keys, kinds, structs, fields and words that can stand at a position."""
    if not 0 <= position.line < len(document.lines):
        return []
    text = document.lines[position.line]
    at = column(text, position.character, encoding)
    before = text[:at]
    around = section(document.lines, position.line)
    pair = _PAIR.match(before)
    is_value = pair is not None or before.count('"') % 2 == 1 or before.lstrip()[:1] in ('"', "[", "]")
    if around.rule is not None:
        is_value = "=" in before
        words = dict(_positions(around.rule, around.path.partition(".")[2], before, others))
    else:
        words = dict(_values(around, others) if is_value else _keys(around))
    start = at
    while start > 0 and text[start - 1] not in _ENDS_TOKEN:
        start -= 1
    where = types.Range(
        types.Position(position.line, units(text, start, encoding)),
        types.Position(position.line, units(text, at, encoding)),
    )
    is_quoted = before.count('"') % 2 == 1
    return [
        types.CompletionItem(
            word,
            kind=types.CompletionItemKind.Value if is_value else types.CompletionItemKind.Property,
            detail=detail,
            text_edit=types.TextEdit(where, word if is_quoted or _is_bare(word, is_value) else f'"{word}"'),
        )
        for word, detail in list(words.items())[:_MOST_ITEMS]
    ]


def _is_bare(word: str, is_value: bool) -> bool:
    """Return whether a word stands without quotation marks: a key of TOML, or a number."""
    return word.isdecimal() if is_value else _WORD.fullmatch(word) is not None


def _positions(
    rule: Section, name: str, before: str, others: Iterable[OpenDocument]
) -> Iterator[tuple[str, str]]:
    """Yield the fields for a table of positions; behind one of them, where it begins."""
    key = rule.kind_key(name)
    if key is None or key.type != "positions":
        return
    path, is_value, _ = before.partition("=")
    for place in _fields(rule, others):
        position = str(Bit(place.offset, place.bit_offset % 8) if place.field.is_bitfield else place.offset)
        if not is_value:
            yield place.path, f"{place.field.type} at {position}"
        elif place.path == path.strip(" \t\"'"):
            yield position, str(place.field.type)


def _fields(rule: Section, others: Iterable[OpenDocument]) -> Iterator[Place]:
    """Yield the fields of the struct that a rule names."""
    for kept in _structs(others):
        if kept.judged.struct.matches(rule.struct):
            yield from (place for place in kept.layout().walk_fields(_DEPTH) if place.path)


def _keys(around: Section) -> Iterator[tuple[str, str]]:
    """Yield the keys that a section lacks, with their meaning."""
    for name, doc in _all_keys(around):
        if name not in around.values:
            yield name, doc


def _all_keys(around: Section) -> Iterator[tuple[str, str]]:
    top, *inner = around.path.split(".")
    tables = {
        "rule": RULE_KEYS, "pack": PACK_KEYS, "override": OVERRIDE_KEYS, "struct": STRUCT_KEYS,
        "settings": settings.KEYS,
    }  # fmt: skip
    names = FIELD_KEYS if top == "struct" and len(inner) > 1 else tables.get(top, ())
    if top == "rule":
        for key in around.kind.keys if around.kind is not None else ():
            yield key.name, key.doc
    yield from ((name, "") for name in names)


def _values(around: Section, others: Iterable[OpenDocument]) -> Iterator[tuple[str, str]]:
    """Yield the values that a key can have."""
    name, key = around.key, around.kind_key(around.key)
    if name == "kind":
        yield from ((kind, _summary(kind)) for kind in KINDS)
    elif name == "severity":
        yield from ((severity.value, "") for severity in Severity)
    elif name == "access":
        yield from ((access, "") for access in ACCESSES)
    elif name == "struct":
        for kept in _structs(others):
            yield kept.judged.name, f"{kept.judged.struct.aggregate}, {kept.layout().size} bytes"
    elif key is not None and key.type in ("path", "paths", "groups", "positions"):
        for place in _fields(around, others):
            yield place.path, f"{place.field.type} at {place.extent}"
        yield from ((f"@{access}", "fields with this access") for access in ACCESSES)
    elif key is not None:
        yield from ((word, "") for word in key.choices or ("true", "false") * (key.type == "boolean"))


def _summary(kind: str) -> str:
    entry = find_kind(kind)
    return "" if entry is None else entry.summary


def _structs(others: Iterable[OpenDocument]) -> Iterator[Kept]:
    for document in others:
        yield from (kept for kept in document.kept.values() if kept.judged.is_laid_out)


def hover(
    document: OpenDocument, position: types.Position, encoding: str, markup: Markup
) -> types.Hover | None:
    """Return the manual of the kind at a position, or the meaning of a kind's key; None for neither."""
    if not 0 <= position.line < len(document.lines):
        return None
    text = document.lines[position.line]
    at = column(text, position.character, encoding)
    word = next((m[0] for m in _WORD.finditer(text) if m.start() <= at <= m.end()), "")
    around = section(document.lines, position.line)
    page = _page(around, word)
    return None if page is None else types.Hover(types.MarkupContent(kind_of(markup), page))


def _page(around: Section, word: str) -> str | None:
    from layoutlint.kinds import manual  # few hovers are in rule files

    kind = around.kind
    if kind is not None and word in ("kind", kind.name) and around.key == "kind":
        return manual.explain(kind)
    key = around.kind_key(word)
    if kind is None or key is None or around.key != word:
        return None
    required = ", required" if key.required else ""
    return f"`{key.name}` of `{kind.name}`{required}: {key.doc}"
