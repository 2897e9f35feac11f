"""A report on a store that has all that such a report can have."""

from __future__ import annotations

from layoutlint.surveys.report import (
    Cost,
    CostTotals,
    InputCount,
    LayoutVariant,
    RuleStanding,
    StoreReport,
    StructVariants,
)
from layoutlint.surveys.result import FailedInput, Outcomes

REPORT = StoreReport(
    "store", 5, Outcomes(2, 1, 1, 1),
    (InputCount("aarch64", 1), InputCount("x86_64", 2)), (InputCount("6.1.5", 1), InputCount("6.12.1", 1)),
    (
        RuleStanding("apart", "ring", "x86_64", "error", 1, 1, 0, 0, 2, "6.12.1", "6.1.5", ("new",)),
        RuleStanding("apart", "ring", "aarch64", "note", 0, 0, 1, 1, 0, None, None, ("other",)),
    ),
    (
        StructVariants("ring", 3, 2, "between-targets", (
            LayoutVariant("0123456789abcdef", 24, ("x86_64",), ("6.1.5", "6.12.1"), 2, "new"),
            LayoutVariant("fedcba9876543210", 16, ("aarch64",), (), 1, "other"),
        )),
    ),
    1,
    (FailedInput("bad", "failed", "timed-out", "does not end within 600 s", 2), FailedInput("half", "incomplete", None, "a unit", 1)),
    2, ("bare",), CostTotals(4, 1 << 20, 4.5, 3.25, 1 << 26, 1.0, 2.0, 1, 3),
    (Cost("new", 1 << 20, 2.5, 1.5, 1 << 26), Cost("build-id:00112233", None, 2.0, 1.75, 1 << 20)),
)  # fmt: skip
