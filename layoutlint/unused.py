"""What a rule file says in vain: rules that judge nothing, accesses of fields that a struct has not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutlint.errors import did_you_mean
from layoutlint.layout import Layout, is_pattern
from layoutlint.model import Reading, Struct
from layoutlint.rule import Finding, Pack, Rule, StructIntent, unknown
from layoutlint.when import excluded


def rules(
    asked: tuple[Rule, ...], judged: list[Finding], readings: list[Reading], everything: bool
) -> Iterator[Finding]:
    """A finding for each rule that judged no struct.

    Shipped rules may name what a kernel lacks, and a `when` may leave a rule out: with `everything`, these
    are findings as well.
    """
    found = {finding.rule for finding in judged}
    for rule in asked:
        reasons = [excluded(rule.when, reading) for reading in readings]
        left_out = all(reasons)
        if rule in found or not reasons or ((rule.shipped or left_out) and not everything):
            continue
        why = f"{rule.subject} is in none of the inputs"
        if left_out:
            why = f"its `when` holds in none of the inputs: {'; '.join(dict.fromkeys(filter(None, reasons)))}"
        yield Finding(rule, None, unknown(why), "")


def accesses(readings: list[Reading], packs: Mapping[int, tuple[Pack, ...]]) -> Iterator[str]:
    """Declared accesses of fields that no definition of the struct has, as sentences with file and line.

    Those of shipped packs are left out: kernels differ.
    """
    for reading in readings:
        for pack in packs[id(reading)]:
            for intent in () if pack.shipped else pack.structs:
                yield from _vain(intent, reading.structs)


def _vain(intent: StructIntent, structs: tuple[Struct, ...]) -> Iterator[str]:
    if not intent.accesses or is_pattern(intent.struct):
        return
    layouts = [Layout(s) for s in structs if s.answers_to(intent.struct) and s.bit_size and not s.problem]
    for access in intent.accesses if layouts else ():
        if (
            access.source is not None
            and not access.is_optional
            and not any(layout.match(access.path) for layout in layouts)
        ):
            names = {place.path for layout in layouts for place in layout.expanded(access.path.count("."))}
            near = did_you_mean(access.path, names)
            yield f"{access.source}: struct {intent.struct} has no field `{access.path}`{near}"
