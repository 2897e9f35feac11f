"""What follows from samples: rates, ratios, and refusals."""

from __future__ import annotations

import pytest

from layoutlint.measurement.experiment import CONTROL
from layoutlint.measurement.result import series_of_samples
from tests.measurement import sample
from tests.measurement.sample import COMPARED, SWEPT, arrangement, measurement, plan, samples, usual


def ratios(result):
    return [
        (each.arrangement, each.of, each.to, each.interval, each.core, round(each.series.median, 2))
        for each in result.ratios()
    ]


def test_ratios_of_two_layouts():
    """Before, all but one placement share the line; after, none does."""
    found = ratios(COMPARED)
    assert [each[:3] for each in found if each[3:5] == (0, 1)] == [
        (0, "affected", "unaffected"), (1, "unaffected", "reference"), (None, "after", "before"),
    ]  # fmt: skip
    assert found[0][-1] == round(11 / 101, 2)
    assert found[-1][-1] == round(101 / ((7 * 11 + 101) / 8), 2)


def test_ratios_of_a_sweep():
    assert ratios(SWEPT) == [(0, "affected", "unaffected", 0, 0, 0.11)]


def test_without_an_unaffected_placement_the_reference_counts():
    own = plan(arrangement(0, 8), intervals=(0,))
    always = own.experiment.arrangements[0].bases
    from layoutlint.model.record import replace

    own = plan(replace(own.experiment.arrangements[0], affected=always), intervals=(0,))
    assert [each[1:3] for each in ratios(measurement(own))] == [("affected", "reference")] * 2


OWN = plan(arrangement(0, 8))


def rate(**cells: object):
    """The usual rates, with others for the control on one line (`slow`) and apart (`fast`)."""

    def change(cell, core, number):
        if cell.arrangement == CONTROL:
            value = cells["fast" if cell.is_reference else "slow"]
            return value[number] if isinstance(value, tuple) else value
        return usual(OWN)(cell, core, number)

    return change


REFUSALS = [
    # the rates of the control in millions a second, the share of time that threads run, the reason
    (rate(slow=20.0, fast=100.0), 1.0, 0, None),
    (rate(slow=20.0, fast=100.0), 0.98, 0, None),
    (rate(slow=60.0, fast=100.0), 1.0, 0, "1.67 times as fast, and at least 2.0 times is needed to tell"),
    (rate(slow=100.0, fast=100.0), 1.0, 0, "1.00 times as fast, and at least 2.0 times is needed to tell"),
    (rate(slow=(20.0, 20.0, 90.0), fast=(90.0, 100.0, 80.0)), 1.0, 0, "the rounds disagree on which is faster"),
    (rate(slow=20.0, fast=(60.0, 100.0, 120.0)), 1.0, 0, "differ by 60%, and at most 50% are allowed"),
    (rate(slow=20.0, fast=100.0), 0.9, 0, "0.0% of 60 samples were undisturbed by other work, and at least 10% are needed"),
    (rate(slow=20.0, fast=100.0), 1.0, sample.WINDOW // 10, "0.0% of 60 samples were undisturbed"),
    (rate(slow=20.0, fast=100.0), 1.0, sample.WINDOW // 100, None),
]


@pytest.mark.parametrize(("rates", "ran", "late", "reason"), REFUSALS)
def test_refusals(rates, ran, late, reason):
    refusal = measurement(OWN, samples(OWN, rates, ran, late)).refusal()
    assert (refusal is None) == (reason is None)
    assert reason is None or reason in refusal


def test_a_situation_without_enough_rounds():
    disturbed = [
        each if each.cell != 5 or each.round == 1 else each.__class__(each.cell, each.round, each.thread, each.times, 0, sample.WINDOW, 0)
        for each in samples(OWN, usual(OWN))
    ]
    assert "1 of 20 situations have an undisturbed sample in less than half of the rounds" in measurement(OWN, disturbed).refusal()


def test_a_round_is_the_median_of_its_undisturbed_samples():
    own = plan(arrangement(0, 8), rounds=1)
    three = [samples(own, lambda cell, core, number, value=value: value, ran) for value, ran in ((5.0, 1), (7.0, 1), (9.0, 1), (1.0, 0))]
    total, valid, series = series_of_samples([each for group in three for each in group], own)
    assert (total, valid) == (4 * len(own.cells), 3 * len(own.cells))
    assert {one.rounds for cores in series for one in cores} == {(7e6,)}
