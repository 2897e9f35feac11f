"""Hints for structs that were asked for by name, and that no input has: the nearest names of the inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from layoutlint.errors import UsageError
from layoutlint.judgement.rule import VARIABLES, Rule
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.missing_name import missing_name_hint
from layoutlint.lint.options import Options
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Unread
from layoutlint.model.record import replace
from layoutlint.phrases import first_few
from layoutlint.readers import inputs

RULES = "rules"
"""The origin of failures that are about all rules of a run."""
_MOST_HINTS = 5
"""Names for which near names are searched: a search takes up to a second in a kernel."""


def missing_struct_hints(
    rules: Iterable[Rule], judging: set[Rule], judged: list[JudgedInput], options: Options
) -> dict[str, str]:
    """Return the ends of messages on structs of rules that no input has, by name; reads the inputs again.

    Shipped rules get none: that a kernel lacks a struct is normal. So do the builds of a matrix.
    """
    if options.skips_missing or options.build is not None:
        return {}
    missing = dict.fromkeys(rule.struct for rule in rules if rule not in judging and _is_checkable(rule))
    few = [name for name in missing if not any(each.structs.find(name) for each in judged)][:_MOST_HINTS]
    names = _names(judged, options) if few else frozenset[str]()
    paths, read = _paths(judged), options.read
    return {name: missing_name_hint(name, paths, read, names) for name in few}


def _is_checkable(rule: Rule) -> bool:
    return not rule.shipped and not rule.guess and rule.struct != VARIABLES and not is_pattern(rule.struct)


def _names(judged: list[JudgedInput], options: Options) -> frozenset[str]:
    return inputs.names(_paths(judged), replace(options.read, finds_omissions=False))


def _paths(judged: list[JudgedInput]) -> tuple[str, ...]:
    return tuple(each.reading.path for each in judged if each.reading.reader != "symbols")


def selects_nothing(judged: list[JudgedInput], options: Options) -> bool:
    """Return whether no struct of any input matches the request for some (`--struct`)."""
    if not options.only or options.build is not None or not options.mode.sees_all:
        return False
    return not any(options.selection.has(struct) for each in judged for struct in each.reading.structs)


def failure_without_verdicts(rules: tuple[Rule, ...], judged: list[JudgedInput], options: Options) -> Unread:
    """Return the failure of a run that judged nothing, because no input has a struct of the rules."""
    chosen = ", ".join(options.only)
    if options.build is None and len(options.only) == 1 and not is_pattern(chosen):
        return Unread("--struct", f"nothing was judged: {_selection_reason(chosen, judged, options)}")
    if options.only and rules and selects_nothing(judged, options):
        return Unread("--struct", f"nothing was judged: no struct of the inputs matches {chosen}")
    if not rules:
        matching = f" about a struct that matches {chosen}" if options.only else ""
        return Unread(RULES, f"nothing was judged: there is no rule{matching}")
    names = first_few(tuple(dict.fromkeys(rule.struct for rule in rules)))
    return Unread(RULES, f"nothing was judged: no input has a struct that the rules name ({names})")


def _selection_reason(name: str, judged: list[JudgedInput], options: Options) -> str:
    names = _names(judged, options)
    if name in names:
        return f"no rule is about struct {name}"
    return f"no input has a struct {name}{missing_name_hint(name, _paths(judged), options.read, names)}"


def refuse_without_rules(judged: list[JudgedInput], options: Options) -> NoReturn:
    """Raise UsageError: no rule applies to any input."""
    policy = options.intents.policy
    stated = f" (policy {'; '.join(policy.sentences({}))})" if policy else ""
    raise UsageError(
        "no rules apply to these inputs; give some with --rules FILE or --pack NAME"
        f"{_file_hint(options.intents.sought)}{_macro_hint(judged)}{_source_hint(options.read.sources)}{stated}"
    )


def _file_hint(sought: str) -> str:
    """Return where no rule file was found; empty if none was sought."""
    return f"; there is no layoutlint.toml {sought} (`layoutlint init` writes one)" if sought else ""


def _macro_hint(judged: list[JudgedInput]) -> str:
    """Return what a C file lacks that uses the macro of annotations; empty if none does."""
    from layoutlint.readers.clang import text_search

    paths = [each.reading.path for each in judged if each.reading.path.endswith((".c", ".h"))]
    using = next((path for path in paths if b"LAYOUTLINT(" in text_search.content(path)), None)
    remedy = "has no effect unless it includes layoutlint.h, which `layoutlint init --header` writes"
    return "" if using is None else f"; `LAYOUTLINT(...)` in {using} {remedy}"


def _source_hint(folders: tuple[str, ...]) -> str:
    """Return why source directories gave no rules; empty without any."""
    if not folders:
        return ""
    from layoutlint.intent.annotations.comments import Sources

    annotated = next(Sources(folders).annotated_files(), None)
    if annotated is None:
        below = ", ".join(folders)
        return f"; no comment in the C files below {below} has an annotation (`layoutlint: ...`)"
    return f"; the annotations in {annotated} are about no struct of these inputs"
