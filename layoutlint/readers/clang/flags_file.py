"""compile_flags.txt: the flags of all files of a folder and below, one on each line, as clangd reads it."""

from __future__ import annotations

import os

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flag_files import ON_DISK, FlagFiles
from layoutlint.model.reading import TreeCopy
from layoutlint.model.record import Record
from layoutlint.readers.clang import compdb, copied_flags
from layoutlint.readers.clang.compdb import Command

NAME = "compile_flags.txt"
_LARGEST = 1 << 20
"""The most bytes of such a file."""


class FlagsFile(Record, frozen=True):
    """A compile_flags.txt."""

    path: str
    copy: TreeCopy | None = None
    """The copy of its tree that is read; None if the tree is."""
    flag_files: FlagFiles = ON_DISK

    def command(self, file: str) -> Command:
        """Return the command for a C file. Raises ReadError with the option that leaves the flags out."""
        folder = os.path.dirname(os.path.abspath(self.path))
        command = Command(os.path.abspath(file), folder, self._words())
        try:
            command = compdb.expand(command, self.flag_files)
        except ReadError as error:
            raise ReadError(self.path, f"{error.reason} (--no-compile-commands leaves it out)") from error
        return command if self.copy is None else copied_flags.command_for_copy(self.copy, command, (file,))

    def _words(self) -> tuple[str, ...]:
        try:
            text = self.flag_files.read_all(self.path, _LARGEST).decode(errors="surrogateescape")
        except OSError as error:
            reason = f"{files.error_reason(error)} (--no-compile-commands leaves it out)"
            raise ReadError(self.path, reason) from error
        return tuple(word for word in map(str.strip, text.splitlines()) if word)

    @property
    def report_name(self) -> str:
        """Its path in reports, if that is another one."""
        return "" if self.copy is None else self.copy.display_path(os.path.abspath(self.path))
