"""Search of all sources at hand for what depends on the order of a struct's members."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial

from layoutlint import files
from layoutlint.model.flows import Flows
from layoutlint.model.reading import Progress, no_progress
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few, quantity
from layoutlint.sources.order_uses import definition, flow_uses, foreign, overlays, scan, sources
from layoutlint.sources.order_uses.casts import Cast
from layoutlint.sources.order_uses.containers import TextContainer
from layoutlint.sources.order_uses.expansion import MacroText
from layoutlint.sources.order_uses.facts import LookedAt, OrderUse, Search, UnresolvedUse
from layoutlint.sources.order_uses.overlays import Leading, Overlay
from layoutlint.sources.order_uses.scan import Expansions, FileUses, SecondPass
from layoutlint.sources.order_uses.subject import Subject, with_names
from layoutlint.workers import bounded_text
from layoutlint.workers.pool import processors
from layoutlint.workers.sandbox import Patience, WorkFailure

_MANY = 400
"""The number of files that is worth several processes."""
_CHUNK = 100
_MOST_EQUAL = 20
"""The most uses that are listed of those that forbid the same."""
_MOST_MACROS = 2000
"""The most macros whose definitions are searched in files that do not name the struct."""
_MOST_ROUNDS = 8
"""The most further searches for what typedefs and macros lead to."""
_MOST_MACRO_SEARCHES = 3
"""The most further searches for macros that other macros name."""
_MOST_CONTAINERS = 30
"""The most containers whose own containers are searched."""
_DEEPEST = 8
_WITH_BODY = re.compile(rb"\bstruct\s++([\w\x80-\xff]++)(?=[^;{}()]{0,400}+\{)")
_ONCE_A_FILE = ("group-assertion", "offset-assertion")
"""The kinds of which a file often has many that forbid the same."""


def find_order_uses(
    struct: Struct,
    paths: Sequence[str],
    jobs: int = 0,
    progress: Progress = no_progress,
    flows: Flows | None = None,
    groups: tuple[tuple[int, int], ...] = (),
) -> Search:
    """Return what depends on the order of a struct's members in some files and folders.

    `flows` are the flows of addresses in their functions, if these can be parsed. `groups` are structs
    without a name in it whose members are among its fields: the first of them, and the one behind the last.

    0 jobs mean one process for each processor. Failures to read are sentences in the result, also
    of files that take too long.
    """
    subject = Subject(struct, _typedef_names(struct), (), groups)
    c_sources = sources.find(paths)
    facts = tuple(definition.facts(subject))
    if not subject.names:
        sentences = ("no file was searched: the struct has no name in C",)
        return Search(facts, LookedAt(), (*c_sources.missing, *sentences))
    spread = partial(_spread, jobs=jobs, progress=progress, patience=bounded_text.patience())
    return _UseSearch(subject, c_sources, spread, flows).search(facts)


def facts_of(struct: Struct) -> tuple[OrderUse, ...]:
    """Return what the struct itself shows to depend on the order of its members, without any source."""
    return tuple(definition.facts(Subject(struct)))


def sources_that_name(
    struct: Struct, paths: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the C sources among some paths that name a struct, its names, and the other sources.

    If none names it, one that includes the header which defines it shows what is in this header; or the
    header itself.
    """
    typedefs = _typedef_names(struct)
    names = ((struct.name,) if struct.is_tagged else ()) + typedefs
    word = _pattern_of(struct, names, typedefs)
    place = struct.source.file if struct.source else "?"
    header = os.path.basename(place)
    include = re.compile(rf'#[ \t]*include[ \t]*["<](?:[^">\n]*/)?{re.escape(header)}[">]'.encode())
    naming, including, headers, others = list[str](), list[str](), list[str](), list[str]()
    for path in sources.find(paths).files if names else ():
        is_header = f"/{path}".endswith(f"/{place}")
        if not is_header and not path.endswith(".c"):
            continue
        with suppress(OSError):
            data = scan.read(path)
            if not path.endswith(".c"):
                headers += [path] if word.search(data) else []
                continue
            (naming if word.search(data) or b"##" in data else others).append(path)
            if not including and include.search(data):
                including.append(path)
    users = naming or including or headers
    return tuple(users), names, tuple(path for path in others if path not in users)


