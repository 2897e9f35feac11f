"""Suppressions that a base commit has at the same field of the same struct; others do not count.

Both sides are what readers say of the text: the inputs are read again, in the files of the commit. A struct
that they do not define there, such as one of a compiled input, is read from its file alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.intent.annotations.comments import Sources
from layoutlint.intent.annotations.rules import Intent, Suppression, suppressions_of
from layoutlint.intent.annotations.syntax import Ignore
from layoutlint.lint import base_tree, reading
from layoutlint.lint.base_tree import BaseTree
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options, Policy
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs as input_readers
from layoutlint.revisions.base_paths import path_in_base
from layoutlint.revisions.git import Commit
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import run_in_child
from layoutlint.workers.temporary_folder import temporary_folder

_Place = tuple[str, str]
"""The file in the tree of a commit, and the name, of a struct."""


class _Definition(Record, frozen=True):
    """A definition of a struct with its suppressions."""

    place: _Place
    units: frozenset[str]
    """The units or files in which it was read, in the tree."""
    suppressions: tuple[Suppression, ...]
    problem: str | None


class _Request(Record, frozen=True):
    """The structs that are looked for in a commit."""

    commit: Commit
    """With the copy as the folder of its tree."""
    tree: BaseTree
    inputs: tuple[str, ...]
    places: frozenset[_Place]
    read: ReadOptions


def find_missing(
    intents: Iterable[Intent], inputs: Iterable[JudgedInput], policy: Policy, options: Options
) -> dict[Suppression, str]:
    """Return the suppressions that a base commit lacks, each with the reason; empty if it is just that.

    Raises UsageError if git fails, and ReadError if the files of the commit cannot be read at all.
    """
    suppressions = [suppression for intent in intents for suppression in intent.suppressions]
    if not suppressions:
        return {}
    inputs, commit = tuple(inputs), policy.commit
    readings = [judged.reading for judged in inputs]
    definitions = [each for each in _definitions(readings, commit, options.read) if each.suppressions]
    base, failures = _read_base(definitions, inputs, policy, options)
    missing: dict[Suppression, str] = {}
    for definition in definitions:
        others = _counterparts(definition, base)
        why = next((each.problem for each in others if each.problem), "") if others else failures
        for suppression in definition.suppressions:
            if not others or not all(_has(other, definition.place, suppression) for other in others):
                reason = f"it cannot be read in {commit.name}: {why}" if why else ""
                missing.setdefault(suppression, reason)
    known = {each for definition in definitions for each in definition.suppressions}
    return missing | {each: "" for each in suppressions if each not in known}


def _counterparts(definition: _Definition, base: Iterable[_Definition]) -> list[_Definition]:
    """Return the definitions in the base that stand for one: what its units have there, or else its file.

    Other units can read another branch of `#if` of the file.
    """
    namesakes = [other for other in base if other.place[1] == definition.place[1]]
    in_units = [other for other in namesakes if other.units & definition.units]
    return in_units or [other for other in namesakes if other.place == definition.place]


def _has(definition: _Definition, place: _Place, suppression: Suppression) -> bool:
    """Return whether a definition at a place has a suppression of the same rules at the same field.

    One that ends there sooner does not count: the change has put off its end.
    """
    return (
        definition.place == place
        and definition.problem is None
        and any(
            own.path == suppression.path
            and set(suppression.ignored.rules) <= set(own.ignored.rules)
            and not _ends_later(suppression.ignored, own.ignored)
            for own in definition.suppressions
        )
    )


def _ends_later(ignored: Ignore, base: Ignore) -> bool:
    return base.until is not None and (ignored.until is None or ignored.until > base.until)


def _definitions(readings: Iterable[Reading], commit: Commit, read: ReadOptions) -> Iterator[_Definition]:
    """Yield the structs of readings that are in the tree of a commit."""
    for each in readings:
        sources = reading.sources_of(each, read)
        for struct in each.structs:
            file = None if struct.source is None else _path(struct.source.file, sources, commit)
            if file is None:
                continue
            units = struct.files or (struct.origin or each.path,)
            paths = (_path(unit, sources, commit) for unit in units)
            suppressions = tuple(suppressions_of(struct, each.path))
            place = file, struct.name
            yield _Definition(place, frozenset(filter(None, paths)), suppressions, struct.problem)


def _path(file: str, sources: Sources, commit: Commit) -> str | None:
    """Return the path in the tree of a commit of a file that an input names; None if it is not there."""
    return path_in_base(commit, sources.find_path(file) or file)


def _read_base(
    definitions: list[_Definition], inputs: tuple[JudgedInput, ...], policy: Policy, options: Options
) -> tuple[list[_Definition], str]:
    """Return the definitions in a commit of some structs, and why not all of it could be read."""
    packs = tuple(dict.fromkeys(pack for judged in inputs for pack in judged.packs))
    paths = (path_in_base(policy.commit, judged.reading.path) for judged in inputs)
    own = tuple(dict.fromkeys(path for path in paths if path is not None))
    with temporary_folder() as root:
        tree = base_tree.export(policy.commit, packs, root)
        read = replace(tree.options_of(options.read), executor=None)
        commit = replace(policy.commit, tree_folder=tree.top)
        request = _Request(commit, tree, own, frozenset(each.place for each in definitions), read)
        try:
            return run_in_child(_read_in_copy, request)
        except Lost as lost:
            raise ReadError(commit.name, f"the process that read it {lost.how}") from lost


def _read_in_copy(request: _Request) -> tuple[list[_Definition], str]:
    """Read the structs of a request, in a process of its own whose working folder becomes the copy."""
    tree = request.tree
    accesses.enter_folder(tree.folder if files.is_folder(tree.folder) else tree.top)
    in_tree = partial(_relative, tree=tree)
    found, failures = _read(filter(None, map(tree.input_path, map(in_tree, request.inputs))), request)
    defined = {definition.place for definition in found}
    rest = sorted({file for file, _ in request.places - defined})
    alone, more = _read((path for path in map(in_tree, rest) if files.is_file(path)), request)
    found += (each for each in alone if each.place in request.places - defined)
    return found, next((str(each) for each in chain(failures, more)), "")


def _relative(path: str, tree: BaseTree) -> str:
    """Return a path of the tree as seen from the working folder."""
    return os.path.relpath(os.path.join(tree.top, path))


def _read(paths: Iterable[str], request: _Request) -> tuple[list[_Definition], list[Unread]]:
    names = frozenset(name for _, name in request.places)
    results = input_readers.read_each(tuple(paths), Wanted(names, annotated=True), request.read)
    readings, unread = input_readers.split_failures(results)
    commented = [reading.add_comments(each, request.read) for each in readings]
    definitions = _definitions(commented, request.commit, request.read)
    return [each for each in definitions if each.place[1] in names], unread
