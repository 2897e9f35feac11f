"""Reads rule files: packs (docs/rules.md), or all mistakes of all files at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

from layoutlint import files
from layoutlint.errors import Mistake, RuleFileError
from layoutlint.geometry.field_types import TYPE
from layoutlint.intent.toml import converters, document, settings
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.rule_tables import (
    STORAGE_KEYS,
    read_allocator,
    read_around,
    read_entries,
    read_functions,
    read_storage,
    read_when,
)
from layoutlint.intent.toml.table import Notes, Table
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import (
    ACCESSES,
    VARIABLES,
    Key,
    Kind,
    Override,
    Pack,
    Rule,
    Severity,
    StructIntent,
)
from layoutlint.kinds import (
    KINDS,
    all_kinds,
    can_use_pairs,
    find_kind,
    names_of_pairable_kinds,
)
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import Allocator
from layoutlint.model.structs import Source

CASES = ".cases.toml"
"""The suffix of case files, which are next to rule files."""
STDIN = "/dev/stdin"
"""The file that `-` stands for."""

COMPILE_COMMANDS = "compile_commands"
"""The key at the top that names the compilation database of C files, from the folder of the rule file."""
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
    "evidence_files",
    "when",
    "tolerate",
    "around",
    "line_pairs",
)

OVERRIDE_KEYS = ("enabled", "severity", "why")

_MACHINE = ("line-size", "min-align")
"""Options for properties of a machine, which people write into rules."""
_DRAFT = re.compile(r"^[ \t]*#[ \t]*\[\[rule\]\]", re.MULTILINE)
_ID = re.compile(r"[A-Za-z0-9_][\w./-]*")
_STRUCT_NAME = re.compile(r"(?!\d)(?:[\w$*?]|\[!?[^\[\]]+\])+")
_ACCESS_WORD = re.compile(r"[a-z][a-z0-9-]*")

_CONVERT: Mapping[str, Callable[[object], object]] = {
    "paths": converters.field_paths,
    "groups": converters.groups,
    "path": converters.field_path,
    "integer": converters.integer,
    "number": converters.number,
    "boolean": converters.boolean,
    "word": converters.text,
    "words": converters.words,
    "positions": converters.positions,
}


def load(paths: Iterable[str]) -> tuple[Pack, ...]:
    """Return the packs of rule files, and of folders (every *.toml below), each file once, in order.

    Raises RuleFileError with all mistakes of all files.
    """
    parts: list[_RuleFile] = []
    for path in paths:
        parts.extend(_read_path(path))
    once = {part.identity: part for part in reversed(parts)}
    return _packs([part for part in parts if once[part.identity] is part])


def parse(text: str, path: str, *, shipped: bool = False) -> Pack:
    """Return the pack in the text of a rule file; `path` is its name in messages and rules.

    Raises RuleFileError with all mistakes.
    """
    return _packs([_part(text, path, shipped)])[0]


def compile_commands(path: str, text: str) -> str | None:
    """Return the compilation database that the text of a rule file names; None if it names none.

    Raises RuleFileError for a text that is no TOML.
    """
    if COMPILE_COMMANDS not in text:
        return None
    value = document.parse(text, path).data.get(COMPILE_COMMANDS)
    return os.path.join(os.path.dirname(path), value) if isinstance(value, str) else None


def parse_all(texts: Iterable[tuple[str, str]], *, shipped: bool = False) -> tuple[Pack, ...]:
    """Return the packs of rule files given as paths and texts; raises RuleFileError with all mistakes."""
    return _packs([_part(text, path, shipped) for path, text in texts])


def refuse_same_ids(packs: Iterable[Pack]) -> None:
    """Raise RuleFileError if packs that are used together give one id to two rules."""
    first: dict[str, Source] = {}
    rules = [rule for pack in packs for rule in pack.rules]
    uses = [(rule, first.setdefault(rule.id, rule.source)) for rule in rules]
    mistakes = [
        _duplicate_id(rule.id, first_use, f"{rule.source}: ")
        for rule, first_use in uses
        if first_use != rule.source
    ]
    if mistakes:
        raise RuleFileError(tuple(mistakes))


class _RuleFile(Record, frozen=True):
    """The result of one file: its pack (None if it cannot be parsed), mistakes, and rule ids."""

    identity: str
    pack: Pack | None
    mistakes: tuple[str, ...]
    ids: tuple[tuple[str, Source], ...] = ()


def _packs(parts: list[_RuleFile]) -> tuple[Pack, ...]:
    mistakes = [mistake for part in parts for mistake in part.mistakes]
    first: dict[str, Source] = {}
    for id_, source in (pair for part in parts for pair in part.ids):
        if first.setdefault(id_, source) is not source and first[id_].file != source.file:
            mistakes.append(_duplicate_id(id_, first[id_], f"{source}: "))
    if mistakes:
        raise RuleFileError(tuple(mistakes))
    return tuple(part.pack for part in parts if part.pack is not None)


def _read_path(path: str) -> Iterator[_RuleFile]:
    path = STDIN if path == "-" else path
    if not files.is_folder(path):
        yield _read_file(path, through_pipe=True)
        return
    paths = _toml_files(path)
    rule_files = [file for file in paths if not file.endswith(CASES)]
    if not rule_files:
        yield _RuleFile(path, None, (f"{path}: there is no *.toml in this folder",))
    yield from map(_read_file, rule_files)
    for file in paths:
        rules = f"{file.removesuffix(CASES)}.toml"
        if file.endswith(CASES) and rules not in rule_files:
            yield _RuleFile(file, None, (f"{file}: has the cases of {rules}, which is missing",))


def list_files(paths: Iterable[str]) -> Iterator[str]:
    """Yield rule files, and those below folders (every *.toml)."""
    for path in paths:
        if files.is_folder(path):
            yield from (file for file in _toml_files(path) if not file.endswith(CASES))
        else:
            yield path


def _toml_files(folder: str) -> list[str]:
    from pathlib import Path  # most rules are given as files

    entries = ((top, name) for top, below, names in files.walk(folder) for name in (*below, *names))
    return sorted(str(Path(top, name)) for top, name in entries if name.endswith(".toml"))


def _read_file(path: str, through_pipe: bool = False) -> _RuleFile:
    identity = files.real_path(path)
    if path.endswith(CASES):
        rules = f"{path.removesuffix(CASES)}.toml"
        return _RuleFile(identity, None, (f"{path}: has the cases of {rules} (see `layoutlint rules test`)",))
    try:
        text = document.read_text(path, through_pipe)
    except RuleFileError as error:
        return _RuleFile(identity, None, error.messages)
    part = _part(text, path, shipped=False)
    return _RuleFile(identity, part.pack, part.mistakes, part.ids)


def _part(text: str, path: str, shipped: bool) -> _RuleFile:
    try:
        toml = document.parse(text, path)
    except RuleFileError as error:
        return _RuleFile(path, None, error.messages)
    notes = Notes(toml)
    reader = _RuleReader(Table(toml.data, (), "a rule file", notes), path, shipped)
    pack = replace(reader.pack(), has_drafts=_DRAFT.search(text) is not None)
    mistakes = tuple(Mistake(path, line, message) for line, message in sorted(notes.mistakes))
    return _RuleFile(path, None if mistakes else pack, mistakes, tuple(reader.ids.items()))


class _RuleReader:
    """Turns the tables of one file into a pack; mistakes go to its notes."""

    def __init__(self, top: Table, path: str, shipped: bool) -> None:
        self.ids: dict[str, Source] = {}
        self._top = top
        self._path = path
        self._shipped = shipped
        name = top.data.get("pack")
        self._header = top.table("pack", "[pack]", f"--pack {name}" if isinstance(name, str) else "")
        self._name = self._header.get("name", converters.text) or os.path.splitext(os.path.basename(path))[0]
        own = self._header.get("accesses", converters.list_of(_access_word, "words"))
        self._accesses = (*ACCESSES, *(own or ()))
        self._guesses = self._header.get("guesses", converters.boolean) or False
        self._sides = self._header.get("sides", converters.list_of(_side, "words")) or ()

    def pack(self) -> Pack:
        """Return the pack of the whole file."""
        keys = (
            "pack", "struct", "variables", "allocators", "functions", "entries", "rule", "override",
            COMPILE_COMMANDS, settings.TABLE,
        )  # fmt: skip
        self._top.allow_only(keys, _top_key)
        self._top.get(COMPILE_COMMANDS, converters.text)
        settings.read(self._top, self._path)
        self._header.allow_only(PACK_KEYS)
        return Pack(
            name=self._name,
            path=self._path,
            rules=tuple(self._rules()),
            structs=tuple(self._structs()),
            variables=tuple(self._variables()),
            allocators=tuple(self._allocators()),
            known_functions=tuple(read_functions(self._top)),
            entries=tuple(read_entries(self._top)),
            description=self._header.get("description", converters.text) or "",
            kernel=self._header.get("for", converters.choice(("linux",))) == "linux",
            guesses=self._guesses,
            shipped=self._shipped,
            overrides=tuple(self._overrides()),
        )

    def _overrides(self) -> Iterator[Override]:
        tables = self._top.table("override", "[override]")
        for rule_id in tables.data:
            example = f'{rule_id} = {{ enabled = false, why = "..." }}'
            table = tables.table(rule_id, f'[override."{rule_id}"]', example)
            if not isinstance(tables.data[rule_id], dict):
                continue
            table.allow_only(OVERRIDE_KEYS)
            enabled = table.get("enabled", converters.boolean)
            severity = table.get("severity", _new_severity)
            why = table.require("why", converters.text)
            if (enabled is False) == ("severity" in table.data):
                table.report(f"{table.label} needs either `enabled = false` or a `severity`")
            elif why is not None:
                chosen = None if severity is None else Severity(severity)
                yield Override(rule_id, self._source(table.line), why, chosen)

    def _source(self, line: int) -> Source:
        return Source(self._path, line)

    def _structs(self) -> Iterator[StructIntent]:
        tables = self._top.table("struct", "[struct]")
        for name in tables.data:
            alternatives = list(_alternatives(tables, name))
            try:
                _struct_name(name)
            except Misfit as misfit:
                alternatives[0].report(f"the name of a struct {misfit.reason}")
            yield from (self._struct(name, table) for table in alternatives)

    def _struct(self, name: str, table: Table) -> StructIntent:
        table.allow_only(STRUCT_KEYS, lambda key: _field_hint(table, name, key))
        return StructIntent(
            struct=name,
            source=self._source(table.line),
            header=table.get("header", converters.text),
            accesses=tuple(self._fields(name, table)),
            placement=read_storage(table, self._path),
            annotated=table.get("annotated", converters.boolean) or False,
            when=read_when(table),
        )

    def _variables(self) -> Iterator[Access]:
        variables = self._top.table("variables", "[variables]")
        for name in variables.data:
            if name.startswith(TYPE):
                variables.report(f"`{name}`: variables are matched by name, not by type", name)
            else:
                yield from self._field(variables, name)

    def _allocators(self) -> Iterator[Allocator]:
        tables = self._top.table("allocators", "[allocators]")
        for name in tables.data:
            allocator = read_allocator(tables.table(name, f"[allocators.{name}]"), name)
            if allocator is not None:
                yield allocator

    def _fields(self, name: str, struct: Table) -> Iterator[Access]:
        fields = struct.table("fields", f"[struct.{name}.fields]")
        is_optional = struct.get("optional_fields", converters.boolean) or False
        for path in fields.data:
            for access in self._field(fields, path):
                yield replace(access, is_optional=is_optional)

    def _field(self, fields: Table, path: str) -> Iterator[Access]:
        """Yield the accesses of a field: for all sides, for each side, or an empty one if none is stated."""
        try:
            converters.declarable(path)
        except Misfit as misfit:
            fields.report(f"the name of a field {misfit.reason}", path)
            return
        value = fields.data[path]
        shown = value if isinstance(value, str) else self._accesses[0]
        table = fields.table(path, f"field `{path}`", f'{path} = {{ access = "{shown}" }}')
        if not isinstance(value, dict):
            return
        table.allow_only((*FIELD_KEYS, *self._sides), lambda key: _quoting_hint(table, path, key))
        choice, source = converters.choice(self._accesses), self._source(table.line)
        contended = table.get("contended", converters.boolean) or False
        access = table.get("access", choice) if self._sides else table.require("access", choice)
        accesses = [("", access), *((side, table.get(side, choice)) for side in self._sides)]
        if self._sides and table.data.keys() <= {"contended"}:
            accesses = [("", "")]
        for side, word in accesses:
            if word is not None:
                yield Access(path, word, contended, source, side)

    def _rules(self) -> Iterator[Rule]:
        entries = self._top.get("rule", converters.list_of(converters.table, "tables, each under `[[rule]]`"))
        for index, data in enumerate(entries or ()):
            label = f"rule `{data['id']}`" if isinstance(data.get("id"), str) else "this rule"
            rule = self._rule(Table(data, ("rule", index), label, self._top.notes))
            if rule is not None:
                yield rule

    def _rule(self, table: Table) -> Rule | None:
        source = self._source(table.line)
        id_ = table.require("id", _rule_id)
        if id_ is not None and id_ in self.ids:
            table.report(_duplicate_id(id_, self.ids[id_]), "id")
        elif id_ is not None:
            self.ids[id_] = source
        struct = _struct(table)
        kind = _kind(table)
        severity = self._severity(table)
        why = table.require("why", converters.text)
        evidence = table.get("evidence", converters.words) or ()
        evidence_files = self._evidence_files(table)
        when = read_when(table)
        tolerate = table.get("tolerate", converters.share) or 0.0
        around = read_around(table, kind, self._accesses)
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
            evidence_files=evidence_files,
        )

    def _evidence_files(self, table: Table) -> tuple[str, ...]:
        """Return the files with saved evidence; they are relative to the rule file."""
        names = table.get("evidence_files", converters.words) or ()
        return tuple(os.path.join(os.path.dirname(self._path), name) for name in names)

    def _severity(self, table: Table) -> Severity:
        """Return the severity of a rule; by default an error, or a note in a pack that guesses."""
        severity = table.get("severity", converters.choice(s.value for s in Severity))
        if self._guesses and severity not in (None, Severity.NOTE.value):
            table.report(
                f"`severity` cannot be `{severity}` in a pack that guesses: it has notes only", "severity"
            )
        return Severity(severity or ("note" if self._guesses else "error"))


def _alternatives(structs: Table, name: str) -> Iterator[Table]:
    """Yield the tables of a struct: one, or several (`[[struct.NAME]]`), all but the last with `when`."""
    entries = structs.data[name]
    if not isinstance(entries, list) or not entries:
        yield structs.table(name, f"[struct.{name}]")
        return
    read = structs.get(
        name, converters.list_of(converters.table, "tables, each under `[[struct.NAME]]`")
    ) or ({},)
    for index, data in enumerate(read):
        table = Table(data, (*structs.path, name, index), f"[struct.{name}]", structs.notes)
        if index < len(read) - 1 and "when" not in data:
            table.report(f"[[struct.{name}]] has no `when`, so the tables after it are never used")
        yield table


def _struct(table: Table) -> str | None:
    """Return the struct of a rule, or VARIABLES for a rule on the variables of a program."""
    name = table.data.get("kind")
    kind = find_kind(name) if isinstance(name, str) else None
    about = "struct" if kind is None else kind.traits.about
    if about == "struct" or (about == "either" and "variables" not in table.data):
        return table.require("struct", _struct_name)
    if "struct" in table.data:
        kind_label = f"kind `{name}`" if about == "variables" else f"kind `{name}` with `variables`"
        table.report(f"{kind_label} is about variables, and takes no `struct`", "struct")
    return VARIABLES


def _line_pairs(table: Table, kind: Kind | None) -> bool:
    """Return whether a rule counts pairs of lines; note kinds that cannot."""
    wanted = table.get("line_pairs", converters.boolean) or False
    if wanted and kind is not None and not can_use_pairs(kind):
        kinds = ", ".join(names_of_pairable_kinds())
        parameter = kind.traits.line_pairs_if
        kind_label = f"{kind.name} with `{parameter} = false`" if parameter else f"kind {kind.name}"
        table.report(
            f"`line_pairs` is for kinds that keep fields apart ({kinds}), not for {kind_label}", "line_pairs"
        )
    return wanted


def _converter(key: Key) -> Callable[[object], object]:
    if key.choices:
        return converters.list_of(converters.choice(key.choices), "words")
    return _CONVERT[key.type]


def _kind(table: Table) -> Kind | None:
    """Return the kind of a rule with its parameters; None for a mistake (which is noted)."""
    name = table.require("kind", converters.choice(KINDS))
    kind = find_kind(name or "")
    if kind is None:
        keys = (key.name for other in all_kinds() for key in other.keys)
        table.allow_only((*RULE_KEYS, *keys), _option_for)
        return None
    table.allow_only(
        (*RULE_KEYS, *(key.name for key in kind.keys)),
        lambda key: _option_for(key) or _kinds_with(key) or _other_table(key),
    )
    mistakes = len(table.notes.mistakes)
    values = {}
    for key in kind.keys:
        read = table.require if key.required else table.get
        value = read(key.name, _converter(key))
        if value is not None:
            values[key.parameter] = value
    if len(table.notes.mistakes) > mistakes:
        return None
    try:
        return cast("Callable[..., Kind]", kind)(**values)
    except ValueError as error:
        table.report(f"{table.label}: {error}")
        return None


def _duplicate_id(id_: str, first: Source, prefix: str = "") -> str:
    return f"{prefix}`id` `{id_}` is already used by the rule at {first}"


def _top_key(key: str) -> str:
    if key in ("include", "import", "extends"):
        return _other_table(key)
    if key in ("case", "prelude"):
        return " (cases go to a separate file, `*.cases.toml`)"
    return " (rules are `[[rule]]`)" if key == "rules" else ""


def _option_for(key: str) -> str:
    """Return a hint for a property of the machine, which no rule states; empty for another key."""
    option = key.replace("_", "-")
    is_known = option in _MACHINE
    return f" (`[settings]`, the option --{option}, or a build of a matrix states it)" if is_known else ""


def _other_table(key: str) -> str:
    """Return a hint for a key of a rule that is stated elsewhere; empty for another key."""
    if key in ("union", "typedef"):
        return " (`struct` names unions and typedefs too)"
    if key in ("include", "import", "extends"):
        return " (rule files do not include others: give each with `--rules`)"
    return " (a key of [struct.NAME])" if key in STRUCT_KEYS else ""


def _kinds_with(key: str) -> str:
    """Return a hint with the kinds that have a key; empty if none does."""
    kinds = [kind.name for kind in all_kinds() if any(own.name == key for own in kind.keys)]
    return f" (a key of {', '.join(kinds)})" if kinds else ""


def _field_hint(table: Table, struct: str, key: str) -> str:
    """Return where the accesses of a field are stated, if a key of a struct's table looks like one."""
    value = table.data[key]
    is_field = isinstance(value, dict) and any(each in value for each in FIELD_KEYS)
    return f" (fields are in [struct.{struct}.fields])" if is_field else ""


