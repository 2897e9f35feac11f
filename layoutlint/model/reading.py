"""The result of reading one input, and the options for reading."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from fnmatch import translate
from functools import cached_property
from typing import TYPE_CHECKING

from layoutlint.errors import NoDebugInformation, ReadError
from layoutlint.model.declared import StructDeclaration
from layoutlint.model.flag_files import ON_DISK, FlagFiles, FlagUse
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import AllocatorWord, Storage
from layoutlint.model.structs import Field, Source, Stray, Struct
from layoutlint.model.target import Target
from layoutlint.phrases import first_few

if TYPE_CHECKING:
    from layoutlint.model.task import Executor


class Unread(Record, frozen=True):
    """A part of an input that could not be read, and why: reported, counted, exit status 3."""

    origin: str
    reason: str
    files: tuple[str, ...] = ()
    """The files in `origin`, a folder, to which this applies; empty if `origin` is the file."""
    builds: tuple[str, ...] = ()
    """The builds of a matrix to which it applies."""
    lacks_debug_information: bool = False
    """Whether it can be read, and has neither DWARF nor BTF."""
    place: Source | None = None
    """The place of the error that is the reason, if it is in a text."""

    @classmethod
    def of_error(cls, error: ReadError) -> Unread:
        """Return the failure that an error reports."""
        is_lack = isinstance(error, NoDebugInformation)
        return cls(error.path, error.reason, lacks_debug_information=is_lack, place=error.place)

    def __str__(self) -> str:
        return f"{self.origin}: {self.sentence}"

    def text_for(self, path: str) -> str:
        """Return the failure in a message on an input, which names the origin only if it is another one."""
        return self.sentence if self.origin == path else str(self)

    @property
    def sentence(self) -> str:
        """The reason with its files and builds, without the origin."""
        builds = f" (in {first_few(self.builds)})" if self.builds else ""
        files = f" ({len(self.files):,} files: {first_few(self.files)})" if self.files else ""
        return f"{self.reason}{files}{builds}"


class Omission(Record, frozen=True):
    """A part of an input that was not read; the exit status is 3 if a rule could apply to it."""

    reason: str
    """The part that was not read, and why."""
    structs: frozenset[str] | None = None
    """The structs that it defines; None if it can define any."""
    is_harmless: bool = False
    """Whether rules have nothing to judge in it, so that it is only reported."""
    is_shared: bool = True
    """Whether several processors can access its objects; guesses judge no others."""


class AllocatedArray(Record, frozen=True):
    """An array that a call in a C source allocates."""

    struct: Struct
    """The type of its elements; `source` is the call."""
    storage: Storage


class MissingVariable(Record, frozen=True):
    """A variable that was requested by name, and that an input does not have."""

    name: str
    hint: str = ""
    """Why it is missing, or a question for the nearest name, to follow the name; empty for neither."""
    is_of_object: bool = False
    """Whether the input is an object file, so that another one can have the variable."""

    def __str__(self) -> str:
        return f"`{self.name}`{self.hint}"


class MissingHeader(Record, frozen=True):
    """The header of a requested struct, in a top folder that a tree of sources lacks."""

    struct: str
    header: str

    @property
    def folder(self) -> str:
        """The folder that the tree lacks: `mm/`."""
        return self.header.partition("/")[0] + "/"

    def __str__(self) -> str:
        return f"struct {self.struct} is defined in {self.header}, and this tree has no {self.folder}"


SNAPSHOT_OF = "snapshot of "
"""Before the reader of the input that a snapshot is about, in `Reading.reader`."""


_GLOB = frozenset("*?[")


class Chosen(Record, frozen=True, dict=True):
    """The structs that were requested for a snapshot; about others it states nothing."""

    names: tuple[str, ...] = ()
    """Names and patterns, sorted."""
    containers_of: tuple[str, ...] = ()
    """Structs whose containers it has too, because rules need them."""
    unrecorded: frozenset[str] = frozenset()
    """The requested names of which a snapshot that was read has no layout to hold."""

    def has(self, struct: Struct) -> bool:
        """Return whether a struct was requested, by its name or a typedef."""
        return any(map(self.has_name, (struct.name, *struct.aliases)))

    def has_name(self, name: str) -> bool:
        """Return whether a name was requested."""
        return name in self._own_names or self._pattern.match(name) is not None

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The names that are patterns (fnmatch)."""
        return tuple(name for name in self.names if not _GLOB.isdisjoint(name))

    @cached_property
    def _own_names(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(translate, self.patterns)) or r"(?!)")


