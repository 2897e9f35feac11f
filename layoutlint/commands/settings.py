"""The settings of the rule files in use, as values of options that the command line leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from layoutlint import files
from layoutlint.commands.packs import discover_rule_file
from layoutlint.errors import LayoutlintError, RuleFileError

if TYPE_CHECKING:
    from layoutlint.intent.toml.settings import Settings

_META = "layoutlint.settings"
_USED = "layoutlint.settings used"
_FIELDS = {"quoted_flags": "flags", "pack_names": "pack"}
"""The fields of settings that are called otherwise than the parameters of commands."""
_TABLE = b"settings"
_LARGEST = 1 << 24


def apply(ctx: click.Context) -> None:
    """Give the options of a command that were left out the values of settings.

    Raises RuleFileError for wrong settings.
    """
    options = {param.name: param for param in ctx.command.params}
    if options.keys().isdisjoint(("line_size", "quoted_flags", "pack_names")):
        return
    texts = list(_texts(ctx.params.get("rule_paths") or (), ctx.params.get("policy_from")))
    if not texts:
        return
    found, places = _merge(texts)
    ctx.meta[_META], used = found, list[str]()
    values: dict[str, Any] = {
        "line_size": found.line_size,
        "min_align": found.min_align,
        "quoted_flags": _quote(found.flags),
        "pack_names": found.pack or None,
        "fail_on": found.fail_on,
    }
    if ctx.params.get("matrix_path"):  # its builds state their own
        del values["line_size"], values["min_align"]
    for name, value in values.items():
        if value is None or name not in options:
            continue
        choices = getattr(options[name].type, "choices", (value,))
        if value in choices and ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            ctx.params[name] = value
            used.append(name)
    ctx.meta[_USED] = tuple(f"{_write(found, name)} in {places[_FIELDS.get(name, name)]}" for name in used)


def _quote(flags: tuple[str, ...]) -> str | None:
    if not flags:
        return None
    import shlex

    return shlex.join(flags)


def current() -> Settings:
    """Return the settings of the command that runs."""
    from layoutlint.intent.toml.settings import Settings

    found = click.get_current_context().meta.get(_META)
    return found if isinstance(found, Settings) else Settings()


def sentences() -> tuple[str, ...]:
    """Return what the command that runs uses of them, for its report: `line-size = 32 in layoutlint.toml`."""
    used: tuple[str, ...] = click.get_current_context().meta.get(_USED, ())
    return used


def _write(found: Settings, name: str) -> str:
    field = _FIELDS.get(name, name)
    value = getattr(found, field)
    return f"{field.replace('_', '-')} = {' '.join(value) if isinstance(value, tuple) else value}"


def _merge(texts: list[tuple[str, str]]) -> tuple[Settings, dict[str, str]]:
    """Return the settings of rule files, and the file of each. Raises RuleFileError if two set a key."""
    from layoutlint.intent.toml import settings
    from layoutlint.intent.toml.settings import Settings
    from layoutlint.model.record import replace

    merged, places = Settings(), dict[str, str]()
    for path, text in texts:
        own = settings.parse(path, text)
        for name in Settings.__struct_fields__:
            value = getattr(own, name)
            if value in (None, ()):
                continue
            if name in places:
                key = name.replace("_", "-")
                raise RuleFileError((f"{path}: [settings] `{key}` is set in {places[name]} too",))
            places[name] = path
            merged = replace(merged, **{name: value})
    return merged, places


def _texts(rule_paths: tuple[str, ...], policy_from: str | None) -> Iterator[tuple[str, str]]:
    """Yield the rule files, or the nearest layoutlint.toml, that may have settings, with their texts.

    They are those of the commit `policy_from`, if one is named. What cannot be read, the command reports.
    """
    if policy_from is not None:
        from layoutlint.intent import policy

        with suppress(LayoutlintError):
            yield from policy.from_revision(policy_from).texts(rule_paths)
        return
    for path in _list_files(rule_paths or discover_rule_file()):
        if files.is_file(path):
            with suppress(OSError, ValueError):
                content = files.read_all(path, _LARGEST)
                if _TABLE in content:
                    yield path, content.decode()


def _list_files(paths: tuple[str, ...]) -> Iterable[str]:
    if not any(map(files.is_folder, paths)):
        return paths
    from layoutlint.intent.toml import rule_file

    return rule_file.list_files(paths)
