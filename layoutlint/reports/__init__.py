"""One module per output format, each a pure function; the two tables are what the command line offers."""

from __future__ import annotations

from collections.abc import Callable

from layoutlint.reports import github, json, sarif, text
from layoutlint.reports.explain import explain_rule
from layoutlint.reports.show import c
from layoutlint.reports.show import json as show_json
from layoutlint.reports.show import text as show_text
from layoutlint.reports.show.options import ShowFormat, ShowOptions
from layoutlint.rule import Report

FORMATS: dict[str, Callable[[Report], str]] = {
    "text": text.render,
    "json": json.render,
    "sarif": sarif.render,
    "github": github.render,
}
"""Formats of `layoutlint check`."""

SHOW_FORMATS: dict[str, ShowFormat] = {
    "text": show_text.render,
    "c": c.render,
    "json": show_json.render,
}
"""Formats of `layoutlint show`."""

__all__ = ["FORMATS", "SHOW_FORMATS", "ShowOptions", "explain_rule"]
