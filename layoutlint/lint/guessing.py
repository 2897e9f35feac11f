"""The notes of packs that guess, in a run. Few runs guess, so that what they need is imported here on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutlint.judgement.finding import Report
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options

if TYPE_CHECKING:
    from layoutlint.lint.guess_uses import GuessUses


def share_placements(packs: tuple[Pack, ...]) -> tuple[Pack, ...]:
    """Return the packs; those that guess know the placements which the others declare."""
    if not any(pack.guesses for pack in packs):
        return packs
    from layoutlint.lint import ranking

    return ranking.share_placements(packs)


def add_arrays(inputs: list[JudgedInput], rules: tuple[Rule, ...], options: Options) -> list[JudgedInput]:
    """Return the inputs, with the arrays that their sources allocate if a rule guesses about such arrays."""
    if not any(rule.guess for rule in rules):
        return inputs
    from layoutlint.lint import allocated_arrays

    return allocated_arrays.with_allocated_arrays(inputs, options)


def read_uses(packs: tuple[Pack, ...], options: Options) -> GuessUses | None:
    """Return what functions do to the fields of guesses; None without sources that tell."""
    if not options.guessing.uses:
        return None
    from layoutlint.lint import guess_uses

    return guess_uses.read(options.guessing.uses, packs, options)


def rank(
    report: Report,
    inputs: list[JudgedInput],
    rules: tuple[Rule, ...],
    functions: GuessUses | None,
    options: Options,
) -> Report:
    """Return a report with the likeliest guesses."""
    if not any(rule.guess for rule in rules):
        return report
    from layoutlint.lint import ranking

    packs = dict.fromkeys(pack for each in inputs for pack in each.packs)
    return ranking.rank(report, packs, options.guessing.most, functions)
