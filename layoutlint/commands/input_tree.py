"""Writes suggested changes in the tree of an input, and nowhere else: a repository names files anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from layoutlint.commands import file_changes, terminal
from layoutlint.errors import UsageError
from layoutlint.files.project import is_repository
from layoutlint.suggestion.orders.result import Suggestion


def write_changes(results: Sequence[Suggestion], inputs: Iterable[str]) -> None:
    """Write the changed files whole, all of them or none.

    Nothing is written if one of several structs got no patch. Raises UsageError if a file is outside of the
    trees of the inputs, was changed meanwhile, or cannot be written.
    """
    lacking = [result for result in results if result.patch is None]
    if lacking and len(results) > 1:
        names = ", ".join(result.struct.name for result in lacking)
        terminal.complain(f"nothing is written, because there is no patch for {names}")
    if lacking:
        return
    patches: dict[str, tuple[bytes, bytes]] = {}
    for patch in (result.patch for result in results):
        assert patch is not None
        path = os.path.realpath(patch.file)
        old, _ = patches.get(path, (_encode(patch.old_text), b""))
        patches[path] = old, _encode(patch.text)
    changed = {path: texts for path, texts in patches.items() if texts[0] != texts[1]}
    refuse_outside(changed, inputs)
    file_changes.replace_files(changed)


def _encode(text: str) -> bytes:
    """Return text with the bytes of files that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def refuse_outside(paths: Iterable[str], inputs: Iterable[str]) -> None:
    """Raise UsageError for a file that is in the tree of none of some inputs."""
    trees = tuple(dict.fromkeys(map(_tree, inputs)))
    for path in paths:
        real = os.path.realpath(path)
        if not any(_is_below(real, os.path.realpath(tree)) for tree in trees):
            raise UsageError(
                f"cannot write {real}: it is not below {' or '.join(trees)}, the tree of the input; "
                "give the file itself as INPUT, or print the change with --patch"
            )


def _tree(path: str) -> str:
    """Return the top of the repository around an input, or else the working folder or the input's.

    A link in a repository does not lead into another one.
    """
    start = os.path.abspath(path)
    start = start if os.path.isdir(start) and not os.path.islink(start) else os.path.dirname(start)
    top = None
    for folder in reversed(list(_ancestors(start))):
        if top is not None and os.path.islink(folder):
            break
        top = folder if is_repository(folder) else top
    working_folder = os.getcwd()
    return top or (working_folder if _is_below(start, working_folder) else start)


def _ancestors(folder: str) -> Iterator[str]:
    while folder != os.path.dirname(folder):
        yield folder
        folder = os.path.dirname(folder)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")