Version = tuple[int, ...]
"""A version of Linux: `(6, 12, 107)`. A shorter one means the first of its series."""


class Reading(Record, frozen=True):
    """All facts that one input gave."""

    path: str
    reader: str
    target: Target
    structs: tuple[Struct, ...]
    build_id: str | None = None
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    """What the user should know about how it was read (skipped languages, assumed target); never a
    failure."""
    config: frozenset[str] | None = None
    """Kernel options that are on, without CONFIG_; None if the input does not state them."""
    options: frozenset[str] = frozenset()
    """Options that its banner states, even if the configuration is unknown: `SMP`, or `!SMP` for off."""
    is_kernel: bool = False
    """Whether this is a Linux kernel (vmlinux, module, its BTF or its tree), for shipped packs."""
    base: str | None = None
    """The file with the base BTF of its split BTF."""
    files: int | None = None
    """The number of files that were read, if the input is a folder of them."""
    build: str | None = None
    """The matrix build that it belongs to."""
    shuffled: ShufflingEvidence | None = None
    """The evidence that a compiler randomised its layouts; None without any."""
    declared: frozenset[StructDeclaration] | None = None
    """Declarations that decide randomised layouts, if they were requested and the input has them."""
    kernel: Version | None = None
    """The version of Linux; None for another input, or if not stated. It has two numbers if the third is a
    distribution's own."""
    compiler: str | None = None
    """The compiler whose name states the target; None if something else does."""
    data: tuple[Struct, ...] | None = None
    """Data in memory with the requested variables; None if the input states none."""
    arrays: tuple[Struct, ...] = ()
    """Variables that are arrays, each as data of its own, if they were requested."""
    variables: tuple[Field, ...] = ()
    """All variables, without their members, if arrays were requested."""
    allocated: tuple[AllocatedArray, ...] = ()
    """The arrays that its sources allocate, if they were searched."""
    least_data: tuple[Struct, ...] = ()
    """`data` with the smallest sizes of variables, if some are unknown and `data` has the largest."""
    unsized: tuple[str, ...] = ()
    """The variables whose sizes its symbol table does not state; empty if it has no symbol table."""
    misplaced: tuple[Struct, ...] = ()
    """Variables, each as data of its own, as requested by `Wanted.misplaced`."""
    missing_variables: tuple[MissingVariable, ...] = ()
    """Variables that were requested by name, and that the input does not have."""
    missing_headers: tuple[MissingHeader, ...] = ()
    """The headers of requested structs that are outside of this tree."""
    strays: tuple[Stray, ...] = ()
    names: frozenset[str] = frozenset()
    omissions: tuple[Omission, ...] = ()
    folders: frozenset[str] = frozenset()
    """The folders from which debug information names files: those in which the compiler ran."""
    compilers: tuple[str, ...] = ()
    """The C compilers that made an object, as it names them: `GCC: (Debian 14.2.0-19) 14.2.0`."""
    compile_commands: str | None = None
    """The compilation database that its flags are from; None if they are not from one."""
    flag_uses: tuple[tuple[str, FlagUse], ...] = ()
    """The files with flags that a base commit has otherwise, or that git does not track, if it decides."""
    allocator: AllocatorWord | None = None
    """The word of `placement` for the allocator that a program names instead of the C library's; None for
    none."""
    chosen: Chosen | None = None
    """What it has, if it is a snapshot of some structs; None if it is whole."""
    holds_types: bool = False
    """Whether it is a snapshot that holds code to the types of fields, too."""
    may_use: tuple[str, ...] = ()
    """The patterns of the reserved members whose bytes a snapshot lets others use."""
    elsewhere: frozenset[str] | None = None
    """The requested structs that seem to be in units which no touched file reaches; None if all are read."""


