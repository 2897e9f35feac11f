"""The blocks of the code, and which test files reach them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_IMPORT = """
try:
    from layoutlint_marks import marks as _block_marks
except ImportError:  # a process without the path of its parent
    _block_marks = {}
"""


@dataclass(frozen=True, slots=True)
class Reach:
    """The blocks by number: module, first line, last line; for each test file the numbers it reaches."""

    blocks: list[tuple[str, int, int]]
    files: dict[str, list[int]]

    @classmethod
    def read(cls, path: Path) -> Reach:
        return cls(**json.loads(path.read_text()))

    def tests(self, module: str, line: int) -> list[str]:
        """Return the test files that reach a line, those that reach most of its module and least else first.

        Outside functions, these are the files that reach any block of its module. If none reaches the block, these are those of
        the block around it: a function without its only `yield` is another one.
        """
        own = {number: block for number, block in enumerate(self.blocks) if block[0] == module}
        around = sorted((last - first, number) for number, (_, first, last) in own.items() if first <= line <= last)
        for wanted in ({number} for _, number in around) if around else (own.keys(),):
            if files := [name for name, reached in self.files.items() if not wanted.isdisjoint(reached)]:
                return sorted(files, key=lambda name: -(len(own.keys() & self.files[name]) ** 2) / len(self.files[name]))
        return []

    def is_outside(self, module: str, line: int) -> bool:
        """Return whether a line is in no function: in what the module does when it is imported."""
        return not any(block[0] == module and block[1] <= line <= block[2] for block in self.blocks)

    def find_unreached(self) -> Iterator[str]:
        """Yield the blocks that no test reaches."""
        reached = {number for numbers in self.files.values() for number in numbers}
        for number, (module, first, last) in enumerate(self.blocks):
            if number not in reached:
                yield f"{module}:{first}-{last}"


class _Marking(ast.NodeTransformer):
    """Puts a mark at the beginning of each block of a module."""

    def __init__(self, module: str, blocks: list[tuple[str, int, int]]) -> None:
        self.module = module
        self.blocks = blocks

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(node, ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                if body := getattr(node, name, []):
                    self._mark(node, body)
        return node

    def _mark(self, node: ast.AST, body: list[ast.stmt]) -> None:
        first = body[0].lineno
        if isinstance(node, ast.FunctionDef):
            first = node.lineno
        at = isinstance(node, ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None
        body[at:at] = ast.parse(f"_block_marks[{len(self.blocks)}] = 1").body
        self.blocks.append((self.module, first, body[-1].end_lineno or first))


def put_marks(text: str, module: str, blocks: list[tuple[str, int, int]]) -> str:
    """Return a module with marks in its blocks, which are appended to those of others."""
    tree = ast.parse(text)
    _Marking(module, blocks).visit(tree)
    after = max((at + 1 for at, each in enumerate(tree.body[:5]) if isinstance(each, ast.ImportFrom) and each.module == "__future__"), default=0)
    tree.body[after:after] = ast.parse(_IMPORT).body
    return ast.unparse(ast.fix_missing_locations(tree))
