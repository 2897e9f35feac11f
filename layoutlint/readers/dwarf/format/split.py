"""Split DWARF: the units that skeletons stand for, in a package or in files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.units import SPLIT, Index
from layoutlint.readers.elf import debug_files
from layoutlint.readers.elf.elf_file import Image

_LONGEST_PATH = 4096
"""PATH_MAX of Linux."""


class Parts:
    """Where the skeletons of a file lead to; of thousands of .dwo files one at a time is open."""

    def __init__(self, image: Image, options: ReadOptions) -> None:
        self._image = image
        self._options = options
        self.problems: list[str] = []
        """Why the package could not be read."""

    @cached_property
    def kept(self) -> tuple[Index, ...]:
        """What has the units of many skeletons: the file itself (`-gsplit-dwarf=single`), and its package."""
        found = []
        if self._image.section(f".debug_info{SPLIT}"):
            found.append(Index(self._image, self._options, SPLIT))
        try:
            package = debug_files.package(self._image, self._options)
            if package is not None:
                found.append(Index(package, self._options, SPLIT, f"{package.path}: "))
        except ReadError as error:
            self.problems.append(str(error))
        return tuple(found)

    def packed(self, skeleton: Unit) -> Unit | None:
        """The unit of a skeleton, from what stays open; None where it is not there. Raises Damaged."""
        found = next((part.split[each] for part in self.kept if (each := _id(skeleton)) in part.split), None)
        if found is not None:
            found.skeleton = skeleton
        return found

    @contextmanager
    def opened(self, skeleton: Unit, name: str) -> Iterator[tuple[Unit, Index]]:
        """The unit of a skeleton and all units of the .dwo file that it names.

        Raises ReadError when the file is not found, or is not of this build.
        """
        if max(len(name), len(skeleton.comp_dir)) > _LONGEST_PATH:
            raise ReadError(self._image.path, f"names a .dwo file by {len(name)} characters")
        with debug_files.split(self._image, skeleton.comp_dir, name, self._options) as image:
            index = Index(image, self._options, SPLIT, f"{image.path}: ")
            try:
                unit = index.split.get(_id(skeleton))
                if unit is None:
                    raise ReadError(self._image.path, _not_of(image, index, skeleton))
                unit.skeleton = skeleton
                yield unit, index
            finally:
                index.close()


def _id(skeleton: Unit) -> int:
    found = skeleton.split_id
    return -1 if found is None else found


def _not_of(image: Image, index: Index, skeleton: Unit) -> str:
    if index.damaged:
        return index.damaged[0]
    if not index.units:
        return f"{image.path} holds no split DWARF (.debug_info{SPLIT})"
    there = ", ".join(f"{split_id:#018x}" for split_id in list(index.split)[:3]) or "none"
    wanted = "none" if skeleton.split_id is None else f"{skeleton.split_id:#018x}"
    return f"{image.path} has the unit id {there}, and {wanted} is the one that belongs to it"
