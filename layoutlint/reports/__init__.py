"""Output formats: a module with a pure function for each, and the tables that the command line offers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layoutlint.reports.show.options import ShowFormat


def formats(package: str, *names: str, prefix: str = "") -> dict[str, Callable[..., Any]]:
    """Return the functions of formats by name: `render` of a package's modules, named like the formats.

    A module is imported on the first call, because a run uses few formats.
    """
    return {name: _render(f"{package}.{prefix}{name}") for name in names}


def _render(module: str) -> Callable[..., Any]:
    return lambda *arguments, **options: import_module(module).render(*arguments, **options)


FORMATS: dict[str, Callable[..., str]] = formats(
    f"{__name__}.check", "text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown",
    "rdjson", "checkstyle", "html",
)  # fmt: skip
"""Formats of `layoutlint check`: functions of a Report; those for people have options."""

SHOW_FORMATS: dict[str, ShowFormat] = formats(f"{__name__}.show", "text", "c", "json", "svg", "html")
"""Formats of `layoutlint show`."""
