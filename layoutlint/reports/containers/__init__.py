"""One module per format of `layoutlint containers`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # the command line needs the names of the formats, and no struct, for `--help`
    from layoutlint.geometry.containers import EmbeddedStruct
    from layoutlint.reports.show.options import ShowOptions

ContainersFormat: TypeAlias = "Callable[[tuple[EmbeddedStruct, ...], ShowOptions], Iterator[str]]"
"""A listing in pieces of text."""
