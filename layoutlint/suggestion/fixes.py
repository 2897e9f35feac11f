"""Findings with the change of the source that mends them, where it is safe."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.errors import ReadError, UsageError
from layoutlint.judgement.finding import Finding, Fix, Report
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.model.record import replace
from layoutlint.readers.clang.members import split_lines
from layoutlint.suggestion.builds import Request
from layoutlint.suggestion.orders.result import Suggestion
from layoutlint.suggestion.run import suggest

_EFFORT = 1.0
"""The most work for each aim of each struct."""
_MOST_STRUCTS = 50
"""The most structs for which an order is searched."""


def with_fixes(
    report: Report, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """Return a report whose findings have a fix, if an order of the members keeps all rules on the struct.

    A fix is safe: nothing in the C sources of the input forbids it, and they were searched, or the struct is
    marked `__randomize_layout`.
    """
    fixes: dict[tuple[str, str], Fix | None] = {}
    for key in _failing_structs(report):
        if len(fixes) < _MOST_STRUCTS:
            fixes[key] = _fix(*key, packs, kernel_packs, options)
    findings = tuple(replace(each, fix=fixes.get(_key(each))) for each in report.findings)
    return replace(report, findings=findings)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.input, "" if finding.struct is None else finding.struct.name


def _failing_structs(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the input and the struct of findings that fail and are about the struct itself, each once."""
    texts = {reading.path for reading in report.readings if reading.reader == "clang"}
    keys = {
        _key(finding): None
        for finding in report.findings
        if finding.verdict.outcome in (Outcome.BROKEN, Outcome.AT_RISK)
        and not (finding.is_accepted or finding.rule.guess or finding.around or finding.builds)
        and finding.struct is not None
        and finding.input in texts
    }
    yield from keys


def _fix(
    path: str, struct: str, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Fix | None:
    try:
        result = suggest(path, Request(struct, effort=_EFFORT), packs, kernel_packs, options.of_input(path))
    except (ReadError, UsageError):
        return None
    if not _is_safe(result) or result.patch is None or result.struct.source is None:
        return None
    moved = ", ".join(f"`{move.member}`" for move in result.moves)
    return _replaced_lines(
        result.struct.source.file, result.patch.old_text, result.patch.text, f"Move {moved}."
    )


def _is_safe(result: Suggestion) -> bool:
    is_searched = result.is_order_free or result.looked_at.sources > 0
    return result.status in ("optimal", "feasible") and is_searched and not result.refusals


def _replaced_lines(file: str, old: str, new: str, description: str) -> Fix | None:
    """Return the change of a file's text as one run of whole lines; None without a change."""
    before, after = split_lines(old), split_lines(new)
    least = min(len(before), len(after))
    first = next((at for at in range(least) if before[at] != after[at]), least)
    if first == len(before) == len(after):
        return None
    tail = next((at for at in range(least - first) if before[-1 - at] != after[-1 - at]), least - first)
    text = "".join(after[first : len(after) - tail])
    return Fix(file, first + 1, len(before) - tail, text, description)