Progress = Callable[[str, int, int], None]
"""Called with the name of a task, the amount done, and the total."""


def no_progress(task: str, done: int, total: int) -> None:
    """Show nothing, as a Progress."""


DEBUG_DIR = "/usr/lib/debug"
"""Where distributions install separate debug files."""


class InputText(Record, frozen=True):
    """C text, or a snapshot, that is read as if it were a file."""

    path: str
    """Its name as an input and in messages; headers are searched beside it."""
    text: str


class TreeCopy(Record, frozen=True):
    """A copy of the files of a repository, at a revision or as staged, that is read instead of them."""

    top: str
    """The real path of the top of the working tree."""
    folder: str
    """The real path of the copy."""
    working_folder: str
    """The real path of the folder in which the command was started."""
    tracked_folders: frozenset[str] = frozenset()
    """The folders below the top, `.` for itself, with files that the copy or the index has."""
    generated: str | None = None
    """A folder with links to the files that git does not track; None if the copy itself has these."""
    tracked_links: frozenset[str] = frozenset()
    """The symbolic links below the top that the copy or the index has."""

    def display_path(self, path: str) -> str:
        """Return an absolute path as reports show it: relative to the working folder if that is shorter.

        A file of the copy has the name that it has in the working tree.
        """
        if path.startswith(f"{self.folder}{os.sep}"):
            path = self.top + path[len(self.folder) :]
        near = os.path.relpath(path, self.working_folder)
        return near if len(near) < len(path) else path


class DebugServers(Record, frozen=True):
    """Servers with debug information (debuginfod), and the limits of one download."""

    urls: tuple[str, ...] = ()
    seconds: int = 90
    """The time in which 100 kB must arrive."""
    total_seconds: int = 3600
    most: int = 8 << 30
    """Bytes."""


class TrustedCompilers(Record, frozen=True):
    """The compilers that may be asked for their macros, include folders and target (`--query-driver`)."""

    patterns: tuple[str, ...]
    """Patterns of absolute paths."""
    search_path: tuple[str, ...]
    """The folders of PATH in which compilers without folder are searched."""


class Touched(Record, frozen=True):
    """The files that a change touches."""

    paths: frozenset[str]
    """Absolute paths."""
    needs_all: bool = True
    """Whether all units are read if a requested struct seems to be in none of those that are left out."""


class NearerOptions(Record, frozen=True):
    """Options for the inputs of one place, where several have different ones."""

    place: str
    """An input, or a folder of inputs, from the working folder."""
    line_size: int | None = None
    """Bytes of a cache line; None for that of the run."""
    min_align: int | None = None
    """The smallest alignment of an object in bytes; None for that of the run."""
    flags: tuple[str, ...] = ()
    """Compiler flags, in place of those of the run."""
    compile_commands: str | None = None
    """The compilation database to use for C files; None for that of the run."""


