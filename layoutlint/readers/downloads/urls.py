"""Inputs that are named by a URL: downloaded whole, then read as files."""

from __future__ import annotations

import os
import re
from typing import IO

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import stored_files
from layoutlint.files.accesses import state_of
from layoutlint.files.stored_files import StoredFile
from layoutlint.model.reading import DebugServers, ReadOptions
from layoutlint.readers.downloads import download_store, transfer
from layoutlint.readers.downloads.transfer import Bounds, NotOnServer, TransferError

_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_MEMBER = re.compile(r"([a-z][a-z0-9+.-]*://[^/]*/[^:]*):.")
"""The URL of an archive, and the colon before a member of it."""


def is_url(path: str) -> bool:
    """Return whether an input is named by a URL, and not by the path of a file."""
    return _URL.match(path) is not None and (stored_files.find(path) is not None or not files.exists(path))


def fetch(url: str, options: ReadOptions) -> None:
    """Download a file, which has the name of the URL from then on in this process. Raises ReadError.

    `URL:MEMBER` downloads the archive, if there is no file of the whole name. Files are downloaded once in a
    run, and not kept: what a URL names can change.
    """
    if "::" in url:
        raise ReadError(url, "chains of URLs (`::`) are not read; name the file itself")
    match = _MEMBER.match(url)
    for name in (url, match[1]) if match else (url,):
        try:
            return _fetch(name, options)
        except NotOnServer:
            continue
    raise ReadError(url, "the server does not have it")


def _fetch(url: str, options: ReadOptions) -> None:
    if stored_files.find(url) is not None:
        return
    options.progress(f"downloading {url}", 0, 1)
    limits = options.servers or DebugServers()
    file = download_store.begin(may_keep=False)
    try:
        transfer.download(url, file, Bounds(limits.seconds, limits.total_seconds, limits.most))
    except (TransferError, OSError) as error:
        file.close()
        raise ReadError(url, str(error)) from None
    except BaseException:
        file.close()
        raise
    _add(url, file)


def _add(url: str, file: IO[bytes]) -> None:
    """Give a download its name. Raises ReadError for C text, whose headers are elsewhere, and for nothing."""
    from layoutlint.readers import dispatch
    from layoutlint.readers.archives.locate import is_archive

    status = os.fstat(file.fileno())
    if not status.st_size:
        file.close()
        raise ReadError(url, "the file is empty")
    stored_files.add(url, StoredFile(file, 0, status.st_size, None, state_of(status)))
    try:
        if not is_archive(url) and dispatch.sniff(url) == "clang":
            raise ReadError(url, "is C text, which needs the headers around it; give a copy of the tree")
    except ReadError:
        stored_files.drop(file)
        raise
