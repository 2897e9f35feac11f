"""Turns the annotations of structs into rules, accesses and suppressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.intent.annotations.syntax import AnnotationError, Ignore, Meaning, Term, parse
from layoutlint.judgement.context import Access
from layoutlint.judgement.position import read_position
from layoutlint.judgement.rule import Key, Kind, Pack, Rule, Severity, StructIntent, place_as_why
from layoutlint.kinds import KINDS, find_kind
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Annotation, Source, Struct

NAME = "annotations"
"""The name of the pack of annotations."""
_CONTENDED = "contended"
_IMPLIED = "access"
_SUFFERS, _DISTURBS = ("hot-read", "read-mostly"), ("hot-write",)
"""Accesses that imply a rule of kind `access` if a struct declares both."""
_MOST_DIGITS = 10
_EXPECTED = {"boolean": "true or false", "integer": "a number"}


class Suppression(Record, frozen=True):
    """An annotation that suppresses findings on a struct or a field of it."""

    struct: str
    path: str
    """The path of the field; empty for the whole struct."""
    ignored: Ignore
    source: Source


class Intent(Record, frozen=True):
    """The rules, accesses and suppressions in the annotations of some structs."""

    pack: Pack
    suppressions: tuple[Suppression, ...] = ()


def intent_of(structs: Iterable[Struct], origin: str, accesses: tuple[str, ...]) -> Intent | None:
    """Return the intent in the annotations of the structs of one input; None if there are none.

    `accesses` are the words for accesses of fields. Raises RuleFileError with all mistakes.
    """
    reader = _RuleMaker(origin, accesses)
    for struct in structs:
        if struct.annotations:
            reader.read(struct)
    if reader.mistakes:
        raise RuleFileError(tuple(dict.fromkeys(reader.mistakes)))
    return reader.intent()


def suppressions_of(struct: Struct, origin: str) -> Iterator[Suppression]:
    """Yield the suppressions on a struct and its fields; raises AnnotationError."""
    for annotation in struct.annotations:
        ignored = parse(annotation.text).ignored
        if ignored is not None:
            source = annotation.source or Source(origin)
            yield Suppression(struct.name, annotation.path, ignored, source)


def _parameters(term: Term, path: str) -> dict[str, object]:
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
    elif path and not any(path in part.split() for part in fields):
        fields = (path, *fields)
    main = next((key for key in keys.values() if key.type in ("groups", "paths")), None)
    if fields and main is None:
        whole = "; it is about a struct: write it above the struct, or behind its brace" if path else ""
        raise AnnotationError(f"`{term.word}` names no fields{whole}")
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
    if key.type == "positions":
        try:
            return read_position(text)
        except ValueError as error:
            raise AnnotationError(f"`{key.name}` {error}") from None
    if key.type == "groups":
        return tuple((part,) for part in text.split())
    raise AnnotationError(f"`{key.name}` cannot be `{text}`: expected {_EXPECTED.get(key.type, key.type)}")


def _spellings(parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield parameters as a rule id spells them: fields by name, other keys as `KEY-VALUE`."""
    for name, value in parameters.items():
        if isinstance(value, tuple):
            for part in value:
                yield ".".join(part) if isinstance(part, tuple) else str(part)
        elif isinstance(value, str):
            yield value
        else:
            yield f"{name}-{str(value).lower()}"


