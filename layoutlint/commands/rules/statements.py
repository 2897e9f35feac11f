"""Conditions in C as statements that a compiler checks, in the forms of C11 and of Linux."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint import escapes
from layoutlint.model.record import Record

_LONGEST = 300
"""Characters of a message; compilers print it whole."""


class Assertion(Record, frozen=True):
    """A condition in C that must hold."""

    condition: str
    negation: str
    message: str = ""
    """What a compiler prints if it fails; empty for the condition itself."""


class Remark(Record, frozen=True):
    """A comment: what is not asserted, and why."""

    text: str


class Block(Record, frozen=True):
    """Assertions that belong together."""

    name: str
    """The name of the struct that they are about."""
    lines: tuple[Assertion | Remark, ...]


class Form(Record, frozen=True):
    """How a project writes assertions."""

    includes: tuple[str, ...]
    macro: str
    macro_with_message: str
    """The macro that takes a message; the other one prints its condition."""
    in_function: bool = False
    """Whether the macro is a statement of a function, and fails if its condition holds."""


_LINUX = ("linux/build_bug.h", "linux/stddef.h")
FORMS = {
    "c11": Form(("stddef.h",), "", "_Static_assert"),
    "kernel": Form(_LINUX, "static_assert", "static_assert"),
    "build-bug-on": Form(_LINUX, "BUILD_BUG_ON", "BUILD_BUG_ON_MSG", in_function=True),
}


def render(blocks: Iterable[Block], form: Form) -> str:
    """Return C text that asserts all blocks, for a source that includes their structs."""
    return escapes.lines(_lines(tuple(blocks), form))


def _lines(blocks: tuple[Block, ...], form: Form) -> Iterator[str]:
    yield "/* Made by `layoutlint rules asserts`, for a source that includes the structs. */"
    yield from (f"#include <{name}>" for name in form.includes)
    indent = "\t" if form.in_function else ""
    if form.in_function:
        names = (block.name for block in blocks if block.name.isidentifier() and block.name.isascii())
        # Compilers check BUILD_BUG_ON only in functions that they emit: those that are used.
        yield from ("", f"static inline void __used layout_asserts_of_{next(names, 'rules')}(void)", "{")
    for number, block in enumerate(blocks):
        if number or not form.in_function:
            yield ""
        for line in block.lines:
            if isinstance(line, Remark):
                yield f"{indent}/* {_comment(line.text)} */"
            else:
                yield from _statement(line, form, indent)
    if form.in_function:
        yield "}"


def _statement(assertion: Assertion, form: Form, indent: str) -> Iterator[str]:
    condition = assertion.negation if form.in_function else assertion.condition
    if form.macro and not assertion.message:
        yield f"{indent}{form.macro}({condition});"
        return
    yield f"{indent}{form.macro_with_message}({condition},"
    yield f'{indent}\t"{_message(assertion.message or assertion.condition)}");'


def _message(text: str) -> str:
    """Return the message of a failed assertion, as the inside of a string of C."""
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    plain = text.encode("ascii", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return plain.replace("??", "?\\?")  # no trigraphs


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")
