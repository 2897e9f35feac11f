"""Rule files: TOML in, Packs out (docs/rules.md). All mistakes of all files are reported at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import cast

from layoutlint.errors import RuleFileError, UsageError, did_you_mean
from layoutlint.geometry.field_types import TYPE
from layoutlint.intent.toml import table as toml
from layoutlint.intent.toml.conditions import when_of
from layoutlint.intent.toml.document import content
from layoutlint.intent.toml.document import parse as parse_toml
from layoutlint.intent.toml.storage import STORAGE_KEYS, storage
from layoutlint.intent.toml.surroundings import around_of
from layoutlint.intent.toml.table import Misfit, Notes, Table
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import ACCESSES, VARIABLES, Kind, Pack, Rule, Severity, StructIntent
from layoutlint.kinds import IN_PAIRS, KINDS, OF_EITHER, OF_VARIABLES, every_kind, in_pairs, kind_named
from layoutlint.model.structs import Source

CASES = ".cases.toml"
"""How the names of case files end, which stand beside rule files and are no rule files."""
_SHIPPED = "rules/"

PACK_KEYS = ("name", "description", "for", "guesses", "accesses", "sides")
STRUCT_KEYS = ("header", *STORAGE_KEYS, "when", "annotated", "optional_fields", "fields")
FIELD_KEYS = ("access", "contended")
RULE_KEYS = (
    "id",
    "struct",
    "kind",
    "severity",
    "why",
    "evidence",
    "when",
    "tolerate",
    "around",
    "line_pairs",
)

_ID = re.compile(r"[A-Za-z0-9][\w./-]*")
_STRUCT_NAME = re.compile(r"(?!\d)(?:[\w$*?]|\[!?[^\[\]]+\])+")
_ACCESS_WORD = re.compile(r"[a-z][a-z0-9-]*")

_CONVERT: Mapping[str, Callable[[object], object]] = {
    "paths": toml.field_paths,
    "groups": toml.groups,
    "path": toml.field_path,
    "integer": toml.integer,
    "number": toml.number,
    "boolean": toml.boolean,
    "word": toml.text,
    "words": toml.words,
}


def load(paths: Iterable[str]) -> tuple[Pack, ...]:
    """The packs of rule files and of folders of them (every *.toml below), each file once, in order.

    Raises RuleFileError with all mistakes of all files.
    """
    parts: list[_Part] = []
    for path in paths:
        parts.extend(_read_path(path))
    once = {part.identity: part for part in reversed(parts)}
    return _packs([part for part in parts if once[part.identity] is part])


def parse(text: str, path: str, *, shipped: bool = False) -> Pack:
    """The pack that a rule file's text says; `path` is how messages and rules call the file.

    Raises RuleFileError with all mistakes.
    """
    return _packs([_part(text, path, shipped)])[0]


def parse_all(texts: Iterable[tuple[str, str]]) -> tuple[Pack, ...]:
    """Return the packs of rule files given as paths and texts; raises RuleFileError with all mistakes."""
    return _packs([_part(text, path, shipped=False) for path, text in texts])


@cache
def shipped() -> tuple[Pack, ...]:
    """The packs that come with layoutlint, by their path."""
    top = _shipped_folder()
    files = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
    parts = []
    for path in sorted(file for file in files if file.endswith(".toml") and not file.endswith(CASES)):
        with open(path, encoding="utf-8") as file:
            name = os.path.relpath(path, top).replace(os.sep, "/")
            parts.append(_part(file.read(), f"{_SHIPPED}{name}", shipped=True))
    return _packs(parts)


def _shipped_folder() -> str:
    # Not importlib.resources, which takes longer to import than the rules to read.
    return str(import_module("layoutlint.rulepacks").__path__[0])


def file_of(pack: Pack) -> str:
    """Where the file of a pack stands; shipped ones are called by their place in the project."""
    return os.path.join(_shipped_folder(), pack.path.removeprefix(_SHIPPED)) if pack.shipped else pack.path


def shipped_named(name: str) -> Pack:
    """The shipped pack of this name; raises UsageError, with the nearest name, when there is none."""
    packs = {pack.name: pack for pack in shipped()}
    if name not in packs:
        raise UsageError(f"no shipped pack is called `{name}`{did_you_mean(name, packs)}")
    return packs[name]


def refuse_same_ids(packs: Iterable[Pack]) -> None:
    """Raises RuleFileError when packs that are used together give one id to two rules."""
    first: dict[str, Source] = {}
    rules = [rule for pack in packs for rule in pack.rules]
    taken = [(rule, first.setdefault(rule.id, rule.source)) for rule in rules]
    mistakes = [_taken(rule.id, by, f"{rule.source}: ") for rule, by in taken if by != rule.source]
    if mistakes:
        raise RuleFileError(tuple(mistakes))


@dataclass(frozen=True, slots=True)
class _Part:
    """What came of one file: its pack unless it is past reading, its mistakes, and the ids it gives."""

    identity: str
    pack: Pack | None
    mistakes: tuple[str, ...]
    ids: tuple[tuple[str, Source], ...] = ()


def _packs(parts: list[_Part]) -> tuple[Pack, ...]:
    mistakes = [mistake for part in parts for mistake in part.mistakes]
    first: dict[str, Source] = {}
    for id_, source in (pair for part in parts for pair in part.ids):
        if first.setdefault(id_, source) is not source and first[id_].file != source.file:
            mistakes.append(_taken(id_, first[id_], f"{source}: "))
    if mistakes:
        raise RuleFileError(tuple(mistakes))
    return tuple(part.pack for part in parts if part.pack is not None)


def _read_path(path: str) -> Iterator[_Part]:
    if not os.path.isdir(path):
        yield _read_file(path, through_pipe=True)
        return
    from pathlib import Path  # most rules are given as files

    every = sorted(str(file) for file in Path(path).rglob("*.toml"))
    files = [file for file in every if not file.endswith(CASES)]
    if not files:
        yield _Part(path, None, (f"{path}: there is no *.toml in this folder",))
    yield from map(_read_file, files)
    for file in every:
        rules = f"{file.removesuffix(CASES)}.toml"
        if file.endswith(CASES) and rules not in files:
            yield _Part(file, None, (f"{file}: holds the cases of {rules}, which is not there",))


def _read_file(path: str, through_pipe: bool = False) -> _Part:
    identity = os.path.realpath(path)
    if path.endswith(CASES):
        rules = f"{path.removesuffix(CASES)}.toml"
        return _Part(identity, None, (f"{path}: holds the cases of {rules} (see `layoutlint rules test`)",))
    try:
        text = content(path, through_pipe)
    except RuleFileError as error:
        return _Part(identity, None, error.messages)
    part = _part(text, path, shipped=False)
    return _Part(identity, part.pack, part.mistakes, part.ids)


def _part(text: str, path: str, shipped: bool) -> _Part:
    try:
        document = parse_toml(text, path)
    except RuleFileError as error:
        return _Part(path, None, error.messages)
    notes = Notes(document)
    reader = _Reader(Table(document.data, (), "a rule file", notes), path, shipped)
    pack = reader.pack()
    mistakes = tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes))
    return _Part(path, None if mistakes else pack, mistakes, tuple(reader.ids.items()))


class _Reader:
    """One file's tables turned into words of judgement; mistakes go to its notes."""

    def __init__(self, top: Table, path: str, shipped: bool) -> None:
        self.ids: dict[str, Source] = {}
        self._top = top
        self._path = path
        self._shipped = shipped
        self._header = top.table("pack", "[pack]")
        self._name = self._header.get("name", toml.text) or os.path.splitext(os.path.basename(path))[0]
        own = self._header.get("accesses", toml.listed(_access_word, "words"))
        self._accesses = (*ACCESSES, *(own or ()))
        self._guesses = self._header.get("guesses", toml.boolean) or False
        self._sides = self._header.get("sides", toml.listed(_side, "words")) or ()

    def pack(self) -> Pack:
        """The whole file."""
        self._top.only(("pack", "struct", "variables", "rule"), _top_key)
        self._header.only(PACK_KEYS)
        return Pack(
            name=self._name,
            path=self._path,
            rules=tuple(self._rules()),
            structs=tuple(self._structs()),
            variables=tuple(self._variables()),
            description=self._header.get("description", toml.text) or "",
            kernel=self._header.get("for", toml.choice(("linux",))) == "linux",
            guesses=self._guesses,
            shipped=self._shipped,
        )

    def _source(self, line: int) -> Source:
        return Source(self._path, line)

    def _structs(self) -> Iterator[StructIntent]:
        tables = self._top.table("struct", "[struct]")
        for name in tables.data:
            alternatives = list(_alternatives(tables, name))
            try:
                _struct_name(name)
            except Misfit as misfit:
                alternatives[0].wrong(f"the name of a struct {misfit.reason}")
            yield from (self._struct(name, table) for table in alternatives)

    def _struct(self, name: str, table: Table) -> StructIntent:
        table.only(STRUCT_KEYS)
        return StructIntent(
            struct=name,
            source=self._source(table.line),
            header=table.get("header", toml.text),
            accesses=tuple(self._fields(table)),
            placement=storage(table, self._path),
            annotated=table.get("annotated", toml.boolean) or False,
            when=when_of(table),
        )

    def _variables(self) -> Iterator[Access]:
        variables = self._top.table("variables", "[variables]")
        for name in variables.data:
            if name.startswith(TYPE):
                variables.wrong(f"`{name}`: variables go by their names, and not by their types", name)
            else:
                yield from self._field(variables, name)

    def _fields(self, struct: Table) -> Iterator[Access]:
        fields = struct.table("fields", f"{struct.called[:-1]}.fields]")
        is_optional = struct.get("optional_fields", toml.boolean) or False
        for path in fields.data:
            for access in self._field(fields, path):
                yield replace(access, is_optional=is_optional)

    def _field(self, fields: Table, path: str) -> Iterator[Access]:
        """Its access whoever it is, that of each side, or that it is known and none of these."""
        try:
            toml.declarable(path)
        except Misfit as misfit:
            fields.wrong(f"the name of a field {misfit.reason}", path)
            return
        table = fields.table(path, f"field `{path}`")
        table.only((*FIELD_KEYS, *self._sides), lambda key: _quoted(table, path, key))
        choice, source = toml.choice(self._accesses), self._source(table.line)
        contended = table.get("contended", toml.boolean) or False
        access = table.get("access", choice) if self._sides else table.need("access", choice)
        by = [("", access), *((side, table.get(side, choice)) for side in self._sides)]
        if self._sides and table.data.keys() <= {"contended"}:
            by = [("", "")]
        for side, word in by:
            if word is not None:
                yield Access(path, word, contended, source, side)

    def _rules(self) -> Iterator[Rule]:
        entries = self._top.get("rule", toml.listed(toml.table, "tables, each under `[[rule]]`"))
        for index, data in enumerate(entries or ()):
            named = f"rule `{data['id']}`" if isinstance(data.get("id"), str) else "this rule"
            rule = self._rule(Table(data, ("rule", index), named, self._top.notes))
            if rule is not None:
                yield rule

    def _rule(self, table: Table) -> Rule | None:
        source = self._source(table.line)
        id_ = table.need("id", _rule_id)
        if id_ is not None and id_ in self.ids:
            table.wrong(_taken(id_, self.ids[id_]), "id")
        elif id_ is not None:
            self.ids[id_] = source
        struct = _struct(table)
        kind = _kind(table)
        severity = self._severity(table)
        why = table.need("why", toml.text)
        evidence = table.get("evidence", toml.words) or ()
        when = when_of(table)
        tolerate = table.get("tolerate", toml.share) or 0.0
        around = around_of(table, kind, self._accesses)
        line_pairs = _line_pairs(table, kind)
        if id_ is None or struct is None or kind is None or why is None:
            return None
        return Rule(
            id_,
            struct,
            kind,
            severity,
            why,
            source,
            evidence,
            when,
            tolerate,
            self._name,
            self._shipped,
            self._guesses,
            around,
            line_pairs,
        )

    def _severity(self, table: Table) -> Severity:
        """What the rule says; otherwise that of errors, in a pack that guesses that of notes."""
        said = table.get("severity", toml.choice(s.value for s in Severity))
        if self._guesses and said not in (None, Severity.NOTE.value):
            table.wrong(
                f"`severity` cannot be `{said}` in a pack that guesses: it has notes only", "severity"
            )
        return Severity(said or ("note" if self._guesses else "error"))


