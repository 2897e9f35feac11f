"""Format `svg` of `show`: the cache lines of objects as a picture, without scripts and references.

One row for each line, with bytes to scale. Classes carry the colours, for light and dark; fields have titles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import Access
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few, quantity
from layoutlint.reports.access_styles import (
    AccessStyle,
    access_styles,
    access_text,
    declared_fields,
    strongest,
)
from layoutlint.reports.line_map import MapRow, Piece, Strip, Strips, line_rows, strips
from layoutlint.reports.show.options import ShowOptions
from layoutlint.reports.show.starts import object_placements
from layoutlint.reports.xml_text import attributes, escape

MOST_PICTURES = 64
"""Objects in one file."""
MOST_ROWS = 200
"""Rows of one object that are drawn."""
_MOST_DESCRIBED = 40
"""Lines that the description lists for readers of screens."""
_LEFT, _RIGHT, _TOP = 76, 12, 14
_WIDTH = 896
_LEAST_BYTE, _MOST_WIDTH = 7, 3584
"""Pixels of a line of up to 128 bytes, of a byte of a longer one, and of the longest."""
_LANE, _ROW = 15, 26
"""Pixels of the height of a lane, and of the least height of a row."""
_LETTER = 6.7
"""Pixels of a letter of the monospace font of 11 pixels; a little more than most fonts have."""
_STYLE = """
.layoutlint{font:11px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.layoutlint .bg{fill:#fff}.layoutlint text{fill:#1f2328}.layoutlint .dim{fill:#59636e}
.layoutlint .head{font-weight:bold;font-size:13px}
.layoutlint .line{fill:none;stroke:#59636e}.layoutlint .tick{stroke:#59636e;stroke-dasharray:1 3}
.layoutlint .field{fill:#eef1f4;stroke:#59636e}.layoutlint .bar{stroke-width:4;fill:none}
.layoutlint .bar.thin{stroke-width:2}.layoutlint .tint{opacity:.2}
.layoutlint .hatch{stroke:#59636e;stroke-width:1}.layoutlint .gap{stroke:#59636e}
@media (prefers-color-scheme:dark){
.layoutlint .bg{fill:#0d1117}.layoutlint text{fill:#e6edf3}.layoutlint .dim{fill:#a4adb8}
.layoutlint .line,.layoutlint .tick,.layoutlint .gap,.layoutlint .hatch{stroke:#a4adb8}
.layoutlint .field{fill:#262c36;stroke:#a4adb8}}
"""
_HATCH = (
    '<defs><pattern id="layoutlint-gap" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>'
)


class _Picture(Record, frozen=True):
    """One object, with what is drawn of it."""

    layout: Layout
    placed: Placements
    base: int
    strips: Strips
    rows: Sequence[MapRow]
    accesses: dict[Place, tuple[Access, ...]]

    @property
    def byte(self) -> float:
        """The width of a byte in pixels."""
        size = self.placed.line_size
        return max(_WIDTH / size, min(_LEAST_BYTE, _MOST_WIDTH / size))

    @property
    def width(self) -> float:
        """The width of the whole picture in pixels."""
        return _LEFT + self.byte * self.placed.line_size + _RIGHT

    @property
    def drawn_rows(self) -> Sequence[MapRow]:
        """The rows that are drawn."""
        return self.rows[:MOST_ROWS]


def picture_bases(struct: Struct, options: ShowOptions) -> tuple[int, ...]:
    """Return the bases at which objects of a struct are drawn; none for an unknown layout."""
    if struct.problem is not None or struct.bit_size is None:
        return ()
    every = object_placements(Layout(struct), options).bases
    return (every[0],) if options.bases is None else options.bases or every


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield one SVG with the objects of some structs, one below the other; nothing for unknown layouts."""
    pictures = [
        _picture(struct, base, options) for struct in structs for base in picture_bases(struct, options)
    ]
    if not pictures:
        return
    styles = access_styles(
        access.access for picture in pictures for declared in picture.accesses.values() for access in declared
    )
    body: list[str] = []
    y = float(_TOP)
    for picture in pictures:
        part, y = _object(picture, {style.access: style for style in styles}, y)
        body += part
    body += _legend(styles, pictures, y)
    width = max(picture.width for picture in pictures)
    yield _document("\n".join(body), pictures, width, y + 28)


def _document(body: str, pictures: Sequence[_Picture], width: float, height: float) -> str:
    size = {"width": _number(width), "height": _number(height)}
    head = attributes(
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {size['width']} {size['height']}", **size
    )
    named = attributes(**{"class": "layoutlint", "role": "img", "aria-labelledby": "layoutlint-title"})
    described = attributes(**{"aria-describedby": "layoutlint-desc"})
    title = "; ".join(dict.fromkeys(_heading(picture) for picture in pictures))
    return (
        f"<svg{head}{named}{described}>\n"
        f'<title id="layoutlint-title">{escape(title)}</title>\n'
        f'<desc id="layoutlint-desc">{escape(_description(pictures))}</desc>\n'
        f"<style>{_STYLE}</style>\n{_HATCH}\n"
        f"<rect{attributes(width='100%', height='100%', **{'class': 'bg'})}/>\n{body}\n</svg>\n"
    )


def _picture(struct: Struct, base: int, options: ShowOptions) -> _Picture:
    layout = Layout(struct)
    placed = object_placements(layout, options)
    chosen = strips(layout, options.expand)
    accesses = declared_fields(layout, options.accesses.get(struct.name, ()))
    rows = line_rows(chosen.drawn, base, placed.line_size)
    return _Picture(layout, placed, base, chosen, rows, accesses)


def _heading(picture: _Picture) -> str:
    struct, size = picture.layout.struct, picture.placed.line_size
    return (
        f"{struct.aggregate} {struct.name}, {quantity(picture.layout.size, 'byte')}, on lines of {size} bytes"
    )


def _caption(picture: _Picture) -> str:
    words = [f"object at byte {picture.base} of a line"]
    gaps = [strip for strip in picture.strips.drawn if strip.place is None]
    if gaps:
        bits = sum(strip.bit_stop - strip.bit_start for strip in gaps)
        size = quantity(bits // 8, "byte") if bits % 8 == 0 else quantity(bits, "bit")
        words.append(f"{size} in holes and padding")
    total = len(picture.placed.bases)
    words.append(f"one of {total} possible places" if total > 1 else "the only possible place")
    return ", ".join(words)


def _omissions(picture: _Picture) -> Iterator[str]:
    """Yield what is not drawn, as sentences."""
    cut = picture.rows[MOST_ROWS:]
    if cut:
        yield f"not drawn: lines {cut[0].first} to {cut[-1].last}"
    if picture.strips.crowded:
        names = first_few(tuple(place.path for place in picture.strips.crowded))
        yield f"not drawn, because too many fields overlap: {names}"
    if picture.strips.unsized:
        names = first_few(tuple(place.path for place in picture.strips.unsized))
        yield f"not drawn, because the size is not known: {names}"


def _description(pictures: Sequence[_Picture]) -> str:
    """Return what is on each line, in words."""
    sentences = []
    for picture in pictures:
        sentences.append(f"{_caption(picture)}.")
        for row in picture.rows[:_MOST_DESCRIBED]:
            names = [piece.strip.place.path for piece in row.pieces if piece.strip.place is not None]
            sentences.append(f"{_row_label(row)}: {', '.join(names) or 'no field'}.")
        if len(picture.rows) > _MOST_DESCRIBED:
            sentences.append(f"{len(picture.rows) - _MOST_DESCRIBED} further rows.")
    return " ".join(sentences)


def _object(picture: _Picture, styles: dict[str, AccessStyle], top: float) -> tuple[list[str], float]:
    """Return the elements of one object, and where the next can start."""
    parts = [
        _text(_LEFT, top + 8, _heading(picture), "head"),
        _text(_LEFT, top + 24, _caption(picture), "dim"),
    ]
    y = top + 46
    line_size = picture.placed.line_size
    marks = range(0, line_size, max(8, line_size // 8))
    parts += [_text(_LEFT + byte * picture.byte, y - 4, str(byte), "dim") for byte in marks]
    for row in picture.drawn_rows:
        height = max([_ROW, *(piece.strip.lanes * _LANE for piece in row.pieces)])
        parts += _row(row, picture, styles, y, height)
        y += height + 5
    for sentence in _omissions(picture):
        parts.append(_text(_LEFT, y + 12, sentence, "dim"))
        y += 16
    return parts, y + 18


def _row_label(row: MapRow) -> str:
    return f"line {row.first}" if row.first == row.last else f"lines {row.first} to {row.last}"


def _row(
    row: MapRow, picture: _Picture, styles: dict[str, AccessStyle], y: float, height: float
) -> Iterator[str]:
    label = f"line {row.first}" if row.first == row.last else f"{row.first}..{row.last}"
    yield _text(6, y + height / 2 + 4, label, "dim", _LEFT - 12)
    for piece in row.pieces:
        yield _piece(piece, picture, styles, y, height)
    width = picture.byte * picture.placed.line_size
    looks = {"class": "line"} | ({} if row.first == row.last else {"stroke-dasharray": "4 3"})
    yield f"<rect{_numbers(x=_LEFT, y=y, width=width, height=height)}{attributes(**looks)}/>"


def _piece(piece: Piece, picture: _Picture, styles: dict[str, AccessStyle], y: float, height: float) -> str:
    strip = piece.strip
    x = _LEFT + piece.bit_start * picture.byte / 8
    width = (piece.bit_stop - piece.bit_start) * picture.byte / 8
    tall = height / strip.lanes
    box = _numbers(x=x, y=y + strip.lane * tall, width=width, height=tall)
    if strip.place is None:
        kind = {"class": "gap", "fill": "url(#layoutlint-gap)"}
        return f"<rect{box}{attributes(**kind)}><title>{escape(_gap_title(strip))}</title></rect>"
    declared = picture.accesses.get(strip.place, ())
    inside = [
        f"<title>{escape(_title(strip.place, declared, picture.accesses))}</title>",
        f"<rect{box}{attributes(**{'class': 'field'})}/>",
    ]
    y += strip.lane * tall
    shown = declared or _accesses_inside(strip.place, picture.accesses)
    if shown:
        inside.append(_bars(styles[strongest(shown)], x, width, y, tall, shown))
    label = shorten(strip.place.path, piece, width)
    if label:
        inside.append(_text(x + 3, y + tall / 2 + (2 if tall < _ROW else 4), label))
    return f"<g>{''.join(inside)}</g>"


def _bars(
    style: AccessStyle, x: float, width: float, y: float, tall: float, declared: Sequence[Access]
) -> str:
    """Return a tint, and a bar at the bottom of a field; a contended field has one at the top too."""
    box = _numbers(x=x, y=y, width=width, height=tall)
    tint = f"<rect{box}{attributes(**{'class': 'tint', 'fill': style.color})}/>"
    is_thin = tall < _ROW
    edge = 1.5 if is_thin else 2.5
    heights = [y + tall - edge] + ([y + edge] if any(access.contended for access in declared) else [])
    return tint + "".join(_bar(style, x, width, at, is_thin) for at in heights)


def _bar(style: AccessStyle, x: float, width: float, y: float, is_thin: bool = False) -> str:
    looks = {"class": "bar thin" if is_thin else "bar", "stroke": style.color}
    if style.dashes:
        looks["stroke-dasharray"] = style.dashes
    return f"<path{attributes(d=f'M{_number(x)} {_number(y)}h{_number(width)}', **looks)}/>"


def shorten(path: str, piece: Piece, width: float) -> str:
    """Return as much of the name of a field as fits into some pixels; empty for none."""
    room = int((width - 6) / _LETTER)
    shown = path if piece.starts else f"\N{HORIZONTAL ELLIPSIS}{path}"
    if len(shown) <= room:
        return shown
    last = path.rpartition(".")[2]
    if len(last) <= room:
        return last
    return f"{last[: room - 1]}\N{HORIZONTAL ELLIPSIS}" if room > 2 else ""


def _accesses_inside(place: Place, accesses: dict[Place, tuple[Access, ...]]) -> tuple[Access, ...]:
    """Return the accesses of the members of a field, or of the field around it."""
    return tuple(
        access
        for other, declared in accesses.items()
        if _is_inside(other, place) or _is_inside(place, other)
        for access in declared
    )


def _is_inside(inner: Place, outer: Place) -> bool:
    """Return whether a field is a member or an element of another one."""
    return inner.path != outer.path and is_within(inner.path, outer.path, any_element=True)


def _title(place: Place, declared: Sequence[Access], accesses: dict[Place, tuple[Access, ...]]) -> str:
    """Return what a field is: name, bytes, type and accesses, also those of its members."""
    words = [f"{place.path}: {place.extent}"]
    if place.size and not place.field.is_bitfield:
        words.append(quantity(place.size, "byte"))
    words.append(place.field.type.declare(place.field.name or ""))
    if declared:
        words.append(access_text(declared))
    inner = [
        f"{other.path} {access_text(own)}" for other, own in accesses.items() if _is_inside(other, place)
    ]
    return "; ".join((*words, *inner))


def _gap_title(strip: Strip) -> str:
    name = "padding" if strip.is_padding else "hole"
    bits = strip.bit_stop - strip.bit_start
    if bits % 8 or strip.bit_start % 8:
        return f"{name} of {quantity(bits, 'bit')} at bit {strip.bit_start}"
    return f"{name} of {quantity(bits // 8, 'byte')} at {strip.bit_start // 8}"


def _legend(styles: Sequence[AccessStyle], pictures: Sequence[_Picture], y: float) -> Iterator[str]:
    x = float(_LEFT)
    for style in styles:
        yield _bar(style, x, 34, y + 2)
        yield _text(x + 40, y + 6, style.access)
        x += 40 + (len(style.access) + 3) * _LETTER
    accesses = (
        access for picture in pictures for declared in picture.accesses.values() for access in declared
    )
    if any(access.contended for access in accesses):
        words = "two bars: contended"
        yield _text(x, y + 6, words)
        x += (len(words) + 3) * _LETTER
    if any(strip.place is None for picture in pictures for strip in picture.strips.drawn):
        box = _numbers(x=x, y=y - 6, width=34, height=14)
        yield f"<rect{box}{attributes(**{'class': 'gap', 'fill': 'url(#layoutlint-gap)'})}/>"
        yield _text(x + 40, y + 6, "hole or padding")


def _text(x: float, y: float, text: str, kind: str = "", most: int | None = None) -> str:
    """Return a text of at most `most` pixels: a longer one is condensed."""
    looks = {"class": kind} if kind else {}
    if most is not None and len(text) * _LETTER > most:
        looks |= {"textLength": str(most), "lengthAdjust": "spacingAndGlyphs"}
    return f"<text{_numbers(x=x, y=y)}{attributes(**looks)}>{escape(text)}</text>"


def _numbers(**values: float) -> str:
    return attributes(**{name: _number(value) for name, value in values.items()})


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
