"""Words of fact: what an input says about structs, before anything is computed or judged.

Standard library only, no input or output. Sizes and offsets are in bits; alignments are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag
from fnmatch import fnmatchcase
from typing import Literal

from layoutlint.ctype import CType
from layoutlint.shuffled import Randomised, Shuffled

Aggregate = Literal["struct", "union"]


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where something is declared; `line` counts from 1 and is None where the input gives none."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Target:
    """What depends on the machine that the object lives on; `line_size` and `min_align` are defaults."""

    name: str
    pointer_size: int
    little_endian: bool
    line_size: int
    """Bytes in a cache line."""
    min_align: int
    """The smallest alignment of an allocated object, in bytes."""
    max_align: int
    """The largest natural alignment of a scalar inside a struct, in bytes (4 on i386)."""
    kmalloc_align: int = 8
    """What every block of the kernel's kmalloc is aligned to, in bytes (ARCH_KMALLOC_MINALIGN)."""
    slab_align: int = 8
    """What every object of a slab cache is aligned to, in bytes (ARCH_SLAB_MINALIGN)."""
    malloc_align: int = 16
    """What every block of the C library's malloc is aligned to, in bytes (MALLOC_ALIGNMENT)."""


def _target(
    name: str, pointer: int, endian: str, line: int, min_align: int, max_align: int,
    *, kmalloc: int = 8, slab: int = 8, malloc: int = 16,
) -> Target:  # fmt: skip
    return Target(name, pointer, endian == "little", line, min_align, max_align, kmalloc, slab, malloc)


# Line sizes: L1_CACHE_SHIFT in Linux v7.2, arch/*/include/asm/cache.h; the smallest alignment of an object is
# that of `unsigned long long`, as include/linux/slab.h has it.
# Scalar alignment: the psABI of each architecture.
# kmalloc: ARCH_KMALLOC_MINALIGN, there and in include/linux/slab.h: ARCH_DMA_MINALIGN on arm, a line (64 on
# ARMv7), and on loongarch; 8 on arm64 and riscv since v6.5 (128 and 64 before), and on mips and powerpc where
# DMA is coherent (else 128, and a line). The smaller one allows more placements; --min-align says the other.
# slab: ARCH_SLAB_MINALIGN, likewise; 16 on arm64 with KASAN's tags, which is a build for debugging.
# malloc: MALLOC_ALIGNMENT of glibc 2.26 and later, sysdeps/{generic,i386}/malloc-alignment.h: 16 on i386,
# else twice a pointer, or the alignment of `long double` where that is larger.
TARGETS: tuple[Target, ...] = (
    _target("x86_64", 8, "little", 64, 8, 16),
    _target("x32", 4, "little", 64, 8, 16),  # x86-64 with pointers of 32 bits (-mx32)
    _target("i386", 4, "little", 64, 8, 4),
    _target("aarch64", 8, "little", 64, 8, 16),
    _target("aarch64_be", 8, "big", 64, 8, 16),
    _target("arm", 4, "little", 64, 8, 8, kmalloc=64, malloc=8),
    _target("armeb", 4, "big", 64, 8, 8, kmalloc=64, malloc=8),
    _target("powerpc64le", 8, "little", 128, 8, 16),
    _target("powerpc64", 8, "big", 128, 8, 16),
    _target("powerpc", 4, "big", 32, 8, 16),
    _target("s390x", 8, "big", 256, 8, 8),
    _target("riscv64", 8, "little", 64, 8, 16),
    _target("riscv32", 4, "little", 64, 8, 16),
    _target("mips64", 8, "big", 32, 8, 16),
    _target("mips64el", 8, "little", 32, 8, 16),
    _target("mips", 4, "big", 32, 8, 8, malloc=8),
    _target("mipsel", 4, "little", 32, 8, 8, malloc=8),
    _target("loongarch64", 8, "little", 64, 8, 16, kmalloc=16),
    _target("sparc64", 8, "big", 64, 8, 16),
    # A raw BTF blob names no machine: only its byte order and the size of `long` are known.
    _target("unknown64-le", 8, "little", 64, 8, 16),
    _target("unknown64-be", 8, "big", 64, 8, 16),
    _target("unknown32-le", 4, "little", 64, 8, 8, malloc=8),
    _target("unknown32-be", 4, "big", 64, 8, 8, malloc=8),
)


def target_named(name: str) -> Target:
    """The row of TARGETS called `name`; raises KeyError when there is none."""
    return {target.name: target for target in TARGETS}[name]


