"""The flags that makefiles add to kernel sources (Documentation/kbuild/makefiles.rst).

An option changes no layout (by an allow-list), or is read, or makes layouts unknown. make is not run: what
its functions and recipes compute is not seen.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import chain

from layoutlint.model.flag_files import ON_DISK, FlagFiles
from layoutlint.model.record import Record, field, replace
from layoutlint.model.target import target_named
from layoutlint.readers.clang import flags, option_table
from layoutlint.readers.clang.flags import Doubt
from layoutlint.readers.clang.kernel import make_lines
from layoutlint.readers.clang.kernel.make_lines import Assignment
from layoutlint.readers.clang.kernel.tree import Tree

_OF_TREE = (
    "KBUILD_CFLAGS", "KBUILD_CPPFLAGS", "LINUXINCLUDE", "NOSTDINC_FLAGS", "KCFLAGS", "KCPPFLAGS", "CPPFLAGS",
    "CFLAGS", "CC", "c_flags", "_c_flags", "subdir-ccflags-y", "subdir-ccflags-remove-y",
)  # fmt: skip
"""The variables with flags of all C files of the kernel, in the top Makefile and what it includes."""
_LARGEST = 1 << 22
"""The most bytes of a makefile; those of Linux v7.2 have up to 100 thousand."""
_FIRST = (
    "Makefile", "GNUmakefile", "makefile", "Kbuild", "arch/{arch}/Makefile", "scripts/Makefile.build",
    "scripts/Makefile.lib",
)  # fmt: skip
"""The makefiles with flags of all C files; others are included."""
_MAKEFILE = re.compile(r"(?:arch|scripts)/(?:[\w.-]+/)*(?:Makefile[\w.-]*|Kbuild[\w.-]*)")
_OF_FOLDER = (*_OF_TREE, "ccflags-y", "EXTRA_CFLAGS")
_NOT_OF_C = re.compile(r"(?i).*(?:ld_?flags|a_?flags|rust).*")
"""Variables with options of the assembler, the linker and Rust."""
_REMOVES = re.compile(r"CFLAGS_REMOVE_|(?:subdir-)?ccflags-remove-")
_FILTERED = re.compile(r"\$\((?:filter-out|subst|patsubst)\s([^,]{0,4096}),")
_IS_READ = re.compile(r"-[DUI](?:[^\s$%]|\$\(\w+\))+")
_UNREAD = "include of what is not read"
"""What stands for the variable of a line with what make reads and layoutlint does not."""
_EVALUATED = re.compile(r"\$[({]eval\b")
_MOST_INCLUDED = 64
"""The most makefiles that are read for one folder."""
_MODULE = ("M", "KBUILD_EXTMOD", "PWD")
"""Variables whose value is the folder of a module outside of the tree."""
_OBJECTS = re.compile(r"^[ \t]*obj-(?:[my]\b|\$[({]CONFIG_)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\((\w+)\)")
_REFERENCE = re.compile(r"\$[({]([\w.-]+)[)}]")
_SEPARATE = re.compile(r"(?:^|(?<=\s))(-[DUI])\s+(?=[^\s-])")
_WORD = re.compile(r"(?:^|(?<=[\s,(=:]))-[A-Za-z-](?:\$\([^()]*\)|[^\s,()])*")
"""A word that begins with a `-`, also inside a function of make (`$(call cc-option,-fno-pie)`)."""
_FOR_OTHERS = re.compile(r"-W[al],[^\s)]*")
"""Options of the assembler and the linker."""
_CAN_COUNT = re.compile(r"-(?:[fm][a-z$]|D|U|std=|include|imacros|x|Xclang|target|-)")
"""Options that can change macros or layouts, apart from folders of headers."""
_KEEPS_LAYOUTS = re.compile(
    r"""-f(?:no-)?(?:PIC|PIE|pic|pie|stack-protector(?:-strong|-all)?|freestanding|exceptions|inline
      |asynchronous-unwind-tables|unwind-tables|omit-frame-pointer)
    | -f(?:short-wchar|unsigned-char|ms-extensions|ms-anonymous-structs) | -std=gnu(?:89|99|11|17)
    | -fstrict-flex-arrays(?:=\d)? | -fcf-protection(?:=\w+)?
    | -m(?:arch|cpu|tune|cmodel|fpu|float-abi|fp|spe)=.* | -m(?:thumb|arm|eabi|zarch|v8plus)
    | -m(?:no-)?(?:mmx|sse[\w.]*|ssse3|avx[\w.-]*|3dnowa?|80387|fp-ret-in-387|fpu|hard-float|soft-float
      |altivec|vsx|spe|fdpic|thumb-interwork|abicalls|lsx|lasx|apx-features.*|alignment-traps
      |general-regs-only|micromips|msa|crypto|evex512|annotate-tablejump|thin-add-sub)
    | -m(?:apcs-32|abi=apcs-gnu|short-load-bytes|call-aixdesc|abi=(?:aapcs-linux|elfv[12]|lp64\w*|64))
    | -mstack-protector-guard.* | -mhotpatch=.* | -m\$\(BITS\) | -fsanitize=.*
    | --(?:target|prefix|gcc-toolchain)=\$.*""",
    re.VERBOSE,
)
"""Options that no struct of the kernel depends on: its types have no registers, and the ABI is that of
`Tree.triple`. `Tree.flags` has those on types and on extensions of C."""
_OF_KERNEL = re.compile(
    r"-fplugin=(?:\$\(objtree\)|\.)/scripts/gcc-plugins/(?:\w+\.so)?"
    r"|-frandomize-layout-seed-file=(?:\$\(objtree\)|\.)/scripts/basic/\S*"
)
"""The kernel's own plugins, which leave fields where they are unless the configuration randomises them."""
_LONG = re.compile(r"--(?:target|config|driver-mode|sysroot|gcc|prefix)")
"""Long options that can count, and have no short form; others are of other programs."""
_UNLISTED = ("-fplugin=", "-frandomize-layout", "-fclang-abi-compat")
"""What is harmless, if at all, only as the kernel uses it."""
_MACRO = re.compile(
    r"__KERNEL__|MODULE|KBUILD_\w+|__KBUILD_MODNAME|CC_USING_\w+|CC_HAVE_\w+|CONFIG_AS_\w+|\w+_PLUGIN|RANDSTRUCT"
    r"|__LINUX_ARM_ARCH__|ARM64_ASM_ARCH|KASAN_SHADOW_SCALE_SHIFT|VMLINUX_LOAD_ADDRESS|TEXT_OFFSET|DATAOFFSET"
    r"|FTRACE_PATCHABLE_\w+|_LINUX_FPU_COMPILATION_UNIT|CONFIG_X86_X32_ABI|UTS_\w+|__uClinux__|arm|linux"
    r"|_*MIPSE[BL]\w*|__ASSEMBLY__|DISABLE_BRANCH_PROFILING|CONFIG_CC_HAS_\w+|HAVE_AS_\w+"
    r"|LINKER_LOAD_ADDRESS|CONFIG_PAGE_OFFSET|pr_fmt|GCC_PLUGINS"
)
"""Macros on which no struct of a header depends, or that `Tree.flags` defines."""
_WIDTHS = {"-m16": 16, "-m31": 31, "-m32": 32, "-m64": 64}
_ORDERS = {"-mbig-endian": "big", "-mlittle-endian": "little", "-EB": "big", "-EL": "little"}
_HEADER = re.compile(
    r"(?:\$\(srctree\)/)?include/linux/(?:kconfig|compiler_types|compiler-version|hidden)\.h"
    r"|(?:\$\(obj\)|include/generated)/utsversion(?:-tmp)?\.h"
)
"""Headers that `Tree.flags` reads first, or without structs."""
_RENAMED = re.compile(r"-D(\w+)=kernel_\1")
"""A function of user-mode Linux."""