def _quoting_hint(table: Table, path: str, key: str) -> str:
    """Return a hint for `a.b = {}`, which TOML reads as a table in a table."""
    return f' (quote a dotted path: "{path}.{key}")' if isinstance(table.data[key], dict) else ""


def _rule_id(value: object) -> str:
    id_ = converters.text(value)
    if not _ID.fullmatch(id_):
        signs = "letters, digits, `-`, `_`, `.` and `/`, without spaces, first no sign but `_`"
        raise Misfit(f"cannot be `{id_}`: {signs}")
    return id_


def _new_severity(value: object) -> str:
    """Return the severity that an override gives to a rule."""
    if value in ("off", "none", "ignore", "disabled"):
        raise Misfit(f"cannot be `{value}`: `enabled = false` turns the rule off")
    return converters.choice(s.value for s in Severity)(value)


def _struct_name(value: object) -> str:
    if isinstance(value, list):
        raise Misfit("must be a string, not a list (write a rule for each, or a pattern with `*`)")
    name = converters.text(value)
    tag = name.removeprefix("struct ").removeprefix("union ")
    if tag != name:
        raise Misfit(f"cannot be `{name}`: write the tag alone, `{tag}`")
    if not _STRUCT_NAME.fullmatch(name):
        raise Misfit(f"cannot be `{name}`: a tag, a typedef, or a pattern of them with `*`, `?`, `[a-z]`")
    return name


def _side(value: object) -> str:
    word = _access_word(value)
    if word in (*FIELD_KEYS, "any"):
        raise Misfit(f"cannot be `{word}`, which has a meaning already")
    return word


def _access_word(value: object) -> str:
    word = converters.text(value)
    if not _ACCESS_WORD.fullmatch(word):
        raise Misfit(f"cannot be `{word}`: small letters, digits and `-`")
    return word
