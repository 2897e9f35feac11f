"""The compiler options in makefiles of Linux: those that change no layout, by an allow-list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.model.record import Record
from layoutlint.readers.clang import option_table

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
    r"-fplugin=\$\(objtree\)/scripts/gcc-plugins/|-frandomize-layout-seed-file=\$\(objtree\)/scripts/basic/\S*"
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


class KernelMachine(Record, frozen=True):
    """The machine of a configuration."""

    pointer_bits: int
    byte_order: str


def options(value: str) -> Iterator[str]:
    """Yield the options in a value of a makefile's variable; a header that is read first with its option."""
    value = _FOR_OTHERS.sub("", value)
    for word in _WORD.finditer(value):
        option = word[0]
        if option in ("-include", "-imacros"):
            header = value[word.end() :].split(maxsplit=1)[:1]
            option = " ".join((option, *header))
        yield option


def changes_nothing(option: str, machine: KernelMachine) -> bool:
    """Return whether no layout depends on an option, for a machine."""
    if option.startswith("--"):
        short = option_table.short(option)
        if short != (option,):
            return changes_nothing((" " if short[0].startswith("-i") else "").join(short), machine)
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