class Added(Record, frozen=True):
    """Flags that makefiles add."""

    flags: tuple[str, ...] = ()
    problem: str | None = None
    """An option that may change layouts, with the makefile that adds it; None without one."""
    doubts: tuple[Doubt, ...] = ()
    """Macros that may be defined otherwise."""


class _KernelMachine(Record, frozen=True):
    """The machine of a configuration."""

    pointer_bits: int
    byte_order: str


def _options(value: str) -> Iterator[str]:
    """Yield the options in a value of a makefile's variable; a header that is read first with its option."""
    value = _FOR_OTHERS.sub("", value)
    for word in _WORD.finditer(value):
        option = word[0]
        if option in flags.IN_FRONT:
            header = value[word.end() :].split(maxsplit=1)[:1]
            option = " ".join((option, *header))
        yield option


def _changes_nothing(option: str, machine: _KernelMachine) -> bool:
    """Return whether no layout depends on an option, for a machine."""
    if option.startswith("--"):
        short = option_table.short(option)
        if short != (option,):
            return _changes_nothing((" " if short[0].startswith("-i") else "").join(short), machine)
        return not _LONG.match(option) or _KEEPS_LAYOUTS.fullmatch(option) is not None
    if option in _WIDTHS:
        return _WIDTHS[option] == machine.pointer_bits
    if option == "-mlong-double-128":
        return machine.pointer_bits == 64
    if option in _ORDERS:
        return _ORDERS[option] == machine.byte_order
    if option.startswith(_UNLISTED):
        return _OF_KERNEL.fullmatch(option) is not None
    if option.startswith(("-include ", "-imacros ")):
        return _HEADER.fullmatch(option.partition(" ")[2]) is not None
    if not _CAN_COUNT.match(option):
        return True
    if option.startswith(("-D", "-U")):
        name = re.split(r"[=(]", option[2:].lstrip("'\""), maxsplit=1)[0]
        return bool(_MACRO.fullmatch(name) or _RENAMED.fullmatch(option))
    return _KEEPS_LAYOUTS.fullmatch(option) is not None or option_table.is_harmless(option)


