"""The arguments of a word of an annotation as the parameters of a rule kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutlint.errors import did_you_mean
from layoutlint.intent.annotations.grammar import Malformed, Said
from layoutlint.judgement.rule import Key
from layoutlint.kinds import kind_named

_MOST_DIGITS = 10
_WANTED = {"boolean": "true or false", "integer": "a number"}


def values(said: Said, path: str) -> dict[str, object]:
    """The parameters of a kind, as its constructor takes them, from arguments and the field they stand at.

    Raises Malformed.
    """
    kind = kind_named(said.word)
    keys = {} if kind is None else {key.name: key for key in kind.keys}
    found = dict(_named(said, keys))
    fields = tuple(part for part in said.arguments if "=" not in part)
    own = next((key for key in keys.values() if key.type == "path" and key.parameter not in found), None)
    if path and own is not None:
        found[own.parameter] = path
    elif path and not _names(fields, path):
        fields = (path, *fields)
    main = next((key for key in keys.values() if key.type in ("groups", "paths")), None)
    if fields and main is None:
        raise Malformed(f"`{said.word}` names no fields")
    if fields and main is not None:
        groups = tuple(tuple(part.split()) for part in fields)
        found[main.parameter] = groups if main.type == "groups" else sum(groups, ())
    for key in keys.values():
        if key.required and key.parameter not in found:
            raise Malformed(f"`{said.word}` needs `{key.name}`: {key.doc}")
    return found


def _named(said: Said, keys: Mapping[str, Key]) -> Iterator[tuple[str, object]]:
    """The arguments with a key before them: `max=64`."""
    for part in said.arguments:
        name, equals, text = (word.strip() for word in part.partition("="))
        if equals and name not in keys:
            raise Malformed(f"`{said.word}` has no key `{name}`{did_you_mean(name, keys)}")
        if equals:
            yield keys[name].parameter, _value(keys[name], text)


def _names(fields: tuple[str, ...], path: str) -> bool:
    return any(path in part.split() for part in fields)


def _value(key: Key, text: str) -> object:
    """The value of a key. Raises Malformed."""
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
    raise Malformed(f"`{key.name}` cannot be `{text}`: wanted {_WANTED.get(key.type, key.type)}")


def spellings(given: Mapping[str, object]) -> Iterator[str]:
    """Parameters as they stand in an id: fields by name, other keys with theirs."""
    for name, value in given.items():
        if isinstance(value, tuple):
            for part in value:
                yield ".".join(part) if isinstance(part, tuple) else str(part)
        elif isinstance(value, str):
            yield value
        else:
            yield f"{name}-{str(value).lower()}"
