"""All commands, each imported when it is called: start-up is most of the time of a run on a small input."""

from __future__ import annotations

from importlib import import_module

import click

from layoutlint.errors import did_you_mean

HEADINGS = {
    "Check and show": {
        "check": "check", "show": "show", "containers": "containers.command", "explain": "explain.command",
    },
    "Review a change": {
        "diff": "diff.command", "history": "history.command", "bisect": "history.bisect",
        "snapshot": "snapshot.command", "baseline": "baseline",
    },
    "Find and fix": {
        "suggest": "suggest.command", "infer": "infer.command", "accesses": "infer.accesses",
        "allocations": "allocations.command",
    },
    "Evidence": {
        "evidence": "evidence.command", "measure": "measure.command", "tune": "tune.command",
        "slabs": "slabs",
    },
    "Many inputs": {"survey": "survey.command"},
    "Tools": {
        "init": "init.command", "rules": "rules.command", "lsp": "language_server.command",
        "schema": "schema", "completion": "completion", "cache": "cache",
    },
}  # fmt: skip
"""The commands below the headings of help, with where each is, below `layoutlint.commands`."""

MODULES = {name: module for commands in HEADINGS.values() for name, module in commands.items()}

NAMES = tuple(sorted(MODULES))
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below their headings, with the first sentences of their help."""
        width = max(map(len, NAMES))
        for heading, names in HEADINGS.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            space = formatter.width - 6 - width
            rows = ((name.ljust(width), each.get_short_help_str(space)) for name, each in commands if each)
            with formatter.section(heading):
                formatter.write_dl(list(rows))

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