class Makefiles(Record, dict=True):
    """The makefiles of a tree."""

    tree: Tree
    flag_files: FlagFiles = ON_DISK
    """The makefiles that count: those on disk, or those of a base commit."""
    module: str | None = None
    """The folder outside of the tree that `make M=` names; None for files of the tree."""
    _added: dict[tuple[str, bool, str], Added] = field(default_factory=dict)
    """What the makefile of a folder adds to its own or to inner folders, for a source."""
    _assignments: dict[str, list[tuple[str, Assignment]]] = field(default_factory=dict)
    _makefiles: dict[str, str | None] = field(default_factory=dict)

    @cached_property
    def of_tree(self) -> Added:
        """What the top Makefile and what it includes add to all C files."""
        names = [name.format(arch=self.tree.arch) for name in _FIRST]
        lines = [*self._lines(os.path.join(self.tree.build, "Makefile"))] if self.tree.roots[1:] else []
        for name in names:
            own = self._lines(os.path.join(self.tree.source, name))
            lines += own
            names += (each for each in dict.fromkeys(self._names_included(own)) if each not in names)
        return _join(self._result(lines, _OF_TREE, None))

    def _names_included(self, lines: list[tuple[str, Assignment]]) -> Iterator[str]:
        """Yield the makefiles that lines of another include, from the top of the tree."""
        for _, line in lines:
            if line.variable in (make_lines.INCLUDE, "include-y") and line.is_taken is not False:
                value = line.value.replace("$(SRCARCH)", self.tree.arch).replace("$(srctree)/", "")
                yield from (word for word in value.split() if _MAKEFILE.fullmatch(word))

    def of_source(self, source: str) -> Added:
        """Return what the makefiles of the folders of a source add, those of outer folders first.

        The Makefile of the nearest outer folder builds a folder that has none
        (`xfs-y += libxfs/xfs_ag.o`). The top one of a kernel is in `of_tree`.
        """
        top = self.module or self.tree.source
        folders = [os.path.dirname(source)]
        while folders[-1] != top and len(folders[-1]) > len(top):
            folders.append(os.path.dirname(folders[-1]))
        own = next((folder for folder in folders if self._makefile(folder)), folders[0])
        # Relative to the folder of the makefile since "kbuild: change *FLAGS_<basetarget>.o to take the path
        # relative to $(obj)" (v5.3).
        named = os.path.relpath(source, own) if self.tree.version >= (5, 3) else os.path.basename(source)
        stem = os.path.splitext(named)[0]
        return _join(
            self._of_folder(folder, folder == own, stem)
            for folder in reversed(folders)
            if folder != self.tree.source
        )

    def _of_folder(self, folder: str, is_own: bool, stem: str) -> Added:
        path = self._makefile(folder)
        lines = [] if path is None else [*self._lines_with_included(path, folder, set())]
        own = f"CFLAGS_{stem}.o"
        has_own = is_own and any(line.variable.endswith(f"_{stem}.o") for _, line in lines)
        key = folder, is_own, stem if has_own else ""
        if key not in self._added:
            inherited = ("subdir-ccflags-y", "subdir-ccflags-remove-y")
            removing = ("ccflags-remove-y", f"CFLAGS_REMOVE_{stem}.o")
            roots = (*_OF_FOLDER, *inherited, *removing, own) if is_own else inherited
            self._added[key] = _join(self._result(lines, roots, folder))
        return self._added[key]

    def _result(
        self, lines: list[tuple[str, Assignment]], roots: tuple[str, ...], folder: str | None
    ) -> Iterator[Added]:
        """Yield what the assignments to some variables, and to those that they use, add."""
        counting = _with_used((line for _, line in lines), roots)
        top = self.tree.source if folder is None else self.module or self.tree.source
        for path, line in lines:
            if line.variable == _UNREAD:
                where = f"{os.path.relpath(path, top)}:{line.number}"
                yield Added(problem=f"{where} has {line.value}, which is not read")
            if line.variable not in counting or line.is_taken is False:
                continue
            is_certain = line.variable in roots and line.is_taken is True
            where = f"{os.path.relpath(path, top)}:{line.number}"
            for option in self._find_removed(line):
                yield Added(problem=f"{where} removes {option}, which may change layouts")
            if _REMOVES.match(line.variable):
                continue
            for option in _options(_SEPARATE.sub(r"\1", line.value)):
                resolved = self._resolve(option, folder)
                if option.startswith("-I"):
                    yield self._of_folder_option(line, resolved, where)
                elif self.changes_nothing(option):
                    continue
                elif resolved is not None and is_certain:
                    yield Added((resolved,))
                elif is_certain and (header := self._header_in_front(option, folder)):
                    yield Added(header)
                else:
                    yield _unread(option, line, where)

    def changes_nothing(self, option: str) -> bool:
        """Return whether no layout depends on an option, as makefiles or commands have it."""
        return _changes_nothing(option.replace(f"{self.tree.build}/", "$(objtree)/"), self._machine)

    def _find_removed(self, line: Assignment) -> Iterator[str]:
        """Yield the flags that a line takes away: of the tree, or macros and folders of a makefile."""
        is_of_all = bool(_REMOVES.match(line.variable))
        parts = [line.value] if is_of_all else _FILTERED.findall(line.value)
        for option in (option for part in parts for option in _options(part)):
            is_own = is_of_all and option.startswith(("-D", "-U", "-I")) and not self.changes_nothing(option)
            if is_own or option in self.tree.flags:
                yield option

    def _of_folder_option(self, line: Assignment, resolved: str | None, where: str) -> Added:
        """Return a folder of headers; those that depend on make's variables are left out."""
        if resolved is None or resolved[2:] in self.tree.folders:
            return Added()
        if line.variable in ("LINUXINCLUDE", "NOSTDINC_FLAGS") and not line.appends:
            order = f"{where} puts {resolved} in front of other folders"
            return Added(problem=f"{order}, which may change layouts")
        return Added((resolved,))

    def _resolve(self, option: str, folder: str | None) -> str | None:
        """Return a macro or folder as the compiler has it; None if it depends on make's own variables."""
        variables = self._paths(folder)
        if not _IS_READ.fullmatch(option) or not variables.keys() >= set(_VARIABLE.findall(option)):
            return None
        text = _VARIABLE.sub(lambda match: variables[match[1]], option)
        try:
            words = shlex.split(text)
        except ValueError:
            return None
        if len(words) != 1 or not option.startswith("-I"):
            return words[0] if len(words) == 1 else None
        return f"-I{os.path.normpath(os.path.join(self.working_folder, words[0][2:]))}"

    def _header_in_front(self, option: str, folder: str | None) -> tuple[str, ...]:
        """Return the option and path of a header that a module reads before its text; () for others."""
        name, _, header = option.partition(" ")
        resolved = self._resolve(f"-I{header}", folder) if name in flags.IN_FRONT and self.module else None
        return () if resolved is None else (name, resolved.removeprefix("-I"))

    def _paths(self, folder: str | None) -> dict[str, str]:
        """Return the variables with paths in the makefile of a folder, or in those of the tree."""
        top = self.tree.source
        if folder is None:
            return {"srctree": top}
        if self.module is None:
            own = os.path.relpath(folder, top)
            return {"srctree": top, "src": own, "obj": own}
        return {"srctree": top, "src": folder, "obj": folder} | dict.fromkeys(_MODULE, self.module)

    @property
    def working_folder(self) -> str:
        """The folder in which the compiler runs; for a module it is its own since Linux 6.13."""
        if self.module is None:
            return self.tree.source
        return self.module if self.tree.version >= (6, 13) else self.tree.build

    def _lines(self, path: str) -> list[tuple[str, Assignment]]:
        """Return the assignments of a makefile, each with its path."""
        if path not in self._assignments:
            text, value = self._text(path), self._value
            if self._is_of_module(path):
                own = make_lines.options_set(text, lambda name: value(name) != "")
                value = partial(self._value_beside, own)
            lines = make_lines.assignments(text, value)
            self._assignments[path] = [(path, line) for line in lines]
        return self._assignments[path]

    def _lines_with_included(
        self, path: str, folder: str, seen: set[str]
    ) -> Iterator[tuple[str, Assignment]]:
        """Yield the assignments of a makefile, and once those of each that it includes by a known path."""
        seen.add(path)
        if self._is_of_module(path) and (made := _EVALUATED.search(self._text(path))):
            number = self._text(path).count("\n", 0, made.start()) + 1
            yield path, Assignment(_UNREAD, made[0], number, True, True)
        for at, line in self._lines(path):
            yield at, line
            if line.variable != make_lines.INCLUDE or line.is_taken is False:
                continue
            for word in line.value.split():
                resolved = self._resolve(f"-I{word}", folder)
                included = "" if resolved is None else resolved.removeprefix("-I")
                if included in seen:
                    continue
                text = self._text(included) if included else ""
                if text and len(seen) < _MOST_INCLUDED:
                    yield from self._lines_with_included(included, folder, seen)
                elif self._is_of_module(path) and (text or not included or not word.startswith("$")):
                    # A file that is missing by its whole path has no flags for make either.
                    yield at, replace(line, variable=_UNREAD, value=f"include {word}")

    def _value(self, variable: str) -> str | None:
        """Return the value of a variable of make; None for one that is not known, and for an option of the
        configuration that is a number or text.
        """
        if not variable.startswith("CONFIG_"):
            return self._variables.get(variable)
        option = variable.removeprefix("CONFIG_")
        if option in self.tree.config:
            return "m" if f"{option}_MODULE" in self._macros else "y"
        return None if option in self._macros else ""

    def _value_beside(self, own: dict[str, str | None], variable: str) -> str | None:
        """Return the value of a variable for a makefile that sets some options itself."""
        return own[variable] if variable in own else self._value(variable)

    def _is_of_module(self, path: str) -> bool:
        return self.module is not None and path.startswith(f"{self.module}{os.sep}")

    @cached_property
    def _variables(self) -> dict[str, str]:
        """The variables of make whose values are known; while a module is built, its makefiles see others."""
        if self.module is None:
            return make_lines.OF_KERNEL
        own = dict.fromkeys(_MODULE, self.module)
        return make_lines.OF_KERNEL | own | {"KERNELRELEASE": ".".join(map(str, self.tree.version))}

    @cached_property
    def _macros(self) -> frozenset[str]:
        return self.tree.macros

    @cached_property
    def _machine(self) -> _KernelMachine:
        target = target_named(flags.architecture(self.tree.triple, 64))
        return _KernelMachine(target.pointer_size * 8, "little" if target.little_endian else "big")

    def builds_objects(self, folder: str) -> bool:
        """Return whether the makefile of a folder lists objects of a kernel."""
        path = self._makefile(folder)
        return path is not None and _OBJECTS.search(self._text(path)) is not None

    def _makefile(self, folder: str) -> str | None:
        """Return the makefile of a folder that is not empty; None if it has none."""
        if folder not in self._makefiles:
            names = (os.path.join(folder, name) for name in ("Kbuild", "Makefile"))
            self._makefiles[folder] = next(filter(self._text, names), None)
        return self._makefiles[folder]

    def _text(self, path: str) -> str:
        """Return the text of a makefile; empty if it is missing or cannot be read.

        The tree of a module is no part of a change, unless git tracks it.
        """
        is_of_tree = self.module is not None and not self._is_of_module(path)
        flag_files = ON_DISK if is_of_tree and not self.flag_files.is_chosen(path) else self.flag_files
        try:
            return flag_files.read_all(path, _LARGEST).decode("utf-8", "replace")
        except OSError:
            return ""


