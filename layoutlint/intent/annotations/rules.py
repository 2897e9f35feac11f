"""Annotations of structs as the tables of a rule file: rules, accesses, and what is not to count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from layoutlint.errors import RuleFileError, did_you_mean
from layoutlint.intent.annotations.grammar import Ignored, Malformed, Meaning, Said, parse
from layoutlint.intent.annotations.parameters import spellings, values
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Kind, Pack, Rule, Severity, StructIntent
from layoutlint.kinds import KINDS, kind_named
from layoutlint.model.structs import Annotation, Source, Struct

NAME = "annotations"
"""What the pack of annotations is called, and what the ids of its rules begin with."""
_CONTENDED = "contended"
_IMPLIED = "access"
_SUFFERS, _DISTURBS = ("hot-read", "read-mostly"), ("hot-write",)
"""Accesses that make the rule of kind `access` worth judging, when both are declared."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings on a struct, or on a field of it, that somebody wants ignored."""

    struct: str
    path: str
    """Of the field; empty for the whole struct."""
    ignored: Ignored
    source: Source


@dataclass(frozen=True, slots=True)
class Intent:
    """What the annotations of some structs say."""

    pack: Pack
    suppressions: tuple[Suppression, ...] = ()


def intent_of(structs: Iterable[Struct], origin: str, accesses: tuple[str, ...]) -> Intent | None:
    """What the annotations of structs of one input say; None where there are none.

    `accesses` are the words for uses of fields. Raises RuleFileError with every mistake.
    """
    reader = _Reader(origin, accesses)
    for struct in structs:
        if struct.annotations:
            reader.take(struct)
    if reader.mistakes:
        raise RuleFileError(tuple(dict.fromkeys(reader.mistakes)))
    return reader.intent()


@dataclass(slots=True)
class _Reader:
    origin: str
    words: tuple[str, ...]
    mistakes: list[str] = field(default_factory=list)
    rules: dict[str, Rule] = field(default_factory=dict)
    accesses: dict[str, dict[str, Access]] = field(default_factory=dict)
    suppressions: dict[Suppression, None] = field(default_factory=dict)

    def intent(self) -> Intent | None:
        """All that was taken."""
        if not (self.rules or self.accesses or self.suppressions):
            return None
        structs = tuple(_struct(name, tuple(found.values())) for name, found in self.accesses.items())
        pack = Pack(NAME, self.origin, tuple(self.rules.values()), structs)
        return Intent(pack, tuple(self.suppressions))

    def take(self, struct: Struct) -> None:
        """One definition."""
        for annotation in struct.annotations:
            try:
                self._take(struct, annotation, parse(annotation.text))
            except Malformed as error:
                self._wrong(struct, annotation, str(error))
        declared = self.accesses.get(struct.name, {})
        used = {access.access for access in declared.values()}
        if not used.isdisjoint(_SUFFERS) and not used.isdisjoint(_DISTURBS):
            first = next(iter(declared.values()))
            self._rule(struct, Said(_IMPLIED), first.source or Source(self.origin), {}, _why_access(declared))

    def _wrong(self, struct: Struct, annotation: Annotation, why: str) -> None:
        at = f"`{annotation.path}` of " if annotation.path else ""
        place = self._place(annotation)
        self.mistakes.append(f"{place}: annotation of {at}{struct.aggregate} {struct.name}: {why}")

    def _place(self, annotation: Annotation) -> Source:
        return annotation.source or Source(self.origin)

    def _take(self, struct: Struct, annotation: Annotation, meaning: Meaning) -> None:
        place = self._place(annotation)
        if meaning.ignored is not None:
            self.suppressions[Suppression(struct.name, annotation.path, meaning.ignored, place)] = None
        contended = any(said.word == _CONTENDED for said in meaning.words)
        for said in meaning.words:
            if said.word in self.words and not said.has_arguments:
                self._access(struct, annotation, said.word, contended)
            elif said.word == _CONTENDED and not said.has_arguments:
                self._need_access(meaning)
            elif said.word in KINDS:
                why = meaning.why or f"declared at {place}"
                self._rule(struct, said, place, values(said, annotation.path), why)
            else:
                raise Malformed(_unknown(said, self.words))

    def _need_access(self, meaning: Meaning) -> None:
        if not any(said.word in self.words for said in meaning.words):
            raise Malformed("`contended` needs an access beside it: `hot-write, contended`")

    def _access(self, struct: Struct, annotation: Annotation, word: str, contended: bool) -> None:
        if not annotation.path:
            raise Malformed(f"`{word}` is said of a field, not of a whole struct")
        found = Access(annotation.path, word, contended, self._place(annotation))
        known = self.accesses.setdefault(struct.name, {}).setdefault(annotation.path, found)
        if (known.access, known.contended) != (found.access, found.contended):
            raise Malformed(f"`{_spelled(found)}` contradicts `{_spelled(known)}` at {known.source}")

    def _rule(self, struct: Struct, said: Said, place: Source, given: Mapping[str, object], why: str) -> None:
        kind = kind_named(said.word)
        if kind is None:
            raise Malformed(_unknown(said, self.words))
        try:
            built = cast("Callable[..., Kind]", kind)(**given)
        except (TypeError, ValueError) as error:
            raise Malformed(f"`{said.word}`: {error}") from None
        id_ = "/".join((struct.name, said.word, *spellings(given)))
        self.rules.setdefault(
            id_,
            Rule(
                id_,
                struct.name,
                built,
                Severity.ERROR,
                why,
                place,
                (f"annotation at {place}",),
                pack=NAME,
                by="annotation",
            ),
        )


def _struct(name: str, accesses: tuple[Access, ...]) -> StructIntent:
    return StructIntent(name, accesses[0].source or Source(name), accesses=accesses)


def _spelled(access: Access) -> str:
    return f"{access.access}, contended" if access.contended else access.access


def _why_access(declared: dict[str, Access]) -> str:
    """Why the rule is there that accesses imply: what they say."""
    read = [path for path, access in declared.items() if access.access in _SUFFERS]
    written = [path for path, access in declared.items() if access.access in _DISTURBS]
    return f"declared as read: {_listed(read)}; as written: {_listed(written)}"


def _listed(paths: list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def _unknown(said: Said, words: tuple[str, ...]) -> str:
    near = did_you_mean(said.word, [*words, *KINDS, "ignore", _CONTENDED])
    return f"`{said.word}` is no access and no kind of rule{near}"
