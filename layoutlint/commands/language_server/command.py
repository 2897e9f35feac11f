"""`layoutlint lsp`: the language server for editors."""

from __future__ import annotations

import os
from typing import NamedTuple

import click

from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    KERNEL,
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    QUERY_DRIVERS,
    RULE_PATHS,
    PlacementOptions,
    placement_options,
    trusted_compilers,
)
from layoutlint.errors import ReadError, UsageError


class ServerOptions(NamedTuple):
    """The options of `lsp`."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    compile_commands: str | None = option(
        "--compile-commands", metavar="FILE", help="Use this compile_commands.json (default: the nearest)."
    )
    no_compile_commands: bool = option(
        "--no-compile-commands", is_flag=True,
        help="Search no compile_commands.json for the flags of C files.",
    )  # fmt: skip
    kernel_tree: str | None = KERNEL
    query_drivers: tuple[str, ...] = QUERY_DRIVERS
    baseline: str | None = option(
        "--baseline", metavar="FILE", help="Hide findings that FILE accepts, and accept more there."
    )


@click.command(cls=OptionCommand)
@add(ServerOptions, "own")
@placement_options
@click.pass_obj
def lsp(flags: tuple[str, ...], /, own: ServerOptions, placement: PlacementOptions) -> None:
    """Serve an editor (language server).

    The protocol is spoken on stdin and stdout.
    """
    from importlib.util import find_spec

    if find_spec("pygls") is None:
        raise ReadError("pygls", "is not installed: pip install 'layoutlint[lsp]'")
    from layoutlint import files
    from layoutlint.commands.language_server import server
    from layoutlint.commands.language_server.requests import Settings

    if own.compile_commands is not None and own.no_compile_commands:
        raise click.UsageError("--compile-commands contradicts --no-compile-commands")
    for flag, paths in (("--rules", own.rule_paths), ("--compile-commands", (own.compile_commands,))):
        for path in filter(None, paths):
            if not files.exists(path):
                raise UsageError(f"no such file: {path}", flag)
    settings = Settings(
        rule_paths=tuple(map(os.path.abspath, own.rule_paths)),
        pack_names=own.pack_names,
        no_packs=own.no_packs,
        no_annotations=own.no_annotations,
        flags=flags,
        compile_commands=None if own.compile_commands is None else os.path.abspath(own.compile_commands),
        finds_flags=not own.no_compile_commands,
        kernel_tree=own.kernel_tree,
        query_drivers=trusted_compilers(own.query_drivers),
        line_size=placement.line_size,
        min_align=placement.min_align,
        baseline=None if own.baseline is None else os.path.abspath(own.baseline),
    )
    server.serve(settings)
