"""Output formats: a module with a pure function for each, and the tables that the command line offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layoutlint.judgement.case import Trial
    from layoutlint.reports.containers import ContainersFormat
    from layoutlint.reports.show.options import ShowFormat
    from layoutlint.sources.allocations.proposals import Listing


def _render(module: str) -> Callable[..., Any]:
    """Return the `render` of a module that is imported on the first call: a run uses few formats."""
    return lambda *arguments, **options: import_module(f"layoutlint.reports.{module}").render(
        *arguments, **options
    )


FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("check.text"),
    "concise": _render("check.concise"),
    "json": _render("check.json"),
    "sarif": _render("check.sarif"),
    "github": _render("check.github"),
    "gitlab": _render("check.gitlab"),
    "junit": _render("check.junit"),
    "markdown": _render("check.markdown"),
    "rdjson": _render("check.rdjson"),
    "checkstyle": _render("check.checkstyle"),
    "html": _render("check.html"),
}
"""Formats of `layoutlint check`: functions of a Report; those for people have options."""

SHOW_FORMATS: dict[str, ShowFormat] = {
    "text": _render("show.text"),
    "c": _render("show.c"),
    "json": _render("show.json"),
    "svg": _render("show.svg"),
    "html": _render("show.html"),
}
"""Formats of `layoutlint show`."""

CONTAINERS_FORMATS: dict[str, ContainersFormat] = {
    "text": _render("containers.text"),
    "json": _render("containers.json"),
}
"""Formats of `layoutlint containers`."""

ALLOCATIONS_FORMATS: dict[str, Callable[[Listing], Iterator[str]]] = {
    "text": _render("allocations.text"),
    "toml": _render("allocations.toml"),
    "json": _render("allocations.json"),
}
"""Formats of `layoutlint allocations`."""

ACCESSES_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("accesses.text"),
    "json": _render("accesses.json"),
}
"""Formats of `layoutlint accesses`."""

INFER_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("infer.text"),
    "toml": _render("infer.toml"),
    "json": _render("infer.json"),
}
"""Formats of `layoutlint infer`."""

TRIAL_FORMATS: dict[str, Callable[[Sequence[Trial]], str]] = {
    "text": _render("cases.text"),
    "json": _render("cases.json"),
}
"""Formats of `layoutlint rules test`."""

DIFF_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("diff.text"),
    "markdown": _render("diff.markdown"),
    "sarif": _render("diff.sarif"),
    "json": _render("diff.json"),
    "html": _render("diff.html"),
}
"""Formats of `layoutlint diff`: functions of a Comparison; the one for people has options."""

MEASURE_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("measure.text"),
    "json": _render("measure.json"),
    "svg": _render("measure.svg"),
}
"""Formats of `layoutlint measure`: functions of a Measurement; the one for people has options."""

BISECT_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("bisect.text"),
    "json": _render("bisect.json"),
}
"""Formats of `layoutlint bisect`: functions of a SearchResult."""

HISTORY_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("history.text"),
    "json": _render("history.json"),
    "svg": _render("history.svg"),
    "html": _render("history.html"),
}
"""Formats of `layoutlint history`: functions of a History; the one for people has options."""

EVIDENCE_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("evidence.text"),
    "json": _render("evidence.json"),
}
"""Formats of `layoutlint evidence`: functions of an EvidenceReport; the one for people has options."""

SUGGEST_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("suggest.text"),
    "patch": _render("suggest.patch"),
    "json": _render("suggest.json"),
}
"""Formats of `layoutlint suggest`: functions of Suggestions; the one for people has options."""

SMALLEST_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("suggest.smallest_text"),
    "json": _render("suggest.smallest_json"),
    "markdown": _render("suggest.smallest_markdown"),
}
"""Formats of `layoutlint suggest --smallest` without STRUCT: functions of a Smaller; text has options."""

SURVEY_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("survey.text"),
    "json": _render("survey.json"),
}
"""Formats of `layoutlint survey run`: functions of a SurveyResult."""

SURVEY_REPORT_FORMATS: dict[str, Callable[..., str]] = {
    "text": _render("survey.report_text"),
    "json": _render("survey.report_json"),
    "csv": _render("survey.report_csv"),
}
"""Formats of `layoutlint survey report`: functions of a StoreReport, and `csv` of failing verdicts."""