def _alternatives(structs: Table, name: str) -> Iterator[Table]:
    """The table of a struct, or its tables (`[[struct.NAME]]`), of which all but the last need a `when`."""
    entries = structs.data[name]
    if not isinstance(entries, list) or not entries:
        yield structs.table(name, f"[struct.{name}]")
        return
    read = structs.get(name, toml.listed(toml.table, "tables, each under `[[struct.NAME]]`")) or ({},)
    for index, data in enumerate(read):
        table = Table(data, (*structs.path, name, index), f"[struct.{name}]", structs.notes)
        if index < len(read) - 1 and "when" not in data:
            table.wrong(f"[[struct.{name}]] has no `when`, and so leaves nothing for the tables behind it")
        yield table


def _struct(table: Table) -> str | None:
    """What a rule is about: a struct, or the variables of a program."""
    kind = table.data.get("kind")
    if kind not in OF_VARIABLES and not (kind in OF_EITHER and "variables" in table.data):
        return table.need("struct", _struct_name)
    if "struct" in table.data:
        what = f"kind `{kind}`" if kind in OF_VARIABLES else f"kind `{kind}` with `variables`"
        table.wrong(f"{what} is about variables, and takes no `struct`", "struct")
    return VARIABLES


def _line_pairs(table: Table, kind: Kind | None) -> bool:
    """Return whether a rule counts pairs of lines; a kind that cannot is a mistake, which is noted."""
    wanted = table.get("line_pairs", toml.boolean) or False
    if wanted and kind is not None and not in_pairs(kind):
        kinds = ", ".join(IN_PAIRS)
        what = "guards with `contended = false`" if kind.name in IN_PAIRS else f"kind {kind.name}"
        table.wrong(
            f"`line_pairs` is for kinds that keep fields apart ({kinds}), not for {what}", "line_pairs"
        )
    return wanted


