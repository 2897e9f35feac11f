"""The files of a repository that define structs with rules or annotations, by their text."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, cast

from layoutlint import files
from layoutlint.geometry.field_types import TYPE
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import ReadOptions, Unread, no_progress
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.clang import flags, text_search
from layoutlint.readers.clang.inclusion import Inclusion
from layoutlint.readers.clang.kernel.tree import Tree

if TYPE_CHECKING:
    from layoutlint.lint.variables import ArrayKind

C_SUFFIXES = (".c", ".h")
_WORD = re.compile(r"\w+")
_TAG = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+")
_USE = rb"\b(?:struct|union)\s++%s\s*+[*;)]"
"""A use of a struct, which does not define it."""
_GROUP_MARK = b"cacheline_group_begin"
_FLAGS = (f"{os.sep}compile_commands.json", f"{os.sep}compile_flags.txt")
"""The ends of the paths of files with the flags of other files."""
_MAKEFILES = (f"{os.sep}Kbuild", f"{os.sep}Makefile")
_FORCED = re.compile(rb"-(?:include|imacros)[\s\",\\\\=]*+([^\s\",\\\\]++)")


class Definers(Record, frozen=True):
    """The files of one part of a repository that define structs with rules or annotations."""

    structs: dict[str, frozenset[str]]
    """By absolute path, the structs with rules that a file seems to define."""
    marked: frozenset[str]
    """The files that can contain annotations or group marks."""
    inclusion: Inclusion
    tree: Tree | None = None
    """The kernel tree whose part it is."""
    variables: dict[str, frozenset[Rule]] = field(default_factory=dict)
    """The rules on variables that are arrays, by the files that contain their names or types."""
    unread: tuple[Unread, ...] = ()

    def files_of(self, struct: str) -> list[str]:
        """Return the files that define a struct, or one that matches a pattern."""
        if not is_pattern(struct):
            return [file for file, names in self.structs.items() if struct in names]
        wanted = Wanted(patterns=(struct,))
        return [file for file, names in self.structs.items() if any(map(wanted.matches, names))]

    def with_parsed(
        self,
        changed: Iterable[str],
        affected: Iterable[str],
        tracked: frozenset[str],
        packs: Collection[Pack],
        options: ReadOptions,
    ) -> Definers:
        """Return the definers with the structs that libclang finds in changed files, and in affected ones
        that may define one in a way which the search does not know.

        Headers that such a file includes are files of their own if git tracks them; other texts that it
        includes are its own.
        """
        wanted = requested_structs(packs)
        if not (wanted.names or wanted.patterns):
            return self
        unsure = (path for path in affected if may_define(text_search.content(path), wanted))
        paths = tuple(path for path in dict.fromkeys((*changed, *unsure)) if _has_text(path))
        readings, unread = inputs.read(paths, wanted, replace(options, progress=no_progress))
        structs, read = dict(self.structs), {reading.path for reading in readings}
        for reading in readings:
            own = (struct for struct in reading.structs if _is_defined_by(struct, reading.path, tracked))
            names = (name for struct in own for name in (struct.name, *struct.aliases))
            if requested := frozenset(filter(wanted.matches, names)):
                structs[reading.path] = structs.get(reading.path, frozenset()) | requested
        failed = tuple(each for each in unread if each.origin in paths and each.origin not in read)
        return replace(self, structs=structs, unread=self.unread + failed)


def _is_defined_by(struct: Struct, path: str, tracked: frozenset[str]) -> bool:
    """Return whether a file defines a struct itself, or by an untracked file of its repository."""
    if struct.source is None or (struct.bit_size is None and struct.problem is None):
        return False
    place, top = files.real_path(struct.source.file), os.path.commonpath(tracked or (path,))
    is_untracked = place not in tracked and place.startswith(f"{top}{os.sep}")
    return is_untracked or is_own(struct.source.file, (path,))


def _has_text(path: str) -> bool:
    return files.is_file(path) and files.status_of(path).st_size > 0


def may_define(text: bytes, wanted: Wanted) -> bool:
    """Return whether a text has a requested name, other than in pointers, declarations and `sizeof`."""
    words = {word: word.decode(errors="surrogateescape") for word in set(_TAG.findall(text))}
    requested = (re.escape(word) for word, name in words.items() if wanted.matches(name))
    return any(
        len(re.findall(rb"\b%s\b" % word, text)) > len(re.findall(_USE % word, text)) for word in requested
    )


def is_own(file: str, inputs: Iterable[str]) -> bool:
    """Return whether a definition in a file counts as one of some inputs: it is one, or no C file."""
    if not file.endswith(C_SUFFIXES):
        return True
    return files.real_path(file) in map(files.real_path, inputs)


def requested_structs(packs: Collection[Pack]) -> Wanted:
    """Return the structs with rules, and those that rule files declare as annotated."""
    names = {rule.struct for pack in packs for rule in pack.rules if rule.struct != VARIABLES}
    names |= {intent.struct for pack in packs for intent in pack.structs if intent.annotated}
    patterns = {name for name in names if is_pattern(name)}
    return Wanted(frozenset(names - patterns), tuple(sorted(patterns)))


def repository_definers(
    tracked: Iterable[str],
    known: frozenset[str],
    packs: tuple[Pack, ...],
    words: tuple[str, ...],
    has_makefiles: bool = False,
) -> Definers:
    """Return the definers among the files of a repository; `words` are the compiler flags.

    `has_makefiles` says that makefiles add others, as those of drivers outside of a kernel tree do.
    """
    paths = sorted(path for path in tracked if path.endswith(C_SUFFIXES))
    searched, wanted = paths[: text_search.MOST_FILES], requested_structs(packs)
    structs, marked = search(searched, wanted)
    parsed = flags.normalise(words)
    folders, forced = (tuple(map(os.path.abspath, names)) for names in (parsed.folders, parsed.includes))
    forced += tuple(_read_by_all(known, _FLAGS + _MAKEFILES * has_makefiles))
    unread: tuple[Unread, ...] = ()
    if len(paths) > len(searched):
        reason = f"the first {len(searched):,} of {len(paths):,} C files are searched for affected structs"
        unread += (Unread("staged change", reason),)
    variables = _files_with_variables(searched, packs)
    return Definers(structs, marked, Inclusion(known, folders, forced), None, variables, unread)


def _read_by_all(known: frozenset[str], ends: tuple[str, ...]) -> Iterator[str]:
    """Yield the files that decide the flags of all C files, by the ends of their paths, and those whose name
    follows `-include` there.
    """
    databases = sorted(path for path in known if path.endswith(ends))
    yield from databases
    names = {os.path.basename(os.fsdecode(name)) for path in databases for name in _forced_names(path)}
    yield from sorted(path for path in known if names and os.path.basename(path) in names)


def _forced_names(path: str) -> list[bytes]:
    return _FORCED.findall(text_search.content(path))


def kernel_definers(
    tree: Tree, tracked: Iterable[str], changed: Iterable[str], known: frozenset[str], packs: tuple[Pack, ...]
) -> Definers:
    """Return the definers in a kernel tree: changed files, headers that rule files name, else files with
    structs whose header no rule file names.

    A tree has too many files to search all of them for structs of shipped rules, or for annotations.
    """
    wanted = requested_structs(packs)
    own = [path for path in changed if path.endswith(C_SUFFIXES)]
    structs, marked = search(own, wanted)
    headers = {intent.struct: intent.header for pack in packs for intent in pack.structs if intent.header}
    for name in wanted.names.intersection(headers):
        file = _resolve(tree, headers[name])
        if file is not None and name in text_search.names_in_text(text_search.content(file), wanted):
            structs[file] = structs.get(file, frozenset()) | {name}
    own_packs = tuple(pack for pack in packs if not pack.shipped)
    missing = _without_places(requested_structs(own_packs), structs)
    for searched in (_public_headers(tree), (path for path in sorted(tracked) if path.endswith(C_SUFFIXES))):
        if missing.names or missing.patterns:
            located = text_search.definitions(searched, missing, stop_when_found=False)
            for name, paths in located.items():
                for path in paths:
                    structs[path] = structs.get(path, frozenset()) | {name}
            missing = _without_places(missing, structs)
    forced = (os.path.join(tree.source, "include/linux", name) for name in ("kconfig.h", "compiler_types.h"))
    inclusion = Inclusion(known, tree.folders, tuple(forced), searches_disk=True)
    return Definers(structs, marked, inclusion, tree)


def search(paths: Iterable[str], wanted: Wanted) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Return the requested structs that files seem to define, by file, and the files with marks."""
    structs, marked = {}, set()
    for path in paths:
        text = text_search.content(path)
        names = text_search.names_in_text(text, wanted)
        if names:
            structs[path] = frozenset(names)
        if _GROUP_MARK in text or text_search.mentions_annotations(text):
            marked.add(path)
    return structs, frozenset(marked)