class Unstated(IntFlag):
    """What decides on alignments and is not in an input; C text states all of it."""

    NOTHING = 0
    PACKED = 1
    """`packed`, on structs and on members."""
    PRAGMA = 2
    """`#pragma pack(N)`."""
    ALIGNED = 4
    """`aligned`, on structs, members and typedefs."""
    RAISED = 8
    """How far members raise a struct above the alignment that it asks for, which is what is stated."""
    AS_LARGE = 16
    """`aligned(N)` of structs of N bytes that fit into registers (gcc, on strict-alignment targets)."""
    BIT_FIELDS = 32
    """`aligned` on bit-fields."""
    CAPPED = 64
    """How far `#pragma pack(N)` cuts down what members ask for."""
    ATOMIC = 128
    """`_Atomic`, which raises alignments, and with clang sizes."""
    KEPT = 256
    """That atomic types have the size of what they are made of (gcc)."""
    ROUNDED = 512
    """That they are rounded up to powers of two (clang)."""
    WIDE = 1024
    """`-malign-double`, on i386."""
    TYPEDEF = 2048
    """`aligned` on typedefs; of a struct, that it goes by one that may have some alignment of its own."""
    WHOLE = 4096
    """Which members are bit-fields as wide as their types."""


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a struct or union. `bit_offset` counts from the start of what it is a member of."""

    name: str | None
    """None for an anonymous struct or union, whose members are addressed as the outer struct's own."""
    type: CType
    bit_offset: int
    bit_size: int | None
    """None when the input does not tell; 0 for a flexible array and for empty types."""
    is_bitfield: bool = False
    aggregate: Aggregate | None = None
    """What the type (or, for an array, the element type) is, when it has members."""
    dims: tuple[int | None, ...] = ()
    """Array dimensions, outermost first; None is a flexible one."""
    members: tuple[Field, ...] = ()
    """Members of the type, or of one element of the array, with offsets from its start."""
    align: int | None = None
    """Alignment of the member in bytes where nothing is packed, with its own `aligned` where the input shows
    it; of a bit-field that of its declared type, None where it has one of its own. Of several that a struct
    can have (`possible`) the one that its members ask for."""
    source: Source | None = None
    is_function_pointer: bool = False
    """Whether its type, or that of an array's elements, is a pointer to a function, also through typedefs."""
    stands_for: tuple[CType, ...] = field(default=(), compare=False)
    """What its type, or that of an array's elements, is a typedef of, outermost first; not compared."""
    asked: int = 0
    """The alignment in bytes that its own `aligned` gives it and `packed` does not take away; 0 for none."""
    possible: int = 0
    """The alignments that its type can have, where the input leaves several open: their sum, as they are
    powers of two. 0 where there is one, which is `align`."""

    is_flattened: bool = field(default=False, compare=False)
    """Whether a dimension can stand for several (`x[6]` for `x[2][3]`); not compared."""

    @property
    def is_flexible(self) -> bool:
        """Whether this is an array without a length of its own (`x[]`, `x[0]`)."""
        return bool(self.dims) and self.dims[0] in (None, 0)


