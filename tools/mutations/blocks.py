"""The blocks of the code, and which tests reach them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_IMPORT = """
try:
    from layoutlint_marks import marks as _block_marks
except ImportError:  # a process without the path of its parent
    _block_marks = {}
"""


@dataclass(frozen=True, slots=True)
class TimedTest:
    """A test that passed, how long it took, and the blocks that it reaches: bit n stands for block n."""

    name: str
    seconds: float
    blocks: int

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


@dataclass(frozen=True)
class Reach:
    """The blocks by number (module, first line, last line), the tests, and the options with which pytest ran them."""

    blocks: list[tuple[str, int, int]]
    tests: list[TimedTest]
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Reach:
        content = json.loads(path.read_text())
        return cls(
            [(module, first, last) for module, first, last in content["blocks"]],
            [TimedTest(name, seconds, int(blocks, 16)) for name, seconds, blocks in content["tests"]],
            tuple(content["options"]),
        )

    def write(self, path: Path) -> None:
        tests = [(test.name, test.seconds, f"{test.blocks:x}") for test in self.tests]
        path.write_text(json.dumps({"blocks": self.blocks, "tests": tests, "options": self.options}))

    def find_tests(self, module: str, line: int) -> list[TimedTest]:
        """Return the tests that reach a line. If none does, return those that reach the block around it: a function without its
        only `yield` is another one. Outside of functions, return those that reach any block of the module.
        """
        own = self._modules.get(module, 0)
        around = sorted((last - first, n) for n, (name, first, last) in enumerate(self.blocks) if name == module and first <= line <= last)
        for wanted in [1 << number for _, number in around] or [own]:
            if tests := [test for test in self.tests if test.blocks & wanted]:
                return tests
        return []

    @cached_property
    def _modules(self) -> dict[str, int]:
        modules: dict[str, int] = {}
        for number, (module, _, _) in enumerate(self.blocks):
            modules[module] = modules.get(module, 0) | 1 << number
        return modules

    def is_outside(self, module: str, line: int) -> bool:
        """Return whether a line is in no function: in what the module does when it is imported."""
        return not any(block[0] == module and block[1] <= line <= block[2] for block in self.blocks)

    def find_unreached(self) -> Iterator[str]:
        """Yield the blocks that no test reaches."""
        reached = 0
        for test in self.tests:
            reached |= test.blocks
        for number, (module, first, last) in enumerate(self.blocks):
            if not reached >> number & 1:
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
