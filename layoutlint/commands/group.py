"""All commands, each imported when it is called: start-up is most of the time of a run on a small input."""

from __future__ import annotations

from importlib import import_module

import click

from layoutlint.errors import did_you_mean

MODULES = {
    "accesses": "infer.accesses", "allocations": "allocations.command", "baseline": "baseline",
    "bisect": "history.bisect", "cache": "cache", "check": "check", "completion": "completion",
    "containers": "containers.command", "diff": "diff.command", "evidence": "evidence.command",
    "explain": "explain.command", "history": "history.command", "infer": "infer.command",
    "init": "init.command", "lsp": "language_server.command", "measure": "measure.command",
    "rules": "rules.command", "schema": "schema", "show": "show", "snapshot": "snapshot.command",
    "suggest": "suggest.command", "survey": "survey.command",
}  # fmt: skip
"""Where each command is, below `layoutlint.commands`."""

NAMES = tuple(MODULES)
"""The commands."""
_GROUPS = ("baseline", "cache", "rules", "survey")

COMPLETION_VARIABLE = "_LAYOUTLINT_COMPLETE"
"""The variable by which the script of a shell asks for completions; click derives it from the program."""


class Subcommands(click.Group):
    """A group whose message for another name helps."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that arguments name; fails with the names that it can be."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            hint = did_you_mean(args[0], names) or f" (the commands are {', '.join(names)})"
            hint = f" (write --{args[0]})" if args[0] in ("help", "version") else hint
            ctx.fail(f"No such command {args[0]!r}{hint}.")
        return super().resolve_command(ctx, args)


class CommandGroup(Subcommands):
    """A group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for another name."""
        if cmd_name not in NAMES:
            return None
        module = import_module(f"layoutlint.commands.{MODULES[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_group" if cmd_name in _GROUPS else cmd_name)
        return command


def subcommands(group: click.Group) -> dict[str, click.Command]:
    """Return the commands of a group by name; imports them."""
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in commands.items() if command is not None}