class _RuleMaker(Record):
    origin: str
    words: tuple[str, ...]
    mistakes: list[str] = field(default_factory=list)
    rules: dict[str, Rule] = field(default_factory=dict)
    accesses: dict[str, dict[str, Access]] = field(default_factory=dict)
    suppressions: dict[Suppression, None] = field(default_factory=dict)

    def intent(self) -> Intent | None:
        """Return the intent read so far; None if there is none."""
        if not (self.rules or self.accesses or self.suppressions):
            return None
        structs = tuple(_struct(name, tuple(by_path.values())) for name, by_path in self.accesses.items())
        pack = Pack(NAME, self.origin, tuple(self.rules.values()), structs)
        return Intent(pack, tuple(self.suppressions))

    def read(self, struct: Struct) -> None:
        """Read the annotations of one struct."""
        for annotation in struct.annotations:
            try:
                self._read_annotation(struct, annotation, parse(annotation.text))
            except AnnotationError as error:
                self._note_mistake(struct, annotation, str(error))
        declared = self.accesses.get(struct.name, {})
        used = {access.access for access in declared.values()}
        if not used.isdisjoint(_SUFFERS) and not used.isdisjoint(_DISTURBS):
            first = next(iter(declared.values()))
            self._add_rule(
                struct, Term(_IMPLIED), first.source or Source(self.origin), {}, _access_reason(declared)
            )

    def _note_mistake(self, struct: Struct, annotation: Annotation, why: str) -> None:
        field = f"`{annotation.path}` of " if annotation.path else ""
        source = self._source_of(annotation)
        self.mistakes.append(f"{source}: annotation of {field}{struct.aggregate} {struct.name}: {why}")

    def _source_of(self, annotation: Annotation) -> Source:
        return annotation.source or Source(self.origin)

    def _read_annotation(self, struct: Struct, annotation: Annotation, meaning: Meaning) -> None:
        source = self._source_of(annotation)
        if meaning.ignored is not None:
            self.suppressions[Suppression(struct.name, annotation.path, meaning.ignored, source)] = None
        contended = any(term.word == _CONTENDED for term in meaning.words)
        for term in meaning.words:
            if term.word in self.words and not term.has_arguments:
                self._add_access(struct, annotation, term.word, contended)
            elif term.word == _CONTENDED and not term.has_arguments:
                self._need_access(meaning)
            elif term.word in KINDS:
                why = meaning.why or place_as_why(source)
                self._add_rule(struct, term, source, _parameters(term, annotation.path), why)
            else:
                raise AnnotationError(_unknown_word(term, self.words))

    def _need_access(self, meaning: Meaning) -> None:
        if not any(term.word in self.words for term in meaning.words):
            raise AnnotationError("`contended` needs an access: `hot-write, contended`")

    def _add_access(self, struct: Struct, annotation: Annotation, word: str, contended: bool) -> None:
        if not annotation.path:
            raise AnnotationError(f"`{word}` is for a field, not for a whole struct")
        access = Access(annotation.path, word, contended, self._source_of(annotation))
        earlier = self.accesses.setdefault(struct.name, {}).setdefault(annotation.path, access)
        if (earlier.access, earlier.contended) != (access.access, access.contended):
            raise AnnotationError(
                f"`{_spelling(access)}` contradicts `{_spelling(earlier)}` at {earlier.source}"
            )

    def _add_rule(
        self, struct: Struct, term: Term, source: Source, parameters: Mapping[str, object], why: str
    ) -> None:
        kind = find_kind(term.word)
        if kind is None:
            raise AnnotationError(_unknown_word(term, self.words))
        try:
            instance = cast("Callable[..., Kind]", kind)(**parameters)
        except (TypeError, ValueError) as error:
            hint = "" if term.has_arguments else f" (arguments follow in brackets: `{term.word}(...)`)"
            raise AnnotationError(f"`{term.word}`: {error}{hint}") from None
        id_ = "/".join((struct.name, term.word, *_spellings(parameters)))
        self.rules.setdefault(
            id_,
            Rule(
                id_,
                struct.name,
                instance,
                Severity.ERROR,
                why,
                source,
                (f"annotation at {source}",),
                pack=NAME,
                by="annotation",
            ),
        )


def _struct(name: str, accesses: tuple[Access, ...]) -> StructIntent:
    return StructIntent(name, accesses[0].source or Source(name), accesses=accesses)


def _spelling(access: Access) -> str:
    return f"{access.access}, contended" if access.contended else access.access


def _access_reason(declared: dict[str, Access]) -> str:
    """Return the reason of the rule that accesses imply."""
    read = [path for path, access in declared.items() if access.access in _SUFFERS]
    written = [path for path, access in declared.items() if access.access in _DISTURBS]
    return f"declared as read: {_quoted_paths(read)}; as written: {_quoted_paths(written)}"


def _quoted_paths(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def _unknown_word(term: Term, words: tuple[str, ...]) -> str:
    if term.word == "ignore":
        return "`ignore` names its rules in brackets: write `ignore[RULE] REASON`"
    near = did_you_mean(term.word, [*words, *KINDS, "ignore", _CONTENDED])
    return f"`{term.word}` is neither an access nor a rule kind{near}"
