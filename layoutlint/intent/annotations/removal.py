"""Removes suppressions from C text: comments that hold nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from layoutlint.intent.annotations.comments import annotations_in
from layoutlint.intent.annotations.syntax import AnnotationError, parse
from layoutlint.intent.c_comments import Comment, Text
from layoutlint.model.structs import ANNOTATION

_CHANGES = "the text around it would change"
_APART = ("", *" \t\r\n{};,")
"""What stands before or behind a comment that separates no tokens."""


class NotRemoved(Exception):
    """A suppression that cannot be removed, with the reason."""


Suppression = tuple[int, str]
"""The line of a comment, and `ignore[RULE, ...]` in it."""


def without_suppressions(
    text: str, suppressions: Iterable[Suppression]
) -> tuple[str, dict[Suppression, str]]:
    """Return C text without the comments that are only these suppressions, and why others stay.

    A line of its own goes with a comment. The text is parsed once before and once after the changes.
    """
    parsed = Text(text)
    by_line: dict[int, list[Comment]] = defaultdict(list)
    for comment in parsed.comments:
        by_line[comment.line].append(comment)
    result, reasons, removed = text, dict[Suppression, str](), dict[Suppression, Comment]()
    for suppression in sorted(suppressions):
        try:
            removed[suppression] = _only_comment(by_line[suppression[0]], suppression[1])
        except NotRemoved as error:
            reasons[suppression] = str(error)
    for suppression, comment in sorted(removed.items(), key=lambda item: item[1].at, reverse=True):
        try:
            result = _cut(result, comment)
        except NotRemoved as error:
            reasons[suppression] = str(error)
    gone = {comment.at for suppression, comment in removed.items() if suppression not in reasons}
    rest, after = [comment.text for comment in parsed.comments if comment.at not in gone], Text(result)
    if after.code.split() != parsed.code.split() or [comment.text for comment in after.comments] != rest:
        return text, {**dict.fromkeys(removed, _CHANGES), **reasons}
    return result, reasons


def _only_comment(there: list[Comment], suppression: str) -> Comment:
    """Return the comment that is only a suppression, of those on a line. Raises NotRemoved."""
    matching = [comment for comment in there if suppression in _suppressions(comment.text)]
    if len(matching) != 1:
        raise NotRemoved("its line has no comment with it" if not matching else "its line has it twice")
    if len(_suppressions(matching[0].text)) > 1 or not _is_alone(matching[0].text):
        raise NotRemoved("its comment says more than this")
    return matching[0]


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
    if before[-1:] not in _APART and after[:1] not in _APART:
        raise NotRemoved(_CHANGES)
    head = before.rpartition("\n")[2]
    tail = after.partition("\n")[0]
    if not tail.strip():
        kept = before[: len(before) - len(head)] if not head.strip() else before.rstrip(" \t")
        return kept + (after[len(tail) + 1 :] if not head.strip() else after[len(tail.rstrip("\r")) :])
    return before + (after.lstrip(" \t") if not head.strip() or head.endswith((" ", "\t")) else after)
