"""How the rich source becomes the files of a variant: compiled, and then linked, split, compressed, stripped and so on."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tests.compilers.variants import compilers
from tests.compilers.variants.facts import Definition, definitions_of
from tests.harness import tools
from tests.real.kernels import Unavailable

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "variants"
SECONDS = 60
UNITS = ("bits", "shapes", "kinds", "main")
_NOT_KNOWN = ("unknown argument", "unrecognized", "unsupported", "not supported", "unable to create target", "invalid linker name")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to build the source: a compiler, its flags, and what is done with its objects."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    step: str = "objects"
    reader: str = "dwarf"

    @property
    def family(self) -> str:
        """Whose compiler it is."""
        return "clang" if self.compiler.startswith("clang") else "gcc"

    @property
    def target_flags(self) -> tuple[str, ...]:
        """Those that decide how structs are laid out."""
        return tuple(flag for flag in self.flags if flag.startswith(("-m", "-D", "--target=")))


@dataclass(frozen=True, slots=True)
class Built:
    """The files of a variant that a reader is given, and where separate debug files stand."""

    files: tuple[Path, ...]
    debug_dirs: tuple[str, ...]
    version: int
    """The major version of the compiler."""
    facts: tuple[Definition, ...]


@dataclass(slots=True)
class Bench:
    """A variant on its way through the tools, in a folder of its own."""

    variant: Variant
    folder: Path
    flags: tuple[str, ...] = ()

    def run(self, tool: str, *words: str | Path) -> str:
        """What a tool prints that runs in the folder. Raises Unavailable where it is missing or does not know a flag."""
        done = subprocess.run(
            [*compilers.command(tool), *map(str, words)],
            cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=SECONDS,
        )  # fmt: skip
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if any(say in line for say in _NOT_KNOWN)), None)
            reason = f"{tool}: {first}" if first is not None else tools.fault(tool)
            if reason is not None:
                raise Unavailable(reason)
            raise RuntimeError(f"{self.variant.name}: {tool} {' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout

    def compile(self, *more: str) -> tuple[Path, ...]:
        """The objects of all units."""
        sources = [FIXTURES / f"{unit}.c" for unit in UNITS]
        self.run(self.variant.compiler, "-w", "-c", *self.variant.flags, *self.flags, *more, *sources)
        return tuple(self.folder / f"{unit}.o" for unit in UNITS)

    def link(self, *more: str, name: str = "program") -> Path:
        """The program made of the objects; without any library, so that every target can be linked."""
        flags = ("-nostdlib", "-Wl,-e,main", "-static", "-g", *self.variant.flags, *more)
        self.run(self.variant.compiler, *flags, "-o", name, *self.compile())
        return self.folder / name


def _objects(bench: Bench) -> tuple[Path, ...]:
    return bench.compile()


def _program(bench: Bench) -> tuple[Path, ...]:
    return (bench.link(),)


def _library(bench: Bench) -> tuple[Path, ...]:
    bench.flags = ("-fPIC",)
    bench.run(bench.variant.compiler, "-nostdlib", "-shared", *bench.variant.flags, "-o", "library.so", *bench.compile())
    return (bench.folder / "library.so",)


def _relocatable(bench: Bench) -> tuple[Path, ...]:
    bench.run("ld", "-r", "-o", "all.o", *bench.compile())
    return (bench.folder / "all.o",)


def _lto(bench: Bench) -> tuple[Path, ...]:
    return (bench.link("-fuse-ld=lld" if bench.variant.compiler.startswith("clang") else "-O2"),)


def _package(bench: Bench) -> tuple[Path, ...]:
    """The .dwo files in one .dwp beside the program, and no longer on their own."""
    program = bench.link()
    bench.run("llvm-dwp" if "-gdwarf-5" in bench.variant.flags else "dwp", "-e", program, "-o", f"{program}.dwp")
    for part in bench.folder.glob("*.dwo"):
        part.unlink()
    return (program,)


def _dwz(bench: Bench) -> tuple[Path, ...]:
    program = bench.link()
    bench.run("dwz", program)
    return (program,)


def _dwz_shared(bench: Bench, *more: str) -> tuple[Path, ...]:
    """What two files have in common in a third one, which both name."""
    program = bench.link()
    twin = bench.folder / "twin"
    shutil.copy(program, twin)
    bench.run("dwz", *more, "-m", "common.debug", "-M", bench.folder / "common.debug", program, twin)
    return (program, twin)


def _dwz_sup(bench: Bench) -> tuple[Path, ...]:
    return _dwz_shared(bench, "--dwarf-5")


def _debuglink(bench: Bench) -> tuple[Path, ...]:
    program = bench.link()
    bench.run("objcopy", "--only-keep-debug", program, "program.debug")
    bench.run("strip", "-g", program)
    bench.run("objcopy", "--add-gnu-debuglink=program.debug", program)
    return (program,)


def _build_id(bench: Bench) -> tuple[Path, ...]:
    """The debug file where distributions put it: below a folder, by the build id that the linker was told."""
    program = bench.link("-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567")
    below = bench.folder / "debug/.build-id/01"
    below.mkdir(parents=True)
    bench.run("objcopy", "--only-keep-debug", program, below / "23456789abcdef0123456789abcdef01234567.debug")
    bench.run("strip", "-g", program)
    return (program,)


def _compress(how: str) -> Callable[[Bench], tuple[Path, ...]]:
    def step(bench: Bench) -> tuple[Path, ...]:
        program = bench.link()
        bench.run("objcopy", f"--compress-debug-sections={how}", program)
        return (program,)

    return step


def _build_cpp(bench: Bench) -> tuple[Path, ...]:
    bench.flags = ("-DWITHOUT_MAIN",)
    bench.run("g++", *bench.variant.flags, "-o", "program", FIXTURES / "other.cpp", *bench.compile())
    return (bench.folder / "program",)


def _build_rust(bench: Bench) -> tuple[Path, ...]:
    rust = FIXTURES / "other.rs"
    bench.run("rustc", "-A", "warnings", "-g", "-C", "panic=abort", "--emit=obj", "-o", "rust.o", rust)
    bench.run(bench.variant.compiler, "-nostdlib", "-static", "-Wl,-e,main", "-o", "program", "rust.o", *bench.compile())
    return (bench.folder / "program",)


def _with_btf(bench: Bench) -> tuple[Path, ...]:
    """pahole turns the DWARF into BTF; the BTF is read."""
    program = bench.link()
    bench.run("pahole", "-J", "--btf_gen_floats", program)
    return (program,)


STEPS: dict[str, Callable[[Bench], tuple[Path, ...]]] = {
    "objects": _objects, "program": _program, "library": _library, "relocatable": _relocatable, "lto": _lto,
    "package": _package, "dwz": _dwz, "dwz shared": _dwz_shared, "dwz sup": _dwz_sup, "debuglink": _debuglink,
    "build id": _build_id, "zlib": _compress("zlib"), "zlib-gnu": _compress("zlib-gnu"), "zstd": _compress("zstd"),
    "in C++": _build_cpp, "in Rust": _build_rust, "pahole -J": _with_btf,
}  # fmt: skip


def _version(bench: Bench) -> int:
    """The major version of the compiler; one with a driver of another version has it in its name."""
    named = re.search(r"-(\d+)$", bench.variant.compiler)
    return int(named[1] if named else bench.run(bench.variant.compiler, "-dumpversion").split(".")[0])


@dataclass(slots=True)
class Workshop:
    """Builds variants below a folder, from several threads; what compilers say is asked once for each target."""

    folder: Path
    asked: dict[tuple[str, ...], Future[tuple[Definition, ...]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def build(self, variant: Variant) -> Built:
        """The files of a variant. Raises Unavailable where a tool is missing."""
        bench = Bench(variant, self.folder / variant.name.replace(" ", "_").replace("/", "_"))
        bench.folder.mkdir()
        files = STEPS[variant.step](bench)
        return Built(files, (str(bench.folder / "debug"),), _version(bench), self._facts(variant))

    def _facts(self, variant: Variant) -> tuple[Definition, ...]:
        key = (variant.compiler, *variant.target_flags)
        with self.lock:
            known = self.asked.get(key)
            is_mine = known is None
            if known is None:
                known = self.asked[key] = Future()
        if is_mine:
            try:
                known.set_result(self._ask(variant, len(self.asked)))
            except Exception as error:
                known.set_exception(error)
        return known.result()

    def _ask(self, variant: Variant, number: int) -> tuple[Definition, ...]:
        plain = Variant(f"asked {number} of {variant.compiler}", variant.compiler, variant.target_flags)
        bench = Bench(plain, self.folder / f"asked-{number}-{variant.compiler}")
        bench.folder.mkdir()
        return definitions_of(bench.compile("-DPROBE"))