def written(fields: tuple[Field, ...], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """The fields that a struct's own braces hold, with their paths; those of structs inside of it as well."""
    for member in fields:
        path = prefix + (member.name or "")
        if member.name is not None:
            yield path, member
        if member.type.left.endswith("{...}"):
            yield from written(member.members, f"{path}." if member.name else prefix)


ANNOTATION = "layoutlint:"
"""What annotations begin with, in attributes and comments (docs/annotations.md)."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What somebody wrote down at a struct or a field about how it is used."""

    path: str
    """Of the field, dotted; empty for the struct itself."""
    text: str
    """What stands behind ANNOTATION."""
    source: Source | None = None
    """Where it stands, or what it stands at; None when the input does not tell."""


@dataclass(frozen=True, slots=True)
class Stray:
    """An annotation in a comment that stands at nothing which the input has."""

    text: str
    """What stands behind ANNOTATION."""
    source: Source
    struct: str | None
    """Inside of which it stands; None outside of those that were read."""


@dataclass(frozen=True, slots=True)
class Struct:
    """One definition of a struct or union, as one input gives it."""

    name: str
    """Its tag, or for an anonymous one the typedef that names it."""
    aggregate: Aggregate
    bit_size: int | None
    """None for an incomplete type."""
    align: int | None
    """Alignment in bytes when the input states it, else None (see `Layout.alignments` for what follows)."""
    fields: tuple[Field, ...]
    target: Target
    source: Source | None = None
    origin: str = ""
    """The unit or file in which this definition was read."""
    aliases: tuple[str, ...] = ()
    """Typedef names that were asked for and stand for this struct."""
    problem: str | None = None
    """Why its layout cannot be believed, with file and line; rules on it are then unknown."""
    files: tuple[str, ...] = ()
    """The files that have this definition, where a folder of them is one input; else empty."""
    is_tagged: bool = True
    """Whether `name` is its tag, and not a typedef's name."""
    realigned: str = ""
    """The name of the struct that it is a typedef of with an alignment of its own; empty where it is none."""
    randomised: Randomised | None = None
    """How its fields were put into a random order; None for the declared one."""
    is_randomisable: bool = False
    """Whether C text marks it for that, in a configuration that has it off."""
    annotations: tuple[Annotation, ...] = ()
    """What the input says of its use, in the order of its fields, the struct itself first."""
    address: int | None = None
    """Of data in memory, whose fields are sections with variables: where it stands; else None."""
    unstated: Unstated = Unstated.NOTHING
    """What the input leaves out that decides on its alignment."""
    possible: int = 0
    """The alignments that it can have, as far as more is known than its fields tell: their sum; else 0. If
    nothing is unstated, its fields tell nothing."""

    def answers_to(self, name: str) -> bool:
        """Whether `name`, a tag or typedef or fnmatch pattern, means this struct."""
        return fnmatchcase(self.name, name) or name in self.aliases


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which structs are asked for; readers produce no others."""

    names: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    everything: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    """(struct, header that defines it) where a rule file says so; for source trees."""
    kernel: frozenset[str] = frozenset()
    """Those of the names and patterns that are asked for in Linux kernels only."""
    annotated: bool = False
    """Structs that carry annotations are asked for as well."""
    files: frozenset[str] = frozenset()
    """So are those that are declared in these files, which are named as far as is known."""
    held: frozenset[str] = frozenset()
    """Names of structs that are asked for with all that holds them by value, at any depth."""
    variables: tuple[str, ...] = ()
    near: int = 0
    """Names and patterns of variables, and how many bytes around them are asked for; 0 for nothing."""
    misplaced: frozenset[tuple[int, int]] = frozenset()
    """Sizes and alignments of structs in bytes: variables of such a size that start elsewhere are wanted."""
    unless: tuple[tuple[str, Callable[[Reading], bool]], ...] = ()
    """Names and patterns with what says whether an input, its structs aside, is not asked for them."""

    names_only: bool = False
    """Only `Reading.names`: what all structs are called, and typedefs that stand for one."""

    def matches(self, name: str) -> bool:
        """Whether a struct called `name` is asked for."""
        if self.everything or name in self.names or name in self.held:
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def wants(self, struct: Struct) -> bool:
        """Whether a struct that was read is asked for by its name, by a typedef's, or by what it holds."""
        return bool(self.held) or self.matches(struct.name) or not self.names.isdisjoint(struct.aliases)

    def is_declared_in(self, file: str) -> bool:
        """Whether a file, as an input names it, is one of those whose structs are asked for."""
        name = file.rpartition("/")[2]
        return any(
            known == file or file.endswith(f"/{known}") or known.endswith(f"/{file}")
            for known in self.files
            if known.rpartition("/")[2] == name
        )

    def widened(self) -> Wanted:
        """For readers that cannot tell what holds a struct before they have read everything."""
        named = self.names | self.held
        return replace(self, everything=True, names=named, held=frozenset()) if self.held else self

    def outside_kernels(self) -> Wanted:
        """What is asked for in an input that is no Linux kernel."""
        patterns = tuple(pattern for pattern in self.patterns if pattern not in self.kernel)
        return replace(self, names=self.names - self.kernel, patterns=patterns, kernel=frozenset())


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


def some_of(files: Sequence[str], limit: int = 3) -> str:
    """The first few of many files, by name where that tells them apart, and how many more there are."""
    names = [file.rpartition("/")[2] for file in files]
    names = names if len(set(names)) == len(names) else list(files)
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more:,} more" if more > 0 else "")


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
    lacking: tuple[str, ...] = ()
    """Variables that are asked for by name and are not there, each with the nearest that is."""
    strays: tuple[Stray, ...] = ()
    names: frozenset[str] = frozenset()
    omissions: tuple[Omission, ...] = ()


Inner = tuple[str, tuple[int, ...]]
"""A struct type without a name: the tag or typedef of what it stands in, and its members' positions there."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member as its struct declares it, as far as its place depends on it; alignments are in bytes."""

    name: str | None
    bit_size: int | None
    """None when the input does not tell."""
    align: int | None
    """Of its type; for a bit-field of the declared one. None when the input does not tell."""
    asked: int | None = 0
    """What its own `aligned` asks for; 0 for none, None when the input does not tell."""
    unit: int = 0
    """Bytes in the declared type of a bit-field; 0 for what is none."""
    is_packed: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """One struct type as C text declares it."""

    key: str | Inner
    align: int | None
    """In bytes; None when the input does not tell."""
    fields: tuple[int | None, ...]
    """For each of its members the position of its Field; None for a bit-field without a name."""
    members: tuple[Member, ...]
    is_randomised: bool = False
    """Whether it has `randomize_layout`, and `is_kept` whether it has `no_randomize_layout`."""
    is_kept: bool = False
    has_pragma: bool = False
    """Whether a `#pragma pack` may hold there."""


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
