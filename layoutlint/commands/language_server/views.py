"""Hovers, inlay hints and lenses of C files, from the last good layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from layoutlint.commands.language_server import pages
from layoutlint.commands.language_server.documents import Kept, OpenDocument
from layoutlint.commands.language_server.markup import Markup
from layoutlint.commands.language_server.positions import column, end_of_code, span, units
from layoutlint.geometry.layout import Place
from layoutlint.model.record import Record

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_HEAD = re.compile(r"\s+(?:__\w+\s+|__attribute__\s*\(\(.{0,80}?\)\)\s*)*([A-Za-z_]\w*)")
_KEYWORDS = ("struct", "union")


class ViewSettings(Record, frozen=True):
    """The views that an editor requests (docs/editors.md)."""

    inlay_hints: str = "all"
    """`all`, `lines` for the boundaries of cache lines only, or `off`."""
    code_lens: bool = True
    hover: bool = True


def hover(
    document: OpenDocument, position: types.Position, encoding: str, markup: Markup
) -> types.Hover | None:
    """Return the page of the struct or field at a position; None if there is none."""
    if not 0 <= position.line < len(document.lines):
        return None
    text = document.lines[position.line]
    at = column(text, position.character, encoding)
    word = next((m for m in _WORD.finditer(text) if m.start() <= at <= m.end()), None)
    if word is None:
        return None
    page = _field_page(document, position.line, word[0], markup) or _struct_page(document, text, word, markup)
    if page is None:
        return None
    where = types.Range(
        types.Position(position.line, units(text, word.start(), encoding)),
        types.Position(position.line, units(text, word.end(), encoding)),
    )
    return types.Hover(types.MarkupContent(kind_of(markup), page), where)


def kind_of(markup: Markup) -> types.MarkupKind:
    """Return what the protocol calls a way to write pages."""
    return types.MarkupKind.PlainText if markup.is_plain else types.MarkupKind.Markdown


def _field_page(document: OpenDocument, line: int, word: str, markup: Markup) -> str | None:
    at_cursor = field_at(document, line, word)
    if at_cursor is None:
        return None
    kept, field = at_cursor
    return pages.field_page(kept.judged, field, markup, kept.stale)


def field_at(document: OpenDocument, line: int, word: str) -> tuple[Kept, Place] | None:
    """Return the field of a name that is declared in a line, from 0."""
    for kept in document.kept.values():
        if not kept.judged.is_laid_out:
            continue
        for path, member, row in kept.fields():
            if member.name == word and document.line_now(kept, row) == line:
                place = kept.layout().find(path)
                return None if place is None else (kept, place)
    return None


def _struct_page(document: OpenDocument, text: str, word: re.Match[str], markup: Markup) -> str | None:
    name = word[0]
    if name in _KEYWORDS:
        head = _HEAD.match(text, word.end())
        name = head[1] if head is not None else ""
    kept = struct_by_name(document, name)
    if kept is None or not kept.judged.is_laid_out:
        return None
    is_kernel = document.result is not None and document.result.is_kernel
    return pages.struct_page(kept.judged, is_kernel, markup, kept.stale)


def struct_by_name(document: OpenDocument, name: str) -> Kept | None:
    """Return the struct with a tag or typedef."""
    kept = document.kept.get(name)
    if kept is None and name:
        kept = next((k for k in document.kept.values() if name in k.judged.struct.aliases), None)
    return kept


def lenses(document: OpenDocument, encoding: str) -> list[types.CodeLens]:
    """Return a label above each struct."""
    return [
        types.CodeLens(
            span(document.lines, line, kept.judged.name, encoding),
            types.Command(pages.lens(kept.judged, bool(kept.stale)), ""),
        )
        for kept, line in _heads(document)
    ]


def _heads(document: OpenDocument) -> Iterator[tuple[Kept, int]]:
    """Yield the structs with a layout, and the lines where they are now."""
    for kept in document.kept.values():
        line = document.line_now(kept, kept.line)
        if kept.judged.is_laid_out and line is not None:
            yield kept, line


def inlay_hints(
    document: OpenDocument, wanted: types.Range, encoding: str, settings: ViewSettings
) -> list[types.InlayHint]:
    """Return the offsets, and the boundaries of cache lines, behind the fields in a range."""
    rows: dict[int, tuple[str, list[str]]] = {}
    for kept, _ in _heads(document):
        placements = kept.judged.placements
        line_size = placements.line_size if placements else kept.judged.struct.target.line_size
        every = settings.inlay_hints == "all"
        for place, row, label in pages.hints(kept.places(), line_size, every):
            line = document.line_now(kept, row)
            if line is not None and wanted.start.line <= line <= wanted.end.line:
                labels = rows.setdefault(line, (place.field.name or "", []))[1]
                if not any(each == label or each.startswith(f"{label} ") for each in labels):
                    labels.append(label)
    return [_hint(document, line, name, labels, encoding) for line, (name, labels) in sorted(rows.items())]


def _hint(document: OpenDocument, line: int, name: str, labels: list[str], encoding: str) -> types.InlayHint:
    text = document.lines[line]
    at = types.Position(line, units(text, end_of_code(text, name), encoding))
    tooltip = "offset in bytes, and the cache line that begins here, of an object at the start of a line"
    return types.InlayHint(at, ", ".join(labels), padding_left=True, tooltip=tooltip)
