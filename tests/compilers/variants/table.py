"""The variants: which compilers, which flags, and what is then done with the objects."""

from __future__ import annotations

from collections.abc import Iterator

from tests.compilers.variants.build import Variant

GCC = tuple(f"gcc-{version}" for version in range(9, 17))
CLANG = tuple(f"clang-{version}" for version in (13, 14, 15, 16, 19, 22))
CROSS_GCC = (
    "s390x-linux-gnu", "powerpc64-linux-gnu", "powerpc-linux-gnu", "mips-linux-gnu", "mips64-linux-gnuabi64",
    "arm-linux-gnueabihf", "aarch64-linux-gnu", "riscv64-linux-gnu", "sparc64-linux-gnu",
)  # fmt: skip
CROSS_CLANG = (
    "s390x-linux-gnu", "powerpc64-linux-gnu", "powerpc64le-linux-gnu", "powerpc-linux-gnu", "mips-linux-gnu", "mipsel-linux-gnu",
    "mips64-linux-gnuabi64", "mips64el-linux-gnuabi64", "armv7-linux-gnueabihf", "armebv7-linux-gnueabihf", "aarch64-linux-gnu",
    "aarch64_be-linux-gnu", "riscv64-linux-gnu", "riscv32-linux-gnu", "sparc64-linux-gnu", "i386-linux-gnu", "loongarch64-linux-gnu",
)  # fmt: skip
TYPE_UNITS = "-fdebug-types-section"


def _versions() -> Iterator[Variant]:
    """Every major version of the compilers, and every version of DWARF that they write."""
    for compiler in (*GCC, *CLANG):
        yield Variant(f"{compiler} -g", compiler, ("-g",))
    for number in (2, 3, 4, 5):
        flag = f"-gdwarf-{number}"
        yield Variant(f"gcc {flag}", "gcc", (flag,))
        yield Variant(f"gcc {flag} strict", "gcc", (flag, "-gstrict-dwarf"))
        yield Variant(f"clang {flag}", "clang", (flag,))
        yield Variant(f"clang-19 {flag} strict", "clang-19", (flag, "-gstrict-dwarf"))


def _forms() -> Iterator[Variant]:
    """What either compiler can do with DWARF 4 and 5."""
    for flag in ("-gdwarf-4", "-gdwarf-5"):
        for compiler in ("gcc", "clang"):
            name = f"{compiler} {flag}"
            yield Variant(f"{name} 64-bit", compiler, (flag, "-gdwarf64"))
            yield Variant(f"{name} type units", compiler, (flag, TYPE_UNITS))
            yield Variant(f"{name} lto", compiler, (flag, "-flto"), "lto")
        yield Variant(f"gcc {flag} dwz", "gcc", (flag,), "dwz")
        yield Variant(f"gcc {flag} in C++", "gcc", (flag,), "in C++")
        yield Variant(f"gcc {flag} in Rust", "gcc", (flag,), "in Rust")
    yield Variant("gcc type units dwz", "gcc", ("-gdwarf-4", TYPE_UNITS), "dwz")
    yield Variant("gcc lto dwz", "gcc", ("-g", "-flto"), "dwz")
    yield Variant("clang thin lto", "clang", ("-g", "-flto=thin"), "lto")


def _split_variants() -> Iterator[Variant]:
    """Debug information in several files."""
    yield Variant("gcc debuglink", "gcc", ("-g",), "debuglink")
    yield Variant("clang build id", "clang", ("-g",), "build id")
    for flag in ("-gdwarf-4", "-gdwarf-5"):
        for compiler in ("gcc", "clang"):
            name, flags = f"{compiler} {flag} split", (flag, "-gsplit-dwarf")
            yield Variant(name, compiler, flags)
            yield Variant(f"{name} program", compiler, flags, "program")
            yield Variant(f"{name} type units", compiler, (*flags, TYPE_UNITS), "program")
            if (compiler, flag) != ("gcc", "-gdwarf-5"):  # dwp 2.40 crashes on them, llvm-dwp 14 does not end
                yield Variant(f"{name} package", compiler, flags, "package")
        yield Variant(f"gcc {flag} dwz shared", "gcc", (flag,), "dwz shared")
        yield Variant(f"gcc {flag} dwz sup", "gcc", (flag,), "dwz sup")


def _files() -> Iterator[Variant]:
    """Kinds of files, compressed sections, optimisation and other sizes of pointers."""
    for compiler in ("gcc", "clang"):
        yield Variant(f"{compiler} program", compiler, ("-g",), "program")
        yield Variant(f"{compiler} library", compiler, ("-g",), "library")
        yield Variant(f"{compiler} ld -r", compiler, ("-g",), "relocatable")
        yield Variant(f"{compiler} -O2", compiler, ("-g", "-O2"))
        yield Variant(f"{compiler} -g3", compiler, ("-g3", "-O1"))
        yield Variant(f"{compiler} -m32", compiler, ("-g", "-m32"))
    yield Variant("gcc -m32 -gdwarf-4", "gcc", ("-gdwarf-4", "-m32"))
    yield Variant("gcc -mx32", "gcc", ("-g", "-mx32"))
    yield Variant("gcc -gz=zlib", "gcc", ("-g", "-gz=zlib"))
    for how in ("zlib", "zlib-gnu", "zstd"):
        yield Variant(f"gcc {how}", "gcc", ("-g",), how)


def _btf() -> Iterator[Variant]:
    """BTF, from whoever writes it."""
    for compiler in ("gcc", "clang"):
        yield Variant(f"{compiler} pahole -J", compiler, ("-g", "-DFOR_BTF"), "pahole -J", "btf")
    yield Variant("gcc -gbtf", "gcc", ("-gbtf", "-DFOR_BTF"), "objects", "btf")
    yield Variant("clang-19 bpf", "clang-19", ("-g", "--target=bpf"))
    yield Variant("clang-19 bpf BTF", "clang-19", ("-g", "-DFOR_BTF", "--target=bpf"), "objects", "btf")


def _machines() -> Iterator[Variant]:
    """Other machines, of both byte orders."""
    for machine in CROSS_GCC:
        yield Variant(f"{machine}-gcc", f"{machine}-gcc", ("-g",))
    yield Variant("mips64-linux-gnuabi64-gcc program", "mips64-linux-gnuabi64-gcc", ("-g",), "program")
    for machine in CROSS_CLANG:
        target = f"--target={machine}"
        yield Variant(f"clang-19 {machine}", "clang-19", ("-g", target))
        if machine.startswith(("s390x", "mips-", "armeb")):
            yield Variant(f"clang-19 {machine} -gdwarf-3", "clang-19", ("-gdwarf-3", target))
        if machine.startswith(("mips", "loongarch")):
            yield Variant(f"clang-19 {machine} program", "clang-19", ("-g", target, "-fuse-ld=lld"), "program")


VARIANTS = (*_versions(), *_forms(), *_split_variants(), *_files(), *_btf(), *_machines())
