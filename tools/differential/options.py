"""The command line of the generators that are modules of their own: `--cases N --seed N`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def parse(module: str, about: str | None, words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; `about` is what `--help` prints."""
    parser = argparse.ArgumentParser(prog=f"python -m tools.differential.{module}", description=about)
    parser.add_argument("--cases", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    return parser.parse_args(words)
