"""The settings of the rule files in use, as values of options that the command line leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from layoutlint import files
from layoutlint.commands import rule_files
from layoutlint.errors import LayoutlintError, RuleFileError, UsageError

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy
    from layoutlint.intent.toml.settings import Settings
    from layoutlint.model.reading import NearerOptions

_META = "layoutlint.settings"
_DATABASE = "compile_commands"
_OPTIONS = {
    "line_size": "line_size",
    "min_align": "min_align",
    "flags": "quoted_flags",
    _DATABASE: "compile_commands",
    "pack": "pack_names",
    "fail_on": "fail_on",
}
"""The parameters of commands for settings, by the fields of `Settings`."""
_OF_TOP = ("pack", "fail_on", "inputs")
"""What only the file at the top of a repository sets."""
_TABLE = b"settings"
_LARGEST = 1 << 24


class Value(NamedTuple):
    """A setting, and the rule file that has it."""

    value: object
    place: str


Values = dict[str, Value]
"""Settings by the fields of `Settings`; `compile_commands` is one too."""


class Given(NamedTuple):
    """What rule files set for a command."""

    sentences: tuple[str, ...] = ()
    """What it uses of them, for its report: `line-size = 32 in layoutlint.toml`."""
    database: Value | None = None
    """The compilation database that they name."""
    nearer: tuple[NearerOptions, ...] = ()
    """The options for the inputs of each place, if they differ; without the flags of the command line."""


def current() -> Given:
    """Return what rule files set for the command that runs."""
    found = click.get_current_context().meta.get(_META)
    return found if isinstance(found, Given) else Given()


def apply(ctx: click.Context) -> None:
    """Give the options of a command that were left out the values of settings.

    Raises RuleFileError for wrong settings, and UsageError if inputs have different ones, and the command can
    use one of them only.
    """
    names = {param.name for param in ctx.command.params}
    if ctx.command.name == "lsp" or names.isdisjoint(_OPTIONS.values()):
        return
    try:
        reader = Reader(_policy(ctx))
    except LayoutlintError:  # the command reports it
        return
    if ctx.command.name == "check" and _names_nothing(ctx):
        inputs = _values(ctx, reader, rule_files.NAME).get("inputs", Value((), ""))
        ctx.params["inputs"] = inputs.value
    found = {place: _values(ctx, reader, place) for place in rule_files.places_of(ctx, reader.policy)}
    left_out = {
        place: {key: value for key, value in values.items() if _is_left_out(ctx, key)}
        for place, values in found.items()
    }
    given = _use(ctx, left_out)
    useless = (
        f"not used, because only the file at the top sets it: {_write_out(key, value.value)} in {value.place}"
        for key, value in reader.without_effect.items()
        if key in _OPTIONS and _OPTIONS[key] in ctx.params
    )
    ctx.meta[_META] = given._replace(sentences=(*given.sentences, *useless))


def _policy(ctx: click.Context) -> Policy | None:
    """Return the policy that a command line names; raises UsageError."""
    if ctx.params.get("policy_from") is None:
        return None
    from layoutlint.intent import policy

    return policy.from_revision(ctx.params["policy_from"])


def _names_nothing(ctx: click.Context) -> bool:
    """Return whether a command line names nothing to judge."""
    return not any(ctx.params.get(name) for name in ("inputs", "matrix_path", "staged", "since"))


def _values(ctx: click.Context, reader: Reader, place: str) -> Values:
    """Return the settings for an input: of the rule files that the command line names, or of its own."""
    own = reader.of_input(place)
    rule_paths = ctx.params.get("rule_paths") or ()
    if not rule_paths:
        return own
    return {**{key: own[key] for key in own if key == _DATABASE}, **reader.of_files(rule_paths)}


def _is_left_out(ctx: click.Context, key: str) -> bool:
    """Return whether a command has the option for a setting, and its command line leaves it out."""
    name = _OPTIONS.get(key)
    if name not in ctx.params or ctx.get_parameter_source(name or "") is not ParameterSource.DEFAULT:
        return False
    if key == _DATABASE:
        return not ctx.params.get("no_compile_commands")
    return not (ctx.params.get("matrix_path") and key in ("line_size", "min_align"))  # its builds state them


def _use(ctx: click.Context, found: dict[str, Values]) -> Given:
    """Set the parameters of a command to the settings for its inputs, by place; return what they are."""
    first = next(iter(found.values()))
    can_differ = "policy_from" in ctx.params and not ctx.params.get("matrix_path")
    differing = [key for key in _OPTIONS if len({_plain(values, key) for values in found.values()}) > 1]
    for key in differing:
        if key in _OF_TOP or not can_differ:
            raise UsageError(_difference(found, key))
    used = dict.fromkeys(
        f"{_write_out(key, value.value)} in {value.place}"
        for values in found.values()
        for key, value in values.items()
        if key != _DATABASE and _is_possible(ctx, key, value)
    )
    for key, value in first.items():
        if key != _DATABASE and key not in differing and _is_possible(ctx, key, value):
            ctx.params[_OPTIONS[key]] = _quote(value.value) if key == "flags" else value.value
    if not differing:
        return Given(tuple(used), first.get(_DATABASE))
    from layoutlint.model.reading import NearerOptions

    reading = [key for key in _OPTIONS if key not in _OF_TOP]
    nearer = (
        NearerOptions(place, **{key: values[key].value for key in reading if key in values})  # type: ignore[arg-type]
        for place, values in found.items()
    )
    return Given(tuple(used), None, tuple(nearer))


def _plain(values: Values, key: str) -> object:
    return values[key].value if key in values else None


def _is_possible(ctx: click.Context, key: str, value: Value) -> bool:
    """Return whether the option of a command takes a value: `--fail-on` of `diff` has other ones."""
    option = next(param for param in ctx.command.params if param.name == _OPTIONS[key])
    return value.value in getattr(option.type, "choices", (value.value,))


def _difference(found: dict[str, Values], key: str) -> str:
    """Return that a setting differs between inputs, with two of them, and what to do."""
    rows = {_plain(values, key): (place, values.get(key)) for place, values in reversed(found.items())}
    texts = [
        f"in {place}: {'none' if value is None else f'{_write_out(key, value.value)} of {value.place}'}"
        for place, value in list(rows.values())[-2:]
    ]
    option = f"--{key.replace('_', '-')}"
    return (
        f"the rule files of the inputs set {option} differently ({'; '.join(reversed(texts))}): "
        f"run the command once for each, or state {option}"
    )


def _write_out(key: str, value: object) -> str:
    return f"{key.replace('_', '-')} = {' '.join(value) if isinstance(value, tuple) else value}"


def _quote(flags: object) -> str:
    import shlex

    assert isinstance(flags, tuple)
    return shlex.join(flags)


class Reader:
    """Reads the settings of rule files, each once."""

    def __init__(self, policy: Policy | None = None, texts: dict[str, str] | None = None) -> None:
        self.policy = policy
        self._texts = texts or {}
        """The texts of an editor, by real path."""
        self.without_effect: Values = {}
        """The settings of files that are not at the top of a repository, which only a file there sets."""
        self._known: dict[str, Values] = {}

    def of_input(self, place: str) -> Values:
        """Return the settings for an input; each is that of the nearest rule file. Raises RuleFileError."""
        found: Values = {}
        has = files.is_file if self.policy is None else self.policy.has_file
        for path in rule_files.files_of(place, has):
            is_top = path == rule_files.top_file(place)
            for key, value in self._of_file(path).items():
                (found if is_top or key not in _OF_TOP else self.without_effect)[key] = value
        return found

    def of_files(self, paths: tuple[str, ...]) -> Values:
        """Return the settings of rule files and folders. Raises RuleFileError if two set a key."""
        merged: Values = {}
        for path, text in self._read_all(paths):
            for key, value in _parse(path, text).items():
                if key == _DATABASE:
                    continue
                if key in merged:
                    name = key.replace("_", "-")
                    raise RuleFileError((f"{path}: [settings] `{name}` is set in {merged[key].place} too",))
                merged[key] = value
        return merged

    def _read_all(self, paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if self.policy is not None:
            with suppress(LayoutlintError):
                yield from self.policy.texts(paths)
            return
        for path in _list_files(paths):
            text = self._text(path)
            if text is not None:
                yield path, text

    def _of_file(self, path: str) -> Values:
        if path not in self._known:
            text = self._text(path)
            self._known[path] = {} if text is None else _parse(path, text)
        return self._known[path]

    def _text(self, path: str) -> str | None:
        """Return the text of a rule file; None if it cannot be read, which the command reports."""
        of_editor = self._texts.get(files.real_path(path)) if self._texts else None
        if of_editor is not None:
            return of_editor
        with suppress(OSError, ValueError, LayoutlintError):
            if self.policy is not None:
                return dict(self.policy.texts((path,)))[path]
            if files.is_file(path):
                content = files.read_all(path, _LARGEST)
                return content.decode() if _TABLE in content or _DATABASE.encode() in content else None
        return None


def _parse(path: str, text: str) -> Values:
    """Return the settings in the text of a rule file. Raises RuleFileError with all mistakes in them."""
    from layoutlint.intent.toml import rule_file, settings

    own: Settings = settings.parse(path, text)
    pairs = ((name, getattr(own, name)) for name in own.__struct_fields__)
    values = {name: Value(value, path) for name, value in pairs if value not in (None, ())}
    with suppress(RuleFileError):  # the command reports it
        database = rule_file.compile_commands(path, text)
        values |= {} if database is None else {_DATABASE: Value(database, path)}
    return values


def _list_files(paths: tuple[str, ...]) -> Iterable[str]:
    if not any(map(files.is_folder, paths)):
        return paths
    from layoutlint.intent.toml import rule_file

    return rule_file.list_files(paths)
