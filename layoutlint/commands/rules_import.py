"""`layoutlint rules import`: rule files from intent that is written elsewhere."""

from __future__ import annotations

import os

import click

_MOST_BYTES = 1 << 20
"""Of a table; those of Linux have up to 20,000."""


@click.command("import")
@click.argument("form", type=click.Choice(["net_cachelines"]), metavar="net_cachelines")
@click.argument("path", metavar="FILE")
@click.option("--struct", metavar="NAME", help="The struct that the table is about, instead of the title's.")
@click.option("--output", metavar="FILE", help="Write the rule file there instead of stdout.")
@click.option("--force", is_flag=True, help="Overwrite what stands there.")
def rules_import(form: str, path: str, struct: str | None, output: str | None, force: bool) -> None:
    """Turn a table of Linux's Documentation/networking/net_cachelines into a rule file.

    The rule file has the access of each field on either path, and rules that hold a struct against the table:
    fields without a row and rows without a field, fields that the one path reads beside what the other one
    writes, and how many lines each path touches.
    """
    from layoutlint.commands import output_files, terminal
    from layoutlint.intent.net_cachelines import rules
    from layoutlint.intent.net_cachelines.table import parse

    if struct is not None and not (struct.isascii() and struct.isidentifier()):
        raise click.UsageError(f"--struct {struct!r}: not the name of a struct")
    if output is not None and os.path.isfile(output) and not force:
        raise click.UsageError(f"{output} is there already; --force overwrites it")
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
        data = files.start(path, _MOST_BYTES + 1, through_pipe=True)
        if len(data) > _MOST_BYTES:
            raise RuleFileError((f"{path}: longer than {_MOST_BYTES} bytes, which no such table is",))
        return data.decode()
    except OSError as error:
        raise RuleFileError((f"{path}: {files.why(error)}",)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleFileError((f"{path}:{line}: not UTF-8 (byte {data[error.start]:#04x})",)) from None
