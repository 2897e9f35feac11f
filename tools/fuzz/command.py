"""The real command inside this process: `layoutlint.cli.main`, as the console script calls it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from layoutlint import cli
from layoutlint.intent.toml import rule_file


@dataclass(frozen=True, slots=True)
class Done:
    """What a run left."""

    status: object
    stdout: bytes
    stderr: bytes


def prepare() -> Callable[[], None]:
    """Has rule files read once instead of once per input: they are never damaged. What it gives undoes it."""
    load, environment = rule_file.load, dict(os.environ)
    os.environ["LAYOUTLINT_DEBUG"] = "1"
    os.environ.pop("FORCE_COLOR", None)
    if not hasattr(load, "cache_info"):
        rule_file.load = cache(load)  # type: ignore[assignment]

    def undo() -> None:
        rule_file.load = load
        os.environ.clear()
        os.environ.update(environment)

    return undo


def run(words: tuple[str, ...]) -> Done:
    """`layoutlint WORDS...` in the folder one is in. What escapes from `main` escapes from here."""
    streams = io.BytesIO(), io.BytesIO()
    kept = sys.argv, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in streams)
    sys.argv, sys.stdout, sys.stderr = ["layoutlint", *words], out, err
    status: object = None
    try:
        cli.main()
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv, sys.stdout, sys.stderr = kept
        out.flush()
        err.flush()
    return Done(status, streams[0].getvalue(), streams[1].getvalue())


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Writes files anew: one that is still mapped keeps its old contents."""
    for name, content in files.items():
        path = folder / name
        path.unlink(missing_ok=True)
        path.write_bytes(content)