def _files_with_variables(paths: Iterable[str], packs: Iterable[Pack]) -> dict[str, frozenset[Rule]]:
    """Return the rules on variables that are arrays, by the files that contain their name, or the words of
    one of their types.
    """
    rules = {
        rule: [_WORD.findall(path.removeprefix(TYPE)) for path in cast("ArrayKind", rule.kind).variables]
        for pack in packs
        for rule in pack.rules
        if rule.struct == VARIABLES and rule.kind.traits.judges_arrays
    }
    rules = {rule: types for rule, types in rules.items() if types}
    named: dict[str, frozenset[Rule]] = {}
    for path in paths if rules else ():
        text = text_search.content(path)
        own = (
            rule
            for rule, types in rules.items()
            if any(all(word.encode() in text for word in words) for words in types)
        )
        named[path] = frozenset(own)
    return {path: own for path, own in named.items() if own}


def _without_places(wanted: Wanted, structs: dict[str, frozenset[str]]) -> Wanted:
    located = frozenset[str]().union(*structs.values())
    patterns = (each for each in wanted.patterns if not any(map(Wanted(patterns=(each,)).matches, located)))
    return Wanted(wanted.names - located, tuple(patterns))


def _resolve(tree: Tree, header: str) -> str | None:
    places = (os.path.join(folder, header) for folder in (*tree.folders, tree.source, tree.build))
    return next((place for place in places if files.is_file(place)), None)


def _public_headers(tree: Tree) -> Iterator[str]:
    return text_search.files_below(tree.folders, (".h",))
