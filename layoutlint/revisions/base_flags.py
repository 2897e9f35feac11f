"""Files with compiler flags as a base commit has them: a change does not choose the flags that judge it.

A file that the commit has is read from there, also through the links that it has there. One that only the
index has is a part of the change, and is not there. What git does not track is read from disk: a change
cannot make it, only a step of the build can.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from layoutlint import files
from layoutlint.model.flag_files import FlagUse
from layoutlint.model.record import Record, field, replace
from layoutlint.revisions import git, submodules
from layoutlint.revisions.git import Blob, Commit

_MOST_LINKS: Final = 40
_LONGEST_LINK: Final = 1 << 12
_LARGEST: Final = 1 << 28
"""The most bytes of a compilation database, the largest of these files."""
_LACKING: Final = (
    "the commit of --policy-from does not have it, and a change does not choose its flags; merge it first, "
    "or check files, with flags behind `--`"
)


class _Place(Record, frozen=True):
    """Where a file with flags is."""

    blob: Blob | None = None
    """The file of the commit."""
    path: str | None = None
    """The path of a file on disk that is no part of the change; None for one of the commit, or for none."""


class BaseFlags(Record, eq=False):
    """The files with flags of a base commit."""

    commit: Commit
    uses: dict[str, FlagUse] = field(default_factory=dict)
    """What was read otherwise than the commit and the working tree agree on, by the path in reports."""
    _trees: list[dict[str, Blob]] = field(default_factory=list)
    """The files of the commit and of the index, when they are needed."""
    _places: dict[str, _Place] = field(default_factory=dict)

    def move_to(self, folder: str) -> BaseFlags:
        """Return the same for a copy of the tree in another folder."""
        return BaseFlags(replace(self.commit, tree_folder=folder), self.uses, self._trees)

    def has_file(self, path: str) -> bool:
        """Return whether there is a file at a path."""
        place = self._place(path)
        if place.path is not None:
            return files.is_file(place.path)
        if files.is_file(path) != (place.blob is not None):
            self._note(path, FlagUse.ADDED if place.blob is None else FlagUse.CHANGED)
        return place.blob is not None

    def is_chosen(self, path: str) -> bool:
        """Return whether a change has a file at a path otherwise than the commit."""
        place = self._place(path)
        if place.path is not None or not files.exists(path):
            return False
        return place.blob is None or self._own(path) != self._content(path, place.blob, _LARGEST)

    def read_all(self, path: str, most: int) -> bytes:
        """Return the content of a file, as `files.read_all`; raises OSError, and UsageError if git fails."""
        place = self._place(path)
        if place.path is not None:
            content = files.read_all(place.path, most)
            self._note(path, FlagUse.UNTRACKED)
            return content
        if place.blob is None:
            if files.exists(path):
                self._note(path, FlagUse.ADDED)
                raise FileNotFoundError(errno.ENOENT, _LACKING)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        based = self._content(path, place.blob, most)
        if self._own(path) != based:
            self._note(path, FlagUse.CHANGED)
        return based

    def _own(self, path: str) -> bytes | None:
        """Return what the working tree has at a path; None if it is no file that can be read."""
        try:
            return files.read_all(path, _LARGEST)
        except OSError:
            return None

    def folder_of(self, path: str) -> str:
        """Return the real folder of a file, where a link leads to it."""
        place = self._place(path)
        if place.blob is None:
            return os.path.dirname(files.real_path(place.path or path))
        root, inside = self._split(path)
        target = self._follow(inside or "") or inside or ""
        return os.path.dirname(os.path.join(root, target))

    def _content(self, path: str, blob: Blob, most: int) -> bytes:
        ((_, content),) = submodules.contents(self.commit, {path: blob}, most)
        if content is None:
            raise OSError(f"has more than the {most:,} bytes that are read")
        return content

    def _note(self, path: str, use: FlagUse) -> None:
        _, inside = self._split(path)
        here = self.commit.path_in_tree(os.curdir) or os.curdir
        shown = path if inside is None else os.path.relpath(inside, here)
        self.uses[shown] = use

    def _place(self, path: str) -> _Place:
        path = os.path.abspath(path)
        if path not in self._places:
            self._places[path] = self._find(path, _MOST_LINKS)
        return self._places[path]

    def _find(self, path: str, most_links: int) -> _Place:
        root, inside = self._split(path)
        if inside is None:
            return _Place(path=path)
        target = self._follow(inside)
        if target is None:  # out of the tree, through a link of the commit
            return _Place() if self._is_of_change(inside) else _Place(path=path)
        blob = self._base.get(target)
        if blob is not None and blob.is_plain:
            return _Place(blob)
        if self._is_of_change(target):
            return _Place()
        at = os.path.join(root, target)
        real = files.real_path(at)  # through links that git does not track
        _, led_to = self._split(real)
        if most_links and led_to not in (None, target):
            return self._find(real, most_links - 1)
        return _Place(path=at)

    def _split(self, path: str) -> tuple[str, str | None]:
        """Return the folder of the tree or of its copy that has a path, and the path in it; None outside.

        The names count, not where links lead: a change can have made these.
        """
        path = os.path.abspath(path)
        for root in dict.fromkeys(filter(None, (self.commit.tree_folder, self.commit.top))):
            if path.startswith(f"{root}{os.sep}"):
                return root, path[len(root) + 1 :]
        return self.commit.tree_folder or self.commit.top, self.commit.path_in_tree(path)

    def _follow(self, path: str) -> str | None:
        """Return where a path of the tree leads through the links of the commit; None if out of the tree."""
        for _ in range(_MOST_LINKS):
            folders = (path[:end] for end, letter in enumerate(f"{path}/") if letter == "/")
            link = next((each for each in folders if each in self._base and self._base[each].is_link), None)
            if link is None:
                return path
            target = os.fsdecode(self._content(link, self._base[link], _LONGEST_LINK))
            path = os.path.normpath(os.path.join(os.path.dirname(link), target, path[len(link) + 1 :]))
            if path.startswith(("/", "../")) or path == os.pardir:
                return None
        return None

    def _is_of_change(self, path: str) -> bool:
        """Return whether the index has a path, or a link or submodule around it, that the commit lacks."""
        for end, letter in enumerate(f"{path}/"):
            own = self._index.get(path[:end]) if letter == "/" else None
            based = self._base.get(path[:end])
            if own is not None and (based is None or (own.mode, own.id) != (based.mode, based.id)):
                return True
        return False

    @property
    def _base(self) -> dict[str, Blob]:
        return self._load()[0]

    @property
    def _index(self) -> dict[str, Blob]:
        return self._load()[1]

    def _load(self) -> list[dict[str, Blob]]:
        """Return the files of the commit and of the index; raises UsageError."""
        if not self._trees:
            top = self.commit.top
            self._trees += (submodules.files_of(self.commit), submodules.expand(top, git.indexed_blobs(top)))
        return self._trees

    def sentences(self, uses: dict[str, FlagUse]) -> tuple[str, ...]:
        """Return the sentences of the report on files with flags, by their paths in reports."""
        name = self.commit.name
        texts = {
            FlagUse.CHANGED: f"flags are those of {name}, which the change does not choose: ",
            FlagUse.ADDED: f"flags not used, because {name} does not have them: ",
            FlagUse.UNTRACKED: "flags of no commit, but of the step that made the untracked file: ",
        }
        return tuple(f"{texts[use]}{path}" for path, use in sorted(uses.items()))
