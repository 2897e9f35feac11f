"""Parses annotations: accesses, rules, suppressions (docs/annotations.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.model.record import Record
from layoutlint.model.structs import ANNOTATION, ANNOTATION_NAME, MISSPELT_ANNOTATION_NAMES

_WITHOUT_COLON = re.compile(rf"{ANNOTATION_NAME} (?:: ?)?(.*)")
_MISSPELT = re.compile(rf"({'|'.join(MISSPELT_ANNOTATION_NAMES)}) ?(?:: ?)?(.*)")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_IGNORE = re.compile(r"ignore\s*\[([^\[\]]*)\]\s*(.*)", re.DOTALL)
_WHY = re.compile(r"(?:^|\s)--(?:\s+|$)")
_UNTIL = re.compile(r"until\s+(\d[^\s,;:]*)[,;:]?(?:\s+|$)")
_UNTIL_AS_KEY = re.compile(r"until\s*[=:]\s*\d\S*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SEPARATORS = " \t\n,;"


class AnnotationError(Exception):
    """An annotation that cannot be parsed, with the reason."""


class Term(Record, frozen=True):
    """One word of an annotation with its arguments: `separate(i_mmap, i_mmap_rwsem)`."""

    word: str
    """As rule files spell it: `hot-read` for `hot_read`."""
    arguments: tuple[str, ...] = ()
    has_arguments: bool = False


class Ignore(Record, frozen=True):
    """Rules whose findings are suppressed, with the reason: `ignore[RULE] until 2027-01-31 REASON`."""

    rules: tuple[str, ...]
    """Ids, or patterns of them."""
    reason: str
    until: str | None = None
    """The last day on which it counts, as YYYY-MM-DD; None for no end."""

    def is_expired(self, today: str) -> bool:
        """Return whether it does not count any more on a day, given as YYYY-MM-DD."""
        return self.until is not None and self.until < today


class Meaning(Record, frozen=True):
    """A parsed annotation: its terms and their reason, or a suppression."""

    words: tuple[Term, ...] = ()
    ignored: Ignore | None = None
    why: str = ""


def parse(text: str) -> Meaning:
    """Parse the text after `layoutlint:`. Raises AnnotationError."""
    text = " ".join(text.split())
    if slip := _WITHOUT_COLON.fullmatch(text):
        raise AnnotationError(f"a colon is missing: write `{ANNOTATION} {slip[1]}`")
    if slip := _MISSPELT.fullmatch(text):
        raise AnnotationError(f"`{slip[1]}` does not begin an annotation: write `{ANNOTATION} {slip[2]}`")
    match = _IGNORE.fullmatch(text)
    if match is not None:
        return Meaning(ignored=_parse_ignore(match[1], match[2]))
    text, _, why = _split_reason(text)
    terms = tuple(_parse_terms(text))
    if not terms:
        raise AnnotationError(
            "it is empty: write an access (`hot-read`), a rule (`separate(a, b)`), or `ignore[RULE]`"
        )
    return Meaning(terms, None, why)


def without_reason(text: str) -> str:
    """Return an annotation without the reason after ` -- `."""
    return _split_reason(text)[0]


def _split_reason(text: str) -> tuple[str, str, str]:
    """Return the text before ` -- `, the separator, and the reason after it."""
    match = _WHY.search(text)
    return (text, "", "") if match is None else (text[: match.start()], match[0], text[match.end() :])


def _parse_ignore(rules: str, reason: str) -> Ignore:
    until, reason = _split_until(reason)
    reason = _WHY.sub("", reason, count=1).strip()
    ids = tuple(rules.replace(",", " ").split())
    if not ids:
        raise AnnotationError("`ignore[]` names no rule: write `ignore[RULE] REASON`")
    if not reason:
        raise AnnotationError(f"`ignore[{rules}]` needs a reason after it: `ignore[{rules}] REASON`")
    return Ignore(ids, reason, until)


def _split_until(text: str) -> tuple[str | None, str]:
    """Return the date of `until DATE`, if a text begins with it, and the rest. Raises AnnotationError."""
    match = _UNTIL.match(text)
    if match is None:
        if key := _UNTIL_AS_KEY.match(text):
            raise AnnotationError(f"`{key[0]}`: write the date after a space, such as `until 2027-01-31`")
        return None, text
    if not is_date(match[1]):
        raise AnnotationError(f"`until {match[1]}`: expected a date, such as 2027-01-31")
    return match[1], text[match.end() :]


def is_date(text: str) -> bool:
    """Return whether a text is a date as YYYY-MM-DD."""
    if _DATE.fullmatch(text) is None:
        return False
    from datetime import date  # few suppressions have a date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _parse_terms(text: str) -> Iterator[Term]:
    position = 0
    while position < len(text):
        if text[position] in _SEPARATORS:
            position += 1
            continue
        word = _WORD.match(text, position)
        if word is None:
            raise AnnotationError(f"`{text[position:]}` is neither an access nor a rule")
        position = word.end()
        arguments: tuple[str, ...] = ()
        has_arguments = text[position : position + 1] == "("
        if has_arguments:
            end = text.find(")", position)
            if end < 0:
                raise AnnotationError(f"`{word[0]}(` is not closed")
            arguments = _arguments(text[position + 1 : end])
            position = end + 1
        if position < len(text) and text[position] not in _SEPARATORS:
            raise AnnotationError(f"`{text[word.start() :]}` is neither an access nor a rule")
        yield Term(word[0].replace("_", "-"), arguments, has_arguments)


def _arguments(text: str) -> tuple[str, ...]:
    parts = [" ".join(part.split()) for part in text.split(",")]
    if parts == [""]:
        return ()
    if not all(parts):
        raise AnnotationError(f"`({text})` has an empty argument")
    return tuple(parts)
