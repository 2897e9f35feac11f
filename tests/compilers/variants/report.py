"""What the variants compare, as a table.

    python -m tests.compilers.variants.report    a line per variant: structs, fields, bit-fields, differences that are explained
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.compilers.variants.build import Built, Variant, Workshop
from tests.compilers.variants.compare import Result, with_compiler, with_pahole
from tests.compilers.variants.explained import FROM_COMPILER, FROM_PAHOLE, expectation, unlisted_reason
from tests.compilers.variants.table import VARIANTS
from tests.oracles import pahole
from tests.real.kernels import Unavailable

HEAD = "variant | structs | fields | bit-fields | apart, explained | structs of pahole | apart, explained | apart"


def _line(variant: Variant, made: Built) -> tuple[str, int]:
    options = ReadOptions(reader=variant.reader, debug_dirs=made.debug_dirs)
    readings = [read(str(path), Wanted(everything=True), options) for path in made.files]
    ours, theirs, shall = with_compiler(readings, made.facts), Result(), set[str]()
    if unlisted_reason(variant, made) is None:
        shapes = [shape for path in made.files for shape in pahole.list_output(path, "-F", variant.reader)]
        theirs, shall = with_pahole(readings, shapes), expectation(FROM_PAHOLE, variant, made)
    here = expectation(FROM_COMPILER, variant, made)
    apart = len(here ^ ours.differences.keys()) + len(shall ^ theirs.differences.keys())
    numbers = (ours.structs, ours.fields, ours.bit_fields, len(here), theirs.structs or "-", len(shall), apart)
    return " | ".join(map(str, (variant.name, *numbers))), apart


def _row(variant: Variant, future: Future[Built]) -> tuple[str, int]:
    try:
        return _line(variant, future.result())
    except Unavailable as reason:
        return f"{variant.name} | {reason}", 0


def main() -> int:
    """Print the table; returns the exit status, 1 where a difference is not explained."""
    total = 0
    print(HEAD)
    with tempfile.TemporaryDirectory(prefix="variants.") as folder, ThreadPoolExecutor(2) as pool:
        workshop = Workshop(Path(folder))
        for variant, future in [(each, pool.submit(workshop.build, each)) for each in VARIANTS]:
            text, apart = _row(variant, future)
            total += apart
            print(text, flush=True)
    print(f"{len(VARIANTS)} variants, {total} differences that are not explained")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
