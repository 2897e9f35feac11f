"""Lists what is long, for a look: `python -m tools.sizes`. Nothing fails for it: some tables and walkers are long with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "layoutlint"
LONG_FUNCTION, LONG_MODULE = 60, 600


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines and the place of each function of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or 0) - node.lineno + 1, f"{path.relative_to(PACKAGE.parent)}:{node.lineno} {node.name}"


def main() -> None:
    """Print modules and functions over the limits, the longest first, and the sizes of all."""
    modules = sorted(PACKAGE.rglob("*.py"))
    lines = {path: path.read_text().count("\n") for path in modules}
    every = [found for path in modules for found in functions(path)]
    long = [(count, str(path.relative_to(PACKAGE.parent))) for path, count in lines.items() if count > LONG_MODULE]
    long += [found for found in every if found[0] > LONG_FUNCTION]
    for count, place in sorted(long, reverse=True):
        print(f"{count:5} {place}")
    statements = sum(isinstance(node, ast.stmt) for path in modules for node in ast.walk(ast.parse(path.read_text())))
    median = sorted(count for count, _ in every)[len(every) // 2]
    print(f"{sum(lines.values()):,} lines in {len(modules)} modules, {statements:,} statements, {len(every):,} functions (median {median} lines)")


if __name__ == "__main__":
    main()