def _kind(table: Table) -> Kind | None:
    """The kind of a rule with its parameters; None when something about it is wrong, which is noted."""
    name = table.need("kind", toml.choice(KINDS))
    kind = kind_named(name or "")
    if kind is None:
        table.only((*RULE_KEYS, *(key.name for other in every_kind() for key in other.keys)))
        return None
    table.only((*RULE_KEYS, *(key.name for key in kind.keys)), _kinds_with)
    before = len(table.notes.mistakes)
    values = {}
    for key in kind.keys:
        read = table.need if key.required else table.get
        value = read(key.name, _CONVERT[key.type])
        if value is not None:
            values[key.parameter] = value
    if len(table.notes.mistakes) > before:
        return None
    try:
        return cast("Callable[..., Kind]", kind)(**values)
    except ValueError as error:
        table.wrong(f"{table.called}: {error}")
        return None


def _taken(id_: str, by: Source, at: str = "") -> str:
    return f"{at}`id` `{id_}` is already that of the rule at {by}"


def _top_key(key: str) -> str:
    if key in ("case", "prelude"):
        return " (cases stand in a file of their own, which ends in `.cases.toml`)"
    return " (rules are `[[rule]]`)" if key == "rules" else ""


def _kinds_with(key: str) -> str:
    """Says which kinds have a key, when another kind than the rule's does."""
    kinds = [kind.name for kind in every_kind() if any(own.name == key for own in kind.keys)]
    return f" (a key of {', '.join(kinds)})" if kinds else ""


