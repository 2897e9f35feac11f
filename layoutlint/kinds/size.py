"""Kind `size`: the size of a struct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from layoutlint.geometry.placement import Placements, touched_lines
from layoutlint.judgement.advice import byte_count, line_numbers
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.parameters import need_at_least
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge, judge_once
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

_BREAKS = """\
struct slot {
    long key, value, hash;
    int flags;
};
"""
_KEEPS = """\
struct slot {
    long key, value;
    int hash, flags;
};
"""


class Size(Record, frozen=True):
    """The size of the struct in bytes, and the lines that an object touches."""

    name: ClassVar[str] = "size"
    traits: ClassVar[Traits] = Traits(size_only=True)
    summary: ClassVar[str] = "the struct has the size that the rule states, in bytes and in cache lines"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("max", "integer", "largest `sizeof`"),
        Key("exact", "integer", "required `sizeof`"),
        Key("multiple_of", "integer", "`sizeof` must be a multiple of this"),
        Key("max_lines", "integer", "most lines that the whole object may touch"),
    )
    manual: ClassVar[Manual] = Manual(
        "All given keys must hold. `max_lines` is judged at every base: 64 bytes aligned to 8 touch one\n"
        "line at one base and two at seven. `sizeof` excludes a flexible array, so `max_lines` is then\n"
        "unknown.",
        "Look for holes (`layoutlint show`), narrow fields, or move rarely used ones to another struct. For\n"
        "lines, align the struct as advised.",
        "max = 24",
        Example(_BREAKS, Outcome.BROKEN, "struct slot has 32 bytes, 8 more than 24"),
        Example(_KEEPS, Outcome.KEPT, "struct slot has 24 bytes"),
    )

    max: int | None = None
    exact: int | None = None
    multiple_of: int | None = None
    max_lines: int | None = None

    def __post_init__(self) -> None:
        if (self.max, self.exact, self.multiple_of, self.max_lines) == (None,) * 4:
            raise ValueError("needs `max`, `exact`, `multiple_of` or `max_lines`")
        need_at_least("max", self.max, 0)
        need_at_least("exact", self.exact, 0)
        need_at_least("multiple_of", self.multiple_of, 1)
        need_at_least("max_lines", self.max_lines, 1)
        for fault in () if self.exact is None else self._find_faults(self.exact):
            raise ValueError(f"`exact` contradicts another key: {self.exact} bytes are {fault}")

    def check(self, context: Context) -> Verdict:
        """Return broken for a wrong size, and violations where the object touches too many lines."""
        layout = context.layout
        size, open_end = layout.size, layout.open_end
        faults = list(self._find_faults(size))
        message = ", ".join([f"{layout.struct.aggregate} {layout.struct.name} has {size} bytes", *faults])
        if open_end is not None:
            message += f", without the flexible array `{open_end.path}`"
        if self.max_lines is None:
            return judge_once(not faults, message, (), self._advice(size))
        if open_end is not None and not faults:
            raise CannotTell(f"the end of an object is unknown: `{open_end.path}` is a flexible array")
        return self._count_lines(size, message, bool(faults), context.placements)

    def _find_faults(self, size: int) -> Iterator[str]:
        """Describe the faults of a size in bytes."""
        if self.max is not None and size > self.max:
            yield f"{size - self.max} more than {self.max}"
        if self.exact is not None and size != self.exact:
            yield f"{abs(size - self.exact)} {'more' if size > self.exact else 'less'} than {self.exact}"
        if self.multiple_of is not None and size % self.multiple_of:
            yield f"{size % self.multiple_of} more than a multiple of {self.multiple_of}"

    def _count_lines(self, size: int, message: str, is_broken: bool, placements: Placements) -> Verdict:
        most = self.max_lines or 0
        counts = {base: _count_lines(base, size, placements.line_size) for base in placements.bases}
        over = placements.violating_bases(lambda base: counts[base] > most)
        bases = placements.bases if is_broken else over
        message += f" on {line_numbers(counts.values())}"
        if over:
            message += f", more than {most} {placements_phrase(len(over), len(placements.bases))}"
        line = placements.line_size
        if size > most * line:
            advice = f"take away at least {byte_count(size - most * line)}, to get to {most * line}"
        else:
            fewest = line_numbers([_count_lines(0, size, line)])
            advice = f"align the struct to {line} bytes: it then touches {fewest}"
        return judge(placements, bases, message, (), self._advice(size) or advice)

    def _advice(self, size: int) -> str:
        if self.exact is not None and size < self.exact:
            return f"add {byte_count(self.exact - size)}"
        limit = self.exact if self.exact is not None else self.max
        if limit is not None and size > limit:
            return f"take away at least {byte_count(size - limit)}"
        if self.multiple_of is not None and size % self.multiple_of:
            over = size % self.multiple_of
            return f"take away {byte_count(over)}, or add {self.multiple_of - over}"
        return ""


def _count_lines(base: int, size: int, line_size: int) -> int:
    """Return the number of lines that an object touches. `len` fails for the huge sizes of damaged inputs."""
    touched = touched_lines(base, 0, size, line_size)
    return touched.stop - touched.start
