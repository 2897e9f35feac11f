"""Reads and writes baselines: the findings that a project accepts (docs/ci.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from layoutlint import files
from layoutlint.comparison.baseline_match import Entry
from layoutlint.comparison.baseline_row import ENTRY_KEYS, NEXT, row
from layoutlint.comparison.standings import CAUSES, PairShare, Standing
from layoutlint.errors import RuleFileError, UsageError
from layoutlint.escapes import toml_string
from layoutlint.intent.toml import converters, document
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.table import Notes, Table
from layoutlint.judgement.verdict import Outcome

SCHEMA = "layoutlint/baseline/1"
_HEAD = """\
# Findings that `layoutlint check --baseline` accepts (`layoutlint baseline --help`).
"""
_LONGEST = 1 << 21
"""The most characters of a baseline, about 14,000 entries."""
_AFTER_MERGE = (
    "remove the lines with marks, keep the entries of both sides, and run `layoutlint baseline update`"
)
_MOST_MISTAKES = 20
"""The number of mistakes after which the rest is not read."""
_SHARE = re.compile(r"(\d{1,9})/([1-9]\d{0,8})")
_OUTCOMES = (Outcome.BROKEN, Outcome.AT_RISK, Outcome.UNKNOWN)


def read_text(path: str) -> str:
    """Return the text of a baseline; raises RuleFileError if it cannot be read, or is not UTF-8."""
    if not files.exists(path):
        remedy = f"`layoutlint baseline write {path} INPUT...` writes it"
        raise RuleFileError((f"{path}: no such file or directory ({remedy})",))
    return document.read_text(path, most=4 * _LONGEST + 4)


def is_baseline(path: str) -> bool:
    """Return whether a file states to be a baseline, of any version, or is empty."""
    try:
        start = files.read_start(path, _LONGEST)
    except OSError:
        return False
    return not start.strip() or b"layoutlint/baseline/" in start


def parse(text: str, path: str) -> tuple[Entry, ...]:
    """Parse a baseline; raises RuleFileError with the first mistakes, each with its line."""
    toml = document.parse(text, path, _LONGEST, _AFTER_MERGE, "baselines")
    notes = Notes(toml)
    top = Table(toml.data, (), "a baseline", notes)
    if top.require("schema", converters.text) not in (SCHEMA, None):
        line = toml.line(("schema",))
        version = f"`{top.data['schema']}`"
        raise RuleFileError((f"{path}:{line}: this version reads `{SCHEMA}`, and the file is {version}",))
    top.allow_only(("schema", "accept"))
    rows = top.get("accept", _tables) or ()
    entries = []
    for number, data in enumerate(rows):
        entries.append(_entry(Table(data, ("accept", number), "an entry", notes)))
        if len(notes.mistakes) >= _MOST_MISTAKES:
            break
    if notes.mistakes:
        raise RuleFileError(tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes)))
    return tuple(entries)


def _tables(value: object) -> tuple[dict[str, object], ...]:
    """Return a list of tables, which may be empty."""
    if not isinstance(value, list):
        raise Misfit("must be a list of tables")
    return tuple(
        dict(row) if isinstance(row, dict) else _refuse_row(number) for number, row in enumerate(value)
    )


def _refuse_row(number: int) -> dict[str, object]:
    raise Misfit("must be a table", (number,))


def _entry(table: Table) -> Entry:
    table.allow_only(ENTRY_KEYS)
    key = (
        table.require("rule", _name) or "",
        table.require("struct", _name) or "",
        table.get("path", _name) or "",
        table.get("variable", _name) or "",
    )
    build = table.get("build", _name) or ""
    return Entry(key, build, _standing(table), table.get("reason", converters.text) or "")


def _standing(table: Table) -> Standing:
    word = table.require("outcome", converters.choice(each.value for each in _OUTCOMES))
    outcome = Outcome(word or Outcome.BROKEN.value)
    pairs = tuple(sorted(table.get("pairs", _pairs) or ()))
    fields = table.get("fields", _names)
    if fields is None:
        fields = tuple(sorted({name for pair in pairs for name in (pair.first, pair.second)}))
    share = _own_share(table, outcome)
    cause = _own_cause(table, outcome)
    return Standing(outcome, share, pairs, tuple(sorted(fields)), cause)


def _own_share(table: Table, outcome: Outcome) -> Fraction:
    """Return the share of placements: all for a broken rule; an entry at risk must state it."""
    if outcome is Outcome.AT_RISK:
        return table.require("share", _share) or Fraction(0)
    if "share" in table.data:
        table.report("`share` is for the outcome `at-risk`", "share")
    return Fraction(outcome is Outcome.BROKEN)


def _own_cause(table: Table, outcome: Outcome) -> str:
    """Return why an entry is unknown; empty for another outcome, which must not state it."""
    if outcome is Outcome.UNKNOWN:
        return table.require("cause", converters.choice(CAUSES)) or ""
    if "cause" in table.data:
        table.report("`cause` is for the outcome `unknown`", "cause")
    return ""


def _name(value: object) -> str:
    """Return a string as it is: names in debug information can be any text."""
    return value if isinstance(value, str) and value else converters.text(value)


_names = converters.list_of(_name, "strings")


def _share(value: object) -> Fraction:
    """Return a share of placements: `1/8`, more than 0, and 1 at most."""
    match = _SHARE.fullmatch(converters.text(value))
    share = Fraction(int(match[1]), int(match[2])) if match else Fraction(0)
    if not 0 < share <= 1:
        raise Misfit('must be a share of the placements, such as "1/8"')
    return share


def _pair(value: object) -> PairShare:
    words = _names(value)
    if len(words) not in (3, 4) or words[3:] not in ((), (NEXT,)):
        raise Misfit(f'must be two fields and a share, and "{NEXT}" for the next object')
    return PairShare(words[0], words[1], _share(words[2]), len(words) == 4)


_pairs = converters.list_of(_pair, "pairs of fields")


def render(entries: Iterable[Entry]) -> str:
    """Return the text of a baseline: sorted, with an entry on each line.

    Raises UsageError for more than can be read again.
    """
    rows = (f"  {row(entry)},\n" for entry in sorted(entries, key=lambda entry: entry.sort_key))
    text = f"{_HEAD}schema = {toml_string(SCHEMA)}\naccept = [\n{''.join(rows)}]\n"
    if len(text) > _LONGEST:
        raise UsageError(
            f"there are too many findings for a baseline, {len(text):,} of {_LONGEST:,} characters; "
            "choose fewer rules or structs"
        )
    return text
