"""Reads case files: structs in C, with the outcomes expected of a rule file (docs/rules.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from layoutlint import files
from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.intent.toml import converters, document
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.document import Document, Path
from layoutlint.intent.toml.rule_file import CASES
from layoutlint.intent.toml.shipped_rules import file_of
from layoutlint.intent.toml.table import Notes, Table
from layoutlint.judgement.case import Case, Expectation
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.record import Record
from layoutlint.model.structs import Source

CASE_KEYS = ("name", "code", "expect", "flags")


def path_beside(path: str) -> str:
    """Return the path of the cases of a rule file: `locks.cases.toml` for `locks.toml`."""
    return f"{path.removesuffix('.toml')}{CASES}"


def load_all(packs: Iterable[Pack]) -> list[tuple[Pack, tuple[Case, ...]]]:
    """Return packs with their cases; raises RuleFileError with all mistakes of all case files."""
    loaded: list[tuple[Pack, tuple[Case, ...]]] = []
    mistakes: list[str] = []
    for pack in packs:
        try:
            loaded.append((pack, load(pack, file_of(pack))))
        except RuleFileError as error:
            mistakes += error.messages
    if mistakes:
        raise RuleFileError(tuple(mistakes))
    return loaded


def load(pack: Pack, file: str) -> tuple[Case, ...]:
    """Return the cases of a pack whose rule file is at `file`; () if it has no case file.

    Raises RuleFileError with all mistakes.
    """
    path = path_beside(file)
    if not files.exists(path):
        return ()
    text = document.read_text(path)
    return parse(text, path_beside(pack.path), pack)


def parse(text: str, path: str, pack: Pack) -> tuple[Case, ...]:
    """Parse the cases in a text; `path` is the name of its file in messages. Raises RuleFileError."""
    toml = document.parse(text, path)
    notes = Notes(toml)
    top = Table(toml.data, (), "a case file", notes)
    top.allow_only(("prelude", "case"), lambda key: " (cases are `[[case]]`)" if key == "cases" else "")
    lines = _Lines(text, toml)
    prelude = lines.pad(("prelude",), top.get("prelude", _code) or "")
    rules = {rule.id: rule for rule in pack.rules}
    entries = top.get("case", converters.list_of(converters.table, "tables, each under `[[case]]`")) or ()
    tables = [Table(entry, ("case", index), _label(entry), notes) for index, entry in enumerate(entries)]
    cases = [_case(table, path, lines, prelude, rules) for table in tables]
    if notes.mistakes:
        raise RuleFileError(tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes)))
    return tuple(cases)


class _Lines(Record, frozen=True):
    """Pads pieces of C so that compilers report the lines of the case file."""

    text: str
    document: Document

    def pad(self, path: Path, code: str, prefix: str = "") -> str:
        """Return `prefix` and the C code at a key, with newlines up to its line in the file."""
        line = self.document.line(path)
        opening = self.text.splitlines()[line - 1].rstrip() if code else ""
        line += opening.endswith(("'''", '"""'))
        return f"{prefix}{chr(10) * (line - 1 - prefix.count(chr(10)))}{code}"


def _label(entry: Mapping[str, object]) -> str:
    return f"case `{entry['name']}`" if isinstance(entry.get("name"), str) else "this case"


def _case(table: Table, path: str, lines: _Lines, prelude: str, rules: Mapping[str, Rule]) -> Case:
    table.allow_only(CASE_KEYS)
    name, code = table.require("name", converters.text) or "", table.require("code", _code) or ""
    if "expect" not in table.data:
        table.report(f"{table.label} has no `expect`")
    expected = tuple(_expectations(table.table("expect", "`expect`"), path, rules))
    text = lines.pad((*table.path, "code"), code, prelude)
    return Case(name, Source(path, table.line), text, expected, table.get("flags", converters.words) or ())


def _expectations(table: Table, path: str, rules: Mapping[str, Rule]) -> Iterator[Expectation]:
    for id_ in table.data:
        outcome = table.get(id_, converters.choice(outcome.value for outcome in Outcome))
        if id_ not in rules:
            table.report(f"the pack has no rule `{id_}`{did_you_mean(id_, rules)}", id_)
        elif outcome is not None:
            line = table.notes.document.line((*table.path, id_))
            yield Expectation(rules[id_], Outcome(outcome), Source(path, line))
    if table.path in table.notes.document.lines and not table.data:
        table.report("`expect` names no rule")


def _code(value: object) -> str:
    """Return C source unchanged; it must not be blank."""
    if not isinstance(value, str):
        converters.text(value)
    elif value.strip():
        return value
    raise Misfit("is empty")
