"""The values that shells complete: files, and the names of packs, rules, kinds, structs and schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from layoutlint import files
from layoutlint.commands.group import subcommands
from layoutlint.errors import LayoutlintError

if TYPE_CHECKING:
    from layoutlint.judgement.rule import Rule

Names = Callable[[click.Context], Iterable[str]]
_MOST_BYTES = 32 << 20
"""The most bytes of a compiled file whose structs are completed: it is read while somebody waits."""


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
        return [CompletionItem(name) for name in sorted(set(names(ctx))) if name.startswith(incomplete)]

    return complete


def _packs(ctx: click.Context) -> Iterable[str]:
    from layoutlint.intent.toml import shipped_rules

    return (pack.name for pack in shipped_rules.shipped_packs())


def _rules() -> Iterator[Rule]:
    """Yield the rules of the rule files around the working folder, and the shipped ones."""
    from layoutlint.commands.packs import load_packs_of_inputs
    from layoutlint.intent.toml import shipped_rules

    try:
        packs = load_packs_of_inputs((), ())
    except LayoutlintError:  # the command itself reports it
        packs = ()
    for pack in (*packs, *shipped_rules.shipped_packs()):
        yield from pack.rules


def _topics(ctx: click.Context) -> Iterable[str]:
    from layoutlint.commands.explain import messages
    from layoutlint.kinds import KINDS

    return (*KINDS, *(rule.id for rule in _rules()), *messages.entries())


def _structs(ctx: click.Context) -> Iterable[str]:
    """Return the structs of the inputs on the command line, or else those of rules."""
    from layoutlint.judgement.rule import VARIABLES
    from layoutlint.model.paths import is_pattern

    own = {name for path in _given_files(ctx) for name in _structs_in(path)}
    if own:
        return own
    names = (rule.struct for rule in _rules())
    return (name for name in names if name != VARIABLES and not is_pattern(name))


def _given_files(ctx: click.Context) -> Iterator[str]:
    for value in ctx.params.values():
        for word in value if isinstance(value, tuple) else (value,):
            if isinstance(word, str) and files.is_file(word):
                yield word


def _structs_in(path: str) -> Iterable[str]:
    """Return the structs that a C file seems to define, without a parse, or that a compiled file has."""
    if path.endswith((".c", ".h")):
        from layoutlint.readers.clang import text_search

        return (name for name, _ in text_search.definitions_in(text_search.content(path)))
    try:
        if files.content_state(path)[2] > _MOST_BYTES:
            return ()
        from layoutlint.model.reading import ReadOptions
        from layoutlint.readers import dispatch, inputs

        return inputs.names((path,), ReadOptions()) if dispatch.sniff(path) in ("elf", "btf") else ()
    except (LayoutlintError, OSError):
        return ()


def _schemas(ctx: click.Context) -> Iterable[str]:
    from layoutlint.commands.schema import NAMES

    return NAMES


_NAMES: dict[str, Names] = {
    "--pack": _packs,
    "KIND|RULE|MESSAGE": _topics,
    "STRUCT": _structs,
    "[STRUCT]...": _structs,
    "GLOB": _structs,
    "[NAME]": _schemas,
}
"""What completes a parameter, by its metavar or its option."""
_FILES = ("INPUT", "FILE", "PATH", "FOLDER", "DIR", "TREE")
"""Words of the metavars of files."""
