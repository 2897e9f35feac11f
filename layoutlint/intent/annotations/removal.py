"""Removes suppressions from C text: comments that hold nothing else."""

from __future__ import annotations

from layoutlint.intent.annotations.comments import annotations_in
from layoutlint.intent.annotations.syntax import AnnotationError, parse
from layoutlint.intent.c_comments import Comment, Text
from layoutlint.model.structs import ANNOTATION


class NotRemoved(Exception):
    """A suppression that cannot be removed, with the reason."""


def without_suppression(text: str, line: int, suppression: str) -> str:
    """Return C text without the comment on a line that is only a suppression, `ignore[RULE, ...]`.

    A line of its own goes with it. Raises NotRemoved.
    """
    parsed = Text(text)
    there = [comment for comment in parsed.comments if comment.line == line]
    matching = [comment for comment in there if suppression in _suppressions(comment.text)]
    if len(matching) != 1:
        raise NotRemoved("its line has no comment with it" if not matching else "its line has it twice")
    if len(_suppressions(matching[0].text)) > 1 or not _is_alone(matching[0].text):
        raise NotRemoved("its comment says more than this")
    result = _cut(text, matching[0])
    rest = [comment.text for comment in parsed.comments if comment is not matching[0]]
    if _code(result) != _code(text) or [comment.text for comment in Text(result).comments] != rest:
        raise NotRemoved("the text around it would change")
    return result


def _suppressions(comment: str) -> list[str]:
    """Return the annotations of a comment; those that are no suppressions are empty."""
    texts = []
    for annotation in annotations_in(comment):
        try:
            ignored = parse(annotation).ignored
        except AnnotationError:
            ignored = None
        texts.append("" if ignored is None else f"ignore[{', '.join(ignored.rules)}]")
    return texts


def _is_alone(comment: str) -> bool:
    """Return whether a comment begins with its annotation, and ends with it: no empty line, no kernel-doc."""
    (annotation,) = annotations_in(comment)
    return comment.startswith(ANNOTATION) and comment.removeprefix(ANNOTATION).strip() == annotation


def _cut(text: str, comment: Comment) -> str:
    """Return a text without a comment, and without the blanks or the line that it leaves."""
    if text.startswith("/*", comment.at):
        end = text.index("*/", comment.at) + 2
    else:
        end = text.find("\n", comment.at) % (len(text) + 1)
        if text[comment.at : end].rstrip("\r").endswith("\\"):
            raise NotRemoved("its comment continues on the next line")
        end -= text[comment.at : end].endswith("\r")
    before, after = text[: comment.at], text[end:]
    head = before.rpartition("\n")[2]
    tail = after.partition("\n")[0]
    if not tail.strip():
        kept = before[: len(before) - len(head)] if not head.strip() else before.rstrip(" \t")
        return kept + (after[len(tail) + 1 :] if not head.strip() else after[len(tail.rstrip("\r")) :])
    return before + (after.lstrip(" \t") if not head.strip() or head.endswith((" ", "\t")) else after)


def _code(text: str) -> list[str]:
    """Return the tokens of the code, as far as blanks separate them."""
    return Text(text).code.split()
