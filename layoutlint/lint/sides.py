"""The two sides of a comparison: each is read and judged once."""

from __future__ import annotations

from layoutlint.comparison.comparison import Side
from layoutlint.judgement.rule import Pack
from layoutlint.lint import run
from layoutlint.lint.options import Options
from layoutlint.model.record import replace


def read_side(
    label: str,
    paths: tuple[str, ...],
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Side:
    """Read all selected structs of some inputs, and judge them by packs; failures are in the report."""
    options = replace(options, compares=True)
    inputs = run.read(paths, packs, kernel_packs, options)
    report = run.report(inputs, packs, kernel_packs, options)
    structs = tuple(struct for struct in inputs.compared if options.selection.has(struct))
    return Side(label, report, structs)
