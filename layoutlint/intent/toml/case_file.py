"""Case files: structs in C beside a rule file, and what its rules must say of them (docs/rules.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.intent.toml import table as toml
from layoutlint.intent.toml.document import Document, Path, content
from layoutlint.intent.toml.document import parse as parse_toml
from layoutlint.intent.toml.rule_file import CASES, file_of
from layoutlint.intent.toml.table import Misfit, Notes, Table
from layoutlint.judgement.case import Case, Expected
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.structs import Source

CASE_KEYS = ("name", "code", "expect", "flags")


def beside(path: str) -> str:
    """Where the cases of a rule file are: `locks.cases.toml` beside `locks.toml`."""
    return f"{path.removesuffix('.toml')}{CASES}"


def load_all(packs: Iterable[Pack]) -> list[tuple[Pack, tuple[Case, ...]]]:
    """Packs with their cases; raises RuleFileError with all mistakes of all case files."""
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
    """The cases of a pack whose rule file stands at `file`; none when nothing stands beside it.

    Raises RuleFileError with all mistakes.
    """
    path = beside(file)
    if not os.path.exists(path):
        return ()
    text = content(path)
    return parse(text, beside(pack.path), pack)


def parse(text: str, path: str, pack: Pack) -> tuple[Case, ...]:
    """The cases that a text holds; `path` is how messages call its file. Raises RuleFileError."""
    document = parse_toml(text, path)
    notes = Notes(document)
    top = Table(document.data, (), "a case file", notes)
    top.only(("prelude", "case"), lambda key: " (cases are `[[case]]`)" if key == "cases" else "")
    lines = _Lines(text, document)
    prelude = lines.at(("prelude",), top.get("prelude", _code) or "")
    rules = {rule.id: rule for rule in pack.rules}
    entries = top.get("case", toml.listed(toml.table, "tables, each under `[[case]]`")) or ()
    tables = [Table(entry, ("case", index), _called(entry), notes) for index, entry in enumerate(entries)]
    cases = [_case(table, path, lines, prelude, rules) for table in tables]
    if notes.mistakes:
        raise RuleFileError(tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes)))
    return tuple(cases)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Puts pieces of C on the lines on which the file has them, so that compilers name the right ones."""

    text: str
    document: Document

    def at(self, path: Path, code: str, before: str = "") -> str:
        """`before`, and the C at a key behind it."""
        line = self.document.line(path)
        opening = self.text.splitlines()[line - 1].rstrip() if code else ""
        line += opening.endswith(("'''", '"""'))
        return f"{before}{chr(10) * (line - 1 - before.count(chr(10)))}{code}"


def _called(entry: Mapping[str, object]) -> str:
    return f"case `{entry['name']}`" if isinstance(entry.get("name"), str) else "this case"


def _case(table: Table, path: str, lines: _Lines, prelude: str, rules: Mapping[str, Rule]) -> Case:
    table.only(CASE_KEYS)
    name, code = table.need("name", toml.text) or "", table.need("code", _code) or ""
    if "expect" not in table.data:
        table.wrong(f"{table.called} has no `expect`")
    expected = tuple(_expected(table.table("expect", "`expect`"), path, rules))
    text = lines.at((*table.path, "code"), code, prelude)
    return Case(name, Source(path, table.line), text, expected, table.get("flags", toml.words) or ())


def _expected(table: Table, path: str, rules: Mapping[str, Rule]) -> Iterator[Expected]:
    for id_ in table.data:
        outcome = table.get(id_, toml.choice(outcome.value for outcome in Outcome))
        if id_ not in rules:
            table.wrong(f"the pack has no rule `{id_}`{did_you_mean(id_, rules)}", id_)
        elif outcome is not None:
            line = table.notes.document.line((*table.path, id_))
            yield Expected(rules[id_], Outcome(outcome), Source(path, line))
    if table.path in table.notes.document.lines and not table.data:
        table.wrong("`expect` names no rule")


def _code(value: object) -> str:
    """C text, as it stands."""
    if not isinstance(value, str):
        toml.text(value)
    elif value.strip():
        return value
    raise Misfit("is empty")
