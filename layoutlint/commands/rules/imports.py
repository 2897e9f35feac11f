"""`layoutlint rules import`: convert tables of other projects to rule files."""

from __future__ import annotations

import os

import click

from layoutlint.commands.option_records import OptionCommand

_MOST_BYTES = 1 << 20
"""The most bytes of a table; the tables of Linux have up to 20,000."""


@click.command("import", cls=OptionCommand)
@click.argument("form", type=click.Choice(["net_cachelines"]), metavar="net_cachelines")
@click.argument("path", metavar="FILE")
@click.option("--struct", metavar="NAME", help="Set the struct of the table (default: from its title).")
@click.option("--output", metavar="FILE", help="Write the rule file to FILE, not to stdout.")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
def rules_import(form: str, path: str, struct: str | None, output: str | None, force: bool) -> None:
    """Convert a table of Linux to rules.

    TABLE is of Linux's Documentation/networking/net_cachelines. The rule file declares the accesses of
    each field on both paths. Its rules compare a struct with the table: fields without a row and rows
    without a field, fields that one path reads on a line that the other path writes, and the number of
    lines that each path touches.
    """
    from layoutlint.commands import output_files, terminal
    from layoutlint.commands.rules.net_cachelines import rules
    from layoutlint.commands.rules.net_cachelines.table import parse

    if struct is not None and not (struct.isascii() and struct.isidentifier()):
        raise click.UsageError(f"--struct {struct!r}: is not the name of a struct")
    if output is not None and os.path.isfile(output) and not force:
        raise click.UsageError(f"{output} exists already; --force overwrites it")
    if output is not None:
        output_files.refuse([output], [path])
    table = parse(_text(path), path, struct)
    for row in table.left_out:
        terminal.complain(f"{row}; left out")
    text = rules.rule_file(table, path)
    if output is None:
        terminal.write(text)
    else:
        output_files.write_whole(output, text)


def _text(path: str) -> str:
    from layoutlint import files
    from layoutlint.errors import RuleFileError

    try:
        data = files.read_start(path, _MOST_BYTES + 1, through_pipe=True)
        if len(data) > _MOST_BYTES:
            raise RuleFileError((f"{path}: longer than {_MOST_BYTES} bytes, so it is not such a table",))
        return data.decode()
    except OSError as error:
        raise RuleFileError((f"{path}: {files.error_reason(error)}",)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleFileError((f"{path}:{line}: not UTF-8 (byte {data[error.start]:#04x})",)) from None
