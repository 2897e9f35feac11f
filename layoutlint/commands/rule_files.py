"""The rule files that belong to inputs: each layoutlint.toml from the top of the repository down to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import click

from layoutlint import files
from layoutlint.commands import standard_input
from layoutlint.errors import LayoutlintError
from layoutlint.files import project

if TYPE_CHECKING:
    from layoutlint.intent.policy import Policy

NAME = "layoutlint.toml"
_INPUTS = ("inputs", "input", "words", "input_path", "path", "before", "after")
"""The parameters of commands that name inputs."""
_MOST_FOLDERS = 2_000
_COMPARING = ("diff", "history", "measure")
"""Commands that judge several inputs by the same rules: those of the last one."""


class RuleFile(NamedTuple):
    """A rule file that belongs to inputs."""

    path: str
    """From the working folder."""
    scopes: tuple[str, ...] | None
    """The inputs that it applies to, or folders of them; None for all inputs."""
    excluded: tuple[str, ...] = ()
    """Other inputs, or folders of them: they can be below those, in another repository."""


def find(
    places: tuple[str, ...],
    has: Callable[[str], bool] = files.is_file,
    identify: Callable[[str], str] = files.real_path,
) -> tuple[RuleFile, ...]:
    """Return the rule files that belong to inputs, or to folders of them, each once: the outermost first.

    `has` tells which files there are, and `identify` which of their paths are the same file.
    """
    found: dict[str, tuple[str, list[str]]] = {}
    for place in places:
        for path in files_of(place, has):
            found.setdefault(identify(path), (path, []))[1].append(place)
    return tuple(
        RuleFile(path, None)
        if len(own) == len(places)
        else RuleFile(path, _scopes(path, own), tuple(place for place in places if place not in own))
        for path, own in found.values()
    )


def of_command(policy: Policy | None = None) -> tuple[RuleFile, ...]:
    """Return the rule files that belong to the inputs of the command that runs.

    With `policy`, they are those of its commit, and those that only the working tree has.
    """
    ctx = click.get_current_context(silent=True)  # a shell that completes a command line runs none
    places = (os.curdir,) if ctx is None else places_of(ctx, policy)
    if policy is None:
        return find(places)
    return find(places, lambda path: policy.has_file(path) or files.is_file(path), policy.identify)


def describe_search(inputs: tuple[str, ...]) -> str:
    """Return where no rule file was found, for people: `from src up to .`; empty if an input has one."""
    if any(map(files_of, inputs)):
        return ""
    folders = [folder for each in inputs[:1] for folder in project.folders_of_input(each)]
    below = f"{os.getcwd().rstrip(os.sep)}{os.sep}"
    names = list(
        dict.fromkeys(
            os.path.relpath(each) if f"{each}{os.sep}".startswith(below) else each
            for each in (*folders[:1], *folders[-1:])
        )
    )
    if len(names) < 2:
        return f"in {names[0]}" if names else ""
    is_around = folders[0].startswith(f"{folders[-1].rstrip(os.sep)}{os.sep}")
    return f"from {names[0]} up to {names[1]}" if is_around else f"in {names[0]} or {names[1]}"


def files_of(place: str, has: Callable[[str], bool] = files.is_file) -> tuple[str, ...]:
    """Return the rule files that belong to an input, the outermost first. A link without any is its file."""
    found = tuple(filter(has, _candidates(place)))
    if not found and files.is_link(place):
        found = tuple(filter(has, _candidates(files.real_path(place))))
    return found


def files_below(inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rule files inside of inputs that are folders or databases, which do not belong to them.

    Of large trees, not all folders are searched.
    """
    used = {os.path.abspath(path) for place in inputs for path in files_of(_place(place))}
    folders = dict.fromkeys(folder for each in inputs for folder in _folders_inside(each))
    paths = (os.path.join(folder, NAME) for folder in folders)
    found = dict.fromkeys(os.path.abspath(path) for path in paths if files.is_file(path))
    return tuple(sorted(os.path.relpath(path) for path in found if path not in used))


