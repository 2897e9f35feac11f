"""The flags of a compilation database for a copy of its tree: paths of the repository become the copy's.

A revision is read from a copy (model.reading.TreeCopy), with the flags that the working tree's database has.
Its include folders then are those of the copy, and after each the generated headers that the working tree has
there. Folders without any file that git tracks stay: build folders, submodules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.model.reading import TreeCopy
from layoutlint.model.record import replace
from layoutlint.readers.clang import flags

if TYPE_CHECKING:
    from layoutlint.readers.clang.compdb import Command

_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")


def path_in_working_tree(copy: TreeCopy, path: str) -> str:
    """Return the absolute path in the working tree of one in the copy; another path stays."""
    path = os.path.abspath(path)
    return _rebase(path, files.real_path(copy.folder), copy.top)


def path_in_copy(copy: TreeCopy, path: str) -> str:
    """Return the absolute path in the copy of a file in the working tree; another path stays, and that of a
    file which git does not track.
    """
    path = _path_by_top(copy, path)
    inside = _rebase(path, copy.top, copy.folder)
    return path if inside == path or _is_generated(copy, path) else inside


def command_for_copy(copy: TreeCopy, command: Command, near: tuple[str, ...] = ()) -> Command:
    """Return the command for the copy. Generated headers are also found beside the files in `near`."""
    words = flags_for_copy(copy, command.words, command.directory)
    folders = (os.path.dirname(path) for path in (os.path.join(command.directory, command.file), *near))
    quoted = (_shadow(copy, path_in_working_tree(copy, folder)) for folder in folders)
    beside = tuple(word for folder in dict.fromkeys(filter(None, quoted)) for word in ("-iquote", folder))
    file = path_in_copy(copy, os.path.join(command.directory, command.file))
    return replace(command, file=file, words=(*words, *beside))


def flags_for_copy(copy: TreeCopy, words: Iterable[str], folder: str) -> tuple[str, ...]:
    """Return the words of a command in a folder of the working tree for the copy."""
    words = flags.make_absolute(words, folder)
    return flags.replace_paths(words, lambda option, path: tuple(_places(copy, option, path)))


def replaced_path(copy: TreeCopy, path: str) -> str | None:
    """Return the path in the copy of a file that was found in the working tree; None for other files.

    What git does not track leads there: by its text, or as a link.
    """
    around = tuple(f"{folder}{os.sep}" for folder in (copy.top, copy.generated) if folder is not None)
    if os.pardir not in path and not path.startswith(around):
        return None
    real = files.real_path(path)
    inside = _rebase(real, copy.top, copy.folder)
    return inside if inside != real and files.is_file(inside) else None


def with_absolute_build(words: Iterable[str]) -> tuple[str, ...]:
    """Return flags with the absolute path of the folder in which a kernel is built."""
    return tuple(f"O={os.path.abspath(word[2:])}" if word.startswith("O=") else word for word in words)


def _places(copy: TreeCopy, option: str, path: str) -> Iterator[str]:
    """Yield the paths that stand for one in a flag: of the working tree, or in a database of the copy."""
    path = _path_by_top(copy, path)
    inside = _rebase(path, copy.top, copy.folder)
    below = None if inside == path else os.path.relpath(path, copy.top)
    if below is None:
        yield path
    elif option not in _FOLDERS:
        yield path_in_copy(copy, path)
    elif copy.generated is not None and not _is_tracked(copy, below):
        yield path
    else:
        yield inside
        shadow = _shadow(copy, path)
        if shadow is not None:
            yield shadow


def _path_by_top(copy: TreeCopy, path: str) -> str:
    """Return a path in the copy or the working tree by the top of the latter, also if links lead there.

    Links inside of the tree stay: in the copy they can lead elsewhere.
    """
    path = _rebase(os.path.normpath(path), copy.folder, copy.top)
    if not os.path.isabs(path) or f"{path}/".startswith(f"{copy.top}/"):
        return path
    parts = path.split(os.sep)
    for count in range(2, len(parts) + 1):
        above = files.real_path(os.sep.join(parts[:count]))
        if f"{above}/".startswith(f"{copy.top}/"):
            return os.path.join(above, *parts[count:])
    return path


def _is_tracked(copy: TreeCopy, below: str) -> bool:
    """Return whether a folder below the top has tracked files, or a tracked link leads to it."""
    parts = below.split(os.sep)
    above = (os.sep.join(parts[:count]) for count in range(1, len(parts) + 1))
    return below in copy.tracked_folders or any(path in copy.tracked_links for path in above)


def _shadow(copy: TreeCopy, folder: str) -> str | None:
    """Return the folder with the generated files of a folder of the working tree; None if it has none."""
    if copy.generated is None or _rebase(folder, copy.top, "") == folder:
        return None
    shadow = _rebase(os.path.normpath(folder), copy.top, copy.generated)
    return shadow if files.is_folder(shadow) else None


def _is_generated(copy: TreeCopy, path: str) -> bool:
    is_there = files.exists(_rebase(path, copy.top, copy.folder))
    generated = copy.generated
    return not is_there and generated is not None and files.exists(_rebase(path, copy.top, generated))


def _rebase(path: str, top: str, folder: str) -> str:
    """Return a path below one folder as that below another; other paths stay."""
    return folder + path[len(top) :] if f"{path}/".startswith(f"{top}/") else path
