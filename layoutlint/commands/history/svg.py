"""Format `svg` of `history`: a column of fields for each build, to scale, without scripts and references."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from layoutlint.commands.history import phrases
from layoutlint.commands.history.builds import Build, History
from layoutlint.geometry.layout import Place, cached_layout
from layoutlint.model.record import Record
from layoutlint.phrases import quantity
from layoutlint.reports.xml_text import attributes, escape

_LEFT, _COLUMN, _GAP, _TOP, _BOTTOM = 64, 190, 70, 74, 26
"""Pixels left of the columns, of a column, between columns, above and below them."""
_LINE_HEIGHT, _LEAST_LINE_HEIGHT, _MOST_HEIGHT = 208, 24, 4000
_LEAST_TEXT_HEIGHT = 9
_LETTER = 6.6
"""The width of a letter, in pixels."""
_MOST_LINES = _MOST_HEIGHT // _LEAST_LINE_HEIGHT
"""The most lines of a struct that are drawn."""
_HUES = (4, 210, 36, 280, 130, 180)
"""The colours of the fields that rules or pairs name, in degrees of HSL."""
_STYLE = """
text { font: 11px ui-monospace, monospace; fill: #1a1a1a }
.head { font-weight: bold } .dim { fill: #666 }
.paper { fill: #fff } .field { fill: #eceff1; stroke: #90a4ae }
.hole { fill: none; stroke: #bbb; stroke-dasharray: 2 2 }
.line { stroke: #c62828; stroke-dasharray: 5 3 } .band { fill: #90a4ae; fill-opacity: .18 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e6e6 } .dim { fill: #aaa }
  .paper { fill: #16191c } .field { fill: #2b3238; stroke: #607d8b }
  .hole { stroke: #666 } .line { stroke: #ef9a9a }
}
"""


class _Scale(Record, frozen=True):
    """Pixels of bits."""

    line_bits: int
    pixels: float
    """Pixels of a line."""
    lines: int
    """The number of lines that are drawn."""

    @property
    def bottom(self) -> float:
        """The lower end of the last line."""
        return _TOP + self.lines * self.pixels

    def y(self, bit: int) -> float:
        """Return the height of a bit of the object; that of the end for one that is not drawn."""
        return min(_TOP + bit * self.pixels / self.line_bits, self.bottom)


def render(history: History) -> str:
    """Return the struct in each build as one SVG image; objects start on a line."""
    scale = _scale(history)
    width = _LEFT + len(history.builds) * (_COLUMN + _GAP)
    height = scale.bottom + _BOTTOM
    size = {"viewBox": f"0 0 {width} {height:.0f}", "width": str(width), "height": f"{height:.0f}"}
    title = f"{history.name} in {quantity(len(history.builds), 'build')}"
    head = attributes(xmlns="http://www.w3.org/2000/svg", role="img", **{"aria-label": title}, **size)
    body = "\n".join(_body(history, scale, title))
    paper = f'<rect class="paper"{attributes(width="100%", height="100%")}/>'
    return f"<svg{head}>\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n{paper}\n{body}\n</svg>\n"


def _scale(history: History) -> _Scale:
    structs = [build.struct for build in history.builds if build.struct is not None]
    line = max((struct.target.line_size for struct in structs), default=64)
    most = max((struct.bit_size or 0 for struct in structs), default=0)
    lines = min(max(1, -(-most // (line * 8))), _MOST_LINES)
    return _Scale(line * 8, max(_LEAST_LINE_HEIGHT, min(_LINE_HEIGHT, _MOST_HEIGHT / lines)), lines)


def _body(history: History, scale: _Scale, title: str) -> Iterator[str]:
    yield _text(_LEFT, 20, title, "head")
    most = max(
        (build.struct.bit_size or 0 for build in history.builds if build.struct is not None), default=0
    )
    cut = f"; only the first {scale.lines} lines are drawn" if most > scale.lines * scale.line_bits else ""
    yield _text(
        _LEFT, 36, f"offsets in bytes; an object that starts on a line of {scale.line_bits // 8}{cut}", "dim"
    )
    right = _LEFT + len(history.builds) * (_COLUMN + _GAP) - _GAP
    hues = _hues(history)
    for number, build in enumerate(history.builds):
        yield from _bands(history, number, hues, scale)
        yield from _column(build, phrases.labels(history)[number], _x(number), hues, scale)
    for number in range(scale.lines + 1):
        y = scale.y(number * scale.line_bits)
        yield f"<line{_numbers(x1=_LEFT - 8, x2=right, y1=y, y2=y)}{attributes(**{'class': 'line'})}/>"
        if number < scale.lines:
            yield _text(6, y + 12, f"line {number}", "dim")


def _x(number: int) -> int:
    return _LEFT + number * (_COLUMN + _GAP)


def _hues(history: History) -> dict[str, int]:
    """Return the colours of the fields of pairs, and of those that rules have findings about."""
    names = dict.fromkeys(chain.from_iterable((pair.first, pair.second) for pair in history.pairs))
    for finding in chain.from_iterable(row.findings for row in history.rules):
        verdict = None if finding is None else finding.verdict
        for pair in verdict.shared if verdict is not None else ():
            names |= dict.fromkeys((pair.first, pair.second))
        for place in verdict.evidence if verdict is not None else ():
            names |= {place.path: None}
    owners = dict.fromkeys(name.partition(".")[0].partition("[")[0] for name in names)
    return {name: _HUES[at % len(_HUES)] for at, name in enumerate(owners)}


def _fields_to_draw(build: Build, scale: _Scale) -> Iterator[Place]:
    """Yield the fields of a build that have bytes of their own, those of unions once."""
    end = 0
    places = () if build.struct is None else cached_layout(build.struct).places
    for place in sorted(places, key=lambda place: (place.bit_offset, -(place.bit_size or 0))):
        if place.bit_size and place.bit_offset >= end and place.bit_offset < scale.lines * scale.line_bits:
            end = place.bit_offset + place.bit_size
            yield place


def _column(build: Build, label: str, x: int, hues: dict[str, int], scale: _Scale) -> Iterator[str]:
    """Yield the fields of one build, with its size above them."""
    yield _text(x, 54, label, "head")
    if build.struct is None:
        yield _text(x, 68, _fit_column(build.reason), "dim")
        return
    size = build.struct.bit_size or 0
    yield _text(x, 68, quantity(size // 8, "byte"), "dim")
    box = _numbers(x=x, y=_TOP, width=_COLUMN, height=scale.y(size) - _TOP)
    yield f'<rect class="hole"{box}/>'
    for place in _fields_to_draw(build, scale):
        top, bottom = scale.y(place.bit_offset), scale.y(place.bit_offset + (place.bit_size or 0))
        numbers = _numbers(x=x, y=top, width=_COLUMN, height=bottom - top)
        name = f"{phrases.offset(place, build)} {place.path}"
        title = f"<title>{escape(f'{place.path}: {place.extent}')}</title>"
        yield f'<rect class="field"{numbers}{_fill(place.path, hues, 0.45)}>{title}</rect>'
        if bottom - top >= _LEAST_TEXT_HEIGHT:
            yield _text(x + 5, min(top + 11, (top + bottom) / 2 + 2), _fit_column(name), "")


def _bands(history: History, number: int, hues: dict[str, int], scale: _Scale) -> Iterator[str]:
    """Yield what ties the fields of a build to where they were in the build before."""
    if not number:
        return
    before = {place.path: place for place in _fields_to_draw(history.builds[number - 1], scale)}
    for place in _fields_to_draw(history.builds[number], scale):
        old = before.get(place.path)
        if old is not None and (old.bit_offset != place.bit_offset or place.path in hues):
            x1, x2 = _x(number - 1) + _COLUMN, _x(number)
            ends = [scale.y(p.bit_offset) for p in (old, place)]
            tails = [scale.y(p.bit_offset + (p.bit_size or 0)) for p in (place, old)]
            points = zip((x1, x2, x2, x1), (*ends, *tails), strict=True)
            path = " ".join(f"{x},{y:.1f}" for x, y in points)
            yield f'<polygon class="band" points="{path}"{_fill(place.path, hues, 0.3)}/>'


def _fill(path: str, hues: dict[str, int], opacity: float) -> str:
    hue = hues.get(path)
    return "" if hue is None else f' style="fill: hsl({hue} 75% 55%); fill-opacity: {opacity}"'


def _fit_column(text: str) -> str:
    """Return a text that fits into a column."""
    most = int((_COLUMN - 10) / _LETTER)
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _text(x: float, y: float, text: str, style: str) -> str:
    named = attributes(**{"class": style}) if style else ""
    return f"<text{_numbers(x=x, y=y)}{named}>{escape(text)}</text>"


def _numbers(**values: float) -> str:
    return attributes(**{name: f"{value:.1f}".removesuffix(".0") for name, value in values.items()})
