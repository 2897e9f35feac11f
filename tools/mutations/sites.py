"""The places of a module where one small change makes another program, and the text of that program."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutation:
    """A changed expression or statement of a module."""

    line: int
    before: str
    after: str
    text: str
    """The whole module with the change."""


def mutations(text: str) -> list[Mutation]:
    """Return the mutations of a module, in the order of its text.

    Annotations, docstrings, messages (f-strings, and what `raise` makes), what only prints, assertions (`strict=True` of zip) and what
    is for type checkers (`if TYPE_CHECKING`; what a class statement declares, such as `frozen=True`) are left as they are.
    """
    lines = text.encode().splitlines(keepends=True)
    found = [
        change
        for node in _statements_and_expressions(ast.parse(text))
        for mutant in _mutants(node)
        if (change := _change(lines, node, mutant)) is not None
    ]
    return sorted(found, key=lambda each: (each.line, each.before, each.after))


def _statements_and_expressions(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes that decide something."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom) or _is_for_type_checkers(node):
                continue
            if isinstance(node, ast.keyword) and (isinstance(tree, ast.ClassDef) or _is_assertion(node)):
                continue
            if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__"):
                continue
            if isinstance(node, ast.expr | ast.stmt):
                yield node
            if isinstance(node, ast.AST):
                yield from _statements_and_expressions(node)


def _is_assertion(argument: ast.keyword) -> bool:
    """Return whether an argument is `strict=True` of zip, which only raises, and only if the code is wrong."""
    return argument.arg == "strict" and isinstance(argument.value, ast.Constant) and argument.value.value is True


def _is_for_type_checkers(node: object) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _mutants(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    """Yield what can stand in the place of a node."""
    match node:
        case ast.Compare(ops=ops):
            for at, operator in enumerate(ops):
                other = _COMPARISONS[type(operator)]()
                yield _with(node, lambda one, at=at, other=other: one.ops.__setitem__(at, other))
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS and not _is_text(node):
            yield _with(node, lambda one: setattr(one, "op", _OPERATORS[type(operator)]()))
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.BoolOp(values=values):
            for at in range(len(values)):
                yield _with(node, lambda one, at=at: one.values.pop(at)) if len(values) > 2 else values[1 - at]
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)
        case ast.If() | ast.While():
            yield _with(node, lambda one: setattr(one, "test", ast.UnaryOp(ast.Not(), one.test)))
        case ast.AugAssign() | ast.Expr(value=ast.Call() | ast.YieldFrom() | ast.Yield()) | ast.Continue() | ast.Break():
            yield ast.Pass()


def _with(node: ast.AST, change: Callable[..., object]) -> ast.expr | ast.stmt:
    mutant = copy.deepcopy(node)
    change(mutant)
    assert isinstance(mutant, ast.expr | ast.stmt)
    return mutant


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operation puts texts together, where another operator only raises."""
    parts = (node.left, node.right)
    return any(isinstance(part, ast.JoinedStr | ast.Constant) and not isinstance(getattr(part, "value", 0), int) for part in parts)


def _change(lines: list[bytes], node: ast.expr | ast.stmt, mutant: ast.AST) -> Mutation | None:
    """Return the mutation that puts another node in the place of one; None if nothing changes."""
    if isinstance(node, ast.If | ast.While):  # only its condition, so that the rest of the statement keeps its text
        assert isinstance(mutant, ast.If | ast.While)
        node, mutant = node.test, mutant.test
    after = ast.unparse(ast.fix_missing_locations(mutant))
    if node.end_lineno is None or node.end_col_offset is None:
        return None
    head = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    tail = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    text = b"".join(lines)
    before = text[len(head) : len(text) - len(tail)].decode()
    put = f"({after})" if isinstance(node, ast.expr) and not isinstance(mutant, ast.Constant | ast.Name) else after
    return Mutation(node.lineno, " ".join(before.split()), after, (head + put.encode() + tail).decode())