def _quoted(table: Table, path: str, key: str) -> str:
    """TOML reads `a.b = {}` as a table in a table; a field path with a dot is meant."""
    return f' (quote a dotted path: "{path}.{key}")' if isinstance(table.data[key], dict) else ""


def _rule_id(value: object) -> str:
    found = toml.text(value)
    if not _ID.fullmatch(found):
        raise Misfit(f"cannot be `{found}`: letters, digits, `-`, `_`, `.` and `/`, without spaces")
    return found


def _struct_name(value: object) -> str:
    found = toml.text(value)
    tag = found.removeprefix("struct ").removeprefix("union ")
    if tag != found:
        raise Misfit(f"cannot be `{found}`: write the tag alone, `{tag}`")
    if not _STRUCT_NAME.fullmatch(found):
        raise Misfit(f"cannot be `{found}`: a tag, a typedef, or a pattern of them with `*`, `?`, `[a-z]`")
    return found


def _side(value: object) -> str:
    found = _access_word(value)
    if found in (*FIELD_KEYS, "any"):
        raise Misfit(f"cannot be `{found}`, which has a meaning already")
    return found


def _access_word(value: object) -> str:
    found = toml.text(value)
    if not _ACCESS_WORD.fullmatch(found):
        raise Misfit(f"cannot be `{found}`: small letters, digits and `-`")
    return found
