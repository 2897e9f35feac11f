"""Kind `holes`: padding that no member and no unnamed bit-field declares."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.padding import Gap, UnknownSize, find_padding
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.parameters import need_at_least, need_choices
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge_once
from layoutlint.model.record import Record
from layoutlint.phrases import quantity

_COUNTS = ("holes", "tail", "nested", "bits")
_BREAKS = """\
struct record {
    int id;
    long address;
    int length;
};
"""
_KEEPS = """\
struct record {
    int id;
    int length;
    long address;
};
"""


class Holes(Record, frozen=True):
    """At most `max` bytes are padding."""

    name: ClassVar[str] = "holes"
    traits: ClassVar[Traits] = Traits()
    summary: ClassVar[str] = "at most `max` bytes of the struct are unused"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("max", "integer", "most unused bytes; by default 0"),
        Key(
            "count",
            "words",
            'which padding counts: `holes`, `tail`, `nested`, `bits`; by default ["holes"]',
            choices=_COUNTS,
        ),
    )
    manual: ClassVar[Manual] = Manual(
        "`count` lists the padding that counts:\n"
        "\n"
        "- `holes`: whole bytes between fields. Anonymous members belong to the outer struct.\n"
        "- `tail`: whole bytes behind the last field.\n"
        "- `nested`: the holes and the tails of members held by value, at any depth, in each element of\n"
        "  arrays. What another member of a union covers counts too; what several share counts once.\n"
        "- `bits`: parts of bytes beside bit-fields; with `nested`, also those inside members.\n"
        "\n"
        'All four allow no implicit padding: `count = ["holes", "tail", "nested", "bits"]`, `max = 0`.\n'
        "\n"
        "Members count as used, reserved ones too; with `bits`, so do unnamed bit-fields (`unsigned : 5`)\n"
        "in C sources. DWARF, BTF and snapshots do not state these: with `bits`, such an input makes the\n"
        "outcome unknown if it depends on a gap beside a bit-field. An unnamed bit-field that is beside no\n"
        "other one counts as padding there.\n"
        "\n"
        "Elements of a flexible array are no part of the struct. The base does not matter.\n"
        "\n"
        "`-Wpadded` of gcc and clang warns about the padding of all four, except for the rest of the last\n"
        "byte of a union, and, by gcc, a gap before a bit-field that does not fit behind another one.",
        "Order the fields by decreasing alignment, or put small ones into the holes. If the layout must\n"
        "stay, declare reserved members there. If a hole keeps fields apart on purpose, write it as an\n"
        "alignment and raise `max`.",
        "max = 0",
        Example(_BREAKS, Outcome.BROKEN, "4 bytes are in 1 hole, 0 allowed: 4..7 before `address`"),
        Example(_KEEPS, Outcome.KEPT, "0 bytes are in 0 holes"),
    )

    max: int = 0
    count: tuple[str, ...] = ("holes",)

    def __post_init__(self) -> None:
        need_at_least("max", self.max, 0)
        need_choices("count", self.count, _COUNTS)

    def check(self, context: Context) -> Verdict:
        """Return broken if more than `max` bytes are padding that counts."""
        try:
            every = list(
                find_padding(
                    context.layout, is_deep="nested" in self.count, with_unnamed="bits" not in self.count
                )
            )
        except UnknownSize as error:
            raise CannotTell(f"the size of `{error}` is not known") from None
        gaps = [gap for gap in every if self._counts(gap)]
        if _bits(gaps) <= 8 * self.max:
            return judge_once(True, self._describe_total(gaps), (), "")
        certain = [gap for gap in gaps if gap.is_declared is not None or "bits" not in self.count]
        if _bits(certain) <= 8 * self.max:
            raise CannotTell(_describe_doubt([gap for gap in gaps if gap.is_declared is None]))
        message = f"{self._describe_total(certain)}, {self.max} allowed: {_describe_gaps(certain)}"
        return judge_once(False, message, (), self._advice(certain))

    def _counts(self, gap: Gap) -> bool:
        """Return whether a gap is one of those that the rule counts."""
        if gap.is_whole:
            return gap.where in self.count
        return "bits" in self.count and (gap.where != "nested" or "nested" in self.count)

    def _describe_total(self, gaps: list[Gap]) -> str:
        size, rest = divmod(_bits(gaps), 8)
        words = quantity(size, "byte") if size or not rest else ""
        words += " and " * bool(words and rest) + (quantity(rest, "bit") if rest else "")
        noun = "hole" if self.count == ("holes",) else "gap"
        return f"{words} are in {quantity(len(gaps), noun)}"

    def _advice(self, gaps: list[Gap]) -> str:
        size, rest = divmod(_bits(gaps) - 8 * self.max, 8)
        words = " and ".join([f"{size} of these bytes"] * bool(size) + [f"{rest} of the bits"] * bool(rest))
        advice = f"move or narrow fields so that {words} are used"
        return advice if self.count == ("holes",) else f"{advice}, or declare reserved members there"


def _bits(gaps: list[Gap]) -> int:
    return sum(gap.bit_size * gap.count for gap in gaps)


def _describe_gaps(gaps: list[Gap]) -> str:
    more = f" and {len(gaps) - 6} more" if len(gaps) > 6 else ""
    return ", ".join(map(_describe_gap, gaps[:6])) + more


def _describe_gap(gap: Gap) -> str:
    first = gap.bit_offset // 8
    if gap.is_whole:
        extent = f"{first}..{first + gap.bit_size // 8 - 1}"
    else:
        extent = f"{quantity(gap.bit_size, 'bit')} at {first}:{gap.bit_offset % 8}"
    elements = f", in each of {gap.count:,} elements" if gap.count > 1 else ""
    return f"{extent} {gap.place}{elements}"


def _describe_doubt(gaps: list[Gap]) -> str:
    return (
        "the input does not state unnamed bit-fields, and one may be declared at "
        f"{_describe_gaps(gaps)}; check the C source"
    )
