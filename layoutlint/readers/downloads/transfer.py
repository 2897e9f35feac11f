"""The transfer of a file from a server into an open file, in a process of its own.

The process ends by a signal once too little arrives, so no server can hold a run by sending slowly.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from layoutlint import __version__
from layoutlint.model.record import Record
from layoutlint.workers import sandbox
from layoutlint.workers.sandbox import WorkFailure

_PROGRESS = 100 << 10
"""The bytes that must arrive in the time of a server (DEBUGINFOD_TIMEOUT of debuginfod_find_debuginfo(3))."""
_PIECE = 1 << 16
_MEMORY = 2 << 30
_HTTP = ("http", "https")
_MISSING = (404, 410)


class NotOnServer(Exception):
    """The server does not have the file."""


class TransferError(Exception):
    """A file that cannot be transferred; the text is the reason."""


class Bounds(Record, frozen=True):
    """Limits of one transfer."""

    seconds: int
    """The time in which something must arrive."""
    total_seconds: int
    most: int
    """Bytes."""


def download(url: str, sink: IO[bytes], bounds: Bounds) -> None:
    """Write what a server has into an open file. Raises Missing and TransferError.

    fsspec reads URLs of other protocols than http and https: with its modules, such as s3fs.
    """
    limits = sandbox.WorkLimits(seconds=bounds.seconds, memory=_MEMORY)
    ((_, result),) = sandbox.run_each(_transfer, [_Transfer(url, sink.fileno(), bounds)], 1, limits)
    if isinstance(result, WorkFailure):
        raise TransferError(f"the transfer {result.how}")


class _Transfer(Record, frozen=True):
    url: str
    sink: int
    bounds: Bounds


def _transfer(transfer: _Transfer) -> None:
    """Transfer a file, in a child that an alarm ends."""
    bounds = transfer.bounds
    size = mark = 0
    left, allowed = bounds.total_seconds, bounds.seconds
    for piece in _read(transfer.url):
        size += len(piece)
        if size > bounds.most:
            raise TransferError(f"has more than the {bounds.most:,} bytes that are downloaded")
        if size >= mark + _PROGRESS:
            mark = size
            left -= allowed - signal.alarm(0)
            if left <= 0:
                raise TransferError(f"does not end within {bounds.total_seconds:,} s")
            allowed = min(bounds.seconds, left)
            signal.alarm(allowed)
        with memoryview(piece) as view:
            written = 0
            while written < len(view):
                written += os.write(transfer.sink, view[written:])


def _read(url: str) -> Iterator[bytes]:
    return _read_http(url) if url.partition(":")[0] in _HTTP else _read_other(url)


def _read_other(url: str) -> Iterator[bytes]:
    """Yield what fsspec reads. Its modules raise exceptions of libraries that they use."""
    try:
        import fsspec

        with fsspec.open(url, "rb", compression=None) as file:
            while piece := file.read(_PIECE):
                yield piece
        return
    except FileNotFoundError:
        failure: Exception = NotOnServer()
    except ImportError as error:
        failure = TransferError(f"the protocol {url.partition(':')[0]} needs another package: {error}")
    except Exception as error:
        failure = TransferError(f"cannot be read: {type(error).__name__} {error}")
    raise failure  # outside, as in _read_http


def _read_http(url: str) -> Iterator[bytes]:
    headers = {"User-Agent": f"layoutlint/{__version__}", "Accept-Encoding": "identity"}
    try:
        request = Request(url, headers=headers)
        with _opener().open(request) as response:
            yield from _body(response)
        return
    except HTTPError as error:
        failure = _http_failure(error)
    except URLError as error:
        failure = TransferError(f"the server cannot be reached: {error.reason}")
    except (HTTPException, OSError, ValueError) as error:
        failure = TransferError(f"the answer cannot be read: {type(error).__name__} {error}")
    raise failure  # outside, so that it does not hold the answer: it goes to another process


def _http_failure(error: HTTPError) -> Exception:
    if error.code in _MISSING:
        return NotOnServer()
    if error.code // 100 == 3:
        return TransferError("the server redirects too often, or away from http")
    return TransferError(f"the server answers {error.code} ({error.reason})")


def _body(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the content of an answer. Raises TransferError if it ends early."""
    length = response.length
    size = 0
    while piece := response.read1(_PIECE):
        size += len(piece)
        yield piece
    if length is not None and size != length:
        raise TransferError(f"the answer ends after {size:,} of {length:,} bytes")


class _Redirects(HTTPRedirectHandler):
    """Follows few redirections, and none to another protocol."""

    max_redirections = 5
    max_repeats = 2

    def redirect_request(
        self, request: Request, file: Any, code: int, message: str, headers: HTTPMessage, url: str
    ) -> Request | None:
        """Return the request for the new place; raise TransferError for a place that is not asked."""
        old, new = urlsplit(request.full_url).scheme, urlsplit(url).scheme
        if new not in _HTTP or (old == "https" and new == "http"):
            raise TransferError(f"the server redirects from {old} to {new or 'no protocol'}")
        return super().redirect_request(request, file, code, message, headers, url)


def _opener() -> OpenerDirector:
    """Return what opens http and https and nothing else."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    opener.add_handler(_Redirects())
    return opener
