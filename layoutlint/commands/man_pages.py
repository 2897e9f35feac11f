"""Writes the man pages from the help texts: `python -m layoutlint.commands.man_pages FOLDER`.

Generators such as click-man write a page for each command without the commands' own structure of paragraphs,
and would be needed wherever a package is built; the pages are 60 lines of code.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import click

from layoutlint import __version__
from layoutlint.commands.group import subcommands
from layoutlint.commands.option_records import records_by_heading
from layoutlint.errors import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED

_STATUSES = (
    ("0", "Nothing is broken."),
    ("1", "A rule is broken or at risk."),
    ("2", "Bad usage, or mistakes in a rule file."),
    ("3", "Something could not be judged."),
    ("4", "An internal error."),
    (str(EXIT_INTERRUPTED), "Interrupted."),
    (str(EXIT_BROKEN_PIPE), "The reader of the output ended."),
)


def pages(app: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the name of each man page, and its text in man(7)."""
    yield from _pages(app, ("layoutlint",))


def _pages(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield f"{'-'.join(words)}.1", "\n".join(_page(command, words)) + "\n"
    if isinstance(command, click.Group):
        for name, inner in sorted(subcommands(command).items()):
            yield from _pages(inner, (*words, name))


def _page(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    name = "-".join(words)
    summary, *paragraphs = re.split(r"\n\s*\n", (command.help or "").strip())
    yield f'.TH "{name.upper()}" 1 "" "layoutlint {__version__}" "layoutlint"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(summary).rstrip('.')}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(' '.join(words))}"
    yield _text(" ".join(command.collect_usage_pieces(click.Context(command))))
    if paragraphs:
        yield ".SH DESCRIPTION"
        for paragraph in paragraphs:
            yield from (".PP", _text(paragraph))
    yield from _options(command)
    yield from _exit_status_and_links(command, words)


def _options(command: click.Command) -> Iterator[str]:
    by_heading = records_by_heading(command, click.Context(command), lists_all=True)
    if by_heading:
        yield ".SH OPTIONS"
    for heading, records in by_heading.items():
        if len(by_heading) > 2:  # not for a command's own and --help
            yield f".SS {heading}"
        for names, text in records:
            yield from (".TP", f".B {_text(names)}", _text(text))


def _exit_status_and_links(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    if len(words) == 1:
        yield ".SH EXIT STATUS"
        for status, meaning in _STATUSES:
            yield from (".TP", f".B {status}", meaning)
    related = [words[:-1]] if len(words) > 1 else []
    if isinstance(command, click.Group):
        related += [(*words, name) for name in sorted(subcommands(command))]
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {_text('-'.join(each))} (1)" for each in related)


def _text(text: str) -> str:
    """Return text for troff: on one line, with its special characters escaped."""
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def main() -> None:
    """Write all pages into the folder that the command line names."""
    from layoutlint.cli import app

    if len(sys.argv) != 2:
        sys.exit("usage: python -m layoutlint.commands.man_pages FOLDER")
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, text in pages(app):
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