def _join(parts: Iterable[Added]) -> Added:
    parts = tuple(parts)
    return Added(
        tuple(chain.from_iterable(dict.fromkeys(pair for part in parts for pair in _pairs(part.flags)))),
        next((part.problem for part in parts if part.problem is not None), None),
        tuple(dict.fromkeys(doubt for part in parts for doubt in part.doubts)),
    )


def _pairs(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield words, each with its value if it is a header that comes first."""
    queue = iter(words)
    for word in queue:
        yield (word, next(queue, "")) if word in flags.IN_FRONT else (word,)


def _with_used(lines: Iterable[Assignment], roots: Iterable[str]) -> set[str]:
    """Return variables, and those whose values are parts of theirs."""
    used: dict[str, set[str]] = {}
    for line in lines:
        names = (name for name in _REFERENCE.findall(line.value) if not _NOT_OF_C.fullmatch(name))
        used.setdefault(line.variable, set()).update(names)
    counting, pending = set[str](), set(roots)
    while pending:
        name = pending.pop()
        counting.add(name)
        pending |= used.get(name, set()) - counting
    return counting


def _unread(option: str, line: Assignment, where: str) -> Added:
    """Return an option that is not read: layouts can depend on it, or on a macro only where it is used."""
    adds = f"{where} adds {option} to {line.variable}"
    macro = re.match(r"-[DU]['\"]?(\w+)", option)
    if macro is None:
        return Added(problem=f"{adds}, which may change layouts")
    return Added(doubts=(Doubt(option, macro[1], f"{adds}, whose value or condition only make knows"),))
