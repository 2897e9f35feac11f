"""All that one input gave, and what the command line says about reading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from layoutlint.errors import ReadError
from layoutlint.model.declared import Declared
from layoutlint.model.randomised import Shuffled
from layoutlint.model.structs import Field, Stray, Struct
from layoutlint.model.target import Target
from layoutlint.phrases import some_of


@dataclass(frozen=True, slots=True)
class Unread:
    """Something in an input that could not be read, and why: shown, counted, exit status 3."""

    origin: str
    reason: str
    files: tuple[str, ...] = ()
    """The files in `origin`, a folder, of which this is true; empty when `origin` is the file."""
    builds: tuple[str, ...] = ()
    """The builds of a matrix that it is about."""

    def __str__(self) -> str:
        builds = f" (in {some_of(self.builds)})" if self.builds else ""
        files = f" ({len(self.files):,} files: {some_of(self.files)})" if self.files else ""
        return f"{self.origin}: {self.reason}{files}{builds}"


@dataclass(frozen=True, slots=True)
class Omission:
    """A part of an input that was not looked at; the exit status is 3 where a rule could apply to it."""

    reason: str
    """What was not looked at, and why."""
    structs: frozenset[str] | None = None
    """The structs that it defines; None where it can define any."""
    is_harmless: bool = False
    """Whether rules have nothing to judge in it, so that it is only reported."""
    is_shared: bool = True
    """Whether several processors can reach its objects; guesses are about nothing else."""


@dataclass(frozen=True, slots=True)
class MissingVariable:
    """A variable that was asked for by name, and that an input does not have."""

    name: str
    hint: str = ""
    """The nearest name that the input has, as a question to stand behind the name; empty if none is near."""

    def __str__(self) -> str:
        return f"`{self.name}`{self.hint}"


Version = tuple[int, ...]
"""A version of Linux: `(6, 12, 107)`; without further numbers it means the first of those."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that one input gave."""

    path: str
    reader: str
    target: Target
    structs: tuple[Struct, ...]
    build_id: str | None = None
    unread: tuple[Unread, ...] = ()
    notes: tuple[str, ...] = ()
    """What the user should know of how it was read (skipped languages, assumed target); never a failure."""
    config: frozenset[str] | None = None
    """Kernel configuration options that are on, without CONFIG_; None when the input does not tell."""
    options: frozenset[str] = frozenset()
    """Options that its banner states, whether or not the configuration is known: `SMP`, or `!SMP` for off."""
    is_kernel: bool = False
    """Whether this is a Linux kernel (vmlinux, module, its BTF or its tree); shipped packs name it."""
    base: str | None = None
    """The file whose BTF this one's builds on."""
    files: int | None = None
    """How many files were read, where a folder of them is one input."""
    build: str | None = None
    """The build of a matrix that it is of."""
    shuffled: Shuffled | None = None
    """Which compiler put its fields into a random order; None where nothing says that one did."""
    declared: frozenset[Declared] | None = None
    """What decides of randomised layouts, where it was asked for and the input shows it."""
    kernel: Version | None = None
    """The version of Linux that it is; None for another input, or when it does not tell. It has two numbers
    where the third is a distribution's own."""
    data: tuple[Struct, ...] | None = None
    """Data in memory with the variables that are asked for; None where the input tells of none."""
    least_data: tuple[Struct, ...] = ()
    """The same with one byte for each variable, where sizes are not known and `data` has the largest."""
    misplaced: tuple[Field, ...] = ()
    """Variables at their addresses, as `Wanted.misplaced` asks for them."""
    missing_variables: tuple[MissingVariable, ...] = ()
    """Variables that were asked for by name, and that the input does not have."""
    strays: tuple[Stray, ...] = ()
    names: frozenset[str] = frozenset()
    omissions: tuple[Omission, ...] = ()


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is."""


def no_progress(what: str, done: int, total: int) -> None:
    """A Progress that shows nothing."""


DEBUG_DIR = "/usr/lib/debug"
"""Where distributions install separate debug files."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the command line says about reading."""

    flags: tuple[str, ...] = ()
    """Compiler flags given after `--`, for headers and sources."""
    target: str | None = None
    """The machine, a name of TARGETS, where an input leaves it open: C text, raw BTF. One that is for another
    is refused."""
    config: tuple[str, ...] | None = None
    """Kernel options that are on (`SMP`) or off (`!SMP`), where an input does not tell; others are off. C
    text sees `CONFIG_SMP`. An input that is configured otherwise is refused."""
    progress: Progress = field(default=no_progress)
    jobs: int = 1
    """Processes; 0 is one for each processor where a folder of modules or much DWARF is read, else one."""
    btf_base: str | None = None
    """The BTF of vmlinux that a module's split BTF builds on."""
    reader: str | None = None
    """`dwarf` or `btf` where a file has both; None takes DWARF, which tells more."""
    debug_dirs: tuple[str, ...] = (DEBUG_DIR,)
    """Folders below which separate debug files stand, as distributions lay them out."""
    sources: tuple[str, ...] = ()
    """Folders with the C text that inputs without any were made of."""
    marks: bool = False
    """Whether Declared are looked for."""
    omissions: bool = False
    """Whether parts of inputs are searched for that are not looked at otherwise."""

    def refuse_other(self, reading: Reading) -> None:
        """Raise ReadError for an input of another machine or configuration; its structs do not matter."""
        if self.target not in (None, reading.target.name):
            raise ReadError(reading.path, f"is for {reading.target.name}, and {self.target} was asked for")
        for option in self.config or ():
            is_on, name = not option.startswith("!"), option.removeprefix("!")
            opposite = f"!{name}" if is_on else name
            differs = reading.config is not None and is_on != (name in reading.config)
            if differs or opposite in reading.options:
                has = f"{'without' if is_on else 'with'} {name}"
                raise ReadError(reading.path, f"is configured {has}, and `{option}` was asked for")
