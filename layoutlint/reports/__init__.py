"""One module per output format, each a pure function; the tables are what the command line offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layoutlint.allocations.listing import Listing
    from layoutlint.cases import Trial
    from layoutlint.reports.containers import ContainersFormat
    from layoutlint.reports.show.options import ShowFormat
    from layoutlint.rule import Report


def _render(module: str) -> Callable[..., Any]:
    """The `render` of a module, which is imported when it is called: a run uses one format of nine."""
    return lambda *given: import_module(f"layoutlint.reports.{module}").render(*given)


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": _render("text"),
    "json": _render("json"),
    "sarif": _render("sarif"),
    "github": _render("github"),
}
"""Formats of `layoutlint check`."""

SHOW_FORMATS: dict[str, ShowFormat] = {
    "text": _render("show.text"),
    "c": _render("show.c"),
    "json": _render("show.json"),
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

TRIAL_FORMATS: dict[str, Callable[[Sequence[Trial]], str]] = {
    "text": _render("trials.text"),
    "json": _render("trials.json"),
}
"""Formats of `layoutlint rules test`."""