def _pattern_of(struct: Struct, names: Sequence[str], typedefs: Sequence[str]) -> re.Pattern[bytes]:
    """Return a pattern of what names a struct: its type, or the tag alone, behind or in a macro."""
    tag = rf"{struct.aggregate}\s+{re.escape(struct.name)}\b" if struct.is_tagged else "(?!)"
    aliases = "|".join(map(re.escape, typedefs)) or "(?!)"
    words = "|".join(map(re.escape, names))
    return re.compile(rf"{tag}|\b(?:{aliases})\b|(?:[(,]|\b[A-Z][A-Z0-9_]*\s)\s*(?:{words})\b".encode())


def _typedef_names(struct: Struct) -> tuple[str, ...]:
    names = struct.aliases if struct.is_tagged else (struct.name, *struct.aliases)
    return tuple(name for name in dict.fromkeys(names) if name.isidentifier())


Spread = Callable[[Callable[[str], FileUses], Sequence[str]], Iterator[FileUses]]


def _spread(
    work: Callable[[str], FileUses],
    paths: Sequence[str],
    jobs: int,
    progress: Progress,
    patience: Patience,
) -> Iterator[FileUses]:
    """Yield the results of files that say something, by several processes if there are many files.

    A file that takes too long says that it could not be searched.
    """
    number = jobs or (processors() if len(paths) >= _MANY else 1)
    chunks = [paths[at : at + _CHUNK] for at in range(0, len(paths), _CHUNK)]
    for done, results in enumerate(bounded_text.map_ordered(work, chunks, number, patience)):
        progress("sources", min((done + 1) * _CHUNK, len(paths)), len(paths))
        for path, result in zip(chunks[done], results, strict=True):
            uses = (
                FileUses(path, unread=result.how, mentions=True)
                if isinstance(result, WorkFailure)
                else result
            )
            if uses != FileUses(path):
                yield uses


