"""What becomes of compiler flags: each option alone, with its value, and joined to it; and orders of several.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them. test_flags.py holds a part of them against compilers.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from layoutlint.readers.clang import flags, option_table
from layoutlint.readers.clang.flags import Flags

TARGET = "--target=x86_64-pc-linux-gnu"
SOME = [
    "-ansi", "-trigraphs", "-std=c11", "-std=gnu++17", "-O", "-O3", "-Os", "-Oz", "-Ofast", "-O2x", "-m16", "-m32", "-m64", "-mx32",
    "-march=native", "-march=x86-64-v3", "-mtune=generic", "-mabi=lp64", "-mabi=aapcs", "-mcpu=cortex-a9", "-mfpu=neon", "-mcmodel=kernel",
    "-mno-sse", "-msse4.2", "-mavx512f", "-mno-avx", "-maes", "-mno-aes", "-mlong-double-64", "-mlong-double-65", "-malign-double",
    "-mno-align-double", "-mms-bitfields", "-mregparm=3", "-mpreferred-stack-boundary=3", "-mstack-alignment=4", "-fpack-struct",
    "-fpack-struct=4", "-fpack-struct=x", "-fno-pack-struct", "-fshort-enums", "-fno-short-enums", "-fshort-wchar", "-funsigned-char",
    "-fsigned-char", "-fms-extensions", "-fno-ms-extensions", "-fplan9-extensions", "-frandomize-layout-seed=abc",
    "-frandomize-layout-seed-file=x", "-fplugin=x.so", "-fplugin-arg-x-y", "-fno-plugin", "-fpass-plugin=x", "-fcf-protection",
    "-fcf-protection=none", "-fcf-protection=x", "-fstack-protector-strong", "-fstack-protector-explicit", "-fsanitize=address",
    "-fsanitize=kernel-address,undefined", "-fno-sanitize=address", "-fsanitize=x", "-fexceptions", "-fno-exceptions", "-ffast-math",
    "-fno-fast-math", "-fopenmp", "-fopenmp=libomp", "-fopenmp-version=50", "-fopenacc", "-fgnu-tm", "-fpic", "-fPIE", "-fno-pie",
    "-ffreestanding", "-fno-freestanding", "-fhosted", "-fno-common", "-fcommon", "-fvisibility=hidden", "-fwrapv", "-fno-wrapv",
    "-fwhole-program", "-flto", "-flto=auto", "-fno-lto", "-fprofile-arcs", "-ftest-coverage", "-finstrument-functions",
    "-fno-omit-frame-pointer", "-fdata-sections", "-ffunction-sections", "-fabi-version=2", "-fclang-abi-compat=4.0",
    "-fstrict-flex-arrays=3", "-fleading-underscore", "-fno-leading-underscore", "-fkeep-inline-functions", "-freg-struct-return",
    "-fpcc-struct-return", "-fdelayed-branch", "-funknown-thing", "-fno-unknown-thing", "-Wall", "-Wno-all", "-Werror=x", "-W", "-w",
    "-Wl,-x", "-Wa,-y", "-Wp,-DX,-UY", "-Wp,-MD,file", "-Wp,", "-pedantic", "-pedantic-errors", "-g", "-g3", "-ggdb", "-gdwarf-4",
    "-gsplit-dwarf", "-pipe", "-c", "-S", "-E", "-M", "-MD", "-MMD", "-P", "-C", "-CC", "-v", "-###", "-pthread", "-pg", "-s", "-static",
    "-shared", "-nostdinc", "-nostdlib", "-nostdinc++", "-undef", "-traditional-cpp", "-no-integrated-cpp", "-save-temps", "-time", "-Q",
    "-dM", "-dD", "-H", "-fsyntax-only", "--sysroot=/x", "--std=c99", "--optimize=2", "--optimize", "--debug", "--debug=3", "--warn-all",
    "--warn=no-x", "--machine-32", "--machine=32", "--param=x=1", "--fast-math", "--short-enums", "--unknown", "--unknown=x",
    "--target=arm-linux-gnueabi", "--target=unknown-arch", "--target=", "--gcc-toolchain=/x", "--gcc-install-dir=/y", "@file", "-",
    "file.c", "file.h", "--", "-x", "-xc", "-xc++", "-xnone", "-std=", "-D", "-DX", "-DX=1", "-UX", "-I-", "-I.", "-I", "-Ix", "-isystemx",
    "-includex.h", "-imacrosx.h", "-Bx", "-Ax=y", "-Ansi", "-Bstatic", "-Bdynamic", "-Bsymbolic", "-include-pch", "-Xclang",
    "-Xpreprocessor", "-maltivec", "-mno-altivec", "-mthumb", "-mbig-endian", "-mEL", "-mgeneral-regs-only", "-msoft-float",
    "-mno-red-zone", "-mno-80387", "-mfentry", "-mindirect-branch=thunk", "-mrecord-mcount", "-mskip-rax-setup", "-mharden-sls=all",
    "-mfunction-return=x", "--ansi=x", "--no-fast-math", "--no-unknown", "--include", "--include=x", "--std", "--param", "--sysroot", "--machine-x=1", "--warn-x=1",
    "--fno-common", "--O2", "--Wall", "--target-help", "--target", "-mno-avx512f", "-mno-unknown", "-munknown=1", "-fno-unknown=1", "-Wno-unknown=1", "-fabi-version", "-march",
    "-mtune", "-std", "-std=c++11", "-std=x", "-std=iso9899:1999", "-xassembler-with-cpp", "-xobjective-c", "-Wp,-I,x", "-Wp,-include,x.h", "-Wp,-D,X", "-Wp,@x", "-Wl,", "-Wa,-I,x",
    "-fplugin=randomize_layout_plugin.so", "-fplugin=/x/latent_entropy_plugin.so", "-fplugin-arg-randomize_layout_plugin-performance-mode", "-fpack-struct=0", "-fpack-struct=16",
    "-fpack-struct=3", "-mregparm=0", "-mlong-double-128", "-O1 ", "-O0", "-Og", "-O-1", "-", "--help", "--version", "-I ", "-isystem", "-iquotex", "-idirafterx", "-FX", "-include=x",
]  # fmt: skip
ORDERS = [
    # several flags whose order or number counts
    ("-DX", "-UX"), ("-UX", "-DX=2"), ("-m32", "-m64"), ("-fpack-struct=2", "-fno-pack-struct"), ("-fshort-enums", "-fno-short-enums"),
    ("-Xclang", "-DX", "-DX=2"), ("-DX=2", "-Wp,-DX"), ("-Xpreprocessor", "-DX", "-Wp,-UX"), ("-Xclang", "-fplugin=x"), ("-Xclang", "-Xclang", "-x"),
    ("-include-pch", "x.h.pch"), ("-include-pch", "x.h.pch", "-include", "x.h"), ("-include", "y.h", "-include-pch", "x.h.gch"),
    ("-fsanitize=address", "-fsanitize=thread"), ("-fsanitize=address", "-m32"), ("-fsanitize=address", "-fno-sanitize=address"), ("-fsanitize=x,address",),
    ("-target", "sparc-linux", "-m32"), ("-target", "sparc64-linux"), ("-target", "aarch64-linux", "-fsanitize=address"), ("-arch", "x86_64"), ("-arch", "x"), ("-target",),
    ("-o", "x.o", "-c", "x.c"), ("-MF", "-DX", "-DY"), ("-Xlinker", "-DX", "-DY"), ("--param", "-DX", "-DY"), ("-x", "c", "f", "-x", "c++"), ("-x", "c-header"),
    ("-funknown-one", "-funknown-two"), ("-mregparm=3", "-mregparm=2"), ("-D", "X", "-U", "Y", "-I", "z", "-isystem", "w", "-iquote", "v", "-idirafter", "u"),
    ("-march=native", "-D__AVX2__", "-U__SSE4_2__"), ("-fcf-protection", "-D__CET__=1"), ("-Ofast", "-D__FAST_MATH__"), ("-B", "/tools", "-B/others"), ("-A", "x=y"),
    ("-iprefix", "/p/", "-iwithprefix", "a", "-iwithprefixbefore", "b", "-isysroot", "/s", "-iwithsysroot", "/t", "-F", "f", "-iframework", "g"),
    ("-fstack-protector", "-fno-stack-protector"), ("-I", "-"), ("-nostdinc", "-I", "x"), ("--sysroot", "/x", "-DX"), ("--include", "x.h"), ("--define-macro", "X=1"), ("--define-macro=X",),
]  # fmt: skip


def show(own: Flags) -> str:
    words = " ".join(word for word in own.passed if word != TARGET)
    doubts = "; ".join(f"{each.flag}: {each.names}" for each in own.doubts)
    facts = (("problem", own.problem), ("language", own.language), ("refusal", own.refusal), ("doubts", doubts))
    return " | ".join([f"-> {words}", *(f"{name} {fact}" for name, fact in facts if fact)])


def group_results(lists: list[tuple[str, ...]]) -> str:
    """Return flags with what becomes of them; those with the same result, but for their own words, together."""
    same = defaultdict(list)
    for own in lists:
        text = " ".join(own)
        same[show(flags.normalise((TARGET, *own))).replace(text, "FLAGS").replace(own[0], "FLAG")].append(text)
    return "".join(f"{result}\n    {'  '.join(texts)}\n" for result, texts in same.items())


def test_options(golden):
    names = {*option_table.SEPARATE, *option_table.LONG, *option_table.LONG_ALONE, *option_table._JOINED_LONG, *option_table.MACROS, *option_table.RENAMED}
    names |= option_table._harmless_names() | option_table._UNTAKEN
    golden("options.txt", group_results([(name,) for name in sorted(names)] + [(word,) for word in SOME]))


def test_values(golden):
    names = sorted({*option_table.SEPARATE, *option_table.LONG, *option_table._JOINED_LONG})
    golden("values.txt", group_results([own for name in names for own in ((name, "value"), (f"{name}value",), (f"{name}=value",))]))


def test_orders(golden):
    golden("orders.txt", "".join(f"{' '.join(own)}\n    {show(flags.normalise((TARGET, *own)))}\n" for own in ORDERS))


@pytest.mark.parametrize("machine", ["aarch64", "i686"])
def test_machines(machine, golden_row):
    """Flags whose doubts depend on the machine."""
    lines = [(word, show(flags.normalise((f"--target={machine}-linux-gnu", word)))) for word in (*SOME, *sorted(option_table.MACROS))]
    golden_row("\n".join(f"{word} {line}" for word, line in lines if "doubts" in line or "problem" in line))


WITH_PATHS = [("-frandomize-layout-seed-file=sub/x",), ("--gcc-toolchain=sub",), ("-Wp,-Isub",), ("-Xclang", "-Isub"), ("x.c",), ("@x",)]
TRIPLES = (
    "x86_64-pc-linux-gnu", "armv7a-none-eabi", "aarch64_be-linux", "i386", "i686-w64-mingw32", "mips64el-linux-gnuabin32", "powerpc64le-linux",
    "sparc", "x", "", "-x", "riscv32-unknown-elf", "thumbeb-x", "arm64-apple-macos", "i986-x", "x86_64-a-b-c-d-e",
)  # fmt: skip


def test_paths(golden):
    """Options with paths, relative to a folder."""
    options = [(name, "sub/x") for name in (*option_table.PATHS, "-include", "-imacros", "-B", "-o", "-D")]
    spelled = [words for own in options for words in (own, ("".join(own),), ("=".join(own),), (own[0], "/abs/x"))]
    lines = [f"{' '.join(words)} -> {' '.join(flags.make_absolute(words, '/f'))}" for words in (*spelled, *WITH_PATHS)]
    lines += [f"{' '.join(words)}: {(own := flags.normalise(words)).folders} {own.includes}" for words in spelled]
    lines += [f"{triple}: {flags.is_target(triple)} {[flags.architecture(triple, bits) for bits in (32, 64)]}" for triple in TRIPLES]
    lines += [f"{' '.join(words)}: {flags.driver_flags(words)}" for words in ORDERS]
    golden("paths.txt", "".join(f"{line}\n" for line in lines))
