"""Split DWARF: the units to which skeletons refer, in a package or in files of their own."""

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


class SplitUnits:
    """The units of a file's skeletons. Of thousands of .dwo files, only one at a time is open."""

    def __init__(self, image: Image, options: ReadOptions) -> None:
        self._image = image
        self._options = options
        self.problems: list[str] = []
        """Reasons why the package could not be read."""

    @cached_property
    def open_indexes(self) -> tuple[Index, ...]:
        """The indexes with units of many skeletons: the file itself (`-gsplit-dwarf=single`), its package."""
        indexes = []
        if self._image.section(f".debug_info{SPLIT}"):
            indexes.append(Index(self._image, self._options, SPLIT))
        try:
            package = debug_files.package(self._image, self._options)
            if package is not None:
                indexes.append(Index(package, self._options, SPLIT, f"{package.path}: "))
        except ReadError as error:
            self.problems.append(str(error))
        return tuple(indexes)

    def find_open(self, skeleton: Unit) -> Unit | None:
        """Return the unit of a skeleton in an index that stays open; None without one. Raises DwarfError."""
        split_id = _split_id(skeleton)
        unit = next((index.split[split_id] for index in self.open_indexes if split_id in index.split), None)
        if unit is not None:
            unit.skeleton = skeleton
        return unit

    @contextmanager
    def open_file(self, skeleton: Unit, name: str) -> Iterator[tuple[Unit, Index]]:
        """Open the .dwo file that a skeleton names: the unit of the skeleton, and the index of all units.

        Raises ReadError if the file is missing, or is of another build.
        """
        if max(len(name), len(skeleton.comp_dir)) > _LONGEST_PATH:
            raise ReadError(self._image.path, f"names a .dwo file by {len(name)} characters")
        with debug_files.split(self._image, skeleton.comp_dir, name, self._options) as image:
            index = Index(image, self._options, SPLIT, f"{image.path}: ")
            try:
                unit = index.split.get(_split_id(skeleton))
                if unit is None:
                    raise ReadError(self._image.path, _mismatch(image, index, skeleton))
                unit.skeleton = skeleton
                yield unit, index
            finally:
                index.close()


def _split_id(skeleton: Unit) -> int:
    split_id = skeleton.split_id
    return -1 if split_id is None else split_id


def _mismatch(image: Image, index: Index, skeleton: Unit) -> str:
    if index.damaged:
        return index.damaged[0]
    if not index.units:
        return f"{image.path} holds no split DWARF (.debug_info{SPLIT})"
    ids = ", ".join(f"{split_id:#018x}" for split_id in list(index.split)[:3]) or "none"
    expected = "none" if skeleton.split_id is None else f"{skeleton.split_id:#018x}"
    return f"{image.path} has the unit id {ids}, and {expected} is the one that belongs to it"
