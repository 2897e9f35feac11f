"""Linux kernel trees: their source and build folders, their configuration, and the flags that follow.

The flags are those of the kernel's Makefile (USERINCLUDE, LINUXINCLUDE, KBUILD_CPPFLAGS, KBUILD_CFLAGS) that
affect headers; no compiler and no make is run.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flag_files import ON_DISK, FlagFiles
from layoutlint.model.reading import ReadOptions, Version
from layoutlint.model.record import Record, replace
from layoutlint.phrases import first_few
from layoutlint.readers.c_tokens import number
from layoutlint.readers.clang import builtin_headers
from layoutlint.readers.clang.build_compiler import Compiler, Family
from layoutlint.readers.linux import config

_MARK = "include/linux/kconfig.h"
_AUTOCONF = "include/generated/autoconf.h"
_LARGEST = 1 << 22
"""The most bytes of a configuration or Makefile; those of Linux v7.2 have up to 300 thousand."""
_INCLUDE = re.compile(r"^include\s+(\S+)/Makefile\s*$", re.MULTILINE)
_CONFIGS = ("include/config/auto.conf", ".config")
_OPTION = re.compile(r"^CONFIG_(\w+)=(.*)$", re.MULTILINE)
_MACRO = re.compile(r"^#define CONFIG_(\w+)", re.MULTILINE)
_COMPILER = re.compile(r'^CONFIG_CC_VERSION_TEXT="(\S+)', re.MULTILINE)
_COMPILER_VERSION = re.compile(r"^CONFIG_(GCC|CLANG)_VERSION=(\d+)$", re.MULTILINE)
_DEFINED = re.compile(r"^#define CONFIG_(\w+?)(?:_MODULE)? 1$", re.MULTILINE)
_VERSION = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL)\s*=\s*(\d+)", re.MULTILINE)

_REMEDY = (
    "run `make olddefconfig prepare`, or name its build folder: `-- O=FOLDER`, in a matrix"
    ' `flags = ["O=FOLDER"]`'
)
_REMEDY_OF_NAMED = "run `make defconfig modules_prepare` there, or name its build folder: `--kernel FOLDER`"

# CLANG_TARGET_FLAGS_* of scripts/Makefile.clang; the first row whose options are all on decides.
_ARCHITECTURES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("UML", "64BIT"), "um", "x86_64-linux-gnu"),
    (("UML",), "um", "i386-linux-gnu"),
    (("X86_64",), "x86", "x86_64-linux-gnu"),
    (("X86_32",), "x86", "i386-linux-gnu"),
    (("ARM64", "CPU_BIG_ENDIAN"), "arm64", "aarch64_be-linux-gnu"),
    (("ARM64",), "arm64", "aarch64-linux-gnu"),
    (("ARM", "CPU_BIG_ENDIAN"), "arm", "armeb-linux-gnueabi"),
    (("ARM",), "arm", "arm-linux-gnueabi"),
    (("PPC64", "CPU_LITTLE_ENDIAN"), "powerpc", "powerpc64le-linux-gnu"),
    (("PPC64",), "powerpc", "powerpc64-linux-gnu"),
    (("PPC32",), "powerpc", "powerpc-linux-gnu"),
    (("S390",), "s390", "s390x-linux-gnu"),
    (("RISCV", "64BIT"), "riscv", "riscv64-linux-gnu"),
    (("RISCV",), "riscv", "riscv32-linux-gnu"),
    (("MIPS", "64BIT", "CPU_LITTLE_ENDIAN"), "mips", "mips64el-linux-gnuabi64"),
    (("MIPS", "64BIT"), "mips", "mips64-linux-gnuabi64"),
    (("MIPS", "CPU_LITTLE_ENDIAN"), "mips", "mipsel-linux-gnu"),
    (("MIPS",), "mips", "mips-linux-gnu"),
    (("LOONGARCH", "64BIT"), "loongarch", "loongarch64-linux-gnu"),
    (("SPARC64",), "sparc", "sparc64-linux-gnu"),
)
_FAMILIES: tuple[tuple[str, Family], ...] = (("GCC", "gcc"), ("CLANG", "clang"))
"""Compilers as the configuration names them: `CONFIG_CC_IS_GCC=y`, `CONFIG_GCC_VERSION=120200`."""
_ARM_VERSIONS = (
    ("CPU_32v7M", 7), ("CPU_32v7", 7), ("CPU_32v6", 6), ("CPU_32v5", 5), ("CPU_32v4T", 4), ("CPU_32v4", 4),
)  # fmt: skip
"""__LINUX_ARM_ARCH__, as arch/arm/Makefile defines it."""


class Tree(Record, frozen=True):
    """A configured kernel: its source, and its folder of generated headers (the same if built in place)."""

    source: str
    build: str
    config: frozenset[str]
    """Options that are on (y or m), without CONFIG_."""
    arch: str
    """SRCARCH: the folder below arch/."""
    triple: str
    makefile: str
    """The text of the top Makefile."""
    note: str | None = None
    """Whose headers are read, if the Makefile of the build folder names others, or some far from it."""

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders to which reported paths are relative."""
        return (self.source,) if self.source == self.build else (self.source, self.build)

    @property
    def shuffling_option(self) -> str | None:
        """The option under which the compiler shuffles the fields of marked structs; None if it is off."""
        options = ("RANDSTRUCT_PERFORMANCE", "RANDSTRUCT_FULL", "RANDSTRUCT", "GCC_PLUGIN_RANDSTRUCT")
        return next((f"CONFIG_{option}" for option in options if option in self.config), None)

    @property
    def folders(self) -> tuple[str, ...]:
        """The include folders for kernel headers, in the order of LINUXINCLUDE."""
        arch = f"arch/{self.arch}/include"
        inside = [
            (self.source, arch), (self.build, f"{arch}/generated"), (self.source, "include"),
            (self.build, "include"), (self.source, f"{arch}/uapi"), (self.build, f"{arch}/generated/uapi"),
            (self.source, "include/uapi"), (self.build, "include/generated/uapi"),
        ]  # fmt: skip
        if self.arch == "um":
            inside.insert(0, (self.source, "arch/um/include/shared"))
            inside.append((self.source, "arch/x86/include"))
        return tuple(dict.fromkeys(os.path.join(root, below) for root, below in inside))

    @property
    def macros(self) -> frozenset[str]:
        """The macros that the configuration defines, without CONFIG_; those of modules end in _MODULE."""
        for name in _CONFIGS:
            if text := _text(self.build, name):
                options = _OPTION.findall(text)
                return frozenset(f"{option}_MODULE" if value == "m" else option for option, value in options)
        return frozenset(_MACRO.findall(_text(self.build, _AUTOCONF)))

    @property
    def compiler(self) -> Compiler | None:
        """The compiler that the configuration was made for; None before Linux 4.18, which does not say."""
        text = next(filter(None, (_text(self.build, name) for name in _CONFIGS)), "")
        stated = ((name, number(digits)) for name, digits in _COMPILER_VERSION.findall(text))
        versions = {name: version for name, version in stated if version}
        named = _COMPILER.search(text)
        for name, family in _FAMILIES:
            if name in versions and f"CC_IS_{name}" in self.config:
                major, rest = divmod(versions[name], 10_000)
                version = (major, *divmod(rest, 100))
                return Compiler(family if named is None else named[1], family, version)
        return None

    @property
    def version(self) -> Version:
        """VERSION, PATCHLEVEL and SUBLEVEL."""
        return _version(self.makefile)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of a kernel source of this tree that affect layouts."""
        words = ["-nostdinc", f"--target={self.triple}", "-D__KERNEL__", "-fshort-wchar"]
        words += ["-std=gnu11" if self.version >= (5, 18) else "-std=gnu89"]
        # In the Makefile since "kbuild: treat char as always unsigned" (v6.2) and "Kbuild: enable
        # -fms-extensions" (v6.19), which became an option of the configuration.
        words += ["-funsigned-char"] if "-funsigned-char" in self.makefile else []
        words += ["-fms-extensions"] if re.search("-fms-extensions|CC_MS_EXTENSIONS", self.makefile) else []
        words += [
            f"-D{name}=layoutlint" for name in ("KBUILD_MODNAME", "KBUILD_BASENAME", "__KBUILD_MODNAME")
        ]
        if self.config.issuperset(("FUNCTION_TRACER", "HAVE_FENTRY")):
            words += ["-DCC_USING_FENTRY"]
        # BTF tags on pointers would hide the types behind them.
        words += ["-Dbtf_type_tag(x)="]
        # It changes no layout; on pointers (__counted_by_ptr) it is an error in a clang that is older than
        # the compiler which the configuration was made for.
        words += ["-D__counted_by__(x)="]
        if self.arch == "arm":
            words += [f"-D__LINUX_ARM_ARCH__={n}" for name, n in _ARM_VERSIONS if name in self.config][:1]
        words += [f"-I{folder}" for folder in self.folders]
        # compiler-version.h only makes kbuild compile again, by headers that a build may lack.
        for header in ("kconfig.h", "compiler_types.h"):
            path = os.path.join(self.source, "include/linux", header)
            words += ["-include", path] if files.exists(path) else []
        # "isystem: ship and use stdarg.h" (v5.15) ended the use of the compiler's own headers.
        builtin_folder = builtin_headers.include_folder() if self.version < (5, 15) else None
        return (*words, *(("-isystem", builtin_folder) if builtin_folder else ()))


def find(
    path: str, build: str | None = None, flag_files: FlagFiles = ON_DISK, remedy: str = _REMEDY
) -> Tree | None:
    """Return the kernel tree of a folder (source, build or header package); None if it is no kernel.

    `build` names the build folder of a source tree, as `make O=` does. Raises ReadError for a kernel that is
    not configured, with a remedy, or whose configuration a change chose.
    """
    folder = os.path.abspath(path)
    source = _source(folder)
    if source is None:
        return None
    candidates = [build] if build else [folder, os.path.join(folder, "build")]
    for candidate in candidates:
        if files.exists(os.path.join(candidate, _AUTOCONF)):
            _refuse_chosen(path, candidate, flag_files)
            built = os.path.abspath(files.real_path(candidate))
            tree = _tree(path, source, built, _text(source, "Makefile", flag_files))
            return replace(tree, note=_source_note(folder, source))
    where = build or path
    raise ReadError(
        path,
        f"is a kernel tree that is not configured: {os.path.join(where, _AUTOCONF)} is not there ({remedy})",
    )


def find_named(path: str, flag_files: FlagFiles = ON_DISK) -> Tree:
    """Return the kernel tree that `--kernel` names; raises ReadError.

    The common part of split header packages means the part for a machine that is built on it.
    """
    parts = [] if files.exists(os.path.join(path, _AUTOCONF)) else _parts_beside(path)
    if len(parts) > 1:
        raise ReadError(path, f"is the common part of header packages: name one of {first_few(parts)}")
    found = find(parts[0] if parts else path, None, flag_files, _REMEDY_OF_NAMED)
    if found is None:
        raise ReadError(path, no_kernel_reason(path))
    return found


def _parts_beside(path: str) -> list[str]:
    """Return the configured folders beside a source tree whose Makefiles include that of the tree."""
    folder = os.path.abspath(path)
    around = os.path.dirname(folder)
    if not _is_source(folder) or files.exists(os.path.join(folder, "build", _AUTOCONF)):
        return []
    others = (os.path.join(around, name) for name in sorted(files.names_in(around)))
    built = (other for other in others if files.is_file(os.path.join(other, _AUTOCONF)))
    return [other for other in built if _source(other) == files.real_path(folder)]


def no_kernel_reason(path: str) -> str:
    """Return why a folder is no kernel tree."""
    target = _included_source(os.path.abspath(path))
    if target is not None and not files.exists(target):
        return f"is part of a kernel tree: its Makefile includes that of {target}, which is not there"
    return "is no kernel tree (source, build folder or header package)"


def is_kernel(path: str) -> bool:
    """Return whether a folder is a kernel tree, configured or not."""
    return _source(os.path.abspath(path)) is not None


def _refuse_chosen(path: str, build: str, flag_files: FlagFiles) -> None:
    """Raise ReadError for a configuration that a change brings along; a step of the build makes others."""
    for name in (_AUTOCONF, *_CONFIGS):
        place = os.path.join(build, name)
        if flag_files.is_chosen(place):
            raise ReadError(path, f"the change chose its configuration: git tracks {place}")


def enclosing_tree(path: str) -> str | None:
    """Return the kernel source tree around a file; None if there is none."""
    folder = os.path.dirname(os.path.abspath(path))
    while folder != os.path.dirname(folder):
        if _is_source(folder):
            return folder
        folder = os.path.dirname(folder)
    return None


def tree_at(folder: str, build: str | None, options: ReadOptions) -> Tree | None:
    """Return the kernel tree that a folder is, as `find` does; with `--kernel`, that tree or none."""
    if options.kernel_tree is None:
        return find(folder, build, options.flag_files)
    source, named = _source(os.path.abspath(folder)), find_named(options.kernel_tree, options.flag_files)
    is_same = source is not None and files.real_path(source) == files.real_path(named.source)
    return named if is_same else None


def tree_of_file(path: str, build: str | None, options: ReadOptions) -> Tree | None:
    """Return the kernel tree of which a C file is read as a part; None for none.

    People who give flags have said how to read a file, unless they name the tree as well. Raises ReadError.
    """
    top = enclosing_tree(path) if options.kernel_tree is not None or not options.flags else None
    return None if top is None else tree_at(top, build, options)


def refuse_build_of_outside(path: str, build: str) -> None:
    """Raise ReadError for a kernel that `O=` names for files of which it is no part."""
    if is_kernel(build):
        reason = f"is in no kernel tree: `--kernel {build}` reads it with the flags of that one, not `O=`"
        raise ReadError(path, reason)


def source_folders(path: str) -> list[tuple[str, list[str]]]:
    """Return the folders of an input's C source: folders to which paths are relative, with those to search.

    For a configured kernel these are its header folders, for other folders everything; nothing for other
    inputs.
    """
    if not files.is_folder(path):
        return [(os.path.dirname(path) or ".", [path])] if path.endswith((".c", ".h")) else []
    try:
        kernel = find(path)
    except ReadError:  # a kernel source that is not configured
        kernel = None
    if kernel is None:
        return [(path, [path])]
    inside = [(root, [f for f in kernel.folders if f.startswith(f"{root}{os.sep}")]) for root in kernel.roots]
    return [(root, folders) for root, folders in inside if folders]


def _is_source(folder: str) -> bool:
    return files.exists(os.path.join(folder, _MARK)) and "PATCHLEVEL" in _text(folder, "Makefile")


def _source(folder: str) -> str | None:
    """Return the source tree of a kernel folder: itself, its Makefile's include, or its `source` link."""
    if _is_source(folder):
        return folder
    candidates = [os.path.join(folder, "source")]
    target = _included_source(folder)
    if target is not None:
        # A package that was unpacked or copied still names /usr/src: its common part is next to it.
        candidates += [os.path.join(os.path.dirname(folder), os.path.basename(target)), target]
    return next((files.real_path(c) for c in candidates if _is_source(c)), None)