class ReadOptions(Record, frozen=True):
    """The command-line options for reading."""

    flags: tuple[str, ...] = ()
    """Compiler flags given after `--`, for headers and sources."""
    target: str | None = None
    """A name of TARGETS, for inputs that state no machine: C source, raw BTF. An input for another machine is
    refused."""
    config: tuple[str, ...] | None = None
    """Kernel options that are on (`SMP`) or off (`!SMP`), for inputs that state none; others are off. C
    source sees `CONFIG_SMP`. An input with another configuration is refused."""
    progress: Progress = no_progress
    jobs: int = 1
    """The number of processes; 0 means one for each processor if a folder of modules or much DWARF is read,
    else one."""
    btf_base: str | None = None
    """The BTF of vmlinux, on which a module's split BTF builds."""
    reader: str | None = None
    """`dwarf` or `btf` for files with both; None selects DWARF, which has more facts."""
    debug_dirs: tuple[str, ...] = (DEBUG_DIR,)
    """Folders with separate debug files, laid out as distributions do."""
    query_drivers: TrustedCompilers | None = None
    """The compilers of databases that may be asked; None for none."""
    sources: tuple[str, ...] = ()
    """Source folders of compiled inputs."""
    servers: DebugServers | None = None
    """The servers that are asked for debug information; None for none."""
    with_marks: bool = False
    """Whether to look for what decides on layouts with other orders of members: declarations of randomised
    ones, and alignments that members state by types.
    """
    finds_flags: bool = True
    """Whether the flags of C files come from the compilation database around them."""
    is_sampled: bool = False
    """Whether one unit of a database with the requested structs is enough: the caller compares the others."""
    compile_commands: str | None = None
    """The compilation database to use for C files; None for those around each."""
    kernel_tree: str | None = None
    """The kernel tree with whose flags C files outside of it are read, as an absolute path; None for none."""
    flag_files: FlagFiles = ON_DISK
    """The files with flags that count: those on disk, or those of a base commit."""
    copy: TreeCopy | None = None
    """The copy of a repository that is read; None if the files of the working tree are."""
    finds_omissions: bool = False
    """Whether to search inputs for parts that are not read."""
    texts: tuple[InputText, ...] = ()
    """The C text of inputs that are not on disk."""
    replaced: tuple[InputText, ...] = ()
    """The C text that libclang reads in place of that of files, by their real paths."""
    cache: bool = False
    """Whether results of earlier runs may be used, and are kept for later ones."""
    trusts_build_ids: bool = False
    """Whether files of the same build id and sections have the same content: then the cache knows them by
    these, wherever they are."""
    touched: Touched | None = None
    """The files that a change touches: of databases, units that can read none of them are left out. None to
    read all."""
    executor: Executor | None = None
    """What reads inputs, the files of folders, and C sources as its tasks; None for processes of this run."""

    nearer: tuple[NearerOptions, ...] = ()
    """The options of inputs that have other ones than the run; the innermost place counts."""

    def nearest(self, path: str) -> NearerOptions | None:
        """Return the options that an input has instead of those of the run; None if it has none."""
        at = f"{os.path.abspath(path)}{os.sep}"
        places = ((os.path.abspath(each.place).rstrip(os.sep), each) for each in self.nearer)
        around = (pair for pair in places if at.startswith(f"{pair[0]}{os.sep}"))
        return max(around, key=lambda pair: len(pair[0]), default=(None, None))[1]

    def of_input(self, path: str) -> ReadOptions:
        """Return the options for an input."""
        own = self.nearest(path)
        if own is None:
            return replace(self, nearer=())
        database = own.compile_commands or self.compile_commands
        return replace(self, flags=own.flags, compile_commands=database, nearer=())

    @property
    def of_task(self) -> ReadOptions:
        """The options in a process that reads a part: it shows no progress, and starts no others."""
        return replace(self, progress=no_progress, jobs=1, executor=None)

    def refuse_other(self, reading: Reading) -> None:
        """Raise ReadError for an input of another machine or configuration, whatever its structs."""
        if self.target not in (None, reading.target.name):
            raise ReadError(reading.path, f"is for {reading.target.name}, but {self.target} was requested")
        for option in self.config or ():
            is_on, name = not option.startswith("!"), option.removeprefix("!")
            opposite = f"!{name}" if is_on else name
            differs = reading.config is not None and is_on != (name in reading.config)
            if differs or opposite in reading.options:
                has = f"{'without' if is_on else 'with'} {name}"
                raise ReadError(reading.path, f"is configured {has}, but `{option}` was requested")
