"""The share of samples in each function: `perf report --stdio` with one row for each symbol."""

from __future__ import annotations

import re

from layoutlint.errors import ReadError
from layoutlint.readers.profiles import report_text

_EVENT = re.compile(r"^#\s*Samples: ")
_SEVERAL = re.compile(r"^#\s*Overhead\b")
"""The header of a report in which each percentage is that of an event."""
_ROW = re.compile(r"^\s*(\d{1,3}[.,]\d{1,4}%(?:[\s;,|]++\d{1,3}[.,]\d{1,4}%)*+).*?\[[k.guH]\]\s+([\w.$]+)")
_MOST = 1.01
_SHARE = re.compile(r"(\d{1,3}[.,]\d{1,4})%")


def read(path: str) -> dict[str, float]:
    """Return the share of samples in each function, by name; raises ReadError without a row for one.

    The rows of a function are added: it can have several commands, and copies (`name.isra.0`). Of several
    events the greatest share counts, because their samples cannot be added.
    """
    shares: dict[str, float] = {}
    own: dict[str, float] = {}
    has_events = False
    for _, text in report_text.lines(path):
        if _EVENT.match(text):
            shares, own, has_events = _greatest(shares, own), {}, False
        has_events |= _SEVERAL.match(text) is not None
        row = _ROW.match(text)
        if row is not None:
            columns = [float(share.replace(",", ".")) / 100 for share in _SHARE.findall(row[1])]
            name = row[2].partition(".")[0]  # `name.isra.0`, `name.cold`
            # with call graphs, the first column has the functions that are called too
            own[name] = own.get(name, 0.0) + (max(columns) if has_events else columns[-1])
    shares = _greatest(shares, own)
    if not shares:
        reason = "has no rows like `12.34%  [k] function`; write it with `perf report --stdio --sort symbol`"
        raise ReadError(path, reason)
    name, share = max(shares.items(), key=lambda item: item[1])
    if share > _MOST:
        raise ReadError(path, f"the shares of {name} add up to {share:.0%}: write it with its headers")
    return shares


def _greatest(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    return {name: max(first.get(name, 0.0), second.get(name, 0.0)) for name in {**first, **second}}
