"""Addresses of schedulers: `tls://HOST:PORT`, and `tcp://HOST:PORT`, which nothing protects."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record

_OPTION = "--scheduler"
_PORT = 8786
"""Dask's own."""


class SchedulerAddress(Record, frozen=True):
    """The address of a scheduler."""

    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine can be at it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def reach(self, seconds: float) -> None:
        """Connect and disconnect. Raises ReadError if nothing listens there."""
        try:
            socket.create_connection((self.host, self.port), seconds).close()
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ReadError(str(self), f"cannot be reached: {reason.lower()}") from error


def parse_address(text: str, *, allow_insecure: bool) -> SchedulerAddress:
    """Return an address. Raises UsageError, also for tcp to another machine unless that is allowed."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{text!r} is not an address: {str(error).lower()}", _OPTION) from None
    has_more = parts.path or parts.query or parts.fragment or parts.username is not None
    if parts.scheme not in ("tls", "tcp") or not host or not host.isprintable() or has_more:
        raise UsageError(f"{text!r} is not an address such as tls://HOST:PORT or tcp://HOST:PORT", _OPTION)
    address = SchedulerAddress(parts.scheme, host, _PORT if port is None else port)
    if address.protocol == "tcp" and not (address.is_local or allow_insecure):
        raise UsageError(
            f"{text} is not encrypted, and authenticates nobody: workers run whatever a scheduler sends, "
            "so everyone who reaches it can run programs there. Use tls:// with certificates, or pass "
            "--insecure-scheduler if only trusted machines can reach it",
            _OPTION,
        )
    return address
