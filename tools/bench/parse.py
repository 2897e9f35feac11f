"""libclang's own parse of one kernel header, and nothing else: `python -m tools.bench.parse TREE HEADER`."""

from __future__ import annotations

import sys

from clang.cindex import Index, TranslationUnit

from layoutlint.readers.clang.kernel import tree


def main() -> None:
    """Parse `#include <HEADER>` with the flags of the tree."""
    kernel = tree.find(sys.argv[1])
    assert kernel is not None
    path = f"{kernel.source}/include-one.c"
    text = f"#include <{sys.argv[2]}>\n"
    unit = Index.create().parse(
        path, ["-xc", *kernel.flags, f"-working-directory={kernel.build}"], [(path, text)],
        TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )  # fmt: skip
    errors = [diagnostic for diagnostic in unit.diagnostics if diagnostic.severity >= diagnostic.Error]
    assert not errors, errors


if __name__ == "__main__":
    main()
