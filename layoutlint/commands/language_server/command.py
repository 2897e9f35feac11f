"""`layoutlint lsp`: the language server for editors."""

from __future__ import annotations

import os

import click

from layoutlint.commands.options import (
    PlacementOptions,
    SingleValueCommand,
    placement_options,
    query_driver_option,
    rule_options,
    trusted_compilers,
)
from layoutlint.errors import ReadError, UsageError


@click.command(cls=SingleValueCommand)
@rule_options
@placement_options
@click.option(
    "--compile-commands",
    metavar="FILE",
    help="Use this compile_commands.json (default: the nearest).",
)
@click.option(
    "--no-compile-commands",
    is_flag=True,
    help="Search no compile_commands.json for the flags of C files.",
)
@query_driver_option
@click.option("--baseline", metavar="FILE", help="Hide findings that FILE accepts, and accept more there.")
@click.pass_obj
def lsp(
    flags: tuple[str, ...],
    /,
    rule_paths: tuple[str, ...],
    pack_names: tuple[str, ...],
    no_packs: bool,
    no_annotations: bool,
    compile_commands: str | None,
    no_compile_commands: bool,
    query_drivers: tuple[str, ...],
    baseline: str | None,
    placement: PlacementOptions,
) -> None:
    """Serve an editor on stdin and stdout (language server protocol)."""
    from importlib.util import find_spec

    if find_spec("pygls") is None:
        raise ReadError("pygls", "is not installed: pip install 'layoutlint[lsp]'")
    from layoutlint import files
    from layoutlint.commands.language_server import server
    from layoutlint.commands.language_server.requests import Settings

    if compile_commands is not None and no_compile_commands:
        raise click.UsageError("--compile-commands contradicts --no-compile-commands")
    for option, paths in (("--rules", rule_paths), ("--compile-commands", (compile_commands,))):
        for path in filter(None, paths):
            if not files.exists(path):
                raise UsageError(f"no such file: {path}", option)
    settings = Settings(
        rule_paths=tuple(map(os.path.abspath, rule_paths)),
        pack_names=pack_names,
        no_packs=no_packs,
        no_annotations=no_annotations,
        flags=flags,
        compile_commands=None if compile_commands is None else os.path.abspath(compile_commands),
        finds_flags=not no_compile_commands,
        query_drivers=trusted_compilers(query_drivers),
        line_size=placement.line_size,
        min_align=placement.min_align,
        baseline=None if baseline is None else os.path.abspath(baseline),
    )
    server.serve(settings)
