"""Profiles that weigh functions: the text of `perf report --stdio`, with one row for each symbol."""

from __future__ import annotations

import re
from collections import defaultdict

from layoutlint import files
from layoutlint.errors import ReadError

_LARGEST = 1 << 27
_ROW = re.compile(r"^\s*(\d{1,3}[.,]\d{1,4})%.*?\[[k.guH]\]\s+([\w.$]+)", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def read(path: str) -> dict[str, float]:
    """Return the share of samples in each function, by name; raises ReadError without a row for one.

    Of several events the greatest share counts: their samples cannot be added.
    """
    try:
        text = files.read_all(path, _LARGEST).decode("utf-8", "replace")
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error
    shares: dict[str, float] = defaultdict(float)
    for share, symbol in _ROW.findall(_COLOUR.sub("", text)):
        name = symbol.partition(".")[0]  # `name.isra.0`, `name.cold`
        shares[name] = max(shares[name], float(share.replace(",", ".")) / 100)
    if not shares:
        reason = "has no rows like `12.34%  [k] function`; write it with `perf report --stdio --sort symbol`"
        raise ReadError(path, reason)
    return dict(shares)
