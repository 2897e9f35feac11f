"""Keys of the cache: a digest of what a result is made from, apart from files.

The program is part of it, by the states of its own files, so nobody reads what other code made.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from enum import Enum
from functools import cache, partial
from types import FunctionType

from layoutlint import __version__
from layoutlint.files.accesses import state_of

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_CODE = (".py", ".so", ".pyd", ".txt", ".h", ".json")
_LIBRARIES = ("site-packages", "dist-packages")
_YOUNG = 2_000_000_000
"""As in `answers`: nanoseconds in which a second change may get the time of the first."""


class Unknown(Exception):
    """A value of which there is no digest, or a program that was changed just now."""


def key_of(kind: str, *parts: object) -> str:
    """Return the key of a kind of results in this working folder, made from some parts; raises Unknown."""
    return key_anywhere(kind, os.getcwd(), os.environ.get("HOME", ""), *parts)


def key_anywhere(kind: str, *parts: object) -> str:
    """Return the key of a kind of results that depend on no path; raises Unknown."""
    digest = hashlib.sha256(_program())
    digest.update("\n".join((kind, *map(canonical, parts))).encode(errors="surrogatepass"))
    return digest.hexdigest()


def canonical(value: object) -> str:
    """Return a text that is the same for equal values and differs for others; raises Unknown."""
    if value is None or (isinstance(value, (str, bytes, bool, int, float)) and not isinstance(value, Enum)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (tuple, list)):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(map(canonical, value)))}}}"
    if isinstance(value, dict):
        return canonical(sorted(map(canonical, value.items())))
    if isinstance(value, Enum):
        return f"{type(value).__qualname__} {value.value!r}"
    if isinstance(value, partial):
        return f"{canonical(value.func)}({canonical(value.args)}{canonical(value.keywords)})"
    if isinstance(value, FunctionType) and "<" not in value.__qualname__:
        return f"{value.__module__}.{value.__qualname__}"
    names = getattr(value, "__struct_fields__", None)  # of a Record, whose module most runs do not need
    if names is not None:
        values = ",".join(canonical(getattr(value, name)) for name in names)
        return f"{type(value).__module__}.{type(value).__qualname__}({values})"
    raise Unknown(type(value).__name__)


@cache
def _program() -> bytes:
    """Return a digest of everything besides arguments and files on which results depend."""
    now = time.time_ns()
    digest = hashlib.sha256(f"{__version__}\n{sys.version}\n{os.geteuid()}\n".encode())
    digest.update("\0".join(os.uname()).encode(errors="surrogateescape"))
    for path, status in _program_files():
        state = state_of(status)
        if max(state[3:]) + _YOUNG > now and path.startswith(_PACKAGE):
            raise Unknown(f"{path} was changed just now")
        digest.update(f"{path}\0{state}\n".encode(errors="surrogateescape"))
    return digest.digest()


def _program_files() -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of this package, and the folders in which libraries are installed."""
    pending = [_PACKAGE]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(_CODE):
                    yield entry.path, entry.stat()
                elif entry.name != "__pycache__" and entry.is_dir():
                    pending.append(entry.path)
    for folder in sys.path:
        if folder.endswith(_LIBRARIES) and os.path.isdir(folder):
            yield folder, os.stat(folder)
