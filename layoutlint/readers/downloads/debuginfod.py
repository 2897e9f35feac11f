"""Debug information from debuginfod servers, by build id (debuginfod(8) of elfutils)."""

from __future__ import annotations

import os
import re
from typing import IO

from layoutlint.errors import ReadError
from layoutlint.files import accesses, stored_files
from layoutlint.files.accesses import state_of
from layoutlint.files.stored_files import StoredFile
from layoutlint.model.reading import DebugServers, ReadOptions
from layoutlint.readers.downloads import download_store, transfer
from layoutlint.readers.downloads.transfer import Bounds, NotOnServer, TransferError
from layoutlint.readers.elf import elf_file

PREFIX = "build-id:"
"""Begins an input that is named by its build id."""
_BUILD_ID = re.compile(r"(?:[0-9a-f]{2}){2,64}")
_BTF = (b"\x9f\xeb", b"\xeb\x9f")
DEBUG, SECTION = "debuginfo", "section/.BTF"
"""What a server is asked for."""


def input_file(path: str, options: ReadOptions) -> str:
    """Return the name of the file that an input `build-id:HEX` stands for, after its download.

    For `--reader btf`, that is the section .BTF alone, if a server has it. Raises ReadError.
    """
    build_id = path.removeprefix(PREFIX).lower()
    if not _BUILD_ID.fullmatch(build_id):
        raise ReadError(path, "is not a build id: write its hexadecimal digits, as `readelf -n` prints them")
    if options.servers is None:
        raise ReadError(path, "is on a server: give --debuginfod, which asks those in DEBUGINFOD_URLS")
    kinds = (SECTION, DEBUG) if options.reader == "btf" else (DEBUG,)
    problems: list[str] = []
    for kind in kinds:
        name = fetch(build_id, kind, options, problems)
        if name is not None:
            return name
    raise ReadError(path, "; ".join(dict.fromkeys(problems)))


def fetch(build_id: str, kind: str, options: ReadOptions, problems: list[str]) -> str | None:
    """Return the name of a file of a build id, which is downloaded if no earlier run did that.

    None if no server has it; why is added to `problems`.
    """
    name = _name(build_id, kind)
    if stored_files.find(name) is not None:
        return name
    if options.servers is None or not _BUILD_ID.fullmatch(build_id):
        return None
    key = f"{build_id}-{kind.replace('/', '-')}"
    earlier = download_store.open_kept(key) if options.cache else None
    if earlier is not None:
        _add(name, earlier, os.path.join(download_store.location(create=False) or "", key))
        if _mismatch(name, build_id, kind) is None:
            return name
        stored_files.drop(earlier)
        download_store.forget(key)
    for server in options.servers.urls:
        try:
            file = _download(f"{server.rstrip('/')}/buildid/{build_id}/{kind}", options)
        except NotOnServer:
            problems.append(f"{server} does not have {kind} of {build_id}")
            continue
        except (TransferError, OSError) as error:
            problems.append(f"{server}: {error}")
            continue
        _add(name, file, None)
        problem = _mismatch(name, build_id, kind)
        if problem is None:
            if options.cache and (path := download_store.keep(key, file)) is not None:
                _add(name, file, path)
            return name
        stored_files.drop(file)
        problems.append(f"{server}: {problem}")
    accesses.refuse("a server was asked")
    return None


def _name(build_id: str, kind: str) -> str:
    return f"{PREFIX}{build_id}" if kind == DEBUG else f"{PREFIX}{build_id}/{kind}"


def _download(url: str, options: ReadOptions) -> IO[bytes]:
    """Return a file with what a server has. Raises Missing, TransferError and OSError."""
    servers = options.servers or DebugServers()
    options.progress(f"downloading {url}", 0, 1)
    file = download_store.begin(options.cache)
    try:
        transfer.download(url, file, Bounds(servers.seconds, servers.total_seconds, servers.most))
        if not os.fstat(file.fileno()).st_size:
            raise TransferError("the answer is empty")
    except BaseException:
        file.close()
        raise
    return file


def _add(name: str, file: IO[bytes], path: str | None) -> None:
    """Give a download its name; `path` is where it is kept."""
    status = os.fstat(file.fileno())
    stored_files.add(name, StoredFile(file, 0, status.st_size, path, state_of(status)))


def _mismatch(name: str, build_id: str, kind: str) -> str | None:
    """Return why a download is not the requested file; None if it is. A section has no build id."""
    stored = stored_files.find(name)
    assert stored is not None
    if kind == SECTION:
        with stored.map_content() as content:
            return None if content[:2] in _BTF else "the answer is no BTF"
    try:
        with elf_file.open_elf(name) as image:
            own = image.build_id
    except ReadError as error:
        return f"the answer cannot be read: {error.reason}"
    if own == build_id:
        return None
    return f"the answer has the build id {own or '??'}, but {build_id} was requested"