class _UseSearch:
    """One search."""

    def __init__(
        self, subject: Subject, c_sources: sources.Corpus, spread: Spread, flows: Flows | None
    ) -> None:
        self._flows = flows
        self._flow_uses: flow_uses.FlowUses | None = None
        self._subject = subject
        self._sources = c_sources
        self._spread = spread
        self._files: list[FileUses] = []
        self._table: dict[str, tuple[MacroText, ...]] = {}
        self._callers: frozenset[str] = frozenset()
        self._containers: dict[str, list[TextContainer]] = {}
        self._container_places: set[tuple[object, ...]] = set()
        self._first_members: dict[str, str] = {}
        self._typedefs: dict[str, str] = {}
        self._bodies: dict[str, tuple[Leading, ...]] = {}
        self._macros_searched: frozenset[str] = frozenset()
        self._has_more_names = False
        self._sentences: list[str] = list(c_sources.missing)

    def search(self, facts: tuple[OrderUse, ...]) -> Search:
        """Return the result."""
        self._search_files()
        self._add_flows()
        self._settle_text_uses()
        has_one_member = self._has_one_member()
        self._settle_unions(has_one_member)
        self._search_around()
        self._settle_unions(has_one_member)
        uses = [*facts, *(use for file in self._files for use in file.uses)]
        uses += self._uses_by_macros()
        uses += self._unclear_uses()
        names = flow_uses.names_with_objects(self._flow_uses) if self._flow_uses else ((), ())
        uses += foreign.uses(self._sources, self._subject, *names)
        uses += self._uses_by_casts()
        uses += self._uses_by_overlays()
        uses += self._uses_by_containers()
        marks = [mark for file in self._files for mark in file.marks]
        struct = self._subject.struct
        is_free = (
            struct.is_randomisable or struct.randomised is not None or any(m.is_randomised for m in marks)
        )
        if is_free:
            source = struct.source
            text = "the struct is marked `__randomize_layout`, so that all of its users must accept any order"
            uses.append(
                OrderUse(
                    "randomised",
                    source.file if source else "",
                    source.line if source else None,
                    text,
                    is_note=True,
                )
            )
        free = (
            self._subject.members
            if is_free
            else next((m.random_members for m in marks if m.random_members), ())
        )
        return Search(
            tuple(_limit_uses(uses)), self._search_extent(),
            tuple(dict.fromkeys((*self._sentences, *self._limits()))),
            is_free, free,
        )  # fmt: skip

    def _search_files(self) -> None:
        """Search all files, and again for the typedefs and macros that they show."""
        self._files = self._search(self._sources.files, only_names=True)
        for _ in range(_MOST_ROUNDS):
            if not self._add_names():
                break
            self._files = self._search(self._sources.files, only_names=True)
        else:
            self._has_more_names = self._add_names()
        self._add_macros(self._files)
        self._files = self._search_again({file.path for file in self._files if file.mentions})
        for _ in range(_MOST_MACRO_SEARCHES):
            missing = self._macros_to_find() - self._macros_searched
            if not missing:
                break
            known = set(self._table)
            self._ask(SecondPass(missing, {}, False, frozenset(), {}, self._table, frozenset()))
            made = self._table.keys() - known
            paths = {
                each.path for each in self._files if any(use.name in made for use in each.by_macro)
            }
            self._files = self._search_again(paths)

    def _add_flows(self) -> None:
        """Add the uses that the flows of addresses show."""
        if self._flows is None:
            return
        paths = {files.real_path(path): path for path in self._sources.files}
        self._flow_uses = flow_uses.FlowUses(self._flows, self._subject)
        for file, use in flow_uses.uses(self._flow_uses):
            each = FileUses(paths.get(files.real_path(file), file), mentions=True)
            if isinstance(use, Cast):
                each.casts = (use,)
            else:
                each.uses = (replace(use, file=each.path),)
            self._files.append(each)

    def _settle_text_uses(self) -> None:
        """Keep the uses that the text seems to show, except in functions whose flows were read."""
        spans: dict[str, list[tuple[int, int]]] = {}
        if self._flows is not None:
            for each in self._flows.defined:
                spans.setdefault(files.real_path(each.file), []).append((each.line, each.last))
        for uses in self._files:
            own = spans.get(files.real_path(uses.path), []) if uses.by_text else []
            conditions = scan.condition_lines(uses.path) if own else ()
            own = [span for span in own if not any(span[0] < line < span[1] for line in conditions)]
            uses.unresolved += tuple(
                use for use in uses.by_text if not any(first <= use.line <= last for first, last in own)
            )

    def _has_one_member(self) -> bool:
        """Return whether only the struct is used of each union around it, in all files."""
        if self._flows is None or self._flows.notes:
            return False
        others = flow_uses.other_members(self._flows)
        if others is None:
            return False
        read = {files.real_path(each.file) for each in self._flows.defined}
        naming = {file.path for file in self._files if file.mentions}
        names = "|".join(map(re.escape, others))
        # Not the end of a header's name: `#include <linux/s.h>`.
        word = re.compile(rf"^(?![ \t]*#[ \t]*include).*(?:->|\.)\s*(?:{names})\b".encode(), re.MULTILINE)
        for path in (*self._sources.files, *self._sources.other_language):
            is_read = (path.endswith(".c") or path in naming) and files.real_path(path) in read
            try:
                if not is_read and word.search(scan.read(path)):
                    return False
            except OSError:
                return False
        return True

    def _settle_unions(self, has_one_member: bool) -> None:
        """Keep the uses by members of unions, unless programs use one member alone."""
        for each in self._files:
            kept = [] if has_one_member else [part.use for part in each.by_union]
            each.by_union = ()
            each.uses += tuple(use for use in kept if isinstance(use, OrderUse))
            each.overlays += tuple(use for use in kept if isinstance(use, Overlay))
            each.unresolved += tuple(use for use in kept if isinstance(use, UnresolvedUse))

    def _search(self, paths: Sequence[str], only_names: bool = False) -> list[FileUses]:
        expansions = Expansions(self._table, self._callers)
        work = partial(
            scan.search_file, subject=self._subject, expansions=expansions, only_names=only_names
        )
        return list(self._spread(work, paths))

    def _search_again(self, paths: set[str]) -> list[FileUses]:
        """Return what all files say, some of which are searched with the macros that others define."""
        if not paths:
            return self._files
        chosen = [path for path in self._sources.files if path in paths]
        made = {each.path: each for each in self._search(chosen)}
        return [file if file.unread else made.get(file.path, file) for file in self._files]

    def _add_macros(self, answers: Iterable[FileUses]) -> None:
        for each in answers:
            for name, texts in each.macros.items():
                known = self._table.get(name, ())
                self._table[name] = (*known, *(text for text in texts if text not in known))

    def _add_names(self) -> bool:
        """Add the typedefs and macros that lead to the struct; return whether there are more of them."""
        aliases = {name for file in self._files for name in file.aliases} - set(self._subject.aliases)
        arrays = {array for file in self._files for array in file.arrays} - set(self._subject.arrays)
        self._subject = with_names(self._subject, aliases, arrays)
        self._add_macros(self._files)
        callers = self._names_by_macros() | {name for name, _ in self._subject.arrays}
        is_more = bool(aliases or arrays or callers - self._callers)
        self._callers = frozenset(callers)
        return is_more

    def _names_by_macros(self) -> set[str]:
        """Return the macros that name the type by value, or make a tag out of parts."""
        value = re.compile(rf"{self._subject.type_pattern}(?!\s*[*)])") if self._subject.names else None
        names: set[str] = set()
        for _ in range(_DEEPEST):
            words = re.compile("|".join(rf"\b{name}\b" for name in sorted(names)) or "(?!)")
            more = {
                name
                for name, texts in self._table.items()
                for text in texts
                if (value is not None and value.search(text.body)) or scan.can_paste(text, self._subject)
                or words.search(text.body)
            }  # fmt: skip
            if more <= names:
                break
            names |= more
        return names

    def _search_around(self) -> None:
        """Search definitions of macros, initialisers of containers, and the first members of cast structs."""
        for each in self._files:
            self._typedefs.update(each.typedefs)
            self._add_containers(each.containers)
        self._add_containers(self._containers_by_typedef())
        types = {name: rf"struct\s+{name}\b" for name in self._containers if name.isidentifier()}
        if len(types) > _MOST_CONTAINERS:
            text = f"initialisers of structs that embed one of the {len(types):,} structs which embed it"
            self._sentences.append(text)
            types = {}
        casts = frozenset(file.path for file in self._files if file.casts)
        others = frozenset(overlay.other for file in self._files for overlay in file.overlays)
        others |= {tag for name in others if (tag := self._typedefs.get(name))}
        table = self._table
        answers = self._ask(
            SecondPass(frozenset(), self._containers, bool(casts), casts, types, table, others)
        )
        outer = [container for answer in answers for container in answer.containers]
        if outer:
            self._add_containers(outer)
            answers += self._ask(
                SecondPass(frozenset(), self._containers, False, frozenset(), {}, table, frozenset())
            )
        self._files += (uses for each in answers if (uses := _container_uses(each)) != FileUses(each.path))

    def _ask(self, question: SecondPass) -> list[FileUses]:
        """Return what all files say about a question, and note the macros and first members."""
        self._macros_searched |= question.macros
        if not (question.macros or question.containers or question.with_first_members or question.overlays):
            return []
        work = partial(scan.answer, subject=self._subject, question=question)
        answers = list(self._spread(work, self._sources.files))
        self._add_macros(answers)
        unread = (each for each in answers if each.unread)
        self._files += (FileUses(each.path, unread=each.unread, mentions=each.mentions) for each in unread)
        for each in answers:
            self._first_members.update(each.first_members)
            self._bodies.update(each.bodies)
        return answers

    def _macros_to_find(self) -> frozenset[str]:
        """Return the macros that make initialisers and are not defined so far; none if they are too many."""
        macros = frozenset(self._missing_macros())
        if len(macros) <= _MOST_MACROS:
            return macros
        text = f"definitions of {len(macros)} macros that make initialisers: {first_few(sorted(macros))}"
        self._sentences.append(text)
        return frozenset()

    def _add_containers(self, containers: Iterable[TextContainer]) -> None:
        for each in containers:
            if each.place not in self._container_places and each.name not in self._subject.names:
                self._container_places.add(each.place)
                self._containers.setdefault(each.name, []).append(each)

    def _containers_by_typedef(self) -> list[TextContainer]:
        """Return the containers with a tag once more for each typedef that other declarations give them."""
        return [
            replace(container, name=name, is_typedef=True)
            for name, tag in self._typedefs.items()
            for container in self._containers.get(tag, ())
            if name != tag and not container.is_typedef
        ]

    def _missing_macros(self) -> Iterator[str]:
        for each in self._files:
            yield from (use.name for use in each.by_macro if use.name not in self._table)

    def _uses_by_macros(self) -> Iterator[OrderUse]:
        """Yield the values that macros make whose definitions are not there."""
        for each in self._files:
            for use in each.by_macro:
                if use.name.isupper() or "init" in use.name.lower():
                    text = f"could not be looked at: what `{use.name}` sets, whose definition is not there"
                    yield OrderUse("unclear", each.path, use.line, text)

    def _unclear_uses(self) -> Iterator[OrderUse]:
        """Yield the places that the text does not show."""
        if self._has_more_names:
            text = "could not be looked at: typedefs and macros that lead to it through too many others"
            yield OrderUse("unclear", next(file.path for file in self._files if file.mentions), None, text)
        for each in self._files:
            for place in each.unresolved:
                text = f"could not be looked at: {place.text}"
                yield OrderUse("unclear", each.path, place.line, text, place.members, place.scope)
            if each.unread and each.mentions:
                yield OrderUse("unclear", each.path, None, f"could not be looked at: the file {each.unread}")

    def _uses_by_casts(self) -> Iterator[OrderUse]:
        """Yield the casts between the struct and structs that do not embed it."""
        unknown: dict[str, str] = {}
        for each in self._files:
            for cast in each.casts:
                place = f"{each.path}:{cast.line}"
                if self._begins_with(cast.other) or self._is_opaque(cast.other):
                    continue
                if cast.is_typedef and not self._is_struct(cast.other):
                    unknown.setdefault(cast.other, place)
                    continue
                text = f"a cast between the struct and `{cast.other}` relies on members at the same offsets"
                yield OrderUse("struct-cast", each.path, cast.line, text)
        if unknown:
            shown = ", ".join(f"{name} ({place})" for name, place in sorted(unknown.items())[:3])
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            self._sentences.append(
                f"casts between the struct and types whose definitions were not found: {shown}{more}"
            )

    def _uses_by_overlays(self) -> Iterator[OrderUse]:
        """Yield the unions of the struct with structs that begin like it."""
        for each in self._files:
            for overlay in each.overlays:
                name = self._typedefs.get(overlay.other) or overlay.other
                members = self._bodies.get(overlay.other) or self._bodies.get(name)
                other = f"`{overlay.other}`"
                if members is None:
                    if not overlay.is_pointer:
                        text = f"could not be looked at: how {other} overlays the struct in a union"
                        yield OrderUse("unclear", each.path, overlay.line, text)
                    continue
                yield from overlays.uses(self._subject, members, each.path, overlay.line, other)

    def _is_opaque(self, name: str) -> bool:
        """Return whether nothing shows the members of a struct, so that no code can use them."""
        if self._flow_uses is None or not self._flow_uses.is_opaque(name):
            return False
        with suppress(OSError):
            return name.encode() not in self._structs_with_bodies
        return False

    @cached_property
    def _structs_with_bodies(self) -> frozenset[bytes]:
        """The tags behind which a body seems to begin. Raises OSError."""
        return frozenset(
            tag for path in self._sources.files for tag in _WITH_BODY.findall(scan.read(path))
        )

    def _is_struct(self, name: str) -> bool:
        """Return whether the files show that a typedef is a struct."""
        return name in self._typedefs or name in self._containers

    def _begins_with(self, name: str) -> bool:
        """Return whether a struct begins with the searched one, so that its own order counts."""
        for _ in range(_DEEPEST):
            if name in self._subject.names or self._embeds(name, _DEEPEST):
                return True
            name = self._typedefs.get(name) or name
            if name not in self._first_members:
                return False
            name = self._first_members[name]
        return False

    def _embeds(self, name: str, depth: int) -> bool:
        """Return whether a struct embeds the searched one, also in structs and unions without a name."""
        return depth > 0 and any(
            not each.inner or (not each.inner.isidentifier() and self._embeds(each.inner, depth - 1))
            for each in self._containers.get(name, ())
        )

    def _uses_by_containers(self) -> Iterator[OrderUse]:
        """Yield the structs with a fixed layout that embed the struct."""
        seen: set[tuple[str, int]] = set()
        for members in self._containers.values():
            for each in members:
                if each.inner or (each.file, each.line) in seen:
                    continue
                seen.add((each.file, each.line))
                if "uapi/" in each.file or each.is_packed:
                    why = "is shared with programs" if "uapi/" in each.file else "is packed"
                    text = f"struct {each.name}, which {why}, embeds the struct"
                    yield OrderUse("fixed-container", each.file, each.line, text)

    def _search_extent(self) -> LookedAt:
        count = sum(path.endswith(".c") for path in self._sources.files)
        mentioning = len({file.path for file in self._files if file.mentions})
        return LookedAt(count, len(self._sources.files) - count, mentioning)

    def _limits(self) -> Iterator[str]:
        """Yield sentences on what cannot be seen, or was not."""
        subject, looked_at = self._subject, self._search_extent()
        unread = [file.path for file in self._files if file.unread]
        if not self._sources.files:
            yield "no C source was given: initialisers, casts, offsets and copies of ranges were not searched"
            return
        if not looked_at.sources:
            yield "headers alone were given: initialisers, casts and copies in C sources were not searched"
        if unread:
            reason = next(file.unread for file in self._files if file.unread)
            yield f"{quantity(len(unread), 'file')} could not be searched: {first_few(unread)} ({reason})"
        if not any(file.defines for file in self._files):
            yield "the definition of the struct, its comments and attributes: it is not in these files"
        others = [file.path for file in self._files if file.is_other]
        if others:
            yield f"{quantity(len(others), 'file')} with another struct of this name: {first_few(others)}"
        if naming := foreign.naming(self._sources, subject):
            count = quantity(len(naming), "file")
            yield f"{count} in other languages that may name the struct: {first_few(naming)}"
        names = " or ".join(subject.names[:3])
        yield f"files that do not name {names}, and reach members through other structs"
        if self._flows is None or self._flow_uses is None:
            conversions = "conversions through `void *` without a cast"
            yield f"{conversions}, and what functions reach from a member's address"
            return
        elsewhere = f"headers that no source includes which names {names}"
        yield f"what functions reach from an address in {elsewhere}, or that a library calls"
        yield from flow_uses.limits(self._flow_uses)
        yield (
            "texts too long for their member, indices that come from data, numbers made of `sizeof`, and "
            "addresses that are taken apart or leave the program"
        )
        for note in self._flows.notes:
            yield f"arithmetic with addresses and conversions through `void *` in {note}"


def _container_uses(uses: FileUses) -> FileUses:
    """Return the uses of containers in a file, which the first pass did not see."""
    return FileUses(
        uses.path, uses=uses.uses, by_macro=uses.by_macro, unresolved=uses.unresolved,
        overlays=uses.overlays, by_union=uses.by_union,
    )


def _limit_uses(uses: Iterable[OrderUse]) -> Iterator[OrderUse]:
    """Yield uses once each, and of those that forbid the same a limited number."""
    counts: dict[tuple[object, ...], int] = {}
    seen: set[tuple[object, ...]] = set()
    for use in uses:
        key = (use.kind, use.members, use.scope, use.place, use.any_order, use.may_be_first)
        line = None if use.kind in _ONCE_A_FILE else use.line
        identity = (*key, use.file, line, use.text)
        if identity in seen:
            continue
        seen.add(identity)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= _MOST_EQUAL:
            yield use
