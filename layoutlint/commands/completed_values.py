"""The values that shells complete: files, and the names of packs, rules, kinds, structs and schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from layoutlint.commands.group import subcommands

Names = Callable[[], Iterable[str]]


def complete_values(command: click.Command) -> None:
    """Make the parameters of a command, and of all commands in it, complete what their metavar names."""
    for param in _parameters(command):
        if isinstance(param.type, click.Choice):
            continue
        names = _NAMES.get(param.metavar or "") or _NAMES.get(param.opts[0])
        if names is not None:
            setattr(param, "shell_complete", _completer(names))  # noqa: B010  a method of this one object
        elif any(word in (param.metavar or "") for word in _FILES):
            setattr(param, "shell_complete", _complete_files)  # noqa: B010


def _parameters(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    if isinstance(command, click.Group):
        for inner in subcommands(command).values():
            yield from _parameters(inner)


def _complete_files(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def _completer(names: Names) -> Callable[[click.Context, str], list[CompletionItem]]:
    def complete(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in sorted(set(names())) if name.startswith(incomplete)]

    return complete


def _packs() -> Iterable[str]:
    from layoutlint.intent.toml import rule_file

    return (pack.name for pack in rule_file.shipped_packs())


def _topics() -> Iterable[str]:
    from layoutlint.intent.toml import rule_file
    from layoutlint.kinds import KINDS

    return (*KINDS, *(rule.id for pack in rule_file.shipped_packs() for rule in pack.rules))


def _structs() -> Iterable[str]:
    from layoutlint.intent.toml import rule_file
    from layoutlint.judgement.rule import VARIABLES
    from layoutlint.model.paths import is_pattern

    names = (rule.struct for pack in rule_file.shipped_packs() for rule in pack.rules)
    return (name for name in names if name != VARIABLES and not is_pattern(name))


def _schemas() -> Iterable[str]:
    from layoutlint.commands.schema import NAMES

    return NAMES


_NAMES: dict[str, Names] = {
    "--pack": _packs,
    "KIND|RULE": _topics,
    "STRUCT": _structs,
    "[STRUCT]...": _structs,
    "GLOB": _structs,
    "[NAME]": _schemas,
}
"""What completes a parameter, by its metavar or its option."""
_FILES = ("INPUT", "FILE", "PATH", "FOLDER", "DIR")
"""Words of the metavars of files."""
