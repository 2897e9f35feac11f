"""The words of an annotation: accesses, rules, suppressions (docs/annotations.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(r"[A-Za-z][\w-]*")
_IGNORED = re.compile(r"ignore\s*\[([^\[\]]*)\]\s*(.*)", re.DOTALL)
_WHY = re.compile(r"(?:^|\s)--(?:\s+|$)")
_BETWEEN = " \t\n,;"


class Malformed(Exception):
    """An annotation that says nothing that can be understood, and why."""


@dataclass(frozen=True, slots=True)
class Said:
    """One word of an annotation, with what stands in its parentheses: `separate(i_mmap, i_mmap_rwsem)`."""

    word: str
    """As rule files spell it: `hot-read` for `hot_read`."""
    arguments: tuple[str, ...] = ()
    has_arguments: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """Rules whose findings do not count, and why: `ignore[RULE] REASON`."""

    rules: tuple[str, ...]
    """Ids, or patterns of them."""
    reason: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an annotation says."""

    words: tuple[Said, ...] = ()
    ignored: Ignored | None = None
    why: str = ""


def parse(text: str) -> Meaning:
    """What the text behind `layoutlint:` says. Raises Malformed."""
    text = " ".join(text.split())
    ignored = _IGNORED.fullmatch(text)
    if ignored is not None:
        return Meaning(ignored=_ignored(ignored[1], ignored[2]))
    said, _, why = _cut(text)
    words = tuple(_words(said))
    if not words:
        raise Malformed(
            "it says nothing: an access (`hot-read`), a rule (`separate(a, b)`), or `ignore[RULE]`"
        )
    return Meaning(words, None, why)


def _cut(text: str) -> tuple[str, str, str]:
    """What stands before and behind ` -- `."""
    found = _WHY.search(text)
    return (text, "", "") if found is None else (text[: found.start()], found[0], text[found.end() :])


def _ignored(rules: str, reason: str) -> Ignored:
    reason = _WHY.sub("", reason, count=1).strip()
    named = tuple(rules.replace(",", " ").split())
    if not named:
        raise Malformed("`ignore[]` names no rule")
    if not reason:
        raise Malformed(f"`ignore[{rules}]` needs a reason behind it")
    return Ignored(named, reason)


def _words(text: str) -> Iterator[Said]:
    position = 0
    while position < len(text):
        if text[position] in _BETWEEN:
            position += 1
            continue
        word = _WORD.match(text, position)
        if word is None:
            raise Malformed(f"`{text[position:]}` is no access and no rule")
        position = word.end()
        arguments: tuple[str, ...] = ()
        has_arguments = text[position : position + 1] == "("
        if has_arguments:
            end = text.find(")", position)
            if end < 0:
                raise Malformed(f"`{word[0]}(` is not closed")
            arguments = _arguments(text[position + 1 : end])
            position = end + 1
        if position < len(text) and text[position] not in _BETWEEN:
            raise Malformed(f"`{text[word.start() :]}` is no access and no rule")
        yield Said(word[0].replace("_", "-"), arguments, has_arguments)


def _arguments(text: str) -> tuple[str, ...]:
    parts = [" ".join(part.split()) for part in text.split(",")]
    if parts == [""]:
        return ()
    if not all(parts):
        raise Malformed(f"`({text})` has an empty argument")
    return tuple(parts)
