"""Turns the arguments of an annotation into the parameters of a rule kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutlint.errors import did_you_mean
from layoutlint.intent.annotations.syntax import AnnotationError, Term
from layoutlint.judgement.rule import Key
from layoutlint.kinds import find_kind

_MOST_DIGITS = 10
_EXPECTED = {"boolean": "true or false", "integer": "a number"}


def values(term: Term, path: str) -> dict[str, object]:
    """Return the parameters for the constructor of a kind, from a term and the path of its field.

    Raises AnnotationError.
    """
    kind = find_kind(term.word)
    keys = {} if kind is None else {key.name: key for key in kind.keys}
    parameters = dict(_keyword_arguments(term, keys))
    fields = tuple(part for part in term.arguments if "=" not in part)
    path_key = next(
        (key for key in keys.values() if key.type == "path" and key.parameter not in parameters), None
    )
    if path and path_key is not None:
        parameters[path_key.parameter] = path
    elif path and not _has_path(fields, path):
        fields = (path, *fields)
    main = next((key for key in keys.values() if key.type in ("groups", "paths")), None)
    if fields and main is None:
        raise AnnotationError(f"`{term.word}` names no fields")
    if fields and main is not None:
        groups = tuple(tuple(part.split()) for part in fields)
        parameters[main.parameter] = groups if main.type == "groups" else sum(groups, ())
    for key in keys.values():
        if key.required and key.parameter not in parameters:
            raise AnnotationError(f"`{term.word}` needs `{key.name}`: {key.doc}")
    return parameters


def _keyword_arguments(term: Term, keys: Mapping[str, Key]) -> Iterator[tuple[str, object]]:
    """Yield the arguments with a key (`max=64`), each as parameter and value."""
    for part in term.arguments:
        name, equals, text = (word.strip() for word in part.partition("="))
        if equals and name not in keys:
            raise AnnotationError(f"`{term.word}` has no key `{name}`{did_you_mean(name, keys)}")
        if equals:
            yield keys[name].parameter, _value(keys[name], text)


def _has_path(fields: tuple[str, ...], path: str) -> bool:
    return any(path in part.split() for part in fields)


def _value(key: Key, text: str) -> object:
    """Return the value of a key. Raises AnnotationError."""
    if key.type == "boolean" and text in ("true", "false"):
        return text == "true"
    if key.type == "integer" and text.isdecimal() and len(text) < _MOST_DIGITS:
        return int(text)
    if key.type in ("paths", "words"):
        return tuple(text.split())
    if key.type in ("path", "word"):
        return text
    if key.type == "groups":
        return tuple((part,) for part in text.split())
    raise AnnotationError(f"`{key.name}` cannot be `{text}`: expected {_EXPECTED.get(key.type, key.type)}")


def spellings(parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield parameters as a rule id spells them: fields by name, other keys as `KEY-VALUE`."""
    for name, value in parameters.items():
        if isinstance(value, tuple):
            for part in value:
                yield ".".join(part) if isinstance(part, tuple) else str(part)
        elif isinstance(value, str):
            yield value
        else:
            yield f"{name}-{str(value).lower()}"
