"""The statements of a function body: how often each runs, and which locks are held there."""

from __future__ import annotations

from collections.abc import Callable

from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.directives import Directive
from layoutlint.sources.bodies.facts import BRANCH, Facts
from layoutlint.sources.bodies.lock_regions import Held, LockRegions, join
from layoutlint.sources.bodies.trees import Node

_LOOP = 4.0
_MOST_LOOPS = 16.0
_CASE = 0.3
_COUNTED = 4
"""The parts of a loop that counts: `for (start; condition; step) body`."""
_TRANSPARENT = (syntax.PAREN, syntax.UNEXPOSED, syntax.CAST)


class Statements:
    """Walks statements; what walks expressions and declarations is in a class derived from it."""

    _facts: Facts

    def __init__(self) -> None:
        self._regions = LockRegions()
        self._loops = 0
        self._line = 0
        self._directives: tuple[Directive, ...] = ()
        """Those of OpenMP before the statements that come."""

    def _obey(self, node: Node, weight: float) -> None:
        raise NotImplementedError

    def _value(self, node: Node, weight: float) -> None:
        raise NotImplementedError

    def _declare(self, variable: Node, weight: float) -> None:
        raise NotImplementedError

    def _begin_loop(self) -> int:
        raise NotImplementedError

    def _end_loop(self, calls: int, is_counted: bool) -> None:
        raise NotImplementedError

    def _statement(self, node: Node, weight: float) -> None:
        walk = _STATEMENTS.get(node.kind)
        if self._directives and node.spot[1] > self._directives[0].line:
            self._obey(node, weight)
        elif walk is not None:
            walk(self, node, weight)
        elif is_statement(node):
            self._statements(node, weight)
        else:
            self._line = node.spot[1] or self._line
            self._value(node, weight)

    def _statements(self, node: Node, weight: float) -> None:
        for child in node.children:
            self._statement(child, weight)

    def _compound(self, node: Node, weight: float) -> None:
        before = self._regions.guards
        for child in node.children:  # not through _statements: nested blocks need few frames
            self._statement(child, weight)
        self._regions.end_guards(before)

    def _switch(self, node: Node, weight: float) -> None:
        regions = self._regions
        for child in node.children[:1]:
            self._value(child, weight)
        regions.enter_switch()
        for child in node.children[1:]:
            self._statement(child, weight)
        regions.leave_switch()

    def _case(self, node: Node, weight: float) -> None:
        self._regions.case(node.kind == syntax.DEFAULT)
        for child in node.children[-1:]:
            self._statement(child, weight * _CASE)

    def _declarations(self, node: Node, weight: float) -> None:
        for child in node.children:
            if child.kind == syntax.VARIABLE:
                self._declare(child, weight)

    def _return(self, node: Node, weight: float) -> None:
        for child in node.children:
            self._return_value(child, weight)
        self._regions.leave()

    def _return_value(self, node: Node, weight: float) -> None:
        raise NotImplementedError

    def _operands(self, node: Node, weight: float) -> None:
        raise NotImplementedError

    def _assembler(self, node: Node, weight: float) -> None:
        self._operands(node, weight)

    def _branch(
        self, node: Node, weight: float, walk: Callable[[Node, float], object] | None = None
    ) -> None:
        """Walk a condition, and what follows where it holds and where it does not."""
        if not node.children:
            return
        walk, regions = walk or self._statement, self._regions
        condition, *branches = node.children
        first, second = self._condition(condition, weight)
        truth = self._facts.truth(condition)
        likely = self._facts.likelihood(condition) if truth is None else float(truth)
        ends: list[Held] = [first, second]
        if truth is not None:
            ends[truth] = None  # control does not come there
        for number, (child, share) in enumerate(zip(branches, (likely, 1 - likely), strict=False)):
            if not share and not _has_label(child):
                continue
            regions.held = ends[number]
            walk(child, weight * (share or BRANCH))
            ends[number] = regions.held
        regions.held = join(*ends)

    def _condition(self, node: Node, weight: float) -> tuple[Held, Held]:
        """Walk a condition; return the locks where it holds, and where it does not."""
        regions = self._regions
        regions.forget_try()
        self._value(node, weight)
        call = regions.tried
        if call is None:
            return regions.held, regions.held
        return regions.split(self._results(node, call))

    def _results(self, node: Node, call: int) -> tuple[bool | None, bool | None]:
        """Return whether a call in a condition returned anything but zero, if that holds, and if not."""
        if id(node) == call:
            return True, False
        last = node.children[-1] if node.children else None
        if last is None:
            return None, None
        if node.kind in _TRANSPARENT:
            return self._results(last, call)
        if node.kind == syntax.STATEMENT_EXPRESSION:
            return self._results(last.children[-1], call) if last.children else (None, None)
        if node.kind == syntax.CALL and len(node.children) == 3:  # __builtin_expect
            return self._results(node.children[1], call)
        if node.kind == syntax.UNARY and node.unary_operator == syntax.NOT:
            return self._results(last, call)[::-1]
        return self._binary_results(node, call) if node.kind == syntax.BINARY else (None, None)

    def _binary_results(self, node: Node, call: int) -> tuple[bool | None, bool | None]:
        operator = node.binary_operator
        if len(node.children) != 2:
            return None, None
        first, second = (self._results(child, call) for child in node.children)
        if operator in (syntax.ASSIGN, syntax.COMMA):
            return second
        if operator == syntax.AND:
            return first[0] if second[0] is None else second[0], None
        if operator == syntax.OR:
            return None, first[1] if second[1] is None else second[1]
        if operator in (syntax.EQUAL, syntax.NOT_EQUAL) and self._facts.is_zero(node.children[1]):
            return first[::-1] if operator == syntax.EQUAL else first
        return None, None

    def _loop(self, node: Node, weight: float) -> None:
        regions = self._regions
        guards = regions.guards
        regions.enter_breakable()
        # `do { } while (0)` is how macros are written, and runs once.
        if node.kind == syntax.DO and len(node.children) == 2 and self._facts.is_zero(node.children[1]):
            self._statement(node.children[0], weight)
            after = regions.held
        elif node.children:
            self._loops += 1
            calls = self._begin_loop()
            after = self._rounds(node, min(weight * _LOOP, _MOST_LOOPS))
            self._end_loop(calls, node.kind == syntax.FOR and len(node.children) == _COUNTED)
            self._loops -= 1
        else:
            after = regions.held
        regions.held = join(after, regions.leave_breakable())
        regions.end_guards(guards)

    def _rounds(self, node: Node, weight: float) -> Held:
        """Walk the parts of a loop; return the locks where it ends without `break`."""
        regions = self._regions
        *heads, body = node.children
        if node.kind == syntax.DO:
            self._statement(node.children[0], weight)
            return self._condition(body, weight)[1]
        start = after = regions.held
        if node.kind == syntax.WHILE and heads:
            start, after = self._condition(heads[-1], weight)
            after = None if self._facts.is_true(heads[-1]) else after
        else:
            for child in heads:
                self._statement(child, weight)
            start, after = regions.held, regions.held if heads else None
        regions.held = start
        self._statement(body, weight)
        return regions.end_round(start, after)

    def _break(self, node: Node, weight: float) -> None:
        self._regions.break_out()

    def _continue(self, node: Node, weight: float) -> None:
        self._regions.stop()

    def _goto(self, node: Node, weight: float) -> None:
        self._regions.jump(node.reference.data[1] or 0)

    def _label(self, node: Node, weight: float) -> None:
        self._regions.arrive(node.cursor.data[1] or 0)
        self._statements(node, weight)


_STATEMENTS: dict[int, Callable[[Statements, Node, float], None]] = {
    syntax.COMPOUND: Statements._compound,
    syntax.IF: Statements._branch,
    syntax.FOR: Statements._loop,
    syntax.WHILE: Statements._loop,
    syntax.DO: Statements._loop,
    syntax.SWITCH: Statements._switch,
    syntax.CASE: Statements._case,
    syntax.DEFAULT: Statements._case,
    syntax.DECLARATION: Statements._declarations,
    syntax.ASM: Statements._assembler,
    syntax.RETURN: Statements._return,
    syntax.BREAK: Statements._break,
    syntax.CONTINUE: Statements._continue,
    syntax.GOTO: Statements._goto,
    syntax.LABEL: Statements._label,
}


def _has_label(node: Node) -> bool:
    """Return whether control can come into a statement by a jump."""
    return node.kind in (syntax.LABEL, syntax.CASE, syntax.DEFAULT) or any(map(_has_label, node.children))


def is_statement(node: Node) -> bool:
    """Return whether a node is a statement and no expression."""
    return syntax.FIRST_STATEMENT <= node.kind <= syntax.LAST_STATEMENT