def _included_source(folder: str) -> str | None:
    """Return the source tree that the Makefile of a build folder includes; None if it includes none."""
    include_line = _INCLUDE.search(_text(folder, "Makefile"))
    return None if include_line is None else os.path.join(folder, include_line[1])


def _source_note(folder: str, source: str) -> str | None:
    """Return whose headers a copied package has, if the tree that its Makefile names is elsewhere."""
    target = None if source == folder else _included_source(folder)
    if target is None or not _is_source(target):
        return None
    if files.real_path(target) != source:
        return f"the headers of {source} are read, beside it; its Makefile names {target}"
    is_beside = os.path.dirname(source) == os.path.dirname(files.real_path(folder))
    return None if is_beside else f"the headers of {source} are read, which its Makefile names"


def _tree(path: str, source: str, build: str, makefile: str) -> Tree:
    config = _config(build)
    for options, arch, triple in _ARCHITECTURES:
        if config.issuperset(options):
            return Tree(source, build, config, arch, triple, makefile)
    raise ReadError(path, "is configured for an architecture that is not known here")


def _config(build: str) -> frozenset[str]:
    """Return the options that are on, from the file that make reads, else from the one it generated."""
    for name in _CONFIGS:
        options = config.options_on(_text(build, name))
        if options:
            return options
    return frozenset(_DEFINED.findall(_text(build, _AUTOCONF)))


def _text(folder: str, name: str, flag_files: FlagFiles = ON_DISK) -> str:
    """Return the content of a file of a tree, empty if it is missing; raises ReadError."""
    path = os.path.join(folder, name)
    try:
        return flag_files.read_all(path, _LARGEST).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from error


@lru_cache(maxsize=2)  # editors read the same text for each edit
def _version(makefile: str) -> Version:
    numbers = {name: number(value) for name, value in _VERSION.findall(makefile)}
    return tuple(numbers.get(name, 0) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
