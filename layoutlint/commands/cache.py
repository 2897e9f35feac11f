"""`layoutlint cache`: show what the cache holds, or remove it."""

from __future__ import annotations

import click

from layoutlint.commands.group import Subcommands


@click.group("cache", cls=Subcommands)
def cache_group() -> None:
    """Show or clear results of earlier runs."""


@cache_group.command()
def info() -> None:
    """Print where the cache is, and its size."""
    from layoutlint.commands import terminal
    from layoutlint.readers.cache import folder
    from layoutlint.readers.downloads import download_store

    path = folder.location()
    if path is None:
        terminal.say("no cache: neither XDG_CACHE_HOME nor HOME names an absolute folder")
        return
    reason = folder.refusal(path)
    if reason is not None:
        terminal.say(f"no cache: {path} {reason}")
        return
    opened = folder.open_folder(create=False)
    usage = folder.Usage(path, 0, 0) if opened is None else opened.usage()
    terminal.say(f"path: {usage.path}", f"entries: {usage.entries}", f"bytes: {usage.bytes}")
    downloads = download_store.usage()
    if downloads.entries:
        terminal.say(f"downloads: {downloads.entries}", f"bytes of downloads: {downloads.bytes}")


@cache_group.command()
def clear() -> None:
    """Remove all entries of the cache."""
    from layoutlint.commands import terminal
    from layoutlint.readers.cache import folder
    from layoutlint.readers.downloads import download_store

    opened = folder.open_folder(create=False)
    removed = download_store.clear().entries + (0 if opened is None else opened.clear().entries)
    terminal.say(f"removed {removed} {'entry' if removed == 1 else 'entries'}")