def _folders_inside(path: str) -> Iterator[str]:
    """Yield folders below a folder, and between a database and the sources that it names."""
    if files.is_folder(path):
        for folder, below_it, _ in islice(files.walk(path), _MOST_FOLDERS):
            below_it[:] = [name for name in below_it if not name.startswith(".")]
            yield folder
    elif os.path.basename(path) == "compile_commands.json":
        from layoutlint.readers.clang import compdb

        top = os.path.dirname(os.path.abspath(path))
        with suppress(LayoutlintError):  # the run reports it
            units = (os.path.join(each.directory, each.file) for each in compdb.load(path))
            for folder in dict.fromkeys(os.path.dirname(os.path.abspath(unit)) for unit in units):
                while folder.startswith(f"{top}{os.sep}"):
                    yield folder
                    folder = os.path.dirname(folder)


def top_file(place: str) -> str:
    """Return the path of the rule file at the top of the repository of an input, whether there is one.

    Outside of a repository, that is the one in the working folder.
    """
    top = project.folders_of_input(place)[-1:]
    return os.path.relpath(os.path.join(*top, NAME)) if top and project.is_repository(top[0]) else NAME


def _candidates(place: str) -> Iterator[str]:
    for folder in reversed(project.folders_of_input(place)):
        yield os.path.relpath(os.path.join(folder, NAME))


def _scopes(path: str, places: list[str]) -> tuple[str, ...]:
    """Return the folder of a rule file for the places below it, and those that are elsewhere."""
    folder = os.path.dirname(path) or os.curdir
    below = f"{os.path.abspath(folder).rstrip(os.sep)}{os.sep}"
    return tuple(
        dict.fromkeys(
            folder if f"{os.path.abspath(place)}{os.sep}".startswith(below) else place for place in places
        )
    )


def places_of(ctx: click.Context, policy: Policy | None = None) -> tuple[str, ...]:
    """Return the folders of a command's inputs, from which rule files are sought; without any, this one.

    A change is judged by those of the whole repository.
    """
    named = [word for name in _INPUTS for word in _words(ctx.params.get(name)) if _is_path(word)]
    if ctx.command.name in _COMPARING:
        named = named[-1:]
    matrix = ctx.params.get("matrix_path")
    if matrix is not None:
        named += _inputs_of_builds(matrix, policy)
    if ctx.params.get("staged") or ctx.params.get("since") is not None:
        named += (os.curdir, *_folders_with_rules(policy))
    return tuple(dict.fromkeys(map(_place, named))) or (os.curdir,)


def _place(word: str) -> str:
    """Return the folder of an input; a folder, and a link, which may count where it leads, is itself."""
    if _has_no_folder(word):
        return os.curdir
    return word if files.is_folder(word) or files.is_link(word) else os.path.dirname(word) or os.curdir


def _words(value: object) -> Iterator[str]:
    for word in value if isinstance(value, tuple) else (value,):
        if isinstance(word, str):
            yield word


def _is_path(word: str) -> bool:
    """Return whether an argument is an input, not a struct."""
    return _has_no_folder(word) or os.sep in word or files.exists(word)


def _has_no_folder(word: str) -> bool:
    return word == standard_input.WORD or "://" in word


def _inputs_of_builds(matrix: str, policy: Policy | None) -> list[str]:
    """Return the inputs of the builds of a matrix; none of a pipe, or of a damaged one."""
    if policy is None and not files.is_file(matrix):
        return []
    from layoutlint.intent.toml import matrix_file

    with suppress(LayoutlintError, OSError):
        builds = matrix_file.load(matrix, (), policy.text(matrix) if policy else None)
        return [path for build in builds for path in build.inputs]
    return []


def _folders_with_rules(policy: Policy | None) -> Iterator[str]:
    """Yield the folders of the repository that have a rule file, in the working tree or the base commit."""
    from layoutlint.revisions import git

    try:
        top = git.top_folder("--staged")
        paths = {*git.own_paths(top), *(() if policy is None else policy.commit.files(""))}
    except LayoutlintError:  # the command reports it
        return
    here = os.path.realpath(os.getcwd())
    for folder in sorted({os.path.dirname(path) for path in paths if os.path.basename(path) == NAME}):
        yield os.path.relpath(os.path.join(top, folder), here)
