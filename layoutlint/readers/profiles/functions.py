"""The share of samples in each function: `perf report --stdio` with one row for each symbol."""

from __future__ import annotations

import re

from layoutlint.errors import ReadError
from layoutlint.readers.profiles import report_text

_ROW = re.compile(r"^\s*(\d{1,3}[.,]\d{1,4})%.*?\[[k.guH]\]\s+([\w.$]+)")


def read(path: str) -> dict[str, float]:
    """Return the share of samples in each function, by name; raises ReadError without a row for one.

    Of several events the greatest share counts: their samples cannot be added.
    """
    shares: dict[str, float] = {}
    for _, text in report_text.lines(path):
        row = _ROW.match(text)
        if row is not None:
            name = row[2].partition(".")[0]  # `name.isra.0`, `name.cold`
            shares[name] = max(shares.get(name, 0.0), float(row[1].replace(",", ".")) / 100)
    if not shares:
        reason = "has no rows like `12.34%  [k] function`; write it with `perf report --stdio --sort symbol`"
        raise ReadError(path, reason)
    return shares
