"""Headers that a unit includes and that were not found: where they are, and which flag adds their folder."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from layoutlint import files
from layoutlint.files import project
from layoutlint.model.record import Record, field
from layoutlint.readers.clang import cross_target, query_driver
from layoutlint.readers.clang.build_compiler import Compiler

_MESSAGE = re.compile(r"'([^'\n]+)' file not found$")
_MOST_ENTRIES = 100_000
"""The most files and folders among which a header is searched."""
_CONFIGURED = "HAVE_CONFIG_H"
"""The macro of autoconf under which C files include what configure found out (config.h)."""
CONFIGURATION_REMEDY = (
    f"the file includes config.h under `{_CONFIGURED}`: run configure, and add `-D{_CONFIGURED}`"
)
_LIBRARY_REMEDY = (
    "no C library for the target is known; ask its compiler with `--query-driver NAME`, or name the folder "
    "with `-- -isystem DIR` or `--sysroot DIR`"
)
_OF_LINUX = ("linux/", "asm/", "uapi/")
"""The beginnings of names of headers of Linux; few others have them."""
_KERNEL = "-D__KERNEL__"
_KERNEL_REMEDY = (
    "read a driver outside of the kernel tree with the flags of that: `--kernel TREE`; or add the folder of "
    "the header with `-I DIR`"
)
_C_LIBRARY = "/usr/include/stdio.h"


def missing_name(message: str) -> str | None:
    """Return the header that an error of libclang says is missing; None for another error."""
    match = _MESSAGE.match(message)
    return match[1] if match else None


class Remedies(Record):
    """Finds the flags that mend missing headers of one unit."""

    main: str
    """Absolute path of the C file around which headers are searched."""
    words: tuple[str, ...]
    """The flags of the unit."""
    compiler: Compiler | None = None
    """The compiler of the unit; None if it is not known."""
    _folders: dict[str, str | None] = field(default_factory=dict)

    def remedy(self, name: str) -> str:
        """Return the advice for a missing header, with a flag to type."""
        if name not in self._folders:
            # One search: the first missing header is the one to mend.
            self._folders[name] = None if self._folders else find_folder(name, self.main)
        folder = self._folders[name]
        if folder is not None:
            return f"add its folder with `{_include_flag(folder, name)}`"
        if name.startswith(_OF_LINUX) and _KERNEL not in self.words:
            return _KERNEL_REMEDY
        if self.compiler is not None and self.compiler.answer is not None:
            return f"{self.compiler.name} does not search its folder; add it with `-I DIR`"
        if "-nostdinc" in self.words:
            return "`-nostdinc` leaves out the system's headers; add the folder with `-I DIR`"
        sysroot = next((word[10:] for word in self.words if word.startswith("--sysroot=")), None)
        if sysroot is not None:
            return f"it is not in the sysroot {sysroot}; add its folder with `-I DIR`"
        if self.compiler is not None and self.compiler.triple is not None:
            query = query_driver.remedy(self.compiler.name)
            return f"if it is a header of {self.compiler.name}, add {query}; else its folder with `-I DIR`"
        if cross_target.ALONE[0] in self.words and cross_target.lacks_library(self._own_words()):
            return _LIBRARY_REMEDY
        if not files.exists(_C_LIBRARY):
            return "this machine has no C library headers; install them (libc6-dev), or use `--sysroot DIR`"
        template = find_template(name, self.main)
        if template is not None:
            return template
        if self._is_cross() and "-nostdlibinc" not in self.words:
            return _LIBRARY_REMEDY
        return "add its folder with `-I DIR`, or install the package that has it"

    def lacks_configuration(self, text: bytes) -> bool:
        """Return whether a text leaves out what configure found out, because the flags do not say so."""
        return _CONFIGURED.encode() in text and not any(_CONFIGURED in word for word in self.words)

    def _is_cross(self) -> bool:
        """Return whether the target has no operating system, whose C library would be this machine's."""
        triple = cross_target.stated_triple(self.words)
        return triple is not None and triple.endswith(("-elf", "-eabi", "-eabihf"))

    def _own_words(self) -> tuple[str, ...]:
        """Return the flags of the unit without those for a machine whose C library is missing."""
        return tuple(word for word in self.words if word not in cross_target.ALONE)


def find_template(name: str, main: str) -> str | None:
    """Return the advice for a header that the build makes from another file (`config.h.in`); None if none."""
    template = f"{os.path.basename(name)}.in"
    budget = [_MOST_ENTRIES]
    for around in project.searched_folders(main):
        path = next(_paths_below(around, "", template, budget), None)
        if path is not None:
            from layoutlint.readers.clang import build_system  # it reads compilation databases

            system = build_system.find(project.searched_folders(main)[-1])
            first = f"run `{system.prepare}` first" if system.prepare else "run that first"
            return f"the build makes it from {os.path.relpath(path)}: {first}"
    return None


def find_folder(name: str, main: str) -> str | None:
    """Return the nearest folder around a file from which `#include <name>` finds a header; None if none."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or name.startswith("/"):
        return None
    tail, start = os.sep.join(parts), os.path.dirname(main)
    budget = [_MOST_ENTRIES]
    inner = ""
    for around in project.searched_folders(main):
        matches = [
            folder[: len(folder) - len(os.sep + tail)]
            for folder in _paths_below(around, inner, parts[-1], budget)
            if folder.endswith(os.sep + tail)
        ]
        if matches:
            return min(matches, key=lambda folder: (project.distance(start, folder), folder))
        if budget[0] <= 0:
            return None
        inner = around
    return None


def _paths_below(top: str, left_out: str, name: str, budget: list[int]) -> Iterator[str]:
    """Yield the files of a name below a folder, without hidden folders and the one that was searched."""
    for folder, below, names in files.walk(top):
        budget[0] -= len(below) + len(names)
        if budget[0] <= 0:
            return
        below[:] = sorted(
            inner for inner in below if not inner.startswith(".") and os.path.join(folder, inner) != left_out
        )
        if name in names:
            yield os.path.join(folder, name)


def _include_flag(folder: str, name: str) -> str:
    """Return the flag that adds the folder of a header, as the user can type it in the working folder.

    Generated headers of a revision are links in a temporary folder: the flag has the place of the header.
    """
    near = os.path.relpath(folder, os.getcwd())
    if not near.startswith(".."):
        return f"-I{shlex.quote(near)}"
    header = files.real_path(os.path.join(folder, name))
    is_named_alike = header.endswith(f"{os.sep}{os.path.normpath(name)}")
    return f"-I{shlex.quote(header[: -len(os.path.normpath(name)) - 1] if is_named_alike else folder)}"
