"""`layoutlint completion`: the script with which a shell completes commands, options and names."""

from __future__ import annotations

import click

from layoutlint.commands.group import COMPLETION_VARIABLE

_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }"
"""Defines `compdef`, which the script needs, if ~/.zshrc has not done so."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script for completion in shells.

    It completes commands, options, files, packs, rules and structs. bash: put `eval "$(layoutlint
    completion bash)"` into ~/.bashrc. zsh: put the same line, with zsh, into ~/.zshrc. fish: save the
    output as ~/.config/fish/completions/layoutlint.fish.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click has these three
    if shell == "zsh":
        click.echo(_COMPINIT)
    click.echo(kind(ctx.find_root().command, {}, "layoutlint", COMPLETION_VARIABLE).source())
